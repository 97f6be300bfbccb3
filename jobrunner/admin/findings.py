"""What is wrong, in words, worst first: for ``health``, ``status`` and whoever else tells an operator.

``FINDINGS`` is the table of what there may be to find, and the store has the facts (``store/questions/findings.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from jobrunner import clock
from jobrunner.admin import cost_rules, run_rules, tick_rules
from jobrunner.admin.finding import Finding, Rule, Said, Severity
from jobrunner.errors import DatabaseDamaged
from jobrunner.settings.asking import Asking
from jobrunner.settings.config import Config
from jobrunner.settings.health import Thresholds
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions import findings as store
from jobrunner.store.questions.facts import Facts, Limits

FINDINGS: dict[str, Rule] = {
    each.name: each
    for each in (
        tick_rules.damaged_file,
        tick_rules.ticks_stopped,
        tick_rules.failing_ticks,
        run_rules.locked,
        run_rules.expired_leases,
        run_rules.unknown_types,
        run_rules.overdue,
        run_rules.broken_schedules,
        run_rules.broken_promises,
        tick_rules.clock_skew,
        tick_rules.host_stopped,
        tick_rules.host_awaited,
        tick_rules.old_snapshot,
        run_rules.growing_backlog,
        run_rules.silent_ticks,
        tick_rules.killed_ticks,
        run_rules.dead,
        run_rules.uncertain_effects,
        run_rules.paused,
        run_rules.limited,
        cost_rules.slower_than_usual,
        cost_rules.bigger_than_usual,
        tick_rules.state_folder,
    )
}
"""By name, in this order if they are equally bad."""
_START_TAKES = timedelta(minutes=1)


@dataclass(frozen=True)
class Health:
    """What is wrong with a database, the worst first."""

    database: str
    healthy: bool
    findings: list[Finding]


def findings(
    connection: Connection, config: Config, state_problem: str | None, killed: Sequence[str] = ()
) -> list[Finding]:
    """All findings, the worst first. Expects a read transaction.

    ``state_problem`` is that of this host, if any. ``killed`` are its ticks of which it knows that they were killed.
    """
    facts = store.facts(connection, asked(config)._replace(killed=killed))
    # A file has the clock of this host.
    skew = clock.utc_now() - facts.at if connection.traits.has_server else timedelta(0)
    return _judged(facts._replace(skew=skew, state_problem=state_problem), config.health)


def findings_of_database(connection: Connection, settings: Asking) -> list[Finding]:
    """Those that do not depend on the host that asks, which may have no ticks. Expects a read transaction."""
    return _judged(store.facts(connection, asked(settings)), settings.health)


def _judged(facts: Facts, limits: Thresholds) -> list[Finding]:
    found = [each for rule in FINDINGS.values() for each in rule.judge(facts, limits)]
    return sorted(found, key=lambda each: each.severity is not Severity.CRITICAL)


def damaged(error: DatabaseDamaged) -> Finding:
    """The finding that the SQLite file is damaged: nothing else in it can be relied on."""
    sentence, _, remedy = str(error).rpartition("; ")
    return tick_rules.damaged_file.found(Said(sentence, {"remedy": remedy}))


def asked(config: Config | Asking) -> Limits:
    """What the facts are asked with."""
    limits = config.health
    # A tick may work without a lease until it claims no more, and starting takes time, too.
    killed_after = max(config.budget, config.linger) + _START_TAKES
    behind, pause = limits.backlog, limits.pause
    return Limits(
        killed_after,
        limits.expired,
        behind,
        pause,
        limits.tick_age,
        late=limits.overdue,
        least=cost_rules.least(limits),
        old_transactions=limits.old_transactions,
        old_bytes=limits.old_log_bytes,
    )
