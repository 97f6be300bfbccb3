"""A handler that harms its own process harms neither the tick nor another run."""

import signal
from typing import Any, NamedTuple

import pytest

from harness import App, Commands, Database, wait_for
from harness.handlers_rows import attempt_of, queue, run_of

HOSTILE = r"""
import ctypes, json, signal, struct, subprocess, sys, threading
from jobrunner import HandlerStopped

CHANNEL = int(sys.argv[1])


def segfault(ctx): ctypes.string_at(0)
def abort(ctx): os.abort()
def killed(ctx): os.kill(os.getpid(), signal.SIGKILL)
def exit_0(ctx): os._exit(0)
def exit_3(ctx): os._exit(3)
def sys_exit(ctx): sys.exit(0)
def interrupt(ctx): raise KeyboardInterrupt
def read_input(ctx): input()
def stop_itself(ctx): raise HandlerStopped("by itself")


def memory(ctx):
    import resource
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 50_000_000, resource.RLIM_INFINITY))
    hoard = []
    while True:
        hoard.append(bytearray(1_000_000))


def recursion(ctx): recursion(ctx)


def return_generator(ctx):
    return (number for number in [1])


def return_coroutine(ctx):
    async def work(): pass
    return work()


def unreadable(ctx):
    class Unreadable(Exception):
        def __str__(self): raise RuntimeError("no")
    raise Unreadable


def exit_when_read(ctx):
    class Exits(Exception):
        def __str__(self): sys.exit(5)
    raise Exits


def loop(ctx):
    while True: pass


def hold_the_lock(ctx):
    # A mutex that is locked twice waits for ever: no signal interrupts it, and PyDLL keeps the interpreter lock.
    mutex, library = ctypes.create_string_buffer(64), ctypes.PyDLL(None)
    library.pthread_mutex_lock(mutex)
    library.pthread_mutex_lock(mutex)


def ignore_sigterm(ctx):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)


def swallow(ctx):
    while True:
        try: time.sleep(600)
        except BaseException: pass


def block_signals(ctx):
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    time.sleep(600)


def no_usr2(ctx):
    signal.signal(signal.SIGUSR2, signal.SIG_DFL)
    time.sleep(600)


def freeze(ctx):
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(600)


def flood(ctx):
    for _ in range(200):
        sys.stdout.write("x" * 999_999 + "\n")
    print("the last line")


def close_descriptors(ctx): os.closerange(3, 65536)


def close_and_stay(ctx):
    os.closerange(0, 65536)
    time.sleep(600)


def close_output(ctx):
    sys.stdout.close()
    os.close(1)
    os.close(2)


def fork(ctx):
    if not os.fork():
        return "the copy"
    os.wait()
    return "the original"


def fork_and_raise(ctx):
    if not os.fork():
        raise RuntimeError("the copy")
    os.wait()
    return "the original"


def garbage(ctx):
    os.write(CHANNEL, b"\xff" * 100)
    time.sleep(600)


def forge(ctx, **frame):
    body = json.dumps(frame).encode()
    os.write(CHANNEL, struct.pack("!I", len(body)) + body)


def forge_not_json(ctx):
    os.write(CHANNEL, struct.pack("!I", 4) + b"nope")
    time.sleep(600)


def forge_progress(ctx):
    forge(ctx, kind="progress", progress="\0")
    forge(ctx, kind="progress", progress={"a": "\0", "done": "x"})
    forge(ctx, kind="progress")
    forge(ctx, kind="report", run_id=ctx.run_id + 1, outcome="discarded")
    forge(ctx, kind="ready", policies=[{}])
    forge(ctx, kind="importing")


def forge_nan(ctx): forge(ctx, kind="report", run_id=ctx.run_id, outcome="snoozed", wait_seconds=float("nan"))
def forge_wait(ctx): forge(ctx, kind="report", run_id=ctx.run_id, outcome="snoozed", wait_seconds=1e300)
def forge_outcome(ctx): forge(ctx, kind="report", run_id=ctx.run_id, outcome={"a": []}, error=[1], error_type={})


def forge_anything(ctx):
    values = [None, True, -1, 2**70, 1e308, "x" * 99, "\0", [], [[]], {}, {"a": []}, ctx.run_id]
    for kind in ("progress", "output", "heard", "importing", "import_failed", "ready", "cancel", ""):
        for value in values:
            forge(ctx, kind=kind, run_id=value)
            for name in ("progress", "text", "module", "error", "policies", "schedules"):
                forge(ctx, kind=kind, run_id=ctx.run_id, **{name: value})
                forge(ctx, kind=kind, **{name: [value]})
    for value in values[:-1]:
        forge(ctx, kind="report", run_id=value, outcome="succeeded")
        forge(ctx, kind="report", run_id=[ctx.run_id, value], outcome=value, ended_at=value)


def forge_times(ctx):
    texts = {name: 10**400 for name in ("ended_at", "wait_seconds", "error", "error_type", "traceback")}
    forge(ctx, kind="report", run_id=ctx.run_id, outcome="snoozed", **texts)


def forge_result(ctx):
    forge(ctx, kind="report", run_id=ctx.run_id, outcome="succeeded", result={"a\0": "\ud800"})


def programs_forge(ctx):
    # Descriptors of ours are 3 and above; whatever these programs have inherited, they write a report to.
    frame = json.dumps({"kind": "report", "run_id": ctx.run_id, "outcome": "succeeded"}).encode()
    with open(os.environ["TRACE_FILE"] + "-report", "wb") as report:
        report.write(struct.pack("!I", len(frame)) + frame)
    write = "for fd in $(ls /proc/self/fd); do [ $fd -gt 2 ] && cat $TRACE_FILE-report >&$fd; done 2>/dev/null"
    os.system(f"bash -c '{write}'")
    os.spawnv(os.P_WAIT, "/bin/bash", ["bash", "-c", write])
    raise RuntimeError("as ever")


def leave_threads(ctx):
    for daemon in (True, False):
        threading.Thread(target=time.sleep, args=(600,), daemon=daemon).start()


def leave_children(ctx):
    for _ in range(3):
        script = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
        subprocess.Popen([sys.executable, "-c", script])


@job("hostile", max_attempts=2, kill_after="400ms")
def hostile(ctx: Context, how: str):
    return globals()[how](ctx)
"""


