"""The filter of runs: which runs it selects, and what it costs."""

from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any

import pytest

from harness import Database
from harness.invariants import insert_runs
from jobrunner.errors import NotFoundError
from jobrunner.lifecycle import Status
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.questions import search
from jobrunner.store.questions.search import Found
from jobrunner.store.questions.selection import WAITING_FOR, Selection

HOUR = timedelta(hours=1)


def find(store: Store, selection: Selection, limit: int = 50, **options: Any) -> Found:
    return store.read(lambda connection: search.find(connection, selection, limit, **options))


def ended(database: Database, status: str, ago: timedelta, **columns: object) -> list[int]:
    return insert_runs(database, 1, status=status, finished_at=database.now() - ago, **columns)


def running(database: Database, ago: timedelta, **columns: object) -> list[int]:
    now = database.now()
    lease = {"lease_token": "t" * 32, "locked_by": "w", "locked_until": now + HOUR, "host": "h", "attempts": 1}
    return insert_runs(database, 1, status="running", started_at=now - ago, **{**lease, **columns})


def fill(database: Database) -> dict[str, int]:
    """Runs by what is special about each."""
    now = database.now()
    database.execute(
        "INSERT INTO job_definitions (name, job_type, payload, timezone, source, last_slot_at, created_at, updated_at)"
        " VALUES ('nightly', 'append', '{}', 'UTC', 'command', ?, ?, ?)",
        [now] * 3,
    )
    nightly = database.value("SELECT id FROM job_definitions")
    database.execute("INSERT INTO job_limits (job_type, max_running, asked_at) VALUES ('capped', 1, ?)", [now])
    for gate, job_type in (("all", "capped"), ("open", "free")):
        values = [job_type, gate, now - HOUR]
        database.execute("INSERT INTO job_gates (job_type, gate, turn_at) VALUES (?, ?, ?)", values)
    database.execute(
        "INSERT INTO job_pauses (kind, name, actor, paused_at) VALUES ('type', 'paused', 'someone', ?)", [now]
    )
    made = {
        "succeeded": ended(database, "succeeded", 5 * HOUR),
        "dead long ago": ended(database, "dead", 30 * HOUR, error_type="ValueError", last_error="100%_ FULL"),
        "dead": ended(database, "dead", HOUR, error_type="KeyError", last_error="1000 full", job_type="report"),
        "cancelled": ended(database, "cancelled", HOUR, idempotency_key="order-7"),
        "running": running(database, HOUR, run_at=now - 9 * HOUR, concurrency_key="k", definition_id=nightly),
        "capping": running(database, 3 * HOUR, job_type="capped", gate="all", run_at=now - 9 * HOUR),
        "due": insert_runs(database, 1, run_at=now - 2 * HOUR),
        "later": insert_runs(database, 1, run_at=now + HOUR),
        "retrying": insert_runs(
            database, 1, status="failed", run_at=now + HOUR, attempts=1, error_type="OSError", last_error="full"
        ),
        "behind its key": insert_runs(database, 1, run_at=now - HOUR, concurrency_key="k"),
        "behind a limit": insert_runs(database, 1, run_at=now - HOUR, job_type="capped", gate="all"),
        "behind a run": insert_runs(database, 1, run_at=now - HOUR, gate="after"),
        "where no claim looks": insert_runs(database, 1, run_at=now - HOUR, job_type="capped", gate="x"),
        "paused": insert_runs(database, 1, run_at=now - HOUR, job_type="paused", gate="g", concurrency_key="p"),
    }
    return {name: ids[0] for name, ids in made.items()}


