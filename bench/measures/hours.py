"""A steady stream of runs for half an hour or more: whether anything grows, also beside an open transaction."""

from collections.abc import Iterator
from contextlib import ExitStack, closing

import psycopg
from peers import PLACE
from plan import HOURS, Line, measure
from psycopg import IsolationLevel
from sizes import POSTGRESQL, SQLITE
from stage import Queue, Stage, connect
from steady import Stream

_LONGEST_OPEN_SECONDS = 900.0
# The figure of a sample, what it is, and its unit.
_FIGURES = (
    ("rate", "runs that end", "runs/s"),
    ("search_ms", "search of a claim", "ms"),
    ("start_ms", "95 of 100 starts within", "ms"),
    ("bytes_of_a_run", "bytes for each kept run", "bytes"),
)
_DEAD = ("dead_for_each", "dead rows for each kept run", "rows")
_OF_SERVER = (_DEAD, ("claim_bytes", "index of the claim", "bytes"))
FIRST, LAST = "steady stream, {what}, first quarter, {db}", "steady stream, {what}, last quarter, {db}"
TO_KEEP, KEPT = "steady stream, runs to keep, last half, {db}", "steady stream, kept runs, last half, {db}"
ENTRIES = f"steady stream, entries of the index for the runs of two minutes, {POSTGRESQL}"
INDEX = LAST.format(what="index of the claim", db=POSTGRESQL)
# An entry for a run of the stream, with the pointer to it. A full page of 8 KiB has some 180.
_ENTRY_BYTES = 44
BEFORE, OPEN, AFTER = (
    f"stream with an open transaction, {{what}}, {part}, {{db}}" for part in ("before", "while open", "after")
)
_OPEN_FIGURES = (*_FIGURES[:3], *_OF_SERVER)
RATE_BEFORE, START_BEFORE, RATE_BESIDE, START_BESIDE = (
    f"stream {when} an old transaction, {what}, {POSTGRESQL}"
    for when in ("before", "beside")
    for what in ("runs that end", "95 of 100 starts within")
)
# After a tick has begun, and its first claims have looked at all runs.
_SETTLED_SHARE = 0.25


def _lines(figures: tuple[tuple[str, str, str], ...], database: str) -> Iterator[Line]:
    for _, what, unit in figures:
        first, last = (each.format(what=what, db=database) for each in (FIRST, LAST))
        yield Line(first, unit)
        yield Line(last, unit, first)
    to_keep = TO_KEEP.format(db=database)
    yield Line(to_keep, "rows")
    yield Line(KEPT.format(db=database), "rows", to_keep)


@measure(*_lines((*_FIGURES, _DEAD), POSTGRESQL), Line(ENTRIES, "bytes"), Line(INDEX, "bytes", ENTRIES), group=HOURS)
def steady_postgresql(stage: Stage) -> Iterator[float]:
    """So many runs a second (`steady_rate`) for so long (`steady_seconds`), a tick that lingers begun each minute.

    The runs do nothing, and are kept for a quarter of that time. Medians of the samples of the first and of the last
    quarter: how many end in a second; how long the search of a claim takes; within how long 95 of 100 of the newest
    runs began; the size of job_runs and job_attempts with their indexes for each run that is kept; dead rows for each
    that is kept.

    Of the last half: how many are kept, beside how many are to be kept. The first quarter has nothing to delete, so it
    says nothing of that. Of the last quarter: the index of the claim, beside its entries for the runs of two minutes.
    It keeps the most pages that it ever needed. In quiet minutes claims mark what is dead, and these are a few; in a
    busy one it may need all until a vacuum has come, and what that has emptied is used after the next, a minute later
    each. So it has no size to be compared with in the first minutes, and what is more than this outlives its vacuum.
    """
    stream = _stream(stage, POSTGRESQL, "steady")
    yield from _steady(stream, (*_FIGURES, _DEAD))
    yield stream.rate * 120.0 * _ENTRY_BYTES
    yield stream.between(0.75, 1, "claim_bytes")


