"""The values of secrets in payloads stand on no page and in no JSON, wherever jobs write them."""

import json
from datetime import timedelta

from harness import Database
from harness.invariants import insert_runs
from harness.web import Asked, one_of_each, paths

ERROR = "Ada: sk-AAAA-secret-99 at redis://:BBBB-secret-2@h was refused"
PAYLOAD = {"api_key": "sk-AAAA-secret-99", "customer": "Ada"}


def test_secrets_of_a_run_reach_no_page_and_no_json(database: Database) -> None:
    payload = {
        "apiKey": "AAAA-secret-1",
        "nested": [{"db_password": {"deep": ["BBBB-secret-2"]}, "author": "Ada"}],
        "SSN": "CCCC-secret-3",
        "pin_token": 31337,
        "tokens_left": 10**30,
        "url": "postgresql://u:DDDD-secret-4@h/db",
    }
    now = database.now()
    (run_id,) = insert_runs(
        database, 1, payload=payload, status="dead", finished_at=now, last_error="AAAA-secret-1 is wrong"
    )
    database.execute(
        "INSERT INTO job_attempts (run_id, sequence, attempt, lease_token, worker, host, started_at, finished_at,"
        " outcome, error, traceback, output) VALUES (?, 1, 1, 't', 'w', 'h', ?, ?, 'failed', ?, ?, ?)",
        [run_id, now, now, "BBBB-secret-2", "at AAAA-secret-1", "curl https://x:EEEE-secret-5@h CCCC-secret-3"],
    )
    asked = Asked(database, redact=["ssn"])
    found = [asked.text(f"/runs/{run_id}"), asked.text(f"/runs/{run_id}?format=json")]
    found += [asked.text(f"/runs/{run_id}/attempts/1/{name}") for name in ("output", "traceback")]
    for text in found:
        assert "-secret-" not in text
        assert "31337" not in text, "a number is masked by its name only"
    assert asked.json(f"/runs/{run_id}")["payload"]["tokens_left"] == 10**30
    assert "Ada" in found[0]


def test_secret_in_an_error_stands_on_no_page_that_lists_runs(database: Database) -> None:
    runs = one_of_each(database)
    database.execute("UPDATE job_runs SET payload = ?, last_error = ?", [json.dumps(PAYLOAD), ERROR])
    database.execute("UPDATE job_runs SET definition_id = 1 WHERE status = 'dead'")
    database.execute("UPDATE job_runs SET failed_at = ? WHERE status = 'failed'", [database.now()])
    progress = json.dumps({"token": "CCCC-secret-3", "said": "CCCC-secret-3"})
    database.execute("UPDATE job_runs SET progress = ? WHERE status = 'running'", [progress])
    # They differ in numbers only, so that the page of errors shows # for each number.
    for number in range(5):
        _dead(database, PAYLOAD, f"{ERROR} after {number} s")
    asked = Asked(database)
    pages = paths(runs)
    pages += [f"{path}{'&' if '?' in path else '?'}format=json" for path in pages]
    found = {path: asked.text(path) for path in pages}
    counted = asked("/bulk/retry", {"which": "all", "status": ["dead", "failed"]}).body.decode()
    assert [path for path, text in {**found, "bulk": counted}.items() if "-secret-" in text] == []
    for path in ("/", "/?format=json", "/runs", "/runs?format=json", "/errors", "/errors?format=json"):
        assert "Ada: ••• at redis://:•••@h was refused" in _unescaped(found[path]), path
    schedule = [text for path, text in found.items() if path.startswith("/schedule?")]
    assert ["Ada: ••• at redis" in _unescaped(text) for text in schedule] == [True, True]


def test_error_of_a_run_whose_payload_is_long_stands_on_its_page_only(database: Database) -> None:
    run_id = _dead(database, {**PAYLOAD, "text": "x" * 30_000}, ERROR)
    asked = Asked(database)
    for path in ("/", "/runs", "/errors"):
        for text in (asked.text(path), json.dumps(asked.json(path))):
            assert "-secret-" not in text
            assert f"see run {run_id}: its payload is long" in text
    assert "Ada: ••• at redis://:•••@h was refused" in asked.text(f"/runs/{run_id}")
    assert 'name="error" value="Refused: "' in asked.text("/errors")


def test_secrets_of_a_checkpoint_are_hidden_where_it_is_shown_and_in_what_the_run_has_said(database: Database) -> None:
    """A step has fetched a token, and the error of the run repeats it. The row itself keeps it."""
    place = {"value": {"page": 3, "password": "AAAA-secret-1"}, "steps": {"token": "BBBB-secret-2", "text": "<b>&"}}
    run_id = _dead(database, {}, "BBBB-secret-2 has expired, AAAA-secret-1 too")
    database.execute("UPDATE job_runs SET checkpoint = ?", [place])
    asked = Asked(database)
    page, shown = asked.text(f"/runs/{run_id}"), asked.json(f"/runs/{run_id}")
    for text in (page, json.dumps(shown), *(asked.text(path) for path in ("/", "/runs", "/errors"))):
        assert "-secret-" not in text
    assert shown["checkpoint"]["value"] == {"page": 3, "password": "•••"}
    assert shown["checkpoint"]["steps"] == {"token": "•••", "text": "<b>&"}
    assert "<summary>Checkpoint " in page
    assert "<b>&" not in page
    assert database.value("SELECT checkpoint FROM job_runs")["steps"]["token"] == "BBBB-secret-2"


def test_button_that_retries_a_group_does_not_have_the_secret_and_finds_its_runs(database: Database) -> None:
    run_id = _dead(database, PAYLOAD, "refused: sk-AAAA-secret-99 is no key")
    asked = Asked(database)
    page = asked.text("/errors")
    assert "-secret-" not in page
    field = 'name="error" value="Refused: refused: "'
    assert field in page
    asked("/bulk/retry", {"which": "all", "error": "Refused: refused: ", "status": "dead", "agreed": "yes"})
    assert database.query("SELECT status FROM job_runs WHERE id = ?", [run_id])[0]["status"] == "queued"


def _dead(database: Database, payload: dict[str, str], error: str) -> int:
    ended = {"status": "dead", "finished_at": database.now() - timedelta(seconds=1)}
    return insert_runs(database, 1, payload=payload, error_type="Refused", last_error=error, **ended)[0]


def _unescaped(text: str) -> str:
    return text.replace(r"\u2022", "•")
