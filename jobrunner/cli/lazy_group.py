"""A group of commands that imports the module of a command only when the command is used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Any

import click

from jobrunner.cli import options
from jobrunner.renamed import new_name
from jobrunner.text import nearest

_UNCUT = 1000
"""Characters. A first sentence is shorter than this, so that click does not cut it."""


class LazyGroup(click.Group):
    """Imports only the command that is used, because most calls use one command.

    ``modules`` has for the words of each command the module that holds it, as a function of its name. Two words are a
    command of a group: a package, whose docstring is the help of the group. ``sections`` are the titles in the help,
    with the commands below them. For a name that no command has it proposes the most similar.
    """

    def __init__(
        self,
        *args: Any,
        modules: Mapping[str, str],
        sections: Mapping[str, Sequence[str]] = MappingProxyType({}),
        **keywords: Any,
    ) -> None:
        super().__init__(*args, **keywords)
        self._modules = modules
        self._names = _firsts(sorted(modules))
        self._sections = sections or {"Commands": self._names}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in alphabetical order."""
        return self._names

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, with the options that every command takes. None means that there is none."""
        if cmd_name not in self.commands and cmd_name in self._names:
            command = self._load(cmd_name)
            command.params.extend(options.ALL)
            self.add_command(command, cmd_name)
        return self.commands.get(cmd_name)

    def _load(self, name: str) -> click.Command:
        if (module := self._modules.get(name)) is not None:
            found = vars(import_module(module))
            # A name that Python knows already has an underscore behind it.
            command: click.Command = found.get(f"{name}_") or found[name]
            command.name = name
            return command
        below = {
            words.partition(" ")[2]: module for words, module in self._modules.items() if words.startswith(f"{name} ")
        }
        package = next(iter(below.values())).rpartition(".")[0]
        return LazyGroup(name, modules=below, help=import_module(package).__doc__)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Raises click's usage error."""
        name = args[0]
        if not ctx.resilient_parsing and not name.startswith("-") and self.get_command(ctx, name) is None:
            if (renamed := _renamed(ctx.command_path.split()[1:], args)) is not None:
                ctx.fail(renamed)
            near = nearest(name, self.list_commands(ctx))
            ctx.fail(f"No such command {name[:60]!r}." + ("" if near is None else f" Did you mean {near!r}?"))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by section, each with the begin of its help, up to the first full stop or colon."""
        for title, names in self._sections.items():
            with formatter.section(title):
                found = [(name, self.get_command(ctx, name)) for name in _firsts(names)]
                texts = [(name, each.get_short_help_str(_UNCUT)) for name, each in found if each is not None]
                formatter.write_dl([(name, text.partition(": ")[0].rstrip(".:")) for name, text in texts])


def _firsts(commands: Iterable[str]) -> list[str]:
    """The first word of each, once."""
    return list(dict.fromkeys(words.partition(" ")[0] for words in commands))


def _renamed(group: Sequence[str], args: Sequence[str]) -> str | None:
    """What to say of a command that has another name now, or was one where now there is a group."""
    old = " ".join([*group, args[0]])
    for command in (old, " ".join(group)):
        for option in (word.partition("=")[0] for word in args[1:]):
            if (new := new_name("option", f"{command} {option}")) is not None:
                return f"{option} of {command!r} is now: {new}"
    new = new_name("command", old)
    return None if new is None else f"{args[0]!r} is now: jobrunner {new}"
