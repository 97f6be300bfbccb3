"""The shapes of what commands print with --json: ``make docs`` writes their schemas into docs/reference/schemas."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NotRequired, TypedDict

from jobrunner.admin.doctor.examine import Report
from jobrunner.admin.finding import Finding
from jobrunner.admin.findings import Health
from jobrunner.admin.stats import Stats
from jobrunner.jobs.job_options import OF_POLICY, Length, Names, Waits
from jobrunner.jobs.options import Kind, Number, Row, parse_timeout
from jobrunner.jobs.policy import data_name
from jobrunner.store.questions.definitions import ListedDefinition, ShownDefinition
from jobrunner.store.questions.error_groups import Errors
from jobrunner.store.questions.explain.explanation import Brief, Forecast, HostView
from jobrunner.store.questions.history import History
from jobrunner.store.questions.overview import State
from jobrunner.store.questions.runs.listing import Page, SelectedRun
from jobrunner.store.questions.runs.queries import Run
from jobrunner.store.questions.uncertain import OpenEffect
from jobrunner.store.queue.pauses import Pause

VERSION = 1
"""A program that reads one version can read all its outputs. A new field is no new version; what it reads stays."""


@dataclass(frozen=True)
class Status(State):
    """The state of everything, of which database, and what is wrong, the worst first, also on this host."""

    database: str
    findings: list[Finding]
    handlers_problem: str | None
    state_problem: str | None


@dataclass(frozen=True)
class Schedule(ShownDefinition):
    """A schedule with its newest runs and events, and what its expression means in words."""

    in_words: str | None
    explanation: Brief | None


@dataclass(frozen=True)
class ShownRun(Run):
    """A run with its attempts and events, the id of its trace, and why it does not run."""

    trace_id: str | None
    explanation: Brief


@dataclass(frozen=True)
class ForecastInWords(Forecast):
    """How long it takes until the turn comes, also in words."""

    text: str


class Explained(TypedDict):
    """Why a run, a schedule or a job type does not run. The facts depend on the reason."""

    subject: str
    reason: str
    sentence: str
    facts: dict[str, Any]
    remedy: str | None
    forecast: ForecastInWords | None
    hosts: list[HostView]
    notes: list[str]


class Enqueued(TypedDict):
    """The id of the run, or of the one that has its key already; null if it was dropped."""

    id: int | None
    created: bool
    dropped: NotRequired[Literal[True]]
    replaced: NotRequired[Literal[True]]


class Triggered(TypedDict):
    """The id of the run; null if it was dropped."""

    id: int | None
    dropped: NotRequired[Literal[True]]


def _of_option(row: Row) -> Any:
    """What the JSON of a job type has for an option."""
    kinds: dict[type[Kind], Any] = {Number: int, Length: float, Names: list[str], Waits: dict[str, Any]}
    kind = kinds.get(type(row.kind), str)
    return kind | None if row.default is None or row.kind == Length(parse_timeout) else kind


JobType: Any = TypedDict(  # type: ignore[misc]  # its fields are those of the table
    "JobType",
    {"job_type": str, "is_async": bool} | {data_name(name): _of_option(row) for name, row in OF_POLICY.items()},
)
JobType.__doc__ = "A job type with its policy. ``backoff`` has what the pauses are computed from, in seconds."


class Changed(TypedDict):
    """What became of many runs. ``matching`` maps the statuses of those that were counted to numbers of runs.

    ``done`` were changed. The others were locked by another transaction, were no longer as the filter says, or had a
    key that another run has taken.
    """

    action: str
    matching: dict[str, int]
    done: int
    locked: int
    changed_meanwhile: int
    key_taken: int
    dry_run: bool


class AddedSchedule(TypedDict):
    """A schedule that was added. ``was_removed``: it was there before."""

    name: str
    job_type: str
    schedule: str | None
    timezone: str
    payload: Any
    source: str
    was_removed: bool


class ChangedSchedule(TypedDict):
    """A schedule that was changed: each field with its values ``from`` and ``to``."""

    name: str
    changes: dict[str, dict[str, Any]]


class DisabledSchedule(TypedDict):
    """A schedule that its source declares no longer."""

    name: str
    source: str


class Applied(TypedDict):
    """What ``apply`` changed, or with ``dry_run`` would change. The last two map sources and applications to counts."""

    dry_run: bool
    sources: list[str]
    added: list[AddedSchedule]
    changed: list[ChangedSchedule]
    disabled: list[DisabledSchedule]
    unchanged: int
    left_alone: dict[str, int]
    of_other_applications: dict[str, int]


class Slot(TypedDict):
    """A slot. ``run_at``, if the schedule has a jitter, is when its run is due."""

    utc: str
    local: str
    run_at: NotRequired[datetime]


class FilledSlot(TypedDict):
    """What became of a past slot, and the run that it has."""

    slot: datetime
    answer: Literal["made", "would be made", "retried", "would be retried", "has a run", "unknown", "dropped"]
    run_id: int | None


class OldRows(TypedDict):
    """A number of rows. ``what`` is the status of the runs of a type, or ``ticks`` or ``events``."""

    what: str
    job_type: str | None
    rows: int


class Pruned(TypedDict):
    """What was deleted, or with ``is_dry_run`` would be; and the runs that the database refuses to delete."""

    is_dry_run: bool
    rows: list[OldRows]
    kept: list[int]


SHAPES: dict[str, Any] = {
    "apply --json": Applied,
    "cancel --json": Changed,
    "discard --json": Changed,
    "doctor --json": Report,
    "effects list --json": list[OpenEffect],
    "enqueue --json": Enqueued,
    "errors --json": Errors,
    "explain --json": Explained,
    "health --json": Health,
    "history --json": History,
    "types --json": list[JobType],
    "pauses --json": list[Pause],
    "priority --json": Changed,
    "prune --json": Pruned,
    "reschedule --json": Changed,
    "retry --json": Changed,
    "runs --json": Page,
    "runs --jsonl": SelectedRun,
    "schedule backfill --json": list[FilledSlot],
    "schedule list --json": list[ListedDefinition],
    "schedule next --json": list[Slot],
    "schedule show --json": Schedule,
    "schedule trigger --json": Triggered,
    "show --json": ShownRun,
    "stats --json": Stats,
    "status --json": Status,
}
"""By command and option. With --jsonl it is the shape of each line."""
