"""The people of ``jobrunner web --user-file``: one line for each, with a name, the hash of a password and a role."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jobrunner.errors import ConfigurationError, UsageError
from jobrunner.settings import files
from jobrunner.settings.whole_file import draft_of, replace_file, synchronize_folder
from jobrunner.web.permissions import EVERYTHING, READ_ONLY, Visitor

ROLES = {"all": EVERYTHING, "read-only": READ_ONLY}
SHORTEST_PASSWORD = 8
LONGEST_PASSWORD = 1000
_LARGEST_BYTES = 1024 * 1024
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}", re.ASCII)
# The same cost for all, so that the time of an answer does not tell one name from another: 16 MB, and some tenths of
# a second.
_COST = "scrypt$16384$8$5"
_LETTERS = "[A-Za-z0-9_-]"
_LINE = re.compile(
    rf"(?P<name>{_NAME.pattern}):{re.escape(_COST)}"
    rf"\$(?P<salt>{_LETTERS}{{22}})\$(?P<hash>{_LETTERS}{{43}}):(?P<role>[a-z-]+)"
)


@dataclass(frozen=True)
class Person:
    """One line of the file. Who has signed in with it stays so while the file has the same line."""

    visitor: Visitor
    salt: bytes
    hashed: bytes


class People:
    """Those who may sign in, by their names."""

    def __init__(self, people: Mapping[str, Person]) -> None:
        self._people = people
        self._nobody = Person(Visitor("", frozenset()), secrets.token_bytes(16), secrets.token_bytes(32))

    def find(self, name: str, password: str) -> Person | None:
        """Who this is. None: the name or the password is wrong; an unknown name takes as long as a known one."""
        person = self._people.get(name, self._nobody)
        is_right = hmac.compare_digest(_hashed(password, person.salt), person.hashed)
        return person if is_right and person is not self._nobody else None

    def knows(self, name: str) -> bool:
        """Whether somebody has this name."""
        return name in self._people

    def has(self, person: Person) -> bool:
        """Whether this person is still among them, with the same password and role."""
        return self._people.get(person.visitor.name) == person


class UserFile:
    """The people of a file as it is now. Raises ConfigurationError if it cannot be used at the start."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # One assignment for both: requests are answered by several threads.
        self._known = _version(path), read(path)

    def people(self) -> People:
        """Those who are in it now. Raises ConfigurationError while it cannot be used: then nobody is let in."""
        version, people = self._known
        # Before it is read: if it changes meanwhile, the next request reads it again.
        now = _version(self._path)
        if now != version or now is None:
            people = read(self._path)
            self._known = now, people
        return people


def _version(path: Path) -> tuple[int, ...] | None:
    """What changes with the file, by one call of the system. None: there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    # Also with its owner and mode, by the time of the last change of the inode.
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def read(path: Path) -> People:
    """The people of the file. Raises ConfigurationError with the reason and what to do."""
    people: dict[str, Person] = {}
    for number, line in enumerate(_text_of(path).splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        found = _LINE.fullmatch(line)
        # The text of a line stays unsaid: it may be a password.
        if found is None or found["role"] not in ROLES:
            raise ConfigurationError(
                f"user file {path}: line {number} is not NAME:{_COST}$SALT$HASH:ROLE; make it with:"
                f" jobrunner users add NAME --user-file {path}"
            )
        if found["name"] in people:
            raise ConfigurationError(f"user file {path}: line {number} has a name that an earlier line has; delete one")
        visitor = Visitor(found["name"], ROLES[found["role"]])
        people[found["name"]] = Person(visitor, _bytes(found["salt"]), _bytes(found["hash"]))
    if not people:
        raise ConfigurationError(
            f"user file {path} has no users; add one with: jobrunner users add NAME --user-file {path}"
        )
    return People(people)


def add(path: Path, name: str, password: str, role: str) -> None:
    """Write the entry of this name, in place of the one that is there. A new file can be read by its owner only."""
    if not _NAME.fullmatch(name):
        raise UsageError("a name has letters, digits and _ . @ -, at most 64, and begins with a letter, a digit or _")
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise UsageError(f"a password has from {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters")
    salt = secrets.token_bytes(16)
    entry = f"{name}:{_COST}${_letters(salt)}${_letters(_hashed(password, salt))}:{role}"
    # The target of a symbolic link is written, and the link stays.
    path = path.resolve()
    old = _text_of(path).splitlines() if path.exists() else []
    kept = [line for line in old if line.partition(":")[0] != name]
    _replace(path, "".join(f"{line}\n" for line in (*kept, entry)))


def _text_of(path: Path) -> str:
    def check(found: os.stat_result) -> None:
        files.check_owner(found, f"user file {path}")
        mode = stat.S_IMODE(found.st_mode)
        if mode & stat.S_IROTH:
            raise ConfigurationError(
                f"user file {path} may be read by others (mode {mode:04o}), who could try passwords; chmod 600 it"
            )

    try:
        data = files.read_file(path, _LARGEST_BYTES, check)
    except UsageError as error:
        raise ConfigurationError(f"user file {path}: {error}") from None
    if len(data) > _LARGEST_BYTES:
        raise ConfigurationError(f"user file {path} has more than {_LARGEST_BYTES} bytes")
    return data.decode("utf-8", "replace")


def _replace(path: Path, text: str) -> None:
    try:
        replace_file(path, text.encode(), draft_of(path))
        synchronize_folder(path.parent)
    except OSError as error:
        raise ConfigurationError(f"cannot write the user file {path}: {error.strerror}") from None


def _hashed(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode("utf-8", "replace"), salt=salt, n=2**14, r=8, p=5, dklen=32)


def _letters(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(letters: str) -> bytes:
    return urlsafe_b64decode(letters + "=" * (-len(letters) % 4))
