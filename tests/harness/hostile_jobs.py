"""Handlers that harm their own process, each in its way."""

from harness.app import App
from harness.waiting import stretched

_HOSTILE = r"""
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
    for wrong in ("\0", [1], {"value": 1}, {"value": 1, "steps": [1]}, {"value": "\0", "steps": {}}):
        forge(ctx, kind="checkpoint", run_id=ctx.run_id, checkpoint=wrong)
    forge(ctx, kind="checkpoint", run_id=ctx.run_id, checkpoint={"value": "x" * 70_000, "steps": {}})
    forge(ctx, kind="report", run_id=ctx.run_id + 1, outcome="discarded")
    forge(ctx, kind="ready", policies=[{}])
    forge(ctx, kind="importing")


def forge_nan(ctx):
    forge(ctx, kind="report", run_id=ctx.run_id, outcome="snoozed", wait_seconds=float("nan"))
    # Else the child goes on, and the next run may end it in another way before the tick reads the frame.
    time.sleep(600)


def forge_wait(ctx): forge(ctx, kind="report", run_id=ctx.run_id, outcome="snoozed", wait_seconds=1e300)
def forge_outcome(ctx): forge(ctx, kind="report", run_id=ctx.run_id, outcome={"a": []}, error=[1], error_type={})


def forge_anything(ctx):
    values = [None, True, -1, 2**70, 1e308, "x" * 99, "\0", [], [[]], {}, {"a": []}, ctx.run_id]
    for kind in ("progress", "checkpoint", "output", "heard", "importing", "import_failed", "ready", "cancel", ""):
        for value in values:
            forge(ctx, kind=kind, run_id=value)
            for name in ("progress", "checkpoint", "text", "module", "error", "policies", "schedules"):
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


@job("hostile", max_attempts=2, kill_after=KILL_AFTER)
def hostile(ctx: Context, how: str):
    return globals()[how](ctx)
"""


def add_hostile(app: App) -> None:
    """Add `hostile`, which harms its process as its payload says."""
    app.add(f"KILL_AFTER = {stretched(0.4)}\n{_HOSTILE}")
