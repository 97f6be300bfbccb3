"""rq: `setup`, `fill N`, `left N`; its own command, `rq worker --burst`, drains, with a fork for each job.

At best: in its own process (SimpleWorker), without a log. Redis as it is by default: it does not wait for the disk.
"""

import os
import sys

from redis import Redis
from rq import Queue
from rq.registry import FinishedJobRegistry


def noop() -> None:
    pass


def main(action: str, *words: str) -> None:
    queue = Queue(connection=Redis.from_url(os.environ["BENCH_URL"]))
    if action == "fill":
        queue.enqueue_many([Queue.prepare_data("rq_app.noop") for _ in range(int(words[0]))])
    elif action == "left":
        finished = FinishedJobRegistry(queue=queue).count
        if (queue.count, finished) != (0, int(words[0])):
            sys.exit(f"{queue.count} waiting, {finished} finished")


if __name__ == "__main__":
    main(*sys.argv[1:])
