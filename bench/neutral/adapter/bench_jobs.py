"""The handler, imported by the ticks (JOBRUNNER_IMPORT) and by the producer."""

import asyncio
import os
import time

import ledger

from jobrunner import Context, fixed, job

_WORK_SECONDS = int(os.environ.get("JOB_WORK_MS") or 1) / 1000


def _write(ctx: Context, uid: str, created: float, started: float) -> None:
    ledger.write(os.environ["BENCH_LEDGER"], uid, ctx.run_id, ctx.attempt, created, started)


if os.environ.get("BENCH_HANDLER") == "async":

    @job("bench", max_attempts=20, timeout="60s", backoff=fixed("1s"), concurrency=int(os.environ["WORKER_COUNT"]))
    async def bench(ctx: Context, uid: str, created: float, padding: str) -> None:
        started = time.time()
        if _WORK_SECONDS:
            await asyncio.sleep(_WORK_SECONDS)
        _write(ctx, uid, created, started)

else:

    @job("bench", max_attempts=20, timeout="60s", backoff=fixed("1s"))
    def bench(ctx: Context, uid: str, created: float, padding: str) -> None:
        started = time.time()
        if _WORK_SECONDS:
            time.sleep(_WORK_SECONDS)
        _write(ctx, uid, created, started)
