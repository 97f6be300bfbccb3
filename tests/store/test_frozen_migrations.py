"""A migration that was released is never changed, and none depends on code that changes."""

import ast
import hashlib
from pathlib import Path

import pytest

from jobrunner.store.sql.versions import OLDEST_CODE_OF
from jobrunner.store.upkeep.revisions import MIGRATIONS

FROZEN = {
    "0001_core.postgresql.sql": "96a4627dabd3f038ca76ab3b5f47abb13f92fd0477306a175df9da16b0e5d4b8",
    "0001_core.py": "4fb16cbf82f44879b789b19904436607e762a9874040caad9236790196d33540",
    "0001_core.sqlite.sql": "b66c0d9b53e2006cbfddbe5bf6c6c1ecdd2a8490fcc87be852f47e1c9bb57213",
}
"""The SHA-256 of each file. A released one is never changed: databases were made by it. Make another migration."""
FOLDER = MIGRATIONS / "versions"


def test_each_file_of_a_migration_is_the_one_that_was_released() -> None:
    files = [path for path in FOLDER.iterdir() if path.is_file()]
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    assert {name: found[name] for name in FROZEN} == FROZEN
    # A new one is frozen at its release.
    assert all(int(name[:4]) == max(OLDEST_CODE_OF) for name in found.keys() - FROZEN.keys())


@pytest.mark.parametrize("migration", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_migration_imports_nothing_of_ours(migration: Path) -> None:
    imported = set()
    for node in ast.walk(ast.parse(migration.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            imported.add((node.module or ".").partition(".")[0])
        elif isinstance(node, ast.Import):
            imported |= {each.name.partition(".")[0] for each in node.names}
    assert imported <= {"alembic", "collections", "pathlib"}
