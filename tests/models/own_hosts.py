"""A schedule whose slots get a run on every host: two hosts, ticks of the release before, a clock (P3; decision 84).

Modelled: each host gets a definition of its own with its first tick, expands it, and claims the run: within its own
transaction it makes the run one of any host. Ticks of the release before work on both hosts: they expand and claim what
their views show them, and recover what was at work on a host that was killed.

Left out: how many slots get a run, which ``slots.py`` has; leases, which ``leases.py`` has; and limits.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from jobrunner.lifecycle import Event
from models.explorer import Goal, Model, Step

ACTIONS = {
    "host_schedules.add": "a tick reports what its host can run, and gives it its definition, with slots from now on",
    "expansion.lock_of_host": "a tick of the host makes the run of the last slot",
    "expansion.lock": "only in a twin: a tick of the release before does, on any host",
    "own_runs.open": "the claim of the host makes the run one of any host, in its transaction",
    "own_runs.close": "the claim is committed: the run is at work, and again one of this host",
    "claims.claim": "only in a twin: a tick of the release before claims a run that it sees",
    "finalize.succeed": "the run ends",
    "expiries.locked_of": "a tick of either release, on any host, ends an attempt whose lease is over",
    "is killed": "a tick in its transaction, or with the run at work",
    "a slot passes": "on the clock of the database",
}
ONLY_IN_TWINS = {"expansion.lock", "claims.claim"}
EVENTS = frozenset({Event.ENQUEUE, Event.CLAIM, Event.SUCCEED, Event.FAIL})
SLOTS = 2


class World(NamedTuple):
    """``faults`` is how many ticks may be killed. ``broken`` names a mistake."""

    hosts: int = 2
    faults: int = 2
    broken: str = ""


class Run(NamedTuple):
    """The run of the last slot of a host. ``at`` is the host that has it at work. ``is_bound``: it has an only_host.

    ``is_alive``: its owner works. ``elsewhere``: another host has begun it.
    """

    slot: int = 0
    status: str = "none"
    at: int = -1
    is_bound: bool = True
    is_alive: bool = False
    elsewhere: bool = False


class Host(NamedTuple):
    """``watermark`` None: it has no definition yet. ``claims``: its claim has opened its run, and is not committed."""

    watermark: int | None = None
    run: Run = Run()
    claims: bool = False


class State(NamedTuple):
    now: int
    hosts: tuple[Host, ...]
    faults: int


def steps(world: World, state: State) -> Iterator[Step]:
    """All that may happen next."""
    for number, host in enumerate(state.hosts):
        yield from _of_host(world, state, number, host)
        yield from _of_older(world, state, number, host)
        yield from _of_owner(world, state, number, host)
    if state.now < SLOTS and not any(host.claims for host in state.hosts):
        yield Step("clock", "a slot passes", state._replace(now=state.now + 1), is_fault=True)


def _of_host(world: World, state: State, number: int, host: Host) -> Iterator[Step]:
    name, run = f"tick of host {number + 1}", host.run
    if host.watermark is None:
        begun = host._replace(watermark=state.now)
        yield Step(name, "host_schedules.add", _put(state, number, begun), begins_tick=True)
    elif host.watermark < state.now and run.status in ("none", "ended"):
        made = host._replace(watermark=state.now, run=Run(state.now, "waiting"))
        yield Step(name, "expansion.lock_of_host", _put(state, number, made), Event.ENQUEUE, begins_tick=True)
    if host.claims:
        yield Step(name, "own_runs.close", _begun(state, number, number), Event.CLAIM)
        closed = _put(state, number, host._replace(claims=False))
        if state.faults and world.broken != "two transactions":
            yield Step(name, "is killed", closed._replace(faults=state.faults - 1), is_fault=True)
    elif run.status == "waiting":
        opened = host._replace(claims=True)
        yield Step(name, "own_runs.open", _put(state, number, opened), begins_tick=True)


def _of_older(world: World, state: State, number: int, host: Host) -> Iterator[Step]:
    """Ticks of the release before, on the other host."""
    other, run = (number + 1) % world.hosts, host.run
    name = f"older tick of host {other + 1}"
    is_due = host.watermark is not None and host.watermark < state.now and run.status in ("none", "ended")
    if is_due and world.broken == "one view":
        made = host._replace(watermark=state.now, run=Run(state.now, "waiting", is_bound=False))
        yield Step(name, "expansion.lock", _put(state, number, made), Event.ENQUEUE, begins_tick=True)
    is_seen = not run.is_bound or (host.claims and world.broken == "two transactions")
    if run.status == "waiting" and is_seen:
        yield Step(name, "claims.claim", _begun(state, number, other), Event.CLAIM)


def _of_owner(world: World, state: State, number: int, host: Host) -> Iterator[Step]:
    run, put = host.run, partial(_put, state, number)
    if run.status != "running":
        return
    if not run.is_alive:
        # What an older program writes at the end of an attempt clears the gate, and knows of no only_host.
        is_bound = run.is_bound and world.broken != "gate"
        failed = run._replace(status="waiting", at=-1, is_bound=is_bound)
        after = put(host._replace(run=failed))
        yield Step("a tick of any release", "expiries.locked_of", after, Event.FAIL, begins_tick=True)
        return
    ended = run._replace(status="ended", at=-1, is_alive=False)
    yield Step(f"run of host {number + 1}", "finalize.succeed", put(host._replace(run=ended)), Event.SUCCEED)
    if state.faults:
        killed = put(host._replace(run=run._replace(is_alive=False)))._replace(faults=state.faults - 1)
        yield Step(f"host {run.at + 1}", "is killed", killed, is_fault=True)


def _begun(state: State, number: int, by: int) -> State:
    host = state.hosts[number]
    run = host.run._replace(status="running", at=by, is_alive=True)
    run = run._replace(elsewhere=run.elsewhere or by != number)
    return _put(state, number, host._replace(run=run, claims=False))


def _put(state: State, number: int, host: Host) -> State:
    return state._replace(hosts=(*state.hosts[:number], host, *state.hosts[number + 1 :]))


_OWN = "P3: no other host begins the run of a host"
WORLDS = {"two hosts": World()}
TWINS = {
    # That a run is for one host stands in its gate, which each end of an attempt clears.
    "gate": (World(broken="gate"), _OWN),
    # The run is one of any host in a transaction of its own, before the claim.
    "two transactions": (World(broken="two transactions"), _OWN),
    # Older ticks find the definitions of hosts in the view of those that are due.
    "one view": (World(broken="one view"), _OWN),
}


def model(world: World) -> Model:
    """The model of this world."""
    always = {_OWN: lambda state: not any(host.run.elsewhere for host in state.hosts)}
    at_last = {"P3: the last slot has its run on each host": Goal(partial(_is_done), 8)}
    start = State(0, (Host(),) * world.hosts, world.faults)
    return Model(start, partial(steps, world), always, tell, at_last)


def _is_done(state: State) -> bool:
    return all(
        host.watermark == state.now and host.run.status in ("none", "ended") and not host.claims for host in state.hosts
    )


def tell(state: State) -> dict[str, object]:
    told: dict[str, object] = {"now": f"after slot {state.now}"}
    for number, host in enumerate(state.hosts, 1):
        run = host.run
        at_work = f" on host {run.at + 1}" if run.status == "running" else ""
        words = ["no definition" if host.watermark is None else f"expanded until {host.watermark}"]
        words.append(f"its run of slot {run.slot} is {run.status}{at_work}" if run.slot else "no run")
        words += ["for this host"] * run.is_bound + ["opened"] * host.claims
        told[f"host {number}"] = ", ".join(words)
    return told
