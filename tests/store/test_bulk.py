"""What a person does to many runs at once is what it does to each of them, in batches, and can be done again."""

import os
import signal
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from harness import Commands, Database, postgresql_only, sqlite_only
from harness.handlers_rows import queue, run_of, status_of
from harness.stores import opening
from harness.terminal import open_terminal, read_terminal
from jobrunner.lifecycle import Status
from jobrunner.model import Actor, Policy
from jobrunner.store.changes import bulk, one_run, run_changes
from jobrunner.store.changes.bulk import Batch, Changing
from jobrunner.store.changes.run_changes import Change
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.questions.selection import Selection
from jobrunner.store.queue import backpressure
from jobrunner.store.queue.ticks import tallies

ADA = Actor("ada", "the reason")
LATER = timedelta(hours=5)
COMPARED = (
    "job_type, status, priority, attempts, max_attempts, releases, error_type, last_error, gate, locked_by,"
    " lease_token, run_at, start_deadline_at, finished_at, cancel_requested_at, incompatible_at, checkpoint"
)


def runs_of_each_kind(database: Database, job_type: str, now: datetime) -> list[int]:
    """A run of each status, and of what else makes a difference."""
    lease: dict[str, Any] = {"locked_by": "h:1:a", "host": "h", "lease_token": "t", "locked_until": now + LATER}
    ended = {"finished_at": now, "attempts": 5, "max_attempts": 5, "error_type": "E", "last_error": "no"}
    kinds: list[dict[str, Any]] = [
        {},
        {"run_at": now + LATER, "start_deadline_at": now + LATER, "gate": "all"},
        {"gate": "after"},
        {"status": "failed", "attempts": 2, "max_attempts": 5, "releases": 3, "incompatible_at": now},
        {"status": "running", "attempts": 1, **lease},
        {"status": "running", "attempts": 1, **lease, "cancel_requested_at": now},
        *({"status": status, **ended} for status in ("succeeded", "dead", "cancelled")),
        {"status": "dead", "finished_at": now},
    ]
    place = {"value": 3, "steps": {"load": 1}}
    return [queue(database, job_type, **kind, checkpoint=place) for kind in kinds]


def in_bulk(store: Store, change: Change, selection: Selection, at: datetime | None = None) -> Batch:
    found = store.read(partial(bulk.matching, selection=selection, change=change, limit=None))
    changing = Changing(change, selection, ADA, {})
    return store.write(lambda each: changing(each, [{"id": run_id, "run_at": at} for run_id in found]))


AT = datetime.fromisoformat("2027-01-01T00:00:00+00:00")
ACTIONS: dict[str, tuple[Callable[[], Change], Callable[..., one_run.Answer]]] = {
    "retry": (run_changes.retry, one_run.retry),
    "retry --force": (partial(run_changes.retry, force=True), partial(one_run.retry, force=True)),
    "cancel": (run_changes.cancel, one_run.cancel),
    "discard": (partial(run_changes.discard, "the reason"), one_run.discard),
    "reschedule": (partial(run_changes.reschedule, AT), partial(one_run.reschedule, run_at=AT)),
    "priority": (partial(run_changes.set_priority, 7), partial(one_run.set_priority, priority=7)),
}


@pytest.mark.parametrize("action", ACTIONS)
def test_bulk_change_does_to_each_run_what_its_command_does_to_one(
    store: Store, database: Database, action: str
) -> None:
    change, one = ACTIONS[action]
    begun_at = database.now()
    runs_of_each_kind(database, "many", begun_at)
    singles = runs_of_each_kind(database, "single", begun_at)
    answers = [store.write(partial(one, run_id=run_id, actor=ADA)) for run_id in singles]
    done = in_bulk(store, change(), Selection(job_types=("many",)), AT if action == "reschedule" else None)

    def state(job_type: str) -> list[list[Any]]:
        rows = database.query(f"SELECT {COMPARED} FROM job_runs WHERE job_type = ? ORDER BY id", [job_type])
        # Instants of these statements differ a little.
        first, last = begun_at - timedelta(seconds=5), begun_at + timedelta(minutes=2)
        values = [list(row.values())[1:] for row in rows]
        return [
            ["now" if isinstance(each, datetime) and first < each < last else each for each in row] for row in values
        ]

    def ends(job_type: str) -> dict[str, int]:
        return {key.status: each.ends for key, each in store.read(tallies.totals).items() if key.job_type == job_type}

    assert state("many") == state("single")
    assert ends("many") == ends("single")
    asked_twice = action == "cancel"
    assert done == Batch(sum(answer.applied for answer in answers) - asked_twice)
    (event,) = database.query("SELECT * FROM job_events WHERE run_id IS NULL")
    assert (event["actor"], event["detail"]["reason"]) == ("ada", "the reason")
    assert event["detail"]["filter"] == {"job_types": ["many"]}
    assert len(event["detail"]["ids"]) == done.done
    # Done again, it finds nothing, but for what is dead or cancelled by now and may be queued once more.
    assert in_bulk(store, change(), Selection(job_types=("many",)), AT) == Batch(0) or action == "discard"


