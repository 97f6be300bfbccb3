"""The rules about runs, types, effects, schedules, pauses and limits."""

from __future__ import annotations

from collections.abc import Iterator

from jobrunner.admin.finding import Said, Severity, age, at, listed_due, listed_few, number_of, rule, ticking
from jobrunner.settings.health import Thresholds
from jobrunner.store.questions.facts import DueType, Facts, SilentTick
from jobrunner.store.queue.set_limits import describe_limits


@rule(
    "type",
    Severity.CRITICAL,
    "set them for the ticks of {host}, or deploy a handler for {job_type}: jobrunner doctor",
)
def unknown_types(facts: Facts, limits: Thresholds) -> Iterator[Said]:
    """Runs are due, but no host that has ticks has a handler for their type: often `JOBRUNNER_IMPORT` is missing in
    the environment of cron.
    """
    unknown = [each for each in facts.due if _is_unknown(each, facts, limits)]
    if unknown:
        known = _known(facts, limits)
        hosts = listed_few([_knows(host, types) for host, types in known.items()])
        yield Said(
            f"due, and no host that ticks has a handler: {listed_due(facts, unknown)}; {hosts}; look at"
            " JOBRUNNER_IMPORT and JOBRUNNER_APP_DIR in the environment of cron",
            {"host": next(iter(known)), "job_type": unknown[0].job_type},
        )


def _known(facts: Facts, limits: Thresholds) -> dict[str, frozenset[str]]:
    """What each host in service can run, of those that have reported it."""
    in_service = {each.host for each in ticking(facts, limits)}
    known: dict[str, frozenset[str]] = {}
    for each in facts.known:
        if each.host in in_service:
            known[each.host] = known.get(each.host, frozenset()) | each.types
    return known


def _is_unknown(due: DueType, facts: Facts, limits: Thresholds) -> bool:
    known = _known(facts, limits)
    # A tick must have had the time to report.
    is_new = facts.at - due.run_at < limits.tick_age
    # What a host could run whose handlers cannot be imported is not known. Its newest report counts.
    newest = {each.host: each.problem for each in facts.known if each.host in known}
    if any(problem is not None for problem in newest.values()):
        return False
    return bool(known) and not is_new and all(due.job_type not in types for types in known.values())


def _knows(host: str, types: frozenset[str]) -> str:
    return f"{host} knows {number_of(len(types), 'type')}" if types else f"{host} knows no types at all"


@rule("database", Severity.CRITICAL, "let it end its transaction, or end it: {remedy}")
def locked(facts: Facts, limits: Thresholds) -> Iterator[Said]:
    """For the time of two ticks, another session or process has held a lock that ticks need: on a table, on the next
    run of a type, on the write lock of an SQLite file. It is named.
    """
    # For how long is not known of each: then it counts if runs wait.
    waits = any(facts.at - each.run_at > limits.tick_age for each in facts.due)
    held = [
        each
        for each in facts.lockers
        if (waits if each.seconds is None else each.seconds >= limits.tick_age.total_seconds())
    ]
    if held:
        yield Said(f"ticks cannot claim: {listed_few([str(each) for each in held])}", {"remedy": held[0].remedy})


@rule("run", Severity.CRITICAL, "find out why run {id} waits: jobrunner explain {id}")
def overdue(facts: Facts, limits: Thresholds) -> Iterator[Said]:
    """Other due runs wait for longer than `overdue`."""
    old = [each for each in facts.due if facts.at - each.run_at > limits.overdue]
    late = sorted((each for each in old if not _is_unknown(each, facts, limits)), key=lambda each: each.run_at)
    if late:
        yield Said(f"due and not started: {listed_due(facts, late)}", {"id": late[0].id})


@rule(
    "type",
    Severity.WARNING,
    "give {job_type} more hosts, or a higher JOBRUNNER_CONCURRENCY: jobrunner stats --type {job_type!q}",
)
def growing_backlog(facts: Facts, limits: Thresholds) -> Iterator[Said]:
    """The next run of a type waits for longer than `backlog`, and since then more of its runs came than ended."""
    # If the run whose turn it is was due before that time, then what ended since was due before, too.
    growing = [(each, flow) for each in facts.due if (flow := each.flow) is not None and flow.came > flow.ended]
    if growing:
        listed = [
            f"{each.job_type}: since {at(flow.since)} at least {flow.came} came and {flow.ended} ended,"
            f" {number_of(each.runs, 'run')} due"
            for each, flow in growing
        ]
        yield Said(f"more runs come than end: {listed_few(listed)}", {"job_type": growing[0][0].job_type})


@rule("run", Severity.WARNING, "repair the cause that jobrunner show {id} names, then: jobrunner retry {id}")
def dead(facts: Facts, limits: Thresholds) -> Iterator[Said]:
    """Runs died in the last hour."""
    count = sum(each.runs for each in facts.dead)
    if count > limits.dead:
        listed = listed_few([f"{each.runs} of {each.job_type}" for each in facts.dead])
        yield Said(f"{number_of(count, 'run')} died in the last hour: {listed}", {"id": facts.dead[0].id})


