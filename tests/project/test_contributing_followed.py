"""Whoever follows a list of CONTRIBUTING is done: each is followed in a copy of the package."""

import json
import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from harness.copies import copy_with
from harness.pages import ROOT
from jobrunner.store.sql.versions import OLDEST_CODE_OF, SCHEMA_REVISION

SCHEMA = "jobrunner/store/schema/runs.py"
FUNCTION = """
import json
from jobrunner import enqueue, enqueue_many
from jobrunner.store.sql.dialect.enqueue_function import enqueue_statements
enqueue(None, "echo", note="code")
enqueue_many(None, "echo", [{}], note="many")
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
    (
        "jobrunner/store/sql/versions.py",
        f"    {SCHEMA_REVISION}: {OLDEST_CODE_OF[SCHEMA_REVISION]},\n",
        f"    {SCHEMA_REVISION + 1}: 1,\n",
    ),
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
"""For each file of a list a line, and the line that is added after it."""


GREET = '''"""greet: a command that is added."""

from dataclasses import dataclass

import click

from jobrunner.cli import render
from jobrunner.cli.answers import answers


@dataclass
class Greeting:
    """A greeting."""

    word: str


@click.command()
@answers(Greeting)
@click.option("--loudly", is_flag=True, help="Loudly.")
def greet(as_json: bool, loudly: bool) -> None:
    """Greet everybody who reads this.

    Example: jobrunner greet
    """
    word = "HELLO" if loudly else "hello"
    render.echo_json(Greeting(word)) if as_json else click.echo(word)
'''
SCHEMA_OF = """
import json, sys
sys.path.insert(0, "scripts")
from json_schemas import schema
print(json.dumps(schema(sys.argv[1])))
"""


def test_a_command_with_an_answer_is_added_by_its_list_alone(tmp_path: Path) -> None:
    jobrunner = copy_with(tmp_path, ("jobrunner/cli/program.py", "explain, ", "greet, "))
    (tmp_path / "jobrunner/cli/questions/greet.py").write_text(GREET)
    assert jobrunner("greet", "--loudly", "--utc").stdout == "HELLO\n"
    assert json.loads(jobrunner("greet", "--json").stdout) == {"word": "hello"}
    (record,) = json.loads(jobrunner("-c", SCHEMA_OF, "greet --json", python=True).stdout)["$defs"].values()
    assert (record["description"], record["properties"]) == ("A greeting.", {"word": {"type": "string"}})
    assert "  greet    Greet everybody who reads this\n" in jobrunner("--help").stdout
    asked = {"_JOBRUNNER_COMPLETE": "bash_complete", "COMP_WORDS": "jobrunner gre", "COMP_CWORD": "1"}
    assert jobrunner(**asked).stdout == "plain,greet\n"


PAGE = """
import os
from pathlib import Path
from jobrunner.store.drivers.location import locate
from jobrunner.web import EVERYTHING, Visitor
from jobrunner.web.core import Web
from jobrunner.web.messages import Request
web = Web(lambda: locate(os.environ["JOBRUNNER_DATABASE_URL"]))
visitor = Visitor("ada", frozenset(EVERYTHING))
asked = Request("GET", "/runs", "format=json", {"host": "example"}, b"", visitor=visitor)
print(web.respond(asked).body.decode())
"""


def test_a_field_of_an_answer_is_added_to_its_record_alone(tmp_path: Path) -> None:
    record = "jobrunner/store/questions/runs/run_list.py"
    column = (record, 'COLUMNS: ClassVar = "id, ', "importance=priority, ")
    jobrunner = copy_with(tmp_path, (record, "    attempts: int\n", "    priority: int\n"), column)
    jobrunner("migrate")
    jobrunner("enqueue", "echo", "--priority", "7", "--allow-unknown")
    listed = json.loads(jobrunner("runs", "--json").stdout)
    assert listed["runs"][0]["priority"] == 7
    head, row = jobrunner("runs").stdout.splitlines()[:2]
    assert (head.split()[:2], row.split()[:2]) == (["ID", "IMPORTANCE"], ["1", "7"])
    assert json.loads(jobrunner("-c", PAGE, python=True).stdout) == listed
    schema = json.loads(jobrunner("-c", SCHEMA_OF, "runs --json", python=True).stdout)
    assert schema["$defs"]["SelectedRun"]["properties"]["priority"] == {"type": "integer"}


def test_a_setting_and_a_threshold_are_added_by_their_list_alone(tmp_path: Path) -> None:
    line = '    start_limit: timedelta = setting.duration("30s", "How long the import of the handlers may take.")\n'
    added = '    quiet_time: timedelta = setting.duration("5m", "Quiet.", on_host=True, metavar="DURATION")\n'
    words = "a type, a host or everything is paused, or limited without an end, for longer."
    last = f'    pause: timedelta = duration("1d", "{words}")\n'
    threshold = '    loud: int = count("more noise than this.")\n'
    jobrunner = copy_with(
        tmp_path,
        ("jobrunner/settings/config.py", line, added),
        ("jobrunner/settings/health.py", last, threshold),
    )
    (tmp_path / "jobrunner.toml").write_text("[health]\nloud = 8\n")
    given = {"JOBRUNNER_QUIET_TIME": "7m", "JOBRUNNER_APP_DIR": str(tmp_path)}
    found = {each["name"]: each for each in json.loads(jobrunner("doctor", "--json", **given).stdout)["settings"]}
    assert (found["quiet_time"]["value"], found["quiet_time"]["origin"]) == ("7m", "JOBRUNNER_QUIET_TIME")
    assert found["health_loud"]["value"] == "8"
    misspelt = jobrunner("status", JOBRUNNER_QUIET_TIMES="7m").stderr
    assert "did you mean 'JOBRUNNER_QUIET_TIME'?" in misspelt
    assert "--quiet-time DURATION" in jobrunner("tick", "--help").stdout


RULE = '''

@rule("host", Severity.WARNING, "look at {host!q}: jobrunner status")
def quiet_host(facts: Facts, limits: Thresholds) -> Iterator[Said]:
    """A host is quiet."""
    yield Said("it is quiet", {"host": "a b"})
'''
SAID = """    if first is None and job_type == "quiet":
        return Explanation("type quiet", "quiet", "It is quiet.", {})
