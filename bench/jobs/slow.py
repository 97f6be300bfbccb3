"""A handler that takes a tenth of a second and no processor time."""

import time

from jobrunner import Context, job


@job("slow")
def slow(ctx: Context, seconds: float) -> None:
    time.sleep(seconds)
