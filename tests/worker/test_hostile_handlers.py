"""A handler that harms its own process harms neither the tick nor another run."""

import re
import signal
from typing import Any, NamedTuple

import pytest

from harness import App, Commands, Database, wait_for
from harness.handlers_rows import attempt_of, queue, run_of
from harness.hostile_jobs import add_hostile
from harness.waiting import whole


class End(NamedTuple):
    """What must be recorded of a hostile handler."""

    outcome: str
    error_type: str | None = None
    exit_signal: int | None = None
    says: str = ""
    has_timeout: bool = False


def crash(says: str, exit_signal: int | None = None) -> End:
    return End("crashed", "crashed", exit_signal, says)


def hang(exit_signal: int | None = None) -> End:
    return End("timed_out", "timeout", exit_signal, has_timeout=True)


ENDS = {
    "segfault": crash("was killed by SIGSEGV", signal.SIGSEGV),
    "abort": crash("was killed by SIGABRT", signal.SIGABRT),
    "killed": crash("was killed by SIGKILL (out of memory?)", signal.SIGKILL),
    "exit_0": crash("exited with status 0"),
    "exit_3": crash("exited with status 3"),
    "sys_exit": End("failed", "SystemExit", None, "0"),
    "interrupt": End("failed", "KeyboardInterrupt"),
    "read_input": End("failed", "EOFError"),
    "stop_itself": End("failed", "stopped", None, "by itself"),
    "memory": End("failed", "MemoryError"),
    "recursion": End("failed", "RecursionError"),
    "return_generator": End("failed", "TypeError", None, "returned a generator that nobody has run; await it, or loop"),
    "return_coroutine": End("failed", "TypeError", None, "returned a coroutine that nobody has run; await it, or loop"),
    "unreadable": End("failed", "Unreadable", None, "(its message cannot be read)"),
    "exit_when_read": End("failed", "Exits", None, "(its message cannot be read)"),
    "loop": hang(),
    "hold_the_lock": hang(signal.SIGKILL),
    "ignore_sigterm": hang(signal.SIGKILL),
    "swallow": hang(signal.SIGKILL),
    "block_signals": hang(signal.SIGKILL),
    "no_usr2": hang(signal.SIGUSR2),
    "freeze": hang(signal.SIGKILL),
    "flood": End("succeeded"),
    "close_descriptors": crash("the handler's process"),
    "close_and_stay": crash("lost its channel to the tick", signal.SIGKILL),
    "close_output": End("succeeded"),
    "fork": End("succeeded"),
    "fork_and_raise": End("succeeded"),
    "garbage": crash("lost its channel to the tick", signal.SIGKILL),
    "forge_not_json": crash("lost its channel to the tick", signal.SIGKILL),
    "forge_progress": End("succeeded"),
    "forge_nan": crash("lost its channel to the tick", signal.SIGKILL),
    "forge_wait": End("snoozed"),
    "forge_outcome": End("failed", "bad_report", None, "the report of its child is invalid"),
    "forge_anything": End("succeeded"),
    "forge_times": End("snoozed"),
    "forge_result": End("succeeded"),
    "programs_forge": End("failed", "RuntimeError", None, "as ever"),
    "leave_threads": End("succeeded"),
    "leave_children": End("succeeded"),
}
STATUSES = {
    "crashed": "failed",
    "failed": "failed",
    "timed_out": "failed",
    "succeeded": "succeeded",
    "snoozed": "queued",
}


def queue_hostile(database: Database, how: str, **values: Any) -> int:
    return queue(database, "hostile", {"how": how}, timeout=whole(0.7) if ENDS[how].has_timeout else None, **values)


def check_end(database: Database, run_id: int, how: str) -> None:
    end = ENDS[how]
    row, attempt = run_of(database, run_id), attempt_of(database, run_id)
    assert (attempt["outcome"], attempt["error_type"]) == (end.outcome, end.error_type), how
    assert end.says in (attempt["error"] or ""), how
    if end.has_timeout:
        assert re.fullmatch(r"timed out after \d+s(; it had to be killed)?", attempt["error"]), how
    if how != "close_descriptors":  # it dies by itself, or slowly: then it is killed
        assert attempt["exit_signal"] == end.exit_signal, how
    assert (row["status"], row["lease_token"]) == (STATUSES[end.outcome], None), how
    assert row["attempts"] == (0 if end.outcome == "snoozed" else 1), how
    if end.outcome in ("crashed", "failed", "timed_out"):
        assert row["last_error"] == attempt["error"], how


# All of them together are in every run: the next test.
@pytest.mark.long(sample=12)
@pytest.mark.promise("P8", "P12")
@pytest.mark.parametrize("how", ENDS)
def test_a_hostile_handler_harms_itself_alone(how: str, jobrunner: Commands, app: App, database: Database) -> None:
    add_hostile(app)
    # One place: what is left of a child is what the neighbours behind get.
    before = queue(database, "echo", {"a": 1}, priority=2)
    hostile = queue_hostile(database, how, priority=1)
    behind = [queue(database, "echo", {"a": number}) for number in range(3)]
    done = jobrunner.tick(env={"JOBRUNNER_CONCURRENCY": "1"}, timeout=40)
    assert (done.stdout, done.stderr) == ("", "")
    check_end(database, hostile, how)
    for run_id in (before, *behind):
        row = run_of(database, run_id)
        assert (row["status"], row["attempts"]) == ("succeeded", 1)
        assert row["result"] == row["payload"]
    (tick,) = database.query("SELECT finished_at, error FROM job_ticks")
    assert (tick["finished_at"] is not None, tick["error"]) == (True, None)
    wait_for(lambda: jobrunner.leftover_processes() == [], 5, jobrunner.describe_leftovers)


@pytest.mark.promise("P8", "P12")
def test_all_hostile_handlers_at_once_harm_no_other_run(jobrunner: Commands, app: App, database: Database) -> None:
    add_hostile(app)
    hostile, others = {}, []
    # Runs that break the channel come last: those after one in the same child cannot report, and are charged.
    for how in sorted(ENDS, key=lambda how: ENDS[how].outcome == "crashed"):
        others.append(queue(database, "echo", {"beside": how}))
        hostile[how] = queue_hostile(database, how)
    done = jobrunner.tick(timeout=80)
    assert (done.stdout, done.stderr) == ("", "")
    for how, run_id in hostile.items():
        check_end(database, run_id, how)
    assert {run_of(database, run_id)["status"] for run_id in others} == {"succeeded"}
    wait_for(lambda: jobrunner.leftover_processes() == [], 5, jobrunner.describe_leftovers)


def test_show_after_a_hostile_handler_is_readable(jobrunner: Commands, app: App, database: Database) -> None:
    add_hostile(app)
    runs = {how: queue_hostile(database, how) for how in ("segfault", "flood", "hold_the_lock", "fork", "recursion")}
    jobrunner.tick()
    left = {how: attempt_of(database, run_id) for how, run_id in runs.items()}
    assert "Segmentation fault" in left["segfault"]["traceback"]
    assert "in segfault" in left["segfault"]["traceback"]
    assert "in hold_the_lock" in left["hold_the_lock"]["traceback"]
    assert "RecursionError" in left["recursion"]["traceback"]
    assert left["flood"]["output"].endswith("xxx\nthe last line\n")
    assert len(left["flood"]["output"]) == 16 * 1024
    assert run_of(database, runs["fork"])["result"] == "the original"
