"""A page's JSON is that of its command: the same question has the same fields, with the same names and values."""

import re
from pathlib import Path
from typing import Any

from harness import Commands, Database
from harness.web import SCHEDULE, Asked, one_of_each

PAGES = Path(__file__).parents[2] / "docs" / "reference" / "dashboard-pages.md"
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
# A page runs no handlers, so it cannot say which types this host does not know.
OF_HANDLERS = ("handlers_problem", "unknown_types")


def test_json_of_every_page_is_that_of_its_command(jobrunner: Commands, database: Database) -> None:
    runs = one_of_each(database)
    database.execute("UPDATE job_runs SET traceparent = ? WHERE id = ?", [TRACE, runs["dead"]])
    database.execute(
        "INSERT INTO job_pauses (kind, name, actor, paused_at) VALUES ('type', 'p', 'someone', ?)", [database.now()]
    )
    asked = Asked(database)
    pairs = re.findall(r"^\| `(/[^`]*)` \|.*\| that of `jobrunner (.*) --json` \|$", PAGES.read_text(), re.MULTILINE)
    assert len(pairs) == 8
    for page, words in pairs:
        path, command = (text.replace("ID", str(runs["dead"])).replace("NAME", SCHEDULE) for text in (page, words))
        told, shown = jobrunner(*command.split(), "--json").json(), asked.json(path)
        assert told, command
        assert _still(told) == _still(shown), command


def _still(found: Any) -> Any:
    """Without what another second changes."""
    if isinstance(found, list):
        return [_still(each) for each in found]
    if isinstance(found, dict):
        moving = ("at", "oldest_due_seconds", *OF_HANDLERS) if "oldest_due_seconds" in found else ()
        return {name: None if name in moving else _still(each) for name, each in found.items()}
    return re.sub(r"\b\d+(?=ms|s|m|h)\b", "#", found) if isinstance(found, str) and " " in found else found
