"""Django's own tests of its tasks, as its package brings them, made to run on our backend. None of them is here."""

import json
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import NamedTuple

from harness.commands import clean_environment
from harness.database import Database
from harness.django_project import settings_of

PARTS = Path(__file__).parents[1] / "django_suite"
FILES = ("tasks.py", "test_dummy_backend.py", "test_immediate_backend.py", "test_tasks.py")
_OURS = (
    # The backends of which the tests speak.
    (r"django\.tasks\.backends\.(dummy|immediate)\.", "adapters."),
    (r"from django\.tasks\.backends\.(dummy|immediate) import", "from adapters import"),
    # Their backends need no database, and ours does.
    (r"\b(SimpleTestCase|TransactionTestCase)\b", "DatabaseTestCase"),
    # It would take jobrunner's app away, too.
    (r"available_apps = \[\]", "available_apps = None"),
    (r"(from django\.test import) (.*)\n", r"\1 override_settings\nfrom cases import DatabaseTestCase\n"),
)
_OF_THE_BACKPORT = (
    (r"django\.tasks\b", "django_tasks"),
    (r"\b(InvalidTask|InvalidTaskBackend)\b", r"\1Error"),
    (r"support async Tasks", "support async tasks"),
)
_RED = re.compile(r"^(?:FAIL|ERROR): (\w+) \(tasks\.(\w+)\.", re.MULTILINE)


class Outcome(NamedTuple):
    """``red`` are the tests that did not pass, as in ``test_tasks.test_naive_datetime``."""

    ran: int
    red: set[str]
    text: str


class Suite:
    """The tests in a folder, with the project around them.

    ``python`` has Django 6, or the backport of the tasks of Django 6.0. Packages are kept in the folder ``packages``.
    """

    def __init__(self, folder: Path, python: Path, packages: Path) -> None:
        self.folder, self._python = folder, python
        shutil.copytree(PARTS, folder, ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "tasks").mkdir()
        version = subprocess.check_output([python, "-m", "django", "--version"], text=True).strip()
        is_backport = int(version.partition(".")[0]) < 6
        changes = [*_OURS, *(_OF_THE_BACKPORT if is_backport else ())]
        asked = "django>=6,<6.1" if is_backport else f"django=={version}"
        for name, original in fetched(packages / asked, asked).items():
            text = original
            for pattern, by in changes:
                text = re.sub(pattern, by, text)
            (folder / "tasks" / name).write_text(text)
        (folder / "tasks" / "__init__.py").touch()

    def run(self, database: Database, how: str, test_name: str) -> Outcome:
        """Run them on this database. ``how``: drain or tick."""
        (self.folder / "state").mkdir(mode=0o700, exist_ok=True)
        done = subprocess.run(
            [self._python, "-m", "django", "test", "tasks", "--noinput", "--keepdb"],
            cwd=self.folder,
            env=clean_environment(self.folder)
            | {
                "DATABASE": json.dumps(settings_of(database, test_name)),
                "DJANGO_SETTINGS_MODULE": "settings",
                "PYTHONPATH": str(self.folder),
                "JOBRUNNER_STATE_DIR": str(self.folder / "state"),
                "DJANGO_SUITE": how,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        (ran,) = re.findall(r"^Ran (\d+) tests", done.stderr, re.MULTILINE) or ("0",)
        return Outcome(int(ran), {f"{module}.{test}" for test, module in _RED.findall(done.stderr)}, done.stderr)


def fetched(folder: Path, asked: str) -> dict[str, str]:
    """The files of Django's tests of tasks, by name, from this package of the package index."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "django"]
    # Named, because the package of Django 6 is refused on Python 3.11, where only its text is wanted.
    command += ["--python-version", "3.12", "--dest", str(folder), asked]
    if not folder.exists():
        subprocess.run(command, check=True)
    (package,) = folder.glob("*.tar.gz")
    with tarfile.open(package) as archive:
        found = {each.name.partition("/tests/tasks/")[2]: each for each in archive.getmembers()}
        files = {name: archive.extractfile(found[name]) for name in FILES}
        return {name: file.read().decode() for name, file in files.items() if file is not None}
