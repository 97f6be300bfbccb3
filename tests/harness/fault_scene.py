"""A database in which a tick has something to do at every point where it may be killed or cut off."""

from datetime import timedelta

from harness import App, Commands, Database
from harness.invariants import insert_runs
from harness.waiting import span

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


class FaultScene:
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
        beats = {"JOBRUNNER_LEASE": span(8), "JOBRUNNER_HEARTBEAT": "0.2s"}
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
            assert self.jobrunner.tick(env={"SLOW_SECONDS": "0"}).stderr == ""
            if not self.database.value("SELECT count(*) FROM job_runs WHERE finished_at IS NULL"):
                return
        raise AssertionError(f"not settled by four ticks\n{self.database.describe()}")

    def slot_runs(self) -> list[int]:
        rows = self.database.query("SELECT id FROM job_runs WHERE definition_id IS NOT NULL")
        return [row["id"] for row in rows]
