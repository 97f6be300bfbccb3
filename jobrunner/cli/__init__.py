"""The command line: the only room that imports click. A command parses, makes one call, renders."""

from __future__ import annotations

import os
import sys

import click

import jobrunner
from jobrunner.cli import completion, options, runs, schedules, status, streams, work
from jobrunner.errors import JobrunnerError
from jobrunner.text import one_line, visible


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(jobrunner.__version__, message="jobrunner %(version)s")
def cli() -> None:
    """Cron calls `jobrunner tick`; the database you already have is the queue.

    The database is JOBRUNNER_DATABASE_URL, else DATABASE_URL, else an SQLite file in your home folder.
    """


for command in (*work.COMMANDS, *runs.COMMANDS, *status.COMMANDS, schedules.schedule, completion.completion):
    cli.add_command(command)
options.add_to_all(cli, [options.ENV_FILE, options.CONFIG])


# Its message is the whole help text. Older versions of click show it themselves.
_NO_ARGUMENTS: tuple[type[click.UsageError], ...] = (
    (click.exceptions.NoArgsIsHelpError,) if hasattr(click.exceptions, "NoArgsIsHelpError") else ()
)


def main() -> None:
    """Run the command line. Every error of a user or of the environment is one line on stderr."""
    streams.read_as_utf8()
    streams.mend()
    # A umask that takes the owner's own rights would lock us out of the files that we make.
    os.umask(os.umask(0o077) & 0o077)
    try:
        code = cli.main(standalone_mode=False, prog_name="jobrunner")
        sys.stdout.flush()
    except click.exceptions.Exit as request:
        code = request.exit_code
    except (click.exceptions.Abort, KeyboardInterrupt, EOFError):
        code = _complain("interrupted", 130)
    except _NO_ARGUMENTS as error:
        streams.say(error.format_message())
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
    except (ImportError, MemoryError) as error:
        # Too little memory for a library shows as either.
        code = _complain(f"cannot load what it needs ({str(error) or 'out of memory'})", 78)
    except OSError as error:
        code = _cannot_go_on(error)
    streams.leave(code if isinstance(code, int) else 0)


def _cannot_go_on(error: OSError) -> int:
    streams.drop(sys.stdout)
    if isinstance(error, BrokenPipeError):
        # `jobrunner status | head`: the reader has had enough.
        return 0
    return _complain(f"{error.strerror}{f': {error.filename}' if error.filename else ''}", 1)


def _complain(message: str, code: int) -> int:
    # On one line: a message may quote what a user, a module or a server has said, at any length.
    streams.say(f"jobrunner: {visible(one_line(message, 1000))}")
    return code
