"""Which code is the user's own: a place in it is written ``shop/conf.py, line 12``, and a traceback begins with it.

It is imported only when something has failed: a child that starts well does not pay for it.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from jobrunner.text import one_line

if TYPE_CHECKING:
    from traceback import TracebackException

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_STANDARD = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_TYPED = ("<stdin>", "<python-input", "<ipython-input", "<doctest")
"""The names of code that an operator types."""
_INSTALLED = ("site-packages", "dist-packages")
_LINE_CHARACTERS = 300
_PLACE_CHARACTERS = 150
_OWN, _LIBRARY, _PYTHON, _JOBRUNNER = range(4)
_IN_STACKS = re.compile(r'  File "(.*)", line (\d+)')


class Place(NamedTuple):
    """A line of a file. None: only the file is known."""

    path: str
    line: int | None

    def __str__(self) -> str:
        return self.path if self.line is None else f"{self.path}, line {self.line}"


def place_of_error(error: BaseException) -> Place | None:
    """Where the user's own code has raised the error, or has called what raised it. None: no such line is known."""
    if isinstance(error, SyntaxError) and error.filename and _whose(error.filename) == _OWN:
        # The file cannot be compiled, and the traceback ends where it is imported.
        return Place(_short(error.filename), error.lineno or None)
    lines = []
    trace = error.__traceback__
    while trace is not None:
        lines.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    return _last_own(lines)


def place_of_function(function: Any) -> Place | None:
    """Where a function is defined, beginning with its decorators."""
    import inspect

    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(inspect.unwrap(function), "__code__", None)
    return None if code is None else Place(_short(code.co_filename), code.co_firstlineno)


def place_of_caller() -> Place | None:
    """The line of the user's own code that has called what is at work now."""
    lines = []
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the stack of a thread is known in no other way
    while frame is not None:
        lines.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return _last_own(lines[::-1])


def place_in_stacks(stacks: str, folder: str | None) -> Place | None:
    """The newest line of the user's own code in what ``faulthandler`` has written, of the thread at work if it can.

    ``folder`` is the first one of the import path of the process that has written it.
    """
    threads = stacks.split("\n\n")
    for thread in sorted(threads, key=lambda each: not each.lstrip().startswith("Current thread")):
        lines = [(path, int(line)) for path, line in _IN_STACKS.findall(thread)]
        if found := _last_own(lines[::-1], folder):
            return found
    return None


def placed(line: str, place: Place | None) -> str:
    """One line that ends with the place, however long the rest is."""
    line = one_line(line, _LINE_CHARACTERS)
    if place is None or str(place) in line:
        return line
    where, most = str(place), _PLACE_CHARACTERS
    return f"{line} ({one_line(where if len(where) <= most else '…' + where[-most:])})"


def cut_above(trace: TracebackException) -> None:
    """Remove the frames of jobrunner that called the user's code, also from what the error was raised from.

    A traceback without any code of the user stays whole: then the error is one of jobrunner itself.
    """
    seen: set[int] = set()
    left: list[TracebackException | None] = [trace]
    while left:
        each = left.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        del each.stack[: _above([frame.filename for frame in each.stack])]
        left += [each.__cause__, each.__context__, *(getattr(each, "exceptions", None) or ())]


def cut_below(stacks: str) -> str:
    """The same for what ``faulthandler`` has written, in which the newest line of each thread comes first."""
    kept: list[str] = []
    thread: list[str] = []
    for line in [*stacks.split("\n"), ""]:
        if line.startswith('  File "<frozen importlib'):
            # They stand between two lines of the user, and a traceback does not have them either.
            continue
        if _IN_STACKS.match(line):
            thread.append(line)
            continue
        above = _above([each.split('"')[1] for each in reversed(thread)])
        kept += [*thread[: len(thread) - above], line]
        thread = []
    return "\n".join(kept[:-1])


def _above(paths: Sequence[str]) -> int:
    """How many of the first frames only lead from jobrunner to the user's code, or to a library that it has called."""
    whose = [_whose(path) for path in paths]
    first = next((whose.index(each) for each in (_OWN, _LIBRARY) if each in whose), None)
    if first is None or _JOBRUNNER not in whose[:first]:
        return 0
    after = len(whose[:first]) - whose[:first][::-1].index(_JOBRUNNER)
    return next((number for number in range(after, first) if whose[number] == _LIBRARY), first)


def _last_own(lines: Sequence[tuple[str, int]], folder: str | None = None) -> Place | None:
    # Handlers may be installed like a library, too.
    for wanted in (_OWN, _LIBRARY):
        found = [(path, line) for path, line in lines if _whose(path) == wanted]
        if found:
            path, line = found[-1]
            return Place(_short(path, folder), line)
    return None


def _whose(path: str) -> int:
    if path.startswith("<"):
        return _OWN if path.startswith(_TYPED) else _PYTHON
    path = os.path.abspath(path)
    if path.startswith(_OURS):
        return _JOBRUNNER
    if any(f"{os.sep}{each}{os.sep}" in path for each in _INSTALLED):
        return _LIBRARY
    return _PYTHON if path.startswith(_STANDARD) else _OWN


def _short(path: str, folder: str | None = None) -> str:
    """The path from the folder of the import path that it is in: a module of the application has its dotted name."""
    if path.startswith("<"):
        return path
    path = os.path.abspath(path)
    folders = [os.path.join(os.path.abspath(each), "") for each in ([*sys.path] if folder is None else [folder])]
    longest = max((each for each in folders if path.startswith(each)), key=len, default="")
    return path[len(longest) :]