@pytest.mark.parametrize("is_bulk", [True, False], ids=["bulk", "single"])
def test_retry_goes_on_where_the_run_has_stopped_and_what_has_succeeded_begins_anew(
    store: Store, database: Database, is_bulk: bool
) -> None:
    """It would go on from its end, and do nothing."""
    place, at = {"value": 3, "steps": {"load": 1}}, database.now()
    ended = {"finished_at": at, "attempts": 2, "max_attempts": 5, "checkpoint": place}
    runs = {
        status: queue(database, "many", status=status, **ended) for status in ("succeeded", "dead", "cancelled")
    } | {"failed": queue(database, "many", status="failed", **{**ended, "finished_at": None})}
    if is_bulk:
        in_bulk(store, run_changes.retry(force=True), Selection(job_types=("many",)))
    else:
        for run_id in runs.values():
            assert store.write(partial(one_run.retry, run_id=run_id, actor=ADA, force=True)).applied
    rows = {status: run_of(database, run_id) for status, run_id in runs.items()}
    assert {row["status"] for row in rows.values()} == {"queued"}
    assert {status for status, row in rows.items() if row["checkpoint"] is None} == {"succeeded"}
    assert rows["dead"]["checkpoint"] == place


def test_runs_whose_active_key_another_run_has_are_refused_and_counted(store: Store, database: Database) -> None:
    store.write(partial(backpressure.declare, policies=[Policy("keyed", key_scope="active")]))
    ended = {"status": "dead", "finished_at": database.now()}
    first, second, held, free = (
        queue(database, "keyed", idempotency_key=key, **ended) for key in ("twice", "twice", "held", "free")
    )
    holder = queue(database, "keyed", idempotency_key="held")
    for key, run_id in (("twice", second), ("held", holder), ("free", free)):
        insert = "INSERT INTO job_keys (job_type, idempotency_key, run_id, created_at) VALUES ('keyed', ?, ?, ?)"
        database.execute(insert, [key, run_id, database.now()])
    assert in_bulk(store, run_changes.retry(), Selection(statuses=(Status.DEAD,))) == Batch(2, key_taken=2)
    assert [status_of(database, each) for each in (first, second, held, free)] == ["queued", "dead", "dead", "queued"]
    assert database.value("SELECT run_id FROM job_keys WHERE idempotency_key = 'twice'") == first
    assert in_bulk(store, run_changes.retry(), Selection(statuses=(Status.DEAD,))) == Batch(0, key_taken=2)


@postgresql_only
def test_locked_run_is_skipped_and_counted_and_no_claim_waits(store: Store, database: Database) -> None:
    locked, free = queue(database, "mail"), queue(database, "mail")
    with opening(database, patience_seconds=1) as open_one:
        other = open_one()

        def while_locked(connection: Any) -> Batch:
            connection.execute(f"SELECT id FROM job_runs WHERE id = {locked} FOR UPDATE")
            return in_bulk(store, run_changes.set_priority(9), Selection(job_types=("mail",)))

        assert other.write(while_locked) == Batch(1, locked=1)
    assert in_bulk(store, run_changes.set_priority(9), Selection(job_types=("mail",))) == Batch(1)
    assert database.query("SELECT priority FROM job_runs WHERE id IN (?, ?)", [locked, free]) == [{"priority": 9}] * 2


