"""move: everything in another database, of the other kind, and nobody can use the old one any more."""

import json
import signal
import sqlite3
import threading
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

import jobrunner as library
from harness import App, Commands, Database, sqlite_only, wait_for
from harness.connections import opened
from harness.databases import url
from harness.elsewhere import fill, target_of
from harness.fault_points import MOVE_POINTS
from harness.handlers_rows import queue, run_of, status_of
from harness.invariants import insert_runs
from harness.judge import breaches_at
from harness.releases import Release
from harness.tick_parts import context_of
from jobrunner.store.changes.closing import TABLES
from jobrunner.store.changes.moving import json_columns
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.location import locate
from jobrunner.worker.pruning import prune_on

HOLD = """
@job("hold")
def hold(ctx: Context, path: str):
    while not os.path.exists(path):
        time.sleep(0.01)
"""
OWN = {"job_events": "action <> 'move'"}
"""What a move writes itself."""
DOWN = ["downgrade", 1, "--delete-data"]
"""The first release knows no mark of a move: it would use the rows again."""


def everything(database: Database) -> dict[str, list[dict[str, Any]]]:
    """All rows of each table. JSON counts as what it says."""
    found = {}
    for table in TABLES:
        rows = database.query(f"SELECT * FROM {table.name} WHERE {OWN.get(table.name, '1 = 1')}")
        for row in rows:
            for column in json_columns(table):
                row[column] = json.loads(row[column]) if isinstance(row[column], str) else row[column]
        found[table.name] = sorted(rows, key=lambda row: [row[column.name] for column in table.primary_key])
    return found


@pytest.mark.promise("P1", "P3", "P4", "P5", "P12")
def test_everything_is_in_the_new_database_with_its_ids_and_the_old_one_names_it_to_whoever_comes(
    jobrunner: Commands, app: App, database: Database, elsewhere: Database, tmp_path: Path
) -> None:
    fill(jobrunner, app, database)
    jobrunner("schedule", "resume", "nightly")
    (parent,) = insert_runs(database, 1, "echo", run_at=database.now() + timedelta(hours=1))
    child = int(jobrunner("enqueue", "echo", "--after", parent, "--payload", '{"text": "é\\u2028", "n": 1.50}').stdout)
    before = everything(database)
    assert {name for name, rows in before.items() if rows} >= {"job_runs", "job_keys", "job_effects", "job_parents"}
    assert sum(row["checkpoint"] is not None for row in before["job_runs"]) == 2
    moved = jobrunner("move", target_of(elsewhere, tmp_path))
    count = sum(len(rows) for rows in before.values())
    assert moved.stdout.startswith(f"moved {count} rows to {elsewhere_label(elsewhere)}; there: 5 runs since ")
    assert moved.stdout.endswith(": all promises hold\n")
    assert everything(elsewhere) == before
    assert everything(database) == before
    for words in (["tick"], ["status"], ["enqueue", "echo"], ["migrate"], ["verify"], ["retry", parent], DOWN):
        jobrunner.refused(78, *words, says=["was moved to ", elsewhere_label(elsewhere), "JOBRUNNER_DATABASE_URL"])
    env = url(elsewhere)
    assert breaches_at(elsewhere.url) == []
    again = jobrunner("enqueue", "pay", "--payload", '{"order": 7}', "--key", "order:7", "--json", env=env).json()
    assert (again["id"], again["created"]) == (1, False)
    assert int(jobrunner("enqueue", "pay", "--payload", '{"order": 8}', env=env).stdout) == child + 1
    jobrunner("reschedule", parent, "--run-at", "+0s", env=env)
    jobrunner.tick(env=env)
    jobrunner.tick(env=env)
    assert [run_of(elsewhere, run_id)["status"] for run_id in (parent, child, child + 1)] == ["succeeded"] * 3
    assert elsewhere.value("SELECT count(*) FROM job_effects") == 2


def elsewhere_label(database: Database) -> str:
    return locate(database.url).label


