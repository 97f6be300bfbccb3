"""How long to wait before the next attempt. Pure: a policy is data that a child can send to its parent."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple

from jobrunner.durations import Duration, parse_duration
from jobrunner.errors import UsageError

_LONGEST_WAIT = timedelta(days=365)


class Backoff(NamedTuple):
    """A policy. Build it with ``fixed``, ``exponential``, ``waits`` or ``polynomial``.

    ``seconds`` is the list of waits, and for the other shapes the base. ``jitter`` (0 to 1) is the share by which a
    wait may be shorter or longer.
    """

    shape: str
    seconds: tuple[float, ...]
    exponent: float = 0.0
    cap_seconds: float = _LONGEST_WAIT.total_seconds()
    jitter: float = 0.2

    def wait(self, attempts: int, chance: Callable[[], float] = random.random) -> timedelta:
        """The wait after attempt number ``attempts`` (from 1) has failed. ``chance`` returns 0.0 to 1.0."""
        seconds = min(self._plain_seconds(max(attempts, 1)), self.cap_seconds)
        spread = self.jitter * (2 * chance() - 1)
        return min(timedelta(seconds=seconds * (1 + spread)), _LONGEST_WAIT)

    def _plain_seconds(self, attempts: int) -> float:
        if self.shape == "waits":
            return self.seconds[min(attempts, len(self.seconds)) - 1]
        if self.shape == "polynomial":
            return float(self.seconds[0] * min(attempts, 10**6) ** self.exponent)
        # The exponent has a limit, because 2.0 ** 5000 overflows.
        return float(self.seconds[0] * self.exponent ** min(attempts - 1, 64))

    def as_data(self) -> dict[str, Any]:
        """Plain JSON data; ``from_data`` is its inverse."""
        return {
            "shape": self.shape,
            "seconds": list(self.seconds),
            "exponent": self.exponent,
            "cap_seconds": self.cap_seconds,
            "jitter": self.jitter,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Backoff:
        """Rebuild a policy from ``as_data``."""
        return cls(**{**data, "seconds": tuple(data["seconds"])})

    def __str__(self) -> str:
        base = ", ".join(f"{seconds:g}s" for seconds in self.seconds)
        cap = "" if self.cap_seconds >= _LONGEST_WAIT.total_seconds() else f" up to {self.cap_seconds:g}s"
        return f"{self.shape} {base}{cap} ±{self.jitter:.0%}"


def fixed(wait: Duration, *, jitter: float = 0.2) -> Backoff:
    """The same wait after every failed attempt."""
    return Backoff("fixed", (_seconds(wait),), exponent=1.0, jitter=_share(jitter))


def exponential(base: Duration = "1m", *, cap: Duration = "30m", factor: float = 2.0, jitter: float = 0.2) -> Backoff:
    """``base``, ``base`` × factor, ``base`` × factor² and so on, never more than ``cap``."""
    if not 1 <= factor <= 1000:
        raise UsageError(f"a backoff factor of {factor} is out of range; it must lie between 1 and 1000")
    return Backoff("exponential", (_seconds(base),), exponent=factor, cap_seconds=_seconds(cap), jitter=_share(jitter))


def waits(*each: Duration, jitter: float = 0.2) -> Backoff:
    """One wait per failed attempt, in this order. The last one repeats."""
    if not each:
        raise UsageError("waits() needs at least one wait, e.g. waits('1m', '10m', '1h')")
    return Backoff("waits", tuple(_seconds(wait) for wait in each), jitter=_share(jitter))


def polynomial(
    base: Duration = "10s", *, power: float = 2.0, cap: Duration = timedelta(days=1), jitter: float = 0.2
) -> Backoff:
    """``base`` × attempts to the power of ``power``. The default is 10 s × attempts²."""
    if not 0 < power <= 10:
        raise UsageError(f"a backoff power of {power} is out of range; it must lie above 0 and up to 10")
    return Backoff("polynomial", (_seconds(base),), exponent=power, cap_seconds=_seconds(cap), jitter=_share(jitter))


def _seconds(wait: Duration) -> float:
    return min(parse_duration(wait), _LONGEST_WAIT).total_seconds()


def _share(jitter: float) -> float:
    if not 0 <= jitter <= 1:
        raise UsageError(f"a jitter of {jitter} is out of range; it must lie between 0 and 1")
    return jitter


DEFAULT = exponential("1m", cap="30m")
"""1 m, 2 m, 4 m and so on, at most 30 m, ±20 %. Also used when another process than the owner ends an attempt."""

UNTIL_DEPLOYED = fixed("22.5s", jitter=1 / 3)
"""15 to 30 s, until a run that does not fit this code is tried again. By then a deploy may have gone on."""
