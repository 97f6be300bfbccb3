"""Effects under ticks: what a child does in the database, its tick recognizes, wherever the tables are."""

import json
from datetime import timedelta

import pytest

from harness import App, Commands, Database
from harness.effect_jobs import traces, with_effects
from harness.effects import rows_of_effects
from harness.handlers_rows import run_of
from harness.invariants import assert_consistent, insert_runs, outcomes


@pytest.fixture
def app(app: App, database: Database) -> App:
    return with_effects(app, database)


@pytest.mark.promise("P5")
def test_effect_of_a_child_that_was_killed_is_uncertain_until_a_person_settles_it(
    jobrunner: Commands, app: App, database: Database
) -> None:
    plain = insert_runs(database, 1, "mail", {"key": "a b"})[0]
    in_loop = insert_runs(database, 1, "mail_async", {"key": "c"})[0]
    jobrunner.tick(env={"JOBRUNNER_FAULT": "effect.called=kill"})
    assert (outcomes(database, plain), outcomes(database, in_loop)) == (["crashed"], ["crashed"])
    assert {each["key"] for each in jobrunner.status()["uncertain_effects"]} == {"a b", "c"}
    database.move_clock(timedelta(hours=1))
    jobrunner.tick()
    row = run_of(database, plain)
    assert (row["status"], row["error_type"]) == ("failed", "UncertainEffect")
    assert "jobrunner effects settle 'a b' --applied (or --not-applied)" in str(row["last_error"])
    jobrunner("effects", "settle", "a b", "--applied")
    jobrunner("effects", "settle", "c", "--not-applied")
    database.move_clock(timedelta(hours=1))
    # As it is installed: what a fork of the tests has imported says nothing.
    jobrunner.tick(cold=True)
    assert sorted(traces(app)) == ["a b", "c", "c"]
    results = [run_of(database, each)["result"] for each in (plain, in_loop)]
    assert results == [
        {"state": "applied", "new": False, "heavy": False},
        {"state": "applied", "new": True, "heavy": False},
    ]
    assert {row["state"] for row in rows_of_effects(database).values()} == {"applied"}
    assert_consistent(database)


def test_database_of_a_configuration_file_reaches_the_child_and_no_process_list(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """Neither its arguments nor its environment name the database: only the channel does."""
    app.write(
        "handlers",
        """
        import json, os, sys
        from jobrunner import job

        @job("look")
        def look(ctx):
            assert ctx.once("k", lambda: 1).is_new
            return {"environment": dict(os.environ), "arguments": sys.orig_argv}
        """,
    )
    app.path("jobrunner.toml").write_text(f"[settings]\ndatabase_url = {json.dumps(database.url)}\n")
    (run_id,) = insert_runs(database, 1, "look")
    jobrunner.tick(env={"JOBRUNNER_DATABASE_URL": None})
    assert run_of(database, run_id)["status"] == "succeeded"
    assert database.url not in json.dumps(run_of(database, run_id)["result"])
