"""Queued runs behind a run that crashes its child or runs out of time: they are neither charged nor lost."""

import pytest

from harness import App, Commands, Database
from harness.handlers_rows import attempt_of, queue
from harness.invariants import assert_consistent, insert_runs
from harness.prefetch_jobs import KINDS, ONE, QUICK, begun, ends, of_kind, queue_head, warm_up


@pytest.fixture(autouse=True)
def quick_handlers(app: App, request: pytest.FixtureRequest) -> None:
    app.add(of_kind(getattr(request, "param", "def"), QUICK))


each_kind = pytest.mark.parametrize("quick_handlers", KINDS, indirect=True)


@pytest.mark.promise("P1", "P7", "P8")
@each_kind
@pytest.mark.parametrize("act", ["exit", "segfault"])
def test_a_crash_amid_short_runs_is_charged_to_that_run_alone(
    jobrunner: Commands, app: App, database: Database, act: str
) -> None:
    others = warm_up(database)
    crashing = []
    for _ in range(3):
        crashing.append(queue(database, "quick", {"act": act}, run_at=database.now()))
        others += insert_runs(database, 20, "quick")
    jobrunner.tick(env=ONE)
    assert ends(database, crashing) == {("failed", 1, 1): 3}
    assert {attempt_of(database, run_id)["error_type"] for run_id in crashing} == {"crashed"}
    assert ends(database, others) == {("succeeded", 1, 1): 100}
    assert begun(app) == dict.fromkeys([*crashing, *others], 1)
    assert any(app.path(f"trace-queue-{run_id}").exists() for run_id in crashing)
    assert_consistent(database)


@pytest.mark.promise("P1", "P8")
@each_kind
def test_tick_goes_on_after_a_crash_when_all_due_runs_were_queued_behind_it(
    jobrunner: Commands, app: App, database: Database
) -> None:
    warm_up(database)
    crashing = [queue_head(database, act="exit") for _ in range(3)]
    others = insert_runs(database, 20, "quick")
    jobrunner.tick(env=ONE)
    assert ends(database, crashing) == {("failed", 1, 1): 3}
    assert ends(database, others) == {("succeeded", 1, 1): 20}


@pytest.mark.promise("P1", "P8")
@each_kind
def test_a_timeout_amid_short_runs_ends_that_run_alone(jobrunner: Commands, app: App, database: Database) -> None:
    others = warm_up(database, "brief")
    hanging = queue_head(database, "brief", hang=True)
    others += insert_runs(database, 40, "brief")
    jobrunner.tick(env=ONE)
    assert ends(database, [hanging]) == {("failed", 1, 1): 1}
    assert attempt_of(database, hanging)["outcome"] == "timed_out"
    assert ends(database, others) == {("succeeded", 1, 1): 80}
    assert begun(app) == dict.fromkeys([hanging, *others], 1)
    assert app.path(f"trace-queue-{hanging}").exists()
    assert_consistent(database)


ALARMS = """
@job("alarmed", timeout="1m")
def alarmed(ctx: Context, leave=False):
    leave_trace(ctx)
    if leave:
        signal.signal(signal.SIGALRM, lambda *_: os._exit(9))
        signal.setitimer(signal.ITIMER_REAL, 0.1)
    else:
        time.sleep(0.01)
"""


@pytest.mark.promise("P8")
def test_an_alarm_that_a_run_leaves_behind_costs_no_neighbour_an_attempt(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.add(QUICK + ALARMS)
    runs = warm_up(database, "alarmed")
    for _ in range(2):
        runs.append(queue(database, "alarmed", {"leave": True}, run_at=database.now()))
        runs += insert_runs(database, 20, "alarmed")
    jobrunner.tick(env=ONE)
    assert ends(database, runs) == {("succeeded", 1, 1): len(runs)}


THREADS = """
@job("leave")
def leave(ctx: Context):
    import threading
    leave_trace(ctx)
    threading.Timer(0.05, os._exit, [7]).start()
"""


@pytest.mark.promise("P1", "P7", "P8")
def test_a_child_that_dies_of_an_earlier_run_costs_at_most_the_one_at_work(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.add(QUICK + THREADS)
    others = warm_up(database)
    bad = [queue(database, "leave", priority=5) for _ in range(3)]
    others += insert_runs(database, 100, "quick", {"seconds": 0.005})
    jobrunner.tick(env=ONE)
    # One of the bad ones, too, may be the one at work when the thread of another ends their child.
    failed = ends(database, [*bad, *others])[("failed", 1, 1)]
    assert failed <= len(bad)
    assert ends(database, [*bad, *others]) == {("succeeded", 1, 1): len(bad) + len(others) - failed} | (
        {("failed", 1, 1): failed} if failed else {}
    )
    assert set(begun(app).values()) == {1}
    assert_consistent(database)
