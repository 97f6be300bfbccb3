"""Reads what an operator has typed into a field. Every function raises UsageError with what to write instead."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from jobrunner.durations import parse_duration
from jobrunner.errors import UsageError


def instant(text: str, or_else: str = "") -> datetime:
    """An instant, in UTC unless it has an offset. ``or_else`` says what else the field takes."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(f"{text[:40]!r} is no time; write {or_else}2026-01-31 14:00 in UTC") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def instant_or_ago(text: str) -> datetime | timedelta | None:
    """An instant, or so long ago. None: the field is empty."""
    if not text:
        return None
    try:
        return parse_duration(text)
    except UsageError:
        return instant(text, "2h for two hours ago, or ")


def instant_or_later(text: str) -> datetime | timedelta:
    """An instant, or ``+2h`` from now."""
    return parse_duration(text[1:].strip()) if text.startswith("+") else instant(text, "+2h for in two hours, or ")


def duration(text: str) -> timedelta | None:
    """A duration. None: the field is empty."""
    return parse_duration(text) if text else None
