#!/usr/bin/env python3
"""jobrunner in the harness: a producer, ticks that are started again and again, and samples on stdout. See README.md.

Public surface only: `jobrunner migrate`, `jobrunner tick --linger`, and `enqueue_many` on a connection of psycopg.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from functools import partial
from urllib.parse import urlsplit

from settings import COMMAND, HERE, Settings


def main() -> None:
    settings = Settings.read(os.environ)
    # For the handlers, which the producer imports, too.
    os.environ["BENCH_LEDGER"] = str(settings.file("done"))
    os.environ["WORKER_COUNT"] = str(settings.workers)
    from counts import Counts, now
    from producer import Tokens, produce
    from samples import count_depth, read_ledger, sample
    from ticks import supervise

    counts, tokens = Counts(settings), Tokens()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: counts.stopping.set())
    # Read also where nobody wants them.
    threading.Thread(target=tokens.read, daemon=True).start()
    settings.ledgers.mkdir(parents=True, exist_ok=True)
    (settings.ledgers / f"state-{settings.instance}").mkdir(mode=0o700, exist_ok=True)
    subprocess.run([COMMAND, "migrate"], env=settings.environment(), stdout=sys.stderr, check=True)
    asked = subprocess.run([COMMAND, "--version"], capture_output=True, text=True, check=True)
    manifest = json.loads((HERE / "adapter.json").read_text())
    counts.emit(
        kind="descriptor",
        event_tables=manifest["event_tables"],
        event_indexes=manifest["event_indexes"],
        extensions=manifest["extensions"],
        version=os.environ.get("BENCH_VERSION") or asked.stdout.strip(),
        schema_version=asked.stdout.strip(),
        db_name=urlsplit(settings.database_url).path.lstrip("/"),
        started_at=now(),
    )
    works = (supervise, partial(produce, tokens=tokens), read_ledger, count_depth, sample)
    threads = [threading.Thread(target=work, args=(counts,)) for work in works]
    for thread in threads:
        thread.start()
    while not counts.stopping.wait(0.2):
        if not all(thread.is_alive() for thread in threads):
            counts.log("a thread has ended, so the adapter ends")
            counts.stopping.set()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
