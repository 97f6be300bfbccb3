"""Every bad input is refused in one line, with its exit code, and leaves nothing behind, on both databases."""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness import Commands, Database
from harness.commands import COMMAND
from harness.handlers_rows import queue
from harness.long import some
from harness.tables import bad_input
from harness.tables import bad_input_settings as more
from harness.tables.bad_input import Bad, Section

# A cell of this table is a section of the other: a copy of a database costs as much as a command.
SECTIONS: dict[str, Callable[[], Section]] = {
    "payloads": bad_input.payload_rows,
    "sources of payloads": bad_input.source_rows,
    "ids": bad_input.id_rows,
    "types": bad_input.type_rows,
    "times": more.time_rows,
    "numbers and keys": more.number_rows,
    "cron": more.cron_rows,
    "zones and names": more.zone_rows,
    "settings": more.setting_rows,
    "settings that name places": more.place_rows,
    "command lines": more.command_rows,
}
# On two cores a few that start together take little longer than one.
AT_ONCE = 4
TABLES = ("job_runs", "job_definitions", "job_keys", "job_events")
NOT_FOR_A_TERMINAL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def rows_of(database: Database) -> tuple[Any, ...]:
    counts = ", ".join(f"(SELECT count(*) FROM {table}) AS {table}" for table in TABLES)
    return (*database.query(f"SELECT {counts}"), *database.query("SELECT id, status, updated_at FROM job_runs"))


def start(jobrunner: Commands, bad: Bad) -> "subprocess.Popen[bytes]":
    """In bytes: what is not UTF-8 must be seen as it came."""
    return jobrunner.start_bytes(*bad.words, env={"JOBRUNNER_START_LIMIT": "20s", **bad.env}, stdin=bad.stdin)


def complaints(done: "subprocess.CompletedProcess[bytes]", bad: Bad) -> list[str]:
    """What is wrong with the refusal."""
    told = done.stderr.decode("utf-8", "surrogateescape")
    checks = {
        f"exit {done.returncode}, not {bad.code}": done.returncode == bad.code,
        "something on stdout": done.stdout == b"",
        "not one line": told.count("\n") == 1 and told.endswith("\n"),
        "not ours": told.startswith("jobrunner: "),
        "a traceback": "Traceback" not in told,
        "controls": NOT_FOR_A_TERMINAL.search(told) is None,
        "not UTF-8": re.search("[\ud800-\udfff]", told) is None,
        "very long": len(told) < 1200,
        f"does not say {bad.says!r}": bad.says in told,
    }
    return [complaint for complaint, is_fine in checks.items() if not is_fine]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("section", SECTIONS)
def test_bad_input_is_refused_in_one_line_and_leaves_no_row(
    section: str, jobrunner: Commands, database: Database, tmp_path: Path
) -> None:
    bad_input.make_files(tmp_path / "files")
    assert queue(database, "echo", status="failed", attempts=1) == 1
    before = rows_of(database)
    wrong: dict[str, tuple[list[str], bytes]] = {}
    every = [(name, row.placed(tmp_path / "files")) for name, row in SECTIONS[section]().items()]
    rows = some(section, every, len(every) // 2)
    for first in range(0, len(rows), AT_ONCE):
        group = rows[first : first + AT_ONCE]
        started = [start(jobrunner, bad) for _, bad in group]
        for (name, bad), process in zip(group, started, strict=True):
            done = jobrunner.finish_bytes(process, bad.stdin)
            if found := complaints(done, bad):
                wrong[name] = (found, done.stderr[:300])
        if rows_of(database) != before:
            wrong["rows were written by one of"] = ([name for name, _ in group], b"")
            before = rows_of(database)
    assert wrong == {}
    # Which types there are is known only after a tick has begun.
    assert section == "types" or database.query("SELECT id FROM job_ticks") == []


def shell(jobrunner: Commands, script: str) -> "subprocess.CompletedProcess[bytes]":
    words = ["sh", "-c", script.replace("jobrunner", COMMAND)]
    return subprocess.run(words, env=jobrunner.environment(), cwd=jobrunner.home, capture_output=True)


def test_a_closed_standard_input_holds_no_payload(jobrunner: Commands, database: Database) -> None:
    """As a daemon, or cron with `<&-`, may start it; it ended in a traceback."""
    bad = Bad(("enqueue", "echo", "--payload", "-"), "payload")
    assert complaints(shell(jobrunner, "jobrunner enqueue echo --payload - <&-"), bad) == []
    assert database.value("SELECT count(*) FROM job_runs") == 0


@pytest.mark.parametrize("place", ["/dev/stdout", "/dev/stderr"])
def test_pipe_is_accepted_as_log_file_if_it_is_the_commands_own_output(jobrunner: Commands, place: str) -> None:
    """Containers log in this way. Every other pipe is refused: a tick would wait for its reader."""
    done = shell(jobrunner, f"jobrunner tick --log {place}")
    lines = {"/dev/stdout": done.stdout, "/dev/stderr": done.stderr}
    assert (done.returncode, lines[place].count(b"\n")) == (0, 1)
    assert b'"event": "tick"' in lines[place]


def test_pipe_with_a_reader_is_refused_as_log_file(jobrunner: Commands, database: Database, tmp_path: Path) -> None:
    bad_input.make_files(tmp_path / "files")
    pipe = tmp_path / "files" / "fifo"
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        done = jobrunner.finish_bytes(start(jobrunner, Bad(("tick", "--log", str(pipe)), "")))
    finally:
        os.close(reader)
    assert complaints(done, Bad((), "pipe or a socket", code=78)) == []
    assert database.value("SELECT count(*) FROM job_ticks") == 0
