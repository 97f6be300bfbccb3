"""A synchronous standby stalls and is promoted: no effect happens twice, and no work of an own transaction is lost."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import Session

from harness import wait_for
from harness.async_connections import asyncpg_connection, asyncpg_pool, psycopg_connection
from harness.django_connection import django_connection
from harness.effects import LostRun, OtherSide, close_all, effects_of, rows_of_effects, state
from harness.standby import Pair
from harness.waiting import stretched
from jobrunner.effects.run import RunEffects
from jobrunner.errors import CommitUnconfirmed, DatabaseUnavailable

KEY = "charge:7"
INSERT = "INSERT INTO things VALUES (1)"
Block = Callable[[Pair, RunEffects], None]


@pytest.fixture
def other_side(tmp_path: Path) -> OtherSide:
    return OtherSide(tmp_path / "ledger")


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as made:
        yield made
    close_all()


@pytest.mark.promise("P5")
def test_effect_whose_intent_no_standby_has_is_not_called_and_happens_once_after_the_promotion(
    pair: Pair, other_side: OtherSide, threads: ThreadPoolExecutor
) -> None:
    """The watch cuts the COMMIT of the intent by a cancel request, so that its row is visible."""
    run = LostRun(pair.database)
    lease = run.claim()
    pair.stall()
    with pytest.raises(DatabaseUnavailable):
        effects_of(pair.url, lease, lease_seconds=2).once(KEY, other_side.send, "raise", KEY)
    assert not other_side.calls()
    promoted = pair.fail_over()
    run = LostRun(promoted)
    assert rows_of_effects(promoted) == {}
    for _ in range(2):
        effects_of(promoted.url, run.claim()).once(KEY, other_side.send, "raise", KEY)
    assert other_side.calls() == {KEY: 1}


@pytest.mark.promise("P5")
def test_effect_whose_standby_stalls_for_a_moment_is_called_once_and_only_when_the_standby_has_its_intent(
    pair: Pair, other_side: OtherSide, threads: ThreadPoolExecutor
) -> None:
    seen = []

    def send(key: str) -> dict[str, str]:
        seen.append(wait_for(lambda: rows_of_effects(pair.standby).get(key), 20, "the intent on the standby"))
        # The outcome meets the next stall.
        pair.stall()
        return other_side.send(key)

    lease = LostRun(pair.database).claim()
    pair.stall()
    called = threads.submit(effects_of(pair.url, lease, lease_seconds=30).once, KEY, send, "raise", KEY)
    pair.cancel_waiting()
    wait_for(lambda: called.done() or pair.waiting(), 20, "a second COMMIT")
    assert (called.done(), seen, other_side.calls()) == (False, [], {})
    pair.resume()
    wait_for(other_side.calls, 20, "the call")
    pair.cancel_waiting()
    wait_for(lambda: called.done() or pair.waiting(), 20, "a second COMMIT of the outcome")
    assert not called.done()
    pair.resume()
    assert called.result(stretched(20)).state == "applied"
    assert ([row["state"] for row in seen], other_side.calls()) == (["intended"], {KEY: 1})
    assert rows_of_effects(pair.fail_over())[KEY]["state"] == "applied"


@pytest.mark.promise("P5")
def test_intent_that_cannot_be_confirmed_is_taken_back_so_that_the_next_attempt_calls(
    pair: Pair, other_side: OtherSide, threads: ThreadPoolExecutor
) -> None:
    """Nothing was called. A person who had to settle it could learn nothing from the other side."""
    run = LostRun(pair.database)
    lease = run.claim()
    pair.stall()
    with pytest.raises(DatabaseUnavailable):
        effects_of(pair.url, lease, lease_seconds=2).once(KEY, other_side.send, "raise", KEY)
    # Also while the standby still stalls.
    assert rows_of_effects(pair.database) == {}
    pair.resume()
    effects_of(pair.url, run.claim()).once(KEY, other_side.send, "raise", KEY)
    assert other_side.calls() == {KEY: 1}


def given_none(_: Pair, effects: RunEffects) -> None:
    with effects.transaction(None, lambda: None) as connection:
        connection.execute(text(INSERT))


def given_psycopg(pair: Pair, effects: RunEffects) -> None:
    with closing(psycopg.connect(pair.url)) as given, effects.transaction(given, lambda: None) as connection:
        connection.execute(INSERT)


def given_engine(pair: Pair, effects: RunEffects) -> None:
    engine = create_engine(pair.url.replace("postgresql:", "postgresql+psycopg:"))
    with effects.transaction(engine, lambda: None) as connection:
        connection.execute(text(INSERT))
    engine.dispose()


def given_session(pair: Pair, effects: RunEffects) -> None:
    engine = create_engine(pair.url.replace("postgresql:", "postgresql+psycopg:"))
    with Session(engine) as given, effects.transaction(given, lambda: None) as session:
        session.execute(text(INSERT))
    engine.dispose()


def given_django(pair: Pair, effects: RunEffects) -> None:
    with django_connection(pair.database) as given, effects.transaction(given, lambda: None) as connection:
        connection.cursor().execute(INSERT)


def given_awaited(opening: Any) -> Block:
    async def work(pair: Pair, effects: RunEffects) -> None:
        async with opening(pair.database) as opened, effects.transaction(opened.connection, lambda: None) as connection:
            await connection.execute(INSERT)

    return lambda pair, effects: asyncio.run(work(pair, effects))


async def _ours(_: Pair, effects: RunEffects) -> None:
    async with effects.transaction(None, lambda: None) as connection:
        await connection.execute(text(INSERT))


async def _engine_of_asyncpg(pair: Pair, effects: RunEffects) -> None:
    engine = create_async_engine(pair.url.replace("postgresql:", "postgresql+asyncpg:"))
    async with effects.transaction(engine, lambda: None) as connection:
        await connection.execute(text(INSERT))
    await engine.dispose()


BLOCKS: dict[str, Block] = {
    "none": given_none,
    "psycopg": given_psycopg,
    "engine": given_engine,
    "session": given_session,
    "Django": given_django,
    "none, awaited": lambda pair, effects: asyncio.run(_ours(pair, effects)),
    "psycopg, awaited": given_awaited(psycopg_connection),
    "engine of asyncpg": lambda pair, effects: asyncio.run(_engine_of_asyncpg(pair, effects)),
    "asyncpg": given_awaited(asyncpg_connection),
    "pool of asyncpg": given_awaited(asyncpg_pool),
}


@pytest.mark.promise("P5")
def test_own_transaction_whose_wait_was_cancelled_is_committed_only_when_the_standby_has_it(
    pair: Pair, threads: ThreadPoolExecutor
) -> None:
    """Also where the database hides the server's warnings, which say that a COMMIT did not wait."""
    pair.database.execute("CREATE TABLE things (id INTEGER)")
    pair.database.execute(f'ALTER DATABASE "{pair.database.database}" SET client_min_messages = error')
    for count, (name, block) in enumerate(BLOCKS.items(), 1):
        run = LostRun(pair.database)
        effects = effects_of(pair.url, run.claim(), lease_seconds=60)
        pair.stall()
        done = threads.submit(block, pair, effects)
        pair.cancel_waiting()
        wait_for(lambda done=done: done.done() or pair.waiting(), 20, "a second COMMIT")  # type: ignore[misc]
        assert (done.done(), effects.is_committed) == (False, False), name
        pair.resume()
        done.result(stretched(20))
        assert (effects.is_committed, state(pair.database, run)) == (True, ("succeeded", count)), name
    assert state(pair.fail_over(), run) == ("succeeded", len(BLOCKS))


@pytest.mark.promise("P5")
def test_own_transaction_that_no_standby_has_is_no_success_and_a_promotion_undoes_work_and_end_together(
    pair: Pair, threads: ThreadPoolExecutor
) -> None:
    pair.database.execute("CREATE TABLE things (id INTEGER)")
    run = LostRun(pair.database)
    effects = effects_of(pair.url, run.claim(), lease_seconds=2)
    pair.stall()
    done = threads.submit(given_psycopg, pair, effects)
    pair.cancel_waiting()
    with pytest.raises(CommitUnconfirmed, match="no synchronous standby has confirmed it"):
        done.result(stretched(20))
    assert (effects.is_committed, state(pair.database, run)) == (False, ("succeeded", 1))
    assert state(pair.fail_over(), run) == ("running", 0)
