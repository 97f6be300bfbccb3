"""Puts the options together that limit a job type over all hosts. Each is checked by itself before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobrunner.errors import WrongOption
from jobrunner.model import Limits
from jobrunner.rates import Rate, parse_rate


def make_limits(given: Mapping[str, Any]) -> Limits | None:
    """The limits, or None if there are none. A ``concurrency_key`` alone means one run of each key at a time.

    Raises WrongOption if one of them needs another one.
    """
    for name in ("max_running_per_key", "rate_per_key", "burst_per_key"):
        if given.get(name) is not None and not given.get("concurrency_key"):
            raise WrongOption(
                name, "needs a concurrency_key: the name of the payload argument whose values are counted"
            )
    limits = Limits(
        max_running=given.get("max_running"),
        rate=_rate("rate", "burst", given),
        concurrency_key=given.get("concurrency_key") or (),
        max_running_per_key=given.get("max_running_per_key"),
        rate_per_key=_rate("rate_per_key", "burst_per_key", given),
        fair_by=given.get("fair_by"),
    )
    if limits.fair_by is not None and limits.key != (limits.fair_by,):
        raise WrongOption(
            "fair_by",
            f"is {limits.fair_by!r}, and the concurrency_key is {', '.join(limits.key)}: a run waits in one line only;"
            " give both the same name, or leave one of them out",
        )
    if limits.concurrency_key and limits.max_running_per_key is None and limits.rate_per_key is None:
        limits = limits._replace(max_running_per_key=1)
    return None if limits == Limits() else limits


def _rate(name: str, burst_name: str, given: Mapping[str, Any]) -> Rate | None:
    text, burst = given.get(name), given.get(burst_name)
    if text is None and burst is not None:
        raise WrongOption(burst_name, f'needs a {name}, such as {name} = "10/s"')
    return None if text is None else parse_rate(name, text, burst)
