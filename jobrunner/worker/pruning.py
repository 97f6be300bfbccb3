"""Pruning: deletes rows that are older than their retention, for a short time every ten minutes.

While that is not enough, each minute: more than some thousand runs that end in ten minutes would fill the disk.
"""

from __future__ import annotations

from functools import partial

from jobrunner import clock
from jobrunner.errors import JobrunnerError
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.queue.ticks import retention, tallies, ticks
from jobrunner.store.timetable import host_schedules
from jobrunner.store.upkeep import servers
from jobrunner.store.upkeep.servers import Move
from jobrunner.text import first_line_of
from jobrunner.worker import promotion, strays
from jobrunner.worker.batch_size import BatchSize
from jobrunner.worker.context import TickContext

_PRUNE_SECONDS = 1.0
_FIRST_PRUNED, _MOST_PRUNED = 50, 500


def prune(context: TickContext) -> None:
    """Delete finished runs and ticks that are old enough, for a second at most."""
    if not _take_turn(context):
        return
    strays.free(context, every=True)
    context.database.write(host_schedules.follow)
    ends_at = clock.elapsed() + _PRUNE_SECONDS
    while context.database.write(tallies.compact) >= tallies.MOST_COMPACTED and clock.elapsed() < ends_at:
        pass
    batch = BatchSize(_MOST_PRUNED, context.config.lease, first=_FIRST_PRUNED)
    kept: set[int] = set()
    positions: retention.Positions = {}
    while (began_at := clock.elapsed()) < ends_at:
        work = partial(
            retention.prune,
            keep=context.config.keep,
            limit=batch.size,
            besides=frozenset(kept),
            types=context.config.keep_types,
            after=positions,
        )
        try:
            pruned = context.database.write(work)
        except Exception as error:
            is_database_away = isinstance(error, JobrunnerError) and not batch.is_cut(error, clock.elapsed() - began_at)
            if is_database_away:
                raise
            # Whatever the error is: the tick has other work, and another tick tries again in ten minutes.
            context.log.error("prune", result="given up", error=first_line_of(error))
            return
        context.database.hit("prune.committed")
        batch.took(clock.elapsed() - began_at)
        context.counts["pruned"] += pruned.deleted
        if pruned.kept and not kept:
            context.log.warning("prune", result="kept", run_id=min(pruned.kept), error=pruned.reason)
        kept.update(pruned.kept)
        positions = pruned.positions
        context.counts["kept"] = len(kept)
        if not pruned.deleted and not pruned.kept:
            return
    context.database.write(ticks.prune_again_soon)


def _take_turn(context: TickContext) -> bool:
    """Whether it is this tick's turn, which also notices that the database has moved to another server."""

    def work(connection: Connection) -> tuple[bool, Move | None]:
        turn = ticks.take_prune_turn(connection)
        return turn is not None, turn and servers.note_move(connection, turn.server, turn.at)

    is_ours, move = context.database.write(work)
    if move is not None:
        promotion.log_move(context, move)
    return is_ours
