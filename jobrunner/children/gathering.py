"""The wait in which the reports of several runs come together, so that they are read and written in one go."""

from __future__ import annotations

from jobrunner import clock
from jobrunner.children.alarm import Alarm
from jobrunner.children.python_child import ChildProcess


class Gathering:
    """Ends at the alarm, and when a child has ended all of its runs: it must not wait for the reports of others."""

    def __init__(self, alarm: Alarm) -> None:
        self._alarm = alarm
        self._bells: dict[int, ChildProcess] = {}

    def add(self, child: ChildProcess) -> None:
        """Hear this child, too."""
        self._bells[child.bell] = child
        self._alarm.watch(child.bell)

    def remove(self, child: ChildProcess) -> None:
        """Hear it no more. Does nothing for one that is not heard."""
        if self._bells.pop(child.bell, None) is not None:
            self._alarm.unwatch(child.bell)

    def wait(self, seconds: float) -> bool:
        """Wait, at most for so long; returns whether a child has rung, so that there is something to read."""
        ends_at, was_rung = clock.elapsed() + seconds, False
        while seconds > 0 and (ready := self._alarm.wait(seconds)) and self._alarm.fileno() not in ready:
            was_rung = True
            # All of them: what one has rung must not end the next wait, too.
            rung = [self._bells[descriptor].take_rung() for descriptor in ready]
            if any(each.rests or each.is_over for each in rung):
                break
            seconds = ends_at - clock.elapsed()
        return was_rung
