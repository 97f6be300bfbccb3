"""What ``explain`` finds out: why a run, a schedule or a job type does not run, in words and as data."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypedDict

from jobrunner.durations import format_duration

# The database does not know which of these starts the ticks of a host.
START_AGAIN = (
    "start again on {host} what starts its ticks: the crontab line (jobrunner crontab line prints it), jobrunner loop"
    " in its container or service, or the timer of systemd"
)

_OF_OTHERS = ("error_type", "last_error", "problem", "effect", "key", "gate", "why")
"""The facts that are texts of jobs and people. A sentence and a remedy repeat them unchanged."""


@dataclass(frozen=True)
class Forecast:
    """How long it takes until the turn comes: the due runs of the type in front, and how many of the type end a second.

    ``at_least``: there are more in front than were counted. ``seconds`` None: none has ended in the last two hours.
    ``text`` says it in words.
    """

    in_front: int
    at_least: bool
    per_second: float | None
    seconds: float | None
    text: str

    def __str__(self) -> str:
        return self.text


def forecast_of(in_front: int, per_second: float | None, *, at_least: bool) -> Forecast:
    """The forecast at a speed that is not 0. None: it is not known."""
    count = f"{'at least ' * at_least}{in_front:,}".replace(",", " ")
    if per_second is None:
        text = f"{count} in front; none of its type has ended in the last two hours"
        return Forecast(in_front, at_least, None, None, text)
    seconds = in_front / per_second
    text = f"about {format_duration(timedelta(seconds=seconds))}: {count} in front, {_speed(per_second)}"
    return Forecast(in_front, at_least, per_second, seconds, text)


def _speed(per_second: float) -> str:
    if per_second >= 1:
        return f"{per_second:.1f} a second"
    return f"{per_second * 60:.1f} a minute" if per_second * 60 >= 1 else f"{per_second * 3600:.1f} an hour"


@dataclass(frozen=True)
class HostView:
    """What the ticks of a host, with one application and ``--type``, can do for a run of the type.

    ``knows`` None: they have not said yet what they can run. ``free`` is how many more runs of the type may begin
    there; None: not known. ``verdict`` says it in words.
    """

    host: str
    application: str
    types: str
    last_tick_at: datetime
    ended_by: str | None
    knows: bool | None
    free: int | None
    verdict: str


class Brief(TypedDict):
    """The part of an explanation that other commands show. ``subject`` is what it is about."""

    subject: str
    reason: str
    sentence: str
    remedy: str | None


@dataclass(frozen=True)
class Explanation:
    """Why a run, a schedule or a job type does not run. ``reason`` never changes, the sentence may.

    ``remedy`` is a command, or where none can do it a sentence that names what must be changed. None: nothing need be
    done. The facts depend on the reason. ``notes`` are other oddities.
    """

    subject: str
    reason: str
    sentence: str
    facts: dict[str, Any]
    remedy: str | None = None
    forecast: Forecast | None = None
    hosts: tuple[HostView, ...] = ()
    notes: tuple[str, ...] = ()

    def masked(self, mask: Callable[[str], str]) -> Explanation:
        """The same with ``mask`` applied to the texts of jobs and people, not to the fixed words around them.

        Of a host the whole verdict is masked, because it may end with the reason of a pause.
        """
        texts = {name: text for name in _OF_OTHERS if isinstance(text := self.facts.get(name), str) and text}
        masks = {text: mask(text) for text in sorted(texts.values(), key=len, reverse=True)}

        def masked(said: str) -> str:
            for text, shown in masks.items():
                said = said.replace(text, shown)
            return said

        return replace(
            self,
            sentence=masked(self.sentence),
            facts={name: masks[texts[name]] if name in texts else value for name, value in self.facts.items()},
            remedy=None if self.remedy is None else _masked_remedy(self.remedy, masks),
            hosts=tuple(replace(host, verdict=mask(host.verdict)) for host in self.hosts),
            notes=tuple(map(masked, self.notes)),
        )

    def texts_of_others(self) -> dict[str, Any]:
        """The facts that are texts of jobs and people. Who repeats the sentence needs them, too: see ``masked``."""
        return {name: self.facts[name] for name in _OF_OTHERS if name in self.facts}

    def brief(self) -> Brief:
        """The part that other commands show."""
        return {"subject": self.subject, "reason": self.reason, "sentence": self.sentence, "remedy": self.remedy}


def is_command(remedy: str) -> bool:
    """Whether a remedy can be given to a shell as it is. Another one is a sentence that names what must be changed."""
    return re.match(r"(?:[A-Z_]+=\S+ )*jobrunner [a-z]", remedy) is not None


def let_end(run_id: int) -> str:
    """The remedy for a run that waits for the end of this one."""
    return f"let run {run_id} end first; why it has not: jobrunner explain {run_id}"


def _masked_remedy(remedy: str, masks: Mapping[str, str]) -> str:
    if is_command(remedy):
        return shlex.join(masks.get(word, word) for word in shlex.split(remedy))
    for text, shown in masks.items():
        remedy = remedy.replace(shlex.quote(text), shlex.quote(shown)).replace(text, shown)
    return remedy


def ago(seconds: float) -> str:
    """A number of seconds in words."""
    return format_duration(timedelta(seconds=max(0, round(seconds))))