def test_killed_bulk_change_goes_on_when_it_is_run_again(jobrunner: Commands, database: Database) -> None:
    now = database.now()
    columns = "job_type, payload, status, priority, run_at, created_at, updated_at, finished_at"
    database.execute(
        f"INSERT INTO job_runs ({columns}) WITH RECURSIVE many (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many"
        " WHERE n < 1200) SELECT 'mail', '{}', 'dead', 0, ?, ?, ?, ? FROM many",
        [now] * 4,
    )
    words = ("retry", "--status", "dead", "--over", "10m", "--yes", "--reason", "mended")
    faults = {"JOBRUNNER_FAULT": "bulk.committed=kill", "JOBRUNNER_FAULT_TRACE": str(jobrunner.app.path("faults"))}
    assert jobrunner(*words, env=faults, check=False).returncode == -signal.SIGKILL
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'queued'") == 500
    assert jobrunner(*words).stdout == "retry: 700 of 700 runs changed\n"
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'queued'") == 1200
    # One row of the audit trail for each batch; each run is in one of them.
    events = database.query("SELECT detail FROM job_events ORDER BY id")
    assert [event["detail"]["from"] for event in events] == [{"dead": 500}, {"dead": 500}, {"dead": 200}]
    assert sorted(each for event in events for each in event["detail"]["ids"]) == list(range(1, 1201))
    assert {event["detail"]["reason"] for event in events} == {"mended"}
    (shown,) = jobrunner("show", 1200, "--json").json()["event_log"]
    assert (shown["action"], shown["detail"]["reason"], "ids" in shown["detail"]) == ("retry", "mended", False)
    # The second call has spread its own 700 over ten minutes.
    times = [row["run_at"] for row in database.query("SELECT run_at FROM job_runs WHERE id > 500 ORDER BY id")]
    apart = [later - earlier for earlier, later in pairwise(times)]
    assert min(apart) > timedelta(seconds=0.8)
    assert timedelta(minutes=9.9) < times[-1] - times[0] < timedelta(minutes=10)


def test_bulk_change_counts_first_and_needs_a_word_of_agreement(jobrunner: Commands, database: Database) -> None:
    dead = [queue(database, "mail", status="dead", finished_at=database.now()) for _ in range(3)]
    queue(database, "mail")
    done = jobrunner("retry", "--type", "mail", check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "retry: 3 runs (3 dead); add --yes" in done.stderr
    counted = jobrunner("retry", "--type", "mail", "--dry-run", "--json").json()
    none = {"done": 0, "locked": 0, "changed_meanwhile": 0, "key_taken": 0}
    assert counted == {"action": "retry", "matching": {"dead": 3}, **none, "dry_run": True}
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'dead'") == 3
    assert jobrunner("retry", "--type", "mail", "--limit", 1, "--yes").stdout == "retry: 1 of 1 runs changed\n"
    assert [status_of(database, each) for each in dead] == ["queued", "dead", "dead"]
    assert jobrunner("cancel", "--all", "--yes", "--json").json()["matching"] == {"queued": 2}
    assert jobrunner("discard", "--status", "queued", "--reason", "x").stdout == "discard: 0 runs; nothing changed\n"


@sqlite_only
@pytest.mark.parametrize("answer", ["y", "n"])
def test_person_at_a_terminal_is_asked(jobrunner: Commands, database: Database, answer: str) -> None:
    run_id = queue(database, "mail")
    ours, theirs = open_terminal(80)
    process = jobrunner.start("cancel", "--type", "mail", terminal=theirs)
    os.close(theirs)
    os.write(ours, f"{answer}\n".encode())
    assert "cancel: 1 run (1 queued). Go on?" in read_terminal(ours)
    assert process.wait(30) == (0 if answer == "y" else 1)
    assert status_of(database, run_id) == ("cancelled" if answer == "y" else "queued")


REFUSED = {
    "no run named": (["retry"], "--all"),
    "only a limit": (["cancel", "--limit", "5"], "--all"),
    "a status that cannot be retried": (["retry", "--status", "queued", "--yes"], "not queued"),
    "succeeded without force": (["retry", "--status", "succeeded", "--yes"], "--force"),
    "an unknown schedule": (["cancel", "--schedule", "nightly", "--yes"], "nightly"),
    "no time": (["reschedule", "--all"], "--run-at"),
    "no such priority": (["priority", "1001", "--all"], "1000"),
    "no reason": (["discard", "--all"], "--reason"),
}


@sqlite_only
@pytest.mark.parametrize("case", REFUSED)
def test_bulk_change_that_would_do_something_else_is_refused_in_one_line(
    jobrunner: Commands, database: Database, case: str
) -> None:
    words, named = REFUSED[case]
    queue(database, "mail")
    jobrunner.refused(None, *words, says=[named])
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'queued' AND priority = 0") == 1
