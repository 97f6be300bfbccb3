"""What has happened: attempts, ticks, events, effects, and their numbers."""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKey,
    Identity,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from jobrunner.store.schema.base import metadata, partial
from jobrunner.store.sql.dialect.values import BigKey, JsonObject, Seconds, UtcTime, short_text

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
    # Where the class of a handler's exception can be imported from. NULL: no exception, or no path that fits.
    Column("error_class", short_text(300)),
    Column("error", Text),
    Column("traceback", Text),
    Column("output", Text),
    Column("exit_signal", Integer),
    # What the attempt has cost: bytes, and seconds of processor time. NULL: not known.
    Column("peak_memory_bytes", BigKey),
    Column("processor_seconds", Seconds),
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
    # Several applications may share a host and a database.
    Column("application", Text),
    # Since when the tick listens for new runs.
    Column("listening_at", UtcTime),
    # The types that the tick works on, separated by commas; "": all types of its host.
    Column("types", Text),
    # NULL: the tick is at work, or was killed.
    Column("finished_at", UtcTime),
    Column("counts", JsonObject),
    Column("error", Text),
    # Why the tick claimed no more. NULL: it is at work, or was killed.
    Column("ended_by", short_text(20)),
    # The due runs of each type that it left behind: see ticks.count_left. NULL: none, or they were not counted.
    Column("left_due", JsonObject),
    CheckConstraint(
        "ended_by IN ('empty', 'budget', 'batch', 'signal', 'superseded', 'error')",
        name="ended_by",
    ),
    # For the last tick of each host.
    Index("job_ticks_host_id", "host", "id"),
    sqlite_autoincrement=True,
)
# For the versions of the ticks that are at work on a host, or were killed.
partial("job_ticks_open", job_ticks.c.host, job_ticks.c.version, where=text("finished_at IS NULL"))

# What the ticks of a host can run, by their last report: hosts.py. A busy tick writes it if it has changed.
job_hosts = Table(
    "job_hosts",
    metadata,
    # The digest of the three columns that follow. Together they may be too long for an index.
    Column("id", short_text(64), primary_key=True),
    Column("host", short_text(255), nullable=False),
    Column("application", Text, nullable=False),
    Column("types", Text, nullable=False),
    # Of all that is reported.
    Column("digest", short_text(64), nullable=False),
    # The limits and the backoff of each type that it has a handler for, by the name of the type.
    Column("can_run", JsonObject, nullable=False),
    Column("settings", JsonObject, nullable=False),
    Column("database", Text, nullable=False),
    # The machine since its last start, and the one that has reported under this name before.
    Column("boot", short_text(64), nullable=False),
    Column("last_boot", short_text(64), nullable=False),
    # When two machines last took turns under this name.
    Column("is_twin_at", UtcTime),
    Column("reported_at", UtcTime, nullable=False),
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

# Of many runs at once, and of whole types and hosts: for the page of a run, whose events they may be.
partial("job_events_many", job_events.c.at, where=text("run_id IS NULL AND definition_id IS NULL"))

# Kept forever: without its row an effect could be applied again.
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
partial("job_effects_open", job_effects.c.intended_at, where=text("state <> 'applied'"))

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
    # The processor time and the peak memory of the attempts of which they are known: seconds, bytes, histograms.
    # An older program writes none, and what it compacts has none any more.
    Column("processor", Seconds, nullable=False, server_default="0"),
    Column("most_processor", Seconds, nullable=False, server_default="0"),
    Column("processors", JsonObject, nullable=False, server_default="[]", info={"is_added": True}),
    Column("most_memory", BigKey, nullable=False, server_default="0"),
    Column("memories", JsonObject, nullable=False, server_default="[]", info={"is_added": True}),
    CheckConstraint("span IN ('hour', 'day')", name="span"),
    Index("job_tallies_span_at", "span", "at"),
    sqlite_autoincrement=True,
)
partial("job_tallies_new", job_tallies.c.at, where=text("is_in_totals = 0"))

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
