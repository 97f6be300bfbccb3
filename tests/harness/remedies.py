"""What each finding's first remedy is, and what becomes of the finding: a row for each that the code can name.

A remedy that is a command is executed as it is printed. One that no command can be is a sentence: it names what must be
changed, the commands in it work, and the row does what it says, as a person would.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from harness.explain_scene import Scene
from harness.planted import (
    DAY,
    HOUR,
    MINUTE,
    counted,
    dead_runs,
    insert_ticks,
    judged,
    old_runs,
    pause,
    schedule,
    set_limit,
    uncertain_effect,
)
from jobrunner.store.questions.explain.explanation import is_command

Act = Callable[[Scene], object]


@dataclass(frozen=True)
class Cure:
    """Without ``act`` the remedy is a command. With it, it is a sentence with these words."""

    names: tuple[str, ...] = ()
    act: Act | None = None

    def apply(self, scene: Scene, remedy: str) -> str:
        """Do what the remedy says. Returns what its command prints."""
        if self.act is None:
            assert is_command(remedy), remedy
            return str(scene.follow(remedy).stdout)
        assert not is_command(remedy), remedy
        for name in self.names:
            assert name in remedy, (name, remedy)
        printed = "".join(scene.follow(each, check=False).stdout for each in commands_in(remedy))
        self.act(scene)
        return printed


def commands_in(sentence: str) -> list[str]:
    """The whole commands of a sentence that only show something: those that act are for the person."""
    return re.findall(r"jobrunner (?:explain|show|runs|stats|effects list|jobs)(?: [^;,]+)?$", sentence)


COMMAND = Cure()
NOTHING = Cure(("nothing need be done",))


@dataclass(frozen=True)
class Elsewhere:
    """The cause needs more than a database: this test plants it and does what the remedy says."""

    test: str


def learn(scene: Scene) -> None:
    edit(scene, lambda text: f'{text}\n[jobs.ecko]\ncommand = ["true"]\n')
    scene.tick()


def edit(scene: Scene, change: Callable[[str], str]) -> None:
    with open(scene.env["JOBRUNNER_CONFIG"], "r+", encoding="utf-8") as file:
        text = change(file.read())
        file.seek(0)
        file.truncate()
        file.write(text)


def settle(scene: Scene) -> None:
    scene.run("effects", "settle", "pay 7", "--applied")


def give_time_zone(scene: Scene) -> None:
    scene.run("schedule", "edit", "nightly", "--timezone", "UTC")


# The findings of health.


def _ticks(host: str, ago: timedelta = timedelta(0), **columns: Any) -> Act:
    return lambda scene: insert_ticks(scene.database, host, ago, **columns)


def _older_ticks(scene: Scene) -> None:
    scene.database.execute("UPDATE job_ticks SET started_at = ?", [scene.database.now() - 35 * HOUR])


def _killed(scene: Scene) -> None:
    insert_ticks(scene.database, "here", 10 * MINUTE, count=2, finished_at=None)
    insert_ticks(scene.database, "here")


def _set_clock(scene: Scene) -> None:
    at = scene.database.now()
    scene.database.execute("UPDATE job_ticks SET started_at = ? WHERE started_at > ?", [at, at])


def _growing(scene: Scene) -> None:
    old_runs(scene.database, 1, 4 * HOUR, "echo")
    old_runs(scene.database, 9, 20 * MINUTE, "echo")


def _uncertain(scene: Scene) -> None:
    uncertain_effect(scene.database, "pay 7")


def _runs(count: int, ago: timedelta, job_type: str = "echo") -> Act:
    return lambda scene: old_runs(scene.database, count, ago, job_type)


def _schedule(last_slot: timedelta = timedelta(0), **columns: Any) -> Act:
    return lambda scene: schedule(scene.database, "nightly", last_slot_at=scene.database.now() + last_slot, **columns)


def _attempts(ago: timedelta, ends: int, seconds: float, mebibytes: float = 0) -> Act:
    """So many took so much; and ten lately, which took nine seconds, and 900 MiB if the memory is known."""

    def plant(scene: Scene) -> None:
        counted(scene.database, "echo", ago, ends, seconds, mebibytes)
        if ago > DAY:
            counted(scene.database, "echo", 2 * HOUR, 10, 0.1 if mebibytes else 9.0, 900 if mebibytes else 0)

    return plant


def _sql(statement: str) -> Act:
    return lambda scene: scene.database.execute(statement)


STARTERS = ("cron", "jobrunner loop", "timer of systemd")
"""What may start the ticks of a host."""
FOUND: tuple[tuple[str, Act, Cure], ...] = (
    # The finding, how it comes about in a scene in which ticks come, and its cure.
    ("ticks_stopped", _older_ticks, Cure(("on here", *STARTERS), Scene.tick)),
    ("ticks_stopped", _sql("DELETE FROM job_ticks"), Cure(("jobrunner crontab install", *STARTERS), Scene.tick)),
    ("host_stopped", _ticks("there", 3 * HOUR), Cure(("on there", *STARTERS), _ticks("there"))),
    (
        "host_awaited",
        _schedule(-3 * HOUR, **{'"on"': "every-host", "host": "there", "template": "x"}),
        Cure(
            ("on there", *STARTERS, "jobrunner schedule remove nightly"),
            lambda scene: scene.run("schedule", "remove", "nightly"),
        ),
    ),
    ("failing_ticks", _ticks("here", error="no"), Cure(("repair that on here", "jobrunner tick -v"), _ticks("here"))),
    # An hour later.
    ("killed_ticks", _killed, Cure(("on here", "journalctl"), _sql("DELETE FROM job_ticks WHERE finished_at IS NULL"))),
    ("clock_skew", _ticks("here", -HOUR), Cure(("clock of the database's server", "NTP"), _set_clock)),
    ("unknown_types", _runs(1, HOUR, "ecko"), Cure(("ticks of here", "a handler for ecko"), learn)),
    ("overdue", _runs(1, HOUR), Cure(("why run ", "jobrunner explain "), Scene.tick)),
    ("growing_backlog", _growing, Cure(("echo", "JOBRUNNER_CONCURRENCY"), Scene.tick)),
    (
        "dead",
        lambda scene: dead_runs(scene.database, 1, MINUTE, "echo"),
        Cure(
            ("jobrunner show ", "jobrunner retry "),
            lambda scene: scene.run("retry", "--status", "dead", "--all", "--yes"),
        ),
    ),
    (
        "uncertain_effects",
        lambda scene: uncertain_effect(scene.database, "pay 7"),
        Cure(("jobrunner effects list",), settle),
    ),
    (
        "broken_schedules",
        _schedule(last_error="no time zone 'Mars'", timezone="Mars"),
        Cure(("the schedule nightly", "jobrunner explain nightly"), give_time_zone),
    ),
    ("broken_schedules", _schedule(DAY), COMMAND),
    (
        "broken_promises",
        lambda scene: judged(scene.database, "dead", 2 * HOUR),
        Cure(("run ", "jobrunner show "), lambda scene: judged(scene.database, "succeeded", MINUTE)),
    ),
    (
        "slower_than_usual",
        _attempts(15 * DAY, 20, 3.0),
        Cure(("changed for echo", "jobrunner stats --type echo"), _attempts(3 * HOUR, 50, 3.0)),
    ),
    (
        "bigger_than_usual",
        _attempts(15 * DAY, 20, 0.1, 200),
        Cure(("echo keeps in memory", "jobrunner stats --type echo"), _attempts(3 * HOUR, 50, 0.1, 200)),
    ),
    ("limited", lambda scene: set_limit(scene.database, "echo", 26 * HOUR), COMMAND),
    ("paused", lambda scene: pause(scene.database, "type", "echo", 26 * HOUR), COMMAND),
    (
        "silent_ticks",
        lambda scene: scene.running("echo", -MINUTE / 60, heartbeat_at=scene.database.now() - MINUTE),
        COMMAND,
    ),
    ("expired_leases", lambda scene: scene.running("echo", -HOUR), COMMAND),
)
FOUND_ELSEWHERE = {
    "locked": Elsewhere("test_lockers.py::test_who_holds_a_row_or_the_table_is_named_to_who_asks_why_a_run_waits"),
    "old_snapshot": Elsewhere(
        "test_snapshots.py::test_each_other_holder_is_named_with_a_remedy_that_ends_it_and_a_logical_slot_is_none"
    ),
    "damaged_file": Elsewhere(
        "test_restored_file.py::"
        "test_backup_moved_over_the_file_beside_an_old_log_is_told_by_each_tick_doctor_and_health"
    ),
    "state_folder": Elsewhere("test_remedies.py::test_a_state_folder_that_cannot_be_used_is_told_with_its_variable"),
}
