"""What the policies of a schedule promise, slot by slot, in the words of the documentation: a model to compare with.

Nothing of jobrunner's own code is used here, and the slots come from the project's model of Debian's cron.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from zoneinfo import ZoneInfo

from harness import vixie

FOREVER = timedelta(days=36_500)
SlotRange = tuple[datetime, datetime, int, str]


@dataclass
class Schedule:
    """A definition: what was asked for, and what came of it so far. ``options`` are those of `schedule add`."""

    name: str
    cron: str
    timezone: str = "UTC"
    options: Mapping[str, str] = field(default_factory=dict)
    misfire: str = "latest"
    window: timedelta = FOREVER
    most: int = 1
    overlap: str = "skip"
    start_deadline: timedelta = FOREVER
    ends_at: datetime | None = None
    max_runs: int = 10**9
    watermark: datetime = datetime.min
    made: int = 0
    slots: list[datetime] = field(default_factory=list)

    def know_slots(self, begin: datetime, end: datetime) -> None:
        looks = vixie.looks(ZoneInfo(self.timezone), begin.replace(second=0), end)
        every = vixie.fired(vixie.read(self.cron), looks)
        self.slots = [slot for slot in every if self.ends_at is None or slot <= self.ends_at]
        self.watermark = begin

    def tick(self, now: datetime, statuses: Iterable[str]) -> tuple[list[datetime], list[SlotRange]]:
        """The slots that get a run and those that get none; ``statuses`` are those of its unfinished runs."""
        has_ended = self.made >= self.max_runs
        due = [] if has_ended else [slot for slot in self.slots if self.watermark < slot <= now]
        blocked = self._is_blocked(set(statuses))
        left = self.max_runs - self.made
        words = []
        for place, slot in enumerate(due):
            word = self._word(slot, now, len(due) - place, blocked)
            if word == "run":
                word = "run" if left > 0 else "max_runs"
                left -= 1
            words.append((word, slot))
        runs = [slot for word, slot in words if word == "run"]
        self.watermark = due[-1] if due else self.watermark
        self.made += len(runs)
        return runs, stretches(words)

    def _word(self, slot: datetime, now: datetime, from_the_end: int, blocked: bool) -> str:
        if from_the_end > self.most or now - slot > self.window:
            return "misfire"
        if now - slot >= self.start_deadline:
            return "start_deadline"
        return "overlap" if blocked else "run"

    def _is_blocked(self, statuses: set[str]) -> bool:
        in_the_way = {"skip": {"queued", "failed", "running"}, "queue": {"queued", "failed"}}
        return bool(statuses & in_the_way.get(self.overlap, set()))


def stretches(words: Sequence[tuple[str, datetime]]) -> list[SlotRange]:
    found = []
    for word, group in groupby(words, key=lambda each: each[0]):
        slots = [slot for _, slot in group]
        if word != "run":
            found.append((slots[0], slots[-1], len(slots), word))
    return found
