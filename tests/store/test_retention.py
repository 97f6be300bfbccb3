"""What is deleted, and when, and what is never deleted."""

import signal
import subprocess
from collections import Counter
from collections.abc import Iterable
from datetime import timedelta

import pytest

from harness import App, Commands, Database, wait_for
from harness.database import numbers
from harness.handlers_rows import queue
from harness.invariants import insert_runs, read_log
from harness.slots import go_to, slots_with_runs, utc
from harness.tick_parts import context_of
from jobrunner.store.drivers.database import Database as Store
from jobrunner.worker.pruning import prune_on

DAY = timedelta(days=1)
KEEP = {"SUCCEEDED": 2, "CANCELLED": 4, "DEAD": 6, "TICKS": 3, "EVENTS": 5}
KEEP_DAYS = {f"JOBRUNNER_KEEP_{name}": f"{days}d" for name, days in KEEP.items()}
STATUSES = ("queued", "failed", "running", "succeeded", "cancelled", "dead")
COLUMNS = "job_type, payload, status, priority, run_at, created_at, updated_at"
MANY = 150_000


def tick(jobrunner: Commands, **env: str) -> None:
    jobrunner.tick(env=KEEP_DAYS | env)


def insert(database: Database, status: str, age: timedelta, job_type: str = "echo") -> int:
    """A run that has this status for so long, with one attempt. A finished one; or one that has its time ahead."""
    at, later = database.now() - age, database.now() + 1000 * DAY
    is_finished = status in ("succeeded", "cancelled", "dead")
    row: dict[str, object] = {"status": status, "attempts": 1, "max_attempts": 5, "created_at": at, "updated_at": at}
    row["run_at"] = at if is_finished else later
    if is_finished:
        row["finished_at"] = at
    if status == "running":
        row |= {"locked_by": "o", "host": "h", "lease_token": "t"}
        row["locked_until"] = database.now() + timedelta(minutes=9)
    run_id = queue(database, job_type, **row)
    database.execute(
        "INSERT INTO job_attempts (run_id, sequence, attempt, lease_token, worker, host, started_at, finished_at,"
        " outcome) VALUES (?, 1, 1, 'a', 'o', 'h', ?, ?, 'failed')",
        [run_id, at, at],
    )
    return run_id


def present(database: Database, ids: Iterable[int]) -> set[int]:
    runs = {row["id"] for row in database.query("SELECT id FROM job_runs")}
    attempts = {row["run_id"] for row in database.query("SELECT run_id FROM job_attempts")}
    assert runs == attempts, "attempts go with their runs, and only with them"
    return runs & set(ids)


def test_each_status_is_pruned_after_its_own_time(jobrunner: Commands, database: Database) -> None:
    ids = {
        (status, age): insert(database, status, age * DAY - timedelta(minutes=5))
        for status in ("succeeded", "cancelled", "dead")
        for age in (2, 3, 4, 5, 6, 7)
    }
    tick(jobrunner)
    kept = present(database, ids.values())
    expected = {key for key in ids if key[1] <= KEEP[key[0].upper()]}
    assert {key for key, run_id in ids.items() if run_id in kept} == expected


def test_type_with_a_retention_of_its_own_is_kept_for_that_time(jobrunner: Commands, database: Database) -> None:
    """Its dead runs for the longer time: a person must look at them. `prune` counts and deletes what a tick would."""
    env = {**KEEP_DAYS, "JOBRUNNER_KEEP_TYPES": "brief=1d, audit=30d"}
    ids = {
        (job_type, status, age): insert(database, status, age * DAY - timedelta(minutes=5), job_type)
        for job_type in ("echo", "brief", "audit")
        for status in ("succeeded", "dead")
        for age in (1, 2, 3, 7, 30, 31)
    }
    keep_days = {"brief": {"succeeded": 1, "dead": 6}, "audit": dict.fromkeys(("succeeded", "dead"), 30)}
    expected = {key for key in ids if key[2] <= keep_days.get(key[0], {"succeeded": 2, "dead": 6})[key[1]]}
    gone = Counter((job_type, status) for job_type, status, _ in ids.keys() - expected)
    counted = jobrunner("prune", "--dry-run", "--json", env=env).json()
    assert {(row["job_type"], row["what"]): row["rows"] for row in counted["rows"]} == gone
    assert present(database, ids.values()) == set(ids.values())
    if database.name == "sqlite":
        tick(jobrunner, JOBRUNNER_KEEP_TYPES=env["JOBRUNNER_KEEP_TYPES"])
    else:
        assert jobrunner("prune", "--json", env=env).json()["rows"] == counted["rows"]
    kept = present(database, ids.values())
    assert {key for key, run_id in ids.items() if run_id in kept} == expected
    assert jobrunner("prune", env=env).stdout == "deleted\nnothing\n"


def test_a_run_that_is_not_finished_is_never_deleted(jobrunner: Commands, database: Database) -> None:
    old = {status: insert(database, status, 5000 * DAY) for status in STATUSES}
    tick(jobrunner)
    assert present(database, old.values()) == {old[status] for status in ("queued", "failed", "running")}


