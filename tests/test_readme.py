"""The README is a promise, too: what it says is compared with the code. What it shows is run in test_quickstarts.py."""

import re
import subprocess
import tomllib
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from sqlalchemy import Column, Integer, MetaData, String, Table, create_engine, insert, select

from harness import App, Commands, Database, pages
from jobrunner import lifecycle, registry
from jobrunner.cli.program import cli
from jobrunner.enqueueing import Enqueued, Entry
from jobrunner.errors import ConfigurationError
from jobrunner.settings import config, toml_file

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def table_under(title: str, column: int = 0) -> list[str]:
    """The code in one column of the first table of a section, row by row."""
    section = README.split(f"\n## {title}\n")[1].split("\n## ")[0]
    rows = re.search(r"^\|[-|]+\|\n((?:\|.*\n)+)", section, re.MULTILINE)
    assert rows
    return re.findall(r"`([^`]+)`", "\n".join(row.split("|")[column + 1] for row in rows[1].splitlines()))


def known_keys(error: ConfigurationError) -> list[str]:
    """What the refusal of an unknown key says that there are."""
    return str(error).partition("there are: ")[2].split(", ")


def test_diagram_is_made_from_the_table_of_transitions():
    name = "tests/test_readme.py::test_diagram_is_made_from_the_table_of_transitions"
    assert [block.text for block in pages.checked_by(name)] == [lifecycle.diagram() + "\n"]


def test_crontab_line_is_the_one_of_the_example():
    (block,) = pages.checked_by("tests/test_readme.py::test_crontab_line_is_the_one_of_the_example")
    assert block.text in (ROOT / "crontab.example").read_text().splitlines(keepends=True)


def test_enqueueing_in_ones_own_transaction(database: Database, monkeypatch: pytest.MonkeyPatch):
    (block,) = pages.checked_by("tests/test_readme.py::test_enqueueing_in_ones_own_transaction")
    monkeypatch.setattr(registry, "_registered", {})
    engine = create_engine(database.url.replace("postgresql://", "postgresql+psycopg://"))
    users = Table("users", MetaData(), Column("id", Integer, primary_key=True), Column("name", String(20)))
    users.create(engine)
    handlers = next(each.text for each in pages.read("README.md") if each.saved_as == "jobs.py")
    namespace = {"engine": engine, "insert": insert, "users": users}
    exec(handlers + block.text, namespace)
    with engine.connect() as connection:
        assert [tuple(row) for row in connection.execute(select(users))] == [(812, "Ada")]
    engine.dispose()
    assert database.query("SELECT payload, idempotency_key FROM job_runs") == [
        {"payload": {"name": "Ada"}, "idempotency_key": "greet:812"}
    ]


def test_enqueueing_many_in_ones_own_transaction(database: Database, monkeypatch: pytest.MonkeyPatch):
    (block,) = pages.checked_by("tests/test_readme.py::test_enqueueing_many_in_ones_own_transaction")
    monkeypatch.setattr(registry, "_registered", {})
    engine = create_engine(database.url.replace("postgresql://", "postgresql+psycopg://"))
    handlers = next(each.text for each in pages.read("README.md") if each.saved_as == "jobs.py")
    users = [SimpleNamespace(id=812, name="Ada"), SimpleNamespace(id=813, name="Grace")]
    namespace = {"engine": engine, "Entry": Entry, "timedelta": timedelta, "new_users": lambda _: users}
    exec(handlers + block.text + block.text.replace("answers", "again"), namespace)
    engine.dispose()
    rows = database.query("SELECT id, payload, idempotency_key FROM job_runs ORDER BY id")
    assert [(row["payload"], row["idempotency_key"]) for row in rows] == [
        ({"name": "Ada"}, "greet:812"),
        ({"name": "Grace"}, "greet:813"),
    ]
    for answers, created in ((namespace["answers"], True), (namespace["again"], False)):
        assert answers == [Enqueued(row["id"], created) for row in rows]


