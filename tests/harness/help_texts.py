"""What a help text lists."""

import re


def listed_commands(text: str) -> list[str]:
    """The names of the commands that the help of a group lists, in all its sections."""
    return re.findall(r"^  ([a-z]+)  +\S", text.partition("\nOptions:")[2], re.MULTILINE)
