"""Handlers that take longer than they may, and what each does when it is stopped."""

from pathlib import Path

from harness import App
from harness.waiting import whole

_SLOW = r"""
import signal, subprocess, sys
from pathlib import Path

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]
STUBBORN = [sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True)\n"
            "time.sleep(600)"]


def note(ctx, text):
    with open(f"{os.environ['TRACE_FILE']}-{ctx.run_id}", "a") as file:
        file.write(text + "\n")


@job("polite", timeout=LIMIT, kill_after="20s")
def polite(ctx: Context):
    while not ctx.cancelled:
        time.sleep(0.01)
    note(ctx, f"cancelled with {ctx.time_left.total_seconds()} s left")
    raise RuntimeError("ended in good order")


@job("finishing", timeout=LIMIT, kill_after="20s")
def finishing(ctx: Context):
    while not ctx.cancelled:
        time.sleep(0.01)
    return "done, if late"


@job("deaf", timeout=LIMIT, kill_after=KILL_AFTER)
def deaf(ctx: Context):
    note(ctx, "began")
    try:
        try:
            time.sleep(600)
        except Exception:
            note(ctx, "took it for an error of its own")
    finally:
        note(ctx, "cleaned up")


@job("slow_to_clean", timeout=LIMIT, kill_after=KILL_AFTER)
def slow_to_clean(ctx: Context):
    try:
        time.sleep(600)
    finally:
        note(ctx, "cleaning")
        time.sleep(600)
        note(ctx, "cleaned up")


@job("family", timeout=LIMIT * 4, kill_after=KILL_AFTER)
def family(ctx: Context, waits: bool):
    # A grandchild that obeys, and one that ignores SIGTERM and has a child of its own.
    obeys = subprocess.Popen(SLEEP)
    script = f"import subprocess; print(subprocess.Popen({SLEEP!r}).pid, flush=True); " + STUBBORN[2]
    stubborn = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    pids = [os.getpid(), obeys.pid, stubborn.pid, int(stubborn.stdout.readline())]
    assert stubborn.stdout.readline() == "up\n"
    note(ctx, " ".join(map(str, pids)))
    if waits:
        time.sleep(600)


@job("command", timeout=LIMIT, kill_after="20s")
def command(ctx: Context):
    subprocess.run(SLEEP, check=True)


@job("again", timeout=LIMIT, kill_after=KILL_AFTER, backoff=exponential("2m", jitter=0), max_attempts=2)
def again(ctx: Context):
    time.sleep(600)
"""


def add_slow(app: App) -> int:
    """Add the handlers; after so many seconds they are asked to stop."""
    limit = whole(0.5)
    app.add(f"LIMIT = {limit}\nKILL_AFTER = {whole(1)}\n{_SLOW}")
    return limit


def notes(app: App, run_id: int) -> list[str]:
    path = Path(f"{app.trace_file}-{run_id}")
    return path.read_text().splitlines() if path.exists() else []
