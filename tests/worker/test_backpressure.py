"""`max_waiting`: every way to enqueue keeps the same limit exactly, also with many callers at once."""

import os
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from threading import Event
from typing import Any

import pytest

from harness import App, Commands, Database, postgresql_only, wait_for
from harness.backpressure import HANDLERS, answer_of, dropped, limit, start, waiting
from harness.commands import COMMAND
from harness.handlers_rows import queue
from harness.statements import before_statements
from harness.waiting import stretched
from jobrunner.errors import QueueFull
from jobrunner.model import Policy
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.queue import enqueue
from jobrunner.store.queue.enqueue_sql import Enqueued, NewRun

# Each way in.


@pytest.mark.parametrize("options", [[], ["--allow-unknown"]], ids=["known", "allow-unknown"])
def test_enqueue_command_is_refused_if_its_type_is_full(
    jobrunner: Commands, app: App, database: Database, options: list[str]
) -> None:
    """--allow-unknown imports no handlers: then the limit is the one in the database."""
    app.add(HANDLERS)
    for number in (1, 2):
        assert jobrunner("enqueue", "refusing").stdout == f"{number}\n"
    refused = jobrunner.refused(1, "enqueue", "refusing", *options)
    for words in ("'refusing'", "2 wait", "max_waiting is 2", "raise max_waiting"):
        assert words in refused
    assert (waiting(database, "refusing"), dropped(database, "refusing")) == (2, 0)


@pytest.mark.parametrize("options", [[], ["--allow-unknown"]], ids=["known", "allow-unknown"])
def test_enqueue_command_drops_silently_and_counts_the_drop(
    jobrunner: Commands, app: App, database: Database, options: list[str]
) -> None:
    app.add(HANDLERS)
    for _ in range(2):
        jobrunner("enqueue", "dropping")
    done = jobrunner("enqueue", "dropping", *options)
    assert (done.stdout, done.stderr) == ("", "")
    done = jobrunner("enqueue", "dropping", "--json", *options)
    assert (done.stdout, done.stderr) == ('{"id": null, "created": false, "replaced": false, "dropped": true}\n', "")
    assert (waiting(database, "dropping"), dropped(database, "dropping")) == (2, 2)
    at = database.value("SELECT dropped_at FROM job_types")
    assert abs(at - database.now()) < timedelta(seconds=30)


def test_enqueue_command_on_a_terminal_reports_a_drop(jobrunner: Commands, database: Database) -> None:
    limit(database, "echo", 1, "drop")
    queue(database, "echo")
    terminal, end = os.openpty()
    try:
        command = [COMMAND, "enqueue", "echo", "--allow-unknown"]
        done = subprocess.run(command, env=jobrunner.environment(), stdout=subprocess.PIPE, stderr=end)
        told = os.read(terminal, 1000).decode()
    finally:
        os.close(terminal)
        os.close(end)
    assert (done.returncode, done.stdout, told.count("\n")) == (0, b"", 1)
    assert "dropped" in told
    assert "echo" in told


WAYS = """
by_name, by_handler = [], []
if sys.argv[2] == "registered":
    import handlers
with engine.begin() as connection:
    if sys.argv[2] == "registered":
        by_handler = [tried(getattr(handlers, sys.argv[1]).enqueue, connection, n=n) for n in range(3)]
    else:
        by_name = [tried(jobrunner.enqueue, connection, sys.argv[1], {"n": n}) for n in range(3)]
with engine.begin() as connection:
    by_name.append(tried(jobrunner.enqueue, connection, sys.argv[1], {}))
print(json.dumps([by_handler, by_name]))
"""


