"""logs, watch and status --watch: what a person sees of a run while it works."""

import json
import os
import select
import signal
import subprocess
import time
from datetime import timedelta

import pytest

from harness import Commands, Database, PrivatePostgres
from harness.at_work import OWNER, running
from harness.handlers_rows import queue
from harness.stores import opening
from harness.terminal import open_terminal, seen_at
from harness.waiting import stretched
from jobrunner.cli.questions.logs import fresh
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.model import Lease
from jobrunner.store.queue.finalize import finalize_all

HOSTILE = "\x1b[2Jowned\x07"


def end(database: Database, lease: Lease, outcome: Outcome, **result: str) -> None:
    with opening(database, 20) as opened:
        ending = AttemptResult(outcome, **result)
        opened().write(lambda connection: finalize_all(connection, OWNER, [(lease, ending)]))


def begin_again(database: Database, run_id: int, output: str) -> None:
    """The second attempt of a run that has failed once, at work."""
    database.execute(
        "UPDATE job_runs SET status = 'running', attempts = 2, lease_token = ?, locked_by = ?, host = ?,"
        " started_at = ?, locked_until = ?, output = ? WHERE id = ?",
        ["u" * 32, OWNER.name, OWNER.host, database.now(), database.now() + timedelta(minutes=5), output, run_id],
    )


def read_until(process: "subprocess.Popen[str]", words: str, seen: str = "") -> str:
    """What a command prints, up to these words."""
    assert process.stdout is not None
    deadline = time.monotonic() + stretched(30)
    while words not in seen:
        assert select.select([process.stdout], [], [], max(0, deadline - time.monotonic()))[0], f"not shown: {seen!r}"
        seen += os.read(process.stdout.fileno(), 65536).decode()
    return seen


def test_logs_show_each_attempt_and_the_one_at_work(jobrunner: Commands, database: Database) -> None:
    (lease,) = running(database, 1)
    end(database, lease, Outcome.FAILED, output=f"first{HOSTILE}\n\tindented", error="no paper", error_type="Printer")
    begin_again(database, lease.run_id, "second\nnot ended")
    lines = jobrunner("logs", lease.run_id).stdout.splitlines()
    assert [line for line in lines if not line.startswith("==")] == [
        "first\\x1b[2Jowned\\x07",
        "\tindented",
        "second",
        "not ended",
    ]
    words = [line.split() for line in lines if line.startswith("==")]
    assert [each[1:4] for each in words] == [["attempt", "1", "on"], ["attempt", "1", "failed"], ["attempt", "2", "on"]]
    assert lines[3].endswith(": Printer: no paper")
    assert jobrunner("logs", lease.run_id, "--attempt", 1).stdout == "first\\x1b[2Jowned\\x07\n\tindented"
    assert jobrunner("logs", lease.run_id, "--attempt", 2).stdout == "second\nnot ended"
    for words_of_error in (["logs", lease.run_id, "--attempt", 3], ["logs", 99], ["watch", 99]):
        jobrunner.refused(1, *words_of_error)


def test_following_logs_print_what_is_new_until_the_run_ends(jobrunner: Commands, database: Database) -> None:
    (lease,) = running(database, 1, output="one\n")
    follower = jobrunner.start("logs", lease.run_id, "--follow")
    seen = read_until(follower, "one\n")
    database.execute("UPDATE job_runs SET output = ?", ["one\ntwo\n"])
    seen = read_until(follower, "two\n", seen)
    end(database, lease, Outcome.FAILED, output="one\ntwo\nthree", error="no paper", error_type="Printer")
    seen = read_until(follower, "no paper", seen)
    begin_again(database, lease.run_id, "again\n")
    end(database, Lease(lease.run_id, "u" * 32), Outcome.SUCCEEDED, output="again\n")
    rest, errors = follower.communicate(timeout=30)
    assert (follower.returncode, errors) == (0, "")
    printed = [line for line in (seen + rest).splitlines() if not line.startswith("==")]
    assert printed == ["one", "two", "three", "again"]
    assert (seen + rest).splitlines()[-1].startswith(f"== run {lease.run_id} succeeded 20")


def test_following_survives_a_restart_of_the_database_and_ends_cleanly_at_ctrl_c(
    private_postgres: PrivatePostgres, private_jobrunner: Commands
) -> None:
    database = private_postgres.database
    (lease,) = running(database, 1, output="one\n")
    follower = private_jobrunner.start("logs", lease.run_id, "--follow")
    seen = read_until(follower, "one\n")
    private_postgres.stop()
    assert follower.stderr is not None
    told = follower.stderr.readline()
    assert told.startswith("jobrunner: ")
    assert told.endswith("; asking again\n")
    private_postgres.start()
    database.execute("UPDATE job_runs SET output = ?", ["one\ntwo\n"])
    read_until(follower, "two\n", seen)
    follower.send_signal(signal.SIGINT)
    _, errors = follower.communicate(timeout=30)
    assert (follower.returncode, errors) == (130, "\njobrunner: interrupted\n")


@pytest.mark.parametrize("size", [1, 5, 20])
def test_tails_of_an_output_that_are_shown_one_after_another_repeat_and_lose_nothing(size: int) -> None:
    whole = "".join(f"{number}\n" for number in range(40))
    shown, seen = "", ""
    for length in range(0, len(whole) + size, size):
        tail = whole[:length][-25:]
        seen += fresh(shown, tail)
        shown = tail
    assert seen == whole
    assert "missing" in fresh("abc", "xyz")


def test_watch_shows_progress_and_its_exit_status_tells_the_outcome(jobrunner: Commands, database: Database) -> None:
    leases = running(database, 2, progress=json.dumps({"done": 3, "total": 10, "message": HOSTILE}))
    watching = [jobrunner.start("watch", lease.run_id) for lease in leases]
    seen = [read_until(process, "3/10  \\x1b[2Jowned\\x07\n") for process in watching]
    end(database, leases[0], Outcome.SUCCEEDED)
    end(database, leases[1], Outcome.DISCARDED, error="no paper", error_type="Printer")
    rest = [process.communicate(timeout=30) for process in watching]
    assert [process.returncode for process in watching] == [0, 1]
    assert [errors for _, errors in rest] == ["", ""]
    assert f"run {leases[0].run_id} append: succeeded 20" in seen[0] + rest[0][0]
    assert (seen[1] + rest[1][0]).endswith("Printer: no paper\n")
    code, on_terminal = seen_at(jobrunner, f"watch {leases[0].run_id} --utc", 80)
    assert (code, on_terminal.count("\r\x1b[K")) == (0, 1)
    assert HOSTILE not in on_terminal
    assert "[######..............] 3/10" in on_terminal


def test_watched_status_is_drawn_again_in_the_same_place(jobrunner: Commands, database: Database) -> None:
    for words in (["status", "--watch"], ["status", "--watch", "--json"]):
        assert jobrunner(*words, check=False).returncode == 2
    queue(database, "echo")
    ours, theirs = open_terminal(300, lines=10)
    process = jobrunner.start("status", "--watch", env={"TERM": "xterm"}, terminal=theirs)
    os.close(theirs)
    seen = ""
    while seen.count("\x1b[H") < 2 or not seen.endswith("\x1b[J"):
        seen += os.read(ours, 65536).decode()
    process.send_signal(signal.SIGINT)
    first, second = seen.split("\x1b[H")[1:3]
    assert "due now    1" in first
    assert "due now    1" in second
    assert max(frame.count("\n") for frame in (first, second)) <= 9
    assert process.wait(30) == 130
    os.close(ours)
