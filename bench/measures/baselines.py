"""What everything else is compared to, measured in the same rounds."""

import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing

from plan import Line, measure
from processes import run
from sizes import BOTH, POSTGRESQL
from stage import Stage, connect

PASS = "python -c pass"
PASS_PROCESSOR_TIME = "python -c pass: processor time"
PASS_MEMORY = "python -c 'import time; …': peak memory"
CONNECT = "psycopg: connect, select 1"
RAW = "raw loop, {db}"
RAW_EACH = "raw loop, each outcome committed, {db}"
RAW_UNPREPARED = "raw loop, PostgreSQL, unprepared"
IDEAL_SLOW = "slow runs: the ideal time"
IDEAL_WAITING = "waiting runs: the ideal time"
ONE_CORE, ONE_SECOND, ALL_LOOKS = "one core", "one second", "all looks"
_BATCH = 100
_SELECT_ONE = "import psycopg, sys; psycopg.connect(sys.argv[1]).execute('select 1').fetchone()"
# A table of the shape of a queue, which stays as it is whatever becomes of job_runs.
_CREATE = (
    "CREATE TABLE IF NOT EXISTS raw (id integer PRIMARY KEY, job_type text NOT NULL, payload text NOT NULL,"
    " status text NOT NULL, run_at bigint NOT NULL, attempts integer NOT NULL, locked_by text, locked_until bigint,"
    " lease_token text, finished_at bigint)"
)
_INDEX = "CREATE INDEX IF NOT EXISTS raw_due ON raw (job_type, run_at, id) WHERE status = 'queued'"
_ROW = "'noop', '{}', 'queued', 0, 0"
_COLUMNS = "id, job_type, payload, status, run_at, attempts"
_DUE = f"SELECT id FROM raw WHERE status = 'queued' AND job_type = 'noop' ORDER BY run_at, id LIMIT {_BATCH}"
_RUNNING = "status = 'running', attempts = attempts + 1, locked_by = 'me', locked_until = 60, lease_token ="
_ENDED = "status = 'succeeded', finished_at = 1, locked_by = NULL, locked_until = NULL, lease_token = NULL"
_CLAIM = (
    f"WITH picked AS MATERIALIZED ({_DUE} FOR UPDATE SKIP LOCKED)"
    f" UPDATE raw SET {_RUNNING} %s WHERE id IN (SELECT id FROM picked) RETURNING id, job_type, payload, attempts"
)
_FINALIZE = f"UPDATE raw SET {_ENDED} WHERE id = ANY(%s) AND lease_token = %s"
_CLAIM_SQLITE = f"UPDATE raw SET {_RUNNING} ? WHERE id IN ({_DUE}) RETURNING id, job_type, payload, attempts"
_FINALIZE_SQLITE = f"UPDATE raw SET {_ENDED} WHERE id = ? AND lease_token = ?"


@measure(Line(PASS, "s"), Line(PASS_PROCESSOR_TIME, "ms"), group="baselines", times=5)
def interpreter(stage: Stage) -> Iterator[float]:
    """The whole process `python -c pass`, and its processor time."""
    done = run([sys.executable, "-c", "pass"], stage.environment(), stage.folder)
    yield done.seconds
    yield done.processor_seconds * 1000


@measure(Line(PASS_MEMORY, "MB"), group="baselines")
def interpreter_memory(stage: Stage) -> Iterator[float]:
    """The peak memory of an interpreter that sleeps for 0.2 s."""
    command = [sys.executable, "-c", "import time; time.sleep(0.2)"]
    yield run(command, stage.environment(), stage.folder, watched=True).peak_bytes / 1e6


@measure(Line(CONNECT, "s"), group="baselines", times=5)
def select_one(stage: Stage) -> Iterator[float]:
    """The whole process that imports psycopg, connects and asks `select 1`."""
    command = [sys.executable, "-c", _SELECT_ONE, stage.access.url("postgres")]
    yield run(command, stage.environment(), stage.folder).seconds


