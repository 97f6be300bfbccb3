"""The rules about the database, hosts, their ticks and clocks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from shlex import quote

from jobrunner.admin.finding import Said, Severity, age, at, listed_few, number_of, rule, ticking
from jobrunner.durations import format_duration
from jobrunner.settings.health import Thresholds
from jobrunner.store.questions.explain.explanation import START_AGAIN
from jobrunner.store.questions.facts import Awaited, Facts
from jobrunner.store.questions.snapshots import Holder
from jobrunner.text import with_end

_AGAIN = 2
_ERRORS_CHARACTERS = 240


@rule("database", Severity.CRITICAL, "{remedy}")
def damaged_file(facts: Facts, limits: Thresholds) -> Iterator[Said]:
    """The SQLite file is damaged, as by an old log that was replayed over a restored file; checked up to 64 MB."""
    # Facts that could be read do not say it: the error does with which the reading ends.
    yield from ()


@rule("database", Severity.CRITICAL, START_AGAIN)
def ticks_stopped(facts: Facts, limits: Thresholds) -> Iterator[Said]:
    """No tick has started on any host for `tick_age`, or [two of the host that ticked
    last](troubleshooting.md#when-no-tick-comes) have not come; or none has ever started.
    """
    beat = facts.beat
    if beat.started_at is None:
        yield Said(
            "no tick has ever started on this database: nothing starts `jobrunner tick`, or it uses another one",
            remedy="start them on a host with the handlers: by cron with jobrunner crontab install, without cron with"
            " jobrunner loop or the timer of systemd",
        )
    elif beat.has_stopped(facts.at, limits.tick_age):
        last = f"the last one was on {beat.host} at {at(beat.started_at)}"
        yield Said(f"no tick has started for {age(facts, beat.started_at)} on any host: {last}", {"host": beat.host})


@rule("host", Severity.WARNING, START_AGAIN)
def host_stopped(facts: Facts, limits: Thresholds) -> Iterator[Said]:
    """A host ticks no more, while others do."""
    # Until it is ``host_gone``: then it counts as removed. A host with fewer than three ticks never had a crontab line:
    # such are the pods of a Kubernetes CronJob, each with its own name.
    missing = [
        each
        for each in facts.hosts
        if each.host != facts.beat.host
        and limits.tick_age <= facts.at - each.started_at < limits.host_gone
        and each.ticks > _AGAIN
    ]
    if missing and not facts.beat.has_stopped(facts.at, limits.tick_age):
        listed = listed_few([f"{each.host} for {age(facts, each.started_at)}" for each in missing])
        until = f"this is reported for {format_duration(limits.host_gone)}, then the host counts as removed"
        yield Said(f"no tick has started on {listed}, while other hosts tick; {until}", {"host": missing[0].host})


@rule("host", Severity.WARNING, START_AGAIN + "; if it is gone for good: {end}")
def host_awaited(facts: Facts, limits: Thresholds) -> Iterator[Said]:
    """Schedules that [each host has for itself](../reference/schedules.md#on-every-host) make no runs on a host, or
    runs wait for it, for `overdue`: no other host may run them.
    """
    if facts.awaited and not facts.beat.has_stopped(facts.at, limits.tick_age):
        first = facts.awaited[0]
        what = f"schedule remove {quote(first.name)}" if first.name is not None else f"cancel {first.id}"
        listed = listed_few([_awaits(each, facts) for each in facts.awaited])
        yield Said(f"only these hosts may do it: {listed}", {"host": first.host, "end": f"jobrunner {what}"})


def _awaits(host: Awaited, facts: Facts) -> str:
    schedules = f"{number_of(host.schedules, 'schedule')} ({host.name})" if host.schedules else ""
    runs = f"{number_of(host.runs, 'run')} ({host.id})" if host.runs else ""
    return f"{host.host} for {' and '.join(filter(None, (schedules, runs)))}, due for {age(facts, host.since)}"


@rule("host", Severity.CRITICAL, "repair that on {host}, and try it there: jobrunner tick -v")
def failing_ticks(facts: Facts, limits: Thresholds) -> Iterator[Said]:
    """The last tick of a host ended with an error."""
    failing = [each for each in ticking(facts, limits) if each.error is not None]
    if failing:
        most = _ERRORS_CHARACTERS // min(len(failing), 2)
        errors = listed_few([f"{each.host}: {with_end(str(each.error), most)}" for each in failing])
        # The handlers of most hosts are the same: one traceback shows the mistake.
        hosts = {each.host for each in failing}
        details = [each.traceback for each in facts.known if each.host in hosts and each.traceback is not None]
        detail = details[0] if details else None
        yield Said(f"the last tick ended with an error on {errors}", {"host": failing[0].host}, detail=detail)


@rule(
    "host",
    Severity.WARNING,
    "find out on {host} what killed them: journalctl --since -1h --grep 'killed process|oom'",
)
def killed_ticks(facts: Facts, limits: Thresholds) -> Iterator[Said]:
    """Ticks did not end in the last hour: they were killed, or their host went down."""
    count = sum(each.ticks for each in facts.killed)
    if count > limits.killed_ticks:
        last = max(facts.killed, key=lambda each: each.last_at)
        hosts = listed_few([each.host for each in facts.killed])
        yield Said(
            f"{number_of(count, 'tick')} did not end in the last hour on {hosts}: killed, or the host went down; the"
            f" last one started on {last.host} at {at(last.last_at)}",
            {"host": last.host},
        )


@rule("database", Severity.CRITICAL, "set the clock of the database's server by NTP: timedatectl status")
def clock_skew(facts: Facts, limits: Thresholds) -> Iterator[Said]:
    """The clock of the database was ahead when a host ticked; or, as a warning, the clock of this host and that of a
    PostgreSQL database differ.
    """
    ahead = [each for each in facts.hosts if each.started_at - facts.at > limits.clock_skew]
    if ahead:
        first = max(ahead, key=lambda each: each.started_at)
        by = format_duration(first.started_at - facts.at)
        late = f"{by} ahead when {first.host} ticked: what was planned then comes late"
        yield Said(f"the clock of the database was {late}")
    if abs(facts.skew) > limits.clock_skew:
        direction = f"{format_duration(abs(facts.skew))} {'ahead of' if facts.skew > timedelta(0) else 'behind'}"
        yield Said(
            f"the clock of this host is {direction} that of the database: times in its log are wrong",
            severity=Severity.WARNING,
            remedy="set the clock of this host by NTP: timedatectl status",
        )


@rule("database", Severity.WARNING, "{remedy}")
def old_snapshot(facts: Facts, limits: Thresholds) -> Iterator[Said]:
    """Somebody keeps [an old state](#old-snapshots) of the database readable for longer than `old_snapshot`: nothing
    that has changed since is tidied up, and claims read more and more.
    """
    old = [each for each in facts.snapshots if is_old(each, limits)]
    if old:
        listed = listed_few([str(each) for each in old])
        yield Said(
            f"what has changed is not tidied up, so claims read more and more: {listed}", {"remedy": old[0].remedy}
        )


def is_old(holder: Holder, limits: Thresholds) -> bool:
    """Whether it has held its state for too long. Of a file only that is known how much has changed since."""
    return holder.seconds is None or holder.seconds > limits.old_snapshot.total_seconds()


@rule(
    "host",
    Severity.WARNING,
    "give this user a state folder of its own, with mode 0700, or name one with JOBRUNNER_STATE_DIR",
)
def state_folder(facts: Facts, limits: Thresholds) -> Iterator[Said]:
    """This host cannot note its processes."""
    if facts.state_problem is not None:
        yield Said(facts.state_problem)
