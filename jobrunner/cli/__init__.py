"""The command line: the only room that imports click. A command parses, makes one call, renders."""

from __future__ import annotations

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


def main() -> None:
    """Run the command line. Every error of a user or of the environment is one line on stderr."""
    try:
        code = cli.main(standalone_mode=False, prog_name="jobrunner")
    except click.exceptions.Exit as request:
        code = request.exit_code
    except click.exceptions.Abort:
        code = _complain("interrupted", 130)
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "jobrunner"
        code = _complain(f"{error.format_message()} (see: {path} --help)", 2)
    except click.ClickException as error:
        code = _complain(error.format_message(), 2)
    except JobrunnerError as error:
        code = _complain(str(error), error.exit_code)
    except BrokenPipeError:
        # `jobrunner status | head`: the reader has had enough. Nothing may complain at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code if isinstance(code, int) else 0)


def _complain(message: str, code: int) -> int:
    # On one line: a message may quote what a user, a module or a server has said.
    click.echo(f"jobrunner: {visible(' '.join(message.split()))}", err=True)
    return code
