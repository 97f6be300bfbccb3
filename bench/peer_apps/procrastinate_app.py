"""procrastinate: `setup`, `fill N`; its own command drains. At best: as many at once as helps, done jobs deleted."""

import os
import sys

import procrastinate

app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=os.environ["BENCH_URL"]))


@app.task(name="noop")
def noop() -> None:
    pass


@app.task(name="noop_async")
async def noop_async() -> None:
    pass


def main(action: str, *words: str) -> None:
    with app.open():
        if action == "setup":
            app.schema_manager.apply_schema()
        else:
            (noop_async if words[1] == "best" else noop).batch_defer(*({} for _ in range(int(words[0]))))


if __name__ == "__main__":
    main(*sys.argv[1:])
