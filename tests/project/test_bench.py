"""`make bench` takes every measure. These tests do not check how long anything takes."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.commands import clean_environment

ROOT = Path(__file__).parents[2]
BOTH = (
    "claim 100, empty history",
    "claim 100 beside finished runs",
    "claim 100 behind unknown runs",
    "claim 100 with a limited type",
    "claim 100 behind limited runs",
    "claim 100 of a fair type",
    "claim 100 beside fair runs",
    "status, empty history",
    "status beside finished runs",
    "drain of few, default settings",
    "drain, default settings",
    "drain, peak memory of the parent",
    "drain, --concurrency 2",
    "drain, --concurrency 8",
    "drain, strict",
    "drain, strict, --concurrency 8",
    "2 ticks side by side",
    "4 ticks side by side",
    "spike, one tick",
    "spike, 2 ticks side by side",
    "enqueue",
    "single INSERT",
    "single INSERT, SQLAlchemy",
    "single enqueue, driver's connection",
    "single enqueue, SQLAlchemy",
    "idle tick",
    "idle tick, processor time",
    "first run",
    "first run, start to its end",
    "slow runs, start to exit",
    "slow runs, first start to last end",
    "slow runs, processor time of the parent at work",
    "slow runs, processor time of the parent",
    "waiting runs, start to exit",
    "expansion",
    "expansion, peak memory",
    "linger: commit to start",
    "linger: processor time while waiting",
    "spike",
    "spike, peak memory of a parent",
    "backlog, first tick",
    "backlog, last full tick",
    "backlog, full ticks",
    "backlog, peak memory of a parent",
    "raw loop",
    "raw loop, each outcome committed",
    "explain: long history",
    "page /, statements",
    "page: a viewer who polls",
    "idle tick: long history",
    "change of many runs",
    "claim 100 beside a change of many runs",
    "drain that may be killed: a tenth",
    "drain that may be killed: all",
    "after a SIGKILL: a tenth",
    "drain with a SIGKILL: all",
    "claim 100 among many types",
    "first run among many types",
)
EXPECTED = {f"{name}, {database}" for name in BOTH for database in ("PostgreSQL", "SQLite")} | {
    "python -c pass",
    "python -c pass: processor time",
    "psycopg: connect, select 1",
    "raw loop, PostgreSQL, unprepared",
    "claim 100 after claims without a vacuum, PostgreSQL",
    "claim 100 while a long transaction holds vacuum back, PostgreSQL",
    "enqueue many, PostgreSQL",
    "enqueue_many, PostgreSQL",
    *(f"async enqueue, {driver}" for driver in ("asyncpg", "psycopg", "aiosqlite")),
    "linger: cut connections to exit, PostgreSQL",
    "the same with NOTIFY, PostgreSQL",
    "steady stream, search of a claim, last quarter, PostgreSQL",
    "steady stream, kept runs, last half, SQLite",
    "steady stream, index of the claim, last quarter, PostgreSQL",
    "stream with an open transaction, search of a claim, while open, PostgreSQL",
    "a tick with its own part of a core, PostgreSQL",
    "two ticks at once, each with its own part of a core, PostgreSQL",
    "two ticks at once: looks at which no session waits for a lock, PostgreSQL",
    "server's processor time for a run, one tick, PostgreSQL",
    "server's processor time for a run, two ticks at once, PostgreSQL",
    "idle tick of a ready host, alone, PostgreSQL",
    "idle tick of a ready host, 95 of 100 of a crowd within, PostgreSQL",
    "crowd of idle ticks: what the processors need, PostgreSQL",
    "server's processor time: connect, select 1, PostgreSQL",
    "server's processor time: idle tick alone, PostgreSQL",
    "server's processor time: idle tick of a crowd, PostgreSQL",
}

pytestmark = pytest.mark.timeout(600)


def bench(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """The program of `make bench`, at its smallest."""
    command = [sys.executable, "bench", "--smallest", "--rounds", "1", "--results", str(folder / "results"), *words]
    environment = clean_environment(folder) | {"PATH": os.environ["PATH"]}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


def written(folder: Path) -> Mapping[str, Any]:
    (path,) = (folder / "results").glob("????-??-??-*.json")
    content: dict[str, Any] = json.loads(path.read_text())
    assert f"-{content['commit']}" in path.stem
    return content


@pytest.mark.long
def test_every_measure_is_taken_on_both_databases_and_written_down(tmp_path: Path) -> None:
    """Beside the peers, which the package index is needed for."""
    done = bench(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    content = written(tmp_path)
    lines = {line["name"]: line for line in content["lines"]}
    assert lines.keys() | content["left_out"].keys() >= EXPECTED
    known = (" yet", "no process can be held to a share of a core here")
    assert all(any(each in reason for each in known) for reason in content["left_out"].values())
    assert [name for name, line in lines.items() if not line["samples"] or not line["what"]] == []
    for name, line in lines.items():
        assert line["baseline"] is None or line["baseline"] in lines, name
        assert line["ratio"] is not None, name
        assert f"\n{name} " in done.stdout, "the table has not all that was measured"
    assert content["failures"] == {}
    assert content["postgresql"]["fsync"] == content["postgresql"]["synchronous_commit"] == "on"
    assert {"cores", "cpu", "python", "load_before"} <= content["machine"].keys()
    assert (content["rounds"], content["sizes"]["runs"]) == (1, 20)


def test_bench_of_one_part_measures_only_its_baselines(tmp_path: Path) -> None:
    done = bench(tmp_path, "--only", "idle tick, SQLite")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line["name"] for line in written(tmp_path)["lines"]] == [
        *("python -c pass", "python -c pass: processor time"),
        *("idle tick, SQLite", "idle tick, processor time, SQLite"),
    ]


def test_part_of_other_sizes_does_not_replace_the_file_of_the_part(tmp_path: Path) -> None:
    for words in ((), ("--steady-rate", "3600", "--steady-seconds", "3000")):
        done = bench(tmp_path, "--only", "idle tick, SQLite", *words)
        assert done.returncode == 0, done.stdout + done.stderr
    found = {path.stem.partition("-only-")[2]: path for path in (tmp_path / "results").iterdir()}
    sizes = {name: json.loads(path.read_text())["sizes"]["steady_seconds"] for name, path in found.items()}
    assert sizes == {"idle-tick-SQLite": 15.0, "idle-tick-SQLite-steady-rate-3600-steady-seconds-3000": 3000.0}


def test_a_measure_that_fails_is_named_and_stays_in_the_table(tmp_path: Path) -> None:
    """Minus one run cannot be drained; what is beside it is measured all the same."""
    done = bench(tmp_path, "--only", "drain, default settings, SQLite", "--only", "idle tick, SQLite", "--runs", "-1")
    assert done.returncode == 1, done.stdout + done.stderr
    content = written(tmp_path)
    lines = {line["name"]: line["samples"] for line in content["lines"]}
    assert lines["drain, default settings, SQLite"] == []
    assert len(lines["idle tick, SQLite"]) == 1
    assert content["failures"].keys() == {"drain, default settings, SQLite"}
    assert "left out: drain, default settings, SQLite: " in done.stdout


def test_the_profile_of_a_drain_shows_the_parents_functions(tmp_path: Path) -> None:
    done = bench(tmp_path, "--profile", "SQLite")
    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / "results" / "profile-SQLite.txt").read_text()
    assert "Ordered by: internal time" in text
    assert "Ordered by: cumulative time" in text
    assert "jobrunner/worker/tick.py" in text
