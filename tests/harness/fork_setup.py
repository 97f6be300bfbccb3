"""Makes a fork look like a process that was started directly. For `harness.starter` and `harness.siblings`."""

import ctypes
import fcntl
import importlib
import io
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

RESERVED_BYTES = 1 << 16
RESERVED = "RESERVED"
"""A variable of the starter. Its memory, and that of an argument as long, is where forks write what /proc shows."""
_PR_SET_PDEATHSIG = 1


# What Python or C look at when they start, and a fork does not.
_START_UP = ("PYTHON", "LC_", "LD_", "GLIBC_", "MALLOC_")
_FORKS_SEE = ("PYTHONUNBUFFERED", "PYTHONPATH")


def is_plain(environment: Mapping[str, str]) -> bool:
    """Whether a fork does with this environment what a process would that starts with it."""
    return (
        not any(name.startswith(_START_UP) for name in environment if name not in _FORKS_SEE)
        and not any((folder / "sitecustomize.py").exists() for folder in import_path(environment))
        and all(folder.is_absolute() and folder.is_dir() for folder in import_path(environment))
    )


def import_path(environment: Mapping[str, str]) -> list[Path]:
    """The folders that PYTHONPATH names."""
    return [Path(folder) for folder in environment.get("PYTHONPATH", "").split(":") if folder]


def die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def take(words: Sequence[str], environment: Mapping[str, str], descriptors: Mapping[int, int], keep: int = -1) -> None:
    """Have a session, an environment, arguments and streams of one's own, and no descriptors but these.

    `descriptors`: by the number that each is to have, the standard streams among them. `keep` keeps its number.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, 0)
    os.setsid()
    _take_descriptors(descriptors, keep)
    # Emptied first: then none of C's variables lies in the memory that is written over.
    os.environ.clear()
    os.environ.update(environment)
    sys.orig_argv = list(words)
    sys.path[:0] = map(str, import_path(environment))
    _show(words, [f"{name}={value}" for name, value in environment.items()])
    # It looks at the environment when it is imported.
    importlib.reload(sys.modules["jobrunner.failpoints"])
    sys.stdin, sys.stdout, sys.stderr = _stream(sys.stdin), _stream(sys.stdout), _stream(sys.stderr)


def _take_descriptors(wanted: Mapping[int, int], keep: int) -> None:
    # Above all numbers first: one that is wanted may be in the place of another.
    above = max(*wanted, keep) + 1
    high = {number: fcntl.fcntl(given, fcntl.F_DUPFD_CLOEXEC, above) for number, given in wanted.items()}
    for number, given in high.items():
        os.dup2(given, number)
    kept = sorted({*wanted, keep} - {-1})
    for low, next_kept in zip(kept, [*kept[1:], os.sysconf("SC_OPEN_MAX")], strict=True):
        os.closerange(low + 1, next_kept)


def _show(words: Sequence[str], variables: Sequence[str]) -> None:
    """Have /proc show these: it reads them from the memory where the first ones lay."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    addresses = iter(map(int, fields[45:49]))
    for texts, begin, end in zip((words, variables), addresses, addresses, strict=True):
        data = b"".join(os.fsencode(text) + b"\0" for text in texts)
        if len(data) > end - begin:
            raise ValueError("the arguments or the environment are too long to be shown")
        ctypes.memmove(begin, data.ljust(end - begin, b"\0"), end - begin)


def _stream(like: Any) -> io.TextIOWrapper:
    """A new stream on the same descriptor, as Python makes it when it starts."""
    number, mode = like.fileno(), "rb" if like.readable() else "wb"
    unbuffered = mode == "wb" and bool(os.environ.get("PYTHONUNBUFFERED"))
    raw: Any = open(number, mode, buffering=0 if unbuffered else -1, closefd=False)  # noqa: SIM115 - kept
    return io.TextIOWrapper(
        raw, like.encoding, like.errors, line_buffering=number == 2 or os.isatty(number), write_through=unbuffered
    )
