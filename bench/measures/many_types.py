"""The pages beside the tallies of many job types: the processor time of a request, by that beside none."""

import json
import random
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta

from plan import OPERATE, Line, measure
from processes import Failed, cpu_seconds_of_all
from sizes import BOTH
from stage import Queue, Stage

from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.location import locate
from jobrunner.store.queue.ticks import tallies
from jobrunner.web.core import Web
from jobrunner.web.messages import Request
from jobrunner.web.pages.types import PERIODS
from jobrunner.web.permissions import Visitor
from measures.operate import collected_as_served

PAGES = ("/", *(f"/types?since={period}" for period in PERIODS))
_TYPES, _HOURS = 30, 24 * 90
_ENDS = (("succeeded", "succeeded", 200), ("failed", "failed", 20), ("failed", "dead", 3))
_REQUESTS = 20
_NONE = "page {path}, processor time beside no tallies: 95 of 100 within, {{db}}"
MANY = "page {path}, processor time beside the tallies of 30 types: 95 of 100 within, {{db}}"
SERVED = "page {path}, the server's processor time beside the tallies of 30 types, {{db}}"


def _lines(path: str) -> tuple[Line, Line, Line]:
    none, many, served = (each.format(path=path) for each in (_NONE, MANY, SERVED))
    return Line(none, "ms"), Line(many, "ms", none), Line(served, "ms")


@measure(*(line for path in PAGES for line in _lines(path)), group=OPERATE, on=BOTH)
def pages_of_many_types(stage: Stage, database: str) -> Iterator[float]:
    """The processor time of this process for one request, of 20 requests the second longest.

    First in a database without tallies, then beside those of 30 job types and 90 days, 14,000,000 ends with three kinds
    of end in each hour, as housekeeping leaves them: those of the last week by the hour, older ones by the day. And
    what the server of the database computes for one request.
    """
    found = []
    for name, is_full in (("operate_no_types", False), ("operate_types", True)):
        queue = stage.queue(database, name)
        if is_full:
            add_tallies(queue)
            queue.settle()
        found.append({path: _processor_ms(stage, queue, path) for path in PAGES})
    for path in PAGES:
        (none, _), (many, served) = (each[path] for each in found)
        yield from (none, many, served)


def add_tallies(queue: Queue) -> None:
    """Insert the tallies of 30 job types, and let housekeeping make days of the old ones."""
    chosen = random.Random(0)
    now = queue.database.now().replace(minute=0, second=0, microsecond=0)
    columns = (
        "at, span, job_type, outcome, status, ends, waited, longest_wait, ran, longest_run, waits, runs, is_in_totals"
    )
    marks = "?, 'hour', ?, ?, ?, ?, 1.0, 1.0, 1.0, 1.0, ?, ?, 1"
    for number in range(_TYPES):
        rows = []
        for hour in range(_HOURS):
            for outcome, status, ends in _ENDS:
                bins = [json.dumps([chosen.randrange(50) for _ in range(15)]) for _ in range(2)]
                rows.append((now - timedelta(hours=hour), f"type_{number:02}", outcome, status, ends, *bins))
        for begin in range(0, len(rows), 100):
            some = rows[begin : begin + 100]
            queue.database.execute(
                f"INSERT INTO job_tallies ({columns}) VALUES {', '.join([f'({marks})'] * len(some))}",
                [value for row in some for value in row],
            )
    with closing(Store(locate(queue.database.url), patience=timedelta(seconds=20))) as store:
        while store.write(tallies.compact) >= tallies.MOST_COMPACTED:
            pass


def _processor_ms(stage: Stage, queue: Queue, path: str) -> tuple[float, float]:
    """Of this process, 95 of 100 within; and of the server for each request."""
    place, _, query = path.partition("?")
    request = Request("GET", place, query, visitor=Visitor("bench"))
    _look(queue, request)
    server = stage.postmaster()
    served = cpu_seconds_of_all(server)
    with collected_as_served():
        times = sorted(_look(queue, request) for _ in range(_REQUESTS))
    return times[-2] * 1000, (cpu_seconds_of_all(server) - served) / _REQUESTS * 1000


def _look(queue: Queue, request: Request) -> float:
    # A new one each time: viewers share what was asked a moment before.
    web = Web(lambda: locate(queue.database.url))
    began = time.process_time()
    answer = web.respond(request)
    seconds = time.process_time() - began
    if answer.status != 200:
        raise Failed(f"{request.path}: status {answer.status}")
    return seconds
