"""A database whose tables were made before the first release is named as that by every command, in the same words."""

import json
from typing import Any

import pytest
from sqlalchemy import Engine

from harness import Commands, Database
from harness.calls import WITH_A_SCHEMA
from harness.handlers_rows import queue
from harness.web import Asked
from jobrunner import enqueue

SAID = "were made by a jobrunner that was never released"
CHANGES = {
    "the last one before the release": ["ALTER TABLE job_state DROP COLUMN released"],
    "an early one": [
        "ALTER TABLE job_state DROP COLUMN released",
        "ALTER TABLE job_ticks DROP COLUMN application",
        "DROP TABLE job_hosts",
        "UPDATE job_schema_version SET version_num = '1'",
    ],
}


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES.keys())
def test_database_of_an_unreleased_version_is_named_as_that_by_every_command_and_begun_anew_as_it_says(
    jobrunner: Commands, database: Database, changes: list[str]
) -> None:
    for change in changes:
        database.execute(change)
    # Also where nothing is due, and a tick asks one question only.
    jobrunner.refused(78, "tick", says=[SAID])
    queue(database, "echo")
    said = {jobrunner.refused(78, *words, says=[SAID]) for words in [*WITH_A_SCHEMA, ["migrate"], ["downgrade", "1"]]}
    page = Asked(database)("/?format=json")
    assert page.status == 503
    said.add(f"jobrunner: {json.loads(page.body)['error'].removesuffix('.')}\n")
    assert len(said) == 1
    (first, then) = ("downgrade 0 --delete-data", "migrate")
    remedy = f"jobrunner {first}, then jobrunner {then}"
    assert remedy in said.pop()
    (check,) = (each for each in jobrunner("doctor", "--json", check=False).json()["checks"] if SAID in each["found"])
    assert (check["name"], check["remedy"]) == (
        "schema",
        f"keep a copy of what you need, then begin again with empty tables: {remedy}",
    )
    jobrunner(*first.split())
    jobrunner(then)
    jobrunner.enqueue("echo")
    jobrunner.tick()
    assert database.value("SELECT status FROM job_runs") == "succeeded"


@pytest.mark.parametrize("library", ["driver", "sqlalchemy"])
def test_enqueue_on_an_applications_connection_says_on_the_librarys_error_where_to_look(
    database: Database, connection: Any, engine: Engine, library: str
) -> None:
    database.execute("ALTER TABLE job_runs RENAME COLUMN updated_at TO changed_at")
    with engine.connect() as other, pytest.raises(Exception, match="updated_at") as caught:
        enqueue(connection if library == "driver" else other, "echo")
    assert caught.value.__notes__ == [
        "The database has no tables of this version of jobrunner; to see what to do: jobrunner status"
    ]