@pytest.mark.parametrize("job_type", ["refusing", "dropping"])
@pytest.mark.parametrize("code", ["registered", "elsewhere"])
def test_limit_holds_for_enqueue_by_name_and_by_handler(
    jobrunner: Commands, app: App, database: Database, job_type: str, code: str
) -> None:
    app.add(HANDLERS)
    if code == "elsewhere":
        limit(database, job_type, 2, job_type.replace("refusing", "refuse").replace("dropping", "drop"))
    by_handler, by_name = answer_of(start(jobrunner, WAYS, job_type, code))
    answers = by_handler + by_name
    assert answers[:2] == [[1, True, False], [2, True, False]]
    for answer in answers[2:]:
        assert answer == [None, False, True] if job_type == "dropping" else "max_waiting is 2" in answer
    assert (waiting(database, job_type), dropped(database, job_type)) == (2, 2 if job_type == "dropping" else 0)


CAUGHT = """
import handlers
with engine.begin() as connection:
    connection.execute(text("CREATE TABLE orders (id INTEGER)"))
with engine.begin() as connection:
    answers = [tried(handlers.refusing.using(key=key).enqueue, connection) for key in "abc"]
    connection.execute(text("INSERT INTO orders VALUES (1)"))
with engine.connect() as connection:
    tried(handlers.dropping.enqueue, connection)
    tried(handlers.dropping.enqueue, connection)
    answers.append(tried(handlers.dropping.using(key="d").enqueue, connection))
    connection.rollback()
with engine.begin() as connection:
    answers.append(tried(handlers.refusing.using(key="b").enqueue, connection))
    connection.execute(text("UPDATE job_runs SET status = 'cancelled', finished_at = run_at WHERE id = 1"))
    answers.append(tried(handlers.refusing.using(key="c").enqueue, connection))
print(json.dumps(answers))
"""


