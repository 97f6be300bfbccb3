"""The runs that a test has enqueued, and which of them it asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

from jobrunner.application.job import Job
from jobrunner.errors import BadPayload
from jobrunner.store.callers.testing_kit import Run


class Made(Sequence[Run]):
    """The runs that a block has enqueued, in their order."""

    def __init__(self, find: Callable[[], list[Run]]) -> None:
        self._find = find
        self._kept: list[Run] | None = None

    def close(self) -> None:
        """Look a last time."""
        self._kept = self._find()

    def of(self, handler: Any, /, **payload: Any) -> list[Run]:
        """Those of this handler (or job type) whose payloads hold these values."""
        return [run for run in self if fits(run, handler, payload)]

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> list[Run]: ...
    def __getitem__(self, index: int | slice) -> Run | list[Run]:
        return self._runs[index]

    def __len__(self) -> int:
        return len(self._runs)

    def __repr__(self) -> str:
        return f"Made({self._runs!r})"

    @property
    def _runs(self) -> list[Run]:
        return self._find() if self._kept is None else self._kept


def fits(run: Run, handler: Any, payload: dict[str, Any]) -> bool:
    """Whether it is a run of this handler (or job type) whose payload holds these values."""
    if run.job_type != _type_of(handler):
        return False
    held = run.payload if isinstance(run.payload, dict) else {}
    if isinstance(handler, Job) and payload:
        try:
            # What the handler gets: a datetime and not its text.
            held = {**handler.arguments(held)}
        except BadPayload:
            return False
    return all(name in held and held[name] == value for name, value in payload.items())


def _type_of(handler: Any) -> str:
    if isinstance(handler, Job):
        return handler.name
    # A task of Django.
    return str(getattr(handler, "module_path", handler))


def asked(handler: Any, payload: dict[str, Any]) -> str:
    """What a test has asked for, as it would call it."""
    return f"{_type_of(handler)}({', '.join(f'{name}={value!r}' for name, value in payload.items())})"


def listed(runs: Sequence[Run]) -> str:
    """How many runs wait, and the last twenty of them, line by line."""
    if not runs:
        return "no run waits"
    lines = (f"  run {run.id}: {asked(run.job_type, run.payload)}, due {run.run_at}" for run in runs[-20:])
    return "\n".join([f"{len(runs)} waiting:", *lines])