WAITING = {"due", "later", "retrying", "behind its key", "behind a limit", "behind a run", "paused"}
WAITING |= {"where no claim looks"}
CASES: dict[str, tuple[Selection, set[str]]] = {
    "dead": (Selection(statuses=(Status.DEAD,)), {"dead", "dead long ago"}),
    "two statuses": (Selection(statuses=(Status.QUEUED, Status.FAILED)), WAITING),
    "running": (Selection(statuses=(Status.RUNNING,)), {"running", "capping"}),
    "types": (Selection(job_types=("report", "capped")), {"dead", "capping", "behind a limit", "where no claim looks"}),
    "schedule": (Selection(schedule="nightly"), {"running"}),
    "since and until": (
        Selection(since=2.5 * HOUR, until=0.5 * HOUR),
        WAITING - {"later", "retrying"} | {"dead", "cancelled", "running"},
    ),
    "ended until": (Selection(until=6 * HOUR), {"dead long ago"}),
    "dead since": (Selection(statuses=(Status.DEAD,), since=2 * HOUR), {"dead"}),
    "key": (Selection(key="order-7"), {"cancelled"}),
    "concurrency key": (Selection(concurrency_key="k"), {"running", "behind its key"}),
    "error": (Selection(error="Full"), {"dead", "dead long ago", "retrying"}),
    "error type": (Selection(error="keyerror: 1000"), {"dead"}),
    "error with the signs of LIKE": (Selection(error="0%_ f"), {"dead long ago"}),
    "time": (Selection(waiting_for=("time",)), {"later"}),
    "retry": (Selection(waiting_for=("retry",)), {"retrying"}),
    "parent": (Selection(waiting_for=("parent",)), {"behind a run"}),
    "pause": (Selection(waiting_for=("pause",)), {"paused"}),
    "limit": (Selection(waiting_for=("limit",)), {"behind a limit"}),
    "key of another": (Selection(waiting_for=("key",)), {"behind its key"}),
    "tick": (Selection(waiting_for=("tick",)), {"due", "where no claim looks"}),
    "anything": (Selection(waiting_for=tuple(WAITING_FOR)), WAITING),
    "a dead run waits for nothing": (Selection(statuses=(Status.DEAD,), waiting_for=("retry",)), set()),
    "both": (Selection(statuses=(Status.DEAD,), error="full", job_types=("append",)), {"dead long ago"}),
}  # fmt: skip


def test_a_selection_means_the_runs_that_it_names_whatever_their_number(
    database: Database, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = fill(database)
    named = {run_id: name for name, run_id in runs.items()}
    # By an index, as beside few runs, and by a walk, as beside many.
    for few in (search._FEW, 0):
        monkeypatch.setattr(search, "_FEW", few)
        for name, (selection, expected) in CASES.items():
            found = find(store, selection)
            assert {named[each] for each in found.ids} == expected, (name, few)
            assert found.ids == sorted(found.ids, reverse=True)
            assert (found.next_before, found.searched_back_to) == (None, None)
            assert not selection.is_empty
    assert set(find(store, Selection()).ids) == set(named)
    chosen = Selection(ids=(runs["dead"], runs["due"]), statuses=(Status.DEAD,))
    assert find(store, chosen).ids == [runs["dead"]]
    with pytest.raises(NotFoundError, match="did you mean 'nightly'"):
        find(store, Selection(schedule="nihgtly"))


def test_pages_of_a_search_have_each_run_once(
    database: Database, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = insert_runs(database, 7, status="dead", finished_at=database.now())
    # A gap, as prune leaves it.
    ids += insert_runs(database, 1, status="dead", finished_at=database.now(), id=ids[-1] + 5 * 10**12)
    for few in (search._FEW, 0):
        monkeypatch.setattr(search, "_FEW", few)
        pages, before = [], None
        while True:
            page = find(store, Selection(statuses=(Status.DEAD,)), 3, before=before)
            pages.append(page.ids)
            before = page.next_before
            if before is None:
                break
        assert [len(each) for each in pages] == [3, 3, 2]
        assert [*chain(*pages)] == sorted(ids, reverse=True)


def test_a_search_that_runs_out_of_time_says_how_far_back_it_looked_and_can_go_on(
    database: Database, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    created = [datetime(2026, 1, day, tzinfo=UTC) for day in range(1, 10)]
    ids = [
        insert_runs(database, 1, job_type="rare" if at == created[0] else "often", created_at=at)[0] for at in created
    ]
    monkeypatch.setattr(search, "_SLICE", (2, 2, 2))
    found = find(store, Selection(job_types=("rare",)), seconds=0.0)
    assert found == Found([], ids[-2], created[-2])
    found = find(store, Selection(job_types=("rare",)), before=found.next_before, seconds=60.0)
    assert found == Found([ids[0]], None, None)


def test_a_filter_as_data_has_what_was_given() -> None:
    assert Selection().as_data() == {}
    assert Selection().is_empty
    selection = Selection(statuses=(Status.DEAD,), since=2 * HOUR, until=datetime(2026, 1, 1, tzinfo=UTC), error="x")
    assert selection.as_data() == {
        "statuses": ("dead",),
        "since": "7200s",
        "until": "2026-01-01T00:00:00Z",
        "error": "x",
    }
