"""A tick whose lease ends while it is stopped."""

import os
import signal
import subprocess
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from harness import App, Commands, Database, wait_for
from harness.invariants import assert_consistent, insert_runs, outcomes, read_log, wait_for_exit
from harness.standstill import stop_between_transactions
from harness.waiting import stretched

# A test that waits for the end of a lease takes seconds. By the database's clock it ends at once; then the owner, whose
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
    lease_seconds: float = field(init=False)
    process: "subprocess.Popen[str]" = field(init=False)

    def __post_init__(self) -> None:
        self.log = self.app.path("stale.log")
        self.lease_seconds = stretched(4)
        (self.run_id,) = insert_runs(self.database, 1, "wait_for", {"path": str(self.app.path("go"))})
        lease = {"JOBRUNNER_LEASE": f"{self.lease_seconds}s"}
        named = {"JOBRUNNER_HOST": "first", "JOBRUNNER_LOG": str(self.log)}
        self.process = self.jobrunner.start("tick", env=lease | named)
        wait_for(self.app.trace, 20, "the handler's first line")
        # A child may begin before the tick has told that it claimed the run.
        wait_for(lambda: any(line["event"] == "claimed" for line in read_log(self.log)), 20, "the line of the claim")

    @property
    def handler(self) -> int:
        return self.app.trace()[0].pid

    def stop_past_the_lease(self, *, waits: bool = False) -> None:
        stop_between_transactions(self.process, self.database)
        if not waits:
            self.database.move_clock(timedelta(seconds=self.lease_seconds))
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
