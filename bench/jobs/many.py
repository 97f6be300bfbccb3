"""As many job types as BENCH_TYPES says, of which one does nothing and the others are never asked for."""

import os

from jobrunner import Context, job


@job("noop")
def noop(ctx: Context) -> None:
    pass


for _number in range(1, int(os.environ.get("BENCH_TYPES", "500"))):

    @job(f"type_{_number:03}")
    def other(ctx: Context) -> None:
        pass
