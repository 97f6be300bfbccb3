"""A run that kills its tick, and its neighbours: after two expired leases in a row a run is begun alone (P7).

Modelled: two hosts, each with a tick that has two runs at work at most, and four runs, of which some kill their tick
when they are at work. The next tick of the host knows that the killed one is dead, and what had begun (decision 60).
What becomes of a run is asked of the real ``lifecycle.decide``.

Left out: leases, which ``leases.py`` has; backoff; and whatever else may end a tick.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import NamedTuple

from jobrunner.lifecycle import (
    FINISHED,
    QUARANTINE_AFTER_EXPIRIES,
    AttemptResult,
    Event,
    Outcome,
    RunState,
    Status,
    allowed,
    decide,
    target,
)
from models.explorer import Goal, Model, Step

ACTIONS = {
    "expiries.locked_of": "the next tick of the host ends what a killed one had begun, and returns the rest",
    "ticks.is_quarantined_due": "a tick asks first whether a run is due that must be begun alone",
    "claims.claim": "the tick claims as many of the others as it can have at work, or such a run alone",
    "children.inside.attempt.Attempt.run": "a child begins with the run",
    "finalize.succeed": "the run ends",
    "worker.loop.Loop._is_over": "the tick ends, because it can claim nothing more",
    "kills its tick": "as one that uses up the memory of the host",
}
EVENTS = frozenset({Event.CLAIM, Event.SUCCEED, Event.FAIL, Event.GIVE_UP})
MOST, AT_ONCE = 3, 2
"""Attempts of each run, and runs that a tick has at work at once."""


class World(NamedTuple):
    """``deadly``: which of the runs kill their tick. ``broken`` names a mistake."""

    deadly: tuple[bool, ...] = (True, False, False, False)
    hosts: int = 2
    broken: str = ""


class Run(NamedTuple):
    status: Status = Status.QUEUED
    attempts: int = 0
    expiries: int = 0


class Host(NamedTuple):
    """``tick``: none, or what it does next. ``waiting`` and ``at_work`` are the runs in its hand, or in that of one
    that was killed. ``is_alone``: it has claimed a run that must be alone."""

    tick: str = "none"
    waiting: tuple[int, ...] = ()
    at_work: tuple[int, ...] = ()
    is_alone: bool = False


class State(NamedTuple):
    runs: tuple[Run, ...]
    hosts: tuple[Host, ...]


@cache
def expired(run: Run) -> Run:
    """The row after ``expiries.recover_of``."""
    state = RunState(run.attempts, MOST, cancel_requested=False, releases=0, lease_expiries=run.expiries)
    decision = decide(state, AttemptResult(Outcome.LEASE_EXPIRED))
    return Run(decision.status, decision.attempts, decision.lease_expiries)


def due(state: State, *, quarantined: bool) -> list[int]:
    found = enumerate(state.runs)
    waiting = [(at, run) for at, run in found if allowed(Event.CLAIM, run.status)]
    return [at for at, run in waiting if (run.expiries >= QUARANTINE_AFTER_EXPIRIES) is quarantined]


def steps(world: World, state: State) -> Iterator[Step]:
    """All that may happen next."""
    for number, host in enumerate(state.hosts):
        name, put = f"host {number + 1}", partial(_put, state, number)
        in_hand = (*host.waiting, *host.at_work)
        if host.tick == "none":
            is_due = due(state, quarantined=False) or due(state, quarantined=True)
            if in_hand:
                yield _recover(state, number, host)
            elif is_due:
                yield Step(name, "ticks.is_quarantined_due", _asked(world, state, number), begins_tick=True)
            continue
        for run in host.waiting:
            begun = host._replace(waiting=tuple(set(host.waiting) - {run}), at_work=(*host.at_work, run))
            yield Step(name, "children.inside.attempt.Attempt.run", put(begun))
        for run in host.at_work:
            if world.deadly[run]:
                yield Step(f"run {run + 1}", "kills its tick", put(host._replace(tick="none")))
            else:
                left = host._replace(at_work=tuple(each for each in host.at_work if each != run))
                ended = state.runs[run]._replace(status=target(Event.SUCCEED, Status.RUNNING), expiries=0)
                yield Step(f"run {run + 1}", "finalize.succeed", put(left, {run: ended}), Event.SUCCEED)
        yield from _claim(world, state, number, host, in_hand)


def _asked(world: World, state: State, number: int) -> State:
    is_any = due(state, quarantined=True) and world.broken != "quarantine"
    return _put(state, number, Host("claims one alone" if is_any else "claims"))


def _recover(state: State, number: int, host: Host) -> Step:
    changed = {run: expired(state.runs[run]) for run in host.at_work}
    for run in host.waiting:
        returned = state.runs[run]
        status = target(Event.RETURN, Status.RUNNING)
        changed[run] = returned._replace(status=status, attempts=returned.attempts - 1)
    is_over = any(run.status is Status.DEAD for run in changed.values())
    event = Event.GIVE_UP if is_over else Event.FAIL
    after = _put(state, number, Host(), changed)
    return Step(f"host {number + 1}", "expiries.locked_of", after, event, begins_tick=True)


def _claim(world: World, state: State, number: int, host: Host, in_hand: tuple[int, ...]) -> Iterator[Step]:
    wants_one = host.tick == "claims one alone"
    if (wants_one or host.is_alone) and in_hand and world.broken != "not alone":
        return
    found = due(state, quarantined=wants_one)
    if world.broken == "quarantine":
        found = [*found, *due(state, quarantined=True)]
    taken = found[: 1 if wants_one else AT_ONCE - len(in_hand)]
    if taken:
        runs = {at: state.runs[at] for at in taken}
        claimed = {at: run._replace(status=Status.RUNNING, attempts=run.attempts + 1) for at, run in runs.items()}
        after = host._replace(waiting=tuple(sorted({*host.waiting, *taken})), is_alone=wants_one)
        yield Step(f"host {number + 1}", "claims.claim", _put(state, number, after, claimed), Event.CLAIM)
    elif wants_one:
        yield Step(
            f"host {number + 1}", "claims.claim", _put(state, number, host._replace(tick="claims", is_alone=False))
        )
    elif not in_hand:
        yield Step(f"host {number + 1}", "worker.loop.Loop._is_over", _put(state, number, Host()))


def _put(state: State, number: int, host: Host, changed: dict[int, Run] | None = None) -> State:
    runs = tuple((changed or {}).get(at, run) for at, run in enumerate(state.runs))
    host = host._replace(at_work=tuple(sorted(host.at_work)))
    return State(runs, (*state.hosts[:number], host, *state.hosts[number + 1 :]))


_NEIGHBOURS = "P7: the neighbours of a run that kills its tick do not die"
WORLDS = {
    "one kills its tick": World(),
    "two kill their ticks": World(deadly=(True, True, False, False)),
}
TWINS = {
    # A run is claimed with others, however often its lease has expired.
    "quarantine": (World(broken="quarantine"), _NEIGHBOURS),
    # A tick goes on claiming while such a run is at work: its neighbour, which is one by now, too.
    "not alone": (World(broken="not alone"), _NEIGHBOURS),
}


def model(world: World) -> Model:
    """The model of this world."""

    def survive(state: State) -> bool:
        return not any(
            run.status is Status.DEAD and not dies for run, dies in zip(state.runs, world.deadly, strict=True)
        )

    always = {
        _NEIGHBOURS: survive,
        "P7: no attempt beyond the most": lambda state: all(run.attempts <= MOST for run in state.runs),
    }
    at_last = {"P7: each run ends": Goal(lambda state: all(run.status in FINISHED for run in state.runs), 20)}
    start = State((Run(),) * len(world.deadly), (Host(),) * world.hosts)
    return Model(start, partial(steps, world), always, tell, at_last, _sorted)


def _sorted(state: State) -> State:
    return state._replace(hosts=tuple(sorted(state.hosts)))


def tell(state: State) -> dict[str, object]:
    told: dict[str, object] = {
        f"run {at}": f"{run.status}, {run.attempts} attempts, {run.expiries} expiries"
        for at, run in enumerate(state.runs, 1)
    }
    for at, host in enumerate(state.hosts, 1):
        hand = {"in hand": [run + 1 for run in host.waiting], "at work": [run + 1 for run in host.at_work]}
        words = [host.tick, *(f"{name} {runs}" for name, runs in hand.items() if runs), host.is_alone and "alone"]
        told[f"host {at}"] = ", ".join(str(each) for each in words if each)
    return told
