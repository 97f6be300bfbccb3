"""A secret leaves nowhere: not by a page, its JSON, a download, a notice, a ping or a metric."""

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import JSON, Text

from harness import Database
from harness.canaries import MARK, Canary, canaries, readable
from harness.doc_tables import text_of
from harness.invariants import insert_runs
from harness.web import CLOSED, SCHEDULE, Asked, is_page, one_of_each, paths
from jobrunner.masking.names import is_secret
from jobrunner.masking.secrets import Secrets
from jobrunner.masking.values import Names
from jobrunner.store.schema import metadata
from jobrunner.web import EVERYTHING, READ_ONLY
from jobrunner.web.core import trouble
from jobrunner.web.messages import Request
from jobrunner.web.routes import ROUTES

NAMES_OF_THINGS = {
    # They are shown as they are and lead to other pages: the docs say that a secret does not belong there.
    *("job_type", "name", "schedule", "timezone", "host", "worker", "locked_by", "actor", "action", "event", "id"),
    *(
        "error_type",
        "version",
        "kind",
        "gate",
        "receiver",
        "claimed_by",
        "metrics_host",
        "application",
        "types",
        "rate",
    ),
    *("rate_per_key", "traceparent", "digest", "boot", "last_boot", "database", "ended_by"),
}
ALL = canaries()
_PARTS = 4


def test_secret_in_any_column_stands_on_no_page_in_no_json_and_in_no_download(database: Database) -> None:
    runs = one_of_each(database)
    planted = plant_in_columns(database)
    assert len(planted) > 20
    found = "".join(text for _, text in everything(database, runs))
    assert [name for name in planted if name in found] == []


def test_secret_of_any_shape_stands_on_no_page_in_no_json_and_in_no_download(database: Database) -> None:
    runs = one_of_each(database)
    redact = sorted({name for each in ALL for name in each.needs})
    for number in range(_PARTS):
        runs |= plant(database, ALL[number::_PARTS], number)
    forbidden = re.compile("|".join(re.escape(each.secret) for each in ALL))
    leaks = [
        (path, text[max(0, match.start() - 80) : match.end() + 40])
        for path, text in everything(database, runs, redact)
        for match in forbidden.finditer(text)
    ]
    assert leaks[:5] == []


def everything(database: Database, runs: dict[str, int], redact: list[str] | None = None) -> Iterator[tuple[str, str]]:
    """What each route answers, as a page and as JSON, with all rights and with the least, also before a change."""
    addresses = list(paths(runs))
    attempts = database.query("SELECT run_id, sequence FROM job_attempts WHERE sequence < 3 OR sequence % 20 = 0")
    for row in attempts:
        addresses += [f"/runs/{row['run_id']}/attempts/{row['sequence']}/{name}" for name in ("output", "traceback")]
    listed = database.query("SELECT name FROM job_definitions")
    addresses += [f"/schedule?{urlencode({'name': row['name']})}" for row in listed]
    for verbs in (EVERYTHING, READ_ONLY):
        asked = Asked(database, verbs, redact or ())
        for path in addresses:
            as_json = f"{path}{'&' if '?' in path else '?'}format=json"
            # Those who may only look see the same, without buttons.
            for address in (path,) if "/attempts/" in path or verbs == READ_ONLY else (path, as_json):
                answer = asked(address)
                assert answer.status in (200, 404), (address, answer.body)
                yield address, readable(answer.body)
                yield address, repr(answer.headers)
        for route in ROUTES:
            if not is_page(route):
                given = {"which": "all", "reason": "x", "name": SCHEDULE, "missed": "no", "run_at": "+2h"}
                given |= {
                    "from": "2026-01-01",
                    "to": "2026-01-03",
                    "priority": "1",
                    "key": "none",
                    "applied": "yes",
                    "payload": "{",
                }
                path = route.path.replace("{id}", str(runs["succeeded"]))
                if path != "/schedule/trigger":
                    yield path, readable(asked(path, given).body)


