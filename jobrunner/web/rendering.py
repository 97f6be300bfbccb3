"""Makes HTML and JSON. Jinja escapes every value, and no code here says of a text that it is HTML already."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from jobrunner.durations import format_duration
from jobrunner.masking.shapes import without_secrets
from jobrunner.text import columns_of, mebibytes, plain, visible_block
from jobrunner.web.permissions import WORDS

# Of the page that is being made: a macro does not see the values of its page.
_zone = ContextVar[tzinfo]("_zone", default=UTC)
_SHOWN_OF_A_TEXT = 64 * 1024
_SHOWN_OF_AN_OLD_TEXT = 4 * 1024
STATIC = {
    "style.css": "text/css; charset=utf-8",
    "live.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


def html(template: str, values: Mapping[str, Any]) -> bytes:
    """The page."""
    token = _zone.set(values["zone"])
    try:
        return _environment().get_template(template).render(values).encode("utf-8", "replace")
    finally:
        _zone.reset(token)


def as_json(value: object) -> bytes:
    """The same JSON as the command line prints, without what looks like a secret in its texts."""
    return json.dumps(_without_secrets(value), default=_plain, indent=2).encode() + b"\n"


def _without_secrets(value: object) -> object:
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, dict):
        return {name: _without_secrets(each) for name, each in value.items()}
    return [_without_secrets(each) for each in value] if isinstance(value, list | tuple) else value


def _plain(value: object) -> object:
    return _without_secrets(plain(value))


def static(name: str) -> bytes:
    """A file of the dashboard, one of ``STATIC``."""
    return (files("jobrunner.web") / "static" / name).read_bytes()


@cache
def version_of(name: str) -> str:
    """Changes with the content of a static file, so that a browser may keep it forever."""
    return hashlib.sha256(static(name)).hexdigest()[:12]


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("jobrunner.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    made.filters |= {
        "iso": _in_html,
        "instant": lambda value: value.astimezone(_zone.get()).strftime("%Y-%m-%d %H:%M:%S"),
        "utc": lambda value: value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
        "since": since,
        "pretty": pretty,
        "compact": compact,
        "tail": tail,
        "seconds": seconds,
        "local": lambda value: f"{value:%a %Y-%m-%d %H:%M %Z}",
        "day": lambda value: f"{value:%a %m-%d}",
        "clock": lambda value: f"{value:%H:%M} {value.isoformat(timespec='minutes')[16:] or '+00:00'}",
        "columns": columns_of,
        "words": lambda name: str(name).replace("_", " "),
        "action": lambda verb: WORDS[verb],
        "mebibytes": lambda count: "–" if count is None else mebibytes(count),
    }
    made.globals["version_of"] = version_of
    return made


def _finalize(value: Any) -> Any:
    # Not a text that is HTML already: the result of a macro. A control character must not reorder or hide a text.
    if type(value) is str:
        return visible_block(without_secrets(value))
    return "–" if value is None else value


def _in_html(value: datetime) -> str:
    """An instant for ``<time datetime>``, where HTML allows three digits of a second."""
    return (
        value.astimezone(UTC)
        .isoformat(timespec="milliseconds" if value.microsecond else "seconds")
        .replace("+00:00", "Z")
    )


def since(value: datetime, at: datetime) -> str:
    """How long ago an instant was, or how soon it will be."""
    seconds = round((at - value).total_seconds())
    text = _short(timedelta(seconds=abs(seconds)))
    return "now" if seconds == 0 else f"{text} ago" if seconds > 0 else f"in {text}"


def seconds(value: float | None) -> str:
    """A duration, for people."""
    return "–" if value is None else format_duration(timedelta(seconds=value))


def _short(duration: timedelta) -> str:
    """The two largest units: an age of days needs no seconds."""
    seconds = int(duration.total_seconds())
    for unit, next_unit in ((86400, 3600), (3600, 60)):
        if seconds >= unit:
            return format_duration(timedelta(seconds=seconds // next_unit * next_unit))
    return format_duration(timedelta(seconds=seconds))


def pretty(value: object) -> str:
    """A value as JSON for people: all digits of a number, and other alphabets as they are."""
    return json.dumps(value, default=plain, indent=2, ensure_ascii=False)


def compact(value: object) -> str:
    """The same on one line, for a cell of a table."""
    return json.dumps(value, default=plain, ensure_ascii=False)


def tail(text: str, *, is_old: bool = False) -> str:
    """The end of a long text, less of an old one. What stands before it can be downloaded."""
    most = _SHOWN_OF_AN_OLD_TEXT if is_old else _SHOWN_OF_A_TEXT
    return text if len(text) <= most else "…" + text[-most:]
