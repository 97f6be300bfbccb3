"""What the harness says in the environment, and the adapter's own variables.

None of our own begins with JOBRUNNER_: every command refuses such a variable that is no setting.
"""

import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
COMMAND = Path(sys.executable).parent / "jobrunner"
# A run has a key and an instant besides.
_BYTES_BESIDES_PADDING = 96


@dataclass(frozen=True)
class Settings:
    """Of one replica. `is_paced`: the harness says on our stdin when to enqueue how many."""

    instance: int
    database_url: str
    workers: int
    sample_seconds: int
    mode: str
    rate: float
    rate_file: Path | None
    target_depth: int
    batch_max: int
    batch_seconds: float
    is_paced: bool
    padding: str
    tick_seconds: float
    linger: str
    restarts: bool
    lease: str
    is_strict: bool
    ledgers: Path
    version: str

    @classmethod
    def read(cls, given: Mapping[str, str]) -> "Settings":
        def number(name: str, default: int) -> int:
            return int(given.get(name) or default)

        mode, file = given.get("PRODUCER_MODE") or "fixed", given.get("PRODUCER_RATE_CONTROL_FILE")
        return cls(
            instance=number("BENCH_INSTANCE_ID", 0),
            database_url=given["DATABASE_URL"],
            workers=number("WORKER_COUNT", 32),
            sample_seconds=number("SAMPLE_EVERY_S", 5),
            mode=mode,
            rate=float(number("PRODUCER_RATE", 800)),
            rate_file=Path(file) if file else None,
            target_depth=number("TARGET_DEPTH", 1000),
            batch_max=number("PRODUCER_BATCH_MAX", 128),
            batch_seconds=number("PRODUCER_BATCH_MS", 25) / 1000,
            is_paced=mode == "fixed" and given.get("PRODUCER_PACING") == "harness",
            padding="x" * max(0, number("JOB_PAYLOAD_BYTES", 256) - _BYTES_BESIDES_PADDING),
            tick_seconds=float(given.get("BENCH_TICK_EVERY_S") or 60),
            linger=given.get("BENCH_LINGER") or "2m",
            restarts=given.get("BENCH_RESTART", "1") == "1",
            lease=given.get("BENCH_LEASE") or "15s",
            is_strict=bool(given.get("BENCH_STRICT")),
            ledgers=Path(given.get("BENCH_LEDGER_DIR") or tempfile.mkdtemp(prefix="jobrunner-ledger-")),
            version=given.get("BENCH_VERSION") or "",
        )

    def file(self, name: str) -> Path:
        """A ledger of this replica."""
        return self.ledgers / f"{name}-{self.instance}.log"

    def environment(self) -> dict[str, str]:
        """Of the ticks."""
        strict = {"JOBRUNNER_STRICT": "true"} if self.is_strict else {}
        return {
            **os.environ,
            "JOBRUNNER_DATABASE_URL": self.database_url,
            "JOBRUNNER_APP_DIR": str(HERE),
            "JOBRUNNER_IMPORT": "bench_jobs",
            "JOBRUNNER_HOST": f"replica-{self.instance}",
            "JOBRUNNER_CONCURRENCY": str(self.workers),
            "JOBRUNNER_LEASE": self.lease,
            "JOBRUNNER_GRACE": "3s",
            "JOBRUNNER_STATE_DIR": str(self.ledgers / f"state-{self.instance}"),
            "BENCH_LEDGER": str(self.file("done")),
            **strict,
        }
