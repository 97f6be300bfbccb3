"""For each promise a damage that breaks it alone. Each function returns the subject that must be named."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from harness.scenes import FAILED, HOUR, LIMITS, PERSON, SUCCEEDED, Scene
from harness.tallying import count_all
from jobrunner.model import Limits, Policy, TickKind
from jobrunner.store.changes import archive, one_run, settlement
from jobrunner.store.queue import declared_limits, set_limits
from jobrunner.store.queue.ticks import hosts
from jobrunner.store.queue.ticks.hosts import HostReport


def one_owner(scene: Scene) -> object:
    run_id = scene.run(FAILED, FAILED)
    scene.set("attempts", f"run_id = {run_id} AND sequence = 2", started_at=scene.database.now() - HOUR)
    return run_id


def own_host_only(scene: Scene) -> object:
    run_id = scene.run(FAILED, FAILED)
    scene.set("runs", f"id = {run_id}", only_host="elsewhere")
    return run_id


def attempts_recorded(scene: Scene) -> object:
    run_id = scene.run(FAILED, FAILED)
    scene.database.execute("DELETE FROM job_attempts WHERE run_id = ? AND sequence = 2", [run_id])
    return run_id


def attempts_bounded(scene: Scene) -> object:
    run_id = scene.run(FAILED, FAILED)
    scene.set("runs", f"id = {run_id}", max_attempts=1)
    return run_id


def attempts_used(scene: Scene) -> object:
    run_id = scene.run(FAILED, max_attempts=1)
    scene.set("runs", f"id = {run_id}", max_attempts=3)
    return run_id


def begun_in_time(scene: Scene) -> object:
    run_id = scene.run(SUCCEEDED, start_deadline_at=timedelta(minutes=10))
    scene.set("runs", f"id = {run_id}", start_deadline_at=scene.database.now() - HOUR)
    return run_id


def leases_end(scene: Scene) -> object:
    run_id = scene.claim(scene.enqueue()).run_id
    scene.set("runs", f"id = {run_id}", locked_until=scene.database.now() - HOUR)
    return run_id


def moves_allowed(scene: Scene) -> object:
    run_id = scene.run(FAILED)
    scene.set("attempts", f"run_id = {run_id}", status="queued")
    return run_id


def ends_explained(scene: Scene) -> object:
    run_id = scene.run(FAILED, max_attempts=1)
    scene.set("runs", f"id = {run_id}", status="cancelled")
    return run_id


def changes_recorded(scene: Scene) -> object:
    run_id = scene.enqueue()
    scene.change(one_run.cancel, run_id)
    scene.database.execute("DELETE FROM job_events WHERE run_id = ?", [run_id])
    return run_id


def one_run_per_key(scene: Scene) -> object:
    first = scene.enqueue(idempotency_key="twice")
    scene.database.execute("DELETE FROM job_keys WHERE run_id = ?", [first])
    scene.enqueue(idempotency_key="twice")
    return first


def parents_first(scene: Scene) -> object:
    run_id = scene.child()
    scene.set("runs", f"id = {run_id}", gate="")
    scene.end(scene.claim(run_id, "child"))
    return run_id


def gates_exist(scene: Scene) -> object:
    run_id, at = scene.enqueue(), scene.database.now() - HOUR
    scene.set("runs", f"id = {run_id}", gate="after", run_at=at, created_at=at, updated_at=at)
    return run_id


def one_at_a_time(scene: Scene) -> object:
    first, second = (scene.run(SUCCEEDED, concurrency_key="alone") for _ in range(2))
    for run_id in (first, second):
        scene.set("attempts", f"run_id = {run_id}", started_at=scene.database.now() - HOUR)
    return second


def one_run_per_slot(scene: Scene) -> object:
    slot = _last_hour(scene)
    insert_schedule(scene, "twice")
    scene.database.execute("DROP INDEX job_runs_slot")
    _run_of_slot(scene, "twice", slot)
    return "twice"


def slots_recorded(scene: Scene) -> object:
    insert_schedule(scene, "left out")
    of_schedule = "definition_id = (SELECT id FROM job_definitions WHERE name = 'left out')"
    scene.database.execute(f"DELETE FROM job_runs WHERE scheduled_for = ? AND {of_schedule}", [_last_hour(scene)])
    return "left out"


def _last_hour(scene: Scene) -> Any:
    return scene.database.now().replace(minute=0, second=0, microsecond=0)


def insert_schedule(scene: Scene, name: str) -> None:
    """A schedule, with a run for each of its last slots."""
    last, old = _last_hour(scene), scene.database.now() - 5 * HOUR
    scene.database.execute(
        "INSERT INTO job_definitions (name, job_type, payload, schedule, timezone, source, last_slot_at, created_at,"
        " updated_at) VALUES (?, 'slot', '{}', '0 * * * *', 'UTC', 'command', ?, ?, ?)",
        [name, last, old, old],
    )
    for hours in range(3):
        _run_of_slot(scene, name, last - hours * HOUR)


def _run_of_slot(scene: Scene, name: str, slot: Any) -> None:
    scene.database.execute(
        "INSERT INTO job_runs (definition_id, job_type, payload, status, priority, run_at, scheduled_for, origin,"
        " created_at, updated_at) SELECT id, 'slot', '{}', 'queued', 0, ?, ?, 'slot', ?, ?"
        " FROM job_definitions WHERE name = ?",
        [slot, slot, slot, slot, name],
    )


def pauses_recorded(scene: Scene) -> object:
    scene.pause("type", "unseen")
    of_it = "at = (SELECT paused_at FROM job_pauses WHERE name = 'unseen')"
    scene.database.execute(f"DELETE FROM job_events WHERE action = 'pause type' AND {of_it}")
    return "type unseen"


def effects_of_runs(scene: Scene) -> object:
    scene.effect("stolen")
    scene.set("effects", "key = 'stolen'", lease_token="x" * 32)
    return "stolen"


def effects_once(scene: Scene) -> object:
    scene.effect("again")
    scene.store.write(partial(settlement.settle, key="again", actor=PERSON, applied=True))
    scene.database.execute("DELETE FROM job_effects WHERE key = 'again'")
    return "again"


def limits_kept(scene: Scene) -> object:
    policy = Policy("limited", limits=LIMITS["limited"])
    scene.store.write(partial(declared_limits.declare, policy=policy))
    scene.store.write(
        partial(hosts.write, report=HostReport(TickKind("here", "", ""), (policy,), {"concurrency": 9}, "here", "b"))
    )
    scene.set("hosts", "host = 'here'", reported_at=scene.database.now() - 2 * HOUR)
    for _ in range(2):
        run_id = scene.run(SUCCEEDED, job_type="limited")
        scene.set("attempts", f"run_id = {run_id}", started_at=scene.database.now() - HOUR)
    return "limited"


def limits_recorded(scene: Scene) -> object:
    wanted = set_limits.Wanted("unseen", 2, None)
    scene.store.write(partial(set_limits.set_limit, wanted=wanted, actor=PERSON))
    of_it = "at = (SELECT set_at FROM job_set_limits WHERE job_type = 'unseen')"
    scene.database.execute(f"DELETE FROM job_events WHERE action = 'limit type' AND {of_it}")
    # The type has no host that could report its limits.
    scene.database.execute("DELETE FROM job_limits WHERE job_type = 'unseen'")
    return "unseen"


def totals_complete(scene: Scene) -> object:
    scene.run(SUCCEEDED, job_type="counted")
    count_all(scene.database, scene.store)
    scene.set("tallies", "job_type = 'counted'", ends=0)
    return "counted"


DAMAGES: dict[str, Callable[[Scene], object]] = {
    each.__name__: each
    for each in (
        one_owner,
        attempts_recorded,
        attempts_bounded,
        attempts_used,
        begun_in_time,
        leases_end,
        own_host_only,
        moves_allowed,
        ends_explained,
        changes_recorded,
        one_run_per_key,
        parents_first,
        gates_exist,
        one_at_a_time,
        one_run_per_slot,
        slots_recorded,
        pauses_recorded,
        effects_of_runs,
        effects_once,
        limits_recorded,
        limits_kept,
        totals_complete,
    )
}
"""By the name of the promise that it breaks."""


def excuse(scene: Scene) -> None:
    """What makes the history prove less: an archive, a clock that was set back, hosts of two versions."""
    now = scene.database.now()
    note = partial(archive.note, actor=PERSON, action="archive restore", file=Path("runs.jsonl"), before=now + HOUR)
    scene.store.write(note)
    policy = Policy("limited", limits=Limits(max_running=9))
    other = HostReport(TickKind("there", "", ""), (policy,), {"concurrency": 9}, "here", "b")
    scene.store.write(partial(hosts.write, report=other))
    for hours in (2, -2):
        scene.tick(now + hours * HOUR)


ALWAYS_JUDGED = {
    "moves_allowed",
    "attempts_used",
    "parents_first",
    "attempts_bounded",
    "attempts_recorded",
    "ends_explained",
    "one_run_per_slot",
    "own_host_only",
    "effects_of_runs",
}
"""The promises that ``excuse`` does not concern: they are judged by rows that belong together."""
