"""retry --payload mends a wrong payload by the rules of enqueue, and the audit trail says what was changed."""

import json
from datetime import timedelta
from typing import Any

import pytest

from harness import App, Commands, Database
from harness.handlers_rows import queue, status_of

CONFIG = """
[jobs.greet]
command = ["echo", "{payload.name}"]
max_attempts = 1
[jobs.keyed]
command = ["true"]
concurrency_key = "customer"
max_running_per_key = 1
[jobs.sleeper]
command = ["sleep", "60"]
"""


@pytest.fixture
def env(app: App) -> dict[str, str]:
    app.path("jobrunner.toml").write_text(CONFIG)
    app.add('@job("typed")\ndef typed(ctx: Context, count: int): ...\n')
    return {"JOBRUNNER_CONFIG": str(app.path("jobrunner.toml"))}


def payload_of(database: Database, run_id: int) -> Any:
    found = database.value("SELECT payload FROM job_runs WHERE id = ?", [run_id])
    return json.loads(found) if isinstance(found, str) else found


def change_of(database: Database, run_id: int) -> dict[str, Any]:
    (row,) = database.query("SELECT actor, detail FROM job_events WHERE run_id = ? AND action = 'retry'", [run_id])
    detail = json.loads(row["detail"]) if isinstance(row["detail"], str) else row["detail"]
    return {"actor": row["actor"], **detail}


def test_a_run_that_fails_by_its_payload_is_mended_by_a_command(
    jobrunner: Commands, database: Database, env: dict[str, str]
) -> None:
    """A retry died again in the same way, and nothing could mend a payload."""
    run_id = queue(database, "greet", {"nmae": "Ada", "password": "of-old-times"}, max_attempts=1)
    jobrunner("tick", env=env)
    assert status_of(database, run_id) == "failed"
    found = jobrunner("explain", run_id, "--json", env=env).json()
    assert found["remedy"] == f"repair its payload: jobrunner retry {run_id} --payload '{{…}}'"
    text = '{"name": "Ada", "password": "of-new-times"}'
    done = jobrunner("retry", run_id, "--payload", text, "--reason", "a typing error", env=env)
    assert done.stdout == f"run {run_id}: queued again with the new payload\n"
    assert payload_of(database, run_id) == json.loads(text)
    change = change_of(database, run_id)
    assert change.pop("actor")
    assert change == {
        "from": "failed",
        "reason": "a typing error",
        "payload": {"nmae": ["Ada", None], "name": [None, "Ada"], "password": "•••"},
    }
    jobrunner("tick", env=env)
    assert status_of(database, run_id) == "succeeded"


def test_a_secret_whose_name_stands_in_another_argument_is_not_in_the_audit_trail(
    jobrunner: Commands, database: Database, env: dict[str, str]
) -> None:
    """Only what differs was masked, without the name beside it that does not differ."""
    old = {"name": "PASSWORD", "value": "of-old-times"}
    run_id = queue(database, "greet", old, status="dead", finished_at=database.now())
    jobrunner("retry", run_id, "--payload", json.dumps({**old, "value": "of-new-times"}), env=env)
    assert change_of(database, run_id)["payload"] == {"value": ["•••", "•••"]}


def test_a_payload_that_enqueue_would_refuse_is_refused_in_one_line_and_nothing_is_written(
    jobrunner: Commands, database: Database, env: dict[str, str]
) -> None:
    at = database.now()
    run_id = queue(database, "greet", {"name": "Ada"}, status="dead", finished_at=at)
    handler = queue(database, "typed", {"count": 1}, status="dead", finished_at=at)
    unknown = queue(database, "nobody", {}, status="dead", finished_at=at)
    done = queue(database, "greet", {"name": "Ada"}, status="succeeded", finished_at=at)
    before = database.query("SELECT * FROM job_runs ORDER BY id")
    small = {**env, "JOBRUNNER_PAYLOAD_LIMIT": "1024"}
    for words, given, code, said in (
        ((run_id, "--payload", "{}"), env, 2, "does not fit the job type 'greet'"),
        ((run_id, "--payload", "[1]"), env, 2, "must be a JSON object"),
        ((run_id, "--payload", '{"name": NaN}'), env, 2, "not JSON"),
        ((run_id, "--payload", json.dumps({"name": "x" * 2000})), small, 2, "larger than 1024 bytes"),
        ((handler, "--payload", '{"count": "x"}'), env, 2, "argument 'count' must be int, not str"),
        ((unknown, "--payload", "{}"), env, 2, "no handler for 'nobody'"),
        ((done, "--payload", '{"name": "B"}'), env, 1, "its work is done; --force runs it again"),
        ((run_id, unknown, "--payload", "{}"), env, 2, "--payload is for one run"),
        (("--type", "greet", "--payload", "{}"), env, 2, "--payload is for one run"),
        ((run_id, "--allow-unknown"), env, 2, "--allow-unknown belongs to --payload"),
        ((999, "--payload", "{}"), env, 1, "there is no run 999"),
    ):
        jobrunner.refused(code, "retry", *words, env=given, says=[said])
    assert database.query("SELECT * FROM job_runs ORDER BY id") == before
    assert jobrunner("retry", unknown, "--payload", '{"a": 1}', "--allow-unknown", env=env).returncode == 0
    assert payload_of(database, unknown) == {"a": 1}


