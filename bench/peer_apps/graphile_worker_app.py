"""graphile-worker: `setup`, `fill N`; its own command, `--once`, drains. At best: best.config.js beside this file.

Not an application of its own but what fills its queue: the job is graphile_worker/tasks/noop.js.
"""

import os
import subprocess
import sys

import psycopg

URL = os.environ["BENCH_URL"]
FILL = "SELECT count(graphile_worker.add_job('noop')) FROM generate_series(1, %s)"


def main(action: str, *words: str) -> None:
    if action == "setup":
        subprocess.run([os.environ["BENCH_PROGRAM"], "--schema-only", "-c", URL], check=True, stdout=subprocess.DEVNULL)
        return
    with psycopg.connect(URL) as connection:
        connection.execute(FILL, [int(words[0])])


if __name__ == "__main__":
    main(*sys.argv[1:])
