"""A tick that was stopped past its lease writes nothing more, whoever has recovered its run meanwhile."""

import os
import signal
import subprocess
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from harness import App, Commands, Database, wait_for
from harness.invariants import assert_consistent, insert_runs, outcomes, read_log, snapshot, wait_for_exit
from harness.processes import is_working

LEASE_SECONDS = 4
LEASE = {"JOBRUNNER_LEASE": f"{LEASE_SECONDS}s"}
# What a test costs that waits for the end of a lease. By the database's clock it ends at once; then the owner, whose
# own clock has not gone on, does not know that it was stopped for so long.
waiting_or_not = pytest.mark.parametrize(("host", "waits"), [("first", True), ("second", False)])


@dataclass
class StaleOwner:
    """A tick that is stopped past its lease while its handler works."""

    jobrunner: Commands
    app: App
    database: Database
    run_id: int = 0
    log: Path = field(init=False)
    process: "subprocess.Popen[str]" = field(init=False)

    def __post_init__(self) -> None:
        self.log = self.app.path("stale.log")
        (self.run_id,) = insert_runs(self.database, 1, "wait_for", {"path": str(self.app.path("go"))})
        named = {"JOBRUNNER_HOST": "first", "JOBRUNNER_LOG": str(self.log)}
        self.process = self.jobrunner.start("tick", env=LEASE | named)
        wait_for(self.app.trace, 20, "the handler's first line")

    @property
    def handler(self) -> int:
        return self.app.trace()[0].pid

    def stop_past_the_lease(self, *, waits: bool = False) -> None:
        os.kill(self.process.pid, signal.SIGSTOP)
        if not waits:
            self.database.move_clock(timedelta(seconds=LEASE_SECONDS))
        self.database.wait_until("SELECT count(*) FROM job_recoverable", describe="the end of the lease")

    def finish_elsewhere(self, host: str) -> None:
        """Another tick recovers the run; a later one does it to the end."""
        self.tick(host)
        assert outcomes(self.database, self.run_id) == ["lease_expired"]
        self.app.release("go")
        self.database.move_clock(timedelta(hours=1))
        self.tick(host)
        assert outcomes(self.database, self.run_id) == ["lease_expired", "succeeded"]
        assert_consistent(self.database)

    def tick(self, host: str, **fault: str) -> int:
        return self.jobrunner.tick(env={"JOBRUNNER_HOST": host, **fault}, check=not fault).returncode

    def go_on(self) -> list[str]:
        """SIGCONT; what the log says of the run after that, when the tick is over."""
        before = len(read_log(self.log))
        os.kill(self.process.pid, signal.SIGCONT)
        return self.told_after(before)

    def told_after(self, before: int) -> list[str]:
        """What the log says of the run after so many lines, when the tick is over."""
        assert wait_for_exit(self.process, 0) == ""
        return [line["event"] for line in read_log(self.log)[before:] if line.get("run_id") == self.run_id]


@pytest.fixture
def stale(jobrunner: Commands, app: App, database: Database) -> StaleOwner:
    return StaleOwner(jobrunner, app, database)


@pytest.mark.promise("P2")
@waiting_or_not
def test_a_stale_owner_changes_nothing(stale: StaleOwner, host: str, waits: bool) -> None:
    stale.stop_past_the_lease(waits=waits)
    stale.finish_elsewhere(host)
    before = snapshot(stale.database, stale.run_id)
    told = stale.go_on()
    assert snapshot(stale.database, stale.run_id) == before
    assert told.count("lease lost") == 1
    assert set(told) <= {"lease lost", "stopped"}
    assert stale.jobrunner.leftover_processes() == []


@pytest.mark.promise("P2")
@waiting_or_not
def test_a_stale_finalize_of_a_running_run_changes_nothing(stale: StaleOwner, host: str, waits: bool) -> None:
    """The new owner is at work while the old one comes back with a finished handler."""
    stale.stop_past_the_lease(waits=waits)
    stale.tick(host)
    stale.database.execute("UPDATE job_runs SET payload = ?", [{"path": str(stale.app.path("later"))}])
    stale.database.move_clock(timedelta(hours=1))
    second = stale.jobrunner.start("tick", env={"JOBRUNNER_HOST": host})
    wait_for(lambda: len(stale.app.trace()) == 2, 20, "the handler of the second owner")
    stale.app.release("go")
    before = snapshot(stale.database, stale.run_id)
    assert stale.go_on().count("lease lost") == 1
    assert snapshot(stale.database, stale.run_id) == before
    stale.app.release("later")
    wait_for_exit(second, 0)
    assert outcomes(stale.database, stale.run_id) == ["lease_expired", "succeeded"]
    assert_consistent(stale.database)


@pytest.mark.promise("P2")
def test_old_handler_has_ended_before_its_run_is_claimable(stale: StaleOwner) -> None:
    """Recovery is killed just before it commits: at that moment the handler is dead, the run still running."""
    stale.stop_past_the_lease()
    assert is_working(stale.handler)
    killed = stale.tick("first", JOBRUNNER_FAULT="recover.before_commit=kill")
    assert killed == -signal.SIGKILL
    assert not is_working(stale.handler)
    assert stale.database.value("SELECT status FROM job_runs") == "running"
    stale.finish_elsewhere("first")
    assert stale.go_on().count("lease lost") == 1


@pytest.mark.promise("P2")
def test_recovery_does_not_stop_handlers_of_another_host(stale: StaleOwner) -> None:
    """Only its owner can stop it: it does so as soon as it learns that the lease is lost."""
    stale.stop_past_the_lease()
    stale.tick("second")
    assert is_working(stale.handler)
    before = snapshot(stale.database, stale.run_id)
    assert stale.go_on().count("lease lost") == 1
    assert not is_working(stale.handler)
    assert snapshot(stale.database, stale.run_id) == before


@pytest.mark.promise("P2")
def test_owner_that_stalled_beyond_its_lease_goes_on_if_its_run_was_not_claimed(stale: StaleOwner) -> None:
    """After a stall the heartbeat comes before anything else, also before the handler is given up."""
    stale.stop_past_the_lease(waits=True)
    beat_at, before = stale.database.value("SELECT heartbeat_at FROM job_runs"), len(read_log(stale.log))
    os.kill(stale.process.pid, signal.SIGCONT)
    stale.database.wait_until("SELECT heartbeat_at > ? AS beaten FROM job_runs", [beat_at], describe="a beat")
    stale.app.release("go")
    assert stale.told_after(before) == ["succeeded"]
    assert outcomes(stale.database, stale.run_id) == ["succeeded"]
    assert len(stale.app.trace()) == 1
