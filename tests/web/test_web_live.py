"""A page that a browser has already is not sent again."""

import re
from datetime import UTC, datetime, timedelta

from harness import Database
from harness.handlers_rows import queue
from harness.invariants import insert_runs
from harness.web import HOSTILE, SAME, Asked, one_of_each


def test_page_is_sent_again_only_if_more_than_its_time_has_changed(database: Database) -> None:
    run_id = queue(database, "append")
    asked = Asked(database)
    first = asked("/audit")
    headers = dict(first.headers)
    assert headers["X-As-Of"] in first.body.decode().rpartition('<footer data-live="5">')[2]
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


def test_ages_and_no_more_are_left_out_of_what_has_changed(database: Database) -> None:
    # At noon no slot begins or ends.
    noon = datetime(2030, 3, 26, 12, tzinfo=UTC) - datetime.now(UTC)
    database.set_clock_offset(noon)
    one_of_each(database)
    asked = Asked(database)
    for path in ("/effects", "/runs", "/schedules"):
        database.set_clock_offset(noon)
        first = asked(path)
        database.set_clock_offset(noon + timedelta(minutes=5))
        later = asked(path, headers={"if-none-match": dict(first.headers)["ETag"]})
        assert later.status == 304, path
        assert dict(later.headers)["X-At"] > dict(first.headers)["X-At"]
        ages = [re.findall(r'class="age"[^>]*>([^<]*)', each.body.decode()) for each in (first, asked(path))]
        assert (ages[0] != ages[1]) is (path != "/schedules"), path
    database.execute("UPDATE job_effects SET intended_at = ?", [database.now() - timedelta(minutes=7)])
    known = dict(asked("/effects").headers)["ETag"]
    database.execute("UPDATE job_effects SET intended_at = ?", [database.now() - timedelta(minutes=8)])
    assert asked("/effects", headers={"if-none-match": known}).status == 200


def test_page_is_for_another_visitor_another_page(database: Database) -> None:
    tags = set()
    for name in ("ada", "bob"):
        asked = Asked(database)
        assert asked.visitor
        asked.visitor = type(asked.visitor)(name)
        tags.add(dict(asked("/audit").headers)["ETag"])
    assert len(tags) == 2


def test_only_the_parts_that_have_changed_are_sent_again_and_make_the_same_page(database: Database) -> None:
    runs = insert_runs(database, 40, "send", last_error=f"{HOSTILE}<!--have {'0' * 12}-->")
    asked, marks = Asked(database), re.compile(r"<!--(have|part) (\w{12})-->")
    first = asked("/runs", headers={**SAME, "x-have": ""}).body.decode()
    known = dict(zip(marks.split(first)[2::3], marks.split(first)[3::3], strict=True))
    # As many as there are rows, with the head of the table and what stands before it.
    assert len(known) == len(runs) + 2
    assert "".join(known.values()) == marks.sub("", first)
    assert asked(f"/runs/{runs[7]}/cancel", {"x": "y"}).status == 303
    headers = {**SAME, "x-have": ",".join(known)}
    second = asked("/runs", headers=headers).body.decode()
    (_, *pieces) = marks.split(second)
    sent = [(kind, name, text) for kind, name, text in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True)]
    # The row, and the last part with the time.
    assert [kind for kind, _, _ in sent].count("part") <= 2
    assert len(second) < len(first) / 4
    whole = "".join(text if kind == "part" else known[name] for kind, name, text in sent)
    assert without_ages(whole) == without_ages(asked.text("/runs"))
    # Names that nobody has, and too many.
    odd = asked("/runs", headers={**SAME, "x-have": ",,x," + ",".join(["0" * 12] * 9000)})
    assert (odd.status, without_ages(marks.sub("", odd.body.decode()))) == (200, without_ages(whole))


def without_ages(page: str) -> str:
    return re.sub(r"<time[^>]*>[^<]*", "", page)
