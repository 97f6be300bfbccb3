"""Keys: for how long a run holds its key, and what an enqueue does that finds it taken."""

from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest

import jobrunner as library
from harness import Database
from harness.at_work import running
from harness.connections import opened
from harness.keys import WAYS, end, listed, one, prune, runs, scope
from jobrunner import Entry, KeyTaken
from jobrunner.errors import UsageError


@pytest.mark.promise("P4")
@pytest.mark.parametrize("way", WAYS)
def test_key_of_each_scope_is_free_when_its_scope_ends_and_not_before(
    database: Database, connection: Any, way: Callable[..., Any]
) -> None:
    scope(database, "active", "active")
    scope(database, "window", "window", 3600)
    types = ("forever", "active", "window")

    def outcomes() -> list[str]:
        return [way(connection, job_type).outcome for job_type in types]

    assert outcomes() == ["created"] * 3
    first = [each["id"] for each in runs(database) if each["idempotency_key"] == "k"]
    assert [way(connection, job_type).id for job_type in types] == first
    # A failed run will be tried again, and a running one is at work.
    database.execute("UPDATE job_runs SET status = 'failed'")
    assert outcomes() == ["existing"] * 3
    for ended in ("succeeded", "dead", "cancelled"):
        end(database, ended)
        assert outcomes() == ["existing", "created", "existing"]
        assert outcomes() == ["existing"] * 3
    database.move_clock(timedelta(minutes=59))
    with closing(opened(database)) as later:
        assert [way(later, job_type).outcome for job_type in types] == ["existing"] * 3
    database.move_clock(timedelta(minutes=1))
    with closing(opened(database)) as later:
        assert [way(later, job_type).outcome for job_type in types] == ["existing", "existing", "created"]
    end(database)
    prune(database)
    # The key outlives its run: for ever, or until its window is over.
    with closing(opened(database)) as later:
        assert [way(later, job_type).outcome for job_type in types] == ["existing", "created", "existing"]
        assert way(later, "forever").id == first[0]


def test_a_running_run_holds_an_active_key(database: Database, connection: Any) -> None:
    scope(database, "sync", "active")
    (lease,) = running(database, 1, job_type="sync", idempotency_key="k")
    database.execute("INSERT INTO job_keys VALUES ('sync', 'k', ?, ?)", [lease.run_id, database.now()])
    assert one(connection).id == lease.run_id


@pytest.mark.parametrize("way", WAYS)
def test_taken_key_answers_raises_or_replaces_as_asked(
    database: Database, connection: Any, way: Callable[..., Any]
) -> None:
    first = way(connection, payload={"n": 1}, run_at=timedelta(hours=1), priority=3)
    assert (first.created, first.replaced, first.outcome) == (True, False, "created")
    with pytest.raises(KeyTaken, match=f"key 'k' of the job type 'sync' is taken by run {first.id}, which is queued"):
        way(connection, payload={"n": 2}, if_taken="raise")
    assert way(connection, payload={"n": 2}, if_taken="existing").outcome == "existing"
    assert runs(database)[0]["payload"] == {"n": 1}
    # What an attempt has kept that a stopped tick has put back is a place in the work for the old payload.
    database.execute("UPDATE job_runs SET checkpoint = ?", [{"value": 5, "steps": {}}])
    replaced = way(connection, payload={"n": 3}, run_at=timedelta(hours=2), priority=9, if_taken="replace")
    assert (replaced.id, replaced.created, replaced.outcome) == (first.id, False, "replaced")
    row = runs(database)[0]
    # Only the payload and the times, and what was kept.
    assert (row["payload"], row["priority"], row["status"], row["checkpoint"]) == ({"n": 3}, 3, "queued", None)
    assert round((row["run_at"] - row["created_at"]) / timedelta(hours=1), 2) == 2
    begun = {"failed": 1, "queued": 1}
    for status, attempts in begun.items():
        database.execute("UPDATE job_runs SET status = ?, attempts = ? WHERE id = ?", [status, attempts, first.id])
        answer = way(connection, payload={"n": 4}, if_taken="replace")
        assert (answer.id, answer.outcome) == (first.id, "existing")
    end(database)
    assert way(connection, payload={"n": 4}, if_taken="replace").outcome == "existing"
    with pytest.raises(KeyTaken, match="which is succeeded") as caught:
        way(connection, if_taken="raise")
    assert caught.value.run_id == first.id
    prune(database)
    with pytest.raises(KeyTaken, match=f"run {first.id}, which was pruned"):
        way(connection, if_taken="raise")
    assert way(connection, key="free", if_taken="raise").created
    assert way(connection, key="free too", if_taken="replace").created


def test_replaced_run_is_looked_at_anew_by_the_limits_of_its_type(database: Database, connection: Any) -> None:
    """Its payload may name another customer. A run that waits for other runs goes on waiting."""
    run_id = one(connection).id
    for before, after in {"a customer": "", "after": "after"}.items():
        database.execute("UPDATE job_runs SET gate = ? WHERE id = ?", [before, run_id])
        assert one(connection, payload={"n": 1}, if_taken="replace").replaced
        assert runs(database)[0]["gate"] == after
        if database.name == "postgresql":
            database.execute("UPDATE job_runs SET gate = ? WHERE id = ?", [before, run_id])
            statement = "SELECT outcome FROM jobrunner_enqueue('sync', key => 'k', if_taken => 'replace')"
            assert database.value(statement) == "replaced"
            assert runs(database)[0]["gate"] == after


def test_list_with_a_taken_key_that_must_be_free_writes_nothing(database: Database, connection: Any) -> None:
    library.enqueue(connection, "sync", {}, key="b")
    entries = [Entry({}, key="a"), {}, Entry({}, key="b", if_taken="raise")]
    with pytest.raises(KeyTaken):
        library.enqueue_many(connection, "sync", entries)
    connection.commit()
    assert [row["idempotency_key"] for row in database.query("SELECT * FROM job_keys")] == ["b"]
    assert len(runs(database)) == 1
    with pytest.raises(UsageError, match=r'^payloads\[1\]: its key is that of payloads\[0\], and if_taken is "raise"'):
        library.enqueue_many(connection, "sync", [Entry({}, key="a")] * 2, if_taken="raise")


def test_last_of_a_list_with_the_same_key_replaces_the_others(database: Database, connection: Any) -> None:
    used = one(connection, key="used", payload={"n": -1})
    entries = [Entry({"n": n}, key=key) for n, key in enumerate(("new", "used", "new", "used", "new"))]
    answers = library.enqueue_many(connection, "sync", entries, if_taken="replace")
    connection.commit()
    assert [answer.outcome for answer in answers] == ["created", *["replaced"] * 4]
    assert {answers[n].id for n in (1, 3)} == {used.id}
    assert [row["payload"] for row in runs(database)] == [{"n": 3}, {"n": 4}]


@pytest.mark.parametrize("way", WAYS)
def test_word_for_a_taken_key_that_does_not_exist_is_refused(connection: Any, way: Callable[..., Any]) -> None:
    with pytest.raises(UsageError, match="taken must be one of 'existing', 'raise', 'replace', not 'replaced'"):
        way(connection, if_taken="replaced")


def test_key_left_without_a_run_by_a_failed_enqueue_is_free(database: Database, connection: Any) -> None:
    """On SQLite a transaction goes on after an error, and the application may commit it."""
    database.execute("INSERT INTO job_keys VALUES ('sync', 'k', NULL, ?)", [database.now()])
    assert one(connection).created
    database.execute("UPDATE job_keys SET run_id = NULL")
    assert listed(connection).created
