"""What a tick records of itself and of its host, besides what it has done."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from jobrunner.children.process_groups import boot_id
from jobrunner.model import Policy
from jobrunner.settings.config import Config
from jobrunner.store import hosts
from jobrunner.worker.context import TickContext


def report_host(context: TickContext, handlers: Sequence[Policy]) -> None:
    """Write what this host can run, if the database does not say so yet. Raises DatabaseUnavailable."""
    policies = (*(command.policy for command in context.config.commands.values()), *handlers)
    report = hosts.HostReport(
        context.kind, policies, _settings(context.config), context.database.location.label, boot_id()
    )
    digest = report.digest
    if digest != context.record.reported:
        context.database.write(partial(hosts.write, report=report))
        context.record.reported = digest


def _settings(config: Config) -> dict[str, object]:
    return {
        "concurrency": config.concurrency,
        "batch": config.batch,
        "budget_seconds": config.budget.total_seconds(),
        "linger_seconds": config.linger.total_seconds(),
        "lease_seconds": config.lease.total_seconds(),
    }
