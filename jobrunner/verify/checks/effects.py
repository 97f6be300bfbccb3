"""What must hold of guarded effects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from jobrunner.store.verify.records import Effect, Event
from jobrunner.text import iso_instant
from jobrunner.verify.promise import Facts, promise

_LIST = "find out what happened: jobrunner history --since 30d"


class Settlement(NamedTuple):
    """What somebody said of an uncertain effect, and the row of its key now."""

    event: Event
    effect: Effect | None


@promise("P5", "effect", _LIST)
def effects_of_runs(effect: Effect, facts: Facts) -> Iterator[str]:
    """Each effect was called by an attempt of its run, while that attempt was at work."""
    named, at = f"the effect {effect.key!r} of run {effect.run_id}", effect.intended_at
    if facts.was_lost(at):
        return
    if effect.run_type is None:
        if at >= max(facts.kept_since, facts.recorded_since):
            yield f"{named} was called at {iso_instant(at)}, and that run is missing"
        return
    if effect.run_type != effect.job_type:
        yield f"{named} is one of the type {effect.job_type}, and that run is of the type {effect.run_type}"
    if effect.started_at is None or effect.finished_at is None:
        if effect.lease_token != effect.run_token:
            yield f"{named} was called under a lease that no attempt of the run had"
        return
    is_within = effect.started_at - facts.slack <= at <= effect.finished_at + facts.slack
    if not is_within and not facts.stepped(min(at, effect.started_at), max(at, effect.finished_at)):
        yield f"{named} was called at {iso_instant(at)}, when its attempt was not at work"


@promise("P5", "effect", _LIST)
def effects_once(settlement: Settlement, facts: Facts) -> Iterator[str]:
    """An effect that somebody has settled as applied stays so, and is not called again."""
    event, effect = settlement
    if event.at < facts.recorded_since:
        return
    named = f"the effect {event.detail['key']!r}, which {event.actor} settled as applied at {iso_instant(event.at)},"
    if effect is None:
        yield f"{named} has no row any more, so that it can be called again"
    elif effect.state != "applied" or (
        effect.intended_at > event.at + facts.slack and not facts.stepped(event.at, effect.intended_at)
    ):
        yield f"{named} was called again at {iso_instant(effect.intended_at)}"
