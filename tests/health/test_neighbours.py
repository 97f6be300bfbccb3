"""Other tools on the same database leave our tables alone: Alembic, Flask-Migrate and Django, each the real one."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import MetaData, create_engine

from alembic import command
from harness import Commands, Database, pages, postgresql_only
from harness.connections import sqlalchemy_url
from harness.schemas import objects, schema
from jobrunner.alembic import include_name

FLASK = """
import os, sys
import flask_migrate
from flask import Flask
from flask_migrate import Migrate
from flask_sqlalchemy import SQLAlchemy

app = Flask("shop")
app.config["SQLALCHEMY_DATABASE_URI"] = sys.argv[1]
db = SQLAlchemy(app)

class Order(db.Model):
    id = db.Column(db.Integer, primary_key=True)

{migrate}

with app.app_context():
    flask_migrate.init()
    flask_migrate.migrate()
    flask_migrate.upgrade()
"""
DJANGO_MODEL = """
from django.db import models

class Order(models.Model):
    number = models.IntegerField()
"""
DJANGO = """
import io, json, os, sys
import django
from django.conf import settings
from django.core.management import call_command

os.makedirs("shop")
for name, text in {"__init__": "", "models": sys.argv[2]}.items():
    with open(f"shop/{name}.py", "w") as file:
        file.write(text)
sys.path.insert(0, os.getcwd())
settings.configure(
    DATABASES={"default": json.loads(sys.argv[1])},
    INSTALLED_APPS=["shop"],
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
)
django.setup()
said = {}
for words in ("makemigrations shop", "migrate", "makemigrations --check", "flush --no-input", "inspectdb"):
    output = io.StringIO()
    call_command(*words.split(), stdout=output)
    said[words] = output.getvalue()
print(json.dumps(said))
"""
ENV = """
from alembic import context
from sqlalchemy import MetaData, NullPool, create_engine

target_metadata = MetaData()
url = context.config.get_main_option("sqlalchemy.url")
with create_engine(url, poolclass=NullPool).connect() as connection:
{configure}
    with context.begin_transaction():
        context.run_migrations()
"""


def flask_migrated(
    jobrunner: Commands, database: Database, migrate: str
) -> "tuple[subprocess.CompletedProcess[str], str]":
    """What Flask-Migrate did, and the migration that it wrote."""
    process = jobrunner.start_python(FLASK.replace("{migrate}", migrate), sqlalchemy_url(database))
    stdout, stderr = process.communicate(timeout=60)
    (written,) = (jobrunner.home / "migrations" / "versions").glob("*.py")
    return subprocess.CompletedProcess([], process.returncode, stdout, stderr), written.read_text()


def check_is_whole(jobrunner: Commands, database: Database, before: set[str]) -> None:
    """All of ours is there, the waiting run too, and it can be done."""
    assert before <= objects(database)
    assert jobrunner("migrate").stdout.endswith(": up to date\n")
    jobrunner.tick()
    assert database.query("SELECT id, status FROM job_runs") == [{"id": 1, "status": "succeeded"}]


def test_flask_migrate_leaves_our_tables_alone(jobrunner: Commands, database: Database) -> None:
    name = "tests/health/test_neighbours.py::test_flask_migrate_leaves_our_tables_alone"
    (block,) = pages.checked_by(name)
    jobrunner.enqueue("echo")
    before = objects(database)
    done, written = flask_migrated(jobrunner, database, block.text)
    assert done.returncode == 0, done.stderr
    assert "create_table('order'" in written
    assert "job_" not in written
    check_is_whole(jobrunner, database, before)


def test_after_a_flask_migrate_without_the_filter_migrate_begins_anew(jobrunner: Commands, database: Database) -> None:
    """The harm: a migration that nobody read drops all runs. PostgreSQL refuses it because of the views."""
    whole, before = schema(database), objects(database)
    done, written = flask_migrated(jobrunner, database, "migrate = Migrate(app, db)")
    assert "drop_table('job_runs')" in written
    if database.name == "postgresql":
        assert "DependentObjectsStillExist" in done.stderr
        assert before <= objects(database)
        return
    assert done.returncode == 0, done.stderr
    assert jobrunner("migrate").stdout.endswith(": migrated; its tables were gone, and all runs with them\n")
    assert all(line in schema(database) for line in whole.splitlines())
    jobrunner.enqueue("echo")
    check_is_whole(jobrunner, database, before)


def test_alembic_writes_a_migration_that_leaves_our_tables_alone(
    jobrunner: Commands, database: Database, tmp_path: Path
) -> None:
    name = "tests/health/test_neighbours.py::test_alembic_writes_a_migration_that_leaves_our_tables_alone"
    (block,) = pages.checked_by(name)
    database.execute("CREATE TABLE left_over (id INTEGER PRIMARY KEY)")
    assert revision(tmp_path / "with", database, block.text) == {"left_over"}
    # Without the filter they are dropped: the test sees it.
    without = "context.configure(connection=connection, target_metadata=target_metadata)"
    assert {"left_over", "job_runs", "job_schema_version"} <= revision(tmp_path / "without", database, without)


@postgresql_only
def test_alembic_knows_our_schema_when_it_is_the_default_of_its_connection(
    jobrunner: Commands, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alembic calls it None then, as it does any default schema."""
    monkeypatch.setenv("JOBRUNNER_SCHEMA", "jobs")
    jobrunner("migrate", env={"JOBRUNNER_SCHEMA": "jobs"})
    database.execute("CREATE TABLE jobs.left_over (id INTEGER PRIMARY KEY)")
    configure = (
        "import jobrunner.alembic\n"
        "context.configure(connection, target_metadata=target_metadata, include_name=jobrunner.alembic.include_name)"
    )
    options = "?options=-csearch_path%%3Djobs"
    assert revision(tmp_path / "script", database, configure, options) == {"left_over"}
    # The tables of the template are in public, which is not ours with this setting.
    assert "job_runs" in revision(tmp_path / "public", database, configure)


