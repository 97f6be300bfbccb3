"""Each reason of ``explain``: how it comes about, a part of its sentence, and what becomes of it by its remedy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from harness import explain_scene as scenes
from harness.explain_scene import HOUR, MINUTE, Scene
from harness.planted import insert_ticks
from harness.remedies import COMMAND, NOTHING, STARTERS, Cure, Elsewhere, edit, give_time_zone, learn, settle


@dataclass(frozen=True)
class Reason:
    """``make`` returns the run, if it makes one. ``after`` is the status of the run after a remedy that changes it."""

    make: Callable[[Scene], Any]
    words: str
    cure: Cure
    after: str | None = None


def end_holder(scene: Scene) -> None:
    scene.end(scene.made["holder"])


def end_first(scene: Scene) -> None:
    scene.run("reschedule", "2", "--run-at", "+0s")
    scene.tick()
    scene.tick()


def end_other_of_key(scene: Scene) -> None:
    scene.end(2)


def allow_more(scene: Scene) -> None:
    edit(scene, lambda text: text.replace('"1/h"', '"1000/s"'))
    scene.tick()


def add_again(scene: Scene) -> None:
    scene.run("schedule", "add", "nightly", "--type", "echo", "--cron", "@daily")


def end_running(scene: Scene) -> None:
    (run_id,) = scene.database.query("SELECT id FROM job_runs WHERE status = 'running'")
    scene.end(run_id["id"])


def removed(scene: Scene) -> None:
    scene.run("schedule", "remove", "nightly")


def schedule_paused(scene: Scene) -> None:
    scene.run("schedule", "pause", "nightly", "--reason", "mail is down")


def set_definition(**values: Any) -> Callable[[Scene], None]:
    def work(scene: Scene) -> None:
        at = scene.database.now()
        given = {name: at + value if isinstance(value, timedelta) else value for name, value in values.items()}
        assignments = ", ".join(f"{name} = ?" for name in given)
        scene.database.execute(f"UPDATE job_definitions SET {assignments}", list(given.values()))

    return work


def overlapping(scene: Scene) -> None:
    scene.running("echo", definition_id=1)


def missed(scene: Scene) -> None:
    set_definition(last_slot_at=-49 * HOUR, next_run_at=-25 * HOUR, misfire="skip")(scene)
    scene.tick()


def tick_there(scene: Scene) -> None:
    scene.jobrunner("tick", env={**scene.env, "JOBRUNNER_HOST": "there"})


def awaited(scene: Scene) -> int:
    insert_ticks(scene.database, "there", 3 * HOUR)
    return scene.queue(only_host="there")


def of_host(scene: Scene) -> None:
    insert_ticks(scene.database, "there", 3 * HOUR)
    columns = {'"on"': "every-host", "host": "there", "template": "x"}
    set_definition(last_slot_at=-25 * HOUR, next_run_at=-HOUR, **columns)(scene)


QUEUED, DONE = "queued", "succeeded"
RUNS: dict[str, Reason] = {
    "not_due": Reason(lambda scene: scene.enqueue("echo", "--run-at", "+1h"), "is not due before", COMMAND),
    "jitter": Reason(scenes.jittered, "the jitter of its schedule delays it", COMMAND),
    "retry": Reason(scenes.retry, "the last failed with RuntimeError: as asked", COMMAND, QUEUED),
    "running": Reason(lambda scene: scene.running("echo"), "is running on here", NOTHING),
    "lease_expired": Reason(lambda scene: scene.running("echo", -MINUTE), "its lease has expired", COMMAND, "failed"),
    "succeeded": Reason(lambda scene: 1, "succeeded", NOTHING),
    "dead": Reason(scenes.dead, "after 1 of 1 attempts: RuntimeError: as asked", COMMAND, QUEUED),
    "cancelled": Reason(scenes.cancelled, "wrong customer", COMMAND, QUEUED),
    "discarded": Reason(scenes.discarded, "never mind", COMMAND, QUEUED),
    "start_deadline": Reason(scenes.late, "not started by its start deadline", COMMAND, QUEUED),
    "unknown_type": Reason(
        lambda scene: scene.queue("ecko"), "Did you mean 'echo'?", Cure(("'ecko'", "JOBRUNNER_IMPORT"), learn)
    ),
    "parents": Reason(scenes.follower, "waits for the end of run 2 (queued)", Cure(("run 2 ",), end_first)),
    "key": Reason(scenes.of_key, "which has the same key 'k'", Cure(("run 2 ",), end_other_of_key)),
    "limit": Reason(
        scenes.limited, "the limit max_running 1 of its type, which is used by run", Cure(("run ",), end_holder)
    ),
    "set_limit": Reason(scenes.limit_set, ": mail is slow", COMMAND),
    "fair": Reason(scenes.of_fair_type, "claims go round with 1 other value of customer", COMMAND, DONE),
    "key_limit": Reason(
        scenes.of_limited_key, "the limit max_running_per_key 1 of customer", Cure(("run ",), end_holder)
    ),
    "rate": Reason(
        scenes.rated, "the rate 1/h of its type, which allows it in ", Cure(("a higher rate for slow",), allow_more)
    ),
    "key_rate": Reason(
        lambda scene: scenes.rated(scene, "slow_keyed"),
        "the rate 1/h of customer ",
        Cure(("a higher rate for slow_keyed",), allow_more),
    ),
    "two_machines": Reason(scenes.two_machines, "two machines tick under the name here", COMMAND, DONE),
    "host_full": Reason(
        scenes.full,
        "as many runs of its type are running on here as its concurrency allows (1)",
        Cure(("run ",), end_holder),
    ),
    "unreported": Reason(scenes.unreported, "finds out whether it can run it", COMMAND, DONE),
    "gate": Reason(lambda scene: scene.queue(gate="x"), "behind the gate x, which no claim checks", COMMAND, DONE),
    "paused": Reason(scenes.paused, "the type echo has been paused for", COMMAND),
    "host_paused": Reason(scenes.host_paused, "the hosts that can run it are paused: here", COMMAND),
    "uncertain_effect": Reason(
        scenes.uncertain,
        "whether its effect 'pay 7' was applied",
        Cure(("'pay 7'", "--applied", "--not-applied"), settle),
    ),
    "ticks_stopped": Reason(scenes.stopped, "the last tick began 1d11h ago on here", COMMAND, DONE),
    "budget": Reason(scenes.budget, "the last tick of here used up its batch; ", COMMAND, DONE),
    "host_away": Reason(
        awaited,
        "waits for there, whose newest tick began 3h ago",
        Cure(("start again on there", *STARTERS, "jobrunner cancel"), tick_there),
        DONE,
    ),
    "ready": Reason(lambda scene: scene.queue(), "would be claimed now by the next tick of here", COMMAND, DONE),
}
SCHEDULES: dict[str, Reason] = {
    "not_due": Reason(lambda scene: None, "waits: its next slot is", NOTHING),
    "paused": Reason(schedule_paused, "@here: mail is down", COMMAND),
    "removed": Reason(removed, "was removed", Cure(("add it again", "nightly"), add_again)),
    "host_away": Reason(
        of_host,
        "makes no runs before there is back, whose newest tick began 3h ago",
        Cure(("start again on there", *STARTERS, "jobrunner schedule remove nightly"), tick_there),
    ),
    "no_hosts": Reason(
        set_definition(**{'"on"': "every-host", "job_type": "ecko"}),
        "no host that ticked in the last day has its type 'ecko'",
        Cure(("a host the type ecko", "jobrunner types"), learn),
    ),
    "clock": Reason(set_definition(last_slot_at=48 * HOUR), "a clock was ahead", COMMAND),
    "unreadable": Reason(
        set_definition(timezone="Mars/Base", next_run_at=None),
        "cannot be expanded",
        Cure(("nightly", "--timezone"), give_time_zone),
    ),
    "overlap": Reason(overlapping, "has ended (overlap skip)", Cure(("run ",), end_running)),
    "skipped_misfire": Reason(missed, "no tick came in time", COMMAND),
    "ticks_stopped": Reason(scenes.stopped, "because ticks have stopped", COMMAND),
    "ready": Reason(
        set_definition(last_slot_at=-25 * HOUR, next_run_at=-HOUR), "the next tick of any host makes its run", COMMAND
    ),
}
NEVER = ("ended", "no_schedule", "on_hosts")
"""The reasons of schedules for which nothing need be done, and which end with no remedy."""
ELSEWHERE: dict[str, dict[str, Elsewhere]] = {
    "run": {
        "no_handlers": Elsewhere(
            "test_explain_ticks.py::test_a_host_whose_ticks_fail_at_the_import_of_the_handlers_would_not_claim_a_run"
        ),
        "ticks_elsewhere": Elsewhere(
            "test_explain_ticks.py::"
            "test_who_waits_for_a_tick_is_told_the_crontab_line_and_the_other_database_that_ticks_use"
        ),
        "locked": Elsewhere("test_lockers.py::test_who_holds_a_row_or_the_table_is_named_to_who_asks_why_a_run_waits"),
    },
    "schedule": {
        "locked": Elsewhere("test_lockers.py::test_who_holds_the_row_of_a_due_schedule_is_named"),
    },
}
