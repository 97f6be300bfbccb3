"""The ways through a history: each reads one kind of rows in slices, and yields what was found in each slice.

A sweep gets where to begin, and yields where the next slice begins. Each slice is one short snapshot.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from jobrunner.errors import BadSchedule
from jobrunner.lifecycle import Status
from jobrunner.model import FIRST_INSTANT, describe_pause
from jobrunner.schedules.recurrence import Recurrence
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database
from jobrunner.store.verify.reading import read
from jobrunner.store.verify.records import Definition, Limit, Pause, SetLimit, Slot, Worked
from jobrunner.verify import known, promises, set_limits
from jobrunner.verify.checks.attempts import lost_leases
from jobrunner.verify.checks.limits import Totals, WorkOfType
from jobrunner.verify.checks.slots import Rivals, SlotsOf, Work
from jobrunner.verify.histories import read_slice
from jobrunner.verify.promise import ONE_TICK, Breach, Facts, History, Promise

T = TypeVar("T")
_RUNS, _EFFECTS, _SLOTS, _ATTEMPTS = 1000, 1000, 2000, 5000
"""How many rows a slice has."""
_MOST_RIVALS = 64
_MOST_WORKED = 500_000
"""Attempts of limited types that are compared with each other, the newest: a hundred megabytes."""


class Found(NamedTuple):
    """What a slice has shown. ``next`` is where the next slice begins; ``runs`` is how many runs were judged."""

    next: str
    breaches: Sequence[Breach] = ()
    runs: int = 0
    lost_leases: Sequence[int] = ()


class Sweeper:
    """Goes through one database. ``counted_to`` is the attempt up to which its tallies count, before it begins."""

    def __init__(self, database: Database, facts: Facts, counted_to: int) -> None:
        self._database = database
        self._facts = facts
        self._counted_to = counted_to
        self._rivals = defaultdict[str, deque[Work]](lambda: deque(maxlen=_MOST_RIVALS))
        self._ended = defaultdict[str, Counter[tuple[str, str]]](Counter)

    def _look(self, work: Callable[[Connection], T]) -> tuple[T, Facts]:
        return self._database.snapshot(lambda connection: (work(connection), known.later(connection, self._facts)))

    def _read(self, name: str, **given: Any) -> list[Any]:
        return self._database.snapshot(lambda connection: read(connection, name, **given))

    def schedules(self, begin: str) -> Iterator[Found]:
        """Each schedule, and some thousand of its slots at a time."""
        after = int(begin or 0)
        while found := self._read("definitions", after=after, limit=1):
            yield from self._schedule(found[0])
            after = found[0].id

    def _schedule(self, definition: Definition) -> Iterator[Found]:
        since = max(self._facts.recorded_since, self._facts.kept_since, definition.created_at)
        for changed in self._read("changes_of_schedule", definition_id=definition.id):
            since = max(since, changed.at)
        skips = self._read("skips_of_schedule", definition_id=definition.id, since=since)
        skipped = [(_instant(each.detail["from"]), _instant(each.detail["to"])) for each in skips]
        until, done_to, is_last = min(definition.last_slot_at, self._facts.now), FIRST_INSTANT, False
        while not is_last:
            of_slots = {"definition_id": definition.id, "since": done_to, "limit": _SLOTS}
            runs: list[Slot] = self._read("slots", **of_slots)
            # The last slot of a page is the first one of the next page: it may have another run there.
            is_last = len(runs) < _SLOTS or runs[0].scheduled_for == runs[-1].scheduled_for
            end = until if is_last else min(runs[-1].scheduled_for, until)
            judged = SlotsOf(definition, list(_slots(definition, max(since, done_to), end)), runs, skipped)
            breaches = _judge(promises.OF_SLOTS, judged, definition.name, self._facts)
            done_to = end if is_last else runs[-1].scheduled_for
            yield Found(str(definition.id if is_last else definition.id - 1), breaches)

    def pauses(self, begin: str) -> Iterator[Found]:
        """What is paused: some rows, so all of them are one slice."""
        if begin:
            return
        found, facts = self._look(partial(read, name="pauses"))
        pauses = defaultdict[str, list[Pause]](list)
        for each in found:
            pauses[describe_pause(each.kind, each.name)].append(each)
        judged = (_judge([promises.PROMISES["pauses_recorded"]], each, name, facts) for name, each in pauses.items())
        yield Found("all", [breach for each in judged for breach in each])

    def effects(self, begin: str) -> Iterator[Found]:
        """All effects, by their keys."""
        after = begin
        while True:
            found, facts = self._look(partial(read, name="effects", key=after, limit=_EFFECTS))
            if not found:
                return
            after = found[-1].key
            judged = (_judge([promises.PROMISES["effects_of_runs"]], each, each.key, facts) for each in found)
            yield Found(after, [breach for each in judged for breach in each])

    def runs(self, begin: str) -> Iterator[Found]:
        """All runs, by their ids."""
        after = int(begin or 0)
        while True:
            found, facts = self._look(partial(read_slice, after=after, limit=_RUNS))
            if not found.histories:
                return
            after = found.histories[-1].run.id
            breaches = [each for history in found.histories for each in self._run(history, facts)]
            for settled in found.settlements:
                breaches += _judge([promises.PROMISES["effects_once"]], settled, settled.event.detail["key"], facts)
            lost = [each.run.id for each in found.histories for _ in range(lost_leases(each))]
            yield Found(str(after), breaches, len(found.histories), lost)

    def _run(self, history: History, facts: Facts) -> Iterator[Breach]:
        run = history.run
        yield from _judge(promises.OF_RUNS, history, str(run.id), facts)
        self._ended[run.job_type].update(
            (each.outcome, each.status)
            for each in history.attempts
            if each.id <= self._counted_to and each.status is not None and each.finished_at >= facts.recorded_since
        )
        if run.concurrency_key is not None:
            earlier = self._rivals[run.concurrency_key]
            own = [Work(run.id, each.started_at, each.finished_at) for each in history.attempts]
            if run.status == Status.RUNNING and run.started_at is not None:
                own.append(Work(run.id, run.started_at, facts.now))
            rivals = Rivals(run.concurrency_key, own, list(earlier))
            yield from _judge([promises.PROMISES["one_at_a_time"]], rivals, str(run.id), facts)
            earlier.extend(own)

    def limits(self, _: str) -> Iterator[Found]:
        """What is set, and the attempts of limited types, the newest first, as long as their limits are known."""
        limits: dict[str, Limit] = {each.job_type: each for each in self._read("limits")}
        found = defaultdict[str, list[SetLimit]](list)
        for each in self._read("set_limits"):
            found[each.job_type].append(each)
        for name, of_type in found.items():
            yield Found("", _judge([promises.PROMISES["limits_recorded"]], of_type, name, self._facts))
        known = set_limits.in_force(limits, [each[0] for each in found.values()], self._facts.now)
        changed = set_limits.last_changes(self._read("limit_changes"), self._read("set_limits"), self._facts.now)
        # Code that knows of no limits that are set does not keep to them.
        old = [each.started_at + ONE_TICK for each in self._read("last_old_tick")] if found else []
        since = {
            name: max([at, *changed.get(name, []), *old]) for name, at in self._facts.agreed.items() if name in limits
        }
        worked = defaultdict[str, list[Worked]](list)
        if since:
            for each in islice(self._worked(min(since.values())), _MOST_WORKED):
                if each.job_type in since:
                    worked[each.job_type].append(each)
        for name, of_its in sorted(worked.items()):
            # The limits of the code do not count what began by other ones; what is set counts all that is at work.
            counts_all = name in known.set_types
            counted = [each for each in of_its if counts_all or each.started_at >= since[name]]
            work = WorkOfType(known.limits[name], counted, since[name])
            yield Found("", _judge([promises.PROMISES["limits_kept"]], work, name, self._facts))

    def _worked(self, oldest: datetime) -> Iterator[Worked]:
        (running, span), _ = self._look(
            lambda connection: (read(connection, "at_work"), read(connection, "last_attempt")[0])
        )
        yield from running
        last = span.last or 0
        while last > 0:
            found = self._read("worked", first=last - _ATTEMPTS + 1, last=last)
            yield from found
            if found and all(each.finished_at < oldest for each in found):
                return
            last -= _ATTEMPTS

    def totals(self, _: str) -> Iterator[Found]:
        """The tallies, beside the attempts that the sweep over the runs has seen."""
        counted = defaultdict[str, Counter[tuple[str, str]]](Counter)
        for each in self._read("counted"):
            counted[each.job_type][each.outcome, each.status] += each.ends
        for name, found in sorted(self._ended.items()):
            totals = Totals(name, counted[name], found)
            yield Found("", _judge([promises.PROMISES["totals_complete"]], totals, name, self._facts))


def _judge(judged: Iterable[Promise], subject: Any, name: str, facts: Facts) -> list[Breach]:
    return [
        Breach(each.name, each.number, name, sentence, each.remedy.format(subject=name))
        for each in judged
        for sentence in each.look(subject, facts)
    ]


def _slots(definition: Definition, since: datetime, until: datetime) -> Iterator[datetime]:
    try:
        recurrence = Recurrence.parse(definition.schedule or "", definition.timezone)
        return recurrence.slots(since, until) if since < until else iter(())
    except BadSchedule:
        return iter(())


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)
