"""What a run keeps over its attempts: the value of ``ctx.checkpoint``, and the results of ``ctx.step``.

Only a handler that uses one of them imports this.
"""

from __future__ import annotations

import inspect
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from jobrunner.errors import BadPayload, UsageError
from jobrunner.jobs.payload import encode_payload, value_text
from jobrunner.jobs.payload_limits import CHECKPOINT_BYTES
from jobrunner.jobs.user_code import place_of_caller, placed
from jobrunner.text import shown, storable

_EMPTY = len('{"value":,"steps":{}}')
_NAME_CHARACTERS = 200

Document = Mapping[str, Any]
Keep = Callable[[Callable[[], Document], bool], None]
"""Takes a function that makes the newest document, and whether the tick must have it before the handler goes on."""


class Checkpoint:
    """The document of one run, as its attempt sees and changes it. Any thread of the handler may call it.

    ``kept`` is the document that the attempt began with. Values are held as text, so that no change of a handler's own
    object reaches what is kept.
    """

    def __init__(self, kept: object, keep: Keep) -> None:
        document = kept if isinstance(kept, Mapping) else {}
        steps = document.get("steps")
        self._value = encode_payload(document.get("value"))
        self._steps: dict[str, str] = {}
        self._size = _EMPTY + _bytes_of(self._value)
        for name, each in steps.items() if isinstance(steps, Mapping) else ():
            self._steps[name] = encode_payload(each)
            self._size += _bytes_of_step(name, self._steps[name])
        self._names: set[str] = set()
        self._keep = keep
        self._lock = threading.Lock()

    @property
    def value(self) -> Any:
        """A copy of the newest value."""
        return json.loads(self._value)

    def write(self, value: object) -> None:
        """Keep this value in place of the one before. Raises UsageError."""
        text = _text(value, "ctx.checkpoint", "the value", above=1)
        with self._lock:
            self._grow("ctx.checkpoint", _bytes_of(text) - _bytes_of(self._value))
            self._value = text
        # Not under the lock: whoever sends it takes it again, perhaps in another thread.
        self._keep(self.document, False)

    def step(self, name: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """As ``Context.step``."""
        with self._named(name):
            if name in self._steps:
                return json.loads(self._steps[name])
            return self._kept(name, function(*args, **kwargs))

    async def step_async(self, name: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """As ``Context.step_async``."""
        with self._named(name):
            if name in self._steps:
                return json.loads(self._steps[name])
            result = function(*args, **kwargs)
            return self._kept(name, await result if inspect.isawaitable(result) else result)

    def document(self) -> Document:
        """What the database keeps of it."""
        with self._lock:
            steps = {name: json.loads(each) for name, each in self._steps.items()}
            return {"value": json.loads(self._value), "steps": steps}

    @contextmanager
    def _named(self, name: str) -> Iterator[None]:
        """Take the name for this attempt. A step that raises gives it back, so that the handler can try it again."""
        if not isinstance(name, str) or not 0 < len(name) <= _NAME_CHARACTERS or storable(name) != name:
            most = _NAME_CHARACTERS
            raise _wrong(f"ctx.step: the name of a step must be a text of 1 to {most} characters, not {shown(name)}")
        with self._lock:
            if name in self._names:
                raise _wrong(
                    f"ctx.step: {shown(name)} is used a second time in this attempt; give each step its own name"
                )
            self._names.add(name)
        try:
            yield
        except BaseException:
            self._names.discard(name)
            raise

    def _kept(self, name: str, result: object) -> Any:
        called = f"ctx.step({shown(name)})"
        if inspect.isawaitable(result):
            if inspect.iscoroutine(result):
                result.close()
            raise _wrong(f"{called}: its function is async; in an async handler: await ctx.step_async(…)")
        text = _text(result, called, "the result", above=2)
        with self._lock:
            self._grow(called, _bytes_of_step(name, text))
            self._steps[name] = text
        self._keep(self.document, True)
        return json.loads(text)

    def _grow(self, called: str, more: int) -> None:
        """Count so many more bytes, unless the document would be too large."""
        size = self._size + more
        if more > 0 and size > CHECKPOINT_BYTES:
            raise _wrong(
                f"{called}: a run keeps at most {CHECKPOINT_BYTES} bytes of JSON, the results of its steps included;"
                f" with this it would be {size}: keep the data elsewhere, and here where it is"
            )
        self._size = size


def _bytes_of(text: str) -> int:
    return len(text.encode())


def _bytes_of_step(name: str, text: str) -> int:
    return _bytes_of(f",{encode_payload(name)}:{text}")


def _text(value: object, called: str, what: str, *, above: int) -> str:
    try:
        return value_text(value, what, above=above)
    except BadPayload as error:
        raise _wrong(f"{called}: {error}") from None


def _wrong(message: str) -> UsageError:
    return UsageError(placed(message, place_of_caller()))
