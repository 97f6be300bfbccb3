"""What the hooks notify of (``notices``): the outbox, and what was notified already."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Identity, Integer, Table, Text, text

from jobrunner.store.schema.base import metadata, partial
from jobrunner.store.sql.dialect.values import BigKey, JsonObject, UtcTime, short_text

# One row for each receiver that is to be notified of a job type, or of a schedule, for one tick.
job_notices = Table(
    "job_notices",
    metadata,
    Column("id", BigKey, Identity(), primary_key=True),
    Column("at", UtcTime, nullable=False, index=True),
    Column("event", short_text(20), nullable=False),
    Column("job_type", short_text(200), nullable=False),
    # "": runs of no schedule.
    Column("schedule", short_text(200), nullable=False),
    # Its name in the configuration file. The address is a secret.
    Column("receiver", short_text(100), nullable=False),
    Column("runs", BigKey, nullable=False),
    Column("detail", JsonObject, nullable=False),
    # 1: no success was seen since. Only the last row of a type or schedule is open.
    Column("is_open", Integer, nullable=False),
    # The attempts up to this id are not the success that closes it.
    Column("seen_to", BigKey, nullable=False, server_default="0"),
    Column("tries", Integer, nullable=False, server_default="0"),
    # Since when a tick sends it. If the tick is killed, nobody sends it again.
    Column("claimed_at", UtcTime),
    Column("claimed_by", short_text(300)),
    Column("settled_at", UtcTime),
    # sent, failed, or lost: the tick that sent it was killed.
    Column("outcome", short_text(20)),
    Column("error", Text),
    CheckConstraint("event IN ('dead', 'late', 'recovered')", name="event"),
    CheckConstraint("(settled_at IS NULL) = (outcome IS NULL)", name="settled"),
    sqlite_autoincrement=True,
)
partial("job_notices_unsettled", job_notices.c.id, where=text("settled_at IS NULL"))
partial("job_notices_failed", job_notices.c.settled_at, where=text("outcome <> 'sent'"))
partial("job_notices_open", job_notices.c.job_type, job_notices.c.schedule, where=text("is_open = 1"))
# Makes all but one of several hosts fail that find the same runs late.
partial(
    "job_notices_late",
    job_notices.c.job_type,
    job_notices.c.schedule,
    job_notices.c.receiver,
    where=text("is_open = 1 AND event = 'late'"),
    unique=True,
)
