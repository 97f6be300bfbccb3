"""The reasons that ``explain`` may give, and what each means: `make docs` writes the tables of the page from them."""

from __future__ import annotations

from collections.abc import Mapping

REASONS: Mapping[str, Mapping[str, str]] = {
    "run": {
        "not_due": "is not due yet",
        "jitter": "is delayed by the jitter of its schedule",
        "retry": "waits for its next try after an error",
        "parents": "waits for the end of other runs (`--after`)",
        "paused": "is of a type that is paused, or everything is",
        "host_paused": "could run only on hosts that are paused",
        "key": "waits for another run with its concurrency key",
        "limit": "waits for `max_running` of its type",
        "rate": "waits for `rate` of its type",
        "set_limit": "waits for a limit of its type that somebody has set at run time: who, why, and until when",
        "key_limit": "waits for `max_running_per_key`",
        "key_rate": "waits for `rate_per_key`",
        "fair": "waits for its turn: claims go round the values of `fair_by` that wait; with a forecast",
        "gate": "waits for a limit or for runs that no longer hold it back, as after a deploy; a tick corrects it",
        "unknown_type": "is of a type that no host works on, by its newest ticks",
        "no_handlers": "could run only on hosts whose handlers cannot be imported",
        "locked": "is due, and another session or process holds a lock that its claim needs: who, and since when",
        "unreported": "is due, and the ticks have not said yet what they can run",
        "host_full": "waits for a free place on the hosts that know its type",
        "budget": "waits in a queue, and the last tick used up its budget or its batch; with a forecast",
        "ticks_stopped": "is due, but no tick comes any more",
        "ticks_elsewhere": "is due, but the ticks of this user on this machine use another database",
        "two_machines": "could run only on hosts that are two machines with one name",
        "ready": "would be claimed now by the next tick of the named hosts",
        "running": "is running",
        "lease_expired": "was running on a host that is silent; the next tick recovers it",
        "start_deadline": "was not started by its start deadline",
        "dead": "used up its attempts, or gave up",
        "discarded": "was discarded by a user",
        "cancelled": "was cancelled: by whom, and why",
        "uncertain_effect": "has ended, and it is not known whether its effect was applied",
        "succeeded": "has succeeded",
    },
    "schedule": {
        "not_due": "waits for its next slot",
        "ready": "is due; the next tick makes the run",
        "locked": "is due, and another session or process holds a lock that its run needs",
        "overlap": "makes no run before the run before it has ended",
        "skipped_misfire": "skipped its last slot: no tick came in time, and its misfire policy gives late slots"
        " no run",
        "skipped_overlap": "skipped its last slot: the run before it had not ended",
        "skipped_start_deadline": "skipped its last slot: its start deadline had passed",
        "skipped_max_runs": "skipped its last slot: it had made as many runs as it may",
        "skipped_paused": "skipped its last slot: the schedule was paused",
        "paused": "is paused: by whom",
        "removed": "was removed: by whom, also by `apply`",
        "unreadable": "has a row that cannot be read",
        "clock": "counts slots in the future as handled, because a clock was ahead",
        "ended": "has ended: `ends_at`, `max_runs` or no more slots",
        "no_schedule": "has no times",
        "ticks_stopped": "makes no runs, because ticks have stopped",
        "ticks_elsewhere": "makes no runs, because the ticks of this user on this machine use another database",
    },
    "type": {"nothing_waits": "has no run that waits"},
}
"""By what is asked about: a run …, a schedule …. A type has the reason of its run whose turn is next, or its own."""
