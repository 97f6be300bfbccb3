"""A schedule that a person broke by hand is corrected with `jobrunner schedule edit`."""

from datetime import datetime
from typing import Any

import pytest

from harness import Commands, Database
from harness.slots import NO_HANDLERS, expand, go_to, skipped_ranges, slots_with_runs, utc


def shown(jobrunner: Commands) -> dict[str, Any]:
    answer: dict[str, Any] = jobrunner("schedule", "show", "n", "--json").json()
    return answer


def test_schedule_broken_by_hand_can_be_corrected(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    jobrunner("schedule", "add", "n", "--type", "echo", "--cron", "@hourly")
    database.execute("UPDATE job_definitions SET schedule = 'often', timezone = 'Mars'")
    expand(jobrunner, utc(2026, 5, 1, 13, 0, 1))
    assert shown(jobrunner)["problem"]
    jobrunner("schedule", "edit", "n", "--cron", "@hourly", "--timezone", "UTC")
    row = shown(jobrunner)
    assert (row["problem"], row["misfire"]) == (None, "latest")
    assert datetime.fromisoformat(row["next_run_at"]) == utc(2026, 5, 1, 14)


@pytest.mark.promise("P12")
def test_slots_missed_while_a_schedule_was_broken_are_decided_by_the_next_tick(
    jobrunner: Commands, database: Database
) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    jobrunner("schedule", "add", "n", "--type", "echo", "--cron", "@hourly")
    database.execute("UPDATE job_definitions SET job_type = 'two words'")
    expand(jobrunner, utc(2026, 5, 1, 14, 30))
    jobrunner("schedule", "edit", "n", "--type", "echo")
    assert jobrunner.tick(env=NO_HANDLERS).stderr == ""
    assert slots_with_runs(database, "n") == [utc(2026, 5, 1, 14)]
    assert skipped_ranges(database, "n") == [(utc(2026, 5, 1, 13), utc(2026, 5, 1, 13), 1)]
