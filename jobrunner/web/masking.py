"""Hides secrets of runs: the server masks them, so that neither a page nor its JSON has them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from jobrunner.store.error_groups import without_numbers
from jobrunner.store.queries import Run
from jobrunner.store.run_values import Values
from jobrunner.store.trails import PastEvent
from jobrunner.web.texts import MASK, without_passwords

_WORDS = r"pass|password|passwd|passphrase|pwd|secret|secrets|token|auth|authorization|credential|credentials|cookie"
_SECRET = re.compile(rf"(^|_)({_WORDS}|(api|private|access|secret|signing)_?keys?)(_|$)")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SHORTEST = 4
"""Characters. A shorter value would be masked in words that only happen to have it."""


class Masks:
    """The names whose values are secrets: those that look like one, and ``names``."""

    def __init__(self, names: Collection[str] = ()) -> None:
        self._names = {name.lower() for name in names}

    def run(self, run: Run) -> Run:
        """The run without the values of its secrets, wherever they stand, also in its output and its errors."""
        found: set[str] = set()
        values = {name: self._value(getattr(run, name), found) for name in Values._fields}
        events = [replace(each, detail=self._value(each.detail, found)) for each in run.event_log]
        hide = _Hiding(found)
        attempts = [replace(each, **hide.texts(each, "error", "traceback", "output")) for each in run.attempt_log]
        texts = hide.texts(run, "last_error", "output")
        return replace(run, **hide.all(values), **texts, attempt_log=attempts, event_log=events)

    def hiding(self, run: Run | Values) -> Callable[[Any], Any]:
        """What hides the secrets of the run in a value, or in a text about it, also one with # for each number."""
        found: set[str] = set()
        for name in Values._fields:
            self._value(getattr(run, name), found)
        hide = _Hiding(found | {text for each in found if len(text := without_numbers(each)) >= _SHORTEST})
        return lambda value: hide.all(self._value(value, set()))

    def value(self, value: Any) -> Any:
        """A value without its secrets, such as a payload."""
        found: set[str] = set()
        shown = self._value(value, found)
        return _Hiding(found).all(shown)

    def event(self, event: PastEvent) -> PastEvent:
        """An event without the secrets in its detail."""
        return replace(event, detail=self.value(event.detail))

    def _value(self, value: Any, found: set[str]) -> Any:
        if isinstance(value, dict):
            return {name: self._of_name(str(name), each, found) for name, each in value.items()}
        if isinstance(value, list):
            return [self._value(each, found) for each in value]
        return value

    def _of_name(self, name: str, value: Any, found: set[str]) -> Any:
        if not self.is_secret(name):
            return self._value(value, found)
        if value is None or isinstance(value, bool):
            return value
        _collect(value, found)
        return MASK

    def is_secret(self, name: str) -> bool:
        """Whether the value of this name is a secret."""
        plain = re.sub(r"\W+", "_", _CAMEL.sub("_", name)).lower()
        return name.lower() in self._names or _SECRET.search(plain) is not None


def _collect(value: Any, found: set[str]) -> None:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            _collect(each, found)
    elif isinstance(value, str) and len(value) >= _SHORTEST:
        found.add(value)


class _Hiding:
    def __init__(self, secrets: set[str]) -> None:
        longest_first = sorted(secrets, key=len, reverse=True)
        self._secrets = re.compile("|".join(map(re.escape, longest_first))) if secrets else None

    def texts(self, record: object, *names: str) -> dict[str, Any]:
        return {name: self.all(getattr(record, name)) for name in names}

    def all(self, value: Any) -> Any:
        if isinstance(value, str):
            return without_passwords(self._secrets.sub(MASK, value) if self._secrets else value)
        if isinstance(value, dict):
            return {name: self.all(each) for name, each in value.items()}
        return [self.all(each) for each in value] if isinstance(value, list) else value
