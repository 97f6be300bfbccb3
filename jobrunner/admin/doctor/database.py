"""The database: whether it can be reached, which it is, its schema, its clock, and who holds it up."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from jobrunner import clock
from jobrunner.admin.doctor.checks import Check, ok, warning, wrong
from jobrunner.admin.tick_rules import is_old
from jobrunner.durations import format_duration
from jobrunner.errors import DatabaseDamaged, DatabaseUnavailable, JobrunnerError
from jobrunner.settings.health import Thresholds
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database
from jobrunner.store.drivers.location import Location
from jobrunner.store.questions import findings, lockers, snapshots
from jobrunner.store.sql.versions import SCHEMA_REVISION
from jobrunner.store.upkeep import beside_ticks, damage, inspection
from jobrunner.store.upkeep.check import check_schema
from jobrunner.store.upkeep.drift import drift
from jobrunner.store.upkeep.inspection import Server, Session, StoredFile, TableSize
from jobrunner.text import mebibytes

_IDLE_SECONDS, _LONG_IDLE_SECONDS = 2.0, 60.0
_LONG_SECONDS = 600.0
_MANY_DEAD, _DEAD_SHARE = 100_000, 0.5
_LARGE_BYTES = 100 * 2**20
CHECK_SECONDS = 5.0
"""For a check of a whole SQLite file."""


def reachable(database: Database) -> tuple[bool, list[Check]]:
    """Whether the database answers, and what it is."""
    location = database.location
    if location.is_missing():
        return False, [
            wrong(
                "database",
                f"there is no database at {location.file}",
                "jobrunner migrate; or name the right one with JOBRUNNER_DATABASE_URL",
            )
        ]
    try:
        if location.has_server:
            return True, list(_server(location, database.read(inspection.server)))
        is_whole, integrity = _integrity(database)
        if not is_whole:
            return False, [integrity]
        return True, [*_file(location, database.read(inspection.file)), integrity]
    except DatabaseUnavailable as error:
        return False, [unusable(error)]


def unusable(error: DatabaseUnavailable) -> Check:
    """Why the database cannot be used, and the remedy of that cause."""
    return wrong("database", error.found, error.remedy or "name another one with JOBRUNNER_DATABASE_URL")


def _integrity(database: Database) -> tuple[bool, Check]:
    """Whether the file is not known to be damaged."""
    try:
        is_whole = damage.is_whole(database, CHECK_SECONDS)
    except DatabaseDamaged as error:
        found, _, remedy = str(error).rpartition("; ")
        return False, wrong("integrity", found, remedy)
    if is_whole is None:
        found = f"not known: a check of the whole file takes longer than {CHECK_SECONDS:g} s"
        return True, ok("integrity", f"{found}; sqlite3 {database.location.file} 'PRAGMA quick_check'")
    return True, ok("integrity", "no damage found in the file (quick_check)")


def _file(location: Location, found: StoredFile) -> Iterator[Check]:
    yield ok("database", f"{location.label}, SQLite {found.version}")
    if found.journal != "wal":
        yield wrong(
            "journal", f"the journal mode is {found.journal}, so that readers hold up ticks", "jobrunner migrate"
        )
    free = found.free_pages * found.page_bytes
    if free > _LARGE_BYTES and found.free_pages > found.pages / 2:
        yield warning(
            "bloat",
            f"{mebibytes(free)} of {mebibytes(found.pages * found.page_bytes)} are empty",
            f"when no tick is at work: sqlite3 {location.file} VACUUM",
        )
    else:
        yield ok("bloat", f"{mebibytes(free)} of {mebibytes(found.pages * found.page_bytes)} are empty")


def _server(location: Location, found: Server) -> Iterator[Check]:
    name = f"{location.label}, PostgreSQL {found.version}, role {found.role}"
    if found.is_standby:
        yield wrong(
            "database",
            f"{name}: a standby, which cannot be written",
            "set JOBRUNNER_DATABASE_URL to the URL of the primary server",
        )
    else:
        yield ok("database", name)
    yield ok("server time zone", f"{found.timezone}; it does not matter: all instants are stored in UTC")
    if found.is_autovacuum_off:
        yield wrong(
            "autovacuum",
            "it is off on this server: claims get slower with every run",
            "ALTER SYSTEM SET autovacuum = on; SELECT pg_reload_conf()",
        )


def schema(database: Database) -> tuple[bool, Check]:
    """Whether this code can work with the schema, and what differs from it."""
    remedy = "jobrunner migrate"
    try:
        version = database.read(check_schema)
        pieces = drift(database)
    except DatabaseUnavailable as error:
        return False, unusable(error)
    except JobrunnerError as error:
        found, _, other = str(error).partition("; ")
        return False, wrong("schema", found, other.removeprefix("run: ") or remedy)
    if not pieces:
        if version > SCHEMA_REVISION:
            return True, ok("schema", f"version {version}, newer than this jobrunner's {SCHEMA_REVISION}, and fits it")
        return True, ok("schema", f"version {version}, complete")
    names = ", ".join(f"{each.kind} {each.name}" if each.kind != "into" else f"row of {each.name}" for each in pieces)
    statements = "\n".join(f"{each.statement.strip()};" for each in pieces)
    found = f"missing or different: {names}"
    return True, wrong("schema", found, f"{remedy}, which runs:\n{statements.replace('jobrunner_schema.', '')}")


def slices(connection: Connection) -> list[Check]:
    """Whether a migration that changes rows in slices has changed them all."""
    version = beside_ticks.unfinished_version(connection)
    if version is None:
        return []
    found = f"migration {version} has not changed all rows yet: jobrunner migrate is at work, or was interrupted"
    return [warning("schema", found, "jobrunner migrate")]


def clocks(connection: Connection, most: timedelta) -> Check:
    """The difference between the database's clock and this host's, which may be ``most``, as for ``health``."""
    before = clock.utc_now()
    theirs = inspection.clock(connection)
    ours = before + (clock.utc_now() - before) / 2
    skew = abs(theirs - ours)
    newest = max((tick.started_at for tick in inspection.last_ticks(connection)), default=theirs)
    if newest - theirs > most:
        return wrong(
            "clock",
            f"the last tick began {format_duration(newest - theirs)} in the database's future: a clock was ahead",
            "set the database's clock right; then, for each schedule that status shows as ahead:"
            " jobrunner schedule resume NAME --from now",
        )
    if skew <= most:
        return ok("clock", f"this host and the database differ by {skew.total_seconds():.1f} s")
    direction = "behind" if theirs > ours else "ahead of"
    found = f"this host is {format_duration(timedelta(seconds=round(skew.total_seconds())))} {direction} the database"
    return wrong(
        "clock",
        found,
        "set the clocks of both by NTP: cron starts ticks by this host's clock, slots are due by the other",
    )


def storage(connection: Connection) -> list[Check]:
    """Autovacuum and dead rows of our tables on PostgreSQL."""
    if not connection.traits.has_server:
        return []
    tables = inspection.tables(connection)
    off = [each.name for each in tables if "autovacuum_enabled=false" in each.options]
    checks = []
    if off:
        statements = "; ".join(f"ALTER TABLE {name} RESET (autovacuum_enabled)" for name in off)
        checks.append(wrong("autovacuum", f"it is off for {', '.join(off)}", statements))
    bloated = [each for each in tables if _is_bloated(each)]
    size = mebibytes(sum(each.bytes for each in tables))
    if bloated:
        listed = ", ".join(f"{each.name} {each.dead} beside {each.live} live ones" for each in bloated)
        remedy = f"find the long transaction that holds vacuum back, then: VACUUM {', '.join(e.name for e in bloated)}"
        checks.append(warning("bloat", f"many dead rows: {listed}", remedy))
    else:
        checks.append(ok("bloat", f"{size} in our tables, few dead rows"))
    return checks


def _is_bloated(table: TableSize) -> bool:
    return table.dead > _MANY_DEAD and table.dead > _DEAD_SHARE * table.live


def sessions(connection: Connection) -> list[Check]:
    """Sessions of PostgreSQL that hold rows of ours, or have been in one transaction for long."""
    if not connection.traits.has_server:
        return []
    found = [check for each in inspection.sessions(connection) if (check := _session(each)) is not None]
    return found or [
        ok("transactions", "no session holds locks on our rows, and none has been in one transaction for long")
    ]


def old_snapshots(connection: Connection, limits: Thresholds) -> list[Check]:
    """Who keeps an old state of the database readable, as for ``health``."""
    found = snapshots.look(connection, limits.old_transactions, limits.old_log_bytes)
    old = [each for each in found if is_old(each, limits)]
    return [warning("snapshots", f"what has changed is not tidied up: {each}", each.remedy) for each in old] or [
        ok("snapshots", "nobody keeps an old state of the database readable")
    ]


def locks(connection: Connection) -> list[Check]:
    """Who keeps ticks from claiming the due runs whose turn is next."""
    due = findings.due_types(connection)
    found = lockers.look(connection, [each.id for each in due], [each.job_type for each in due])
    held = [each for each in found if each.seconds is None or each.seconds > _IDLE_SECONDS]
    return [wrong("locks", f"ticks cannot claim: {each}", each.remedy) for each in held] or [
        ok("locks", "nobody holds a lock that a claim needs")
    ]


def _session(each: Session) -> Check | None:
    age = "for a time that our role may not see" if each.open_seconds is None else f"for {_age(each.open_seconds)}"
    who = f"session {each.pid} of the role {each.role} ({each.application or 'without a name'})"
    ending = f"SELECT pg_terminate_backend({each.pid})"
    if each.state == "prepared":
        if (each.open_seconds or 0) < _LONG_SECONDS:
            return None
        name = each.application
        return warning(
            "transactions",
            f"the prepared transaction {name!r} is open {age}",
            f"COMMIT PREPARED or ROLLBACK PREPARED {name!r}",
        )
    idle = each.idle_seconds or 0.0
    if each.holds_ours and (each.state or "").startswith("idle in transaction") and idle > _IDLE_SECONDS:
        kind = wrong if idle > _LONG_IDLE_SECONDS else warning
        return kind("transactions", f"{who} holds locks on jobrunner's rows, and has been idle {_age(idle)}", ending)
    if each.open_seconds is not None and each.open_seconds > _LONG_SECONDS:
        holds = " and holds locks on jobrunner's rows" if each.holds_ours else ""
        return warning("transactions", f"{who} has been in one transaction {age}{holds}", ending)
    return None


def _age(seconds: float) -> str:
    return format_duration(timedelta(seconds=round(seconds)))
