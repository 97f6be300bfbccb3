"""Starts the child that imports an application and reads its schedules."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from threading import Timer
from typing import Any

from jobrunner.errors import JobrunnerError
from jobrunner.text import one_line

_LONGEST_BYTES = 10_000_000


def read(scheduler: str, target: str, folder: str, limit_seconds: float) -> list[dict[str, Any]]:
    """The entries of the application, which is imported from ``folder``. What it prints goes to stderr.

    Raises JobrunnerError if it cannot be imported in that time, or has no such schedules.
    """
    reading, writing = os.pipe()
    words = [sys.executable, "-P", "-m", "jobrunner.crontab.schedulers.inside", scheduler, target, str(writing)]
    path = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH", ""))))
    with os.fdopen(reading, "rb") as pipe:
        try:
            child = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=sys.stderr.fileno(),
                pass_fds=(writing,),
                env={**os.environ, "PYTHONPATH": path},
                start_new_session=True,
            )
        except OSError as error:
            raise JobrunnerError(f"no child process can be started: {error.strerror}") from None
        finally:
            os.close(writing)
        # Also what the application has started: it would keep the pipe open.
        limit = Timer(limit_seconds, _kill, [child.pid])
        limit.start()
        try:
            answer = pipe.read(_LONGEST_BYTES)
            is_late = limit.finished.is_set()
        finally:
            # Also after Ctrl-C, which does not reach its session.
            limit.cancel()
            limit.join()
            _kill(child.pid)
            child.wait()
    return _entries(answer, target, f" within {limit_seconds:g}s" if is_late else "")


def _kill(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _entries(answer: bytes, target: str, late: str) -> list[dict[str, Any]]:
    try:
        found: dict[str, Any] = json.loads(answer)
    except ValueError:
        raise JobrunnerError(f"{target} did not come to its end{late} while it was imported") from None
    if "error" in found:
        raise JobrunnerError(one_line(found["error"]))
    entries: list[dict[str, Any]] = found["entries"]
    return entries
