"""What parent and child say to each other: the one schema of all frames. Fields hold what JSON can hold.

A frame is the message's fields by name and its ``kind``; a field that is None is left out. What comes from a child is
checked before it is believed: see ``protocol``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple, TypeAlias

from jobrunner.children.frames import BrokenFrame, Frame

NOT_BEGUN = "not_begun"
"""The outcome of a run that its child returns without having started it."""


class Hello(NamedTuple):
    """To a new child: what to import. ``reserved`` are the types that no handler may have, since they are commands.

    ``schedules``: its answer is to hold those of the handlers; ``payloads``: also which of these, each with its job
    type, do not fit. ``output_mark`` (hex) is what the child writes between the outputs of two runs.
    """

    imports: Sequence[str]
    output_mark: str
    app_dir: str | None = None
    reserved: Sequence[str] = ()
    schedules: bool = False
    payloads: Sequence[tuple[str, dict[str, Any]]] = ()


class StartRun(NamedTuple):
    """To a child: a run. It is not begun after ``begin_before``, on the clock of ``clock.elapsed``.

    Instants are in ISO 8601 and UTC. After ``alarm_seconds`` the kernel ends the child, should the tick stand still.
    ``slot`` is where the child notes that it begins the run, in the page of ``begun_page``.
    """

    run_id: int
    job_type: str
    payload: dict[str, Any]
    attempt: int
    max_attempts: int
    started_at: str
    lateness_seconds: float
    result_limit: int
    begin_before: float
    scheduled_for: str | None = None
    timeout_seconds: float | None = None
    alarm_seconds: float | None = None
    slot: int | None = None


class Cancel(NamedTuple):
    """To a child with an event loop: cancel this run there."""

    run_id: int


class Importing(NamedTuple):
    """From a child: it is about to import this module."""

    module: str


class ImportFailed(NamedTuple):
    """From a child: it will never be ready."""

    error: str


class Ready(NamedTuple):
    """From a child: it is ready; what its handlers say of themselves, and what else was asked.

    ``misfits`` says of each payload that was asked about why it does not fit; None: it does.
    """

    policies: Sequence[dict[str, Any]]
    schedules: Sequence[dict[str, Any]] = ()
    misfits: Sequence[str | None] = ()


class Progress(NamedTuple):
    """From a child: how far a run is."""

    run_id: int
    progress: dict[str, Any]


class Output(NamedTuple):
    """From a child: what a run in an event loop has written."""

    run_id: int
    text: str


class Heard(NamedTuple):
    """From a child: its event loop has received the request to cancel this run."""

    run_id: int


class Report(NamedTuple):
    """From a child: the end of an attempt. ``ended_at`` is on the clock of ``clock.elapsed``.

    ``was_told``: the child was told to stop by then. ``is_last``: it is to take no further runs.
    """

    run_id: int
    outcome: str
    ended_at: float | None = None
    wait_seconds: float | None = None
    error_type: str | None = None
    error: str | None = None
    traceback: str | None = None
    result: Any = None
    was_told: bool = False
    is_last: bool = False

    @property
    def wait(self) -> timedelta | None:
        """How long the run is to wait; None: as its policy says."""
        return None if self.wait_seconds is None else timedelta(seconds=self.wait_seconds)


ToChild: TypeAlias = Hello | StartRun | Cancel
FromChild: TypeAlias = Importing | ImportFailed | Ready | Progress | Output | Heard | Report
_TO_CHILD: Mapping[str, type[ToChild]] = {"hello": Hello, "run": StartRun, "cancel": Cancel}
_FROM_CHILD: Mapping[str, type[FromChild]] = {
    "importing": Importing,
    "import_failed": ImportFailed,
    "ready": Ready,
    "progress": Progress,
    "output": Output,
    "heard": Heard,
    "report": Report,
}
_KINDS = {message: kind for kind, message in (*_TO_CHILD.items(), *_FROM_CHILD.items())}


def frame_of(message: ToChild | FromChild) -> Frame:
    """The message as a frame."""
    fields: Frame = {"kind": _KINDS[type(message)]}
    for name, value in zip(message._fields, message, strict=True):
        if value is not None:
            fields[name] = value
    return fields


def of_parent(frame: Frame) -> ToChild:
    """What the parent says. Raises BrokenFrame for what it never sends."""
    kind = frame.pop("kind")
    try:
        return _TO_CHILD[kind](**frame)
    except (KeyError, TypeError) as error:
        raise BrokenFrame(f"no message of the kind {kind!r}: {error}") from None
