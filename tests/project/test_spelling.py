"""Each thing has one name, each name means one thing, and an old name is refused with the new one."""

import inspect
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import click
import psycopg
import pytest

import jobrunner as library
from harness import Commands, Database, PostgresDatabase, postgresql_only, sqlite_only
from harness.pages import ROOT
from jobrunner import Context, Entry, job
from jobrunner.application.grouping import Group
from jobrunner.application.job import Job
from jobrunner.application.with_options import JobWithOptions
from jobrunner.cli.options import ALL
from jobrunner.cli.options.run import flag_of
from jobrunner.cli.program import every_command
from jobrunner.errors import UsageError
from jobrunner.jobs.run_options import OF_RUN
from jobrunner.renamed import RENAMED

OLD = RENAMED["parameter"]
COLUMNS = {"idempotency_key"}
"""Names of columns, which SQL and JSON publish."""
# Each option, with the form of its value (a flag has none; … means repeatable) and the one thing that it means. A new
# option belongs here; if its name or its meaning is there already, it is that option.
MEANINGS = {
    "--after": ("JOB_ID…", "a run that must have ended before"),
    "--again": ("flag", "also what was done already"),
    "--all": ("flag", "everything that the command is about"),
    "--allow-host": ("NAME…", "a host name under which the dashboard is reached"),
    "--allow-unknown": ("flag", "accept what this host has no handler for"),
    "--applied": ("flag", "an effect was applied, or was not"),
    "--attempt": ("N", "an attempt by its number"),
    "--batch": ("N", "how many runs a tick claims"),
    "--before": ("JOB_ID", "the run below which a list goes on"),
    "--budget": ("DURATION", "how long a tick takes new runs"),
    "--check": ("flag", "exit with 1 if something would change"),
    "--concurrency": ("N", "how many runs a host has at work"),
    "--concurrency-key": ("K", "runs by their concurrency key"),
    "--cron": ("EXPR", "when a schedule fires, as a crontab has it"),
    "--crontab": ("flag", "look at the crontab"),
    "--debug": ("flag", "call the handler in this process"),
    "--delete-data": ("flag", "agree to the loss of data"),
    "--description": ("TEXT", "what a schedule is for"),
    "--dry-run": ("flag", "show what would change, and change nothing"),
    "--ends-at": ("TIME", "when a schedule ends"),
    "--error-like": ("TEXT", "runs by a part of their error"),
    "--follow": ("flag", "print what is new until the run has ended"),
    "--force": ("flag", "also runs that have succeeded"),
    "--from": ("now|missed", "which missed slots a resumed schedule passes over"),
    "--gone": ("code|file", "a source that no host has any more"),
    "--grace": ("DURATION", "how long handlers may go on at a stop"),
    "--host": ("HOST…", "hosts"),
    "--if-parent-fails": ("cancel|run", "what to do if the run to wait for ends dead or cancelled"),
    "--if-taken": ("existing|raise|replace", "what to do if a key is taken"),
    "--jitter": ("DURATION", "how far runs of a schedule are spread"),
    "--json": ("flag", "print one JSON document"),
    "--jsonl": ("flag", "print a JSON document for each line"),
    "--keep": ("flag", "delete nothing"),
    "--key": ("K", "the idempotency key of a run"),
    "--limit": ("N", "how many at most"),
    "--linger": ("[DURATION]", "how long to listen for new runs"),
    "--log-file": ("FILE", "where a tick appends its log"),
    "--max-attempts": ("N", "how many attempts a run has"),
    "--max-runs": ("N", "how many runs a schedule makes"),
    "--metrics": ("flag", "answer /metrics"),
    "--misfire": ("latest|skip|all", "which missed slots get a run"),
    "--misfire-most": ("N", "how many missed slots get a run at once"),
    "--misfire-window": ("DURATION", "how old a missed slot may be"),
    "--name": ("NEW", "the new name of a schedule"),
    "--only": ("NAME…", "findings by their names"),
    "--outcome": ("JSON", "what a call would have returned"),
    "--output": ("FILE", "the file to write instead of standard output"),
    "--over": ("DURATION", "over which time starts are spread"),
    "--overlap": ("skip|queue|allow|replace", "what to do when the previous run has not finished"),
    "--paused": ("flag", "add a schedule paused"),
    "--payload": ("JSON|@FILE|-", "the arguments of a run"),
    "--port": ("N", "the port to listen on"),
    "--prefix": ("PATH", "the path that a proxy adds"),
    "--priority": ("N", "the priority of a run"),
    "--proxy": ("ADDRESS…", "a proxy whose headers are trusted"),
    "--read-only": ("flag", "nobody who is meant can change anything"),
    "--reason": ("TEXT", "why, for the audit trail"),
    "--redact": ("NAME…", "names whose values are hidden"),
    "--run-at": ("TIME", "the earliest start of a run"),
    "--schedule": ("NAME", "a schedule by its name"),
    "--since": ("TIME", "not earlier than this"),
    "--start-deadline": ("DURATION", "how long a run of a schedule may wait for its start"),
    "--status": ("queued|running|succeeded|failed|dead|cancelled…", "runs by their statuses"),
    "--strict": ("flag", "commit each result before the next run begins"),
    "--system": ("flag", "the crontab names users"),
    "--timeout": ("DURATION", "the limit of each attempt"),
    "--timezone": ("ZONE", "the time zone of an expression"),
    "--trust-header": ("NAME", "the header in which a proxy names the user"),
    "--type": ("TYPE…", "job types"),
    "--until": ("TIME", "not later than this"),
    "--user": ("NAME", "the user whose ticks run the jobs"),
    "--user-file": ("FILE", "the file of the users of the dashboard"),
    "--verbose": ("flag", "log to stderr"),
    "--waiting-for": ("time|retry|parent|pause|limit|key|tick…", "runs by what they wait for"),
    "--watch": ("flag", "show it again and again"),
    "--yes": ("flag", "do not ask"),
}
ELSEWHERE = {
    "schedule add --schedule": ("EXPR", "when a schedule fires: its name is the argument, and toml calls it schedule"),
    "schedule edit --schedule": ("EXPR", "the same"),
    "schedule add --type": ("TYPE", "the job type to run: a schedule has one"),
    "schedule edit --type": ("TYPE", "the same"),
    "web --host": ("text", "an address of this host, as servers call it"),
}
"""Where an option of this name means something else, and why it may."""


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
    assert names == ["job_type", "payload", *OF_RUN, "traceparent", *old, "id", "outcome"]
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
                meant, _ = ELSEWHERE.get(f"{path} {name}") or MEANINGS.get(name, ("not in MEANINGS", ""))
                assert form(option) == meant, f"{path} {name}"
    assert MEANINGS.keys() == found
    meanings = [MEANINGS[name][1] for name in found]
    assert sorted(meanings) == sorted(set(meanings))
