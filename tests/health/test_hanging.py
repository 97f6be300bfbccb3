"""A database that does not answer, and one where somebody holds a lock: every command finds it out in its time.

The walks below put each command to each table and each answer: all of it is `long`. Those of every day meet every table
and every kind of silence, and draw the commands and the moments by the seed of the run. Where nobody answers, commands
are told to have less patience than they have by default.
"""

import re
import sqlite3
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest

from harness import Commands, PostgresDatabase, SQLiteDatabase, postgresql_only, sqlite_only
from harness.calls import WITH_A_SCHEMA
from harness.databases import Copies
from harness.handlers_rows import queue
from harness.long import draw
from harness.silence import silent_after
from harness.waiting import stretched
from jobrunner.cli.program import MODULES
from jobrunner.settings.config import load
from jobrunner.store.drivers import waits
from jobrunner.store.schema import metadata
from jobrunner.store.sql.versions import VERSION_TABLE


def source_of(module: str) -> str:
    found = find_spec(module)
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).read_text()


# watch and run are no part of it: they ask again until their run has ended, whatever a tick says meanwhile.
COMMANDS = [
    *(words for words in WITH_A_SCHEMA if words[0] not in ("watch", "run")),
    ["migrate"],
    ["enqueue", "echo", "--key", "k"],
]
# What may read or write many rows may take its time, once the database has answered.
MANY_ROWS = (
    "migrate",
    "cancel --all",
    *(words for words, module in MODULES.items() if "for_many_rows=True" in source_of(module)),
)
QUICK_COMMANDS = [words for words in COMMANDS if not " ".join(words).startswith(MANY_ROWS)]
TABLES = [*metadata.tables, VERSION_TABLE]
# Whom each table is needed by, whatever the sample.
NEEDED_BY = {
    "job_attempts": ["show", "1"],
    "job_definitions": ["tick"],
    "job_effects": ["effects", "list"],
    "job_events": ["cancel", "1"],
    "job_gates": [],
    "job_hosts": [],
    "job_keys": ["enqueue", "echo", "--key", "k"],
    "job_limits": ["status"],
    "job_locks": ["apply"],
    "job_notices": ["status"],
    "job_parents": [],
    "job_pauses": ["pauses"],
    "job_runs": ["tick"],
    "job_schema_version": ["status"],
    "job_set_limits": ["limits"],
    "job_state": ["run", "echo"],
    "job_tallies": ["stats"],
    "job_totals": [],
    "job_ticks": ["tick"],
    "job_types": ["enqueue", "echo"],
}
LEASE = {"JOBRUNNER_LEASE": "8s"}
PATIENCE = timedelta(seconds=3)
SOON = {**LEASE, "JOBRUNNER_PATIENCE": f"{PATIENCE.total_seconds():g}s"}
LIMIT = waits.Waits.of(waits.COMMAND).call + 10
"""Seconds. The limit of the longest wait, and what a busy machine needs to start so many programs."""
# On a busy machine the client may cut a call before the server does. It names the holder all the same.
NAMED = (
    r"jobrunner: (?:cannot use|lost the connection to) the database [^\n]*:"
    r" session {pid} of the role {role} holds a lock that is needed "
)
SINCE = r"\(idle in transaction, its transaction open since 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC\)"
ENDING = r"; let it [^\n]* SELECT pg_terminate_backend\(\d+\)\n"


def sample(count: int, *, greets: bool) -> list[tuple[list[str], int, bool]]:
    chosen = draw("silence")
    return [(chosen.choice(QUICK_COMMANDS), chosen.randrange(12), greets) for _ in range(count)]


@pytest.fixture
def copies(postgres_copies: Copies) -> Iterator[list[PostgresDatabase]]:
    """A database for each table, with one run, one attempt's worth of history and one schedule."""
    made = [postgres_copies.make() for _ in TABLES]
    for database in made:
        fill(database)
    yield made
    for database in made:
        postgres_copies.drop(database.database)


