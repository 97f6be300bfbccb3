"""chancy: `setup`, `fill N SETTINGS`, `drain`.

It has no one-shot mode: its own worker, told to stop once nothing is pending and nothing at work.
At default settings it takes as many jobs as there are cores every five seconds, each into a child process. At best it
asks again as soon as a job has ended, as an asyncio job with 500 at once in one process.
"""

import asyncio
import logging
import os
import sys

from chancy import Chancy, Queue, Worker, job

ASYNC = "chancy.executors.asyncex.AsyncExecutor"
BEST = Queue("default", concurrency=500, eager_polling=True, executor=ASYNC, polling_interval=1)
PENDING = "SELECT 1 FROM chancy_jobs WHERE state IN ('pending', 'retrying') LIMIT 1"


@job()
def noop() -> None:
    pass


@job()
async def noop_async() -> None:
    pass


async def main(action: str, *words: str) -> None:
    log = logging.getLogger("chancy")
    log.setLevel(logging.WARNING)
    async with Chancy(os.environ["BENCH_URL"], log=log) as chancy:
        if action == "setup":
            await chancy.migrate()
            best = os.environ["BENCH_SETTINGS"] == "best"
            await chancy.declare(BEST if best else Queue("default"), upsert=True)
        elif action == "fill":
            work = noop_async if words[1] == "best" else noop
            async for _ in chancy.push_many([work.job] * int(words[0])):
                pass
        else:
            await drain(chancy)


async def drain(chancy: Chancy) -> None:
    async with Worker(chancy) as worker:
        while not worker.executors or await is_pending(chancy) or any(map(len, worker.executors.values())):
            await asyncio.sleep(0.02)
        await worker.stop(timeout=5)  # its 30 s are sometimes used up by a shutdown with nothing at work


async def is_pending(chancy: Chancy) -> bool:
    async with chancy.pool.connection() as connection:
        return await (await connection.execute(PENDING)).fetchone() is not None


if __name__ == "__main__":
    # Its children import the jobs by this module's name.
    import chancy_app

    asyncio.run(chancy_app.main(*sys.argv[1:]))
