"""`ctx.checkpoint`, `ctx.last_checkpoint` and `ctx.step`, as a handler sees them, and what leaves its process."""

import asyncio
import json
import os
import threading
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pytest

from harness import wait_for
from jobrunner.children.inside.attempt import Attempt
from jobrunner.children.messages import Checkpoint, StartRun, StartRuns
from jobrunner.errors import UsageError
from jobrunner.jobs.payload_limits import CHECKPOINT_BYTES
from jobrunner.testing import context

DEEP: Any = []
for _ in range(63):
    DEEP = [DEEP]


def start(run_id: int = 1, checkpoint: Any = None) -> StartRun:
    return StartRun(run_id, "known", {}, 1, 3, 0.0, 0.0, 1000, float("inf"), checkpoint=checkpoint)


def attempt(kept: Any = None) -> tuple[Attempt, list[Any]]:
    """An attempt, and the checkpoints that it has sent."""
    sent: list[Any] = []

    def send(message: object) -> None:
        assert isinstance(message, Checkpoint)
        sent.append(message.checkpoint)

    return Attempt(start(checkpoint=kept), send, None), sent


def test_values_come_back_as_json_and_no_change_of_the_handlers_own_object_reaches_them() -> None:
    ctx = context()
    assert ctx.last_checkpoint is None
    value = {"pages": [1, 2], "of": (3, 4), "large": 1e22}
    ctx.checkpoint(value)
    value["pages"] = []
    told = ctx.last_checkpoint
    assert told == {"pages": [1, 2], "of": [3, 4], "large": 10**22}
    told["pages"].append(3)
    assert ctx.last_checkpoint["pages"] == [1, 2]
    kept = ctx.step("load", lambda: {"a": (1, 2)})
    assert kept == {"a": [1, 2]}
    assert ctx.step("text", str, 5) == "5"
    assert ctx.step("named", dict, a=1) == {"a": 1}


def test_step_is_called_once_over_all_attempts() -> None:
    calls: list[str] = []

    def load() -> int:
        calls.append("load")
        return len(calls)

    ctx = context(checkpoint=7, steps={"load": [5], "none": None})
    assert ctx.last_checkpoint == 7
    assert (ctx.step("load", load), ctx.step("none", load), ctx.step("new", load)) == ([5], None, 1)
    assert calls == ["load"]


def test_step_that_raises_keeps_nothing_and_can_be_tried_again_in_the_same_attempt() -> None:
    ctx = context()
    answers = iter([OSError("away"), OSError("away"), 3])

    def fetch() -> int:
        answer = next(answers)
        if isinstance(answer, OSError):
            raise answer
        return answer

    for _ in range(2):
        with pytest.raises(OSError, match="away"):
            ctx.step("fetch", fetch)
    assert ctx.step("fetch", fetch) == 3


def test_name_that_is_used_twice_in_one_attempt_names_the_line_of_the_user() -> None:
    ctx = context()
    ctx.step("load", int)
    line = _line_of(lambda: ctx.step("load", int))
    assert line.startswith("ctx.step: 'load' is used a second time in this attempt; give each step its own name (")
    assert "test_checkpoint.py, line " in line
    # Also for a kept one, and for one that is under way.
    ctx = context(steps={"kept": 1})
    ctx.step("kept", int)
    assert "a second time" in _line_of(lambda: ctx.step("kept", int))
    assert "a second time" in _line_of(lambda: ctx.step("outer", lambda: ctx.step("outer", int)))


def _line_of(work: Callable[[], object]) -> str:
    with pytest.raises(UsageError) as refused:
        work()
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize("name", ["", "x" * 201, 5, None, "a\0", "\ud800"])
def test_name_of_a_step_is_a_short_text(name: Any) -> None:
    assert "the name of a step must be a text of 1 to 200 characters" in _line_of(lambda: context().step(name, int))


