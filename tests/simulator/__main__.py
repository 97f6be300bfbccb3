"""Tells the history of a seed, shortened if it fails: ``PYTHONPATH=tests .venv/bin/python -m simulator 4711``.

With ``--database URL`` it is the history on this server, where the user of the URL may create databases.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.databases import Copies
from harness.postgres import external_access
from simulator import history
from simulator.places import ServerPlace
from simulator.shrink import shrunk


def main(seed: int, url: str | None) -> None:
    """Run it, and print each step and the problem."""
    with tempfile.TemporaryDirectory(dir=history.in_memory()) as name:
        folder = Path(name)
        with _on_server(url) if url else _on_file(folder) as template:
            found = shrunk(seed, template, folder)
    print(*found.told, sep="\n")
    print(found.problem or "all promises hold")
    sys.exit(found.problem is not None)


@contextmanager
def _on_file(folder: Path) -> Iterator[Path]:
    migrated = folder / "migrated.db"
    environ = {**os.environ, "JOBRUNNER_DATABASE_URL": f"sqlite:///{migrated}"}
    subprocess.run([Path(sys.executable).with_name("jobrunner"), "migrate"], env=environ, check=True)
    yield history.prepared(migrated, folder / "template.db")


@contextmanager
def _on_server(url: str) -> Iterator[ServerPlace]:
    copies = Copies(external_access(url))
    place = ServerPlace(copies)
    try:
        yield place
    finally:
        place.close()
        copies.drop(copies.template)
        copies.access.forget_session()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="simulator", description="Tell the history of a seed.")
    parser.add_argument("seed", type=int)
    parser.add_argument("--database", metavar="URL", help="run it on this server, in databases of its own")
    given = parser.parse_args()
    main(given.seed, given.database)
