"""Texts from handlers and callers are data in every place, and never control a terminal or a log."""

import json
import re
from pathlib import Path

import pytest

from harness import App, Commands, Database
from harness.handlers_rows import attempt_of, queue, run_of
from harness.tables.bad_input import SQL

ESCAPES = "\x1b[2J\x1b]0;owned\x07\r\n\x9b31m\u202e"
ON_A_TERMINAL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
# Without an end of its own: what follows would become a second line, or a second event.
FORGED = '"}\n{"event": "succeeded", "run_id": 999, "level": "info", "at": "2026-01-01"}\n'

HANDLERS = r"""
import sys

BAD = "\x1b[2J\x1b]0;owned\x07\r\n\x9b31m\u202e\x00\ud800 " + '"}\n{"event": "succeeded", "run_id": 999}\n'


class Raised(Exception):
    def __str__(self): return BAD


def named(name):
    return type(name, (Exception,), {"__qualname__": name, "__module__": name})


class Unspeakable(Exception):
    def __str__(self): raise SystemExit(3)
    __repr__ = __str__


@job("bad/raises", max_attempts=1)
def raises(ctx: Context):
    raise Raised


@job("bad/named", max_attempts=1)
def raises_named(ctx: Context):
    raise named(BAD.replace("\0", "").replace("\ud800", "") + "x" * 1000)("gone")


@job("bad/nul", max_attempts=1)
def raises_nul(ctx: Context):
    error = Exception("gone")
    type(error)
    kind = type("Kind", (Exception,), {})
    kind.__name__ = "sur\ud800rogate\x1b"
    raise kind(BAD)


@job("bad/unspeakable", max_attempts=1)
def raises_unspeakable(ctx: Context):
    raise Unspeakable


@job("bad/cause", max_attempts=1)
def raises_cause(ctx: Context):
    try:
        raise Raised
    except Raised as cause:
        cause.add_note(BAD)
        raise ExceptionGroup(BAD, [ValueError(BAD), Raised()]) from cause


@job("bad/discard")
def discards(ctx: Context):
    raise Discard(BAD)


@job("bad/retry", max_attempts=1)
def retries(ctx: Context):
    raise Retry(BAD)


@job("bad/snooze")
def snoozes(ctx: Context):
    asked = Snooze("1h")
    asked.args = (BAD,)
    return asked


@job("bad/exit", max_attempts=1)
def exits(ctx: Context):
    sys.exit(BAD)


@job("bad/prints")
def prints(ctx: Context):
    print(BAD.replace("\ud800", ""))
    sys.stderr.buffer.write(b"\xff\xed\xa0\x80\x00\x1b[2J\n")
    ctx.log.info(BAD, key=BAD)
    return {"text": "\x1b[2J\x07\r\n\u202e", "\x1b]0;key\x07": ["\x9b31m"]}


@job("bad/tells", max_attempts=1)
def tells(ctx: Context):
    ctx.progress(1, 2, "\x1b[2J\r\n\x9b31m\u202e")
    os.abort()
"""
# What each of them ends as.
ENDS = {
    "raises": "dead",
    "named": "dead",
    "nul": "dead",
    "unspeakable": "dead",
    "cause": "dead",
    "discard": "dead",
    "retry": "dead",
    "snooze": "queued",
    "exit": "dead",
    "prints": "succeeded",
    "tells": "dead",
}


