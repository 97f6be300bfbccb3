"""Hides the secrets of payloads and other values by the names that stand beside them, and learns what they are."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from jobrunner.masking import MASK
from jobrunner.masking.names import is_secret
from jobrunner.masking.secrets import Secrets
from jobrunner.masking.shapes import secrets_in, without_secrets

_NAMES = frozenset({"name", "key", "variable", "var", "env", "header", "field", "parameter", "option", "id", "label"})
_VALUES = frozenset({"value", "val", "values", "content", "contents", "data", "default", "text"})
_FLAG = re.compile(r"--?[A-Za-z][\w-]*")
_DEEPEST = 100


class Names:
    """The names whose values are secrets: those that look like one, and ``more``."""

    def __init__(self, more: Collection[str] = ()) -> None:
        self._more = frozenset(name.lower() for name in more)

    def is_secret(self, name: object, value: Any = None) -> bool:
        """Whether the value of this name is a secret."""
        return isinstance(name, str) and (name.lower() in self._more or is_secret(name, value))

    def learn(self, value: Any, secrets: Secrets) -> None:
        """Know the secrets of a value. What is nested deeper than any value of ours is left out: it is not shown."""
        self._learn(value, secrets, 0)

    def masked(self, value: Any) -> Any:
        """A value without its own secrets, such as a payload for the audit trail."""
        secrets = Secrets()
        self.learn(value, secrets)
        return self.hide(value, secrets)

    def _learn(self, value: Any, secrets: Secrets, depth: int) -> None:
        if isinstance(value, str):
            for each in secrets_in(value):
                secrets.learn(each)
        elif depth < _DEEPEST and isinstance(value, Mapping | list | tuple):
            for each, is_hidden in self._parts(value):
                if is_hidden:
                    self._learn_all(each, secrets, depth + 1)
                else:
                    self._learn(each, secrets, depth + 1)

    def _learn_all(self, value: Any, secrets: Secrets, depth: int) -> None:
        if not isinstance(value, Mapping | list | tuple):
            secrets.learn(value)
            self._learn(value, secrets, depth)
        elif depth < _DEEPEST:
            parts = self._parts(value)
            # Of {"credentials": {"user": "ada", "password": "x"}} the password is to be found in texts.
            is_told = any(is_hidden for _, is_hidden in parts)
            for each, is_hidden in parts:
                if is_hidden or not is_told:
                    self._learn_all(each, secrets, depth + 1)
                else:
                    self._learn(each, secrets, depth + 1)

    def hide(self, value: Any, secrets: Secrets, depth: int = 0) -> Any:
        """The value without its secrets, and without those that are known in its texts."""
        if isinstance(value, str):
            return without_secrets(secrets.hide(value))
        if not isinstance(value, dict | list | tuple):
            return value
        if depth >= _DEEPEST:
            return MASK
        shown = [
            _masked(each) if is_hidden else self.hide(each, secrets, depth + 1)
            for each, is_hidden in self._parts(value)
        ]
        if isinstance(value, dict):
            names = [self.hide(name, secrets) for name in value]
            # Two names may be the same when what they differ in is hidden.
            return dict(zip(names, shown, strict=True))
        return shown

    def _parts(self, value: Mapping[Any, Any] | Sequence[Any]) -> list[tuple[Any, bool]]:
        """The values in it, each with whether it is a secret by what stands beside it."""
        if isinstance(value, Mapping):
            told = {str(name).lower(): each for name, each in value.items() if isinstance(each, str)}
            names_one = any(self.is_secret(told[name]) for name in _NAMES & told.keys())
            return [
                (each, self.is_secret(name, each) or (names_one and str(name).lower() in _VALUES))
                for name, each in value.items()
            ]
        before: Any = None
        found = []
        for place, each in enumerate(value):
            # ["--password", "x"], and ("PASSWORD", "x") in a list of pairs.
            is_named = isinstance(before, str) and (
                bool(_FLAG.fullmatch(before)) or (place == 1 and len(value) == 2 and before.isupper())
            )
            found.append((each, is_named and not isinstance(each, Mapping) and self.is_secret(before, each)))
            before = each
        return found


def _masked(value: Any) -> Any:
    """None, true and false tell nothing, and it may help to see them."""
    return value if value is None or isinstance(value, bool) or value in ("", [], {}) else MASK
