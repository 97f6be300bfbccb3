"""schedule next."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

import click

from jobrunner import clock
from jobrunner.cli import environment, render, suggestions
from jobrunner.cli.answers import answers
from jobrunner.cli.options.shared import of_limit, of_time
from jobrunner.cli.parameters import instant_or_ago, parse_run_at
from jobrunner.durations import format_duration
from jobrunner.errors import BadSchedule, JobrunnerError, UsageError
from jobrunner.model import Definition
from jobrunner.schedules import dst, intervals, timezones
from jobrunner.schedules.describe import describe
from jobrunner.schedules.recurrence import Recurrence
from jobrunner.settings.config import Config
from jobrunner.text import iso_instant

_YEAR = timedelta(days=366)
_INSTANT = timedelta(microseconds=1)


def _instant_or_from_now(text: str) -> datetime | timedelta:
    """An instant, or a duration from now, which is negative for an instant in the past. Raises UsageError."""
    if text.startswith("+"):
        return parse_run_at(text)
    when = instant_or_ago(text)
    return when if isinstance(when, datetime) else -when


def _just_before(at: datetime) -> datetime:
    try:
        return at - _INSTANT
    except OverflowError:
        return at


@dataclass(frozen=True)
class Slot:
    """A slot. ``run_at``, if the schedule has a jitter, is when its run is due."""

    scheduled_for: str
    local: str
    run_at: datetime | None


@click.command()
@click.argument("asked", metavar="EXPR|NAME", shell_complete=suggestions.schedules)
@click.option("--timezone", metavar="ZONE", help="The IANA time zone of an expression. [default: UTC]")
@of_time(
    "--since",
    "Slots not earlier than this: ISO 8601 with an offset, 2h for two hours ago, or +2h from now. [default: now]",
    _instant_or_from_now,
)
@of_limit("How many slots.", 5, "-n", most=1000)
@answers(list[Slot])
def next_(asked: str, timezone: str | None, since: datetime | timedelta | None, limit: int, as_json: bool) -> None:
    """Show when an expression or a schedule fires next.

    EXPR is five fields as in a crontab, a word such as @daily, or "every 10m"; it needs no database.

    Example: jobrunner schedule next '30 2 * * *' --timezone Europe/Berlin
    """
    definition, now, problem = None, clock.utc_now(), None
    config = environment.load()
    if is_expression(asked):
        recurrence = Recurrence.parse(asked, "UTC" if timezone is None else timezone)
    elif timezone is not None:
        raise UsageError(f"--timezone is for an expression; the schedule {asked[:60]!r} has its own")
    else:
        definition, now, problem = _read(config, asked)
        recurrence = _recurrence_of(definition)
    # What fires at that instant is one of them.
    begin = now if since is None else _just_before(since if isinstance(since, datetime) else now + since)
    if definition is not None:
        # The slots up to the watermark are decided already.
        begin = max(begin, definition.last_slot_at)
    slots = _upcoming(recurrence, begin, limit, definition)
    zone = timezones.find(recurrence.timezone)
    if as_json:
        render.echo_json([_slot(slot, zone, definition) for slot in slots])
        return
    render.line(f"{describe(recurrence.expression)} ({recurrence.timezone})")
    click.echo()
    if slots:
        _show_slots(recurrence, slots, zone, definition)
    else:
        click.echo("no slot")
    notes = [] if problem is None else [f"problem: {problem}"]
    notes += [*_limits(definition, len(slots), limit), *_warnings(recurrence, begin, definition)]
    for line in ["", *notes] if notes else []:
        render.line(line)


def is_expression(text: str) -> bool:
    """Whether the text is an expression, valid or not; otherwise it is the name of a schedule."""
    words = text.split()
    if len(words) < 2:
        return not words or words[0][0] in "@*"
    meant = any(word.startswith("*") for word in words) or words[0][0].isdigit() or "=" in words[0]
    return meant or len(words) == 5 or words[0].startswith("@") or intervals.is_interval(text)


def _read(config: Config, name: str) -> tuple[Definition, datetime, str | None]:
    # Imported here, because an expression needs no database.
    from jobrunner.cli import session
    from jobrunner.store.questions import definitions

    return session.open_database(config).read(lambda connection: definitions.current(connection, name))


def _recurrence_of(definition: Definition) -> Recurrence:
    try:
        return Recurrence.parse(definition.schedule, definition.timezone)
    except BadSchedule as error:
        raise JobrunnerError(f"the schedule {definition.name[:60]!r} cannot be read: {error}") from None


def _upcoming(recurrence: Recurrence, after: datetime, count: int, definition: Definition | None) -> list[datetime]:
    if definition is not None and definition.policy.max_runs is not None:
        count = min(count, definition.policy.max_runs - definition.runs_made)
    slots: list[datetime] = []
    slot = recurrence.next_after(after)
    while slot is not None and len(slots) < count and not _is_after_end(slot, definition):
        slots.append(slot)
        slot = recurrence.next_after(slot)
    return slots


def _is_after_end(slot: datetime, definition: Definition | None) -> bool:
    ends_at = None if definition is None else definition.policy.ends_at
    return ends_at is not None and slot > ends_at


def _slot(slot: datetime, zone: tzinfo, definition: Definition | None) -> Slot:
    run_at = None if _offset(definition) is None else _run_at(slot, definition)
    return Slot(iso_instant(slot), slot.astimezone(zone).isoformat(), run_at)


def _show_slots(recurrence: Recurrence, slots: list[datetime], zone: tzinfo, definition: Definition | None) -> None:
    headings, rows = ["LOCAL TIME", "UTC", "INTERVAL"], []
    before = recurrence.previous_before(slots[0])
    for slot in slots:
        interval = "-" if before is None else format_duration(slot - before)
        rows.append([f"{slot.astimezone(zone):%a %Y-%m-%d %H:%M:%S %Z}", render.utc(slot), interval])
        before = slot
    if _offset(definition) is not None:
        headings.append("RUN AT")
        rows = [[*row, render.instant(_run_at(slot, definition))] for row, slot in zip(rows, slots, strict=True)]
    render.table(headings, rows, indent="")


def _offset(definition: Definition | None) -> timedelta | None:
    if definition is None or definition.policy.jitter is None:
        return None
    from jobrunner.schedules.slot_plan import jitter_offset

    return jitter_offset(definition)


def _run_at(slot: datetime, definition: Definition | None) -> datetime:
    return slot + (_offset(definition) or timedelta())


def _limits(definition: Definition | None, found: int, asked: int) -> list[str]:
    """Why a definition makes fewer runs than its expression has slots."""
    if definition is None:
        return []
    policy, lines = definition.policy, []
    if definition.paused_at is not None:
        lines.append(f"paused since {render.instant(definition.paused_at)}: no slot makes a run until it is resumed")
    if policy.max_runs is not None and found < asked:
        lines.append(f"at most {policy.max_runs} runs, of which {definition.runs_made} were made")
    if policy.ends_at is not None and found < asked:
        lines.append(f"no slots after {render.instant(policy.ends_at)}")
    return lines


def _warnings(recurrence: Recurrence, after: datetime, definition: Definition | None) -> list[str]:
    affected = dst.affected_times(recurrence, after, _YEAR)
    return [f"warning: {dst.in_words(each)}" for each in affected if not _is_after_end(each.change.at, definition)]
