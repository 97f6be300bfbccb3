"""All commands together for click. The module of a command is imported only when the command is used."""

from __future__ import annotations

import sys
from keyword import iskeyword
from typing import cast

import click

import jobrunner
from jobrunner.cli import options, reporting, streams
from jobrunner.cli.lazy_group import LazyGroup
from jobrunner.renamed import new_name

_SECTIONS = {
    "work": ("Work", "tick, loop, enqueue, run, dev"),
    "questions": (
        "See what happens",
        "status, health, pauses, limits, explain, runs, show, logs, watch, errors, history, stats",
    ),
    "changes": (
        "Change runs",
        "retry, cancel, discard, reschedule, priority, pause, resume, limit, unlimit, effects list, effects settle",
    ),
    "timetable": (
        "Schedules and job types",
        (
            "apply, types, "
            "schedule list, schedule show, schedule next, schedule add, schedule edit, schedule remove, "
            "schedule pause, schedule resume, schedule trigger, schedule backfill, schedule import"
        ),
    ),
    "upkeep": (
        "Set up and keep house",
        (
            "migrate, schema, doctor, verify, crontab line, crontab install, crontab remove, prune, "
            "archive runs, archive finish, archive state, archive restore, move, restore, "
            "metrics, web, users add, mcp, downgrade, completion"
        ),
    ),
}
"""All commands: for each folder its title in the help, and the words of its commands.

``schedule add`` is the function ``add`` of the module ``add`` in the folder ``schedule``, which is a group.
"""
SECTIONS = {title: words.split(", ") for title, words in _SECTIONS.values()}
MODULES = {
    # A module cannot have the name of a keyword.
    words: f"jobrunner.cli.{folder}.{words.replace(' ', '.')}" + "_" * iskeyword(words.rpartition(" ")[2])
    for folder, (title, _) in _SECTIONS.items()
    for words in SECTIONS[title]
}


@click.group(
    cls=LazyGroup,
    modules=MODULES,
    sections=SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(jobrunner.__version__, message="jobrunner %(version)s")
def cli() -> None:
    """Cron calls `jobrunner tick`; the database you already have is the queue.

    The database is the one that JOBRUNNER_DATABASE_URL names, else DATABASE_URL, else an SQLite file in
    your home folder.
    """


cli.params.extend(options.ALL)


def every_command() -> dict[str, click.Command]:
    """Each command and each group by its words, in alphabetical order. This imports all their modules."""
    # With the settings of the program: click keeps the help option of the first context for the whole process.
    context = click.Context(cli, **cli.context_settings)
    found: dict[str, click.Command] = {"": cli}
    for words in sorted({*MODULES, *(words.partition(" ")[0] for words in MODULES)}):
        group, _, name = words.rpartition(" ")
        command = cast(click.Group, found[group]).get_command(context, name)
        assert command is not None
        found[words] = command
    del found[""]
    return found


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
