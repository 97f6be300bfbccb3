"""A copy of the package in which files are changed, to try what follows from a change."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from harness.pages import ROOT

Run = Callable[..., subprocess.CompletedProcess[str]]


def copy_with(folder: Path, *added: tuple[str, str, str]) -> Run:
    """A copy with, for each file, a line and what comes after it. Returns what executes the commands of the copy.

    ``python=True``: it executes Python instead. What is compiled is copied, too: only changed files are compiled again.
    """
    for name in ("jobrunner", "alembic", "scripts"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.pyc.*"))
    for name, line, new in added:
        text = (folder / name).read_text("utf-8")
        assert text.count(line) == 1, name
        (folder / name).write_text(text.replace(line, line + new), "utf-8")

    def run(*words: str, python: bool = False, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PYTHONPATH": str(folder),
            "JOBRUNNER_DATABASE_URL": f"sqlite:///{folder}/runs.db",
            "JOBRUNNER_STATE_DIR": str(folder / "state"),
            **variables,
        }
        command = [sys.executable, "-P", *([] if python else ["-m", "jobrunner"]), *words]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)

    return run
