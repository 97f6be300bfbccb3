"""A second migration, as CONTRIBUTING says it is written: in a copy of the code, on old and new databases."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import Commands, Database, postgresql_only
from harness.installation import ROOT

CHANGES = {
    "jobrunner/store/schema/runs.py": (
        '    Column("gate", ',
        '    Column("held_until", UtcTime),\n    Column("gate", ',
    ),
    "jobrunner/store/sql/versions.py": ("SCHEMA_REVISION = 1\n", "SCHEMA_REVISION = 2\n"),
    # The views are made of today's conditions, and those of a new database, too.
    "jobrunner/store/sql/conditions.py": (
        '    "due": "run_at <= {now}",\n',
        '    "due": "run_at <= {now}",\n    "free": "(held_until IS NULL OR held_until <= {now})",\n',
    ),
}
TYPES = {"postgresql": "TIMESTAMPTZ", "sqlite": "INTEGER"}

NextVersion = Callable[..., str]


@pytest.fixture
def next_version(tmp_path: Path, database: Database, jobrunner: Commands) -> NextVersion:
    """Runs the command of a version that has a migration more, made from the template."""
    copy = tmp_path / "copy"
    for name in ("jobrunner", "alembic"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "alembic.ini", copy)
    for file, (old, new) in CHANGES.items():
        text = (copy / file).read_text("utf-8")
        assert text.count(old) == 1, file
        (copy / file).write_text(text.replace(old, new), "utf-8")
    environment = {**jobrunner.environment(), "PYTHONPATH": str(copy), "PATH": os.environ["PATH"]}

    def python(*words: str) -> str:
        command = [sys.executable, "-P", "-m", *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    python("alembic", "-c", str(copy / "alembic.ini"), "revision", "--rev-id", "0002", "-m", "Hold runs")
    (migration,) = copy.rglob("0002_hold_runs.py")
    text = migration.read_text("utf-8")
    for type_ in TYPES.values():
        text = text.replace("ADD COLUMN ...", f"ADD COLUMN held_until {type_}", 1)
    migration.write_text(text.replace("DROP COLUMN ...", "DROP COLUMN held_until"), "utf-8")
    return lambda *words: python("jobrunner", *words)


def test_second_migration_changes_a_condition_of_the_claim_on_an_old_and_on_a_new_database(
    database: Database, jobrunner: Commands, next_version: NextVersion
) -> None:
    run_id = jobrunner.enqueue("echo", {})
    assert next_version("migrate").endswith(": migrated\n")
    assert database.query("SELECT id FROM job_claimable") == [{"id": run_id}]
    database.execute("UPDATE job_runs SET held_until = ?", [database.now().replace(year=2100)])
    assert database.query("SELECT id FROM job_claimable") == []
    assert next_version("migrate").endswith(": up to date\n")
    # The older program finds a schema that it does not know, and leaves it as it is.
    refused = jobrunner("migrate", check=False)
    assert (refused.returncode, database.value("SELECT version_num FROM job_schema_version")) == (78, "0002")
    next_version("downgrade", "0", "--delete-data")
    assert next_version("migrate").endswith(": migrated\n")
    assert database.query("SELECT held_until FROM job_runs") == []


@postgresql_only
def test_rights_on_a_view_outlive_a_migration_that_makes_the_view_again(
    database: Database, next_version: NextVersion
) -> None:
    database.execute("GRANT SELECT ON job_dead TO pg_monitor WITH GRANT OPTION")
    database.execute("GRANT SELECT ON job_claimable TO PUBLIC")
    rights = "SELECT relname AS name, relacl::text AS rights FROM pg_class WHERE relkind = 'v' ORDER BY relname"
    before = database.query(rights)
    next_version("migrate")
    assert database.query(rights) == before
