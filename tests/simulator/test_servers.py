"""The same histories on a server, and what its sessions do there in simulated time: they wait, and they end."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from psycopg import sql

from harness.database import PostgresDatabase
from harness.databases import Copies
from harness.long import draw
from jobrunner.store.drivers.connection import DriverError
from jobrunner.store.drivers.location import locate
from jobrunner.store.drivers.waits import Waits
from simulator import history
from simulator.boundary import in_place_of_the_system
from simulator.ledger import Violated
from simulator.places import ServerPlace
from simulator.scheduler import Process, Scheduler, Task
from simulator.servers import SimulatedServer
from simulator.twins import TWINS
from simulator.world import World

PARTS = 10
"""Of the long run, a tenth of the one on SQLite; each takes two minutes."""
FOUND_AT = {
    "the end of a parent is not followed": 1,
    "recovery ends runs whose owner is alive": 4,
    "a run begins however late": 2,
    "what has begun counts as never begun": 7,
    "a limit does not count what is at work": 13,
}
"""Twins that are found here, with the seed at which the search begins."""
WAITS = Waits(lock=2.0, file=8.0, call=10.0)


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=history.in_memory()) as made:
        yield Path(made)


@pytest.fixture(scope="module")
def place(postgres_copies: Copies) -> Iterator[ServerPlace]:
    made = ServerPlace(postgres_copies)
    yield made
    made.close()


@pytest.mark.promise("P1", on="postgresql")
def test_promises_hold_in_a_random_history_on_a_server(place: ServerPlace, folder: Path) -> None:
    seed = draw("simulator on a server").randrange(10**9)
    found = history.run(seed, place, folder)
    assert found.problem is None, f"seed {seed}: {found.problem}"


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_promises_hold_in_a_million_steps_on_a_server(part: int, place: ServerPlace, folder: Path) -> None:
    steps, seed = 0, part * 10**6
    while steps < 10**6 / PARTS:
        found = history.run(seed, place, folder)
        assert found.problem is None, f"seed {seed}: {found.problem}"
        steps, seed = steps + found.steps, seed + 1


@pytest.mark.long(sample=1)
@pytest.mark.parametrize("twin", FOUND_AT)
def test_broken_twin_of_the_code_is_found_on_a_server(twin: str, place: ServerPlace, folder: Path) -> None:
    with TWINS[twin].broken():
        for seed in range(FOUND_AT[twin], FOUND_AT[twin] + 20):
            problem = history.run(seed, place, folder).problem
            if problem is not None:
                assert "Error: " not in problem, problem
                return
    pytest.fail(f"none of the seeds finds it: {twin}")


def test_same_seed_gives_the_same_history_on_a_server(place: ServerPlace, folder: Path) -> None:
    # This one has a wait for a lock, and many faults.
    told = "\n".join(history.run(36, place, folder, tells=True).told)
    assert "!!!" in told
    assert "waits for a lock" in told
    again = subprocess.run(
        [sys.executable, "-m", "simulator", "36", "--database", place.url],
        env={**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": "tests"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert _digest(again.stdout) == _digest(f"{told}\nall promises hold\n")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class Scene:
    """Tasks of a few processes on the rows of one table. ``seen`` is what they tell, each with the time."""

    def __init__(self, database: PostgresDatabase, folder: Path) -> None:
        self.database = database
        self.scheduler = Scheduler(10.0, lambda _: 0, lambda _: None)
        self.world = World(self.scheduler, folder, database.url, 10.0, lambda _: None)
        self.seen: list[tuple[str, int]] = []
        self._location = locate(database.url)
        self._began_at = self.scheduler.now

    def tell(self, what: str) -> None:
        self.seen.append((what, round(self.scheduler.now - self._began_at)))

    def connection(self) -> SimulatedServer:
        return SimulatedServer(self._location.options, WAITS, None)

    def start(self, name: str, work: Callable[[SimulatedServer], None]) -> Process:
        process = self.world.new_process(name, None)
        self.scheduler.start(process, "main", lambda: self._work(name, work))
        return process

    def _work(self, name: str, work: Callable[[SimulatedServer], None]) -> None:
        connection = self.connection()
        connection.begin()
        try:
            work(connection)
            connection.commit()
            self.tell(f"{name} commits")
        except DriverError as error:
            self.tell(f"{name}: {type(error.orig).__name__}")
            connection.rollback()
        connection.close()

    def run(self, until: Callable[[], bool] = lambda: False) -> list[Task]:
        """Until all have ended, or this is so. Returns the tasks that an error has ended."""
        with in_place_of_the_system(self.world):
            self.scheduler.run(lambda: until() or not self.scheduler._tasks, 1000)
        return self.scheduler.failed


@pytest.fixture
def scene(place: ServerPlace, folder: Path) -> Scene:
    database = place.fresh()
    for row in (1, 2):
        database.execute("INSERT INTO simulated_work VALUES (?, 'x')", [row])
    return Scene(database, folder)


def lock(connection: SimulatedServer, row: int) -> None:
    connection.execute(f"SELECT token FROM simulated_work WHERE run_id = {row} FOR UPDATE")


def hold(scene: Scene, row: int, seconds: float) -> Callable[[SimulatedServer], None]:
    def work(connection: SimulatedServer) -> None:
        lock(connection, row)
        scene.scheduler.wait("thinks", seconds)

    return work


def take(scene: Scene, row: int) -> Callable[[SimulatedServer], None]:
    def work(connection: SimulatedServer) -> None:
        scene.scheduler.wait("waits for the other", 0.1)
        lock(connection, row)

    return work


def test_statement_that_waits_for_a_row_lets_others_go_on(scene: Scene) -> None:
    scene.start("one", hold(scene, 1, 1.0))
    scene.start("two", take(scene, 1))
    scene.start("three", take(scene, 2))
    scene.run()
    assert scene.seen == [("three commits", 0), ("one commits", 1), ("two commits", 1)]


def test_wait_for_a_lock_ends_at_its_limit_in_simulated_time(scene: Scene) -> None:
    scene.start("one", hold(scene, 1, 5.0))
    scene.start("two", take(scene, 1))
    scene.run()
    assert scene.seen == [("two: LockNotAvailable", 2), ("one commits", 5)]


def test_transaction_in_which_nothing_is_done_is_ended_by_the_server(scene: Scene) -> None:
    def patient(connection: SimulatedServer) -> None:
        scene.scheduler.wait("waits for the other", 0.1)
        connection.execute("SET LOCAL lock_timeout = 60000")
        lock(connection, 1)

    scene.start("one", hold(scene, 1, 30.0))
    scene.start("two", patient)
    scene.run()
    assert scene.seen == [("two commits", round(WAITS.idle)), ("one: OperationalError", 30)]


def test_locks_of_a_killed_process_are_free_at_once(scene: Scene) -> None:
    one = scene.start("one", hold(scene, 1, 30.0))
    scene.start("two", take(scene, 1))

    def kill() -> None:
        scene.scheduler.wait("waits for both", 1.0)
        scene.world.end_process(one)

    scene.scheduler.start(scene.world.new_process("killer", None), "main", kill)
    scene.run()
    assert scene.seen == [("two commits", 1)]


def test_sessions_that_are_open_at_the_end_of_a_history_are_closed(scene: Scene) -> None:
    opened: list[SimulatedServer] = []

    def work(connection: SimulatedServer) -> None:
        opened.append(connection)
        scene.scheduler.wait("thinks", 30.0)

    scene.start("one", work)
    scene.run(until=lambda: bool(opened))
    (connection,) = opened
    assert connection.driver.closed


def test_deadlock_of_two_transactions_is_a_violated_promise(scene: Scene) -> None:
    def crosswise(first: int, second: int) -> Callable[[SimulatedServer], None]:
        def work(connection: SimulatedServer) -> None:
            lock(connection, first)
            scene.scheduler.wait("waits for the other", 0.5)
            lock(connection, second)

        return work

    # The server notices it later than the tasks wait, as on a slow machine.
    scene.database.access.execute(
        sql.SQL("ALTER DATABASE {} SET deadlock_timeout = '50ms'").format(sql.Identifier(scene.database.database))
    )
    scene.start("one", crosswise(1, 2))
    scene.start("two", crosswise(2, 1))
    (failed,) = scene.run()
    assert isinstance(failed.error, Violated)
