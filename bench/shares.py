"""Groups of processes that the kernel holds to a share of a core: cgroups, of version 1 or 2."""

import contextlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from processes import NotThere

_ROOT = Path("/sys/fs/cgroup")
_PERIOD_MICROSECONDS = 100_000
# The folder of the controller, and the file of a quota, which only a group of that controller has.
_VERSIONS = (
    (_ROOT / "cpu", "cpu.cfs_quota_us"),
    (_ROOT, "cpu.max"),
)


class Share:
    """A group of processes. Those that its processes start belong to it, too."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, pids: Iterable[int]) -> None:
        """Move processes into the group. One that has ended meanwhile is left out."""
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                (self._folder / "cgroup.procs").write_text(str(pid))

    def command(self, *words: str) -> list[str]:
        """A command whose process is in the group before its program begins."""
        return ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(self._folder / "cgroup.procs"), *words]


@contextmanager
def held(cores: float) -> Iterator[Share]:
    """A group whose processes get so much of a core together. Raises NotThere where the kernel lets us make none."""
    folder = _made(cores)
    try:
        yield Share(folder)
    finally:
        # A group with processes cannot be removed.
        for pid in (folder / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                (folder.parent / "cgroup.procs").write_text(pid)
        folder.rmdir()


def _made(cores: float) -> Path:
    reason = "there is no controller of the processor"
    for place, quota in _VERSIONS:
        folder = place / f"jobrunner-bench-{os.getpid()}-{len(list(place.glob('jobrunner-bench-*')))}"
        try:
            folder.mkdir()
        except OSError as error:
            reason = str(error)
            continue
        if (folder / quota).exists():
            _limit(folder, quota, round(cores * _PERIOD_MICROSECONDS))
            return folder
        folder.rmdir()
    raise NotThere(f"no process can be held to a share of a core here: {reason}")


def _limit(folder: Path, quota: str, microseconds: int) -> None:
    if quota == "cpu.max":
        (folder / quota).write_text(f"{microseconds} {_PERIOD_MICROSECONDS}")
    else:
        (folder / "cpu.cfs_period_us").write_text(str(_PERIOD_MICROSECONDS))
        (folder / quota).write_text(str(microseconds))
