"""The views for SQLAlchemy Core: they say what there is to do. The migrations create them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Boolean, Column, Integer, MetaData, String, Table, Text

from jobrunner.store.sql.dialect.values import BigKey, UtcTime

views = MetaData()


def _of_due_runs(name: str, *more: Column[Any]) -> Table:
    return Table(
        name,
        views,
        Column("id", BigKey),
        Column("job_type", String),
        Column("turn_at", UtcTime),
        Column("run_at", UtcTime),
        Column("lease_expiries", Integer),
        *more,
    )


# The only definition of "something to do", in five parts; job_due is their union. The claim, the expansion, the
# recovery, the end of overdue runs and the idle tick all read these views, so they cannot disagree.
job_claimable = _of_due_runs("job_claimable", Column("releases", Integer))
job_claimable_by_host = _of_due_runs("job_claimable_by_host", Column("only_host", String))
job_gated = _of_due_runs("job_gated", Column("gate", String))
# Types, not runs. The second one without those that are paused.
job_waiting_types = Table("job_waiting_types", views, Column("job_type", String))
job_unpaused_types = Table("job_unpaused_types", views, Column("job_type", String))
# The gates that runs wait behind, and whether a claim looks there. The first of them are enough for a question.
job_waited_gates = Table(
    "job_waited_gates", views, Column("job_type", String), Column("gate", String), Column("is_seen", Boolean)
)
job_stray_gates = Table("job_stray_gates", views, Column("job_type", String), Column("gate", String))
job_stray_dependants = Table("job_stray_dependants", views, Column("id", BigKey))
# The limits that hold now, with what was set instead of those of the code.
job_limits_in_force = Table(
    "job_limits_in_force",
    views,
    Column("job_type", String),
    Column("max_running", Integer),
    Column("rate", String),
    Column("burst", Integer),
    Column("concurrency_key", String),
    Column("max_running_per_key", Integer),
    Column("rate_per_key", String),
    Column("burst_per_key", Integer),
    Column("spent_until", UtcTime),
    Column("opens_at", UtcTime),
    Column("is_set", Boolean),
)
job_open_gates = Table("job_open_gates", views, Column("job_type", String), Column("gate", String))
job_ready_gates = Table("job_ready_gates", views, Column("job_type", String), Column("gate", String))
# One row: whether a run behind no gate can be claimed; whether there is anything to do behind gates.
job_ungated_due = Table("job_ungated_due", views, Column("is_due", Boolean))
job_gates_due = Table("job_gates_due", views, Column("is_due", Boolean))
job_expandable = Table("job_expandable", views, Column("id", BigKey), Column("next_run_at", UtcTime))
job_expandable_by_host = Table(
    "job_expandable_by_host", views, Column("id", BigKey), Column("next_run_at", UtcTime), Column("host", String)
)
job_recoverable = Table(
    "job_recoverable", views, Column("id", BigKey), Column("host", String), Column("locked_by", String)
)
job_overdue = Table(
    "job_overdue",
    views,
    Column("id", BigKey),
    Column("definition_id", BigKey),
    Column("job_type", String),
    Column("status", String),
    Column("attempts", Integer),
    Column("start_deadline_at", UtcTime),
    Column("error_type", String),
    Column("last_error", Text),
)
