"""The lists of runs in the page, their filters, and the drawing of one run's life."""

import re

from harness import Database, PostgresDatabase, postgresql_only
from harness.invariants import insert_runs
from harness.web import Asked, Tags
from jobrunner.lifecycle import TRANSITIONS


def test_list_of_runs_is_filtered_by_its_address_and_goes_on_page_by_page(database: Database) -> None:
    now = database.now()
    dead = insert_runs(database, 120, "send", status="dead", finished_at=now, last_error="no such host")
    insert_runs(database, 5, "other")
    asked = Asked(database)
    seen, query = list[str](), "?status=dead&type=send&error=SUCH&since=2h"
    while query:
        page = asked.text(f"/runs{query}")
        assert 'value="send"' in page
        seen += re.findall(r'href="\./runs/(\d+)"', page)
        more = re.search(r'href="\./runs(\?[^"]*before=\d+[^"]*)"', page)
        query = more[1].replace("&amp;", "&") if more else ""
    assert seen == [str(run_id) for run_id in reversed(dead)]
    assert len(asked.json("/runs?type=other")["runs"]) == 5
    groups = asked.json("/errors?since=2h")["groups"]
    assert [(each["count"], each["error"]) for each in groups] == [(120, "no such host")]
    assert "no such host" in asked.text("/errors")


def test_page_of_errors_shows_the_largest_200_and_says_how_many_runs_have_others(database: Database) -> None:
    words = [f"{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(202)]
    for word in words:
        insert_runs(database, 1, status="dead", finished_at=database.now(), last_error=word)
    insert_runs(database, 2, status="dead", finished_at=database.now(), last_error="frequent")
    groups = Asked(database).json("/errors")["groups"]
    assert (len(groups), groups[0]["error"], groups[0]["count"]) == (200, "frequent", 2)
    assert "3 more runs have other errors" in Asked(database).text("/errors")


def test_filter_that_cannot_be_used_says_why_and_stays_in_the_form(database: Database) -> None:
    asked = Asked(database)
    for query, says in (
        ("since=yesterday&type=send", "is no time"),
        ("status=done&type=send", "is no status"),
        ("schedule=none&type=send", "there is no schedule"),
        ("waiting_for=Godot&type=send", "no run waits for"),
        ("before=x&type=send", "is not a whole number"),
        ("key=%00&type=send", "cannot be searched for"),
    ):
        found = asked(f"/runs?{query}")
        text = found.body.decode()
        assert found.status == 400, query
        assert says in text, query
        assert 'value="send"' in text
        Tags(text).check()


@postgresql_only
def test_list_that_the_database_does_not_answer_in_time_leaves_its_filter_to_be_changed(database: Database) -> None:
    assert isinstance(database, PostgresDatabase)
    asked = Asked(database)
    with database.connect() as connection, connection.transaction():
        connection.execute("LOCK TABLE job_runs")
        for path in ("/runs?type=send", "/errors?type=send"):
            found = asked(path)
            assert found.status == 503
            assert 'value="send"' in found.body.decode()
            assert "narrower filter" in found.body.decode()
    assert asked("/runs?type=send").status == 200
    # Nobody looks now, so no session is kept.
    mine = "SELECT count(*) = 0 AS none FROM pg_stat_activity WHERE datname = current_database()"
    database.wait_until(f"{mine} AND backend_type = 'client backend' AND pid <> pg_backend_pid()")


def test_life_of_a_run_is_drawn_with_the_moves_it_has_made(database: Database) -> None:
    now = database.now()
    (run_id,) = insert_runs(database, 1, status="dead", finished_at=now, failed_at=now, started_at=now)
    for sequence, outcome in enumerate(("failed", "released", "failed"), 1):
        database.execute(
            "INSERT INTO job_attempts (run_id, sequence, attempt, lease_token, worker, host, started_at, finished_at,"
            " outcome) VALUES (?, ?, 1, ?, 'w', 'h', ?, ?, ?)",
            [run_id, sequence, f"t{sequence}", now, now, outcome],
        )
    page = Asked(database).text(f"/runs/{run_id}")
    way = "queued, then running, then failed, then running, then queued, then running, then dead"
    assert f"<figcaption>{way}</figcaption>" in page
    lit = set(re.findall(r'class="arrow lit"><title>(\w+ to \w+)', page))
    assert lit == {
        "queued to running",
        "running to failed",
        "failed to running",
        "running to queued",
        "running to dead",
    }
    moves = dict[str, list[str]]()
    for each in TRANSITIONS:
        for source in {*each.sources} - {each.target}:
            moves.setdefault(f"{source} to {each.target}", []).append(each.event)
    assert dict(re.findall(r"<title>(\w+ to \w+): (.+?)</title>", page)) == {
        move: ", ".join(events) for move, events in moves.items()
    }
    # No line crosses a box, and each ends in a head that touches its box from outside.
    boxes = [(int(x), int(y)) for x, y in re.findall(r'<rect x="(\d+)" y="(\d+)" width="120" height="38"', page)]
    lines = re.findall(r'<path class="line" d="M([^"]*)"/><path class="head" d="M([\d.]+) ([\d.]+)', page)
    assert (len(boxes), len(lines)) == (6, len(moves))
    for line, x, y in lines:
        assert any(is_within((float(x), float(y)), box, 0) for box in boxes), line
        for point in points_of(line):
            assert not any(is_within(point, box, -0.1) for box in boxes), line


def points_of(line: str) -> list[tuple[float, float]]:
    """Points of a path: of a cubic curve, or of an upright line, between its ends."""
    numbers = [float(each) for each in re.findall(r"[\d.]+", line)]
    if len(numbers) == 3:
        x, begin, end = numbers
        return [(x, begin + (end - begin) * n / 20) for n in range(21)]
    return [(on_curve(numbers[::2], n / 50), on_curve(numbers[1::2], n / 50)) for n in range(51)]


def on_curve(at: list[float], t: float) -> float:
    a, b, c, d = at
    return (1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b + 3 * (1 - t) * t**2 * c + t**3 * d


def is_within(point: tuple[float, float], box: tuple[int, int], more: float) -> bool:
    return all(low - more <= at <= low + size + more for at, low, size in zip(point, box, (120, 38), strict=True))
