"""Many rows in one parameter of a statement: stored like single INSERTs, with a constant statement text."""

from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import insert, select

from harness import Database
from harness.statements import before_statements
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.schema import job_runs
from jobrunner.store.sql.dialect.rows import rows

AT = datetime(2026, 3, 29, 1, 30, 0, 123457, tzinfo=UTC)
ALWAYS = {"job_type": "any", "status": "queued", "run_at": AT, "created_at": AT, "updated_at": AT}
# What JSON within JSON, or a number that passes through a double, would spoil.
HARD: list[dict[str, Any]] = [
    {
        "payload": {
            "a": 1,
            "é": "😀\x01\x7f\u2028\"\\/'?%s:x",
            "n": 2**70,
            "b": 2**53 + 1,
            "f": 0.1,
            "deep": [[{"x": None}]],
        },
        "output": "é😀\"\\\x01\x7f'?%s:x\n" * 5000,
        "timeout": 0.1,
    },
    {"payload": {}, "output": "", "timeout": 1e-300, "result": "a text"},
    {"payload": {"k": [True, False, 1.0, 1e15]}, "output": "null", "timeout": 1e8 / 3, "result": [1, 2.5, "x"]},
    {"payload": {"k": " "}, "output": "[1]", "timeout": 5.0, "result": 0},
    {
        "payload": {"k": ""},
        "timeout": 0.0,
        "result": False,
        "updated_at": datetime(9999, 12, 30, 23, 59, 59, 999999, UTC),
    },
    {"payload": {"result": None}, "priority": -3, "created_at": datetime(1970, 1, 1, tzinfo=UTC)},
]
NAMES = ("id", "payload", "priority", "timeout", "result", "output", *ALWAYS)


def stored(database: Database, first_id: int) -> list[dict[str, Any]]:
    """The columns as the database holds them, with their storage classes on SQLite."""
    more = ", ".join(f"typeof({name}) AS type_of_{name}, hex({name}) AS hex_{name}" for name in NAMES[1:])
    if database.name == "postgresql":
        more = ", ".join(f"{name}::text AS text_{name}" for name in NAMES[1:])
    statement = (
        f"SELECT id - {first_id} AS n, {more} FROM job_runs WHERE id >= {first_id} ORDER BY id LIMIT {len(HARD)}"
    )
    return database.query(statement)


def test_rows_are_stored_as_single_inserts_store_them(store: Store, database: Database) -> None:
    given = rows("given", {name: job_runs.c[name].type for name in NAMES})
    together, alone = 2**60, 2**61
    listed = [{"priority": 0, **ALWAYS, **row, "id": together + n, "unknown": object} for n, row in enumerate(HARD)]

    def work(connection: Connection) -> None:
        for n, row in enumerate(HARD):
            connection.execute(insert(job_runs).values(**{"priority": 0, **ALWAYS, **row, "id": alone + n}))
        connection.execute(insert(job_runs).from_select(list(NAMES), select(*given.c)), {"given": listed})

    store.write(work)
    found = stored(database, together)
    assert len(found) == len(HARD)
    assert found == stored(database, alone)
    payloads = [
        row["payload"] for row in database.query(f"SELECT payload FROM job_runs WHERE id < {alone} ORDER BY id")
    ]
    assert payloads == [row["payload"] for row in HARD]


def test_the_statement_is_the_same_for_any_number_of_rows_and_keeps_their_order(store: Store) -> None:
    given = rows("given", {"id": job_runs.c.id.type, "job_type": job_runs.c.job_type.type})
    sent: list[str] = []

    def read(count: int) -> list[int]:
        listed = [{"id": (n * 7919) % 1009} for n in range(count)]
        statement = select(given.c.id, given.c.job_type)
        found = store.read(lambda connection: connection.execute(statement, {"given": listed}).all())
        assert [tuple(row) for row in found] == [(row["id"], None) for row in listed]
        return [row["id"] for row in listed]

    with before_statements(store, lambda _, text, __: sent.append(text)):
        assert [len(read(count)) for count in (0, 1, 1000)] == [0, 1, 1000]
    assert len(set(sent) - {"BEGIN"}) == 1


def test_a_naive_instant_is_refused(store: Store) -> None:
    given = rows("given", {"run_at": job_runs.c.run_at.type})
    naive = [{"run_at": AT.replace(tzinfo=None)}]
    with pytest.raises(Exception, match="time zone"):
        store.read(lambda connection: connection.execute(select(given.c.run_at), {"given": naive}).all())
