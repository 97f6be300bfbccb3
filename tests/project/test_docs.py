"""The pages of docs/ are compared with the code. Their commands are run in test_docs_commands*.py."""

import asyncio
import json
import re
import subprocess
import tomllib
from datetime import timedelta
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from harness import App, Commands, Database, handlers_rows, pages, typed_jobs
from harness.doc_tables import DOCS, first_table, names_in, path_of, text_of
from harness.help_texts import help_of, listed_commands
from jobrunner import Context, errors, lifecycle
from jobrunner.admin.doctor.database import CHECK_SECONDS
from jobrunner.application import registry
from jobrunner.application.enqueueing import Enqueued
from jobrunner.cli.program import MODULES
from jobrunner.errors import JobrunnerError
from jobrunner.lifecycle import Event, Status
from jobrunner.settings import config
from jobrunner.store.drivers.raw import raw_driver
from jobrunner.store.upkeep import damage

ROOT = Path(__file__).parents[2]
SCHEDULES = text_of("schedules.md")


def test_diagram_is_made_from_the_table_of_transitions():
    name = "tests/project/test_docs.py::test_diagram_is_made_from_the_table_of_transitions"
    arrows = [
        f"    {source} --> {each.target}: {each.event}"
        for each in lifecycle.TRANSITIONS
        for source in each.sources or ("[*]",)
    ]
    assert len(set(arrows)) == len(arrows)
    assert [block.text for block in pages.checked_by(name)] == ["\n".join(["stateDiagram-v2", *arrows, ""])]


def test_life_of_a_run_names_each_status_and_what_a_person_can_do():
    commands = {
        Event.CANCEL: "cancel",
        Event.DISCARD: "discard",
        Event.RETRY: "retry",
        Event.FORCE_RETRY: "retry --force",
    }
    can: dict[str, set[str]] = {status.value: set() for status in Status}
    for transition in lifecycle.TRANSITIONS:
        for source in transition.sources if transition.event in commands else ():
            can[source].add(commands[transition.event])
    table = [row.split("|") for row in re.findall(r"^\| `.*$", text_of("lifecycle.md"), re.MULTILINE)]
    shown = {row[1].strip(" `"): set(re.findall(r"`([^`]+)`", row[3])) for row in table}
    assert list(shown) == list(can)
    assert shown == can


def test_arguments_are_what_the_annotation_says(jobrunner: Commands, app: App, database: Database, engine: Engine):
    code, payload = pages.checked_by("tests/project/test_docs.py::test_arguments_are_what_the_annotation_says")
    imports = "from dataclasses import dataclass\nfrom datetime import UTC, date, datetime, timedelta\n"
    imports += "from jobrunner import Context, job\n"
    handler, _, enqueueing = code.text.partition("with engine")
    app.write("handlers", imports + handler)
    exec(f"{imports}{handler}with engine{enqueueing}", {"engine": engine})
    handlers_rows.queue(database, "remind", json.loads(payload.text))
    jobrunner("enqueue", "remind", "--payload", payload.text)
    assert jobrunner.tick().stderr == ""
    rows = database.query("SELECT status, result FROM job_runs")
    assert [tuple(row.values()) for row in rows] == [("succeeded", "Elm Street, 2020, 10:30:00")] * 3


def test_each_annotation_of_the_page_is_tested():
    names = names_in(first_table(text_of("handlers.md"), "Arguments"))
    types = {name for each in names for name in re.findall(r"[A-Za-z]\w+", each)}
    assert {name for name in types if not re.search(rf"\b{name}\b", typed_jobs.HANDLERS)} == set()


def test_enqueueing_with_options(database: Database, engine: Engine):
    (block,) = pages.checked_by("tests/project/test_docs.py::test_enqueueing_with_options")
    handlers = next(each.text for each in pages.read(pages.place("handlers.md")) if each.saved_as == "jobs.py")
    exec(handlers + block.text, {"engine": engine, "timedelta": timedelta})
    rows = database.query("SELECT payload, priority, max_attempts, idempotency_key FROM job_runs ORDER BY id")
    assert [tuple(row.values()) for row in rows] == [
        ({"name": "Ada"}, 0, None, None),
        ({"name": "Grace"}, 10, 3, None),
        ({"name": "Ada"}, 0, None, "greet:812"),
    ]


