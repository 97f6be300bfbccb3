"""Every statement of the store is either explained beside a long history, or listed with a reason."""

import ast
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import jobrunner.store
from harness import App, Commands, Database
from harness.plan_calls import BUSY, IDLE, OLD, Call
from harness.plan_people import PEOPLE
from harness.plan_searches import ASKED, LOOK
from harness.plans import Undone, fill_a_little
from harness.statements import before_statements
from jobrunner.store.drivers.database import Database as Store

STORE = Path(jobrunner.store.__file__).parent
ROOMS = ("changes", "questions", "timetable", "upkeep", "queue", "callers", "drivers")
# What carries the statements, or runs once.
BELOW = ("database", "locks", "migrate", "notify", "raw_driver", "reading", "steps")
CONNECTED = ("connection", "caller")


def calls_of(source: str) -> set[str]:
    """The public functions of a module whose first parameter is a connection."""
    return {
        node.name
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and _is_connected(node)
    }


def _is_connected(node: ast.FunctionDef) -> bool:
    return bool(node.args.args) and node.args.args[0].arg in CONNECTED


def sending() -> set[str]:
    # The dialect's own functions send parts of those, and migrations run once.
    files = [path for room in ROOMS for path in (STORE / room).rglob("*.py") if path.stem not in BELOW]
    return {f"{name_of(path)}.{call}" for path in files for call in calls_of(path.read_text(encoding="utf-8"))}


def name_of(path: Path) -> str:
    return f"explain.{path.stem}" if path.parent.name == "explain" else path.stem


def test_every_call_of_the_store_has_its_plans_checked() -> None:
    # "claims.claim of 200 types" is one more case of "claims.claim".
    explained = {name.split()[0] for name in (*IDLE, *BUSY, *OLD, *LOOK, *ASKED)}
    forgotten = sending() - explained - PEOPLE.keys()
    assert not forgotten, f"explain them in harness/plan_people.py: {sorted(forgotten)}"


def test_exceptions_from_plan_checks_are_still_needed() -> None:
    explained = {name.split()[0] for name in (*IDLE, *BUSY, *OLD, *LOOK, *ASKED)}
    assert not explained & PEOPLE.keys()
    assert (explained | PEOPLE.keys()) <= sending()


def test_a_call_is_known_by_its_connection() -> None:
    source = "def ask(connection: Connection) -> int: ...\ndef _part(connection: Connection): ...\ndef pure(at): ..."
    assert calls_of(source) == {"ask"}


LISTENER = """
import os
from jobrunner.store.drivers.connection import Connection

send = Connection._send

def note(connection, known, parameters):
    with open(os.environ["STATEMENTS_FILE"], "a") as file:
        file.write(" ".join(known.text.split()) + "\\n")
    return send(connection, known, parameters)

Connection._send = note
"""
HANDLERS = """
from jobrunner import Snooze, job

@job("known", max_waiting=1000)
def known(ctx, end="well"):
    ctx.progress(1)
    if end == "badly":
        raise RuntimeError
    if end == "later":
        raise Snooze("1h")

@job("known_too")
def known_too(ctx):
    pass
"""


def shape(statement: str) -> str:
    """The text without what differs from call to call: names of parameters, and how many there are in a list."""
    bare = re.sub(r"%\(\w+\)s(::[A-Z]+( PRECISION)?(\[\])?)?|(?<!:):[a-z]\w*|\?", "?", " ".join(statement.split()))
    return re.sub(r"\?(, \?)+", "?", bare)


def shapes_of(store: Store, calls: dict[str, Call]) -> set[str]:
    sent: set[str] = set()

    def note(_: Any, statement: str, __: Any) -> None:
        sent.add(shape(statement))

    def undone(work: Call) -> Callable[[Any], None]:
        def write(connection: Any) -> None:
            work(connection)
            raise Undone

        return write

    with before_statements(store, note):
        for work in calls.values():
            with pytest.raises(Undone):
                store.write(undone(work))
    return sent


def test_busy_tick_sends_only_statements_with_checked_plans(
    database: Database, jobrunner: Commands, app: App, tmp_path: Path, store: Store
) -> None:
    app.write("handlers", HANDLERS)
    (tmp_path / "sitecustomize.py").write_text(LISTENER)
    statements = tmp_path / "statements"
    for payload in ({}, {"end": "badly"}, {"end": "later"}):
        jobrunner.enqueue("known", payload)
    jobrunner("schedule", "add", "each", "--type", "known_too", "--cron", "* * * * *")
    database.execute(
        "UPDATE job_definitions SET last_slot_at = ?, next_run_at = NULL", [database.now() - timedelta(hours=1)]
    )
    lost = jobrunner.enqueue("known_too")
    expired = database.now() - timedelta(hours=1)
    database.execute(
        "UPDATE job_runs SET status = 'running', lease_token = 't', locked_by = 'o', host = 'h', locked_until = ?,"
        " claimed_at = ?, started_at = ?, attempts = 1 WHERE id = ?",
        [expired, expired, expired, lost],
    )
    jobrunner.tick(env={"PYTHONPATH": str(tmp_path), "STATEMENTS_FILE": str(statements)})
    assert database.value("SELECT count(*) AS n FROM job_attempts") >= 4
    try:
        fill_a_little(database)
        known = shapes_of(store, IDLE | BUSY | OLD)
    finally:
        store.close()
    sent = {shape(line) for line in statements.read_text().splitlines()}
    unknown = sorted(line for line in sent - known if touches_a_growing_table(line))
    assert not unknown, "\n".join(unknown)


def touches_a_growing_table(statement: str) -> bool:
    return any(table in statement for table in ("job_runs", "job_attempts", "job_ticks", "job_events", "job_keys"))
