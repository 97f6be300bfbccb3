"""The command stats."""

import json
import re
from datetime import timedelta

import pytest

from harness import Commands, Database
from harness.at_work import OWNER, running
from harness.invariants import insert_runs
from harness.planted import set_limit
from harness.web import Asked
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.location import locate
from jobrunner.store.queue.finalize import finalize_all


def end(database: Database, count: int, result: AttemptResult, **columns: object) -> None:
    store = Store(locate(database.url), patience=timedelta(seconds=20))
    leases = running(database, count, **columns)
    store.write(lambda connection: finalize_all(connection, OWNER, [(lease, result) for lease in leases]))
    store.close()


def test_stats_of_each_type_say_how_many_ended_and_how_long_they_waited_and_ran(
    jobrunner: Commands, database: Database
) -> None:
    now = database.now()
    times = {"run_at": now - timedelta(seconds=65), "started_at": now - timedelta(seconds=5)}
    cost = {"processor_seconds": 0.5, "peak_memory_bytes": 70 * 2**20}
    end(database, 9, AttemptResult(Outcome.SUCCEEDED, **cost), **times)
    end(database, 1, AttemptResult(Outcome.DISCARDED, error="never"), **times)
    end(database, 2, AttemptResult(Outcome.FAILED, error="once more"), job_type="other")
    found = jobrunner("stats", "--json").json()
    append, other = found["types"]
    assert append["ended"] == {"succeeded": 9, "dead": 1, "cancelled": 0}
    assert append["attempts"] == {"discarded": 1, "succeeded": 9}
    assert append["success_rate"] == 0.9
    assert append["waits"]["longest"] == pytest.approx(60, abs=0.1)
    assert 50 <= append["waits"]["p50"] <= append["waits"]["p95"] <= 61
    assert 5 <= append["run_times"]["longest"] < 30
    assert (other["job_type"], other["success_rate"]) == ("other", None)
    shown = jobrunner("stats").stdout
    assert shown.splitlines()[0].startswith("since 20")
    assert [line.split()[:6] for line in shown.splitlines()[2:4]] == [
        ["append", "9", "1", "0", "90.0%", "10"],
        ["other", "0", "0", "0", "-", "2"],
    ]
    # Of one attempt of the first type, and of all of the second, nothing is known.
    assert (append["processor_total_seconds"], append["processor_times"]["longest"]) == (4.5, 0.5)
    assert append["peak_memory"]["largest_bytes"] == 70 * 2**20
    assert other["peak_memory"] == {"p50_bytes": None, "p95_bytes": None, "largest_bytes": None}
    assert [line.split()[:2] for line in shown.splitlines()[4:]] == [
        ["what", "their"],
        ["TYPE", "PROCESSOR"],
        ["append", "4s"],
    ]
    assert shown.splitlines()[-1].endswith("  70.0 MiB")
    page = Asked(database).text("/types")
    assert re.search(r'data-first="processor">4s<.*data-first="memory">70\.0 MiB<', page)
    assert [each["job_type"] for each in jobrunner("stats", "--type", "other", "--json").json()["types"]] == ["other"]


def test_stats_count_the_ends_of_the_period_only(jobrunner: Commands, database: Database) -> None:
    end(database, 3, AttemptResult(Outcome.SUCCEEDED))
    database.move_clock(timedelta(hours=5))
    end(database, 2, AttemptResult(Outcome.SUCCEEDED), job_type="late")
    assert [each["job_type"] for each in jobrunner("stats", "--since", "2h", "--json").json()["types"]] == ["late"]
    assert len(jobrunner("stats", "--since", "7d", "--json").json()["types"]) == 2
    jobrunner.refused(2, "stats", "--since", "soon")


def test_stats_of_nothing_say_so(jobrunner: Commands, database: Database) -> None:
    insert_runs(database, 1)
    assert jobrunner("stats").stdout.splitlines()[1:] == ["nothing ended"]
    assert json.loads(jobrunner("stats", "--json").stdout)["types"] == []


def test_stats_say_which_type_has_a_limit_that_was_set_at_run_time(jobrunner: Commands, database: Database) -> None:
    end(database, 1, AttemptResult(Outcome.SUCCEEDED))
    set_limit(database, "append", timedelta(0))
    words = "append is limited to max_running 2, set by ada@web1: jobrunner limits"
    assert jobrunner("stats").stdout.splitlines()[1] == words
    assert words not in jobrunner("stats", "--type", "other").stdout


def test_stats_count_what_was_pruned(jobrunner: Commands, database: Database) -> None:
    end(database, 4, AttemptResult(Outcome.SUCCEEDED))
    database.move_clock(timedelta(hours=3))
    jobrunner.tick(env={"JOBRUNNER_KEEP_SUCCEEDED": "1h", "JOBRUNNER_IMPORT": None})
    assert database.value("SELECT count(*) AS n FROM job_runs") == 0
    (found,) = jobrunner("stats", "--json").json()["types"]
    assert found["ended"]["succeeded"] == 4
