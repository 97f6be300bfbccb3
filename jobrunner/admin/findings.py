"""What is wrong, in words, worst first: for ``health``, ``status`` and whoever else tells an operator.

``judge`` has one rule for each finding, and the store has the facts (``store/findings.py``).
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum

from jobrunner.durations import format_duration
from jobrunner.settings.config import Config
from jobrunner.settings.health import Thresholds
from jobrunner.store import findings as store
from jobrunner.store.connection import Connection
from jobrunner.store.findings import MOST_COUNTED, DueType, Facts, HostTick, OldPause
from jobrunner.text import iso_instant, one_line

_NAMED = 3
_LONGEST_SENTENCE = 300
_START_TAKES = timedelta(minutes=1)
_AGAIN = 2


class Severity(IntEnum):
    """How bad a finding is. ``CRITICAL``: runs do not run, or will not."""

    WARNING = 1
    CRITICAL = 2


@dataclass(frozen=True)
class Finding:
    """What is wrong. ``name`` never changes, the sentence may. ``remedy`` is a command that mends it or shows more."""

    name: str
    severity: Severity
    sentence: str
    remedy: str

    def as_data(self) -> dict[str, str]:
        """For a JSON output."""
        return {**vars(self), "severity": self.severity.name.lower()}


def findings(connection: Connection, config: Config, state_problem: str | None) -> list[Finding]:
    """All findings, the worst first. Expects a read transaction. ``state_problem`` is that of this host, if any."""
    limits = config.health
    # A tick may work without a lease until it claims no more, and starting takes time, too.
    killed_after = max(config.budget, config.linger) + _START_TAKES
    asked = store.Limits(killed_after, limits.expired, limits.backlog, limits.pause)
    return judge(store.facts(connection, asked), limits, state_problem)


def judge(facts: Facts, limits: Thresholds, state_problem: str | None = None) -> list[Finding]:
    """The findings in these facts, the worst first."""
    found = [each for rule in _RULES for each in rule(facts, limits)]
    if state_problem is not None:
        found.append(_finding("state_folder", Severity.WARNING, state_problem, "jobrunner tick -v"))
    return sorted(found, key=lambda each: -each.severity)


def _finding(name: str, severity: Severity, sentence: str, remedy: str) -> Finding:
    return Finding(name, severity, one_line(sentence, _LONGEST_SENTENCE), remedy)


def _ticks_stopped(facts: Facts, limits: Thresholds) -> Iterator[Finding]:
    """No host ticks, or one of them does not.

    A host that ticks no more is told until it is ``host_gone``: then it was taken out of service. A host with fewer
    than three ticks never had a crontab line: such are the pods of a Kubernetes CronJob, each with its own name.
    """
    if not facts.hosts:
        yield _finding(
            "ticks_stopped",
            Severity.CRITICAL,
            "no tick has ever started on this database: no crontab line calls `jobrunner tick`, or it uses another one",
            "crontab -l",
        )
        return
    last = max(facts.hosts, key=lambda each: each.started_at)
    if facts.at - last.started_at >= limits.tick_age:
        yield _finding(
            "ticks_stopped",
            Severity.CRITICAL,
            f"no tick has started for {_age(facts, last.started_at)} on any host: the last one was on {last.host} at"
            f" {_at(last.started_at)}; look at cron there",
            "crontab -l",
        )
        return
    missing = [
        each
        for each in facts.hosts
        if limits.tick_age <= facts.at - each.started_at < limits.host_gone and each.ticks > _AGAIN
    ]
    if missing:
        listed = _listed([f"{each.host} for {_age(facts, each.started_at)}" for each in missing])
        yield _finding(
            "host_stopped",
            Severity.WARNING,
            f"no tick has started on {listed}, while other hosts tick; a host that was taken out of service is told"
            f" for {format_duration(limits.host_gone)}",
            "crontab -l",
        )


def _failing_ticks(facts: Facts, limits: Thresholds) -> Iterator[Finding]:
    failing = [each for each in _ticking(facts, limits) if each.error is not None]
    if failing:
        errors = _listed([f"{each.host}: {one_line(str(each.error), 120)}" for each in failing])
        yield _finding(
            "failing_ticks", Severity.CRITICAL, f"the last tick ended with an error on {errors}", "jobrunner tick -v"
        )


def _killed_ticks(facts: Facts, limits: Thresholds) -> Iterator[Finding]:
    count = sum(each.ticks for each in facts.killed)
    if count > limits.killed_ticks:
        last = max(facts.killed, key=lambda each: each.last_at)
        yield _finding(
            "killed_ticks",
            Severity.WARNING,
            f"{_number(count, 'tick')} did not end in the last hour on {_listed([each.host for each in facts.killed])}:"
            f" killed, or the host went down; the last one started on {last.host} at {_at(last.last_at)}",
            "journalctl --since -1h --grep 'killed process|oom'",
        )


def _overdue(facts: Facts, limits: Thresholds) -> Iterator[Finding]:
    late = sorted((each for each in facts.due if facts.at - each.run_at > limits.overdue), key=lambda each: each.run_at)
    if late:
        first = late[0]
        listed = _listed([f"{_runs(each)} of {each.job_type} for {_age(facts, each.run_at)}" for each in late])
        yield _finding("overdue", Severity.CRITICAL, f"due and not started: {listed}", f"jobrunner show {first.id}")


def _growing_backlog(facts: Facts, limits: Thresholds) -> Iterator[Finding]:
    # If the run whose turn it is was due before that time, then what ended since was due before, too.
    growing = [(each, flow) for each in facts.due if (flow := each.flow) is not None and flow.came > flow.ended]
    if growing:
        listed = _listed(
            [
                f"{each.job_type}: since {_at(flow.since)} at least {flow.came} came and {flow.ended} ended,"
                f" {_runs(each)} due"
                for each, flow in growing
            ]
        )
        yield _finding(
            "growing_backlog",
            Severity.WARNING,
            f"more runs come than end: {listed}",
            f"jobrunner stats {shlex.quote(growing[0][0].job_type)}",
        )


def _dead(facts: Facts, limits: Thresholds) -> Iterator[Finding]:
    count = sum(each.runs for each in facts.dead)
    if count > limits.dead:
        listed = _listed([f"{each.runs} of {each.job_type}" for each in facts.dead])
        yield _finding(
            "dead",
            Severity.WARNING,
            f"{_number(count, 'run')} died in the last hour: {listed}",
            f"jobrunner show {facts.dead[0].id}",
        )


def _expired_leases(facts: Facts, limits: Thresholds) -> Iterator[Finding]:
    if facts.expired.first_at is not None:
        yield _finding(
            "expired_leases",
            Severity.CRITICAL,
            f"{_number(facts.expired.runs, 'run')} of dead ticks not recovered for"
            f" {_age(facts, facts.expired.first_at)}, such as run {facts.expired.id}: no tick does its work",
            "jobrunner tick -v",
        )


def _uncertain_effects(facts: Facts, limits: Thresholds) -> Iterator[Finding]:
    if facts.uncertain.first_at is not None:
        yield _finding(
            "uncertain_effects",
            Severity.WARNING,
            f"{_number(facts.uncertain.effects, 'effect')} may or may not have been applied, the first one since"
            f" {_at(facts.uncertain.first_at)}; a person must look",
            "jobrunner effects list",
        )


def _broken_schedules(facts: Facts, limits: Thresholds) -> Iterator[Finding]:
    if facts.broken:
        listed = _listed(
            [
                f"{each.name} ({each.last_error or f'a clock was ahead: no slot up to {_at(each.last_slot_at)}'})"
                for each in facts.broken
            ]
        )
        yield _finding(
            "broken_schedules",
            Severity.CRITICAL,
            f"{_number(len(facts.broken), 'schedule')} without runs: {listed}",
            f"jobrunner schedule show {shlex.quote(facts.broken[0].name)}",
        )


def _clock_skew(facts: Facts, limits: Thresholds) -> Iterator[Finding]:
    ahead = [each for each in facts.hosts if each.started_at - facts.at > limits.clock_skew]
    if ahead:
        first = max(ahead, key=lambda each: each.started_at)
        yield _finding(
            "clock_skew",
            Severity.CRITICAL,
            f"the clock of the database was {format_duration(first.started_at - facts.at)} ahead when {first.host}"
            " ticked: what was planned then comes late",
            "timedatectl status",
        )


def _paused(facts: Facts, limits: Thresholds) -> Iterator[Finding]:
    if facts.pauses:
        listed = _listed(
            [
                f"{f'{each.kind} {each.name}' if each.name else 'everything'} for {_age(facts, each.paused_at)} by"
                f" {each.actor}{f' ({each.reason})' if each.reason else ''}"
                for each in facts.pauses
            ]
        )
        yield _finding("paused", Severity.WARNING, f"still paused: {listed}", _resume(facts.pauses[0]))


def _resume(pause: OldPause) -> str:
    return f"jobrunner resume --{pause.kind} {shlex.quote(pause.name) if pause.name else ''}".rstrip()


_RULES: Sequence[Callable[[Facts, Thresholds], Iterator[Finding]]] = (
    _ticks_stopped,
    _failing_ticks,
    _expired_leases,
    _overdue,
    _broken_schedules,
    _clock_skew,
    _growing_backlog,
    _killed_ticks,
    _dead,
    _uncertain_effects,
    _paused,
)
"""In this order if they are equally bad."""
NAMES = (
    "ticks_stopped",
    "failing_ticks",
    "expired_leases",
    "overdue",
    "broken_schedules",
    "clock_skew",
    "host_stopped",
    "growing_backlog",
    "killed_ticks",
    "dead",
    "uncertain_effects",
    "paused",
    "state_folder",
)


def _ticking(facts: Facts, limits: Thresholds) -> list[HostTick]:
    """The hosts that are in service."""
    return [each for each in facts.hosts if facts.at - each.started_at < limits.host_gone]


def _listed(words: Sequence[str]) -> str:
    rest = len(words) - _NAMED
    return ", ".join(words[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _number(count: int, noun: str) -> str:
    return f"{MOST_COUNTED}+ {noun}s" if count > MOST_COUNTED else f"{count} {noun}{'s' * (count != 1)}"


def _runs(due: DueType) -> str:
    return _number(due.runs, "run")


def _age(facts: Facts, since: datetime) -> str:
    return format_duration(max(facts.at - since, timedelta(0)))


def _at(instant: datetime) -> str:
    return iso_instant(instant.replace(microsecond=0))
