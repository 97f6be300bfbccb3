"""Listening: a tick that goes on claiming, and waits for what comes, until the next one of its kind listens.

What it waits on is a bell; but a bell may be swallowed on the way, so it also asks each second.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from functools import partial
from typing import Any

from jobrunner import clock
from jobrunner.children.supervisor import Supervisor
from jobrunner.errors import DatabaseUnavailable
from jobrunner.log import Log
from jobrunner.model import Owner
from jobrunner.settings.config import Config
from jobrunner.store import listen
from jobrunner.store.database import Database
from jobrunner.store.listen import Listener
from jobrunner.worker import deadlines, expansion, recovery

_ASK_SECONDS = 0.9
"""A little less than a second, so that within one it knows that it is relieved, or cut off."""
_APART_SECONDS = 0.01
"""However often it rings, so long passes between two questions."""
_MOST_RINGS = 100
"""In a second. Ringing makes whoever enqueues wait; when so many do, it is muted until the second is over."""
_MUTED_ASK_SECONDS = 0.02


class Listening:
    """One tick's lingering. ``trouble`` is why it ended before its time, should the database be the reason."""

    def __init__(
        self,
        config: Config,
        owner: Owner,
        database: Database,
        log: Log,
        types: Collection[str] | None,
        tick_id: int,
        counts: Counter[str],
    ) -> None:
        self.trouble: str | None = None
        self._config = config
        self._owner = owner
        self._database = database
        self._log = log
        self._types = types
        # Whom it relieves, and is relieved by.
        self._kind: dict[str, Any] = {"types": types, "application": _application(config)}
        self._tick_id = tick_id
        self._counts = counts
        self._ends_at = clock.elapsed() + config.linger.total_seconds()
        self._is_over = False
        self._supervisor: Supervisor | None = None
        self._listener: Listener | None = None
        self._has_rung = False
        self._second_began_at = 0.0
        self._rings = 0
        self._claimed = 0
        self._asked_at = 0.0
        self._ask_at = 0.0

    def goes_on(self) -> bool:
        """Whether this tick may still claim."""
        return not self._is_over and clock.elapsed() < self._ends_at

    def has_begun(self) -> bool:
        """Whether it listens, or did."""
        return self._listener is not None or self._is_over

    def begin(self, supervisor: Supervisor) -> None:
        """Listen, and then say so: handlers must be ready to begin a run, for an older tick leaves now.

        Raises DatabaseUnavailable, after which it is over: what is due can be worked on all the same.
        """
        try:
            self._listener = Listener(self._database)
        except DatabaseUnavailable as error:
            self.end(error)
            raise
        self._supervisor = supervisor
        if self._listener.descriptor is not None:
            supervisor.watch(self._listener.descriptor)
        self._database.write(partial(listen.say_listening, tick_id=self._tick_id, **self._kind))
        self._log.info("linger", result="listens", types=None if self._types is None else sorted(self._types))

    def ask(self, *, claimed: int, hands_are_free: bool) -> bool:
        """Whether there may be runs to claim, if it is time to ask. ``claimed`` is how many there have been so far.

        With free hands it also recovers and expands; else that would keep the main loop from its runs, and the next
        tick does it. Raises DatabaseUnavailable, and ConnectionLost as soon as the connection is gone.
        """
        if self._listener is None:
            return False
        self._listen(self._listener)
        if clock.elapsed() < self._next_question_at():
            return False
        if self._has_rung and self._rings_pay(claimed):
            self._has_rung = False
            self._asked_at = clock.elapsed()
            return True
        return self._ask(hands_are_free)

    def next_step_at(self) -> float:
        """When ``ask`` wants to be called again, unless the bell rings before (on the clock of ``clock.elapsed``)."""
        if self._listener is None:
            return self._ends_at
        step = min(self._next_question_at(), self._ends_at)
        if self._listener.look_seconds is None:
            return step
        return min(step, clock.elapsed() + self._listener.look_seconds)

    def end(self, trouble: DatabaseUnavailable | None = None) -> None:
        """Claim no more. Runs at work are seen to their end."""
        if trouble is None:
            self._end("over")
        else:
            self.trouble = self.trouble or str(trouble)
            self._end("ended early", error=self.trouble)

    def _listen(self, listener: Listener) -> None:
        rings = listener.notifications()
        if clock.elapsed() - self._second_began_at >= 1:
            self._second_began_at, self._rings = clock.elapsed(), 0
            # Who came while it was muted has not rung.
            self._has_rung = self._has_rung or listener.is_paused
            listener.pause(paused=False)
        self._rings += rings
        self._has_rung = self._has_rung or rings > 0
        if self._rings >= _MOST_RINGS:
            listener.pause(paused=True)

    def _rings_pay(self, claimed: int) -> bool:
        """Whether the last ring has led to a run, so that this one need not be looked into before a claim."""
        before, self._claimed = self._claimed, claimed
        return claimed > before

    def _ask(self, hands_are_free: bool) -> bool:
        self._has_rung = False
        self._asked_at = clock.elapsed()
        outlook = self._database.read(
            partial(listen.look_ahead, tick_id=self._tick_id, owner=self._owner, **self._kind)
        )
        self._ask_at = self._asked_at + min(_ASK_SECONDS, outlook.next_in)
        if outlook.is_superseded:
            self._end("relieved")
            return False
        if outlook.is_due and hands_are_free:
            recovery.recover(self._config, self._database, self._log, self._counts)
            deadlines.end_overdue(self._config, self._database, self._log, self._counts)
            expansion.expand(self._config, self._database, self._log, self._counts)
            return True
        return outlook.is_claimable

    def _next_question_at(self) -> float:
        at = self._asked_at if self._has_rung else self._ask_at
        if self._listener is not None and self._listener.is_paused:
            at = min(at, self._asked_at + _MUTED_ASK_SECONDS)
        return max(at, self._asked_at + _APART_SECONDS)

    def _end(self, result: str, **fields: str) -> None:
        if self._is_over:
            return
        self._is_over = True
        (self._log.warning if fields else self._log.info)("linger", result=result, **fields)
        listener, self._listener = self._listener, None
        if listener is None:
            return
        if self._supervisor is not None and listener.descriptor is not None:
            self._supervisor.unwatch(listener.descriptor)
        listener.close()


def _application(config: Config) -> str:
    """Whose handlers these are: the name that it has given itself, else where they are and what they are called."""
    return config.application or " ".join([str(config.app_dir or ""), *config.imports]).strip()
