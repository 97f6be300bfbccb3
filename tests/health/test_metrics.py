"""Metrics: read by Prometheus' own parser, right summed over all hosts, and never falling."""

import os
import re
from collections import Counter, defaultdict
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

import jobrunner as package
from harness import Commands, Database, pages
from harness.at_work import running
from harness.doc_tables import text_of
from harness.invariants import insert_runs
from harness.planted import HOUR, MINUTE, insert_ticks
from harness.statements import before_statements
from jobrunner.lifecycle import Outcome
from jobrunner.settings import config
from jobrunner.store.drivers.database import Database as Store
from jobrunner.worker import metrics

HOSTILE = 'a"} 7\n# TYPE \\x'
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def families(text: str) -> dict[str, Metric]:
    return {family.name: family for family in text_string_to_metric_families(text)}


def samples(text: str) -> Samples:
    found = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    by_name = {(each.name, frozenset(each.labels.items())): each.value for each in found}
    assert len(by_name) == len(found), "a series is there twice"
    return by_name


def value(text: str, name: str, **labels: str) -> float | None:
    return samples(text).get((name, frozenset(labels.items())))


def end(
    database: Database, count: int, job_type: str = "report", outcome: str = "succeeded", wait: float = 0.5
) -> None:
    """Runs that have ended, each with an attempt that is in no tally yet, and worked for twenty seconds."""
    at = database.now()
    status = {"succeeded": "succeeded", "cancelled": "cancelled"}.get(outcome, "dead")
    for run_id in insert_runs(database, count, job_type, status=status, finished_at=at):
        started_at = at - timedelta(seconds=20)
        row = {"run_id": run_id, "sequence": 1, "attempt": 1, "lease_token": "t", "worker": "w", "host": "alpha"}
        row |= {"due_at": started_at - timedelta(seconds=wait), "started_at": started_at, "finished_at": at}
        row |= {"outcome": outcome, "status": status}
        marks = ", ".join("?" * len(row))
        database.execute(f"INSERT INTO job_attempts ({', '.join(row)}) VALUES ({marks})", row.values())


def test_metrics_are_what_the_tables_say_and_prometheus_reads_them(jobrunner: Commands, database: Database) -> None:
    end(database, 3)
    end(database, 2, outcome="timed_out", wait=30)
    end(database, 1, HOSTILE)
    insert_runs(database, 4, "report", run_at=database.now() - HOUR)
    running(database, 2, job_type="report")
    insert_ticks(database, "alpha", MINUTE)
    insert_ticks(database, "beta", HOUR, error="no", finished_at=None)
    text = jobrunner("metrics").stdout
    found = families(text)
    assert {name: family.type for name, family in found.items()} == {
        "jobrunner_runs_ended": "counter",
        "jobrunner_attempts": "counter",
        "jobrunner_wait_seconds": "histogram",
        "jobrunner_run_seconds": "histogram",
        "jobrunner_runs_due": "gauge",
        "jobrunner_runs_running": "gauge",
        "jobrunner_next_due_age_seconds": "gauge",
        "jobrunner_last_tick_start_timestamp_seconds": "gauge",
        "jobrunner_last_tick_duration_seconds": "gauge",
        "jobrunner_last_tick_failed": "gauge",
        "jobrunner_metrics_written_timestamp": "gauge",
    }
    assert value(text, "jobrunner_runs_ended_total", type="report", outcome="succeeded") == 3
    assert value(text, "jobrunner_runs_ended_total", type="report", outcome="dead") == 2
    assert value(text, "jobrunner_attempts_total", type="report", outcome="timed_out") == 2
    assert value(text, "jobrunner_runs_ended_total", type=HOSTILE, outcome="succeeded") == 1
    buckets = [value(text, "jobrunner_wait_seconds_bucket", type="report", le=le) for le in ("1.0", "10.0", "100.0")]
    assert buckets == [3, 3, 5]
    assert value(text, "jobrunner_wait_seconds_bucket", type="report", le="+Inf") == 5
    assert value(text, "jobrunner_wait_seconds_sum", type="report") == pytest.approx(61.5)
    assert value(text, "jobrunner_run_seconds_bucket", type="report", le="100.0") == 5
    assert value(text, "jobrunner_run_seconds_bucket", type="report", le="10.0") == 0
    assert value(text, "jobrunner_runs_due", type="report") == 4
    assert value(text, "jobrunner_runs_running", type="report") == 2
    age = value(text, "jobrunner_next_due_age_seconds", type="report")
    assert age is not None
    assert 3600 <= age < 3700
    assert value(text, "jobrunner_last_tick_failed", host="beta") == 1
    assert value(text, "jobrunner_last_tick_duration_seconds", host="beta") is None
    written = value(text, "jobrunner_metrics_written_timestamp")
    assert written == pytest.approx(database.now().timestamp(), abs=30)


def test_a_type_has_thirty_series_at_most_whatever_happened_to_its_runs(database: Database, store: Store) -> None:
    for outcome in Outcome:
        end(database, 1, outcome=outcome)
    insert_runs(database, 1, "report")
    by_type = Counter[str]()
    for _, labels in samples(metrics.everything(store)):
        by_type[dict(labels).get("type", "")] += 1
    assert by_type["report"] == 30
    assert {name for _, labels in samples(metrics.everything(store)) for name, _ in labels} <= {
        "type",
        "outcome",
        "host",
        "le",
    }