class End(NamedTuple):
    """What must be recorded of a hostile handler."""

    outcome: str
    error_type: str | None = None
    exit_signal: int | None = None
    says: str = ""
    timeout: float | None = None


def crash(says: str, exit_signal: int | None = None) -> End:
    return End("crashed", "crashed", exit_signal, says)


def hang(exit_signal: int | None = None) -> End:
    return End("timed_out", "timeout", exit_signal, "timed out after 700ms", 0.7)


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
    return queue(database, "hostile", {"how": how}, timeout=ENDS[how].timeout, **values)


def check_end(database: Database, run_id: int, how: str) -> None:
    end = ENDS[how]
    row, attempt = run_of(database, run_id), attempt_of(database, run_id)
    assert (attempt["outcome"], attempt["error_type"]) == (end.outcome, end.error_type), how
    assert end.says in (attempt["error"] or ""), how
    if how != "close_descriptors":  # it dies by itself, or slowly: then it is killed
        assert attempt["exit_signal"] == end.exit_signal, how
    assert (row["status"], row["lease_token"]) == (STATUSES[end.outcome], None), how
    assert row["attempts"] == (0 if end.outcome == "snoozed" else 1), how
    if end.outcome in ("crashed", "failed", "timed_out"):
        assert row["last_error"] == attempt["error"], how


# All of them together are in every run: the next test.
@pytest.mark.either_database
@pytest.mark.long(sample=12)
@pytest.mark.promise("P8", "P12")
@pytest.mark.parametrize("how", ENDS)
def test_a_hostile_handler_harms_itself_alone(how: str, jobrunner: Commands, app: App, database: Database) -> None:
    app.add(HOSTILE)
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
    app.add(HOSTILE)
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
    app.add(HOSTILE)
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
