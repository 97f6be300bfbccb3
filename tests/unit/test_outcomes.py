"""What a handler raises says why, also without a reason."""

import pytest

from jobrunner import Discard, Retry, Snooze


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (Retry(), "the handler asked for another attempt"),
        (Retry(after="5s"), "the handler asked for another attempt"),
        (Retry(reason="busy"), "busy"),
        (Discard(reason="no such order"), "no such order"),
        (Snooze(wait="90s"), "snoozed for 0:01:30"),
    ],
    ids=repr,
)
def test_outcome_that_a_handler_raises_says_its_reason(outcome: Exception, said: str) -> None:
    assert str(outcome) == said
