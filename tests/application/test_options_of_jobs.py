"""Each option of a job type is checked where it is written: in `@job` and in jobrunner.toml."""

import inspect
import json
import tomllib
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from harness import App, Commands, Database, sqlite_only
from harness.handlers_rows import queue
from jobrunner import Context, fixed, job
from jobrunner.application import registry
from jobrunner.application.handler_options import OF_JOB, Exceptions, When, Zone
from jobrunner.application.job import Job
from jobrunner.errors import ConfigurationError, UsageError
from jobrunner.jobs.job_options import OF_POLICY, FormerNames, HowOften, Length, Name, Names, Waits
from jobrunner.jobs.options import Kind, Number, OneOf
from jobrunner.jobs.policy import as_data, from_data
from jobrunner.model import Policy
from jobrunner.schedules import declare
from jobrunner.settings import toml_file
from jobrunner.testing import context

# As they are written in a handler module.
VALUES = [
    "None", "0", "-1", "1", "1.5", "float('nan')", "float('inf')", "1e308", "10**5000", "True", "''", "'x'", "'2s'",
    "'60'", "'\\ud800\\x1b'", "b'2s'", "[]", "[1]", "(1.0, 'x')", "['x']", "{}", "{1}", "object()", "Decimal(2)",
    "['a', 'b', 'c', 'd']", "'x' * 101",
    "lambda: 2", "int", "print", "type", "ValueError", "ValueError()", "[ValueError]", "(ValueError, 3)",
    "(ValueError, (KeyError, OSError))", "Exception('x')", "timedelta(seconds=2)", "timedelta(microseconds=1)",
    "timedelta(0)", "timedelta(-1)", "timedelta.max", "Unspeakable()", "'none'", "'drop'", "'active'", "'window'",
    "'10/s'", "'1/999999999d'", "'@daily'", "'UTC'", "Schedule('@daily')", "[Schedule('@daily')]", "[Schedule(5)]",
    "fixed", "fixed('2s')", "Backoff('odd', (1.0,))", "Backoff('fixed', ())", "Backoff('fixed', ('2s',))",
    "Backoff('waits', (float('nan'),))", "Backoff('fixed', (1.0,), jitter=7)", "Backoff",
]  # fmt: skip
DURATIONS = ["1", "1.5", "'2s'", "'60'", "timedelta(seconds=2)", "timedelta(microseconds=1)"]
# What each kind takes. All else is refused.
OF_KINDS: dict[type[Kind], list[str]] = {
    Number: ["1"],
    OneOf: ["'drop'", "'active'"],
    Length: DURATIONS,
    Waits: ["fixed('2s')"],
    HowOften: ["'10/s'"],
    Names: ["'x'", "['x']", "'none'", "'drop'", "'active'", "'window'", "'UTC'"],
    FormerNames: [
        "'x'", "'2s'", "'60'", "[]", "['x']", "['a', 'b', 'c', 'd']", "'x' * 101", "'none'", "'drop'", "'active'",
        "'window'", "'10/s'", "'1/999999999d'", "'UTC'",
    ],
    Name: ["'x'", "'none'", "'drop'", "'active'", "'window'", "'UTC'"],
    Exceptions: ["[]", "ValueError", "[ValueError]", "(ValueError, (KeyError, OSError))"],
    When: ["None", "[]", "'@daily'", "Schedule('@daily')", "[Schedule('@daily')]"],
    Zone: ["'UTC'"],
}  # fmt: skip
MORE = {"timeout": ["'none'"], "kill_after": ["0", "timedelta(0)"]}
IN_FILES = {
    **OF_KINDS,
    OneOf: ['"drop"', '"active"'],
    Length: ["1", "1.5", '"2s"', '"60"'],
    Waits: ['{ fixed = "2s" }', '{ waits = "1s" }'],
    HowOften: ['"10/s"'],
    Names: ['"x"', '["x"]', '"none"', '"drop"', '"active"', '"window"'],
    Name: ['"x"', '"none"', '"drop"', '"active"', '"window"'],
    FormerNames: [
        '"x"', '"2s"', '"60"', '"none"', '"drop"', '"active"', '"window"', '"10/s"', '"1/999999999d"', "[]", '["x"]',
    ],
}  # fmt: skip
MORE_IN_FILES = {"timeout": ['"none"'], "kill_after": ["0"]}


def taken(option: str, of_kinds: Mapping[type[Kind], list[str]], more: Mapping[str, list[str]]) -> list[str]:
    """The values that the option takes, as they are written."""
    row = OF_JOB[option]
    words = row.kind.words if isinstance(row.kind, OneOf) else None
    found = [each for each in of_kinds[type(row.kind)] if words is None or each[1:-1] in words]
    return [*found, *more.get(option, ()), *(["None"] if row.takes_none and of_kinds is OF_KINDS else [])]


