"""explain finds the reason why a run does not run, and its first remedy makes it go (harness/remedies.py)."""

import pytest

from harness import App, Commands, Database
from harness.explain_reasons import RUNS
from harness.explain_scene import MINUTE, Scene, make_scene
from harness.handlers_rows import status_of
from harness.remedies import NOTHING


@pytest.fixture
def scene(jobrunner: Commands, database: Database, app: App) -> Scene:
    return make_scene(jobrunner, database, app)


@pytest.mark.long(sample=12)
@pytest.mark.promise("P12")
@pytest.mark.parametrize("reason", RUNS)
def test_reason_of_a_run_is_found_and_its_remedy_works(reason: str, scene: Scene) -> None:
    row = RUNS[reason]
    run_id = row.make(scene)
    found = scene.explain(run_id)
    assert (found["reason"], found["subject"]) == (reason, f"run {run_id}"), found
    assert row.words in found["sentence"], found
    shown = scene.run("explain", str(run_id)).stdout
    assert shown.startswith(f"Run {run_id} ")
    if found["remedy"] is None:
        assert row.cure is NOTHING
        return
    assert found["remedy"] in shown
    done = row.cure.apply(scene, found["remedy"])
    assert scene.explain(run_id)["reason"] != reason, found
    if row.after is not None:
        assert status_of(scene.database, run_id) == row.after, found
    if "listed" in scene.made:
        assert f"\n{scene.made['listed']} " in done.replace("\n  ", "\n"), "the run that has used it up"


@pytest.mark.promise("P12")
def test_a_waiting_run_past_its_start_deadline_runs_by_the_remedy_that_is_printed(scene: Scene) -> None:
    """The remedy was to retry it, which is refused while it waits."""
    run_id = scene.queue("echo", start_deadline_at=scene.database.now() - MINUTE)
    found = scene.explain(run_id)
    assert found["reason"] == "start_deadline", found
    scene.follow(found["remedy"])
    assert scene.explain(run_id)["reason"] == "ready"
