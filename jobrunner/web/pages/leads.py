"""Where each finding leads: the page that shows what it is about, and the button that does something about it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple
from urllib.parse import quote_plus

from jobrunner.admin.finding import Finding
from jobrunner.lifecycle import Status
from jobrunner.web.permissions import Verb

Fields = Callable[[Mapping[str, str | int]], dict[str, str]]


class Button(NamedTuple):
    """A form with one button: its words, the verb that it needs, its path, and its fields, made of what is named."""

    words: str
    verb: Verb
    path: str
    fields: Fields


class Lead(NamedTuple):
    """A row of the table: the words of the link, the path with names in it, and the button, if there is one."""

    words: str
    path: str
    button: Button | None = None


class Led(NamedTuple):
    """A finding with its link and, if the visitor may press it, its button: words, path and fields."""

    finding: Finding
    words: str
    path: str
    button: tuple[str, str, dict[str, str]] | None


_RECENTLY_DEAD = {"status": Status.DEAD.value, "since": "1h"}
_TICKS = Lead("Ticks", "hosts")
_FIRST = Lead("Run {id}", "runs/{id}")
_WAITING = Lead("What waits", "runs?status=queued&type={job_type}")
_COSTS = Lead("Types", "types?since=30d")
LEADS: dict[str, Lead] = {
    "damaged_file": _TICKS,
    "ticks_stopped": _TICKS,
    "failing_ticks": _TICKS,
    "locked": Lead("What waits", "runs?waiting_for=tick"),
    "expired_leases": Lead("Running", "runs?status=running"),
    "unknown_types": _WAITING,
    "overdue": _FIRST,
    "broken_schedules": Lead("Schedule", "schedule?name={name}"),
    "broken_promises": _FIRST,
    "clock_skew": _TICKS,
    "host_stopped": _TICKS,
    "host_awaited": _TICKS,
    "old_snapshot": _TICKS,
    "growing_backlog": _WAITING,
    "silent_ticks": _TICKS,
    "killed_ticks": _TICKS,
    "dead": Lead(
        "Errors",
        "errors?status=dead&since=1h",
        Button("Retry them", Verb.RETRY, "bulk/retry", lambda _: {"which": "all", **_RECENTLY_DEAD}),
    ),
    "uncertain_effects": Lead("Settle them", "effects"),
    "paused": Lead(
        "Paused",
        "#paused",
        Button(
            "Resume", Verb.RESUME, "resume", lambda about: {each: str(about.get(each, "")) for each in ("kind", "name")}
        ),
    ),
    "limited": Lead(
        "Limited",
        "#limited",
        Button("Take back", Verb.UNLIMIT, "unlimit", lambda about: {"name": str(about.get("job_type", ""))}),
    ),
    "slower_than_usual": _COSTS,
    "bigger_than_usual": _COSTS,
    "state_folder": _TICKS,
}
"""By the name of the finding."""


def led(finding: Finding, verbs: Collection[Verb]) -> Led:
    """A finding with what it leads to, for a visitor who may do these."""
    lead = LEADS[finding.name]
    named = {name: quote_plus(str(value)) for name, value in finding.about.items()}
    button = lead.button
    shown = (
        None
        if button is None or button.verb not in verbs
        else (button.words, button.path, button.fields(finding.about))
    )
    return Led(finding, lead.words.format(**finding.about), lead.path.format(**named), shown)
