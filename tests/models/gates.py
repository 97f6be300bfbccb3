"""Limits and their gates while a deploy changes them: old ticks go on, and rows are locked (P1; decisions 35 and 58).

Modelled: three waiting runs of one type; the limits that each tick's code has, and those that are stored; behind which
gate each run waits, and which gates have a turn; two ticks of the new code, one of the old, and a session that locks a
row. Each transaction is one step. A tick is started only if the idle question finds something to do.

Left out: rates, priorities, parents, pauses, several runs in one claim, and the minutes after which limits that nobody
has asked for count as open, which would let more ticks start.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from jobrunner.lifecycle import Event
from models.explorer import Goal, Model, Step

ACTIONS = {
    "worker.tick.tick": "cron starts a tick, because something is due",
    "strays.gates": "housekeeping reads which gates runs wait behind and no claim looks behind",
    "strays.free": "it takes the runs from there, but for locked ones (then strays.settle)",
    "limits.declared": "the tick compares the stored limits with its own",
    "limits.declare": "it stores its own, takes waiting runs from their gates (limits.release), forgets gates",
    "claims.claim": "due runs go behind their gates (limits.admit, gates.enter); one behind an open gate is claimed",
    "worker.loop.Loop._is_over": "the tick ends, because it can claim nothing",
    "finalize.succeed": "a run ends, and leaves its gate",
    "locks a row": "a session of somebody else, as with SELECT FOR UPDATE",
    "ends its transaction": "and lets go of the row",
}
EVENTS = frozenset({Event.CLAIM, Event.SUCCEED})
OTHERS = {"customer": "region", "region": "customer"}


class World(NamedTuple):
    """``old`` and ``new``: the limit of the code: customer and region (one for each), all (one), or none.

    ``old_ticks`` and ``locks``: how many there may be in all. ``new_ticks``: at the same time. ``broken``: a mistake.
    """

    old: str = "customer"
    new: str = "all"
    old_ticks: int = 2
    new_ticks: int = 1
    locks: int = 1
    broken: str = ""


class Run(NamedTuple):
    """``gate`` "" is that of no limit. ``owner`` is the limit of the code that has claimed it."""

    customer: int
    status: str = "waits"
    gate: str = ""
    owner: str = ""
    is_locked: bool = False


class Tick(NamedTuple):
    """``found``: the gates whose runs it will set right."""

    does: str = "none"
    found: frozenset[str] = frozenset()


class State(NamedTuple):
    """``stored``: the limits of the type in job_limits. ``gates``: those with a turn. ``ticks``: old, new, new."""

    runs: tuple[Run, ...]
    stored: str
    gates: frozenset[str]
    ticks: tuple[Tick, ...]
    old_ticks: int
    locks: int


def gate_of(limit: str, run: Run) -> str:
    """Behind which gate a claim of code with this limit puts a run. All runs are of one region."""
    return {"customer": f"customer {run.customer}", "region": "region 1", "all": "all", "none": ""}[limit]


def is_of(limit: str, gate: str) -> bool:
    """Whether it is a gate of these limits: ``conditions.GATE_OF_LIMITS``."""
    return limit != "none" and gate.partition(" ")[0] == limit


def strays(state: State) -> frozenset[str]:
    """The gates that runs wait behind and no claim looks behind: ``job_stray_gates``."""
    behind = {run.gate for run in state.runs if run.status == "waits" and run.gate}
    return frozenset(gate for gate in behind if not is_of(state.stored, gate) or gate not in state.gates)


def is_due(world: World, state: State) -> bool:
    """Whether the idle question lets a tick start: ``job_ungated_due`` and ``job_gates_due``."""
    waiting = [run for run in state.runs if run.status == "waits"]
    busy = [run.gate for run in state.runs if run.status == "runs" and run.gate]
    of_limits = [gate for gate in state.gates if is_of(state.stored, gate)]
    is_open = any(not busy if gate == "all" else gate not in busy for gate in of_limits)
    is_any_stray = bool(strays(state)) and world.broken != "idle"
    return any(not run.gate for run in waiting) or bool(waiting and is_open) or is_any_stray


def steps(world: World, state: State) -> Iterator[Step]:
    """All that may happen next."""
    is_locked = any(run.is_locked for run in state.runs)
    # A tick may come at any time. It must come when a minute is over and nothing else happens.
    is_quiet = all(tick.does == "none" for tick in state.ticks) and not is_locked
    is_quiet &= all(run.status != "runs" for run in state.runs)
    for number, tick in enumerate(state.ticks):
        limit, name = (world.new, f"new tick {number}") if number else (world.old, "old tick")
        if tick.does != "none":
            yield from Turn(world, state, number, limit, name).steps()
        elif is_due(world, state) and (number or state.old_ticks):
            started = _with_tick(state, number, Tick("housekeeping"))._replace(old_ticks=state.old_ticks - (not number))
            # Old code may go on, and need not.
            is_fault = not is_quiet or not number
            yield Step(name, "worker.tick.tick", started, is_fault=is_fault, begins_tick=True)
    for index, run in enumerate(state.runs):
        if run.status == "runs":
            after = _with_run(state, index, run._replace(status="ended", gate="", owner=""))
            yield Step(f"run {index + 1}", "finalize.succeed", after, Event.SUCCEED)
        elif run.is_locked:
            yield Step("session", "ends its transaction", _with_run(state, index, run._replace(is_locked=False)))
        elif run.status == "waits" and state.locks and not is_locked:
            locked = _with_run(state, index, run._replace(is_locked=True))._replace(locks=state.locks - 1)
            yield Step("session", "locks a row", locked, is_fault=True)


class Turn(NamedTuple):
    """A tick to which a state is put."""

    world: World
    state: State
    number: int
    limit: str
    name: str

    def steps(self) -> Iterator[Step]:
        tick, state = self.state.ticks[self.number], self.state
        if tick.does == "housekeeping":
            found = strays(state) if self.world.broken != "strays" else frozenset()
            yield self.step("strays.gates", state, Tick("frees" if found else "compares", found))
        elif tick.does == "frees":
            yield self.step("strays.free", self.freed(tick.found), Tick("compares"))
        elif tick.does == "compares":
            yield self.step("limits.declared", state, Tick("declares" if state.stored != self.limit else "claims"))
            if state.locks or state.old_ticks:
                # The database was away for this moment.
                yield self.step("limits.declared", state, Tick("claims"))._replace(is_fault=True)
        elif tick.does == "declares":
            yield self.step("limits.declare", self.declared(), Tick("claims"))
        else:
            yield self.claim()

    def step(self, action: str, state: State, tick: Tick, event: Event | None = None) -> Step:
        return Step(self.name, action, _with_tick(state, self.number, tick), event)

    def freed(self, found: frozenset[str]) -> State:
        runs = tuple(
            run._replace(gate="") if _may_change(run) and run.gate in found else run for run in self.state.runs
        )
        return _settled(self.state._replace(runs=runs), found)

    def declared(self) -> State:
        state = self.state._replace(stored=self.limit)
        if self.limit != "none" and self.state.stored in ("none", self.limit):
            return state
        runs = tuple(run._replace(gate="") if _may_change(run) else run for run in state.runs)
        behind = {run.gate for run in runs if run.status == "waits"}
        return state._replace(runs=runs, gates=state.gates & behind)

    def claim(self) -> Step:
        state, limit = self.state, self.limit
        runs = [
            run._replace(gate=gate_of(limit, run)) if _may_change(run) and not run.gate else run for run in state.runs
        ]
        entered = {run.gate for run, before in zip(runs, state.runs, strict=True) if run.gate != before.gate}
        state = state._replace(runs=tuple(runs), gates=state.gates | entered)
        chosen, looked_at = self.chosen(state)
        for index in chosen[:1]:
            state = _with_run(state, index, runs[index]._replace(status="runs", owner=limit))
        settled = _settled(state, looked_at)
        if settled._replace(ticks=()) == self.state._replace(ticks=()):
            return self.step("worker.loop.Loop._is_over", state, Tick())
        return self.step("claims.claim", settled, Tick("claims"), Event.CLAIM if chosen else None)

    def chosen(self, state: State) -> tuple[list[int], frozenset[str]]:
        """The runs that a claim may take, and the gates that it has looked behind."""
        limit, waiting = self.limit, [(at, run) for at, run in enumerate(state.runs) if run.status == "waits"]
        free = [at for at, run in waiting if not run.is_locked]
        if limit == "none":
            return [at for at in free if not state.runs[at].gate], frozenset()
        busy = [run.gate for run in state.runs if run.status == "runs" and run.gate]
        if limit == "all":
            room = not busy or self.world.broken == "limit"
            return [at for at in free if state.runs[at].gate == "all" and room], frozenset({"all"} if room else ())
        is_looked_at = self.world.broken == "any gate"
        looked_at = {gate for gate in state.gates if (is_of(limit, gate) or is_looked_at) and gate not in busy}
        first = [next((at for at, run in waiting if run.gate == gate), None) for gate in sorted(looked_at)]
        return [at for at in first if at in free and at is not None], frozenset(looked_at)


def _may_change(run: Run) -> bool:
    return run.status == "waits" and not run.is_locked


def _settled(state: State, gates: frozenset[str]) -> State:
    """The state after ``gates.settle`` or ``strays.settle``: these gates have a turn if a run waits behind them."""
    behind = {run.gate for run in state.runs if run.status == "waits"}
    return state._replace(gates=frozenset(state.gates - gates) | (state.gates & gates & behind))


def _with_run(state: State, index: int, run: Run) -> State:
    return state._replace(runs=(*state.runs[:index], run, *state.runs[index + 1 :]))


def _with_tick(state: State, number: int, tick: Tick) -> State:
    return state._replace(ticks=(*state.ticks[:number], tick, *state.ticks[number + 1 :]))


WORLDS = {
    "one for each customer, then one in all": World(),
    "the same, with two new ticks at once": World(old_ticks=1, new_ticks=2),
    "one for each customer, then none": World(new="none"),
    "one in all, then one for each customer": World(old="all", new="customer"),
    "one for each customer, then one for each region": World(new="region"),
    "none, then one in all": World(old="none"),
}
_SEEN = "P1: every run is claimed at last"
TWINS = {
    # No tick sets right what waits where no claim looks. G1: the old tick goes on after the limits have changed.
    "G1": (World(old_ticks=1, locks=0, broken="strays"), _SEEN),
    # G2: the same, and no old tick goes on, but a row was locked when the limits changed.
    "G2": (World(old="all", new="customer", old_ticks=0, broken="strays"), _SEEN),
    # The idle question does not ask for these runs, so no tick starts.
    "idle": (World(locks=0, broken="idle"), _SEEN),
    # The claim does not count what is at work.
    "limit": (World(old_ticks=0, locks=0, broken="limit"), "limit: no more at work than the code allows"),
}
OWNERS = ("all", "customer", "region")
ALWAYS = {"limit: no more at work than the code allows": lambda state: all(map(_is_within, [state] * 3, OWNERS))}


def _is_within(state: State, limit: str) -> bool:
    """Whether the runs that code with this limit has claimed keep it."""
    gates = [gate_of(limit, run) for run in state.runs if run.owner == limit]
    return len(set(gates)) == len(gates)


def model(world: World) -> Model:
    """The model of this world."""
    # Without a tick of the old code, one has put the runs behind its gates before.
    runs = tuple(
        Run(customer, gate=gate_of(world.old, Run(customer)) if not world.old_ticks else "") for customer in (1, 1, 2)
    )
    start = State(
        runs,
        world.old,
        frozenset(run.gate for run in runs if run.gate),
        (Tick(),) * (world.new_ticks + 1),
        world.old_ticks,
        world.locks,
    )
    at_last = {_SEEN: Goal(lambda state: all(run.status == "ended" for run in state.runs), 9)}
    return Model(start, partial(steps, world), ALWAYS, tell, at_last, _sorted)


def _sorted(state: State) -> State:
    old, *new = state.ticks
    return state._replace(ticks=(old, *sorted(new, key=str)))


def tell(state: State) -> dict[str, object]:
    told: dict[str, object] = {"stored limit": state.stored, "gates": ", ".join(sorted(state.gates)) or "none"}
    for number, run in enumerate(state.runs, 1):
        where = f" behind {run.gate}" if run.gate else ""
        told[f"run {number} of customer {run.customer}"] = f"{run.status}{where}{', locked' * run.is_locked}"
    for number, tick in enumerate(state.ticks):
        told[f"new tick {number}" if number else "old tick"] = tick.does
    return told
