"""Enqueues: at the harness's word on stdin, at a rate of our own, or up to a depth."""

import os
import queue
import sys
import time
from collections.abc import Callable, Iterator

from counts import Counts

_TOKEN = b"ENQUEUE "
_WAIT_SECONDS = 0.1


class Tokens:
    """`ENQUEUE n` of the harness, which writes them also to an adapter that does not want them.

    It hangs at its end if nobody reads them: the pipe is full after 64 KiB.
    """

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[int] = queue.SimpleQueue()

    def read(self) -> None:
        """Until the end of stdin."""
        rest = b""
        while data := os.read(sys.stdin.fileno(), 1 << 16):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                if line.startswith(_TOKEN):
                    self._waiting.put(int(line.removeprefix(_TOKEN)))

    def next(self) -> int:
        """How many to enqueue; 0 if there was no word for a while."""
        try:
            return self._waiting.get(timeout=_WAIT_SECONDS)
        except queue.Empty:
            return 0


def produce(counts: Counts, tokens: Tokens, enqueue: Callable[[list[str], float], None]) -> None:
    """The ledger has each key, and whether its COMMIT was answered."""
    settings, sequence = counts.settings, 0
    with settings.file("enqueued").open("a") as ledger:
        for count in _batches(counts, tokens):
            created = time.time()
            keys = [f"{settings.instance}-{os.getpid()}-{sequence + number}" for number in range(count)]
            sequence += count
            began = time.monotonic()
            answer = "yes"
            try:
                enqueue(keys, created)
            except Exception as error:  # the connection was cut, perhaps after the COMMIT
                answer = "maybe"
                counts.log(f"enqueue failed: {type(error).__name__}: {str(error).splitlines()[0]}")
            ledger.writelines(f"{key} {answer}\n" for key in keys)
            ledger.flush()
            if answer == "yes":
                took = (time.monotonic() - began) * 1000 / count
                counts.latencies["producer"].extend((began, took) for _ in range(count))
                counts.enqueued += count


def _batches(counts: Counts, tokens: Tokens) -> Iterator[int]:
    if counts.settings.mode == "depth-target":
        yield from _up_to_depth(counts)
    elif counts.settings.is_paced:
        while not counts.stopping.is_set():
            if count := tokens.next():
                yield count
    else:
        yield from _at_rate(counts)


def _up_to_depth(counts: Counts) -> Iterator[int]:
    counts.wanted_rate = 0.0
    while not counts.stopping.is_set():
        count = min(counts.settings.batch_max, counts.settings.target_depth - counts.depths["queue_depth"])
        if count > 0:
            # Until the depth is looked at again.
            counts.depths["queue_depth"] += count
            yield count
        else:
            counts.stopping.wait(0.02)


def _at_rate(counts: Counts) -> Iterator[int]:
    settings, credit, last = counts.settings, 0.0, time.monotonic()
    while not counts.stopping.is_set():
        counts.wanted_rate = _rate(counts)
        counts.stopping.wait(max(0.0, settings.batch_seconds - (time.monotonic() - last)))
        at = time.monotonic()
        # By the time that has really gone by, as the harness asks for it.
        credit += counts.wanted_rate * (at - last)
        last = at
        count = min(settings.batch_max, int(credit))
        credit -= count
        if count:
            yield count


def _rate(counts: Counts) -> float:
    file = counts.settings.rate_file
    try:
        return counts.settings.rate if file is None else float(file.read_text())
    except (OSError, ValueError):
        return counts.settings.rate
