"""What the harness gets every few seconds: rates, latencies and the depth of the queue."""

import os
import time

import psycopg
from counts import Counts, now

_LATENCY_SECONDS = 30.0
_PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def read_ledger(counts: Counts) -> None:
    """Count what the handlers have written: they run in children of the ticks."""
    file = counts.settings.file("done")
    file.touch()
    rest = b""
    with file.open("rb") as ledger:
        ledger.seek(0, os.SEEK_END)
        while not counts.stopping.is_set():
            if not (data := ledger.read(1 << 20)):
                counts.stopping.wait(0.05)
                continue
            *lines, rest = (rest + data).split(b"\n")
            at = time.monotonic()
            for line in lines:
                created, started, ended = (float(word) for word in line.split()[3:6])
                counts.latencies["subscriber"].append((at, (started - created) * 1000))
                counts.latencies["end_to_end"].append((at, (ended - created) * 1000))
            counts.completed += len(lines)


def count_depth(counts: Counts, statements: tuple[str, ...]) -> None:
    """By SQL, as the other adapters do it. One replica is enough for it. A depth without a row is 0."""
    is_target = counts.settings.mode == "depth-target"
    if counts.settings.instance and not is_target:
        counts.stopping.wait()
        return
    connection = counts.connected(autocommit=True)
    while connection is not None and not counts.stopping.is_set():
        try:
            found = [row for statement in statements for row in connection.execute(statement)]
            counts.depths.update(dict.fromkeys(counts.depths, 0) | dict(found))
        except psycopg.Error:
            connection.close()
            connection = counts.connected(autocommit=True)
        counts.stopping.wait(0.1 if is_target else 0.25)


def sample(counts: Counts) -> None:
    """At whole multiples of the interval, so that the systems are sampled at the same instants."""
    every = counts.settings.sample_seconds
    counts.stopping.wait(every - time.time() % every)
    last, before = time.monotonic(), (counts.enqueued, counts.completed)
    while not counts.stopping.wait(every - time.time() % every):
        at, after = time.monotonic(), (counts.enqueued, counts.completed)
        enqueued, completed = ((new - old) / max(0.001, at - last) for new, old in zip(after, before, strict=True))
        last, before = at, after
        metrics = [("enqueue_rate", enqueued, float(every)), ("completion_rate", completed, float(every))]
        metrics += _latencies(counts, at)
        if counts.settings.instance == 0:
            metrics += [(name, float(value), 0.0) for name, value in counts.depths.items()]
            metrics.append(("total_backlog", float(sum(counts.depths.values())), 0.0))
            metrics.append(("producer_target_rate", counts.wanted_rate, 0.0))
        stamp = now()
        for metric, value, window in metrics:
            counts.emit(
                t=stamp,
                kind="adapter",
                subject_kind="adapter",
                subject="",
                metric=metric,
                value=value,
                window_s=window,
            )


def _latencies(counts: Counts, at: float) -> list[tuple[str, float, float]]:
    found = []
    for name, latencies in counts.latencies.items():
        values = sorted(value for when, value in list(latencies) if when >= at - _LATENCY_SECONDS)
        for percentile, part in _PERCENTILES.items():
            value = values[round(part * (len(values) - 1))] if values else 0.0
            # Their name for the time from enqueue to start.
            names = [name, "claim"] if name == "subscriber" else [name]
            found += [(f"{each}_{percentile}_ms", value, _LATENCY_SECONDS) for each in names]
    return found
