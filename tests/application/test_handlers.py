"""What handlers can request, and how a type's policies apply: attempts, backoff, timeouts, permanent errors."""

from datetime import timedelta
from typing import Any

import pytest

from harness import App, Commands, Database
from harness.handlers_rows import attempt_of, attempts_of, queue, run_of

SIGNALS = """
from jobrunner import Discard, Retry, Snooze, fixed

ASKS = {"retry": lambda: Retry("not today", after="7m"), "retry_by_policy": Retry,
        "discard": lambda: Discard("never again"), "snooze": lambda: Snooze("3h")}


@job("ask", max_attempts=3, backoff=fixed("11m", jitter=0))
def ask(ctx: Context, what: str, how: str):
    signal = ASKS[what]()
    if how == "raise":
        raise signal
    return signal
"""

BACKOFFS = """
from jobrunner import fixed, polynomial, waits


@job("fixed", max_attempts=1000, backoff=fixed("90s", jitter=0))
def by_fixed(ctx: Context):
    raise RuntimeError


@job("exponential", max_attempts=1000, backoff=exponential("1m", cap="30m", jitter=0))
def by_exponential(ctx: Context):
    raise RuntimeError


@job("waits", max_attempts=1000, backoff=waits("1s", "1m", "1h", jitter=0))
def by_waits(ctx: Context):
    raise RuntimeError


@job("polynomial", max_attempts=1000, backoff=polynomial(jitter=0))
def by_polynomial(ctx: Context):
    raise RuntimeError


@job("jittered", max_attempts=1000, backoff=fixed("100s"))
def by_jitter(ctx: Context):
    raise RuntimeError
"""

# The wait in seconds after the attempt of that number.
WAITS = [
    *(("fixed", number, 90) for number in (1, 4)),
    *(("exponential", number, wait) for number, wait in ((1, 60), (2, 120), (5, 960), (6, 1800), (900, 1800))),
    *(("waits", number, wait) for number, wait in ((1, 1), (2, 60), (3, 3600), (9, 3600))),
    *(("polynomial", number, wait) for number, wait in ((1, 10), (2, 40), (7, 490))),
]

ERRORS = """
class Refused(ValueError):
    pass


@job("picky", retry_on=(ConnectionError, TimeoutError), discard_on=BrokenPipeError)
def picky(ctx: Context, error: str):
    raise {"reset": ConnectionResetError, "pipe": BrokenPipeError, "value": Refused}[error]("no")


@job("strict", discard_on=(ValueError, KeyError))
def strict(ctx: Context, error: str):
    raise {"value": Refused, "type": TypeError}[error]("no")
"""

SIGNATURES = """
from typing import Literal, Optional


@job("typed")
def typed(ctx: Context, count: int, name: str = "x", ratio: float = 1, flag: bool = False,
          tags: list[str] | None = None, options: dict | None = None, size: Literal["s", "m"] = "s"):
    leave_trace(ctx)


@job("nothing")
def nothing(ctx: Context):
    leave_trace(ctx)
"""

UNFIT: list[tuple[dict[str, Any], str]] = [
    ({}, "missing argument 'count'"),
    ({"count": 1, "nmae": "x"}, "unexpected argument 'nmae'"),
    ({"count": "1"}, "'count' must be int, not str"),
    ({"count": True}, "'count' must be int, not bool"),
    ({"count": 1.5}, "'count' must be int, not float"),
    ({"count": None}, "'count' must be int, not NoneType"),
    ({"count": 1, "name": 7}, "'name' must be str, not int"),
    ({"count": 1, "ratio": "0.5"}, "'ratio' must be float, not str"),
    ({"count": 1, "flag": 1}, "'flag' must be bool, not int"),
    ({"count": 1, "tags": {"a": 1}}, "'tags' must be list"),
    ({"count": 1, "options": []}, "'options' must be dict"),
    ({"count": 1, "size": "xl"}, "'size' must be Literal"),
    ({"ctx": 1, "count": 1}, "unexpected argument 'ctx'"),
]


