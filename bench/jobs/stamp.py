"""A handler that tells when it was started, by the monotonic clock, which all processes of a machine share."""

import os
import time

from jobrunner import Context, job


@job("stamp")
def stamp(ctx: Context, path: str) -> None:
    now = time.monotonic()
    file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    os.write(file, f"{ctx.run_id} {now}\n".encode())
    os.close(file)
