"""What a child reports or forges is stored within the limits."""

import json

import pytest

from harness import App, Commands, Database
from harness.handlers_rows import attempt_of, queue, run_of

FORGED = """
import json, struct

def forged(frame):
    '''Write into the channel, as a handler can that looks for it.'''
    import socket, stat
    body = json.dumps(frame).encode()
    for number in range(3, 30):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                socket.socket(fileno=os.dup(number)).sendall(struct.pack("!I", len(body)) + body)
                return
        except OSError:
            pass

@job("liar", max_attempts=1)
def liar(ctx: Context, outcome: str):
    large = "x" * 3_000_000
    told = {"result": large} if outcome == "succeeded" else {"error": large, "error_type": large, "traceback": large}
    forged({"kind": "report", "run_id": ctx.run_id, "outcome": outcome, **told})

@job("far")
def far(ctx: Context, path: str):
    ctx.progress(10**400, 10**400, "far")
    wait_for(ctx, path)
"""


@pytest.mark.promise("P14")
def test_forged_messages_are_stored_within_the_limits(jobrunner: Commands, app: App, database: Database) -> None:
    """30 MB of result and of traceback were stored: the limits were the child's only."""
    app.add(FORGED)
    runs = {outcome: queue(database, "liar", {"outcome": outcome}) for outcome in ("succeeded", "failed")}
    jobrunner.tick()
    for outcome, run_id in runs.items():
        stored = json.dumps([run_of(database, run_id), attempt_of(database, run_id)], default=str)
        assert len(stored) < 100_000, outcome


def test_progress_larger_than_a_float_is_shown(jobrunner: Commands, app: App, database: Database) -> None:
    app.add(FORGED)
    queue(database, "far", {"path": str(app.path("go"))})
    tick = jobrunner.start("tick", env={"JOBRUNNER_HEARTBEAT": "200ms"})
    database.wait_until("SELECT count(*) FROM job_runs WHERE progress IS NOT NULL")
    assert "1.00000e+400/1.00000e+400 far" in jobrunner("status").stdout
    app.end(tick, "go")
