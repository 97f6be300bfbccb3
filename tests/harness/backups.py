"""Backups of an SQLite file, and files that are taken for one and cannot be restored."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path


def back_up(source: Path, backup: Path) -> Path:
    """Copy an SQLite file while it is in use."""
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(backup)) as new:
        old.backup(new)
    return backup


def damaged(path: Path, file: Path) -> Path:
    data = bytearray(file.read_bytes())
    data[4096 * 3 : 4096 * 40] = b"\x17" * 4096 * 37
    path.write_bytes(data)
    return path


def of_another_application(path: Path, file: Path) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE orders (id)")
    return path


def newer(path: Path, file: Path) -> Path:
    with closing(sqlite3.connect(back_up(file, path), isolation_level=None)) as connection:
        connection.execute("UPDATE job_schema_version SET version_num = '9999'")
    return path


def text(path: Path, file: Path) -> Path:
    path.write_text("-- a dump, and no file\n" * 50)
    return path


def without_log(path: Path, file: Path) -> Path:
    with closing(sqlite3.connect(back_up(file, path))) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    return path


def of_a_killed_writer(path: Path, file: Path) -> Path:
    """Half of a transaction is in the file, and what undoes it in its journal."""
    left, journal = Path(f"{path}.left"), Path(f"{path}-journal")
    with closing(sqlite3.connect(without_log(path, file), isolation_level=None)) as writer:
        writer.execute("PRAGMA cache_size = 1")
        writer.execute("BEGIN")
        writer.execute("CREATE TABLE more AS SELECT zeroblob(100000) AS it")
        shutil.copy(path, left)
        shutil.copy(journal, f"{left}-journal")
    os.replace(left, path)
    os.replace(f"{left}-journal", journal)
    return path


def beside_a_folder(path: Path, file: Path) -> Path:
    Path(f"{back_up(file, path)}-wal").mkdir()
    return path


REFUSED: dict[str, tuple[Callable[[Path, Path], Path], int, str]] = {
    "damaged": (damaged, 2, "damaged"),
    "of another application": (of_another_application, 2, "is no database of jobrunner"),
    "newer": (newer, 78, "newer schema"),
    "text": (text, 2, "not an SQLite database"),
    "missing": (lambda path, _: path, 2, "no such file"),
    "a folder": (lambda path, _: path.parent, 2, "it is a folder"),
    "of a writer that was killed": (of_a_killed_writer, 2, "take another backup"),
    "beside a folder in the place of its log": (beside_a_folder, 2, "cannot be opened"),
    "the database itself": (lambda _, file: file, 2, "is the database itself"),
}
"""How it is made beside the file of the database, the exit status of its refusal, and what is said."""
