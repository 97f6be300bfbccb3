"""Another payload for a run, by the rules of ``enqueue``: for the command ``retry --payload``, and for the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from jobrunner.errors import BadPayload
from jobrunner.jobs.payload import Payload, checked_text, parse_payload
from jobrunner.masking import MASK
from jobrunner.masking.values import Names
from jobrunner.store.changes.one_run import NewPayload

Check: TypeAlias = Callable[[str, Payload], object]
"""Raises a JobrunnerError if the handler of this job type cannot take this payload."""
_MOST_NAMED = 5


def new_payload(text: str, limit_bytes: int, job_type: str, check: Check | None, names: Names) -> NewPayload:
    """The payload of this JSON text. ``check`` None: its handler is not asked. ``names`` tell which values are secrets.

    Raises BadPayload, and what ``check`` raises. A text with the mask of a secret is refused: it was copied from where
    secrets are hidden, and the run would get the mask in place of the secret.
    """
    value = parse_payload(text, limit_bytes)
    if places := list(_masked(value)):
        named = ", ".join(places[:_MOST_NAMED]) + (" and more" if len(places) > _MOST_NAMED else "")
        raise BadPayload(f"{named}: {MASK} stands for a secret that is not shown; write the secret itself")
    if check is not None:
        check(job_type, value)
    return NewPayload(value, checked_text(value, limit_bytes), names)


def _masked(value: object, place: str = "") -> Iterator[str]:
    """Where in a payload a mask stands, such as ``accounts[0].password``."""
    if isinstance(value, str):
        if MASK in value:
            yield place
    elif isinstance(value, dict):
        for name, each in value.items():
            inside = f"{place}.{name}" if place else name
            if MASK in name:
                yield inside
            else:
                yield from _masked(each, inside)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _masked(each, f"{place}[{index}]")
