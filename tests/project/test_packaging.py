"""The built package: the content of the wheel and the sdist, and that it works when installed alone."""

import ast
import email
import email.message
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from harness import App, Commands, Database, postgresql_only, sqlite_only
from harness.commands import COMMAND, clean_environment
from harness.installation import Distributions, Installation, build
from jobrunner.store.sql.versions import SCHEMA_REVISION

# The first test that asks builds and installs.
pytestmark = [pytest.mark.timeout(600), pytest.mark.long(sample=0.5)]

TYPED = """
from jobrunner import Context, job
from sqlalchemy import Connection

@job("greet", timeout="60s")
def greet(ctx: Context, name: str, times: int = 1) -> str:
    return name * times

def use(ctx: Context, connection: Connection) -> int | None:
    reveal_type(greet)
    reveal_type(greet(ctx, "Ada", times=2))
    return greet.using(key="a").enqueue(connection, name="Ada").id
"""
WRONG = """
from jobrunner import Context, job
from sqlalchemy import Connection

@job("greet")
def greet(ctx: Context, name: str) -> None: ...

def use(ctx: Context, connection: Connection) -> None:
    greet(ctx, 5)
    greet.enqueue("postgresql://", name="Ada")
    greet.enqueued
    greet.enqueue(connection, name=5)
    greet.enqueue(connection, name="Ada", key="a")
"""


@pytest.fixture
def installed(jobrunner: Commands, installation: Installation) -> Commands:
    """The command of the empty environment, in place of the one of the checkout."""
    jobrunner.command = str(installation.command)
    return jobrunner


@pytest.fixture(scope="session")
def project(distributions: Distributions) -> dict[str, object]:
    table = tomllib.loads((distributions.checkout / "pyproject.toml").read_text())["project"]
    assert isinstance(table, dict)
    return table


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def metadata(wheel: Path) -> email.message.Message:
    (found,) = (text for name, text in contents(wheel).items() if name.endswith(".dist-info/METADATA"))
    return email.message_from_string(found.decode())


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_the_wheel_holds_the_package_and_nothing_beside_it(distributions: Distributions) -> None:
    """A top-level `alembic` would hide the library of that name in every application."""
    found = set(contents(distributions.wheel))
    tops = {re.sub(r"^cron_jobrunner-[\d.]+\.", "", name.split("/")[0]) for name in found}
    assert tops == {"jobrunner", "dist-info", "data"}
    beside = {name.partition(".data/")[2] for name in found if ".data/" in name}
    assert beside == {"data/share/man/man1/jobrunner.1"}
    own = {f"jobrunner/{name}" for name in files(distributions.checkout / "jobrunner")}
    assert {name for name in found if name.startswith("jobrunner/")} == own
    migrations = "jobrunner/store/schema/migrations"
    assert {"jobrunner/py.typed", f"{migrations}/env.py", f"{migrations}/versions/0001_core.sqlite.sql"} <= found
    assert sum("/versions/" in name and name.endswith(".py") for name in found) == SCHEMA_REVISION


@pytest.mark.long
def test_the_wheel_of_the_sdist_is_the_wheel_of_the_checkout(distributions: Distributions, tmp_path: Path) -> None:
    build(distributions.checkout, tmp_path, "--wheel")
    (wheel,) = tmp_path.glob("*.whl")
    assert contents(distributions.wheel) == contents(wheel)
    assert re.fullmatch(r"cron_jobrunner-[\d.]+\.tar\.gz", distributions.sdist.name)


@pytest.fixture
def unpacked(distributions: Distributions, tmp_path: Path) -> Path:
    with tarfile.open(distributions.sdist) as archive:
        archive.extractall(tmp_path / "sdist", filter="data")
    (folder,) = (tmp_path / "sdist").iterdir()
    return folder


def test_the_sdist_holds_the_whole_checkout(distributions: Distributions, unpacked: Path) -> None:
    """All that the tests, the Makefile and the documentation need."""
    assert files(unpacked) - {"PKG-INFO"} == files(distributions.checkout)


