"""A file that is no database, or that may not be used: one line within seconds, exit 69."""

import os
import subprocess
from contextlib import closing
from ctypes import CDLL
from pathlib import Path

import pytest

from harness import Commands, SQLiteDatabase, sqlite_only
from harness.commands import COMMAND, Completed
from harness.unreachable import COMMANDS, SECONDS, one_line, refused_by_each, refused_in_time
from harness.waiting import stretched


@sqlite_only
@pytest.mark.parametrize("content", [b"this is no database\n" * 500, b"SQLite format 3\0" + b"\x5a" * 8000], ids=len)
def test_a_file_that_is_not_sqlite(jobrunner: Commands, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "other.db"
    file.write_bytes(content)
    assert all("not an SQLite database" in line for line in refused_by_each(jobrunner, f"sqlite:///{file}"))
    assert file.read_bytes() == content


@sqlite_only
def test_a_folder_or_half_of_a_database_in_the_place_of_a_file(
    jobrunner: Commands, database: SQLiteDatabase, tmp_path: Path
) -> None:
    refused_by_each(jobrunner, f"sqlite:///{tmp_path}")
    with closing(database.connect()) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = database.path.read_bytes()
    database.path.write_bytes(data[: len(data) // 2])
    for _ in range(3):
        refused_in_time(jobrunner, database.url, "tick")


@sqlite_only
def test_a_file_that_is_not_there_is_not_created(jobrunner: Commands, tmp_path: Path) -> None:
    file = tmp_path / "none" / "none.db"
    lines = refused_by_each(jobrunner, f"sqlite:///{file}", COMMANDS[:3])
    assert all("jobrunner migrate" in line for line in lines)
    assert not file.parent.exists()


def obey_permissions() -> None:
    """Root reads and writes whatever it likes; without these capabilities the mode of a file holds for it, too."""
    if os.geteuid() == 0:
        libc, drop = CDLL(None), 24
        for capability in (1, 2):
            libc.prctl(drop, capability, 0, 0, 0)


@pytest.mark.long(sample=6)
@sqlite_only
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("what", ["folder", "closed folder", "file", "unreadable file"])
def test_a_file_or_folder_without_permission(
    jobrunner: Commands, database: SQLiteDatabase, tmp_path: Path, words: list[str], what: str
) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    file = folder / "jobrunner.db"
    file.write_bytes(database.path.read_bytes())
    file.chmod({"file": 0o400, "unreadable file": 0}.get(what, 0o600))
    folder.chmod({"folder": 0o500, "closed folder": 0}.get(what, 0o700))
    log = jobrunner.home / "log"
    done = subprocess.run(
        [COMMAND, *words],
        env=jobrunner.environment({"JOBRUNNER_DATABASE_URL": f"sqlite:///{file}", "JOBRUNNER_LOG": str(log)}),
        capture_output=True,
        text=True,
        timeout=stretched(SECONDS),
        preexec_fn=obey_permissions,
    )
    folder.chmod(0o700)
    if what == "file" and words in (["status"], ["migrate"]):
        assert (done.returncode, done.stderr) == (0, "")  # they only read
    else:
        one_line(Completed(done.args, done.returncode, done.stdout, done.stderr), log)


@sqlite_only
def test_a_database_that_cannot_be_created(jobrunner: Commands, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (f"{tmp_path}/file/new.db", "/proc/jobrunner/new.db", f"{tmp_path}/{'x' * 300}/new.db"):
        refused_in_time(jobrunner, f"sqlite:///{place}", "migrate")
