"""The rules of ``idle``: the state, the idle question, and the steps of a tick."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from jobrunner.lifecycle import Event


class World(NamedTuple):
    """``changes``: how often people and the clock do something that need not be. ``broken``: what is not asked."""

    is_limited: bool = False
    changes: int = 2
    broken: str = ""


class Run(NamedTuple):
    """``gate``: "", all (of the limit), after (of parents), or none of these. ``lease``: held, expired, or far."""

    status: str = "none"
    is_due: bool = False
    gate: str = ""
    deadline: str = ""
    lease: str = ""


class State(NamedTuple):
    """``parent``: the row in job_parents, open or told. ``dead``: what a killed tick has left, page or note.

    ``slot``, ``prune``: waits or due. ``does``: which step the tick is at; None: there is no tick.
    """

    run: Run = Run()
    child: Run = Run()
    parent: str = ""
    slot: str = "waits"
    prune: str = "waits"
    pauses: frozenset[str] = frozenset()
    dead: str = ""
    has_turn: bool = False
    does: int | None = None
    changes: int = 0
    is_enqueued: bool = False


NAMES = ("run", "child")


def waits(run: Run) -> bool:
    return run.status == "waits"


def is_claimable(state: State, run: Run) -> bool:
    """``conditions.CLAIM`` without the gate."""
    is_paused = state.pauses & {"all", "type"}
    return waits(run) and run.is_due and run.deadline != "passed" and not is_paused


def is_stray(world: World, state: State, name: str) -> bool:
    """``job_stray_gates`` and ``job_stray_dependants``."""
    run = getattr(state, name)
    if run.gate == "after":
        return waits(run) and not (name == "child" and state.parent)
    return waits(run) and run.gate not in ("", "all" if world.is_limited and state.has_turn else "")


def is_gate_due(world: World, state: State) -> bool:
    """``job_gates_due``: ``job_ready_gates``, and what waits where no claim looks."""
    both = (state.run, state.child)
    is_busy = any(run.status == "runs" and run.gate for run in both)
    is_open = world.is_limited and state.has_turn and not is_busy and not state.pauses & {"all", "type"}
    behind = [run.is_due for run in both if waits(run) and run.gate == "all"]
    is_ready = is_open and (any(behind) or not behind or world.broken == "not due")
    return is_ready or (world.broken != "strays" and any(is_stray(world, state, name) for name in NAMES))


def is_idle(world: World, state: State) -> bool:
    """What ``idle.statement`` asks, and before it ``cli.idle._is_tick_abandoned``."""
    both, broken = (state.run, state.child), world.broken
    may_claim = any(is_claimable(state, run) and not run.gate for run in both) or is_gate_due(world, state)
    return not (
        (may_claim and "host" not in state.pauses)
        or (state.parent == "told" and broken != "parents")
        or state.slot == "due"
        or any(run.lease == "expired" or (run.lease == "far" and broken != "clock") for run in both)
        or (any(waits(run) and run.deadline == "passed" for run in both) and broken != "deadlines")
        or state.prune == "due"
        or (state.dead == "page" or (state.dead == "note" and broken != "note"))
    )


# What a tick does: the steps of ``housekeeping._STEPS``, and the claim. Each is a state, and what it is to a run.

Did = tuple[State, Event | None]


def recover(world: World, state: State) -> Did:
    event = None
    for name in NAMES:
        run = getattr(state, name)
        if run.status == "runs" and (run.lease != "held" or state.dead):
            state = state._replace(**{name: run._replace(status="waits", lease="", gate="", is_due=True)})
            event = Event.FAIL
    return state._replace(dead=""), event


def end_overdue(world: World, state: State) -> Did:
    event = None
    for name in NAMES:
        run = getattr(state, name)
        if waits(run) and run.deadline == "passed":
            state, event = ended(state, name, "dead"), Event.EXPIRE
    return state, event


def follow(world: World, state: State) -> Did:
    if state.parent != "told":
        return state, None
    state = state._replace(parent="")
    if not waits(state.child) or state.child.gate != "after":
        return state, None
    if state.run.status == "dead":
        return state._replace(child=Run("cancelled")), Event.CANCEL
    return state._replace(child=state.child._replace(gate="")), None


def free(world: World, state: State) -> Did:
    for name in NAMES:
        run = getattr(state, name)
        if is_stray(world, state, name):
            right = "after" if name == "child" and state.parent else ""
            state = state._replace(**{name: run._replace(gate=right)})
    return state, None


def expand(world: World, state: State) -> Did:
    return (state._replace(slot="waits"), Event.ENQUEUE) if state.slot == "due" else (state, None)


def prune(world: World, state: State) -> Did:
    return state._replace(prune="waits"), None


def claim(world: World, state: State) -> Did:
    """One claim: due runs of a limited type go behind their gate, and the first one is taken if it is open."""
    if "host" in state.pauses:
        return state, None
    for name in NAMES if world.is_limited else ():
        run = getattr(state, name)
        if is_claimable(state, run) and not run.gate:
            state = state._replace(has_turn=True, **{name: run._replace(gate="all")})
    is_busy = world.is_limited and any(getattr(state, name).status == "runs" for name in NAMES)
    gate = "all" if world.is_limited else ""
    found = [name for name in NAMES if is_claimable(state, getattr(state, name)) and getattr(state, name).gate == gate]
    if found and not is_busy:
        taken = getattr(state, found[0])._replace(status="runs", lease="held")
        state = state._replace(**{found[0]: taken})
    if world.is_limited and not state.pauses & {"all", "type"} and not is_busy:
        state = state._replace(has_turn=any(waits(run) and run.gate == "all" for run in (state.run, state.child)))
    return state, Event.CLAIM if found and not is_busy else None


STEPS: dict[str, Callable[[World, State], Did]] = {
    "expiries.locked": recover,
    "deadlines.end": end_overdue,
    "dependants.take_ends": follow,
    "strays.free": free,
    "expansion.move": expand,
    "ticks.take_prune_turn": prune,
    "claims.claim": claim,
}


def ended(state: State, name: str, status: str) -> State:
    """The run has ended, and the trigger on job_runs tells who waits for it."""
    told = "told" if name == "run" and state.parent else state.parent
    ends: dict[str, Any] = {name: Run(status)}
    return state._replace(**ends, parent=told)


def would_change(world: World, state: State) -> bool:
    """Whether a full tick would change anything, but gates where this host is paused."""
    after = state
    for name, take in STEPS.items():
        if name != "strays.free" or "host" not in state.pauses:
            after, _ = take(world, after)
    return after != state