@rule("run", Severity.CRITICAL, "jobrunner tick -v")
def expired_leases(facts: Facts, limits: Thresholds) -> Iterator[Said]:
    """Runs of a tick that died are not recovered: ticks start, but do not do their work."""
    if facts.expired.first_at is not None:
        runs, since = number_of(facts.expired.runs, "run"), age(facts, facts.expired.first_at)
        such = f"such as run {facts.expired.id}: no tick does its work"
        yield Said(f"{runs} of dead ticks not recovered for {since}, {such}")


@rule("host", Severity.WARNING, "jobrunner tick -v")
def silent_ticks(facts: Facts, limits: Thresholds) -> Iterator[Said]:
    """Runs wait for a tick that has not renewed their leases for half of their time: it was killed, stands still or is
    cut off. On its own host, a killed tick is found at once. The next tick of that host takes the runs back; ticks of
    other hosts do so when the leases have expired.
    """
    if facts.silent:
        listed = listed_few([_held_by(each, facts) for each in facts.silent])
        yield Said(f"killed, stalled or cut off: no lease was renewed by the tick {listed}")


def _held_by(tick: SilentTick, facts: Facts) -> str:
    # The next tick of the host may be able to prove that it is dead: docs/explanation/reliability.md.
    of_host = f"wait for the next tick of {tick.host or 'its host'} or until {at(tick.ends_at)}"
    until = "wait for any tick" if tick.ends_at <= facts.at else of_host
    runs = f"{number_of(tick.runs, 'run')}, such as run {tick.id}, {until}"
    return f"{tick.locked_by} for {age(facts, tick.renewed_at)} ({runs})"


@rule("effect", Severity.WARNING, "find out whether each was applied, and say so: jobrunner effects list")
def uncertain_effects(facts: Facts, limits: Thresholds) -> Iterator[Said]:
    """It is not known whether [effects](effects.md) were applied: you must find out."""
    if facts.uncertain.first_at is not None:
        effects, since = number_of(facts.uncertain.effects, "effect"), at(facts.uncertain.first_at)
        yield Said(f"{effects} may or may not have been applied, the first one since {since}; you must look")


@rule("schedule", Severity.CRITICAL, "correct the schedule {name} where it was made: jobrunner explain {name!q}")
def broken_schedules(facts: Facts, limits: Thresholds) -> Iterator[Said]:
    """A schedule cannot be expanded, or its slots count as handled because a clock was ahead."""
    if facts.broken:
        listed = [
            f"{each.name} ({each.last_error or f'a clock was ahead: no slot up to {at(each.last_slot_at)}'})"
            for each in facts.broken
        ]
        first = facts.broken[0]
        yield Said(
            f"{number_of(len(listed), 'schedule')} without runs: {listed_few(listed)}",
            {"name": first.name},
            remedy="jobrunner schedule resume {name!q} --from now" if first.last_error is None else None,
        )


@rule("schedule", Severity.CRITICAL, "find out what run {id} has named: jobrunner show {id}")
def broken_promises(facts: Facts, limits: Thresholds) -> Iterator[Said]:
    """The last run of a schedule that calls [`jobrunner verify`](verify.md#every-night) has found a broken promise."""
    for each in facts.promises:
        yield Said(f"{each.name} has found: {each.last_error.partition(': ')[2]}", {"id": each.id})


@rule("pause", Severity.WARNING, "jobrunner resume --{kind} {name!q}")
def paused(facts: Facts, limits: Thresholds) -> Iterator[Said]:
    """Something has been [paused](actions.md#pause) for a long time: it may have been forgotten."""
    if facts.pauses:
        listed = [
            f"{f'{each.kind} {each.name}' if each.name else 'everything'} for {age(facts, each.paused_at)} by"
            f" {each.actor}{f' ({each.reason})' if each.reason else ''}"
            for each in facts.pauses
        ]
        first = facts.pauses[0]
        remedy = None if first.name else "jobrunner resume --all"
        yield Said(f"still paused: {listed_few(listed)}", {"kind": first.kind, "name": first.name}, remedy=remedy)


@rule("type", Severity.WARNING, "jobrunner unlimit {job_type!q}")
def limited(facts: Facts, limits: Thresholds) -> Iterator[Said]:
    """A [limit that was set at run time](actions.md#limit) has no end and has held for a long time: it may have been
    forgotten.
    """
    if facts.set_limits:
        listed = [
            f"{each.job_type} to {describe_limits(each.max_running, each.rate)} for {age(facts, each.set_at)} by"
            f" {each.actor}{f' ({each.reason})' if each.reason else ''}"
            for each in facts.set_limits
        ]
        yield Said(f"still limited: {listed_few(listed)}", {"job_type": facts.set_limits[0].job_type})
