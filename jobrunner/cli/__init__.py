"""The command line: the only room that imports click. A command parses, makes one call, renders."""

from __future__ import annotations

import io
import os
import sys

import click

import jobrunner
from jobrunner.cli import runs, schedules, status, work
from jobrunner.errors import JobrunnerError
from jobrunner.text import visible


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(jobrunner.__version__, message="jobrunner %(version)s")
def cli() -> None:
    """Cron calls `jobrunner tick`; the database you already have is the queue.

    The database is JOBRUNNER_DATABASE_URL, else DATABASE_URL, else an SQLite file in your home folder.
    """


for command in (*work.COMMANDS, *runs.COMMANDS, *status.COMMANDS, schedules.schedule):
    cli.add_command(command)


# Its message is the whole help text. Older versions of click show it themselves.
_NO_ARGUMENTS: tuple[type[click.UsageError], ...] = (
    (click.exceptions.NoArgsIsHelpError,) if hasattr(click.exceptions, "NoArgsIsHelpError") else ()
)


def main() -> None:
    """Run the command line. Every error of a user or of the environment is one line on stderr."""
    _mend_streams()
    try:
        code = cli.main(standalone_mode=False, prog_name="jobrunner")
        sys.stdout.flush()
    except click.exceptions.Exit as request:
        code = request.exit_code
    except (click.exceptions.Abort, KeyboardInterrupt, EOFError):
        code = _complain("interrupted", 130)
    except _NO_ARGUMENTS as error:
        click.echo(error.format_message(), err=True)
        code = 2
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "jobrunner"
        code = _complain(f"{error.format_message()} (see: {path} --help)", 2)
    except click.ClickException as error:
        code = _complain(error.format_message(), 2)
    except JobrunnerError as error:
        code = _complain(str(error), error.exit_code)
    except SystemExit as request:
        # So click ends when the reader of a pipe has gone, and after a completion of the shell.
        gone = type(sys.stdout).__name__.endswith("PacifyFlushWrapper")
        code = 0 if gone else request.code
    except BrokenPipeError:
        # `jobrunner status | head`: the reader has had enough.
        _drop_output()
        code = 0
    except OSError as error:
        _drop_output()
        code = _complain(f"{error.strerror}{f': {error.filename}' if error.filename else ''}", 1)
    sys.exit(code if isinstance(code, int) else 0)


def _mend_streams() -> None:
    """Make the standard streams fit for anything: closed ones (``>&-``), and an encoding without all letters."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # Left closed, its number would go to the next file opened, which a print would then write into.
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 - for as long as the process lives
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    # What is still buffered would complain at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(message: str, code: int) -> int:
    # On one line: a message may quote what a user, a module or a server has said.
    click.echo(f"jobrunner: {visible(' '.join(message.split()))}", err=True)
    return code
