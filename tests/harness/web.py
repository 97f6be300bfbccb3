"""The page as tests ask it: in this process, or through a socket; and rows with hostile texts for it to show."""

import json
import re
from collections.abc import Collection, Mapping
from datetime import timedelta
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import JSON, Text
from sqlalchemy.sql.type_api import TypeEngine

from harness import Database
from harness.invariants import insert_runs
from jobrunner.store.drivers.location import locate
from jobrunner.store.schema import metadata
from jobrunner.web import EVERYTHING, Verb, Visitor
from jobrunner.web.access import READING
from jobrunner.web.core import Web
from jobrunner.web.guard import SAFE_METHODS
from jobrunner.web.messages import Request, Response
from jobrunner.web.routes import ROUTES, Route

SCHEDULE = "nightly"
_PATIENT = READING._replace(call=60.0)
SAME = {"sec-fetch-site": "same-origin"}
FORM = {"content-type": "application/x-www-form-urlencoded"}
HOSTILE = "'\"><img src=x onerror=a()><script>alert(1)</script></pre></title></style>{{ 7*7 }}{% x %}&lt;\x1b[2J\u202e"
TAGS = {
    *("html", "head", "meta", "title", "link", "body", "a", "header", "nav", "strong", "span", "main", "footer", "p"),
    *("time", "h1", "h2", "h3", "small", "dl", "div", "dt", "dd", "section", "table", "thead", "tbody", "tr", "th"),
    *(
        "td",
        "form",
        "fieldset",
        "legend",
        "input",
        "textarea",
        "label",
        "button",
        "select",
        "option",
        "pre",
        "code",
        "b",
        "details",
        "summary",
        "progress",
    ),
    *("svg", "rect", "g", "text", "line", "path", "circle", "figure", "figcaption", "ol", "ul", "li"),
}
# The columns in which a CHECK, or the code, allows only some values.
CLOSED = {
    *("status", "outcome", "state", "span", "when_full", "key_scope", "if_parent_fails", "parent_status", "misfire"),
    *("overlap", "on", "source", "origin", "lease_token", "token", "version_num", "waits", "runs", "oldest_code"),
}


def is_page(route: Route) -> bool:
    """Whether it only shows something."""
    return route.method in SAFE_METHODS


def paths(runs: dict[str, int]) -> list[str]:
    """The address of every page, with rows that are there."""
    names = {"id": runs["dead"], "sequence": 1, "text": "output"}
    found = [re.sub(r"\{(\w+)\}", lambda match: str(names[match[1]]), each.path) for each in ROUTES if is_page(each)]
    schedule = urlencode({"name": SCHEDULE})
    asked = [f"{path}?{schedule}" if path == "/schedule" else path for path in found]
    return asked + [f"/runs/{run_id}" for run_id in runs.values()]


class Asked:
    """The page of one database, for one visitor. However slow the machine is, the page is not given up."""

    def __init__(self, database: Database, verbs: Collection[Verb] = EVERYTHING, redact: Collection[str] = ()) -> None:
        self.web = Web(lambda: locate(database.url), redact, reading=_PATIENT)
        self.visitor: Visitor | None = Visitor("ada", frozenset(verbs))

    def __call__(
        self,
        path: str,
        form: Mapping[str, str | list[str]] | Mapping[str, str] | Mapping[str, list[str]] | None = None,
        *,
        method: str | None = None,
        headers: Mapping[str, str] = SAME,
    ) -> Response:
        """Get a page, or send a form."""
        place, _, query = path.partition("?")
        body = b"" if form is None else urlencode(form, doseq=True).encode()
        method = method or ("GET" if form is None else "POST")
        sent = {"host": "example", **(FORM if body else {}), **headers}
        return self.web.respond(Request(method, place, query, sent, body, visitor=self.visitor))

    def text(self, path: str) -> str:
        """A page that must be there."""
        found = self(path)
        assert found.status == 200, found.body.decode()
        return found.body.decode()

    def json(self, path: str) -> Any:
        """The JSON of a page that must be there."""
        return json.loads(self.text(f"{path}{'&' if '?' in path else '?'}format=json"))


