"""The tallies: what ended, by hour and type. They say what the attempts say, whatever died while they were made."""

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

import psycopg
import pytest

from harness import App, Commands, Database, PostgresDatabase, postgresql_only
from harness.at_work import OWNER, running
from harness.invariants import insert_runs
from harness.tallying import count_all
from jobrunner.admin import stats
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.model import Actor
from jobrunner.store.changes.one_run import cancel, discard
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.queue.finalize import finalize_all
from jobrunner.store.queue.ticks import tallies
from jobrunner.store.queue.ticks.tallies import Key, Tally
from jobrunner.store.sql.histogram import quantile
from jobrunner.store.sql.statement import Prepared
from jobrunner.web.pages.charts import part_of

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
ENDS = [
    (AttemptResult(Outcome.SUCCEEDED, processor_seconds=1.5, peak_memory_bytes=60 * 2**20), "succeeded"),
    (AttemptResult(Outcome.FAILED, error="no", processor_seconds=0.25), "failed"),
    (AttemptResult(Outcome.DISCARDED, error="never"), "dead"),
    (AttemptResult(Outcome.SNOOZED, wait=HOUR), "queued"),
]


def end_some(database: Database, store: Store, count: int, seed: int = 0) -> Counter[tuple[str, str]]:
    """Runs that are ended in any way; how many in which."""
    chosen = random.Random(seed).choices(ENDS, k=count)
    ends = list(zip(running(database, count), (result for result, _ in chosen), strict=True))
    store.write(lambda connection: finalize_all(connection, OWNER, ends))
    return Counter((result.outcome.value, status) for result, status in chosen)


def move_clock(database: Database, store: Store, by: timedelta) -> None:
    """Move the clock of the database, which a new connection sees."""
    database.move_clock(by)
    store.close()


def counted(store: Store) -> Counter[tuple[str, str]]:
    found = store.read(tallies.totals)
    return Counter({(key.outcome, key.status): tally.ends for key, tally in found.items()})


def attempts(database: Database) -> Counter[tuple[str, str]]:
    rows = database.query("SELECT outcome, status, count(*) AS n FROM job_attempts GROUP BY outcome, status")
    return Counter({(row["outcome"], row["status"]): row["n"] for row in rows})


def rows_of_tallies(database: Database) -> int:
    count: int = database.value("SELECT count(*) AS n FROM job_tallies")
    return count


def test_each_end_is_counted_once_whenever_it_is_asked_for(database: Database, store: Store) -> None:
    expected = Counter[tuple[str, str]]()
    for seed in range(4):
        expected += end_some(database, store, 20, seed)
        assert counted(store) == expected, "also what is in no tally yet"
        count_all(database, store)
        assert counted(store) == expected
    assert rows_of_tallies(database) > 0


