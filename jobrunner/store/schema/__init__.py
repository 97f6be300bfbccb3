"""The tables as SQLAlchemy Core sees them. The migrations create them; a test compares the two."""

from __future__ import annotations

from jobrunner.store.schema.base import add_checks, metadata, written
from jobrunner.store.schema.history import (
    job_attempts,
    job_effects,
    job_events,
    job_hosts,
    job_tallies,
    job_ticks,
    job_totals,
)
from jobrunner.store.schema.limits import (
    IS_ENDED,
    job_gates,
    job_keys,
    job_limits,
    job_locks,
    job_parents,
    job_pauses,
    job_set_limits,
    job_types,
)
from jobrunner.store.schema.notices import job_notices
from jobrunner.store.schema.runs import ANY_RELEASES, IS_UNFINISHED, IS_UNTOLD, job_definitions, job_runs, job_state

__all__ = [
    "ANY_RELEASES",
    "IS_ENDED",
    "IS_UNFINISHED",
    "IS_UNTOLD",
    "job_attempts",
    "job_definitions",
    "job_effects",
    "job_events",
    "job_gates",
    "job_hosts",
    "job_keys",
    "job_limits",
    "job_locks",
    "job_notices",
    "job_parents",
    "job_pauses",
    "job_runs",
    "job_set_limits",
    "job_state",
    "job_tallies",
    "job_ticks",
    "job_totals",
    "job_types",
    "metadata",
    "written",
]

for _table in metadata.sorted_tables:
    add_checks(_table)
