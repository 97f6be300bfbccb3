"""Pruning: deletes rows that are older than their retention, before the runs of a tick for a second at most.

What that leaves, a tick deletes when its runs are done: where hundreds of runs end each second, a second in a minute is
not enough, and they would fill the disk.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from jobrunner import clock
from jobrunner.errors import DatabaseUnavailable, JobrunnerError
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.queue.ticks import retention, tallies, ticks
from jobrunner.store.timetable import host_schedules
from jobrunner.store.upkeep import servers
from jobrunner.store.upkeep.servers import Move
from jobrunner.text import first_line_of
from jobrunner.worker import promotion, strays
from jobrunner.worker.batch_size import BatchSize
from jobrunner.worker.context import TickContext

_SECONDS_BEFORE = 1.0
_SECONDS_AFTER = 20.0
"""A third of the minute until the next tick: 200,000 runs where 10,000 are deleted in a second."""
_FIRST_PRUNED, _MOST_PRUNED = 50, 500
_AT_ONCE, _NEXT_MINUTE = timedelta(0), timedelta(seconds=30)


def prune(context: TickContext) -> None:
    """Before the runs: delete what is old enough, for a second at most. Any tick may delete what is left then."""
    if not _take_turn(context):
        return
    strays.free(context, every=True)
    context.database.write(host_schedules.follow)
    ends_at = clock.elapsed() + _SECONDS_BEFORE
    while context.database.write(tallies.compact) >= tallies.MOST_COMPACTED and clock.elapsed() < ends_at:
        pass
    is_left = _delete(context, ends_at)
    _end_turn(context, is_left=is_left, again=_AT_ONCE if is_left else _NEXT_MINUTE)


def prune_on(context: TickContext) -> None:
    """After the runs: delete what this tick or a later one has left, unless another tick is at it.

    A tick that has done little does not ask. One that lingers is here when the next one listens, which has pruned for
    its second by then: so no run waits meanwhile.
    """
    if max(context.counts["pruned"], context.counts["claimed"]) < _MOST_PRUNED:
        return
    try:
        if _take_turn(context):
            is_left = _delete(context, clock.elapsed() + _SECONDS_AFTER, most_kept=_MOST_PRUNED)
            _end_turn(context, is_left=is_left, again=_NEXT_MINUTE)
    except DatabaseUnavailable:
        # If the database is still away, the next write of the tick says it.
        return
    except Exception as error:  # noqa: BLE001 - whatever it is, it must not keep the tick from its end
        context.log.error("prune", result="given up", error=first_line_of(error))


def _delete(context: TickContext, ends_at: float, most_kept: float = float("inf")) -> bool:
    """Delete until that time, a stop, or so many runs that the application refers to; whether more may be left."""
    batch = BatchSize(_MOST_PRUNED, context.config.lease, first=_FIRST_PRUNED)
    kept: set[int] = set()
    positions: retention.Positions = {}
    while (began_at := clock.elapsed()) < ends_at and context.stop.at is None and len(kept) < most_kept:
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
            # Whatever the error is: the tick has other work, and another tick tries again.
            context.log.error("prune", result="given up", error=first_line_of(error))
            return False
        context.database.hit("prune.committed")
        batch.took(clock.elapsed() - began_at)
        context.counts["pruned"] += pruned.deleted
        if pruned.kept and not kept:
            context.log.warning("prune", result="kept", run_id=min(pruned.kept), error=pruned.reason)
        kept.update(pruned.kept)
        positions = pruned.positions
        context.counts["kept"] = len(kept)
        if not pruned.deleted and not pruned.kept:
            return False
    return True


def _end_turn(context: TickContext, *, is_left: bool, again: timedelta) -> None:
    """Where much is old the next turn comes sooner: after ten minutes as many would be ten times as much."""
    if is_left or context.counts["pruned"] >= _MOST_PRUNED:
        context.database.write(partial(ticks.prune_again, after=again))


def _take_turn(context: TickContext) -> bool:
    """Whether it is this tick's turn, which also notices that the database has moved to another server."""

    def work(connection: Connection) -> tuple[bool, Move | None]:
        turn = ticks.take_prune_turn(connection)
        return turn is not None, turn and servers.note_move(connection, turn.server, turn.at)

    is_ours, move = context.database.write(work)
    if move is not None:
        promotion.log_move(context, move)
    return is_ours
