"""At most once per key: records the intent, calls the function, records the outcome.

The steps are a generator, which a plain handler and an async handler execute in different ways. The key's row in
``job_effects`` decides: it exists before the function is called, and only one call can insert it.
"""

from __future__ import annotations

import asyncio
import inspect
import secrets
import sys
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, TypeAlias, cast

from jobrunner import clock, failpoints
from jobrunner.effects.database import ChildDatabase
from jobrunner.errors import BadPayload, ConnectionLost, DatabaseUnavailable
from jobrunner.jobs.effect import Effect, EffectInProgress, EffectsPaused, NotApplied, OnUncertain, UncertainEffect
from jobrunner.jobs.outcomes import HandlerStopped
from jobrunner.jobs.payload import check_payload
from jobrunner.model import Lease
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.steps import at_once
from jobrunner.store.queue import effects, holding
from jobrunner.store.queue.effects import Intended, Note, StoredEffect

_MOST_TRIES = 5
_PAUSE_SECONDS = 0.2
_INTENT_SHARE = 0.5
"""Of the lease: a COMMIT of an intent that got no answer is repeated for so long."""
_CHANGED: Any = object()
"""Another transaction has changed the row just now, so look again."""


class EffectRun(NamedTuple):
    """The run that applies effects. ``outcome_limit`` is how many bytes an outcome may have."""

    lease: Lease
    job_type: str
    attempt: int
    outcome_limit: int


class Step(NamedTuple):
    """One step of the way. ``is_ours``: it uses the database, and must not be interrupted."""

    is_ours: bool
    act: Callable[[], Any]


Steps: TypeAlias = Generator[Step, Any, Effect]


class Call:
    """One call of a function. ``asked`` is an earlier, uncertain call, about which the other system is asked first.

    ``intended`` is its intent, as soon as there is one.
    """

    def __init__(self, key: str, on_uncertain: OnUncertain) -> None:
        self.key = key
        self.on_uncertain = on_uncertain
        self.token = secrets.token_hex(16)
        self.asked: Effect | None = None
        self.intended: Intended | None = None


