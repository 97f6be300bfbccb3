"""The handler, imported by the ticks (JOBRUNNER_IMPORT) and by the producer.

Each call appends one line to a ledger outside of the database: what was really done, and how often.
"""

import asyncio
import os
import time

from jobrunner import Context, fixed, job

_WORK_SECONDS = int(os.environ.get("JOB_WORK_MS") or 1) / 1000
_LEDGER = list[int]()


def _write(ctx: Context, uid: str, created: float, started: float) -> None:
    if not _LEDGER:
        _LEDGER.append(os.open(os.environ["BENCH_LEDGER"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644))
    # One write of less than a page: lines of several processes do not mix.
    line = f"{uid} {ctx.run_id} {ctx.attempt} {created:.6f} {started:.6f} {time.time():.6f} {os.getpid()}\n"
    os.write(_LEDGER[0], line.encode())


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
