"""Secrets that are known, such as those of a payload, and what hides them wherever else they stand."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import Any
from urllib.parse import quote, quote_plus, unquote

from jobrunner.masking import MASK
from jobrunner.masking.names import is_number
from jobrunner.text import storable, visible, without_numbers

_SHORTEST = 4
"""Characters. A shorter value would be hidden in words that only happen to have it."""
_KEY = 16
"""Of a longer one so many characters are found also if the rest is cut off."""
_MOST = 20_000
_MOST_ALIKE = 8
_LONG_TEXT = 200
"""A shorter text was cut by no limit, or ends with "…"."""
_TOKEN_END = re.compile(r"[\s\"'<>,;]")
_OWN_WORDS = frozenset(
    {
        *("jobrunner", "queued", "running", "succeeded", "failed", "dead", "cancelled", "none", "null", "true"),
        *("false", "error", "tick", "run", "http", "https", "localhost", "postgresql", "sqlite", "basic", "bearer"),
        *("password", "passwd", "secret", "token", "cookie", "credentials", "api_key", "apikey"),
    }
)
"""Hidden in each sentence of ours, such a secret would be told, and the sentence would not be understood."""


class Secrets:
    """A set of known secrets. The cost of ``hide`` grows with the text and not with their number."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._numbers: set[str] = set()
        # By the first characters: the lengths of the short ones, and the long ones themselves.
        self._lengths: defaultdict[str, set[int]] = defaultdict(set)
        self._long: defaultdict[str, list[str]] = defaultdict(list)
        self._alike: defaultdict[str, list[str]] = defaultdict(list)
        self._is_full = False
        self._joined: str | None = None

    def __bool__(self) -> bool:
        return bool(self._known) or self._is_full

    def learn(self, value: Any) -> None:
        """Know this value, which is a text or a number, as a secret in each way in which it may be written."""
        if is_number(value):
            if len(text := str(value)) >= _SHORTEST:
                self._numbers.add(text)
                self._add(text)
        elif isinstance(value, str):
            text = value.strip()
            if text.lower() not in _OWN_WORDS:
                for each in _written(text):
                    self._add(each)

    def hide(self, text: str) -> str:
        """The text without them, also where a limit has cut one."""
        if self._is_full:
            return f"{MASK} not shown: too many secrets to hide in it" if text else text
        if not self._known or len(text) < _SHORTEST:
            return text
        text = self._without_a_cut_begin(text)
        heads, parts, done = self._lengths, [], 0
        for at in [at for at in range(len(text) - _SHORTEST + 1) if text[at : at + _SHORTEST] in heads]:
            if at >= done and (end := self._end_of(text, at)) is not None:
                parts += [text[done:at], MASK]
                done = end
        return "".join([*parts, text[done:]]) if parts else text

    def _add(self, secret: str) -> None:
        if len(secret) < _SHORTEST or secret in self._known:
            return
        if len(self._known) >= _MOST * 2:
            self._is_full = True
            return
        self._known.add(secret)
        head = secret[:_SHORTEST]
        if len(secret) < _KEY:
            self._lengths[head].add(len(secret))
        else:
            self._lengths[head].add(0)
            self._long[secret[:_KEY]].append(secret)
            self._joined = None
        if len(self._alike[head]) < _MOST_ALIKE:
            self._alike[head].append(secret)

    def _end_of(self, text: str, at: int) -> int | None:
        """Where the secret ends that begins here."""
        if alike := self._long.get(text[at : at + _KEY]):
            return self._end_of_long(text, at, alike)
        head = text[at : at + _SHORTEST]
        for length in sorted(self._lengths[head], reverse=True):
            if length and (found := text[at : at + length]) in self._known and self._is_whole(found, text, at):
                return at + length
        return self._end_of_cut(text, at, head)

    def _is_whole(self, found: str, text: str, at: int) -> bool:
        """A number is a secret only where it is not a part of a longer one."""
        end = at + len(found)
        return found not in self._numbers or not (text[at - 1 : at].isdigit() or text[end : end + 1].isdigit())

    def _end_of_long(self, text: str, at: int, alike: list[str]) -> int | None:
        whole = max((len(each) for each in alike[:_MOST_ALIKE] if text.startswith(each, at)), default=0)
        if whole and len(alike) <= _MOST_ALIKE:
            return at + whole
        if all("://" in each or each.startswith(("/", "~")) for each in alike[:_MOST_ALIKE]):
            # The begin of an address or of a path is no secret.
            return at + whole if whole else None
        if len(alike) <= _MOST_ALIKE:
            return at + max(_alike(each, text, at) for each in alike)
        # So many begin with the same characters that the rest is not compared.
        match = _TOKEN_END.search(text, at + max(_KEY, whole))
        return len(text) if match is None else match.start()

    def _end_of_cut(self, text: str, at: int, head: str) -> int | None:
        """The same for the begin of a secret that stands before "…", or at the end of a long text."""
        end = text.find("…", at, at + _KEY)
        if end < 0:
            end = len(text)
            if end - at >= _KEY or end < _LONG_TEXT:
                return None
        rest = text[at:end]
        return end if any(each.startswith(rest) for each in self._alike[head]) else None

    def _without_a_cut_begin(self, text: str) -> str:
        """The text without the rest of a secret whose begin was cut off, as in the last characters of an output."""
        begin = 1 if text.startswith("…") else 0
        if not begin and len(text) < _LONG_TEXT:
            return text
        if self._joined is None:
            self._joined = "\0".join(each for alike in self._long.values() for each in alike) + "\0"
        first, joined, place = text[begin : begin + 2 * _SHORTEST], self._joined, -1
        for _ in range(_MOST_ALIKE):
            place = joined.find(first, place + 1)
            if place < 0 or "\0" in first:
                break
            rest = joined[place : joined.index("\0", place)]
            if text.startswith(rest, begin):
                return text[:begin] + MASK + text[begin + len(rest) :]
        return text


def _alike(secret: str, text: str, at: int) -> int:
    """How many characters of the secret stand there."""
    low, high = _KEY, min(len(secret), len(text) - at)
    while low < high:
        middle = (low + high + 1) // 2
        if text.startswith(secret[:middle], at):
            low = middle
        else:
            high = middle - 1
    return low


def _written(text: str) -> set[str]:
    """A secret as Python, JSON, an address, a log and a list of errors write it, and each line of it."""
    found = {text}
    if not text.isalnum() or not text.isascii():
        quoted = repr(text)[1:-1]
        found |= {quoted, repr(quoted)[1:-1], json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
        found |= {quote(text, safe=""), quote(text), quote_plus(text), unquote(text), visible(text), storable(text)}
        lines = [line.strip() for line in text.splitlines()]
        found.add(" ".join(text.split()))
        if len(lines) > 1:
            found |= {line for line in lines if len(line) >= 2 * _SHORTEST and not line.startswith("-----")}
    if any(each.isdigit() for each in text):
        # A list of errors shows # for each number.
        found |= {short for each in found if sum(map(str.isalpha, short := without_numbers(each))) >= _SHORTEST}
    return found
