"""What a history begins with, and what people do in it: made from the seed before the first step."""

from __future__ import annotations

import json
import random
from typing import Any, NamedTuple

from jobrunner import backoff
from jobrunner.model import Limits, Overlap, Policy
from simulator.hosts import Version
from simulator.world import seconds

ENDS = ("ok", "ok", "ok", "ok", "fail", "fail", "discard", "snooze", "crash", "stubborn")
MORE = (None, None, None, "effect", "effect", "own")
PERIODS = 5
"""So many times cron starts a tick on each host while things fail."""


class Enqueue(NamedTuple):
    """Somebody enqueues a run. ``parents`` counts back from the newest run."""

    at: float
    job_type: str
    does: list[list[Any]]
    key: str | None
    priority: int
    delay: float
    parents: tuple[int, ...]
    commits: bool
    beside: int
    """So many more runs of the same kind."""


class Change(NamedTuple):
    """Somebody changes a run: ``pick`` counts back from the newest one."""

    at: float
    what: str
    pick: int


class Every(NamedTuple):
    """Somebody adds a schedule."""

    at: float
    name: str
    expression: str
    overlap: Overlap
    does: list[list[Any]]


class Limit(NamedTuple):
    """Somebody limits a type at run time, for so many seconds, or takes it back: ``most`` None."""

    at: float
    job_type: str
    most: int | None
    lasts: float | None


Action = Enqueue | Change | Every | Limit


class HostPlan(NamedTuple):
    """A host: how many runs at once, whether its ticks linger, and when its cron begins."""

    concurrency: int
    linger: bool
    first_at: float
    strict: bool


class Scenario(NamedTuple):
    """All of it. ``lease`` in seconds; a tick is started each ``lease``. ``is_slow``: claims seem to take long."""

    lease: float
    hosts: tuple[HostPlan, ...]
    versions: tuple[Version, ...]
    actions: tuple[Action, ...]
    is_slow: bool = False


def make(seed: int) -> Scenario:
    """The scenario of this seed."""
    chance = random.Random(f"scenario {seed}")
    lease = chance.choice((6.0, 20.0, 60.0))
    hosts = tuple(
        HostPlan(
            concurrency=chance.choice((1, 2, 3)),
            linger=chance.random() < 0.3,
            first_at=chance.random() * lease,
            strict=chance.random() < 0.2,
        )
        for _ in range(chance.choice((1, 2, 2, 2, 3)))
    )
    actions = [_action(chance, lease) for _ in range(chance.randrange(4, 20))]
    if chance.random() < 0.4:
        actions.append(_schedule(chance, lease))
    actions += _limits(random.Random(f"set limits {seed}"), lease)
    is_slow = random.Random(f"slow claims {seed}").random() < 0.4
    return Scenario(lease, hosts, _versions(chance, lease), tuple(sorted(actions, key=lambda each: each.at)), is_slow)


def _versions(chance: random.Random, lease: float) -> tuple[Version, ...]:
    wait = backoff.fixed(seconds(lease / 8), jitter=0.0)
    base = Policy("plain", max_attempts=3, timeout=seconds(lease * 6), backoff=wait, kill_after=seconds(lease / 12))
    plain = base._replace(max_attempts=chance.choice((1, 3, 5)))
    short = base._replace(job_type="short", timeout=seconds(lease / 6))
    limited = base._replace(job_type="limited", limits=Limits(max_running=1))
    keyed = base._replace(job_type="keyed", limits=Limits(concurrency_key=("k",), max_running_per_key=1))
    first = Version("one", (plain, short, limited, keyed))
    # After a deploy two types have other options, and one is gone.
    second = Version("two", (plain._replace(max_attempts=4), limited, keyed._replace(max_attempts=2)))
    return first, second


def _behaviour(chance: random.Random, lease: float) -> list[Any]:
    took = chance.choice((0.0, 0.0, 0.02, 0.3, 1.2, 2.0, 4.0)) * lease * (0.5 + chance.random() / 2)
    return [round(took, 3), chance.choice(ENDS), chance.choice(MORE)]


def _behaviours(chance: random.Random, lease: float) -> list[list[Any]]:
    does = [_behaviour(chance, lease) for _ in range(chance.choice((1, 1, 2, 3)))]
    # So that a run ends some time.
    if does[-1][1] == "snooze":
        does[-1][1] = "ok"
    return does


def _action(chance: random.Random, lease: float) -> Action:
    at = chance.random() * lease * (PERIODS - 1)
    if chance.random() < 0.25:
        return Change(at, chance.choice(("cancel", "cancel", "retry")), chance.randrange(4))
    return Enqueue(
        at,
        chance.choice(("plain", "plain", "short", "limited", "keyed")),
        _behaviours(chance, lease),
        chance.choice((None, None, "a", "b")),
        chance.choice((0, 0, 0, 5)),
        chance.choice((0.0, 0.0, lease / 2)),
        tuple(sorted({chance.randrange(3) for _ in range(chance.choice((0, 0, 0, 1, 2)))})),
        chance.random() < 0.9,
        chance.choice((0, 0, 0, 0, 1, 2, 6)),
    )


def _schedule(chance: random.Random, lease: float) -> Every:
    overlaps: tuple[Overlap, ...] = ("skip", "queue", "allow", "replace")
    overlap = chance.choice(overlaps)
    every = f"every {max(1, round(lease * chance.choice((0.5, 1.0))))}s"
    return Every(chance.random() * lease, "often", every, overlap, _behaviours(chance, lease))


def _limits(chance: random.Random, lease: float) -> list[Limit]:
    if chance.random() < 0.75:
        return []
    most, lasts = (1, 1, 2, None), (None, lease, 2 * lease)
    return [
        Limit(chance.random() * lease * (PERIODS - 1), "plain", chance.choice(most), chance.choice(lasts))
        for _ in range(chance.choice((1, 2, 3)))
    ]


def payload(does: list[list[Any]]) -> str:
    """The payload of a run that does this."""
    return json.dumps({"does": does, "k": 1})
