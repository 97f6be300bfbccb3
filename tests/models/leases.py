"""Claim, lease, fence and finalize: one run, and ticks that stall, die, and get no answer to a COMMIT (P1, P2, P6, P7).

Modelled: the row of the run in the database, with what is left of its lease; and of each host its tick, or the one that
was killed there, with the run in its hand. A statement is one step. If its answer is lost, its COMMIT stays under way
with the row locked, and the server applies it later or not at all. Time goes in quarters of a lease, and no tick that
is awake lets the third one pass without stopping its handler. What becomes of a run that has ended is asked of the
real ``lifecycle.decide``.

Left out: several runs in one claim, permits, the backoff (a failed run is due at once), the tenth release in a row, and
two ticks of one host, which are as two hosts here. Cron starts a tick only where there is something for it to do.
"""

from __future__ import annotations

from functools import partial

from jobrunner.lifecycle import FINISHED, Event, Outcome
from models.explorer import Goal, Model
from models.lease_rules import NONE, State, World, is_expired, steps

ACTIONS = {
    "enqueue.insert_one": "the run appears",
    "worker.tick.tick": "cron starts a tick",
    "expiries.expired": "the tick reads which leases have expired",
    "expiries.locked": "the tick ends the attempt, if its lease has still expired (expiries.recover)",
    "expiries.locked_of": "the next tick of a host ends the attempt that a killed one had begun (expiries.recover_of)",
    "claims.claim": "the tick takes the run and charges the attempt",
    "claims.return_unstarted": "the run goes back, uncharged, if it still has the token of the claim",
    "worker.life.Life.give_back": "the run is not begun: it is late, or the tick has to stop",
    "children.inside.attempt.Attempt.run": "a child begins with the handler, unless it is late (begin_before)",
    "holding.renew": "the heartbeat renews the lease, or learns that it is lost or the run is to be cancelled",
    "worker.heartbeat.Heartbeat._fence": "the handler is stopped, because its lease could not be renewed in time",
    "worker.life.Life.end": "the handler has ended in some way",
    "worker.life.Life.leave": "the tick lets go of a result, because its lease has expired",
    "finalize.succeed": "the owner writes a success, if it still holds the lease",
    "finalize.locked": "the owner writes another end, if it still holds the lease (then finalize.leave)",
    "worker.loop.Loop._is_over": "the tick ends, because nothing is left to do",
    "store.changes.one_run.cancel": "a person cancels, or asks for it",
    "store.changes.one_run.discard": "a person gives up on the run",
    "store.changes.one_run.retry": "a person has it tried again",
    "applies what is under way": "the COMMIT of a statement whose answer was lost",
    "drops what is under way": "or its rollback",
    "is killed": "the tick with its children; its page says what had begun",
    "is lost with its page": "the same, and nothing on the host says so",
    "is suspended": "tick and children stand still, as in a virtual machine",
    "goes on": "and go on",
    "a quarter of a lease passes": "a stall of all who could have done something",
}
EVENTS = frozenset(Event) - {Event.EXPIRE}
_ANY = (Outcome.RELEASED, Outcome.DISCARDED, Outcome.INCOMPATIBLE, Outcome.DROPPED, Outcome.SUCCEEDED, Outcome.FAILED)
WORLDS = {
    "three hosts, two faults": World(hosts=3, faults=2),
    "three hosts, three faults, one attempt": World(hosts=3, faults=3, most=1),
    "two hosts, a fault, a person": World(faults=1, people=1, outcomes=_ANY),
    "two hosts, two changes by persons": World(people=2, outcomes=_ANY),
}
_LOST = "P2: who has lost its lease changes nothing and begins nothing"
_ALONE = "P2: two handlers are at work only where the host of one was suspended until its lease was over"
_CHARGED = "P7: an attempt that has begun is charged"
TWINS = {
    # The end of an attempt is written for its run, whoever owns that: the token is not in the guard.
    "finalize": (World(faults=2, broken="finalize"), _LOST),
    # Recovery does not ask again whether the lease has expired.
    "recovery": (World(faults=2, broken="recovery"), _LOST),
    # A child does not look at the clock before it begins a run.
    "begin_before": (World(broken="begin_before"), _LOST),
    # No handler is stopped at three quarters of its lease.
    "fence": (World(broken="fence"), _ALONE),
    # The claim does not charge.
    "charge": (World(broken="charge"), _CHARGED),
    # A child notes in the page that a run begins when it has begun already, so the run of a killed tick is returned.
    "page": (World(faults=1, broken="page"), _CHARGED),
}


def _at_work(state: State) -> int:
    return sum(host.does == "working" and host.tick == "up" for host in state.hosts)


ALWAYS = {
    _LOST: lambda state: state.run is None or not state.run.foul,
    _ALONE: lambda state: _at_work(state) < 2,
    _CHARGED: lambda state: state.run is None or state.run.begun <= state.run.attempts,
    "P7: no attempt beyond the most": lambda state: state.run is None or state.run.attempts <= state.run.most,
}
AT_LAST = {
    "P1: the run ends": Goal(lambda state: state.run is not None and state.run.status in FINISHED, 5),
    # Of each host, because they may begin at the same moment, and all but one find nothing to recover.
    "P6: no run is running beyond its lease and a tick of each host": Goal(
        lambda state: state.run is not None and not is_expired(state.run), 3
    ),
}


def model(world: World) -> Model:
    """The model of this world."""
    start = State(None, (NONE,) * world.hosts, world.faults, world.people)
    return Model(start, partial(steps, world), ALWAYS, tell, AT_LAST, canonical=_sorted)


def _sorted(state: State) -> State:
    return state._replace(hosts=tuple(sorted(state.hosts)))


def tell(state: State) -> dict[str, object]:
    run = state.run
    told: dict[str, object] = {"run": "none"}
    if run is not None:
        words = f"{run.status}, {run.attempts} of {run.most} attempts, {run.left} quarters left"
        parts = [words, run.is_to_cancel and "to be cancelled", run.foul]
        told["run"] = ", ".join(str(each) for each in parts if each)
    for number, host in enumerate(state.hosts, 1):
        lease, underway = host.lease and f"lease {host.lease}, {host.age} old", host.underway and "COMMIT under way"
        told[f"host {number}"] = ", ".join(filter(None, [host.tick, host.does, lease, host.result, underway]))
    return told
