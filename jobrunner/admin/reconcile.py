"""Reconciles the definitions in the database with the schedules that code and file declare, in one transaction.

Each source changes only its own definitions, and only if this host has that source: a host that imports no handlers
does not know what the code of another host declares (docs/adr/0017-schedules-from-three-sources.md).
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, TypeAlias

from jobrunner.errors import ConfigurationError, JobrunnerError
from jobrunner.jobs.payload_limits import DEFAULT_LIMIT_BYTES
from jobrunner.model import SOURCE_NAMES, Actor, Declaration, Definition, Source
from jobrunner.schedules.slot_plan import NOTHING_UNFINISHED, Expansion, Unfinished
from jobrunner.store.changes import edits, reconcile
from jobrunner.store.drivers.database import Connection, Database
from jobrunner.store.questions import obstacles
from jobrunner.store.questions.obstacles import Former
from jobrunner.store.timetable import host_schedules
from jobrunner.store.timetable.records import ReadDefinition
from jobrunner.text import picked
from jobrunner.worker.expansion import plan

Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Edited:
    """A definition that differs from its declaration. ``fields`` maps a name to the old and the new value."""

    row: ReadDefinition
    declaration: Declaration
    fields: dict[str, tuple[Any, Any]]


@dataclass(slots=True)
class Difference:
    """The differences between declarations and definitions.

    ``back`` are declared again after they were removed. ``gone`` are no longer declared. ``left`` counts definitions of
    sources that this host does not have, and ``others`` those of other applications.
    """

    new: list[Declaration] = field(default_factory=list)
    back: list[tuple[ReadDefinition, Declaration]] = field(default_factory=list)
    edited: list[Edited] = field(default_factory=list)
    gone: list[ReadDefinition] = field(default_factory=list)
    unchanged: int = 0
    left: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)

    @property
    def count(self) -> int:
        """How many definitions must be written."""
        return len(self.new) + len(self.back) + len(self.edited) + len(self.gone)

    @property
    def is_any(self) -> bool:
        """Whether anything must be written."""
        return self.count > 0


@dataclass(frozen=True)
class AddedSchedule:
    """A schedule that was added. ``was_removed``: it was there before."""

    name: str
    job_type: str
    schedule: str | None
    timezone: str
    payload: Any
    source: str
    was_removed: bool


@dataclass(frozen=True)
class ChangedSchedule:
    """A schedule that was changed: each field with its values ``from`` and ``to``."""

    name: str
    changes: dict[str, dict[str, Any]]


@dataclass(frozen=True)
class DisabledSchedule:
    """A schedule that its source declares no longer."""

    name: str
    source: str


@dataclass(frozen=True)
class Applied:
    """What ``apply`` changed, or with ``dry_run`` would change. The last two map sources and applications to counts."""

    dry_run: bool
    sources: list[str]
    added: list[AddedSchedule]
    changed: list[ChangedSchedule]
    disabled: list[DisabledSchedule]
    unchanged: int
    left_alone: dict[str, int]
    of_other_applications: dict[str, int]


@dataclass(frozen=True, slots=True)
class Declared:
    """Everything that this host declares, for its ``application``.

    ``sources`` are the sources that this host has, even if they declare nothing.
    """

    declarations: Sequence[Declaration]
    sources: Collection[Source]
    payload_limit: int = DEFAULT_LIMIT_BYTES
    application: str = ""

    def __post_init__(self) -> None:
        by_name: dict[str, Declaration] = {}
        for each in self.declarations:
            other = by_name.setdefault(each.name, each)
            if other is not each:
                raise ConfigurationError(
                    f"two schedules are named {each.name!r}: one of {_source_of(other)} and one of {_source_of(each)};"
                    " rename one, or remove it"
                )
        for each in self.declarations:
            if each.renamed_from in by_name:
                raise ConfigurationError(
                    f"the schedule {each.name!r} of {_source_of(each)} has renamed_from {each.renamed_from!r}, which is"
                    " still declared; remove one of the two"
                )


def applied(found: Difference, wanted: Declared, is_dry: bool) -> Applied:
    """The differences, for programs."""
    declared = [*((each, False) for each in found.new), *((each, True) for _, each in found.back)]
    return Applied(
        is_dry,
        sorted(wanted.sources),
        [picked(AddedSchedule, each, was_removed=is_back) for each, is_back in declared],
        [
            ChangedSchedule(each.row.name, {name: _change(*both) for name, both in each.fields.items()})
            for each in found.edited
        ],
        [picked(DisabledSchedule, row) for row in found.gone],
        found.unchanged,
        found.left,
        found.others,
    )


def _change(before: object, after: object) -> dict[str, object]:
    return {"from": before, "to": after}


def look(database: Database, wanted: Declared) -> Difference:
    """What ``apply`` would do. Raises JobrunnerError if ``apply`` would."""
    return database.read(partial(_compared, wanted=wanted, lock=False))


def apply(database: Database, wanted: Declared, actor: Actor, progress: Progress = lambda _, __: None) -> Difference:
    """Change the definitions to what is declared, and return the changes.

    ``progress`` is called with how many more are changed, and of how many. Raises JobrunnerError,
    with nothing written, if a name belongs to another source or application.
    """
    return database.write(partial(_apply, wanted=wanted, actor=actor, progress=progress))


def former_runs(database: Database, wanted: Declared) -> list[Former]:
    """Unfinished runs of former job types: until one has ended, its declared schedule makes no runs."""
    declared_names = {each.name for each in wanted.declarations}
    return [each for each in database.read(obstacles.former_runs).values() if each.schedule in declared_names]


def _apply(connection: Connection, wanted: Declared, actor: Actor, progress: Progress) -> Difference:
    reconcile.hold(connection)
    difference = _compared(connection, wanted, lock=True)
    changes = difference.count
    plan_due = partial(plan, payload_limit=wanted.payload_limit)

    def plan_new(definition: Definition, now: datetime, unfinished: Unfinished = NOTHING_UNFINISHED, /) -> Expansion:
        progress(1, changes)
        return plan_due(definition, now, unfinished)

    edits.mark_removed(connection, difference.gone, plan_due, actor)
    progress(len(difference.gone), changes)
    for each in difference.edited:
        edits.redeclare(connection, each.row, each.declaration, plan_due, actor)
        progress(1, changes)
    for row, declaration in difference.back:
        edits.restore(connection, row, declaration, plan_due, actor)
        progress(1, changes)
    # They are planned one by one, and written together.
    taken = reconcile.add(connection, difference.new, plan_new, actor)
    for declaration in difference.new:
        if declaration.name in taken:
            raise _taken(declaration)
    if any(each.policy.is_on_every_host for each in difference.new):
        host_schedules.follow(connection)
    return difference


def _compared(connection: Connection, wanted: Declared, *, lock: bool) -> Difference:
    by_name = {each.name: each for each in wanted.declarations}
    earlier = [each.renamed_from for each in wanted.declarations if each.renamed_from is not None]
    found = reconcile.definitions(connection, [*by_name, *earlier], lock=lock)
    taken = {row.name for row in found}
    renamed = _renamed(found, wanted)
    difference = Difference()
    for row in found:
        declaration = by_name.pop(row.name, None)
        new = renamed.get(row.name)
        # If the new name has a row already (renamed before, or after a rollback), each name keeps its own row.
        if declaration is None and row.removed_at is None and new is not None and new.name not in taken:
            declaration = by_name.pop(new.name)
        if declaration is None:
            _note_undeclared(difference, row, wanted)
        elif row.removed_at is not None:
            difference.back.append((row, declaration))
        else:
            _check_owner(row, declaration, wanted)
            if fields := edits.differences(row, declaration):
                difference.edited.append(Edited(row, declaration, fields))
            else:
                difference.unchanged += 1
    difference.new.extend(by_name[name] for name in sorted(by_name))
    return difference


def _renamed(found: Sequence[ReadDefinition], wanted: Declared) -> dict[str, Declaration]:
    """The declarations of those that have an earlier name, by that name."""
    renamed = {each.renamed_from: each for each in wanted.declarations if each.renamed_from is not None}
    # The name of a type is no word about the schedules of others.
    own = {row.name for row in found if row.removed_at is None and _is_own(row, wanted)}
    for each in wanted.declarations:
        if each.renamed_from not in own:
            there = next((name for name in each.former_names if name in own), None)
            if there is not None:
                renamed.setdefault(there, each)
    return renamed


def _is_own(row: ReadDefinition, wanted: Declared) -> bool:
    return row.source in SOURCE_NAMES and row.source in wanted.sources and row.application in ("", wanted.application)


def _note_undeclared(difference: Difference, row: ReadDefinition, wanted: Declared) -> None:
    if row.removed_at is not None:
        return
    if row.application != wanted.application:
        difference.others[row.application] += 1
    elif row.source in wanted.sources:
        difference.gone.append(row)
    else:
        difference.left[row.source] += 1


def _check_owner(row: ReadDefinition, declaration: Declaration, wanted: Declared) -> None:
    if row.source not in SOURCE_NAMES:
        raise _taken(declaration)
    # A definition without an application becomes one of this application.
    if row.application not in ("", wanted.application):
        raise JobrunnerError(
            f"the schedule {declaration.name!r} of {_source_of(declaration)} has the name of a schedule of the"
            f" application {row.application!r}; rename it, or let that application remove its own first"
        )
    if row.source not in wanted.sources:
        raise JobrunnerError(
            f"the schedule {declaration.name!r} of {_source_of(declaration)} has the name of a schedule of"
            f" {SOURCE_NAMES[row.source]}, which this host does not have;"
            " rename it, or apply on a host that has both"
        )


def _taken(declaration: Declaration) -> JobrunnerError:
    return JobrunnerError(
        f"the schedule {declaration.name!r} of {_source_of(declaration)} has the name of a schedule that was added by"
        f" command; rename it, or first run: jobrunner schedule remove {shlex.quote(declaration.name)}"
    )


def _source_of(declaration: Declaration) -> str:
    if declaration.source == "code":
        return f"the code (handler {declaration.job_type})"
    return SOURCE_NAMES.get(declaration.source, declaration.source)
