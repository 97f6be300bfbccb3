"""Which frames of a traceback are the user's own, and how a place in them is written."""

import os
from pathlib import Path
from traceback import TracebackException
from typing import Any

import pytest

import jobrunner
from jobrunner.jobs import user_code
from jobrunner.jobs.user_code import Place, cut_above, cut_below, place_in_stacks, placed

OURS = str(Path(jobrunner.__file__).parent / "children" / "inside" / "main.py")
WITHIN = str(Path(jobrunner.__file__).parent / "effects" / "once.py")
OWN, CONF = "/srv/app/shop/jobs.py", "/srv/app/shop/conf.py"
LIBRARY = "/srv/app/.venv/lib/python3.11/site-packages/requests/api.py"
PYTHON = str(Path(os.__file__).parent / "contextlib.py")


def calling(file: str, inner: Any) -> Any:
    """A function that stands in this file and calls the inner one."""
    names: dict[str, Any] = {"inner": inner}
    exec(compile("def call():\n  inner()\n", file, "exec"), names)
    return names["call"]


def files(*stack: str) -> list[str]:
    """The files of the traceback of a call through these, when it is cut."""
    function = exec_error(stack[-1])
    for file in reversed(stack[:-1]):
        function = calling(file, function)
    with pytest.raises(KeyError) as raised:
        function()
    # Without the frame of this test.
    trace = TracebackException(type(raised.value), raised.value, raised.tb.tb_next)
    cut_above(trace)
    return [frame.filename for frame in trace.stack]


def exec_error(file: str) -> Any:
    names: dict[str, Any] = {}
    exec(compile("def call():\n  {}['x']\n", file, "exec"), names)
    return names["call"]


@pytest.mark.parametrize(
    ("stack", "left"),
    [
        ([OURS, OWN, CONF], [OWN, CONF]),
        ([OURS, OURS, PYTHON, OWN], [OWN]),
        ([OURS, OWN, WITHIN, CONF], [OWN, WITHIN, CONF]),
        ([OURS, OWN, WITHIN], [OWN, WITHIN]),
        ([OURS, LIBRARY, OWN], [LIBRARY, OWN]),
        ([OURS, LIBRARY, OURS, OWN], [OWN]),
        ([OURS, LIBRARY], [LIBRARY]),
        # An error of jobrunner itself, and one without it.
        ([OURS, WITHIN], [OURS, WITHIN]),
        ([OURS, PYTHON], [OURS, PYTHON]),
        ([PYTHON, OWN], [PYTHON, OWN]),
    ],
)
def test_frames_that_only_lead_to_the_users_code_are_cut(stack: list[str], left: list[str]) -> None:
    assert files(*stack) == left


def raised_below(file: str) -> BaseException:
    """An error that was raised below jobrunner's code, without the frames above that."""
    with pytest.raises(KeyError) as raised:
        calling(file, exec_error(OWN))()
    return raised.value.with_traceback(raised.tb.tb_next)


def test_causes_contexts_and_groups_are_cut_too() -> None:
    group = ExceptionGroup("all", [raised_below(OURS), ExceptionGroup("more", [raised_below(OURS)])])  # type: ignore[list-item]  # KeyErrors
    group.__cause__, group.__context__ = raised_below(OURS), raised_below(OURS)
    group.__cause__.__context__ = raised_below(OURS)
    trace = TracebackException.from_exception(group)
    cut_above(trace)
    text = "".join(trace.format())
    assert text.count(OWN) == 4
    assert OURS not in text


STACKS = f"""Current thread 0x1 (most recent call first):
  File "{CONF}", line 7 in wait
  File "<frozen importlib._bootstrap>", line 241 in _call_with_frames_removed
  File "{OWN}", line 3 in <module>
  File "{OURS}", line 99 in main
  File "<frozen runpy>", line 88 in _run_code

Thread 0x2 (most recent call first):
  File "{OURS}", line 5 in beside
"""


def test_stacks_end_with_the_users_code_and_a_thread_of_ours_stays_whole() -> None:
    cut = cut_below(STACKS)
    assert f'line 3 in <module>\n\nThread 0x2 (most recent call first):\n  File "{OURS}", line 5 in beside\n' in cut
    assert "runpy" not in cut
    assert "importlib" not in cut
    assert place_in_stacks(STACKS, "/srv/app") == Place("shop/conf.py", 7)
    assert place_in_stacks("Segmentation fault", None) is None


def test_place_stands_at_the_end_of_one_bounded_line() -> None:
    assert placed("KeyError: 'KEY'", Place("shop/conf.py", 12)) == "KeyError: 'KEY' (shop/conf.py, line 12)"
    assert placed("in a.py, line 3: x", Place("a.py", 3)) == "in a.py, line 3: x"
    long = placed("x\n" * 10_000, Place("d/" * 1000 + "conf.py", 12))
    assert long.endswith("d/conf.py, line 12)")
    assert len(long) < 500
    assert "\n" not in long


def test_line_that_a_person_types_is_a_place() -> None:
    names: dict[str, Any] = {"place": user_code.place_of_caller}
    exec(compile("\nfound = place()", "<stdin>", "exec"), names)
    assert str(names["found"]) == "<stdin>, line 2"
