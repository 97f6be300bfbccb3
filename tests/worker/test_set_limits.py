"""Limits that operators set at run time: every claim keeps to them, until they end, whatever the code says."""

import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from harness import Database, postgresql_only
from harness.handlers_rows import queue
from harness.invariants import insert_runs
from harness.limits import at_once, at_work, claim_all, claim_of, declare, drain, end, end_all, most_at_once
from harness.plan_calls import KNOWN, request
from harness.waiting import stretched
from jobrunner import clock
from jobrunner.errors import UsageError
from jobrunner.model import Actor, Limits, Owner, Policy
from jobrunner.rates import parse_rate
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.queue import claims, declared_limits, pauses, set_limits
from jobrunner.store.queue.set_limits import Done, Wanted
from jobrunner.store.queue.ticks import ticks

ADA, BOB = Actor("ada", "the mail server is slow"), Actor("bob", "it is slower")
FREE, TEN = Policy("mail"), Policy("mail", limits=Limits(max_running=10))
CODE = {"no limit in the code": FREE, "a higher one": TEN, "a lower one": Policy("mail", limits=Limits(max_running=1))}
BY_CUSTOMER = Policy("mail", limits=Limits(max_running=5, concurrency_key=("customer",), max_running_per_key=1))


def set_limit(store: Store, most: int | None = 2, actor: Actor = ADA, **more: Any) -> Done:
    wanted = Wanted("mail", most, more.pop("rate", None), more.pop("until", None))
    return store.write(partial(set_limits.set_limit, wanted=wanted, actor=actor))


def unset(store: Store) -> None:
    assert store.write(partial(set_limits.unset, job_type="mail", actor=ADA)) is not None


def is_due(store: Store) -> bool:
    return store.read(ticks.is_anything_due)


@pytest.mark.parametrize("policy", CODE.values(), ids=CODE)
def test_what_is_set_holds_on_all_hosts_whether_the_code_allows_more_or_less(
    store: Store, database: Database, policy: Policy
) -> None:
    declare(store, policy)
    insert_runs(database, 20, "mail")
    set_limit(store, 3)
    held = [lease for host in "abc" for lease in claim_all(store, host, policy)]
    assert len(held) == 3
    assert not is_due(store)
    end(store, held[:1])
    assert is_due(store)
    assert len(claim_all(store, "b", policy)) == 1
    unset(store)
    # A claim finds out what the code says; then a tick beside runs at their limit has nothing to do.
    claim_all(store, "c", policy, limit=50)
    assert not is_due(store)
    code = 19 if policy.limits is None else policy.limits.max_running or 0
    assert len(at_work(database)) == max(3, code)


def test_runs_that_began_before_it_was_set_count_and_go_on(store: Store, database: Database) -> None:
    """Without a limit in the code they are behind no gate, where the limits of the code count none."""
    insert_runs(database, 9, "mail")
    held = claim_all(store, "a", FREE, limit=5)[:5]
    assert len(at_work(database)) == 9
    insert_runs(database, 3, "mail")
    set_limit(store, 2)
    assert claim_all(store, "a", FREE) == []
    # It looks due until a claim has put what waits behind the gate.
    assert not is_due(store)
    rest = [lease for lease in at_work(database) if lease not in held]
    end(store, [*held, *rest[:2]])
    assert len(at_work(database)) == 2
    assert claim_all(store, "a", FREE) == []
    end(store, rest[2:3])
    assert len(claim_all(store, "b", FREE)) == 1


def test_it_ends_at_its_instant_by_the_databases_clock_and_no_run_is_left_behind(
    store: Store, database: Database
) -> None:
    insert_runs(database, 6, "mail")
    set_limit(store, until=timedelta(hours=2))
    assert len(claim_all(store, "a", FREE)) == 2
    assert not is_due(store)
    ends_now(database)
    assert is_due(store)
    assert store.read(set_limits.listed) == []
    assert len(claim_all(store, "a", FREE)) == 4
    # The next tick that knows the type forgets it, and what it has needed.
    assert store.read(partial(declared_limits.changed, policies=[FREE])) == [FREE]
    declare(store, FREE)
    assert store.read(partial(declared_limits.changed, policies=[FREE])) == []
    tables = ("job_set_limits", "job_limits")
    assert [database.value(f"SELECT count(*) FROM {table}") for table in tables] == [0, 0]
    end_all(store, database)
    insert_runs(database, 2, "mail")
    assert len(claim_all(store, "a", FREE)) == 2


