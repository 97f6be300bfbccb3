"""What a page costs: at most eight statements, whatever the number of rows, and nothing while nobody looks."""

from datetime import timedelta
from typing import Any

import pytest

from harness import Database
from harness.invariants import insert_runs
from harness.web import Asked, one_of_each, paths
from jobrunner.store.drivers.connection import Connection

MOST = 8
# It asks who keeps an old snapshot, and while a run waits for too long, who holds a lock.
MOST_OF_FIRST = 10
# With all that the page shows it explains a run.
MOST_OF_STATUS = 13


class Sent:
    """The statements that pages send, without the begin of their transactions."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.texts: list[str] = []
        send = Connection._send

        def counting(connection: Connection, known: object, parameters: object) -> object:
            text = str(getattr(known, "text", ""))
            self.texts += [] if text.startswith(("BEGIN", "PRAGMA")) else [text]
            return send(connection, known, parameters)  # type: ignore[arg-type]

        monkeypatch.setattr(Connection, "_send", counting)

    def by(self, asked: Asked, path: str) -> int:
        """How many the page of this address sends."""
        self.texts.clear()
        assert asked(path).status == 200, path
        return len(self.texts)


def test_a_page_sends_at_most_eight_statements_for_one_row_and_for_a_hundred(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = one_of_each(database)
    # Of each kind a run whose explanation takes the most questions: due, limited, and behind others.
    limited = {
        "max_running": 5,
        "rate": "9/s",
        "burst": 9,
        "burst_per_key": 9,
        "concurrency_key": "k",
        "max_running_per_key": 2,
        "rate_per_key": "1/s",
    }
    now = database.now()
    hosts = {
        **dict.fromkeys(("id", "digest", "boot", "last_boot", "application", "types", "database"), ""),
        "host": "h",
        "can_run": '{"append": {}, "other": {}}',
        "settings": '{"concurrency": 99}',
        "reported_at": now,
    }
    insert(database, "job_limits", {"job_type": "append", **limited})
    insert(database, "job_hosts", hosts)
    (waiting,) = insert_runs(database, 1, job_type="append", payload={"k": "v"}, run_at=now - timedelta(days=1))
    database.execute("UPDATE job_ticks SET application = '', types = ''")
    runs |= {"due": waiting}
    sent = Sent(monkeypatch)
    assert counts(database, sent, runs) == {}
    for number in range(100):
        insert_runs(database, 1, job_type=f"type_{number % 20}", status="dead", finished_at=now, last_error="e")
    insert_runs(database, 100, job_type="append", payload={"k": "v"})
    insert_runs(database, 50, job_type="other")
    assert counts(database, sent, runs) == {}


def counts(database: Database, sent: Sent, runs: dict[str, int]) -> dict[str, int]:
    """The pages that send more than they may."""
    found = {}
    pages = paths(runs)
    for path in (*pages, *(f"{path}{'&' if '?' in path else '?'}format=json" for path in pages)):
        # The first request looks at the schema, too.
        asked = Asked(database)
        assert asked("/audit").status == 200
        found[path] = sent.by(asked, path)
    assert found
    status = found.pop("/?format=json")
    most = {"/": MOST_OF_FIRST}
    return {path: count for path, count in found.items() if count > most.get(path, MOST)} | (
        {"status": status} if status > MOST_OF_STATUS else {}
    )


def insert(database: Database, table: str, row: dict[str, Any]) -> None:
    marks = ", ".join("?" * len(row))
    database.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", row.values())
