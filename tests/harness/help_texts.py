"""The help texts, and what they list."""

import re
from functools import cache

from click.testing import CliRunner

from jobrunner.cli.program import cli


@cache
def help_of(*command: str) -> str:
    """What a command's --help says."""
    done = CliRunner().invoke(cli, [*command, "--help"], prog_name="jobrunner")
    assert done.exit_code == 0
    return done.stdout


def listed_commands(text: str) -> list[str]:
    """The names of the commands that the help of a group lists, in all its sections."""
    return re.findall(r"^  ([a-z]+)  +\S", text.partition("\nOptions:")[2], re.MULTILINE)
