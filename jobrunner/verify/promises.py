"""The table of what ``verify`` judges. The documentation, JSON and the tests are made from it."""

from __future__ import annotations

from jobrunner.verify.checks import attempts, effects, limits, moves, pauses, slots, waiting
from jobrunner.verify.promise import Promise

OF_RUNS = (
    moves.moves_allowed,
    attempts.attempts_used,
    waiting.parents_first,
    waiting.gates_exist,
    attempts.one_owner,
    attempts.own_host_only,
    waiting.one_run_per_key,
    attempts.leases_end,
    attempts.attempts_bounded,
    attempts.begun_in_time,
    attempts.attempts_recorded,
    moves.ends_explained,
    moves.changes_recorded,
)
OF_SLOTS = (slots.one_run_per_slot, slots.slots_recorded)
PROMISES: dict[str, Promise] = {
    each.name: each
    for each in (
        *OF_RUNS,
        slots.one_at_a_time,
        *OF_SLOTS,
        pauses.pauses_recorded,
        effects.effects_of_runs,
        effects.effects_once,
        limits.limits_recorded,
        limits.limits_kept,
        limits.totals_complete,
    )
}
"""By name."""
