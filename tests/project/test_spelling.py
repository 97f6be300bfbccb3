"""Each thing has one name, each name means one thing, and an old name is refused with the new one."""

import inspect
import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import click
import psycopg
import pytest

import jobrunner as library
from harness import Commands, Database, PostgresDatabase, postgresql_only, sqlite_only
from harness.pages import ROOT
from harness.tables.names import ELSEWHERE, NAMES, OPTIONS, OPTIONS_ELSEWHERE
from jobrunner import Context, Entry, ask, job
from jobrunner.application.grouping import Group
from jobrunner.application.job import Job
from jobrunner.application.with_options import JobWithOptions
from jobrunner.cli.options import ALL
from jobrunner.cli.options.run import flag_of
from jobrunner.cli.program import every_command
from jobrunner.errors import UsageError
from jobrunner.jobs.job_options import OF_POLICY
from jobrunner.jobs.run_options import ADDED, OF_RUN
from jobrunner.renamed import RENAMED
from jobrunner.schedules.options import OPTIONS as SCHEDULE_OPTIONS
from jobrunner.settings.config import SETTINGS

OLD = RENAMED["parameter"]
COLUMNS = {"idempotency_key"}
"""Names of columns, which SQL and JSON publish."""


def form(option: click.Option) -> str:
    """What its value looks like in the help."""
    if option.is_flag:
        return "flag"
    choices = option.type.choices if isinstance(option.type, click.Choice) else None
    value = option.metavar or ("|".join(map(str, choices)) if choices else option.type.name)
    return f"{value}{'…' * option.multiple}"


def spelled(command: click.Command) -> set[str]:
    return {name for each in command.params for name in (*each.opts, *each.secondary_opts) if name.startswith("-")}


@sqlite_only
@pytest.mark.parametrize("old", [*RENAMED["command"], *RENAMED["option"]])
def test_an_old_command_or_option_is_refused_with_its_new_name(jobrunner: Commands, old: str) -> None:
    done = jobrunner(*old.split(), check=False)
    new = {**RENAMED["command"], **RENAMED["option"]}[old]
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert f"is now: {'jobrunner ' if old in RENAMED['command'] else ''}{new}" in done.stderr


@sqlite_only
def test_a_type_that_stats_took_as_an_argument_is_refused_with_the_option(jobrunner: Commands) -> None:
    assert f"'report' of 'stats' is now: {RENAMED['argument']['stats']}" in jobrunner.refused(2, "stats", "report")
    assert RENAMED["argument"].keys() == {"stats"}


def test_each_kind_of_an_old_name_has_a_test_of_its_own() -> None:
    assert RENAMED.keys() == {"command", "option", "parameter", "argument"}


def test_each_new_name_of_a_command_or_an_option_is_there_and_no_old_one() -> None:
    tree = every_command()
    assert not RENAMED["command"].keys() & tree.keys()
    assert set(RENAMED["command"].values()) <= tree.keys()
    for old, new in RENAMED["option"].items():
        path, name = old.rsplit(" ", 1)
        assert path not in tree or name not in spelled(tree[path])
        # Another option of this command, or a command of its own.
        if new.startswith("--"):
            assert new.split(",")[0].split()[0] in spelled(tree[path]), old
        else:
            assert any(f"{new} ".startswith(f"jobrunner {each} ") for each in tree), old


def signatures() -> Iterator[tuple[str, inspect.Signature]]:
    """Every function and method that an application can call."""
    exported = {name: getattr(library, name) for name in library.__all__}
    # Its records have the fields of JSON.
    exported |= {name: value for name in ask.__all__ if inspect.isfunction(value := getattr(ask, name))}
    for name, value in {**exported, "Job": Job, "JobWithOptions": JobWithOptions, "Group": Group}.items():
        members = vars(value).items() if isinstance(value, type) else [("", value)]
        for member, function in members:
            if inspect.isfunction(function) and not (member.startswith("_") and member != "__init__"):
                yield f"{name}.{member}".rstrip("."), inspect.signature(function)


