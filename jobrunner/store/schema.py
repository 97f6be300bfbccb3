"""The tables as SQLAlchemy Core sees them. The migrations create them; a test compares the two."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    JSON,
    CheckConstraint,
    Column,
    ColumnElement,
    Computed,
    ForeignKey,
    Identity,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    TextClause,
    UniqueConstraint,
    text,
)

from jobrunner.lifecycle import CLAIMABLE, FINISHED, QUARANTINE_AFTER_EXPIRIES, UNFINISHED, Status
from jobrunner.store.dialect.values import BigKey, JsonObject, Seconds, SmallNumber, UtcTime, readable, short_text, turn
from jobrunner.store.versions import RUNNING_KEY

metadata = MetaData(
    naming_convention={
        "ix": "%(table_name)s_%(column_0_N_name)s",
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "ck": "%(table_name)s_%(constraint_name)s",
        "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
        "pk": "%(table_name)s_pkey",
    }
)


def _is_one_of(statuses: tuple[Status, ...]) -> TextClause:
    # Literals. With bound parameters the planner could not know that it can use the partial index.
    listed = ", ".join(f"'{status}'" for status in statuses)
    return text(f"status IN ({listed})")


ANY_RELEASES = text("releases >= 0")
"""True for every run. Only a statement with this condition can use the index of due runs."""
IS_UNFINISHED = _is_one_of(UNFINISHED)
"""The condition of the partial indexes, in the same words, so that the planner can use them."""


def _unfinished(name: str) -> TextClause:
    return text(f"{IS_UNFINISHED} AND {name} IS NOT NULL")


_IS_CLAIMABLE = _is_one_of(CLAIMABLE)
_IS_QUARANTINED = text(f"{_IS_CLAIMABLE} AND lease_expiries >= {QUARANTINE_AFTER_EXPIRIES}")
# Only a running run has a lease_token. The planner does not know that, so it uses this index for no other question.
_AT_WORK_WITH_KEY = text("lease_token IS NOT NULL AND concurrency_key IS NOT NULL")
_HAS_DEADLINE = text("finished_at IS NULL AND lease_token IS NULL AND start_deadline_at IS NOT NULL")


def _partial(name: str, *columns: ColumnElement[Any], where: TextClause, unique: bool = False) -> None:
    """An index over the rows for which a condition holds."""
    Index(name, *columns, unique=unique, postgresql_where=where, sqlite_where=where)


_IS_SLOT = text("scheduled_for IS NOT NULL AND (origin IS NULL OR origin <> 'again')")

job_state = Table(
    "job_state",
    metadata,
    Column("id", Integer, CheckConstraint("id = 1", name="single"), primary_key=True),
    Column("oldest_code", Integer, nullable=False),
    Column("pruned_at", UtcTime),
    # Microseconds, for tests. Only SQLite's clock reads it; on PostgreSQL it is a setting of the database.
    Column("clock_offset", BigKey, nullable=False, server_default="0"),
    # Up to this id the attempts are in the tallies, up to the next one they will be: see tallies.py.
    Column("counted_to", BigKey, nullable=False, server_default="0"),
    Column("counting_to", BigKey, nullable=False, server_default="0"),
    Column("counting_after", BigKey),
)

job_definitions = Table(
    "job_definitions",
    metadata,
    Column("id", BigKey, Identity(), primary_key=True),
    Column("name", short_text(200), nullable=False, unique=True),
    Column("job_type", short_text(200), nullable=False),
    Column("payload", JsonObject, nullable=False),
    Column("schedule", short_text(1000)),
    Column("timezone", short_text(100), nullable=False),
    Column("source", short_text(20), nullable=False),
    # Which application declares it, if several share a database; "" if the application has no name.
    Column("application", short_text(100), nullable=False, server_default=text("''")),
    Column("description", Text),
    Column("misfire", short_text(20), nullable=False, server_default="latest"),
    Column("misfire_window", Seconds),
    Column("misfire_most", Integer, nullable=False, server_default="100"),
    Column("overlap", short_text(20), nullable=False, server_default="skip"),
    Column("start_deadline", Seconds),
    Column("jitter", Seconds),
    Column("ends_at", UtcTime),
    Column("max_runs", BigKey),
    # The number of runs of slots. It is kept here, because old runs are deleted.
    Column("runs_made", BigKey, nullable=False, server_default="0"),
    Column("last_slot_at", UtcTime, nullable=False),
    Column("next_run_at", UtcTime),
    Column("paused_at", UtcTime),
    Column("removed_at", UtcTime),
    Column("last_error", Text),
    Column("created_at", UtcTime, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
    CheckConstraint(
        "misfire IN ('latest', 'skip', 'all') AND overlap IN ('skip', 'queue', 'allow', 'replace')"
        " AND NOT (misfire = 'all' AND overlap = 'replace') AND misfire_window BETWEEN 0.000001 AND 316224000"
        " AND misfire_most BETWEEN 1 AND 10000 AND start_deadline BETWEEN 0.000001 AND 316224000"
        " AND jitter BETWEEN 0.000001 AND 316224000 AND max_runs BETWEEN 1 AND 1000000000 AND runs_made >= 0",
        name="policy",
    ),
    sqlite_autoincrement=True,
)

job_runs = Table(
    "job_runs",
    metadata,
    Column("id", BigKey, Identity(), primary_key=True),
    Column("definition_id", BigKey, ForeignKey("job_definitions.id")),
    Column("job_type", short_text(200), nullable=False),
    Column("payload", JsonObject, nullable=False),
    Column("status", short_text(20), nullable=False),
    Column("priority", SmallNumber, nullable=False),
    Column("run_at", UtcTime, nullable=False),
    # The order in which waiting runs are claimed.
    Column("turn_at", UtcTime, Computed(turn(), persisted=True)),
    Column("scheduled_for", UtcTime),
    # NULL: enqueued. 'again' is a further run of a slot that had its run.
    Column("origin", short_text(20)),
    # No attempt starts after this time.
    Column("start_deadline_at", UtcTime),
    # Never two runs with the same key are running.
    Column("concurrency_key", short_text(300)),
    # What it waits behind, or runs under, if its type has limits (``limits.py``). "": no gate.
    Column("gate", short_text(300), nullable=False, server_default=text("''")),
    # 1: there are or were runs that wait for the end of this one (``job_parents``).
    Column("has_dependants", SmallNumber, nullable=False, server_default="0"),
    Column("idempotency_key", short_text(500)),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("max_attempts", Integer),
    # Seconds. NULL: the policy of the type; 0: no limit.
    Column("timeout", Seconds),
    Column("locked_by", short_text(300)),
    Column("host", short_text(255)),
    Column("locked_until", UtcTime),
    Column("lease_token", short_text(32)),
    Column("claimed_at", UtcTime),
    Column("started_at", UtcTime),
    Column("heartbeat_at", UtcTime),
    Column("cancel_requested_at", UtcTime),
    Column("failed_at", UtcTime),
    Column("finished_at", UtcTime),
    Column("releases", Integer, nullable=False, server_default="0"),
    Column("lease_expiries", Integer, nullable=False, server_default="0"),
    # Since when every attempt has found that the run does not fit the code.
    Column("incompatible_at", UtcTime),
    Column("error_type", short_text(200)),
    Column("last_error", Text),
    Column("result", JsonObject),
    Column("progress", JsonObject),
    Column("output", Text),
    Column("created_at", UtcTime, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
    CheckConstraint(_is_one_of(tuple(Status)), name="status"),
    CheckConstraint(
        " AND ".join(
            f"(status = 'running') = ({name} IS NOT NULL)" for name in ("lease_token", "locked_by", "locked_until")
        ),
        name="lease",
    ),
    CheckConstraint(f"({_is_one_of(FINISHED)}) = (finished_at IS NOT NULL)", name="finished"),
    CheckConstraint("attempts >= 0 AND releases >= 0 AND lease_expiries >= 0", name="counts"),
    CheckConstraint("max_attempts >= 1 AND timeout BETWEEN 0 AND 316224000", name="limits"),
    sqlite_autoincrement=True,
)
_URGENT_FIRST = (job_runs.c.turn_at, job_runs.c.run_at, job_runs.c.id)
# Partial, because most runs have no slot, and each index entry is written again at the claim and at the end of its run.
_partial("job_runs_slot", job_runs.c.definition_id, job_runs.c.scheduled_for, where=_IS_SLOT, unique=True)
# For the overlap policy of a definition.
_partial("job_runs_unfinished", job_runs.c.definition_id, job_runs.c.id, where=_unfinished("definition_id"))
_partial("job_runs_key", job_runs.c.concurrency_key, job_runs.c.id, where=_unfinished("concurrency_key"))
# Makes one of two claims fail that cannot see each other.
_partial(RUNNING_KEY, job_runs.c.concurrency_key, where=_AT_WORK_WITH_KEY, unique=True)
_partial("job_runs_deadline", job_runs.c.start_deadline_at, where=_HAS_DEADLINE)
# By type first, so that due runs of types that this host does not know are not read; then by gate, so that a claim does
# not walk past runs that wait for a limit.
_partial("job_runs_claim", job_runs.c.job_type, job_runs.c.gate, *_URGENT_FIRST, where=_IS_CLAIMABLE)
# The few quarantined runs. Each tick asks for them first, without reading its whole queue.
_partial("job_runs_quarantined", job_runs.c.job_type, job_runs.c.gate, *_URGENT_FIRST, where=_IS_QUARANTINED)
# For the question whether anything is due, of any type. Only a statement with ANY_RELEASES can use it: with statistics
# from before the queue filled, the planner would use it for a claim, which would then read the whole queue.
_partial("job_runs_due", job_runs.c.run_at, where=text(f"{_IS_CLAIMABLE} AND {ANY_RELEASES} AND gate = ''"))
# The running runs of limited types: they are counted.
_partial("job_runs_gated", job_runs.c.job_type, job_runs.c.gate, where=text("lease_token IS NOT NULL AND gate <> ''"))
# Not by locked_until, which each heartbeat changes: its update must stay HOT. By host, so that the planner expects few
# rows and uses an index scan, which marks dead entries. A bitmap scan does not mark them.
_partial("job_runs_lease", job_runs.c.host, job_runs.c.id, where=text("status = 'running'"))
_partial("job_runs_finished", job_runs.c.status, job_runs.c.finished_at, where=text("finished_at IS NOT NULL"))

job_keys = Table(
    "job_keys",
    metadata,
    Column("job_type", short_text(200), primary_key=True),
    Column("idempotency_key", short_text(500), primary_key=True),
    # No foreign key, because the key is kept longer than its run. NULL only inside the transaction that inserts it.
    Column("run_id", BigKey),
    # When that run was created.
    Column("created_at", UtcTime, nullable=False),
)

# For PostgreSQL: what only one transaction may do at a time, it does with the lock on the row of that name. An advisory
# lock could be taken by any role that may connect.
job_locks = Table("job_locks", metadata, Column("name", short_text(300), primary_key=True))

# One row for each job type that has or had a limit, or a scope of its keys. An enqueue of a limited type locks its row
# (see backpressure.py).
job_types = Table(
    "job_types",
    metadata,
    Column("job_type", short_text(200), primary_key=True),
    # NULL: no limit.
    Column("max_waiting", BigKey),
    Column("when_full", short_text(20), nullable=False),
    Column("dropped", BigKey, nullable=False, server_default="0"),
    # When the last run was dropped.
    Column("dropped_at", UtcTime),
    # How long a key stays taken: see ``model.Policy``.
    Column("key_scope", short_text(20), nullable=False, server_default="forever"),
    Column("key_window", Seconds),
    Column("updated_at", UtcTime, nullable=False),
    CheckConstraint("max_waiting > 0", name="limit"),
    CheckConstraint("when_full IN ('refuse', 'drop')", name="when_full"),
    CheckConstraint(
        "key_scope IN ('forever', 'active', 'window') AND (key_scope = 'window') = (key_window IS NOT NULL)"
        " AND key_window BETWEEN 0.000001 AND 316224000",
        name="key_scope",
    ),
)

# One row for each job type with limits over all hosts, with the limits that were declared last, for those who do not
# know the code. A claim of the type locks the row. ``spent_until`` is the state of the rate (``rates.py``).
job_limits = Table(
    "job_limits",
    metadata,
    Column("job_type", short_text(200), primary_key=True),
    Column("max_running", Integer),
    Column("rate", short_text(50)),
    Column("burst", Integer),
    Column("concurrency_key", short_text(1000)),
    Column("max_running_per_key", Integer),
    Column("rate_per_key", short_text(50)),
    Column("burst_per_key", Integer),
    Column("spent_until", UtcTime),
    # When the rate allows the next runs; and when a claim last asked.
    Column("opens_at", UtcTime),
    Column("asked_at", UtcTime),
)

# What runs of a limited type wait behind: one gate for each key, or one for the type. ``turn_at`` is that of the first
# waiting run; NULL: none waits.
job_gates = Table(
    "job_gates",
    metadata,
    Column("job_type", short_text(200), primary_key=True),
    Column("gate", short_text(300), primary_key=True),
    Column("turn_at", UtcTime),
    Column("spent_until", UtcTime),
    Column("opens_at", UtcTime),
)
_WAITED_AT = text("turn_at IS NOT NULL")
_partial("job_gates_turn", job_gates.c.job_type, job_gates.c.turn_at, where=_WAITED_AT)
_partial(
    "job_gates_opens", job_gates.c.job_type, job_gates.c.opens_at, where=text(f"{_WAITED_AT} AND opens_at IS NOT NULL")
)

# A run waits for the end of each of its parents. The trigger of dialect/parents.py writes ``parent_status`` then. When
# that was acted on the row is deleted, so that a parent can be pruned.
job_parents = Table(
    "job_parents",
    metadata,
    # No foreign keys, because each run that is pruned would be looked up here.
    Column("parent_id", BigKey, primary_key=True),
    Column("run_id", BigKey, primary_key=True, index=True),
    Column("on_failure", short_text(20), nullable=False),
    Column("parent_status", short_text(20)),
    CheckConstraint("on_failure IN ('cancel', 'run')", name="on_failure"),
)
IS_ENDED = text("parent_status IS NOT NULL")
_partial("job_parents_ended", job_parents.c.run_id, where=IS_ENDED)

job_attempts = Table(
    "job_attempts",
    metadata,
    Column("id", BigKey, Identity(), primary_key=True),
    Column("run_id", BigKey, ForeignKey("job_runs.id", ondelete="CASCADE"), nullable=False),
    # Increases with every attempt. A released attempt and the one after it have the same number ``attempt``.
    Column("sequence", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("lease_token", short_text(32), nullable=False),
    Column("worker", short_text(300), nullable=False),
    Column("host", short_text(255), nullable=False),
    # When the run was due. NULL: only a run that was changed by hand has no such time.
    Column("due_at", UtcTime),
    Column("started_at", UtcTime, nullable=False),
    Column("finished_at", UtcTime, nullable=False),
    Column("outcome", short_text(20), nullable=False),
    # The status of the run after the attempt. NULL: written by hand.
    Column("status", short_text(20)),
    Column("error_type", short_text(200)),
    Column("error", Text),
    Column("traceback", Text),
    Column("output", Text),
    Column("exit_signal", Integer),
    UniqueConstraint("run_id", "sequence"),
    UniqueConstraint("run_id", "lease_token"),
    sqlite_autoincrement=True,
)

job_ticks = Table(
    "job_ticks",
    metadata,
    Column("id", BigKey, Identity(), primary_key=True),
    Column("host", short_text(255), nullable=False),
    Column("worker", short_text(300), nullable=False),
    Column("version", short_text(50), nullable=False),
    Column("started_at", UtcTime, nullable=False, index=True),
    # The application of a listening tick: several may share a host and a database.
    Column("application", Text),
    # Since when the tick listens for runs of these types, separated by commas; "": all types of its host.
    Column("listening_at", UtcTime),
    Column("types", Text),
    # NULL: the tick is at work, or was killed.
    Column("finished_at", UtcTime),
    Column("counts", JsonObject),
    Column("error", Text),
    sqlite_autoincrement=True,
)

job_events = Table(
    "job_events",
    metadata,
    Column("id", BigKey, Identity(), primary_key=True),
    Column("at", UtcTime, nullable=False, index=True),
    Column("actor", short_text(300), nullable=False),
    Column("action", short_text(50), nullable=False),
    # No foreign keys, because an event is kept longer than its run.
    Column("run_id", BigKey, index=True),
    Column("definition_id", BigKey, index=True),
    Column("detail", JsonObject, nullable=False),
    sqlite_autoincrement=True,
)

# Kept for ever: without its row an effect could be applied again.
job_effects = Table(
    "job_effects",
    metadata,
    Column("key", short_text(500), primary_key=True),
    Column("state", short_text(20), nullable=False),
    # The run that made the last call, and its lease. No foreign key, because an effect is kept longer than its run.
    Column("run_id", BigKey, nullable=False),
    Column("job_type", short_text(200), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("lease_token", short_text(32), nullable=False),
    # Identifies the call itself: an attempt may make several under one lease.
    Column("token", short_text(32), nullable=False),
    Column("outcome", JsonObject),
    Column("intended_at", UtcTime, nullable=False),
    Column("settled_at", UtcTime),
    CheckConstraint("state IN ('intended', 'uncertain', 'applied')", name="state"),
    CheckConstraint("(state = 'applied') = (settled_at IS NOT NULL)", name="settled"),
)
_partial("job_effects_open", job_effects.c.intended_at, where=text("state <> 'applied'"))

# The ends of attempts and runs by hour, later by day. A tick adds rows, and prune makes few of many: tallies.py.
job_tallies = Table(
    "job_tallies",
    metadata,
    Column("id", BigKey, Identity(), primary_key=True),
    # The begin of the hour or of the day (UTC).
    Column("at", UtcTime, nullable=False),
    Column("span", short_text(10), nullable=False),
    Column("job_type", short_text(200), nullable=False),
    # How the attempts ended; "" for runs that ended without one.
    Column("outcome", short_text(20), nullable=False),
    # The status of their runs afterwards.
    Column("status", short_text(20), nullable=False),
    Column("ends", BigKey, nullable=False),
    # Seconds: until the start of the attempts since they were due, and from their start to their end.
    Column("waited", Seconds, nullable=False),
    Column("longest_wait", Seconds, nullable=False),
    Column("ran", Seconds, nullable=False),
    Column("longest_run", Seconds, nullable=False),
    # How many attempts waited, or ran, for how long: see histogram.py.
    Column("waits", JsonObject, nullable=False),
    Column("runs", JsonObject, nullable=False),
    # Whether job_totals contains the row.
    Column("is_in_totals", Integer, nullable=False, server_default="0"),
    CheckConstraint("span IN ('hour', 'day')", name="span"),
    Index("job_tallies_span_at", "span", "at"),
    sqlite_autoincrement=True,
)
_partial("job_tallies_new", job_tallies.c.at, where=text("is_in_totals = 0"))

# All ends ever, but for those in rows of job_tallies that say so. Never pruned.
job_totals = Table(
    "job_totals",
    metadata,
    Column("job_type", short_text(200), primary_key=True),
    Column("outcome", short_text(20), primary_key=True),
    Column("status", short_text(20), primary_key=True),
    Column("ends", BigKey, nullable=False),
    Column("waited", Seconds, nullable=False),
    Column("ran", Seconds, nullable=False),
    Column("waits", JsonObject, nullable=False),
    Column("runs", JsonObject, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
)


def _add_checks(table: Table) -> None:
    instants = [
        # Not a turn, which may lie before all other instants. Python does not read it.
        column.name
        for column in table.columns
        if isinstance(column.type, UtcTime) and column.name != "turn_at"
    ]
    json_columns = [column.name for column in table.columns if isinstance(column.type, JSON)]
    table.dialect_options["sqlite"]["strict"] = True
    if not instants:
        return
    for name in ("postgresql", "sqlite"):
        check = CheckConstraint(readable(name, instants, json_columns), name="readable")
        table.append_constraint(check.ddl_if(dialect=name))


for _table in metadata.sorted_tables:
    _add_checks(_table)
