"""A handler that does nothing, and whose runs are tried again at once if their tick is killed."""

from jobrunner import Context, fixed, job


@job("again", backoff=fixed("0s"))
def again(ctx: Context) -> None:
    pass