@pytest.mark.promise("P1")
@pytest.mark.parametrize("point", MOVE_POINTS)
def test_move_that_is_killed_goes_on_where_it_was_and_meanwhile_no_program_uses_either_database(
    jobrunner: Commands, app: App, database: Database, elsewhere: Database, tmp_path: Path, point: str
) -> None:
    fill(jobrunner, app, database)
    before, target = everything(database), target_of(elsewhere, tmp_path)
    fault = {"JOBRUNNER_FAULT": f"{point}=kill"}
    while jobrunner("move", target, check=False, env=fault).returncode == -signal.SIGKILL:
        jobrunner.refused(78, "tick", says=["is being moved to "])
        jobrunner.refused(78, "migrate", says=["is being moved to ", "jobrunner move --undo"])
        if point == "move.written":
            # Each call is killed after the next slice, until there is none.
            jobrunner.refused(78, "tick", env=url(elsewhere), says=["is not complete yet"])
        else:
            fault = {}
    assert everything(elsewhere) == before
    jobrunner.refused(2, "move", target, says=["was moved to ", " already"])
    assert elsewhere.value("SELECT count(*) FROM job_events WHERE action = 'move'") == 1


def test_move_that_was_killed_at_its_end_is_ended_though_the_new_database_has_deleted_rows_since(
    jobrunner: Commands, database: Database, elsewhere: Database, tmp_path: Path
) -> None:
    insert_runs(database, 2, "echo")
    target = target_of(elsewhere, tmp_path)
    jobrunner("move", target, check=False, env={"JOBRUNNER_FAULT": "move.opened=kill"})
    elsewhere.execute("DELETE FROM job_runs WHERE id = 1")
    jobrunner("move", target)
    jobrunner.refused(78, "tick", says=["was moved to "])


@pytest.mark.promise("P1", "P2")
def test_move_waits_for_runs_at_work_and_lets_no_other_begin(
    jobrunner: Commands, app: App, database: Database, elsewhere: Database, tmp_path: Path
) -> None:
    app.add(HOLD)
    target, path = target_of(elsewhere, tmp_path), str(app.path("go"))
    running, waiting = (queue(database, "hold", {"path": path}) for _ in range(2))
    tick = jobrunner.start("tick", "--concurrency", "1")
    wait_for(lambda: run_of(database, running)["status"] == "running")
    jobrunner.refused(1, "move", target, "--wait", "0s", says=["1 run is still at work", "resume --all"])
    assert elsewhere.value("SELECT count(*) FROM job_runs") == 0
    app.end(tick, "go")
    jobrunner("move", target)
    assert [run_of(elsewhere, each)["status"] for each in (running, waiting)] == ["succeeded", "queued"]
    jobrunner.tick(env=url(elsewhere))
    assert run_of(elsewhere, waiting)["status"] == "succeeded"


def test_pause_that_a_person_has_made_before_a_move_stays(
    jobrunner: Commands, database: Database, elsewhere: Database, tmp_path: Path
) -> None:
    jobrunner("pause", "--all", "--reason", "the shop is closed")
    jobrunner("move", target_of(elsewhere, tmp_path))
    assert [each["reason"] for each in elsewhere.query("SELECT reason FROM job_pauses")] == ["the shop is closed"]


@pytest.mark.promise("P1")
def test_enqueue_that_is_acknowledged_while_a_move_begins_is_in_the_new_database(
    jobrunner: Commands, database: Database, elsewhere: Database, tmp_path: Path
) -> None:
    acknowledged: list[int] = []
    errors: list[str] = []
    never = threading.Event()

    def enqueue() -> None:
        with closing(opened(database)) as connection:
            while not errors:
                try:
                    run = library.enqueue(connection, "echo", {"n": len(acknowledged)})
                    connection.commit()
                    acknowledged.append(run.id)
                    # Otherwise it would hold the lock of an SQLite file all the time.
                    never.wait(0.005)
                except (sqlite3.Error, psycopg.Error) as error:
                    # Not the error: its frames would keep a cursor, and with it the lock of an SQLite file.
                    errors.append(str(error))

    application = threading.Thread(target=enqueue)
    application.start()
    wait_for(lambda: len(acknowledged) > 20)
    jobrunner("move", target_of(elsewhere, tmp_path))
    wait_for(lambda: not application.is_alive())
    assert "the rows of this database are being moved to " in errors[0]
    assert [row["id"] for row in elsewhere.query("SELECT id FROM job_runs ORDER BY id")] == acknowledged