@measure(*_lines(_FIGURES, SQLITE), group=HOURS)
def steady_sqlite(stage: Stage) -> Iterator[float]:
    """The same on SQLite, where the size is that of the used pages of the file."""
    yield from _steady(_stream(stage, SQLITE, "steady"), _FIGURES)


def _steady(stream: Stream, figures: tuple[tuple[str, str, str], ...]) -> Iterator[float]:
    stream.run()
    for name, _, _ in figures:
        yield stream.between(0, 0.25, name)
        yield stream.between(0.75, 1, name)
    yield stream.between(0.5, 1, "to_keep")
    yield stream.between(0.5, 1, "kept")


def _open_lines() -> Iterator[Line]:
    for _, what, unit in _OPEN_FIGURES:
        before, while_open, after = (each.format(what=what, db=POSTGRESQL) for each in (BEFORE, OPEN, AFTER))
        yield Line(before, unit)
        yield Line(while_open, unit, before)
        yield Line(after, unit, before)


@measure(*_open_lines(), group=HOURS)
def beside_open(stage: Stage) -> Iterator[float]:
    """The same, where a transaction reads the table after a quarter of the time and stays open for half of it.

    For 15 minutes at most. Before it; in the second half of the time for which it is open; in the last quarter.
    """
    stream = _stream(stage, POSTGRESQL, "open")
    opens = stream.seconds / 4
    closes = opens + min(stream.seconds / 2, _LONGEST_OPEN_SECONDS)
    with ExitStack() as open_until_end:
        readers: list[psycopg.Connection[tuple[object, ...]]] = []

        def each_look(seconds: float) -> None:
            if seconds >= opens and not readers:
                readers.append(open_until_end.enter_context(closing(connect(stream.queue.database.url))))
                readers[0].isolation_level = IsolationLevel.REPEATABLE_READ
                readers[0].execute("SELECT count(*) FROM job_runs")
            if seconds >= closes and readers and not readers[0].closed:
                readers[0].close()

        stream.run(each_look)
    part = closes / stream.seconds
    for name, _, _ in _OPEN_FIGURES:
        yield stream.between(0, 0.25, name)
        yield stream.between((0.25 + part) / 2, part, name)
        yield stream.between(max(0.75, part), 1, name)


@measure(
    Line(RATE_BEFORE, "runs/s"),
    Line(START_BEFORE, "ms"),
    Line(RATE_BESIDE, "runs/s", RATE_BEFORE),
    Line(START_BESIDE, "ms", START_BEFORE),
    group=HOURS,
)
def beside_old(stage: Stage) -> Iterator[float]:
    """So many runs a second (`aged_rate`) for so long (`aged_seconds`), with a tick that lingers.

    Before, and beside a transaction that was open while so many runs (`aged_runs`) ended on the same host, which is
    what ends in a quarter of an hour. Without the first quarter of the time, in which the tick begins.
    """
    queue = stage.queue(POSTGRESQL, "aged")
    yield from _starts(stage, queue)
    with closing(connect(queue.database.url)) as reader:
        reader.isolation_level = IsolationLevel.REPEATABLE_READ
        reader.execute("SELECT count(*) FROM job_runs")
        queue.churn(stage.sizes.aged_runs, "bench")
        queue.database.execute("ANALYZE job_runs")
        yield from _starts(stage, queue)


def _starts(stage: Stage, queue: Queue) -> Iterator[float]:
    sizes = stage.sizes
    stream = Stream(queue, POSTGRESQL, sizes.aged_rate, sizes.aged_seconds, PLACE / "aged.jsonl", is_watched=False)
    stream.run()
    settled = next(each for each in stream.samples if each["seconds"] >= _SETTLED_SHARE * stream.seconds)
    yield stream.between(_SETTLED_SHARE, 1, "rate")
    yield stream.starts_within(0.95, int(settled["done"]))


def _stream(stage: Stage, database: str, name: str) -> Stream:
    sizes, file = stage.sizes, PLACE / f"{name}-{database}.jsonl"
    return Stream(stage.queue(database, "steady"), database, sizes.steady_rate, sizes.steady_seconds, file)
