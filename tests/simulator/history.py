"""One history: a scenario, the numbers that the scheduler draws, and what they lead to."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from harness import Database as TestedDatabase
from harness import SQLiteDatabase
from jobrunner.errors import JobrunnerError
from jobrunner.model import Actor, Declaration, SlotPolicy
from jobrunner.settings.config import load
from jobrunner.store.changes import edits, one_run
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database
from jobrunner.store.drivers.location import locate
from jobrunner.store.drivers.steps import follow
from jobrunner.store.drivers.waits import of_tick
from jobrunner.store.queue import dependants, enqueue, set_limits
from jobrunner.store.queue.enqueue_sql import NewRun
from jobrunner.store.queue.set_limits import Wanted
from jobrunner.worker import expansion
from simulator import judge, scenario
from simulator.boundary import in_place_of_the_system, slow_claims
from simulator.faults import KINDS, Faults
from simulator.hosts import Host
from simulator.ledger import Violated
from simulator.places import ServerPlace
from simulator.scenario import Change, Enqueue, Every, Limit, Scenario
from simulator.scheduler import Deadlock, Scheduler, Task
from simulator.world import World, seconds

USER = Actor("user")
_QUIET_PERIODS = 12
_MOST_STEPS = 200_000


class Result(NamedTuple):
    """What came of it. ``problem`` None: all promises hold. ``numbers`` are those that were drawn."""

    problem: str | None
    steps: int
    numbers: list[int]
    told: list[str]
    counts: Counter[str]


class Removal(NamedTuple):
    """Somebody removes a schedule, so that at last all runs can end."""

    name: str


class Draws:
    """The numbers of the steps: of a seed, or given ones and then 0."""

    def __init__(self, seed: int, given: Sequence[int] | None) -> None:
        self.drawn: list[int] = []
        self.is_quiet = False
        self._given = given
        self._random = random.Random(f"steps {seed}")
        self._order = self._random.choice((0.0, 0.2, 0.6))
        self._faults = self._random.choice((0.0, 0.003, 0.01, 0.03, 0.06))
        # Few kinds in one history, so that each of them meets itself.
        self._kinds = self._random.sample(range(len(KINDS)), self._random.choice((1, 2, 3, 5, len(KINDS))))

    def __call__(self, step: int) -> int:
        number = self._next(step)
        self.drawn.append(number)
        return number

    def _next(self, step: int) -> int:
        if self._given is not None:
            return self._given[step] if step < len(self._given) else 0
        chance, number = self._random, 0
        if chance.random() < self._order:
            number = chance.getrandbits(8 if self.is_quiet else 11)
        if not self.is_quiet and chance.random() < self._faults:
            fault = chance.choice(self._kinds) + len(KINDS) * (1 + chance.getrandbits(12))
            number |= fault << 11
        return number


class History:
    """Runs one history on a copy of a migrated database."""

    def __init__(self, made: Scenario, draws: Draws, folder: Path, database: TestedDatabase, *, tells: bool) -> None:
        self.told: list[str] = []
        self._tells = tells
        self._made = made
        self._database = database
        self._label = locate(database.url).label
        self._draws = draws
        self.scheduler = Scheduler(made.lease, draws, self._note)
        self.world = World(self.scheduler, folder, database.url, made.lease, self._note)
        self.faults = Faults(self.world, made.versions, self._tell)
        self.scheduler.on_step = self._on_step
        self._ends_at = self.scheduler.now + made.lease * scenario.PERIODS
        self._ids: list[int] = []
        self._problem: str | None = None
        self.world.ledger.on_end = partial(judge.ends_before_its_lease, self.world, database)
        self.world.ledger.has_one_host = len(made.hosts) == 1
        for number, plan in enumerate(made.hosts):
            self.world.hosts.append(Host(f"h{number}", self._config(number, plan), made.versions[0]))

    def _config(self, number: int, plan: scenario.HostPlan) -> Any:
        lease, name = self._made.lease, f"h{number}"
        environ = {"JOBRUNNER_DATABASE_URL": self.world.url, "HOME": "/nowhere", "JOBRUNNER_HOST": name}
        return load(environ)._replace(
            imports=("virtual",),
            lease=seconds(lease),
            heartbeat=seconds(lease / 4),
            budget=seconds(lease * 5 / 6),
            linger=seconds(lease * 7 / 6 if plan.linger else 0.0),
            grace=seconds(lease / 6),
            concurrency=plan.concurrency,
            strict=plan.strict,
            deploy_grace=seconds(lease * 3),
            state_dir=self.world.state_folder(name),
        )

    def _note(self, line: str) -> None:
        if self._tells:
            self._tell(line)

    def _tell(self, line: str) -> None:
        if self._tells:
            # Each history has a database with another name.
            self.told.append(f"{self.scheduler.now:10.3f} {line}".replace(self._label, "of this history"))

    def _on_step(self, task: Task, number: int) -> Any:
        self.world.ledger.now = self.scheduler.now
        return None if self._draws.is_quiet else self.faults.decide(task, number)

    def run(self) -> str | None:
        """The problem, or None."""
        with in_place_of_the_system(self.world), slow_claims(is_slow=self._made.is_slow):
            try:
                self._begin()
                self.scheduler.run(lambda: self.scheduler.now >= self._ends_at or self._has_failed(), _MOST_STEPS)
                self._draws.is_quiet = True
                self.faults.heal()
                if not self._has_failed():
                    self._settle()
            except (Violated, Deadlock) as error:
                self._problem = str(error)
        return self._problem

    def _begin(self) -> None:
        for host, plan in zip(self.world.hosts, self._made.hosts, strict=True):
            self.scheduler.start(self.world.outside, f"cron of {host.name}", partial(self._cron, host, plan.first_at))
        self.scheduler.start(self.world.outside, "people", self._people)

    def _cron(self, host: Host, first_at: float) -> None:
        self.scheduler.wait("waits for the minute", first_at)
        while True:
            if host.suspended_until <= self.scheduler.now:
                self.world.start_tick(host)
            self.scheduler.wait("waits for the minute", self._made.lease)

    def _people(self) -> None:
        began_at = self.scheduler.now
        for action in self._made.actions:
            self.scheduler.wait("waits", began_at + action.at - self.scheduler.now)
            process = self.world.new_process("person", None)
            self.scheduler.start(process, type(action).__name__, partial(self._act, action))

    def _act(self, action: scenario.Action | Removal) -> None:
        database = Database(locate(self.world.url), patience=of_tick(seconds(self._made.lease)))
        try:
            database.write(lambda connection: self._do(connection, action))
        except JobrunnerError as error:
            self._note(f"    refused: {type(error).__name__}")
        except _NotCommitted:
            pass
        finally:
            database.close()

    def _remove_schedules(self) -> None:
        for name in [action.name for action in self._made.actions if isinstance(action, Every)]:
            self._act(Removal(name))

    def _do(self, connection: Connection, action: scenario.Action | Removal) -> None:
        if isinstance(action, Enqueue):
            self._enqueue(connection, action)
        elif isinstance(action, Change):
            if self._ids:
                run_id = self._ids[-1 - action.pick % len(self._ids)]
                change: Callable[..., Any] = getattr(one_run, action.what)
                change(connection, run_id, USER)
        elif isinstance(action, Limit):
            if action.most is None:
                set_limits.unset(connection, action.job_type, USER)
            else:
                lasts = None if action.lasts is None else seconds(action.lasts)
                set_limits.set_limit(connection, Wanted(action.job_type, action.most, None, lasts), USER)
        elif isinstance(action, Removal):
            edits.remove(connection, action.name, expansion.plan, USER)
        else:
            policy = SlotPolicy(overlap=action.overlap)
            payload = {"does": action.does, "k": 1}
            declared = Declaration(action.name, "plain", action.expression, "UTC", payload, "command", policy)
            edits.add(connection, declared, expansion.plan, USER)

    def _enqueue(self, connection: Connection, action: Enqueue) -> None:
        new = NewRun(
            action.job_type,
            scenario.payload(action.does),
            run_at=seconds(action.delay) if action.delay else None,
            priority=action.priority,
            idempotency_key=action.key,
        )
        for _ in range(action.beside):
            enqueue.enqueue(connection, new._replace(idempotency_key=None))
        made = enqueue.enqueue(connection, new)
        if made.created and made.id is not None and action.parents and self._ids:
            parents = sorted({self._ids[-1 - back % len(self._ids)] for back in action.parents})
            follow(connection, dependants.attach_steps(connection.database, made.id, parents, "cancel"))
        if not action.commits:
            raise _NotCommitted
        if made.created and made.id is not None and made.id not in self._ids:
            self._ids.append(made.id)

    def _has_failed(self) -> bool:
        if self._problem is None and self.scheduler.failed:
            task = self.scheduler.failed[0]
            self._problem = f"{task.name}: {type(task.error).__name__}: {task.error}"
        return self._problem is not None

    def _settle(self) -> None:
        """Nothing fails any more: so in each of so many ticks some attempt ends, until every run has ended."""
        self.scheduler.start(self.world.new_process("person", None), "removes schedules", self._remove_schedules)
        look_at = self.scheduler.now
        ended, ended_at = 0, self.scheduler.now

        def is_settled() -> bool:
            nonlocal look_at, ended, ended_at
            if self._has_failed():
                return True
            if self.scheduler.now < look_at:
                return False
            look_at = self.scheduler.now + self._made.lease
            before, ended = ended, judge.attempts(self._database)
            if ended > before:
                ended_at = self.scheduler.now
            is_stuck = self.scheduler.now > ended_at + self._made.lease * _QUIET_PERIODS
            return is_stuck or not judge.unfinished(self._database)

        # A schedule that an outage has kept back may leave a thousand runs, one after the other.
        is_over = self.scheduler.run(is_settled, _MOST_STEPS)
        if not self._has_failed():
            self._problem = judge.problem(self.world, self._database, has_settled=is_over)


class _NotCommitted(Exception):
    """Somebody rolls back."""


def in_memory() -> str | None:
    """A folder whose files are in memory, if there is one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def prepared(template: Path, into: Path) -> Path:
    """A copy of a migrated database with the table of an application, for ``run``."""
    with closing(sqlite3.connect(template)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copyfile(template, into)
    with closing(sqlite3.connect(into)) as connection:
        connection.execute("CREATE TABLE simulated_work (run_id INTEGER, token TEXT)")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return into


def _copied(template: Path, folder: Path) -> SQLiteDatabase:
    file = folder / "simulated.db"
    for suffix in ("", "-wal", "-shm"):
        file.with_name(file.name + suffix).unlink(missing_ok=True)
    shutil.copyfile(template, file)
    return SQLiteDatabase(file)


def run(
    seed: int,
    template: Path | ServerPlace,
    folder: Path,
    *,
    numbers: Sequence[int] | None = None,
    made: Scenario | None = None,
    tells: bool = False,
) -> Result:
    """The history of this seed, or the one of these numbers and this scenario, on a copy of the template."""
    database = template.fresh() if isinstance(template, ServerPlace) else _copied(template, folder)
    draws = Draws(seed, numbers)
    history = History(made or scenario.make(seed), draws, folder, database, tells=tells)
    problem = history.run()
    return Result(problem, history.scheduler.steps, draws.drawn, history.told, history.faults.counts)
