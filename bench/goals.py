"""What is aimed at, as ratios to what was measured in the same rounds, and what is reached."""

from collections.abc import Iterator
from dataclasses import dataclass, fields

from measures.baselines import ALL_LOOKS, IDEAL_WAITING, ONE_CORE, ONE_SECOND, PASS, PASS_PROCESSOR_TIME, RAW_EACH
from measures.claim import EMPTY
from measures.crash import AFTER_KILL, TENTH, WHOLE, WHOLE_KILLED
from measures.crowd import CROWD, NEEDED, SERVER_ALONE, SERVER_CROWD
from measures.enqueue_async import ASYNC_INSERT, DRIVERS
from measures.hours import (
    AFTER,
    BEFORE,
    ENTRIES,
    INDEX,
    KEPT,
    OPEN,
    RATE_BEFORE,
    RATE_BESIDE,
    START_BEFORE,
    START_BESIDE,
    TO_KEEP,
)
from measures.hours import FIRST as FIRST_QUARTER
from measures.hours import LAST as LAST_QUARTER
from measures.idle import FIRST, PROCESSOR_TIME
from measures.operate import CLAIM_BESIDE_WAITING
from measures.slow import SHORT
from measures.two_hosts import CALM, ONE, TWO
from plan import DRAINS, IDLE, JOINED_ENQUEUE, LESS_IS_BETTER, ONE_JOB, SINGLE_ENQUEUE
from published import Results
from sizes import BOTH, POSTGRESQL, SQLITE, Sizes
from words import short


@dataclass(frozen=True)
class Aim:
    """At least so many times what `line` has, at most if less is better; {settings}: whichever suits it better."""

    limit: float
    beside: str
    line: str

    def said(self, results: Results, database: str, ours: str) -> str:
        """The ratio, the limit, and whether it is not reached; nothing where it was not measured."""
        value, less = results.median(ours), results.unit(ours) in LESS_IS_BETTER
        names = [self.line.format(db=database, settings=settings) for settings in ("default", "best")]
        beside = [found for name in names if (found := results.median(name))]
        if not value or not beside:
            return ""
        ratio = value / (min(beside) if less else max(beside))
        is_reached = ratio <= self.limit if less else ratio >= self.limit
        limit = f"at {'most' if less else 'least'} {self.limit:g}"
        return f"{short(ratio)} × {self.beside} ({limit}{'' if is_reached else ': not reached'})"


@dataclass(frozen=True)
class Goal:
    """What `ours`, a line of each database, shall reach there; None: nothing is aimed at."""

    what: str
    ours: str
    postgresql: Aim | None
    sqlite: Aim | None = None

    def row(self, results: Results) -> tuple[str, ...]:
        """What it is, then a cell for each database."""
        sizes = {each.name: f"{results.size(each.name):,}" for each in fields(Sizes)}
        said = {db: aim.said(results, db, self.ours.format(db=db)) for db, aim in self.aims.items()}
        return (self.what.format(**sizes), *(said.get(db, "") for db in BOTH))

    @property
    def aims(self) -> dict[str, Aim]:
        """By database."""
        each = {POSTGRESQL: self.postgresql, SQLITE: self.sqlite}
        return {db: aim for db, aim in each.items() if aim is not None}


def _peer(limit: float, name: str, line: str) -> Aim:
    return Aim(limit, name, line.format(peer=name, settings="{settings}"))


_, _DRAIN, _SPIKE = DRAINS
_SINGLE = (_peer(1, "pgqueuer", SINGLE_ENQUEUE), _peer(1, "huey", SINGLE_ENQUEUE))
_JOINED = _peer(1, "pgqueuer", JOINED_ENQUEUE)
_EACH = Aim(0.5, "a plain loop that commits each outcome", RAW_EACH)
_FIRST = Aim(0.9, "that of the first", "backlog, first tick, {db}")
_CORE, _IDEAL = Aim(0.05, "a core", ONE_CORE), Aim(1.1, "the ideal time", IDEAL_WAITING)
_LOOKED_AT = Aim(0.01, "a core", ONE_CORE)
_CALM = Aim(1.5, "without the change", CLAIM_BESIDE_WAITING)
_AT_ONCE, _ALL = Aim(1.5, "the same without the kill", TENTH), Aim(1.5, "the same without the kill", WHOLE)
_PLAIN = Aim(1.2, "beside none", EMPTY)
_ONE_TYPE, _ONE_OF_FEW = Aim(1.5, "with one type", EMPTY), Aim(1.5, "with one type", FIRST)
_DRAINED = Aim(1, "a drain of as many runs", _DRAIN.ours)
_STEADY = (
    (
        "runs that end",
        "{steady_rate} runs a second for {steady_seconds} s: how many end in a second, last quarter",
        0.98,
    ),
    ("search of a claim", "the search of a claim", 1.5),
    ("95 of 100 starts within", "95 of 100 starts within", 1.5),
    ("bytes for each kept run", "tables and indexes for each kept run", 1.2),
    ("dead rows for each kept run", "dead rows for each kept run", 1.5),
)
_OF_SERVER = {"dead rows for each kept run"}
# Ticks delete each minute there, and the runs of half an hour are kept for seven and a half.
_KEPT = Aim(1.2, "those that are to be kept", TO_KEEP)
_OPEN = "beside an open transaction: how many end in a second"


