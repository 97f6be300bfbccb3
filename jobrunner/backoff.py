"""How long to wait before the next attempt. Pure: a policy is data that a child can send to its parent."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from jobrunner.durations import Duration, format_duration, parse_duration
from jobrunner.errors import UsageError
from jobrunner.text import shown

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
    if not (_is_number(factor) and 1 <= factor <= 1000):
        raise UsageError(f"a backoff factor of {shown(factor)} is out of range; it must lie between 1 and 1000")
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
    if not (_is_number(power) and 0 < power <= 10):
        raise UsageError(f"a backoff power of {shown(power)} is out of range; it must lie above 0 and up to 10")
    return Backoff("polynomial", (_seconds(base),), exponent=power, cap_seconds=_seconds(cap), jitter=_share(jitter))


def check(policy: Backoff) -> Backoff:
    """Return the policy if a tick can wait by it. It may be built by hand, or by another process. Raises UsageError."""
    if policy.shape not in _SHAPES or not isinstance(policy.seconds, tuple) or not policy.seconds:
        raise UsageError(f"{shown(policy)} is not a backoff; make one with {', '.join(_SHAPES)}")
    longest = _LONGEST_WAIT.total_seconds()
    most = {"wait": longest, "exponent": 1000, "cap": longest, "jitter": 1}
    values = [*(("wait", each) for each in policy.seconds), ("exponent", policy.exponent), ("cap", policy.cap_seconds)]
    for name, value in (*values, ("jitter", policy.jitter)):
        if not (_is_number(value) and 0 <= value <= most[name]):
            raise UsageError(f"a backoff {name} of {shown(value)} is out of range; it lies between 0 and {most[name]}")
    return policy


def instead_of(value: object) -> str:
    """What to write in place of a value that is no policy, as the end of a message. Empty if nobody can know."""
    if value is None:
        return "; leave it out for the default"
    for maker in _MAKERS:
        if value is maker:
            return f'; call it, as in {maker.__name__}("1m")'
    many = isinstance(value, list | tuple)
    try:
        waits = [format_duration(parse_duration(each)) for each in (value if many else [value])]  # type: ignore[attr-defined]  # a list, then
    except UsageError:
        return ""
    if many:
        return f"; write waits({', '.join(map(repr, waits))})" if waits else ""
    return f"; write fixed({waits[0]!r}) for the same wait each time, or exponential({waits[0]!r}) for one that doubles"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _seconds(wait: Duration) -> float:
    return min(parse_duration(wait), _LONGEST_WAIT).total_seconds()


def _share(jitter: float) -> float:
    if not (_is_number(jitter) and 0 <= jitter <= 1):
        raise UsageError(f"a jitter of {shown(jitter)} is out of range; it must lie between 0 and 1")
    return jitter


_MAKERS: Sequence[Callable[..., Backoff]] = (fixed, exponential, waits, polynomial)
_SHAPES = tuple(each.__name__ for each in _MAKERS)

DEFAULT = exponential("1m", cap="30m")
"""1 m, 2 m, 4 m and so on, at most 30 m, ±20 %. Also used for a type that no host has reported."""

UNTIL_DEPLOYED = fixed("22.5s", jitter=1 / 3)
"""15 to 30 s, until a run that does not fit this code is tried again. By then a deploy may have gone on."""
