"""The idle question against the full tick: a tick starts where it would change anything (P1), and nowhere else.

Modelled: a run, one that waits for its end, a schedule, a limit with its gate, pauses, the turn to prune, and a tick of
this host that was killed. Time passes and steps back, people pause, and somebody writes a gate by hand. A tick is its
steps of housekeeping in their order, and then claims. Decisions 13, 42, 58 and 60.

Left out: locked rows, several types, hooks, the check of a file, and code whose limits are not the stored ones, which
is asked after ten minutes. What a tick of a paused host would do about gates is left to the others: it claims nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from jobrunner.lifecycle import Event
from models.explorer import Goal, Model, Step
from models.idle_rules import NAMES, STEPS, Did, Run, State, World, ended, is_idle, waits, would_change

ACTIONS = {
    "enqueue.insert_one": "a run is enqueued: due now or later, with a start deadline or without",
    "dependants.attach": "another one that waits for its end",
    "expiries.locked": "recovery, also of a tick that is proven dead (expiries.locked_of)",
    "deadlines.end": "runs whose start deadline has passed become dead",
    "dependants.take_ends": "a run goes on or is cancelled whose parent has ended",
    "strays.free": "runs go back that wait where no claim looks",
    "expansion.move": "a due slot is expanded",
    "ticks.take_prune_turn": "the tick takes the turn to prune",
    "claims.claim": "the tick claims",
    "finalize.succeed": "the run ends",
    "finalize.leave": "the run fails for good",
    "pauses.add": "a person pauses the type, the host or everything",
    "pauses.remove": "and ends that",
    "tick is killed": "with a run at work; it leaves a page that a later tick can lock, or its note only",
    "time passes": "one of: a run, a slot or the turn to prune is due, a start deadline or a lease is over",
    "clock steps back": "by more than ten minutes: a lease seems to be longer than any may be",
    "somebody writes a gate": "by hand, one behind which no claim looks",
}
EVENTS = frozenset({Event.ENQUEUE, Event.CLAIM, Event.SUCCEED, Event.GIVE_UP, Event.FAIL, Event.EXPIRE, Event.CANCEL})


def steps(world: World, state: State) -> Iterator[Step]:
    """All that may happen next."""
    if not state.is_enqueued:
        yield from _of_application(state)
        return
    calm = list(_of_tick(world, state))
    for name in NAMES:
        if getattr(state, name).status == "runs" and not state.dead:
            calm.append(Step(name, "finalize.succeed", ended(state, name, "succeeded"), Event.SUCCEED))
            calm.append(Step(name, "finalize.leave", ended(state, name, "dead"), Event.GIVE_UP))
    calm += [Step("person", "pauses.remove", state._replace(pauses=state.pauses - {each})) for each in state.pauses]
    yield from calm
    for after, is_needed in _later(state):
        yield Step("clock", "time passes", after, is_fault=bool(calm) or not is_needed)
    if state.changes:
        for step in _of_others(state._replace(changes=state.changes - 1)):
            yield step._replace(is_fault=True)


def _of_application(state: State) -> Iterator[Step]:
    for is_due in (True, False):
        for deadline in ("", "waits"):
            run = state._replace(run=Run("waits", is_due, deadline=deadline), is_enqueued=True)
            yield Step("application", "enqueue.insert_one", run, Event.ENQUEUE)
            both = run._replace(child=Run("waits", is_due=True, gate="after", deadline=deadline), parent="open")
            yield Step("application", "dependants.attach", both, Event.ENQUEUE)


def _of_tick(world: World, state: State) -> Iterator[Step]:
    if state.does is None:
        if not is_idle(world, state):
            name = next(iter(STEPS))
            yield Step("tick", name, *_taken(world, state, 0), begins_tick=True)
        return
    name = list(STEPS)[state.does]
    yield Step("tick", name, *_taken(world, state, state.does))


def _taken(world: World, state: State, number: int) -> Did:
    take = list(STEPS.values())[number]
    after, event = take(world, state)
    is_last = number == len(STEPS) - 1
    # It claims again for as long as it gets something.
    following = (number if after != state else None) if is_last else number + 1
    return after._replace(does=following), event


def _later(state: State) -> Iterator[tuple[State, bool]]:
    """What time may bring, and whether it must."""
    for name in NAMES:
        run = getattr(state, name)
        if waits(run) and not run.is_due:
            yield state._replace(**{name: run._replace(is_due=True)}), True
        if waits(run) and run.deadline == "waits":
            yield state._replace(**{name: run._replace(deadline="passed")}), False
        if run.lease == "held" and state.dead:
            yield state._replace(**{name: run._replace(lease="expired")}), True
    if state.changes:
        less = state._replace(changes=state.changes - 1)
        yield less._replace(slot="due"), False
        yield less._replace(prune="due"), False


def _of_others(state: State) -> Iterator[Step]:
    for kind in {"type", "host", "all"} - state.pauses:
        yield Step("person", "pauses.add", state._replace(pauses=state.pauses | {kind}))
    for name in NAMES:
        run = getattr(state, name)
        if run.status == "runs":
            yield Step("clock", "clock steps back", state._replace(**{name: run._replace(lease="far")}))
            for left in ("page", "note") if not state.dead else ():
                yield Step("tick", "tick is killed", state._replace(dead=left, does=None))
        if waits(run):
            for gate in ("after", "by hand", "all"):
                yield Step("somebody", "somebody writes a gate", state._replace(**{name: run._replace(gate=gate)}))


WORLDS = {
    "three changes": World(changes=3),
    "three changes, a limit": World(is_limited=True, changes=3),
}
_SEEN = "P1: where a tick would change anything, the idle question lets it start"
_IDLE = "idle: where a tick would change nothing, the idle question lets none start"
TWINS = {
    # The question leaves out a view or a folder that a tick looks at.
    "strays": (World(broken="strays"), _SEEN),
    "deadlines": (World(broken="deadlines"), _SEEN),
    "parents": (World(broken="parents"), _SEEN),
    "clock": (World(broken="clock"), _SEEN),
    # Once: a killed tick was seen by its page only, which a process that its handler has forked may hold.
    "note": (World(broken="note"), _SEEN),
    # Once: a run behind an open gate made each tick start in vain until it was due.
    "not due": (World(is_limited=True, broken="not due"), _IDLE),
}


def model(world: World) -> Model:
    """The model of this world."""

    def is_seen(state: State) -> bool:
        return state.does is not None or not is_idle(world, state) or not would_change(world, state)

    def is_not_in_vain(state: State) -> bool:
        return state.does is not None or is_idle(world, state) or would_change(world, state)

    at_last = {"P1: each run ends": Goal(lambda state: state.is_enqueued and _has_ended(state), 9)}
    always = {_SEEN: is_seen, _IDLE: is_not_in_vain}
    return Model(State(changes=world.changes), partial(steps, world), always, tell, at_last)


def _has_ended(state: State) -> bool:
    return all(run.status not in ("waits", "runs") for run in (state.run, state.child))


def tell(state: State) -> dict[str, object]:
    def words(run: Run) -> str:
        deadline, gate = run.deadline and f"deadline {run.deadline}", run.gate and f"behind {run.gate}"
        parts = [run.status, run.is_due and "due", gate, deadline, run.lease and f"lease {run.lease}"]
        return ", ".join(str(each) for each in parts if each)

    told = {"run": words(state.run), "child": words(state.child), "parent": state.parent or "none", "slot": state.slot}
    told |= {"turn to prune": state.prune, "pauses": ", ".join(sorted(state.pauses)) or "none"}
    told |= {"killed tick": state.dead or "none", "turn at the gate": str(state.has_turn)}
    return {**told, "tick": "none" if state.does is None else "at work"}
