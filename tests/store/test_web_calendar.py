"""The calendar of the schedules: what became of past slots, which come, and what clock changes do to them."""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from harness import Database
from harness.web import Asked, Tags
from harness.web_day import insert
from harness.web_slots import NOW, add_schedule, note_skipped, run_of


@pytest.fixture
def frozen(database: Database) -> Database:
    """A database whose clock stands at noon of a Friday, two days before the clocks go forward in Berlin."""
    database.set_clock_offset(NOW - datetime.now(UTC))
    return database


def week_of(asked: Asked, name: str, query: str = "") -> Any:
    found = asked.json(f"/schedules/calendar{query}")
    (row,) = [each for each in found["schedules"] if each["name"] == name]
    return row


def test_calendar_tells_what_became_of_each_past_slot_and_which_come(frozen: Database) -> None:
    nightly = add_schedule(frozen, "nightly", "30 2 * * *", timezone="Europe/Berlin")
    # Half past two in Berlin is half past one in UTC, until the clocks change.
    slots = [datetime(2027, 3, day, 1, 30, tzinfo=UTC) for day in (19, 20, 21, 22, 23, 24, 25)]
    ran = run_of(frozen, nightly, slots[0], "succeeded")
    late = run_of(frozen, nightly, slots[1], "succeeded", late=7200)
    failed = run_of(frozen, nightly, slots[2], "dead")
    note_skipped(frozen, nightly, slots[3], slots[4], 2, "overlap")
    by_hand = {"at": NOW, "actor": "x", "action": "skip slots", "definition_id": nightly, "detail": {}}
    insert(frozen, "job_events", [by_hand])
    run_of(frozen, nightly, slots[6] + timedelta(hours=3), "cancelled")
    asked = Asked(frozen)
    past = week_of(asked, "nightly", "?from=2027-03-19")
    told = [[(each["state"], each["run_id"], each["reason"]) for each in day["slots"]] for day in past["days"]]
    assert told == [
        [("ran", ran, None)],
        [("late", late, None)],
        [("failed", failed, None)],
        [("skipped", None, "overlap")],
        [("skipped", None, "overlap")],
        [("unknown", None, None)],
        [("unknown", None, None), ("cancelled", told[6][1][1], None)],
    ]
    assert past["warnings"] == []
    week = week_of(asked, "nightly")
    assert [each["at"][8:16] for day in week["days"] for each in day["slots"] if each["state"] == "coming"] == [
        "27T01:30",
        "28T01:00",
        "29T00:30",
        "30T00:30",
    ]
    (warning,) = week["warnings"]
    assert warning.startswith("2027-03-28: the clock goes from 02:00 to 03:00; 02:30 does not exist: it fires once, ")
    page = asked.text("/schedules/calendar")
    Tags(page).check()
    assert "03:00 +02:00</time>" in page
    assert "02:30 does not exist" in page
    assert 'href="?from=2027-03-17&amp;page=1"' in page
    # The list has the newest thirty slots of each schedule, the oldest first.
    for days in range(1, 40):
        run_of(frozen, nightly, slots[0] - timedelta(days=days), "succeeded")
    strip = re.findall(r'<a class="(\w+)" href="./runs/(\d+)"', asked.text("/schedules"))
    assert [int(run_id) for status, run_id in strip][-4:] == [ran, late, failed, told[6][1][1]]
    assert [status for status, _ in strip] == ["succeeded"] * 28 + ["dead", "cancelled"]


def test_calendar_counts_the_slots_of_a_frequent_schedule_and_reads_no_run(frozen: Database) -> None:
    day = NOW.replace(hour=0)
    minutely = add_schedule(frozen, "minutely", "* * * * *", created_at=day - timedelta(minutes=1))
    frozen.execute("UPDATE job_definitions SET last_slot_at = ?", [NOW - timedelta(minutes=2)])
    for minute in range(1, 8):
        run_of(frozen, minutely, day + timedelta(minutes=minute), "dead" if minute == 7 else "succeeded")
    run_of(frozen, minutely, day + timedelta(minutes=8), "succeeded", late=600)
    note_skipped(frozen, minutely, day + timedelta(minutes=9), day + timedelta(minutes=18), 10, "overlap")
    note_skipped(frozen, minutely, day - timedelta(minutes=9), day + timedelta(0), 10, "misfire")
    add_schedule(frozen, "paused", "*/10 * * * *", paused_at=NOW, last_slot_at=NOW - timedelta(hours=1))
    add_schedule(frozen, "ended", "*/10 * * * *", ends_at=NOW + timedelta(hours=1), created_at=NOW)
    add_schedule(frozen, "few", "*/10 * * * *", max_runs=9, runs_made=2, created_at=NOW)
    add_schedule(frozen, "broken", "no schedule")
    add_schedule(frozen, "by hand", None, timezone="Nowhere/At_All")
    asked = Asked(frozen)
    days = [day["counts"] for day in week_of(asked, "minutely")["days"]]
    assert days[1] == {"skipped: misfire": 9}
    # Two minutes before noon the last slot was decided: of 719 since midnight these have no run.
    unknown = 719 - 8 - 11
    decided = {"ran": 6, "failed": 1, "late": 1, "skipped: overlap": 10, "skipped: misfire": 1, "unknown": unknown}
    assert {name: count for name, count in days[2].items() if name not in ("due", "coming")} == decided
    assert days[2]["due"] >= 2
    assert days[2]["due"] + days[2]["coming"] == 721
    assert days[3] == {"coming": 1440}
    assert week_of(asked, "paused")["days"][2]["counts"]["paused"] == 6 + 71
    assert week_of(asked, "ended")["days"][2]["counts"] == {"coming": 6}
    assert [day["counts"] for day in week_of(asked, "few")["days"]] == [{}, {}, {"coming": 7}, {}, {}, {}, {}]
    assert {str(day["counts"]) for name in ("broken", "by hand") for day in week_of(asked, name)["days"]} == {"{}"}
    page = asked.text("/schedules/calendar")
    assert "1440 <span" in page


