"""Where a due run stands in its queue: the limit over all hosts that holds it up, and how many runs are in front."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from jobrunner.rates import parse_rate
from jobrunner.store.explain.explanation import Forecast
from jobrunner.store.explain.line import MOST_IN_FRONT, Line
from jobrunner.text import iso_instant

_HELD_IDS = 20


@dataclass(frozen=True)
class LimitInTheWay:
    """A limit over all hosts that keeps a run from being claimed now."""

    reason: str
    sentence: str
    remedy: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)


def limit_in_the_way(line: Line) -> LimitInTheWay | None:
    """The limit that a due run waits for, also if the runs in front of it are those that will use it up."""
    if line.limits is None:
        return None
    limits, at = line.limits, line.limits["now"]
    most, per_key, key = (limits[name] for name in ("max_running", "max_running_per_key", "concurrency_key"))
    if most is not None and line.in_front + len(line.held) >= most:
        return _full("limit", f"max_running {most} of its type", line.held, line.in_front)
    if limits["rate"] is not None:
        rate = parse_rate("rate", limits["rate"], limits["burst"])
        if line.in_front >= rate.allowed(limits["spent_until"], at):
            return LimitInTheWay("rate", f"the rate {limits['rate']} of its type{_opens(limits['opens_at'], at)}")
    if key is None:
        return None
    if per_key is not None and line.before + len(line.held_of_key) >= per_key:
        return _full("key_limit", f"max_running_per_key {per_key} of {key} {line.gate}", line.held_of_key, line.before)
    if limits["rate_per_key"] is not None:
        state = line.gate_state or {"spent_until": None, "opens_at": None}
        rate = parse_rate("rate_per_key", limits["rate_per_key"], limits["burst_per_key"])
        if line.before >= rate.allowed(state["spent_until"], at):
            opens = _opens(state["opens_at"], at)
            return LimitInTheWay("key_rate", f"the rate {limits['rate_per_key']} of {key} {line.gate}{opens}")
    return None


def _full(reason: str, limit: str, held: list[int], in_front: int) -> LimitInTheWay:
    by = f"run {', '.join(map(str, held[:5]))}" if held else ""
    behind = f"{in_front} due runs in front of it" if in_front else ""
    said = " and ".join(each for each in (by, behind) if each)
    remedy = f"jobrunner explain {held[0]}" if held else "jobrunner tick"
    return LimitInTheWay(reason, f"the limit {limit}, which is used by {said}", remedy, {"running": held[:_HELD_IDS]})


def _opens(opens_at: Any, at: Any) -> str:
    return f", which allows the next run at {iso_instant(opens_at)}" if opens_at is not None and opens_at > at else ""


def forecast(line: Line) -> Forecast:
    """How many due runs of the type are in front of a run, and how long they take by the speed of the last hours."""
    in_front, ended = min(line.in_front, MOST_IN_FRONT), line.ended
    if not ended["ends"]:
        return Forecast(in_front, line.in_front > MOST_IN_FRONT, None, None)
    per_second = float(ended["ends"]) / max(1.0, (ended["now"] - ended["first"]).total_seconds())
    return Forecast(in_front, line.in_front > MOST_IN_FRONT, per_second, in_front / per_second)
