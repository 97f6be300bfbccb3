"""The lists of CONTRIBUTING.md that say where to add what: they name what exists, and whoever follows one is done."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from harness.pages import ROOT
from jobrunner.cli.program import MODULES

PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
LISTS = PAGE.partition("\n## Where to add what\n")[2]
ITEMS = [" ".join(item.split()) for item in re.split(r"\n(?=\d+\. |\n)", LISTS) if re.match(r"\d+\. .*/", item.strip())]

SCHEMA = "jobrunner/store/schema/runs.py"
FUNCTION = """
import json
from jobrunner.store.sql.dialect.enqueue_function import enqueue_statements
print(json.dumps(enqueue_statements("postgresql", "jobs")))
"""
OPTION_OF_A_SCHEDULE = [
    ("jobrunner/model.py", "    jitter: timedelta | None = None\n", "    quiet_time: timedelta | None = None\n"),
    (
        "jobrunner/schedules/options.py",
        "_ALL = (\n",
        '    Option("quiet_time", "duration", "Quiet.", line="quiet", shown="quiet for {quiet_time}"),\n',
    ),
    (
        "jobrunner/schedules/declare.py",
        "    jitter: Duration | None = None\n",
        "    quiet_time: Duration | None = None\n",
    ),
    ("jobrunner/store/timetable/records.py", "    jitter: float | None\n", "    quiet_time: float | None\n"),
    (SCHEMA, '    Column("jitter", Seconds),\n', '    Column("quiet_time", Seconds),\n'),
    ("jobrunner/store/sql/versions.py", "CODE_LEVEL = 1\n", "SCHEMA_REVISION = 2\n"),
]
OPTION_OF_A_RUN = [
    (
        "jobrunner/jobs/run_options.py",
        '    run_at: Annotated[datetime | timedelta | None, Row(Time(), "The earliest start", absent="now")]\n',
        '    note: Annotated[str | None, Row(Text(5), "A note")]\n',
    ),
    ("jobrunner/store/queue/enqueue_sql.py", "    timeout: timedelta | None = None\n", "    note: str | None = None\n"),
    (SCHEMA, '    Column("timeout", Seconds),\n', '    Column("note", short_text(5)),\n'),
]
"""For each file of the list a line, and the line that is added after it."""


def names_in(item: str) -> tuple[list[str], list[str]]:
    """The files or folders of an item, and the names of Python in it."""
    code = re.findall(r"`([^`]+)`", item)
    paths = [each for each in code if "/" in each]
    words = {word for command in MODULES for word in command.split()}
    return paths, [each for each in code if each.isidentifier() and each not in words]


def text_of(path: str) -> str:
    place = ROOT / path
    files = place.rglob("*.py") if place.is_dir() else [place]
    return "\n".join(file.read_text("utf-8") for file in files)


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: re.sub(r"\W+", "-", item)[:60])
def test_each_name_in_an_item_of_a_list_stands_in_a_file_of_the_item(item: str) -> None:
    paths, names = names_in(item)
    text = "\n".join(map(text_of, paths))
    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []


def test_lists_name_as_many_places_as_they_say() -> None:
    numbers = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    lists = re.findall(
        r"^[^\n]*, (?:today )?in (\w+) places[^\n]*:\n\n((?:\d+\. .*\n(?:   .*\n)*)+)", LISTS, re.MULTILINE
    )
    assert len(lists) >= 4
    for said, items in lists:
        assert len(re.findall(r"^\d+\. ", items, re.MULTILINE)) >= numbers.index(said) + 2


Run = Callable[..., subprocess.CompletedProcess[str]]


def copy_with(folder: Path, added: Mapping[str, tuple[str, str]]) -> Run:
    """A copy of the package in which each of these files has more after a line. Returns what executes its commands."""
    for name in ("jobrunner", "alembic"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name, (line, more) in added.items():
        text = (folder / name).read_text("utf-8")
        assert text.count(line) == 1, name
        (folder / name).write_text(text.replace(line, line + more), "utf-8")

    def jobrunner(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PYTHONPATH": str(folder),
            "JOBRUNNER_DATABASE_URL": f"sqlite:///{folder}/runs.db",
            "JOBRUNNER_STATE_DIR": str(folder / "state"),
            **variables,
        }
        command = [sys.executable, "-P", "-m", "jobrunner", *words]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)

    return jobrunner


COMMAND = '''"""greet: a command that is added."""

import click


@click.command()
@click.option("--loudly", is_flag=True, help="Loudly.")
def greet(loudly: bool) -> None:
    """Greet whoever reads this.

    Example: jobrunner greet
    """
    click.echo("HELLO" if loudly else "hello")
'''


def test_a_command_is_added_by_its_list_alone(tmp_path: Path) -> None:
    jobrunner = copy_with(tmp_path, {"jobrunner/cli/program.py": ("explain, ", "greet, ")})
    (tmp_path / "jobrunner/cli/questions/greet.py").write_text(COMMAND)
    assert jobrunner("greet", "--loudly", "--utc").stdout == "HELLO\n"
    assert "  greet    Greet whoever reads this\n" in jobrunner("--help").stdout
    asked = {"_JOBRUNNER_COMPLETE": "bash_complete", "COMP_WORDS": "jobrunner gre", "COMP_CWORD": "1"}
    assert jobrunner(**asked).stdout == "plain,greet\n"


def test_a_setting_is_added_by_its_list_alone(tmp_path: Path) -> None:
    line = '    start_limit: timedelta = setting.duration("30s", "How long the import of the handlers may take.")\n'
    added = '    quiet_time: timedelta = setting.duration("5m", "Quiet.", on_host=True, metavar="DURATION")\n'
    jobrunner = copy_with(tmp_path, {"jobrunner/settings/config.py": (line, added)})
    found = jobrunner("doctor", "--json", JOBRUNNER_QUIET_TIME="7m").stdout
    (row,) = (each for each in json.loads(found)["settings"] if each["name"] == "quiet_time")
    assert (row["value"], row["origin"]) == ("7m", "JOBRUNNER_QUIET_TIME")
    misspelt = jobrunner("status", JOBRUNNER_QUIET_TIMES="7m").stderr
    assert "did you mean 'JOBRUNNER_QUIET_TIME'?" in misspelt
    assert "--quiet-time DURATION" in jobrunner("tick", "--help").stdout


RULE = '''

@rule("host", Severity.WARNING, "look at {host!q}: jobrunner status")
def quiet_host(facts: Facts, limits: Thresholds) -> Iterator[Said]:
    """A host is quiet."""
    yield Said("it is quiet", {"host": "a b"})
'''


def test_a_finding_is_added_by_its_list_alone(tmp_path: Path) -> None:
    rules = "jobrunner/admin/tick_rules.py"
    added = {
        rules: ((ROOT / rules).read_text("utf-8"), RULE),
        "jobrunner/admin/findings.py": ("        tick_rules.state_folder,\n", "        tick_rules.quiet_host,\n"),
    }
    jobrunner = copy_with(tmp_path, added)
    assert jobrunner("migrate").returncode == 0
    found = jobrunner("health", "--json", "--only", "quiet_host")
    assert (found.returncode, json.loads(found.stdout)["findings"]) == (
        1,
        [
            {
                "name": "quiet_host",
                "severity": "warning",
                "sentence": "it is quiet",
                "remedy": "look at 'a b': jobrunner status",
                "detail": None,
            }
        ],
    )
    assert "WARNING    it is quiet; look at 'a b': jobrunner status\n" in jobrunner("status").stdout


def test_an_option_of_a_job_type_is_added_by_its_list_alone(tmp_path: Path) -> None:
    line = '    rate_per_key: Annotated[str | None, Row(HowOften(), "The rate limit of each key", absent="no limit")]\n'
    row = '    quiet_time: Annotated[Duration | None, Row(Length(), "Quiet")]\n'
    field = "    quiet_time: timedelta | None = None\n"
    lines = {
        "jobrunner/jobs/job_options.py": (line, row),
        "jobrunner/model.py": ("    limits: Limits | None = None\n", field),
    }
    jobrunner = copy_with(tmp_path, lines)
    (tmp_path / "jobrunner.toml").write_text('[jobs.filed]\ncommand = ["true"]\nquiet_time = "9m"\n')
    variables = {"JOBRUNNER_IMPORT": "handlers", "JOBRUNNER_APP_DIR": str(tmp_path)}

    def types(option: str, *words: str) -> subprocess.CompletedProcess[str]:
        handler = f"from jobrunner import job\n@job({option})\ndef coded(ctx): ...\n"
        (tmp_path / "handlers.py").write_text(handler)
        return jobrunner("types", *words, **variables)

    found = {each["job_type"]: each["quiet_time"] for each in json.loads(types("quiet_time=420", "--json").stdout)}
    assert found == {"coded": 420.0, "filed": 540.0}
    head, *rows = types("").stdout.splitlines()
    assert (head.split()[-2:], [row.split()[-1] for row in rows]) == (["QUIET", "TIME"], ["-", "9m"])
    assert (
        "handlers.coded (handlers.py, line 2): quiet_time: 'soon' is not a duration"
        in types("quiet_time='soon'").stderr
    )
    assert "did you mean quiet_time" in types("quiet_tim=5").stderr


def both_columns(found: re.Match[str]) -> str:
    """The statements for both columns, in place of the one that a new migration has."""
    columns = {"job_definitions": "quiet_time REAL", "job_runs": "note TEXT"}
    statements = [
        f'"ALTER TABLE {found[1]}{table} {found[2]} COLUMN {column if found[2] == "ADD" else column.split()[0]}"'
        for table, column in columns.items()
    ]
    return ", ".join(statements)


@pytest.mark.long
def test_options_of_a_schedule_and_of_a_run_with_their_migration_are_added_by_their_lists_alone(tmp_path: Path) -> None:
    copy, home = tmp_path / "copy", tmp_path / "home"
    for name in ("jobrunner", "alembic", "scripts"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "alembic.ini", copy)
    for file, line, added in [*OPTION_OF_A_SCHEDULE, *OPTION_OF_A_RUN]:
        text = (copy / file).read_text("utf-8")
        assert text.count(line) == 1, file
        (copy / file).write_text(text.replace(line, line + added), "utf-8")
    home.mkdir()
    url = f"sqlite:///{home}/runs.db"
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": str(copy),
        "JOBRUNNER_DATABASE_URL": url,
    }

    def python(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-P", *words], cwd=home, env=environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def jobrunner(*words: str) -> str:
        return python("-m", "jobrunner", *words)

    python("-m", "alembic", "-c", str(copy / "alembic.ini"), "revision", "--rev-id", "0002", "-m", "quiet note")
    migration = copy / "jobrunner/store/schema/migrations/versions/0002_quiet_note.py"
    text = re.sub(r'"ALTER TABLE (.*)job_runs (ADD|DROP) COLUMN \.\.\."', both_columns, migration.read_text())
    migration.write_text(text)
    # The compiled statements of today would neither write nor read the column.
    python(str(copy / "scripts/statements.py"))
    jobrunner("migrate")
    add = ["schedule", "add", "nightly", "--type", "echo", "--cron", "0 3 * * *", "--allow-unknown"]
    jobrunner(*add, "--quiet-time", "5m")
    assert "quiet for 5m" in jobrunner("schedule", "show", "nightly")
    jobrunner("schedule", "edit", "nightly", "--quiet-time", "7m")
    assert json.loads(jobrunner("schedule", "show", "nightly", "--json"))["quiet_time"] == 420.0
    command, schedule = '[jobs.echo]\ncommand = ["true"]\n', 'job = "echo"\nschedule = "0 4 * * *"\nquiet_time = "9m"\n'
    (home / "jobrunner.toml").write_text(f"{command}[schedules.other]\n{schedule}")
    environment["JOBRUNNER_CONFIG"] = str(home / "jobrunner.toml")
    jobrunner("apply")
    found = {each["name"]: each["quiet_time"] for each in json.loads(jobrunner("schedule", "list", "--json"))}
    assert found == {"nightly": 420.0, "other": 540.0}
    jobrunner("enqueue", "echo", "--note", "shell")
    library = "from jobrunner import enqueue, enqueue_many\n"
    python("-c", f"{library}enqueue(None, 'echo', note='code')\nenqueue_many(None, 'echo', [{{}}], note='many')")
    with closing(sqlite3.connect(home / "runs.db")) as connection:
        assert connection.execute("SELECT note FROM job_runs ORDER BY id").fetchall() == [
            ("shell",),
            ("code",),
            ("many",),
        ]
    (function,) = json.loads(python("-c", FUNCTION))
    assert re.search(r"note text DEFAULT NULL,(?s:.*)length\(jobrunner_enqueue.note\) NOT BETWEEN 1 AND 5", function)
    assert re.search(r"INSERT INTO \S+job_runs AS runs \(.*\bnote\b.*\)\n +VALUES \(.*jobrunner_enqueue.note", function)
    jobrunner("downgrade", "1", "--delete-data")
    jobrunner("migrate")
