"""The context of a handler, and its progress, output, result and errors."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from harness import App, Commands, Database, wait_for
from harness.at_work import BEATS
from harness.handlers_rows import attempt_of, queue, run_of, wait_until_running

CONTEXT = """
@job("context", max_attempts=7, timeout="90s")
def context(ctx: Context, **payload):
    return {
        "run_id": ctx.run_id, "job_type": ctx.job_type, "attempt": ctx.attempt, "max_attempts": ctx.max_attempts,
        "slot": ctx.scheduled_for and ctx.scheduled_for.isoformat(), "lateness": ctx.lateness.total_seconds(),
        "deadline": ctx.deadline and ctx.deadline.isoformat(),
        "time_left": ctx.time_left and ctx.time_left.total_seconds(), "cancelled": ctx.cancelled,
    }
"""

TALKATIVE = r"""
import sys


@job("talk", timeout="5m")
def talk(ctx: Context, path: str):
    print("printed", flush=True)
    ctx.log.info("halfway", user="Zoë")
    ctx.progress(1, 4, "first")
    ctx.progress(3, 4, "third")
    while not os.path.exists(path):
        ctx.progress(3, 4, "third")
        time.sleep(0.02)
    sys.stderr.write("the end\n")
"""

RESULTS = """
import types
from collections.abc import Mapping


class Odd(Mapping):
    def __getitem__(self, key): raise RuntimeError("odd")
    def __iter__(self): raise RuntimeError("odd")
    def __len__(self): return 1


class Text(str):
    pass


def loop():
    endless = []
    endless.append(endless)
    return endless


RESULTS = {
    "object": lambda: {"sent": 3, "to": ["a", None, True, 1.5]}, "text": lambda: "ok", "subclass": lambda: Text("ok"),
    "zero": lambda: 0, "none": lambda: None, "tuple": lambda: (1, 2),
    "date": lambda: __import__("datetime").date.today(),
    "set": lambda: {1, 2}, "nan": lambda: float("nan"), "nul": lambda: "a\\0b", "surrogate": lambda: "\\ud800",
    "keys": lambda: {1: 2}, "endless": loop, "huge": lambda: "x" * 300_000, "digits": lambda: 10 ** 5000,
    "view": lambda: types.MappingProxyType({"a": 1}), "odd": Odd,
}


@job("result")
def result(ctx: Context, kind: str):
    return RESULTS[kind]()
"""
KEPT = {"object": {"sent": 3, "to": ["a", None, True, 1.5]}, "text": "ok", "subclass": "ok", "zero": 0, "none": None}
KEPT |= {"tuple": [1, 2]}
DROPPED = ["date", "set", "nan", "nul", "surrogate", "keys", "endless", "huge", "digits", "view", "odd"]

ERRORS = r"""
import sys

TEXTS = {
    "lines": "first line\nsecond\tline", "long": "x" * 2000, "nul": "a\0b", "surrogate": "a\ud800b", "empty": "",
    "control": "\x1b[31mred\x1b[0m", "flood": "y" * 80_000_000,
}


@job("complain")
def complain(ctx: Context, kind: str):
    text = TEXTS[kind]
    sys.stdout.buffer.write(b"raw \0 \xff \xed\xa0\x80 end\n")
    raise RuntimeError(text)
