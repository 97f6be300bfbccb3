"""What ``doctor`` asks a server of PostgreSQL about its standbys, and about the sequences of our tables.

Every function expects a read transaction and changes nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.sql.namespace import MARK, qualified
from jobrunner.store.upkeep.neighbours import our_identities

# Only those that receive the whole server count: no subscriber of some tables, and no copy under way. Our role may not
# see the columns of other roles' sessions, unless it has pg_read_all_stats; then they are NULL.
_REPLICATION = """
SELECT current_setting('synchronous_standby_names') AS names, current_setting('synchronous_commit') AS commits,
  (SELECT source FROM pg_catalog.pg_settings WHERE name = 'synchronous_commit') AS commits_source,
  current_user::text AS role, current_database()::text AS database,
  count(pid) AS connected, count(sync_state) AS seen, count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')) AS waited
FROM pg_catalog.pg_stat_replication
WHERE state IS DISTINCT FROM 'backup'
  AND pid NOT IN (
    SELECT active_pid FROM pg_catalog.pg_replication_slots WHERE slot_type = 'logical' AND active_pid IS NOT NULL
  )
"""
# An identity whose first number was not taken yet has no last one.
_SEQUENCE = """
SELECT '{mark}.{table}' AS name, (SELECT max(id) FROM {mark}.{table}) AS newest,
  found.sequence::text AS sequence, pg_catalog.has_sequence_privilege(found.sequence, 'SELECT') AS may_read
FROM (SELECT pg_catalog.pg_get_serial_sequence('{mark}.{table}', 'id')::regclass AS sequence) AS found
"""
_LAST = "SELECT '{sequence}' AS name, CASE WHEN is_called THEN last_value ELSE 0 END AS last FROM {sequence}"


class Replication(NamedTuple):
    """The standbys that are ``connected``. For so many COMMITs wait (``waited``), among those ``seen``.

    ``names`` and ``commits`` are the settings synchronous_standby_names and synchronous_commit, as our session has
    them, and ``commits_source`` says where the second one was set.
    """

    names: str
    commits: str
    commits_source: str
    role: str
    database: str
    connected: int
    seen: int
    waited: int


class Sequence(NamedTuple):
    """The sequence of a table's ids and the newest id. ``last`` None: our role may not read it."""

    table: str
    name: str
    newest: int | None
    last: int | None


def replication(connection: Connection) -> Replication:
    """The standbys of a server of PostgreSQL."""
    return Replication(*connection.execute(_REPLICATION).one())


def sequences(connection: Connection) -> list[Sequence]:
    """The sequences of our tables on PostgreSQL."""
    questions = [_SEQUENCE.format(table=name, mark=MARK) for name in our_identities()]
    rows: Any = connection.execute(qualified("UNION ALL".join(questions), connection.schema)).all()
    readable = [row.sequence for row in rows if row.may_read]
    last: dict[str, int] = {}
    if readable:
        numbers = [_LAST.format(sequence=name) for name in readable]
        last = {row.name: row.last for row in connection.execute(" UNION ALL ".join(numbers))}
    return [Sequence(row.name, row.sequence, row.newest, last.get(row.sequence)) for row in rows]