def test_pruning_waits_ten_minutes(jobrunner: Commands, database: Database) -> None:
    first = insert(database, "succeeded", 3 * DAY)
    tick(jobrunner)
    assert present(database, [first]) == set()
    second = insert(database, "succeeded", 3 * DAY)
    tick(jobrunner)
    database.move_clock(timedelta(minutes=9))
    tick(jobrunner)
    assert present(database, [second]) == {second}
    database.move_clock(timedelta(minutes=1, seconds=1))
    tick(jobrunner)
    assert present(database, [second]) == set()


def test_a_clock_that_stepped_back_does_not_end_pruning(jobrunner: Commands, database: Database) -> None:
    database.move_clock(30 * DAY)
    tick(jobrunner)
    database.move_clock(-30 * DAY)
    old = insert(database, "succeeded", 3 * DAY)
    tick(jobrunner)
    assert present(database, [old]) == set()


@pytest.mark.promise("P4")
def test_a_key_outlives_its_pruned_run(jobrunner: Commands, database: Database) -> None:
    words = ("enqueue", "echo", "--payload", "{}", "--key", "once", "--json")
    assert jobrunner(*words).json().items() >= {"id": 1, "created": True}.items()
    tick(jobrunner)
    assert database.value("SELECT status FROM job_runs") == "succeeded"
    database.move_clock(3 * DAY)
    tick(jobrunner)
    assert database.query("SELECT id FROM job_runs") == []
    assert jobrunner(*words).json().items() >= {"id": 1, "created": False}.items()
    tick(jobrunner)
    assert database.query("SELECT id FROM job_runs") == []


