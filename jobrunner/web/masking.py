"""All that was read for a page leaves through here: secrets are hidden, in whatever record they stand."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, NamedTuple, TypeVar

from jobrunner.admin.bulk import Counted
from jobrunner.admin.stats import Parts, Stats
from jobrunner.masking import MASK
from jobrunner.masking.secrets import Secrets
from jobrunner.masking.values import Names
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions import definitions, state
from jobrunner.store.questions.error_groups import ErrorGroup
from jobrunner.store.questions.explain.explanation import Explanation
from jobrunner.store.questions.history import Entry
from jobrunner.store.questions.runs import run_details, run_values
from jobrunner.store.questions.runs.run_list import SelectedRun
from jobrunner.store.questions.trails import PastEvent
from jobrunner.store.questions.uncertain import OpenEffect

T = TypeVar("T")
_RUN_OF: Mapping[type, str] = {
    **dict.fromkeys((run_details.Run, SelectedRun, definitions.ListedRun), "id"),
    **dict.fromkeys((state.RunningRun, state.FailingRun, state.DeadRun), "id"),
    **dict.fromkeys((definitions.DefinitionEvent, PastEvent, OpenEffect, Entry), "run_id"),
    ErrorGroup: "sample_id",
}
"""The field of a record that has the id of the run that it is about."""
_TEXTS_OF_A_RUN = ("last_error", "error", "progress")
"""What a list does not show of a run whose values are too long to be read for it."""
_PLAIN = frozenset(
    {
        *("id", "job_type", "name", "schedule", "timezone", "status", "outcome", "state"),
        *("action", "actor", "kind", "host", "worker", "locked_by", "application", "types", "version", "error_type"),
        *("origin", "source", "receiver", "event", "misfire", "overlap", "when_full", "gate", "waits_for", "rate"),
        *("rate_per_key", "traceparent", "lease_token", "paused_by", "severity", "subject", "answer"),
        *("runs_at_least", "metrics_host", "ended_by", "why"),
    }
)
"""The fields that have our own words or names, which lead to other pages. A new field is not among them."""
_AS_IT_IS = (Counted, Parts, Stats)
"""Numbers, and which runs an operator wants to change: they have no text but those of the user who asks."""
_ONLY_NUMBERS = re.compile(r"(datetime|date|timedelta|int|float|bool|None|dict\[str, int\]|[| ])+")


class Known(NamedTuple):
    """The secrets that are hidden in an answer. ``long`` are the runs of it whose secrets are not known."""

    secrets: Secrets
    long: Collection[int]


class Masks:
    """Hides the values of names that look like secrets, and of ``names``, and the same values in all texts."""

    def __init__(self, names: Collection[str] = ()) -> None:
        self.names = self._names = Names(names)

    def known(self, connection: Connection, found: object) -> Known:
        """The secrets of what was read for a page. Expects the transaction in which it was read.

        They are those of all values in it, and of the runs that it is about: for those it sends one statement.
        """
        secrets, runs = Secrets(), set[int]()
        told = self._learn(found, secrets, runs)
        values = run_values.of_runs(connection, runs - told)
        for each in values.values():
            self._names.learn(tuple(each), secrets)
        return Known(secrets, runs - told - values.keys())

    def leaving(self, found: T, known: Known) -> T:
        """What was read for a page, without secrets."""
        cleaned: T = _Leaving(self._names, known).of(found)
        return cleaned

    def _learn(self, found: Any, secrets: Secrets, runs: set[int]) -> set[int]:
        """Know the secrets in it. Adds the runs that it is about, and returns those whose values are in it."""
        known: set[int] = set()
        if isinstance(found, _AS_IT_IS):
            return known
        if is_dataclass(found) and not isinstance(found, type):
            if isinstance(found, run_details.Run):
                known.add(found.id)
            texts = [value for name in _texts_of(type(found)) if (value := getattr(found, name)) not in (None, "", [])]
            if texts and (run_id := _run_of(found)) is not None:
                runs.add(run_id)
            for each in texts:
                known |= self._learn(each, secrets, runs)
        elif _has_records(found):
            for each in found.values() if isinstance(found, dict) else found:
                known |= self._learn(each, secrets, runs)
        else:
            self._names.learn(found, secrets)
        return known


class _Leaving:
    """Makes copies of records, without the secrets."""

    def __init__(self, names: Names, known: Known) -> None:
        self._names = names
        self._secrets, self._long = known

    def of(self, found: Any) -> Any:
        """A record, or any value, without secrets."""
        if isinstance(found, _AS_IT_IS):
            return found
        if isinstance(found, Explanation):
            run_id = _run_of(found)
            return found.masked(self._hide if run_id not in self._long else lambda _: _see(run_id))
        if is_dataclass(found) and not isinstance(found, type):
            return self._of_record(found)
        if not _has_records(found):
            return self._hide(found)
        if isinstance(found, dict):
            return {name: self.of(each) for name, each in found.items()}
        shown = [self.of(each) for each in found]
        return type(found)(*shown) if hasattr(found, "_fields") else type(found)(shown)

    def _of_record(self, record: Any) -> Any:
        kind: type = type(record)
        run_id = _run_of(record)
        changed = {}
        for name in _texts_of(kind):
            value = getattr(record, name)
            if run_id in self._long and name in _TEXTS_OF_A_RUN and value is not None:
                changed[name] = _see(run_id)
            elif (shown := self.of(value)) is not value:
                changed[name] = shown
        return replace(record, **changed) if changed else record

    def _hide(self, value: Any) -> Any:
        return self._names.hide(value, self._secrets)


@cache
def _texts_of(kind: type) -> tuple[str, ...]:
    """The fields of a record that may have a text of a job or of an operator."""
    return tuple(
        each.name
        for each in fields(kind)
        if each.init and each.name not in _PLAIN and not _ONLY_NUMBERS.fullmatch(str(each.type))
    )


def _has_records(found: Any) -> bool:
    """Whether it is a collection of records. What comes from a column of JSON has neither a record nor a tuple."""
    if isinstance(found, tuple):
        return True
    inside = found.values() if isinstance(found, dict) else found if isinstance(found, list) else ()
    return any(is_dataclass(each) or isinstance(each, tuple) for each in inside)


def _run_of(record: Any) -> int | None:
    """The run that a record is about."""
    if isinstance(record, Explanation):
        kind, _, number = record.subject.partition(" ")
        return int(number) if kind == "run" and number.isdecimal() else None
    found: int | None = getattr(record, _RUN_OF.get(type(record), ""), None)
    return found


def _see(run_id: int | None) -> str:
    return f"{MASK} see run {run_id}: its payload is long"
