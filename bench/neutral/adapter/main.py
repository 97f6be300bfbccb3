#!/usr/bin/env python3
"""jobrunner in the harness: a producer, ticks that are started again and again, and samples on stdout. See README.md.

Public surface only: `jobrunner migrate`, `jobrunner tick --linger`, and `enqueue_many` on a connection of psycopg.
"""

import os
import subprocess
import sys

from counts import Counts
from replica import run
from settings import COMMAND, HERE, Settings
from ticks import supervise

_WAITING = (
    "SELECT CASE status WHEN 'queued' THEN 'queue_depth' ELSE 'retryable_depth' END, count(*) FROM job_runs"
    " WHERE status IN ('queued', 'failed') GROUP BY status"
)
_RUNNING = "SELECT 'running_depth', count(*) FROM job_runs WHERE status = 'running'"


class Jobrunner:
    depths = (_WAITING, _RUNNING)

    def __init__(self, counts: Counts) -> None:
        from bench_jobs import bench

        self._counts, self._bench = counts, bench
        self._connection = counts.connected()

    def prepare(self) -> str:
        settings = self._counts.settings
        (settings.ledgers / f"state-{settings.instance}").mkdir(mode=0o700, exist_ok=True)
        subprocess.run([COMMAND, "migrate"], env=settings.environment(), stdout=sys.stderr, check=True)
        asked = subprocess.run([COMMAND, "--version"], capture_output=True, text=True, check=True)
        return asked.stdout.strip()

    def more_tables(self) -> list[str]:
        return []

    def enqueue(self, keys: list[str], created: float) -> None:
        """Each batch in a transaction of its own."""
        if self._connection is None or self._connection.closed or self._connection.broken:
            self._connection = self._counts.connected()
        if self._connection is None:
            raise ConnectionError("the adapter stops")
        padding = self._counts.settings.padding
        with self._connection.transaction():
            payloads = [{"uid": key, "created": created, "padding": padding} for key in keys]
            self._bench.enqueue_many(self._connection, payloads)

    def work(self) -> None:
        supervise(self._counts)


def main() -> None:
    settings = Settings.read(os.environ)
    # For the handlers, which the producer imports, too.
    os.environ["BENCH_LEDGER"] = str(settings.file("done"))
    os.environ["WORKER_COUNT"] = str(settings.workers)
    counts = Counts(settings, "jobrunner")
    run(counts, Jobrunner(counts), HERE / "adapter.json")


if __name__ == "__main__":
    main()