class Once:
    """The guarded effects of one run."""

    def __init__(self, database: ChildDatabase, run: EffectRun) -> None:
        self._database = database
        self._run = run
        # The calls of this process that have not ended.
        self._calling: set[str] = set()
        self._lock = threading.Lock()

    def steps(self, call: Call, send: Callable[[], Any]) -> Steps:
        """The steps that apply an effect."""
        with self._lock:
            self._calling.add(call.token)
        try:
            return (yield from self._steps(call, send))
        finally:
            with self._lock:
                self._calling.discard(call.token)

    def _steps(self, call: Call, send: Callable[[], Any]) -> Steps:
        found = yield Step(True, partial(self._begin, call))
        if isinstance(found, Effect):
            return found
        self._database.hit("effect.intended")
        try:
            outcome = yield from self._call(call, send)
        except NotApplied:
            yield Step(True, partial(self._clear, call))
            raise
        except Exception:
            yield Step(True, partial(self._mark_uncertain, call))
            raise
        failpoints.hit("effect.called")
        kept = _storable(outcome, self._run.outcome_limit)
        yield Step(True, partial(self._record, call, kept))
        run = self._run
        return Effect(call.key, "applied", kept, run.lease.run_id, run.job_type, run.attempt, is_new=True)

    def _call(self, call: Call, send: Callable[[], Any]) -> Generator[Step, Any, Any]:
        if call.asked is not None and callable(call.on_uncertain):
            with suppress(NotApplied):
                return (yield Step(False, partial(call.on_uncertain, call.asked)))
        return (yield Step(False, send))

    def _begin(self, call: Call) -> Effect | None:
        """Record the intent. Returns what became of an earlier call if this one must not be made."""
        for _ in range(_MOST_TRIES):
            decided = self._write_intent(call)
            if decided is None:
                self._note(call)
            if decided is not _CHANGED:
                return cast("Effect | None", decided)
        raise EffectInProgress(call.key)

    def _write_intent(self, call: Call) -> object:
        ends_at = clock.elapsed() + _INTENT_SHARE * self._database.lease_seconds
        is_unanswered = False
        while True:
            try:
                return self._database.write(partial(self._decide, call=call))
            except DatabaseUnavailable as error:
                # If the COMMIT was applied, the row has our token. The next try finds it, and waits for its own COMMIT.
                is_unanswered |= isinstance(error, ConnectionLost)
                if not is_unanswered:
                    raise
                if clock.elapsed() > ends_at:
                    self._withdraw(call)
                    raise
                clock.sleep(_PAUSE_SECONDS)

    def _withdraw(self, call: Call) -> None:
        """Take the intent back, if there is one: its call was not made. An older call stays as uncertain as it was."""

        def work(connection: Connection) -> None:
            # At once: the handler will soon be stopped, and the standby that did not answer needs not know.
            connection.commit_alone()
            if call.asked is None:
                effects.clear(connection, call.key, call.token)
            else:
                effects.settle(connection, call.key, call.token, "uncertain")

        self._settle_if_possible(work)

    def _decide(self, connection: Connection, call: Call) -> object:
        run, choice = self._run, call.on_uncertain
        if intended := effects.intend(connection, run.lease, call.key, call.token):
            call.intended = intended
            return None
        found = effects.find(connection, call.key)
        if found is not None and found.state == "applied":
            return _effect(found)
        if not holding.still_held(connection, [run.lease]):
            raise HandlerStopped(f"run {run.lease.run_id} has lost its lease")
        if found is not None and found.token == call.token:
            return None
        if effects.is_paused(connection):
            raise EffectsPaused(call.key)
        if found is None:
            return _CHANGED
        if self._is_in_progress(found):
            raise EffectInProgress(call.key)
        uncertain = _effect(found)
        if choice == "raise":
            raise UncertainEffect(uncertain)
        if choice == "skip":
            return uncertain
        call.asked = uncertain
        taken = effects.take_over(connection, run.lease, found, call.token, run.job_type, run.attempt)
        call.intended = taken or call.intended
        return None if taken else _CHANGED

    def _is_in_progress(self, found: StoredEffect) -> bool:
        if found.lease == self._run.lease:
            # An earlier call of this attempt; if it has ended, it could not record how.
            return found.token in self._calling
        return found.in_progress

    def _note(self, call: Call) -> None:
        """Note on this host that the function is called now."""
        run, intended = self._run, call.intended
        if intended is not None:
            of_run = (run.lease.run_id, run.job_type, run.attempt, run.lease.token)
            note = Note(call.key, *of_run, call.token, intended.at, intended.run_created_at)
            self._database.notes.called(intended.server, note)

    def _record(self, call: Call, outcome: Any) -> None:
        """Record that the effect was applied, for as long as a lease lasts if the database does not answer."""
        if call.intended is not None:
            self._database.notes.ended(call.intended.server, call.token, outcome=outcome)
        ends_at = clock.elapsed() + self._database.lease_seconds
        while True:
            try:
                self._database.write(lambda each: effects.settle(each, call.key, call.token, "applied", outcome))
            except DatabaseUnavailable:
                if clock.elapsed() > ends_at:
                    raise
                clock.sleep(_PAUSE_SECONDS)
            else:
                self._database.hit("effect.applied")
                return

    def _mark_uncertain(self, call: Call) -> None:
        self._settle_if_possible(lambda each: effects.settle(each, call.key, call.token, "uncertain"))

    def _clear(self, call: Call) -> None:
        if call.intended is not None:
            self._database.notes.ended(call.intended.server, call.token)
        self._settle_if_possible(lambda each: effects.clear(each, call.key, call.token))

    def _settle_if_possible(self, work: Callable[[Connection], object]) -> None:
        try:
            self._database.write(work)
        except DatabaseUnavailable as error:
            # The intent stays, so the effect is uncertain when the run ends.
            sys.stderr.write(f"jobrunner: the effect stays uncertain: {error}\n")


def _effect(found: StoredEffect) -> Effect:
    return Effect(
        found.key,
        "applied" if found.state == "applied" else "uncertain",
        found.outcome,
        found.run_id,
        found.job_type,
        found.attempt,
        found.intended_at,
    )


def _storable(outcome: object, limit_bytes: int) -> Any:
    """The outcome, or None if a database cannot hold it: the effect has been applied all the same."""
    try:
        return check_payload({"outcome": outcome}, limit_bytes)["outcome"]
    except (BadPayload, RecursionError) as error:
        sys.stderr.write(f"jobrunner: the outcome of the effect was not kept: {error}\n")
        return None


def execute(steps: Steps, shield: Callable[[], Any]) -> Effect:
    """Execute the steps. ``shield`` makes a block that a request to stop does not interrupt."""

    async def act(step: Step) -> Any:
        if step.is_ours:
            with shield():
                return step.act()
        answer = step.act()
        if inspect.isawaitable(answer):
            if inspect.iscoroutine(answer):
                answer.close()
            raise TypeError("the function of an effect is async: write await ctx.once_async(...)")
        return answer

    return at_once(_execute(steps, act))


async def execute_async(steps: Steps) -> Effect:
    """The same in an event loop. Our own steps run in a thread, and what a function returns is awaited."""

    async def act(step: Step) -> Any:
        if step.is_ours:
            return await asyncio.to_thread(step.act)
        answer = step.act()
        return await answer if inspect.isawaitable(answer) else answer

    return await _execute(steps, act)


async def _execute(steps: Steps, act: Callable[[Step], Awaitable[Any]]) -> Effect:
    try:
        step = next(steps)
        while True:
            try:
                answer = await act(step)
            except BaseException as error:  # noqa: BLE001 - the generator decides about every exception of its steps
                step = steps.throw(error)
            else:
                step = steps.send(answer)
    except StopIteration as end:
        effect: Effect = end.value
        return effect
