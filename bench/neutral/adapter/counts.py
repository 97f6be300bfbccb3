"""What the threads of the adapter know together, and its lines on stdout and stderr."""

import json
import sys
import threading
import time
from collections import deque
from datetime import UTC, datetime
from typing import Any

import psycopg
from settings import Settings

_MOST_LATENCIES = 32_768


class Counts:
    """Written by one thread each, read by the samples."""

    def __init__(self, settings: Settings, system: str) -> None:
        self.settings, self.system = settings, system
        self.stopping = threading.Event()
        self.enqueued = 0
        self.completed = 0
        self.depths = {"queue_depth": 0, "running_depth": 0, "retryable_depth": 0}
        self.wanted_rate = settings.rate
        # When a latency was measured, and the milliseconds. The harness asks for bounded memory.
        self.latencies: dict[str, deque[tuple[float, float]]] = {
            name: deque(maxlen=_MOST_LATENCIES) for name in ("producer", "subscriber", "end_to_end")
        }

    def emit(self, **record: Any) -> None:
        """A line for the harness."""
        line = {"instance_id": self.settings.instance, "system": self.system, **record}
        print(json.dumps(line), flush=True)

    def log(self, text: str) -> None:
        print(
            f"[{self.system}-{self.settings.instance}] {time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True
        )

    def connected(self, *, autocommit: bool = False) -> "psycopg.Connection[Any] | None":
        """A connection, tried again until there is one; None once the adapter is to stop."""
        while not self.stopping.is_set():
            try:
                return psycopg.connect(self.settings.database_url, autocommit=autocommit, connect_timeout=5)
            except psycopg.Error:
                self.stopping.wait(0.2)
        return None


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
