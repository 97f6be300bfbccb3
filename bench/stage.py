"""Where measures take place: a PostgreSQL of their own with default durability, SQLite files, and queues of rows."""

import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
from processes import Failed, Finished, NotThere, Running, parent_of, run
from psycopg import sql
from sizes import POSTGRESQL, Sizes

from harness.commands import COMMAND, clean_environment
from harness.database import Database, PostgresDatabase, SQLiteDatabase
from harness.postgres import Access, Lifeline

BENCH = Path(__file__).parent
# What the server of the tests has switched off, as PostgreSQL itself has it.
DURABLE = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "autovacuum": "on",
    "max_wal_size": "1GB",
    "dynamic_shared_memory_type": "posix",
    "max_connections": "100",
}
_RUN = "job_type, payload, status, priority, run_at, created_at, updated_at"
_NUMBERS = "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)"
_TABLES = (
    "job_parents", "job_gates", "job_limits", "job_attempts", "job_events", "job_keys", "job_ticks", "job_runs",
    "job_definitions", "job_tallies", "job_totals",
)  # fmt: skip


class Queue:
    """A migrated database, filled by hand, and ticks on it."""

    def __init__(self, database: Database, folder: Path) -> None:
        self.database = database
        self._folder = folder

    def open(self) -> Any:
        """A connection of psycopg or sqlite3, as an application has one."""
        if isinstance(self.database, SQLiteDatabase):
            return sqlite3.connect(self.database.path, timeout=30)
        return connect(self.database.url)

    def clear(self) -> None:
        """As after a quiet hour: no rows, nothing to prune for now, nothing left for a checkpoint to write."""
        database = self.database
        if isinstance(database, PostgresDatabase):
            database.execute(f"TRUNCATE {', '.join(_TABLES)} RESTART IDENTITY")
            with database.access.admin(database.database) as connection:
                connection.execute("CHECKPOINT")
        else:
            for table in _TABLES:
                database.execute(f"DELETE FROM {table}")
            database.query("PRAGMA wal_checkpoint(TRUNCATE)")
        database.execute("UPDATE job_state SET pruned_at = ?", [database.now()])

    def add_due(self, job_type: str, count: int, payload: str = "{}", priority: int = 0) -> None:
        """Insert runs that are due since a second."""
        now = self.database.now()
        if count:
            self.database.execute(
                f"INSERT INTO job_runs ({_RUN}) {_NUMBERS}"
                " SELECT ?, '" + payload + "', 'queued', ?, ?, ?, ? FROM numbers",
                [count, job_type, priority, now - timedelta(seconds=1), now, now],
            )

    def add_limited(self, job_type: str, count: int) -> None:
        """Insert due runs of one key that is at its limit of one, in front of all others, as claims leave them."""
        now = self.database.now()
        self.database.execute("INSERT INTO job_limits (job_type, asked_at) VALUES (?, ?)", [job_type, now])
        gate = "INSERT INTO job_gates (job_type, gate, turn_at) VALUES (?, '[7]', ?)"
        self.database.execute(gate, [job_type, now if count else None])
        self.add_due(job_type, count + 1, '{"customer": 7}', priority=9)
        self.database.execute("UPDATE job_runs SET gate = '[7]' WHERE job_type = ?", [job_type])
        self.database.execute(
            "UPDATE job_runs SET status = 'running', locked_by = 'me', host = 'me', lease_token = 'me',"
            " locked_until = ?, claimed_at = run_at, started_at = run_at, attempts = 1"
            " WHERE id = (SELECT min(id) FROM job_runs WHERE job_type = ?)",
            [now + timedelta(hours=1), job_type],
        )

    def add_fair(self, job_type: str, count: int) -> None:
        """Insert due runs of one customer, in front of all others, of a type that is fair by its customers."""
        now = self.database.now()
        insert = "INSERT INTO job_limits (job_type, concurrency_key, asked_at) VALUES (?, 'customer', ?)"
        self.database.execute(insert, [job_type, now])
        insert = "INSERT INTO job_types (job_type, when_full, updated_at, fair_by) VALUES (?, 'refuse', ?, 'customer')"
        self.database.execute(insert, [job_type, now])
        self.add_due(job_type, count, '{"customer": 7}', priority=9)

    def add_finished(self, count: int) -> None:
        """Insert runs that have succeeded an hour ago."""
        at = self.database.now() - timedelta(hours=1)
        if count:
            self.database.execute(
                f"INSERT INTO job_runs ({_RUN}, finished_at, attempts, max_attempts) {_NUMBERS}"
                " SELECT 'noop', '{}', 'succeeded', 0, ?, ?, ?, ?, 1, 5 FROM numbers",
                [count, at, at, at, at],
            )

    def add_schedules(self, count: int) -> None:
        """Insert definitions of which each has one slot to be expanded: that of this minute."""
        now = self.database.now()
        seen = now.replace(second=0, microsecond=0) - timedelta(seconds=30)
        self.database.execute(
            "INSERT INTO job_definitions (name, job_type, payload, schedule, timezone, source, last_slot_at,"
            f" next_run_at, created_at, updated_at) {_NUMBERS}"
            " SELECT 'schedule ' || n, 'noop', '{}', '* * * * *', 'UTC', 'bench', ?, ?, ?, ? FROM numbers",
            [count, seen, seen + timedelta(seconds=30), seen, seen],
        )

    def churn(self, count: int, host: str | None = None) -> None:
        """Leave behind what so many runs leave that were claimed, by a host, and finished while no vacuum came by."""
        self.database.execute("ALTER TABLE job_runs SET (autovacuum_enabled = off)")
        while count > 0:
            batch, count = min(count, 10_000), count - 10_000
            self.add_due("noop", batch)
            self.database.execute(
                "UPDATE job_runs SET status = 'running', locked_by = 'me', host = ?, locked_until = run_at,"
                " lease_token = 'me', claimed_at = run_at, started_at = run_at, attempts = 1 WHERE status = 'queued'",
                [host],
            )
            self.database.execute(
                "UPDATE job_runs SET status = 'succeeded', finished_at = run_at, locked_by = NULL, host = NULL,"
                " locked_until = NULL, lease_token = NULL WHERE status = 'running'"
            )

    def settle(self) -> None:
        """Statistics and visibility as they are a while after so many rows came."""
        self.database.execute("VACUUM ANALYZE" if isinstance(self.database, PostgresDatabase) else "ANALYZE")

    def start(
        self,
        *words: object,
        handlers: str = "noop",
        host: str = "bench",
        watched: bool = False,
        command: Sequence[str] = (COMMAND,),
    ) -> Running:
        """Start a tick. Its budget is an hour: it ends when nothing is due, however slow it is."""
        environment = self.environment(handlers, host)
        return Running([*command, "tick", *map(str, words)], environment, self._folder, watched=watched)

    def environment(self, handlers: str = "noop", host: str = "bench") -> dict[str, str]:
        state = self._folder / f"state-{host}"
        state.mkdir(mode=0o700, exist_ok=True)
        return clean_environment(self._folder) | {
            "JOBRUNNER_DATABASE_URL": self.database.url,
            "JOBRUNNER_APP_DIR": str(BENCH / "jobs"),
            "JOBRUNNER_IMPORT": handlers,
            "JOBRUNNER_STATE_DIR": str(state),
            "JOBRUNNER_HOST": host,
            "JOBRUNNER_BUDGET": "1h",
        }

    def tick(
        self, *words: object, handlers: str = "noop", watched: bool = False, command: Sequence[str] = (COMMAND,)
    ) -> Finished:
        """Run a tick to its end."""
        return self.start(*words, handlers=handlers, watched=watched, command=command).wait()

    def command(self, *words: object) -> Running:
        """Start one of our commands."""
        return Running([COMMAND, *map(str, words)], self.environment(), self._folder)

    def status(self) -> Finished:
        """Run `jobrunner status` to its end."""
        return run([COMMAND, "status"], self.environment(), self._folder)

    def left(self) -> int:
        """How many runs wait."""
        return int(self.database.value("SELECT count(*) AS n FROM job_runs WHERE status = 'queued'"))

    def check_drained(self, count: int) -> None:
        """Every run succeeded, and none was tried twice."""
        succeeded = self.database.value("SELECT count(*) AS n FROM job_runs WHERE status = 'succeeded'")
        attempts = self.database.value("SELECT count(*) AS n FROM job_attempts")
        if (succeeded, attempts) != (count, count):
            raise Failed(f"{succeeded} of {count} runs succeeded, in {attempts} attempts")


