"""A handler that does nothing: what is left is the price of a run."""

from jobrunner import Context, job


@job("noop")
def noop(ctx: Context) -> None:
    pass
