"""Every named fault point, crossed with a kill and with a cut connection, on both databases."""

import re
import signal
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import jobrunner as package
from harness import App, Commands, Database, wait_for
from jobrunner.faults import CHILD_POINTS, COMMAND_POINTS, POINTS
from test_recovery_invariants import assert_consistent, insert_runs, outcomes, statuses

# What a cut before the drain costs is this tick; the next one comes in a minute.
BEFORE_THE_DRAIN = ("tick.opened", "recover.", "deadline.", "expand.", "prune.")
# Between these two the tick has begun a run: its death is an attempt used.
CHARGED = POINTS[POINTS.index("attempt.handed_over") + 1 : POINTS.index("finalize.before_commit") + 1]

CASES = [(point, action) for point in POINTS for action in ("kill", "cut")]
CASES += [(point, "kill") for point in CHILD_POINTS]

SLOW = '''
@job("slow")
def slow(ctx: Context):
    """Several heartbeats long, or one beat that comes when all others have ended."""
    leave_trace(ctx)
    time.sleep(float(os.environ.get("SLOW_SECONDS", "1")))


@job("loop")
async def loop(ctx: Context):
    """In an event loop."""
    leave_trace(ctx)
'''
COMMAND = """
[jobs.command]
command = 'echo "$JOBRUNNER_RUN_ID $JOBRUNNER_ATTEMPT $$" >> "$TRACE_FILE"'
shell = true
"""


class Ground:
    """A database in which a tick has something to recover, to give up, to expand, to prune and to drain."""

    def __init__(self, jobrunner: Commands, app: App, database: Database) -> None:
        self.jobrunner, self.app, self.database = jobrunner, app, database
        app.add(SLOW)
        app.path("jobrunner.toml").write_text(COMMAND)
        now = database.now()
        ago = {days: now - timedelta(days=days) for days in (1, 30, 400)}
        self.due = insert_runs(database, 3)
        self.due += [insert_runs(database, 1, kind)[0] for kind in ("slow", "loop", "command")]
        (self.abandoned,) = insert_runs(
            database,
            1,
            status="running",
            attempts=1,
            max_attempts=5,
            locked_by="gone:1:0",
            host="gone",
            lease_token="gone",
            claimed_at=ago[1],
            started_at=ago[1],
            locked_until=now - timedelta(seconds=1),
        )
        (self.late,) = insert_runs(database, 1, start_deadline_at=ago[1])
        (self.old,) = insert_runs(database, 1, status="succeeded", finished_at=ago[30])
        database.execute(
            "INSERT INTO job_definitions (name, job_type, payload, schedule, timezone, source, last_slot_at,"
            " next_run_at, created_at, updated_at) VALUES ('yearly', 'append', '{}', '0 0 1 1 *', 'UTC', 'cli',"
            " ?, ?, ?, ?)",
            [ago[400], ago[30], now, now],
        )
        self._trace = app.path("faults")

    def tick_with_fault(self, point: str, action: str) -> tuple[int, str]:
        """A tick with a lease that nothing here outlives, and beats that a second is long enough for."""
        faults = {"JOBRUNNER_FAULT": f"{point}={action}", "JOBRUNNER_FAULT_TRACE": str(self._trace)}
        beats = {"JOBRUNNER_LEASE": "8s", "JOBRUNNER_HEARTBEAT": "0.2s"}
        if point.startswith("heartbeat."):
            # A beat may come just when the only run at hand was finalized: then its kill costs no attempt.
            beats |= {"JOBRUNNER_HEARTBEAT": "1.5s", "SLOW_SECONDS": "4"}
        done = self.jobrunner.tick(env={**faults, **beats}, check=False)
        assert done.stdout == ""
        return done.returncode, done.stderr

    def reached(self) -> list[str]:
        """Each passing of the point, in this tick or in one of its children."""
        return [line.split()[0] for line in self._trace.read_text().splitlines()] if self._trace.exists() else []

    def settle(self) -> None:
        """Ordinary ticks, each later than any lease and backoff, until nothing is left to do."""
        for _ in range(4):
            self.database.move_clock(timedelta(hours=1))
            assert self.jobrunner.tick().stderr == ""
            if not self.database.value("SELECT count(*) FROM job_runs WHERE finished_at IS NULL"):
                return
        raise AssertionError(f"not settled by four ticks\n{self.database.describe()}")

    def slot_runs(self) -> list[int]:
        rows = self.database.query("SELECT id FROM job_runs WHERE definition_id IS NOT NULL")
        return [row["id"] for row in rows]


@pytest.fixture
def ground(jobrunner: Commands, app: App, database: Database) -> Ground:
    return Ground(jobrunner, app, database)


@pytest.mark.promise("P1", "P2", "P3", "P6", "P12")
@pytest.mark.parametrize(("point", "action"), CASES, ids=[f"{point}-{action}" for point, action in CASES])
def test_a_fault_at_any_point_loses_nothing_and_repeats_nothing(ground: Ground, point: str, action: str) -> None:
    code, stderr = ground.tick_with_fault(point, action)
    in_a_child = point in CHILD_POINTS
    assert ground.reached() == [point] * (len(ground.reached()) if in_a_child else 1) != []
    if action == "cut":
        assert_survived(code, stderr, point)
    else:
        assert (code, stderr) == ((0 if in_a_child else -signal.SIGKILL), "")
        wait_for(lambda: not ground.jobrunner.leftover_processes(), 20, "the end of the killed tick's children")
    ground.settle()
    database = ground.database
    assert_consistent(database)
    assert len(ground.slot_runs()) == 1
    runs = [*ground.due, ground.abandoned, *ground.slot_runs()]
    assert statuses(database) == {"succeeded": len(runs), "dead": 1}  # and the old run is pruned
    assert outcomes(database, ground.late) == []
    told = database.query("SELECT action FROM job_events WHERE run_id = ?", [ground.late])
    assert told == [{"action": "start deadline passed"}]
    starts = Counter(line.run_id for line in ground.app.trace())
    crashes = {run_id: outcomes(database, run_id)[:-1] for run_id in runs}
    assert crashes[ground.abandoned].pop(0) == "lease_expired"  # before the tick of this test
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
def test_an_open_row_tells_of_a_killed_tick(ground: Ground, action: str) -> None:
    ground.tick_with_fault("claim.committed", action)
    closed = ground.database.value("SELECT finished_at FROM job_ticks") is not None
    assert closed == (action == "cut")


@pytest.mark.promise("P1", "P6")
def test_each_fault_in_a_row_is_one_attempt(jobrunner: Commands, app: App, database: Database) -> None:
    """Claimed and lost twice: charged twice, no more, and done at the third start."""
    (run_id,) = insert_runs(database, 1)
    for crashes in (1, 2):
        killed = jobrunner.tick(env={"JOBRUNNER_FAULT": "attempt.ended=kill"}, check=False)
        assert killed.returncode == -signal.SIGKILL
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
        yield from re.findall(r"\breach\(\s*\"([^\"]+)\"", path.read_text())


def test_the_matrix_holds_every_point_of_the_code() -> None:
    """Each case asserts that its point was reached, so a point that no tick passes fails there.

    Those of commands are crossed in test_schedule_faults.py.
    """
    assert set(reached_in_the_code()) == {*POINTS, *CHILD_POINTS, *COMMAND_POINTS}
    wanted = {(point, action) for point in POINTS for action in ("kill", "cut")}
    assert set(CASES) == wanted | {(point, "kill") for point in CHILD_POINTS}
