"""The rules of ``effects``: what an attempt, a tick, the standby and a fault may do next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from models.explorer import Step


class World(NamedTuple):
    """``runs``: of each attempt, the number of its run. ``is_synchronous``: a COMMIT waits for the standby.

    ``notes``: the hosts note their calls.
    """

    runs: tuple[int, ...] = (0, 0, 0)
    faults: int = 3
    is_synchronous: bool = True
    notes: bool = False
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
    """``log``: the versions that the standby lacks. ``attempts`` is what each one is at. ``calls``: effects done.

    ``notes`` is what the host of each attempt has noted of its call. ``pause``: since a promotion no effect begins.
    """

    standby: Version
    log: tuple[Version, ...]
    attempts: tuple[str, ...]
    calls: int
    faults: int
    notes: tuple[str, ...] = ()
    pause: str = ""

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

    def noted(self, note: str, state: State) -> State:
        """The state in which the host has noted this of its call."""
        if not self.world.notes:
            return state
        return state._replace(notes=(*state.notes[: self.number - 1], note, *state.notes[self.number :]))

    def step(self, action: str, after: State, *, fault: bool = False) -> Step:
        return Step(f"attempt {self.number}", action, after, is_fault=fault)

    def commit(self, action: str, version: Version, then: str, without_answer: str) -> Iterator[Step]:
        """A transaction that makes this version: acknowledged; cut while it waits; or not applied at all."""
        state = self.state
        if self.world.is_synchronous:
            yield self.step(action, self.at(then, state._replace(standby=version, log=())))
        else:
            committed = state._replace(log=(*state.log, version))
            after = self.at(then, committed)
            if then == "calls" and self.world.broken != "note late":
                # The note is on the disk before the call.
                after = self.noted("called", after)
            yield self.step(action, after)
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
        if self.is_held and row.effect != "applied" and self.state.pause and self.world.broken != "no pause":
            # Its run is snoozed.
            return
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
        noted = self._replace(state=self.noted("applied", self.state))
        yield from noted.settle("applied", "is done", "has called")

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
        row, state = self.state.primary, self.noted("", self.state)
        if row.call != self.number or row.effect == "applied":
            return state
        return state._replace(log=(*state.log, row._replace(effect="", call=0)))


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
    if state.pause:
        yield from _after_promotion(world, state)
    if state.log:
        yield Step("standby", "has all", state._replace(standby=now, log=()))
        if state.faults:
            pause = "begun" if world.notes else ""
            promoted = state._replace(log=(), faults=state.faults - 1, pause=pause)
            yield Step("standby", "is promoted", promoted, is_fault=True)


def _after_promotion(world: World, state: State) -> Iterator[Step]:
    row = state.primary
    # Of several notes the one that comes first wins. It is of the last call, because each needs a free key.
    for number, note in enumerate(state.notes, 1):
        if note and (not row.effect or (row.call == number and note == "applied" != row.effect)):
            effect = "applied" if note == "applied" else "intended"
            version = row._replace(effect=effect, call=number)
            yield Step("tick", "effects.put_back", state._replace(log=(*state.log, version)))
            if world.broken != "host away":
                return
    yield Step("tick", "ticks.note_server", state._replace(pause=""))


def _recover(world: World, state: State, holder: int) -> Iterator[Step]:
    # Nobody renews the lease of one that is dead. That of another one ends while it is cut off or suspended.
    is_alive = state.attempts[holder - 1] in (*AT_WORK, *ENDS)
    version = _without(world, state, holder)
    if state.faults or not is_alive:
        after = state._replace(log=(*state.log, version), faults=state.faults - is_alive)
        yield Step("tick", "expiries.locked", after, is_fault=is_alive)
