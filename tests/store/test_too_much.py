"""Data too large for one statement is written one by one, and data too large by itself is skipped and reported."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import urlsplit, urlunsplit

import pytest

from harness import App, Commands, Database, PostgresDatabase, postgresql_only
from harness.at_work import running
from harness.invariants import insert_runs, outcomes, read_log, statuses
from harness.statements import before_statements
from harness.tick_parts import tick_parts
from harness.waiting import span, stretched
from jobrunner.model import Policy

SLOW = {
    "sqlite": """
        CREATE TRIGGER slow BEFORE UPDATE OF status ON job_runs BEGIN
          SELECT count(*) FROM (
            WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 100000) SELECT n FROM s
          );
        END
    """,
    "postgresql": """
        CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_sleep({seconds}); RETURN NEW; END $$;
        CREATE TRIGGER slow BEFORE UPDATE ON job_runs FOR EACH ROW EXECUTE FUNCTION slow()
    """,
}
LINE_BYTES = 2_000_000


@pytest.mark.promise("P1", "P6")
def test_expired_runs_whose_rows_are_slow_to_write_are_recovered_in_one_tick(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """A hundred at once took longer than any call of a tick may, in every tick: none of them was ever recovered."""
    leases = running(database, 60, locked_until=database.now() - timedelta(hours=1))
    database.execute(SLOW[database.name].replace("{seconds}", str(stretched(0.03))))
    log = app.path("log")
    assert (
        jobrunner.tick(env={"JOBRUNNER_LEASE": span(4), "JOBRUNNER_LOG": str(log), "JOBRUNNER_IMPORT": None}).stderr
        == ""
    )
    assert statuses(database) == {"failed": len(leases)}


@contextlib.contextmanager
def thin_line(database: PostgresDatabase) -> Iterator[str]:
    """A URL by way of a line on which a connection stands still once it has carried so many bytes to the client."""
    parts = urlsplit(database.url)
    target = (str(parts.hostname), int(parts.port or 5432))
    ends: list[socket.socket] = []

    def carry(source: socket.socket, sink: socket.socket, most: float) -> None:
        with contextlib.suppress(OSError):
            while most > 0 and (data := source.recv(1 << 16)):
                sink.sendall(data)
                most -= len(data)
            if most > 0:
                # With data unread in it: whoever sends learns that nobody listens any more.
                sink.close()

    def serve(listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, server = listener.accept()[0], socket.create_connection(target)
                ends.extend((client, server))
                for way in ((client, server, float("inf")), (server, client, LINE_BYTES)):
                    threading.Thread(target=carry, args=way, daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        place = f"{parts.username}:{parts.password}@127.0.0.1:{listener.getsockname()[1]}"
        yield urlunsplit(parts._replace(netloc=place, query="sslmode=disable&gssencmode=disable"))
        listener.shutdown(socket.SHUT_RDWR)
        for end in ends:
            end.close()


@pytest.mark.promise("P1", "P7", on="postgresql")
@postgresql_only
def test_payload_too_large_for_the_prefetch_queue_delays_no_other_run(
    jobrunner: Commands, app: App, database: PostgresDatabase
) -> None:
    (huge,) = insert_runs(database, 1, "append", {"text": "x" * 10_000_000}, priority=5)
    others = insert_runs(database, 6)
    log = app.path("log")
    with thin_line(database) as url:
        env = {"JOBRUNNER_DATABASE_URL": url, "JOBRUNNER_LEASE": span(4), "JOBRUNNER_LOG": str(log)}
        assert jobrunner.tick(env=env).stderr == ""
    assert [outcomes(database, run_id) for run_id in others] == [["succeeded"]] * 6
    (run,) = database.query("SELECT status, error_type, last_error FROM job_runs WHERE id = ?", [huge])
    assert (run["status"], run["error_type"]) == ("failed", "unreadable")
    assert "without the payload" in [line["result"] for line in read_log(log) if line["event"] == "claim"]


@pytest.mark.promise("P1", "P7")
def test_run_whose_payload_cannot_be_read_costs_no_run_of_another_type_its_payload(database: Database) -> None:
    insert_runs(database, 1, "huge", {"text": "x"})
    insert_runs(database, 1, "other", {"text": "y"})

    def break_down(*_: object) -> None:
        raise ValueError("it cannot be read")

    with tick_parts(database) as tick:
        with before_statements(tick.store, break_down):
            assert tick.claim([Policy("huge")], 1) == []
        (other,) = tick.claim([Policy("other")], 1)
        assert (other.is_unreadable, other.run.payload) == (False, {"text": "y"})
        (huge,) = tick.claim([Policy("huge")], 5)
        assert (huge.is_unreadable, huge.run.payload) == (True, {})
