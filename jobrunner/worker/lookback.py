"""How far back a claim looks where a look at all runs takes long: a part is enough for some seconds.

On PostgreSQL the runs that were claimed stay in the index of the claim until no transaction can see them as they were.
Beside a transaction of a quarter of an hour a claim passes over hundreds of thousands of them. So most claims begin a
little before the turns of the runs of each type that were claimed last. A run with an earlier turn, as after a return
or with a priority that no run has had lately, waits for the next claim that looks at all: for some seconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from datetime import datetime, timedelta

from jobrunner import clock

_SLOW_SECONDS = 0.02
_SECONDS_OF_A_RUN = 0.0002
"""More than a claim needs for one more run, so that a long list alone does not make it slow."""
_IN_A_ROW = 3
"""So many must be slow, or in vain, before it counts: any single one may have waited for something else."""
_RESTS = 40
_SHORTEST_REST_SECONDS, _LONGEST_REST_SECONDS = 1.0, 15.0
_OFF_SECONDS = 60.0
_LATELY_SECONDS = 2.0
_MARGIN = timedelta(seconds=3)
"""Runs come a little out of turn: each has that of the beginning of the transaction that enqueued it."""


class Rarely:
    """When to ask the whole of a question that takes long, of which a part takes less: after ``rests`` times as long.

    Only if the whole was slow several times in a row. If the part then takes as long, something else is slow, such as a
    busy server or a long way to it, and for a minute the whole is asked each time.
    """

    def __init__(self, rests: float) -> None:
        self._rests = rests
        self._rests_until = self._off_until = 0.0
        self._whole_seconds = 0.0
        self._slow = self._in_vain = 0

    @property
    def is_slow(self) -> bool:
        """Whether the whole was slow the last times."""
        return self._slow >= _IN_A_ROW

    def took(self, seconds: float) -> None:
        """Note how long the whole took."""
        now = clock.elapsed()
        self._whole_seconds = seconds
        self._slow = self._slow + 1 if seconds >= _SLOW_SECONDS and now >= self._off_until else 0
        rest = min(_LONGEST_REST_SECONDS, max(_SHORTEST_REST_SECONDS, self._rests * seconds))
        self._rests_until = now + rest if self.is_slow else 0.0

    def part_took(self, seconds: float) -> None:
        """Note how long a part took."""
        self._in_vain = self._in_vain + 1 if seconds > self._whole_seconds / 2 else 0
        if self._in_vain >= _IN_A_ROW:
            self._slow = self._in_vain = 0
            self._rests_until, self._off_until = 0.0, clock.elapsed() + _OFF_SECONDS

    def rest_seconds(self) -> float:
        """For how long a part is enough. 0: the whole is to be asked now."""
        return max(0.0, self._rests_until - clock.elapsed())

    def end(self) -> None:
        """Let the whole be asked next."""
        self._rests_until = 0.0


class Lookback:
    """From which turns on the next claim of some types looks, if no other tick of the host claims (``sole_owners``)."""

    def __init__(self) -> None:
        self.whole = Rarely(_RESTS)
        # Of each type when runs were claimed lately, and the earliest turn of each time.
        self._turns: dict[str, deque[tuple[float, datetime]]] = {}
        # Runs of these types may wait for a key, however early their turns are.
        self._keyed: set[str] = set()

    def since(self) -> Mapping[str, datetime]:
        """The turns from which on the next claim looks, of these types; of all others it looks at all runs."""
        if not self.whole.rest_seconds():
            return {}
        return {
            job_type: min(turn for _, turn in turns) - _MARGIN
            for job_type, turns in self._turns.items()
            if job_type not in self._keyed
        }

    def note(
        self, since: Mapping[str, datetime], seconds: float, runs: int, first_turns: Mapping[str, datetime | None]
    ) -> None:
        """Note a claim from ``since`` on: how long it took, how many runs it found, and the first turn of each type.

        The turn None: the type has runs with a concurrency key.
        """
        for job_type, turn in first_turns.items():
            self._note_turn(job_type, turn)
        took = self.whole.part_took if since else self.whole.took
        took(seconds - runs * _SECONDS_OF_A_RUN)

    def _note_turn(self, job_type: str, turn: datetime | None) -> None:
        if turn is None:
            self._keyed.add(job_type)
            return
        now, turns = clock.elapsed(), self._turns.setdefault(job_type, deque())
        turns.append((now, turn))
        while turns[0][0] < now - _LATELY_SECONDS:
            turns.popleft()