def plant(database: Database, some: list[Canary], number: int) -> dict[str, int]:
    """Rows of each kind with the secrets in their values, and with their texts wherever a job or a person writes."""
    now, texts = database.now(), [text for each in some for text in each.texts]
    payload = {f"{place}": each.payload for place, each in enumerate(some)}
    ended = {"finished_at": now, "error_type": "Refused"}
    lock = {"locked_by": "w", "host": "h", "lease_token": "t" * 32, "locked_until": now + timedelta(hours=1)}
    said = "\n".join(texts)
    columns: list[dict[str, Any]] = [
        {"status": "dead", **ended, "last_error": said, "result": json.dumps(texts)},
        {"status": "failed", "last_error": said, "attempts": 1, "failed_at": now, "run_at": now - timedelta(hours=1)},
        {**lock, "status": "running", "started_at": now, "attempts": 1, "progress": json.dumps(texts), "output": said},
        {"status": "queued", "run_at": now - timedelta(days=1), "concurrency_key": texts[0][:100]},
    ]
    (run_id,) = insert_runs(database, 1, "append", payload, **columns[number % len(columns)])
    for sequence, text in enumerate(texts, 1):
        attempt = [run_id, sequence, 1, f"t{sequence}", "w", "h", now, now, "failed", text, text, text]
        database.execute(
            "INSERT INTO job_attempts (run_id, sequence, attempt, lease_token, worker, host, started_at, finished_at,"
            " outcome, error, traceback, output) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            attempt,
        )
    definition = 1000 + number
    row = [definition, f"nightly {number}", json.dumps(payload), said, f"for {texts[0]}"[:200], *[now] * 4]
    database.execute(
        "INSERT INTO job_definitions (id, name, job_type, payload, schedule, timezone, source, last_error, description,"
        " last_slot_at, next_run_at, created_at, updated_at)"
        " VALUES (?, ?, 'append', ?, '@daily', 'UTC', 'cli', ?, ?, ?, ?, ?, ?)",
        row,
    )
    for detail in ({"payload": payload}, {"why": said}, {"after": {"payload": payload}}):
        event = [now, json.dumps(detail), run_id, definition]
        database.execute(
            "INSERT INTO job_events (at, actor, action, detail, run_id, definition_id) VALUES (?, 'a', 'b', ?, ?, ?)",
            event,
        )
    database.execute("UPDATE job_runs SET definition_id = ? WHERE id = ?", [definition, run_id])
    for place, text in enumerate(texts):
        effect = [f"pay {number} {place} {text}"[:200], run_id, now]
        database.execute(
            "INSERT INTO job_effects (key, state, run_id, job_type, attempt, lease_token, token, intended_at)"
            " VALUES (?, 'uncertain', ?, 'append', 1, 't', 't', ?)",
            effect,
        )
    return {f"canaries {number}": run_id}


def plant_in_columns(database: Database) -> list[str]:
    """Write another secret into each column of each row that takes a text. Returns the secrets."""
    planted = []
    for table_name, table in metadata.tables.items():
        for column in table.c:
            if column.name in CLOSED | NAMES_OF_THINGS or column.computed is not None:
                continue
            secret = f"{MARK}-{table_name}-{column.name}"
            is_json = isinstance(column.type, JSON) or "json" in type(column.type).__name__.lower()
            if is_json:
                value = json.dumps({"password": secret, "said": f"{secret} was said", "url": f"x://u:{secret}-2@h"})
            elif isinstance(column.type, Text) or hasattr(column.type, "length"):
                value = f"postgresql://u:{secret}@h/db"
            else:
                continue
            unique = f"LIMIT {1}" if column.primary_key else ""
            if unique and (database.value(f"SELECT count(*) FROM {table_name}") or 0) != 1:
                continue
            changed = f"UPDATE {table_name} SET {column.name} = ? WHERE {column.name} IS NOT NULL"
            if column.unique or column.name == "idempotency_key":
                changed += f" AND {column.name} = (SELECT max({column.name}) FROM {table_name})"
            database.execute(changed, [value])
            planted.append(secret)
    return planted


def test_effect_whose_key_has_a_secret_is_settled_by_its_button_and_its_key_is_not_shown(database: Database) -> None:
    payload = {"password": "canary-of-key"}
    (run_id,) = insert_runs(database, 1, payload=payload, status="dead", finished_at=database.now())
    effect = ["pay canary-of-key", run_id, database.now()]
    database.execute(
        "INSERT INTO job_effects (key, state, run_id, job_type, attempt, lease_token, token, intended_at)"
        " VALUES (?, 'uncertain', ?, 'append', 1, 't', 't', ?)",
        effect,
    )
    asked = Asked(database)
    page = asked.text("/effects")
    assert "canary-of-key" not in page
    (field,) = re.findall(r'name="digest" value="(\w+)"', page)
    assert asked("/effects/settle", {"digest": field, "applied": "no"}).status == 303
    assert database.value("SELECT count(*) FROM job_effects") == 0


def test_page_says_what_is_hidden_and_what_is_not() -> None:
    page = text_of("masking.md")
    hidden, shown = page.split("## What cannot be known, and is shown")
    named = re.findall(r"`([A-Za-z_]+)`", next(line for line in hidden.splitlines() if "`PGPASSWORD`" in line))
    assert len(named) > 10
    assert [name for name in named if not is_secret(name, "x")] == []
    for text in ('{"name": "PASSWORD", "value": "x"}', '["psql", "--password", "x"]', '["PGPASSWORD=x"]'):
        assert text in hidden
        assert "x" not in re.sub("psql", "", json.dumps(Names().hide(json.loads(text), Secrets())))
    for name in ("max_tokens", "token_type", "password_changed_at"):
        assert f"`{name}`" in hidden
        assert not is_secret(name, 5)
    # What is said to be shown is: the table has no promise that is not kept.
    for text in ("trying hunter2", "the password: hunter"):
        assert text in shown
        assert Names().hide(text, Secrets()) == text


def test_message_of_the_page_that_was_read_from_no_row_shows_no_password_of_an_address() -> None:
    for query in ("", "format=json"):
        page = trouble(Request("GET", "/", query), 503, "no way to postgresql://app:canary-message@h/db").body.decode()
        assert "no way to postgresql://app:" in page
        assert "canary-message" not in page
