"""The SQL function `jobrunner_enqueue`: the rules of `enqueue` for triggers, psql and other languages."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

import jobrunner as library
from harness import Commands, PostgresDatabase, pages, postgresql_only, wait_for
from harness.binaries import find_binaries
from harness.enqueue_function import call
from harness.keys import end, runs, scope
from jobrunner.errors import NotFoundError, UsageError
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.notify import open_notifier

pytestmark = postgresql_only


@pytest.fixture
def connection(database: PostgresDatabase) -> Iterator[Any]:
    with closing(psycopg.connect(database.url, row_factory=dict_row)) as connection:
        yield connection


def test_examples_of_the_page_work_in_psql(database: PostgresDatabase) -> None:
    (block,) = pages.checked_by("tests/store/test_enqueue_function.py::test_examples_of_the_page_work_in_psql")
    script = f"""
CREATE TABLE users (name text);
{block.text}
INSERT INTO users VALUES ('Grace');
BEGIN;
INSERT INTO users VALUES ('rolled back');
ROLLBACK;
"""
    program = find_binaries() / "psql"
    done = subprocess.run(
        [program, "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--quiet", "--tuples-only", "--no-align", database.url],
        input=script,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "1\n2|created\n")
    found = [(row["job_type"], row["payload"], row["priority"], row["idempotency_key"]) for row in runs(database)]
    assert found == [
        ("greet", {"name": "Ada"}, 0, None),
        ("sync", {"account": 7}, 0, "account 7"),
        ("greet", {"name": "Grace"}, 5, None),
    ]
    later = runs(database)[1]
    assert later["run_at"] - later["created_at"] == timedelta(minutes=5)


def nested(depth: int) -> dict[str, Any]:
    """A value of this depth in the payload."""
    value: Any = 1
    for n in range(depth - 1):
        value = [value] if n % 2 else {"a": value}
    return {"a": value}


def of_size(count: int) -> dict[str, Any]:
    """A payload with many separators whose compact text has so many bytes."""
    payload: dict[str, Any] = {"a": list(range(1000)), "b": {str(n): {} for n in range(1000)}, "c": [[], {}], "d": ""}
    payload["d"] = "ä" + "x" * (count - len(json.dumps(payload, separators=(",", ":"))) - 2)
    return payload


CASES: list[dict[str, Any]] = [
    *({"job_type": name} for name in ("", "two words", "a\nb", "a\n", "-", "../x", "x" * 201, "ä", "aß", "a１")),
    *({"job_type": name} for name in ("x" * 200, "A.b:c/d-e_f", "_", "0")),
    *({"payload": value} for value in ([1], "text", 7, True, {}, {"a": None}, {"a": "%s $1 :x \\ ' ä \N{SNOWMAN}"})),
    *({"payload": nested(depth)} for depth in (2, 62, 63, 64, 65, 300)),
    *({"payload": {"a": ["[" * 100, "{" * 100]}} for _ in range(1)),
    *({"payload": of_size(256 * 1024 + more)} for more in (0, 1)),
    *({"payload": {"a": {"b": [number]}}} for number in (10**4299, 10**4300, -(10**4299), -(10**4300), 1e22, 1.5)),
    *({"payload": {"a": "1" * 5000 + "."}} for _ in range(1)),
    *({"run_at": datetime(year, 6, 1, tzinfo=UTC)} for year in (1, 1969, 1970, 9000, 9001, 9999)),
    *({"priority": number} for number in (-1001, -1000, 0, 1000, 1001, 2**31 - 1)),
    *({"max_attempts": number} for number in (-1, 0, 1, 1000, 1001)),
    *({"key": key} for key in ("", "k", "k" * 500, "ä" * 500, "k" * 501, "ä" * 501, "a\nb")),
    *({"timeout": text} for text in ("none", "0", "0s", "-5s", "soon", "", "9" * 41, "0" * 40, "1.5", "1.", ".5")),
    *({"timeout": text} for text in ("90s", "1h30m", "500ms", " 5s\n", "5S", "1 h", "1e3", "٣s", "0.0000001", "2w")),
    *({"timeout": text} for text in ("3660d", "3661d", "None", "infinity", "00:05:00")),
    *({"expires": text} for text in ("0", "0.0000001", "none", "-5s", "soon", "", "1.5", " 1h30m\n", "3660d", "3661d")),
    {"expires": "10m", "run_at": datetime(2031, 6, 1, tzinfo=UTC)},
    {"expires": "10m", "timeout": "20m"},
    *({"after": ids, "if_parent_fails": word} for ids in ([1], [2, 1, 1], [2]) for word in ("cancel", "run")),
    *({"after": ids} for ids in ([], [0], [-1], [None], [1, None], [2**63 - 1], [1] * 1000, [1] * 1001)),
    *({"if_parent_fails": word} for word in ("keep", "")),
    *({"if_taken": word} for word in ("existing", "raise", "replace", "replaced", "")),
]
COLUMNS = (
    "job_type, payload, status, priority, idempotency_key, attempts, max_attempts, timeout, run_at = created_at AS n,"
    " start_deadline_at - run_at,"
    " gate, (SELECT json_agg(json_build_array(parent_id, if_parent_fails, parent_status)) FROM job_parents)"
)


def test_function_accepts_and_refuses_what_python_does(connection: Any) -> None:
    # The parents: one that goes on, and one that is dead.
    for _ in range(2):
        call(connection)
    connection.execute("UPDATE job_runs SET status = 'dead', finished_at = updated_at WHERE id = 2")
    connection.commit()
    different = []
    for case in CASES:
        options = {"job_type": "sync", "payload": {}, **case}
        said = []
        for way in (library.enqueue, call):
            try:
                way(connection, **options)
                said.append(str(connection.execute(f"SELECT {COLUMNS} FROM job_runs ORDER BY id").fetchall()))
            except (UsageError, NotFoundError, psycopg.errors.InvalidParameterValue) as error:
                line = str(error).splitlines()[0]
                assert len(line) < 300
                said.append("refused")
            connection.rollback()
        if said[0] != said[1]:
            different.append((f"{case}"[:100], [each[:300] for each in said]))
    assert not different
    # What Python's types refuse already.
    for name in ("job_type", "payload", "priority", "if_taken", "if_parent_fails"):
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            connection.execute(
                f"SELECT jobrunner_enqueue({'' if name == 'job_type' else 'job_type => $$x$$, '}{name} => NULL)"
            )
        connection.rollback()
    for at in ("infinity", "-infinity"):
        with pytest.raises(psycopg.errors.InvalidParameterValue, match="run_at"):
            call(connection, run_at=at)
        connection.rollback()
    connection.execute("SET jobrunner.payload_limit = 10")
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="larger than 10 bytes"):
        call(connection, payload={"name": "Ada"})


@pytest.mark.promise("P4")
def test_function_keeps_the_scopes_of_keys_and_says_what_it_did(database: PostgresDatabase, connection: Any) -> None:
    scope(database, "active", "active")
    scope(database, "window", "window", 3600)
    types = ("forever", "active", "window")

    def outcomes(**options: Any) -> list[str]:
        found = [call(connection, each, key="k", **options)["outcome"] for each in types]
        connection.commit()
        return found

    assert outcomes(payload={"n": 1}, run_at=database.now() + timedelta(hours=1)) == ["created"] * 3
    assert outcomes(payload={"n": 2}) == ["existing"] * 3
    assert outcomes(payload={"n": 3}, if_taken="replace") == ["replaced"] * 3
    assert [row["payload"] for row in runs(database)] == [{"n": 3}] * 3
    assert all(row["run_at"] <= database.now() for row in runs(database))
    # One key for all ways in.
    for each, row in zip(types, runs(database), strict=True):
        assert library.enqueue(connection, each, key="k").id == row["id"]
        with pytest.raises(psycopg.errors.UniqueViolation, match=f"taken by run {row['id']}, which is queued"):
            call(connection, each, key="k", if_taken="raise")
        connection.rollback()
    database.execute("UPDATE job_runs SET attempts = 1")
    assert outcomes(if_taken="replace") == ["existing"] * 3
    end(database)
    assert outcomes() == ["existing", "created", "existing"]
    database.execute("UPDATE job_keys SET created_at = ?", [database.now() - timedelta(hours=1)])
    assert outcomes() == ["existing", "existing", "created"]
    end(database)
    database.execute("DELETE FROM job_runs")
    assert outcomes() == ["existing", "created", "existing"]
    with pytest.raises(psycopg.errors.UniqueViolation, match="which was pruned"):
        call(connection, "forever", key="k", if_taken="raise")
    connection.rollback()
    # Left by an enqueue that failed.
    database.execute("UPDATE job_keys SET run_id = NULL")
    assert outcomes() == ["created"] * 3
    keys = database.query("SELECT run_id FROM job_keys ORDER BY run_id")
    assert [row["run_id"] for row in keys] == [row["id"] for row in runs(database)][-3:]


def test_function_needs_no_search_path_and_has_the_rights_of_its_caller(database: PostgresDatabase) -> None:
    (found,) = database.query(
        "SELECT n.nspname, p.prosecdef FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace"
        " WHERE proname = 'jobrunner_enqueue'"
    )
    assert found["prosecdef"] is False
    with closing(psycopg.connect(database.url)) as connection:
        # Tables of the same names come first on the path.
        connection.execute(
            "CREATE SCHEMA other; CREATE TABLE other.job_runs (id int); CREATE TABLE other.job_keys (id int)"
        )
        for path in ("other", ""):
            connection.execute("SELECT set_config('search_path', %s, false)", [path])
            for options in ("", ", key => 'k'"):
                connection.execute(f"SELECT {found['nspname']}.jobrunner_enqueue('sync'{options})")
        connection.commit()
    assert len(runs(database)) == 3


def test_migrate_creates_the_function_again_if_it_is_lost_or_another(
    jobrunner: Commands, database: PostgresDatabase, connection: Any
) -> None:
    with database.connect() as admin:
        admin.execute("ALTER FUNCTION jobrunner_enqueue RENAME TO elsewhere")
        assert jobrunner("migrate").stdout.endswith(": created again: jobrunner_enqueue\n")
        definition = admin.execute("SELECT pg_get_functiondef('jobrunner_enqueue'::regproc) AS text").fetchone()
        assert definition is not None
        admin.execute(definition["text"].replace("-1000", "-5000").encode())
    assert jobrunner("migrate").stdout.endswith(": created again: jobrunner_enqueue\n")
    assert jobrunner("migrate").stdout.endswith(": up to date\n")
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        call(connection, priority=-1001)


def test_function_notifies_a_tick_that_listens(database: PostgresDatabase, connection: Any, store: Store) -> None:
    try:
        notifier = store.write(open_notifier)
        call(connection)
        connection.commit()
        wait_for(notifier.notifications, 20, "the notification")
        notifier.close()
    finally:
        store.close()
