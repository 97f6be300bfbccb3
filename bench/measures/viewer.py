"""What it costs that somebody looks at the page, beside a long history."""

import http.client
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from urllib.parse import SplitResult, urlsplit

from plan import OPERATE, Line, measure
from processes import Failed, cpu_seconds_of
from sizes import BOTH
from stage import Queue, Stage

from harness.commands import COMMAND
from measures.baselines import ONE_CORE
from measures.operate import operated_queue

_POLLS_EVERY_SECONDS = 5.0
"""As the script of the page does it."""


@measure(
    Line("page: a viewer who polls, {db}", "cores", ONE_CORE),
    Line("page: nobody looks, {db}", "cores", ONE_CORE),
    group=OPERATE,
    on=BOTH,
)
def viewer(stage: Stage, database: str) -> Iterator[float]:
    """The processor time of `jobrunner web` while a browser with the first page asks every five seconds.

    And while nobody asks. Beside so many (`operated`) finished runs; without the server of the database.
    """
    queue, seconds = operated_queue(stage, database, stage.sizes.operated), stage.sizes.viewed_seconds
    with _served(queue) as (process, link):
        address = urlsplit(link)
        cookie = _signed_in(address)
        tag = _poll(address, cookie, "")
        before, ends_at = cpu_seconds_of(process.pid), time.monotonic() + seconds
        while time.monotonic() < ends_at:
            tag = _poll(address, cookie, tag)
            time.sleep(min(_POLLS_EVERY_SECONDS, max(0.0, ends_at - time.monotonic())))
        yield (cpu_seconds_of(process.pid) - before) / seconds
        before = cpu_seconds_of(process.pid)
        time.sleep(seconds)
        yield (cpu_seconds_of(process.pid) - before) / seconds


@contextmanager
def _served(queue: Queue) -> "Iterator[tuple[subprocess.Popen[str], str]]":
    process = subprocess.Popen(
        [COMMAND, "web", "--port", "0"],
        env=queue.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout
        link = next((word for word in process.stdout.readline().split() if word.startswith("http://")), "")
        if not link:
            raise Failed("the page printed no link")
        yield process, link
    finally:
        process.terminate()
        process.communicate(timeout=30)


def _get(address: SplitResult, path: str, headers: dict[str, str]) -> http.client.HTTPResponse:
    # A connection for each: the server ends one that was not used for five seconds.
    with closing(http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)) as connection:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        answer.read()
        return answer


def _signed_in(address: SplitResult) -> str:
    answer = _get(address, f"{address.path}?{address.query}", {})
    cookie = (answer.getheader("Set-Cookie") or "").partition(";")[0]
    if not cookie:
        raise Failed(f"the link did not sign in: status {answer.status}")
    return cookie


def _poll(address: SplitResult, cookie: str, tag: str) -> str:
    answer = _get(address, "/", {"Cookie": cookie} | ({"If-None-Match": tag} if tag else {}))
    if answer.status not in (200, 304):
        raise Failed(f"the page answers {answer.status}")
    return answer.getheader("ETag") or tag