# Without these the option could not be given at all.
COMPANIONS: dict[str, dict[str, Any]] = {
    "burst": {"rate": "10/s"},
    "max_running_per_key": {"concurrency_key": "x"},
    "rate_per_key": {"concurrency_key": "x"},
    "burst_per_key": {"concurrency_key": "x", "rate_per_key": "10/s"},
    "timezone": {"schedule": "@daily"},
}
NAMES = """
from datetime import timedelta
from decimal import Decimal
from jobrunner import Schedule, fixed, job
from jobrunner.backoff import Backoff

class Unspeakable:
    def __repr__(self):
        raise RuntimeError("cannot be written")
"""


def values(*sources: str) -> dict[str, Any]:
    """The values by their sources."""
    names: dict[str, Any] = {}
    exec(NAMES, names)  # as in a module of handlers
    return {source: eval(source, names) for source in sources}


def tried(ctx: Context, x: str = "", **more: str) -> None: ...


def here() -> int:
    frame = inspect.currentframe()
    assert frame
    assert frame.f_back
    return frame.f_back.f_lineno


def handler_or_refusal(options: dict[str, Any]) -> tuple[Job[Any, Any] | None, str]:
    """The handler with these options, or the refusal, which must name the handler and the line."""
    try:
        line = here() + 1
        return job("tried", **options)(tried), ""
    except ConfigurationError as error:
        said = str(error)
        place = f"application/test_options_of_jobs.py, line {line}"
        assert said.startswith(f"the handler {__name__}.tried ({place}): "), said
        assert "\n" not in said
        assert len(said) < 500
        return None, said.partition("): ")[2]
    finally:
        registry._registered.clear()


@pytest.mark.parametrize("option", OF_JOB)
def test_each_kind_of_value_of_an_option_is_kept_whole_or_refused_with_handler_option_and_line(option: str) -> None:
    kept = []
    for source, value in values(*VALUES).items():
        found, said = handler_or_refusal({**COMPANIONS.get(option, {}), option: value})
        if found is None:
            assert option in said.replace("time zone", "timezone"), (source, said)
            continue
        kept.append(source)
        assert from_data(json.loads(json.dumps(as_data(found.policy)))) == found.policy, source
        assert found.policy.backoff.wait(3)
        assert isinstance(found.is_permanent(ValueError()), bool)
        for each in found.schedules:
            assert declare.from_data(json.loads(json.dumps(declare.as_data(each)))) == each
    assert sorted(kept) == sorted(taken(option, OF_KINDS, MORE))


def module_of_all() -> dict[str, tuple[str, str]]:
    """For each option and value that is taken: the job type, with the lines that make its handler."""
    found = {}
    for option in OF_JOB:
        for number, source in enumerate(taken(option, OF_KINDS, MORE)):
            more = "".join(f", {name}={value!r}" for name, value in COMPANIONS.get(option, {}).items())
            name = f"{option}_{number}"
            text = source.replace("'@daily'", f"'@daily', name='{name}'") if "Schedule(" in source else source
            # A former name belongs to one type.
            text = (
                source.replace("'x'", f"'{name}_before'")
                if source in ("'x'", "['x']") and option == "formerly"
                else text
            )
            found[name] = (
                f"@job({name!r}, {option}={text}{more})",
                f"def {name}(ctx, x='', **y): raise ValueError('so')",
            )
    return found


@sqlite_only
def test_each_value_that_is_taken_works_in_a_child(jobrunner: Commands, app: App, database: Database) -> None:
    handlers = module_of_all()
    app.write("handlers", "\n".join([NAMES, *(line for lines in handlers.values() for line in lines)]))
    known = {each["job_type"]: each for each in jobrunner("types", "--json").json()}
    assert sorted(known) == sorted(handlers)
    assert known["timeout_2"]["timeout"] == 2
    for name in handlers:
        queue(database, name)
    jobrunner.tick(env={"JOBRUNNER_CONCURRENCY": "2"})
    ends = {row["job_type"]: row["error_type"] for row in database.query("SELECT job_type, error_type FROM job_runs")}
    # One of them has a microsecond.
    assert set(ends.values()) <= {"ValueError", "timeout"}, ends


# As they are written in a configuration file.
IN_FILE = [
    "0", "-1", "1", "1.5", "nan", "inf", "1e308", str(2**63 - 1), "true", '""', '"x"', '"2s"', '"60"', '"none"',
    '"drop"', '"active"',
    '"window"', '"10/s"', '"1/999999999d"', "[]", "[1]", '["x"]', "[[]]", "{}", "{ a = 1 }", "2026-01-05",
    "07:32:00", '{ fixed = "2s" }', "{ fixed = true }", "{ fixed = nan }", "{ fixed = {} }", "{ waits = [] }",
    '{ waits = "1s" }', '{ exponential = "1m", factor = nan }', '{ fixed = "1s", jitter = "x" }', '{ odd = "1s" }',
]  # fmt: skip


