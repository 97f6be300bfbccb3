"""The records of an import from another scheduler. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class NotExact(Exception):
    """An entry that cannot be imported so that it means the same. Its message is the reason, with the remedy."""


@dataclass(frozen=True, slots=True)
class When:
    """When an entry fires, and the options of the schedule that it needs. ``notes`` are for an operator."""

    schedule: str
    timezone: str
    options: Mapping[str, str]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry for the file: ``[schedules.NAME]``."""

    name: str
    job_type: str
    when: When
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Found:
    """The result of an import. ``remarks`` has each entry of the other scheduler, in its order, by its name."""

    entries: tuple[Entry, ...]
    remarks: tuple[tuple[str, str], ...]
    refused: int
    known: int = 0
    """The number of entries that an earlier import has added."""
