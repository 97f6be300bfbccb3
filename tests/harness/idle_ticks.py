"""Helpers for the tests of the idle tick: the modules that a tick imported, and the rows that it wrote."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness import Commands, Database
from harness.commands import Completed

HEAVY = ("sqlalchemy", "alembic", "structlog", "click", "cronsim")
IN_FULL = ("--no-strict",)
"""An option that the short way does not know: the same tick in full."""

_IMPORTED = re.compile(r"^import time:.*\| +(\S+)\n", re.MULTILINE)


@dataclass(frozen=True)
class Tick:
    """A tick that has ended."""

    done: Completed
    imported: frozenset[str]
    said: str

    @property
    def was_short(self) -> bool:
        """Whether neither the full tick nor a heavy library was imported."""
        return not self.imported.intersection((*HEAVY, "jobrunner.worker.tick"))


def quiet_hour(database: Database) -> None:
    """Nothing is due, and old rows were pruned just before."""
    database.execute("UPDATE job_state SET pruned_at = ?", [database.now()])


def tick(jobrunner: Commands, *words: object, env: Mapping[str, str | None] | None = None, check: bool = True) -> Tick:
    """Run a tick and see what Python says it imports."""
    done = jobrunner.tick(*words, env={**(env or {}), "PYTHONPROFILEIMPORTTIME": "1"}, check=check)
    assert done.stdout == ""
    said = "".join(line for line in done.stderr.splitlines(keepends=True) if not line.startswith("import time:"))
    return Tick(done, imported_by(done), said)


def imported_by(done: Completed) -> frozenset[str]:
    """The modules that a command imported which ran with PYTHONPROFILEIMPORTTIME."""
    imported = frozenset(_IMPORTED.findall(done.stderr))
    assert "jobrunner.cli" in imported, "Python said nothing about imports"
    return imported


def trails(database: Database) -> list[dict[str, Any]]:
    """The rows of all ticks, the oldest first."""
    return database.query("SELECT * FROM job_ticks ORDER BY id")