@pytest.mark.parametrize("option", OF_POLICY)
def test_each_kind_of_value_in_the_file_is_kept_whole_or_refused_with_file_and_key(option: str, tmp_path: Path) -> None:
    file, kept, refused = tmp_path / "jobrunner.toml", [], {}
    more = [f"{name} = {json.dumps(value)}" for name, value in COMPANIONS.get(option, {}).items()]
    for source in IN_FILE:
        file.write_text("\n".join(["[jobs.tried]", 'command = ["true"]', *more, f"{option} = {source}"]))
        toml_file._parsed.cache_clear()
        assert tomllib.loads(file.read_text())
        try:
            policy = toml_file.read(file).commands["tried"].policy
        except ConfigurationError as error:
            refused[source] = str(error)
            continue
        kept.append(source)
        assert from_data(json.loads(json.dumps(as_data(policy)))) == policy
    assert sorted(kept) == sorted(taken(option, IN_FILES, MORE_IN_FILES))
    assert [said for said in refused.values() if not said.startswith(f"{file}: jobs.tried.{option}")] == []


def method() -> Any:
    class Mails:
        def send(self, ctx: Context) -> None: ...

    # As if the class stood in the module itself.
    Mails.send.__qualname__ = "Mails.send"
    return Mails.send


MISTAKES: dict[str, tuple[Any, dict[str, Any], Any, str]] = {
    # The name, the options and the function, and what is said.
    "name a number": (5, {}, tried, "5 cannot be a job type"),
    "name empty": ("", {}, tried, "'' cannot be a job type; .*; leave it out to take the function's name"),
    "method": ("x", {}, method(), "it is a method, and a tick has nothing to give it as self"),
    "class": ("x", {}, timedelta, "this is a class"),
    "no function": ("x", {}, 5, "must be a function, not 5"),
    "handler": ("x", {}, Job(tried, Policy("y"), None, ()), "handler of 'y' already"),
    "nameless": (None, {}, partial(tried), "give the job type one"),
    "without parameters to read": ("x", {}, dict.fromkeys, "cannot be read|cannot be given by keyword"),
    "max_retries": ("x", {"max_retries": 3}, tried, "max_retries is not an option .*; did you mean max_attempts"),
    "max_attemps": ("x", {"max_attemps": 3}, tried, "did you mean max_attempts"),
    "colour": ("x", {"colour": 3}, tried, "colour is not an option of a job type; there are: max_attempts, timeout"),
    "backoff a text": ("x", {"backoff": "2s"}, tried, r"not '2s'; write fixed\('2s'\) .* or exponential\('2s'\)"),
    "backoff a list": ("x", {"backoff": [1, "2m"]}, tried, r"write waits\('1s', '2m'\)"),
    "backoff not called": ("x", {"backoff": fixed}, tried, r"call it, as in fixed\(\"1m\"\)"),
    "timeout": ("x", {"timeout": "soon"}, tried, "write it as 30s, 5m or 1h30m, or as a number of seconds"),
    "scope without its window": ("x", {"key_scope": "window"}, tried, 'key_scope is "window", which needs the length'),
}


@pytest.mark.parametrize(("name", "options", "function", "says"), MISTAKES.values(), ids=MISTAKES)
def test_mistake_in_a_decorator_names_the_handler_the_line_and_what_is_meant(
    name: Any, options: dict[str, Any], function: Any, says: str
) -> None:
    with pytest.raises(ConfigurationError, match=says) as refused:
        job(name, **options)(function)
    place = f"(application/test_options_of_jobs.py, line {here() - 1})"
    assert str(refused.value).startswith("the handler ")
    assert place in str(refused.value)
    assert registry.registered() == {}


WRONG_PROGRESS = ["half", None, True, -1, float("nan"), float("inf"), [3], {"done": 3}, b"3"]


@pytest.mark.parametrize("value", WRONG_PROGRESS, ids=repr)
def test_progress_that_is_no_number_is_refused_where_it_is_reported(value: Any) -> None:
    noted: list[Any] = []
    ctx = context(progress=noted)
    with pytest.raises(UsageError, match=r"ctx.progress: done must be a number of 0 or more"):
        ctx.progress(value)
    if value is not None:
        with pytest.raises(UsageError, match=r"ctx.progress: total must be"):
            ctx.progress(1, value)
    assert noted == []
    # How many there will be is often not known, or an estimate.
    ctx.progress(150)
    ctx.progress(150, 100)
    assert [each["done"] for each in noted] == [150, 150]


@sqlite_only
def test_module_without_a_handler_is_named_by_those_who_look_for_handlers(jobrunner: Commands, app: App) -> None:
    app.write("handlers", "import os\n")
    jobrunner("migrate")
    assert "handlers has no @job; write @job above each handler" in jobrunner("types").stdout
    assert "handlers has no @job" in jobrunner("enqueue", "greet", check=False).stderr
    (check,) = [
        each for each in jobrunner("doctor", "--json", check=False).json()["checks"] if each["name"] == "handlers"
    ]
    assert (check["verdict"], "handlers has no @job" in check["found"]) == ("warning", True)
