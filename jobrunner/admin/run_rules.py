"""The rules about runs, types, effects, schedules and pauses."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from jobrunner.admin.finding import Finding, Severity, age, at, due_runs, finding, listed_few, number_of, ticking
from jobrunner.settings.health import Thresholds
from jobrunner.store.questions.findings import BrokenDefinition, DueType, Facts, OldPause, SilentTick


def unknown_types(facts: Facts, limits: Thresholds) -> Iterator[Finding]:
    unknown = [each for each in facts.due if _is_unknown(each, facts, limits)]
    if unknown:
        listed = listed_few([f"{due_runs(each)} of {each.job_type} for {age(facts, each.run_at)}" for each in unknown])
        hosts = listed_few([_knows(host, types) for host, types in _known(facts, limits).items()])
        yield finding(
            "unknown_types",
            Severity.CRITICAL,
            f"due, and no host that ticks has a handler: {listed}; {hosts}; look at JOBRUNNER_IMPORT and"
            " JOBRUNNER_APP_DIR in the environment of cron",
            f"set them for the ticks of {next(iter(_known(facts, limits)))}, or deploy a handler for"
            f" {unknown[0].job_type}: jobrunner doctor",
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


def locked(facts: Facts, limits: Thresholds) -> Iterator[Finding]:
    """Somebody holds what ticks need, for as long as two ticks come; or runs wait, and for how long is not known."""
    waits = any(facts.at - each.run_at > limits.tick_age for each in facts.due)
    held = [
        each
        for each in facts.lockers
        if (waits if each.seconds is None else each.seconds >= limits.tick_age.total_seconds())
    ]
    if held:
        sentence = f"ticks cannot claim: {listed_few([str(each) for each in held])}"
        remedy = f"let it end its transaction, or end it: {held[0].remedy}"
        yield finding("locked", Severity.CRITICAL, sentence, remedy)


def overdue(facts: Facts, limits: Thresholds) -> Iterator[Finding]:
    late = sorted(
        (
            each
            for each in facts.due
            if facts.at - each.run_at > limits.overdue and not _is_unknown(each, facts, limits)
        ),
        key=lambda each: each.run_at,
    )
    if late:
        first = late[0]
        listed = listed_few([f"{due_runs(each)} of {each.job_type} for {age(facts, each.run_at)}" for each in late])
        yield finding("overdue", Severity.CRITICAL, f"due and not started: {listed}", _why(first.id))


def growing_backlog(facts: Facts, limits: Thresholds) -> Iterator[Finding]:
    # If the run whose turn it is was due before that time, then what ended since was due before, too.
    growing = [(each, flow) for each in facts.due if (flow := each.flow) is not None and flow.came > flow.ended]
    if growing:
        listed = listed_few(
            [
                f"{each.job_type}: since {at(flow.since)} at least {flow.came} came and {flow.ended} ended,"
                f" {due_runs(each)} due"
                for each, flow in growing
            ]
        )
        yield finding(
            "growing_backlog",
            Severity.WARNING,
            f"more runs come than end: {listed}",
            f"give {growing[0][0].job_type} more hosts, or a higher JOBRUNNER_CONCURRENCY:"
            f" jobrunner stats --type {shlex.quote(growing[0][0].job_type)}",
        )


def dead(facts: Facts, limits: Thresholds) -> Iterator[Finding]:
    count = sum(each.runs for each in facts.dead)
    if count > limits.dead:
        listed = listed_few([f"{each.runs} of {each.job_type}" for each in facts.dead])
        yield finding(
            "dead",
            Severity.WARNING,
            f"{number_of(count, 'run')} died in the last hour: {listed}",
            f"repair the cause that jobrunner show {facts.dead[0].id} names, then: jobrunner retry {facts.dead[0].id}",
        )


def expired_leases(facts: Facts, limits: Thresholds) -> Iterator[Finding]:
    if facts.expired.first_at is not None:
        yield finding(
            "expired_leases",
            Severity.CRITICAL,
            f"{number_of(facts.expired.runs, 'run')} of dead ticks not recovered for"
            f" {age(facts, facts.expired.first_at)}, such as run {facts.expired.id}: no tick does its work",
            "jobrunner tick -v",
        )


def silent_ticks(facts: Facts, limits: Thresholds) -> Iterator[Finding]:
    if facts.silent:
        listed = listed_few([_held_by(each, facts) for each in facts.silent])
        yield finding(
            "silent_ticks",
            Severity.WARNING,
            f"killed, stalled or cut off: no lease was renewed by the tick {listed}",
            "jobrunner tick -v",
        )


def _held_by(tick: SilentTick, facts: Facts) -> str:
    # The next tick of the host may be able to prove that it is dead: docs/explanation/reliability.md.
    of_host = f"wait for the next tick of {tick.host or 'its host'} or until {at(tick.ends_at)}"
    until = "wait for any tick" if tick.ends_at <= facts.at else of_host
    runs = f"{number_of(tick.runs, 'run')}, such as run {tick.id}, {until}"
    return f"{tick.locked_by} for {age(facts, tick.renewed_at)} ({runs})"


def uncertain_effects(facts: Facts, limits: Thresholds) -> Iterator[Finding]:
    if facts.uncertain.first_at is not None:
        yield finding(
            "uncertain_effects",
            Severity.WARNING,
            f"{number_of(facts.uncertain.effects, 'effect')} may or may not have been applied, the first one since"
            f" {at(facts.uncertain.first_at)}; you must look",
            "find out whether each was applied, and say so: jobrunner effects list",
        )


def broken_schedules(facts: Facts, limits: Thresholds) -> Iterator[Finding]:
    if facts.broken:
        listed = listed_few(
            [
                f"{each.name} ({each.last_error or f'a clock was ahead: no slot up to {at(each.last_slot_at)}'})"
                for each in facts.broken
            ]
        )
        yield finding(
            "broken_schedules",
            Severity.CRITICAL,
            f"{number_of(len(facts.broken), 'schedule')} without runs: {listed}",
            _mend(facts.broken[0]),
        )


def paused(facts: Facts, limits: Thresholds) -> Iterator[Finding]:
    if facts.pauses:
        listed = listed_few(
            [
                f"{f'{each.kind} {each.name}' if each.name else 'everything'} for {age(facts, each.paused_at)} by"
                f" {each.actor}{f' ({each.reason})' if each.reason else ''}"
                for each in facts.pauses
            ]
        )
        yield finding("paused", Severity.WARNING, f"still paused: {listed}", _resume(facts.pauses[0]))


def _why(run_id: int) -> str:
    return f"find out why run {run_id} waits: jobrunner explain {run_id}"


def _mend(broken: BrokenDefinition) -> str:
    name = shlex.quote(broken.name)
    if broken.last_error is None:
        return f"jobrunner schedule resume {name} --from now"
    return f"correct the schedule {broken.name} where it was made: jobrunner explain {name}"


def _resume(pause: OldPause) -> str:
    return f"jobrunner resume --{pause.kind} {shlex.quote(pause.name) if pause.name else ''}".rstrip()
