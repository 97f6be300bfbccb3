"""Schedules, and the runs that a person asks them for."""

from datetime import timedelta
from typing import Any

from harness import Commands
from harness.slots import NO_HANDLERS

DAY = timedelta(days=1)


def add(jobrunner: Commands, cron: str, *words: str, name: str = "n", job_type: str = "echo") -> None:
    jobrunner("schedule", "add", name, "--type", job_type, "--schedule", cron, *words)


def backfill(jobrunner: Commands, begin: str, end: str, *words: str) -> list[dict[str, Any]]:
    answer: list[dict[str, Any]] = jobrunner(
        "schedule", "backfill", "n", "--since", begin, "--until", end, "--json", *words
    ).json()
    return answer


def answers(found: list[dict[str, Any]]) -> list[str]:
    return [row["answer"] for row in found]


def tick(jobrunner: Commands) -> None:
    assert jobrunner.tick(env=NO_HANDLERS).stderr == ""
