"""The heat map of a schedule: a week of its slots by the hour, of which the worst jumps out."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from urllib.parse import urlencode

import pytest

from harness import Database
from harness.web import HOSTILE, Asked, Tags
from harness.web_slots import NOW, add_schedule, note_skipped, run_of
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.questions import calendar
from jobrunner.web.pages.heat import SIGNS

Cell = tuple[str, str, str, str]
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


@pytest.fixture
def frozen(database: Database) -> Database:
    """A database whose clock stands at noon of a Friday."""
    database.set_clock_offset(NOW - datetime.now(UTC))
    return database


def page_of(asked: Asked, name: str, **query: object) -> str:
    page = asked.text(f"/schedule?{urlencode({'name': name, **query})}")
    Tags(page).check()
    return page


def cells_of(page: str) -> list[Cell]:
    """State, words, address and sign of each cell that has a slot, in the order of the time."""
    (heat,) = re.findall(r'<div class="heat".*?</div>', page, re.DOTALL)
    found = re.findall(r'<(?:a|span) class="(\w+)"(?: href="([^"]*)")? title="([^"]*)"[^>]*>([^<]*)<', heat)
    return [(state, unescape(title), unescape(link), sign) for state, link, title, sign in found]


def test_late_failed_and_skipped_slots_of_a_daily_schedule_jump_out_and_lead_to_their_runs(frozen: Database) -> None:
    nightly = add_schedule(frozen, "nightly", "30 2 * * *", timezone="Europe/Berlin")
    slots = [datetime(2027, 3, day, 1, 30, tzinfo=UTC) for day in (20, 21, 22, 23, 24, 25, 26)]
    ran = run_of(frozen, nightly, slots[0], "succeeded")
    late = run_of(frozen, nightly, slots[1], "succeeded", late=7200)
    failed = run_of(frozen, nightly, slots[2], "dead")
    note_skipped(frozen, nightly, slots[3], slots[3], 1, "overlap")
    failing = run_of(frozen, nightly, slots[5], "failed", finished_at=None)
    asked = Asked(frozen)
    page = page_of(asked, "nightly")
    told = cells_of(page)
    hour = f"./schedule?{urlencode({'name': 'nightly', 'hour': '2027-03-23T01:00:00Z', 'hours': 1})}#slots"
    assert told == [
        ("ran", "Sat 03-20 02:00: 1 ran", f"./runs/{ran}", "✓"),
        ("late", "Sun 03-21 02:00: 1 late", f"./runs/{late}", "!"),
        ("failed", "Mon 03-22 02:00: 1 failed", f"./runs/{failed}", "×"),
        ("skipped", "Tue 03-23 02:00: 1 skipped: overlap", hour, "–"),
        ("unknown", "Wed 03-24 02:00: 1 unknown", hour.replace("03-23", "03-24"), "?"),
        ("failing", "Thu 03-25 02:00: 1 failing", f"./runs/{failing}", "~"),
        ("unknown", "Fri 03-26 02:00: 1 unknown", hour.replace("03-23", "03-26"), "?"),
    ]
    # The legend has the signs that are there, and no others.
    legend = re.findall(r'<b class="(\w+)">(.)</b> (\w+)</span>', page)
    assert {state for state, *_ in legend} == {state for state, *_ in told}
    assert all(SIGNS[state] == sign and state == word for state, sign, word in legend)
    # What explains the skipped slot.
    shown = asked.text(hour[1:].removesuffix("#slots"))
    (section,) = re.findall(r'<section id="slots">.*?</section>', shown, re.DOTALL)
    assert "02:30 +01:00</time>" in section
    assert "skipped: overlap" in section
    assert 'href="#events"' in section
    assert '<section id="events">' in shown


def test_hour_of_a_schedule_of_each_minute_shows_its_worst_slot_with_a_number_and_leads_to_all(
    frozen: Database,
) -> None:
    begin = NOW - 2 * HOUR
    minutely = add_schedule(frozen, "minutely", "* * * * *", created_at=begin - MINUTE, last_slot_at=NOW)
    runs = {
        minute: run_of(
            frozen, minutely, begin + minute * MINUTE, "dead" if minute in (7, 8) else "succeeded", 600 * (minute == 9)
        )
        for minute in range(50)
    }
    note_skipped(frozen, minutely, begin + 50 * MINUTE, begin + 119 * MINUTE, 70, "misfire")
    asked = Asked(frozen)
    first, second, third, *rest = cells_of(page_of(asked, "minutely"))
    assert first[:2] == ("failed", "Fri 03-26 10:00: 2 failed, 10 skipped: misfire, 1 late, 47 ran")
    assert first[3] == "×2"
    assert (second[0], second[3]) == ("skipped", "–60")
    assert third[0] in ("due", "unknown")
    assert {(state, link) for state, _, link, _ in rest} == {("coming", "")}
    shown = asked.text(first[2][1:].removesuffix("#slots"))
    (section,) = re.findall(r'<section id="slots">.*?</section>', shown, re.DOTALL)
    assert [int(each) for each in re.findall(r"runs/(\d+)", section)] == list(runs.values())
    assert section.count("skipped: misfire") == 10
    assert section.count("<tr>") == 1 + 60


def test_weekly_schedule_has_one_cell_and_one_without_slots_that_can_be_read_has_no_heat_map(frozen: Database) -> None:
    weekly = add_schedule(frozen, HOSTILE[:60], "0 7 * * 1")
    run_of(frozen, weekly, datetime(2027, 3, 22, 7, tzinfo=UTC), "cancelled")
    add_schedule(frozen, "by hand", None)
    add_schedule(frozen, "broken", "no schedule")
    add_schedule(frozen, "nowhere", "0 7 * * 1", timezone="Nowhere/At_All")
    add_schedule(frozen, "gone", "0 7 * * 1", removed_at=NOW)
    asked = Asked(frozen)
    assert [cell[0] for cell in cells_of(page_of(asked, HOSTILE[:60]))] == ["cancelled"]
    for name in ("by hand", "broken", "nowhere", "gone"):
        assert 'class="heat"' not in page_of(asked, name), name


def test_hour_that_a_day_has_twice_is_one_cell_and_a_slot_keeps_its_column(database: Database) -> None:
    """In the night of 2027-10-31 the clock of Berlin goes from three back to two."""
    at = datetime(2027, 11, 2, 12, tzinfo=UTC)
    database.set_clock_offset(at - datetime.now(UTC))
    columns = {"timezone": "Europe/Berlin", "last_slot_at": at, "created_at": at - timedelta(days=90)}
    hourly = add_schedule(database, "hourly", "15 * * * *", **columns)
    first = datetime(2027, 10, 31, 0, 15, tzinfo=UTC)
    runs = [run_of(database, hourly, first + number * HOUR, "succeeded") for number in range(2)]
    asked = Asked(database)
    told = [cell for cell in cells_of(page_of(asked, "hourly")) if cell[1].startswith("Sun 10-31 02:00")]
    ((state, words, link, sign),) = told
    assert (state, words, sign) == ("ran", "Sun 10-31 02:00: 2 ran", "✓2")
    shown = asked.text(link[1:].removesuffix("#slots"))
    (section,) = re.findall(r'<section id="slots">.*?</section>', shown, re.DOTALL)
    assert [int(each) for each in re.findall(r"runs/(\d+)", section)] == runs
    assert len(cells_of(page_of(asked, "hourly"))) <= 7 * 24


@pytest.mark.parametrize(
    "query",
    [
        "hour=x",
        "hour=0001-01-01",
        "hour=9999-12-31T23:59",
        "hour=2027-03-26&hours=0",
        "hour=2027-03-26&hours=99",
        "hour=1999-01-01",
    ],
)
def test_hour_that_is_none_or_far_away_is_refused(frozen: Database, query: str) -> None:
    add_schedule(frozen, "nightly", "30 2 * * *")
    refused = Asked(frozen)(f"/schedule?name=nightly&{query}")
    assert refused.status == 400, refused.body.decode()


def test_runs_of_other_weeks_and_other_schedules_are_not_counted(frozen: Database, store: Store) -> None:
    nightly, other = (add_schedule(frozen, name, "30 2 * * *") for name in ("nightly", "other"))
    begin = NOW - timedelta(days=7)
    for slot in (begin - MINUTE, begin, NOW - MINUTE, NOW):
        run_of(frozen, nightly, slot, "succeeded")
        run_of(frozen, other, slot, "succeeded")
    found = store.read(lambda connection: calendar.by_hour(connection, nightly, begin, NOW))
    assert [(each.day, each.runs) for each in found] == [(0, 1), (7 * 24 - 1, 1)]
    for number in range(3):
        note_skipped(frozen, nightly, begin, begin, number, "overlap")
        note_skipped(frozen, other, begin, begin, number, "overlap")
    skips = store.read(lambda connection: calendar.newest_skips(connection, nightly, begin))
    assert [each.detail["count"] for each in skips] == [0, 1, 2]
