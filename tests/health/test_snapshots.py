"""Who keeps an old state of the database readable is named, and its remedy ends it. Whoever does not is not named.

What VACUUM leaves behind says whether it is true.
"""

import json
import sqlite3
import subprocess
import sys
from contextlib import ExitStack, closing
from datetime import timedelta
from typing import Any

from harness import Commands, Database, PostgresDatabase, SQLiteDatabase, postgresql_only, sqlite_only
from harness.invariants import insert_runs
from harness.locks import linux_tells
from harness.processes import Patient
from harness.standby import Pair
from harness.waiting import wait_for

SECOND = timedelta(seconds=1)
HAS_FEEDBACK = "pg_stat_replication WHERE backend_xmin IS NOT NULL"
ENV = {"JOBRUNNER_HEALTH_OLD_SNAPSHOT": "0s", "JOBRUNNER_HEALTH_OLD_TRANSACTIONS": "40"}
SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM job_runs"
READ = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN")
connection.execute("SELECT count(*) FROM job_runs").fetchall()
print("reads", flush=True)
sys.stdin.read()
"""


def found(jobrunner: Commands, **env: str) -> list[dict[str, Any]]:
    done = jobrunner("health", "--json", "--only", "old_snapshot", env={**ENV, **env}, check=False)
    findings = json.loads(done.stdout)["findings"]
    checks = jobrunner("doctor", "--json", "--no-crontab", env={**ENV, **env}, check=False).json()["checks"]
    warned = [each for each in checks if each["name"] == "snapshots" and each["verdict"] == "warning"]
    assert [each["remedy"] for each in warned[:1]] == [each["remedy"] for each in findings], (warned, findings)
    return list(findings)


def work(jobrunner: Commands, database: PostgresDatabase) -> None:
    """Transactions that leave dead rows behind, and a tick."""
    with closing(database.connect()) as connection:
        for _ in range(50):
            connection.execute("UPDATE job_runs SET priority = priority")
    insert_runs(database, 1)
    jobrunner.tick()


def dead_rows(database: PostgresDatabase) -> int:
    """What VACUUM leaves behind of the dead rows."""
    with closing(database.connect()) as connection:
        connection.execute("VACUUM job_runs")
        connection.execute("SELECT pg_stat_force_next_flush()")
    name = "SELECT n_dead_tup AS n FROM pg_stat_user_tables WHERE relname = 'job_runs'"
    return int(database.value(name))


def command_of(finding: dict[str, Any]) -> str:
    remedy: str = finding["remedy"]
    places = (remedy.find(words) for words in ("SELECT pg_", "ROLLBACK PREPARED", "ALTER SYSTEM"))
    return remedy[min(place for place in places if place >= 0) :]


@postgresql_only
def test_session_that_holds_a_snapshot_is_named_and_one_that_holds_none_is_not(
    jobrunner: Commands, database: Database
) -> None:
    assert isinstance(database, PostgresDatabase)
    insert_runs(database, 1, run_at=database.now() + 3600 * SECOND)
    with closing(database.connect()) as holder:
        holder.execute("SET application_name = 'shop'")
        # Open for as long, but between two snapshots.
        holder.execute("BEGIN; SELECT count(*) FROM job_runs")
        work(jobrunner, database)
        assert found(jobrunner) == []
        assert dead_rows(database) == 0
        holder.execute("ROLLBACK")
        holder.execute(SNAPSHOT)
        work(jobrunner, database)
        (finding,) = found(jobrunner)
        pid = holder.info.backend_pid
        named = f"session {pid} of the role {database.access.role} (shop at 127.0.0.1), idle in transaction, for "
        assert named in finding["sentence"]
        assert finding["sentence"].endswith(" transactions")
        assert dead_rows(database) >= 50
        assert found(jobrunner, JOBRUNNER_HEALTH_OLD_SNAPSHOT="1h") == []
        assert found(jobrunner, JOBRUNNER_HEALTH_OLD_TRANSACTIONS="100000") == []
        database.execute(command_of(finding))
        assert found(jobrunner) == []
        assert dead_rows(database) == 0


def test_each_other_holder_is_named_with_a_remedy_that_ends_it_and_a_logical_slot_is_none(
    pair: Pair, jobrunner_on_pair: Commands
) -> None:
    jobrunner, database = jobrunner_on_pair, pair.database
    pair.set_synchronous("")
    insert_runs(database, 1, run_at=database.now() + 3600 * SECOND)

    def is_named(words: str, executed_on: PostgresDatabase = database) -> None:
        work(jobrunner, database)
        (finding,) = found(jobrunner)
        assert words in finding["sentence"], finding
        assert dead_rows(database) >= 50, words
        with executed_on.access.admin(executed_on.database) as admin:
            for statement in command_of(finding).split("; "):
                admin.execute(statement)
        wait_for(lambda: found(jobrunner) == [], 20, f"the end of {words}")
        assert dead_rows(database) == 0, words

    def on_standby(setting: str, value: str) -> None:
        with pair.standby.access.admin() as admin:
            admin.execute(f"ALTER SYSTEM SET {setting} = '{value}'")
            admin.execute("SELECT pg_reload_conf()")

    def has(question: str) -> None:
        wait_for(lambda: database.value(f"SELECT count(*) AS n FROM {question}") == 1, 20, question)

    with ExitStack() as stack:
        # Of another role: ours may not see what it does, nor since when.
        other = stack.enter_context(closing(database.access.admin(database.database)))
        other.execute(SNAPSHOT)
        is_named(", doing what only that role may see, for ")
    with closing(database.connect()) as session:
        session.execute("BEGIN")
        session.execute("UPDATE job_state SET counted_to = counted_to")
        session.execute("PREPARE TRANSACTION 'it''s 7'")
    is_named("the prepared transaction 'it's 7' of the role ")
    with pair.access.admin(database.database) as admin:
        admin.execute("SELECT pg_create_logical_replication_slot('changes', 'pgoutput')")
        work(jobrunner, database)
        assert found(jobrunner) == []
        assert dead_rows(database) == 0
        admin.execute("SELECT pg_drop_replication_slot('changes')")
        admin.execute("SELECT pg_create_physical_replication_slot('copy')")
    for slot, words in (
        ("", "the standby of the session "),
        ("copy", "the standby of the replication slot copy, for "),
    ):
        on_standby("primary_slot_name", slot)
        on_standby("hot_standby_feedback", "on")
        with closing(pair.standby.connect()) as reader:
            reader.execute(SNAPSHOT)
            has("pg_replication_slots WHERE xmin IS NOT NULL" if slot else HAS_FEEDBACK)
            is_named(words, pair.standby)
    on_standby("hot_standby_feedback", "on")
    with closing(pair.standby.connect()) as reader:
        reader.execute(SNAPSHOT)
        has("pg_replication_slots WHERE xmin IS NOT NULL")
        pair.cut()
        has("pg_replication_slots WHERE NOT active")
        is_named("the replication slot copy, which nothing uses, for ")


@linux_tells
@sqlite_only
def test_process_that_reads_an_old_state_of_a_file_while_its_log_grows_is_named(
    jobrunner: Commands, database: Database
) -> None:
    assert isinstance(database, SQLiteDatabase)
    insert_runs(database, 1)
    one_mebibyte = {"JOBRUNNER_HEALTH_OLD_LOG": "1"}

    def grow(times: int) -> None:
        for number in range(times):
            # SQLite writes no page that stays as it is.
            database.execute("UPDATE job_runs SET payload = ?", [json.dumps({"text": "xy"[number % 2] * 300_000})])

    command = [sys.executable, "-c", READ, str(database.path)]
    with Patient(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "reads\n"
        grow(1)
        assert found(jobrunner, **one_mebibyte) == []
        grow(5)
        with closing(sqlite3.connect(database.path)) as new:
            # It began later: the log waits for the other one.
            new.execute("BEGIN")
            new.execute("SELECT count(*) FROM job_runs").fetchall()
            (finding,) = found(jobrunner, **one_mebibyte)
        assert f"process {reader.pid} (" in finding["sentence"]
        assert " MiB of changes" in finding["sentence"]
        assert finding["remedy"].endswith(f"kill {reader.pid}")
        assert found(jobrunner) == []
        reader.kill()
        reader.wait(10)
    assert found(jobrunner, **one_mebibyte) == []
    # A log that is as large, and that nobody holds.
    grow(6)
    assert found(jobrunner, **one_mebibyte) == []
