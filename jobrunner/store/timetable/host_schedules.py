"""The definitions that hosts have of schedules whose slots get a run on every host: each host has its own.

Such a schedule is declared once. Its row is the template, which has no slots; each host that can run its type has a
definition that is made of it, with a watermark, a count of runs and a pause of its own. Only ticks of that host expand
it. So a host that is away makes no runs, and when it is back its misfire policy decides, as after any other outage.

Every function expects a write transaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, NamedTuple

from jobrunner.model import TICK, Source
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.queue.ticks import audit
from jobrunner.store.sql.statement import Prepared, Row

LONGEST_NAME = 200
SOURCE: Source = "host"
"""The source of these definitions: no ``apply``, of whatever version, takes them for its own."""
_RECENT = timedelta(days=1)
"""A host whose newest tick is older gets no new definition."""


class _Missing(NamedTuple):
    """A template and a host that should have a definition of it, and has none."""

    template: Row
    host: str

    @property
    def name(self) -> str:
        return name_of(self.template.name, self.host)


def name_of(template: str, host: str) -> str:
    """The name of the definition that a host has of a template."""
    return f"{template}@{host}"


def follow(connection: Connection, declared_again: str | None = None) -> None:
    """Give each host its definitions, and end those of hosts that are gone.

    A host gets one for each template whose type it can run, by the report of its ticks. It has slots from now on. What
    was removed comes back with a later tick of its host, or at once for the template ``declared_again``.
    """
    templates = connection.execute(Prepared("host_schedules.templates")).all()
    if not templates:
        return
    existing = {(row.template, row.host): row for row in connection.execute(Prepared("host_schedules.of_hosts"))}
    hosts = connection.execute(Prepared("host_schedules.hosts"), {"since": -_RECENT.total_seconds()}).all()
    at = templates[0].now
    missing = list(_missing(templates, existing, hosts, declared_again))
    given = [{"template": each.template.name, "host": each.host, "name": each.name} for each in missing]
    given = [each for each in given if len(each["name"]) <= LONGEST_NAME]
    made = connection.execute(Prepared("host_schedules.add"), {"given": given}).all() if given else []
    added = {row.name: row.id for row in made}
    events = [
        audit.event(TICK, "add schedule", added[each.name], {"name": each.name, "host": each.host}, at)
        for each in missing
        if each.name in added
    ]
    _note_problems(connection, templates, [each for each in missing if each.name not in added], events)
    for row in connection.execute(Prepared("host_schedules.end_gone")):
        why = "its host has had no tick for as long as ticks are kept"
        events.append(audit.event(TICK, "remove schedule", row.id, {"name": row.name, "reason": why}, at))
    audit.write(connection, events)


def _missing(
    templates: list[Row], existing: dict[tuple[str, str], Row], hosts: list[Row], declared_again: str | None
) -> Iterator[_Missing]:
    seen: set[tuple[str, str]] = set()
    for template in templates:
        for host in hosts:
            key = (template.name, host.host)
            if key in seen or template.job_type not in host.can_run:
                continue
            seen.add(key)
            its = existing.get(key)
            if its is None or (
                its.removed_at is not None and (template.name == declared_again or host.seen_at > its.removed_at)
            ):
                yield _Missing(template, host.host)


def _note_problems(
    connection: Connection, templates: list[Row], refused: list[_Missing], events: list[dict[str, Any]]
) -> None:
    """Say in the row of each template which host has no definition, because the name is too long or taken."""
    problems = {each.template.id: each for each in reversed(refused)}
    for template in templates:
        first = problems.get(template.id)
        problem = None
        if first is not None:
            is_long = len(first.name) > LONGEST_NAME
            why = f"is longer than {LONGEST_NAME} characters" if is_long else "is taken"
            problem = f"no slot gets a run on {first.host}: the name {first.name!r} {why}; rename the schedule"
        if problem != template.last_error:
            values = {"definition_id": template.id, "problem": problem, "at": template.now}
            connection.execute(Prepared("schedules.set_problem"), values)
            if problem is not None:
                events.append(audit.event(TICK, "cannot expand", template.id, {"problem": problem}, template.now))
