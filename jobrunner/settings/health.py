"""From when on a finding of ``jobrunner health`` is one: the settings ``health_…``, or the table ``[health]``."""

from __future__ import annotations

from datetime import timedelta

from jobrunner.settings.setting import count, duration, number
from jobrunner.untyped import NamedTuple


class Thresholds(NamedTuple):
    """What is still in order. Each default is the row of a setting: ``config.load`` makes the values."""

    tick_age: timedelta = duration(
        "2m",
        "no tick has started for this long, on one host or on all. Where ticks come less often than each minute,"
        " `ticks_stopped` waits until two of them [are missing](../howto/troubleshooting.md#when-no-tick-comes)."
        " If several hosts tick less often, set it to more than twice the time between two ticks.",
    )
    host_gone: timedelta = duration(
        "1d",
        "a host has stopped ticking. This is for how long a silent host is reported. After this time it counts as"
        " removed.",
    )
    killed_ticks: int = count("more ticks than this were killed in the last hour.")
    overdue: timedelta = duration("10m", "a due run waits longer than this.")
    dead: int = count("more runs than this died in the last hour.")
    expired: timedelta = duration("2m", "the lease of a run expired this long ago, and no tick has recovered it.")
    backlog: timedelta = duration(
        "1h", "the next run of a type waits longer than this, and since then more of its runs came than ended."
    )
    clock_skew: timedelta = duration(
        "30s",
        "a tick started this far in the future, because the database's clock was ahead, or the clocks of this host and"
        " of the database differ by more.",
    )
    pause: timedelta = duration("1d", "a type, a host or everything is paused, or limited without an end, for longer.")
    old_snapshot: timedelta = duration(
        "30m",
        "on PostgreSQL, [somebody keeps an old state readable](../howto/monitoring.md#old-snapshots) for this long,",
    )
    old_transactions: int = number(10_000, 1, 1_000_000_000, "and more transactions than this have begun since then.")
    old_log: int = number(
        64, 1, 1_000_000, "on SQLite, a process reads a state since which so many MiB were written into the log."
    )
    compared: int = number(
        5,
        1,
        1_000_000,
        "so many attempts at least are [compared with former ones](../howto/monitoring.md#what-is-usual).",
    )
    slower: int = number(
        2,
        0,
        1000,
        "half of the recent attempts of a type took longer than so many times what 95 of 100 took in the weeks before."
        " `0`: this is never looked at.",
    )
    slower_from: timedelta = duration("1s", "and these attempts took longer than this.")
    bigger: int = number(
        2,
        0,
        1000,
        "half of the recent attempts of a type had more memory than so many times what 95 of 100 had in the weeks"
        " before. `0`: this is never looked at.",
    )
    bigger_from: int = number(256, 1, 1_000_000_000, "and these attempts had more memory than this, in MiB.")

    @property
    def old_log_bytes(self) -> int:
        """``old_log`` in bytes."""
        return self.old_log * 2**20

    @property
    def bigger_from_bytes(self) -> int:
        """``bigger_from`` in bytes."""
        return self.bigger_from * 2**20


TICK_AGE: timedelta = Thresholds._field_defaults["tick_age"].value
"""The threshold of who has not set another one."""
