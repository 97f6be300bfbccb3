"""The slots of a schedule: ticks, a clock that jumps, a worker, and the deletion of old runs (P3, P12; decision 18).

Modelled: a schedule with a slot each minute. What gets a run is asked of the real ``slot_plan.plan_slots``. A tick
locks the definition, reads it, and writes runs and watermark in one transaction; between these steps all others go on.

Left out: jitter, start deadlines, ``max_runs``, limits of what waits, edits of the schedule, and backfills.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from typing import NamedTuple

from jobrunner.lifecycle import Event
from jobrunner.model import Definition, SlotPolicy
from jobrunner.schedules.recurrence import Recurrence
from jobrunner.schedules.slot_plan import Unfinished, plan_slots
from models.explorer import Goal, Model, Step

ACTIONS = {
    "expansion.lock": "a tick locks the definition if it may have a slot to expand, and nobody else has locked it",
    "expansion.read": "it reads the watermark, the time and what is unfinished, and plans",
    "enqueue.insert_of_slots": "only in a twin: the runs are committed, and the watermark is not moved yet",
    "expansion.move": "the runs are inserted, the watermark is moved, older ones are replaced, and all is committed",
    "claims.claim": "a tick claims the oldest due run, unless another one of the schedule is at work",
    "finalize.succeed": "the run at work ends",
    "retention.delete": "a run is deleted that is old, and its slot, too",
    "store.changes.pausing.resume": "a person lets slots of the future be expanded again: resume --from now",
    "is killed": "a tick in its transaction",
    "a minute passes": "on the clock of the database",
    "jumps ahead or back": "the clock of the database",
}
ONLY_IN_TWINS = {"enqueue.insert_of_slots"}
EVENTS = frozenset({Event.ENQUEUE, Event.CLAIM, Event.SUCCEED})
SLOTS, KEEP = 4, 1
"""The slots are at the minutes 1 to so many. A run is deleted when it ended more than ``KEEP`` minutes ago."""
_NONE, _QUEUED, _RUNNING, _TO_CANCEL, _DELETED, _ENDED = -5, -4, -3, -2, -1, 0
_WORDS = {_NONE: "none", _QUEUED: "queued", _RUNNING: "running", _TO_CANCEL: "to be cancelled", _DELETED: "deleted"}


class World(NamedTuple):
    """``policy`` is that of the schedule. ``jumps`` and ``resumes``: how many there may be. ``broken``: a mistake.

    ``ahead``: by how many minutes the clock is ahead at first, until it is set right; that is before anything is old.
    """

    policy: SlotPolicy = SlotPolicy()
    ticks: int = 2
    jumps: int = 2
    resumes: int = 0
    ahead: int = 0
    broken: str = ""


class Plan(NamedTuple):
    """What a tick will write: the slots that get a run, those that get a row which says why not, and the watermarks."""

    slots: tuple[int, ...]
    skipped: tuple[int, ...]
    watermark: int
    next_at: int


class State(NamedTuple):
    """``runs``: of each slot what became of its run, or when it ended. ``told``: the slots whose row says why not.

    ``ticks``: what each transaction is at: "" not begun, "locked", its plan, or in a twin "moves".
    ``made`` counts the runs that each slot ever had.
    """

    now: int
    watermark: int
    next_at: int
    runs: tuple[int, ...]
    told: frozenset[int]
    made: tuple[int, ...]
    ticks: tuple[tuple[str, Plan | None], ...]
    jumps: int
    resumes: int
    ahead: int


_BEGIN = datetime(2026, 3, 2, tzinfo=UTC)
_EACH_MINUTE = Recurrence.parse("* * * * *")
_NOTHING: tuple[str, Plan | None] = ("", None)


def _minute(instant: datetime | None, otherwise: int) -> int:
    return otherwise if instant is None else (instant - _BEGIN) // timedelta(minutes=1)


@cache
def planned(policy: SlotPolicy, watermark: int, now: int, unfinished: Unfinished) -> Plan:
    """What the real code decides at this minute."""
    at, last = (_BEGIN + timedelta(minutes=each) for each in (now, watermark))
    definition = Definition(1, "each minute", "count", {}, "* * * * *", "UTC", last, None, policy=policy)
    plan = plan_slots(definition, _EACH_MINUTE, at, unfinished)
    skipped = [range(_minute(each.first, 0), _minute(each.last, 0) + 1) for each in plan.skipped]
    return Plan(
        tuple(_minute(slot, 0) for slot in plan.slots),
        tuple(slot for each in skipped for slot in each),
        _minute(plan.watermark, watermark),
        _minute(plan.next_run_at, 0),
    )


def steps(world: World, state: State) -> Iterator[Step]:
    """All that may happen next."""
    calm = False
    for step in (*_of_ticks(world, state), *_of_runs(world, state), *_of_a_person(state)):
        calm |= not step.is_fault
        yield step
    # No transaction takes a minute.
    if state.now < SLOTS and not any(does for does, _ in state.ticks):
        yield Step("clock", "a minute passes", state._replace(now=state.now + 1), is_fault=calm)
    if state.ahead:
        yield Step("clock", "jumps ahead or back", state._replace(now=state.now - state.ahead, ahead=0), is_fault=True)
    for now in range(SLOTS + 1) if state.jumps else ():
        if now != state.now:
            yield Step("clock", "jumps ahead or back", state._replace(now=now, jumps=state.jumps - 1), is_fault=True)


def _of_ticks(world: World, state: State) -> Iterator[Step]:
    is_locked = any(does for does, _ in state.ticks)
    for number, (does, plan) in enumerate(state.ticks):
        name, put = f"tick {number + 1}", partial(_put, number)
        if does:
            yield Step(name, "is killed", put(state, _NOTHING), is_fault=True)
        elif state.next_at <= state.now and (not is_locked or world.broken == "lock"):
            yield Step(name, "expansion.lock", put(state, ("locked", None)), begins_tick=True)
        if does == "locked":
            unfinished = [each for each in state.runs if each in (_QUEUED, _RUNNING, _TO_CANCEL)]
            found = Unfinished(any=bool(unfinished), waiting=_QUEUED in unfinished)
            found_now = planned(world.policy, state.watermark, state.now, found)
            yield Step(name, "expansion.read", put(state, ("planned", found_now)))
        elif does == "planned" and world.broken == "two transactions":
            assert plan is not None
            yield Step(name, "enqueue.insert_of_slots", put(_inserted(world, state, plan), ("moves", plan)))
        elif plan is not None:
            written = state if does == "moves" else _inserted(world, state, plan)
            moved = written._replace(watermark=plan.watermark, next_at=plan.next_at)
            is_new = written.made != state.made
            yield Step(name, "expansion.move", put(moved, _NOTHING), Event.ENQUEUE if is_new else None)


def _put(number: int, state: State, tick: tuple[str, Plan | None]) -> State:
    return state._replace(ticks=(*state.ticks[:number], tick, *state.ticks[number + 1 :]))


def _inserted(world: World, state: State, plan: Plan) -> State:
    runs, made = [*state.runs], [*state.made]
    # Where a slot has its run, the unique index says so.
    new = [slot for slot in plan.slots if runs[slot - 1] in (_NONE, _DELETED)]
    if new and world.policy.overlap == "replace":
        ended = {_QUEUED: state.now, _RUNNING: _TO_CANCEL}
        runs = [ended.get(each, each) for each in runs]
    for slot in new:
        runs[slot - 1] = _QUEUED
        made[slot - 1] += 1
    return state._replace(runs=tuple(runs), made=tuple(made), told=state.told | {*plan.skipped})


def _of_runs(world: World, state: State) -> Iterator[Step]:
    is_at_work = any(each in (_RUNNING, _TO_CANCEL) for each in state.runs)
    may_begin = not is_at_work or world.policy.overlap == "allow" or world.broken == "key"
    for slot, run in enumerate(state.runs, 1):
        if run == _QUEUED and slot <= state.now and may_begin:
            yield Step("worker", "claims.claim", _with(state, slot, _RUNNING), Event.CLAIM)
            if world.policy.overlap != "allow":
                may_begin = False
        if run in (_RUNNING, _TO_CANCEL):
            yield Step("worker", "finalize.succeed", _with(state, slot, state.now), Event.SUCCEED)
        is_slot_old = slot < state.now - KEEP or world.broken == "retention"
        if _ENDED <= run < state.now - KEEP and is_slot_old and not state.ahead:
            yield Step("pruner", "retention.delete", _with(state, slot, _DELETED))


def _with(state: State, slot: int, run: int) -> State:
    return state._replace(runs=(*state.runs[: slot - 1], run, *state.runs[slot:]))


def _of_a_person(state: State) -> Iterator[Step]:
    if state.resumes and not state.ahead and state.watermark > state.now and not any(does for does, _ in state.ticks):
        after = state._replace(watermark=state.now, next_at=state.now + 1, resumes=state.resumes - 1)
        yield Step("person", "store.changes.pausing.resume", after, is_fault=True)


WORLDS = {
    "latest, skip": World(),
    "latest, queue": World(SlotPolicy(overlap="queue")),
    "all, queue": World(SlotPolicy(misfire="all", overlap="queue")),
    "latest, replace": World(SlotPolicy(overlap="replace")),
    "skip, allow": World(SlotPolicy(misfire="skip", overlap="allow")),
    "a clock that was ahead": World(jumps=0, resumes=1, ahead=2),
    "three ticks": World(SlotPolicy(misfire="all", overlap="queue"), ticks=3, jumps=1),
}
_ONCE = "P3: a slot gets at most one run"
_ALONE = "P3: no two runs of the schedule are at work"
TWINS = {
    # The runs and the watermark are written in two transactions, and the first run is deleted between them.
    "two transactions": (World(jumps=1, broken="two transactions"), _ONCE),
    # Two ticks expand at the same time, and the run of one is deleted before the other one inserts.
    "lock": (World(jumps=1, broken="lock"), _ONCE),
    # A run that ended when the clock was right again is old before its slot comes.
    "retention": (World(jumps=0, resumes=1, ahead=2, broken="retention"), _ONCE),
    # No mistake: what docs/explanation/reliability.md says of `resume --from now` when the run is not kept any more.
    "from now": (World(jumps=1, resumes=1), _ONCE),
    # The claim does not ask whether a run with the same key is at work.
    "key": (World(SlotPolicy(misfire="all", overlap="queue"), broken="key"), _ALONE),
}


def model(world: World) -> Model:
    """The model of this world."""
    ticks, none = (_NOTHING,) * world.ticks, (_NONE,) * SLOTS
    left = world.jumps, world.resumes, world.ahead
    start = State(world.ahead, 0, 1, none, frozenset(), (0,) * SLOTS, ticks, *left)
    may_overlap = world.policy.overlap == "allow"
    always = {
        _ONCE: lambda state: max(state.made) < 2,
        _ALONE: lambda state: may_overlap or sum(each in (_RUNNING, _TO_CANCEL) for each in state.runs) < 2,
        "P12: a slot that was passed has had a run, or a row says why not": _is_told,
    }
    at_last = {"P3: each slot up to now is decided": Goal(lambda state: state.watermark >= state.now, 1)}
    return Model(start, partial(steps, world), always, tell, at_last, _sorted)


def _is_told(state: State) -> bool:
    return all(state.made[slot - 1] or slot in state.told for slot in range(1, state.watermark + 1))


def _sorted(state: State) -> State:
    return state._replace(ticks=tuple(sorted(state.ticks, key=str)))


def tell(state: State) -> dict[str, object]:
    ticks = {f"tick {number}": does or "nothing" for number, (does, _) in enumerate(state.ticks, 1)}
    runs = {f"run of slot {slot}": _WORDS.get(run, f"ended at {run}") for slot, run in enumerate(state.runs, 1)}
    passed = {"watermark": state.watermark, "next slot": state.next_at, "told": sorted(state.told)}
    return {"minute": state.now, **passed, **runs, **ticks}