def ends_now(database: Database) -> None:
    at = database.now() - timedelta(milliseconds=1)
    database.execute("UPDATE job_set_limits SET set_at = ?, ends_at = ?", [at - timedelta(hours=2), at])
    # The last claim asked before it ended.
    database.execute("UPDATE job_limits SET asked_at = ?", [at - timedelta(seconds=1)])


def test_runs_behind_the_gate_of_a_limit_that_has_ended_are_let_go_by_the_tick_that_forgets_it(
    store: Store, database: Database
) -> None:
    """Also if no claim came between: they wait behind a gate that no limit of the code has."""
    insert_runs(database, 5, "mail")
    set_limit(store)
    held = claim_all(store, "a", FREE)
    ends_now(database)
    declare(store, FREE)
    assert database.value("SELECT count(*) FROM job_runs WHERE gate <> '' AND status = 'queued'") == 0
    assert len(claim_all(store, "a", FREE)) == 3
    end(store, held)


def test_a_rate_that_is_set_replaces_that_of_the_code_and_ends_at_once(store: Store, database: Database) -> None:
    """After a slow rate the code's own one would else open only when the slow one would have."""
    rated = Policy("mail", limits=Limits(rate=parse_rate("rate", "100/s", 5)))
    declare(store, rated)
    insert_runs(database, 9, "mail")
    set_limit(store, None, rate=parse_rate("rate", "1/h", None))
    assert len(claim_all(store, "a", rated)) == 1
    assert not is_due(store)
    ends_now(database)
    assert is_due(store)
    # The first claim learns that it may; the next one, some milliseconds later, takes them.
    drain(store, "a", [rated], stretched(10), lambda: database.value("SELECT count(*) FROM job_attempts") >= 5)
    assert database.value("SELECT count(*) FROM job_attempts") >= 5


