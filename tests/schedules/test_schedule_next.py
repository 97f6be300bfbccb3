"""`jobrunner schedule next EXPR`: shows when an expression will fire, without a database."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from harness import Commands, sqlite_only

# An expression needs no database, so one of them is enough.
pytestmark = sqlite_only

BERLIN = ("--timezone", "Europe/Berlin")
NO_DATABASE = {"JOBRUNNER_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing"}
AFTER = ("--since", "2026-03-28T00:00:00Z")


@pytest.fixture
def bare(jobrunner: Commands) -> Any:
    """The command where no database can be reached: an expression needs none."""

    def call(*words: object, check: bool = True) -> Any:
        return jobrunner("schedule", "next", *words, env=NO_DATABASE, check=check)

    return call


def test_the_slots_of_an_expression_as_json(bare: Any) -> None:
    found = bare("30 2 * * *", *BERLIN, *AFTER, "-n", "5", "--json").json()
    assert all(each.pop("run_at") is None for each in found)
    assert found == [
        {"scheduled_for": "2026-03-28T01:30:00Z", "local": "2026-03-28T02:30:00+01:00"},
        {"scheduled_for": "2026-03-29T01:00:00Z", "local": "2026-03-29T03:00:00+02:00"},
        {"scheduled_for": "2026-03-30T00:30:00Z", "local": "2026-03-30T02:30:00+02:00"},
        {"scheduled_for": "2026-03-31T00:30:00Z", "local": "2026-03-31T02:30:00+02:00"},
        {"scheduled_for": "2026-04-01T00:30:00Z", "local": "2026-04-01T02:30:00+02:00"},
    ]


def test_schedule_next_output_for_people(bare: Any) -> None:
    assert bare("30 2 * * *", *BERLIN, *AFTER, "-n", 3).stdout == (
        "At 02:30 every day (Europe/Berlin)\n"
        "\n"
        "LOCAL TIME                    UTC                   INTERVAL\n"
        "Sat 2026-03-28 02:30:00 CET   2026-03-28 01:30:00Z  1d\n"
        "Sun 2026-03-29 03:00:00 CEST  2026-03-29 01:00:00Z  23h30m\n"
        "Mon 2026-03-30 02:30:00 CEST  2026-03-30 00:30:00Z  23h30m\n"
        "\n"
        "warning: 2026-03-29: the clock goes from 02:00 to 03:00; 02:30 does not exist: it fires once, right after"
        " the gap, at 03:00\n"
        "warning: 2026-10-25: the clock goes from 03:00 to 02:00; 02:30 comes twice: it fires once, in the first"
        " pass\n"
        "warning: 2027-03-28: the clock goes from 02:00 to 03:00; 02:30 does not exist: it fires once, right after"
        " the gap, at 03:00\n"
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("*/15 2 * * *", *BERLIN), "02:00 to 02:45 (4 times) do not exist: the schedule follows real time"),
        (("0,15 2 * * *", *BERLIN), "02:00 to 02:15 (2 times) do not exist: they fire once, right after the gap"),
        (("15 2 * * *", "--timezone", "Australia/Lord_Howe"), "from 02:00 to 02:30; 02:15 does not exist"),
        (("@daily", "--timezone", "America/Santiago"), "from 00:00 to 01:00; 00:00 does not exist"),
    ],
)
def test_schedule_next_warns_of_each_dst_effect(bare: Any, words: Any, expected: str) -> None:
    assert expected in bare(*words, *AFTER, "-n", 1).stdout


def test_schedule_without_a_dst_effect_has_no_warning(bare: Any) -> None:
    for words in (("0 4 * * *", *BERLIN), ("every 10m", *BERLIN), ("30 2 * * *",)):
        assert "warning" not in bare(*words, *AFTER).stdout


def test_intervals_and_aliases_are_expressions_too(bare: Any) -> None:
    assert bare("@daily", *AFTER, "-n", 1, "--json").json()[0]["scheduled_for"] == "2026-03-28T00:00:00Z"
    anchored = "every 10m from 2026-01-01T09:03:00+01:00"
    assert bare(anchored, *AFTER, "-n", 1, "--json").json()[0]["scheduled_for"] == "2026-03-28T00:03:00Z"


def test_schedule_next_starts_from_now_without_after(bare: Any) -> None:
    before = datetime.now(UTC)
    (found,) = bare("* * * * *", "-n", 1, "--json").json()
    slot = datetime.fromisoformat(found["scheduled_for"])
    assert before < slot <= datetime.now(UTC) + timedelta(minutes=1)
    later = datetime.fromisoformat(bare("* * * * *", "-n", 1, "--json", "--since", "+2h").json()[0]["scheduled_for"])
    assert timedelta(hours=2) <= later - slot <= timedelta(hours=2, minutes=2)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("* * * *",), "it needs 5 fields"),
        (("0 0 * * * *",), "has 6"),
        (("",), "it is empty"),
        (("*",), "it needs 5 fields"),
        (("0 2",), "it needs 5 fields"),
        (("TZ=UTC 0 2 * * *",), "write the zone into timezone"),
        (("0 0 * * 8",), "the day-of-week field '8': 8 is out of range; write 0 to 7"),
        (("0 0 30 2 *",), "it can never fire"),
        (("@reboot",), "a tick cannot notice a restart"),
        (("every 10",), "has no unit; write 10m"),
        (("@daily", "--timezone", "Europe/Berln"), "did you mean Europe/Berlin?"),
        (("@daily", "--timezone", ""), "not a known zone"),
        (("@daily", "--since", "2026-01-01T00:00"), "has no offset; write 2026-01-01T00:00Z"),
        (("@daily", "--since", "yesterday"), "is not a time"),
        (("@daily", "-n", "0"), "whole number from 1 to 1000"),
        (("a_name", "--timezone", "UTC"), "--timezone is for an expression"),
    ],
)
def test_bad_schedule_next_argument_is_refused_in_one_line_with_exit_2(
    jobrunner: Commands, words: Any, told: str
) -> None:
    for more in ((), ("--json",)):
        jobrunner.refused(2, "schedule", "next", *words, *more, env=NO_DATABASE, says=[told])


def test_an_expression_creates_no_database(jobrunner: Commands, tmp_path: Path) -> None:
    """Neither the default one nor one that is named, and nothing beside it."""
    file = tmp_path / "none.db"
    done = jobrunner("schedule", "next", "@daily", env={"JOBRUNNER_DATABASE_URL": f"sqlite:///{file}"})
    assert done.stderr == ""
    assert not file.exists()
    imported = jobrunner("schedule", "next", "@daily", env={**NO_DATABASE, "PYTHONPROFILEIMPORTTIME": "1"}).stderr
    assert "cronsim" in imported
    assert not {name for name in ("sqlalchemy", "psycopg", "alembic", "sqlite3") if f" {name}\n" in imported}


def test_slots_in_the_first_years_and_the_last_are_no_error(bare: Any) -> None:
    assert len(bare("@daily", *BERLIN, "--since", "0001-01-01T00:00:00Z", "--json").json()) == 5
    assert bare("@daily", *BERLIN, "--since", "9999-12-31T23:59:59Z", "--json").json() == []
    assert "no slot" in bare("@daily", *BERLIN, "--since", "9999-12-31T23:59:59Z").stdout
