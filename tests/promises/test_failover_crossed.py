"""A standby is promoted that has forgotten the last moments of a type that is fair, renamed, and keeps checkpoints."""

import json
from datetime import timedelta

import pytest

from harness import App, Commands
from harness.handlers_rows import attempts_of, make_due, run_of
from harness.judge import breaches_at
from harness.standby import Pair

HANDLERS = """
from jobrunner import Context, job

@job("NAME", max_attempts=2)
def send(ctx: Context, customer_id: str):
    page = ctx.last_checkpoint or 0
    ctx.checkpoint(page + 1)
    if customer_id == "A" and page == 0:
        raise ValueError("stopped")
    return page
"""
OLD = HANDLERS.replace('"NAME"', '"send_report", fair_by="customer_id"')
NEW = HANDLERS.replace('"NAME"', '"report.send", formerly="send_report", fair_by="customer_id"')


@pytest.mark.promise("P1", "P4", on="postgresql")
def test_lines_keys_and_checkpoints_that_a_standby_has_forgotten_are_those_of_the_moment_before(
    pair: Pair, jobrunner_on_pair: Commands, app: App
) -> None:
    """Gates, turns and keys under both names go back together, and no run waits where no claim looks."""
    pair.set_synchronous("")
    env = {"JOBRUNNER_DATABASE_URL": pair.url_of_both}

    def enqueue(name: str, customer: str, *more: object) -> int:
        payload = json.dumps({"customer_id": customer})
        return int(jobrunner_on_pair("enqueue", name, "--payload", payload, *more, env=env).stdout)

    app.write("handlers", OLD)
    enqueue("send_report", "C")
    jobrunner_on_pair.tick(env=env)
    first, second = enqueue("send_report", "A"), enqueue("send_report", "B")
    app.write("handlers", NEW)
    pair.wait_for_standby()
    pair.stall()
    # All this is forgotten: the first run has failed with a checkpoint, the second is done, and a third has the key.
    enqueue("report.send", "B", "--key", "May")
    jobrunner_on_pair.tick(env=env)
    assert [run_of(pair.database, each)["status"] for each in (first, second)] == ["failed", "succeeded"]
    promoted = pair.fail_over()
    assert promoted.query("SELECT job_type FROM job_keys") == []
    gates = {row["id"]: row["gate"] for row in promoted.query("SELECT id, gate FROM job_runs WHERE status = 'queued'")}
    assert gates == {first: 'customer_id ["A"]', second: 'customer_id ["B"]'}
    again = enqueue("report.send", "B", "--key", "May")
    assert enqueue("send_report", "B", "--key", "May") == again
    promoted.move_clock(timedelta(minutes=2))
    jobrunner_on_pair.tick(env=env)
    assert [run_of(promoted, each)["status"] for each in (first, second, again)] == ["failed", "succeeded", "succeeded"]
    make_due(promoted, first)
    jobrunner_on_pair.tick(env=env)
    assert (run_of(promoted, first)["result"], len(attempts_of(promoted, first))) == (1, 2)
    assert breaches_at(promoted.url) == []
