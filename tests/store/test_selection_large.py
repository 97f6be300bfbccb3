"""Searches beside five million finished runs: the first page is quick, and no search takes longer than it says."""

import time
from datetime import timedelta
from functools import partial

import pytest

from harness import Database
from harness.database import numbers
from jobrunner.lifecycle import Status
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.questions import error_groups, search
from jobrunner.store.questions.runs import run_list
from jobrunner.store.questions.selection import Selection

RUNS = 5_000_000
AT_ONCE = 500_000
PAGES = {
    "newest": Selection(),
    "of a type": Selection(job_types=("often",)),
    "dead": Selection(statuses=(Status.DEAD,)),
    "of a time": Selection(since=timedelta(hours=2)),
    "that wait": Selection(statuses=(Status.QUEUED,)),
}
WITHOUT_END = {
    "an error": Selection(error="nowhere"),
    "a key": Selection(key="none"),
    "a type": Selection(job_types=("no",)),
}
SLACK = 1.0
"""Seconds: for the last slice, and for a busy machine."""


def fill(database: Database) -> None:
    second = "1000000" if database.name == "sqlite" else "interval '1 second'"
    now = "unixepoch() * 1000000" if database.name == "sqlite" else "jobrunner_now()"
    columns = "job_type, payload, priority, attempts, max_attempts, status, error_type, last_error"
    for done in range(0, RUNS, AT_ONCE):
        at = f"{now} - ({RUNS - done} - n) * {second}"
        database.execute(
            f"INSERT INTO job_runs ({columns}, run_at, created_at, updated_at, finished_at)"
            " SELECT 'often', '{}', 0, 1, 5, CASE WHEN n % 10 = 0 THEN 'dead' ELSE 'succeeded' END,"
            " CASE WHEN n % 10 = 0 THEN 'ValueError' END, CASE WHEN n % 10 = 0 THEN 'no customer ' || n END,"
            f" {at}, {at}, {at}, {at} FROM ({numbers(database, AT_ONCE)}) AS numbered"
        )


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_first_page_is_quick_beside_five_million_runs_and_no_search_takes_longer_than_it_says(
    database: Database, store: Store
) -> None:
    fill(database)
    try:
        for name, selection in PAGES.items():
            assert min(_seconds(store, selection) for _ in range(3)) < 0.1, name
        for name, selection in WITHOUT_END.items():
            begin = time.monotonic()
            found = store.read(partial(search.find, selection=selection, limit=50))
            assert time.monotonic() - begin < search.SECONDS + SLACK, name
            assert (found.next_before is None) == (found.searched_back_to is None), name
        begin = time.monotonic()
        errors = store.read(partial(error_groups.errors, selection=Selection()))
        assert time.monotonic() - begin < search.SECONDS + SLACK
        assert errors.groups
        assert errors.searched_back_to is not None
    finally:
        store.close()


def _seconds(store: Store, selection: Selection) -> float:
    begin = time.monotonic()
    store.read(partial(run_list.page, selection=selection, limit=50))
    return time.monotonic() - begin
