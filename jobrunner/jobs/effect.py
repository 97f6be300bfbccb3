"""Guarded effects, as a handler sees them: ``ctx.once`` returns an ``Effect`` or raises one of these exceptions."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from jobrunner.errors import UsageError
from jobrunner.jobs.outcomes import Snooze
from jobrunner.text import visible

_MOST_CHARACTERS = 500
_WAIT = "30s"


@dataclass(frozen=True, slots=True)
class Effect:
    """A side effect that is applied at most once for its key.

    Give ``key`` to the other system as its idempotency key. ``state`` is ``applied`` or ``uncertain``: then it is not
    known whether the call of the attempt ``attempt`` of the run ``run_id`` took effect. ``outcome`` is what the
    function returned when it was applied. ``is_new``: this call has applied it.
    """

    key: str
    state: Literal["applied", "uncertain"]
    outcome: Any
    run_id: int
    job_type: str
    attempt: int
    intended_at: datetime | None = None
    is_new: bool = False


class NotApplied(Exception):
    """Raised by the function that applies an effect: the other system has refused it, and nothing has happened.

    The key can be used again.
    """


class UncertainEffect(Exception):
    """It is not known whether an earlier call has applied the effect. Find out in the other system, and settle it."""

    def __init__(self, effect: Effect) -> None:
        self.effect = effect
        super().__init__(
            f"run {effect.run_id} may have applied this effect or not; look there, then:"
            f" jobrunner effects settle {shlex.quote(effect.key)} --applied (or --not-applied)"
        )


class EffectInProgress(Snooze):
    """Another run is applying the effect at this moment. The run is tried again soon; this attempt is not counted."""

    def __init__(self, key: str) -> None:
        super().__init__(_WAIT)
        self.key = key
        self.args = (f"another call for the effect {key!r} is in progress; tried again after {self.wait}",)


class EffectsPaused(EffectInProgress):
    """A standby was promoted a moment ago, so no effect begins: the hosts put back first what it has forgotten."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.args = (f"no effect begins now ({key!r}): a standby was promoted; tried again after {self.wait}",)


OnUncertain: TypeAlias = Literal["raise", "skip", "repeat"] | Callable[[Effect], Any]
"""What to do about an effect that may have been applied or not; a function finds out, and gets the effect."""


def check_key(key: object) -> str:
    """The key of an effect. Raises UsageError for what is none."""
    if not isinstance(key, str) or not 0 < len(key) <= _MOST_CHARACTERS:
        raise UsageError(f"the key of an effect is a text of 1 to {_MOST_CHARACTERS} characters")
    if visible(key) != key:
        # Somebody must be able to read it and to give it to a command.
        raise UsageError(f"the key of an effect holds a character that cannot be printed: {visible(key)}")
    return key


def check_on_uncertain(choice: object) -> OnUncertain:
    """The choice for an uncertain effect. Raises UsageError for what is none."""
    if choice in ("raise", "skip", "repeat") or callable(choice):
        chosen: Any = choice
        checked: OnUncertain = chosen
        return checked
    raise UsageError(f"on_uncertain is 'raise', 'skip', 'repeat' or a function, not {choice!r}")
