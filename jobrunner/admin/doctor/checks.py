"""What a check says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """A warning needs a look, but nothing fails by it now. Only what is wrong makes ``doctor`` fail."""

    OK = "ok"
    WARNING = "warning"
    WRONG = "wrong"


@dataclass(frozen=True)
class Check:
    """The result of one check, and what to do about it. ``detail`` is a traceback, if there is one."""

    name: str
    verdict: Verdict
    found: str
    remedy: str | None = None
    detail: str | None = None


def ok(name: str, found: str) -> Check:
    """Nothing to do."""
    return Check(name, Verdict.OK, found)


def warning(name: str, found: str, remedy: str) -> Check:
    """Something that may become a problem."""
    return Check(name, Verdict.WARNING, found, remedy)


def wrong(name: str, found: str, remedy: str, detail: str | None = None) -> Check:
    """Something that keeps jobrunner from its work."""
    return Check(name, Verdict.WRONG, found, remedy, detail)
