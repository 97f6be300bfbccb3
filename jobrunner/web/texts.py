"""What is hidden in every text of every page, whatever it is about."""

from __future__ import annotations

import re

MASK = "•••"
_IN_URL = re.compile(r"(://[^/\s:@]*:)[^/\s@]+@")


def without_passwords(text: str) -> str:
    """The text without the passwords of its URLs."""
    return _IN_URL.sub(rf"\1{MASK}@", text)
