"""The drawings of the page: SVG that the server makes, each with a table of its numbers."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from harness import Database
from harness.invariants import insert_runs
from harness.web import HOSTILE, Asked, Tags
from harness.web_day import end_of, insert
from jobrunner.admin.stats import Durations, Part, Sizes, TypeStats
from jobrunner.lifecycle import FINISHED
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.questions.last_hour import LastHour, _counting, last_hour
from jobrunner.web.pages.charts import chart
from jobrunner.web.pages.spans import MOST, spans
from jobrunner.web.pages.types import PERIODS

NONE = dict.fromkeys(map(str, FINISHED), 0)


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
        # Of all types, and the small one of this type, which is one path for each status.
        assert [bar["class"] for bar in bars] == ["part dead", "part succeeded"] * 2, since
        assert [float(bar["height"] or 0) for bar in bars[:2]] == [20.0, 60.0]
        assert [re.findall(r"v([\d.]+)", str(bar["d"])) for bar in bars[2:]] == [["6"], ["18"]]
        labels = [each for each in read.words if re.fullmatch(r"\d\d[:-]\d\d", each)]
        # Six labels below at most: hours of one day, or days.
        assert 3 <= len(labels) <= 6, labels
        assert (":" in labels[0]) is (since in ("24h", "bad"))
        assert re.findall(r'<td class="number[^>]*>(?:<a [^>]*>)?(\d+)(?:</a>)?\n?</td>', page)[-3:] == ["3", "1", "0"]
        assert "3 succeeded, 0 cancelled, 1 dead" in page
        assert "75.0 %" in page
    assert "<h2>Ended in the last 24 hours <a " in asked.text("/")
    assert "3 succeeded, 0 cancelled, 1 dead" in asked.text("/")
    assert asked.json("/types")["types"][0]["ended"] == {"succeeded": 3, "dead": 1, "cancelled": 0}


def test_bars_of_every_chart_stand_together_in_targets_that_are_wide_enough_for_a_finger() -> None:
    begin = datetime(2027, 3, 26, tzinfo=UTC)
    for count, hours in ((1, 1), (25, 1), (31, 24), (61, 1), (85, 2), (96, 1)):
        parts = [Part(begin + timedelta(hours=hours * number), dict(NONE, succeeded=1)) for number in range(count)]
        made = chart(parts, UTC)
        assert len(made.bars) == count
        # On a screen of 320 pixels, without the space beside it.
        assert all(each.width * 288 / 100 >= 23.9 for each in made.targets), count
        assert sum(int(each.title.split(": ")[1].split()[0]) for each in made.targets) == count
        ends = [each.x + each.width for each in made.targets]
        assert ends[:-1] == pytest.approx([each.x for each in made.targets[1:]], abs=0.05)
    assert chart([], UTC).targets == chart([Part(begin, NONE)], UTC).targets == []


def test_page_of_a_longer_period_is_asked_for_less_often(database: Database) -> None:
    """A month of thirty types takes most of a tenth of a second: every five seconds that is a hundredth of a core."""
    asked = Asked(database)
    told = {since: re.findall(r'<footer data-live="(\d+)"', asked.text(f"/types?since={since}")) for since in PERIODS}
    assert told == {"24h": ["5"], "7d": ["15"], "30d": ["30"]}
    assert re.findall(r'<footer data-live="(\d+)"', asked.text("/")) == ["5"]


def test_last_hour_is_drawn_by_the_minute_and_no_more_runs_are_counted_than_are_shown(
    database: Database, store: Store
) -> None:
    now = database.now()
    asked = Asked(database)
    assert "Ended in the last hour" not in asked.text("/")
    assert "Ended in the last hour" in asked.text("/?ended=1h")
    minute = timedelta(minutes=1)
    for ago, status, count in ((0, "succeeded", 2), (5, "dead", 3), (5, "succeeded", 4), (70, "dead", 9)):
        insert_runs(database, count, "send", status=status, finished_at=now - ago * minute)
    insert_runs(database, 1, "send", status="failed", failed_at=now)
    # Another one: viewers share for two seconds what was read before.
    page = Asked(database).text("/?ended=1h")
    read = Tags(page)
    read.check()
    told = re.findall(r'aria-label="[^"]*: (\d+) succeeded, (\d+) cancelled, (\d+) dead', page)
    # Of the minutes, and of the targets of a phone.
    assert told[:2] == [("4", "0", "3"), ("2", "0", "0")]
    assert "So many ended" not in page

    def counted(most: int) -> LastHour:
        return store.read(lambda connection: last_hour(connection, now, most))

    begin = now.replace(second=0, microsecond=0)
    every = counted(100)
    assert every.is_whole
    assert every.begin == begin - 60 * minute
    assert sorted(each[1:] for each in every.ended) == [("dead", 3), ("succeeded", 2), ("succeeded", 4)]
    values = {"since": begin - 60 * minute, "most": 4}
    read_rows = store.read(lambda connection: connection.execute(_counting(), values).all())
    assert sorted((each.status, each.runs) for each in read_rows) == [("dead", 3), ("succeeded", 2), ("succeeded", 2)]
    # Four that succeeded are read: two of this minute, and two of four of another, which is not shown.
    some = counted(4)
    assert (some.is_whole, some.begin) == (False, begin - 4 * minute)
    assert [each[1:] for each in some.ended] == [("succeeded", 2)]


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
        assert re.search(rf'<td class="number"[^>]*>{told}</td>', page), told
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
    none = Durations(None, None, None)
    return TypeStats(name, {}, {"succeeded": 1}, None, waits, run_times, none, None, Sizes(None, None, None))


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
