"""The rows that ``verify`` reads, with the names of their columns.

Named tuples, because a long history has millions of them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

Json: TypeAlias = Any


class Run(NamedTuple):
    """A row of ``job_runs``, without what its handler has got and given."""

    id: int
    job_type: str
    status: str
    run_at: datetime
    gate: str
    concurrency_key: str | None
    idempotency_key: str | None
    attempts: int
    max_attempts: int | None
    lease_token: str | None
    locked_until: datetime | None
    claimed_at: datetime | None
    started_at: datetime | None
    start_deadline_at: datetime | None
    cancel_requested_at: datetime | None
    finished_at: datetime | None
    created_at: datetime
    updated_at: datetime
    only_host: str | None
    host: str | None


class Attempt(NamedTuple):
    """A row of ``job_attempts``."""

    id: int
    run_id: int
    sequence: int
    attempt: int
    started_at: datetime
    finished_at: datetime
    outcome: str
    status: str | None
    host: str


class Event(NamedTuple):
    """A row of ``job_events`` about one run or one schedule."""

    subject_id: int
    at: datetime
    actor: str
    action: str
    detail: Json


class Parent(NamedTuple):
    """A row of ``job_parents``, with the status of the parent. ``actual_status`` None: that run is deleted."""

    run_id: int
    parent_id: int
    parent_status: str | None
    actual_status: str | None
    finished_at: datetime | None


class Key(NamedTuple):
    """Who has the key of a run: its row in ``job_keys``, that run, and the rule of the type.

    ``has_row`` None: the key has no row. ``key_scope`` None: the type has no row.
    """

    run_id: int
    has_row: str | None
    holder_id: int | None
    holder_created_at: datetime | None
    holder_finished_at: datetime | None
    key_scope: str | None
    key_window: float | None
    ruled_at: datetime | None


class Gate(NamedTuple):
    """What a run waits behind: its gate, and the limits of its type. ``has_turn`` and ``limited`` None: no such row."""

    run_id: int
    has_turn: datetime | None
    limited: str | None
    concurrency_key: str | None
    fair_by: str | None


class Effect(NamedTuple):
    """A row of ``job_effects``, with its run and with the attempt that made the last call, as far as they are there."""

    key: str
    state: str
    run_id: int
    job_type: str
    lease_token: str
    intended_at: datetime
    settled_at: datetime | None
    run_type: str | None
    run_token: str | None
    started_at: datetime | None
    finished_at: datetime | None


class Definition(NamedTuple):
    """A row of ``job_definitions``, as far as it decides about slots."""

    id: int
    name: str
    schedule: str | None
    timezone: str
    last_slot_at: datetime
    ends_at: datetime | None
    created_at: datetime


class Pause(NamedTuple):
    """A pause that is in force, with a row of ``job_events`` about it. ``noted_at`` None: there is none.

    ``actor`` None: that of a schedule, whose row does not say who paused it.
    """

    kind: str
    name: str
    actor: str | None
    paused_at: datetime
    noted_at: datetime | None
    detail: Json


class Slot(NamedTuple):
    """A run of a slot."""

    id: int
    scheduled_for: datetime


class Tick(NamedTuple):
    """A row of ``job_ticks``."""

    id: int
    started_at: datetime


class Step(NamedTuple):
    """Two rows in the order in which they were inserted, the second of which is from an earlier time."""

    before: datetime
    after: datetime


class Limit(NamedTuple):
    """A row of ``job_limits``, as far as it can be judged."""

    job_type: str
    max_running: int | None
    rate: str | None
    burst: int | None
    concurrency_key: str | None
    max_running_per_key: int | None
    rate_per_key: str | None
    burst_per_key: int | None


class SetLimit(NamedTuple):
    """What somebody has set instead of the limits of a type, with a row of ``job_events`` about it.

    ``noted_at`` None: there is none.
    """

    job_type: str
    max_running: int | None
    rate: str | None
    burst: int | None
    actor: str
    set_at: datetime
    ends_at: datetime | None
    noted_at: datetime | None
    detail: Json


class Host(NamedTuple):
    """What a host has reported about its types."""

    host: str
    types: str
    can_run: Json
    reported_at: datetime


class Worked(NamedTuple):
    """When a run of a limited type was at work.

    ``finished_at`` None: it still is. ``status`` is that of the run now. ``is_last`` 1: it has ended with this attempt.
    """

    id: int
    run_id: int
    job_type: str
    started_at: datetime
    finished_at: datetime | None
    status: str
    is_last: int
    payload: Json


class Ends(NamedTuple):
    """How many attempts of a type were counted that ended in this way."""

    job_type: str
    outcome: str
    status: str
    ends: int


class Span(NamedTuple):
    """The lowest and the highest id of the runs."""

    first: int | None
    last: int | None


class Created(NamedTuple):
    """When a run was created."""

    id: int
    created_at: datetime


class Moment(NamedTuple):
    """The database's time, and up to which id its attempts are counted in the tallies."""

    now: datetime
    counted_to: int
