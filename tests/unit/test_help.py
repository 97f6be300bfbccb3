"""The help of the commands."""

import shlex
from collections.abc import Iterator

import click

from jobrunner.cli.program import cli


def test_help_of_each_command_has_an_example_that_the_command_understands() -> None:
    for path, command in leaves(cli, []):
        said = (command.help or "").partition("Example: ")[2].partition("\n\n")[0].strip().strip("`")
        typed = shlex.split(" ".join(said.split()).partition(" && ")[0])
        assert typed[: len(path) + 1] == ["jobrunner", *path], f"{' '.join(path)} --help has no example"
        # Raises for an unknown option, and for a value or a number of words that it refuses.
        command.make_context(path[-1], typed[len(path) + 1 :])


def leaves(command: click.Command, path: list[str]) -> Iterator[tuple[list[str], click.Command]]:
    """The commands that are no groups, with the words that name them."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from leaves(found, [*path, name])
