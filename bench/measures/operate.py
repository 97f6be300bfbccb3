"""Beside a long history: what a person asks, what the page shows, an idle tick; and a change of many runs."""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any

from plan import OPERATE, Line, measure
from processes import Failed
from sizes import BOTH
from stage import Queue, Stage

from harness.database import numbers
from harness.judge import KEPT
from jobrunner.admin.stats import stats
from jobrunner.lifecycle import Status
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database
from jobrunner.store.drivers.location import locate
from jobrunner.store.questions import error_groups, history, overview
from jobrunner.store.questions.explain import subjects
from jobrunner.store.questions.runs import run_details, run_list
from jobrunner.store.questions.selection import Selection
from jobrunner.verify.verifier import Scope, verify
from jobrunner.web.core import Web
from jobrunner.web.messages import Request
from jobrunner.web.pages.types import PERIODS
from jobrunner.web.permissions import Visitor
from measures.claim import claims

_AT_ONCE = 500_000
_WAITING = 1_000
_ASKED = 5
_REQUESTS = 20
_JUDGED = timedelta(seconds=5)
_RUN = "job_type, payload, status, priority, run_at, created_at, updated_at"
CLAIM_BESIDE_WAITING = "claim 100 beside waiting runs, {db}"

Ask = Callable[[Connection, int], object]
ASKED: dict[str, Ask] = {
    "explain": lambda connection, run_id: subjects.explain(connection, str(run_id)),
    "show": run_details.show,
    "runs": lambda connection, _: run_list.page(connection, Selection(), 50),
    "runs --status dead": lambda connection, _: run_list.page(connection, Selection(statuses=(Status.DEAD,)), 50),
    "errors": lambda connection, _: error_groups.errors(connection, Selection()),
    "stats": lambda connection, _: stats(connection, timedelta(days=7)),
    "history": lambda connection, _: history.history(connection, history.Asked(since=timedelta(hours=12))),
    "status": lambda connection, _: overview.status(connection, None),
}
PAGES = (
    *("/", "/runs", "/runs?status=dead", "/runs?since=30d", "/errors", "/errors?since=30d"),
    *(f"/types?since={period}" for period in PERIODS),
    *("/schedules", "/schedules/calendar", "/hosts", "/audit", "/runs/ID"),
)
_NONE = "{what}: no history, {{db}}"
_MANY = "{what}: long history, {{db}}"


@measure(Line("rows of a history, {db}", "runs/s"), group=OPERATE, on=BOTH)
def fill(stage: Stage, database: str) -> Iterator[float]:
    """The INSERTs of so many (`operated`) finished runs, one a second, a tenth of them dead, each with its attempt.

    They are made once, for all measures of this group.
    """
    began = time.perf_counter()
    operated_queue(stage, database, stage.sizes.operated)
    yield stage.sizes.operated / (time.perf_counter() - began)


def _asked(name: str) -> tuple[Line, Line]:
    return Line(_NONE.format(what=name), "ms"), Line(_MANY.format(what=name), "ms", _NONE.format(what=name))


@measure(*(line for name in ASKED for line in _asked(name)), group=OPERATE, on=BOTH, times=3)
def asked(stage: Stage, database: str) -> Iterator[float]:
    """What the command of this name reads, in its one transaction, without the start of its process; median of five.

    First in a database without finished runs, then beside so many (`operated`). Both have 1,000 waiting runs; the run
    that is explained is the last of them, and the one that is shown is in the middle of all.
    """
    found = [_answers(operated_queue(stage, database, count)) for count in (0, stage.sizes.operated)]
    for name in ASKED:
        yield from (each[name] for each in found)


def _answers(queue: Queue) -> dict[str, float]:
    middle, last = _ids(queue)
    store = Database(locate(queue.database.url), patience=timedelta(seconds=30))
    try:
        wanted = {name: middle if name == "show" else last for name in ASKED}
        return {name: _median(partial(_ask, store, ask, wanted[name])) for name, ask in ASKED.items()}
    finally:
        store.close()


def _ask(store: Database, ask: Ask, run_id: int) -> object:
    return store.read(lambda connection: ask(connection, run_id))


