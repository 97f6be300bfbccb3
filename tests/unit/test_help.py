"""The help of the commands."""

import shlex

from jobrunner.cli.program import MODULES, every_command


def test_help_of_each_command_has_an_example_that_the_command_understands() -> None:
    commands = every_command()
    for words in MODULES:
        path = words.split()
        said = (commands[words].help or "").partition("Example: ")[2].partition("\n\n")[0].strip().strip("`")
        typed = shlex.split(" ".join(said.split()).partition(" && ")[0])
        assert typed[: len(path) + 1] == ["jobrunner", *path], f"{words} --help has no example"
        # Raises for an unknown option, and for a value or a number of words that it refuses.
        commands[words].make_context(path[-1], typed[len(path) + 1 :])
