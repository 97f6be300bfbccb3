"""What it costs that somebody looks at the page, beside a long history."""

import http.client
import re
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

_PART = re.compile(rb"<!--(?:have|part) (\w+)-->")
_EVERY = re.compile(rb'<footer data-live="(\d+)"')


@measure(
    Line("page: a viewer who polls, {db}", "cores", ONE_CORE),
    Line("page: nobody looks, {db}", "cores", ONE_CORE),
    group=OPERATE,
    on=BOTH,
)
def viewer(stage: Stage, database: str) -> Iterator[float]:
    """The processor time of `jobrunner web` while a browser with the first page asks as often as the page says.

    And while nobody asks. Beside so many (`operated`) finished runs; without the server of the database. The browser
    names the parts that it has, as the script of the page does.
    """
    queue, seconds = operated_queue(stage, database, stage.sizes.operated), stage.sizes.viewed_seconds
    with _served(queue) as (process, link):
        address = urlsplit(link)
        cookie = _signed_in(address)
        viewer = _Viewer(address, cookie)
        viewer.poll()
        before, ends_at = cpu_seconds_of(process.pid), time.monotonic() + seconds
        while time.monotonic() < ends_at:
            viewer.poll()
            time.sleep(min(viewer.every_seconds, max(0.0, ends_at - time.monotonic())))
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


def _get(address: SplitResult, path: str, headers: dict[str, str]) -> tuple[http.client.HTTPResponse, bytes]:
    # A connection for each: the server ends one that was not used for five seconds.
    with closing(http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)) as connection:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer, answer.read()


def _signed_in(address: SplitResult) -> str:
    answer, _ = _get(address, f"{address.path}?{address.query}", {})
    cookie = (answer.getheader("Set-Cookie") or "").partition(";")[0]
    if not cookie:
        raise Failed(f"the link did not sign in: status {answer.status}")
    return cookie


class _Viewer:
    """A browser with a page, which asks for it again as its script does (web/static/live.js)."""

    def __init__(self, address: SplitResult, cookie: str, path: str = "/") -> None:
        self.every_seconds = 5.0
        self._address, self._path = address, path
        self._headers = {"Cookie": cookie, "X-Have": ""}

    def poll(self) -> None:
        """Ask for what has changed. Raises Failed where the page does not say which parts it has."""
        answer, body = _get(self._address, self._path, self._headers)
        if answer.status == 304:
            return
        parts = _PART.findall(body)
        if answer.status != 200 or not parts:
            raise Failed(f"the page answers {answer.status}, with {len(parts)} parts")
        self._headers |= {"If-None-Match": answer.getheader("ETag") or "", "X-Have": b",".join(parts).decode()}
        if every := _EVERY.search(body):
            self.every_seconds = float(every[1])
