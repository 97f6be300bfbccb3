"""The application: it enqueues in transactions of its own, and tells the witness which of them were acknowledged.

`python -m proof.load URL_FILE WITNESS RATE` reads a word on each line of its input: ``go PHASE``, ``more`` (from now
on it enqueues the type that only the new code has, too) and ``stop``, which it answers with a line of JSON.
"""

import contextlib
import json
import queue
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psycopg

import jobrunner
from proof.witness import Teller

_TURN_SECONDS, _LONGEST_TURN_SECONDS = 0.1, 1.0
_WAITING_AT_MOST_SECONDS = 2.0
"""The application does not enqueue more than its hosts do in this time."""
_EACH_TURN = {"keyed": 3, "own": 3, "limited": 2, "added": 2}


class Load:
    """What is enqueued, in turns of a tenth of a second."""

    def __init__(self, url_file: Path, teller: Teller, rate: int) -> None:
        self._url_file = url_file
        self._teller = teller
        self._rate = rate
        self._number = 0
        self._connection: psycopg.Connection[Any] | None = None
        self._open_keys: list[str] = []
        self._looked_at = 0.0
        self._turned_at = 0.0
        self._is_full = False
        self._has_more = False
        self.phase = ""
        self.acknowledged = 0
        self.failures = 0

    def begin(self, phase: str) -> None:
        self.phase, self.acknowledged, self.failures = phase, 0, 0
        self._turned_at = time.monotonic()

    def enqueue_the_new_type(self) -> None:
        self._has_more = True

    def turn(self) -> None:
        """One turn's enqueues. A failure ends it: what was not acknowledged is nobody's promise."""
        now = time.monotonic()
        seconds, self._turned_at = min(now - self._turned_at, _LONGEST_TURN_SECONDS), now
        try:
            if not self._must_wait():
                self._many("short", max(1, int(self._rate * seconds)))
                self._keyed()
                for job_type, count in _EACH_TURN.items():
                    if job_type != "keyed" and (job_type != "added" or self._has_more):
                        self._many(job_type, count)
                self._family()
        except (psycopg.Error, jobrunner.JobrunnerError):
            self._lose_connection()

    def finish(self) -> bool:
        """Enqueue what has a key and was not acknowledged until it is. Returns whether all of it is."""
        deadline = time.monotonic() + 30
        while self._open_keys and time.monotonic() < deadline:
            try:
                self._again()
            except (psycopg.Error, jobrunner.JobrunnerError):
                self._lose_connection()
                time.sleep(0.2)
        return not self._open_keys

    def _many(self, job_type: str, count: int) -> None:
        tokens = self._tokens(job_type, count)
        self._teller.tell("asked", tokens)
        with self._transaction() as connection:
            jobrunner.enqueue_many(connection, job_type, [{"token": each} for each in tokens])
        self._acknowledge(tokens)

    def _keyed(self) -> None:
        """Each key is enqueued twice, in two transactions, as by two requests of one user."""
        tokens = self._tokens("keyed", _EACH_TURN["keyed"])
        self._open_keys += tokens
        self._again()
        self._open_keys += tokens[:1]
        self._again()

    def _again(self) -> None:
        for token in list(self._open_keys):
            self._teller.tell("asked", [token])
            with self._transaction() as connection:
                run = jobrunner.enqueue(connection, "keyed", {"token": token}, key=token)
            self._open_keys.remove(token)
            self._acknowledge([token], run.id)

    def _family(self) -> None:
        """A run that follows two others, all in one transaction."""
        parents, (child,) = self._tokens("part", 2), self._tokens("whole", 1)
        self._teller.tell("asked", [*parents, child])
        with self._transaction() as connection:
            runs = [jobrunner.enqueue(connection, "part", {"token": each}) for each in parents]
            jobrunner.enqueue(connection, "whole", {"token": child}, after=[run.id for run in runs])
        self._acknowledge(parents)
        self._acknowledge([child], detail=" ".join(parents))

    def _acknowledge(self, tokens: list[str], run: int = 0, detail: str = "") -> None:
        self._teller.tell("acked", tokens, run, detail)
        self.acknowledged += len(tokens)

    def _tokens(self, job_type: str, count: int) -> list[str]:
        first, self._number = self._number, self._number + count
        return [f"{self.phase}-{job_type}-{number}" for number in range(first, self._number)]

    def _must_wait(self) -> bool:
        """Whether so much waits already that more would only wait longer."""
        now = time.monotonic()
        if now - self._looked_at > 0.5:
            self._looked_at = now
            most = int(self._rate * _WAITING_AT_MOST_SECONDS)
            question = f"SELECT count(*) FROM (SELECT FROM job_runs WHERE status = 'queued' LIMIT {most}) AS waiting"
            with self._transaction() as connection:
                row = connection.execute(question).fetchone()
            self._is_full = bool(row and row[0] >= most)
        return self._is_full

    @contextlib.contextmanager
    def _transaction(self) -> Any:
        if self._connection is None or self._connection.closed:
            url = self._url_file.read_text().strip()
            self._connection = psycopg.connect(url, prepare_threshold=None, connect_timeout=3)
        with self._connection.transaction():
            yield self._connection

    def _lose_connection(self) -> None:
        self.failures += 1
        if self._connection is not None:
            with contextlib.suppress(psycopg.Error):
                self._connection.close()
        self._connection = None


def main() -> None:
    words: queue.Queue[list[str]] = queue.Queue()
    threading.Thread(target=_listen, args=(words,), daemon=True).start()
    load = Load(Path(sys.argv[1]), Teller(sys.argv[2]), int(sys.argv[3]))
    began, is_going = 0.0, False
    while True:
        due = time.monotonic() + _TURN_SECONDS
        with contextlib.suppress(queue.Empty):
            match words.get(timeout=None if not is_going else 0.001):
                case ["go", phase]:
                    load.begin(phase)
                    began, is_going = time.monotonic(), True
                case ["more"]:
                    load.enqueue_the_new_type()
                case ["stop"]:
                    is_going, seconds = False, time.monotonic() - began
                    is_whole = load.finish()
                    told = {"acknowledged": load.acknowledged, "failures": load.failures, "seconds": seconds}
                    print(json.dumps({**told, "is_whole": is_whole}), flush=True)
                case _:
                    return
        if is_going:
            load.turn()
            time.sleep(max(0.0, due - time.monotonic()))


def _listen(words: "queue.Queue[list[str]]") -> None:
    for line in sys.stdin:
        words.put(line.split())
    words.put([])


if __name__ == "__main__":
    main()
