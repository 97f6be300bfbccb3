#!/usr/bin/env python3
"""awa in the harness, by its Python package, which has the engine of its Rust crates. The README tells how it differs.

Besides its public surface: its tables are listed from the catalogue, and the depth is the difference of its counters.
"""

import asyncio
import os
import threading
import time
from dataclasses import dataclass
from importlib.metadata import version

import awa
import psycopg
import work
from counts import Counts
from replica import run
from settings import HERE, Settings

_QUEUE = "bench"
_POLL_MS = 50  # as in the benchmark's own adapter of awa
# A killed replica's jobs are taken up after 15 s, as those of jobrunner here; awa's defaults are 30, 90 and 30 s.
_RELIABILITY = {"heartbeat_interval_ms": 5_000, "heartbeat_staleness_ms": 15_000, "heartbeat_rescue_interval_ms": 5_000}
_STOP_MS = 3_000
_WAITING = (
    "SELECT 'queue_depth', coalesce(sum(greatest(0,"
    " awa.sequence_next_value(added.seq_name) - awa.sequence_next_value(claimed.seq_name))), 0)::bigint"
    " FROM awa.queue_enqueue_heads added JOIN awa.queue_claim_heads claimed USING (queue, priority, enqueue_shard)"
)
_RETRYABLE = "SELECT 'retryable_depth', count(*) FROM awa.deferred_jobs WHERE state = 'retryable'"
_TABLES = "SELECT 'awa.' || relname FROM pg_class WHERE relnamespace = 'awa'::regnamespace AND relkind = 'r' ORDER BY 1"


@dataclass
class Bench:
    uid: str
    created: float
    padding: str


class Awa:
    depths = (_WAITING, _RETRYABLE)

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self._producer = awa.Client(counts.settings.database_url)
        self._started = threading.Event()

    def prepare(self) -> str:
        self._producer.migrate()
        return version("awa-pg")

    def more_tables(self) -> list[str]:
        """All of its tables, since it keeps each job in several of them. Partitions only: these have rows."""
        with psycopg.connect(self._counts.settings.database_url) as connection:
            return [name for (name,) in connection.execute(_TABLES)]

    def enqueue(self, keys: list[str], created: float) -> None:
        # Its storage is made active by the first worker.
        while not self._started.wait(0.2):
            if self._counts.stopping.is_set():
                raise ConnectionError("the adapter stops")
        padding = self._counts.settings.padding
        self._producer.enqueue_many_copy([Bench(key, created, padding) for key in keys], queue=_QUEUE)

    def work(self) -> None:
        asyncio.run(self._work())

    async def _work(self) -> None:
        counts, workers = self._counts, self._counts.settings.workers
        # As many connections as in the benchmark's own adapter of awa.
        client = awa.AsyncClient(counts.settings.database_url, max_connections=max(80, workers * 4 + 48))
        done = str(counts.settings.file("done"))

        @client.task(Bench, queue=_QUEUE)
        async def bench(job: "awa.Job[Bench]") -> None:
            started = time.time()
            if work.SECONDS:
                await asyncio.sleep(work.SECONDS)
            args = job.args
            work.note_end(done, args.uid, job.id, job.attempt, args.created, started)

        await client.start([(_QUEUE, workers)], poll_interval_ms=_POLL_MS, **_RELIABILITY)
        self._started.set()
        while not counts.stopping.is_set():
            await asyncio.sleep(0.1)
        await client.shutdown(timeout_ms=_STOP_MS)


def main() -> None:
    counts = Counts(Settings.read(os.environ), "awa-python")
    run(counts, Awa(counts), HERE / "adapter.json")


if __name__ == "__main__":
    main()
