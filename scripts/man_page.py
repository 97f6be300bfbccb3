"""Write docs/reference/jobrunner.1, the man page, from the commands and the settings themselves: `make docs`."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

import cli_page

import jobrunner
from jobrunner.cli.program import SECTIONS, cli
from jobrunner.settings.config import SETTINGS

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "jobrunner.1"

_HEAD = """\
.\\" Made by `make docs` from the commands and the settings. Change those, and not this file.
.TH JOBRUNNER 1 "{date}" "jobrunner {version}" "User Commands"
"""
# Not hyphenated, and not filled to both edges: commands and options are to be copied.
_FORM = ".nh\n.ad l\n"

_LETTERS = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti", "…": "..."}

_FILES = {
    "jobrunner.toml": "Commands as job types, schedules, notifications and settings; in `JOBRUNNER_APP_DIR`.",
    "~/.local/share/jobrunner/jobrunner.db": "The SQLite database, if no other one is named.",
    "~/.local/state/jobrunner": "What ticks note about their processes.",
    "/etc/jobrunner, /var/lib/jobrunner, /var/log/jobrunner": (
        "Of Debian's package only: the settings, the data and the log. Its command reads jobrunner.env there by itself."
    ),
}
_EXAMPLES = {
    "Create the tables": "jobrunner migrate",
    "Work on what is due; a crontab line that does so each minute": "jobrunner tick\njobrunner crontab line",
    "See what is wrong, and what happens": "jobrunner health\njobrunner status",
}
_SEE_ALSO = "crontab(5), systemd.timer(5)"


def page() -> str:
    """The whole page."""
    name, *description = cli_page.paragraphs(cli)
    texts = dict(cli_page.commands())
    sections = {
        "Name": f"{_text(f'jobrunner - {name}'.rstrip('.'))}\n",
        "Synopsis": _text("`jobrunner` COMMAND [OPTIONS] …") + "\n",
        "Description": _paragraphs([*description, cli_page.TERMINAL]),
        "Options of every command": _definitions(map(cli_page.help_record, cli_page.common_options())),
        **{
            title: "".join(_command(each, texts[each]) for each in (f"jobrunner {words}" for words in listed))
            for title, listed in SECTIONS.items()
        },
        "Exit status": _definitions(re.findall(r"^\| (\d+) \| (.*) \|$", cli_page.EXIT_CODES, re.MULTILINE)),
        "Environment": _definitions(_variables()),
        "Files": _definitions(_FILES.items()),
        "Examples": ".PP\n".join(f"{title}:\n{_typed(typed)}" for title, typed in _EXAMPLES.items()),
        "See also": f"{_SEE_ALSO}\n",
    }
    head = _HEAD.format(date=_date(), version=jobrunner.__version__)
    return f"{head}{_FORM}" + "".join(f".SH {title.upper()}\n{text}" for title, text in sections.items())


def _date() -> str:
    """That of this version, as the changelog has it: the same page each time that it is made."""
    found = re.search(
        rf"^## {re.escape(jobrunner.__version__)} \((.*?)\)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )
    assert found, "the changelog has no such version"
    return found[1]


def _command(name: str, command: cli_page.click.Command) -> str:
    said = _paragraphs([f"`{cli_page.usage(name, command)}`", *cli_page.paragraphs(command)])
    return f".SS {_text(name)}\n{said}{_definitions(map(cli_page.help_record, cli_page.own_options(command)))}"


def _variables() -> Iterator[tuple[str, str]]:
    for each in SETTINGS.values():
        words = f"A problem is reported if {each.words}" if each.name.startswith("health_") else each.words
        default = each.shown or each.default
        yield f"JOBRUNNER_{each.name.upper()}", f"{words} [default: {default}]" if default else words


def _definitions(found: Iterable[tuple[str, str]]) -> str:
    return "".join(f".TP\n{_bold(term)}\n{_text(said)}\n" for term, said in found)


def _paragraphs(texts: Iterable[str]) -> str:
    return ".PP\n".join(map(_paragraph, texts))


def _paragraph(text: str) -> str:
    """A paragraph, or a list of Markdown."""
    lines = text.splitlines() if text.startswith("- ") else [text]
    return ".br\n".join(f"{_text(line.removeprefix('- '))}\n" for line in lines)


def _typed(text: str) -> str:
    lines = "".join(f"{_escaped(line)}\n" for line in text.splitlines())
    return f".PP\n.nf\n.RS 4\n{lines}.RE\n.fi\n"


def _text(markdown: str) -> str:
    """A text in which what is code is bold. A man page has no links to other pages."""
    text = re.sub(r" ?\((\[[^]]*\]\([^)]*\)|see below)\)", "", " ".join(markdown.split()))
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    pieces = re.split(r"`([^`]*)`", text)
    marked = "".join(_bold(each) if index % 2 else _escaped(each) for index, each in enumerate(pieces))
    lines = textwrap.wrap(marked, 80, break_long_words=False, break_on_hyphens=False)
    return "\n".join(re.sub(r"^(?=[.'])", r"\\&", line) for line in lines)


def _bold(text: str) -> str:
    return f"\\fB{_escaped(text)}\\fP"


def _escaped(text: str) -> str:
    """As it is: no command of roff, no quote or dash of another form, which could not be copied."""
    return "".join(_LETTERS.get(each, each) for each in text)


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"written to {PAGE.relative_to(Path.cwd())}")
