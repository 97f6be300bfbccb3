"""Debian's cron, libfaketime, pgbouncer, chromium and nginx: from the system, else unpacked into our own folder.

Unpacked, not installed: no daemon is started, and nothing on the machine changes.
"""

import fcntl
import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.waiting import stretched

CRON_PACKAGES = ("cron", "libfaketime")
STEP_SECONDS = 180
UNSHARE = ("unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child")


class NoCron(Exception):
    """A cron daemon cannot be run here; the message says why."""


class NoProgram(Exception):
    """A program cannot be had here; the message says which and why."""


@dataclass(frozen=True)
class CronPrograms:
    """What was found, and below which folder; a `faketime` of None: a minute takes a minute."""

    root: Path
    faketime: Path | None

    @property
    def cron(self) -> Path:
        return self.root / "usr/sbin/cron"

    @property
    def crontab(self) -> Path:
        return self.root / "usr/bin/crontab"

    @property
    def pam(self) -> Path:
        return self.root / "etc/pam.d/cron"

    @property
    def is_complete(self) -> bool:
        return self.cron.exists() and self.crontab.exists() and self.pam.exists()


@functools.cache
def find_programs() -> CronPrograms:
    """Raises NoCron, also where a daemon could not be put into a namespace of its own."""
    if os.geteuid() != 0:
        raise NoCron("not root")
    if not can_unshare():
        raise NoCron("no mount and pid namespaces here")
    installed = programs_below(Path("/"))
    if installed.is_complete and installed.faketime:
        return installed
    try:
        with one_at_a_time():
            unpacked = programs_below(unpack("cron", CRON_PACKAGES))
    except (OSError, subprocess.SubprocessError) as problem:
        if installed.is_complete:
            return installed
        raise NoCron(f"no cron here, and its package cannot be had: {problem}") from problem
    return unpacked


def programs_below(root: Path) -> CronPrograms:
    found = sorted((root / "usr/lib").glob("*/faketime/libfaketime.so.1"))
    return CronPrograms(root, found[0] if found else None)


def can_unshare() -> bool:
    try:
        return subprocess.run([*UNSHARE, "true"], capture_output=True).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


@contextmanager
def one_at_a_time(name: str = "cron") -> Iterator[None]:
    """The workers of a session need the packages once."""
    with open(f"{cache_folder(name)}.lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def cache_folder(name: str = "cron") -> Path:
    return Path(tempfile.gettempdir()) / f"jobrunner-{name}-{os.geteuid()}"


def unpack(name: str, packages: Sequence[str]) -> Path:
    place = cache_folder(name)
    if not place.exists():
        draft = Path(tempfile.mkdtemp(prefix=f"jobrunner-{name}-"))
        try:
            draft.chmod(0o755)  # programs that step down from root go on reading their libraries
            download(draft, packages)
            for package in draft.glob("*.deb"):
                run("dpkg-deb", "-x", str(package), str(draft), cwd=draft)
                package.unlink()
            draft.chmod(0o755)  # the packages bring a mode of their own
            draft.rename(place)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    if place.stat().st_uid != os.geteuid() or place.stat().st_mode & 0o022:
        raise OSError(f"{place} is somebody else's")
    return place


def download(folder: Path, packages: Sequence[str]) -> None:
    try:
        run("apt-get", "download", *packages, cwd=folder)
    except subprocess.CalledProcessError:  # the lists of packages are missing or old
        update()
        run("apt-get", "download", *packages, cwd=folder)


def update() -> None:
    with one_at_a_time("lists"):
        run("apt-get", "update", cwd=Path("/"))


def with_dependencies(package: str) -> list[str]:
    """The package, and what it needs that is not installed here."""
    ask = ("apt-get", "install", "--simulate", "--no-install-recommends", package)
    try:
        said = run(*ask, cwd=Path("/"))
    except subprocess.CalledProcessError:
        update()
        said = run(*ask, cwd=Path("/"))
    return [line.split()[1] for line in said.splitlines() if line.startswith("Inst ")]


def run(*command: str, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, check=True, capture_output=True, timeout=stretched(STEP_SECONDS))
    return done.stdout.decode("utf-8", "replace")


@functools.cache
def find(name: str, program: str, *installed: str) -> tuple[Path, Mapping[str, str]]:
    """A program, and the environment that it needs. Raises NoProgram.

    ``name`` is that of its package, ``program`` its place there; ``installed`` are the names that it may have on PATH.
    """
    for each in installed:
        if place := shutil.which(each, path=f"{os.environ.get('PATH', '')}:/usr/sbin"):
            return Path(place), {}
    try:
        with one_at_a_time(name):
            root = cache_folder(name)
            root = unpack(name, [] if root.exists() else with_dependencies(name))
    except (OSError, subprocess.SubprocessError) as problem:
        raise NoProgram(f"no {name} here, and its package cannot be had: {problem}") from problem
    libraries = sorted({str(path.parent) for path in (root / "usr/lib").rglob("*.so*")})
    fonts = {"FONTCONFIG_SYSROOT": str(root)} if (root / "etc/fonts").exists() else {}
    return root / program, {"LD_LIBRARY_PATH": ":".join(libraries), **fonts}
