#!/usr/bin/env python3
"""Whether a run of the harness has lost or doubled work: the ledgers of enqueues and executions, against the rows.

The stand-in for docker calls it (SHIM_BEFORE_DOWN) while the server still answers, with the interpreter of jobrunner's
environment. It lets ticks, or a worker of awa, finish what waits, and appends its verdict to
$BENCH_LEDGER_DIR/verdict.json. Of the other systems it counts the jobs by their state.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

_DRAIN_SECONDS = 90.0
_PAUSE_SECONDS = 0.5
_STATES = {
    "procrastinate_bench": ("procrastinate_jobs", "SELECT status::text, count(*) FROM procrastinate_jobs GROUP BY 1"),
    "pgboss_bench": ("pgboss.job", "SELECT state::text, count(*) FROM pgboss.job GROUP BY 1"),
    "absurd_bench": (
        "absurd.t_long_horizon_bench",
        "SELECT state::text, count(*) FROM absurd.t_long_horizon_bench GROUP BY 1",
    ),
}


class Execution(NamedTuple):
    """A line that a handler has written at its end."""

    run_id: int
    attempt: int
    started: float
    ended: float
    pid: int


@dataclass(frozen=True)
class Ledgers:
    """By the key of a job. ``maybe``: its COMMIT got no answer."""

    enqueued: set[str] = field(default_factory=set)
    maybe: set[str] = field(default_factory=set)
    done: dict[str, list[Execution]] = field(default_factory=lambda: defaultdict(list))


class Row(NamedTuple):
    """What the database says of a job."""

    status: str
    attempts: int
    lease_expiries: int


def read(folder: Path) -> Ledgers:
    """The ledgers of all replicas."""
    found = Ledgers()
    for path in folder.glob("enqueued-*.log"):
        for line in path.read_text().splitlines():
            key, _, answer = line.partition(" ")
            (found.enqueued if answer == "yes" else found.maybe).add(key)
    for path in folder.glob("done-*.log"):
        for line in path.read_text().splitlines():
            key, run_id, attempt, _, started, ended, pid = line.split()
            found.done[key].append(Execution(int(run_id), int(attempt), float(started), float(ended), int(pid)))
    return found


def judged(ledgers: Ledgers) -> dict[str, Any]:
    """What was never done and what was done twice, once all has been given time to end."""
    enqueued, done = ledgers.enqueued, ledgers.done
    twice = {key: each for key, each in done.items() if len(each) > 1}
    return {
        "enqueued": len(enqueued),
        "maybe_enqueued": len(ledgers.maybe),
        "done": len(done),
        "never_done": len(enqueued - done.keys()),
        "done_twice": len(twice),
        "done_twice_in_one_attempt": sum(
            len({execution.attempt for execution in each}) < len(each) for each in twice.values()
        ),
        "done_three_times": sum(len(each) > 2 for each in done.values()),
        "done_twice_examples": dict(list(twice.items())[:3]),
    }


def compared(ledgers: Ledgers, rows: Mapping[str, Row]) -> dict[str, Any]:
    """What the rows say beside the ledgers."""
    enqueued, done = ledgers.enqueued, ledgers.done
    return {
        "maybe_and_there": len(ledgers.maybe & rows.keys()),
        "rows": len(rows),
        "lost_rows": len(enqueued - rows.keys()),
        "succeeded_and_not_done": sum(row.status == "succeeded" and key not in done for key, row in rows.items()),
        "done_without_row": len(done.keys() - rows.keys()),
        "rows_with_more_attempts": sum(row.attempts > 1 for row in rows.values()),
        "lease_expiries": sum(row.lease_expiries for row in rows.values()),
    }


def main() -> None:
    folder = Path(os.environ["BENCH_LEDGER_DIR"])
    try:
        verdict = _verdict(os.environ["SHIM_URL"], folder)
    except Exception as error:  # the run's own results are there all the same
        first = (str(error).splitlines() or [""])[0]
        verdict = {"judge_failed": f"{type(error).__name__}: {first}"}
    if verdict is not None:
        print("[judge]", json.dumps(verdict), file=sys.stderr, flush=True)
        with (folder / "verdict.json").open("a") as out:
            out.write(json.dumps(verdict) + "\n")


def _verdict(url: str, folder: Path) -> dict[str, Any] | None:
    """None where no system that is known has left anything."""
    if _has(url, "jobrunner_bench", "job_runs"):
        return _of_jobrunner(f"{url}jobrunner_bench", folder)
    if _has(url, "awa_python_bench", "awa.leases"):
        return _of_awa(f"{url}awa_python_bench", folder)
    for database, (table, states) in _STATES.items():
        if _has(url, database, table):
            return {"system": database, "at_end": dict(_asked(url + database, states))}
    return None


def _has(url: str, database: str, table: str) -> bool:
    import psycopg

    try:
        return bool(_asked(url + database, f"SELECT to_regclass('{table}') IS NOT NULL")[0][0])
    except psycopg.OperationalError:
        return False


def _asked(url: str, statement: str) -> list[tuple[Any, ...]]:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(statement).fetchall()


def _of_jobrunner(url: str, folder: Path) -> dict[str, Any]:
    states = "SELECT status, count(*) FROM job_runs GROUP BY status"
    verdict: dict[str, Any] = {"system": "jobrunner", "at_end": dict(_asked(url, states))}
    began = time.monotonic()
    ends_at = began + float(os.environ.get("BENCH_DRAIN_S") or _DRAIN_SECONDS)
    waiting = f"{states} HAVING status IN ('queued', 'running', 'failed')"
    while time.monotonic() < ends_at and _asked(url, waiting):
        tick = subprocess.run(
            [Path(sys.executable).parent / "jobrunner", "tick"],
            env=_environment(url, folder),
            capture_output=True,
            text=True,
        )
        if tick.returncode or tick.stderr:
            verdict.setdefault("ticks_that_failed", []).append([tick.returncode, tick.stderr[-500:]])
        time.sleep(_PAUSE_SECONDS)
    verdict |= {"drain_seconds": round(time.monotonic() - began, 1), "after_drain": dict(_asked(url, states))}
    rows = _asked(url, "SELECT payload->>'uid', status, attempts, lease_expiries FROM job_runs")
    ledgers = read(folder)
    verdict |= judged(ledgers) | compared(ledgers, {key: Row(*row) for key, *row in rows})
    outcomes = "SELECT outcome, error_type, left(error, 120), count(*) FROM job_attempts"
    verdict["other_outcomes"] = _asked(url, f"{outcomes} WHERE outcome <> 'succeeded' GROUP BY 1, 2, 3 ORDER BY 4 DESC")
    return verdict


def _of_awa(url: str, folder: Path) -> dict[str, Any]:
    """By the ledgers alone: its view of all jobs takes minutes where many wait, and it soon forgets the ended ones."""
    adapter = Path(os.environ["SHIM_BENCH"]) / "awa-python-bench" / "main.py"
    python = Path(os.environ["SHIM_STATE"]) / "venv-awa-python-bench" / "bin" / "python"
    worker = {"DATABASE_URL": url, "BENCH_INSTANCE_ID": "9", "PRODUCER_RATE": "0", "WORKER_COUNT": "8"}
    at_end = judged(read(folder))
    began = time.monotonic()
    with (folder / "drain.log").open("w") as log:
        drain = subprocess.Popen(
            [python, adapter], env=os.environ | worker, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    ends_at = began + float(os.environ.get("BENCH_DRAIN_S") or _DRAIN_SECONDS)
    while time.monotonic() < ends_at and judged(read(folder))["never_done"]:
        time.sleep(_PAUSE_SECONDS)
    # What is done twice comes late.
    time.sleep(_PAUSE_SECONDS)
    drain.send_signal(signal.SIGTERM)
    drain.wait()
    told = {"system": "awa-python", "not_done_at_end": at_end["never_done"]}
    return told | {"drain_seconds": round(time.monotonic() - began, 1)} | judged(read(folder))


def _environment(url: str, folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "JOBRUNNER_DATABASE_URL": url,
        "JOBRUNNER_APP_DIR": str(Path(os.environ["SHIM_BENCH"]) / "jobrunner-bench"),
        "JOBRUNNER_IMPORT": "bench_jobs",
        "JOBRUNNER_HOST": "replica-0",
        "JOBRUNNER_STATE_DIR": str(folder / "state-0"),
        "JOBRUNNER_LEASE": "15s",
        "JOB_WORK_MS": "0",
        "WORKER_COUNT": "8",
        "BENCH_LEDGER": str(folder / "done-judge.log"),
    }


if __name__ == "__main__":
    main()