@pytest.mark.promise("P1")
@pytest.mark.parametrize("how", ["raise", "return"])
def test_exception_of_a_handler_decides_the_outcome_of_its_run(
    how: str, jobrunner: Commands, app: App, database: Database
) -> None:
    app.add(SIGNALS)
    asked = ("retry", "retry_by_policy", "discard", "snooze")
    runs = {what: queue(database, "ask", {"what": what, "how": how}) for what in asked}
    jobrunner.tick()
    rows = {what: run_of(database, run_id) for what, run_id in runs.items()}
    ends = {what: (row["status"], row["attempts"], row["error_type"]) for what, row in rows.items()}
    assert ends == {
        "retry": ("failed", 1, "Retry"),
        "retry_by_policy": ("failed", 1, "Retry"),
        "discard": ("dead", 1, "Discard"),
        "snooze": ("queued", 0, None),
    }
    assert rows["retry"]["last_error"] == "not today"
    assert rows["discard"]["last_error"] == "never again"
    assert rows["retry"]["run_at"] - rows["retry"]["failed_at"] == timedelta(minutes=7)
    assert rows["retry_by_policy"]["run_at"] - rows["retry_by_policy"]["failed_at"] == timedelta(minutes=11)
    snoozed = attempt_of(database, runs["snooze"])
    assert rows["snooze"]["run_at"] - snoozed["finished_at"] == timedelta(hours=3)
    outcomes = {what: attempt_of(database, run_id)["outcome"] for what, run_id in runs.items()}
    assert outcomes == {"retry": "failed", "retry_by_policy": "failed", "discard": "discarded", "snooze": "snoozed"}


