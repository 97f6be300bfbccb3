"""The definitions and the runs, with the conditions of their indexes."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Computed, ForeignKey, Identity, Integer, Table, Text, TextClause, text

from jobrunner.lifecycle import CLAIMABLE, FINISHED, QUARANTINE_AFTER_EXPIRIES, UNFINISHED, Status
from jobrunner.model import OVERLAPS
from jobrunner.store.schema.base import is_one_of, metadata, partial
from jobrunner.store.sql.dialect.values import BigKey, JsonObject, Seconds, SmallNumber, UtcTime, short_text, turn
from jobrunner.store.sql.versions import RUNNING_KEY, UNTOLD

ANY_RELEASES = text("releases >= 0")
"""True for every run. Only a statement with this condition can use the indexes of due runs and of runs behind gates."""
IS_UNTOLD = text(UNTOLD)
"""The condition that a run is dead and no hook was notified of it."""
IS_UNFINISHED = is_one_of(UNFINISHED)
"""The condition of the partial indexes, in the same words, so that the planner can use them."""


def _unfinished(name: str) -> TextClause:
    return text(f"{IS_UNFINISHED} AND {name} IS NOT NULL")


_IS_CLAIMABLE = is_one_of(CLAIMABLE)
_IS_QUARANTINED = text(f"{_IS_CLAIMABLE} AND lease_expiries >= {QUARANTINE_AFTER_EXPIRIES}")
# Only a running run has a lease_token. The planner does not know that, so it uses this index for no other question.
_AT_WORK_WITH_KEY = text("lease_token IS NOT NULL AND concurrency_key IS NOT NULL")
_HAS_DEADLINE = text("finished_at IS NULL AND lease_token IS NULL AND start_deadline_at IS NOT NULL")
IS_SLOT = text("scheduled_for IS NOT NULL AND (origin IS NULL OR origin <> 'again')")

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
    # Which host writes the metrics of the whole database, and when it last did: see metrics.py.
    Column("metrics_host", short_text(255)),
    Column("metrics_at", UtcTime),
    # The server that the last pruning tick has seen: see servers.py. NULL: none yet, or a file.
    Column("server", short_text(60)),
    # The release that made these tables. Those that were made before the first one have no such column.
    Column("released", short_text(60), nullable=False, server_default="0.1.0"),
    # The migration whose slices are not all changed yet: see beside_ticks.py.
    Column("unfinished", short_text(60)),
    # The views, functions and triggers of the schema before: see kept_programs.py.
    Column("programs", Text),
    # To or from where these rows are moved, or were: see moved.py.
    Column("moved", Text),
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
    # every-host: each host has a row of its own, with that ``host`` and with the name of this one as ``template``. Only
    # ticks of that host expand it. This row has no slots itself.
    Column("on", short_text(20), nullable=False, server_default="any-host"),
    Column("host", short_text(255)),
    Column("template", short_text(200)),
    CheckConstraint("\"on\" IN ('any-host', 'every-host')", name="on"),
    CheckConstraint(
        f"misfire IN ('latest', 'skip', 'all') AND overlap IN ({', '.join(map(repr, OVERLAPS))})"
        " AND NOT (misfire = 'all' AND overlap = 'replace') AND misfire_window BETWEEN 0.000001 AND 316224000"
        " AND misfire_most BETWEEN 1 AND 10000 AND start_deadline BETWEEN 0.000001 AND 316224000"
        " AND jitter BETWEEN 0.000001 AND 316224000 AND max_runs BETWEEN 1 AND 1000000000 AND runs_made >= 0",
        name="policy",
    ),
    sqlite_autoincrement=True,
)

# For each tick, beside many others: the schedules of every host, and those of its own host.
_IS_TEMPLATE = text("\"on\" = 'every-host' AND host IS NULL")
partial("job_definitions_templates", job_definitions.c.updated_at, where=_IS_TEMPLATE)
partial(
    "job_definitions_of_host", job_definitions.c.host, job_definitions.c.next_run_at, where=text("host IS NOT NULL")
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
    Column("gate", short_text(600), nullable=False, server_default=text("''")),
    # 1: there are or were runs that wait for the end of this one (``job_parents``).
    Column("has_dependants", SmallNumber, nullable=False, server_default="0"),
    Column("idempotency_key", short_text(500)),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("max_attempts", Integer),
    # Seconds. NULL: the policy of the type; 0: no limit.
    Column("timeout", Seconds),
    # The span that enqueued it, in the form of W3C Trace Context.
    Column("traceparent", short_text(55)),
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
    # When it was noted for the hooks that the run is dead (``notices``).
    Column("told_at", UtcTime),
    Column("releases", Integer, nullable=False, server_default="0"),
    Column("lease_expiries", Integer, nullable=False, server_default="0"),
    # Since when every attempt has found that the run does not fit the code.
    Column("incompatible_at", UtcTime),
    Column("error_type", short_text(200)),
    Column("last_error", Text),
    Column("result", JsonObject),
    Column("progress", JsonObject),
    Column("output", Text),
    # What an attempt has left for the next one to go on from: JSON.
    Column("checkpoint", JsonObject, info={"is_added": True}),
    # Only the ticks of this host may claim it. A claim of that host takes it away for its own transaction.
    Column("only_host", short_text(255)),
    Column("created_at", UtcTime, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
    CheckConstraint(is_one_of(tuple(Status)), name="status"),
    CheckConstraint(
        " AND ".join(
            f"(status = 'running') = ({name} IS NOT NULL)" for name in ("lease_token", "locked_by", "locked_until")
        ),
        name="lease",
    ),
    CheckConstraint(f"({is_one_of(FINISHED)}) = (finished_at IS NOT NULL)", name="finished"),
    CheckConstraint("attempts >= 0 AND releases >= 0 AND lease_expiries >= 0", name="counts"),
    CheckConstraint("max_attempts >= 1 AND timeout BETWEEN 0 AND 316224000", name="limits"),
    sqlite_autoincrement=True,
)
_URGENT_FIRST = (job_runs.c.turn_at, job_runs.c.run_at, job_runs.c.id)
# Partial, because most runs have no slot, and each index entry is written again at the claim and at the end of its run.
partial("job_runs_slot", job_runs.c.definition_id, job_runs.c.scheduled_for, where=IS_SLOT, unique=True)
# For people who look at the newest runs of one schedule beside many others.
partial("job_runs_of_schedule", job_runs.c.definition_id, job_runs.c.id, where=text("definition_id IS NOT NULL"))
# For the overlap policy of a definition.
partial("job_runs_unfinished", job_runs.c.definition_id, job_runs.c.id, where=_unfinished("definition_id"))
partial("job_runs_key", job_runs.c.concurrency_key, job_runs.c.id, where=_unfinished("concurrency_key"))
# Makes one of two claims fail that cannot see each other.
partial(RUNNING_KEY, job_runs.c.concurrency_key, where=_AT_WORK_WITH_KEY, unique=True)
partial("job_runs_deadline", job_runs.c.start_deadline_at, where=_HAS_DEADLINE)
# By type first, so that due runs of types that this host does not know are not read; then by gate, so that a claim does
# not walk past runs that wait for a limit.
partial("job_runs_claim", job_runs.c.job_type, job_runs.c.gate, *_URGENT_FIRST, where=_IS_CLAIMABLE)
# What waits for one host. Its claims ask for them; all others pass over them.
partial(
    "job_runs_of_host",
    job_runs.c.only_host,
    job_runs.c.job_type,
    *_URGENT_FIRST,
    where=text("finished_at IS NULL AND lease_token IS NULL AND only_host IS NOT NULL"),
)
# The few quarantined runs. Each tick asks for them first, without reading its whole queue.
partial("job_runs_quarantined", job_runs.c.job_type, job_runs.c.gate, *_URGENT_FIRST, where=_IS_QUARANTINED)
# For the question whether anything is due, of any type. Only a statement with ANY_RELEASES can use it: with statistics
# from before the queue filled, the planner would use it for a claim, which would then read the whole queue.
partial("job_runs_due", job_runs.c.run_at, where=text(f"{_IS_CLAIMABLE} AND {ANY_RELEASES} AND gate = ''"))
# The running runs of limited types: they are counted.
partial("job_runs_gated", job_runs.c.job_type, job_runs.c.gate, where=text("lease_token IS NOT NULL AND gate <> ''"))
# For the question whether any run waits behind a gate, and for the runs that wait for the end of others. Also only with
# ANY_RELEASES: a claim would read all that waits behind gates.
_IS_BEHIND = text(f"{_IS_CLAIMABLE} AND {ANY_RELEASES} AND gate <> ''")
partial("job_runs_behind", job_runs.c.gate, job_runs.c.id, where=_IS_BEHIND)
# Not by locked_until, which each heartbeat changes: its update must stay HOT. By host, so that the planner expects few
# rows and uses an index scan, which marks dead entries. A bitmap scan does not mark them.
partial("job_runs_lease", job_runs.c.host, job_runs.c.id, where=text("status = 'running'"))
# The type comes last: prune passes over the runs of types that are kept for another time without reading them.
partial(
    "job_runs_finished",
    job_runs.c.status,
    job_runs.c.finished_at,
    job_runs.c.job_type,
    where=text("finished_at IS NOT NULL"),
)
# The errors of runs that wait for their next try, among all that waits.
partial("job_runs_failing", job_runs.c.failed_at, where=text("status = 'failed'"))
partial("job_runs_untold", job_runs.c.finished_at, where=IS_UNTOLD)