"""
CHECKED = """    add([wrong("quiet", "it is quiet", "jobrunner status")])
"""
PAGES = """
import sys
sys.path.insert(0, "scripts")
import page_tables
print(page_tables._findings(), page_tables._reasons())
"""


def test_a_finding_a_reason_and_a_check_are_added_by_their_lists_alone(tmp_path: Path) -> None:
    rules = "jobrunner/admin/tick_rules.py"
    jobrunner = copy_with(
        tmp_path,
        (rules, (ROOT / rules).read_text("utf-8"), RULE),
        ("jobrunner/admin/findings.py", "        tick_rules.state_folder,\n", "        tick_rules.quiet_host,\n"),
        (
            "jobrunner/web/pages/leads.py",
            '    "state_folder": _TICKS,\n',
            '    "quiet_host": Lead("{host}", "hosts"),\n',
        ),
        ("jobrunner/store/questions/explain/subjects.py", "    views = hosts.views(job_type)\n", SAID),
        ("jobrunner/store/questions/explain/reasons.py", '    "run": {\n', '        "quiet": "is quiet",\n'),
        ("jobrunner/admin/doctor/examine.py", "    add([_host_time_zone(), compiled.check()])\n", CHECKED),
    )
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
                "about": {"host": "a b"},
            }
        ],
    )
    assert "WARNING    it is quiet; look at 'a b': jobrunner status\n" in jobrunner("status").stdout
    assert jobrunner("explain", "quiet").stdout.splitlines()[0] == "It is quiet."
    assert json.loads(jobrunner("explain", "quiet", "--json").stdout)["reason"] == "quiet"
    examined = jobrunner("doctor", "--no-crontab")
    assert (examined.returncode, "it is quiet" in examined.stdout) == (1, True)
    pages = jobrunner("-c", PAGES, python=True).stdout
    assert all(row in pages for row in ("['`quiet_host`', 'host', 'A host is quiet.', ", "['`quiet`', 'is quiet']"))


ENDED = """
from jobrunner import job
@job(max_attempts=1)
def fall(ctx):
    import os
    os._exit(7)
