"""What hooks notify of: which runs are dead, late or recovered, for whom that was noted, and what has been sent.

A notice is noted in the transaction that marks its runs, then taken by one tick, then sent. Nothing is sent twice: what
was taken by a tick that was killed is given up as lost. Every function expects to be the body of one write transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeAlias

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.planner import read_by_indexes
from jobrunner.store.queue.ticks import hosts
from jobrunner.store.sql.statement import Prepared, Row
from jobrunner.text import iso_instant

BATCH = 1000
"""How many runs one call notes as dead at most."""
_LATE_LIMIT = 300
_LATE_RUNS = (
    Prepared("lateness.of_types"),
    Prepared("lateness.behind_gates"),
    Prepared("lateness.stray"),
    Prepared("lateness.of_schedules"),
)
_SAMPLES = 3
_OUTPUT_CHARACTERS = 2000
_OLDEST_DEATH = timedelta(days=1)
"""Of older deaths nobody is notified: a hook that was configured today does not report the history."""
_LOST_AFTER = timedelta(minutes=5)
_BY_A_PERSON = "discarded"

Told: TypeAlias = Callable[[str, str, str], Sequence[str]]
"""The receivers of an event, a job type and a schedule ("": of no schedule)."""


class Notice(NamedTuple):
    """A row of the outbox that this tick has taken."""

    id: int
    at: datetime
    event: str
    job_type: str
    schedule: str
    receiver: str
    runs: int
    detail: dict[str, Any]
    tries: int


class Subject(NamedTuple):
    """What one notification is about: the runs of a type, or of a schedule of it. ``schedule`` "": of no schedule."""

    job_type: str
    schedule: str


def note_dead(
    connection: Connection, told: Told, hooked: tuple[bool, Collection[str], Collection[str]], limit: int = BATCH
) -> int:
    """Note the runs that died since, at most ``limit``, and who is notified of them. Returns how many runs it noted.

    ``hooked`` says of which runs somebody may be notified: of all, else of these job types and these schedules.
    """
    of_all, types, schedules = hooked
    values: dict[str, Any] = {"since": -_OLDEST_DEATH.total_seconds(), "limit": limit}
    if not of_all:
        values |= {"types": _named(types), "schedules": _named(schedules)}
    # Without statistics of a bad hour the planner would read all that died in it, for each of its batches.
    read_by_indexes(connection)
    dead = connection.execute(Prepared("notices.note_dead", (of_all,)), values).all()
    # Whoever discards a run knows that it is dead.
    worth_telling = sorted((row for row in dead if row.error_type != _BY_A_PERSON), key=lambda row: row.id)
    groups = _grouped(connection, worth_telling)
    samples = [row.id for rows in groups.values() for row in rows[:_SAMPLES]]
    outputs = _outputs(connection, samples)
    noted = []
    for subject, rows in groups.items():
        runs = [_dead_run(row, outputs.get(row.id)) for row in rows[:_SAMPLES]]
        noted += _rows("dead", subject, len(rows), {"runs": runs}, told)
    if noted:
        connection.execute(Prepared("notices.supersede"), {"given": [subject._asdict() for subject in groups]})
        _add(connection, noted)
    return len(dead)


def _dead_run(row: Row, output: str | None) -> dict[str, Any]:
    return {
        "id": row.id,
        "attempts": row.attempts,
        "error_type": row.error_type,
        "error": row.last_error,
        "finished_at": iso_instant(row.finished_at),
        "output": None if not output else output[-_OUTPUT_CHARACTERS:],
    }


def note_late(
    connection: Connection, told: Told, late_after: Callable[[str, str], timedelta], least: timedelta
) -> set[Subject]:
    """Note what is late, unless that was notified. Returns all that is late now. ``least`` is the shortest lateness."""
    late = _late(connection, late_after, least)
    if not late:
        return set()
    open_rows = connection.execute(Prepared("notices.open_troubles"))
    known = {Subject(row.job_type, row.schedule) for row in open_rows if row.event == "late"}
    rows = []
    for subject, (threshold, detail) in late.items():
        if subject not in known and told("late", *subject):
            values = {"job_type": subject.job_type, "since": -threshold.total_seconds(), "limit": _LATE_LIMIT}
            # Of a schedule there is at most one, or its others are in the same message.
            runs = 1 if subject.schedule else connection.execute(Prepared("lateness.count"), values).scalar_one()
            # Beside a long backlog nobody waits for its exact number.
            more = {"or_more": True} if runs == _LATE_LIMIT else {}
            rows += _rows("late", subject, max(1, runs), {**detail, **more}, told)
    _add(connection, rows)
    return set(late)


def _late(
    connection: Connection, late_after: Callable[[str, str], timedelta], least: timedelta
) -> dict[Subject, tuple[timedelta, dict[str, Any]]]:
    """What is late: its threshold, and what the notification says."""
    values = {"since": -least.total_seconds(), "limit": _LATE_LIMIT}
    late: dict[Subject, tuple[timedelta, dict[str, Any]]] = {}
    found = [row for statement in _LATE_RUNS for row in connection.execute(statement, values)]
    names = _schedules(connection, {row.definition_id for row in found})
    for row in sorted(found, key=lambda row: (row.due_at, row.id), reverse=True):
        subject = Subject(row.job_type, names.get(row.definition_id, ""))
        if row.now - row.due_at >= (threshold := late_after(*subject)):
            # The one that was due first stays.
            late[subject] = (threshold, {"runs": [{"id": row.id, "run_at": iso_instant(row.due_at)}]})
    for row in connection.execute(Prepared("lateness.slots"), values):
        subject = Subject(row.job_type, row.name)
        if row.now - row.due_at >= (threshold := late_after(*subject)):
            late.setdefault(subject, (threshold, {"scheduled_for": iso_instant(row.due_at)}))
    return late


def note_recovered(
    connection: Connection, told: Told, late: Callable[[Connection], Collection[Subject]], limit: int
) -> bool:
    """Note what has succeeded since a notification said that it is dead or late, unless more of it is ``late``.

    Reads at most ``limit`` attempts. Returns whether there may be more.
    """
    troubles = connection.execute(Prepared("notices.open_troubles")).all()
    if not troubles:
        return False
    after = min(row.seen_to for row in troubles)
    ends = connection.execute(Prepared("notices.successes"), {"after": after, "limit": limit}).all()
    if not ends:
        return False
    good = [row for row in ends if row.status == "succeeded"]
    names = _schedules(connection, {row.definition_id for row in good})
    last: dict[Subject, datetime] = {}
    for row in good:
        subject = Subject(row.job_type, names.get(row.definition_id, ""))
        last[subject] = max(last.get(subject, row.finished_at), row.finished_at)
    ended = _ended_since(connection, troubles, last)
    over = [row for row in troubles if (at := ended.get(Subject(row.job_type, row.schedule))) and at > row.at]
    still_late = late(connection) if any(row.event == "late" for row in over) else ()
    closed = [row.id for row in over if row.event != "late" or Subject(row.job_type, row.schedule) not in still_late]
    if closed:
        given = {"given": [{"id": each} for each in closed]}
        events: dict[Subject, str] = {}
        for row in connection.execute(Prepared("notices.close"), given):
            events[Subject(row.job_type, row.schedule)] = row.event
        _add(
            connection,
            [
                row
                for subject, was in events.items()
                for row in _rows("recovered", subject, 1, {"was": was, "at": iso_instant(ended[subject])}, told)
            ],
        )
    # What is still late begins later, and is then over with its own success.
    connection.execute(Prepared("notices.set_seen"), {"upto": ends[-1].id})
    return len(ends) == limit


def _ended_since(
    connection: Connection, troubles: Sequence[Row], last: Mapping[Subject, datetime]
) -> dict[Subject, datetime]:
    """The last success of each trouble, under any name of its type. A schedule named like its type has these, too."""
    reports = [row.can_run for row in connection.execute(Prepared("findings.known_types"))] if last else []
    found: dict[Subject, datetime] = {}
    for subject in {Subject(row.job_type, row.schedule) for row in troubles}:
        for name in hosts.names_of(reports, subject.job_type):
            at = last.get(Subject(name, name if subject.schedule == subject.job_type else subject.schedule))
            if at is not None:
                found[subject] = max(found.get(subject, at), at)
    return found


def take(connection: Connection, receivers: Collection[str], owner: str, limit: int) -> list[Notice]:
    """Take notices for these receivers. The caller sends each at most once, and then settles or releases it."""
    connection.execute(Prepared("notices.give_up_lost"), {"since": -_LOST_AFTER.total_seconds()})
    values = {"given": _named(receivers), "owner": owner, "limit": limit}
    return sorted(Notice(*row) for row in connection.execute(Prepared("notices.claim"), values))


def settle(
    connection: Connection, owner: str, ends: Sequence[Mapping[str, Any]], unsent: Sequence[Mapping[str, Any]]
) -> None:
    """Write the outcome of notices that this tick has taken (id, outcome, error), and give back what has not left."""
    if ends:
        connection.execute(Prepared("notices.settle"), {"given": list(ends), "owner": owner})
    if unsent:
        connection.execute(Prepared("notices.release"), {"given": list(unsent), "owner": owner})


def definitions_named(connection: Connection, names: Collection[str]) -> dict[int, str]:
    """The definitions of these names. Expects any transaction."""
    found = connection.execute(Prepared("notices.definitions_named"), {"given": _named(names)})
    return {row.id: row.name for row in found}


def definitions_of(connection: Connection, run_ids: Collection[int]) -> dict[int, int | None]:
    """The definitions of these runs. Expects any transaction."""
    found = connection.execute(Prepared("notices.definitions_of"), {"given": [{"id": each} for each in run_ids]})
    return {row.id: row.definition_id for row in found}


def _rows(event: str, subject: Subject, runs: int, detail: dict[str, Any], told: Told) -> list[dict[str, Any]]:
    common = {"event": event, **subject._asdict(), "runs": runs, "detail": detail, "is_open": int(event != "recovered")}
    return [{**common, "receiver": name} for name in told(event, *subject)]


def _add(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        connection.execute(Prepared("notices.add"), {"given": list(rows)})


def _grouped(connection: Connection, rows: Sequence[Row]) -> dict[Subject, list[Row]]:
    names = _schedules(connection, {row.definition_id for row in rows})
    groups: dict[Subject, list[Row]] = {}
    for row in rows:
        groups.setdefault(Subject(row.job_type, names.get(row.definition_id, "")), []).append(row)
    return groups


def _schedules(connection: Connection, ids: Collection[int | None]) -> dict[int | None, str]:
    known = sorted(each for each in ids if each is not None)
    if not known:
        return {}
    found = connection.execute(Prepared("notices.schedules_of"), {"given": [{"id": each} for each in known]})
    return {row.id: row.name for row in found}


def _outputs(connection: Connection, ids: Sequence[int]) -> dict[int, str | None]:
    if not ids:
        return {}
    found = connection.execute(Prepared("notices.outputs"), {"given": [{"id": each} for each in ids]})
    return {row.id: row.output for row in found}


def _named(names: Collection[str]) -> list[dict[str, str]]:
    return [{"name": each} for each in names]
