"""Any value that a handler reports or a person writes by hand is stored within limits and shown."""

from contextlib import redirect_stdout
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

import harness.hypothesis_profile  # noqa: F401 - loads the profile
from jobrunner.admin.status import Status
from jobrunner.cli import render
from jobrunner.cli.questions import status
from jobrunner.cli.timetable.schedule import show
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.store.questions.state import DeadRun, FailingRun, RunningRun, Tick
from jobrunner.store.queue.output_limits import fit, fit_report
from jobrunner.store.sql.encoding import read_json

# As text, since what is stored is text: numbers that no float holds, more digits than Python reads, no number at all.
NUMBERS = [
    "1e400",
    "-1e400",
    "1" + "0" * 400,
    "-1" + "0" * 4000,
    "1" * 5000,
    "NaN",
    "Infinity",
    "0.1",
    "-0.0",
    "1e-400",
]


SCALARS = st.sampled_from(["null", "true", '""', '"\\u202e\\u0000\\ud800"', *NUMBERS])


VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda each: f"[{','.join(each)}]"),
        st.dictionaries(st.sampled_from(["done", "total", "message", "changed", "from", "to"]), inner, max_size=3).map(
            lambda each: "{" + ",".join(f'"{key}": {value}' for key, value in each.items()) + "}"
        ),
    ),
    max_leaves=6,
)


DEEP = st.sampled_from([90, 101, 300, 800, 3000, 100_000]).map(lambda depth: "[" * depth + "]" * depth)


NOW = datetime(2026, 1, 1, tzinfo=UTC)


def found(value: Any) -> Status:
    of_type = {"id": 1, "job_type": "x", "max_attempts": value}
    ended = {"attempts": value, "error_type": value, "last_error": value}
    lease = {"host": "h", "locked_by": "w", "started_at": NOW, "heartbeat_at": None, "locked_until": NOW}
    running = RunningRun(**of_type, **lease, progress=value, cancel_requested_at=None, attempt=value)
    dead = DeadRun(1, "x", finished_at=NOW, **ended)
    tick = Tick("h", "w", "1", NOW, None, None, None, NOW, counts=value, error=value)
    return Status(
        database="x", findings=[], handlers_problem=None, state_problem=None,
        at=NOW, runs={"queued": 1}, runs_at_least=[], due=0, due_at_least=False, oldest_due_seconds=None,
        running=[running],
        failing=[FailingRun(**of_type, **ended, next_try_at=NOW)], dead=[dead], schedules=[], unknown_types=[],
        limits=[], running_limits=[], ticks=[tick], uncertain=0, uncertain_effects=[], oldest_due=None, pauses=[],
        set_limits=[],
        unsent_notifications=[],
    )  # fmt: skip


@given(st.one_of(VALUES, DEEP))
@example('{"done": 1' + "0" * 400 + "}")
def test_any_stored_value_is_shown_without_a_traceback(text: str) -> None:
    value = read_json(text)
    with redirect_stdout(StringIO()) as shown:
        status._show(found(value))
        render.fields({"result": value, "payload": {"a": value}})
        render.echo_json({"result": value, **vars(found(value))})
        render.table(("DETAIL",), [[show._words(value)]])
    assert shown.getvalue().isprintable() or not set(shown.getvalue()) & {"\x00", "\x1b", "\u202e"}


@given(st.floats(0, timedelta(days=3660).total_seconds()))
def test_any_duration_in_the_database_is_shown(seconds: float) -> None:
    assert show._duration(seconds)


def test_text_of_a_handler_is_cut_when_it_is_stored() -> None:
    large = "x" * 30_000_000
    fitted = fit(
        AttemptResult(Outcome.FAILED, error_type=large, error=large, traceback=large, output=large, result=large)
    )
    texts = (fitted.error_type, fitted.error, fitted.traceback, fitted.output)
    assert [len(text or "") for text in texts] == [200, 500, 32_001, 32_001]
    assert fitted.result is None
    assert fit(AttemptResult(Outcome.SUCCEEDED, result={"a": [1]})).result == {"a": [1]}
    assert fit_report({"progress": {"message": large}, "output": large}) == {"output": fitted.output}
    assert fit_report({"progress": {"done": 10**400}}) == {"progress": {"done": 10**400}}
