"""The idle check and the rules of a full tick agree for every content of the tables."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from harness import Database
from harness.handlers_rows import queue
from jobrunner.errors import SchemaMismatch
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.queue.ticks import idle, ticks
from jobrunner.store.upkeep import check

CLOCKS = [timedelta(0), timedelta(hours=1), timedelta(hours=-1), timedelta(minutes=9), timedelta(minutes=-9)]
LATER, AGO = timedelta(minutes=30), timedelta(minutes=-30)
Values = dict[str, timedelta | str | None]

RUNS: dict[str, Values] = {
    "a due run": {"run_at": AGO},
    "a run for later": {"run_at": LATER},
    "a due retry": {"status": "failed", "run_at": AGO},
    "a retry for later": {"status": "failed", "run_at": LATER},
    "a run that has ended": {"status": "succeeded", "finished_at": AGO},
    "a dead run": {"status": "dead", "finished_at": AGO},
    "a run that is not to start any more": {"run_at": AGO, "start_deadline_at": timedelta(minutes=-1)},
    "a run for later that is not to start any more": {"run_at": LATER, "start_deadline_at": timedelta(minutes=-1)},
    "a run that may still start": {"run_at": LATER, "start_deadline_at": LATER},
    "a run at work past its start deadline": {
        "status": "running",
        "locked_until": timedelta(minutes=1),
        "start_deadline_at": AGO,
    },
    "a run at work": {"status": "running", "locked_until": timedelta(minutes=1)},
    "a run whose lease is over": {"status": "running", "locked_until": AGO},
    "a lease from before the clock stepped back": {"status": "running", "locked_until": LATER},
    "a run behind a gate where no claim looks": {"run_at": AGO, "gate": "x"},
    "a run that waits for others and has none": {"run_at": AGO, "gate": "after"},
}
DEFINITIONS: dict[str, Values] = {
    "a new schedule": {},
    "a due schedule": {"next_run_at": AGO},
    "a schedule for later": {"next_run_at": LATER},
    "a paused schedule": {"next_run_at": AGO, "paused_at": AGO},
    "a removed schedule": {"next_run_at": AGO, "removed_at": AGO},
    "a definition without a schedule": {"schedule": None},
}
STATE: dict[str, Values] = {
    "never pruned": {"pruned_at": None},
    "pruned a while ago": {"pruned_at": timedelta(minutes=-9)},
    "to be pruned": {"pruned_at": timedelta(minutes=-11)},
    "pruned a little ahead": {"pruned_at": timedelta(minutes=9)},
    "pruned far ahead": {"pruned_at": timedelta(minutes=11)},
}
_LIMITS = "INSERT INTO job_limits (job_type, max_running, asked_at) SELECT job_type, {most}, created_at FROM job_runs"
_STALE = _LIMITS.replace("created_at", "NULL")
_GATE = "INSERT INTO job_gates (job_type, gate, turn_at) SELECT job_type, gate, run_at FROM job_runs"
_PARENT = "INSERT INTO job_parents (parent_id, run_id, if_parent_fails) SELECT id, id, 'cancel' FROM job_runs"
_DUE = "job_type, payload, status, priority, run_at, created_at, updated_at"
_ANOTHER = f"INSERT INTO job_runs ({_DUE}, gate) SELECT {_DUE}, '{{gate}}' FROM job_runs"
_LESS_URGENT = (
    f"INSERT INTO job_runs ({_DUE}, gate)"
    " SELECT job_type, payload, status, priority - 60, created_at, created_at, updated_at, gate FROM job_runs"
)
BEHIND_GATES: dict[str, tuple[str, ...]] = {
    "a run behind an open gate": ("all", _LIMITS.format(most=1), _GATE),
    "a run behind a closed gate": ("all", _LIMITS.format(most=0), _GATE),
    "a run behind a closed gate whose row is gone": ("all", _LIMITS.format(most=0)),
    "a run for later behind an open gate": ("all", _LIMITS.format(most=1), _GATE),
    "a run for later behind an open gate, in front of a due one": ("all", _LIMITS.format(most=1), _GATE, _LESS_URGENT),
    "a run for later behind a gate of limits that may have changed": ("all", _STALE.format(most=0), _GATE),
    "an open gate that nothing waits behind": ("all", _LIMITS.format(most=1), _GATE, "DELETE FROM job_runs"),
    "a run that waits for another one": ("after", _PARENT),
    "a run behind a gate where no claim looks after such a one": ("after", _PARENT, _ANOTHER.format(gate="x")),
    "a run behind a gate where no claim looks before such a one": ("after", _PARENT, _ANOTHER.format(gate="a")),
}
"""The gate of a run, and what else there is."""
STATEMENTS = {
    "nothing": "SELECT 1",
    "too new a schema": "UPDATE job_state SET oldest_code = 9999",
    "an older schema": "UPDATE job_schema_version SET version_num = '0000'",
    "no version": "DELETE FROM job_schema_version",
    "no state": "DELETE FROM job_state",
    **{
        f"{kind} is paused": "INSERT INTO job_pauses (kind, name, actor, paused_at)"
        f" SELECT '{kind}', '{name}', 'a', run_at FROM job_runs"
        for kind, name in {"all": "", "type": "echo", "host": "here"}.items()
    },
}
IDLE = {
    "a run for later",
    "a retry for later",
    "a run that has ended",
    "a dead run",
    "a run that may still start",
    "a run at work past its start deadline",
    "a run at work",
    "a run behind a closed gate",
    "a run for later behind an open gate",
    "a run for later behind a gate of limits that may have changed",
    "a run that waits for another one",
    "a schedule for later",
    "a paused schedule",
    "a removed schedule",
    "a definition without a schedule",
    "pruned a while ago",
    "pruned a little ahead",
    "nothing",
    "all is paused",
    "type is paused",
    "host is paused",
}
"""What leaves nothing to do at the moment when it is written."""
SITUATIONS = [*RUNS, *BEHIND_GATES, *DEFINITIONS, *STATE, *STATEMENTS]


def set_up(database: Database, situation: str) -> None:
    now = database.now()
    database.execute("UPDATE job_state SET pruned_at = ?", [now])

    def at(values: Values) -> dict[str, Any]:
        return {name: now + each if isinstance(each, timedelta) else each for name, each in values.items()}

    if situation in RUNS:
        values = at(RUNS[situation])
        if "locked_until" in values:
            values |= {"locked_by": "here:1:a", "lease_token": "t"}
        queue(database, "echo", **values)
    elif situation in BEHIND_GATES:
        gate, *statements = BEHIND_GATES[situation]
        queue(database, "echo", gate=gate, run_at=now + (LATER if situation.startswith("a run for later") else AGO))
        for statement in statements:
            database.execute(statement)
    elif situation in DEFINITIONS:
        row: dict[str, Any] = {"name": "n", "job_type": "echo", "payload": {}, "schedule": "@daily", "timezone": "UTC"}
        row |= {"source": "cli", "last_slot_at": now, "created_at": now, "updated_at": now}
        row |= at(DEFINITIONS[situation])
        marks = ", ".join("?" * len(row))
        database.execute(f"INSERT INTO job_definitions ({', '.join(row)}) VALUES ({marks})", row.values())
    elif situation in STATE:
        database.execute("UPDATE job_state SET pruned_at = ?", at(STATE[situation]).values())
    else:
        if "paused" in situation:
            queue(database, "echo", run_at=now + AGO)
        database.execute(STATEMENTS[situation])


def pause_another_type(database: Database) -> None:
    """Changes nothing for the others, but ticks ask type by type then."""
    queue(database, "other", run_at=database.now() + AGO)
    database.execute(
        "INSERT INTO job_pauses (kind, name, actor, paused_at) VALUES ('type', 'other', 'a', ?)", [database.now()]
    )


def is_idle_in_full(store: Store) -> bool:
    """What the full tick finds; it takes the turn to prune."""
    try:
        store.read(check.check_schema)
    except SchemaMismatch:
        return False
    is_due: bool = store.read(partial(ticks.is_anything_due, host="here"))
    takes_turn = store.write(ticks.take_prune_turn) is not None
    return not is_due and not takes_turn


def ask(database: Database) -> bool:
    """What the short way finds; a trail stands if and only if that is: nothing."""
    answer = idle.was_idle(database.url, None, "here", "here:1:a", "1", "shop")
    rows = database.query("SELECT host, worker, version, counts, error FROM job_ticks")
    trail: dict[str, Any] = {"host": "here", "worker": "here:1:a", "version": "1", "counts": {}, "error": None}
    assert rows == [trail] * answer
    return answer


@pytest.mark.parametrize("is_another_paused", [False, True], ids=["alone", "beside a paused type"])
@pytest.mark.parametrize("situation", SITUATIONS)
def test_idle_check_finds_nothing_to_do(database: Database, situation: str, is_another_paused: bool) -> None:
    set_up(database, situation)
    if is_another_paused:
        pause_another_type(database)
    assert ask(database) == (situation in IDLE)


@pytest.mark.long(sample=100)
@pytest.mark.parametrize("situation", [name for name in SITUATIONS if name != "no state"])
@pytest.mark.parametrize("clock", CLOCKS, ids=str)
@pytest.mark.parametrize("is_another_paused", [False, True], ids=["alone", "beside a paused type"])
def test_idle_check_and_full_tick_agree(
    database: Database, store: Store, situation: str, clock: timedelta, is_another_paused: bool
) -> None:
    set_up(database, situation)
    if is_another_paused:
        pause_another_type(database)
    database.move_clock(clock)
    if situation not in STATE and clock:
        database.execute("UPDATE job_state SET pruned_at = ?", [database.now()])
    assert ask(database) == is_idle_in_full(store)


def test_idle_check_works_on_a_newer_schema_that_fits_this_code(database: Database, store: Store) -> None:
    set_up(database, "nothing")
    database.execute("UPDATE job_schema_version SET version_num = '0999'")
    assert ask(database)
    assert is_idle_in_full(store)
