"""What of a page has changed since a browser has read it: only that is sent again."""

from __future__ import annotations

import hashlib
import re

_PART = re.compile(rb"(?=<section|<tr>)")
_AGES = re.compile(rb'(<time class="age"[^>]*>)[^<]*')
_DIGITS = 12
_MOST = 300
"""Of the parts that a browser names so many are read."""


def digest(content: bytes) -> str:
    """What identifies a part of a page. Ages such as "9s ago" are no change: a browser counts them up itself."""
    return hashlib.sha256(_AGES.sub(rb"\1", content)).hexdigest()


def changed(page: bytes, have: str) -> bytes:
    """The page in parts, each behind a comment with its digest. Of those that the browser has only the comment is sent.

    ``have``: the digests of its parts, separated by commas. No text of a page can look like such a comment: it is
    escaped.
    """
    known = set(have.split(",")[:_MOST])
    found: list[bytes] = []
    for part in _PART.split(page):
        name = digest(part)[:_DIGITS]
        found += [b"<!--have %b-->" % name.encode()] if name in known else [b"<!--part %b-->" % name.encode(), part]
    return b"".join(found)
