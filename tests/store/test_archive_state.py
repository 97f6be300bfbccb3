"""archive state: what a database holds besides runs, in another one, also of the other kind."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness import App, Commands, Database
from harness.databases import url
from harness.elsewhere import fill
from harness.judge import breaches_at

SCHEDULES = "SELECT name, job_type, payload, schedule, source, paused_at, last_slot_at, created_at FROM job_definitions"
QUERIES = {
    "schedules": f"{SCHEDULES} ORDER BY name",
    "pauses": "SELECT * FROM job_pauses ORDER BY kind, name",
    "limits": "SELECT * FROM job_set_limits ORDER BY job_type",
    "keys": "SELECT * FROM job_keys ORDER BY job_type, idempotency_key",
    "effects": "SELECT * FROM job_effects ORDER BY key",
    "events": "SELECT at, actor, action, run_id, detail, name FROM job_events"
    " LEFT JOIN job_definitions ON job_definitions.id = definition_id WHERE action <> 'archive restore'"
    " ORDER BY at, action",
    "runs": "SELECT job_runs.id, status, job_runs.payload, idempotency_key, result, name FROM job_runs"
    " LEFT JOIN job_definitions ON job_definitions.id = definition_id ORDER BY job_runs.id",
}


def everything(database: Database) -> dict[str, Any]:
    return {name: database.query(query) for name, query in QUERIES.items()}


@pytest.mark.promise("P4", "P5", "P12")
def test_schedules_pauses_keys_effects_and_events_get_into_a_database_of_the_other_kind(
    jobrunner: Commands, app: App, database: Database, elsewhere: Database, tmp_path: Path
) -> None:
    fill(jobrunner, app, database)
    state, runs = tmp_path / "state.jsonl", tmp_path / "runs.jsonl"
    done = jobrunner("archive", "state", state)
    assert done.stdout.startswith("wrote 2 schedules, 1 pause, 1 limit, 2 keys, 2 effects, ")
    assert done.stdout.endswith(f" to {state}; nothing was deleted\n")
    jobrunner("archive", "runs", "--until", "0s", "--keep", runs)
    before = everything(database)
    env = url(elsewhere)
    # A schedule of the new one already has the number that nightly had.
    jobrunner("schedule", "add", "other", "--type", "echo", "--cron", "@daily", env=env)
    elsewhere.execute("DELETE FROM job_events")
    said = done.stdout.removeprefix("wrote").partition(" to ")[0]
    assert jobrunner("archive", "restore", state, env=env).stdout == f"restored{said}; 0 were there already\n"
    again = jobrunner("archive", "restore", state, env=env).stdout
    assert again.startswith("restored 0 schedules, 0 pauses, 0 limits, 0 keys, 0 effects, 0 events; ")
    assert everything(elsewhere)["runs"] == []
    jobrunner("archive", "restore", runs, env=env)
    elsewhere.execute("DELETE FROM job_definitions WHERE name = 'other'")
    assert everything(elsewhere) == before
    noted = elsewhere.query("SELECT detail FROM job_events WHERE action = 'archive restore' ORDER BY id")
    assert [Path(each["detail"]["file"]) for each in noted] == [state, state, runs]
    assert breaches_at(elsewhere.url) == []
    # What was done once is not done again, and no id is given to another run.
    again = jobrunner("enqueue", "pay", "--payload", '{"order": 7}', "--key", "order:7", "--json", env=env).json()
    assert (again["id"], again["created"]) == (1, False)
    assert int(jobrunner("enqueue", "pay", "--payload", '{"order": 8}', env=env).stdout) == 4
    assert elsewhere.value("SELECT count(*) FROM job_effects") == 2


def test_ids_of_runs_that_only_a_key_names_are_not_given_to_others(
    jobrunner: Commands, app: App, database: Database, elsewhere: Database, tmp_path: Path
) -> None:
    """The runs are pruned: without this the key would seem to be held by whatever run got its id."""
    fill(jobrunner, app, database)
    database.execute("DELETE FROM job_runs")
    file = tmp_path / "state.jsonl"
    jobrunner("archive", "state", file)
    jobrunner("archive", "restore", file, env=url(elsewhere))
    assert int(jobrunner("enqueue", "echo", env=url(elsewhere)).stdout) == 4


def test_each_event_of_one_instant_is_restored_however_many_there_are(jobrunner: Commands, tmp_path: Path) -> None:
    """All schedules were paused at once: the rows of the second batch were taken for those of the first."""
    row = {"at": "2026-11-01T00:00:00Z", "actor": "ada", "action": "pause"}
    head = {"jobrunner_archive": 1, "holds": "state", "highest_run": 0}
    lines = [head, *({"event": {**row, "detail": {"number": number}}} for number in range(501))]
    file = tmp_path / "state.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert jobrunner("archive", "restore", file).stdout == "restored 501 events; 0 were there already\n"
    assert jobrunner("archive", "restore", file).stdout == "restored 0 events; 501 were there already\n"


def test_newest_event_is_not_restored_beside_itself(jobrunner: Commands, database: Database, tmp_path: Path) -> None:
    file = tmp_path / "state.jsonl"
    jobrunner("pause", "--type", "echo")
    jobrunner("archive", "state", file)
    newest = database.value("SELECT max(id) FROM job_events")
    assert jobrunner("archive", "restore", file).stdout.startswith("restored 0 pauses, 0 events; ")
    assert database.value("SELECT count(*) FROM job_events WHERE action LIKE 'pause%'") == 1
    assert database.value("SELECT action FROM job_events WHERE id = ?", [newest]) == "pause type"


def line_of(lines: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    found: dict[str, Any] = next(line[kind] for line in lines if kind in line)
    return found


WRONG: dict[str, tuple[Callable[[list[dict[str, Any]]], object], str]] = {
    "the highest id": (lambda lines: lines[0].update(highest_run=2**63 - 1), "line 1: highest_run is not from 0"),
    "a run of the highest id": (lambda lines: line_of(lines, "key").update(run_id=2**63 - 1), "above"),
    "another kind": (lambda lines: lines[2].update(colour={}), "line 3: "),
    "another column": (lambda lines: line_of(lines, "pause").update(colour="red"), "has no 'colour'"),
    "no name": (lambda lines: line_of(lines, "schedule").update(name=None), "line 2: name is missing"),
    "a wrong policy": (lambda lines: line_of(lines, "schedule").update(misfire="x"), "line 2: the database refuses"),
    "a wrong state": (lambda lines: line_of(lines, "effect").update(state="x"), "the database refuses"),
    "no instant": (lambda lines: line_of(lines, "event").update(at="soon"), "RFC3339"),
}


def test_state_that_jobrunner_cannot_have_written_is_refused_and_nothing_of_it_is_kept(
    jobrunner: Commands, app: App, database: Database, elsewhere: Database, tmp_path: Path
) -> None:
    fill(jobrunner, app, database)
    file = tmp_path / "state.jsonl"
    jobrunner("archive", "state", file)
    whole = file.read_text("utf-8").splitlines()
    for case, (change, said) in WRONG.items():
        lines = [json.loads(line) for line in whole]
        change(lines)
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        jobrunner.refused(2, "archive", "restore", file, env=url(elsewhere), says=[said])
        assert everything(elsewhere) == {name: [] for name in QUERIES}, case
    file.write_text("\n".join(whole) + "\n")
    refused = jobrunner("archive", "restore", file, check=False)
    assert (refused.returncode, "has runs already" in refused.stderr) == (2, True)
    assert jobrunner("archive", "finish", file, check=False).returncode == 2
    assert jobrunner("archive", "state", file, check=False).stderr.endswith("exists; give a new name\n")