def revision(folder: Path, database: Database, configure: str, options: str = "") -> set[str]:
    """The tables that a migration written by Alembic drops."""
    config = Config(folder.with_suffix(".ini"))
    config.set_main_option("script_location", str(folder))
    config.set_main_option("sqlalchemy.url", sqlalchemy_url(database) + options)
    command.init(config, str(folder))
    indented = "".join(f"    {line}\n" for line in configure.splitlines())
    (folder / "env.py").write_text(ENV.replace("{configure}", indented))
    script: Any = command.revision(config, autogenerate=True)
    words = Path(script.path).read_text().partition("def downgrade")[0].split("op.drop_table('")[1:]
    return {each.partition("'")[0] for each in words}


@pytest.fixture
def beside(jobrunner: Commands, database: Database) -> str:
    """Our tables in the schema jobs, and two tables of the application that have our names, in other schemas."""
    jobrunner("downgrade", 0, "--delete-data")
    jobrunner("migrate", env={"JOBRUNNER_SCHEMA": "jobs"})
    database.execute("CREATE TABLE job_events (id INTEGER)")
    database.execute("CREATE SCHEMA app")
    database.execute("CREATE TABLE app.job_runs (id INTEGER)")
    return sqlalchemy_url(database)


@postgresql_only
@pytest.mark.parametrize(
    ("setting", "all_schemas", "dropped"),
    [
        ("jobs", True, {"job_events", "app.job_runs"}),
        ("jobs", False, {"job_events"}),
        # An env.py that does not know the setting: rather too little is compared than all runs dropped.
        (None, True, set()),
    ],
)
def test_filter_leaves_out_the_tables_of_our_schema(
    beside: str, monkeypatch: pytest.MonkeyPatch, setting: str | None, all_schemas: bool, dropped: set[str]
) -> None:
    if setting is not None:
        monkeypatch.setenv("JOBRUNNER_SCHEMA", setting)
    assert compared(beside, include_name=include_name, include_schemas=all_schemas) == dropped
    assert "jobs.job_runs" in compared(beside, include_schemas=True)


def test_filter_of_an_application_can_call_ours(database: Database) -> None:
    (block,) = pages.checked_by("tests/health/test_neighbours.py::test_filter_of_an_application_can_call_ours")
    for name in ("legacy", "other"):
        database.execute(f"CREATE TABLE {name} (id INTEGER)")
    namespace: dict[str, Any] = {}
    exec(f"import jobrunner.alembic\n{block.text}", namespace)
    assert compared(sqlalchemy_url(database), include_name=namespace["include_name"]) == {"other"}


def compared(url: str, **options: Any) -> set[str]:
    """The tables that Alembic would drop for an application without models."""
    engine = create_engine(url)
    with engine.connect() as connection:
        changes = compare_metadata(MigrationContext.configure(connection, opts=options), MetaData())
    engine.dispose()
    return {str(change[1]) for change in changes if change[0] == "remove_table"}


def test_django_leaves_our_tables_alone(jobrunner: Commands, database: Database) -> None:
    jobrunner.enqueue("echo")
    before = objects(database)
    said = json.loads(jobrunner.python(DJANGO, json.dumps(django_database(database)), DJANGO_MODEL))
    assert "Create model Order" in said["makemigrations shop"]
    assert "shop.0001_initial... OK" in said["migrate"]
    assert "No changes detected" in said["makemigrations --check"]
    assert "job_" not in "".join(text for words, text in said.items() if words != "inspectdb")
    model = said["inspectdb"].partition("class JobRuns(")[2].partition("class Job")[0]
    assert "managed = False" in model
    check_is_whole(jobrunner, database, before)


def django_database(database: Database) -> dict[str, Any]:
    engine = create_engine(sqlalchemy_url(database))
    if database.name == "sqlite":
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": engine.url.database}
    names = {"NAME": "database", "HOST": "host", "PORT": "port", "USER": "username", "PASSWORD": "password"}
    return {"ENGINE": "django.db.backends.postgresql"} | {name: getattr(engine.url, key) for name, key in names.items()}


def test_import_of_the_filter_is_light() -> None:
    """Its module is called like the library, and does not stand in its way."""
    source = "import sys, jobrunner.alembic; print(*sorted({'sqlalchemy', 'alembic'} & set(sys.modules)))"
    command = [sys.executable, "-c", f"{source}; import alembic; print(alembic.__name__)"]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "\nalembic\n"
