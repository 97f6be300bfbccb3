"""Puts the options that limit a job type over all hosts together. Each is checked by itself before (``options``)."""

from __future__ import annotations

from jobrunner.errors import WrongOption
from jobrunner.model import Limits
from jobrunner.rates import Rate, parse_rate


def make_limits(
    *,
    max_running: int | None,
    rate: str | None,
    burst: int | None,
    concurrency_key: tuple[str, ...] | None,
    max_running_per_key: int | None,
    rate_per_key: str | None,
    burst_per_key: int | None,
) -> Limits | None:
    """The limits, or None if there are none. A ``concurrency_key`` alone means one run of each key at a time.

    Raises WrongOption if one of them needs another one.
    """
    per_key = {
        "max_running_per_key": max_running_per_key, "rate_per_key": rate_per_key, "burst_per_key": burst_per_key
    }  # fmt: skip
    for name, value in per_key.items():
        if value is not None and not concurrency_key:
            raise WrongOption(name, "needs a concurrency_key: the name of the payload argument that is counted by")
    if concurrency_key and max_running_per_key is None and rate_per_key is None:
        max_running_per_key = 1
    limits = Limits(
        max_running=max_running,
        rate=_rate("rate", rate, "burst", burst),
        concurrency_key=concurrency_key or (),
        max_running_per_key=max_running_per_key,
        rate_per_key=_rate("rate_per_key", rate_per_key, "burst_per_key", burst_per_key),
    )
    return None if limits == Limits() else limits


def _rate(name: str, text: str | None, burst_name: str, burst: int | None) -> Rate | None:
    if text is None and burst is not None:
        raise WrongOption(burst_name, f'needs a {name}, such as {name} = "10/s"')
    return None if text is None else parse_rate(name, text, burst)