def fill(database: PostgresDatabase) -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    queue(database, "echo", run_at=datetime(2100, 1, 1, tzinfo=UTC))
    database.execute(
        "INSERT INTO job_definitions (name, job_type, payload, schedule, timezone, source, last_slot_at, created_at,"
        " updated_at) VALUES ('n', 'echo', '{}', '@yearly', 'UTC', 'cli', ?, ?, ?)",
        [at] * 3,
    )


def wait_for_all(started: "Iterable[subprocess.Popen[str]]", seconds: float = LIMIT) -> list[tuple[int, str]]:
    """The exit code and the words of each, none of which takes longer than it may."""
    ends_at = time.monotonic() + stretched(seconds)
    ended = []
    for process in started:
        _, stderr = process.communicate(timeout=max(0.1, ends_at - time.monotonic()))
        ended.append((process.returncode, stderr))
    return ended


def nobody_waits(database: PostgresDatabase) -> None:
    database.wait_until(
        "SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = current_database()"
        " AND application_name = 'jobrunner'",
        describe="the end of all sessions of ours",
    )


def put_to_locks(jobrunner: Commands, cases: "list[tuple[PostgresDatabase, str, list[list[str]]]]") -> None:
    """With the usual patience."""
    with ExitStack() as stack:
        started = []
        for database, table, commands in cases:
            holder = stack.enter_context(closing(psycopg.connect(database.url)))
            holder.execute(f"LOCK TABLE {table}")
            env = {"JOBRUNNER_DATABASE_URL": database.url, **LEASE}
            named = re.compile(NAMED.format(pid=holder.info.backend_pid, role=database.access.role) + SINCE + ENDING)
            started += [(named, table, words, jobrunner.start(*words, env=env)) for words in commands]
        for (named, table, words, _), (code, stderr) in zip(
            started, wait_for_all(process for *_, process in started), strict=True
        ):
            is_first_of_all = table == VERSION_TABLE or (table == "job_state" and words != ["migrate"])
            is_needed = words == NEEDED_BY[table] or is_first_of_all
            assert code == 69 or not is_needed, (table, words, code, stderr)
            if code == 69:
                assert named.fullmatch(stderr), (table, words, stderr)
        # Still locked: whoever gave up does not go on waiting on the server.
        for database, _, _ in cases:
            nobody_waits(database)


@postgresql_only
def test_holder_of_a_table_lock_is_named_within_seconds_and_no_session_keeps_waiting(
    jobrunner: Commands, copies: list[PostgresDatabase]
) -> None:
    chosen = draw("locks")
    put_to_locks(
        jobrunner,
        [
            (database, table, [*filter(None, [NEEDED_BY[table]]), chosen.choice(QUICK_COMMANDS)])
            for database, table in zip(copies, TABLES, strict=True)
        ],
    )


@pytest.mark.long
@postgresql_only
@pytest.mark.parametrize("table", TABLES)
def test_every_command_names_the_holder_of_a_table_lock(
    jobrunner: Commands, copies: list[PostgresDatabase], table: str
) -> None:
    put_to_locks(jobrunner, [(copies[0], table, COMMANDS)])


