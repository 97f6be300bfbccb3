"""A guarded effect (``ctx.once``) with a standby and a promotion: intent, call, outcome (P5; decisions 34 and 56).

Modelled: one key, and runs that use it, each with some attempts; one that has lost its lease may go on. What the
primary has is its versions that the standby lacks yet, in the order of the server's log, and before them that of the
standby. A transaction makes one version. It is acknowledged when the standby has it, and with it all before it. Where
the watch cuts that wait, the version is visible and perhaps nowhere else. A promotion drops what the standby lacks.

Left out: ``on_uncertain`` other than to raise, outcomes that are kept, own transactions. A tick writes a claim and an
end only when they are acknowledged, and a recovery without that.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from models.explorer import Goal, Model, Step

ACTIONS = {
    "claims.claim": "a tick claims the run for the next attempt",
    "expiries.locked": "a tick ends an attempt whose lease has expired (expiries.recover)",
    "finalize.succeed": "the run ends after its handler has",
    "finalize.leave": "or fails, and is tried again while attempts are left",
    "effects.intend": "Once._decide: the intent, if the key has no row; else what its row says",
    "effects.find": "Once._decide again after a COMMIT without an answer: it finds its own token, and writes a marker",
    "effects.clear": "Once._withdraw and Once._clear: the row goes, because nothing was called or nothing was done",
    "effects.settle": "Once._record and Once._mark_uncertain: what became of the call",
    "effects.once.Once._call": "the function is called; the other side does the effect, or not",
    "is killed": "a child, at any moment",
    "is promoted": "the standby, after the primary has died",
    "has all": "the standby has caught up",
}
EVENTS = frozenset[str]()


class World(NamedTuple):
    """``runs``: of each attempt, the number of its run. ``is_synchronous``: a COMMIT waits for the standby."""

    runs: tuple[int, ...] = (0, 0, 0)
    faults: int = 3
    is_synchronous: bool = True
    broken: str = ""


class Version(NamedTuple):
    """What one server has: of each run, the attempt that holds it, and whether it is over; of the key, its row.

    ``call`` is the attempt that has written the row.
    """

    holders: tuple[int, ...]
    over: tuple[bool, ...]
    effect: str = ""
    call: int = 0

    def with_run(self, run: int, holder: int, *, is_over: bool = False) -> Version:
        holders = (*self.holders[:run], holder, *self.holders[run + 1 :])
        return self._replace(holders=holders, over=(*self.over[:run], is_over, *self.over[run + 1 :]))


class State(NamedTuple):
    """``log``: the versions that the standby lacks. ``attempts`` is what each one is at. ``calls``: effects done."""

    standby: Version
    log: tuple[Version, ...]
    attempts: tuple[str, ...]
    calls: int
    faults: int

    @property
    def primary(self) -> Version:
        return self.log[-1] if self.log else self.standby


AT_WORK = ("begins", "in doubt", "calls", "has called", "has failed", "clears")
ENDS = ("is done", "is refused")


class Turn(NamedTuple):
    """An attempt to which a state is put."""

    world: World
    state: State
    number: int

    @property
    def is_held(self) -> bool:
        return self.number in self.state.primary.holders

    def at(self, does: str, state: State | None = None, *, fault: bool = False) -> State:
        """The state in which this attempt is at something else."""
        state = state or self.state
        attempts = (*state.attempts[: self.number - 1], does, *state.attempts[self.number :])
        return state._replace(attempts=attempts, faults=state.faults - fault)

    def step(self, action: str, after: State, *, fault: bool = False) -> Step:
        return Step(f"attempt {self.number}", action, after, is_fault=fault)

    def commit(self, action: str, version: Version, then: str, without_answer: str) -> Iterator[Step]:
        """A transaction that makes this version: acknowledged; cut while it waits; or not applied at all."""
        state = self.state
        if self.world.is_synchronous:
            yield self.step(action, self.at(then, state._replace(standby=version, log=())))
        else:
            yield self.step(action, self.at(then, state._replace(log=(*state.log, version))))
        if state.faults and self.world.is_synchronous:
            visible = state._replace(log=(*state.log, version))
            yield self.step(action, self.at(without_answer, visible, fault=True), fault=True)
            yield self.step(action, self.at(without_answer, fault=True), fault=True)

    def steps(self) -> Iterator[Step]:
        does = self.state.attempts[self.number - 1]
        if does in AT_WORK:
            yield from getattr(self, does.replace(" ", "_"))()
            if self.state.faults:
                yield self.step("is killed", self.at("killed", fault=True), fault=True)
        elif does in ENDS and self.is_held:
            yield from self.of_its_tick(does)

    # Once, step by step.

    def begins(self, action: str = "effects.intend") -> Iterator[Step]:
        row = self.state.primary
        if self.is_held and not row.effect:
            intent = row._replace(effect="intended", call=self.number)
            if self.world.broken == "call first":
                yield self.step("effects.once.Once._call", self.at("has called", self.called()))
            else:
                yield from self.commit(action, intent, "calls", "in doubt")
        elif row.effect == "applied":
            yield self.step(action, self.at("is done"))
        else:
            # Its lease is lost, or an earlier call is in progress or uncertain.
            yield self.step(action, self.at("is refused"))

    def in_doubt(self) -> Iterator[Step]:
        row = self.state.primary
        is_ours = row.effect == "intended" and row.call == self.number and self.is_held
        if not is_ours:
            yield from self.begins("effects.find")
        elif self.world.broken == "R1":
            yield self.step("effects.find", self.at("calls"))
        else:
            yield from self.commit("effects.find", row, "calls", "in doubt")
        # After half a lease. This COMMIT waits for no standby, and may fail, too.
        yield self.step("effects.clear", self.at("is refused", self.without_row()), fault=True)
        yield self.step("effects.clear", self.at("is refused"), fault=True)

    def calls(self) -> Iterator[Step]:
        action = "effects.once.Once._call"
        yield self.step(action, self.at("has called", self.called()))
        # It raises: after the other side has done it, or before, or it says that nothing was done.
        yield self.step(action, self.at("has failed", self.called()))
        yield self.step(action, self.at("has failed"))
        yield self.step(action, self.at("clears"))

    def has_called(self) -> Iterator[Step]:
        yield from self.settle("applied", "is done", "has called")

    def has_failed(self) -> Iterator[Step]:
        yield from self.settle("uncertain", "is refused", "is refused")

    def settle(self, effect: str, then: str, without_answer: str) -> Iterator[Step]:
        row = self.state.primary
        is_open = row.call == self.number and row.effect in ("intended", "uncertain")
        if is_open or self.world.broken == "call first":
            settled = row._replace(effect=effect, call=self.number)
            yield from self.commit("effects.settle", settled, then, without_answer)
        else:
            yield self.step("effects.settle", self.at(then))

    def clears(self) -> Iterator[Step]:
        # Whether it is answered or not: the handler fails, and what is left of the intent is uncertain.
        yield self.step("effects.clear", self.at("is refused", self.without_row()))
        if self.state.faults:
            yield self.step("effects.clear", self.at("is refused", fault=True), fault=True)

    def of_its_tick(self, does: str) -> Iterator[Step]:
        version = _without(self.world, self.state, self.number, does)
        after = self.at("ended", self.state._replace(standby=version, log=()))
        yield self.step("finalize.succeed" if does == "is done" else "finalize.leave", after)

    # What changes.

    def called(self) -> State:
        return self.state._replace(calls=self.state.calls + 1)

    def without_row(self) -> State:
        row = self.state.primary
        if row.call != self.number or row.effect == "applied":
            return self.state
        return self.state._replace(log=(*self.state.log, row._replace(effect="", call=0)))


def _without(world: World, state: State, number: int, does: str = "") -> Version:
    """The version after the end of an attempt."""
    run = world.runs[number - 1]
    is_last = number == len(world.runs) or world.runs[number] != run
    return state.primary.with_run(run, 0, is_over=does == "is done" or is_last)


def steps(world: World, state: State) -> Iterator[Step]:
    """All that may happen next."""
    now = state.primary
    for number in range(1, len(world.runs) + 1):
        yield from Turn(world, state, number).steps()
    for run, holder in enumerate(now.holders):
        if holder:
            yield from _recover(world, state, holder)
        elif not now.over[run]:
            number = next(at for at, of in enumerate(world.runs) if of == run and not state.attempts[at]) + 1
            claimed = state._replace(standby=now.with_run(run, number), log=())
            yield Step("tick", "claims.claim", Turn(world, state, number).at("begins", claimed), begins_tick=True)
    if state.log:
        yield Step("standby", "has all", state._replace(standby=now, log=()))
        if state.faults:
            yield Step("standby", "is promoted", state._replace(log=(), faults=state.faults - 1), is_fault=True)


def _recover(world: World, state: State, holder: int) -> Iterator[Step]:
    # Nobody renews the lease of one that is dead. That of another one ends while it is cut off or suspended.
    is_alive = state.attempts[holder - 1] in (*AT_WORK, *ENDS)
    version = _without(world, state, holder)
    if state.faults or not is_alive:
        after = state._replace(log=(*state.log, version), faults=state.faults - is_alive)
        yield Step("tick", "expiries.locked", after, is_fault=is_alive)


WORLDS = {
    "a run of three attempts, four faults": World(faults=4),
    "two runs, four faults": World(runs=(0, 0, 1), faults=4),
}
_ONCE = "P5: the effect is done at most once"
TWINS = {
    # Its own intent that it finds again counts, though no standby has it: no marker is written.
    "R1": (World(broken="R1"), _ONCE),
    # The intent is written with the outcome, after the call.
    "call first": (World(broken="call first"), _ONCE),
    # No mistake of ours: what docs/explanation/reliability.md says of an asynchronous promotion.
    "asynchronous": (World(is_synchronous=False), _ONCE),
}
ALWAYS = {
    _ONCE: lambda state: state.calls < 2,
    "P5: what is shown as applied was done": lambda state: state.primary.effect != "applied" or state.calls,
    "P5: what was done has a row, also after a promotion": lambda state: not state.calls or state.standby.effect,
}
AT_LAST = {"P5: each run ends, and nobody waits for an uncertain effect": Goal(lambda s: all(s.primary.over), 3)}


def model(world: World) -> Model:
    """The model of this world. Twins are to show the second call, and not how it comes to be possible."""
    nobody = Version((0,) * (max(world.runs) + 1), (False,) * (max(world.runs) + 1))
    start = State(nobody, (), ("",) * len(world.runs), 0, world.faults)
    is_twin = world.broken or not world.is_synchronous
    return Model(start, partial(steps, world), {_ONCE: ALWAYS[_ONCE]} if is_twin else ALWAYS, tell, AT_LAST)


def tell(state: State) -> dict[str, object]:
    def words(version: Version) -> str:
        holders = ", ".join(f"attempt {each}" for each in version.holders if each) or "nobody"
        row = f"{version.effect} by attempt {version.call}" if version.effect else "no row"
        return f"{row}, lease of {holders}"

    attempts = {f"attempt {number}": does or "not yet" for number, does in enumerate(state.attempts, 1)}
    return {"primary": words(state.primary), "standby": words(state.standby), **attempts, "effects done": state.calls}