@pytest.mark.promise("P1")
def test_tick_that_would_delete_after_its_runs_changes_nothing_in_a_database_that_was_moved_meanwhile(
    jobrunner: Commands, database: Database, elsewhere: Database, store: Store, tmp_path: Path
) -> None:
    """No run of it is at work any more, so a move does not wait for it."""
    old = queue(database, "echo", status="succeeded", finished_at=database.now() - timedelta(days=400))
    context = context_of(database, store)
    context.counts["claimed"] = 500
    jobrunner("move", target_of(elsewhere, tmp_path))
    prune_on(context)
    assert context.counts["pruned"] == 0
    assert status_of(database, old) == status_of(elsewhere, old) == "succeeded"


def test_tick_of_the_first_release_does_nothing_in_a_database_that_was_moved(
    jobrunner: Commands, app: App, database: Database, elsewhere: Database, first_release: Release, tmp_path: Path
) -> None:
    (run_id,) = insert_runs(database, 1, "echo")
    jobrunner("move", target_of(elsewhere, tmp_path))
    first_release.refused(78, "tick", says=["too new"])
    assert run_of(database, run_id)["status"] == "queued"
    with (
        closing(opened(database)) as connection,
        pytest.raises(Exception, match="the rows of this database are being moved"),
    ):
        connection.execute("UPDATE job_runs SET priority = 1")


def test_move_that_is_given_up_opens_the_old_database_and_its_part_elsewhere_is_refused_until_it_is_removed(
    jobrunner: Commands, app: App, database: Database, elsewhere: Database, tmp_path: Path
) -> None:
    insert_runs(database, 1, "echo")
    target = target_of(elsewhere, tmp_path)
    jobrunner("move", target, check=False, env={"JOBRUNNER_FAULT": "move.written=kill"})
    jobrunner.refused(2, "move", f"sqlite:///{tmp_path}/third.db", says=["is being moved to ", "not to "])
    assert jobrunner("move", "--undo").stdout.startswith("open again; the move to ")
    assert jobrunner("move", "--undo").stdout == "no move is under way\n"
    jobrunner.tick()
    assert run_of(database, 1)["status"] == "succeeded"
    jobrunner.refused(78, "tick", env=url(elsewhere), says=["is not complete yet", "jobrunner move fills it from"])
    jobrunner.refused(2, "move", target, says=["a move that was given up", "downgrade 0 --delete-data"])
    jobrunner("downgrade", "0", "--delete-data", env=url(elsewhere))
    jobrunner("move", target)
    assert everything(elsewhere) == everything(database)
    jobrunner.refused(2, "move", "--undo", says=["is finished"])
    jobrunner("downgrade", "0", "--delete-data")


@sqlite_only
def test_move_is_refused_before_anything_is_closed_where_it_cannot_work(
    jobrunner: Commands, database: Database, tmp_path: Path
) -> None:
    (run_id,) = insert_runs(database, 1, "echo")
    full = tmp_path / "full.db"
    env = {"JOBRUNNER_DATABASE_URL": f"sqlite:///{full}"}
    jobrunner("migrate", env=env)
    jobrunner("enqueue", "echo", env=env)
    secret = "postgresql://u:hunter2@127.0.0.1:1/x"
    for words, said in (
        ([f"sqlite:///{full}"], "has rows of its own"),
        ([database.url], "name the same database"),
        ([secret], "a password in an argument can be seen"),
        ([], "give the URL of the new database, or --undo"),
        (["@/nowhere"], "cannot be read"),
    ):
        assert "hunter2" not in jobrunner.refused(2, "move", *words, says=[said])
    jobrunner.refused(69, "move", "-", stdin=secret, says=["cannot use the database postgresql://u@127.0.0.1"])
    jobrunner.tick()
    assert run_of(database, run_id)["status"] == "succeeded"


def test_runs_of_the_old_ids_are_not_given_again_where_the_new_database_is_used_too_early(
    jobrunner: Commands, database: Database, elsewhere: Database, tmp_path: Path
) -> None:
    insert_runs(database, 3, "echo")
    target = target_of(elsewhere, tmp_path)
    jobrunner("move", target, check=False, env={"JOBRUNNER_FAULT": "move.written=kill"})
    early = insert_runs(elsewhere, 1, "echo")
    jobrunner("move", target)
    ids = [row["id"] for row in elsewhere.query("SELECT id FROM job_runs ORDER BY id")]
    assert ids == [1, 2, 3, *early]
