"""Ticks beside a standby that stalls and is promoted: the ledger outside of the database shows one payment."""

from datetime import timedelta

import pytest

from harness import App, Commands, wait_for
from harness.effect_jobs import traces
from harness.handlers_rows import run_of
from harness.invariants import insert_runs
from harness.standby import Pair

HANDLERS = """
import os
import time

from jobrunner import Context, job


def leave_trace(text):
    trace = os.open(os.environ["TRACE_FILE"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(trace, f"{text}\\n".encode())
    os.close(trace)


def pay(key):
    leave_trace(f"paid {key}")


@job("charge", kill_after="1s")
def charge(ctx: Context, go: str):
    leave_trace("begun")
    while not os.path.exists(go):
        time.sleep(0.01)
    ctx.once("charge:7", pay, "charge:7")
"""


@pytest.mark.promise("P2", "P5")
def test_payment_is_made_once_though_the_standby_without_its_intent_is_promoted(
    pair: Pair, jobrunner_on_pair: Commands, app: App
) -> None:
    app.write("handlers", HANDLERS)
    go = app.path("go")
    (run_id,) = insert_runs(pair.database, 1, "charge", {"go": str(go)})
    # A quarter of the lease is the limit of a call: the watch cuts the COMMIT of the intent after half a second.
    tick = jobrunner_on_pair.start("tick", env={"JOBRUNNER_LEASE": "2s"})
    wait_for(lambda: traces(app) == ["begun"], 20, "the handler")
    pair.stall()
    go.touch()
    pair.database.wait_until("SELECT count(*) = 1 FROM job_effects")
    jobrunner_on_pair.finish(tick)
    promoted = pair.fail_over()
    assert promoted.query("SELECT key FROM job_effects") == []
    assert [run_of(promoted, run_id)[name] for name in ("status", "attempts")] == ["running", 1]
    jobrunner_on_pair.database = promoted
    for _ in range(2):
        promoted.move_clock(timedelta(hours=1))
        jobrunner_on_pair.tick()
    assert traces(app) == ["begun", "begun", "paid charge:7"]
    assert run_of(promoted, run_id)["status"] == "succeeded"
