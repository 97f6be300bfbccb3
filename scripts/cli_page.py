"""Write docs/reference/cli.md, the reference of the command line, from the commands themselves: `make docs`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

from jobrunner.cli import options
from jobrunner.cli.program import MODULES, cli, every_command

# Commands keep the names of the help option that they first see; with this parent they see those of the program.
_CONTEXT = click.Context(cli, **cli.context_settings)
PAGE = Path(__file__).parents[1] / "docs" / "reference" / "cli.md"

TERMINAL = """\
On a terminal, tables fit its width, words are not broken, what is wrong is coloured, and times are in the time zone
of the reader with their offset. `--utc` shows them in UTC, and `NO_COLOR=1` or `TERM=dumb` has no colours. Into a
pipe or a file, the same commands write plain text in UTC, without colours and as wide as it is; for programs there is
`--json`. Control characters in the texts of jobs are shown as escapes everywhere.
"""

_HEAD = f"""\
# Commands

<!-- Made by `make docs` from the help texts of the commands. Change those, and not this page. -->

`jobrunner COMMAND --help` shows the same. [Settings](settings.md) change the defaults of `tick`.

{TERMINAL}
"""

EXIT_CODES = """\
## Exit codes

| code | meaning |
|---|---|
| 0 | The command did what it was asked for. `tick` exits with 0 when it did its work, whatever became of the runs. |
| 1 | A request could not be met. |
| 2 | The command line is wrong. |
| 69 | The database does not answer within its [limits](../howto/unreachable.md#time-limits). |
| 70 | An internal error: a fault of jobrunner itself. |
| 78 | The configuration is wrong, or the schema must be migrated. |
| 130 | The command was interrupted. |
"""


def page() -> str:
    """The whole page."""
    found = commands()
    lists = "".join(f"- [`{name}`](#{_anchor(name)}): {_first_line(command)}\n" for name, command in found)
    texts = "\n".join(_section(name, command) for name, command in found)
    common = f"## Options of every command\n\n{_table(common_options())}"
    return f"{_HEAD}{lists}\n{common}\n{texts}\n{EXIT_CODES}"


def commands() -> list[tuple[str, click.Command]]:
    """Each command that is no group, with all its words, in alphabetical order."""
    return [(f"jobrunner {words}", each) for words, each in every_command().items() if words in MODULES]


def _section(name: str, command: click.Command) -> str:
    parts = [f"## {name}", f"Usage: `{usage(name, command)}`", *paragraphs(command)]
    own = own_options(command)
    return "\n\n".join([*parts, _table(own).rstrip("\n")] if own else parts) + "\n"


def usage(name: str, command: click.Command) -> str:
    """How the command is called."""
    return " ".join([name, *command.collect_usage_pieces(click.Context(command, parent=_CONTEXT))])


def own_options(command: click.Command) -> list[click.Option]:
    """Those that not every command has."""
    return [each for each in command.params if isinstance(each, click.Option) and each not in options.ALL]


def paragraphs(command: click.Command) -> Iterator[str]:
    """The help text; code and lists are marked as in Markdown."""
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        if paragraph.startswith("\b\n"):  # click leaves its lines as they are, and so does a list
            yield "\n".join(_item(line) for line in paragraph.splitlines()[1:])
        else:
            yield _example(" ".join(paragraph.split()))


def _example(text: str) -> str:
    """A paragraph. What is typed in an example is code as a whole."""
    label, mark, command = text.partition("Example: ")
    is_bare = mark and not label and not command.startswith("`")
    return f"{mark}`{command}`" if is_bare else _marked(text)


def _item(line: str) -> str:
    name, typed, *rest = re.split(r" {2,}", line)
    return " ".join([f"- {name} `{typed}`", *rest])


def _first_line(command: click.Command) -> str:
    """The first sentence; the list of commands in a help text is made of the same."""
    text = next(paragraphs(command))
    return re.split(r"(?<=\.) ", text)[0]


def _table(found: list[click.Option]) -> str:
    rows = "".join(f"| {_cell(f'`{names}`')} | {_cell(said)} |\n" for names, said in map(help_record, found))
    return f"| option | |\n|---|---|\n{rows}"


def help_record(option: click.Option) -> tuple[str, str]:
    """All its names with what it takes, and what it does, with code marked."""
    names, said = option.get_help_record(_CONTEXT)  # type: ignore[misc]
    return names, _marked(re.sub(r"\s+", " ", said))


def _marked(text: str) -> str:
    """With what is typed as code: options and variables. What is code already stays as it is."""
    return re.sub(
        r"(`[^`]*`)|(--[a-z-]+|\b(?:JOBRUNNER|DATABASE)_[A-Z_]+)", lambda found: found[1] or f"`{found[2]}`", text
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


def common_options() -> list[click.Option]:
    """Those of every command."""
    help_option = cli.get_help_option(_CONTEXT)
    assert help_option is not None
    return [*options.ALL, help_option]


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"written to {PAGE.relative_to(Path.cwd())}")
