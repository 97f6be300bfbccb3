"""Hides what looks like a secret in a text, whatever the text is about: nothing else need be known of it."""

from __future__ import annotations

import re
from collections.abc import Callable

from jobrunner.masking import MASK
from jobrunner.masking.names import is_secret

# Whatever stands behind the user up to the last @: a password may have a / and an @. A port with a path has no @.
_PASSWORD_IN_URL = re.compile(r"(://[^/\s:@\"'<>]*:)((?!\d{1,5}[/?#][^@\s]*[?&#])(?:(?!://)[^\s\"'<>])+)(?=@)")
# Of a web address also the user: https://TOKEN@host.
_USER_IN_URL = re.compile(r"(?i)(\bhttps?://)[^/\s:@\"'<>?#]+(?=@)")
_LONG_USER = re.compile(rf"(?i)(\bhttps?://)[^/\s:@\"'<>]{{16,}}(?=:{MASK}@)")
_SECRET_PATH = re.compile(r"(?i)(hooks\.slack\.com/(?:services|workflows)/|discord(?:app)?\.com/api/webhooks/)[\w/-]+")
_QUOTED = r"(?P<quote>\\{0,7}[\"'])(?P<quoted>(?:(?!(?P=quote))\\.|(?!(?P=quote))[^\n]){0,8192})"
_NAME = re.compile(
    r"(?<![\w.-])(?P<name>[\w.-]{2,64}+)(?P<close>\\{0,7}[\"'])?(?P<sign>\s{0,2}(?:=>|[:=])\s{0,2})(?!//)"
)
_VALUE = re.compile(rf"[bru]{{0,2}}{_QUOTED}|(?P<plain>(?:(?i:bearer|basic|digest|token)\s+)?[^\s\"'&<>]+)")
_FLAG = re.compile(r"(?<!\w)--(?P<name>[A-Za-z][\w-]{1,63})\s+(?P<plain>[^\s-][^\s\"']*)")
_COOKIES = re.compile(r"(?im)\b((?:set-)?cookie:\s*)\S[^\n]*")
_SCHEME = re.compile(r"(?i)\b(bearer|basic)(\s+)(?=[a-z._~+/-]*[\d=+/])[\w.~+/=-]{8,}")
_PEM = re.compile(
    r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----).*?(?:-----END [A-Z0-9 ]{0,40}-----|\Z)", re.DOTALL
)
_TOKENS = re.compile(
    r"\beyJ[\w-]{8,}(?:\.[\w-]*){0,4}"
    r"|\b(?:gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{10,}|A[KS]IA[0-9A-Z]{12,}"
    r"|[srp]k_(?:live|test)_\w{8,}|sk-[\w-]{20,}|AIza[\w-]{30,}|npm_\w{30,}|pypi-[\w-]{30,}|SG\.[\w-]{16,}\.[\w-]{16,})"
)
_CODE = re.compile(r"(?:self|cls|os|settings|config|env|environ|request|args|kwargs|payload|ctx)\b[.\[(]|\w+\(")
_SHORTEST = 4
HINTS = (
    *("pass", "pwd", "secret", "token", "cred", "auth", "bearer", "basic", "session", "key", "cookie", "jwt", "otp"),
    *("cvv", "cvc", "ssn", "dsn", "mfa", "pat"),
)
"""A name of a secret has one of these in it."""
_HINT = re.compile("|".join(HINTS))
_NO_VALUES = frozenset({"none", "null", "true", "false", "is", "are", "and", "or", "was", "must", "not", "to", "with"})


def without_secrets(text: str) -> str:
    """The text without passwords of URLs, values of names such as ``password=``, private keys and known tokens."""
    return _walk(text, lambda _: None)


def secrets_in(text: str) -> list[str]:
    """The secrets that ``without_secrets`` hides and that are worth looking for elsewhere."""
    found: list[str] = []
    _walk(text, found.append)
    return found


def _walk(text: str, tell: Callable[[str], None]) -> str:
    if "-----BEGIN" in text:
        text = _PEM.sub(rf"\1{MASK}", text)
    if "://" in text:
        text = _PASSWORD_IN_URL.sub(lambda match: _told(match[1], match[2], tell), text)
        text = _LONG_USER.sub(rf"\1{MASK}", text)
        text = _USER_IN_URL.sub(lambda match: match[0] if MASK in match[0] else match[1] + MASK, text)
        text = _SECRET_PATH.sub(rf"\1{MASK}", text)
    # Most texts of a page have none of these, and are looked at no further.
    if _HINT.search(text.lower()):
        text = _COOKIES.sub(rf"\1{MASK}", text)
        text = _without_named(text, tell)
        text = _SCHEME.sub(rf"\1\2{MASK}", text)
    if "--" in text:
        text = _FLAG.sub(lambda match: _flag(match, tell), text)
    if len(text) >= 12:
        text = _TOKENS.sub(MASK, text)
    return text


def _told(before: str, secret: str, tell: Callable[[str], None]) -> str:
    tell(secret)
    return before + MASK


def _without_named(text: str, tell: Callable[[str], None]) -> str:
    parts, done = [], 0
    for name in _NAME.finditer(text):
        if name.start() < done or not is_secret(name["name"]):
            continue
        if (value := _VALUE.match(text, name.end())) is not None and (secret := _secret_of(name, value)):
            begin = value.start("quoted" if value["plain"] is None else "plain")
            tell(secret)
            parts += [text[done:begin], MASK]
            done = begin + len(secret)
    return "".join([*parts, text[done:]]) if parts else text


def _secret_of(name: re.Match[str], value: re.Match[str]) -> str | None:
    """The part of the value that is a secret. None: it is none, but a word of a sentence or of a program."""
    if value["plain"] is None:
        return value["quoted"] if value["quoted"] != MASK else None
    found = value["plain"].rstrip(",;)]}")
    if not found or found.lower() in _NO_VALUES or _CODE.match(found) or found in (name["name"], MASK):
        return None
    is_pair = name["close"] is not None or "=" in name["sign"] or name["name"].lower().endswith("authorization")
    # Not in a sentence as "wrong password: try again".
    return found if is_pair or (len(found) >= _SHORTEST and any(map(str.isdigit, found))) else None


def _flag(match: re.Match[str], tell: Callable[[str], None]) -> str:
    value = match["plain"]
    if not is_secret(match["name"]) or value.lower() in _NO_VALUES or value == MASK:
        return match[0]
    return _told(match[0][: -len(value)], value, tell)
