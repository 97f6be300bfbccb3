"""Every named failpoint, combined with a kill and with a cut connection, on both databases."""

import re
import signal
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import jobrunner as package
from harness import App, Commands, Database, wait_for
from harness.fault_points import (
    ARCHIVE_POINTS,
    CHILD_POINTS,
    COMMAND_POINTS,
    EFFECT_POINTS,
    MOVE_POINTS,
    NOTICE_POINTS,
    POINTS,
    RESTORE_POINTS,
)
from harness.fault_scene import FaultScene
from harness.invariants import assert_consistent, insert_runs, outcomes, statuses

# What a cut before the drain costs is this tick; the next one comes in a minute.
BEFORE_THE_DRAIN = ("tick.opened", "recover.", "deadline.", "expand.", "prune.")
# Between these two the tick has begun a run: its death is an attempt used.
CHARGED = POINTS[POINTS.index("attempt.handed_over") + 1 : POINTS.index("finalize.before_commit") + 1]

CASES = [(point, action) for point in POINTS for action in ("kill", "cut")]
CASES += [(point, "kill") for point in CHILD_POINTS]


@pytest.fixture
def scene(jobrunner: Commands, app: App, database: Database) -> FaultScene:
    return FaultScene(jobrunner, app, database)


@pytest.mark.long(sample=14)
@pytest.mark.promise("P1", "P2", "P3", "P6", "P12")
@pytest.mark.parametrize(("point", "action"), CASES, ids=[f"{point}-{action}" for point, action in CASES])
def test_fault_at_any_point_loses_and_repeats_no_run(scene: FaultScene, point: str, action: str) -> None:
    code, stderr = scene.tick_with_fault(point, action)
    in_a_child = point in CHILD_POINTS
    assert scene.reached() == [point] * (len(scene.reached()) if in_a_child else 1) != []
    if action == "cut":
        assert_survived(code, stderr, point)
    else:
        assert (code, stderr) == ((0 if in_a_child else -signal.SIGKILL), "")
        wait_for(lambda: not scene.jobrunner.leftover_processes(), 20, "the end of the killed tick's children")
    scene.settle()
    database = scene.database
    assert_consistent(database)
    assert len(scene.slot_runs()) == 1
    runs = [*scene.due, scene.abandoned, *scene.slot_runs()]
    assert statuses(database) == {"succeeded": len(runs), "dead": 1}  # and the old run is pruned
    assert outcomes(database, scene.late) == []
    told = database.query("SELECT action FROM job_events WHERE run_id = ?", [scene.late])
    assert told == [{"action": "start deadline passed"}]
    starts = Counter(line.run_id for line in scene.app.trace())
    crashes = {run_id: outcomes(database, run_id)[:-1] for run_id in runs}
    assert crashes[scene.abandoned].pop(0) == "lease_expired"  # before the tick of this test
    assert all(1 <= starts[run_id] <= 1 + len(crashes[run_id]) for run_id in runs), (starts, crashes)
    assert all(len(each) <= 1 for each in crashes.values()), crashes
    assert {outcome for each in crashes.values() for outcome in each} == expected_crashes(point, action, crashes)


def assert_survived(code: int, stderr: str, point: str) -> None:
    if point.startswith(BEFORE_THE_DRAIN):
        assert code == 69
        assert re.fullmatch(r"jobrunner: lost the connection to the database [^\n]*\n", stderr)
    else:
        assert (code, stderr) == (0, "")


def expected_crashes(point: str, action: str, crashes: dict[int, list[str]]) -> set[str]:
    if action == "cut":
        return set()
    if point in CHILD_POINTS:
        return {"crashed"}
    # Whoever else was at work; and a child may have begun what it was handed, or not.
    if point in ("finalize.committed", "attempt.handed_over"):
        return {"lease_expired"} if any(crashes.values()) else set()
    return {"lease_expired"} if point in CHARGED else set()


@pytest.mark.promise("P12")
@pytest.mark.parametrize("action", ["kill", "cut"])
def test_tick_row_without_end_shows_a_killed_tick(scene: FaultScene, action: str) -> None:
    scene.tick_with_fault("claim.committed", action)
    closed = scene.database.value("SELECT finished_at FROM job_ticks") is not None
    assert closed == (action == "cut")


@pytest.mark.promise("P1", "P6")
def test_each_fault_in_a_row_is_one_attempt(jobrunner: Commands, app: App, database: Database) -> None:
    """Claimed and lost twice: charged twice, no more, and done at the third start."""
    (run_id,) = insert_runs(database, 1)
    for crashes in (1, 2):
        jobrunner.killed_at("attempt.ended")
        database.move_clock(timedelta(hours=1))
        jobrunner.tick()
        assert outcomes(database, run_id) == ["lease_expired"] * crashes
        database.move_clock(timedelta(hours=1))
    jobrunner.tick()
    assert_consistent(database)
    assert outcomes(database, run_id) == ["lease_expired", "lease_expired", "succeeded"]
    assert [line.attempt for line in app.trace()] == [1, 2, 3]


def reached_in_the_code() -> Iterator[str]:
    for path in Path(package.__file__).parent.rglob("*.py"):
        yield from re.findall(r"\bhit\(\s*\"([^\"]+)\"", path.read_text())


def test_fault_matrix_has_every_failpoint_of_the_code() -> None:
    """Each case asserts that its point was reached, so a point that no tick passes fails there.

    Those of commands are crossed in test_schedule_failpoints.py and test_internal_errors.py, those of effects in
    test_effects_crashes.py, those of hooks in test_notices.py, those of a move in test_move.py.
    """
    of_commands = {*COMMAND_POINTS, *ARCHIVE_POINTS, *MOVE_POINTS, *RESTORE_POINTS}
    beside = {*CHILD_POINTS, *EFFECT_POINTS, *NOTICE_POINTS, *of_commands}
    assert set(reached_in_the_code()) == {*POINTS, *beside}
    wanted = {(point, action) for point in POINTS for action in ("kill", "cut")}
    assert set(CASES) == wanted | {(point, "kill") for point in CHILD_POINTS}
