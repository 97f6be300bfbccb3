"""Which comments of a crontab say what the job below them is for. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from jobrunner.crontabs.reading import Comment, Crontab, Entry, Unreadable, Variable, parse
from jobrunner.errors import BadSchedule
from jobrunner.recurrence import Recurrence
from jobrunner.text import visible

_LONGEST = 500
_NAMES_OF_FIELDS = re.compile(r"\bdom\b.*\bdow\b|\bm\b.*\bh\b.*\bcommand\b|\bday.of.month\b", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(slots=True)
class Descriptions:
    """By the number of the job's line: the text, and the numbers of the comments that it is made of."""

    texts: dict[int, str] = field(default_factory=dict)
    lines: dict[int, list[int]] = field(default_factory=dict)


def descriptions(crontab: Crontab) -> Descriptions:
    """The paragraph of comments directly above each job."""
    found = Descriptions()
    paragraph: list[Comment] = []
    for line in crontab.lines:
        if isinstance(line, Comment) and _says_something(line):
            paragraph.append(line)
            continue
        if isinstance(line, Entry) and paragraph:
            text = visible(" ".join(comment.text for comment in paragraph))
            if len(text) <= _LONGEST:
                found.texts[line.number] = text
                found.lines[line.number] = [comment.number for comment in paragraph]
        paragraph = []
    return found


def _says_something(comment: Comment) -> bool:
    """Not an empty line, a ruler, the names of the columns, nor a line that was switched off."""
    text = comment.text
    if not _LETTER.search(text) or _NAMES_OF_FIELDS.search(text):
        return False
    line = parse(comment.number, text, has_user=False)
    return (
        isinstance(line, Unreadable)
        or (isinstance(line, Entry) and not _is_schedule(line.schedule))
        or (isinstance(line, Variable) and " " in line.value)
    )


def _is_schedule(text: str) -> bool:
    try:
        Recurrence.parse(text)
    except BadSchedule:
        return text.startswith("@")
    return True
