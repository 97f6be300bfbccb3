"""The model of the idle question gives the answer of the real statement, for states that the model can reach."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

from harness import Database
from harness.handlers_rows import queue
from jobrunner.store.queue.ticks import idle
from models import idle as model
from models.explorer import states_of
from models.idle_rules import Run, State, World, is_idle

COUNT = 60
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
LEASES = {"held": MINUTE / 2, "expired": -MINUTE, "far": HOUR}
STATUSES = {"waits": "queued", "runs": "running"}


def plant(database: Database, world: World, state: State) -> None:
    """Make the rows of this state the only ones."""
    for table in ("job_parents", "job_attempts", "job_runs", "job_gates", "job_limits", "job_pauses"):
        database.execute(f"DELETE FROM {table}")
    now = database.now()
    ids = [plant_run(database, run) for run in (state.run, state.child)]
    if state.parent:
        told = "succeeded" if state.parent == "told" else None
        row = [ids[0], ids[1], "cancel", told]
        statement = "INSERT INTO job_parents (parent_id, run_id, if_parent_fails, parent_status) VALUES (?, ?, ?, ?)"
        database.execute(statement, row)
    if world.is_limited:
        database.execute("INSERT INTO job_limits (job_type, max_running, asked_at) VALUES ('a', 1, ?)", [now])
        turn = now if state.has_turn else None
        database.execute("INSERT INTO job_gates (job_type, gate, turn_at) VALUES ('a', 'all', ?)", [turn])
    for kind in state.pauses:
        name = {"type": "a", "host": "here", "all": ""}[kind]
        statement = "INSERT INTO job_pauses (kind, name, actor, paused_at) VALUES (?, ?, 'me', ?)"
        database.execute(statement, [kind, name, now])
    is_due = {"due": -MINUTE, "waits": HOUR}
    database.execute("UPDATE job_definitions SET next_run_at = ?", [now + is_due[state.slot]])
    database.execute("UPDATE job_state SET pruned_at = ?", [now - (HOUR if state.prune == "due" else MINUTE)])


def plant_run(database: Database, run: Run) -> int:
    now = database.now()
    row: dict[str, Any] = {"status": STATUSES.get(run.status, "dead"), "gate": run.gate}
    row["run_at"] = now - MINUTE if run.is_due else now + HOUR
    if run.status not in STATUSES:
        row["finished_at"] = now
    if run.deadline:
        row["start_deadline_at"] = now - MINUTE if run.deadline == "passed" else now + HOUR
    if run.status == "runs":
        row |= {"locked_by": "there", "host": "there", "lease_token": "t", "locked_until": now + LEASES[run.lease]}
    return queue(database, "a", **row)


def test_model_says_of_each_state_what_the_idle_statement_says_of_its_rows(database: Database) -> None:
    world = World(is_limited=True, changes=2)
    columns = "name, job_type, payload, schedule, timezone, source, last_slot_at, created_at, updated_at"
    now = database.now()
    values = ["n", "b", {}, "* * * * *", "UTC", "command", now, now, now]
    database.execute(f"INSERT INTO job_definitions ({columns}) VALUES ({', '.join('?' * 9)})", values)
    found = {state._replace(dead="", does=None, changes=0) for state in states_of(model.model(world))}
    # The same ones in each run. A killed tick is asked for in a folder.
    ordered = sorted(found, key=str)
    some = random.Random(1).sample(ordered, COUNT)
    # And one for each broken twin that would say something else.
    for twin, _ in model.TWINS.values():
        broken = world._replace(broken=twin.broken)
        some += [each for each in ordered if is_idle(broken, each) != is_idle(world, each)][:1]
    assert {is_idle(world, state) for state in some} == {False, True}
    for state in some:
        plant(database, world, state)
        answer = idle.was_idle(database.url, None, "here", "here:1:a", "1", "shop")
        assert answer == is_idle(world, state), (state, database.describe())
