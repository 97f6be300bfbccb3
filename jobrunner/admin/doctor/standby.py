"""The standbys of the server and the sequences of our tables: what a failover costs, and what one may have left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jobrunner.admin.doctor.checks import Check, ok, warning, wrong
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.upkeep import standbys
from jobrunner.store.upkeep.standbys import Replication

_RELAXED = ("off", "local")
_ASYNCHRONOUS = "after a promotion the last commits are lost, and their keys, slots and effects are free again"


def checks(connection: Connection) -> list[Check]:
    """What can be said of a server of PostgreSQL. A file has neither standbys nor sequences that could lie behind."""
    if not connection.traits.has_server:
        return []
    found = standbys.replication(connection)
    return [_standby(found), *_acknowledged(found), _sequences(standbys.sequences(connection))]


def _standby(found: Replication) -> Check:
    name = "standby"
    connected = "none is connected" if not found.connected else f"{found.connected} connected"
    if not found.names:
        if not found.connected:
            return ok(name, f"{connected}: what this server loses, only a backup has")
        return ok(name, f"{connected}, asynchronous: {_ASYNCHRONOUS}")
    if found.commits in _RELAXED:
        # That is the other check's matter.
        return ok(name, f"{connected}; COMMITs of the role {found.role} wait for none")
    if not found.connected or (found.seen and not found.waited):
        return wrong(
            name,
            f"{connected}, and none of those for which COMMITs wait (synchronous_standby_names = {found.names!r}):"
            " each COMMIT waits until there is one, so no run begins or ends",
            "ALTER SYSTEM SET synchronous_standby_names = ''; SELECT pg_reload_conf()",
        )
    if not found.seen:
        return ok(name, f"{connected}; whether COMMITs wait for it, only a role with pg_read_all_stats may see")
    return ok(name, f"{connected}; COMMITs wait for {found.waited} of them")


def _acknowledged(found: Replication) -> Iterator[Check]:
    relaxed = found.commits == "off" or (found.commits == "local" and found.names)
    if not relaxed:
        return
    name = "synchronous commit"
    before = "the server's disk has it" if found.commits == "off" else "a standby has it"
    said = f"synchronous_commit is {found.commits}: a COMMIT is acknowledged before {before}, so an effect may be"
    if found.commits_source == "client":
        remedy = "take synchronous_commit out of the options of the URL, or of PGOPTIONS"
    else:
        remedy = f"""ALTER ROLE "{found.role}" IN DATABASE "{found.database}" SET synchronous_commit = on"""
    yield warning(name, f"{said} applied twice after a crash or a promotion", remedy)


def _sequences(found: Sequence[standbys.Sequence]) -> Check:
    name = "sequences"
    behind = [each for each in found if each.last is not None and each.last < (each.newest or 0)]
    if behind:
        listed = ", ".join(
            f"{each.table} (its sequence is at {each.last}, its newest id is {each.newest})" for each in behind
        )
        remedy = "; ".join(_reset(each) for each in behind)
        return wrong(name, f"behind their tables, so that INSERTs fail: {listed}", remedy)
    unread = [each for each in found if each.last is None]
    if unread:
        return ok(name, f"not compared with their tables: our role may not read {len(unread)} of them")
    return ok(name, "none lies behind its table")


def _reset(each: standbys.Sequence) -> str:
    return f"SELECT setval('{each.name}', (SELECT max(id) FROM {each.table}))"  # noqa: S608 - for an operator
