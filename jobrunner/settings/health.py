"""From when on a finding of ``jobrunner health`` is one: the settings ``health_…``, or the table ``[health]``."""

# Without annotations as texts, because typing compiles each of them in every process.

from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from jobrunner.settings.reader import SettingsReader

_MOST = 1_000_000_000


class Thresholds(NamedTuple):
    """What is still in order. A tuple for the same reason as ``Config``."""

    tick_age: timedelta = timedelta(minutes=2)
    host_gone: timedelta = timedelta(days=1)
    killed_ticks: int = 0
    overdue: timedelta = timedelta(minutes=10)
    dead: int = 0
    expired: timedelta = timedelta(minutes=2)
    backlog: timedelta = timedelta(hours=1)
    clock_skew: timedelta = timedelta(seconds=30)
    pause: timedelta = timedelta(days=1)


def read(reader: "SettingsReader") -> Thresholds:
    """The thresholds. Raises ConfigurationError naming the setting."""
    default = Thresholds()
    durations: dict[str, Any] = {
        name: reader.duration(f"health_{name}", value)
        for name, value in default._asdict().items()
        if isinstance(value, timedelta)
    }
    counts: dict[str, Any] = {
        name: reader.number(f"health_{name}", getattr(default, name), 0, _MOST) for name in ("killed_ticks", "dead")
    }
    return default._replace(**durations, **counts)
