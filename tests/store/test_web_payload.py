"""The page gives a run another payload: by the rules of `retry --payload`, and no mask is written for a secret."""

import json
import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest

from harness import Commands, Database
from harness.handlers_rows import queue, status_of
from harness.web import Asked, Tags
from jobrunner import Context, job
from jobrunner.web import EVERYTHING, READ_ONLY, Verb

SECRET = "of-old-times"


def dead(database: Database, job_type: str, payload: dict[str, Any]) -> int:
    return queue(database, job_type, payload, status="dead", finished_at=database.now(), max_attempts=1)


def payload_of(database: Database, run_id: int) -> Any:
    found = database.value("SELECT payload FROM job_runs WHERE id = ?", [run_id])
    return json.loads(found) if isinstance(found, str) else found


def typed_in(page: str) -> str:
    """What stands in the form."""
    (text,) = re.findall(r"<textarea[^>]*>\n(.*?)</textarea>", page, re.DOTALL)
    return unescape(text)


def test_a_run_that_fails_by_its_payload_is_mended_in_the_page(database: Database) -> None:
    """The page showed the wrong payload beside a button that repeats it; only the command could mend it."""
    run_id = dead(database, "greet", {"nmae": "Ada", "password": SECRET})
    asked = Asked(database)
    page = asked.text(f"/runs/{run_id}")
    Tags(page).check()
    assert json.loads(typed_in(page)) == {"nmae": "Ada", "password": "•••"}
    new = {"name": "Ada", "password": "of-new-times"}
    form = {"payload": json.dumps(new), "reason": "a typing error"}
    answer = asked(f"/runs/{run_id}/payload", form)
    assert (answer.status, dict(answer.headers)["Location"]) == (303, f"../../runs/{run_id}?done=payload")
    assert "It has another payload." in asked.text(f"/runs/{run_id}?done=payload")
    assert (status_of(database, run_id), payload_of(database, run_id)) == ("queued", new)
    (event,) = database.query("SELECT actor, action, detail FROM job_events")
    assert (event["actor"], event["action"]) == ("ada (page)", "retry")
    assert event["detail"] == {
        "from": "dead",
        "reason": "a typing error",
        "payload": {"nmae": ["Ada", None], "name": [None, "Ada"], "password": "•••"},
    }


@pytest.mark.parametrize(
    ("payload", "shown", "places"),
    [
        ({"password": SECRET, "n": 1}, {"password": "•••", "n": 1}, "password"),
        ({"db": [{"url": f"x://u:{SECRET}@h"}]}, {"db": [{"url": "x://u:•••@h"}]}, "db[0].url"),
        ({"iban": SECRET, "said": f"not {SECRET}"}, {"iban": "•••", "said": "not •••"}, "iban, said"),
    ],
    ids=["value", "part of a text", "redacted name"],
)
def test_the_mask_of_a_secret_is_not_written_as_its_value(
    database: Database, payload: dict[str, Any], shown: dict[str, Any], places: str
) -> None:
    run_id = dead(database, "greet", payload)
    asked = Asked(database, redact=["iban"])
    text = typed_in(asked.text(f"/runs/{run_id}"))
    assert json.loads(text) == shown
    refused = asked(f"/runs/{run_id}/payload", {"payload": text, "reason": "why"})
    page = unescape(refused.body.decode())
    assert refused.status == 400
    assert f"{places}: ••• stands for a secret that is not shown" in page
    assert (status_of(database, run_id), payload_of(database, run_id)) == ("dead", payload)
    assert database.value("SELECT count(*) FROM job_events") == 0


def test_the_command_writes_no_mask_as_the_value_of_a_secret_either(jobrunner: Commands, database: Database) -> None:
    """It was copied from the page."""
    run_id = dead(database, "greet", {"password": SECRET})
    refused = jobrunner("retry", run_id, "--payload", '{"password": "•••"}', "--allow-unknown", check=False)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "password: ••• stands for a secret" in refused.stderr
    assert payload_of(database, run_id) == {"password": SECRET}