def test_counters_do_not_fall_when_the_history_is_pruned(jobrunner: Commands, database: Database) -> None:
    end(database, 5)
    end(database, 2, outcome="failed")
    seen = defaultdict[tuple[str, frozenset[tuple[str, str]]], float](float)
    for _ in range(3):
        for series, number in samples(jobrunner("metrics").stdout).items():
            if series[0].endswith(("_total", "_count", "_bucket", "_sum")):
                assert number >= seen[series] - 1e-6, series
                seen[series] = number
        database.move_clock(timedelta(days=100))
        jobrunner.tick()
    assert database.value("SELECT count(*) AS n FROM job_runs") == 0
    text = jobrunner("metrics").stdout
    assert value(text, "jobrunner_runs_ended_total", type="report", outcome="succeeded") == 5


def test_each_host_writes_its_own_and_one_of_them_the_database_so_that_their_sum_is_right(
    jobrunner: Commands, database: Database, tmp_path: Path
) -> None:
    files = {host: tmp_path / f"{host}.prom" for host in ("alpha", "beta")}

    def tick(host: str) -> str:
        jobrunner.enqueue("echo")
        env = {"JOBRUNNER_HOST": host, "JOBRUNNER_METRICS_FILE": str(files[host])}
        assert jobrunner.tick(env=env).stderr == ""
        return files[host].read_text()

    end(database, 3)
    alpha, beta = tick("alpha"), tick("beta")
    ended = [value(text, "jobrunner_runs_ended_total", type="report", outcome="succeeded") for text in (alpha, beta)]
    assert ended == [3, None]
    for host, text in (("alpha", alpha), ("beta", beta)):
        hosts = {each for _, labels in samples(text) for name, each in labels if name == "host"}
        assert hosts == {host}
        assert value(text, "jobrunner_metrics_written_timestamp") is not None
        assert files[host].stat().st_mode & 0o777 == 0o644
    assert sorted(tmp_path.glob("*.prom*")) == sorted(files.values()), "no temporary file is left"
    assert not list(tmp_path.glob(".*.tmp"))
    database.move_clock(timedelta(minutes=16))
    assert value(tick("beta"), "jobrunner_runs_ended_total", type="report", outcome="succeeded") == 3
    assert value(tick("alpha"), "jobrunner_runs_ended_total", type="report", outcome="succeeded") is None


def test_idle_tick_writes_metrics_that_are_five_minutes_old_and_no_newer_ones(
    jobrunner: Commands, database: Database, tmp_path: Path
) -> None:
    file = tmp_path / "jobrunner.prom"
    env = {"JOBRUNNER_METRICS_FILE": str(file)}
    jobrunner.tick()  # prunes; the following ones are idle
    seen = []
    for age in (None, timedelta(seconds=200), timedelta(seconds=290), timedelta(seconds=-90)):
        if age is not None:
            written = file.stat().st_mtime - age.total_seconds()
            os.utime(file, (written, written))
        before = file.stat().st_ino if file.exists() else 0
        jobrunner.tick(env=env)
        seen.append(file.stat().st_ino != before)
    assert seen == [True, False, True, True]
    assert database.value("SELECT count(*) AS n FROM job_ticks WHERE finished_at IS NOT NULL") == 5


def test_a_file_that_cannot_be_written_fails_no_tick(jobrunner: Commands, tmp_path: Path) -> None:
    log = tmp_path / "log"
    env = {"JOBRUNNER_METRICS_FILE": str(tmp_path / "missing" / "jobrunner.prom"), "JOBRUNNER_LOG": str(log)}
    jobrunner.enqueue("echo")
    for _ in range(2):  # with a run, and idle
        assert jobrunner.tick(env=env).stderr == ""
    assert log.read_text().count('"metrics"') == 2
    assert "missing" in jobrunner.refused(1, "metrics", "--output", str(tmp_path / "missing" / "x.prom"))


def test_metrics_send_no_statement_more_for_more_runs_or_types(database: Database, store: Store) -> None:
    """So a tick pays for its file the same, whatever the history and the queue."""

    def sent() -> int:
        statements: list[str] = []
        with before_statements(store, lambda _, text, __: statements.append(text)):
            metrics.everything(store)
        return len(statements)

    insert_runs(database, 1, "one")
    insert_ticks(database, "alpha")
    end(database, 1)
    few = sent()
    insert_runs(database, 30, "one")
    end(database, 30)
    assert sent() == few
    for number in range(5):
        insert_runs(database, 3, f"other-{number}")
    assert sent() == few


def test_no_code_of_the_package_imports_the_library_of_prometheus() -> None:
    """Its import takes as long as three idle ticks: docs/adr/0044-metrics-without-a-library.md."""
    folder = Path(package.__file__).parent
    importing = re.compile(r"^\s*(import|from) prometheus", re.MULTILINE)
    assert [file for file in folder.rglob("*.py") if importing.search(file.read_text(encoding="utf-8"))] == []


def test_the_setting_of_the_page_is_one() -> None:
    (block,) = pages.checked_by("tests/health/test_metrics.py::test_the_setting_of_the_page_is_one")
    name, _, file = block.text.strip().partition("=")
    assert str(config.load({name: file}).metrics_file) == file


def test_the_alerts_of_the_page_are_about_metrics_that_there_are(database: Database, store: Store) -> None:
    name = "tests/health/test_metrics.py::test_the_alerts_of_the_page_are_about_metrics_that_there_are"
    (block,) = pages.checked_by(name)
    end(database, 1, outcome="failed")
    insert_runs(database, 1, "report")
    insert_ticks(database, "alpha")
    there_are = {series for series, _ in samples(metrics.everything(store))}
    rules = yaml.safe_load(block.text)["groups"][0]["rules"]
    asked = {each for rule in rules for each in re.findall(r"jobrunner_\w+", rule["expr"])}
    assert len(asked) == len(rules)
    assert asked <= there_are
    page = text_of("monitoring.md")
    shown = set(re.findall(r"^\| `(jobrunner_\w+)` \|", page, re.MULTILINE))
    assert shown == {re.sub(r"_(bucket|sum|count)$", "", each) for each in there_are}