def test_person_sees_all_instants_in_the_zone_of_the_own_cookie(frozen: Database) -> None:
    slot = datetime(2027, 3, 25, 23, 30, tzinfo=UTC)
    nightly = add_schedule(frozen, "nightly", "30 23 * * *")
    run_id = run_of(frozen, nightly, slot, "succeeded", created_at=slot)
    asked = Asked(frozen)
    page = asked.text(f"/runs/{run_id}?done=x")
    assert "Times: UTC" in page
    assert 'href="../zone?back=runs%2F1%3Fdone%3Dx"' in page
    form = {"zone": "Asia/Kolkata", "back": f"runs/{run_id}?done=x"}
    assert '<input type="hidden" name="back" value="runs/1?done=x">' in asked.text("/zone?back=runs%2F1%3Fdone%3Dx")
    chosen = asked("/keep-zone", form)
    headers = dict(chosen.headers)
    assert (chosen.status, headers["Location"]) == (303, f"./runs/{run_id}?done=x")
    assert headers["Set-Cookie"].startswith("jobrunner_zone=Asia/Kolkata; HttpOnly; SameSite=Lax; Max-Age=")
    cookie = {"cookie": headers["Set-Cookie"].partition(";")[0]}
    page = asked(f"/runs/{run_id}", headers=cookie).body.decode()
    # Half past eleven in the evening is five in the morning of the next day.
    shown = '<time datetime="2027-03-25T23:30:00Z" title="2027-03-25 23:30:00 UTC">2027-03-26 05:00:00</time>'
    assert shown in page, page
    assert "Times: Asia/Kolkata" in page
    # A day of the calendar is one of this zone, and the slot is shown in that of the schedule.
    week = asked("/schedules/calendar", headers=cookie).body.decode()
    assert "23:30 +00:00</time>" in week
    path = "/schedules/calendar?format=json"
    days = json.loads(asked(path, headers=cookie).body)["schedules"][0]["days"]
    assert [(day["begin"][:16], len(day["slots"])) for day in days][2] == ("2027-03-25T18:30", 1)
    for bad in ("Nowhere/At_All", "../../etc/passwd", "x\r\ny: z", "x" * 5000, "", '"'):
        assert "Times: UTC" in asked("/runs", headers={"cookie": f"jobrunner_zone={bad}"}).body.decode(), bad
        assert asked("/keep-zone", {"zone": bad}).status == 400, bad
    assert asked("/keep-zone", {"zone": "Asia/Kolkata; Path=/"}).status == 400
    for back in ("//evil.example", "https://evil.example/", "/../evil", "x\r\nSet-Cookie: a", "\\\\evil.example"):
        location = dict(asked("/keep-zone", {"zone": "UTC", "back": back}).headers)["Location"]
        assert re.fullmatch(r"\./[\w./:%-]*", location), location
        assert ".." not in location


def test_calendar_has_pages_and_refuses_days_far_away(frozen: Database) -> None:
    for number in range(30):
        add_schedule(frozen, f"every minute {number:02}", "*/1 0-23 1-31 1-12 0-7")
    asked = Asked(frozen)
    first, second = (asked.json(f"/schedules/calendar?page={page}") for page in (1, 2))
    assert [len(each["schedules"]) for each in (first, second)] == [25, 5]
    assert (first["has_more"], second["has_more"]) == (True, False)
    assert "page=2" in asked.text("/schedules/calendar")
    for query in ("from=x", "from=0001-01-01", "from=9999-12-31", "page=0", "page=x", "from=2026-02-30"):
        assert asked(f"/schedules/calendar?{query}").status == 400, query


def test_first_and_last_week_of_the_calendar_have_no_link_to_a_week_that_is_refused(frozen: Database) -> None:
    add_schedule(frozen, "nightly", "30 2 * * *")
    asked = Asked(frozen)
    for way, last in (("prev", timedelta(days=-1830)), ("next", timedelta(days=1830))):
        # A day before the last one that is shown, and a week before that one: its link still leads somewhere.
        for distance, has_link in ((0, False), (6, False), (7, True)):
            away = last - timedelta(days=distance) * (1 if way == "next" else -1)
            page = asked.text(f"/schedules/calendar?from={(NOW + away).date()}")
            links = re.findall(rf'href="([^"]*)" rel="{way}"', page)
            assert len(links) == has_link, (way, distance)
            for link in links:
                assert asked(f"/schedules/calendar{link.replace('&amp;', '&')}").status == 200
        assert asked(f"/schedules/calendar?from={(NOW + last * 2).date()}").status == 400
