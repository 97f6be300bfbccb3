"""Fair types where their runs come by another way than an enqueue that is due at once."""

import json

import pytest

from harness import App, Commands, Database
from harness.handlers_rows import run_of, status_of
from harness.judge import breaches_at

HANDLERS = """
from jobrunner import fixed, job

@job("export", fair_by="customer_id", max_attempts=2, backoff=fixed("0s"))
def export(ctx, customer_id):
    if ctx.attempt == 1 and customer_id == "fails":
        raise ValueError("once")

@job("plain")
def plain(ctx):
    pass
"""


@pytest.fixture
def fair(jobrunner: Commands, app: App) -> Commands:
    app.write("handlers", HANDLERS)
    jobrunner("enqueue", "export", "--payload", '{"customer_id": "A"}')
    # A busy tick declares the type.
    jobrunner.tick()
    return jobrunner


def enqueue(jobrunner: Commands, customer: str, *more: object) -> int:
    return int(jobrunner("enqueue", "export", "--payload", json.dumps({"customer_id": customer}), *more).stdout)


@pytest.mark.promise("P1")
def test_runs_that_wait_for_the_end_of_others_or_come_again_have_their_turn_in_the_same_tick(
    fair: Commands, database: Database
) -> None:
    plain = int(fair("enqueue", "plain").stdout)
    after = enqueue(fair, "B", "--after", plain)
    after_that = enqueue(fair, "C", "--after", after)
    fails = enqueue(fair, "fails")
    fair.tick()
    assert [status_of(database, each) for each in (plain, after, after_that, fails)] == ["succeeded"] * 4
    assert run_of(database, fails)["attempts"] == 2
    assert breaches_at(database.url) == []
