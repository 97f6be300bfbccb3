"""huey on SQLite: `setup`, `fill N`, `drain`.

It has no one-shot mode: the loop of its own worker, dequeue and execute, until nothing is left, in one process. At
default settings, results and all; its default durability is the pragma `synchronous` as SQLite has it, FULL. At best:
without results.
"""

import os
import sys

from huey import SqliteHuey

huey = SqliteHuey(
    filename=os.environ["BENCH_URL"].removeprefix("sqlite:///"), results=os.environ.get("BENCH_SETTINGS") != "best"
)


@huey.task()
def noop() -> None:
    pass


def main(action: str, *words: str) -> None:
    if action == "fill":
        for _ in range(int(words[0])):
            noop()
    while action == "drain" and (message := huey.dequeue()) is not None:
        huey.execute(message)


if __name__ == "__main__":
    main(*sys.argv[1:])
