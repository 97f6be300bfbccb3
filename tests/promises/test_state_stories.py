"""Sequences for the state machine that random tests seldom find."""

from datetime import timedelta
from typing import Any

import pytest

from harness import Database
from harness.run_machine import ENDS, LEASE, OWNERS, PERMITS, Runs
from harness.run_model import POLICIES
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.store.queue.claims import ClaimRequest


def asked(**changes: Any) -> dict[str, ClaimRequest]:
    return {"request": ClaimRequest(OWNERS[0], "", list(POLICIES.values()), 3, PERMITS, LEASE, **changes)}


def end(outcome: Outcome) -> tuple[str, dict[str, Any]]:
    return "finalize", {
        "pick": 0,
        "ending": AttemptResult(outcome, error_type="E", result=[1], wait=timedelta(0)),
        "commits": True,
    }


CLAIM = ("claim", {**asked(), "commits": True})
QUARANTINED = ("claim", {**asked(quarantined=True), "commits": True})
CANCEL = ("act", {"pick": 0, "act": "cancel"})
RETRY = ("act", {"pick": 0, "act": "retry"})
EXPIRE = ("pass_time", {"seconds": 20 * 60, "limit": 100})
LATE = ("finalize_late", {"pick": 0, "ending": AttemptResult(Outcome.SUCCEEDED)})
HOLDS = [("hold", {"pick": 0, "live": False, "act": act}) for act in ("renew", "report")]
STORIES: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "cancelled, then returned": [CLAIM, CANCEL, ("return_unstarted", {"pick": 0, "whole": True})],
    **{f"cancelled, then {outcome}": [CLAIM, CANCEL, end(outcome)] for outcome in ENDS},
    "recovered, then finalized": [CLAIM, EXPIRE, LATE],
    "cancelled and recovered, then finalized": [CLAIM, CANCEL, EXPIRE, LATE],
    "finalized twice": [CLAIM, end(Outcome.SUCCEEDED), LATE],
    "finalized under the next owner's hands": [CLAIM, EXPIRE, EXPIRE, CLAIM, LATE],
    "renewed under the next owner's hands": [CLAIM, EXPIRE, EXPIRE, CLAIM, *HOLDS],
    "poison": [step for claim in (CLAIM, CLAIM, QUARANTINED) for step in (claim, EXPIRE, EXPIRE)]
    + [RETRY, CLAIM, QUARANTINED],
    "handed back ten times": [CLAIM, end(Outcome.RELEASED)] * 10,
    "retried past its limit": [CLAIM, end(Outcome.DISCARDED), RETRY] * 6,
    "a clock that steps back": [CLAIM, ("pass_time", {"seconds": -1800, "limit": 100}), LATE],
}


@pytest.mark.long(sample=0.5)
@pytest.mark.promise("P1", "P2", "P7")
@pytest.mark.parametrize("story", STORIES)
def test_run_life_stories_that_random_tests_seldom_find(database: Database, story: str) -> None:
    machine = Runs(database)
    machine.begin(keys=[None])
    for name, arguments in STORIES[story]:
        getattr(machine, name)(**arguments)
    machine.teardown()
