"""The state of everything, of which database, and what is wrong: the answer of ``status`` and of the first page."""

from __future__ import annotations

from dataclasses import dataclass

from jobrunner.admin.finding import Finding
from jobrunner.store.questions.state import State


@dataclass(frozen=True)
class Status(State):
    """The state of everything, of which database, and what is wrong, the worst first, also on this host.

    ``findings`` null: the thresholds of the dashboard cannot be read.
    """

    database: str
    findings: list[Finding] | None
    handlers_problem: str | None
    state_problem: str | None
