"""A handler that waits, as for somebody else's server, 500 at once in one child."""

import asyncio

from jobrunner import Context, job


@job("waiting", concurrency=500)
async def waiting(ctx: Context, seconds: float) -> None:
    await asyncio.sleep(seconds)
