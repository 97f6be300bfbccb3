"""What is wrong is found: each cause is planted by inserts, and found by `jobrunner health` under its name."""

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta

import pytest

from harness import Database
from harness.at_work import running
from harness.invariants import insert_runs
from harness.planted import (
    DAY,
    HOUR,
    MINUTE,
    counted,
    dead_runs,
    insert_row,
    insert_ticks,
    judged,
    old_runs,
    pause,
    schedule,
    set_limit,
    uncertain_effect,
)
from jobrunner.admin.finding import Finding, Severity
from jobrunner.admin.findings import FINDINGS, findings
from jobrunner.settings import config
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.location import locate

TABLES = tuple(
    f"job_{name}"
    for name in [
        "gates",
        "limits",
        "attempts",
        "ticks",
        "runs",
        "definitions",
        "effects",
        "pauses",
        "set_limits",
        "hosts",
        "tallies",
    ]
)
Plant = Callable[[Database], object]


@pytest.fixture
def store(database: Database) -> Iterator[Store]:
    with closing(Store(locate(database.url), patience=timedelta(seconds=20))) as opened:
        yield opened


def find(store: Store, **environ: str) -> list[Finding]:
    settings = config.load({f"JOBRUNNER_HEALTH_{name.upper()}": value for name, value in environ.items()})
    return store.read(lambda connection: findings(connection, settings, None))


def healthy(database: Database) -> None:
    insert_ticks(database, "alpha")
    insert_runs(database, 1)
    running(database, 1, host="alpha")


def ended_since_hours(database: Database, count: int) -> None:
    """A run for each that ended a minute ago, and its attempt, which is in no tally yet."""
    now = database.now()
    for run_id in insert_runs(database, count, "report", status="succeeded", finished_at=now):
        row = {"run_id": run_id, "sequence": 1, "attempt": 1, "lease_token": "t", "worker": "w", "host": "alpha"}
        row |= {"started_at": now, "finished_at": now, "outcome": "succeeded", "status": "succeeded"}
        insert_row(database, "job_attempts", row)


def report(database: Database, host: str, *types: str) -> None:
    row = {"id": host, "host": host, "application": "", "types": "", "digest": "d", "settings": {}, "database": "d"}
    row |= {"can_run": {each: {} for each in types}, "boot": "b", "last_boot": "b", "reported_at": database.now()}
    insert_row(database, "job_hosts", row)


def gated(database: Database, count: int, gate: str = "all", **limits: object) -> None:
    """Runs that wait behind a gate for 20 minutes, and the stored limits of their type."""
    old_runs(database, count, 20 * MINUTE, gate=gate)
    insert_row(database, "job_limits", {"job_type": "report", **limits})
    turn_at = database.now() - 20 * MINUTE
    insert_row(database, "job_gates", {"job_type": "report", "gate": gate, "turn_at": turn_at})


def do(work: Callable[..., object], *words: object, **columns: object) -> Plant:
    """Call it with the database. A time in a column is one from now."""

    def plant(database: Database) -> None:
        at = database.now()
        work(database, *words, **{n: at + each if isinstance(each, timedelta) else each for n, each in columns.items()})

    return plant