@pytest.mark.promise("P1", "P12")
def test_snooze_can_repeat_without_limit_and_each_is_recorded_as_an_attempt(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.add(SIGNALS)
    run_id = queue(database, "ask", {"what": "snooze", "how": "raise"}, max_attempts=1)
    for _ in range(4):
        jobrunner.tick()
        assert run_of(database, run_id)["status"] == "queued"
        database.execute("UPDATE job_runs SET run_at = ? WHERE id = ?", [database.now(), run_id])
    found = attempts_of(database, run_id)
    assert [(row["sequence"], row["attempt"], row["outcome"]) for row in found] == [
        (number, 1, "snoozed") for number in (1, 2, 3, 4)
    ]
    assert run_of(database, run_id)["attempts"] == 0


@pytest.mark.promise("P1")
def test_every_shape_of_backoff_reaches_run_at_exactly(jobrunner: Commands, app: App, database: Database) -> None:
    app.add(BACKOFFS)
    runs = [(queue(database, shape, attempts=number - 1), shape, number, wait) for shape, number, wait in WAITS]
    jobrunner.tick()
    waited = []
    for run_id, shape, number, _ in runs:
        row = run_of(database, run_id)
        assert (row["status"], row["attempts"]) == ("failed", number)
        waited.append((shape, number, (row["run_at"] - row["failed_at"]).total_seconds()))
    assert waited == [(shape, number, float(wait)) for _, shape, number, wait in runs]


def test_jitter_spreads_the_waits_within_a_fifth(jobrunner: Commands, app: App, database: Database) -> None:
    app.add(BACKOFFS)
    for _ in range(20):
        queue(database, "jittered")
    jobrunner.tick()
    rows = database.query("SELECT run_at, failed_at FROM job_runs WHERE status = 'failed'")
    waits = [(row["run_at"] - row["failed_at"]).total_seconds() for row in rows]
    assert len(set(waits)) == 20
    assert all(80 <= wait <= 120 for wait in waits)


@pytest.mark.promise("P1")
def test_failed_run_is_retried_until_its_attempts_are_used(jobrunner: Commands, app: App, database: Database) -> None:
    app.add(SIGNALS)
    by_type = queue(database, "ask", {"what": "retry", "how": "raise"})
    by_run = queue(database, "ask", {"what": "retry", "how": "raise"}, max_attempts=2)
    for _ in range(4):
        jobrunner.tick()
        database.execute("UPDATE job_runs SET run_at = ? WHERE status = 'failed'", [database.now()])
    for run_id, most in ((by_type, 3), (by_run, 2)):
        row = run_of(database, run_id)
        assert (row["status"], row["attempts"], row["max_attempts"]) == ("dead", most, most)
        assert [attempt["attempt"] for attempt in attempts_of(database, run_id)] == list(range(1, most + 1))


def test_enqueue_overrides_the_attempts_and_the_timeout_of_the_type(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.add('@job("slow", timeout="5m", kill_after="1s")\ndef slow(ctx: Context):\n    time.sleep(60)\n')
    run_id = jobrunner.enqueue("slow", max_attempts=1, timeout="300ms")
    endless = jobrunner.enqueue("echo", timeout="none")
    jobrunner.tick(timeout=30)
    row = run_of(database, run_id)
    assert (row["status"], row["error_type"], row["timeout"]) == ("dead", "timeout", 0.3)
    assert (run_of(database, endless)["status"], run_of(database, endless)["timeout"]) == ("succeeded", 0)


def test_retry_on_and_discard_on_decide_about_listed_exceptions(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.add(ERRORS)
    wanted = {
        ("picky", "reset"): ("failed", "ConnectionResetError"),  # a subclass of one in retry_on
        ("picky", "pipe"): ("dead", "BrokenPipeError"),  # discard_on wins over retry_on
        ("picky", "value"): ("dead", "Refused"),  # not in retry_on
        ("strict", "value"): ("dead", "Refused"),
        ("strict", "type"): ("failed", "TypeError"),
    }
    runs = {key: queue(database, key[0], {"error": key[1]}) for key in wanted}
    jobrunner.tick()
    rows = {key: run_of(database, run_id) for key, run_id in runs.items()}
    assert {key: (row["status"], row["error_type"]) for key, row in rows.items()} == wanted
    outcomes = {key: attempt_of(database, run_id)["outcome"] for key, run_id in runs.items()}
    assert outcomes == {key: "failed" if status == "failed" else "discarded" for key, (status, _) in wanted.items()}


@pytest.mark.promise("P13")
def test_a_payload_that_does_not_fit_never_starts_the_handler(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.add(SIGNATURES)
    runs = [(queue(database, "typed", payload), message) for payload, message in UNFIT]
    runs.append((queue(database, "nothing", {"a": 1}), "unexpected argument 'a'; the handler takes no arguments"))
    fits = queue(database, "typed", {"count": 1, "ratio": 2, "tags": ["a"], "options": {}, "size": "m"})
    jobrunner.tick(env={"JOBRUNNER_DEPLOY_GRACE": "0s"})
    for run_id, message in runs:
        row = run_of(database, run_id)
        assert (row["status"], row["error_type"]) == ("dead", "bad_payload")
        assert message in row["last_error"]
        assert [attempt["outcome"] for attempt in attempts_of(database, run_id)] == ["incompatible"]
    assert run_of(database, fits)["status"] == "succeeded"
    assert [line.run_id for line in app.trace()] == [fits]


def test_the_policies_of_the_types_are_listed(jobrunner: Commands, app: App) -> None:
    app.add(SIGNALS + ERRORS)
    found = {each["job_type"]: each for each in jobrunner("types", "--json").json()}
    assert (found["ask"]["max_attempts"], found["ask"]["backoff"]["shape"]) == (3, "fixed")
    assert (found["picky"]["max_attempts"], found["picky"]["timeout"]) == (5, 900.0)
    assert (found["picky"]["kill_after"], found["sleep"]["timeout"]) == (5.0, 300.0)
