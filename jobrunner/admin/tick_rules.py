"""The rules about hosts, their ticks and clocks."""

from __future__ import annotations

from collections.abc import Iterator

from jobrunner.admin.finding import Finding, Severity, age, at, finding, listed_few, number_of, ticking
from jobrunner.durations import format_duration
from jobrunner.settings.health import Thresholds
from jobrunner.store.questions.findings import Facts
from jobrunner.text import with_end

_AGAIN = 2
_ERRORS_CHARACTERS = 240


def ticks_stopped(facts: Facts, limits: Thresholds) -> Iterator[Finding]:
    """No host ticks, or one of them does not.

    A host that ticks no more is reported until it is ``host_gone``: then it counts as removed. A host with fewer
    than three ticks never had a crontab line: such are the pods of a Kubernetes CronJob, each with its own name.
    """
    beat = facts.beat
    if beat.started_at is None:
        yield finding(
            "ticks_stopped",
            Severity.CRITICAL,
            "no tick has ever started on this database: no crontab line calls `jobrunner tick`, or it uses another one",
            "start them by cron, on a host with the handlers: jobrunner schedule crontab --install",
        )
        return
    if beat.has_stopped(facts.at, limits.tick_age):
        yield finding(
            "ticks_stopped",
            Severity.CRITICAL,
            f"no tick has started for {age(facts, beat.started_at)} on any host: the last one was on {beat.host} at"
            f" {at(beat.started_at)}; look at cron there",
            _start_again(str(beat.host)),
        )
        return
    missing = [
        each
        for each in facts.hosts
        if each.host != beat.host
        and limits.tick_age <= facts.at - each.started_at < limits.host_gone
        and each.ticks > _AGAIN
    ]
    if missing:
        listed = listed_few([f"{each.host} for {age(facts, each.started_at)}" for each in missing])
        yield finding(
            "host_stopped",
            Severity.WARNING,
            f"no tick has started on {listed}, while other hosts tick; this is reported for"
            f" {format_duration(limits.host_gone)}, then the host counts as removed",
            _start_again(missing[0].host),
        )


def _start_again(host: str) -> str:
    return f"start the ticks of {host} again: its crontab needs the line that jobrunner schedule crontab prints"


def failing_ticks(facts: Facts, limits: Thresholds) -> Iterator[Finding]:
    failing = [each for each in ticking(facts, limits) if each.error is not None]
    if failing:
        most = _ERRORS_CHARACTERS // min(len(failing), 2)
        errors = listed_few([f"{each.host}: {with_end(str(each.error), most)}" for each in failing])
        # The handlers of most hosts are the same: one traceback shows the mistake.
        hosts = {each.host for each in failing}
        details = [each.traceback for each in facts.known if each.host in hosts and each.traceback is not None]
        yield finding(
            "failing_ticks",
            Severity.CRITICAL,
            f"the last tick ended with an error on {errors}",
            f"repair that on {failing[0].host}, and try it there: jobrunner tick -v",
            details[0] if details else None,
        )


def killed_ticks(facts: Facts, limits: Thresholds) -> Iterator[Finding]:
    count = sum(each.ticks for each in facts.killed)
    if count > limits.killed_ticks:
        last = max(facts.killed, key=lambda each: each.last_at)
        yield finding(
            "killed_ticks",
            Severity.WARNING,
            f"{number_of(count, 'tick')} did not end in the last hour on"
            f" {listed_few([each.host for each in facts.killed])}: killed, or the host went down; the last one started"
            f" on {last.host} at {at(last.last_at)}",
            f"find out on {last.host} what killed them: journalctl --since -1h --grep 'killed process|oom'",
        )


def clock_skew(facts: Facts, limits: Thresholds) -> Iterator[Finding]:
    ahead = [each for each in facts.hosts if each.started_at - facts.at > limits.clock_skew]
    if ahead:
        first = max(ahead, key=lambda each: each.started_at)
        yield finding(
            "clock_skew",
            Severity.CRITICAL,
            f"the clock of the database was {format_duration(first.started_at - facts.at)} ahead when {first.host}"
            " ticked: what was planned then comes late",
            "set the clock of the database's server by NTP: timedatectl status",
        )
