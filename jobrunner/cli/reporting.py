"""Turns what a command raises into one line on stderr and an exit code, without click."""

from __future__ import annotations

import sys
from collections.abc import Callable

from jobrunner.cli import environment, streams
from jobrunner.errors import JobrunnerError


def exit_code(work: Callable[[], object]) -> int:
    """Do the work, which returns its exit code; anything else means 0. Every error is one line on stderr."""
    try:
        code = work()
    except (ImportError, MemoryError):
        # ``main`` reports these.
        raise
    except Exception as error:  # noqa: BLE001 - every error becomes one line
        if isinstance(error, OSError):
            streams.drop(sys.stdout)
        if isinstance(error, BrokenPipeError):
            # As in `jobrunner status | head`: the reader has ended.
            return 0
        return streams.report_error(*told(error))
    return code if isinstance(code, int) else 0


def told(error: Exception) -> tuple[str, int]:
    """What is said of an error, and the exit code. What nobody has foreseen is written into the log."""
    if isinstance(error, JobrunnerError):
        return str(error), error.exit_code
    if isinstance(error, OSError):
        return f"{error.strerror}{f': {error.filename}' if error.filename else ''}", 1
    # An error of the database's driver. Its first line is the reason. Later lines quote the row and its payload.
    if reason := getattr(error, "orig", None):
        return f"the database refuses it: {str(reason).splitlines()[0]}", 1
    return _internal(error)


def _internal(error: Exception) -> tuple[str, int]:
    from jobrunner.log import Silence, internal_error, open_log

    try:
        # -v is an option of tick. Other commands do not have it and log nothing.
        log = open_log(environment.log_file(), on_stderr=not {"-v", "--verbose"}.isdisjoint(sys.argv))
    except JobrunnerError:
        log = Silence()
    reported = internal_error(log, "command", error, "this command")
    return str(reported), reported.exit_code
