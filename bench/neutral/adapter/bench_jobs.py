"""The handler, imported by the ticks (JOBRUNNER_IMPORT) and by the producer."""

import asyncio
import os
import time

import work

from jobrunner import Context, fixed, job


def _write(ctx: Context, uid: str, created: float, started: float) -> None:
    work.note_end(os.environ["BENCH_LEDGER"], uid, ctx.run_id, ctx.attempt, created, started)


if os.environ.get("BENCH_HANDLER") == "async":

    @job("bench", max_attempts=20, timeout="60s", backoff=fixed("1s"), concurrency=int(os.environ["WORKER_COUNT"]))
    async def bench(ctx: Context, uid: str, created: float, padding: str) -> None:
        started = time.time()
        if work.SECONDS:
            await asyncio.sleep(work.SECONDS)
        _write(ctx, uid, created, started)

else:

    @job("bench", max_attempts=20, timeout="60s", backoff=fixed("1s"))
    def bench(ctx: Context, uid: str, created: float, padding: str) -> None:
        started = time.time()
        if work.SECONDS:
            time.sleep(work.SECONDS)
        _write(ctx, uid, created, started)
