"""Every number of the page leads to what it counts, and every finding to what it is about."""

import re
from datetime import timedelta
from html import unescape
from urllib.parse import urljoin

from harness import Database
from harness.invariants import insert_runs
from harness.web import HOSTILE, Asked, Tags, one_of_each
from harness.web_day import insert, plant_a_day
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


def test_numbers_of_the_first_page_and_of_the_types_lead_to_as_many_runs(database: Database) -> None:
    plant_a_day(database)
    asked = Asked(database)
    first = asked.text("/")
    cards = dict(re.findall(r'<dd><a href="([^"]*)">(\d+)', first))
    assert len(cards) == 1 + len(Status)
    for link, number in cards.items():
        assert listed(asked, "/", link) == int(number), link
    types = asked.text("/types")
    numbers = re.findall(rf'<td class="number">{NUMBER}', types)
    # Five types, of which one has dead runs.
    assert len(numbers) == 6
    for link, number in numbers:
        assert listed(asked, "/types", link) == int(number), link


def test_bar_of_a_chart_leads_to_the_runs_behind_it(database: Database) -> None:
    plant_a_day(database)
    asked = Asked(database)
    for path in ("/", "/types"):
        bars = re.findall(r'<a href="([^"]*)" aria-label="[^"]*: (\d+) succeeded, (\d+) cancelled, (\d+) dead"', asked.text(path))
        assert len(bars) > 20, path
        for link, *counts in bars[5::6]:
            assert listed(asked, path, link) == sum(map(int, counts)), link


def test_group_of_errors_leads_to_its_runs_and_its_button_says_how_many_it_retries(database: Database) -> None:
    now = database.now()
    ended = {"finished_at": now, "error_type": "ValueError"}
    insert_runs(database, 3, "send", status="dead", last_error="no order 17 in the shop", **ended)
    insert_runs(database, 2, "send", status="failed", last_error="no order 18 in the shop", failed_at=now, **ended)
    insert_runs(database, 1, "bill", status="dead", last_error="no order 19 in the shop", **ended)
    insert_runs(database, 1, "send", status="dead", last_error="another", **ended)
    asked = Asked(database)
    page = asked.text("/errors?since=2h")
    numbers = re.findall(rf'<td class="number">{NUMBER}', page)
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
    assert (page.count("<td>w</td>"), page.count(">web 1&amp;2</a>"), page.count(">batch</a>")) == (102, 101, 1)
    (older,) = re.findall(r'<a href="(\?[^"]*)">older</a>', page)
    assert asked.text(f"/hosts{unescape(older)}").count("<td>w</td>") == 12
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
    assert page.count("/runs/") == 0
    for title, number in (("Running", 15), ("Failing and dead", 32)):
        (section,) = re.findall(rf"<section><h2>{title} (.*?)</section>", page, re.DOTALL)
        assert f">all {number}</a>" in section
        assert section.count("<tr>") == 1 + 10, title
