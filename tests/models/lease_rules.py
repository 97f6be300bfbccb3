"""The rules of ``leases``: what a host, a person, the server and time may do next."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from typing import NamedTuple

from jobrunner.lifecycle import AttemptResult, Event, Outcome, RunState, Status, allowed, decide, target
from models.explorer import Step

LEASE, FENCE = 4, 3
"""Quarters: a lease, and after how many without a renewal its handler is stopped and none is begun."""
PEOPLE = {Event.CANCEL: "cancel", Event.DISCARD: "discard", Event.RETRY: "retry", Event.FORCE_RETRY: "retry"}


class World(NamedTuple):
    """What may happen, and with what mistake: ``broken`` names one that the real code does not make."""

    hosts: int = 2
    faults: int = 0
    people: int = 0
    most: int = 2
    outcomes: tuple[Outcome, ...] = (Outcome.SUCCEEDED, Outcome.FAILED)
    broken: str = ""


class Run(NamedTuple):
    """The row. ``left`` is of its lease. For the promises: how many charged attempts have ``begun``, and a ``foul``."""

    status: Status
    most: int
    attempts: int = 0
    left: int = 0
    is_to_cancel: bool = False
    begun: int = 0
    foul: str = ""


class Host(NamedTuple):
    """A host and its tick: none, up, asleep (suspended), or woken after its lease was over.

    ``lease`` is held or lost, ``age`` is since its renewal was sent. ``underway`` is a COMMIT without an answer.
    """

    tick: str = "none"
    does: str = "nothing"
    lease: str = ""
    age: int = 0
    result: str = ""
    underway: str = ""


class State(NamedTuple):
    """``faults`` and ``people``: how many more there may be. ``run`` None: it is not enqueued yet."""

    run: Run | None
    hosts: tuple[Host, ...]
    faults: int
    people: int


NONE, UP = Host(), Host("up")
NEVER_BEGUN = ("unanswered", "waiting", "returning")


@cache
def ended(run: Run, outcome: Outcome) -> tuple[Run, Event]:
    """The row after ``finalize.leave``."""
    state = RunState(run.attempts, run.most, run.is_to_cancel, releases=0, lease_expiries=0)
    decision = decide(state, AttemptResult(outcome), deploy_grace=timedelta(minutes=10))
    begun = run.begun - (decision.attempts < run.attempts)
    return Run(decision.status, run.most, decision.attempts, begun=begun, foul=run.foul), decision.event


@cache
def returned(run: Run) -> tuple[Run, Event]:
    event = Event.CANCEL if run.is_to_cancel else Event.RETURN
    return Run(target(event, run.status), run.most, run.attempts - 1, begun=run.begun, foul=run.foul), event


def is_expired(run: Run) -> bool:
    return run.status is Status.RUNNING and run.left == 0


class Turn(NamedTuple):
    """A host to whose rules a state is put."""

    world: World
    state: State
    run: Run
    number: int
    host: Host
    is_locked: bool

    def step(
        self, action: str, host: Host, run: Run | None = None, event: Event | None = None, *, fault: bool = False
    ) -> Step:
        """What this host does; afterwards it is ``host``. If the run left ``running`` nobody has the lease."""
        hosts = [*self.state.hosts]
        if run is not None and run.status is not Status.RUNNING:
            hosts = [_lost(each) for each in hosts]
        hosts[self.number] = host
        uses_up = fault and action != "worker.life.Life.end"
        after = State(run or self.run, tuple(hosts), self.state.faults - uses_up, self.state.people)
        begins = self.host.tick == "none" and host.tick == "up"
        return Step(f"host {self.number + 1}", action, after, event, fault, begins)

    def steps(self) -> Iterator[Step]:
        host = self.host
        if host.underway:
            yield from self.of_server()
        if host.tick == "none":
            yield from self.of_cron()
        elif host.tick == "asleep":
            yield self.step("goes on", host._replace(tick="woken" if host.age == LEASE else "up"))
        else:
            yield from self.faults()
            yield from getattr(self, host.does)()

    def of_server(self) -> Iterator[Step]:
        host = self.host._replace(underway="")
        yield self.step("drops what is under way", host)._replace(actor="server")
        if self.host.underway == "claim":
            run = self.claimed()._replace(left=max(0, LEASE - host.age))
            step = self.step("applies what is under way", host._replace(lease="held"), run, Event.CLAIM)
        else:
            step = self.step("applies what is under way", host._replace(lease="lost"), *self.end())
        yield step._replace(actor="server")

    def of_cron(self) -> Iterator[Step]:
        run, host = self.run, self.host
        if self.is_locked:
            return
        if host.lease == "held":
            # The tick before it is proven dead. By its page it had not begun the run, or it had.
            if host.does in NEVER_BEGUN or self.world.broken == "page":
                yield self.step("claims.return_unstarted", Host("up", "fresh"), *returned(run))
            else:
                yield self.step("expiries.locked_of", Host("up", "fresh"), *ended(run, Outcome.LEASE_EXPIRED))
        elif allowed(Event.CLAIM, run.status) or is_expired(run):
            yield self.step("worker.tick.tick", Host("up", "fresh"))

    def faults(self) -> Iterator[Step]:
        host = self.host
        if not self.state.faults:
            return
        is_left = host.lease == "held" or host.underway
        yield self.step("is killed", host._replace(tick="none") if is_left else NONE, fault=True)
        if is_left and not host.underway:
            yield self.step("is lost with its page", NONE, fault=True)
        if host.does != "nothing":
            yield self.step("is suspended", host._replace(tick="asleep"), fault=True)

    # What a tick does, by what it is at.

    def fresh(self) -> Iterator[Step]:
        yield self.step("expiries.expired", Host("up", "recovering") if is_expired(self.run) else UP)

    def recovering(self) -> Iterator[Step]:
        is_ended = is_expired(self.run) or (self.world.broken == "recovery" and self.run.status is Status.RUNNING)
        changed = ended(self.run, Outcome.LEASE_EXPIRED) if is_ended and not self.is_locked else ()
        yield self.step("expiries.locked", UP, *changed)

    def nothing(self) -> Iterator[Step]:
        if self.is_locked or not allowed(Event.CLAIM, self.run.status):
            yield self.step("worker.loop.Loop._is_over", NONE)
            return
        yield self.step("claims.claim", Host("up", "waiting", "held"), self.claimed(), Event.CLAIM)
        if self.state.faults:
            yield self.step("claims.claim", Host("up", "unanswered", underway="claim"), fault=True)

    def unanswered(self) -> Iterator[Step]:
        """Undo what has the token, whether the claim was answered or not. It waits for the lock on the permits."""
        if self.is_locked:
            return
        changed = returned(self.run) if self.host.lease == "held" else ()
        yield self.step("claims.return_unstarted", UP, *changed)
        if changed and self.state.faults:
            again = self.host._replace(does="unanswered", lease="lost")
            yield self.step("claims.return_unstarted", again, *changed, fault=True)

    def returning(self) -> Iterator[Step]:
        """As where the claim was not answered."""
        return self.unanswered()

    def waiting(self) -> Iterator[Step]:
        host, run = self.host, self.run
        if host.age < FENCE or self.world.broken == "begin_before":
            counted = run._replace(begun=run.begun + 1) if host.lease == "held" else run._replace(foul="begun late")
            yield self.step("children.inside.attempt.Attempt.run", host._replace(does="working"), counted)
        back = self.step("worker.life.Life.give_back", host._replace(does="returning"))
        yield back._replace(is_fault=host.age < FENCE)

    def working(self) -> Iterator[Step]:
        host = self.host
        if host.age != FENCE:
            for outcome in self.world.outcomes:
                # The others may come for ever, one after the other.
                fault = outcome not in (Outcome.SUCCEEDED, Outcome.FAILED)
                yield self.step("worker.life.Life.end", host._replace(does="ended", result=outcome), fault=fault)
        if host.age >= FENCE:
            stopped = host._replace(does="ended", result=Outcome.RELEASED)
            yield self.step("worker.heartbeat.Heartbeat._fence", stopped)._replace(actor="watchdog")
        if host.lease != "held":
            yield self.step("holding.renew", UP)
        elif host.age and not self.is_locked:
            renewed, young = self.run._replace(left=LEASE), host._replace(tick="up", age=0)
            if renewed.is_to_cancel:
                young = young._replace(does="ended", result=Outcome.CANCELLED)
            yield self.step("holding.renew", young, renewed)
            if self.state.faults:
                yield self.step("holding.renew", host, renewed, fault=True)

    def ended(self) -> Iterator[Step]:
        host = self.host
        action = "finalize.succeed" if host.result == Outcome.SUCCEEDED else "finalize.locked"
        if host.age == LEASE:
            yield self.step("worker.life.Life.leave", UP)
        if self.is_locked:
            return
        is_held = host.lease == "held" or (self.world.broken == "finalize" and self.run.status is Status.RUNNING)
        # Not held: it is lost, or an earlier write was applied. The row of the attempt says which.
        yield self.step(action, UP, *(self.end() if is_held else ()))
        if is_held and self.state.faults:
            yield self.step(action, host._replace(underway="end"), fault=True)

    # What a write changes.

    def claimed(self) -> Run:
        attempts = self.run.attempts + (self.world.broken != "charge")
        return self.run._replace(status=target(Event.CLAIM, self.run.status), attempts=attempts, left=LEASE)

    def end(self) -> tuple[Run, Event]:
        run, event = ended(self.run, Outcome(self.host.result))
        return (run if self.host.lease == "held" else run._replace(foul="ended by one who had lost it")), event


def _lost(host: Host) -> Host:
    if host.lease != "held":
        return host
    return NONE if host.tick == "none" and not host.underway else host._replace(lease="lost")


def steps(world: World, state: State) -> Iterator[Step]:
    """All that may happen next."""
    run = state.run
    if run is None:
        new = Run(target(Event.ENQUEUE, None), world.most)
        yield Step("application", "enqueue.insert_one", state._replace(run=new), Event.ENQUEUE)
        return
    is_locked, calm = any(host.underway for host in state.hosts), False
    for number, host in enumerate(state.hosts):
        for step in Turn(world, state, run, number, host, is_locked).steps():
            calm |= not step.is_fault
            yield step
    if state.people and not is_locked:
        yield from _of_people(state, run)
    is_due = any(each.tick == "up" and each.does == "working" and each.age == FENCE for each in state.hosts)
    is_timed = run.status is Status.RUNNING or any(host.lease for host in state.hosts)
    if is_timed and (not is_due or world.broken == "fence"):
        older = tuple(
            each._replace(age=min(LEASE, each.age + 1)) if each.lease or each.underway else each for each in state.hosts
        )
        after = state._replace(run=run._replace(left=max(0, run.left - 1)), hosts=older)
        yield Step("clock", "a quarter of a lease passes", after, is_fault=calm)


def _of_people(state: State, run: Run) -> Iterator[Step]:
    less = state._replace(people=state.people - 1)
    if run.status is Status.RUNNING:
        asked = less._replace(run=run._replace(is_to_cancel=True))
        yield Step("person", "store.changes.one_run.cancel", asked, is_fault=True)
        return
    for event, name in PEOPLE.items():
        if allowed(event, run.status):
            most = max(run.most, run.attempts + 1) if name == "retry" else run.most
            changed = less._replace(run=run._replace(status=target(event, run.status), most=most))
            yield Step("person", f"store.changes.one_run.{name}", changed, event, is_fault=True)
