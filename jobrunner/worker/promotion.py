"""After a promotion: puts back the effects that this host has called and the database has forgotten."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

from jobrunner.errors import JobrunnerError
from jobrunner.model import TICK
from jobrunner.settings import state_folder
from jobrunner.settings.config import url_of
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.queue import effects
from jobrunner.store.queue.effects import Note
from jobrunner.store.queue.ticks import audit, tallies
from jobrunner.store.upkeep import servers
from jobrunner.store.upkeep.servers import Move
from jobrunner.text import first_line_of
from jobrunner.worker.context import TickContext

_ACTION = "effects put back"
_MOST_ASKED = 500
_MOST_NAMED = 20


def follow(context: TickContext) -> None:
    """Act on a promotion, if there was one: put back effects, and end their pause when it has lasted."""
    config, server = context.config, context.record.server
    if server is None:
        return
    from jobrunner.effects.notes import EffectNotes

    notes = EffectNotes(state_folder.for_state(config.state_dir), url_of(config), config.schema)
    if not context.record.is_promoted:
        notes.forget_old(server)
        return
    _put_back(context, notes.read(server))
    promotion = context.database.write(servers.note_promotion)
    if promotion is not None and promotion.is_new:
        log_move(context, promotion.move)


def log_move(context: TickContext, move: Move) -> None:
    """Log that the database lies on another server."""
    what = "a standby was promoted, or a backup restored" if move.is_promotion else "another server"
    context.log.warning("server changed", result=what, before=str(move.before), after=str(move.after))


def _put_back(context: TickContext, notes: list[Note]) -> None:
    written: dict[str, str] = {}
    forgotten: list[Note] = []
    for start in range(0, len(notes), _MOST_ASKED):
        some = notes[start : start + _MOST_ASKED]
        forgotten += context.database.read(partial(effects.forgotten, notes=some))
    for note in forgotten:
        try:
            state = context.database.write(partial(effects.put_back, note=note))
        except JobrunnerError:
            raise
        except Exception as error:  # noqa: BLE001 - a file can hold anything, and must not stop the tick
            context.log.error("effects", result="cannot be put back", key=note.effect, error=first_line_of(error))
            continue
        if state is not None:
            written[note.effect] = state
    if not written:
        return
    counts = Counter("applied" if state == "applied" else "uncertain" for state in written.values())
    times = [note.since for note in forgotten if note.effect in written]
    # The first of these calls was forgotten, and the last one was made before the old server ended. How much more was
    # lost on both sides of them is not known here.
    lost = {"since": min(times), "lost_seconds_at_least": round((max(times) - min(times)).total_seconds(), 1)}
    context.database.write(partial(_record, host=context.owner.host, counts=counts, lost=lost, keys=list(written)))
    context.log.warning("effects", result="put back", **counts, **lost | {"since": str(lost["since"])})


def _record(connection: Connection, host: str, counts: Counter[str], lost: dict[str, Any], keys: list[str]) -> None:
    detail = {"host": host, **counts, **lost, "keys": sorted(keys)[:_MOST_NAMED]}
    audit.write(connection, [audit.event(TICK, _ACTION, None, detail, tallies.now(connection))])
