"""`docs/howto/migrate.md`: what it shows beside its commands, which test_docs_commands.py runs."""

import tomllib
from typing import Any

from harness import pages


def test_handler_of_the_page_takes_what_is_imported() -> None:
    """It has the name and the arguments of the entry that the page's import from Celery writes."""
    (block,) = pages.checked_by("tests/project/test_migrate.py::test_handler_of_the_page_takes_what_is_imported")
    named: dict[str, Any] = {}
    exec(block.text, named)
    (shown,) = [each.text for each in pages.read(pages.place("migrate.md")) if 'job = "tasks.report"' in each.text]
    entry = tomllib.loads(shown[shown.index("[schedules") :])["schedules"]["weekday report"]
    assert named["report"].name == entry["job"]
    assert named["report"].payload_of(**entry["payload"]) == entry["payload"]