NOW = timedelta(0)
# Of few attempts, or half of nine seconds and more.
USUAL_TIMES = ((19, 0.1), (20, 4.5), (20, 9.0), (20, 100.0))
NO_TICKS = do(lambda database: database.execute("DELETE FROM job_ticks"))
# What is planted; and the name of the finding with words of its sentence, or None where nothing is wrong.
CASES: dict[str, tuple[list[Plant], dict[str, str] | None]] = {
    "all is well": ([], None),
    "cron stopped everywhere 35 hours ago": (
        [NO_TICKS, do(insert_ticks, "beta", 40 * HOUR), do(insert_ticks, "alpha", 35 * HOUR)],
        {"ticks_stopped": "no tick has started for 1d11h on any host: the last one was on alpha"},
    ),
    "cron stopped everywhere two minutes ago": (
        [NO_TICKS, do(insert_ticks, "alpha", 2 * MINUTE)],
        {"ticks_stopped": "no tick has started for 2m"},
    ),
    "no tick ever": ([NO_TICKS], {"ticks_stopped": "no tick has ever started"}),
    "one host of two stopped": (
        [do(insert_ticks, "beta", 3 * HOUR)],
        {"host_stopped": "no tick has started on beta for 3h"},
    ),
    "a host that alone may do something is away": (
        [
            do(schedule, "logs@beta", host="beta", template="logs", next_run_at=-HOUR, **{'"on"': "every-host"}),
            do(old_runs, 2, 2 * HOUR, only_host="beta"),
        ],
        {"host_awaited": "beta for 1 schedule (logs@beta) and 2 runs ("},
    ),
    "a host was taken out of service": ([do(insert_ticks, "beta", 2 * DAY)], None),
    "a host had one tick, as a pod has": ([do(insert_ticks, "pod-1", HOUR, count=1)], None),
    "ticks fail": (
        [do(insert_ticks, "alpha", error="handlers: No module named 'app'")],
        {"failing_ticks": "alpha: handlers: No module named 'app'"},
    ),
    "a tick was killed": (
        [do(insert_ticks, "alpha", 10 * MINUTE, count=2, finished_at=None), do(insert_ticks, "alpha")],
        {"killed_ticks": "2 ticks did not end in the last hour on alpha"},
    ),
    "a tick has renewed no lease for half of a minute": (
        [
            do(running, 2, host="alpha", locked_by="alpha:7:b", heartbeat_at=-MINUTE * 2 / 3, locked_until=MINUTE / 3),
            do(running, 1, host="beta", heartbeat_at=-MINUTE / 4),
        ],
        {"silent_ticks": "no lease was renewed by the tick alpha:7:b for 40s (2 runs, such as run "},
    ),
    "a long tick holds a lease": (
        [
            do(insert_ticks, "alpha", 10 * MINUTE, count=1, finished_at=None, worker="alpha:7:b"),
            do(running, 1, host="alpha", locked_by="alpha:7:b"),
            do(insert_ticks, "alpha"),
        ],
        None,
    ),
    "runs are overdue": (
        [do(old_runs, 2, 20 * MINUTE)],
        {"overdue": "due and not started: 2 runs of report for 20m"},
    ),
    "no host has a handler": (
        [do(report, "alpha", "pay", "mail"), do(old_runs, 2, 20 * MINUTE)],
        {"unknown_types": "no host that ticks has a handler: 2 runs of report for 20m; alpha knows 2 types; look at"},
    ),
    "cron's environment lacks the handlers": (
        [do(report, "alpha"), do(old_runs, 2, 3 * MINUTE)],
        {"unknown_types": "2 runs of report for 3m; alpha knows no types at all; look at JOBRUNNER_IMPORT"},
    ),
    "only a host that is gone has a handler": (
        [
            do(report, "alpha"),
            do(report, "beta", "report"),
            do(insert_ticks, "beta", 2 * DAY),
            do(old_runs, 1, 3 * MINUTE),
        ],
        {"unknown_types": "1 run of report for 3m; alpha knows no types at all"},
    ),
    "another host has a handler": (
        [do(report, "alpha"), do(report, "beta", "report"), do(insert_ticks, "beta"), do(old_runs, 1, 3 * MINUTE)],
        None,
    ),
    "a run is behind a gate where no claim looks": (
        [do(old_runs, 2, 20 * MINUTE, gate="x")],
        {"overdue": "due and not started: 2 runs of report for 20m"},
    ),
    "a run follows others and has none to follow": (
        [do(old_runs, 1, 20 * MINUTE, gate="after")],
        {"overdue": "due and not started: 1 run of report for 20m"},
    ),
    "nobody claims from behind an open gate": (
        [do(gated, 2, max_running=1)],
        {"overdue": "due and not started: 2 runs of report for 20m"},
    ),
    "no host has a handler for runs behind a gate": (
        [do(report, "alpha", "pay"), do(gated, 2, max_running=1)],
        {"unknown_types": "no host that ticks has a handler: 2 runs of report for 20m"},
    ),
    "a limit is full": (
        [do(gated, 2, max_running=1), do(running, 1, host="alpha", job_type="report", gate="all")],
        None,
    ),
    "a rate allows none": ([do(gated, 2, rate="1/h", opens_at=HOUR)], None),
    "a key is at work": (
        [
            do(gated, 2, gate="customer [1]", concurrency_key="customer", max_running_per_key=1),
            do(running, 1, host="alpha", job_type="report", gate="customer [1]"),
        ],
        None,
    ),
    "the runs of a limited type begin one after another": (
        [do(gated, 2, max_running=1), do(ended_since_hours, 1)],
        None,
    ),
    "no run of a limited type has ended lately": (
        [do(gated, 2, max_running=1), do(insert_runs, 1, "report", status="succeeded", finished_at=-11 * MINUTE)],
        {"overdue": "due and not started: 2 runs of report for 20m"},
    ),
    "a type behind a gate is paused": ([do(gated, 2, gate="x"), do(pause, "type", "report", NOW)], None),
    "runs wait for a retry, not for a tick": ([do(insert_runs, 2, "report", run_at=HOUR, created_at=NOW)], None),
    "more come than end": (
        [do(old_runs, 1, 4 * HOUR), do(old_runs, 9, MINUTE), do(ended_since_hours, 8)],
        {"overdue": "10 runs of report for 4h", "growing_backlog": "at least 9 came and 8 ended, 10 runs due"},
    ),
    "fewer come than end": (
        [do(old_runs, 1, 4 * HOUR), do(old_runs, 8, MINUTE), do(ended_since_hours, 8)],
        {"overdue": "9 runs of report for 4h"},
    ),
    "runs died": (
        [do(dead_runs, 2, MINUTE), do(dead_runs, 1, MINUTE, "pay")],
        {"dead": "3 runs died in the last hour: 2 of report, 1 of pay"},
    ),
    "runs died long ago": ([do(dead_runs, 2, 2 * HOUR)], None),
    "nobody recovers": (
        [do(running, 1, host="beta", locked_until=-HOUR)],
        {"expired_leases": "1 run of dead ticks not recovered for 1h"},
    ),
    "an effect is uncertain": (
        [do(uncertain_effect, "k")],
        {"uncertain_effects": "1 effect may or may not have been applied"},
    ),
    "a schedule cannot be read": (
        [do(schedule, "night ly", last_error="no time zone 'Mars'")],
        {"broken_schedules": "1 schedule without runs: night ly (no time zone 'Mars')"},
    ),
    "the history breaks a promise": (
        [do(judged, "succeeded", 26 * HOUR), do(judged, "dead", 2 * HOUR)],
        {"broken_promises": "nightly has found: 9 runs: 1 breach of one_owner"},
    ),
    "the history broke a promise, and was repaired": (
        [do(judged, "dead", 3 * HOUR), do(judged, "succeeded", HOUR)],
        None,
    ),
    "the history could not be judged": ([do(judged, "dead", 2 * HOUR, "exit status 69: cannot use it")], None),
    "a removed schedule cannot be read": ([do(schedule, "gone", last_error="no", removed_at=NOW)], None),
    "a clock was ahead of a schedule": (
        [do(schedule, "nightly", last_slot_at=DAY)],
        {"broken_schedules": "nightly (a clock was ahead: no slot up to"},
    ),
    "a pause was forgotten": (
        [do(pause, "type", "report", 26 * HOUR, "x")],
        {"paused": "still paused: type report for 1d2h by ada@web1 (x)"},
    ),
    "a limit was forgotten": (
        [
            do(set_limit, "report", 26 * HOUR, reason="x"),
            do(set_limit, "mail", 50 * HOUR, max_running=None, rate="1/m", burst=1),
        ],
        {
            "limited": "still limited: mail to rate 1/m for 2d2h by ada@web1, report to max_running 2 for 1d2h by"
            " ada@web1 (x)"
        },
    ),
    "a limit is new, and another one will end": (
        [
            do(set_limit, "report", HOUR),
            lambda database: set_limit(database, "mail", 50 * HOUR, ends_at=database.now() + HOUR),
        ],
        None,
    ),
    "attempts take longer than they did": (
        [
            do(counted, "report", 15 * DAY, 19, 3.0),
            do(counted, "report", 30 * DAY, 1, 3.0),
            do(counted, "report", 9 * HOUR, 50, 3.0),
            do(counted, "report", 2 * HOUR, 5, 9.0),
            *(do(counted, "nightly", (1 + 9 * day) * DAY, 10, 3600.0) for day in (1, 2)),
            *(do(counted, "nightly", 3 * HOUR + day * DAY, 1, 8000.0) for day in range(7)),
        ],
        {"slower_than_usual": "half of the attempts took longer than is usual: nightly 2h5m or more since "},
    ),
    "attempts need more memory than they did": (
        [do(counted, "report", 15 * DAY, 20, 3.0, 200), do(counted, "report", 4 * HOUR, 5, 3.0, 600)],
        {"bigger_than_usual": "half of the attempts had more memory than is usual: report 600.0 MiB or more since "},
    ),
    "attempts are slow or big, and that is usual, or not known, or little": (
        [
            *(do(counted, f"slow_{n}", 15 * DAY, ends, seconds) for n, (ends, seconds) in enumerate(USUAL_TIMES)),
            *(do(counted, f"slow_{n}", 2 * HOUR, 5, 9.0) for n in range(len(USUAL_TIMES))),
            do(counted, "big", 15 * DAY, 20, 0.1, 500),
            do(counted, "big", 2 * HOUR, 5, 0.1, 900),
            do(counted, "small", 15 * DAY, 20, 0.1, 20),
            do(counted, "small", 2 * HOUR, 5, 0.1, 250),
            do(counted, "seldom", 15 * DAY, 100, 3.0),
            do(counted, "seldom", 2 * HOUR, 4, 9000.0),
            do(counted, "quick", 15 * DAY, 100, 0.1),
            do(counted, "quick", 2 * HOUR, 100, 0.9),
            do(counted, "fails", 15 * DAY, 100, 3.0),
            do(counted, "fails", 2 * HOUR, 100, 9000.0, outcome="failed", status="failed"),
            do(counted, "before", 15 * DAY, 100, 3.0),
            do(counted, "before", 2 * DAY, 100, 9000.0),
            do(counted, "fresh", 15 * DAY, 100, 3.0),
            do(counted, "fresh", NOW, 100, 9000.0),
            do(counted, "young", 5 * DAY, 100, 3.0),
            do(counted, "young", 2 * HOUR, 100, 9000.0),
            do(counted, "old", 40 * DAY, 100, 3.0),
            do(counted, "old", 2 * HOUR, 100, 9000.0),
        ],
        None,
    ),
    "a pause is new": ([do(pause, "all", "", NOW)], None),
    "a clock was ahead of a tick": (
        [do(insert_ticks, "alpha", -HOUR)],
        {"clock_skew": "the clock of the database was 1h ahead when alpha ticked"},
    ),
}