def test_enqueueing_with_await(database: Database):
    (block,) = pages.checked_by("tests/project/test_docs.py::test_enqueueing_with_await")
    database.execute("CREATE TABLE users (name TEXT)")
    handlers = next(each.text for each in pages.read(pages.place("handlers.md")) if each.saved_as == "jobs.py")
    namespace: dict[str, Any] = {"text": text, "timedelta": timedelta, "AsyncEngine": AsyncEngine}
    exec(handlers + block.text, namespace)

    async def story() -> None:
        scheme = "postgresql+asyncpg" if database.name == "postgresql" else "sqlite+aiosqlite"
        engine = create_async_engine(f"{scheme}:{database.url.partition(':')[2]}")
        await namespace["sign_up"](engine, "Ada")
        await engine.dispose()

    asyncio.run(story())
    rows = database.query("SELECT payload, run_at, created_at FROM job_runs ORDER BY id")
    assert [(row["payload"], row["run_at"] - row["created_at"]) for row in rows] == [
        ({"name": "Ada"}, timedelta(0)),
        ({"name": "Ada"}, timedelta(days=1)),
    ]
    assert database.query("SELECT name FROM users") == [{"name": "Ada"}]


def test_keys_in_the_page(database: Database, engine: Engine):
    (block,) = pages.checked_by("tests/project/test_docs.py::test_keys_in_the_page")
    exec(block.text, {"engine": engine, "job": registry.job, "Context": Context, "KeyTaken": errors.KeyTaken})
    assert database.query("SELECT payload FROM job_runs") == [{"payload": {"account": 7, "full": True}}]


def test_enqueueing_many_in_ones_own_transaction(database: Database, engine: Engine):
    (block,) = pages.checked_by("tests/project/test_docs.py::test_enqueueing_many_in_ones_own_transaction")
    handlers = next(each.text for each in pages.read(pages.place("handlers.md")) if each.saved_as == "jobs.py")
    users = [SimpleNamespace(id=812, name="Ada"), SimpleNamespace(id=813, name="Grace")]
    namespace = {"engine": engine, "timedelta": timedelta, "new_users": lambda _: users}
    exec(handlers + block.text + block.text.replace("answers", "again"), namespace)
    rows = database.query("SELECT id, payload, idempotency_key FROM job_runs ORDER BY id")
    assert [(row["payload"], row["idempotency_key"]) for row in rows] == [
        ({"name": "Ada"}, "greet:812"),
        ({"name": "Grace"}, "greet:813"),
    ]
    for answers, created in ((namespace["answers"], True), (namespace["again"], False)):
        assert answers == [Enqueued(row["id"], created) for row in rows]


def test_handlers_page_has_each_name_of_the_context():
    section = text_of("handlers.md").partition("\n## The context\n")[2].partition("\n## ")[0]
    assert [name for name in dir(Context) if name[0] != "_" and f"`{name}" not in section] == []


def test_the_example_of_a_configuration_file_is_read(tmp_path: Path):
    (block,) = pages.checked_by("tests/project/test_docs.py::test_the_example_of_a_configuration_file_is_read")
    (tmp_path / "jobrunner.toml").write_text(block.text)
    read = config.load({"JOBRUNNER_CONFIG": str(tmp_path / "jobrunner.toml")})
    assert set(read.commands) == set(tomllib.loads(block.text)["jobs"])
    assert (read.concurrency, read.keep["dead"].days) == (8, 30)


def test_reference_of_the_command_line_is_up_to_date(monkeypatch: pytest.MonkeyPatch):
    page: Any = run_page(monkeypatch)
    assert path_of("cli.md") == page.PAGE
    assert page.PAGE.read_text() == page.page(), "run: make docs"


def test_reference_of_the_command_line_has_every_command_with_every_option():
    """Read from the help texts themselves, and not by what makes the page."""
    text = text_of("cli.md")
    every = text.partition("\n## Options of every command\n")[2].partition("\n## ")[0]
    for command in all_commands():
        section = text.partition(f"\n## jobrunner {command}\n")[2].partition("\n## ")[0]
        options = re.findall(r"^  (?:-\w, )?(--?[a-z-]+)", help_of(*command.split()), re.MULTILINE)
        assert options
        assert [option for option in options if f"{option}" not in section + every] == []


GROUPS = sorted({words.split()[0] for words in MODULES if " " in words})


