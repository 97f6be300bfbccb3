"""Every number of the page leads to what it counts, and every finding to what it is about."""

import re
from datetime import timedelta
from html import unescape
from typing import Any
from urllib.parse import urljoin

from harness import Database
from harness.invariants import insert_runs
from harness.web import HOSTILE, Asked, Tags, one_of_each
from harness.web_day import end_of, insert
from jobrunner.lifecycle import Status
from jobrunner.web.permissions import Verb

NUMBER = r'<a href="([^"]*)"[^>]*>(\d+)\+?</a>'


def listed(asked: Asked, path: str, link: str) -> int:
    """How many runs the list has to which a link of this page leads."""
    address = urljoin(f"http://example{path}", unescape(link)).removeprefix("http://example")
    total, before = 0, ""
    while True:
        found = asked.json(f"{address}{before}")
        total += len(found["runs"])
        if found["next_before"] is None:
            return total
        before = f"&before={found['next_before']}"


def plant_ends(database: Database) -> None:
    """Runs of two types that have ended in each of the last five hours, with their attempts."""
    now = database.now()
    for hours in range(5):
        at = now - timedelta(hours=hours)
        for job_type, status in [("send", "succeeded")] * (hours + 1) + [("send", "dead"), ("bill", "cancelled")]:
            (run_id,) = insert_runs(database, 1, job_type, status=status, finished_at=at, started_at=at)
            end_of(database, run_id, status, at)


def test_numbers_of_the_first_page_and_of_the_types_lead_to_as_many_runs(database: Database) -> None:
    plant_ends(database)
    insert_runs(database, 3)
    asked = Asked(database)
    cards = re.findall(r'<dd>\s*<a href="([^"]*)">(\d+)', asked.text("/"))
    assert len(cards) == 1 + len(Status)
    assert [int(number) for _, number in cards][:2] == [3, 3]
    numbers = re.findall(rf'<td class="number"[^>]*>\s*{NUMBER}', asked.text("/types"))
    assert sorted(int(number) for _, number in numbers) == [5, 5, 15]
    for link, number in cards + numbers:
        assert listed(asked, "/", link) == int(number), link


def test_bar_of_a_chart_leads_to_the_runs_behind_it(database: Database) -> None:
    plant_ends(database)
    asked = Asked(database)
    for path, each in (("/", [5, 4, 3, 2, 1]), ("/?ended=1h", [2, 1]), ("/types", [5, 4, 3, 2, 1])):
        told = r'<a href="([^"]*)" aria-label="[^"]*: (\d+) succeeded, (\d+) cancelled, (\d+) dead"'
        bars = re.findall(told, asked.text(path))
        # Of single bars, and then of those that a finger meets together.
        numbers = [int(succeeded) for _, succeeded, *_ in bars]
        assert numbers[: len(each)] == each, path
        assert sum(numbers[len(each) :]) == sum(each), path
        for link, *counts in bars:
            assert listed(asked, path, link) == sum(map(int, counts)), link


def test_group_of_errors_leads_to_its_runs_and_its_button_says_how_many_it_retries(database: Database) -> None:
    now = database.now()
    wrong: dict[str, Any] = {"error_type": "ValueError"}
    ended = {"finished_at": now, **wrong}
    for number in range(5):
        error = f"no order {number} in the shop"
        columns = {"status": "dead", **ended} if number < 3 else {"status": "failed", "failed_at": now, **wrong}
        insert_runs(database, 1, "send", last_error=error, **columns)
    insert_runs(database, 1, "bill", status="dead", last_error="no order 19 in the shop", **ended)
    insert_runs(database, 1, "send", status="dead", last_error="another", **ended)
    asked = Asked(database)
    page = asked.text("/errors?since=2h")
    numbers = re.findall(rf'<td class="number(?: seldom)?">{NUMBER}', page)
    assert [int(number) for _, number in numbers] == [5, 3, 1, 1, 1, 1]
    for link, number in numbers:
        assert listed(asked, "/errors", link) == int(number), link
    assert re.findall(r">Retry (\d+)<", page) == ["5", "1", "1"]


def test_host_leads_to_its_own_ticks_and_their_list_goes_on(database: Database) -> None:
    now = database.now()
    hosts = ["web 1&2", "batch"]
    tick = {"worker": "w", "version": "1", "ended_by": "empty"}
    ticks = [
        {**tick, "host": hosts[number % 2], "started_at": now - timedelta(minutes=number), "finished_at": now}
        for number in range(220, 0, -1)
    ]
    insert(database, "job_ticks", ticks)
    asked = Asked(database)
    (link,) = re.findall(r'<a href="([^"]*)">web 1&amp;2</a>', asked.text("/"))
    assert link == "./hosts?host=web%201%262"
    page = asked.text(link[1:])
    assert (page.count(">w</td>"), page.count(">web 1&amp;2</a>"), page.count(">batch</a>")) == (102, 101, 1)
    (older,) = re.findall(r'<a href="\.(/hosts\?[^"]*)">older</a>', page)
    assert asked.text(unescape(older)).count(">w</td>") == 12
    assert "no ticks of this host" in asked.text("/hosts?host=nobody")


def test_finding_has_a_link_and_its_button_only_for_those_who_may_press_it(database: Database) -> None:
    insert_runs(database, 3, "send", status="dead", finished_at=database.now())
    insert_runs(database, 1, "send", status="dead", finished_at=database.now() - timedelta(hours=2))
    asked = Asked(database)
    page = asked.text("/")
    (link,) = re.findall(r'<a href="([^"]*)">Errors</a>', page)
    assert link == "./errors?status=dead&amp;since=1h"
    (form,) = re.findall(r'<form method="post" action="\./bulk/retry">.*?</form>', page, re.DOTALL)
    fields = {str(given["name"]): str(given["value"]) for tag, given in Tags(form).found if tag == "input"}
    assert fields == {"which": "all", "status": "dead", "since": "1h"}
    # As many as the finding has counted, and not those that died before.
    assert "Retry: 3 runs" in asked("/bulk/retry", fields).body.decode()
    assert "bulk/retry" not in Asked(database, {Verb.LOOK, Verb.CANCEL}).text("/")


def test_lists_of_the_first_page_have_ten_rows_and_lead_to_all(database: Database) -> None:
    one_of_each(database)
    now = database.now()
    lease = {"locked_by": "w", "lease_token": "t", "locked_until": now + timedelta(hours=1)}
    insert_runs(database, 14, HOSTILE[:40], status="running", started_at=now, attempts=1, **lease)
    insert_runs(database, 30, status="dead", finished_at=now)
    page = Asked(database).text("/")
    for title, number in (("Running", 15), ("Failing and dead", 32)):
        (section,) = re.findall(rf"<section><h2>{title} (.*?)</section>", page, re.DOTALL)
        assert f">all {number}</a>" in section
        assert section.count("<tr>") == 1 + 10, title