def lines_of(log: Path) -> list[dict[str, object]]:
    """Each line one JSON object, in plain ASCII."""
    text = log.read_bytes()
    assert text.endswith(b"\n")
    assert not [byte for byte in text if (byte < 32 and byte != 10) or byte > 126]
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.promise("P14")
def test_any_handler_text_is_stored_and_is_harmless_in_terminal_and_log(
    jobrunner: Commands, app: App, database: Database, tmp_path: Path
) -> None:
    app.add(HANDLERS)
    runs = {name: queue(database, f"bad/{name}") for name in ENDS}
    # Two ticks, for both logs: each has the first attempts of half of them.
    log = tmp_path / "log"
    types = [f"--type=bad/{name}" for name in list(ENDS)[::2]]
    logged = jobrunner.tick("--log", log, *types)
    told = jobrunner.tick("-v")
    assert (logged.stdout, logged.stderr, told.stdout) == ("", "", "")
    assert {name: run_of(database, run_id)["status"] for name, run_id in runs.items()} == ENDS
    lines = lines_of(log)
    assert {line.get("run_id") for line in lines} == {None, *list(runs.values())[::2]}
    assert len(lines) <= 2 * len(runs) + 1
    assert not ON_A_TERMINAL.search(told.stderr)
    assert {line.split()[1] for line in told.stderr.splitlines()} <= {"info", "warning", "error"}
    for name, run_id in runs.items():
        row, attempt = run_of(database, run_id), attempt_of(database, run_id)
        assert len(row["last_error"] or "") <= 500, name
        assert "\n" not in (row["last_error"] or ""), name
        assert len(row["error_type"] or "") <= 200, name
        assert not re.search("[\x00\ud800-\udfff]", "".join(map(str, attempt.values()))), name
        shown = jobrunner("show", run_id)
        assert shown.stderr == ""
        assert not ON_A_TERMINAL.search(shown.stdout), name
    for command in (["status"], ["status", "--json"], ["schedule", "list"]):
        assert not ON_A_TERMINAL.search(jobrunner(*command).stdout)


@pytest.mark.promise("P4")
def test_hostile_keys_and_reasons_are_kept_as_they_are_and_shown_as_text(
    jobrunner: Commands, database: Database
) -> None:
    for key in (ESCAPES, FORGED, "%s %(a)s ? :a {a} \\x00", "Ünïcödé 😀 עברית"):
        run_id = jobrunner.enqueue("echo", {"key": key}, key=key)
        again = jobrunner("enqueue", "echo", "--key", key, "--json").json()
        assert (again["id"], again["created"]) == (run_id, False)
        row = run_of(database, run_id)
        assert (row["idempotency_key"], row["payload"]) == (key, {"key": key})
        assert not ON_A_TERMINAL.search(jobrunner("show", run_id).stdout)
    done = jobrunner("discard", 1, "--reason", ESCAPES + FORGED)
    assert not ON_A_TERMINAL.search(done.stdout + jobrunner("show", 1).stdout)
    assert "\n" not in run_of(database, 1)["last_error"]


def test_user_with_a_hostile_name_is_recorded_safely(jobrunner: Commands, database: Database) -> None:
    """Any user can set SUDO_USER: the audit must still be written."""
    for number, name in enumerate((ESCAPES, "\udcff\udced\udca0\udc80", "x" * 5000, SQL, " "), start=1):
        run_id = queue(database, "echo", status="failed")
        jobrunner("cancel", run_id, env={"SUDO_USER": name})
        actor = database.value("SELECT actor FROM job_events WHERE run_id = ?", [run_id])
        assert "@" in actor
        assert len(actor) < 300
        assert not ON_A_TERMINAL.search(jobrunner("show", run_id).stdout), number


def test_sql_in_any_argument_is_data(jobrunner: Commands, database: Database) -> None:
    """Where an argument is text; where it is not, the table of bad inputs has it refused."""
    for number, text in enumerate((SQL, "\\'; DELETE FROM job_runs; SELECT \"1\" OR '1'='1"), 1):
        run_id = jobrunner.enqueue("echo", {text: text}, key=text)
        row = run_of(database, run_id)
        assert (row["payload"], row["idempotency_key"]) == ({text: text}, text)
        name = f"{number} {text}"
        jobrunner("schedule", "add", name, "--type", "echo", "--cron", "@daily", "--payload", json.dumps({"a": text}))
        found = database.query("SELECT payload FROM job_definitions WHERE name = ?", [name])
        assert [each["payload"] for each in found] == [{"a": text}]
        jobrunner("schedule", "remove", name)
        jobrunner("discard", run_id, "--reason", text)
        assert run_of(database, run_id)["last_error"] == text
        jobrunner.tick(env={"JOBRUNNER_HOST": text})
        assert database.value("SELECT count(*) FROM job_ticks WHERE host = ?", [text]) == 1
    counts = {"job_runs": 2, "job_definitions": 2, "job_keys": 2, "job_events": 6, "job_ticks": 2, "job_state": 1}
    for table, count in counts.items():
        assert (table, database.value(f"SELECT count(*) FROM {table}")) == (table, count)
