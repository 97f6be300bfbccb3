"""celery on Redis: `setup`, `fill N`, `left N`, `drain WORDS`, in its prefork pool.

It has no one-shot mode: its own worker, told to stop once all jobs have left their mark in a file. At best: more jobs
taken ahead, and nothing of what several workers tell each other. Redis as it is by default: it does not wait for
the disk.
"""

import os
import signal
import sys
import time
from pathlib import Path
from threading import Thread

from celery import Celery
from celery.signals import worker_ready

app = Celery("celery_app", broker=os.environ["BENCH_URL"].replace("unix://", "redis+socket://"))
app.conf.broker_connection_retry_on_startup = True
marks = Path(os.environ["BENCH_URL"].removeprefix("unix://")).with_name("marks")
file = os.open(marks, os.O_CREAT | os.O_APPEND | os.O_WRONLY)


@app.task(name="noop", ignore_result=True)
def noop() -> None:
    os.write(file, b".")


@worker_ready.connect
def watch(**_: object) -> None:
    def until_all_ran() -> None:
        while marks.stat().st_size < int(os.environ["BENCH_COUNT"]):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    Thread(target=until_all_ran, daemon=True).start()


def main(action: str, *words: str) -> None:
    if action == "fill":
        with app.producer_pool.acquire() as producer:
            for _ in range(int(words[0])):
                noop.apply_async(producer=producer)
    elif action == "left" and marks.stat().st_size != int(words[0]):
        sys.exit(f"{marks.stat().st_size} of {words[0]} jobs ran")
    elif action == "drain":
        app.worker_main(["worker", "--loglevel", "ERROR", *words])


if __name__ == "__main__":
    main(*sys.argv[1:])