def _steady() -> Iterator[Goal]:
    for what, said, limit in _STEADY:
        aim = Aim(limit, "the first quarter", FIRST_QUARTER.format(what=what, db="{db}"))
        yield Goal(said, LAST_QUARTER.format(what=what, db="{db}"), aim, None if what in _OF_SERVER else aim)
    yield Goal("kept runs, last half", KEPT, _KEPT, _KEPT)
    yield Goal("the index of the claim", INDEX, Aim(1, "its entries for the runs of two minutes", ENTRIES))
    for part, told in ((OPEN, ""), (AFTER, ", after its end")):
        aim = Aim(0.98, "before", BEFORE.format(what="runs that end", db="{db}"))
        yield Goal(_OPEN + told, part.format(what="runs that end", db="{db}"), aim)
    old = "beside a transaction during which {aged_runs} runs have ended, {aged_rate} a second: "
    yield Goal(f"{old}how many end in a second", RATE_BESIDE, Aim(0.98, "before", RATE_BEFORE))
    yield Goal(f"{old}95 of 100 starts within", START_BESIDE, Aim(2.0, "before", START_BEFORE))


_ONE_TICK = "spike, one tick, {db}"
GOALS = (
    Goal("a tick with nothing to do", "idle tick, {db}", _peer(1, "pg-boss", IDLE), Aim(3, f"`{PASS}`", PASS)),
    Goal("its processor time", PROCESSOR_TIME, None, Aim(3, "that of `python -c pass`", PASS_PROCESSOR_TIME)),
    Goal(
        "a tick with one run",
        "first run, {db}",
        _peer(1, "procrastinate", ONE_JOB),
        Aim(4, "a tick with nothing to do", "idle tick, {db}"),
    ),
    Goal(
        "{runs} runs that do nothing",
        _DRAIN.ours,
        _peer(1, "pgqueuer", _DRAIN.peers),
        _peer(1.5, "huey", _DRAIN.peers),
    ),
    Goal("{spike} runs that do nothing", _SPIKE.ours, _peer(1, "pgqueuer", _SPIKE.peers)),
    Goal("{runs} runs, two ticks at once", "2 ticks side by side, {db}", Aim(1.5, "one tick", _DRAIN.ours)),
    Goal("{spike} runs, two ticks at once", "spike, 2 ticks side by side, {db}", Aim(1.5, "one tick", _ONE_TICK)),
    Goal("{shared} runs, two ticks at once, each with its own part of a core", TWO, Aim(1.7, "one such tick", ONE)),
    Goal("no session waits for a lock meanwhile", CALM, Aim(1, "all looks", ALL_LOOKS)),
    Goal("{runs} runs with `--strict`", "drain, strict, {db}", _EACH, _EACH),
    Goal("single enqueues, psycopg or sqlite3", "single enqueue, driver's connection, {db}", *_SINGLE),
    Goal("single enqueues, a session of SQLAlchemy", "single enqueue, SQLAlchemy, {db}", *_SINGLE),
    Goal("single enqueues in a transaction, psycopg", "single enqueue, driver's connection, {db}", _JOINED),
    Goal("single enqueues in a transaction, SQLAlchemy", "single enqueue, SQLAlchemy, {db}", _JOINED),
    *(
        Goal(f"one enqueue with await, {driver}", f"async enqueue, {driver}", *aims)
        for driver in DRIVERS
        for aim in [Aim(1.3, "an INSERT through it", ASYNC_INSERT.format(db=driver))]
        for aims in [(None, aim) if driver == "aiosqlite" else (aim,)]
    ),
    Goal("{backlog} runs: the rate of the last full tick", "backlog, last full tick, {db}", _FIRST, _FIRST),
    Goal(
        "{slow_runs} runs of 100 ms, 20 at once: the parent",
        "slow runs, processor time of the parent at work, {db}",
        _CORE,
        _CORE,
    ),
    Goal("{runs} coroutines that do nothing", SHORT, *(2 * (Aim(1, "functions that do nothing", _DRAIN.ours),))),
    Goal("{waiting_runs} coroutines of 1 s, 500 at once", "waiting runs, start to exit, {db}", _IDEAL, _IDEAL),
    Goal(
        "`status` beside {finished} finished runs",
        "status beside finished runs, {db}",
        None,
        Aim(0.2, "a second", ONE_SECOND),
    ),
    Goal(
        "a tick with nothing to do, beside {operated} finished runs",
        "idle tick: long history, {db}",
        *(2 * (Aim(1.02, "the same beside none", "idle tick, {db}"),)),
    ),
    Goal("a viewer of the dashboard who polls", "page: a viewer who polls, {db}", _LOOKED_AT, _LOOKED_AT),
    Goal(
        "{crashed} runs, a SIGKILL after 3 of 10: from the next tick's start to a tenth", AFTER_KILL, _AT_ONCE, _AT_ONCE
    ),
    Goal("{crashed} runs, a SIGKILL after 3 of 10: until all is done", WHOLE_KILLED, _ALL, _ALL),
    Goal(
        "idle ticks of {crowd} hosts in the same instant: 95 of 100 within",
        CROWD,
        Aim(1.5, "what the processors need", NEEDED),
    ),
    Goal("the server's processor time for each of them", SERVER_CROWD, Aim(1.5, "for one alone", SERVER_ALONE)),
    Goal("{slots} schedules, a slot of each by one tick", "expansion, {db}", _DRAINED, _DRAINED),
    Goal("claims of a host that knows {types} types", "claim 100 among many types, {db}", _ONE_TYPE, _ONE_TYPE),
    Goal("a tick with one run that knows {types} types", "first run among many types, {db}", _ONE_OF_FEW, _ONE_OF_FEW),
    Goal("claims beside {finished} due runs of a fair type", "claim 100 beside fair runs, {db}", _PLAIN, _PLAIN),
    *_steady(),
    Goal("claims beside a change of {changed} runs", "claim 100 beside a change of many runs, {db}", _CALM, _CALM),
)
