"""The drawings of the page: SVG that the server makes, each with a table of its numbers."""

import re
from datetime import timedelta

from harness import Database
from harness.invariants import insert_runs
from harness.web import HOSTILE, Asked, Tags
from harness.web_day import end_of, insert
from jobrunner.admin.stats import Durations, TypeStats
from jobrunner.web.pages.spans import MOST, spans


def test_types_are_drawn_from_the_tallies_with_a_table_beside_them(database: Database) -> None:
    now = database.now()
    columns = {"status": "succeeded", "finished_at": now, "started_at": now}
    for run_id in insert_runs(database, 3, "send", **columns):
        end_of(database, run_id, "succeeded", now)
    (dead,) = insert_runs(database, 1, "send", status="dead", finished_at=now)
    end_of(database, dead, "dead", now)
    asked = Asked(database)
    for since in ("24h", "7d", "30d", "bad"):
        page = asked.text(f"/types?since={since}")
        read = Tags(page)
        read.check()
        bars = [attributes for tag, attributes in read.found if (attributes.get("class") or "").startswith("part ")]
        # Of all types, and the small one of this type.
        assert [bar["class"] for bar in bars] == ["part dead", "part succeeded"] * 2, since
        assert [float(bar["height"] or 0) for bar in bars] == [20.0, 60.0, 6.0, 18.0]
        labels = [each for each in read.words if re.fullmatch(r"\d\d[:-]\d\d", each)]
        # Six labels below at most: hours of one day, or days.
        assert 3 <= len(labels) <= 6, labels
        assert (":" in labels[0]) is (since in ("24h", "bad"))
        assert re.findall(r'<td class="number">(?:<a [^>]*>)?(\d+)(?:</a>)?\n?</td>', page)[-3:] == ["3", "1", "0"]
        assert "3 succeeded, 0 cancelled, 1 dead" in page
        assert "75.0 %" in page
    assert "<h2>Ended in the last 24 hours</h2>" in asked.text("/")
    assert "3 succeeded, 0 cancelled, 1 dead" in asked.text("/")
    assert asked.json("/types")["types"][0]["ended"] == {"succeeded": 3, "dead": 1, "cancelled": 0}


def test_waits_and_run_times_of_each_type_are_drawn_from_p50_to_p95(database: Database) -> None:
    now = database.now()
    ids = insert_runs(database, 4, "send", status="succeeded", finished_at=now, started_at=now)
    ids += insert_runs(database, 1, HOSTILE[:60], status="succeeded", finished_at=now, started_at=now)
    for number, run_id in enumerate(ids):
        end_of(database, run_id, "succeeded", now, waited=100.0, ran=0.01 if number else 4.0)
    page = Asked(database).text("/types")
    read = Tags(page)
    read.check()
    assert 'aria-label="Waits and run times of the types' in page
    drawn = {
        attributes["class"]: float((attributes["width"] or "").rstrip("%") or 0)
        for tag, attributes in read.found
        if tag == "rect" and attributes.get("class") in ("waits", "runs")
    }
    assert set(drawn) == {"waits", "runs"}
    (title,) = (each for each in read.words if each.startswith("send: waited p50 "))
    # The table has the same numbers.
    for told in re.findall(r"p(?:50|95) ([\d.a-z]+)", title):
        assert f'<td class="number">{told}</td>' in page, told
    assert re.findall(r'text-anchor="(?:middle|end)">(\d+\w+)<', page)[-2:] == ["1m", "10m"]


def test_durations_of_every_size_have_a_place_in_the_drawing() -> None:
    none = Durations(None, None, None)
    sizes = [0.0, 1e-9, 0.001, 1.0, 59.0, 1e9]
    for low in sizes:
        for high in (size for size in sizes if size >= low):
            found = spans([of_type("a", Durations(low, high, high), none), of_type("b", none, none)])
            (row,) = found.rows
            (bar,) = row.spans
            assert 0 <= bar.x < bar.x + bar.width <= 100, (low, high)
    assert spans([]).rows == []
    second = Durations(1.0, 1.0, 1.0)
    many = spans([of_type(f"{number:03} {'x' * 60}", second, second) for number in range(MOST + 5)])
    assert (len(many.rows), many.left_out, len(many.rows[0].label)) == (MOST, 5, 32)


def of_type(name: str, waits: Durations, run_times: Durations) -> TypeStats:
    return TypeStats(name, {}, {"succeeded": 1}, None, waits, run_times)


def test_backlog_is_drawn_from_what_ticks_left_behind(database: Database) -> None:
    now = database.now()
    asked = Asked(database)
    assert "Left behind" not in asked.text("/")
    quarter = timedelta(minutes=15)
    cases = [
        # How long ago, and what was left; the most of a quarter of an hour counts.
        (4 * quarter, {"runs": {"send": 30, HOSTILE: 10}, "at_least": False}),
        (4 * quarter, {"runs": {"send": 5}, "at_least": False}),
        (40 * quarter, {"runs": {"send": 19, "other": 1}, "at_least": True}),
        (100 * quarter, {"runs": {"send": 900}, "at_least": False}),
        # As no tick writes it.
        (8 * quarter, {"runs": ["send"]}),
        (8 * quarter, {"runs": {"send": "many"}}),
    ]
    tick = {"host": "h", "worker": "w", "version": "1", "ended_by": "budget"}
    rows = [{**tick, "started_at": now - age, "finished_at": now - age, "left_due": left} for age, left in cases]
    insert(database, "job_ticks", rows)
    page = Asked(database).text("/")
    read = Tags(page)
    read.check()
    bars = [attributes for tag, attributes in read.found if tag == "rect" and attributes.get("class") == "part left"]
    # The oldest one stands first.
    assert [float(bar["height"] or 0) for bar in bars] == [40.0, 80.0]
    assert re.search(r">40</text>", page)
    words = "".join(read.words).rpartition("runs, by type")[2]
    assert words.index("40 (30 send, 10 ") < words.index("at least 20 (19 send, 1 other)"), "the newest first"
    # Not in the page itself: an instant in it may have these digits.
    assert "900" not in words, "longer ago than a day"