@measure(Line(RAW.format(db="PostgreSQL"), "runs/s"), group="baselines", batch=_BATCH, prepared=True)
def raw_prepared(stage: Stage) -> Iterator[float]:
    """One process and connection, psycopg, prepared: claim 100, commit, finalize 100, commit, until nothing is due.

    The rows are there, the connection is open and both statements were used before the clock starts.
    """
    yield _raw_postgresql(stage, stage.sizes.raw_rows, prepared=True)


@measure(Line(RAW_UNPREPARED, "runs/s"), group="baselines", batch=_BATCH, prepared=False)
def raw_unprepared(stage: Stage) -> Iterator[float]:
    """The same without prepared statements."""
    yield _raw_postgresql(stage, stage.sizes.raw_rows, prepared=False)


@measure(Line(RAW.format(db="SQLite"), "runs/s"), group="baselines", batch=_BATCH, journal="WAL", synchronous="FULL")
def raw_sqlite(stage: Stage) -> Iterator[float]:
    """The same with sqlite3, WAL and synchronous FULL."""
    yield _raw_sqlite(stage, stage.sizes.raw_rows)


@measure(Line(RAW_EACH, "runs/s"), group="baselines", on=BOTH, batch=_BATCH)
def raw_each(stage: Stage, database: str) -> Iterator[float]:
    """The same (psycopg prepared) on fewer rows (`few_runs`): claim 100, commit, then finalize and commit each one."""
    loop = _raw_postgresql if database == POSTGRESQL else _raw_sqlite
    yield loop(stage, stage.sizes.few_runs, at_once=1)


def _raw_postgresql(stage: Stage, rows: int, *, prepared: bool = True, at_once: int = _BATCH) -> float:
    queue = stage.queue("PostgreSQL")
    with connect(queue.database.url, prepared=prepared) as connection:
        connection.execute(_CREATE)
        connection.execute(_INDEX)
        connection.execute("TRUNCATE raw")
        connection.execute(f"INSERT INTO raw ({_COLUMNS}) SELECT n, {_ROW} FROM generate_series(1, %s) AS n", [rows])
        connection.execute("ANALYZE raw")
        connection.commit()
        # Claimed and rolled back: what is prepared is prepared.
        warm = [row[0] for row in connection.execute(_CLAIM, ["me"])]
        connection.execute(_FINALIZE, [warm, "me"])
        connection.rollback()
        began = time.perf_counter()
        while True:
            ids = [row[0] for row in connection.execute(_CLAIM, ["me"])]
            connection.commit()
            if not ids:
                return rows / (time.perf_counter() - began)
            for first in range(0, len(ids), at_once):
                connection.execute(_FINALIZE, [ids[first : first + at_once], "me"])
                connection.commit()


def _raw_sqlite(stage: Stage, rows: int, *, at_once: int = _BATCH) -> float:
    path = stage.folder / "raw.db"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(_CREATE)
        connection.execute(_INDEX)
        connection.execute("BEGIN")
        connection.executemany(f"INSERT INTO raw ({_COLUMNS}) VALUES (?, {_ROW})", ((n,) for n in range(rows)))
        connection.execute("COMMIT")
        began = time.perf_counter()
        while True:
            connection.execute("BEGIN IMMEDIATE")
            ids = [row[0] for row in connection.execute(_CLAIM_SQLITE, ["me"]).fetchall()]
            connection.execute("COMMIT")
            if not ids:
                return rows / (time.perf_counter() - began)
            for first in range(0, len(ids), at_once):
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany(_FINALIZE_SQLITE, ((each, "me") for each in ids[first : first + at_once]))
                connection.execute("COMMIT")


@measure(
    Line(IDEAL_SLOW, "s"),
    Line(IDEAL_WAITING, "s"),
    Line(ONE_CORE, "cores"),
    Line(ONE_SECOND, "s"),
    Line(ALL_LOOKS, "share"),
    group="baselines",
)
def ideals(stage: Stage) -> Iterator[float]:
    """Nothing is timed: what the runs would take if all else took no time; one core; one second; all looks."""
    sizes = stage.sizes
    yield sizes.slow_runs * sizes.slow_seconds / 20
    yield max(1.0, sizes.waiting_runs / 500) * sizes.waiting_seconds
    yield 1.0
    yield 1.0
    yield 1.0