def test_each_planted_cause_is_found_under_its_name_and_nothing_else_is(database: Database, store: Store) -> None:
    for case, (plants, expected) in CASES.items():
        for table in TABLES:
            database.execute(f"DELETE FROM {table}")
        healthy(database)
        for plant in plants:
            plant(database)
        found = {each.name: each for each in find(store)}
        assert set(found) == set(expected or {}), (case, found)
        for name, words in (expected or {}).items():
            # An instant may have passed since the rows were made.
            assert words in found[name].sentence.replace("1s", "").replace("2s", ""), case
            assert found[name].remedy, case


def test_every_finding_has_a_case() -> None:
    named = {name for _, expected in CASES.values() for name in expected or ()}
    # A lock is held by a session, and so is an old state: see test_lockers.py and test_snapshots.py.
    assert named == set(FINDINGS) - {"state_folder", "damaged_file", "locked", "old_snapshot"}


def test_the_worst_finding_is_first_and_thresholds_decide_what_is_one(database: Database, store: Store) -> None:
    dead_runs(database, 3, MINUTE)
    old_runs(database, 1, 20 * MINUTE)
    insert_ticks(database, "alpha", 35 * HOUR)
    found = find(store)
    assert [each.name for each in found] == ["ticks_stopped", "overdue", "dead"]
    assert [each.severity for each in found] == [Severity.CRITICAL, Severity.CRITICAL, Severity.WARNING]
    assert find(store, tick_age="40h", overdue="30m", dead="3") == []


def test_what_is_slower_or_bigger_is_said_with_both_numbers_and_by_the_thresholds(
    database: Database, store: Store
) -> None:
    insert_ticks(database, "alpha")
    counted(database, "report", 15 * DAY, 20, 3.0, 200)
    counted(database, "report", 2 * HOUR, 5, 9.0, 700)
    slow, big = find(store)
    assert slow.sentence.startswith("half of the attempts took longer than is usual: report 8s or more since 20")
    assert slow.sentence.endswith("Z, usually 95 of 100 up to 3s")
    assert big.sentence.startswith(
        "half of the attempts had more memory than is usual: report 700.0 MiB or more since 20"
    )
    assert big.sentence.endswith("Z, usually 95 of 100 up to 200.0 MiB")
    assert slow.remedy.endswith(": jobrunner stats --type report")
    assert slow.about == big.about == {"job_type": "report"}
    for name, quiet in (("slower", "3"), ("slower", "0"), ("slower_from", "8s")):
        assert [each.name for each in find(store, **{name: quiet})] == [big.name]
    for name, quiet in (("bigger", "4"), ("bigger", "0"), ("bigger_from", "701")):
        assert [each.name for each in find(store, **{name: quiet})] == [slow.name]
    assert find(store, compared="6") == []