@pytest.mark.long
def test_the_tests_run_from_the_sdist(unpacked: Path, installation: Installation, tmp_path: Path) -> None:
    """All can be collected; some are run, against the installed command."""

    def pytest_there(*words: str) -> str:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *words]
        environment = {**clean_environment(tmp_path), "JOBRUNNER_TEST_COMMAND": str(installation.command)}
        done = subprocess.run(command, cwd=unpacked, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    told = pytest_there("-k", "test_lifecycle or (test_migrations and (six or same) and not down)")
    assert re.search(r"\d+ passed, \d{4,} deselected", told)


def test_the_metadata_say_what_the_project_says(
    distributions: Distributions, project: dict[str, object], installation: Installation
) -> None:
    told = metadata(distributions.wheel)
    assert told["Name"] == "cron-jobrunner"
    version = subprocess.run([installation.command, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout == f"jobrunner {told['Version']}\n"
    assert told["Requires-Python"] == project["requires-python"] == ">=3.11"

    def normalised(requirements: object) -> set[tuple[str, ...]]:
        assert isinstance(requirements, list)
        return {tuple(sorted(re.findall(r"[\w.-]+|[<>=!~]+", text.lower()))) for text in requirements}

    extras = project["optional-dependencies"]
    assert isinstance(extras, dict)
    needed = [*project["dependencies"]]  # type: ignore[misc]
    needed += [f"{text}; extra == {name}" for name, texts in extras.items() for text in texts]
    assert normalised(told.get_all("Requires-Dist")) == normalised(needed)
    assert told.get_all("Provides-Extra") == list(extras)
    assert told["Description-Content-Type"] == "text/markdown"
    assert told.get_payload().strip() == (distributions.checkout / "README.md").read_text().strip()
    (license_file,) = told.get_all("License-File") or []
    (kept,) = (
        text for name, text in contents(distributions.wheel).items() if name.endswith(f"licenses/{license_file}")
    )
    assert kept == (distributions.checkout / "LICENSE").read_bytes()


def test_the_page_names_each_extra_and_no_other(distributions: Distributions, project: dict[str, object]) -> None:
    page = (distributions.checkout / "docs" / "howto" / "installation.md").read_text()
    section = page.partition("\n## Extras\n")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    extras = project["optional-dependencies"]
    assert isinstance(extras, dict)
    assert sorted(listed) == sorted(extras)


def test_the_environment_holds_the_dependencies_and_no_development_group(
    installation: Installation, project: dict[str, object]
) -> None:
    script = "import importlib.metadata as m; print([d.metadata['Name'].lower() for d in m.distributions()])"
    names = set(ast.literal_eval(inside(installation, "-c", script).stdout))
    dependencies = project["dependencies"]
    assert isinstance(dependencies, list)
    needed = {re.match(r"[\w-]+", text.lower())[0] for text in dependencies}  # type: ignore[index]
    assert needed <= names
    assert "cron-jobrunner" in names
    assert not names & {"pytest", "hypothesis", "mypy", "ruff", "build", "hatchling", "pip", "setuptools"}
    assert len(names) < 20, names
    place = inside(installation, "-c", "import jobrunner; print(jobrunner.__file__)").stdout.strip()
    assert Path(place).is_relative_to(installation.folder)


def inside(installation: Installation, *words: str) -> "subprocess.CompletedProcess[str]":
    """Python of the empty environment, isolated from the folder and the settings of the tester."""
    command = [installation.python, "-I", *words]
    return subprocess.run(command, cwd="/", env={}, capture_output=True, text=True, check=True)


@sqlite_only
def test_installed_package_works_on_the_default_database(installed: Commands, app: App, tmp_path: Path) -> None:
    """With a home folder of its own: the command asks the password database, which is given another answer here."""
    home = tmp_path / "real home"
    home.mkdir()
    (tmp_path / "sitecustomize.py").write_text(
        "import pwd\nfound = pwd.getpwuid\n"
        f"pwd.getpwuid = lambda uid: pwd.struct_passwd((*found(uid)[:5], {str(home)!r}, found(uid)[6]))\n"
    )
    env = {"JOBRUNNER_DATABASE_URL": None, "PYTHONPATH": str(tmp_path)}
    file = home / ".local" / "share" / "jobrunner" / "jobrunner.db"
    first = installed("enqueue", "append", env=env)
    assert (first.stdout, first.stderr) == ("1\n", f"jobrunner: created the database {file}\n")
    tick = installed.tick(env=env)
    assert (tick.stdout, tick.stderr) == ("", "")
    assert [line.run_id for line in app.trace()] == [1]
    assert installed("show", "1", "--json", env=env).json()["status"] == "succeeded"


def works(installed: Commands, database: Database) -> None:
    run_id = installed.enqueue("echo", {"a": 1})
    tick = installed.tick()
    assert (tick.stdout, tick.stderr) == ("", "")
    assert installed.show(run_id)["status"] == "succeeded"
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'succeeded'") == 1


def test_installed_package_migrates_down_and_up(installed: Commands, database: Database) -> None:
    """Down from the schema that the checkout made, so the tables that work afterwards are the installed wheel's."""
    assert installed("downgrade", "0", "--delete-data").stdout.endswith(": migrated\n")
    refused = installed("tick", check=False)
    assert (refused.returncode, "jobrunner migrate" in refused.stderr) == (78, True)
    assert installed("migrate").stdout.endswith(": migrated\n")
    works(installed, database)


@postgresql_only
def test_installed_package_prints_the_sql_of_the_checkout(installed: Commands, database: Database) -> None:
    told = installed("schema").stdout
    assert "CREATE TABLE job_runs" in told
    installed.command = COMMAND
    assert told == installed("schema").stdout


@sqlite_only
def test_installed_package_has_the_page_and_says_which_extra_it_needs(
    installed: Commands, distributions: Distributions
) -> None:
    packed = {name for name in contents(distributions.wheel) if name.startswith("jobrunner/web/")}
    kept = distributions.checkout / "jobrunner" / "web"
    needed = {
        f"jobrunner/web/{path.relative_to(kept)}" for name in ("templates", "static") for path in kept.glob(f"{name}/*")
    }
    assert "jobrunner/web/static/style.css" in needed
    assert needed <= packed
    for extra in ("web", "mcp"):
        installed.refused(78, extra, says=[f"cron-jobrunner[{extra}]"])


@sqlite_only
def test_python_m_jobrunner_is_the_command(installed: Commands, installation: Installation, database: Database) -> None:
    run_id = installed.enqueue("echo")

    def module(*words: str) -> "subprocess.CompletedProcess[str]":
        command = [installation.python, "-m", "jobrunner", *words]
        return subprocess.run(command, env=installed.environment(), cwd=installed.home, capture_output=True, text=True)

    assert module("--version").stdout == installed("--version").stdout
    assert module("--help").stdout == installed("--help").stdout
    tick = module("tick")
    assert (tick.returncode, tick.stdout, tick.stderr) == (0, "", "")
    assert installed.show(run_id)["status"] == "succeeded"
    wrong = module("tock")
    assert (wrong.returncode, len(wrong.stderr.splitlines())) == (2, 1)


def test_a_type_checker_sees_the_types_of_the_installed_package_and_a_wrong_call(
    installation: Installation, tmp_path: Path
) -> None:
    for name, source in {"typed.py": TYPED, "wrong.py": WRONG}.items():
        (tmp_path / name).write_text(source)
    # Of the checkout's tools only the type checker itself: it looks at what the empty environment holds.
    command = [sys.executable, "-I", "-m", "mypy", "--strict", "--python-executable", str(installation.python)]
    command += ["--config-file=", f"--cache-dir={installation.folder}/.mypy_cache", "typed.py", "wrong.py"]
    environment = clean_environment(tmp_path)
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    told = done.stdout
    errors = re.findall(r"(\w+)\.py:(\d+): error", told)
    assert errors == [("wrong", line) for line in ("9", "10", "11", "12", "13")], told
    kept, called = re.findall(r'typed\.py:\d+: note: Revealed type is "(.*)"', told)
    assert re.fullmatch(
        r"jobrunner\.application\.job\.Job\[\[name: (builtins\.)?str,"
        r" times: (builtins\.)?int =\], (builtins\.)?str\]",
        kept,
    ), kept
    assert called.removeprefix("builtins.") == "str"
