"""After any history two ticks claim every run that is due, or `explain` names a reason that the rows confirm.

Histories of deploys from any limits to any others, with two versions of the code side by side; of rows that another
session has locked; of crashes in a claim and after it; of pauses, priorities, parents and keys; of gates, their rows
and limits that somebody has changed by hand.
"""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import harness.hypothesis_profile  # noqa: F401 - loads the profile
from harness import Database, PostgresDatabase
from harness.histories import CHANGES, GATES, LIMITS, TYPES, World
from harness.stores import opening

HOSTS = st.sampled_from(["old", "new"])
OF_TYPE, SMALL = st.sampled_from(TYPES), st.integers(0, 1)
NAMES = st.sampled_from([*LIMITS])
MINUTES = st.sampled_from([0, 0, 0, -1, -30, 30])
STEPS = st.one_of(
    st.tuples(st.just("enqueue"), OF_TYPE, SMALL, SMALL, st.sampled_from([0, 0, 7, -7]), MINUTES, st.just(False)),
    st.tuples(st.just("enqueue"), OF_TYPE, SMALL, SMALL, st.just(0), st.just(0), st.sampled_from([False, True])),
    st.tuples(st.just("enqueue_some"), OF_TYPE, st.sampled_from([2, 4])),
    st.tuples(st.just("enqueue_some"), OF_TYPE, st.sampled_from([2, 4])),
    st.tuples(st.just("deploy"), HOSTS, OF_TYPE, NAMES),
    st.tuples(st.just("deploy"), HOSTS, OF_TYPE, NAMES),
    st.tuples(st.just("declare"), HOSTS),
    st.tuples(st.just("claim"), HOSTS, st.sampled_from([1, 2, 100]), st.sampled_from(["", "", "before", "after"])),
    st.tuples(st.just("claim"), HOSTS, st.sampled_from([1, 2]), st.just("")),
    st.tuples(st.just("end"), HOSTS, st.sampled_from(["succeeded", "failed", "discarded"])),
    st.tuples(st.just("expire"), HOSTS),
    st.tuples(st.just("pause"), OF_TYPE),
    st.tuples(st.just("resume"), OF_TYPE),
    st.tuples(st.just("resume"), OF_TYPE),
    st.tuples(st.just("lock"), SMALL),
    st.tuples(st.just("by_hand"), st.sampled_from(GATES), SMALL),
    st.tuples(st.just("claim_declared"), HOSTS, st.sampled_from([1, 2])),
    st.tuples(st.just("claim_declared"), HOSTS, st.sampled_from([1, 2])),
    st.tuples(st.just("damage"), st.sampled_from(CHANGES)),
    st.tuples(st.just("priority"), st.sampled_from([-5, 5])),
    st.tuples(st.just("tick"), HOSTS),
)


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    with opening(database, patience_seconds=20) as open_one:
        if not isinstance(database, PostgresDatabase):
            yield World(database, open_one(), None)
            return
        with closing(psycopg.connect(database.url)) as locker:
            yield World(database, open_one(), locker)


@pytest.mark.timeout(3600)  # for a failure: it is made as short as possible before it is shown
@pytest.mark.promise("P1", "P12")
@pytest.mark.parametrize(
    "count", [12, *(pytest.param(1000, id=f"1000-{n}", marks=pytest.mark.long) for n in range(10))]
)
def test_two_ticks_claim_every_due_run_after_any_history_or_explain_names_a_true_reason(
    world: World, count: int
) -> None:
    @settings(
        max_examples=count,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
    )
    @given(code=st.tuples(NAMES, NAMES, NAMES, NAMES), history=st.lists(STEPS, min_size=6, max_size=24))
    def after_any(code: tuple[str, str, str, str], history: list[tuple[Any, ...]]) -> None:
        world.begin(code)
        for step in history:
            world.do(step)
        world.unlock()
        for _ in range(2):
            world.tick("new")
        untrue = [(said.reason, said.sentence) for said in world.left() if not world.is_confirmed(said)]
        assert not untrue, (untrue, world.did)

    after_any()