WRONG: Mapping[str, tuple[Any, str]] = {
    "a set": ({1}, "{what} is of type set, which JSON cannot hold"),
    "in it": ({"price": Decimal(1)}, "the value of 'price' is of type Decimal, which JSON cannot hold"),
    "NaN": (float("nan"), "{what} is nan, which JSON cannot hold"),
    "a key": ({1: 2}, "a key of {what} is 1; keys must be text"),
    "NUL": ("\0", "{what} holds a NUL character"),
    "too deep": (DEEP, "{what} is nested deeper than 64 levels"),
    "too large": ("x" * CHECKPOINT_BYTES, f"a run keeps at most {CHECKPOINT_BYTES} bytes of JSON"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_kept_is_refused_with_the_line_and_the_old_one_stays(case: str) -> None:
    value, said = WRONG[case]
    ctx = context(checkpoint="old")
    for called, what, work in (
        ("ctx.checkpoint", "the value", lambda: ctx.checkpoint(value)),
        ("ctx.step('load')", "the result", lambda: ctx.step("load", lambda: value)),
    ):
        line = _line_of(work)
        assert line.startswith(f"{called}: {said.format(what=what)}"), line
        assert "test_checkpoint.py, line " in line
    assert ctx.last_checkpoint == "old"
    assert ctx.step("load", lambda: 5) == 5


def test_value_and_steps_share_the_limit_to_the_byte() -> None:
    ctx = context()
    ctx.step("é", lambda: "ö" * 30_000)
    taken = len('{"value":,"steps":{"é":""}}'.encode()) + 60_000
    left = CHECKPOINT_BYTES - taken
    # Two quotation marks; one more byte is counted for the comma of a further step.
    ctx.checkpoint("x" * (left - 3))
    assert "would be 65537" in _line_of(lambda: ctx.checkpoint("x" * (left - 2)))
    assert "would be" in _line_of(lambda: ctx.step("a", int))
    ctx.checkpoint(None)
    assert ctx.step("a", int) == 0
    # What is too large already, by whatever hand, can be made smaller.
    ctx = context(checkpoint="x" * (CHECKPOINT_BYTES + 10))
    ctx.checkpoint("x" * CHECKPOINT_BYTES)
    ctx.checkpoint(1)


def test_coroutine_of_a_plain_step_is_refused_and_async_steps_are_awaited() -> None:
    async def load(number: int) -> int:
        await asyncio.sleep(0)
        return number

    assert "await ctx.step_async" in _line_of(lambda: context().step("load", load, 1))

    async def work() -> list[Any]:
        ctx = context(steps={"1": 10})
        told = await asyncio.gather(*(ctx.step_async(str(number), load, number) for number in range(3)))
        with pytest.raises(UsageError, match="a second time"):
            await ctx.step_async("2", load, 2)
        return [*told, await ctx.step_async("plain", int)]

    assert asyncio.run(work()) == [0, 10, 2, 0]


@pytest.mark.parametrize(
    "kept", [None, 5, [1], {}, {"steps": {}}, {"value": 3}, {"value": 3, "steps": [1]}, {"value": 3, "steps": None}]
)
def test_column_that_somebody_has_written_by_hand_fails_no_handler(kept: Any) -> None:
    here, sent = attempt(kept)
    ctx = here._context()
    assert ctx.last_checkpoint in (None, 3)
    assert ctx.step("load", int) == 0
    assert sent == [{"value": ctx.last_checkpoint, "steps": {"load": 0}}]


def test_result_of_a_step_is_sent_before_it_returns_and_the_last_of_a_burst_by_itself() -> None:
    here, sent = attempt()
    ctx = here._context()
    ctx.checkpoint(0)
    assert sent == [{"value": 0, "steps": {}}]
    for number in range(1, 2000):
        ctx.checkpoint(number)
    assert len(sent) < 200
    ctx.step("load", int)
    assert sent[-1] == {"value": 1999, "steps": {"load": 0}}
    ctx.checkpoint("last")
    wait_for(lambda: sent[-1]["value"] == "last", 5, "what the timer sends")
    # Nothing is sent twice.
    count = len(sent)
    here.flush()
    assert len(sent) == count


def test_end_of_an_attempt_sends_the_rest_and_a_thread_that_goes_on_keeps_nothing_more() -> None:
    """The same run may have another attempt in this process by then, whose lease is another one."""
    here, sent = attempt()
    ctx = here._context()
    ctx.checkpoint(1)
    ctx.checkpoint(2)
    here.flush()
    assert sent[-1] == {"value": 2, "steps": {}}
    for work in (lambda: ctx.checkpoint(3), lambda: ctx.step("late", int)):
        with pytest.raises(UsageError, match="this attempt is over"):
            work()
    assert sent[-1] == {"value": 2, "steps": {}}


def test_threads_of_a_handler_lose_no_step_of_one_another() -> None:
    here, sent = attempt()
    ctx = here._context()

    def work(thread: int) -> None:
        for number in range(50):
            ctx.checkpoint([thread, number])
            ctx.step(f"{thread} {number}", int)

    threads = [threading.Thread(target=work, args=[each]) for each in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    here.flush()
    assert len(sent[-1]["steps"]) == 400


def test_copy_of_the_handlers_process_is_refused() -> None:
    """Its frames would stand in the midst of those of the handler."""
    here, sent = attempt()
    ctx = here._context()
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        try:
            ctx.checkpoint(1)
        except UsageError as error:
            os.write(writing, str(error).encode())
        os._exit(0)
    os.close(writing)
    assert b"not in a copy of it" in os.read(reading, 1000)
    os.close(reading)
    os.waitpid(pid, 0)
    assert sent == []


def test_checkpoints_that_python_takes_for_equal_reach_each_run_as_they_are() -> None:
    ones: list[Any] = [{"value": 1, "steps": {}}, {"value": True, "steps": {}}, {"value": 1.0, "steps": {}}]
    for kept in (ones, [None, ones[1], None], [None, None, None]):
        sent = StartRuns.of(1, [start(number + 1, each) for number, each in enumerate(kept)])
        arrived = StartRuns(*json.loads(json.dumps(sent)))
        assert [json.dumps(each.checkpoint) for each in arrived.runs()] == [json.dumps(each) for each in kept]
