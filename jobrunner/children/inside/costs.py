"""What a plain run costs, measured by the child that its handler is called in.

The peak is the resident memory of the largest process of the run: that of the child, or a program that the handler has
started and waited for. The processor time is that of all these processes together.
"""

from __future__ import annotations

import os
import resource
from contextlib import suppress

from jobrunner import clock
from jobrunner.children.cost_note import CostNote

_SHORTEST_SECONDS = 0.01
"""The peak of a shorter run is not asked for, because to ask takes as long as to call a small handler."""
_PEAK = b"VmHWM:"


class Meter:
    """Measures one run after another. It also notes the begin of each, for a parent that has to bury this child.

    ``running`` is the descriptor of the file for that note.
    """

    def __init__(self, running: int) -> None:
        self._note = CostNote(running)
        self._clear = self._status = -1
        with suppress(OSError):
            # Only Linux can forget the peak of the runs before.
            self._clear = os.open("/proc/self/clear_refs", os.O_WRONLY | os.O_CLOEXEC)
            self._status = os.open("/proc/self/status", os.O_RDONLY | os.O_CLOEXEC)
        self._of_programs = resource.getrusage(resource.RUSAGE_CHILDREN)
        self._began_at = self._spent = 0.0
        self._is_reset = False

    def begin(self, run_id: int) -> None:
        """A run begins."""
        self._is_reset = self._forget_peak()
        # What was spent on programs is asked at the end of each run only: between two runs nobody starts any.
        programs = self._of_programs
        self._began_at = clock.elapsed()
        self._spent = clock.processor_seconds()
        before = self._spent + programs.ru_utime + programs.ru_stime
        self._note.write(run_id, before, programs.ru_maxrss if self._is_reset else None)

    def end(self) -> tuple[int | None, float]:
        """The run has ended: its peak in bytes, if that is known, and its processor time in seconds."""
        own = clock.processor_seconds() - self._spent
        before, after = self._of_programs, resource.getrusage(resource.RUSAGE_CHILDREN)
        self._of_programs = after
        self._note.clear()
        # The brackets make it exactly 0 without any program: floats do not add up in another order.
        of_programs = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
        is_long = clock.elapsed() - self._began_at >= _SHORTEST_SECONDS
        peak = self._peak() if is_long and self._is_reset else None
        if peak is not None:
            largest = after.ru_maxrss * 1024
            if after.ru_maxrss > before.ru_maxrss:
                peak = max(peak, largest)
            elif of_programs > 0 and largest > peak:
                # The kernel tells the largest of all programs ever, and this one is of a run before.
                peak = None
        return peak, round(max(0.0, own + of_programs), 6)

    def _forget_peak(self) -> bool:
        try:
            return os.write(self._clear, b"5") == 1
        except OSError:
            return False

    def _peak(self) -> int | None:
        try:
            lines = os.pread(self._status, 1 << 14, 0).splitlines()
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(_PEAK))
        except (OSError, StopIteration, ValueError, IndexError):
            return None
