"""Short handlers that misbehave if the payload requests it, and the traces that their runs leave."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from harness import App, Database, SQLiteDatabase, wait_for
from harness.handlers_rows import queue
from harness.invariants import insert_runs

QUICK = '''
import select
import signal
import sqlite3
import sys
import threading
from contextlib import closing, contextmanager

QUEUE = int(sys.argv[2])


def note_empty_queue():
    """Tells the test that no run is left in the queue."""
    while select.select([QUEUE], [], [], 0)[0]:
        time.sleep(0.01)
    open(os.environ["TRACE_FILE"] + "-queue-end", "w").close()


@contextmanager
def writing_alone():
    """Keeps the tick out of its writes to SQLite: if it were stopped in one, no other tick could write."""
    file = os.environ.get("SQLITE_FILE")
    if not file:
        yield
        return
    with closing(sqlite3.connect(file, timeout=30, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield


def has_stopped(pid):
    """Whether no thread of it goes on. After SIGSTOP one may still begin a write, and be stopped in it."""
    try:
        stats = [open(f"/proc/{pid}/task/{each}/stat").read() for each in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return False
    return all(each.rpartition(")")[2].split()[0] == "T" for each in stats)


def signal_parent(number):
    threading.Thread(target=note_empty_queue, daemon=True).start()
    with writing_alone():
        os.kill(os.getppid(), number)
        while number == signal.SIGSTOP and not has_stopped(os.getppid()):
            time.sleep(0.01)


def note_queue(ctx, number=0):
    """Tells the test that a queued run waits behind this run, after the parent has got this signal.

    After it: a test that is told earlier may send SIGCONT before SIGSTOP.
    """
    is_queue = select.select([QUEUE], [], [], 0.2)[0]
    if number:
        signal_parent(number)
    if is_queue:
        open(f"{os.environ['TRACE_FILE']}-queue-{ctx.run_id}", "w").close()


def hold(path):
    while not os.path.exists(path):
        time.sleep(0.01)


@job("quick", timeout="5m")
def quick(ctx: Context, act=None, path=None, number=0, attempts=1, seconds=0.0):
    leave_trace(ctx)
    time.sleep(seconds)
    if act is None or ctx.attempt > attempts:
        return
    note_queue(ctx, number)
    if act == "exit":
        os._exit(3)
    elif act == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif act == "steal":
        while select.select([QUEUE], [], [], 0)[0]:
            os.read(QUEUE, 1 << 16)
        hold(path)
    else:
        hold(path)


@job("brief", timeout="3s", kill_after="1s")
def brief(ctx: Context, hang=False):
    leave_trace(ctx)
    if hang:
        note_queue(ctx)
        time.sleep(600)
'''

ONE = {"JOBRUNNER_CONCURRENCY": "1"}
KINDS = ["def", "async def"]


def of_kind(kind: str, handlers: str) -> str:
    """These handlers, or the same as ``async def``, one at a time: what holds such a run blocks its event loop."""
    if kind == "def":
        return handlers
    return re.sub(r"(@job\(\"\w+\", timeout=.*)\)\ndef", r"\1, concurrency=1)\nasync def", handlers)


def warm_up(database: Database, job_type: str = "quick", count: int = 40) -> list[int]:
    """Insert runs that come first, so that the tick learns that the type is short."""
    return insert_runs(database, count, job_type, priority=9)


def queue_head(database: Database, job_type: str = "quick", **payload: Any) -> int:
    """Insert the run behind which others will be queued."""
    return queue(database, job_type, payload, priority=5)


def wait_for_queue(app: App, database: Database, head: int, followers: list[int]) -> list[int]:
    """Wait until the head is at work; returns the queued runs behind it. Without any the test would show nothing."""
    wait_for(app.path(f"trace-queue-{head}").exists, 30, f"a queue behind {head}\n{database.describe()}")
    marks = ", ".join("?" * len(followers))
    running = database.query(f"SELECT id FROM job_runs WHERE status = 'running' AND id IN ({marks})", followers)
    return [row["id"] for row in running]


def begun(app: App) -> Counter[int]:
    """How often each run has begun."""
    return Counter(line.run_id for line in app.trace())


def ends(database: Database, run_ids: list[int]) -> Mapping[tuple[Any, ...], int]:
    """How many of these runs have each status, number of attempts and number of attempt rows."""
    statement = """
        SELECT id, status, attempts, (SELECT count(*) FROM job_attempts WHERE run_id = job_runs.id) AS trail
          FROM job_runs
    """
    wanted = set(run_ids)
    rows = [row for row in database.query(statement) if row["id"] in wanted]
    return Counter((row["status"], row["attempts"], row["trail"]) for row in rows)


def sqlite_file(database: Database) -> dict[str, str]:
    return {"SQLITE_FILE": str(database.path)} if isinstance(database, SQLiteDatabase) else {}


def begun_of(app: App, run_ids: list[int]) -> dict[int, int]:
    return {run_id: times for run_id, times in begun(app).items() if run_id in run_ids}


def make_all_due(database: Database) -> int:
    """Make all failed runs due now; returns how many there are."""
    return database.execute("UPDATE job_runs SET run_at = ? WHERE status = 'failed'", [database.now()])
