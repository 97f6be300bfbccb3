"""The handlers of this host, and the definitions and waiting runs that need them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from jobrunner.admin.doctor.checks import Check, ok, warning, wrong
from jobrunner.errors import HandlersUnavailable
from jobrunner.jobs.payload import Payload
from jobrunner.store.questions.definitions import ListedDefinition
from jobrunner.store.questions.facts import MOST_COUNTED
from jobrunner.text import one_line

Discover: TypeAlias = Callable[[Sequence[tuple[str, Payload]]], tuple[Collection[str], Sequence[str | None]]]
"""The job types of this host, and for each payload why it does not fit its type. Raises HandlersUnavailable."""


@dataclass(frozen=True)
class Needed:
    """What the database needs handlers for: its definitions, and the waiting runs of each type (``waiting``)."""

    definitions: Sequence[ListedDefinition] = ()
    waiting: Mapping[str, int] | None = None
    has_other_hosts: bool = False


def why_none(imports: Collection[str]) -> tuple[str, str]:
    """Why a host has no job types, and the remedy. ``imports`` are its handler modules."""
    if not imports:
        return "this host can run nothing", "set JOBRUNNER_IMPORT, or write commands into a jobrunner.toml"
    listed = ", ".join(imports)
    which = f"{listed} has no @job" if len(imports) == 1 else f"none of {listed} has a @job"
    return (
        f"this host can run nothing: {which}",
        "write @job above each handler, or name its module in JOBRUNNER_IMPORT",
    )


def handlers(discover: Discover, needed: Needed, imports: Collection[str] = ()) -> tuple[list[str], list[Check]]:
    """The job types of this host, and what they lack. ``imports`` are its handler modules."""
    asked = [(each.job_type, each.payload if isinstance(each.payload, dict) else {}) for each in needed.definitions]
    try:
        known, misfits = discover(asked)
    except HandlersUnavailable as error:
        remedy = "repair the import, or JOBRUNNER_IMPORT and JOBRUNNER_APP_DIR"
        return [], [wrong("handlers", one_line(str(error), 1000), remedy, error.detail)]
    checks = []
    if known:
        checks.append(ok("handlers", f"{len(known)}: {', '.join(sorted(known))}"))
    else:
        checks.append(warning("handlers", *why_none(imports)))
    return sorted(known), [*checks, _definitions(known, misfits, needed), *_waiting(known, needed)]


def _definitions(known: Collection[str], misfits: Sequence[str | None], needed: Needed) -> Check:
    name = "definitions"
    misfitting = {
        each.name: one_line(misfit)
        for each, misfit in zip(needed.definitions, misfits, strict=True)
        if misfit is not None
    }
    if misfitting:
        first, found = next(iter(misfitting)), "; ".join(f"{each}: {why}" for each, why in misfitting.items())
        remedy = f"give {first} a payload that fits: jobrunner schedule edit {shlex.quote(first)} --payload …"
        return wrong(name, f"payloads that do not fit: {found}", remedy)
    unknown = {each.name: each.job_type for each in needed.definitions if each.job_type not in known}
    if unknown:
        kind, where = (warning, "this host") if needed.has_other_hosts else (wrong, "any host")
        listed = sorted(f"{each} ({job_type})" for each, job_type in unknown.items())
        first = min(unknown)
        remedy = f"set JOBRUNNER_IMPORT to the module of {unknown[first]}, or: jobrunner schedule remove"
        found = f"{len(unknown)} without a handler on {where}: {', '.join(listed[:10])}"
        return kind(name, found, f"{remedy} {shlex.quote(first)}")
    problems = {each.name: each.problem for each in needed.definitions if each.problem is not None}
    if problems:
        found = "; ".join(f"{each}: {problem}" for each, problem in problems.items())
        first = next(iter(problems))
        remedy = f"correct the schedule {first} where it was made: jobrunner explain {shlex.quote(first)}"
        return wrong(name, one_line(found), remedy)
    return ok(name, f"{len(needed.definitions)}, each with a handler and a payload that fits it")


def _waiting(known: Collection[str], needed: Needed) -> list[Check]:
    unknown = {name: count for name, count in (needed.waiting or {}).items() if name not in known}
    if not unknown:
        return []
    kind = warning if needed.has_other_hosts else wrong
    counts = {name: f"{count}{'+' * (count >= MOST_COUNTED)}" for name, count in unknown.items()}
    listed = ", ".join(f"{count} of {name}" for name, count in sorted(counts.items()))
    return [
        kind(
            "waiting runs",
            f"types that this host does not know: {listed}",
            f"set JOBRUNNER_IMPORT to the module of {min(unknown)}",
        )
    ]
