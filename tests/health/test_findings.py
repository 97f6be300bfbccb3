"""What is wrong is found: each cause is planted by inserts, and found by `jobrunner health` under its name."""

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta

import pytest

from harness import Database
from harness.at_work import running
from harness.invariants import insert_runs
from harness.planted import DAY, HOUR, MINUTE, dead_runs, insert_ticks, old_runs, schedule
from jobrunner.admin.finding import Finding, Severity
from jobrunner.admin.findings import FINDINGS, findings
from jobrunner.settings import config
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.location import locate

TABLES = tuple(
    f"job_{name}"
    for name in ["gates", "limits", "attempts", "ticks", "runs", "definitions", "effects", "pauses", "hosts"]
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


def effect(database: Database) -> None:
    row = {"key": "k", "state": "intended", "run_id": 99, "job_type": "pay", "attempt": 1, "lease_token": "x"}
    row |= {"token": "t", "intended_at": database.now() - HOUR}
    marks = ", ".join("?" * len(row))
    database.execute(f"INSERT INTO job_effects ({', '.join(row)}) VALUES ({marks})", row.values())


def ended_since_hours(database: Database, count: int) -> None:
    """A run for each that ended a minute ago, and its attempt, which is in no tally yet."""
    now = database.now()
    for run_id in insert_runs(database, count, "report", status="succeeded", finished_at=now):
        row = {"run_id": run_id, "sequence": 1, "attempt": 1, "lease_token": "t", "worker": "w", "host": "alpha"}
        row |= {"started_at": now, "finished_at": now, "outcome": "succeeded", "status": "succeeded"}
        marks = ", ".join("?" * len(row))
        database.execute(f"INSERT INTO job_attempts ({', '.join(row)}) VALUES ({marks})", row.values())


def report(database: Database, host: str, *types: str) -> None:
    row = {"id": host, "host": host, "application": "", "types": "", "digest": "d", "settings": {}, "database": "d"}
    row |= {"can_run": {each: {} for each in types}, "boot": "b", "last_boot": "b", "reported_at": database.now()}
    marks = ", ".join("?" * len(row))
    database.execute(f"INSERT INTO job_hosts ({', '.join(row)}) VALUES ({marks})", row.values())


def gated(database: Database, count: int, gate: str = "all", **limits: object) -> None:
    """Runs that wait behind a gate for 20 minutes, and the stored limits of their type."""
    old_runs(database, count, 20 * MINUTE, gate=gate)
    values = {"job_type": "report", **limits}
    marks = ", ".join("?" * len(values))
    database.execute(f"INSERT INTO job_limits ({', '.join(values)}) VALUES ({marks})", values.values())
    turn = [gate, database.now() - 20 * MINUTE]
    database.execute("INSERT INTO job_gates (job_type, gate, turn_at) VALUES ('report', ?, ?)", turn)


# The name of the finding and words of its sentence, or None where nothing is wrong.
CASES: dict[str, tuple[Plant, dict[str, str] | None]] = {
    "all is well": (lambda _: None, None),
    "cron stopped everywhere 35 hours ago": (
        lambda database: (
            database.execute("DELETE FROM job_ticks"),
            insert_ticks(database, "beta", 40 * HOUR),
            insert_ticks(database, "alpha", 35 * HOUR),
        ),
        {"ticks_stopped": "no tick has started for 1d11h on any host: the last one was on alpha"},
    ),
    "cron stopped everywhere two minutes ago": (
        lambda database: (database.execute("DELETE FROM job_ticks"), insert_ticks(database, "alpha", 2 * MINUTE)),
        {"ticks_stopped": "no tick has started for 2m"},
    ),
    "no tick ever": (
        lambda database: database.execute("DELETE FROM job_ticks"),
        {"ticks_stopped": "no tick has ever started"},
    ),
    "one host of two stopped": (
        lambda database: insert_ticks(database, "beta", 3 * HOUR),
        {"host_stopped": "no tick has started on beta for 3h"},
    ),
    "a host was taken out of service": (lambda database: insert_ticks(database, "beta", 2 * DAY), None),
    "a host had one tick, as a pod has": (lambda database: insert_ticks(database, "pod-1", HOUR, count=1), None),
    "ticks fail": (
        lambda database: insert_ticks(database, "alpha", error="handlers: No module named 'app'"),
        {"failing_ticks": "alpha: handlers: No module named 'app'"},
    ),
    "a tick was killed": (
        lambda database: (
            insert_ticks(database, "alpha", 10 * MINUTE, count=2, finished_at=None),
            insert_ticks(database, "alpha"),
        ),
        {"killed_ticks": "2 ticks did not end in the last hour on alpha"},
    ),
    "a tick has renewed no lease for half of a minute": (
        lambda database: (
            running(
                database,
                2,
                host="alpha",
                locked_by="alpha:7:b",
                heartbeat_at=database.now() - MINUTE * 2 / 3,
                locked_until=database.now() + MINUTE / 3,
            ),
            running(database, 1, host="beta", heartbeat_at=database.now() - MINUTE / 4),
        ),
        {"silent_ticks": "no lease was renewed by the tick alpha:7:b for 40s (2 runs, such as run "},
    ),
    "a long tick holds a lease": (
        lambda database: (
            insert_ticks(database, "alpha", 10 * MINUTE, count=1, finished_at=None, worker="alpha:7:b"),
            running(database, 1, host="alpha", locked_by="alpha:7:b"),
            insert_ticks(database, "alpha"),
        ),
        None,
    ),
    "runs are overdue": (
        lambda database: old_runs(database, 2, 20 * MINUTE),
        {"overdue": "due and not started: 2 runs of report for 20m"},
    ),
    "no host has a handler": (
        lambda database: (report(database, "alpha", "pay", "mail"), old_runs(database, 2, 20 * MINUTE)),
        {"unknown_types": "no host that ticks has a handler: 2 runs of report for 20m; alpha knows 2 types; look at"},
    ),
    "cron's environment lacks the handlers": (
        lambda database: (report(database, "alpha"), old_runs(database, 2, 3 * MINUTE)),
        {"unknown_types": "2 runs of report for 3m; alpha knows no types at all; look at JOBRUNNER_IMPORT"},
    ),
    "only a host that is gone has a handler": (
        lambda database: (
            report(database, "alpha"),
            report(database, "beta", "report"),
            insert_ticks(database, "beta", 2 * DAY),
            old_runs(database, 1, 3 * MINUTE),
        ),
        {"unknown_types": "1 run of report for 3m; alpha knows no types at all"},
    ),
    "another host has a handler": (
        lambda database: (
            report(database, "alpha"),
            report(database, "beta", "report"),
            insert_ticks(database, "beta"),
            old_runs(database, 1, 3 * MINUTE),
        ),
        None,
    ),
    "a run is behind a gate where no claim looks": (
        lambda database: old_runs(database, 2, 20 * MINUTE, gate="x"),
        {"overdue": "due and not started: 2 runs of report for 20m"},
    ),
    "a run follows others and has none to follow": (
        lambda database: old_runs(database, 1, 20 * MINUTE, gate="after"),
        {"overdue": "due and not started: 1 run of report for 20m"},
    ),
    "nobody claims from behind an open gate": (
        lambda database: gated(database, 2, max_running=1),
        {"overdue": "due and not started: 2 runs of report for 20m"},
    ),
    "no host has a handler for runs behind a gate": (
        lambda database: (report(database, "alpha", "pay"), gated(database, 2, max_running=1)),
        {"unknown_types": "no host that ticks has a handler: 2 runs of report for 20m"},
    ),
    "a limit is full": (
        lambda database: (
            gated(database, 2, max_running=1),
            running(database, 1, host="alpha", job_type="report", gate="all"),
        ),
        None,
    ),
    "a rate allows none": (lambda database: gated(database, 2, rate="1/h", opens_at=database.now() + HOUR), None),
    "a key is at work": (
        lambda database: (
            gated(database, 2, gate="customer [1]", concurrency_key="customer", max_running_per_key=1),
            running(database, 1, host="alpha", job_type="report", gate="customer [1]"),
        ),
        None,
    ),
    "the runs of a limited type begin one after another": (
        lambda database: (gated(database, 2, max_running=1), ended_since_hours(database, 1)),
        None,
    ),
    "no run of a limited type has ended lately": (
        lambda database: (
            gated(database, 2, max_running=1),
            insert_runs(database, 1, "report", status="succeeded", finished_at=database.now() - 11 * MINUTE),
        ),
        {"overdue": "due and not started: 2 runs of report for 20m"},
    ),
    "a type behind a gate is paused": (
        lambda database: (
            gated(database, 2, gate="x"),
            database.execute(
                "INSERT INTO job_pauses (kind, name, actor, paused_at) VALUES ('type', 'report', 'me', ?)",
                [database.now()],
            ),
        ),
        None,
    ),
    "runs wait for a retry, not for a tick": (
        lambda database: insert_runs(database, 2, "report", run_at=database.now() + HOUR, created_at=database.now()),
        None,
    ),
    "more come than end": (
        lambda database: (
            old_runs(database, 1, 4 * HOUR),
            old_runs(database, 9, MINUTE),
            ended_since_hours(database, 8),
        ),
        {"overdue": "10 runs of report for 4h", "growing_backlog": "at least 9 came and 8 ended, 10 runs due"},
    ),
    "fewer come than end": (
        lambda database: (
            old_runs(database, 1, 4 * HOUR),
            old_runs(database, 8, MINUTE),
            ended_since_hours(database, 8),
        ),
        {"overdue": "9 runs of report for 4h"},
    ),
    "runs died": (
        lambda database: (dead_runs(database, 2, MINUTE), dead_runs(database, 1, MINUTE, "pay")),
        {"dead": "3 runs died in the last hour: 2 of report, 1 of pay"},
    ),
    "runs died long ago": (lambda database: dead_runs(database, 2, 2 * HOUR), None),
    "nobody recovers": (
        lambda database: running(database, 1, host="beta", locked_until=database.now() - HOUR),
        {"expired_leases": "1 run of dead ticks not recovered for 1h"},
    ),
    "an effect is uncertain": (effect, {"uncertain_effects": "1 effect may or may not have been applied"}),
    "a schedule cannot be read": (
        lambda database: schedule(database, "night ly", last_error="no time zone 'Mars'"),
        {"broken_schedules": "1 schedule without runs: night ly (no time zone 'Mars')"},
    ),
    "a removed schedule cannot be read": (
        lambda database: schedule(database, "gone", last_error="no", removed_at=database.now()),
        None,
    ),
    "a clock was ahead of a schedule": (
        lambda database: schedule(database, "nightly", last_slot_at=database.now() + DAY),
        {"broken_schedules": "nightly (a clock was ahead: no slot up to"},
    ),
    "a pause was forgotten": (
        lambda database: database.execute(
            "INSERT INTO job_pauses (kind, name, actor, reason, paused_at)"
            " VALUES ('type', 'report', 'ada@web1', 'x', ?)",
            [database.now() - 26 * HOUR],
        ),
        {"paused": "still paused: type report for 1d2h by ada@web1 (x)"},
    ),
    "a pause is new": (
        lambda database: database.execute(
            "INSERT INTO job_pauses (kind, name, actor, paused_at) VALUES ('all', '', 'ada@web1', ?)", [database.now()]
        ),
        None,
    ),
    "a clock was ahead of a tick": (
        lambda database: insert_ticks(database, "alpha", -HOUR),
        {"clock_skew": "the clock of the database was 1h ahead when alpha ticked"},
    ),
}


def test_each_planted_cause_is_found_under_its_name_and_nothing_else_is(database: Database, store: Store) -> None:
    for case, (plant, expected) in CASES.items():
        for table in TABLES:
            database.execute(f"DELETE FROM {table}")
        healthy(database)
        plant(database)
        found = {each.name: each for each in find(store)}
        assert set(found) == set(expected or {}), (case, found)
        for name, words in (expected or {}).items():
            # An instant may have passed since the rows were made.
            assert words in found[name].sentence.replace("1s", "").replace("2s", ""), case
            assert found[name].remedy, case


def test_every_finding_has_a_case() -> None:
    named = {name for _, expected in CASES.values() for name in expected or ()}
    # A lock is held by a session: see test_lockers.py.
    assert named == set(FINDINGS) - {"state_folder", "damaged_file", "locked"}


def test_the_worst_finding_is_first_and_thresholds_decide_what_is_one(database: Database, store: Store) -> None:
    dead_runs(database, 3, MINUTE)
    old_runs(database, 1, 20 * MINUTE)
    insert_ticks(database, "alpha", 35 * HOUR)
    found = find(store)
    assert [each.name for each in found] == ["ticks_stopped", "overdue", "dead"]
    assert [each.severity for each in found] == [Severity.CRITICAL, Severity.CRITICAL, Severity.WARNING]
    assert find(store, tick_age="40h", overdue="30m", dead="3") == []
