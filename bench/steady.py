"""A steady stream of runs for a long time: the producer, a tick each minute as cron starts it, and samples."""

import json
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from plan import median
from processes import Failed, Running
from sizes import POSTGRESQL, SQLITE
from stage import Queue

import jobrunner
from harness.commands import COMMAND

_TICK_SECONDS = 60.0
_BATCH_SECONDS = 0.1
_SAMPLES = 120
_SHORTEST_LOOK_SECONDS = 0.5
_NEWEST_STARTS = 1000
_SEARCHES = 5
# What a claim reads, without a lock: it searches the same index, among the same dead entries.
_SEARCH = (
    "SELECT id FROM job_claimable WHERE job_type = 'noop' AND lease_expiries < 2 ORDER BY turn_at, run_at, id LIMIT 100"
)
_STARTED = "SELECT started_at, due_at FROM job_attempts"
_STARTS = f"{_STARTED} ORDER BY id DESC LIMIT {_NEWEST_STARTS}"
# Ids are given one after the other: as many have ended as attempts were written.
_DONE = "SELECT coalesce(max(id), 0) AS n FROM job_attempts"
_KEPT = "SELECT count(*) AS n FROM job_runs WHERE finished_at IS NOT NULL"
_TABLES = ("job_runs", "job_attempts")
_BYTES = {
    POSTGRESQL: "SELECT " + " + ".join(f"pg_total_relation_size('{each}')" for each in _TABLES) + " AS n",
    SQLITE: "SELECT (page_count - freelist_count) * page_size AS n"
    " FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
}
_DEAD = "SELECT sum(n_dead_tup) AS n FROM pg_stat_user_tables WHERE relname IN ('job_runs', 'job_attempts')"
_CLAIM_BYTES = "SELECT pg_relation_size('job_runs_claim') AS n"

Sample = dict[str, float]


@dataclass
class Stream:
    """So many runs a second, for so long. ``file`` gets each sample as it is taken, so that a run cut off has them.

    ``is_watched`` False: a sample has only what costs the server nothing.
    """

    queue: Queue
    database: str
    rate: int
    seconds: float
    file: Path
    is_watched: bool = True
    samples: list[Sample] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)
    _trouble: list[BaseException] = field(default_factory=list)
    _enqueued: int = 0

    @property
    def keep_seconds(self) -> float:
        """How long a run is kept: a quarter of the time, so that what is deleted counts, too."""
        return max(1.0, self.seconds / 4)

    def run(self, each_look: Callable[[float], None] = lambda _: None) -> None:
        """From the end of the first run on. ``each_look`` is called before each sample with the seconds since then."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text("")
        threads = [threading.Thread(target=self._guarded, args=(work,)) for work in (self._produce, self._ticks)]
        for each in threads:
            each.start()
        try:
            self._look(each_look)
        finally:
            self._over.set()
            for each in threads:
                each.join()
        if self._trouble:
            raise Failed(f"the stream has ended early: {self._trouble[0]}") from self._trouble[0]
        done = self.queue.database.value("SELECT count(*) AS n FROM job_runs WHERE finished_at IS NULL")
        if done:
            raise Failed(f"{done} of {self._enqueued} runs are not done")

    def between(self, first: float, last: float, name: str) -> float:
        """The median of a figure in the samples between two parts of the time, from 0 to 1."""
        since, until = first * self.seconds, last * self.seconds
        return median([each[name] for each in self.samples if since < each["seconds"] <= until and name in each])

    def starts_within(self, share: float, after: int) -> float:
        """Within how many milliseconds so large a share of the runs began, of the attempts after that one."""
        rows = self.queue.database.query(f"{_STARTED} WHERE id > ?", [after])
        waits = sorted((row["started_at"] - row["due_at"]).total_seconds() for row in rows)
        return waits[int(len(waits) * share)] * 1000

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # a thread's error would only be printed
            self._trouble.append(error)
            self._over.set()

    def _produce(self) -> None:
        began = time.monotonic()
        with closing(self.queue.open()) as connection:
            while not self._over.wait(_BATCH_SECONDS):
                due = int((time.monotonic() - began) * self.rate) - self._enqueued
                if due > 0:
                    jobrunner.enqueue_many(connection, "noop", [{}] * due)
                    connection.commit()
                    self._enqueued += due

    def _ticks(self) -> None:
        """One each minute. The next one takes over from it; the last one is told to end when nothing is left."""
        alive: list[Running] = []
        keep = f"{self.keep_seconds:.0f}s"
        while not self._over.is_set():
            alive.append(self.queue.start("--linger", command=("env", f"JOBRUNNER_KEEP_SUCCEEDED={keep}", COMMAND)))
            self._over.wait(_TICK_SECONDS)
            for each in [each for each in alive[:-1] if each.has_ended()]:
                alive.remove(each)
                each.wait()
        until = time.monotonic() + _TICK_SECONDS
        while self.queue.left() and time.monotonic() < until:
            time.sleep(_BATCH_SECONDS)
        for each in alive:
            with suppress(ProcessLookupError):
                each.stop()
            each.wait()

    def _look(self, each_look: Callable[[float], None]) -> None:
        while not self.queue.database.value(_DONE) and not self._over.wait(_BATCH_SECONDS):
            pass
        began, every = time.monotonic(), max(_SHORTEST_LOOK_SECONDS, self.seconds / _SAMPLES)
        last: Sample = {"seconds": 0.0, "done": float(self.queue.database.value(_DONE))}
        while (seconds := time.monotonic() - began) < self.seconds and not self._over.wait(every):
            seconds = time.monotonic() - began
            each_look(seconds)
            found = self._sample(seconds)
            found["rate"] = (found["done"] - last["done"]) / (seconds - last["seconds"])
            last = found
            self.samples.append(found)
            with self.file.open("a") as file:
                file.write(json.dumps(found) + "\n")

    def _sample(self, seconds: float) -> Sample:
        asked = self.queue.database
        done = float(asked.value(_DONE))
        if not self.is_watched:
            return {"seconds": seconds, "done": done}
        kept = max(1, int(asked.value(_KEPT)))
        since = asked.now() - timedelta(seconds=self.keep_seconds)
        to_keep = int(asked.value(f"{_KEPT} AND finished_at > ?", [since]))
        found: Sample = {
            "seconds": seconds,
            "done": done,
            "kept": kept,
            "to_keep": max(1, to_keep),
            "bytes_of_a_run": float(asked.value(_BYTES[self.database])) / kept,
            "search_ms": self._search_ms(),
        }
        waits = sorted((row["started_at"] - row["due_at"]).total_seconds() for row in asked.query(_STARTS))
        if waits:
            found["start_ms"] = waits[len(waits) * 95 // 100] * 1000
        if self.database == POSTGRESQL:
            found["dead_for_each"] = max(1.0, float(asked.value(_DEAD) or 0)) / kept
            found["claim_bytes"] = float(asked.value(_CLAIM_BYTES))
        return found

    def _search_ms(self) -> float:
        times = []
        with closing(self.queue.open()) as connection:
            if self.database == POSTGRESQL:
                connection.execute("SET enable_seqscan = off")
            for _ in range(_SEARCHES):
                began = time.perf_counter()
                connection.execute(_SEARCH).fetchall()
                times.append(time.perf_counter() - began)
            connection.rollback()
        return median(times) * 1000