def test_what_is_counted_later_is_in_the_hour_in_which_it_ended(database: Database, store: Store) -> None:
    first = database.now()
    end_some(database, store, 5)
    move_clock(database, store, 3 * HOUR)
    end_some(database, store, 5, seed=1)
    count_all(database, store)
    rows = database.query("SELECT at, sum(ends) AS ends FROM job_tallies GROUP BY at ORDER BY at")
    (early, five), (late, other_five) = ((row["at"], row["ends"]) for row in rows)
    assert (five, other_five) == (5, 5)
    begin = first.replace(minute=0, second=0, microsecond=0)
    assert early == begin
    assert late - early in (3 * HOUR, 4 * HOUR)
    parts = store.read(lambda connection: tallies.ends_since(connection, begin, HOUR))
    assert {part for each in parts for part in each.ends} <= {0, (late - early) // HOUR}


@pytest.mark.long(sample=0.5)
@pytest.mark.parametrize(
    "point", ["finalize.before_commit", "finalize.committed", "tick.before_close", "recover.committed"]
)
def test_a_killed_tick_leaves_no_end_uncounted(
    jobrunner: Commands, app: App, database: Database, store: Store, point: str
) -> None:
    insert_runs(database, 30)
    insert_runs(database, 3, "fail")
    running(database, 2, locked_until=database.now() - HOUR, locked_by="gone:1:0", host="gone")
    jobrunner.killed_at(point)
    for _ in range(3):
        database.move_clock(HOUR)
        jobrunner.tick()
    assert counted(store) == attempts(database)
    assert counted(store)["succeeded", "succeeded"] >= 30
    assert counted(store)["lease_expired", "failed"] >= 2


def test_ten_ticks_that_work_together_count_each_attempt_once(
    jobrunner: Commands, database: Database, store: Store
) -> None:
    insert_runs(database, 200)
    ticks = [jobrunner.start("tick", env={"JOBRUNNER_HOST": f"host{number}"}) for number in range(10)]
    assert [tick.communicate(timeout=60) for tick in ticks] == [("", "")] * 10
    count_all(database, store)
    assert counted(store) == attempts(database) == {("succeeded", "succeeded"): 200}
    in_tallies = database.value("SELECT sum(ends) AS n FROM job_tallies")
    assert in_tallies == 200


@postgresql_only
def test_an_attempt_that_is_committed_after_a_later_one_is_counted(database: PostgresDatabase, store: Store) -> None:
    early, late = running(database, 2)
    columns = "run_id, sequence, attempt, lease_token, worker, host, started_at, finished_at, outcome, status"
    insert = (
        f"INSERT INTO job_attempts ({columns}) VALUES (%s, 1, 1, 't', 'o', 'h', now(), now(), 'succeeded', 'succeeded')"
    )
    with psycopg.connect(database.url) as slow, psycopg.connect(database.url) as quick:
        slow.execute(insert, [early.run_id])
        quick.execute(insert, [late.run_id])
        quick.commit()
        for _ in range(3):
            store.write(tallies.fold)
        assert database.value("SELECT counted_to AS n FROM job_state") == 0
        assert counted(store) == {("succeeded", "succeeded"): 1}
        slow.commit()
    count_all(database, store)
    assert database.value("SELECT counted_to AS n FROM job_state") == 2
    assert counted(store) == {("succeeded", "succeeded"): 2}


def test_ends_without_an_attempt_are_counted_too(jobrunner: Commands, database: Database, store: Store) -> None:
    cancelled, discarded = insert_runs(database, 2, run_at=database.now() + HOUR)
    insert_runs(database, 1, start_deadline_at=database.now() - HOUR)
    store.write(lambda connection: cancel(connection, cancelled, Actor("ada")))
    store.write(lambda connection: discard(connection, discarded, Actor("ada", "wrong")))
    jobrunner.tick()
    assert counted(store) == {("", "cancelled"): 1, ("", "dead"): 2}


def test_compacting_changes_no_total_and_no_hour(database: Database, store: Store) -> None:
    began = database.now()
    expected = Counter[tuple[str, str]]()
    for hour in range(4):
        for seed in range(3):
            expected += end_some(database, store, 10, 10 * hour + seed)
            count_all(database, store)
        move_clock(database, store, HOUR)
    before = store.read(lambda connection: every_part(connection, began - HOUR))
    rows = rows_of_tallies(database)
    move_clock(database, store, 3 * HOUR)
    store.write(tallies.compact)
    assert rows_of_tallies(database) < rows
    after = store.read(lambda connection: every_part(connection, began - HOUR))
    assert after == before
    assert counted(store) == expected
    move_clock(database, store, timedelta(days=100))
    store.write(tallies.compact)
    assert {row["span"] for row in database.query("SELECT span FROM job_tallies")} == {"day"}
    assert counted(store) == expected
    move_clock(database, store, timedelta(days=900))
    store.write(tallies.compact)
    assert rows_of_tallies(database) == 0
    assert counted(store) == expected


def every_part(connection: Connection, begin: datetime) -> tuple[object, ...]:
    sums = tallies.sums_since(connection, begin)
    parts = [tallies.ends_since(connection, begin, 2 * HOUR, with_types=each) for each in (True, False)]
    return {key: rounded(tally) for key, tally in sums.items()}, *map(sorted, parts)


def rounded(tally: Tally) -> Tally:
    values = tally._asdict().items()
    return Tally(
        **{name: list(value) if isinstance(value, list | tuple) else round(value, 6) for name, value in values}
    )


def test_what_is_pruned_before_it_was_counted_is_counted(jobrunner: Commands, database: Database, store: Store) -> None:
    expected = end_some(database, store, 40)
    database.move_clock(timedelta(days=400))
    jobrunner.tick(env={"JOBRUNNER_IMPORT": None})
    assert database.value("SELECT count(*) AS n FROM job_runs WHERE status = 'succeeded'") == 0
    assert counted(store) == expected


def test_attempt_that_is_counted_is_not_counted_again_with_a_later_one(database: Database, store: Store) -> None:
    end_some(database, store, 1)
    count_all(database, store)
    same = "run_id, attempt, worker, host, due_at, started_at, finished_at, outcome, status"
    database.execute(
        f"INSERT INTO job_attempts ({same}, sequence, lease_token) SELECT {same}, 2, 'u' FROM job_attempts"
    )
    before = counted(store)
    store.write(lambda connection: tallies.count_attempts_of(connection, [1]))
    database.execute("DELETE FROM job_attempts")
    assert counted(store) == before


def test_waits_and_run_times_are_those_of_the_attempts(database: Database, store: Store) -> None:
    at = database.now()
    leases = running(database, 4, run_at=at - timedelta(seconds=90), started_at=at - timedelta(seconds=30))
    success = AttemptResult(Outcome.SUCCEEDED)
    store.write(lambda connection: finalize_all(connection, OWNER, [(lease, success) for lease in leases]))
    for _ in range(2):
        tally = store.read(tallies.totals)[Key("append", "succeeded", "succeeded")]
        assert tally.waited == pytest.approx(4 * 60, abs=0.1)
        assert tally.ran == pytest.approx(4 * 30, abs=20)
        assert quantile(tally.waits, 0.5, 60.0) == pytest.approx(60, abs=50)
        count_all(database, store)


def test_what_attempts_cost_is_the_same_before_and_after_housekeeping_and_by_the_types(
    database: Database, store: Store
) -> None:
    """What an older program has counted, without costs, is summed with it."""
    costs = [(0.004, 30), (0.5, 70), (1.5, 70), (9.0, None), (None, None)]
    ends = [
        (lease, AttemptResult(Outcome.SUCCEEDED, processor_seconds=time, peak_memory_bytes=size and size * 2**20))
        for lease, (time, size) in zip(running(database, 5), costs, strict=True)
    ]
    store.write(lambda connection: finalize_all(connection, OWNER, ends))
    began = database.now()
    old = "at, span, job_type, outcome, status, ends, waited, longest_wait, ran, longest_run, waits, runs"
    hour = began.replace(minute=0, second=0, microsecond=0)
    database.execute(
        f"INSERT INTO job_tallies ({old})"
        " VALUES (?, 'hour', 'append', 'succeeded', 'succeeded', 7, 0.0, 0.0, 7.0, 1.0, '[7]', '[7]')",
        [hour],
    )

    def shown() -> stats.TypeStats:
        (found,) = store.read(lambda connection: stats.stats(connection, database.now() - began + HOUR)).types
        return replace(found, waits=found.run_times)

    first = shown()
    assert first.attempts == {"succeeded": 12}
    assert first.processor_total_seconds == pytest.approx(11.004)
    assert first.processor_times == stats.Durations(pytest.approx(0.5), pytest.approx(9.0, abs=1.0), 9.0)
    assert first.peak_memory.largest_bytes == 70 * 2**20
    assert first.peak_memory.p50_bytes == pytest.approx(70 * 2**20, abs=10 * 2**20)
    count_all(database, store)
    assert shown() == first
    for later in (3 * HOUR, 20 * DAY):
        move_clock(database, store, later)
        store.write(tallies.compact)
        assert shown() == first
    assert {row["span"] for row in database.query("SELECT span FROM job_tallies")} == {"day"}


def insert_hours(database: Database, hours: Iterable[datetime], types: int = 1, is_in_totals: int = 0) -> None:
    """Rows of tallies as they are before housekeeping: three for each hour and type."""
    columns = (
        "at, span, job_type, outcome, status, ends, waited, longest_wait, ran, longest_run, waits, runs, is_in_totals"
    )
    for at in hours:
        for number in range(types):
            for outcome, status in (("succeeded", "succeeded"), ("failed", "failed"), ("failed", "dead")):
                row = [at, f"type_{number}", outcome, status, 1.0 + number, is_in_totals]
                database.execute(
                    f"INSERT INTO job_tallies ({columns})"
                    " VALUES (?, 'hour', ?, ?, ?, 2, 3.0, ?, 4.0, 5.0, '[0, 1, 1]', '[2]', ?)",
                    row,
                )


def test_page_of_many_types_and_hours_reads_as_many_rows_as_it_shows(database: Database, store: Store) -> None:
    now = database.now().replace(minute=0, second=0, microsecond=0)
    insert_hours(database, [now - HOUR * hour for hour in range(20)], types=7)
    begin = now - 19 * HOUR
    sums = store.read(lambda connection: tallies.sums_since(connection, begin))
    assert len(sums) == 7 * 3
    expected = Tally(40, 60.0, 4.0, 80.0, 5.0, [0, 20, 20], [40], processors=[], memories=[])
    assert sums[tallies.Key("type_3", "failed", "dead")] == expected
    # Runs that only failed have not ended.
    of_all = store.read(lambda connection: tallies.ends_since(connection, begin, HOUR))
    assert sorted(of_all) == [("", status, dict.fromkeys(range(20), 14)) for status in ("dead", "succeeded")]
    by_type = store.read(lambda connection: tallies.ends_since(connection, begin, 10 * HOUR, with_types=True))
    assert len(by_type) == 7 * 2
    assert all(each.ends == {0: 20, 1: 20} for each in by_type)


def test_histograms_of_days_that_are_over_are_read_once_and_new_ends_are_counted(
    database: Database, store: Store
) -> None:
    """Of thirty types they are forty thousand texts: read for each look at the page they took most of its time."""
    now = database.now().replace(minute=0, second=0, microsecond=0)
    insert_hours(database, [now - HOUR * hour for hour in range(72)])
    begin, key = now - 71 * HOUR, tallies.Key("type_0", "failed", "dead")
    days = 1 if database.name == "postgresql" else len({(now - HOUR * hour).date() for hour in range(72)})
    rows = store.read(lambda connection: connection.execute(Prepared("tallies.sums_since"), {"since": begin}).all())
    assert len(rows) == 3 * days

    def look() -> tuple[Tally, int]:
        before = tallies.merged_text.cache_info().misses
        found = store.read(lambda connection: tallies.sums_since(connection, begin))
        return found[key], tallies.merged_text.cache_info().misses - before

    first, _ = look()
    assert (first.ends, list(first.waits)) == (2 * 72, [0, 72, 72])
    assert look() == (first, 0)
    # More than a day has hours: the texts of today must not be those of a whole day.
    insert_hours(database, [now] * 30)
    again, read = look()
    assert (again.ends, list(again.waits)) == (2 * 102, [0, 102, 102])
    assert read == 3, "what is summed with it has another text: for waits, runs and costs"


def test_hours_of_a_day_that_is_a_week_old_become_one_row_however_often_housekeeping_comes(
    database: Database, store: Store
) -> None:
    """Taken hour by hour as they grew old, they became as many rows of the day, and the page read them all."""
    now = database.now().replace(minute=0, second=0, microsecond=0)
    insert_hours(database, [now - DAY * 10 + HOUR * hour for hour in range(72)], is_in_totals=1)
    for _ in range(25):
        store.write(tallies.compact)
        move_clock(database, store, HOUR)
    rows = database.query("SELECT at, sum(ends) AS ends FROM job_tallies WHERE span = 'day' GROUP BY id, at")
    days = Counter(row["at"] for row in rows)
    assert len(days) >= 2
    assert set(days.values()) == {3}, "one row for each outcome and status"
    assert rows_of_tallies(database) < 72 * 3 / 2


def test_a_period_shows_the_same_before_and_after_its_hours_became_days(database: Database, store: Store) -> None:
    """A month that began within a day lost that day; its bars showed the ends of a day in the one before."""
    now = database.now().replace(minute=0, second=0, microsecond=0)
    insert_hours(database, [now - HOUR * hour for hour in range(0, 24 * 32, 5)])
    periods = [timedelta(days=days) for days in (1, 7, 8, 9, 30)]

    def shown(connection: Connection) -> list[object]:
        at = tallies.now(connection).replace(hour=0, minute=0, second=0, microsecond=0)
        assert stats.stats(connection, 30 * DAY).since == at - 30 * DAY
        found: list[object] = []
        for period in periods:
            found += [stats.stats(connection, period), stats.ends(connection, period, part_of(period), most=9)]
        return found

    def bars(connection: Connection) -> list[int]:
        of_all = stats.ends(connection, 30 * DAY, DAY).of_all
        return [part.ended["succeeded"] for part in of_all]

    before, by_day = store.read(shown), store.read(bars)
    rows = rows_of_tallies(database)
    while store.write(tallies.compact):
        pass
    assert rows_of_tallies(database) < rows / 2
    assert store.read(shown) == before
    assert store.read(bars) == by_day
    assert len(by_day) == 31
    assert set(by_day[:-1]) == {8, 10}


def test_hours_of_the_last_week_stay_hours(database: Database, store: Store) -> None:
    now = database.now().replace(minute=0, second=0, microsecond=0)
    last_week = [now - HOUR * hour for hour in range(24 * 7 + 1)]
    insert_hours(database, last_week[::8], is_in_totals=1)
    store.write(tallies.compact)
    assert {row["at"] for row in database.query("SELECT at FROM job_tallies WHERE span = 'hour'")} == {*last_week[::8]}
