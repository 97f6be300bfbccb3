"""Handlers that are cancelled while they work, and the events of their runs."""

from collections import Counter
from datetime import timedelta

from harness import Database
from harness.invariants import outcomes

HOUR = timedelta(hours=1)
RUNS = 40
OBEDIENT = '''
@job("obedient", timeout="5m", kill_after="20s")
def obedient(ctx: Context):
    """Ends in good order when it is asked to."""
    leave_trace(ctx)
    while not ctx.cancelled:
        time.sleep(0.01)
    raise RuntimeError("stopped in good order")
'''
HANDLERS = f'''{OBEDIENT}

@job("deaf", timeout="5m", kill_after="1s")
def deaf(ctx: Context):
    """Has to be killed."""
    leave_trace(ctx)
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass


@job("short", timeout="0.5s")
def short(ctx: Context):
    leave_trace(ctx)
    time.sleep(60)


@job("snoozing")
def snoozing(ctx: Context, path: str):
    leave_trace(ctx)
    while not os.path.exists(path):
        try:
            time.sleep(0.01)
        except BaseException:
            pass
    raise Snooze("1h")


@job("stubborn_success")
def stubborn_success(ctx: Context, path: str):
    leave_trace(ctx)
    while not os.path.exists(path):
        try:
            time.sleep(0.01)
        except BaseException:
            pass
    return "done"


@job("quick", max_attempts=1)
def quick(ctx: Context):
    leave_trace(ctx)
    if ctx.run_id % 2:
        raise RuntimeError("odd")
'''


def events(database: Database, run_id: int) -> list[tuple[str, str]]:
    """What people did to a run: the action, and the status that they found."""
    rows = database.query("SELECT action, detail FROM job_events WHERE run_id = ? ORDER BY id", [run_id])
    return [(row["action"], row["detail"]["from"]) for row in rows]


def assert_events_fit(database: Database) -> None:
    """Every action of a person started from a status that the table allows, and is visible in the end."""
    for run in database.query("SELECT * FROM job_runs"):
        done = events(database, run["id"])
        for action, found in done:
            allowed = {"cancel": {"queued", "failed", "running"}, "retry": {"failed", "dead", "cancelled"}}
            assert found in allowed[action], (run, done)
        if run["status"] == "cancelled":
            assert done[-1][0] == "cancel", (run, done)
        if done and done[-1][0] == "cancel" and done[-1][1] != "running":
            assert run["status"] == "cancelled", (run, done)
        counts = Counter(outcomes(database, run["id"]))
        assert counts["cancelled"] <= sum(action == "cancel" for action, _ in done), (run, done)