"""


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_the_context_tells_a_handler_about_its_run(jobrunner: Commands, app: App, database: Database) -> None:
    app.add(CONTEXT)
    run_id = queue(database, "context", attempts=2, run_at=database.now() - timedelta(minutes=5))
    endless = queue(database, "context", timeout=0)
    jobrunner.tick()
    row = run_of(database, run_id)
    told = row["result"]
    assert (told["run_id"], told["job_type"]) == (run_id, "context")
    assert (told["attempt"], told["max_attempts"], told["slot"], told["cancelled"]) == (3, 7, None, False)
    assert told["lateness"] == pytest.approx((row["started_at"] - row["run_at"]).total_seconds(), abs=0.001)
    assert told["lateness"] >= 300
    assert instant(told["deadline"]) == row["started_at"] + timedelta(seconds=90)
    assert 60 < told["time_left"] <= 90
    unlimited = run_of(database, endless)["result"]
    assert (unlimited["deadline"], unlimited["time_left"]) == (None, None)


@pytest.mark.promise("P3")
def test_a_run_of_a_schedule_knows_its_slot_and_lateness(jobrunner: Commands, app: App, database: Database) -> None:
    app.add(CONTEXT)
    jobrunner("schedule", "add", "often", "--type", "context", "--cron", "*/5 * * * *")
    database.move_clock(timedelta(minutes=10))
    jobrunner.tick()
    (row,) = database.query("SELECT * FROM job_runs")
    told = row["result"]
    assert instant(told["slot"]) == row["scheduled_for"]
    assert (row["scheduled_for"].minute % 5, row["scheduled_for"].second) == (0, 0)
    assert told["lateness"] == pytest.approx((row["started_at"] - row["scheduled_for"]).total_seconds(), abs=0.001)
    assert 0 <= told["lateness"] < 300
    assert instant(told["deadline"]) == row["started_at"] + timedelta(seconds=90)


def test_progress_and_output_are_visible_while_the_handler_works(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.add(TALKATIVE)
    run_id = queue(database, "talk", {"path": str(app.path("go"))})
    tick = jobrunner.start("tick", env={**BEATS, "JOBRUNNER_HEARTBEAT": "100ms"})
    wait_until_running(database, run_id)

    def shown_progress() -> Any:
        return [each["progress"] for each in jobrunner.status()["running"]]

    third = {"done": 3, "total": 4, "message": "third"}
    wait_for(lambda: shown_progress() == [third], 20, lambda: f"progress in status, not {shown_progress()}")
    wait_for(lambda: "halfway" in (run_of(database, run_id)["output"] or ""), 20, "the output, with a heartbeat")
    assert "3/4 third" in jobrunner("status").stdout
    database.execute("UPDATE job_runs SET progress = ?", [{"done": "half", "total": ["of it"]}])
    assert run_of(database, run_id)["status"] == "running"
    jobrunner("status")  # whatever a handler told
    app.end(tick, "go")
    lines = attempt_of(database, run_id)["output"].splitlines()
    assert (lines[0], lines[-1]) == ("printed", "the end")
    assert "halfway" in lines[1]
    assert f"run_id={run_id}" in lines[1]
    assert "attempt=1" in lines[1]
    assert "user='Zoë'" in lines[1]


def test_output_of_a_run_is_not_attributed_to_the_next_run(jobrunner: Commands, app: App, database: Database) -> None:
    app.add('@job("say")\ndef say(ctx: Context, text: str):\n    print(text)\n')
    runs = [queue(database, "say", {"text": f"run number {number}"}) for number in range(8)]
    quiet = queue(database, "echo")
    jobrunner.tick(env={"JOBRUNNER_CONCURRENCY": "1"})
    assert [attempt_of(database, run_id)["output"] for run_id in runs] == [f"run number {n}\n" for n in range(8)]
    assert attempt_of(database, quiet)["output"] is None


def test_a_result_is_kept_or_dropped_with_a_note_but_never_fails_the_run(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.add(RESULTS)
    runs = {kind: queue(database, "result", {"kind": kind}) for kind in (*KEPT, *DROPPED)}
    jobrunner.tick()
    rows = {kind: run_of(database, run_id) for kind, run_id in runs.items()}
    assert {kind: row["status"] for kind, row in rows.items()} == dict.fromkeys(rows, "succeeded")
    assert {kind: rows[kind]["result"] for kind in KEPT} == KEPT
    assert {kind: rows[kind]["result"] for kind in DROPPED} == dict.fromkeys(DROPPED)
    for kind, run_id in runs.items():
        output = attempt_of(database, run_id)["output"]
        assert ("the return value was not kept" in (output or "")) == (kind in DROPPED)


@pytest.mark.promise("P14")
def test_any_error_text_and_any_output_can_be_finalized(jobrunner: Commands, app: App, database: Database) -> None:
    app.add(ERRORS)
    wanted = {
        "lines": "first line second line",
        "long": "x" * 499 + "…",
        "nul": "a�b",
        "surrogate": "a�b",
        "empty": "RuntimeError",
        "control": "\x1b[31mred\x1b[0m",
        "flood": "y" * 499 + "…",
    }
    runs = {kind: queue(database, "complain", {"kind": kind}) for kind in wanted}
    jobrunner.tick()
    for kind, text in wanted.items():
        row, attempt = run_of(database, runs[kind]), attempt_of(database, runs[kind])
        assert (row["status"], row["error_type"], row["last_error"]) == ("failed", "RuntimeError", text)
        assert (attempt["outcome"], attempt["error"]) == ("failed", text)
        assert len(row["last_error"]) <= 500
        assert attempt["output"].startswith("raw � ")
        assert len(attempt["traceback"]) < 40_000
    (shown,) = jobrunner.show(runs["lines"])["attempt_log"]
    assert "raise RuntimeError(text)" in shown["traceback"]
    assert "\x1b" not in jobrunner("show", runs["control"]).stdout
    assert "\x1b" not in jobrunner("status").stdout
