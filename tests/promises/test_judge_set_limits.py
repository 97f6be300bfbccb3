"""What ``verify`` says of limits that operators have set, and what it must not say."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from harness import Database
from harness.damages import limits_kept
from harness.judge import breaches
from harness.scenes import LIMITS, PERSON, SUCCEEDED, Scene
from jobrunner.model import Limits, Policy, TickKind
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.queue import declared_limits, set_limits
from jobrunner.store.queue.ticks import hosts
from jobrunner.store.queue.ticks.hosts import HostReport

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


@pytest.fixture
def scene(database: Database, store: Store) -> Scene:
    """All hosts have reported for three hours what they have, and no type has a limit but the one of the scenes."""
    made = Scene(database, store)
    report(made, Policy("mail"))
    return made


def report(scene: Scene, policy: Policy) -> None:
    made = HostReport(TickKind("here", "", ""), (policy,), {"concurrency": 9}, "here", "b")
    scene.store.write(partial(declared_limits.declare, policy=policy))
    scene.store.write(partial(hosts.write, report=made))
    scene.set("hosts", "host = 'here'", reported_at=scene.database.now() - 3 * HOUR)


def limit(scene: Scene, most: int, ago: timedelta, ends_in: timedelta | None = None) -> None:
    """It was set so long ago."""
    wanted = set_limits.Wanted("mail", most, None)
    scene.store.write(partial(set_limits.set_limit, wanted=wanted, actor=PERSON))
    at = scene.database.now() - ago
    ends_at = None if ends_in is None else at + ends_in
    scene.set("events", "action = 'limit type'", at=at)
    scene.set("set_limits", "job_type = 'mail'", set_at=at, ends_at=ends_at)


def at_work_together(scene: Scene, count: int, since: timedelta) -> None:
    """So many began so long ago, and have ended now."""
    for _ in range(count):
        run_id = scene.run(SUCCEEDED, job_type="mail")
        scene.set("attempts", f"run_id = {run_id}", started_at=scene.database.now() - since)


def kept(store: Store) -> list[Any]:
    return [each for each in breaches(store) if "were at work" in each]


def test_more_at_work_than_was_set_is_named(scene: Scene, store: Store) -> None:
    limit(scene, 2, 2 * HOUR)
    at_work_together(scene, 2, HOUR)
    assert kept(store) == []
    at_work_together(scene, 1, 50 * MINUTE)
    assert len(kept(store)) == 1


def test_one_that_began_too_early_beside_those_from_before_is_named(scene: Scene, store: Store) -> None:
    """Those from before it was set are no breach, but they count."""
    at_work_together(scene, 3, 2 * HOUR)
    limit(scene, 3, HOUR)
    assert kept(store) == []
    at_work_together(scene, 1, 50 * MINUTE)
    assert len(kept(store)) == 1


def test_more_than_the_code_allows_is_no_breach_where_more_was_set(scene: Scene, store: Store) -> None:
    report(scene, Policy("mail", limits=Limits(max_running=1)))
    at_work_together(scene, 3, HOUR)
    assert len(kept(store)) == 1
    limit(scene, 3, 2 * HOUR)
    assert kept(store) == []
    # It has ended since.
    scene.set("set_limits", "job_type = 'mail'", ends_at=scene.database.now() - 30 * MINUTE)
    assert kept(store) == []
    scene.database.execute("DELETE FROM job_set_limits")
    detail = {"name": "mail", "max_running": 3, "ends_at": (scene.database.now() - 30 * MINUTE).isoformat()}
    scene.set("events", "action = 'limit type'", detail=detail)
    assert kept(store) == []


def test_a_host_of_an_older_release_explains_more_at_work(scene: Scene, store: Store) -> None:
    limit(scene, 2, 2 * HOUR)
    at_work_together(scene, 3, HOUR)
    assert len(kept(store)) == 1
    scene.tick(scene.database.now() - 30 * MINUTE)
    scene.set("ticks", "1 = 1", version="0.1.0")
    assert kept(store) == []


def test_a_limit_of_the_code_is_judged_as_ever_beside_one_that_is_set(scene: Scene, store: Store) -> None:
    limit(scene, 2, 2 * HOUR)
    assert limits_kept(scene) == "limited"
    assert LIMITS["limited"]
    assert [each for each in breaches(store) if "limited" in each]
