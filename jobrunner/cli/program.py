"""All commands together, as click sees them; the module of each is imported when it is asked for."""

from __future__ import annotations

import sys

import click

import jobrunner
from jobrunner.cli import environment, options, streams
from jobrunner.cli.lazy import LazyGroup
from jobrunner.errors import JobrunnerError

_HOMES = {
    **dict.fromkeys(("tick", "migrate", "jobs"), "work"),
    **dict.fromkeys(("enqueue", "retry", "cancel", "discard", "show"), "runs"),
    "status": "status",
    "apply": "apply",
    "schedule": "schedule.group",
    "completion": "completion",
}


@click.group(
    cls=LazyGroup, homes=_HOMES, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(jobrunner.__version__, message="jobrunner %(version)s")
def cli() -> None:
    """Cron calls `jobrunner tick`; the database you already have is the queue.

    The database is the one that JOBRUNNER_DATABASE_URL names, else DATABASE_URL, else an SQLite file in
    your home folder.
    """


options.add_to_all(cli, options.ALL)


# Its message is the whole help text. Older versions of click show it themselves.
_NO_ARGUMENTS: tuple[type[click.UsageError], ...] = (
    (click.exceptions.NoArgsIsHelpError,) if hasattr(click.exceptions, "NoArgsIsHelpError") else ()
)


def run() -> int:
    """Run the command that the command line names, and return the exit code. Every error is one line on stderr."""
    try:
        return _run()
    except (ImportError, MemoryError):
        # Told by who has called.
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, one line says it
        # Of the database's driver. The first line says why; those below it quote the row, payload included.
        if said := getattr(error, "orig", None):
            return streams.complain(f"the database refuses it: {str(said).splitlines()[0]}", 1)
        return _internal(error)


def _internal(error: Exception) -> int:
    from jobrunner.log import Silence, internal_error, open_log

    try:
        # As tick has it; no other command has that option, nor anything to say there.
        log = open_log(environment.log_file(), on_stderr=not {"-v", "--verbose"}.isdisjoint(sys.argv))
    except JobrunnerError:
        log = Silence()
    told = internal_error(log, "command", error, "this command")
    return streams.complain(str(told), told.exit_code)


def _run() -> int:
    try:
        code = cli.main(standalone_mode=False, prog_name="jobrunner")
        sys.stdout.flush()
    except click.exceptions.Exit as request:
        code = request.exit_code
    except (click.exceptions.Abort, EOFError):
        code = streams.complain("interrupted", 130)
    except _NO_ARGUMENTS as error:
        streams.say(error.format_message())
        code = 2
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "jobrunner"
        code = streams.complain(f"{error.format_message()} (see: {path} --help)", 2)
    except click.ClickException as error:
        code = streams.complain(error.format_message(), 2)
    except JobrunnerError as error:
        code = streams.complain(str(error), error.exit_code)
    except SystemExit as request:
        # So click ends when the reader of a pipe has gone, and after a completion of the shell.
        gone = type(sys.stdout).__name__.endswith("PacifyFlushWrapper")
        code = 0 if gone else request.code
    except OSError as error:
        code = _cannot_go_on(error)
    return code if isinstance(code, int) else 0


def _cannot_go_on(error: OSError) -> int:
    streams.drop(sys.stdout)
    if isinstance(error, BrokenPipeError):
        # `jobrunner status | head`: the reader has had enough.
        return 0
    return streams.complain(f"{error.strerror}{f': {error.filename}' if error.filename else ''}", 1)