@pytest.mark.promise("P3")
def test_a_slot_whose_run_was_pruned_is_not_expanded_again(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    jobrunner("schedule", "add", "yearly", "--type", "echo", "--cron", "0 13 1 5 *")
    go_to(database, utc(2026, 5, 1, 13, 1))
    tick(jobrunner)
    assert slots_with_runs(database, "yearly") == [utc(2026, 5, 1, 13)]
    for _ in range(2):
        go_to(database, utc(2026, 5, 5))
        tick(jobrunner)
        # A hint only: the next tick looks at the schedule, whatever was noted as its next slot.
        database.execute("UPDATE job_definitions SET next_run_at = NULL")
        assert database.query("SELECT id FROM job_runs") == []


def test_ticks_and_events_are_pruned_after_their_own_time(jobrunner: Commands, database: Database) -> None:
    run_id = jobrunner.enqueue("echo", {}, run_at="+1000d")
    jobrunner("cancel", run_id)
    tick(jobrunner)
    first = database.value("SELECT max(id) AS id FROM job_ticks")
    assert database.value("SELECT count(*) AS events FROM job_events") == 1
    database.move_clock(3 * DAY + timedelta(hours=1))
    tick(jobrunner)
    assert database.value("SELECT min(id) AS id FROM job_ticks") > first
    assert database.value("SELECT count(*) AS events FROM job_events") == 1
    database.move_clock(2 * DAY)
    tick(jobrunner)
    assert database.value("SELECT count(*) AS events FROM job_events") == 0


def insert_many(database: Database, count: int) -> int:
    """As many more old runs as this one, without attempts; its id."""
    old = insert(database, "succeeded", 30 * DAY)
    database.execute(
        f"INSERT INTO job_runs ({COLUMNS}, finished_at) SELECT {COLUMNS}, finished_at FROM job_runs,"
        f" ({numbers(database, count)}) AS numbers WHERE job_runs.id = ?",
        [old],
    )
    return old


def left(database: Database) -> int:
    return int(database.value("SELECT count(*) FROM job_runs WHERE finished_at < ?", [database.now() - 20 * DAY]))


def start_with_much_to_prune(jobrunner: Commands, database: Database) -> tuple["subprocess.Popen[str]", int]:
    """A tick whose one run has ended, and how many old runs it had left by then."""
    insert_many(database, MANY)
    due = jobrunner.enqueue("echo", {})
    process = jobrunner.start("tick", env=KEEP_DAYS)
    database.wait_until("SELECT count(*) FROM job_runs WHERE id = ? AND status = 'succeeded'", [due], 60)
    left_after_run = left(database)
    assert left_after_run > 0, "all of it before the run"
    return process, left_after_run


def test_tick_prunes_for_a_second_and_then_works_and_then_prunes_what_is_left(
    jobrunner: Commands, database: Database
) -> None:
    """Far more than a second's worth: the run that is due is not kept waiting for it, and the disk does not fill."""
    process, left_after_run = start_with_much_to_prune(jobrunner, database)
    assert jobrunner.finish(process).returncode == 0
    assert left(database) < left_after_run, "more runs than a second is enough for would fill the disk"
    assert database.value("SELECT counts FROM job_ticks")["pruned"] + left(database) == MANY + 1


def test_tick_that_is_told_to_stop_while_it_prunes_after_its_runs_ends_well(
    jobrunner: Commands, database: Database
) -> None:
    """Ended by the signal it would look like a tick that was killed."""
    process, left_after_run = start_with_much_to_prune(jobrunner, database)
    wait_for(lambda: left(database) < left_after_run, 20, "the deletes after the run")
    process.send_signal(signal.SIGTERM)
    assert jobrunner.finish(process).returncode == 0
    assert left(database) > 0, "it had ended before it was told to stop"
    assert database.value("SELECT count(*) FROM job_ticks WHERE finished_at IS NOT NULL") == 1


def test_where_much_was_old_a_tick_of_the_next_minute_prunes_again(jobrunner: Commands, database: Database) -> None:
    """Ten minutes later as many would be ten times as much."""
    insert_many(database, 500)
    tick(jobrunner)
    assert left(database) == 0
    insert(database, "succeeded", 30 * DAY)
    database.move_clock(timedelta(minutes=1))
    tick(jobrunner)
    assert left(database) == 0


@pytest.mark.parametrize(
    ("runs", "has_turn", "is_stopped"),
    [(500, True, False), (500, True, True), (500, False, False), (10, True, False)],
    ids=["it", "not one that shall stop", "not while another is at it", "not after a few runs"],
)
def test_tick_prunes_after_many_runs_what_a_later_tick_has_left(
    jobrunner: Commands, app: App, database: Database, runs: int, has_turn: bool, is_stopped: bool
) -> None:
    """As one that lingered, when the next one listens and has pruned for a second."""
    database.execute("UPDATE job_state SET pruned_at = ?", [database.now()])
    ids = insert_runs(database, runs, "echo")
    jobrunner.enqueue("wait_for", {"path": str(app.path("go"))})
    process = jobrunner.start("tick", env=KEEP_DAYS)
    done = f"SELECT count(*) = {runs} FROM job_runs WHERE status = 'succeeded' AND id <= ?"
    database.wait_until(done, [max(ids)], 60)
    wait_for(app.trace, 20, "the handler's line")
    old = insert(database, "succeeded", 30 * DAY)
    if has_turn:
        database.execute("UPDATE job_state SET pruned_at = NULL")
    if is_stopped:
        process.send_signal(signal.SIGTERM)
    app.end(process, "go")
    is_expected = runs >= 500 and has_turn and not is_stopped
    assert present(database, [old]) == (set() if is_expected else {old})


def test_tick_that_cannot_prune_after_its_runs_ends_as_ever(jobrunner: Commands, app: App, database: Database) -> None:
    """As beside a newer schema: its runs have ended well, and its row is closed."""
    insert_runs(database, 500, "echo")
    jobrunner.enqueue("wait_for", {"path": str(app.path("go"))})
    process = jobrunner.start("tick", env={"JOBRUNNER_LOG": str(app.path("log"))})
    wait_for(app.trace, 60, "the handler's line")
    database.execute("ALTER TABLE job_state RENAME COLUMN pruned_at TO elsewhere")
    app.end(process, "go")
    assert "given up" in {line.get("result") for line in read_log(app.path("log")) if line["event"] == "prune"}
    assert database.value("SELECT count(*) FROM job_ticks WHERE finished_at IS NOT NULL") == 1


def test_runs_that_an_application_refers_to_do_not_keep_a_tick_from_its_end(database: Database, store: Store) -> None:
    """Thousands of them take longer to be refused than others to be deleted, and the next tick would try again."""
    insert_many(database, 1_500)
    database.execute("CREATE TABLE own (run_id BIGINT PRIMARY KEY REFERENCES job_runs (id))")
    database.execute("INSERT INTO own SELECT id FROM job_runs")
    context = context_of(database, store)
    context.counts["claimed"] = 500
    prune_on(context)
    assert 500 <= context.counts["kept"] <= 1_000
    assert left(database) == 1_501


def test_runs_referenced_by_an_application_table_are_not_pruned_and_reported(
    jobrunner: Commands, app: App, database: Database
) -> None:
    old = [insert(database, "succeeded", 30 * DAY) for _ in range(6)]
    database.execute("CREATE TABLE own (run_id BIGINT REFERENCES job_runs (id))")
    for run_id in old[1:3]:
        database.execute("INSERT INTO own VALUES (?)", [run_id])
    due = jobrunner.enqueue("echo", {})
    log = app.path("log")
    tick(jobrunner, JOBRUNNER_LOG=str(log))
    assert present(database, [*old, due]) == {*old[1:3], due}
    assert database.value("SELECT status FROM job_runs WHERE id = ?", [due]) == "succeeded"
    (told,) = [line for line in read_log(log) if line["event"] == "prune"]
    assert (told["result"], told["run_id"]) == ("kept", old[1])
    assert "foreign key" in told["error"].lower()
    counts = database.value("SELECT counts FROM job_ticks")
    assert (counts["pruned"], counts["kept"]) == (4, 2)