@pytest.mark.promise("P1", "P4")
def test_refused_enqueue_leaves_the_callers_transaction_usable_and_the_key_free(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.add(HANDLERS)
    first, second, refused, lost, again, later = answer_of(start(jobrunner, CAUGHT))
    assert [first, second] == [[1, True, False], [2, True, False]]
    assert "max_waiting is 2" in refused
    assert lost == [None, False, True]
    assert database.query("SELECT id FROM orders") == [{"id": 1}]
    # What was rolled back was neither enqueued nor dropped.
    assert database.query("SELECT * FROM job_types WHERE job_type = 'dropping'") == []
    # Full as it was, a key used before still answers; one that was refused is free.
    assert again == [second[0], False, False]
    assert later[1:] == [True, False]
    keys = database.query("SELECT idempotency_key, run_id FROM job_keys ORDER BY idempotency_key")
    assert [(row["idempotency_key"], row["run_id"]) for row in keys] == [("a", 1), ("b", 2), ("c", later[0])]


# What counts.


def test_limit_counts_every_waiting_run_whatever_its_time_and_no_other_run(store: Store, database: Database) -> None:
    now = database.now()
    limit(database, "echo", 2)
    lock: dict[str, Any] = {"lease_token": "t", "locked_by": "o", "host": "h", "locked_until": now}
    queue(database, "echo", status="running", **lock)
    for status in ("succeeded", "dead", "cancelled"):
        queue(database, "echo", status=status, finished_at=now)
    queue(database, "append")
    queue(database, "echo", run_at=now + timedelta(days=300))
    assert store.write(lambda connection: enqueue.enqueue(connection, NewRun("echo", "{}"))).created
    database.execute("UPDATE job_runs SET status = 'failed' WHERE status = 'queued' AND run_at <= ?", [now])
    with pytest.raises(QueueFull, match="'echo' is full: 2 wait"):
        store.write(lambda connection: enqueue.enqueue(connection, NewRun("echo", "{}")))


def statements(store: Store, work: Callable[[Connection], Any]) -> int:
    sent: list[str] = []

    def note(_: Connection, statement: str, __: Any) -> None:
        if not statement.startswith("BEGIN"):
            sent.append(statement)

    with before_statements(store, note):
        store.write(work)
    return len(sent)


@pytest.mark.parametrize("policy", [None, Policy("echo")], ids=["elsewhere", "registered"])
def test_enqueue_of_a_type_without_a_limit_takes_no_further_statement(store: Store, policy: Policy | None) -> None:
    plain, keyed = NewRun("echo", "{}"), NewRun("echo", "{}", idempotency_key="k")
    assert statements(store, lambda connection: enqueue.enqueue(connection, plain, policy)) == 1
    assert statements(store, lambda connection: enqueue.enqueue(connection, keyed, policy)) == 3
    assert statements(store, lambda connection: enqueue.enqueue(connection, keyed, policy)) == 2


# Many at a time.

ONE_OF_MANY = """
level = {} if len(sys.argv) < 4 else {"isolation_level": sys.argv[3]}
connection = engine.connect().execution_options(**level)
number, go = sys.argv[1:3]
options = {"key": number} if int(number) % 2 else {}
while True:
    connection.execute(text("SELECT 1")) if level else None
    open(f"{go}-{number}", "w").close()
    while not os.path.exists(go):
        time.sleep(0.001)
    try:
        answer = tried(jobrunner.enqueue, connection, "echo", {}, **options)
        time.sleep(0.02)  # the application goes on with its transaction
        connection.commit()
        break
    except exc.OperationalError as error:
        assert error.orig.sqlstate == "40001", error
        connection.rollback()
print(json.dumps(answer))
"""


def enqueue_at_once(jobrunner: Commands, app: App, count: int, *level: str) -> list[Any]:
    """Real processes, all of them ready before the first begins; each second one with a key."""
    go = app.path("go")
    started = [start(jobrunner, ONE_OF_MANY, number, go, *level) for number in range(count)]
    try:
        wait_for(lambda: all(app.path(f"go-{number}").exists() for number in range(count)), 60, "the callers")
        go.touch()
        return [answer_of(process) for process in started]
    finally:
        for process in started:
            process.kill()


@pytest.mark.parametrize("when_full", ["refuse", "drop"])
def test_twenty_concurrent_enqueues_with_a_limit_of_ten_leave_ten_runs(
    jobrunner: Commands, app: App, database: Database, when_full: str
) -> None:
    limit(database, "echo", 10, when_full)
    answers = enqueue_at_once(jobrunner, app, 20)
    created = [answer for answer in answers if answer[1] is True]
    assert (len(created), waiting(database, "echo")) == (10, 10)
    assert dropped(database, "echo") == (10 if when_full == "drop" else 0)
    keyed = database.value("SELECT count(*) FROM job_runs WHERE idempotency_key IS NOT NULL")
    assert database.value("SELECT count(*) FROM job_keys") == keyed


@postgresql_only
def test_old_snapshot_of_a_caller_does_not_exceed_the_limit(jobrunner: Commands, app: App, database: Database) -> None:
    """At REPEATABLE READ a mere lock would: what was committed while it was waited for is not there to be counted."""
    limit(database, "echo", 3)
    answers = enqueue_at_once(jobrunner, app, 8, "REPEATABLE READ")
    assert (sum(answer[1] is True for answer in answers), waiting(database, "echo")) == (3, 3)


def test_two_enqueues_with_different_keys_do_not_block_each_other(store: Store, database: Database) -> None:
    """Were the key taken before the limit, the one would hold a key and wait for the limit, the other the reverse."""
    limit(database, "echo", 10)
    has_begun = Event()

    def a_and_b(connection: Connection) -> list[Enqueued]:
        first = enqueue.enqueue(connection, NewRun("echo", "{}", idempotency_key="a"))
        has_begun.set()
        if database.name == "postgresql":
            waits = "SELECT count(*) FROM pg_locks WHERE NOT granted"
            wait_for(lambda: database.value(waits), 20, "the other caller")
        return [first, enqueue.enqueue(connection, NewRun("echo", "{}", idempotency_key="b"))]

    def b() -> Enqueued:
        assert has_begun.wait(stretched(20))
        other = store.second_connection()
        with closing(other):
            return other.write(
                lambda connection: enqueue.enqueue(connection, NewRun("echo", "{}", idempotency_key="b"))
            )

    with ThreadPoolExecutor() as pool:
        answer = pool.submit(b)
        assert store.write(a_and_b) == [Enqueued(1, created=True), Enqueued(2, created=True)]
        assert answer.result(stretched(30)) == Enqueued(2, created=False)
