"""A replica of a system in the harness: starts its threads, and ends them at SIGTERM. A system says what is its own."""

import json
import signal
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from counts import Counts, now
from producer import Tokens, produce
from samples import count_depth, read_ledger, sample


class System(Protocol):
    """What an adapter brings.

    ``depths`` are statements of which each row is the name of a depth and a count. ``prepare`` makes the tables and
    returns the version. ``more_tables`` are those to be watched besides the manifest's. ``enqueue`` is called by the
    thread of the producer only; it raises where no COMMIT was answered.
    """

    depths: tuple[str, ...]

    def prepare(self) -> str: ...

    def more_tables(self) -> list[str]: ...

    def enqueue(self, keys: list[str], created: float) -> None: ...

    def work(self) -> None: ...


def run(counts: Counts, system: System, manifest: Path) -> None:
    """Until SIGTERM, or until a thread has ended."""
    settings, tokens = counts.settings, Tokens()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: counts.stopping.set())
    # Read also where nobody wants them.
    threading.Thread(target=tokens.read, daemon=True).start()
    settings.ledgers.mkdir(parents=True, exist_ok=True)
    version = system.prepare()
    declared = json.loads(manifest.read_text())
    counts.emit(
        kind="descriptor",
        event_tables=declared["event_tables"] + system.more_tables(),
        event_indexes=declared["event_indexes"],
        extensions=declared["extensions"],
        version=settings.version or version,
        schema_version=version,
        db_name=urlsplit(settings.database_url).path.lstrip("/"),
        started_at=now(),
    )
    works: tuple[Callable[[], None], ...] = (
        system.work,
        partial(produce, counts, tokens, system.enqueue),
        partial(read_ledger, counts),
        partial(count_depth, counts, system.depths),
        partial(sample, counts),
    )
    _run_all(counts, [threading.Thread(target=work) for work in works])


def _run_all(counts: Counts, threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    while not counts.stopping.wait(0.2):
        if not all(thread.is_alive() for thread in threads):
            counts.log("a thread has ended, so the adapter ends")
            counts.stopping.set()
    for thread in threads:
        thread.join()
