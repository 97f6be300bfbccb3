"""Guarded effects and own transactions without a tick: the work of runs that are running by their rows alone.

What a crash does at a point, a forked process shows in milliseconds: it does the work of a run and is killed there.
"""

import asyncio
import contextlib
import inspect
import os
import signal
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from secrets import token_hex
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from sqlalchemy import text

from harness import Database
from harness.at_work import OWNER, running
from jobrunner import Context, failpoints, job
from jobrunner.effects.database import ChildDatabase
from jobrunner.effects.once import EffectRun
from jobrunner.effects.run import RunEffects
from jobrunner.jobs.effect import Effect, NotApplied
from jobrunner.model import Lease

_opened: list[ChildDatabase] = []


def effects_of(url: str, lease: Lease, *, lease_seconds: float = 60) -> RunEffects:
    """The effects of a run, as its child has them. Call ``close_all`` at the end of the test."""
    run = EffectRun(lease, "append", 1, 10_000)
    _opened.append(ChildDatabase(url, lease_seconds))
    return RunEffects(_opened[-1], run, contextlib.nullcontext)


def close_all() -> None:
    while _opened:
        _opened.pop().close()


class OtherSide:
    """Where the effects happen: a file outside the database, with a line for each call that arrived."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def send(self, key: str) -> dict[str, str]:
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(descriptor, f"{key}\n".encode())
        os.close(descriptor)
        return {"message_id": key}

    def ask(self, effect: Effect) -> dict[str, str]:
        """What a provider answers that knows the keys of all calls."""
        if effect.key not in self.calls():
            raise NotApplied("not here")
        return {"message_id": effect.key}

    def calls(self) -> Counter[str]:
        return Counter(self.path.read_text().splitlines()) if self.path.exists() else Counter()


class LostRun:
    """A run that is recovered and claimed again and again: each lease has another token, as after a crash."""

    def __init__(self, database: Database) -> None:
        (lease,) = running(database, 1)
        self.run_id = lease.run_id
        self._database = database

    def claim(self) -> Lease:
        lease = Lease(self.run_id, token_hex(16))
        now = self._database.now()
        self._database.execute(
            "UPDATE job_runs SET status = 'running', lease_token = ?, locked_by = ?, host = 'here', locked_until = ?,"
            " finished_at = NULL, attempts = 1, max_attempts = 5 WHERE id = ?",
            [lease.token, OWNER.name, now, self.run_id],
        )
        return lease


def state(database: Database, run: LostRun) -> tuple[str, int]:
    """The status of the run, and how often its work was done: each time is a row of the table things."""
    status = database.value("SELECT status FROM job_runs WHERE id = ?", [run.run_id])
    return status, database.value("SELECT count(*) FROM things")


def place_order(database: Database, run: LostRun, example: str) -> None:
    """Have the run call the handler of an example, and find the order, the run's end and the mail's run committed."""
    database.execute("CREATE TABLE orders (item TEXT)")
    namespace: dict[str, Any] = {"text": text, "job": job, "Context": Context}
    exec("@job('confirm')\ndef confirm(ctx, item): pass\n" + example, namespace)
    lease = run.claim()
    own = effects_of(database.url, lease)
    context = Context(lease.run_id, "place_order", 1, 5, None, timedelta(0), None, _own=own)
    done = namespace["place_order"].function(context, item="book")
    if inspect.iscoroutine(done):
        asyncio.run(done)
    assert database.query("SELECT item FROM orders") == [{"item": "book"}]
    rows = database.query("SELECT job_type, status, payload, result FROM job_runs ORDER BY id")
    assert [tuple(row.values()) for row in rows] == [
        ("append", "succeeded", {}, {"ordered": "book"}),
        ("confirm", "queued", {"item": "book"}, None),
    ]


def crash(fault: str, work: Callable[[], object]) -> int:
    """Do the work in a process of its own that has this fault. Returns how it ended: its status or minus a signal."""
    pid = os.fork()
    if not pid:
        code = 1
        with contextlib.suppress(BaseException):
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(20)
            with open(os.devnull, "w") as nothing:
                os.dup2(nothing.fileno(), 2)
            failpoints._wanted = fault
            work()
            code = 0
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@contextlib.contextmanager
def answers_lost(url: str) -> Iterator[tuple[str, list[int]]]:
    """A URL through a proxy. With ``[n]`` in the list, the answer to the n-th COMMIT from now on never arrives."""
    parts = urlsplit(url)
    target = (str(parts.hostname), int(parts.port or 5432))
    lost: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        acceptor = threading.Thread(target=_accept, args=(listener, target, lost), daemon=True)
        acceptor.start()
        place = f"{parts.username}:{parts.password}@127.0.0.1:{listener.getsockname()[1]}"
        yield urlunsplit(parts._replace(netloc=place, query="sslmode=disable&gssencmode=disable")), lost
        listener.shutdown(socket.SHUT_RDWR)
        acceptor.join()


def _accept(listener: socket.socket, target: tuple[str, int], lost: list[int]) -> None:
    with contextlib.suppress(OSError):
        while True:
            client, _ = listener.accept()
            server = socket.create_connection(target)
            doomed = threading.Event()
            for part in ((client, server, lost, doomed), (server, client, None, doomed)):
                threading.Thread(target=_forward, args=part, daemon=True).start()


def _forward(source: socket.socket, sink: socket.socket, lost: list[int] | None, doomed: threading.Event) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            if lost and b"COMMIT" in data:
                lost[0] -= 1
                if not lost[0]:
                    lost.clear()
                    doomed.set()
            elif lost is None and doomed.is_set():
                break
            sink.sendall(data)
    for each in (source, sink):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
    if lost is None:
        source.close()
        sink.close()


def rows_of_effects(database: Database) -> dict[str, dict[str, Any]]:
    return {row["key"]: row for row in database.query("SELECT * FROM job_effects")}