def put_to_silence(
    jobrunner: Commands,
    database: PostgresDatabase,
    cases: Iterable[tuple[list[str], int, bool]],
    waiting: dict[str, str],
) -> None:
    """``waiting`` are the settings of the commands, which say how long they wait."""
    limit = f"{waits.Waits.of(load(waiting).patience).call:g}"
    fill(database)
    with ExitStack() as stack:
        started = []
        for words, answers, greets in cases:
            url = stack.enter_context(silent_after(database.url, answers, greets=greets))
            env = {"JOBRUNNER_DATABASE_URL": url, **waiting}
            started.append((words, answers, jobrunner.start(*words, env=env)))
        ended = wait_for_all(process for *_, process in started)
        for (words, answers, _), (code, stderr) in zip(started, ended, strict=True):
            # Whoever had all its answers by then is content, or has what it says about the run or the schedule.
            assert code in (0, 1, 2, 69), (words, answers, stderr)
            if code == 69:
                # A lock may be held by the session of another command that was put to silence.
                call = re.escape(limit) if words != ["tick"] else "2"
                said = rf"no answer for {call} s|did not answer in time|holds a lock that is needed \([^\n]*\)"
                assert re.fullmatch(rf"jobrunner: [^\n]* ({said})(; [^\n]*)?\n", stderr), (
                    words,
                    answers,
                    stderr,
                )
            assert code == 69 or answers > 3, (words, answers, stderr)
        # Neither holds a lock: those that were left in a transaction are ended by the server.
        database.wait_until(
            "SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = current_database()"
            " AND application_name = 'jobrunner' AND xact_start IS NOT NULL",
            deadline_seconds=LIMIT,
            describe="the end of what was left in a transaction",
        )


@postgresql_only
def test_silent_server_or_pooler_is_detected_by_every_command(jobrunner: Commands, database: PostgresDatabase) -> None:
    """From the first byte on, and after some answers; a paused pooler lets everybody in."""
    firsts = [(["tick"], 0, False), (["tick"], 0, True), (["status"], 0, True), (["migrate"], 1, False)]
    put_to_silence(jobrunner, database, [*firsts, *sample(6, greets=False)], SOON)


@pytest.mark.long
@postgresql_only
@pytest.mark.parametrize("greets", [False, True], ids=["silent", "paused"])
@pytest.mark.parametrize("answers", range(12))
def test_silent_server_is_detected_by_each_single_command(
    jobrunner: Commands, database: PostgresDatabase, answers: int, greets: bool
) -> None:
    put_to_silence(jobrunner, database, [(words, answers, greets) for words in QUICK_COMMANDS], LEASE)


@postgresql_only
def test_commit_that_was_given_up_ends_on_the_server(jobrunner: Commands, database: PostgresDatabase) -> None:
    """No time limit of the server ends a COMMIT, such as one that waits for a standby: the cancel request does."""
    database.execute(
        "CREATE FUNCTION wait_long() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN PERFORM pg_sleep(600); RETURN NULL; END $$;"
        " CREATE CONSTRAINT TRIGGER wait_long AFTER INSERT ON job_ticks DEFERRABLE INITIALLY DEFERRED"
        " FOR EACH ROW EXECUTE FUNCTION wait_long()"
    )
    done = jobrunner.tick("-v", env=LEASE, check=False)
    assert done.returncode == 69
    assert "no answer for 2 s" in done.stderr
    nobody_waits(database)


@sqlite_only
def test_locked_file_is_reported_in_time_by_every_command_that_needs_it(
    jobrunner: Commands, database: SQLiteDatabase, tmp_path: Path
) -> None:
    """Those that only read go on, unless the file was never migrated: its journal keeps readers out, too."""
    other = tmp_path / "others.db"
    writing = [["tick"], ["enqueue", "echo"], ["migrate"], ["schedule", "pause", "--all"]]
    env = {**SOON, "JOBRUNNER_DATABASE_URL": f"sqlite:///{other}"}
    with closing(database.connect()) as holder, closing(sqlite3.connect(other, isolation_level=None)) as stranger:
        holder.execute("BEGIN IMMEDIATE")
        stranger.execute("BEGIN EXCLUSIVE")
        reading = jobrunner.start("status", env=SOON)
        started = [jobrunner.start(*words, env=SOON) for words in writing]
        started += [jobrunner.start(*words, env=env) for words in (["migrate"], ["status"], ["tick"])]
        ended = wait_for_all([reading, *started], 2 * PATIENCE.total_seconds() + 10)
    assert ended.pop(0) == (0, "")
    for process, (code, stderr) in zip(started, ended, strict=True):
        assert (code, len(stderr.splitlines())) == (69, 1), (process.args, code, stderr)
        assert re.search(r": another process holds its lock;| holds the write lock of the file; let it end", stderr)
