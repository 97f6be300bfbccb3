"""A page that a browser has already is not sent again."""

import pytest

from harness import Database
from harness.handlers_rows import queue
from harness.web import SAME, Asked


@pytest.mark.either_database
def test_page_is_sent_again_only_if_more_than_its_time_has_changed(database: Database) -> None:
    run_id = queue(database, "append")
    asked = Asked(database)
    first = asked("/audit")
    headers = dict(first.headers)
    assert headers["X-As-Of"] in first.body.decode().rpartition("<footer data-live>")[2]
    for known in (headers["ETag"], f"W/{headers['ETag']}"):
        again = asked("/audit", headers={"if-none-match": known})
        assert (again.status, again.body, dict(again.headers)["ETag"]) == (304, b"", headers["ETag"])
        assert {"X-As-Of", "Content-Security-Policy", "Cache-Control"} <= {name for name, _ in again.headers}
    assert asked(f"/runs/{run_id}/priority", {"priority": "7"}).status == 303
    changed = asked("/audit", headers={"if-none-match": headers["ETag"]})
    assert (changed.status, dict(changed.headers)["ETag"] == headers["ETag"]) == (200, False)
    # What is no page, or answers a form, is not refreshed.
    for path, form in (("/nothing", None), ("/bulk/retry", {"id": str(run_id)}), ("/audit?format=json", None)):
        found = asked(path, form, headers=SAME)
        assert "ETag" not in dict(found.headers)
        assert b"data-live" not in found.body


@pytest.mark.either_database
def test_page_is_for_another_visitor_another_page(database: Database) -> None:
    tags = set()
    for name in ("ada", "bob"):
        asked = Asked(database)
        assert asked.visitor
        asked.visitor = type(asked.visitor)(name)
        tags.add(dict(asked("/audit").headers)["ETag"])
    assert len(tags) == 2