def test_the_example_of_a_configuration_file_is_read(tmp_path: Path):
    (block,) = pages.checked_by("tests/test_readme.py::test_the_example_of_a_configuration_file_is_read")
    (tmp_path / "jobrunner.toml").write_text(block.text)
    read = config.load({"JOBRUNNER_CONFIG": str(tmp_path / "jobrunner.toml")})
    assert set(read.commands) == set(tomllib.loads(block.text)["jobs"])
    assert (read.concurrency, read.keep["dead"].days) == (8, 30)


def test_every_key_of_a_command_is_in_the_readme(tmp_path: Path):
    file = tmp_path / "jobrunner.toml"
    file.write_text('[jobs.x]\ncommand = ["true"]\nqqqq = 1\n')
    with pytest.raises(ConfigurationError) as refused:
        toml_file.read(file)
    assert sorted(table_under("`jobrunner.toml`")) == known_keys(refused.value)


def test_every_setting_is_in_the_readme(tmp_path: Path):
    file = tmp_path / "jobrunner.toml"
    file.write_text("[settings]\nqqqq = 1\n")
    with pytest.raises(ConfigurationError) as refused:
        config.load({"JOBRUNNER_CONFIG": str(file)})
    told = table_under("Settings")
    assert sorted(name.removeprefix("JOBRUNNER_").lower() for name in told) == known_keys(refused.value)


def test_the_defaults_in_the_readme_are_those_of_the_code():
    """Those that are numbers or durations: set to what the table says, nothing changes."""
    rows = re.findall(r"^\| `(JOBRUNNER_\w+)` \| (\d\w*) \|", README, re.MULTILINE)
    assert len(rows) >= 10
    assert config.load(dict(rows)) == config.load({})


def test_what_commands_are_told_in_their_environment_is_in_the_readme(jobrunner: Commands, app: App):
    (app.folder / "jobrunner.toml").write_text('[jobs.told]\ncommand = ["env"]\n')
    with_app = {"JOBRUNNER_APP_DIR": str(app.folder)}
    jobrunner("enqueue", "told", env=with_app)
    jobrunner("tick", env=with_app)
    told = set(re.findall(r"^(JOBRUNNER_[A-Z_]+)=", jobrunner.show(1)["attempt_log"][0]["output"], re.MULTILINE))
    # The last is how processes that a killed tick left behind are found.
    told -= {*jobrunner.environment(), *with_app, "JOBRUNNER_TICK"}
    assert {name for name in told if f"`{name}`" not in README} == set()
    assert "JOBRUNNER_RUN_ID" in told
    assert "JOBRUNNER_DATABASE_URL" not in told


@pytest.mark.parametrize("target", ["demo", "test", "check", "help"])
def test_named_make_targets_exist(target):
    assert f"make {target}" in README
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_command_is_in_the_readme():
    for command in re.findall(r"^  (\w+) ", help_of().split("Commands:")[1], re.MULTILINE):
        assert f"`jobrunner {command}" in README


def help_of(*command: str) -> str:
    """What a command's --help says."""
    done = CliRunner().invoke(cli, [*command, "--help"], prog_name="jobrunner")
    assert done.exit_code == 0
    return done.stdout


def test_no_command_or_option_in_the_readme_is_invented():
    for command, row in re.findall(r"^\| `jobrunner ((?:schedule )?\w+)[^|]*\|(.*)$", README, re.MULTILINE):
        said = help_of(*command.split())
        for option in re.findall(r"`(--[a-z-]+)", row):
            assert option in said, f"{command} {option}"


def test_every_schedule_command_and_every_option_of_its_slots_is_in_the_readme():
    commands = re.findall(r"^  (\w+) ", help_of("schedule").split("Commands:")[1], re.MULTILINE)
    assert {"add", "edit", "backfill"} <= set(commands)
    assert [each for each in commands if f"`jobrunner schedule {each}" not in README] == []
    options = set(re.findall(r"^  (--[a-z-]+)", help_of("schedule", "edit"), re.MULTILINE)) - {"--env-file", "--config"}
    assert [each for each in options if f"`{each}`" not in README] == []


def test_ci_runs_the_test_command_of_the_readme():
    assert "make test" in README
    check = subprocess.run(["make", "-n", "check"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "make check" in (ROOT / ".ci" / "run").read_text()
    assert "pytest" in check.stdout