"""


def test_an_outcome_of_an_attempt_is_added_by_its_list_alone(tmp_path: Path) -> None:
    jobrunner = copy_with(
        tmp_path,
        ("jobrunner/lifecycle.py", '    CRASHED = "crashed"\n', '    FALLEN = "fallen"\n'),
        ("jobrunner/lifecycle.py", "        case Outcome.DISCARDED | Outcome.CANCELLED", " | Outcome.FALLEN"),
        ("jobrunner/worker/attempt.py", "            outcome=Outcome.CRASHED", " if status != 7 else Outcome.FALLEN"),
    )
    (tmp_path / "handlers.py").write_text(ENDED)
    given = {"JOBRUNNER_IMPORT": "handlers", "JOBRUNNER_APP_DIR": str(tmp_path)}
    jobrunner("migrate")
    jobrunner("enqueue", "fall", **given)
    jobrunner("tick", **given)
    shown = json.loads(jobrunner("show", "1", "--json").stdout)
    assert ([each["outcome"] for each in shown["attempt_log"]], shown["status"]) == (["fallen"], "dead")
    assert "fallen" in jobrunner("show", "1").stdout
    ended = json.loads(jobrunner("stats", "--json").stdout)["types"]
    assert [each["attempts"] for each in ended] == [{"fallen": 1}]


def test_an_option_of_a_job_type_is_added_by_its_list_alone(tmp_path: Path) -> None:
    line = '    rate_per_key: Annotated[str | None, Row(HowOften(), "The rate limit of each key", absent="no limit")]\n'
    row = '    quiet_time: Annotated[Duration | None, Row(Length(), "Quiet")]\n'
    field = "    quiet_time: timedelta | None = None\n"
    table = ("jobrunner/jobs/job_options.py", line, row)
    jobrunner = copy_with(tmp_path, table, ("jobrunner/model.py", "    limits: Limits | None = None\n", field))
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


def test_options_of_a_schedule_and_of_a_run_with_their_migration_are_added_by_their_lists_alone(tmp_path: Path) -> None:
    run = copy_with(tmp_path, *OPTION_OF_A_SCHEDULE, *OPTION_OF_A_RUN)
    (tmp_path / "alembic.ini").write_text((ROOT / "alembic.ini").read_text())

    def jobrunner(*words: str, python: bool = False) -> str:
        done = run(*words, python=python, JOBRUNNER_APP_DIR=str(tmp_path))
        assert done.returncode == 0, done.stderr
        return done.stdout

    jobrunner("-m", "alembic", "revision", "--rev-id", f"{SCHEMA_REVISION + 1:04}", "-m", "quiet note", python=True)
    migration = tmp_path / f"jobrunner/store/schema/migrations/versions/{SCHEMA_REVISION + 1:04}_quiet_note.py"
    text = re.sub(r'"ALTER TABLE (.*)job_runs (ADD|DROP) COLUMN \.\.\."', both_columns, migration.read_text())
    migration.write_text(text)
    # The compiled statements of today would neither write nor read the column.
    jobrunner("scripts/statements.py", python=True)
    jobrunner("migrate")
    add = ["schedule", "add", "nightly", "--type", "echo", "--cron", "0 3 * * *", "--allow-unknown"]
    jobrunner(*add, "--quiet-time", "5m")
    assert "quiet for 5m" in jobrunner("schedule", "show", "nightly")
    jobrunner("schedule", "edit", "nightly", "--quiet-time", "7m")
    command, schedule = '[jobs.echo]\ncommand = ["true"]\n', 'job = "echo"\nschedule = "0 4 * * *"\nquiet_time = "9m"\n'
    (tmp_path / "jobrunner.toml").write_text(f"{command}[schedules.other]\n{schedule}")
    jobrunner("apply")
    found = {each["name"]: each["quiet_time"] for each in json.loads(jobrunner("schedule", "list", "--json"))}
    assert found == {"nightly": 420.0, "other": 540.0}
    jobrunner("enqueue", "echo", "--note", "shell")
    (function,) = json.loads(jobrunner("-c", FUNCTION, python=True))
    with closing(sqlite3.connect(tmp_path / "runs.db")) as connection:
        notes = connection.execute("SELECT note FROM job_runs ORDER BY id").fetchall()
    assert notes == [("shell",), ("code",), ("many",)]
    assert re.search(r"note text DEFAULT NULL,(?s:.*)length\(jobrunner_enqueue.note\) NOT BETWEEN 1 AND 5", function)
    assert re.search(r"INSERT INTO \S+job_runs AS runs \(.*\bnote\b.*\)\n +VALUES \(.*jobrunner_enqueue.note", function)
    jobrunner("downgrade", str(SCHEMA_REVISION), "--delete-data")
    jobrunner("migrate")


def test_an_overlap_policy_is_added_by_its_list_alone(tmp_path: Path) -> None:
    row = '    "single": OverlapPolicy("one at a time, the next is left out", waits_for="unfinished"),\n'
    # In place of the migration, which the test of an option follows.
    first = "jobrunner/store/schema/migrations/versions/0001_core.sqlite.sql"
    jobrunner = copy_with(
        tmp_path,
        ("jobrunner/model.py", "Overlap: TypeAlias = Literal[", '"single", '),
        ("jobrunner/model.py", "OVERLAPS: dict[str, OverlapPolicy] = {\n", row),
        (first, "overlap IN (", "'single', "),
    )
    assert jobrunner("scripts/statements.py", python=True).returncode == 0
    jobrunner("migrate")
    add = ["schedule", "add", "each", "--type", "echo", "--cron", "* * * * *", "--allow-unknown"]
    assert jobrunner(*add, "--overlap", "single").returncode == 0
    assert "one at a time, the next is left out" in jobrunner("schedule", "show", "each").stdout
    jobrunner("schedule", "trigger", "each")
    found = json.loads(jobrunner("explain", "each", "--json").stdout)
    assert (found["reason"], found["facts"]["run"]) == ("overlap", 1)
    with closing(sqlite3.connect(tmp_path / "runs.db")) as connection, connection:
        connection.execute("UPDATE job_definitions SET last_slot_at = last_slot_at - 3600000000, next_run_at = 0")
    assert jobrunner("tick").returncode == 0
    with closing(sqlite3.connect(tmp_path / "runs.db")) as connection:
        assert connection.execute("SELECT count(*) FROM job_runs").fetchone() == (1,)
    assert "skip slots" in jobrunner("schedule", "show", "each").stdout
