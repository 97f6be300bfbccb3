"""What a run may have to wait for: keys, locks, limits, gates, pauses and other runs."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Integer, Table, Text, text

from jobrunner.store.schema.base import metadata, partial
from jobrunner.store.sql.dialect.values import BigKey, Seconds, UtcTime, short_text

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
job_locks = Table(
    "job_locks",
    metadata,
    Column("name", short_text(300), primary_key=True),
    # Of the lock on a host's permits: the tick that has counted what others have at work there, nothing, and no other
    # tick of the host has claimed since. NULL: none. See sole_owners.py.
    Column("sole_owner", short_text(300)),
)

# One row for each job type that has or had a limit, a scope of its keys, or a fair share between keys. An enqueue of a
# limited type locks its row (see backpressure.py).
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
    # The argument by whose values claims go round. A trigger puts a due run behind its gate (dialect/fair.py).
    Column("fair_by", short_text(200), info={"is_added": True}),
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
    # Up to which gate claims have looked for gates that have no row yet: see fair.py.
    Column("looked_to", short_text(600), info={"is_added": True}),
)

# What operators have set instead of the limits of the code, until ``ends_at``; NULL: until they take it back. One row
# for each type. A row that has ended stays until a tick has taken the type's runs from behind gates that nobody needs
# any more. NULL as a limit: that of the code. A claim of the type locks the row of ``job_limits``, and so does each
# change.
job_set_limits = Table(
    "job_set_limits",
    metadata,
    Column("job_type", short_text(200), primary_key=True),
    Column("max_running", Integer),
    Column("rate", short_text(50)),
    Column("burst", Integer),
    Column("reason", Text),
    Column("actor", short_text(300), nullable=False),
    Column("set_at", UtcTime, nullable=False),
    Column("ends_at", UtcTime),
    CheckConstraint("max_running IS NOT NULL OR rate IS NOT NULL", name="limit"),
    CheckConstraint("max_running > 0", name="max_running"),
    CheckConstraint("(rate IS NULL) = (burst IS NULL)", name="rate"),
)

# What runs of a limited type wait behind: one gate for each key, or one for the type. ``turn_at`` is that of the first
# waiting run; NULL: none waits.
job_gates = Table(
    "job_gates",
    metadata,
    Column("job_type", short_text(200), primary_key=True),
    Column("gate", short_text(600), primary_key=True),
    Column("turn_at", UtcTime),
    Column("spent_until", UtcTime),
    Column("opens_at", UtcTime),
    # Its place in the line of gates round which claims go, in microseconds: see statements/queue/fair.py. Code that
    # knows no line comes to its front.
    Column("place", BigKey, nullable=False, server_default="0"),
)
_WAITED_AT = text("turn_at IS NOT NULL")
partial("job_gates_turn", job_gates.c.job_type, job_gates.c.turn_at, where=_WAITED_AT)
partial("job_gates_line", job_gates.c.job_type, job_gates.c.place, where=_WAITED_AT)
partial(
    "job_gates_opens", job_gates.c.job_type, job_gates.c.opens_at, where=text(f"{_WAITED_AT} AND opens_at IS NOT NULL")
)

# What somebody has paused: no run of this type, or on this host, or anywhere is claimed. ``name`` "" is that of "all".
job_pauses = Table(
    "job_pauses",
    metadata,
    Column("kind", short_text(20), primary_key=True),
    Column("name", short_text(255), primary_key=True),
    Column("reason", Text),
    Column("actor", short_text(300), nullable=False),
    Column("paused_at", UtcTime, nullable=False),
    CheckConstraint("kind IN ('all', 'type', 'host')", name="kind"),
    CheckConstraint("(kind = 'all') = (name = '')", name="name"),
)

# A run waits for the end of each of its parents. The trigger of dialect/parents.py writes ``parent_status`` then. When
# that was acted on the row is deleted, so that a parent can be pruned.
job_parents = Table(
    "job_parents",
    metadata,
    # No foreign keys, because each run that is pruned would be looked up here.
    Column("parent_id", BigKey, primary_key=True),
    Column("run_id", BigKey, primary_key=True, index=True),
    Column("if_parent_fails", short_text(20), nullable=False),
    Column("parent_status", short_text(20)),
    CheckConstraint("if_parent_fails IN ('cancel', 'run')", name="if_parent_fails"),
)
IS_ENDED = text("parent_status IS NOT NULL")
partial("job_parents_ended", job_parents.c.run_id, where=IS_ENDED)
