"""explain of schedules and types: each reason is produced, found by the command, and its remedy then works."""

import json
import re

import pytest

from harness import App, Commands, Database, pages
from harness.explain_reasons import SCHEDULES
from harness.explain_scene import Scene, make_scene
from harness.remedies import NOTHING


@pytest.fixture
def scene(jobrunner: Commands, database: Database, app: App) -> Scene:
    return make_scene(jobrunner, database, app)


@pytest.mark.long(sample=0.5)
@pytest.mark.promise("P12")
@pytest.mark.parametrize("reason", SCHEDULES)
def test_reason_of_a_schedule_is_found_and_its_remedy_works(reason: str, scene: Scene) -> None:
    scene.run("schedule", "add", "nightly", "--type", "echo", "--cron", "@daily")
    row = SCHEDULES[reason]
    row.make(scene)
    if reason == "unreadable":
        scene.tick()
    found = scene.explain("nightly")
    assert found["reason"] == reason, found
    assert row.words in found["sentence"], found
    if found["remedy"] is None:
        assert row.cure is NOTHING
        return
    row.cure.apply(scene, found["remedy"])
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
