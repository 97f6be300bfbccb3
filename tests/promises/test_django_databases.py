"""A tick in the tests of a Django project works in the databases of the tests, and never in the real ones."""

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness import Database, SQLiteDatabase, sqlite_only
from harness.database import PostgresDatabase
from harness.django_project import Project, settings_of

RUNNER_WITHOUT_DATABASES = """
from django.test.runner import DiscoverRunner


class Runner(DiscoverRunner):
    def setup_databases(self, **kwargs):
        return []

    def teardown_databases(self, *args, **kwargs):
        pass
"""

MIGRATE_BOTH = """
from django.core.management import call_command
for name in ("default", "legacy"):
    call_command("migrate", verbosity=0, database=name)
"""


@pytest.fixture
def beside(database: Database, tmp_path: Path) -> Iterator[Callable[..., Database]]:
    """Makes a database beside the test's own, empty or a copy."""
    made = []

    def make(name: str, template: str = "template0") -> Database:
        if isinstance(database, PostgresDatabase):
            database.forget_sessions()
            made.append(f"{database.database}_{name}")
            owner = database.access.role
            database.access.execute(f'CREATE DATABASE "{made[-1]}" OWNER "{owner}" TEMPLATE "{template}"')
            return PostgresDatabase(database.access, made[-1])
        (tmp_path / f"{name}.db").touch()
        return SQLiteDatabase(tmp_path / f"{name}.db")

    yield make
    if isinstance(database, PostgresDatabase):
        for name in made:
            database.access.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


class Shop:
    """The project with two real databases that hold something, and names for those of its tests."""

    def __init__(self, tmp_path: Path, database: Database, beside: Callable[..., Database]) -> None:
        self.project = Project(tmp_path, database)
        self.legacy, self.tests = beside("legacy"), [beside("t"), beside("t_legacy")]
        self.databases = [database, self.legacy]
        default, legacy = (
            settings_of(real, str(test.path) if isinstance(test, SQLiteDatabase) else test.url.rpartition("/")[2])
            for real, test in zip(self.databases, self.tests, strict=True)
        )
        real = settings_of(self.legacy)
        del real["NAME"]
        memory = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(tmp_path / "not made.db")}
        self.more = {"legacy": legacy, "real": {**real, "NAME": legacy["NAME"]}, "memory": memory}
        self.project.environment |= {"DATABASE": json.dumps(default), "MORE_DATABASES": json.dumps(self.more)}
        # Both in one process: its start takes longer than a migration.
        self.project.manage("shell", "-c", MIGRATE_BOTH)
        if isinstance(database, PostgresDatabase):
            # What a parallel runner copies from the database of the tests, which our role may not.
            for clone in ("t_1", "t_2", "t_legacy_1", "t_legacy_2"):
                beside(clone, database.database)
        for each in self.databases:
            each.execute("INSERT INTO shop_account (email, welcomed) VALUES (?, ?)", ["ada", False])

    def test(self, *words: str, **variables: str) -> str:
        before = self.content
        done = self.project.manage(
            "test", "--noinput", "--keepdb", *words, check=False, PYTHONWARNINGS="default", **variables
        )
        assert done.returncode == 0, done.stderr[-6000:]
        assert self.content == before
        return done.stdout

    @property
    def content(self) -> Any:
        """Of SQLite every byte; of PostgreSQL the rows that a tick or a handler could have changed."""
        found = []
        for each in self.databases:
            if isinstance(each, SQLiteDatabase):
                files = sorted(each.path.parent.glob(f"{each.path.name}*"))
                found.append([(file.name, hashlib.sha256(file.read_bytes()).hexdigest()) for file in files])
            else:
                found.append(each.query("SELECT id, email, welcomed FROM shop_account"))
        if isinstance(self.databases[0], PostgresDatabase):
            tables = ("job_runs", "job_ticks", "job_attempts", "job_hosts")
            found += [self.databases[0].query(f"SELECT * FROM {table}") for table in tables]
        return found


@pytest.fixture
def shop(tmp_path: Path, database: Database, beside: Callable[..., Database]) -> Shop:
    return Shop(tmp_path, database, beside)


def test_tick_in_a_test_of_django_changes_the_databases_of_the_test_and_not_the_real_ones(
    shop: Shop, database: Database
) -> None:
    # Named by the environment, too, as where the tests run on a host of the application.
    said = shop.test("shop.checks_databases.TickTests", JOBRUNNER_DATABASE_URL=database.url)
    (used,) = (line for line in said.splitlines() if line.startswith("tested on "))
    assert used.removeprefix("tested on ") not in (database.url, shop.more["legacy"]["NAME"])


def test_tick_in_a_parallel_test_runner_changes_the_clone_of_its_process(shop: Shop) -> None:
    test = "test_child_works_in_the_databases_of_the_test"
    names = (f"shop.checks_databases.{name}.{test}" for name in ("TickTests", "OtherTickTests"))
    said = shop.test(*names, "--parallel", "2")
    used = {line for line in said.splitlines() if line.startswith("tested on ")}
    assert len(used) == 2, used


def test_connection_that_a_handler_of_django_opens_itself_leads_to_a_database_of_the_test_or_is_refused(
    shop: Shop, database: Database, beside: Callable[..., Database]
) -> None:
    further = beside("further")
    further.execute("CREATE TABLE shop_account (welcomed BOOLEAN)")
    further.execute("INSERT INTO shop_account VALUES (?)", [False])
    own = "sqlite3" if isinstance(database, SQLiteDatabase) else "psycopg asyncpg"
    shop.test(
        "shop.checks_databases.LibraryTests",
        LIBRARIES=f"sqlalchemy {own}",
        REAL_URL=database.url,
        FURTHER_URL=further.url,
    )
    assert bool(further.value("SELECT welcomed FROM shop_account"))


@sqlite_only
def test_tick_in_a_test_of_django_is_refused_where_a_process_cannot_see_the_database(shop: Shop) -> None:
    shop.test("shop.checks_databases.MemoryTests")


@sqlite_only
def test_tick_in_a_test_of_django_is_refused_on_a_database_that_is_not_of_tests(shop: Shop) -> None:
    (shop.project.folder / "mysite" / "runner.py").write_text(RUNNER_WITHOUT_DATABASES)
    done = shop.project.manage(
        "test", "--testrunner", "mysite.runner.Runner", "shop.checks_databases.RealTests", check=False
    )
    assert done.returncode == 0, done.stderr[-6000:]
    assert shop.databases[0].query("SELECT welcomed FROM shop_account") == [{"welcomed": 0}]
