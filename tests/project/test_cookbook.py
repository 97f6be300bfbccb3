"""The recipes of docs/howto/cookbook.md, executed as they stand there."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from harness import App, Commands, Database, pages

NAME = "tests/project/test_cookbook.py::test_recipes_of_the_cookbook_work"
BESIDE = """
import os

def send_mail(words, *, key):
    with open(os.environ["TRACE_FILE"], "a") as sent:
        sent.write(f"{key}|{words}\\n")

def call_interface(account):
    return 0
"""
CALLS = """
import os
from sqlalchemy import create_engine
import handlers

engine = create_engine(os.environ["JOBRUNNER_DATABASE_URL"].replace("postgresql://", "postgresql+psycopg://"))
with engine.begin() as connection:
    handlers.place_order(connection, "tea")
    handlers.send_invoice.enqueue(connection, invoice_id=7)
    handlers.deliver.enqueue(connection, event_id=1, url="{url}/200")
    handlers.deliver.enqueue(connection, event_id=2, url="{url}/422")
    handlers.ask_for_payment(connection, 1)
    handlers.ask_for_payment(connection, 1)
    for revision in (1, 2, 3):
        handlers.save(connection, 5, revision)
    handlers.sync_account.enqueue(connection, account=1)
    handlers.import_file(connection, "prices.csv", 2500)
"""
SAVE_AGAIN = """
import os
from sqlalchemy import create_engine
import handlers

engine = create_engine(os.environ["JOBRUNNER_DATABASE_URL"].replace("postgresql://", "postgresql+psycopg://"))
with engine.begin() as connection:
    for revision in (4, 5):
        handlers.save(connection, 5, revision)
"""


class _Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(int(self.path[1:]))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def receiver() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Receiver) as listening:
        Thread(target=listening.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{listening.server_address[1]}"
        listening.shutdown()


def test_recipes_of_the_cookbook_work(jobrunner: Commands, app: App, database: Database) -> None:
    blocks = pages.checked_by(NAME)
    app.write("handlers", "\n".join(block.text for block in blocks if block.language == "python") + BESIDE)
    (app.folder / "jobrunner.toml").write_text(next(block.text for block in blocks if block.language == "toml"))
    key = "INTEGER PRIMARY KEY" if database.url.startswith("sqlite") else "SERIAL PRIMARY KEY"
    database.execute(f"CREATE TABLE orders (id {key}, item TEXT, paid INTEGER DEFAULT 0)")
    database.execute("CREATE TABLE sessions (id INTEGER, expires_at DOUBLE PRECISION)")
    database.execute("CREATE TABLE customers (id INTEGER)")
    database.execute("INSERT INTO sessions VALUES (1, 0), (2, 9e12)")
    database.execute("INSERT INTO customers VALUES (1), (2)")
    jobrunner("apply")
    with receiver() as url:
        jobrunner.python(CALLS.format(url=url))
        for schedule in ("cleanup", "weekly", "weekly", "backup"):
            jobrunner("schedule", "trigger", schedule)
        for _ in range(3):
            jobrunner.tick()
    # The reminder and the index are not due yet; and the triggered runs of one schedule begin one after the other.
    mails = Counter(app.trace_file.read_text().split())
    assert sorted(each.partition("|")[0] for each in mails if "|" in each)[:2] == ["confirm:1", "invoice:7"]
    assert sum("report:" in each for each in mails) == 2
    assert database.value("SELECT count(*) FROM sessions") == 1
    ended = ended_by_type(database)
    assert ended["deliver"] == {"succeeded": 1, "dead": 1}
    assert ended["import_lines"] == {"succeeded": 3}
    assert (ended["remind"], ended["build_index"]) == ({"queued": 1}, {"queued": 1})
    done = ("publish_catalogue", "sync_account", "delete_expired_sessions", "backup")
    assert {name: ended[name] for name in done} == {name: {"succeeded": 1} for name in done}
    query = "SELECT payload FROM job_runs WHERE job_type = 'build_index'"
    assert json_of(database.value(query))["revision"] == 3

    # A save while the index is built makes a run of its own, which the save after it replaces.
    database.execute("UPDATE job_runs SET attempts = 1, status = 'failed' WHERE job_type = 'build_index'")
    jobrunner.python(SAVE_AGAIN)
    saved = "SELECT payload FROM job_runs WHERE job_type = 'build_index' ORDER BY id"
    assert [json_of(row["payload"])["revision"] for row in database.query(saved)] == [3, 5]
    database.execute("UPDATE orders SET paid = 1")
    database.execute("UPDATE job_runs SET run_at = created_at WHERE finished_at IS NULL")
    jobrunner.tick()
    assert json_of(database.value("SELECT result FROM job_runs WHERE job_type = 'remind'")) == "paid already"
    assert ended_by_type(database)["build_index"] == {"succeeded": 2}


def ended_by_type(database: Database) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for row in database.query("SELECT job_type, status, count(*) AS n FROM job_runs GROUP BY job_type, status"):
        found.setdefault(row["job_type"], {})[row["status"]] = row["n"]
    return found


def json_of(value: Any) -> Any:
    """A JSON column; SQLite gives its text."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value
