"""The hand: each run is in one phase, and the counts agree with the runs."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrunner.children.begun_page import BegunPage
from jobrunner.model import ClaimedRun, Lease
from jobrunner.worker.hand import Hand, RunInHand
from jobrunner.worker.phase import AT_WORK_PHASES, BEGUN_PHASES, LAST_PHASES, MOVES, IllegalMove, Phase

AT = datetime(2026, 1, 1, tzinfo=UTC)


def hand_with(count: int) -> tuple[Hand, list[RunInHand]]:
    hand = Hand(timedelta(minutes=1), BegunPage(None))
    leases = [Lease(number, "t") for number in range(1, count + 1)]
    runs = [ClaimedRun(lease, "known", {}, 1, 3, None, AT, None, AT) for lease in leases]
    return hand, hand.take(runs, 0.0, 0.0)


def in_phase(hand: Hand, phase: Phase) -> RunInHand:
    """A run that came into this phase by legal moves."""
    (held,) = hand.take([ClaimedRun(Lease(1, "t"), "known", {}, 1, 3, None, AT, None, AT)], 0.0, 0.0)
    for step in path_to(phase):
        hand.move(held, step)
    return held


def path_to(phase: Phase) -> list[Phase]:
    paths: dict[Phase, list[Phase]] = {Phase.WAITING: []}
    queue = [Phase.WAITING]
    for here in queue:
        for there in MOVES[here]:
            if there not in paths:
                paths[there] = [*paths[here], there]
                queue.append(there)
    return paths[phase]


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("to", Phase)
def test_a_run_moves_exactly_as_the_table_says(phase: Phase, to: Phase) -> None:
    hand, _ = hand_with(0)
    held = in_phase(hand, phase)
    if to in MOVES[phase]:
        hand.move(held, to)
        assert held.phase is to
        assert hand.in_phase(to) == [held]
    else:
        with pytest.raises(IllegalMove, match=f"{phase.name} does not lead to {to.name}"):
            hand.move(held, to)
        assert held.phase is phase
        assert hand.in_phase(phase) == [held]


@pytest.mark.parametrize("phase", Phase)
def test_a_run_leaves_the_hand_only_written_or_returned(phase: Phase) -> None:
    """A run that left from another phase would be lost: its lease is not renewed and its result is not written."""
    hand, _ = hand_with(0)
    held = in_phase(hand, phase)
    if phase in LAST_PHASES:
        hand.release(held)
        assert len(hand) == 0
    else:
        with pytest.raises(IllegalMove, match=f"cannot leave the hand from {phase.name}"):
            hand.release(held)
        assert len(hand) == 1


def test_every_phase_is_reached_and_from_each_a_run_can_leave() -> None:
    for phase in Phase:
        path_to(phase)
        ahead = {phase}
        while more := {there for here in ahead for there in MOVES[here]} - ahead:
            ahead |= more
        assert ahead & LAST_PHASES


def test_a_run_that_may_have_begun_goes_back_only_from_working_or_stopping() -> None:
    """In these phases its child may still report that it has not begun the run."""
    back = {(here, there) for here in BEGUN_PHASES for there in MOVES[here] if there not in BEGUN_PHASES}
    assert back == {(Phase.WORKING, Phase.WAITING), (Phase.WORKING, Phase.RETURNING), (Phase.STOPPING, Phase.RETURNING)}


def test_no_lease_of_a_hand_that_was_cleared_is_renewed() -> None:
    """Its runs belong to others by now, or their tables are gone."""
    hand, runs = hand_with(3)
    hand.move(runs[0], Phase.WORKING)
    hand.clear()
    assert (len(hand), hand.count(*Phase), hand.in_phase(*Phase)) == (0, 0, [])


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from([*Phase, None])), max_size=60))
def test_counts_of_the_hand_agree_with_its_runs(steps: list[tuple[int, Phase | None]]) -> None:
    hand, runs = hand_with(5)
    runs[1].takes_permit = False
    gone: set[RunInHand] = set()
    for number, phase in steps:
        held = runs[number]
        if held in gone:
            continue
        if phase is None and held.phase in LAST_PHASES:
            hand.release(held)
            gone.add(held)
        elif phase is not None and phase in MOVES[held.phase]:
            hand.move(held, phase)
    left = [held for held in runs if held not in gone]
    at_work = [held for held in left if held.phase in AT_WORK_PHASES]
    assert sorted(held.lease.run_id for held in hand.in_phase(*Phase)) == [held.lease.run_id for held in left]
    assert all(held.phase is phase for phase in Phase for held in hand.in_phase(phase))
    assert hand.count(*Phase) == len(hand) == len(left)
    assert hand.permits_in_use == sum(held.takes_permit for held in at_work)
    assert [hand.at_work(held.lease.run_id) for held in at_work] == at_work
    assert all(hand.at_work(held.lease.run_id) is None for held in left if held not in at_work)
