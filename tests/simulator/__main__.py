"""Tells the history of a seed, shortened if it fails: ``PYTHONPATH=tests .venv/bin/python -m simulator 4711``."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from simulator import history
from simulator.shrink import shrunk


def main(seed: int) -> None:
    """Run it, and print each step and the problem."""
    with tempfile.TemporaryDirectory(dir=history.in_memory()) as name:
        folder = Path(name)
        migrated = folder / "migrated.db"
        environ = {**os.environ, "JOBRUNNER_DATABASE_URL": f"sqlite:///{migrated}"}
        subprocess.run([Path(sys.executable).with_name("jobrunner"), "migrate"], env=environ, check=True)
        found = shrunk(seed, history.prepared(migrated, folder / "template.db"), folder)
        if found.problem is None:
            found = history.run(seed, folder / "template.db", folder, tells=True)
    print(*found.told, sep="\n")
    print(found.problem or "all promises hold")
    sys.exit(found.problem is not None)


if __name__ == "__main__":
    main(int(sys.argv[1]))
