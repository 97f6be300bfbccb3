"""pgqueuer: `setup`, `fill N`, `enqueue N`, `join N`, and `drain [BATCH]`: its drain mode.

At best: batches of 100, uvloop. Called from Python: its own command, `pgq run --mode drain`, ended with an
AttributeError in the version of the day.
"""

import asyncio
import os
import sys
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext

import asyncpg
import uvloop
from pgqueuer import AsyncpgDriver, Job, PgQueuer, Queries
from pgqueuer.types import QueueExecutionMode


async def main(action: str, *words: str) -> None:
    connection = await asyncpg.connect(os.environ["BENCH_URL"])
    driver = AsyncpgDriver(connection)
    if action == "setup":
        await Queries(driver).install()
    elif action == "fill":
        count = int(words[0])
        await Queries(driver).enqueue(["noop"] * count, [None] * count, [0] * count)
    elif action == "enqueue":
        await enqueue(Queries(driver), int(words[0]), nullcontext)
    elif action == "join":
        await enqueue(Queries(driver), int(words[0]), connection.transaction)
    else:
        await drain(driver, *words)
    await connection.close()


async def enqueue(queries: Queries, count: int, around: Callable[[], AbstractAsyncContextManager[object]]) -> None:
    await queries.enqueue("noop", None)
    began = time.perf_counter()
    for _ in range(count - 1):
        async with around():
            await queries.enqueue("noop", None)
    print((count - 1) / (time.perf_counter() - began))


async def drain(driver: AsyncpgDriver, batch: str = "10") -> None:
    queue = PgQueuer(driver)

    @queue.entrypoint("noop")
    async def noop(job: Job) -> None:
        pass

    await queue.run(batch_size=int(batch), mode=QueueExecutionMode.drain)


if __name__ == "__main__":
    (uvloop.run if os.environ["BENCH_SETTINGS"] == "best" else asyncio.run)(main(*sys.argv[1:]))
