"""A copy of the code that has a migration more, made as CONTRIBUTING says: from the template."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import jobrunner as library
from harness.commands import Commands
from harness.processes import Patient
from jobrunner.store.sql.versions import OLDEST_CODE_OF, SCHEMA_REVISION

CODE = Path(library.__file__).parents[1]
"""What is tested: the checkout, or a copy of it that `make mutants` has changed."""
NEXT = SCHEMA_REVISION + 1
TYPES = {"postgresql": "TIMESTAMPTZ", "sqlite": "INTEGER"}
HELD_UNTIL = {
    "jobrunner/store/schema/runs.py": (
        '    Column("gate", ',
        '    Column("held_until", UtcTime, info={"is_added": True}),\n    Column("gate", ',
    ),
    # The views are made of today's conditions, and those of a new database, too.
    "jobrunner/store/sql/conditions.py": (
        '    "due": "run_at <= {now}",\n',
        '    "due": "run_at <= {now}",\n    "free": "(held_until IS NULL OR held_until <= {now})",\n',
    ),
}
"""A column of runs that a condition of the claim reads."""
_SLICES = """
SLICES = dict.fromkeys(
    UP,
    [
        "UPDATE {schema}job_runs SET held_until = run_at WHERE id IN"
        " (SELECT id FROM {schema}job_runs WHERE held_until IS NULL ORDER BY id LIMIT 10)",
    ],
)
"""


class NextVersion:
    """Runs commands of the copy. ``oldest_code`` is what it writes of the code that works with its schema."""

    def __init__(
        self,
        folder: Path,
        jobrunner: Commands,
        changes: Mapping[str, tuple[str, str]],
        *,
        oldest_code: int = OLDEST_CODE_OF[SCHEMA_REVISION],
        has_slices: bool = False,
    ) -> None:
        self.copy = copy = folder / "copy"
        self._folder = folder
        self._jobrunner = jobrunner
        for name in ("jobrunner", "alembic"):
            # What is compiled, too: only changed files are compiled again.
            shutil.copytree(CODE / name, copy / name, ignore=shutil.ignore_patterns("*.pyc.*"))
        shutil.copy(CODE / "alembic.ini", copy)
        last = f"    {SCHEMA_REVISION}: {OLDEST_CODE_OF[SCHEMA_REVISION]},\n"
        numbered = {"jobrunner/store/sql/versions.py": (last, f"{last}    {NEXT}: {oldest_code},\n")}
        for file, (old, new) in {**changes, **numbered}.items():
            text = (copy / file).read_text("utf-8")
            assert text.count(old) == 1, file
            (copy / file).write_text(text.replace(old, new), "utf-8")
        self.python(
            "-m", "alembic", "-c", str(copy / "alembic.ini"), "revision", "--rev-id", f"{NEXT:04}", "-m", "Hold"
        )
        (migration,) = copy.rglob(f"{NEXT:04}_hold.py")
        text = migration.read_text("utf-8")
        for type_ in TYPES.values():
            text = text.replace("ADD COLUMN ...", f"ADD COLUMN held_until {type_}", 1)
        text = text.replace("DROP COLUMN ...", "DROP COLUMN held_until")
        if has_slices:
            text = re.sub(r"(?m)^def upgrade", f"{_SLICES}\n\ndef upgrade", text)
        migration.write_text(text, "utf-8")

    def python(self, *words: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
        """Run the interpreter with the copy in front of its path."""
        started = self._start(*words)
        stdout, stderr = started.communicate(timeout=120)
        assert not check or started.returncode == 0, stderr
        return subprocess.CompletedProcess(words, started.returncode, stdout, stderr)

    def start(self, *words: str, **env: str) -> "subprocess.Popen[str]":
        """Start a command, and do not wait for its end."""
        return self._start("-m", "jobrunner", *words, **env)

    def _start(self, *words: str, **env: str) -> "subprocess.Popen[str]":
        environment = {**self._jobrunner.environment(env), "PYTHONPATH": str(self.copy), "PATH": os.environ["PATH"]}
        return Patient(
            [sys.executable, "-P", *words],
            cwd=self._folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *words: str) -> str:
        return self.python("-m", "jobrunner", *words).stdout

    def refused(self, status: int, *words: str) -> str:
        """The line on stderr of a command that ends with this status."""
        done = self.python("-m", "jobrunner", *words, check=False)
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (status, "", 1), done
        return done.stderr
