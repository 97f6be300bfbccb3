"""What a tick records of itself and of its host, besides what it has done."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import jobrunner
from jobrunner.children.events import StartFailed
from jobrunner.children.proc import boot_id
from jobrunner.model import Policy
from jobrunner.settings.config import Config
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.queue.ticks import hosts, ticks
from jobrunner.store.timetable import host_schedules
from jobrunner.text import one_line, storable
from jobrunner.worker.context import TickContext

_DETAIL_CHARACTERS = 8_000


def open_row(context: TickContext) -> None:
    """Write the row of the tick. Raises DatabaseUnavailable."""
    work = partial(ticks.open_tick, owner=context.owner, kind=context.kind, version=jobrunner.__version__)
    record = context.record
    opened = context.database.write(work)
    record.tick_id, record.reported, record.server, record.is_promoted, record.has_templates = opened


def report_host(context: TickContext, handlers: Sequence[Policy], problem: StartFailed | None = None) -> None:
    """Write what this host can run, if the database does not say so yet. Raises DatabaseUnavailable.

    ``problem`` is why it cannot run its handlers, as when their module cannot be imported.
    """
    policies = (*(command.policy for command in context.config.commands.values()), *handlers)
    settings = _settings(context.config)
    if problem is not None:
        settings |= {hosts.PROBLEM: one_line(problem.reason, 500), hosts.TRACEBACK: _end_of(problem.detail)}
    label, commands = context.database.location.label, context.config.commands
    digests = {name: command.digest for name, command in commands.items()}
    report = hosts.HostReport(context.kind, policies, settings, label, boot_id(), digests)
    digest = report.digest
    if digest != context.record.reported:

        def work(connection: Connection) -> None:
            hosts.write(connection, report)
            host_schedules.follow(connection)

        context.database.write(work)
        context.record.reported = digest


def _end_of(detail: str | None) -> str | None:
    if detail is None or len(detail) <= _DETAIL_CHARACTERS:
        return detail and storable(detail)
    return storable("…" + detail[-_DETAIL_CHARACTERS:])


def _settings(config: Config) -> dict[str, object]:
    return {
        "concurrency": config.concurrency,
        "batch": config.batch,
        "budget_seconds": config.budget.total_seconds(),
        "linger_seconds": config.linger.total_seconds(),
        "lease_seconds": config.lease.total_seconds(),
    }
