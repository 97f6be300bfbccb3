"""The options of a schedule: one set of rules, and messages that say how to correct a mistake."""

from dataclasses import fields
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from harness.doc_tables import text_of
from jobrunner.errors import UsageError
from jobrunner.model import SlotPolicy
from jobrunner.schedules.declare import Schedule
from jobrunner.schedules.options import OPTIONS
from jobrunner.schedules.policy import make_slot_policy
from jobrunner.store.schema import job_definitions
from jobrunner.store.timetable.schedules import policy_columns

END = "2027-01-01T00:00:00Z"


def test_slot_policy_without_options_has_the_defaults() -> None:
    assert make_slot_policy() == SlotPolicy()
    assert (SlotPolicy().misfire, SlotPolicy().overlap, SlotPolicy().misfire_most) == ("latest", "skip", 100)


def test_slot_policy_keeps_every_option() -> None:
    ends_at = datetime(2027, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))
    made = make_slot_policy(
        misfire="all",
        misfire_window="1h30m",
        misfire_most=7,
        overlap="queue",
        start_deadline=90,
        jitter=timedelta(minutes=5),
        ends_at=ends_at,
        max_runs=3,
    )
    assert made == SlotPolicy(
        "all", timedelta(minutes=90), 7, "queue", timedelta(seconds=90), timedelta(minutes=5), ends_at, 3
    )
    assert made.ends_at is not None
    assert made.ends_at.tzinfo is UTC
    assert make_slot_policy(ends_at="2027-01-01T00:00:00Z").ends_at == ends_at


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"misfire": "lates"}, "the nearest is 'latest'"),
        ({"misfire": None}, "misfire must be one of 'latest', 'skip', 'all'"),
        ({"overlap": "x" * 500}, "overlap must be one of"),
        ({"misfire_window": "soon"}, "misfire_window: 'soon' is not a duration; write it as"),
        ({"misfire_window": "0s"}, "misfire_window must be longer than 0; leave it out for none"),
        ({"misfire_window": float("nan")}, "misfire_window"),
        ({"start_deadline": "-5m"}, "start_deadline"),
        ({"start_deadline": True}, "start_deadline"),
        ({"jitter": "11000d"}, "jitter"),
        ({"jitter": [1]}, "jitter"),
        ({"misfire_most": 0}, "misfire_most must be a whole number from 1 to 10000"),
        ({"misfire_most": True}, "misfire_most"),
        ({"max_runs": 2.0}, "max_runs must be a whole number"),
        ({"max_runs": 10**10}, "max_runs"),
        ({"ends_at": "2027-01-01"}, "ends_at must be an instant with its offset, such as 2027-01-01T00:00:00Z"),
        ({"ends_at": datetime(2027, 1, 1)}, "ends_at must be an instant with its offset"),
        ({"ends_at": "tomorrow"}, "ends_at"),
        ({"ends_at": 5}, "ends_at"),
        ({"ends_at": "9999-12-31T23:59:59-12:00"}, "ends_at is outside the calendar"),
        ({"misfire": "all", "overlap": "replace"}, "contradict each other"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bad_slot_policy_is_refused_with_the_remedy(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        make_slot_policy(**options)
    message = str(refused.value)
    assert said in message
    assert "\n" not in message
    assert len(message) < 300


def test_slot_policy_survives_the_database_row() -> None:
    made = make_slot_policy(misfire="skip", misfire_window="5m", jitter="1m", max_runs=9, ends_at=END)
    assert make_slot_policy(**policy_columns(made)) == made


def test_each_schedule_option_is_known_in_code_file_and_commands() -> None:
    """One row of the table, one field, one argument, one column; and a word in each page."""
    names = list(OPTIONS)
    assert names == list(SlotPolicy._fields)
    assert names == [each.name for each in fields(Schedule)][-len(names) :]
    assert set(names) <= set(job_definitions.c.keys())
    schedules, configuration = (text_of(name) for name in ("schedules.md", "jobfile.md"))
    for name in names:
        assert f"| `--{name.replace('_', '-')}` |" in schedules
        assert f"| `{name}` |" in configuration