def columns_of_json(schema: Any) -> Iterator[str]:
    """The names of all fields in a JSON Schema."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for below in schema.values():
            yield from columns_of_json(below)
    elif isinstance(schema, list):
        for below in schema:
            yield from columns_of_json(below)


def test_no_export_takes_an_option_of_a_run_by_another_name() -> None:
    found = dict(signatures())
    assert {"enqueue", "enqueue_many", "enqueue_async", "enqueue_many_async", "Entry.__init__"} <= found.keys()
    for name, signature in found.items():
        assert not OLD.keys() & signature.parameters.keys(), name
    takes = {
        name: signature.parameters["options"].annotation
        for name, signature in found.items()
        if "options" in signature.parameters
    }
    many = dict.fromkeys(("enqueue_many", "enqueue_many_async", "Job.enqueue_many", "Job.enqueue_many_async"))
    assert {name: takes[name] for name in many} == dict.fromkeys(many, "Unpack[ManyOptions]")
    one = dict.fromkeys(("enqueue", "enqueue_async", "Job.using"))
    assert {name: takes[name] for name in one} == dict.fromkeys(one, "Unpack[RunOptions]")
    assert takes["Entry.__init__"] == "Unpack[EntryOptions]"


def test_command_line_has_each_option_of_a_run_under_its_name() -> None:
    tree = every_command()
    assert {flag_of(name) for name in OF_RUN} <= spelled(tree["enqueue"])
    for path, command in tree.items():
        assert not {*OLD, *map(flag_of, OLD)} & {*(each.name for each in command.params), *spelled(command)}, path


@pytest.mark.parametrize("old", OLD)
def test_old_parameter_is_refused_with_the_new_one(database: Database, connection: Any, old: str) -> None:
    @job
    def send(ctx: Context, to: str) -> None: ...

    loose: Any = send
    given: dict[str, Any] = {old: "x"}
    ways: list[Callable[[], Any]] = [
        lambda: loose.using(**given),
        lambda: loose.enqueue(connection, to="a", **given),
        lambda: loose.enqueue_many(connection, [{"to": "a"}], **given),
        lambda: library.enqueue(connection, "send", {"to": "a"}, **given),
        lambda: library.enqueue_many(connection, "send", [{"to": "a"}], **given),
        lambda: Entry({"to": "a"}, **given),
    ]
    for way in ways:
        with pytest.raises(UsageError, match=rf"\b{OLD[old]}\b"):
            way()
    with pytest.raises(UsageError, match="did you mean run_at"):
        loose.using(run_att=5)


@postgresql_only
def test_function_of_sql_has_each_option_of_a_run_under_its_name(database: PostgresDatabase) -> None:
    names = database.value("SELECT proargnames FROM pg_proc WHERE proname = 'jobrunner_enqueue'")
    old = [name for name in OLD if OLD[name] in OF_RUN]
    first = [name for name in OF_RUN if name not in ADDED]
    assert names == ["job_type", "payload", *first, "traceparent", *ADDED, *old, "id", "outcome"]
    with closing(psycopg.connect(database.url)) as connection:
        for name in old:
            with pytest.raises(psycopg.errors.InvalidParameterValue, match=f"{name} is now {OLD[name]};"):
                connection.execute(f"SELECT jobrunner_enqueue('echo', {name} => 'raise')")
            connection.rollback()


def test_fields_of_json_have_no_old_name() -> None:
    for path in sorted((ROOT / "docs" / "reference" / "schemas").rglob("*.json")):
        fields = set(columns_of_json(json.loads(path.read_text("utf-8"))))
        assert not fields & (OLD.keys() - COLUMNS), path.name


def test_each_option_means_one_thing_in_every_command_and_each_thing_has_one_option() -> None:
    found = set()
    for path, command in every_command().items():
        for option in command.params:
            if isinstance(option, click.Option) and option not in ALL:
                name = max(option.opts, key=len)
                found.add(name)
                meant, _ = OPTIONS_ELSEWHERE.get(f"{path} {name}") or OPTIONS.get(name, ("not in OPTIONS", ""))
                assert form(option) == meant, f"{path} {name}"
    assert OPTIONS.keys() == found


def test_each_option_that_is_a_setting_has_the_name_of_the_setting() -> None:
    own = {name.removeprefix("--").replace("-", "_") for name in spelled(every_command()["tick"]) if name[1] == "-"}
    assert own - SETTINGS.keys() == {"type", "verbose", "probe", "no_strict", "env_file", "config", "utc"}


TABLES: dict[str, dict[str, str]] = {
    "option of a run": {name: row.words for name, row in OF_RUN.items()},
    "option of a job type": {name: row.words for name, row in OF_POLICY.items()},
    "option of a schedule": {row.name: row.help for row in SCHEDULE_OPTIONS.values()},
    "setting": {name: row.words for name, row in SETTINGS.items()},
    "name": NAMES,
}
IN_TWO_TABLES = {
    "max_attempts": "an option of a job type, and of one run",
    "timeout": "an option of a job type, and of one run",
    "concurrency": "a setting of a host, and of a type on a host",
}


def vocabulary() -> dict[str, str]:
    """Each name with its meaning. That of an option of the command line goes first: it is the shortest."""
    known = {name.removeprefix("--").replace("-", "_"): meaning for name, (_, meaning) in OPTIONS.items()}
    for table in reversed(TABLES.values()):
        known = {**table, **known}
    return known


def fields_of_json() -> Iterator[tuple[str, str, str]]:
    """The record, the name and the form of each field in the schemas."""
    for path in sorted((ROOT / "docs" / "reference" / "schemas").rglob("*.json")):
        schema = json.loads(path.read_text("utf-8"))
        records = {**schema.get("$defs", {}), schema["title"]: schema}
        for record, each in records.items():
            for name, field in each.get("properties", {}).items():
                yield record, name, form_of_json(field)


def fields_of_a_notification(message: Any) -> Iterator[tuple[str, str]]:
    """The names in the JSON that a receiver gets, which the page has an example of."""
    if isinstance(message, dict):
        yield from (("notification", name) for name in message)
    for below in message.values() if isinstance(message, dict) else message if isinstance(message, list) else ():
        yield from fields_of_a_notification(below)


NOTIFICATION = json.loads(
    (ROOT / "docs" / "howto" / "notifications.md").read_text("utf-8").partition("```json\n")[2].partition("```")[0]
)


def form_of_json(field: dict[str, Any]) -> str:
    """The type of a field, without null."""
    if "anyOf" in field:
        return " or ".join(sorted({form_of_json(each) for each in field["anyOf"]} - {"null"}))
    if "array" in field.values():
        return f"list of {form_of_json(field['items'])}"
    return str(field.get("$ref") or ("string" if "enum" in field else field.get("type", "any value")))


def parameters() -> Iterator[tuple[str, str]]:
    """The function and the name of each parameter of an export, and the options that it takes as keywords."""
    for function, signature in signatures():
        for name, each in signature.parameters.items():
            if name != "self" and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD) and name[0] != "_":
                yield function.removesuffix(".__init__"), name
    for options in (library.RunOptions, library.ManyOptions, library.EntryOptions, library.JobOptions):
        yield from ((options.__name__, name) for name in options.__annotations__)


def test_each_field_and_parameter_has_a_meaning_of_its_own_and_no_table_has_a_name_twice() -> None:
    used = {name for _, name, _ in fields_of_json()} | {name for _, name in parameters()}
    used |= {name for _, name in fields_of_a_notification(NOTIFICATION)}
    assert used - vocabulary().keys() == set(), "a new name belongs into harness/tables/names.py"
    assert NAMES.keys() - used == set()
    counts = Counter(name for table in TABLES.values() for name in table)
    assert {name for name, count in counts.items() if count > 1} == IN_TWO_TABLES.keys()
    meanings = Counter(vocabulary().values())
    assert [meaning for meaning, count in meanings.items() if count > 1] == []


def test_each_name_of_a_field_has_one_form_in_all_records() -> None:
    forms: dict[str, set[str]] = {}
    for record, name, shape in fields_of_json():
        if f"{record}.{name}" not in ELSEWHERE:
            forms.setdefault(name, set()).add(shape)
    assert {name: shapes for name, shapes in forms.items() if len(shapes) > 1} == {}
    ends = {"at": {"string"}, "seconds": {"number"}, "id": {"integer"}}
    for end, expected in ends.items():
        assert {name: shapes for name, shapes in forms.items() if name.endswith(f"_{end}") and shapes != expected} in (
            {},
            {"trace_id": {"string"}},
        )


def test_every_other_meaning_of_a_name_is_in_use() -> None:
    places = {f"{record}.{name}" for record, name, _ in fields_of_json()}
    places |= {f"{function}.{name}" for function, name in (*parameters(), *fields_of_a_notification(NOTIFICATION))}
    assert [place for place in ELSEWHERE if place not in places] == []
    paths = {f"{path} {name}" for path, command in every_command().items() for name in spelled(command)}
    assert OPTIONS_ELSEWHERE.keys() <= paths
