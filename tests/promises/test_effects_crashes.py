"""Crashes around effects and own transactions: the judge counts outside, and none happens twice or goes unseen."""

import asyncio
import random
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from harness import Database, PostgresDatabase, wait_for
from harness.at_work import OWNER
from harness.effects import LostRun, OtherSide, answers_lost, close_all, crash, effects_of, rows_of_effects
from harness.fault_points import EFFECT_POINTS
from harness.long import draw
from jobrunner.effects.database import ChildDatabase
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.model import Lease
from jobrunner.store.questions import uncertain
from jobrunner.store.queue import finalize
from jobrunner.store.queue.finalize import Refusal

OF_ONCE = [point for point in EFFECT_POINTS if point.startswith("effect.")]
OF_TRANSACTION = [point for point in EFFECT_POINTS if point.startswith("transaction.")]
CRASHES = 40
DIED = AttemptResult(Outcome.CRASHED, error_type="crashed", error="killed")


class Crashes:
    """Crashes one run again and again, at a point and in a way that the seed chooses."""

    def __init__(self, database: Database, folder: Path, chance: random.Random, url: str, lost: list[int]) -> None:
        self.database, self.chance, self.url, self.lost = database, chance, url, lost
        self.other_side = OtherSide(folder / "calls")
        self.run = LostRun(database)
        self.store = ChildDatabase(database.url, 8)
        self.ends: list[int] = []

    def fault(self, points: list[str]) -> str:
        """A point and a way; on PostgreSQL also an answer to one of the next COMMITs that never arrives."""
        self.lost.clear()
        way = self.chance.choice(["kill", "kill", "cut", "lost"])
        if way == "lost" and isinstance(self.database, PostgresDatabase):
            self.lost.append(self.chance.randint(1, 2))
            return ""
        return f"{self.chance.choice(points)}={'cut' if way == 'lost' else way}"

    def call_once(self, key: str, choice: str) -> None:
        lease = self.run.claim()
        on_uncertain = self.other_side.ask if choice == "ask" else choice

        def work() -> None:
            effects_of(self.url, lease, lease_seconds=8).once(key, self.other_side.send, on_uncertain, key)  # type: ignore[arg-type]

        self.ends.append(crash(self.fault(OF_ONCE), work))

    def judge_effects(self) -> None:
        """No key was called twice, and each that was called is known as applied, or listed as uncertain."""
        self.run.claim()
        calls, rows = self.other_side.calls(), rows_of_effects(self.database)
        assert set(calls.values()) <= {1}, calls.most_common(3)
        applied = {key for key, row in rows.items() if row["state"] == "applied"}
        listed = {each.key for each in self.store.read(uncertain.listed)}
        assert applied | listed == set(rows)
        assert applied <= set(calls) <= applied | listed
        assert all(rows[key]["outcome"] == {"message_id": key} for key in applied)

    def work_and_end(self, table: str) -> None:
        lease = self.run.claim()

        insert = f"INSERT INTO {table} VALUES ({self.run.run_id})"

        def work() -> None:
            with effects_of(self.url, lease, lease_seconds=8).transaction(None, lambda: None) as connection:
                connection.exec_driver_sql(insert)

        async def work_async() -> None:
            async with effects_of(self.url, lease, lease_seconds=8).transaction(None, lambda: None) as connection:
                await connection.exec_driver_sql(insert)

        chosen = self.chance.choice([work, lambda: asyncio.run(work_async())])
        self.ends.append(crash(self.fault(OF_TRANSACTION), chosen))
        # What its tick does when a child has died: the evidence decides, once no transaction holds the row any more.
        answer = wait_for(lambda: self.finalize(lease), 20, "an answer")
        status = self.database.value("SELECT status FROM job_runs WHERE id = ?", [self.run.run_id])
        done = self.database.value(f"SELECT count(*) FROM {table} WHERE run_id = ?", [self.run.run_id])
        assert (status, done) == (("succeeded", 1) if answer is Refusal.COMMITTED else ("failed", 0))
        if status == "succeeded":
            self.run = LostRun(self.database)

    def finalize(self, lease: Lease) -> object:
        (answer,) = self.store.write(lambda each: finalize.finalize_all(each, OWNER, [(lease, DIED)]))
        assert answer not in (Refusal.LEASE_LOST, Refusal.ALREADY_APPLIED)
        return None if answer is Refusal.LOCKED else answer


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made
    close_all()


def crashes(database: Database, folder: Path, seed: str, stack: ExitStack) -> Crashes:
    url, lost = stack.enter_context(answers_lost(database.url)) if database.name == "postgresql" else (database.url, [])
    made = Crashes(database, folder, random.Random(seed), url, lost)
    stack.callback(made.store.close)
    return made


def crash_effects(scene: Crashes, count: int) -> None:
    """Each key meets several crashes, with the choice of its handler, which is another one for each key."""
    for number in range(count):
        key = f"mail {number // 4}"
        scene.call_once(key, ("ask", "raise", "skip")[number // 4 % 3])
    assert -9 in scene.ends
    scene.judge_effects()


def crash_transactions(scene: Crashes, count: int) -> None:
    scene.database.execute("CREATE TABLE things (run_id INTEGER)")
    for _ in range(count):
        scene.work_and_end("things")
    assert -9 in scene.ends
    assert scene.database.value("SELECT count(DISTINCT run_id) = count(*) FROM things")


@pytest.mark.promise("P5")
def test_crashes_around_effects_double_none_and_each_open_one_is_listed(
    database: Database, tmp_path: Path, stack: ExitStack
) -> None:
    crash_effects(crashes(database, tmp_path, str(draw("effects").random()), stack), CRASHES)


@pytest.mark.promise("P2", "P5")
def test_crashes_around_own_transactions_do_the_work_exactly_when_the_run_has_succeeded(
    database: Database, tmp_path: Path, stack: ExitStack
) -> None:
    crash_transactions(crashes(database, tmp_path, str(draw("transactions").random()), stack), CRASHES // 2)


@pytest.mark.long
@pytest.mark.parametrize("kind", [crash_effects, crash_transactions])
def test_ten_thousand_crashes_double_no_effect_and_hide_none(
    database: Database, tmp_path: Path, stack: ExitStack, kind: object
) -> None:
    """On the two databases and of both kinds: 2,500 each."""
    assert callable(kind)
    kind(crashes(database, tmp_path, "10000", stack), 2500)


@pytest.mark.promise("P5")
def test_each_point_around_effects_and_transactions_is_reached_and_its_crash_is_judged(
    database: Database, tmp_path: Path, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOBRUNNER_FAULT_TRACE", str(tmp_path / "trace"))
    scene = crashes(database, tmp_path, "points", stack)
    scene.database.execute("CREATE TABLE things (run_id INTEGER)")
    for point in EFFECT_POINTS:
        monkeypatch.setattr(scene, "fault", lambda _, fault=f"{point}=kill": fault)
        if point in OF_ONCE:
            scene.call_once(point, "raise")
        else:
            scene.work_and_end("things")
    assert [line.split()[0] for line in (tmp_path / "trace").read_text().splitlines()] == list(EFFECT_POINTS)
    assert scene.ends == [-9] * len(EFFECT_POINTS)
    scene.judge_effects()
    assert set(scene.other_side.calls()) == {"effect.called", "effect.outcome_before_commit", "effect.applied"}
    assert {each.key for each in scene.store.read(uncertain.listed)} == {
        "effect.intended",
        "effect.called",
        "effect.outcome_before_commit",
    }