def test_a_run_at_work_keeps_its_payload_and_a_waiting_one_changes_its_gate_with_it(
    jobrunner: Commands, database: Database, env: dict[str, str]
) -> None:
    first, second = (queue(database, "keyed", {"customer": "a"}) for _ in range(2))
    # While one of the customer is at work, the other one waits behind the gate of its key.
    jobrunner("tick", "--batch", "1", env=env)
    holder = {"status": "running", "lease_token": "t" * 32, "locked_by": "x:1:y", "host": "x", "gate": '["a"]'}
    database.execute(
        f"UPDATE job_runs SET {', '.join(f'{name} = ?' for name in holder)}, finished_at = NULL, locked_until = ?"
        " WHERE id = ?",
        [*holder.values(), database.now() + timedelta(minutes=1), first],
    )
    database.execute("UPDATE job_runs SET gate = ? WHERE id = ?", ['["a"]', second])
    refused = jobrunner("retry", first, "--payload", '{"customer": "b"}', env=env, check=False)
    assert (refused.returncode, "it is at work; cancel it first" in refused.stderr) == (1, True)
    assert payload_of(database, first) == {"customer": "a"}
    answer = jobrunner("retry", second, "--payload", '{"customer": "b"}', "--json", env=env).json()
    assert answer == {
        "action": "retry",
        "matching": {"queued": 1},
        "done": 1,
        "locked": 0,
        "changed_meanwhile": 0,
        "key_taken": 0,
        "dry_run": False,
    }
    assert database.value("SELECT gate FROM job_runs WHERE id = ?", [second]) == ""
    jobrunner("tick", env=env)
    assert [status_of(database, each) for each in (first, second)] == ["running", "succeeded"]


def test_a_long_payload_leaves_the_names_of_its_changed_arguments_in_the_audit_trail(
    jobrunner: Commands, database: Database, env: dict[str, str]
) -> None:
    run_id = queue(database, "greet", {"name": "x" * 5000, "same": 1}, status="dead", finished_at=database.now())
    dry = jobrunner("retry", run_id, "--payload", '{"name": "Ada", "same": 1}', "--dry-run", env=env)
    assert (dry.stdout, status_of(database, run_id)) == (f"retry: run {run_id} (dead); nothing changed\n", "dead")
    jobrunner("retry", run_id, "--payload", '{"name": "Ada", "same": 1}', env=env)
    assert change_of(database, run_id)["payload"] == {"name": "changed"}
    shown = jobrunner("show", run_id, env=env).stdout
    assert "retry" in shown


def test_a_value_under_a_redacted_name_is_in_no_audit_trail_and_no_longer_in_what_the_run_has_written(
    jobrunner: Commands, app: App, database: Database, env: dict[str, str]
) -> None:
    """The command knew the names that look like secrets only, and not those of the file, as notices do."""
    app.path("jobrunner.toml").write_text(f'{CONFIG}\n[notify]\nredact = ["iban"]\n')
    values = {"status": "dead", "finished_at": database.now(), "last_error": "no account iban-of-old-times"}
    run_id = queue(database, "greet", {"name": "Ada", "iban": "iban-of-old-times"}, **values)
    jobrunner("retry", run_id, "--payload", '{"name": "Ada", "iban": "iban-of-new-times"}', env=env)
    assert change_of(database, run_id)["payload"] == {"iban": "•••"}
    assert database.value("SELECT last_error FROM job_runs WHERE id = ?", [run_id]) == "no account •••"


@pytest.mark.parametrize("status", ["queued", "failed", "dead", "succeeded"])
def test_another_payload_begins_anew_and_the_secrets_of_the_checkpoint_that_goes_are_hidden(
    jobrunner: Commands, database: Database, env: dict[str, str], status: str
) -> None:
    """A place in the work for the old payload is none in that for the new one."""
    values: dict[str, Any] = {"status": status, "last_error": "no session session-of-old-times"}
    values |= {"finished_at": None if status in ("queued", "failed") else database.now(), "attempts": 1}
    place = {"value": {"page": 3}, "steps": {"session_token": "session-of-old-times"}}
    run_id = queue(database, "greet", {"name": "Ada"}, **values, checkpoint=place)
    force = ("--force",) if status == "succeeded" else ()
    jobrunner("retry", run_id, "--payload", '{"name": "Eve"}', *force, env=env)
    (row,) = database.query("SELECT status, checkpoint, last_error FROM job_runs WHERE id = ?", [run_id])
    assert (row["status"], row["checkpoint"]) == ("queued", None)
    assert row["last_error"] == "no session •••"


def test_retry_without_another_payload_keeps_the_checkpoint(
    jobrunner: Commands, database: Database, env: dict[str, str]
) -> None:
    place = {"value": {"page": 3}, "steps": {}}
    ended = {"status": "dead", "finished_at": database.now(), "checkpoint": place}
    run_id = queue(database, "greet", {"name": "Ada"}, **ended)
    jobrunner("retry", run_id, env=env)
    (row,) = database.query("SELECT status, checkpoint FROM job_runs WHERE id = ?", [run_id])
    assert (row["status"], row["checkpoint"]) == ("queued", place)
    jobrunner("cancel", run_id, env=env)
    jobrunner("retry", run_id, "--force", env=env)
    (row,) = database.query("SELECT status, checkpoint FROM job_runs WHERE id = ?", [run_id])
    assert (row["status"], row["checkpoint"]) == ("queued", place)