def _median(once: Callable[[], object]) -> float:
    times = []
    for _ in range(_ASKED + 1):
        began = time.perf_counter()
        once()
        times.append(time.perf_counter() - began)
    return sorted(times[1:])[_ASKED // 2] * 1000


@measure(Line("verify, {db}", "runs/s"), group=OPERATE, on=BOTH, times=3)
def judged(stage: Stage, database: str) -> Iterator[float]:
    """How many runs with their attempts `jobrunner verify` judges a second, in the first five seconds of a history."""
    queue = operated_queue(stage, database, stage.sizes.operated)
    store = Database(locate(queue.database.url), patience=timedelta(seconds=30))
    try:
        began = time.perf_counter()
        verdict = verify(store, Scope(KEPT, within=_JUDGED))
        yield verdict.runs / (time.perf_counter() - began)
    finally:
        store.close()
    if not verdict.holds:
        raise Failed(verdict.sentence)


@measure(
    *(
        line
        for path in PAGES
        for line in (
            Line(f"page {path}, 95 of 100 within, {{db}}", "ms"),
            Line(f"page {path}, statements, {{db}}", "statements"),
        )
    ),
    group=OPERATE,
    on=BOTH,
)
def pages(stage: Stage, database: str) -> Iterator[float]:
    """The time in which the page is made, beside so many (`operated`) finished runs: of 20 requests the second longest.

    Without the server in front and the network, and of a viewer who shares nothing with others. And how many
    statements one request sends.
    """
    queue = operated_queue(stage, database, stage.sizes.operated)
    middle, _ = _ids(queue)
    for path in PAGES:
        place, _, query = path.replace("ID", str(middle)).partition("?")
        request = Request("GET", place, query, visitor=Visitor("bench"))
        with _counted() as sent, collected_as_served():
            looks = [_look(queue, request, sent) for _ in range(_REQUESTS + 1)][1:]
        yield sorted(seconds for seconds, _ in looks)[-2] * 1000
        yield max(statements for _, statements in looks)


def _look(queue: Queue, request: Request, sent: list[str]) -> tuple[float, int]:
    # A new one each time: viewers share what was asked a moment before.
    web = Web(lambda: locate(queue.database.url))
    sent.clear()
    began = time.perf_counter()
    answer = web.respond(request)
    seconds = time.perf_counter() - began
    if answer.status != 200:
        raise Failed(f"{request.path}: status {answer.status}")
    return seconds, len(sent)


@contextmanager
def collected_as_served() -> Iterator[None]:
    """As in `jobrunner web`, no collection of garbage looks through what was imported."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def _counted() -> Iterator[list[str]]:
    """The statements that are sent meanwhile, without the begin of their transactions."""
    sent: list[str] = []
    original = Connection._send  # noqa: SLF001

    def noting(connection: Connection, known: Any, parameters: Any) -> Any:
        if not known.text.startswith(("BEGIN", "PRAGMA")):
            sent.append(known.text)
        return original(connection, known, parameters)

    Connection._send = noting  # type: ignore[method-assign]  # noqa: SLF001
    try:
        yield sent
    finally:
        Connection._send = original  # type: ignore[method-assign]  # noqa: SLF001


@measure(Line("idle tick: long history, {db}", "s", "idle tick, {db}"), group=OPERATE, on=BOTH, times=5)
def idle(stage: Stage, database: str) -> Iterator[float]:
    """The whole process `jobrunner tick` with nothing to do, beside so many (`operated`) finished runs."""
    yield operated_queue(stage, database, stage.sizes.operated).tick().seconds


@measure(
    Line("change of many runs, {db}", "runs/s"),
    Line(CLAIM_BESIDE_WAITING, "ms"),
    Line("claim 100 beside a change of many runs, {db}", "ms", CLAIM_BESIDE_WAITING),
    group=OPERATE,
    on=BOTH,
)
def change(stage: Stage, database: str) -> Iterator[float]:
    """The whole process `jobrunner priority` on so many (`changed`) waiting runs of one type.

    And claims of 100 runs of another type with their commits, some before it is started, others until it has ended;
    medians.
    """
    queue, count = stage.queue(database, "operate_change"), stage.sizes.changed
    queue.add_due("changed", count)
    queue.settle()
    alone = claims(queue, lambda taken: len(taken) > _ASKED)
    running = queue.command("priority", 5, "--type", "changed", "--yes")
    beside = claims(queue, lambda _: running.has_ended())
    done = running.wait()
    changed = queue.database.value("SELECT count(*) AS n FROM job_runs WHERE job_type = 'changed' AND priority = 5")
    if changed != count:
        raise Failed(f"{changed} of {count} runs were changed")
    yield count / done.seconds
    yield alone
    yield beside


def operated_queue(stage: Stage, database: str, count: int) -> Queue:
    """A database with so many finished runs, made once."""
    name = f"operate_{count}"
    if stage.has(database, name):
        queue = stage.queue(database, name, cleared=False)
        # A full run takes longer than an hour, and a tick would begin to prune the history.
        queue.database.execute("UPDATE job_state SET pruned_at = ?", [queue.database.now()])
        return queue
    queue = stage.queue(database, name)
    for before in range(0, count, _AT_ONCE):
        _add_finished(queue, count - before, min(_AT_ONCE, count - before))
    # Ticks have counted these attempts long ago.
    queue.database.execute("UPDATE job_state SET counted_to = (SELECT coalesce(max(id), 0) FROM job_attempts)")
    now = queue.database.now()
    queue.database.execute(
        f"INSERT INTO job_runs ({_RUN}) SELECT 'report', '{{}}', 'queued', 0, ?, ?, ?"
        f" FROM ({numbers(queue.database, _WAITING)}) AS numbered",
        [now + timedelta(days=1), now, now],
    )
    queue.settle()
    return queue


def _add_finished(queue: Queue, seconds_ago: int, count: int) -> None:
    """One run a second, a tenth of them dead, with its attempt and its part of the tallies."""
    is_file = queue.database.name == "sqlite"
    second = "1000000" if is_file else "interval '1 second'"
    hour = "at - at % 3600000000" if is_file else "date_trunc('hour', at)"
    first = int(queue.database.value("SELECT coalesce(max(id), 0) AS n FROM job_runs"))
    now = queue.database.now() - timedelta(seconds=seconds_ago)
    dated = f"SELECT n, ? + n * {second} AS at FROM ({numbers(queue.database, count)}) AS numbered"
    queue.database.execute(
        f"INSERT INTO job_runs ({_RUN}, finished_at, attempts, max_attempts, error_type, last_error)"
        " SELECT CASE WHEN n % 100 = 0 THEN 'nightly' ELSE 'report' END, '{}',"
        " CASE WHEN n % 10 = 0 THEN 'dead' ELSE 'succeeded' END, 0, at, at, at, at, 1,"
        " CASE WHEN n % 10 = 0 THEN 1 ELSE 5 END,"
        " CASE WHEN n % 10 = 0 THEN 'ValueError' END, CASE WHEN n % 10 = 0 THEN 'no customer ' || n % 50 END"
        f" FROM ({dated}) AS dated",
        [now],
    )
    queue.database.execute(
        "INSERT INTO job_attempts (run_id, sequence, attempt, lease_token, worker, host, due_at, started_at,"
        " finished_at, outcome, status, error_type, error)"
        " SELECT id, 1, 1, 'bench', 'bench:1:a', 'bench', run_at, run_at, run_at,"
        " CASE status WHEN 'dead' THEN 'failed' ELSE 'succeeded' END, status, error_type, last_error"
        " FROM job_runs WHERE id > ?",
        [first],
    )
    queue.database.execute(
        "INSERT INTO job_tallies (at, span, job_type, outcome, status, ends, waited, longest_wait, ran, longest_run,"
        f" waits, runs) SELECT {hour}, 'hour', job_type, 'succeeded', status, count(*), 0, 0, 0, 0, '[]', '[]'"
        " FROM (SELECT finished_at AS at, job_type, status FROM job_runs WHERE id > ?) AS ended"
        f" GROUP BY {hour}, job_type, status",
        [first],
    )


def _ids(queue: Queue) -> tuple[int, int]:
    """The run in the middle of the history, and the last waiting one."""
    (row,) = queue.database.query("SELECT min(id) AS first, max(id) AS last FROM job_runs")
    return (row["first"] + row["last"] - _WAITING) // 2, row["last"]
