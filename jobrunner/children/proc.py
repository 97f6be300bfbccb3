"""What /proc says of the processes of this host. Other systems than Linux have none: then each answer is ""."""

from __future__ import annotations

import os
from pathlib import Path


def stat_fields(pid: int) -> list[str]:
    """The fields of its ``stat`` from the state on. Raises OSError when the process has gone."""
    # The name may hold blanks and brackets. After it come state, parent, group, session, ...
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def started(pid: int) -> str:
    """When it was started, in ticks since the boot. "": there is none. No later process of its number has the same."""
    try:
        return stat_fields(pid)[19]
    except (OSError, IndexError):
        return ""


def is_running(pid: int, started_at: str) -> bool:
    """Whether this process is there. One that has ended, and that its parent has not asked for yet, is not."""
    try:
        fields = stat_fields(pid)
        # The process goes on while another of its threads does.
        return fields[19] == started_at and (fields[0] not in "ZX" or fields[17] != "1")
    except (OSError, IndexError):
        return False


def namespace() -> str:
    """What numbers of processes mean is the same in the processes of one namespace only. "": the system has none."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def boot_id() -> str:
    """The id of the current boot of this host, or "" if the system has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