class Tags(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def check(self) -> None:
        """Only our own tags, nothing that runs, and links only below our own place."""
        for tag, attributes in self.found:
            if tag == "script":
                assert set(attributes) == {"src", "defer"}
                assert re.fullmatch(r"\.{1,2}/(\.\./)*static/live\.js\?v=\w+", attributes["src"] or "")
                continue
            assert tag in TAGS, tag
            for name, value in attributes.items():
                assert not name.startswith("on"), (tag, attributes)
                assert name not in ("style", "srcdoc"), (tag, attributes)
                if name in ("href", "src", "action"):
                    assert (value or "").startswith(("./", "../", "?", "#")), (tag, attributes)


def one_of_each(database: Database) -> dict[str, int]:
    """A run of each status with an attempt and an event, a schedule, a tick, limits and an effect. The runs' ids."""
    now = database.now()
    lock = {"locked_by": "w", "host": "h", "lease_token": "t" * 32, "locked_until": now + timedelta(hours=1)}
    ended = {"finished_at": now - timedelta(seconds=3), "last_error": "e", "error_type": "E", "result": "1"}
    columns: dict[str, dict[str, Any]] = {
        "queued": {},
        "failed": {"last_error": "e", "error_type": "E", "attempts": 1, "max_attempts": 3},
        "running": {**lock, "started_at": now, "claimed_at": now, "attempts": 1, "progress": "1", "output": "o"},
        "succeeded": ended,
        "dead": ended,
        "cancelled": {**ended, "cancel_requested_at": now},
    }
    runs = {
        status: insert_runs(database, 1, "append", {"k": "v"}, status=status, idempotency_key=status, **values)[0]
        for status, values in columns.items()
    }
    rows: dict[str, dict[str, Any]] = {
        "job_attempts": {
            "run_id": runs["dead"],
            "sequence": 1,
            "attempt": 1,
            "lease_token": "t" * 32,
            "worker": "w",
            "host": "h",
            "started_at": now,
            "finished_at": now,
            "outcome": "failed",
            "status": "dead",
            "error_type": "E",
            "error": "e",
            "traceback": "tb",
            "output": "o",
        },
        "job_events": {"at": now, "actor": "a", "action": "b", "run_id": runs["dead"], "detail": '{"k": "v"}'},
        "job_definitions": {
            "name": "nightly",
            "job_type": "append",
            "payload": "{}",
            "schedule": "@daily",
            "timezone": "UTC",
            "source": "cli",
            "misfire_most": 1,
            "runs_made": 0,
            "last_slot_at": now,
            "last_error": "e",
            "created_at": now,
            "updated_at": now,
            "description": "d",
            "next_run_at": now,
        },
        "job_ticks": {
            "host": "h",
            "worker": "w",
            "version": "1",
            "started_at": now,
            "finished_at": now,
            "error": "e",
            "application": "a",
            "types": "append",
            "counts": '{"k": 1}',
            "left_due": '{"runs": {"append": 3}, "at_least": false}',
        },
        "job_types": {"job_type": "append", "max_waiting": 5, "when_full": "refuse", "dropped": 1, "dropped_at": now},
        "job_effects": {
            "key": "k",
            "state": "uncertain",
            "run_id": runs["dead"],
            "attempt": 1,
            "job_type": "append",
            "lease_token": "t" * 32,
            "intended_at": now,
            "token": "t",
        },
    }
    for table, row in rows.items():
        given = {"updated_at": now, **row}
        known = {name: value for name, value in given.items() if name in metadata.tables[table].c}
        marks = ", ".join("?" * len(known))
        database.execute(f"INSERT INTO {table} ({', '.join(known)}) VALUES ({marks})", known.values())
    return runs


def make_hostile(database: Database) -> None:
    """Write a hostile text into each column of every row that takes one."""
    for name, table in metadata.tables.items():
        for column in table.c:
            if column.name in CLOSED or column.computed is not None:
                continue
            value = _hostile(column.type)
            if value is not None:
                unique = "LIMIT 1" if column.primary_key else ""
                if unique and (database.value(f"SELECT count(*) FROM {name}") or 0) != 1:
                    continue
                database.execute(f"UPDATE {name} SET {column.name} = ? WHERE {column.name} IS NOT NULL", [value])


def _hostile(kind: TypeEngine[Any]) -> str | None:
    if isinstance(kind, JSON) or "json" in type(kind).__name__.lower():
        return json.dumps({HOSTILE: [HOSTILE]})
    if isinstance(kind, Text) or hasattr(kind, "length"):
        return HOSTILE[: getattr(kind, "length", None) or None]
    return None
