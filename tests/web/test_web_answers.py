"""A page's JSON is that of its command: the same question has the same fields, with the same names and values."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from harness import Commands, Database
from harness.json_schemas import schemas, strict
from harness.web import SCHEDULE, Asked, is_page, one_of_each
from harness.web_day import plant_a_day
from jobrunner.web.routes import ROUTES

PAGES = Path(__file__).parents[2] / "docs" / "reference" / "dashboard-pages.md"
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
# A page runs no handlers, so it cannot say which types this host does not know.
OF_HANDLERS = ("handlers_problem", "unknown_types")


NO_PAGE = {
    "apply": "changes schedules",
    "cancel": "changes runs",
    "discard": "changes runs",
    "doctor": "is about the host of who asks",
    "enqueue": "changes runs",
    "explain": "is a part of the page of a run or a schedule",
    "health": "is a part of the first page",
    "history": "is one list of what several pages show",
    "limits": "is a part of the first page",
    "pauses": "is a part of the first page",
    "priority": "changes runs",
    "prune": "deletes rows",
    "reschedule": "changes runs",
    "retry": "changes runs",
    "schedule backfill": "changes runs",
    "schedule next": "is a part of the page of a schedule",
    "schedule trigger": "changes runs",
    "types": "is about the handlers of the host of who asks",
    "verify": "reads the whole history, which takes minutes",
}
"""Why a command with --json has no page of its own."""


@pytest.fixture
def asked(database: Database) -> Asked:
    return Asked(database)


@pytest.fixture
def ids(database: Database) -> dict[str, int]:
    """The runs of a database that has one of each."""
    runs = one_of_each(database)
    database.execute("UPDATE job_runs SET traceparent = ? WHERE id = ?", [TRACE, runs["dead"]])
    database.execute(
        "INSERT INTO job_pauses (kind, name, actor, paused_at) VALUES ('type', 'p', 'someone', ?)", [database.now()]
    )
    database.execute(
        "INSERT INTO job_set_limits (job_type, max_running, actor, set_at) VALUES ('p', 1, 'someone', ?)",
        [database.now()],
    )
    return runs


def documented() -> dict[str, str]:
    """Each page that has the JSON of a command, with the command."""
    row = r"^\| `(/[^`]*)` \|.*\| that of `jobrunner (.*) --json` \|$"
    return dict(re.findall(row, PAGES.read_text(), re.MULTILINE))


def named(text: str, ids: dict[str, int]) -> str:
    return text.replace("ID", str(ids["dead"])).replace("{id}", str(ids["dead"])).replace("NAME", SCHEDULE)


def test_json_of_every_page_is_that_of_its_command(jobrunner: Commands, asked: Asked, ids: dict[str, int]) -> None:
    for page, words in documented().items():
        told, shown = jobrunner(*named(words, ids).split(), "--json").json(), asked.json(named(page, ids))
        assert told, words
        assert _still(told) == _still(shown), words


def test_each_page_that_has_the_record_of_a_command_stands_in_the_table_with_it(
    asked: Asked, ids: dict[str, int]
) -> None:
    """Whether it has it is seen by the schema, which allows no other field and none less."""
    validators = {
        name.removesuffix(" --json"): jsonschema.Draft202012Validator(strict(schemas.schema(name)))
        for name in schemas.RECORDS
        if name.endswith(" --json")
    }
    found = {}
    for route in ROUTES:
        if is_page(route) and "{text}" not in route.path:
            path = f"{route.path}?name={SCHEDULE}" if route.path == "/schedule" else named(route.path, ids)
            shown = asked.json(path)
            assert shown, path
            found[path] = [name for name, each in validators.items() if each.is_valid(shown)]
    pairs = {
        page: [" ".join(words for words in command.split() if words.islower())]
        for page, command in documented().items()
    }
    assert {page: names for page, names in found.items() if names} == {
        named(page, ids): names for page, names in pairs.items()
    }
    assert validators.keys() - {name for names in pairs.values() for name in names} == NO_PAGE.keys()


def _still(found: Any) -> Any:
    """Without what another second changes."""
    if isinstance(found, list):
        return [_still(each) for each in found]
    if isinstance(found, dict):
        moving = ("at", "oldest_due_seconds", *OF_HANDLERS) if "oldest_due_seconds" in found else ()
        return {name: None if name in moving else _still(each) for name, each in found.items()}
    return re.sub(r"\b\d+(?=ms|s|m|h)\b", "#", found) if isinstance(found, str) and " " in found else found


def test_status_in_the_terminal_has_its_tables_in_the_order_of_the_first_page(
    database: Database, jobrunner: Commands
) -> None:
    """The last ticks came last in the terminal, below what is seldom looked at, and third in the page."""
    plant_a_day(database)
    page = Asked(database).text("/")
    places = {
        "paused (": 'id="paused"',
        "running": "<h2>Running",
        "last tick per host": "<h2>Last ticks",
        "failing": "<h2>Failing and dead",
        "dead": "<h2>Failing and dead",
        "schedules": "<summary>Schedules: ",
        "uncertain effects": "<summary>Uncertain effects: ",
        "limited": "<summary>Limits of waiting runs: ",
    }
    in_page = sorted(places, key=lambda title: page.index(places[title]))
    lines = jobrunner("status").stdout.splitlines()
    heads = [line for before, line in pairwise(lines) if not before]
    told = [next(title for title in places if line.startswith(title)) for line in heads if "unknown" not in line]
    assert told == in_page
