"""explain of schedules and types: each reason is produced, found by the command, and its remedy then works."""

import json
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from harness import App, Commands, Database, pages
from harness.doc_tables import text_of
from harness.explain_scene import HOUR, RUNS, Scene, make_scene, stopped
from harness.remedies import NOTHING, SCHEDULE_CURES


@pytest.fixture
def scene(jobrunner: Commands, database: Database, app: App) -> Scene:
    return make_scene(jobrunner, database, app)


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


def schedule_stopped(scene: Scene) -> None:
    stopped(scene)


SCHEDULES: dict[str, tuple[Callable[[Scene], None], str]] = {
    "not_due": (lambda scene: None, "waits: its next slot is"),
    "paused": (schedule_paused, "@here: mail is down"),
    "removed": (removed, "was removed"),
    "clock": (set_definition(last_slot_at=48 * HOUR), "a clock was ahead"),
    "unreadable": (set_definition(timezone="Mars/Base", next_run_at=None), "cannot be expanded"),
    "overlap": (overlapping, "has ended (overlap skip)"),
    "skipped_misfire": (missed, "no tick came in time"),
    "ticks_stopped": (schedule_stopped, "because ticks have stopped"),
    "ready": (set_definition(last_slot_at=-25 * HOUR, next_run_at=-HOUR), "the next tick of any host makes its run"),
}


@pytest.mark.long(sample=0.5)
@pytest.mark.promise("P12")
@pytest.mark.parametrize("reason", SCHEDULES)
def test_reason_of_a_schedule_is_found_and_its_remedy_works(reason: str, scene: Scene) -> None:
    scene.run("schedule", "add", "nightly", "--type", "echo", "--cron", "@daily")
    make, words = SCHEDULES[reason]
    make(scene)
    if reason == "unreadable":
        scene.tick()
    found = scene.explain("nightly")
    assert found["reason"] == reason, found
    assert words in found["sentence"], found
    if found["remedy"] is None:
        assert SCHEDULE_CURES[reason] is NOTHING
        return
    SCHEDULE_CURES[reason].apply(scene, found["remedy"])
    assert scene.explain("nightly")["reason"] != reason, found


@pytest.mark.long(sample=0.5)
def test_a_schedule_that_apply_removed_is_told_as_such_and_not_as_removed_by_a_person(scene: Scene, app: App) -> None:
    file = app.path("jobrunner.toml")
    before = file.read_text()
    file.write_text(f'{before}\n[jobs.nightly]\ncommand = ["true"]\nschedule = "@daily"\n')
    scene.run("apply")
    file.write_text(before)
    scene.run("apply")
    found = scene.explain("nightly")
    assert "by jobrunner apply, which was started by " in found["sentence"], found
    assert "jobrunner.toml no longer declared it" in found["sentence"], found
    assert found["remedy"] == "declare nightly in jobrunner.toml again, and run: jobrunner apply"


@pytest.mark.long(sample=0.5)
def test_a_dead_run_without_a_limit_of_attempts_is_not_told_as_one_of_none(scene: Scene) -> None:
    at = scene.database.now()
    given = {"status": "dead", "attempts": 1, "finished_at": at, "error_type": "RuntimeError", "last_error": "x"}
    assert "after 1 attempt: RuntimeError: x" in scene.explain(scene.queue("echo", **given))["sentence"]


def test_a_name_that_nothing_has_is_refused_with_the_nearest_one(scene: Scene) -> None:
    done = scene.run("explain", "ehco", check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "jobrunner: there is no run, schedule or job type 'ehco'; did you mean 'echo'?\n"
    assert "there is no run 99" in scene.run("explain", "99", check=False).stderr


def test_a_type_is_explained_by_the_run_whose_turn_is_next(scene: Scene) -> None:
    assert scene.explain("narrow")["reason"] == "nothing_waits"
    first = scene.queue("narrow")
    scene.queue("narrow")
    found = scene.explain("narrow")
    assert (found["subject"], found["reason"], found["facts"]["id"]) == ("type narrow", "ready", first)
    assert found["sentence"].startswith("2 runs of narrow wait, and 0 are running. Run ")
    (host,) = found["hosts"]
    assert (host["host"], host["knows"], host["free"]) == ("here", True, 1)


def test_host_without_handlers_is_named_as_such(scene: Scene, app: App) -> None:
    run_id = scene.queue("echo")
    app.path("jobrunner.toml").write_text("")
    bare: dict[str, str | None] = {"JOBRUNNER_HOST": "here", "JOBRUNNER_IMPORT": None}
    scene.jobrunner("tick", env={**scene.env, **bare})
    verdicts = [each["verdict"] for each in scene.explain(run_id)["hosts"]]
    assert any("neither JOBRUNNER_IMPORT nor commands" in each for each in verdicts), json.dumps(verdicts)


# Times, and what the host of the page has handlers for.
CHANGING = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ|(?<=only for ).*")


def test_example_of_the_page_is_what_is_printed(scene: Scene) -> None:
    (block,) = pages.checked_by("tests/health/test_explain.py::test_example_of_the_page_is_what_is_printed")
    scene.queue("ecko")
    printed = scene.run("explain", "2").stdout
    typed, _, shown = block.text.partition("\n")
    assert typed == "$ jobrunner explain 2"
    assert CHANGING.sub("…", shown).strip() == CHANGING.sub("…", printed).strip()


def test_page_has_every_reason() -> None:
    page = text_of("troubleshooting.md")
    listed = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    source = "".join(path.read_text() for path in (pages.ROOT / "jobrunner/store/questions/explain").glob("*.py"))
    said = set(re.findall(r"""(?:say|_full|LimitInTheWay)\(\s*(?:row, )?"(\w+)\"""", source))
    assert {*RUNS, *SCHEDULES} <= listed
    assert len(said) > 20
    assert said <= listed, said - listed