@cache
def all_commands() -> list[str]:
    def listed(*group: str) -> list[str]:
        return listed_commands(help_of(*group))

    return [*(set(listed()) - set(GROUPS)), *(f"{group} {each}" for group in GROUPS for each in listed(group))]


def test_exit_codes_of_the_reference_are_those_of_the_errors():
    table = first_table(text_of("cli.md"), "Exit codes")
    found = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, JobrunnerError)]
    assert {each.exit_code for each in found} | {0, 2, 130} == {int(row[0]) for row in table}


@pytest.mark.parametrize("page", [*pages.every_page(), *(f"docs/adr/{path.name}" for path in DOCS.glob("adr/0*.md"))])
def test_no_page_names_a_command_or_an_option_that_does_not_exist(page: str):
    """Commands that stand in code, are typed, or are a crontab's; the options of a table's row are its command's."""
    text = (ROOT / page).read_text()
    commands = r"`jobrunner ([^`\n]*)`|^\$ jobrunner (.*)$|^\* \* \* \* \* .*?/jobrunner (.*)$"
    for found in re.findall(commands, text, re.MULTILINE):
        check_exists("".join(found))
    for command, row in re.findall(r"^\| `jobrunner ((?:schedule )?[a-z]+)[^|]*\|(.*)$", text, re.MULTILINE):
        check_exists(" ".join([command, *re.findall(r"`(--[a-z-]+)", row)]))


def check_exists(typed: str) -> None:
    words = re.sub(r"'[^']*'|\"[^\"]*\"", "", typed).partition(" | ")[0].split()
    count = 2 if {*words[:1]} & {*GROUPS} else 1
    if len(words) < count or not re.fullmatch("[a-z ]+", command := " ".join(words[:count])):
        return  # a group, an option of jobrunner itself, or a placeholder
    assert command in all_commands(), typed
    options = [word.partition("=")[0] for word in words if re.match("--[a-z]", word)]
    assert [option for option in options if option not in help_of(*command.split())] == [], typed


def test_every_schedule_command_and_every_option_of_its_slots_is_in_the_page():
    commands = listed_commands(help_of("schedule"))
    assert {"add", "edit", "backfill"} <= set(commands)
    table = re.findall(r"^\| `jobrunner schedule (\w+)` \|", SCHEDULES, re.MULTILINE)
    assert sorted(table) == sorted(commands)
    options = set(re.findall(r"^  (--[a-z-]+)", help_of("schedule", "edit"), re.MULTILINE))
    named_elsewhere = {
        "--type",
        "--schedule",
        "--cron",
        "--timezone",
        "--payload",
        "--description",
        "--name",
        "--allow-unknown",
    }
    of_every_command = {"--env-file", "--config", "--utc", "--reason"}
    assert set(names_in(first_table(SCHEDULES, "Options"))) == options - named_elsewhere - of_every_command


def test_table_of_contents_leads_to_every_page():
    text = (DOCS / "README.md").read_text()
    linked = {(DOCS / target.partition("#")[0]).resolve() for target in re.findall(r"\]\(([^)\s]+)\)", text)}
    assert {path for path in DOCS.glob("*/*.md") if path.parent.name != "adr"} <= linked
    assert set(ROOT.glob("*.md")) | set(ROOT.glob("examples/*/README.md")) <= linked


def test_files_named_in_contributing_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    paths = re.findall(r"`((?:jobrunner|tests|alembic|docs)/[\w./]+)`", text)
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []
    targets = set(re.findall(r"`make ([a-z-]+)", text))
    assert {"install", "check", "docs"} <= targets
    done = subprocess.run(["make", "-n", *targets], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def run_page(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script that makes the page, as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import cli_page

    return cli_page


def test_page_on_restoring_names_the_files_and_how_large_a_file_is_checked() -> None:
    page = text_of("restored.md").partition("### Restore an SQLite file")[2]
    section = page.partition("\n### ")[0]
    assert {f"`FILE{suffix}`" for suffix in ("-wal", "-shm", "-journal")} <= set(re.findall(r"`FILE-\w+`", section))
    assert f"up to {raw_driver.MOST_BYTES_CHECKED // 2**20} MB" in section
    assert f"up to {damage.MOST_BYTES_OF_COMMAND // 2**20} MB" in section
    assert (CHECK_SECONDS, "any for five\nseconds" in section) == (5.0, True)
