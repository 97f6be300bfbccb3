"""What an import must know about this host: homes, cron's time zone, the form of a file; and the program crontab."""

from __future__ import annotations

import fcntl
import os
import pwd
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from jobrunner.crontab.import_records import Host
from jobrunner.crontab.parse import Entry, read
from jobrunner.errors import BadSchedule, JobrunnerError, UsageError
from jobrunner.schedules.recurrence import Recurrence
from jobrunner.text import one_line

_EVERYWHERE = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# The message of Debian, cronie and macOS; then that of BusyBox.
_NONE_YET = re.compile(rb"no crontab for |can't open '[^']*': No such file", re.IGNORECASE)
_TIMEOUT_SECONDS = 60


def this_host(user: str | None, timezone: str | None) -> Host:
    """The host as a tick of that user sees it. Raises UsageError for an unknown user, BadSchedule for a zone."""
    try:
        found = pwd.getpwuid(os.getuid()) if user is None else pwd.getpwnam(user)
    except (KeyError, ValueError):
        raise UsageError(f"this host has no user {user or os.getuid()}; name another with --user") from None
    zone = timezone or crons_timezone()
    Recurrence.parse("@daily", zone)
    return Host(found.pw_name, found.pw_dir, zone, os.path.isdir)


def crons_timezone() -> str:
    """The name of the system's time zone, which cron uses; UTC if it has none."""
    _, _, name = os.path.realpath("/etc/localtime").partition("/zoneinfo/")
    try:
        named = name or Path("/etc/timezone").read_text(encoding="ascii").strip()
        return Recurrence("@daily", named.removeprefix("posix/")).timezone
    except (OSError, ValueError, BadSchedule):
        if os.path.exists("/etc/localtime"):
            raise UsageError(
                "the system's time zone has no name; give it with --timezone, e.g. Europe/Berlin"
            ) from None
        return "UTC"


def has_users(path: Path | None, data: bytes) -> bool:
    """Whether each line names a user: known from the path of the file, else only if no other reading is possible."""
    place = "" if path is None else os.path.abspath(path)
    if place == "/etc/crontab" or place.startswith("/etc/cron.d/"):
        return True
    lines = read(data, has_user=False).lines
    firsts = [line.command.split(maxsplit=1) for line in lines if isinstance(line, Entry)]
    return bool(firsts) and all(len(words) > 1 and _can_only_be_user(*words) for words in firsts)


def _can_only_be_user(name: str, command: str) -> bool:
    # mail and backup are users on every Debian, but may also be programs.
    if not _is_user(name) or shutil.which(name, path=_EVERYWHERE):
        return False
    return name == "root" or bool(shutil.which(command.split(maxsplit=1)[0], path=_EVERYWHERE))


def _is_user(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except (KeyError, ValueError):
        return False
    return True


def change_crontab(change: Callable[[bytes], bytes]) -> bool:
    """Change this user's crontab; False if there was nothing to change.

    Raises JobrunnerError if it cannot be read or written; then the old one stays.
    """
    try:
        folder = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        raise JobrunnerError(f"this host has no user {os.getuid()}, and so no crontab of that user") from None
    home = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # Without this lock, one of two installs at the same time could undo the other.
        fcntl.flock(home, fcntl.LOCK_EX)
        old = read_crontab()
        new = change(old)
        if new == old:
            return False
        done = _crontab("-", text=new)
        if done.returncode:
            raise JobrunnerError(f"the crontab stays as it was; crontab says: {_message(done)}")
        return True
    finally:
        os.close(home)


def read_crontab() -> bytes:
    """This user's crontab. Raises JobrunnerError if it cannot be read."""
    done = _crontab("-l")
    if done.returncode == 0:
        return done.stdout
    if _NONE_YET.search(done.stderr):
        return b""
    # The reason is unknown, so writing now could delete lines.
    raise JobrunnerError(f"the crontab cannot be read, so nothing was written; crontab -l says: {_message(done)}")


def _crontab(argument: str, text: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            ["crontab", argument],
            input=b"" if text is None else text,
            capture_output=True,
            env={**os.environ, "LC_ALL": "C"},
            timeout=_TIMEOUT_SECONDS,
        )
    except FileNotFoundError:
        raise JobrunnerError(
            "there is no program crontab here; install cron, or print the line: jobrunner crontab line"
        ) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise JobrunnerError(f"the program crontab does not work: {error}") from None


def _message(done: subprocess.CompletedProcess[bytes]) -> str:
    return one_line(done.stderr.decode("utf-8", "replace")) or f"nothing, with exit status {done.returncode}"
