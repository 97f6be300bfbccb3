"""Random sequences of calls against a real store follow the table of transitions."""

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

import harness.hypothesis_profile  # noqa: F401 - loads the profile
from harness import Database
from harness.run_machine import Runs


@pytest.mark.timeout(600)  # for a failure: it is made as short as possible before it is shown
@pytest.mark.promise("P1", "P2", "P4", "P7", "P12")
@pytest.mark.parametrize("examples", [8, pytest.param(100, marks=pytest.mark.long)])
def test_no_sequence_of_calls_breaks_the_life_of_a_run(database: Database, examples: int) -> None:
    run_state_machine_as_test(
        lambda: Runs(database),
        settings=settings(
            max_examples=examples,
            stateful_step_count=35,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            # Explaining a failure takes longer than all else together.
            phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
        ),
    )
