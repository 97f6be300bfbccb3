"""Cancel and retry while ticks claim and finalize: every result follows the table of transitions."""

from collections import Counter

import pytest

from harness import App, Commands, Database
from harness.cancels import HANDLERS, RUNS, assert_events_fit, events
from harness.invariants import assert_consistent, insert_runs, outcomes, statuses, wait_for_exit


@pytest.mark.promise("P1", "P2", "P12")
@pytest.mark.parametrize("round_", range(2))
def test_cancel_racing_claim_and_finalize(jobrunner: Commands, app: App, database: Database, round_: int) -> None:
    app.add(HANDLERS)
    ids = insert_runs(database, RUNS, "quick")
    ticks = [jobrunner.start("tick", env={"JOBRUNNER_LEASE": "2m", "JOBRUNNER_HEARTBEAT": "2s"}) for _ in range(2)]
    halves = (ids[RUNS // 2 :], ids[: RUNS // 2])
    cancels = [jobrunner.start("cancel", *some) for some in halves]
    for cancel in cancels:
        stdout, stderr = cancel.communicate(timeout=60)
        assert cancel.returncode in (0, 1), stderr
        assert "Traceback" not in stderr
        assert len((stdout + stderr).splitlines()) == RUNS // 2
    for tick in ticks:
        assert wait_for_exit(tick, 0, 60) == ""
    assert set(statuses(database)) <= {"succeeded", "dead", "cancelled"}
    assert_consistent(database)
    assert_events_fit(database)
    starts = Counter(line.run_id for line in app.trace())
    assert not starts or max(starts.values()) == 1
    assert all(len(outcomes(database, run_id)) == starts[run_id] for run_id in ids)


@pytest.mark.promise("P1", "P2", "P12")
@pytest.mark.parametrize("round_", range(2))
def test_retry_and_cancel_racing_ticks(jobrunner: Commands, app: App, database: Database, round_: int) -> None:
    app.add(HANDLERS)
    ids = insert_runs(database, RUNS, "quick")
    commands = [jobrunner.start("tick", env={"JOBRUNNER_LEASE": "2m", "JOBRUNNER_HEARTBEAT": "2s"}) for _ in range(2)]
    commands += [jobrunner.start(word, *ids) for word in ("cancel", "retry", "cancel", "retry", "retry")]
    for command in commands:
        _, stderr = command.communicate(timeout=60)
        assert command.returncode in (0, 1), stderr
        assert "Traceback" not in stderr
    assert_consistent(database)
    jobrunner.tick()
    assert set(statuses(database)) <= {"succeeded", "dead", "cancelled"}
    assert_consistent(database)
    assert_events_fit(database)
    starts = Counter(line.run_id for line in app.trace())
    for run_id in ids:
        retries = sum(action == "retry" for action, _ in events(database, run_id))
        assert starts[run_id] == len(outcomes(database, run_id)) <= 1 + retries
