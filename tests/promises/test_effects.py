"""Guarded effects: at most one call for a key, and whatever is not known is shown and never guessed."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from harness import Commands, Database
from harness.at_work import running
from harness.effects import LostRun, OtherSide, close_all, effects_of, rows_of_effects
from jobrunner import EffectInProgress, HandlerStopped, NotApplied, UncertainEffect
from jobrunner.effects.run import RunEffects
from jobrunner.errors import UsageError
from jobrunner.model import Lease
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.queue import effects as stored


@pytest.fixture(autouse=True)
def closed(database: Database) -> Iterator[None]:
    yield
    close_all()


@pytest.fixture
def effects(database: Database) -> RunEffects:
    return effects_of(database.url, LostRun(database).claim())


@pytest.fixture
def other_side(tmp_path: Any) -> OtherSide:
    return OtherSide(tmp_path / "calls")


def fail(error: BaseException) -> Any:
    raise error


def another_run(database: Database, token: str = "u" * 32) -> RunEffects:
    (lease,) = running(database, 1, lease_token=token)
    return effects_of(database.url, Lease(lease.run_id, token))


@pytest.mark.promise("P5")
def test_second_call_with_a_key_returns_the_stored_outcome_of_the_first(
    database: Database, effects: RunEffects, other_side: OtherSide
) -> None:
    """In the same run, in another one, and after the first run was deleted."""
    first = effects.once("mail 1", other_side.send, "raise", "mail 1")
    assert (first.state, first.outcome, first.is_new) == ("applied", {"message_id": "mail 1"}, True)
    database.execute("DELETE FROM job_runs")
    for each in (effects, another_run(database)):
        again = each.once("mail 1", other_side.send, "raise", "mail 1")
        assert (again.state, again.outcome, again.is_new) == ("applied", {"message_id": "mail 1"}, False)
    assert other_side.calls() == {"mail 1": 1}
    assert rows_of_effects(database)["mail 1"]["run_id"] == first.run_id


@pytest.mark.promise("P5")
def test_exception_of_the_call_leaves_the_effect_uncertain_and_the_choice_decides(
    database: Database, effects: RunEffects, other_side: OtherSide
) -> None:
    with pytest.raises(TimeoutError, match="no answer"):
        effects.once("k", fail, "repeat", TimeoutError("no answer"))
    assert rows_of_effects(database)["k"]["state"] == "uncertain"
    for each in (effects, another_run(database)):
        with pytest.raises(UncertainEffect, match="jobrunner effects settle k --applied"):
            each.once("k", other_side.send, "raise", "k")
        assert each.once("k", other_side.send, "skip", "k").state == "uncertain"
    with pytest.raises(OSError, match="away"):
        effects.once("k", other_side.send, lambda _: fail(OSError("away")), "k")
    assert not other_side.calls()
    known = effects.once("k", other_side.send, lambda effect: {"asked": effect.key}, "k")
    assert (known.state, known.outcome, other_side.calls()) == ("applied", {"asked": "k"}, {})


@pytest.mark.promise("P5")
def test_uncertain_effect_is_called_again_when_the_other_side_has_not_got_it(
    effects: RunEffects, other_side: OtherSide
) -> None:
    for key, choice in (("asked", other_side.ask), ("repeated", "repeat")):
        with pytest.raises(TimeoutError):
            effects.once(key, fail, "raise", TimeoutError())
        assert effects.once(key, other_side.send, choice, key).is_new
    assert other_side.calls() == {"asked": 1, "repeated": 1}


@pytest.mark.promise("P5")
def test_effect_that_the_other_side_refused_leaves_its_key_free(
    database: Database, effects: RunEffects, other_side: OtherSide
) -> None:
    with pytest.raises(NotApplied):
        effects.once("k", fail, "raise", NotApplied("no such address"))
    assert rows_of_effects(database) == {}
    assert effects.once("k", other_side.send, "raise", "k").is_new


@pytest.mark.promise("P5")
def test_of_two_runs_with_one_key_at_once_one_calls(
    database: Database, effects: RunEffects, other_side: OtherSide
) -> None:
    """While the call is under way it is in progress, whatever the other run would do about an uncertain effect."""
    other = another_run(database)

    def send() -> dict[str, str]:
        for each, choice in ((other, "repeat"), (other, "skip"), (effects, "repeat")):
            with pytest.raises(EffectInProgress, match="in progress"):
                each.once("k", other_side.send, choice, "k")
        return other_side.send("k")

    assert effects.once("k", send, "raise").is_new
    assert not other.once("k", other_side.send, "raise", "k").is_new
    together = [another_run(database, f"{n:032}") for n in range(4)]
    threads = [threading.Thread(target=quietly_once, args=(each, other_side)) for each in together]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert other_side.calls() == {"k": 1, "together": 1}


def quietly_once(effects: RunEffects, other_side: OtherSide) -> None:
    with suppress(EffectInProgress):
        effects.once("together", other_side.send, "raise", "together")


@pytest.mark.promise("P2", "P5")
def test_run_that_has_lost_its_lease_calls_nothing(
    database: Database, effects: RunEffects, other_side: OtherSide
) -> None:
    with pytest.raises(TimeoutError):
        effects.once("known", fail, "raise", TimeoutError())
    database.execute("UPDATE job_runs SET lease_token = ?", ["n" * 32])
    for key in ("known", "new"):
        with pytest.raises(HandlerStopped, match="lost its lease"):
            effects.once(key, other_side.send, "repeat", key)
    assert not other_side.calls()
    assert list(rows_of_effects(database)) == ["known"]


@pytest.mark.promise("P2", "P5")
def test_run_that_loses_its_lease_at_the_last_moment_takes_no_uncertain_effect_over(
    database: Database, store: Store, effects: RunEffects, other_side: OtherSide
) -> None:
    """After it was asked whether the lease is held, which locks nothing, and before the intent is written anew."""
    with pytest.raises(TimeoutError):
        effects.once("known", fail, "raise", TimeoutError())
    before = rows_of_effects(database)["known"]

    def take_over(connection: Connection, token: str) -> bool:
        found = stored.find(connection, "known")
        assert found is not None
        return stored.take_over(connection, Lease(found.run_id, token), found, "c" * 32, "append", 2)

    assert not store.write(lambda each: take_over(each, "n" * 32))
    assert rows_of_effects(database)["known"] == before
    assert store.write(lambda each: take_over(each, before["lease_token"]))


@pytest.mark.promise("P5")
def test_outcome_that_arrives_after_the_lease_was_lost_is_recorded_unless_the_effect_was_taken_over(
    database: Database, other_side: OtherSide
) -> None:
    run = LostRun(database)
    for key, takes_over in (("late", False), ("taken", True)):
        stale = effects_of(database.url, run.claim())

        def send(key: str = key, takes_over: bool = takes_over) -> str:
            successor = effects_of(database.url, run.claim())
            if takes_over:
                with pytest.raises(TimeoutError):
                    successor.once(key, fail, "repeat", TimeoutError())
            else:
                with pytest.raises(UncertainEffect):
                    successor.once(key, fail, "raise", OSError())
            return "late outcome"

        stale.once(key, send, "raise")
    rows = rows_of_effects(database)
    assert (rows["late"]["state"], rows["late"]["outcome"]) == ("applied", "late outcome")
    assert rows["taken"]["state"] == "uncertain"


@pytest.mark.promise("P5")
def test_async_effect_awaits_its_function_and_the_choice(
    database: Database, effects: RunEffects, other_side: OtherSide
) -> None:
    async def send(key: str) -> dict[str, str]:
        return other_side.send(key)

    async def ask(effect: Any) -> dict[str, str]:
        return other_side.ask(effect)

    async def work() -> None:
        assert (await effects.once_async("k", send, "raise", "k")).outcome == {"message_id": "k"}
        assert not (await effects.once_async("k", send, "raise", "k")).is_new
        with pytest.raises(TimeoutError):
            # Cancelled: the call may have arrived, so the effect is uncertain, although the run goes on.
            await asyncio.wait_for(effects.once_async("slow", asyncio.sleep, "raise", 30), 0.3)
        with pytest.raises(UncertainEffect):
            await effects.once_async("slow", send, "raise", "slow")
        assert (await effects.once_async("slow", send, ask, "slow")).is_new

    asyncio.run(work())
    assert other_side.calls() == {"k": 1, "slow": 1}
    with pytest.raises(UsageError, match="once_async"):
        effects.once("x", send, "raise", "x")
    with pytest.raises(TypeError, match="once_async"):
        effects.once("y", lambda: asyncio.sleep(0), "raise")


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
def test_wrong_keys_choices_and_outcomes_are_refused_before_or_not_kept(
    database: Database, effects: RunEffects, capsys: pytest.CaptureFixture[str]
) -> None:
    for key in ("", "x" * 501, "a\nb", "a\0", 7):
        with pytest.raises(UsageError, match="key of an effect"):
            effects.once(key, str, "raise")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="on_uncertain is"):
        effects.once("k", str, "ignore")  # type: ignore[arg-type]
    assert rows_of_effects(database) == {}
    kept = effects.once("k", object, "raise")
    assert (kept.state, kept.outcome) == ("applied", None)
    assert "outcome of the effect was not kept" in capsys.readouterr().err


@pytest.mark.promise("P5", "P12")
def test_uncertain_effects_are_listed_and_settled_by_a_person(
    database: Database, jobrunner: Commands, other_side: OtherSide
) -> None:
    run = LostRun(database)
    effects = effects_of(database.url, run.claim())
    with pytest.raises(TimeoutError):
        effects.once("failed", fail, "raise", TimeoutError())
    effects.once("done", other_side.send, "raise", "done")

    def look() -> None:
        assert "failed" in jobrunner("effects", "list").stdout
        assert [each["key"] for each in jobrunner("effects", "list", "--json").json()] == ["failed"]
        refused = jobrunner("effects", "settle", "crashed", "--applied", check=False)
        assert (refused.returncode, "still in progress" in refused.stderr) == (1, True)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        effects.once("crashed", look, "raise")
    run.claim()
    found = jobrunner.status()
    assert (found["uncertain"], {each["key"] for each in found["uncertain_effects"]}) == (2, {"failed", "crashed"})
    assert "uncertain effects: 2" in jobrunner("status").stdout
    jobrunner("effects", "settle", "failed", "--applied", "--outcome", '{"id": 7}')
    jobrunner("effects", "settle", "crashed", "--not-applied")
    assert jobrunner("effects", "list", "--json").json() == []
    for words, code in (
        (["done", "--not-applied"], 1),
        (["nothing", "--applied"], 1),
        (["failed"], 2),
        (["failed", "--not-applied", "--outcome", "1"], 2),
        (["failed", "--applied", "--outcome", "{"], 2),
    ):
        jobrunner.refused(code, "effects", "settle", *words)
    events = database.query("SELECT action, run_id, detail FROM job_events ORDER BY id")
    assert [each["action"] for each in events] == ["settle effect"] * 2
    assert [each["detail"] for each in events] == [
        {"key": "failed", "applied": True},
        {"key": "crashed", "applied": False},
    ]
    later = effects_of(database.url, run.claim())
    assert later.once("failed", other_side.send, "raise", "failed").outcome == {"id": 7}
    assert later.once("crashed", other_side.send, "raise", "crashed").is_new
    assert other_side.calls() == {"done": 1, "crashed": 1}
