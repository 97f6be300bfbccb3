"""Released versions, from the wheels in tests/releases, beside the code of this checkout."""

import fcntl
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.commands import Commands, Completed
from harness.installation import ROOT
from harness.processes import Patient

WHEELS = ROOT / "tests" / "releases"
FIRST = "0.1.0"
FIRST_SCHEMA = 1


class Release:
    """The command of a released version, in the environment of the tests and on the test's database."""

    def __init__(self, jobrunner: Commands, folder: Path) -> None:
        self.app = jobrunner.app
        self.database = jobrunner.database
        self.environment = {"PYTHONPATH": str(folder)}
        self._jobrunner = jobrunner

    def __call__(self, *words: object, env: Mapping[str, str | None] | None = None, **options: Any) -> Completed:
        return self._jobrunner(*words, env={**(env or {}), **self.environment}, cold=True, **options)

    def start(
        self, *words: object, env: Mapping[str, str | None] | None = None, **options: Any
    ) -> "subprocess.Popen[str]":
        return self._jobrunner.start(*words, env={**(env or {}), **self.environment}, cold=True, **options)

    def start_python(self, source: str, *words: object) -> "subprocess.Popen[str]":
        """An application that imports this version."""
        return Patient(
            [sys.executable, "-P", "-c", source, *map(str, words)],
            env=self._jobrunner.environment(self.environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def refused(self, code: int | None, *words: object, says: Iterable[str] = ()) -> str:
        return self._jobrunner.refused(code, *words, says=says, env=self.environment, cold=True)


@pytest.fixture(scope="session")
def first_release_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the wheel, unpacked once for all workers."""
    folder = tmp_path_factory.getbasetemp().parent / f"release {FIRST}"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            (wheel,) = WHEELS.glob(f"*-{FIRST}-*.whl")
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder)
    return folder


@pytest.fixture
def first_release(jobrunner: Commands, first_release_folder: Path) -> Release:
    """The first release, whose tables the test's database has in place of today's."""
    release = Release(jobrunner, first_release_folder)
    jobrunner("downgrade", 0, "--delete-data")
    release("migrate")
    return release
