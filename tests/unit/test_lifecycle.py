"""The life of a run as a table and one rule, over every combination that can matter."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import product

import pytest

from jobrunner.lifecycle import (
    CLAIMABLE,
    FINISHED,
    MOST_RELEASES_IN_A_ROW,
    TRANSITIONS,
    AttemptResult,
    Decision,
    Event,
    Outcome,
    RunState,
    Status,
    allowed,
    decide,
    target,
)

DEFAULT_WAIT = timedelta(minutes=7)
OWN_WAIT = timedelta(seconds=11)
DEPLOY_GRACE = timedelta(minutes=10)
PEOPLE = {Event.CANCEL, Event.DISCARD, Event.RETRY, Event.FORCE_RETRY}


@dataclass(frozen=True)
class Case:
    run: RunState
    ending: AttemptResult

    def decision(self) -> Decision:
        return decide(self.run, self.ending, lambda attempts: DEFAULT_WAIT * attempts, DEPLOY_GRACE)


def cases() -> Iterator[Case]:
    """Every outcome against every standing around the limits; whatever is at work was charged."""
    near_the_limit = (0, 1, MOST_RELEASES_IN_A_ROW - 2, MOST_RELEASES_IN_A_ROW - 1, MOST_RELEASES_IN_A_ROW)
    for attempts, most, cancelled, releases, expiries in product(
        range(1, 6), range(1, 6), (False, True), near_the_limit, range(3)
    ):
        run = RunState(attempts, most, cancelled, releases, expiries)
        for outcome, wait in product(Outcome, (None, OWN_WAIT)):
            yield Case(run, AttemptResult(outcome, error_type="kind", error="words", wait=wait))


CASES = list(cases())


def charged(case: Case) -> bool:
    """Whether nothing but the number of attempts and a permanent error decide."""
    is_release = case.ending.outcome is Outcome.RELEASED and case.run.releases + 1 < MOST_RELEASES_IN_A_ROW
    own_rules = (Outcome.SUCCEEDED, Outcome.SNOOZED, Outcome.DROPPED, Outcome.INCOMPATIBLE)
    free = case.ending.outcome in own_rules or is_release
    return not case.run.cancel_requested and not free


def of(*outcomes: Outcome) -> list[Case]:
    return [case for case in CASES if case.ending.outcome in outcomes]


def test_every_event_has_one_row_and_every_status_an_arrow_to_it() -> None:
    assert sorted(transition.event for transition in TRANSITIONS) == sorted(Event)
    assert {transition.target for transition in TRANSITIONS} == set(Status)


def test_the_table_answers_for_every_pair_of_event_and_status() -> None:
    for transition, source in product(TRANSITIONS, Status):
        assert allowed(transition.event, source) == (source in transition.sources)
        if source in transition.sources:
            assert target(transition.event, source) is transition.target
        else:
            with pytest.raises(ValueError, match=f"no run goes from {source} by {transition.event}"):
                target(transition.event, source)


def test_only_enqueue_begins_a_run() -> None:
    assert target(Event.ENQUEUE, None) is Status.QUEUED
    for event in set(Event) - {Event.ENQUEUE}:
        with pytest.raises(ValueError, match="no run goes from None"):
            target(event, None)


def test_a_finished_run_leaves_only_by_a_person() -> None:
    leaving = {each.event for each in TRANSITIONS if set(each.sources) & set(FINISHED)}
    assert leaving <= PEOPLE
    succeeded = {each.event for each in TRANSITIONS if Status.SUCCEEDED in each.sources}
    assert succeeded == {Event.FORCE_RETRY}


def test_statuses_are_waiting_running_or_finished() -> None:
    assert {*CLAIMABLE, Status.RUNNING, *FINISHED} == set(Status)
    assert len(CLAIMABLE) + 1 + len(FINISHED) == len(Status)


def test_number_of_lifecycle_cases_is_large_enough() -> None:
    assert len(CASES) > 5000
    assert {case.decision().event for case in CASES} == {
        Event.SUCCEED, Event.FAIL, Event.GIVE_UP, Event.RELEASE, Event.POSTPONE, Event.DROP,
        Event.CANCEL,
    }  # fmt: skip


def test_success_wins_over_every_other_end() -> None:
    for case in of(Outcome.SUCCEEDED):
        decision = case.decision()
        assert (decision.status, decision.outcome) == (Status.SUCCEEDED, Outcome.SUCCEEDED)
        assert decision.attempts == case.run.attempts
        assert (decision.releases, decision.lease_expiries) == (0, 0)


def test_a_requested_cancel_wins_over_everything_but_success() -> None:
    for case in CASES:
        if case.run.cancel_requested and case.ending.outcome is not Outcome.SUCCEEDED:
            decision = case.decision()
            assert decision.status is Status.CANCELLED
            assert decision.outcome is Outcome.CANCELLED
            assert decision.attempts == case.run.attempts


def test_a_snooze_gives_the_attempt_back_and_waits_as_asked() -> None:
    for case in of(Outcome.SNOOZED):
        if not case.run.cancel_requested:
            decision = case.decision()
            assert (decision.status, decision.outcome) == (Status.QUEUED, Outcome.SNOOZED)
            assert decision.attempts == case.run.attempts - 1
            assert decision.wait == (case.ending.wait or timedelta(0))
            assert decision.releases == 0


def test_run_that_does_not_fit_the_code_is_postponed_uncharged_during_deploy_grace() -> None:
    for case in of(Outcome.INCOMPATIBLE):
        if case.run.cancel_requested:
            continue
        for since in (timedelta(days=-9), timedelta(0), DEPLOY_GRACE - timedelta(seconds=1)):
            decision = replace(case, run=case.run._replace(incompatible_for=since)).decision()
            assert (decision.status, decision.outcome) == (Status.FAILED, Outcome.INCOMPATIBLE)
            assert decision.attempts == case.run.attempts - 1
            assert (decision.releases, decision.lease_expiries) == (case.run.releases, case.run.lease_expiries)
            assert decision.wait is not None
            assert case.ending.wait or timedelta(seconds=15) <= decision.wait <= timedelta(seconds=30)
        decision = replace(case, run=case.run._replace(incompatible_for=DEPLOY_GRACE)).decision()
        assert (decision.status, decision.attempts) == (Status.DEAD, case.run.attempts)
        assert decision.error == "words; the same on every try for 10m"


def test_run_dropped_at_a_stop_ends_and_its_attempt_is_kept() -> None:
    for case in of(Outcome.DROPPED):
        if not case.run.cancel_requested:
            decision = case.decision()
            assert (decision.status, decision.event) == (Status.CANCELLED, Event.DROP)
            assert (decision.outcome, decision.error_type, decision.error) == (Outcome.DROPPED, "kind", "words")
            assert (decision.attempts, decision.wait) == (case.run.attempts, None)


def test_only_a_drop_at_a_stop_ends_a_run_as_dropped() -> None:
    for case in CASES:
        if case.decision().event is Event.DROP:
            assert case.ending.outcome is Outcome.DROPPED


def test_the_tenth_release_in_a_row_is_charged() -> None:
    for case in of(Outcome.RELEASED):
        if case.run.cancel_requested:
            continue
        decision = case.decision()
        assert decision.outcome is Outcome.RELEASED
        if case.run.releases + 1 < MOST_RELEASES_IN_A_ROW:
            assert (decision.status, decision.wait) == (Status.QUEUED, timedelta(0))
            assert (decision.attempts, decision.releases) == (case.run.attempts - 1, case.run.releases + 1)
        else:
            assert decision.event in (Event.FAIL, Event.GIVE_UP)
            assert (decision.attempts, decision.releases) == (case.run.attempts, 0)
            assert decision.error_type == "released"
            assert "10 times in a row" in str(decision.error)


def test_ten_releases_cost_one_attempt() -> None:
    run = RunState(1, 5, cancel_requested=False, releases=0, lease_expiries=0)
    for count in range(1, MOST_RELEASES_IN_A_ROW):
        decision = decide(run, AttemptResult(Outcome.RELEASED))
        assert (decision.attempts, decision.releases) == (0, count)
        run = RunState(decision.attempts + 1, 5, False, decision.releases, 0)
    assert decide(run, AttemptResult(Outcome.RELEASED)).event is Event.FAIL


def test_an_error_is_tried_again_while_attempts_are_left() -> None:
    for case in filter(charged, CASES):
        if case.ending.outcome is Outcome.DISCARDED:
            continue
        decision = case.decision()
        assert decision.attempts == case.run.attempts
        assert (decision.outcome, decision.releases) == (case.ending.outcome, 0)
        if case.run.attempts < case.run.max_attempts:
            assert decision.status is Status.FAILED
            assert decision.wait == (case.ending.wait or DEFAULT_WAIT * case.run.attempts)
        else:
            assert (decision.status, decision.wait) == (Status.DEAD, None)


def test_a_permanent_error_is_dead_at_once() -> None:
    for case in filter(charged, of(Outcome.DISCARDED)):
        decision = case.decision()
        assert (decision.status, decision.event) == (Status.DEAD, Event.GIVE_UP)
        assert (decision.attempts, decision.error) == (case.run.attempts, "words")


def test_only_expiries_in_a_row_are_counted() -> None:
    for case in filter(charged, CASES):
        expected = case.run.lease_expiries + 1 if case.ending.outcome is Outcome.LEASE_EXPIRED else 0
        assert case.decision().lease_expiries == expected


def test_a_wait_of_zero_is_not_the_default_wait() -> None:
    run = RunState(1, 5, cancel_requested=False, releases=0, lease_expiries=0)
    assert decide(run, AttemptResult(Outcome.FAILED, wait=timedelta(0))).wait == timedelta(0)


def test_every_end_follows_the_table_of_transitions() -> None:
    for case in CASES:
        decision = case.decision()
        assert allowed(decision.event, Status.RUNNING)
        assert decision.status is target(decision.event, Status.RUNNING)
        assert decision.status is not Status.RUNNING
        assert decision.attempts >= 0
        assert decision.attempts == case.run.attempts or decision.event in (Event.RELEASE, Event.POSTPONE)
