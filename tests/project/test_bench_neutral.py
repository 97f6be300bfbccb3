"""bench/neutral: the judge finds what was lost and doubled, and the adapter does what the harness asks for."""

import ast
import importlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness import Database, postgresql_only, wait_for
from harness.bench import ROOT
from harness.commands import clean_environment
from harness.processes import Patient

PLACE = ROOT / "bench" / "neutral"
KEYS = [f"0-1-{number}" for number in range(4)]


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(PLACE))
    return importlib.import_module("judge")


def write_ledgers(folder: Path, change: Callable[[list[str]], list[str]] = list) -> None:
    (folder / "enqueued-0.log").write_text("".join(f"{key} yes\n" for key in KEYS) + "0-1-9 maybe\n")
    lines = [f"{key} {number + 1} 1 1.0 2.0 3.0 77\n" for number, key in enumerate(KEYS)]
    (folder / "done-0.log").write_text("".join(change(lines)))


FAULTS = ("lost_rows", "never_done", "succeeded_and_not_done", "done_without_row", "done_twice")


@pytest.mark.parametrize(
    ("change", "gone", "found"),
    [
        (list, [], {}),
        (lambda lines: lines[1:], [], {"never_done": 1, "succeeded_and_not_done": 1}),
        (lambda lines: [*lines, lines[2]], [], {"done_twice": 1}),
        (list, [KEYS[3]], {"lost_rows": 1, "done_without_row": 1}),
        (lambda lines: lines[:3], [KEYS[3]], {"lost_rows": 1, "never_done": 1}),
    ],
    ids=["nothing", "an execution is missing", "an execution is doubled", "a row is missing", "a run is missing"],
)
def test_judge_of_the_ledgers_finds_what_is_lost_and_what_is_doubled(
    judge: Any, tmp_path: Path, change: Callable[[list[str]], list[str]], gone: list[str], found: dict[str, int]
) -> None:
    write_ledgers(tmp_path, change)
    rows = {key: judge.Row("succeeded", 1, 0) for key in KEYS if key not in gone}
    ledgers = judge.read(tmp_path)
    verdict = judge.judged(ledgers) | judge.compared(ledgers, rows)
    assert {name: verdict[name] for name in FAULTS if verdict[name]} == found
    assert (verdict["enqueued"], verdict["maybe_enqueued"], verdict["maybe_and_there"]) == (4, 1, 0)


def test_table_of_a_cell_tells_the_longest_time_without_an_end_of_all_replicas(tmp_path: Path) -> None:
    for replica, ends in {0: (1.0, 1.5, 9.0), 1: (4.0, 9.5), 9: (60.0,)}.items():
        lines = [f"{replica}-{end} 1 1 0.5 0.9 {end} 77\n" for end in ends]
        (tmp_path / "cell").mkdir(exist_ok=True)
        (tmp_path / "cell" / f"done-{replica}.log").write_text("".join(lines))
    told = subprocess.run([sys.executable, PLACE / "table.py", tmp_path], capture_output=True, text=True, check=True)
    assert "at most 5.00 s without an end" in told.stdout


@postgresql_only
def test_adapter_enqueues_what_the_harness_asks_for_and_every_run_is_done_once(
    database: Database, judge: Any, tmp_path: Path
) -> None:
    """More than the 64 KiB of a pipe: the harness hangs with an adapter that does not read them."""
    env = clean_environment(tmp_path) | {
        "PATH": os.environ["PATH"],
        "DATABASE_URL": database.url,
        "PRODUCER_PACING": "harness",
        "WORKER_COUNT": "2",
        "JOB_WORK_MS": "0",
        "SAMPLE_EVERY_S": "1",
        "BENCH_LEDGER_DIR": str(tmp_path / "ledgers"),
    }
    command, told = [sys.executable, PLACE / "adapter" / "main.py"], tmp_path / "told"
    with told.open("w") as out:
        adapter = Patient(command, env=env, stdin=subprocess.PIPE, stdout=out)
    assert adapter.stdin is not None
    try:
        adapter.stdin.write(b"ENQUEUE 0\n" * 7_000 + b"ENQUEUE 5\n" * 20)
        adapter.stdin.flush()
        done = tmp_path / "ledgers" / "done-0.log"
        wait_for(lambda: done.exists() and len(done.read_text().splitlines()) >= 100, 60, "100 executions")
        # Samples come at whole seconds, and all of it may be done within one.
        wait_for(lambda: "completion_rate" in told.read_text(), 20, "a sample")
    finally:
        adapter.send_signal(signal.SIGTERM)
        adapter.communicate()
    assert adapter.returncode == 0
    rows = {
        row["uid"]: judge.Row(row["status"], row["attempts"], row["lease_expiries"])
        for row in database.query("SELECT payload->>'uid' AS uid, status, attempts, lease_expiries FROM job_runs")
    }
    ledgers = judge.read(tmp_path / "ledgers")
    verdict = judge.judged(ledgers) | judge.compared(ledgers, rows)
    assert {name: verdict[name] for name in ("enqueued", "rows", "done", *FAULTS)} == {
        "enqueued": 100, "rows": 100, "done": 100, **dict.fromkeys(FAULTS, 0),
    }  # fmt: skip
    descriptor, *samples = (json.loads(line) for line in told.read_text().splitlines())
    manifest = json.loads((PLACE / "adapter" / "adapter.json").read_text())
    assert descriptor["kind"] == "descriptor"
    assert {name: descriptor[name] for name in ("event_tables", "extensions")} == {
        name: manifest[name] for name in ("event_tables", "extensions")
    }
    wanted = {"claim_p50_ms", "claim_p95_ms", "claim_p99_ms", "enqueue_rate", "completion_rate", "queue_depth"}
    assert {each["metric"] for each in samples} >= wanted


@pytest.mark.parametrize("script", ["setup.sh", "run_all.sh", "cell.sh"])
def test_scripts_of_the_neutral_benchmark_can_be_read_by_bash(script: str) -> None:
    assert os.access(PLACE / script, os.X_OK)
    assert subprocess.run(["bash", "-n", PLACE / script], capture_output=True, text=True).stderr == ""


@pytest.mark.parametrize("program", ["shim/docker", "awa/main.py", "judge.py", "table.py", "timeline.py"])
def test_programs_of_the_neutral_benchmark_can_be_read_by_python(program: str) -> None:
    assert os.access(PLACE / program, os.X_OK)
    compile((PLACE / program).read_text(), program, "exec")


def test_folder_of_the_adapter_of_awa_is_given_each_module_that_it_imports() -> None:
    def imported(path: Path) -> set[Path]:
        nodes = list(ast.walk(ast.parse(path.read_text())))
        names = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
        names |= {each.name for node in nodes if isinstance(node, ast.Import) for each in node.names}
        found = {PLACE / "adapter" / f"{name}.py" for name in names}
        return {module for module in found if module.exists()}

    wanted, seen = imported(PLACE / "awa" / "main.py"), set[Path]()
    while new := wanted - seen:
        seen |= new
        wanted |= {module for path in new for module in imported(path)}
    given = re.search(r"for part in ([a-z ]+); do", (PLACE / "setup.sh").read_text())
    assert given
    assert set(given[1].split()) == {module.stem for module in wanted}


@postgresql_only
def test_tables_and_indexes_that_the_harness_watches_for_the_adapter_exist(database: Database) -> None:
    watched = json.loads((PLACE / "adapter" / "adapter.json").read_text())
    names = watched["event_tables"] + watched["event_indexes"]
    assert [name for name in names if database.value("SELECT to_regclass(?) IS NULL AS gone", [name])] == []
