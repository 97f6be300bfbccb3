"""The messages between parent and child: the one schema of all frames. Fields hold what JSON can hold.

A frame holds the ``kind`` of the message and its fields by name; a field that has its default is left out. ``protocol``
checks every message from a child.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from jobrunner.children.frames import BrokenFrame, Frame

if TYPE_CHECKING:
    from jobrunner.model import ClaimedRun

NOT_BEGUN = "not_begun"
"""The outcome of a run that its child returns without having started it."""


class Hello(NamedTuple):
    """To a new child: what to import. ``reserved`` are the job types of commands, which no handler may have.

    If ``schedules`` is set, the answer holds the schedules of the handlers. For each of ``payloads``, a job type and a
    payload, the answer says whether it fits the handler. The child writes ``output_mark`` (hex) after the output of
    each run. ``database_url``, ``schema``, ``lease_seconds`` and ``state_folder`` are for what handlers do in the
    database through their context.
    """

    imports: Sequence[str]
    output_mark: str
    app_dir: str | None = None
    reserved: Sequence[str] = ()
    schedules: bool = False
    payloads: Sequence[tuple[str, dict[str, Any]]] = ()
    database_url: str | None = None
    schema: str | None = None
    lease_seconds: float = 60.0
    state_folder: str | None = None


class StartRun(NamedTuple):
    """A run, as a child needs to know it: it comes in ``StartRuns``, with others.

    The child does not begin it after ``begin_before``, on the clock of ``clock.elapsed``.

    ``started_at`` is in seconds since 1970, ``scheduled_for`` in ISO 8601 and UTC. After ``alarm_seconds`` the kernel
    ends the child, in case the tick stalls.
    ``slot`` is the entry in the page of ``begun_page`` where the child notes that it begins the run. ``token`` is
    that of the lease, the fence of what the handler writes through its context. ``traceparent`` is that of the run.
    ``checkpoint`` is what earlier attempts have kept.
    """

    run_id: int
    job_type: str
    payload: dict[str, Any]
    attempt: int
    max_attempts: int
    started_at: float
    lateness_seconds: float
    result_limit: int
    begin_before: float
    scheduled_for: str | None = None
    timeout_seconds: float | None = None
    alarm_seconds: float | None = None
    slot: int | None = None
    token: str = ""
    traceparent: str | None = None
    checkpoint: dict[str, Any] | None = None

    @classmethod
    def of(
        cls,
        run: ClaimedRun,
        result_limit: int,
        *,
        begin_before: float = float("inf"),
        alarm_after: timedelta | None = None,
        slot: int | None = None,
    ) -> StartRun:
        """The message for a claimed run. ``alarm_after`` is how long after its timeout the kernel ends the child."""
        timeout = run.timeout
        # By position, because this is done for every run.
        return cls(
            run.lease.run_id,
            run.job_type,
            run.payload,
            run.attempt,
            run.max_attempts,
            run.started_at.timestamp(),
            run.lateness_seconds,
            result_limit,
            begin_before,
            None if run.scheduled_for is None else run.scheduled_for.isoformat(),
            None if timeout is None else timeout.total_seconds(),
            None if timeout is None or alarm_after is None else (timeout + alarm_after).total_seconds(),
            slot,
            run.lease.token,
            run.traceparent,
            run.checkpoint,
        )


class StartRuns(NamedTuple):
    """To a child: runs. It begins each when it has its token; if ``first`` is None, all at once in its event loop.

    ``first`` is the sequence number of the first run in this child; the others follow it. ``places`` is for an event
    loop: so many runs of their type are at work there at the same time. The fields of their ``StartRun`` are columns:
    ``same`` holds the value of a field that all of them share, ``each`` the values of a field in the order of the runs.
    """

    first: int | None
    same: Mapping[str, Any]
    each: Mapping[str, Sequence[Any]]
    places: int | None = None

    @classmethod
    def of(cls, first: int | None, starts: Sequence[StartRun], places: int | None = None) -> StartRuns:
        """The message for these runs."""
        columns = dict(zip(StartRun._fields, zip(*starts, strict=True), strict=True))
        # Not what holds JSON: {"n": 1} and {"n": true} are equal in Python.
        is_json = {"payload"} if starts[0].checkpoint is None else {"payload", "checkpoint"}
        own = {n: values for n, values in columns.items() if n in is_json or values.count(values[0]) < len(values)}
        same = {name: values[0] for name, values in columns.items() if name not in own}
        return cls(first, same, own, places)

    def runs(self) -> Iterator[StartRun]:
        """The runs in their order."""
        columns = (self.each.get(name) or repeat(self.same[name]) for name in StartRun._fields)
        return map(StartRun._make, zip(*columns, strict=False))


class Cancel(NamedTuple):
    """To a child with an event loop: cancel this run there."""

    run_id: int


class Importing(NamedTuple):
    """From a child: it is about to import this module."""

    module: str


class ImportFailed(NamedTuple):
    """From a child: the import failed, so it will never be ready."""

    error: str
    traceback: str | None = None


class Ready(NamedTuple):
    """From a child: the handshake. It is ready; this holds the policies of its handlers and what else was asked for.

    ``misfits`` says for each payload of ``Hello`` why it does not fit. None means that it fits.
    """

    policies: Sequence[dict[str, Any]]
    schedules: Sequence[dict[str, Any]] = ()
    misfits: Sequence[str | None] = ()


class Progress(NamedTuple):
    """From a child: the progress of a run."""

    run_id: int
    progress: dict[str, Any]


class Checkpoint(NamedTuple):
    """From a child: what the run keeps for its next attempt, the value of ``ctx.checkpoint`` and its steps."""

    run_id: int
    checkpoint: dict[str, Any]


class Output(NamedTuple):
    """From a child: output of a run in an event loop."""

    run_id: int
    text: str


class CancelReceived(NamedTuple):
    """From a child: its event loop has received the request to cancel this run."""

    run_id: int


class Report(NamedTuple):
    """From a child: the end of an attempt. ``ended_at`` is on the clock of ``clock.elapsed``.

    ``was_asked_to_stop``: the child had received SIGTERM by then. ``is_last``: it accepts no more runs.
    ``error_class`` is the path of the class of the exception, as in ``shop.tasks.Unhappy``.
    ``peak_memory_bytes`` and ``processor_seconds`` are what it has cost; None means that this is not known.
    """

    run_id: int
    outcome: str
    ended_at: float | None = None
    wait_seconds: float | None = None
    error_type: str | None = None
    error: str | None = None
    traceback: str | None = None
    result: Any = None
    was_asked_to_stop: bool = False
    is_last: bool = False
    error_class: str | None = None
    peak_memory_bytes: int | None = None
    processor_seconds: float | None = None

    @property
    def wait(self) -> timedelta | None:
        """How long the run must wait. None means that its policy decides."""
        return None if self.wait_seconds is None else timedelta(seconds=self.wait_seconds)


ToChild: TypeAlias = Hello | StartRuns | Cancel
FromChild: TypeAlias = Importing | ImportFailed | Ready | Progress | Checkpoint | Output | CancelReceived | Report
_TO_CHILD: Mapping[str, type[ToChild]] = {"hello": Hello, "runs": StartRuns, "cancel": Cancel}
_FROM_CHILD: Mapping[str, type[FromChild]] = {
    "importing": Importing,
    "import_failed": ImportFailed,
    "ready": Ready,
    "progress": Progress,
    "checkpoint": Checkpoint,
    "output": Output,
    "cancel_received": CancelReceived,
    "report": Report,
}
_KINDS = {message: kind for kind, message in (*_TO_CHILD.items(), *_FROM_CHILD.items())}


def frame_of(message: ToChild | FromChild) -> Frame:
    """The message as a frame."""
    fields: Frame = {"kind": _KINDS[type(message)]}
    defaults = message._field_defaults
    for name, value in zip(message._fields, message, strict=True):
        if name not in defaults or value is not defaults[name]:
            fields[name] = value
    return fields


def of_parent(frame: Frame) -> ToChild:
    """The message of the parent. Raises BrokenFrame if the parent never sends such a frame."""
    kind = frame.pop("kind")
    try:
        return _TO_CHILD[kind](**frame)
    except (KeyError, TypeError) as error:
        raise BrokenFrame(f"no message of the kind {kind!r}: {error}") from None
