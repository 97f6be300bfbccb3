"""Finds the comments of a crontab that describe the job below them. Pure."""

from __future__ import annotations

import re

from jobrunner.crontab.parse import Comment, Crontab, Entry, Unreadable, Variable, parse
from jobrunner.errors import BadSchedule
from jobrunner.schedules.declare import LONGEST_DESCRIPTION
from jobrunner.schedules.recurrence import Recurrence
from jobrunner.text import visible

_NAMES_OF_FIELDS = (("dom", "dow"), ("m", "h", "command"))
_DAY_OF_MONTH = re.compile(r"\bday.of.month\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_LETTER = re.compile(r"[^\W\d_]")


def descriptions(crontab: Crontab) -> dict[int, tuple[str, list[int]]]:
    """By the line of each job: the text of the comments directly above it, and their lines."""
    found = {}
    paragraph: list[Comment] = []
    for line in crontab.lines:
        if isinstance(line, Comment) and _is_description(line):
            paragraph.append(line)
            continue
        if isinstance(line, Entry) and paragraph:
            text = visible(" ".join(comment.text for comment in paragraph))
            if len(text) <= LONGEST_DESCRIPTION:
                found[line.number] = text, [comment.number for comment in paragraph]
        paragraph = []
    return found


def _is_description(comment: Comment) -> bool:
    """Whether it is not empty, no ruler, no column names and no disabled line."""
    text = comment.text
    if not _LETTER.search(text) or _names_fields(text):
        return False
    line = parse(comment.number, text, has_user=False)
    return (
        isinstance(line, Unreadable)
        or (isinstance(line, Entry) and not _is_schedule(line.schedule))
        or (isinstance(line, Variable) and " " in line.value)
    )


def _names_fields(text: str) -> bool:
    if _DAY_OF_MONTH.search(text):
        return True
    words = _WORD.findall(text.lower())
    # In this order: each search goes on after the word that the one before has found.
    return any(all(each in left for each in names) for names in _NAMES_OF_FIELDS for left in [iter(words)])


def _is_schedule(text: str) -> bool:
    try:
        Recurrence.parse(text)
    except BadSchedule:
        return text.startswith("@")
    return True
