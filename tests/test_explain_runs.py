"""explain finds the reason why a run does not run, and its remedy works."""

import pytest

from harness import App, Commands, Database
from harness.explain_scene import RUNS, Scene, make_scene
from harness.handlers_rows import status_of


@pytest.fixture
def scene(jobrunner: Commands, database: Database, app: App) -> Scene:
    return make_scene(jobrunner, database, app)


AFTERWARDS = {
    "not_due": "ready",
    "jitter": "ready",
    "paused": "ready",
    "host_paused": "ready",
    "uncertain_effect": "dead",
}


@pytest.mark.long(sample=12)
@pytest.mark.either_database
@pytest.mark.promise("P12")
@pytest.mark.parametrize("reason", RUNS)
def test_reason_of_a_run_is_found_and_its_remedy_works(reason: str, scene: Scene) -> None:
    make, words, after = RUNS[reason]
    run_id = make(scene)
    found = scene.explain(run_id)
    assert (found["reason"], found["subject"]) == (reason, f"run {run_id}"), found
    assert words in found["sentence"], found
    shown = scene.run("explain", str(run_id)).stdout
    assert shown.startswith(f"Run {run_id} ")
    if found["remedy"] is None:
        assert reason in ("running", "succeeded")
        return
    assert found["remedy"] in shown
    done = scene.follow(found["remedy"])
    if after is not None:
        assert status_of(scene.database, run_id) == after, found
    if reason in AFTERWARDS:
        assert scene.explain(run_id)["reason"] == AFTERWARDS[reason]
    if "listed" in scene.made:
        assert f"\n{scene.made['listed']} " in done.stdout.replace("\n  ", "\n"), "the run that has used it up"
    elif "holder" in scene.made and reason != "two_machines":
        # Whom the remedy named is at work; when it ends, nothing is in the way.
        assert str(scene.made["holder"]) in found["remedy"].split()
        scene.end(scene.made["holder"])
        assert scene.explain(run_id)["reason"] == "ready"
