"""Checks the limits of a job type over all hosts, by the same rules for the decorator and for the file."""

from __future__ import annotations

from collections.abc import Sequence

from jobrunner.errors import UsageError
from jobrunner.model import Limits
from jobrunner.rates import Rate, parse_rate

MOST_NAMES = 3
_MOST_RUNNING = 1_000_000
_MOST_CHARACTERS = 100


def make_limits(
    *,
    max_running: int | None = None,
    rate: str | None = None,
    burst: int | None = None,
    concurrency_key: str | Sequence[str] | None = None,
    max_running_per_key: int | None = None,
    rate_per_key: str | None = None,
    burst_per_key: int | None = None,
) -> Limits | None:
    """The limits, or None if there are none. A ``concurrency_key`` alone means one run of each key at a time.

    Raises UsageError, which names the wrong part.
    """
    names = _names(concurrency_key)
    per_key = {
        "max_running_per_key": max_running_per_key, "rate_per_key": rate_per_key, "burst_per_key": burst_per_key
    }  # fmt: skip
    for name, value in per_key.items():
        if value is not None and not names:
            raise UsageError(f"{name} needs a concurrency_key: the name of the payload argument that is counted by")
    if names and max_running_per_key is None and rate_per_key is None:
        max_running_per_key = 1
    limits = Limits(
        max_running=_count("max_running", max_running),
        rate=_rate("rate", rate, "burst", burst),
        concurrency_key=names,
        max_running_per_key=_count("max_running_per_key", max_running_per_key),
        rate_per_key=_rate("rate_per_key", rate_per_key, "burst_per_key", burst_per_key),
    )
    return None if limits == Limits() else limits


def whole_number(name: str, value: object, least: int, most: int) -> int:
    """``value`` if it is an int in the range. Raises UsageError with ``name`` if not."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise UsageError(f"{name} must be a whole number from {least} to {most}, not {value!r:.60}")
    return value


def _count(name: str, value: int | None) -> int | None:
    return None if value is None else whole_number(name, value, 1, _MOST_RUNNING)


def _rate(name: str, text: str | None, burst_name: str, burst: int | None) -> Rate | None:
    if text is None:
        if burst is not None:
            raise UsageError(f'{burst_name} needs a {name}, such as {name} = "10/s"')
        return None
    return parse_rate(name, text, None if burst is None else whole_number(burst_name, burst, 1, _MOST_RUNNING))


def _names(given: object) -> tuple[str, ...]:
    names = () if given is None else (given,) if isinstance(given, str) else given
    if not isinstance(names, Sequence) or (given is not None and not 1 <= len(names) <= MOST_NAMES):
        raise UsageError(f"concurrency_key must be the name of a payload argument, or up to {MOST_NAMES} names")
    for name in names:
        if not isinstance(name, str) or not name.isidentifier() or len(name) > _MOST_CHARACTERS:
            raise UsageError(
                f"concurrency_key must name an argument of the payload, such as customer_id, not {name!r:.60}"
            )
    return tuple(names)
