"""What each command prints as JSON fits its schema, with nothing in the database and with something of everything."""

import json
from typing import Any

import jsonschema

from harness import App, Commands, Database
from harness.calls import CALLS
from harness.json_schemas import schemas, strict
from harness.plans import fill_a_little
from jobrunner.cli.answers import records
from jobrunner.cli.program import every_command

RECORDS = dict(records(every_command()))


def test_every_command_with_json_has_a_schema_that_is_up_to_date() -> None:
    options = [
        f"{words} {each}" for words, command in every_command().items() for one in command.params for each in one.opts
    ]
    with_json = {each for each in options if each.endswith((" --json", " --jsonl"))}
    assert with_json == RECORDS.keys(), "jobrunner/cli/answers.py has the option --json"
    for path, text in schemas.files().items():
        assert path.exists(), "run: make docs"
        assert path.read_text() == text, "run: make docs"
    assert {path.name for path in schemas.SCHEMAS.iterdir()} == {path.name for path in schemas.files()} - {"json.md"}


def test_json_of_every_command_fits_its_schema(jobrunner: Commands, app: App, database: Database) -> None:
    calls = {name: CALLS[name.rpartition(" ")[0]].json_calls() for name in RECORDS}
    for name, (words, _) in calls.items():
        if words is not None:
            _check(jobrunner, name, words, is_filled=False)
    fill_a_little(database)
    now = database.now()
    database.execute("UPDATE job_runs SET progress = ?, error_type = 'E', last_error = 'x'", ['{"done": 1}'])
    database.execute("UPDATE job_definitions SET jitter = 30")
    database.execute("INSERT INTO job_pauses (kind, name, actor, paused_at) VALUES ('type', 'p', 'someone', ?)", [now])
    database.execute(
        "INSERT INTO job_set_limits (job_type, max_running, rate, burst, reason, actor, set_at)"
        " VALUES ('p', 1, '1/s', 1, 'r', 'a', ?)",
        [now],
    )
    database.execute(
        "INSERT INTO job_effects (key, state, run_id, job_type, attempt, lease_token, token, intended_at)"
        " VALUES ('k', 'uncertain', 1, 'known', 1, 't', 't', ?)",
        [now],
    )
    (app.folder / "jobrunner.toml").write_text(
        '[jobs.limited]\ncommand = ["true"]\nmax_running = 3\n[schedules.new]\njob = "limited"\nschedule = "@daily"\n'
    )
    run_id = database.value("SELECT max(run_id) FROM job_attempts")
    jobrunner("cancel", str(database.value("SELECT min(id) FROM job_runs WHERE status = 'queued'")))
    for name, (_, words) in calls.items():
        env = {"JOBRUNNER_APP_DIR": str(app.folder)}
        _check(jobrunner, name, words.format(run=run_id, schedule="little"), is_filled=True, env=env)


def _check(jobrunner: Commands, name: str, words: str, *, is_filled: bool, **options: Any) -> None:
    # These say by their exit status that something is wrong, as with the effect above that no attempt has called.
    is_checked = name not in ("health --json", "doctor --json", "verify --json")
    option = name.rpartition(" ")[2]
    printed = jobrunner(*words.split(), option, check=is_checked, **options).stdout
    documents = [json.loads(line) for line in printed.splitlines()] if option == "--jsonl" else [json.loads(printed)]
    assert not is_filled or all(documents), (name, printed)
    validator = jsonschema.Draft202012Validator(strict(schemas.schema(name)))
    for document in documents:
        problems = [f"{name}: {each.json_path}: {each.message}" for each in validator.iter_errors(document)]
        assert not problems, "run: make docs\n" + "\n".join(problems)
