"""huey on SQLite: `setup`, `fill N`, `enqueue N`, `drain`.

It has no one-shot mode: the loop of its own worker, dequeue and execute, until nothing is left, in one process. At
default settings, results and all; its default durability is the pragma `synchronous` as SQLite has it, FULL. At best:
without results.
"""

import os
import sys
import time

from huey import SqliteHuey

huey = SqliteHuey(
    filename=os.environ["BENCH_URL"].removeprefix("sqlite:///"), results=os.environ.get("BENCH_SETTINGS") != "best"
)


@huey.task()
def noop() -> None:
    pass


def enqueue(count: int) -> None:
    noop()
    began = time.perf_counter()
    for _ in range(count - 1):
        noop()
    print((count - 1) / (time.perf_counter() - began))


def main(action: str, *words: str) -> None:
    if action == "fill":
        for _ in range(int(words[0])):
            noop()
    elif action == "enqueue":
        enqueue(int(words[0]))
    while action == "drain" and (message := huey.dequeue()) is not None:
        huey.execute(message)


if __name__ == "__main__":
    main(*sys.argv[1:])
