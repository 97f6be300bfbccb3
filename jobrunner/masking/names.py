"""Tells by a name whether its value is a secret, as ``PGPASSWORD`` or ``accessToken``."""

from __future__ import annotations

import re
from typing import Any

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# These are found anywhere in a name, also where the words of it stand together.
_PARTS = re.compile(
    r"passw|passphrase|passcode|secret(?!ar)|token(?!i[sz])|credential|authorization|bearer|sessionid"
    r"|(?:api|private|access|signing|ssh|encryption|encrypt|auth|master|deploy|hmac|host|service|account)key"
)
# These are words of their own only: a compass and an author are no secrets.
_WORDS = frozenset(
    {
        *("pass", "pwd", "dbpass", "dbpwd", "auth", "cookie", "cookies", "creds", "jwt", "otp", "totp", "cvv", "cvv2"),
        *("cvc", "ssn", "dsn", "pgpass", "htpasswd", "mfa", "pat"),
    }
)
_ENDS_OF_OTHERS = frozenset(
    {
        *("type", "count", "counts", "left", "limit", "limits", "length", "size", "expires", "expiry", "ttl", "at"),
        *("seconds", "policy", "enabled", "required", "used", "total", "budget", "file", "path", "stdin", "endpoint"),
    }
)
"""``token_type`` and ``password_changed_at`` tell about a secret, and are none."""
_WORKING_FOLDERS = ("PWD", "OLDPWD")


def is_secret(name: str, value: Any = None) -> bool:
    """Whether the value of this name is a secret. A plural with a number is a count, as ``max_tokens``."""
    if name in _WORKING_FOLDERS or len(name) > 200:
        return False
    words = [word for word in re.split(r"[\W_]+", _CAMEL.sub("_", name).lower()) if word]
    if not words:
        return False
    found = not _WORDS.isdisjoint(words) or _PARTS.search("".join(words)) is not None
    if not found or words[-1] in _ENDS_OF_OTHERS:
        return False
    return not (is_number(value) and any(word.endswith("s") and _PARTS.search(word) for word in words))


def is_number(value: Any) -> bool:
    """Whether it is a number. True and False are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)
