"""A coroutine that does nothing."""

from jobrunner import Context, job


@job("coroutine")
async def coroutine(ctx: Context) -> None:
    pass