def test_what_was_typed_stays_in_the_form_when_it_is_refused_and_nothing_is_written(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOBRUNNER_PAYLOAD_LIMIT", "1024")

    @job("typed")
    def typed(ctx: Context, count: int) -> None: ...

    at = database.now()
    mine, gone = dead(database, "greet", {"name": "Ada"}), 10**6
    of_handler = dead(database, "typed", {"count": 1})
    done = queue(database, "greet", {"name": "Ada"}, status="succeeded", finished_at=at)
    lock = {"locked_by": "w", "host": "h", "lease_token": "t" * 32, "locked_until": at + timedelta(hours=1)}
    busy = queue(database, "greet", {"name": "Ada"}, status="running", started_at=at, claimed_at=at, attempts=1, **lock)
    before = database.query("SELECT * FROM job_runs ORDER BY id")
    asked = Asked(database)
    for run_id, text, status, says in (
        (mine, '{"name": </textarea>"Bob"', 400, "the payload is not JSON"),
        (mine, "", 400, "is not JSON"),
        (mine, "[1]", 400, "must be a JSON object"),
        (mine, json.dumps({"name": "x" * 2000}), 400, "larger than 1024 bytes"),
        (of_handler, '{"count": "many"}', 400, "argument 'count' must be int, not str"),
        (done, '{"name": "Bob"}', 409, "Not done: another payload is not possible. The run already succeeded"),
        (busy, '{"name": "Bob"}', 409, "Not done: another payload is not possible. The run is running"),
        (gone, '{"name": "Bob"}', 404, f"there is no run {gone}"),
    ):
        form = {"payload": text, "reason": f"because of {run_id}"}
        refused = asked(f"/runs/{run_id}/payload", form)
        page = refused.body.decode()
        assert (refused.status, says in unescape(page)) == (status, True), (text, page)
        Tags(page).check()
        if run_id not in (gone, busy):
            assert typed_in(page) == text
            assert f'value="because of {run_id}"' in page
        told = asked(f"/runs/{run_id}/payload?format=json", form)
        assert (told.status, says.partition(". The run")[0] in json.loads(told.body)["error"]) == (status, True)
    assert database.query("SELECT * FROM job_runs ORDER BY id") == before
    assert database.value("SELECT count(*) FROM job_events") == 0
    form = {"payload": '{"count": "many"}', "unchecked": "yes"}
    assert asked(f"/runs/{of_handler}/payload", form).status == 303
    assert asked(f"/runs/{done}/payload", {"payload": '{"name": "Bob"}', "force": "yes"}).status == 303
    assert [payload_of(database, each) for each in (of_handler, done)] == [{"count": "many"}, {"name": "Bob"}]


def test_a_secret_that_was_typed_is_not_shown_again(database: Database) -> None:
    run_id = dead(database, "greet", {"name": "Ada"})
    refused = Asked(database)(f"/runs/{run_id}/payload", {"payload": '{"password": "of-new-times", "name": "A}'})
    assert refused.status == 400
    assert "of-new-times" not in refused.body.decode()


def test_only_who_may_give_another_payload_sees_the_form(database: Database) -> None:
    """The right to retry is not the right to choose what is done."""
    run_id = dead(database, "greet", {"name": "Ada"})
    form = {"payload": '{"name": "Bob"}'}
    for verbs, may in ((READ_ONLY, False), (EVERYTHING - {Verb.PAYLOAD}, False), (EVERYTHING, True)):
        asked = Asked(database, verbs)
        assert ("<textarea" in asked.text(f"/runs/{run_id}")) is may
        assert (asked(f"/runs/{run_id}/payload", form).status == 303) is may
    assert payload_of(database, run_id) == {"name": "Bob"}


def test_a_payload_that_is_too_long_for_a_form_is_changed_by_the_command(database: Database) -> None:
    run_id = dead(database, "greet", {"name": "x" * 60_000})
    page = Asked(database).text(f"/runs/{run_id}")
    assert "<textarea" not in page
    assert f"jobrunner retry {run_id} --payload @FILE" in page


def test_a_character_that_the_page_shows_by_its_name_is_itself_in_the_form(database: Database) -> None:
    payload = {"name": "a\u202eb\x7fc\U0001f600é\n"}
    run_id = dead(database, "greet", payload)
    assert json.loads(typed_in(Asked(database).text(f"/runs/{run_id}"))) == payload


@pytest.mark.parametrize("status", ["dead", "queued"])
def test_a_secret_of_the_replaced_payload_stands_in_nothing_that_the_run_has_written_before(
    database: Database, status: str
) -> None:
    """The page knew the secrets of the new payload only, and showed the old one in earlier outputs."""
    run_id, other = (
        queue(
            database,
            "greet",
            {"password": SECRET, "account": "Ada"},
            status=status,
            finished_at=database.now() if status == "dead" else None,
            last_error=f"no login with {SECRET}",
            output=f"tried {SECRET}",
            progress=json.dumps({"message": f"as {SECRET}", "done": 1}),
            result=json.dumps([f"was {SECRET}", {SECRET: None}]),
        )
        for _ in range(2)
    )
    told = f"said {SECRET} for Ada, then '{SECRET}'"
    for each in (run_id, other):
        for sequence in range(1, 250):
            text = told if sequence in (1, 100, 101, 249) else "nothing"
            row = [each, sequence, sequence, f"t{sequence}", database.now(), database.now(), *[text] * 3]
            columns = "run_id, sequence, attempt, lease_token, started_at, finished_at, error, traceback, output"
            database.execute(
                f"INSERT INTO job_attempts ({columns}, worker, host, outcome)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'w', 'h', 'failed')",
                row,
            )
    asked = Asked(database)
    form = {"payload": json.dumps({"password": "of-new-times", "account": "Ada"})}
    assert asked(f"/runs/{run_id}/payload", form).status == 303
    for path in (f"/runs/{run_id}", f"/runs/{run_id}?format=json", f"/runs/{run_id}/attempts/1/output", "/runs"):
        page = asked.text(path)
        assert SECRET not in page, path
    attempts = "SELECT error, traceback, output FROM job_attempts WHERE run_id = ? AND sequence = ?"
    for sequence in (1, 100, 101, 249):
        (row,) = database.query(attempts, [run_id, sequence])
        assert set(row.values()) == {"said ••• for Ada, then '•••'"}
    counted = "SELECT count(*) FROM job_attempts WHERE run_id = ? AND output = ?"
    assert [database.value(counted, [run_id, text]) for text in ("nothing", told)] == [245, 0]
    # What another run has written is hidden by its own payload.
    assert database.value(counted, [other, told]) == 4
    (kept,) = database.query("SELECT * FROM job_runs WHERE id = ?", [run_id])
    assert SECRET not in repr(kept)
    assert "as •••" in repr(kept["progress"])


def test_a_refused_payload_leaves_what_the_run_has_written_as_it_is(database: Database) -> None:
    run_id = queue(
        database,
        "greet",
        {"password": SECRET},
        status="succeeded",
        finished_at=database.now(),
        output=f"tried {SECRET}",
    )
    assert Asked(database)(f"/runs/{run_id}/payload", {"payload": "{}"}).status == 409
    assert database.value("SELECT output FROM job_runs WHERE id = ?", [run_id]) == f"tried {SECRET}"