def test_what_is_not_set_stays_as_the_code_has_it(store: Store, database: Database) -> None:
    for number in range(6):
        queue(database, "mail", {"customer": number // 2})
    set_limit(store, 2)
    assert len(claim_all(store, "a", BY_CUSTOMER)) == 2
    end_all(store, database)
    set_limit(store, 6)
    # One of each key, as ever; the first two customers have one run left.
    assert len(claim_all(store, "a", BY_CUSTOMER)) == 3


def test_another_type_needs_no_statement_more_for_it(store: Store, database: Database) -> None:
    """A claim of types without limits sends what it always sends, also where limits are set for others."""
    insert_runs(database, 2, "known")

    def counted(connection: Connection) -> list[str]:
        sent, execute = [], connection.execute

        def noting(asked: Any, *values: Any) -> Any:
            sent.append(str(asked))
            return execute(asked, *values)

        connection.execute = noting  # type: ignore[method-assign]
        asked = request(owner=Owner("a", "a:1:a"), token="t" * 32, policies=[*KNOWN, FREE], limit=1)
        assert len(claims.claim(connection, asked).runs) == 1
        connection.execute = execute  # type: ignore[method-assign]
        return sent

    claim_of(store, "a", FREE)
    before = store.write(counted)
    store.write(partial(set_limits.set_limit, wanted=Wanted("another", 1, None), actor=ADA))
    assert store.write(counted) == before


@postgresql_only
def test_no_run_begins_beside_one_that_is_set_while_a_claim_is_under_way(
    open_store: Callable[[], Store], database: Database
) -> None:
    """The claim has read that nothing is set. Without a wait for its end both would begin as many as they may."""
    one, other = open_store(), open_store()
    # The host has claimed before.
    claim_of(one, "a", FREE)
    insert_runs(database, 9, "mail")
    asked = request(owner=Owner("a", "a:1:a"), token="a" * 32, policies=[FREE], limit=2)
    done: list[Done] = []
    setter = threading.Thread(target=lambda: done.append(set_limit(other, 2)))

    def slow(connection: Connection) -> int:
        claims.lock_permits(connection, "a")
        setter.start()
        assert not wait_for_end(setter, 0.2)
        return len(claims.claim(connection, asked).runs)

    assert one.write(slow) == 2
    setter.join()
    assert done[0].under_way == []
    assert claim_all(one, "b", FREE) == []


def wait_for_end(thread: threading.Thread, seconds: float) -> bool:
    thread.join(seconds)
    return not thread.is_alive()


@postgresql_only
def test_a_host_that_stalls_in_a_claim_does_not_keep_an_operator_from_limiting(
    open_store: Callable[[], Store], database: Database
) -> None:
    one, other = open_store(), open_store()
    claim_of(one, "a", FREE)
    insert_runs(database, 9, "mail")
    asked = request(owner=Owner("a", "a:1:a"), token="a" * 32, policies=[FREE], limit=3)

    def stall(connection: Connection) -> Done:
        assert len(claims.claim(connection, asked).runs) == 3
        began_at = clock.elapsed()
        done = set_limit(other, 2)
        assert clock.elapsed() - began_at < stretched(5)
        return done

    assert one.write(stall).under_way == ["a"]
    # What the claim has begun counts from its end on.
    assert claim_all(other, "b", FREE) == []


def test_it_is_never_exceeded_while_operators_change_it_and_claims_never_stop(
    open_store: Callable[[], Store], database: Database
) -> None:
    insert_runs(database, 60, "mail")
    set_limit(open_store(), 3)
    stores = [open_store() for _ in range(4)]

    def work(store: Store, host: str) -> None:
        for number in range(8):
            if host == "h0":
                set_limit(store, 1 + number % 3, BOB)
            elif host == "h1":
                set_limit(store, 3 - number % 3)
            else:
                end(store, [run.lease for run in claim_of(store, host, FREE, limit=5).runs])

    at_once(stores, work)
    for number in range(40):
        end(stores[0], claim_all(stores[0], f"x{number}", FREE))
    assert database.value("SELECT count(*) FROM job_runs WHERE status <> 'succeeded'") == 0
    assert most_at_once(database, "mail") <= 3
    noted = database.query("SELECT actor, detail FROM job_events WHERE action = 'limit type' ORDER BY at, id")
    assert len(noted) == 17
    # Each change says what it replaced, so the trail has no gap.
    said = [(each["detail"]["max_running"], (each["detail"]["before"] or {}).get("max_running")) for each in noted]
    assert [before for _, before in said[1:]] == [now for now, _ in said[:-1]]


def test_pause_and_limit_together_hold_both(store: Store, database: Database) -> None:
    insert_runs(database, 5, "mail")
    store.write(partial(pauses.pause, kind="type", name="mail", actor=ADA))
    set_limit(store)
    assert claim_all(store, "a", FREE) == []
    assert not is_due(store)
    store.write(partial(pauses.resume, kind="type", name="mail", actor=ADA))
    assert is_due(store)
    assert len(claim_all(store, "a", FREE)) == 2


def test_a_tick_that_dies_beside_it_gives_its_places_back_by_recovery_only(store: Store, database: Database) -> None:
    insert_runs(database, 5, "mail")
    set_limit(store)
    held = claim_all(store, "a", FREE)
    database.execute(
        "UPDATE job_runs SET locked_until = ? WHERE status = 'running'", [database.now() - timedelta(days=1)]
    )
    assert claim_all(store, "b", FREE) == []
    end(store, held)
    assert len(claim_all(store, "b", FREE)) == 2


def test_a_claim_that_was_returned_gives_its_place_back(store: Store, database: Database) -> None:
    insert_runs(database, 5, "mail")
    set_limit(store)
    held = claim_all(store, "a", FREE)
    store.write(partial(claims.return_unstarted, token=held[0].token))
    assert len(at_work(database)) == 0
    assert len(claim_all(store, "b", FREE)) == 2


def test_a_tick_of_code_without_the_limit_does_not_forget_what_is_set(store: Store, database: Database) -> None:
    """It stores the limits of its code each time it starts, and a type without any has no row."""
    insert_runs(database, 6, "mail")
    set_limit(store)
    held = claim_all(store, "a", FREE)
    for policy in (TEN, FREE, BY_CUSTOMER, FREE):
        declare(store, policy)
        assert claim_all(store, "a", policy) == []
    assert store.read(partial(declared_limits.changed, policies=[FREE])) == []
    end(store, held)
    assert len(claim_all(store, "a", FREE)) == 2


def test_older_code_beside_it_is_counted_and_loses_no_run(store: Store, database: Database) -> None:
    """It claims as it always did, and takes away the row of limits that its code does not have."""
    insert_runs(database, 8, "mail")
    set_limit(store, 2)
    assert len(claim_all(store, "a", FREE)) == 2
    older_declares(database)
    assert database.value("SELECT count(*) FROM job_runs WHERE gate = '' AND status = 'queued'") == 6
    # It has begun three.
    for run_id in [row["id"] for row in database.query("SELECT id FROM job_runs WHERE status = 'queued' ORDER BY id")][
        :3
    ]:
        database.execute(
            "UPDATE job_runs SET status = 'running', locked_by = 'old', host = 'old', lease_token = 'o', attempts = 1,"
            " locked_until = ?, claimed_at = ?, started_at = ?, max_attempts = 3 WHERE id = ?",
            [database.now() + timedelta(minutes=1), database.now(), database.now(), run_id],
        )
    assert claim_all(store, "a", FREE) == []
    end_all(store, database)
    assert len(claim_all(store, "a", FREE)) == 2


def older_declares(database: Database) -> None:
    database.execute("UPDATE job_runs SET gate = '' WHERE status = 'queued'")
    for table in ("job_gates", "job_limits"):
        database.execute(f"DELETE FROM {table} WHERE job_type = 'mail'")


def test_an_end_that_has_passed_is_refused_and_nothing_is_set(store: Store, database: Database) -> None:
    for until in (database.now() - timedelta(seconds=1), timedelta(0)):
        with pytest.raises(UsageError, match=r"has passed; it is .* by the database's clock"):
            set_limit(store, until=until)
    assert database.value("SELECT count(*) FROM job_set_limits") == 0
    assert database.value("SELECT count(*) FROM job_events") == 0


def test_the_clock_of_a_host_decides_nothing(store: Store, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour ahead or behind: the instant is that of the database."""
    insert_runs(database, 5, "mail")
    with suppress(AttributeError):
        ahead = clock.utc_now() + timedelta(hours=5)
        monkeypatch.setattr(clock, "utc_now", lambda: ahead)
    done = set_limit(store, until=timedelta(hours=2))
    assert done.now.ends_at is not None
    assert done.now.ends_at - done.now.set_at <= timedelta(hours=2)
    assert len(claim_all(store, "a", FREE)) == 2


@postgresql_only
def test_a_stalled_claim_of_the_type_that_keeps_an_operator_waiting_keeps_no_other_host_from_claiming(
    open_store: Callable[[], Store], database: Database
) -> None:
    """The command waits for the row of the type, which that claim has locked. With the locks of all hosts in hand
    nobody could claim anything meanwhile.
    """
    one, other, third = open_store(), open_store(), open_store()
    for host in "abc":
        claim_of(one, host, TEN)
    insert_runs(database, 9, "mail")
    known = insert_runs(database, 1, "known")
    asked = request(owner=Owner("a", "a:1:a"), token="a" * 32, policies=[TEN], limit=2)
    done: list[Done] = []
    setter = threading.Thread(target=lambda: done.append(set_limit(other, 2)))

    def stall(connection: Connection) -> None:
        assert len(claims.claim(connection, asked).runs) == 2
        setter.start()
        assert not wait_for_end(setter, 0.5)
        assert [run.lease.run_id for run in claim_of(third, "b", *KNOWN).runs] == known
        assert not wait_for_end(setter, 0.0)

    one.write(stall)
    setter.join()
    assert done[0].now.max_running == 2
    assert claim_all(third, "c", TEN) == []
