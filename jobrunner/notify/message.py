"""What a receiver gets: one message for all that happened since the last one, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobrunner.masking.secrets import Secrets
from jobrunner.masking.shapes import without_secrets
from jobrunner.masking.values import Names
from jobrunner.text import visible, visible_block

FORMAT = 1
"""The version of the JSON. A new key is no new version."""
_MOST_GROUPS = 50


@dataclass(frozen=True, slots=True)
class Group:
    """The runs of one job type, or of one schedule of it ("": of none)."""

    job_type: str
    schedule: str
    runs: int
    detail: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What people know it by."""
        return self.schedule or self.job_type


@dataclass(frozen=True, slots=True)
class Message:
    """What one receiver is notified of one event. ``notices`` are the rows of the outbox that it settles."""

    receiver: str
    event: str
    groups: Sequence[Group]
    notices: Sequence[int]
    host: str
    database: str

    @property
    def runs(self) -> int:
        """How many runs it is about."""
        return sum(group.runs for group in self.groups)

    @property
    def subject(self) -> str:
        """One line, safe for a mail's header."""
        of = visible(self.groups[0].name) if len(self.groups) == 1 else f"{len(self.groups)} job types and schedules"
        if self.event == "recovered":
            return f"{of}: recovered"
        runs = "1 run" if self.runs == 1 else f"{self.runs} runs"
        return f"{of}: {runs} {self.event}"

    def text(self) -> str:
        """All of it, for people, without what looks like a secret."""
        return without_secrets(
            "\n".join([self.subject, *self._lines(), "", f"host {self.host}, database {self.database}", ""])
        )

    def data(self) -> dict[str, Any]:
        """All of it, for programs, without what looks like a secret. Chats that take a webhook show ``text``."""
        found = {
            "format": FORMAT,
            "event": self.event,
            "subject": self.subject,
            "text": self.text(),
            "count": self.runs,
            "host": self.host,
            "database": self.database,
            "groups": [
                {"job_type": each.job_type, "schedule": each.schedule or None, "count": each.runs, **each.detail}
                for each in self.groups[:_MOST_GROUPS]
            ],
        }
        shown: dict[str, Any] = Names().hide(found, Secrets())
        return shown

    def _lines(self) -> Iterator[str]:
        for group in self.groups[:_MOST_GROUPS]:
            yield ""
            of = f" (schedule {visible(group.schedule)})" if group.schedule else ""
            yield f"{visible(group.job_type)}{of}: {_how(self.event, group)}"
            for run in group.detail.get("runs", ()):
                yield from _of_run(run)
            if group.runs > len(group.detail.get("runs", ())) > 0:
                yield "  and more: jobrunner status"
        if len(self.groups) > _MOST_GROUPS:
            yield f"\nand {len(self.groups) - _MOST_GROUPS} more: jobrunner status"


def _how(event: str, group: Group) -> str:
    if event == "recovered":
        return f"succeeded at {group.detail.get('at')}, after it was {group.detail.get('was')}"
    if "scheduled_for" in group.detail:
        return f"its slot {group.detail['scheduled_for']} has no run yet"
    more = " or more" if group.detail.get("or_more") else ""
    runs = "1 run is" if group.runs == 1 else f"{group.runs}{more} runs are"
    return f"{runs} {event}" if event == "dead" else f"{runs} late and not begun"


def _of_run(run: Mapping[str, Any]) -> Iterator[str]:
    if "run_at" in run:
        yield f"  run {run['id']}: due at {run['run_at']}"
    else:
        error = f"{run.get('error_type') or 'error'}: {run.get('error') or 'unknown'}"
        yield f"  run {run['id']}: {visible(error)} (attempt {run.get('attempts')}, {run.get('finished_at')})"
    if run.get("explanation"):
        yield f"    {visible(run['explanation'])}"
    if run.get("output"):
        yield "    the end of its output:"
        yield from (f"    | {line}" for line in visible_block(run["output"]).splitlines()[-20:])
    yield f"    jobrunner show {run['id']}"