def tick_has(option: str) -> None:
    """Raises NotThere where this version's tick does not know it."""
    done = subprocess.run([COMMAND, "tick", "--help"], capture_output=True, text=True)
    if option not in done.stdout:
        raise NotThere(f"tick has no {option} yet")


class Stage:
    """Everything that the measures share. Use it with `opened`."""

    def __init__(self, sizes: Sizes, folder: Path, access: Access) -> None:
        self.sizes = sizes
        self.folder = folder
        self.access = access
        self.until_end = ExitStack()
        self._queues: dict[tuple[str, str], Queue] = {}

    def environment(self) -> dict[str, str]:
        """For commands that are not ours."""
        return clean_environment(self.folder)

    def create(self, name: str) -> str:
        """An empty PostgreSQL database; its URL."""
        with self.access.admin() as connection:
            connection.execute(
                sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(name), sql.Identifier(self.access.role))
            )
        return self.access.url(name)

    def drop(self, name: str) -> None:
        """Remove such a database with everybody who still speaks to it."""
        with self.access.admin() as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def server_settings(self) -> dict[str, str]:
        """What the server says about itself: its version and what makes it durable."""
        with self.access.admin() as connection:
            names = ["server_version", "fsync", "synchronous_commit", "full_page_writes", "shared_buffers"]
            return {name: str(connection.execute(f"SHOW {name}").fetchone()[0]) for name in names}  # type: ignore[index]

    def postmaster(self) -> int:
        """The process of the server whose children all its others are."""
        with self.access.admin() as connection:
            return parent_of(connection.info.backend_pid)

    def queue(self, database: str, name: str = "main", *, cleared: bool = True) -> Queue:
        """One of the named databases, made and migrated at first use; cleared unless its rows shall stay."""
        found = self._queues.get((database, name))
        if found is None:
            found = self._queues[database, name] = Queue(self._made(database, name), self.folder)
            done = clean_environment(self.folder) | {"JOBRUNNER_DATABASE_URL": found.database.url}
            run([COMMAND, "migrate"], done, self.folder)
            found.clear()
        elif cleared:
            found.clear()
        return found

    def has(self, database: str, name: str) -> bool:
        return (database, name) in self._queues

    def _made(self, database: str, name: str) -> Database:
        if database == POSTGRESQL:
            self.create(name)
            return PostgresDatabase(self.access, name)
        path = self.folder / f"{name}.db"
        # Only a database of nobody's choosing is created by the command itself.
        path.touch(mode=0o600)
        return SQLiteDatabase(path)


@contextmanager
def opened(sizes: Sizes) -> Iterator[Stage]:
    """A stage, on the disk that holds the temporary files; nothing of it stays."""
    with closing(Lifeline(DURABLE, in_memory=False)) as lifeline:
        folder = Path(tempfile.mkdtemp(prefix="jobrunner-bench-"))
        try:
            stage = Stage(sizes, folder, lifeline.server().start())
            with stage.until_end:
                yield stage
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def connect(url: str, *, prepared: bool = True) -> psycopg.Connection[tuple[object, ...]]:
    """A connection of psycopg, as an application has one; `prepared` from the first time a statement is seen."""
    return psycopg.connect(url, prepare_threshold=0 if prepared else None)
