"""Writes the one line that stays in the crontab, and finds it again. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from jobrunner.crontab.parse import Variable, parse
from jobrunner.errors import ConfigurationError

_PATH = "/usr/local/bin:/usr/bin:/bin"
_MOST_CHARACTERS = 990  # Debian's cron cuts a command at 999


def tick_line(words: Sequence[str], identity: str, *, sets_path: bool) -> str:
    """The line of one installation, with a mark that names the installation.

    The mark is a shell comment at the end, so that it stays with a line that is moved. ``sets_path`` sets PATH in the
    line: cron's PATH lacks /usr/local/bin, and a variable of the crontab would change other lines, too.
    Raises ConfigurationError if cron would read the line differently.
    """
    given = f"PATH={_PATH} " if sets_path else ""
    line = f"* * * * * {given}{shlex.join(words)}{_mark(identity)}".replace("%", "\\%")
    if not line.isprintable() or "\\" in line.replace("\\%", "") or "\\\\" in line:
        raise ConfigurationError("a path with a backslash or a control character cannot stand in a crontab; rename it")
    if len(line.encode()) > _MOST_CHARACTERS:
        raise ConfigurationError(
            f"the line is longer than the {_MOST_CHARACTERS} bytes that cron reads; use shorter paths"
        )
    return line


def with_line(crontab: bytes, line: str, identity: str) -> bytes:
    """The crontab with this line in the place of the installation's old line, else at the end.

    It stands before a ``MAILTO=""``, which would suppress its mail. All other lines stay unchanged.
    """
    lines = crontab.splitlines(keepends=True)
    others = [each for each in lines if not _is_ours(each, identity)]
    old = next((place for place, each in enumerate(lines) if _is_ours(each, identity)), len(others))
    place = _where_mail_is_sent(others, old)
    if place == len(others) and others and not others[-1].endswith(b"\n"):
        others[-1] += b"\n"
    return b"".join([*others[:place], line.encode() + b"\n", *others[place:]])


def _where_mail_is_sent(lines: Sequence[bytes], place: int) -> int:
    """This place, or that of a ``MAILTO=""`` above it: under cron a mail is the only alarm of a tick."""
    silent_from = None
    for number, raw in enumerate(lines[:place]):
        line = parse(number, raw.decode("latin-1").rstrip("\r\n"), has_user=False)
        if isinstance(line, Variable) and line.name == "MAILTO":
            is_silent = not line.value.strip()
            silent_from = (number if silent_from is None else silent_from) if is_silent else None
    return place if silent_from is None else silent_from


def without_line(crontab: bytes, identity: str) -> bytes:
    """The crontab without this installation's line."""
    return b"".join(each for each in crontab.splitlines(keepends=True) if not _is_ours(each, identity))


def _mark(identity: str) -> str:
    return f" # jobrunner:{identity}"


def _is_ours(line: bytes, identity: str) -> bool:
    mark = _mark(identity).replace("%", "\\%").encode()
    return line.rstrip().endswith(mark) and not line.lstrip().startswith(b"#")
