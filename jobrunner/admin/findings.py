"""What is wrong, in words, worst first: for ``health``, ``status`` and whoever else tells an operator.

``judge`` has one rule for each finding, and the store has the facts (``store/questions/findings.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta

from jobrunner import clock
from jobrunner.admin import run_rules, tick_rules
from jobrunner.admin.finding import Finding, Severity, finding
from jobrunner.durations import format_duration
from jobrunner.errors import DatabaseDamaged
from jobrunner.settings.config import Config
from jobrunner.settings.health import Thresholds
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions import findings as store
from jobrunner.store.questions.findings import Facts

__all__ = ["NAMES", "Finding", "Severity", "findings", "judge"]

_START_TAKES = timedelta(minutes=1)


def findings(
    connection: Connection, config: Config, state_problem: str | None, killed: Sequence[str] = ()
) -> list[Finding]:
    """All findings, the worst first. Expects a read transaction.

    ``state_problem`` is that of this host, if any. ``killed`` are its ticks of which it knows that they were killed.
    """
    facts = store.facts(connection, asked(config)._replace(killed=killed))
    # A file has the clock of this host.
    skew = clock.utc_now() - facts.at if connection.traits.has_server else timedelta(0)
    return judge(facts, config.health, state_problem, skew)


def damaged(error: DatabaseDamaged) -> Finding:
    """The finding that the SQLite file is damaged: nothing else in it can be relied on."""
    sentence, _, remedy = str(error).rpartition("; ")
    return finding(DAMAGED, Severity.CRITICAL, sentence, remedy)


def asked(config: Config) -> store.Limits:
    """What the facts are asked with."""
    limits = config.health
    # A tick may work without a lease until it claims no more, and starting takes time, too.
    killed_after = max(config.budget, config.linger) + _START_TAKES
    behind, pause = limits.backlog, limits.pause
    return store.Limits(killed_after, limits.expired, behind, pause, limits.tick_age, late=limits.overdue)


def judge(
    facts: Facts, limits: Thresholds, state_problem: str | None = None, skew: timedelta = timedelta(0)
) -> list[Finding]:
    """The findings in these facts, the worst first. ``skew`` is how far the clock of this host is ahead."""
    found = [each for rule in _RULES for each in rule(facts, limits)]
    if abs(skew) > limits.clock_skew:
        direction = f"{format_duration(abs(skew))} {'ahead of' if skew > timedelta(0) else 'behind'}"
        sentence = f"the clock of this host is {direction} that of the database: times in its log are wrong"
        found.append(
            finding("clock_skew", Severity.WARNING, sentence, "set the clock of this host by NTP: timedatectl status")
        )
    if state_problem is not None:
        found.append(finding("state_folder", Severity.WARNING, state_problem, STATE_REMEDY))
    return sorted(found, key=lambda each: -each.severity)


STATE_REMEDY = "give this user a state folder of its own, with mode 0700, or name one with JOBRUNNER_STATE_DIR"
_RULES: Sequence[Callable[[Facts, Thresholds], Iterator[Finding]]] = (
    tick_rules.ticks_stopped,
    tick_rules.failing_ticks,
    run_rules.locked,
    run_rules.expired_leases,
    run_rules.unknown_types,
    run_rules.overdue,
    run_rules.broken_schedules,
    tick_rules.clock_skew,
    run_rules.growing_backlog,
    run_rules.silent_ticks,
    tick_rules.killed_ticks,
    run_rules.dead,
    run_rules.uncertain_effects,
    run_rules.paused,
)
"""In this order if they are equally bad."""
DAMAGED = "damaged_file"
NAMES = (
    DAMAGED,
    "ticks_stopped",
    "failing_ticks",
    "locked",
    "expired_leases",
    "unknown_types",
    "overdue",
    "broken_schedules",
    "clock_skew",
    "host_stopped",
    "growing_backlog",
    "silent_ticks",
    "killed_ticks",
    "dead",
    "uncertain_effects",
    "paused",
    "state_folder",
)
