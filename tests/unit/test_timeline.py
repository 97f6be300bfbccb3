"""The attempts of a run along the time, and how far the one at work is."""

from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jobrunner.store.questions.runs.run_details import Attempt, Run
from jobrunner.web.pages.timeline import MOST, Progress, progress, timeline

AT = datetime(2026, 11, 27, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def run(*attempts: tuple[int, int], **columns: Any) -> Run:
    """A run that was made at AT, with attempts from so many seconds to so many."""
    log = [
        Attempt(
            **{
                **dict.fromkeys((each.name for each in fields(Attempt)), None),
                "sequence": number,
                "outcome": "failed",
                "started_at": AT + begin * SECOND,
                "finished_at": AT + end * SECOND,
            }
        )  # type: ignore[arg-type]
        for number, (begin, end) in enumerate(attempts, 1)
    ]
    given = {"status": "failed", "created_at": AT, "attempt_log": log, **columns}
    return Run(**{**dict.fromkeys((each.name for each in fields(Run)), None), **given})  # type: ignore[arg-type]


def test_attempts_stand_where_they_were_with_their_waits() -> None:
    drawn = timeline(run((10, 20), (60, 80), status="running", started_at=AT + 90 * SECOND), AT + 100 * SECOND)
    assert drawn is not None
    assert (drawn.begin, drawn.end) == (AT, AT + 100 * SECOND)
    assert [(each.number, each.outcome, each.waited, each.ran) for each in drawn.rows] == [
        (1, "failed", (0.0, 10.0), (10.0, 10.0)),
        (2, "failed", (20.0, 40.0), (60.0, 20.0)),
        (3, "running", (80.0, 10.0), (90.0, 10.0)),
    ]
    assert (drawn.rows[1].wait, drawn.rows[1].took) == (40 * SECOND, 20 * SECOND)


def test_run_without_an_attempt_has_no_drawing_and_one_with_many_shows_the_newest() -> None:
    assert timeline(run(), AT) is None
    # A clock that was set back, and attempts that took no time.
    for attempts in [[(0, 0)], [(-50, -20)], [(30, 10)], [(number, number) for number in range(100)]]:
        drawn = timeline(run(*attempts), AT)
        assert drawn is not None
        assert len(drawn.rows) == min(MOST, len(attempts))
        assert drawn.rows[-1].number == len(attempts)
        for each in drawn.rows:
            assert 0 <= each.ran[0] < each.ran[0] + each.ran[1] <= 100, attempts
            assert each.waited is None or 0 <= each.waited[0] < 100


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        (None, None),
        ({"done": 25, "total": 100, "message": "rows"}, Progress("25/100 rows", 0.25, 30 * SECOND)),
        ({"done": 100, "total": 100}, Progress("100/100", 1.0, None)),
        ({"done": 0, "total": 100}, Progress("0/100", 0.0, None)),
        ({"done": 200, "total": 100}, Progress("200/100", 1.0, None)),
        ({"done": 1, "total": 10**9}, Progress("1/1e+09", 1e-9, None)),
        ({"done": 7}, Progress("7", None, None)),
        ("half of it", Progress("half of it", None, None)),
    ],
    ids=str,
)
def test_progress_has_a_share_and_a_forecast_where_they_are_known(reported: Any, expected: Progress | None) -> None:
    found = run(status="running", started_at=AT, progress=reported)
    assert progress(found, AT + 10 * SECOND) == expected


@pytest.mark.parametrize("value", [0, True, "7", float("nan"), float("inf"), -1, 10**400, [1], None], ids=str)
def test_progress_of_any_value_breaks_no_page(value: Any) -> None:
    for reported in ({"done": value, "total": 10}, {"done": 3, "total": value}, {"done": value, "total": value}):
        found = progress(run(status="running", started_at=AT, progress=reported), AT + SECOND)
        assert found is not None
        assert found.share is None or 0 <= found.share <= 1
