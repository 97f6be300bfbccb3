"""All commands together for click. The module of a command is imported only when the command is used."""

from __future__ import annotations

import sys

import click

import jobrunner
from jobrunner.cli import options, reporting, streams
from jobrunner.cli.lazy import LazyGroup
from jobrunner.renamed import new_name

_MODULES = {
    "tick": "tick",
    "migrate": "migrate",
    "types": "types",
    **dict.fromkeys(("enqueue", "show"), "runs"),
    **dict.fromkeys(("retry", "cancel", "discard", "reschedule", "priority"), "acting"),
    **dict.fromkeys(("runs", "errors"), "listing"),
    **dict.fromkeys(("logs", "watch"), "logs"),
    "run": "run",
    "status": "status",
    "history": "history",
    "stats": "stats",
    "explain": "explain",
    "health": "health",
    "metrics": "metrics",
    "apply": "apply",
    "dev": "dev",
    **dict.fromkeys(("prune", "archive", "restore"), "keep"),
    "web": "web",
    "users": "users",
    "downgrade": "downgrade",
    "doctor": "doctor",
    "effects": "effects",
    "schedule": "schedule.group",
    "completion": "completion",
    **dict.fromkeys(("pause", "pauses", "resume"), "pause"),
}

_SECTIONS = {
    "Work": ("tick", "enqueue", "run", "dev"),
    "See what happens": (
        "status",
        "health",
        "pauses",
        "explain",
        "runs",
        "show",
        "logs",
        "watch",
        "errors",
        "history",
        "stats",
    ),
    "Change runs": ("retry", "cancel", "discard", "reschedule", "priority", "pause", "resume", "effects"),
    "Schedules and job types": ("apply", "schedule", "types"),
    "Set up and keep house": (
        "migrate",
        "doctor",
        "prune",
        "archive",
        "restore",
        "metrics",
        "web",
        "users",
        "downgrade",
        "completion",
    ),
}


@click.group(
    cls=LazyGroup,
    modules=_MODULES,
    sections=_SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(jobrunner.__version__, message="jobrunner %(version)s")
def cli() -> None:
    """Cron calls `jobrunner tick`; the database you already have is the queue.

    The database is the one that JOBRUNNER_DATABASE_URL names, else DATABASE_URL, else an SQLite file in
    your home folder.
    """


options.add_to_all(cli, options.ALL)


# The message of this error is the whole help text. Older versions of click print it themselves.
_NO_ARGUMENTS: tuple[type[click.UsageError], ...] = (
    (click.exceptions.NoArgsIsHelpError,) if hasattr(click.exceptions, "NoArgsIsHelpError") else ()
)


def run() -> int:
    """Run the command that the command line names, and return the exit code. Every error is one line on stderr."""
    return reporting.exit_code(_run)


def _run() -> object:
    try:
        code: object = cli.main(standalone_mode=False, prog_name="jobrunner")
        sys.stdout.flush()
    except click.exceptions.Exit as request:
        code = request.exit_code
    except (click.exceptions.Abort, EOFError):
        code = streams.report_error("interrupted", 130)
    except _NO_ARGUMENTS as error:
        streams.to_stderr(error.format_message())
        code = 2
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "jobrunner"
        code = streams.report_error(f"{_renamed(error, path) or error.format_message()} (see: {path} --help)", 2)
    except click.ClickException as error:
        code = streams.report_error(error.format_message(), 2)
    except SystemExit as request:
        # Click raises this when the reader of a pipe has gone, and after a completion for the shell.
        gone = type(sys.stdout).__name__.endswith("PacifyFlushWrapper")
        code = 0 if gone else request.code
    return code


def _renamed(error: click.UsageError, path: str) -> str | None:
    """What to say of an option that has another name now. None: it never was one."""
    if not isinstance(error, click.NoSuchOption):
        return None
    command = path.partition(" ")[2]
    new = new_name("option", f"{command} {error.option_name}")
    return None if new is None else f"{error.option_name} of {command!r} is now: {new}"
