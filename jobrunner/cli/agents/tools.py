"""The tools: which commands an agent may call, and what it is told about each, made from the command itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import click

from jobrunner.cli import options, schemas
from jobrunner.cli.agents.answered import RunsChanged, TypeChanged
from jobrunner.cli.answers import AnswerOption, records
from jobrunner.cli.lazy_group import LazyGroup
from jobrunner.cli.parameters import Checked

QUESTIONS = (
    "status", "health", "explain", "runs", "show", "errors", "history", "stats", "pauses", "limits",
    "effects list", "schedule list", "schedule show", "schedule next",
)  # fmt: skip
"""The commands that only read and answer in JSON, without those that import handlers or may work for minutes."""


class Effect(NamedTuple):
    """What a client may tell its user of a change, before it asks whether the agent may make it."""

    record: type[RunsChanged | TypeChanged]
    is_destructive: bool
    is_idempotent: bool = True


CHANGES = {
    "retry": Effect(RunsChanged, is_destructive=False),
    "cancel": Effect(RunsChanged, is_destructive=True),
    "discard": Effect(RunsChanged, is_destructive=True),
    # A time may be "so long from now".
    "reschedule": Effect(RunsChanged, is_destructive=False, is_idempotent=False),
    "priority": Effect(RunsChanged, is_destructive=False),
    "pause": Effect(TypeChanged, is_destructive=True),
    "resume": Effect(TypeChanged, is_destructive=False),
    "limit": Effect(TypeChanged, is_destructive=True, is_idempotent=False),
    "unlimit": Effect(TypeChanged, is_destructive=False),
}
"""The commands that change runs or what holds them back. All leave a row in the audit trail."""
MOST = 500
"""The most rows of an answer, and the most runs of a change. An agent that needs more is to ask for less at once."""
_NOT_FOR_AGENTS = {
    # A loop, other forms of the answer, and the steps that ``changes`` takes.
    *("watch", "as_json", "as_lines", "is_dry", "is_agreed"),
    # All runs, work that is done, and a payload, which its handler would have to check.
    *("everything", "force", "payload", "allow_unknown"),
}
_ARGUMENTS = {
    "run_id": "The id of a run.",
    "subject": "The id of a run, the name of a schedule, or a job type.",
    "name": "The name of a schedule.",
    "asked": "The name of a schedule, or an expression such as 30 2 * * *.",
    "job_ids": "The ids of runs. Instead of them, or beside them, a filter says which runs.",
    "number": "The new priority.",
    "job_type": "A job type.",
}
"""Click knows no words for an argument."""
_REASON = "Why. The audit trail keeps it, with the name of the user and of this client."
_CONFIRM = (
    "Leave it out first: then nothing is changed, and the answer says which runs would be, and has a value. Call again"
    " with the same arguments and this value to change them."
)


@dataclass(frozen=True)
class Tool:
    """A command as a tool. ``effect`` None: it only reads. ``output`` is the schema of its answer."""

    name: str
    command: click.Command
    effect: Effect | None
    output: Mapping[str, Any]

    @property
    def description(self) -> str:
        """The help of the command, without its examples, which are lines of a shell."""
        words = inspect.cleandoc(self.command.help or "").partition("\n\nExample:")[0]
        return " ".join(words.split())

    @property
    def parameters(self) -> dict[str, click.Parameter]:
        """What an agent may give, by its name."""
        return {_name(each): each for each in self.command.params if _is_for_agents(each)}

    @property
    def input(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        properties = {name: _schema(each) for name, each in self.parameters.items()}
        needed = [name for name, each in self.parameters.items() if each.required]
        if self.effect is not None:
            properties["reason"] = {"type": "string", "minLength": 1, "description": _REASON}
            properties["confirm"] = {"type": "string", "description": _CONFIRM}
            needed.append("reason")
        return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}

    def words(self, arguments: Mapping[str, Any]) -> list[str]:
        """The arguments, which fit the schema, as words of the command line. No value can be taken for an option."""
        given, plain = list[str](), list[str]()
        for name, parameter in self.parameters.items():
            value = arguments.get(name)
            values = value if isinstance(value, list) else [] if value is None else [value]
            if isinstance(parameter, click.Option):
                given += _of_option(parameter, values)
            else:
                plain += map(str, values)
        return [*given, "--", *plain]


def tools(group: LazyGroup, *, allow_changes: bool) -> dict[str, Tool]:
    """All tools by their names."""
    found = {}
    for words in QUESTIONS:
        command = _command(group, words)
        ((_, record), *_) = records({words: command})
        found[_tool_name(words)] = Tool(_tool_name(words), command, None, _output(record))
    for words, effect in CHANGES.items() if allow_changes else ():
        found[_tool_name(words)] = Tool(_tool_name(words), _command(group, words), effect, _output(effect.record))
    return found


def _tool_name(words: str) -> str:
    return f"jobrunner_{words.replace(' ', '_')}"


def _command(group: LazyGroup, words: str) -> click.Command:
    found: click.Command = group
    for name in words.split():
        assert isinstance(found, LazyGroup)
        command = found.get_command(click.Context(found), name)
        assert command is not None
        found = command
    return found


def _is_for_agents(parameter: click.Parameter) -> bool:
    if parameter in options.ALL or isinstance(parameter, AnswerOption):
        return False
    return parameter.name not in _NOT_FOR_AGENTS and parameter.name != "reason"


def _name(parameter: click.Parameter) -> str:
    if isinstance(parameter, click.Option):
        return _flag(parameter).lstrip("-").replace("-", "_")
    return str(parameter.name)


def _flag(option: click.Option) -> str:
    return max(option.opts, key=len)


def _of_option(option: click.Option, values: list[Any]) -> Iterator[str]:
    for value in values:
        if not option.is_flag:
            yield f"{_flag(option)}={value}"
        elif value:
            yield _flag(option)


def _schema(parameter: click.Parameter) -> dict[str, Any]:
    """The schema of a value, or of a list where the command line takes several."""
    described: dict[str, Any]
    if isinstance(parameter, click.Option):
        described = {"description": parameter.help}
    else:
        described = {"description": _ARGUMENTS[str(parameter.name)]}
    if isinstance(parameter, click.Option) and parameter.is_flag:
        return {"type": "boolean", **described}
    kind = _kind(parameter.type)
    if parameter.multiple or parameter.nargs != 1:
        return {"type": "array", "items": kind, "maxItems": MOST, **described}
    if parameter.name == "limit":
        kind["maximum"] = min(kind["maximum"], MOST)
    return {**kind, **described}


def _kind(kind: Any) -> dict[str, Any]:
    if isinstance(kind, click.Choice):
        return {"type": "string", "enum": list(kind.choices)}
    bounds = kind.bounds if isinstance(kind, Checked) else None
    if bounds is None:
        return {"type": "string"}
    least, most = bounds
    return {"type": "integer", "minimum": least, "maximum": most}


def _output(record: Any) -> dict[str, Any]:
    """The schema of an answer, which the protocol wants to be an object: a list is its ``result``."""
    made = schemas.schema(record)
    definitions = made.pop("$defs", {})
    if "$ref" in made:
        made = definitions[made["$ref"].rpartition("/")[2]]
    elif made.get("type") == "array":
        made = {"type": "object", "properties": {"result": made}, "required": ["result"]}
    return {**made, "$defs": definitions} if definitions else made
