"""Which comments of a crontab say what the job below them is for. Pure."""

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
    """The paragraph of comments directly above each job: by its line the text, and the lines that it is made of."""
    found = {}
    paragraph: list[Comment] = []
    for line in crontab.lines:
        if isinstance(line, Comment) and _says_something(line):
            paragraph.append(line)
            continue
        if isinstance(line, Entry) and paragraph:
            text = visible(" ".join(comment.text for comment in paragraph))
            if len(text) <= LONGEST_DESCRIPTION:
                found[line.number] = text, [comment.number for comment in paragraph]
        paragraph = []
    return found


def _says_something(comment: Comment) -> bool:
    """Not an empty line, a ruler, the names of the columns, nor a line that was switched off."""
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
    # Each is looked for behind the one before it: the iterator goes on from there.
    return any(all(each in left for each in names) for names in _NAMES_OF_FIELDS for left in [iter(words)])


def _is_schedule(text: str) -> bool:
    try:
        Recurrence.parse(text)
    except BadSchedule:
        return text.startswith("@")
    return True
