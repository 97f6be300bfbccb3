"""Reads the pages of documentation and does what they say, from an empty folder.

A fenced block is a file if the line before it says ``Save this as `NAME`:``. In a ``console`` block the lines that
begin with ``$ `` are typed and the others are what is printed. A block that no test can run has a comment before it,
invisible to readers, that says why: ``<!-- not run: REASON -->``; one that a test of its own looks at names that test:
``<!-- checked by: tests/test_x.py::test_y -->``. Each ``## `` section with something to run is a session of its own, in
a folder of its own, unless the page says ``<!-- one session -->``.
"""

import re
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.commands import COMMAND, clean_environment
from harness.doc_tables import path_of

ROOT = Path(__file__).parents[2]


def place(page: str) -> str:
    """Where the page of this name lies: `docs/reference/limits.md` for `limits.md`."""
    return str(path_of(page).relative_to(ROOT))


FOR_DEVELOPERS = tuple(place(page) for page in ("handlers.md", "schedules.md", "effects.md", "testing.md"))
"""Pages for those who write handlers. Their commands have a test module of their own, since they take long."""
_COMMENT = re.compile(r"<!-- (.*) -->")
_SAVED = re.compile(r"[Ss]ave this as `([^`]+)`.*:$")
_MARK = "\x1e"


@dataclass(frozen=True)
class Block:
    """A fenced block of code. `line` is that of its fence; `comment` stands right before it."""

    page: str
    line: int
    section: str
    language: str
    text: str
    comment: str
    saved_as: str | None

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def reason_not_run(self) -> str:
        return self.comment.removeprefix("not run: ") if self.comment.startswith("not run: ") else ""

    @property
    def checked_by(self) -> str:
        """The test that looks at this block."""
        return self.comment.removeprefix("checked by: ") if self.comment.startswith("checked by: ") else ""

    @property
    def is_run(self) -> bool:
        return self.language == "console" and not self.comment

    @property
    def commands(self) -> list[str]:
        """What is typed; a line that ends with a backslash goes on."""
        found = re.findall(r"^\$ ((?:.*\\\n)*.*)$", self.text, re.MULTILINE)
        assert found, f"{self.place}: a console block without a command"
        return found


def every_page() -> list[str]:
    """The pages whose blocks are all checked."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "docs" / "adr" / "README.md"]
    found += [path for path in ROOT.glob("docs/**/*.md") if path.parent.name != "adr"]
    found += ROOT.glob("examples/**/*.md")
    return sorted(str(path.relative_to(ROOT)) for path in found)


def read(page: str) -> list[Block]:
    """The blocks of a page, in order."""
    blocks: list[Block] = []
    section, before, comment = "", "", ""
    fence: tuple[int, str] | None = None
    inside: list[str] = []
    for number, line in enumerate((ROOT / page).read_text().splitlines(), 1):
        if fence:
            if line != "```":
                inside.append(line)
                continue
            saved = _SAVED.search(before)
            text = "".join(f"{each}\n" for each in inside)
            blocks.append(Block(page, fence[0], section, fence[1], text, comment, saved[1] if saved else None))
            fence, inside, before, comment = None, [], "", ""
        elif line.startswith("```"):
            fence = number, line[3:]
        elif found := _COMMENT.fullmatch(line):
            comment = found[1]
        elif line.strip():
            section = line.removeprefix("## ") if line.startswith("## ") else section
            before, comment = line, ""
    assert not fence, f"{page}:{fence and fence[0]}: the block has no end"
    return blocks


def checked_by(test: str) -> list[Block]:
    """The blocks that name this test, such as `tests/test_x.py::test_y`; at least one."""
    found = [block for page in every_page() for block in read(page) if block.checked_by == test]
    assert found, f"no page has a block that is <!-- checked by: {test} -->"
    return found


@dataclass(frozen=True)
class Session:
    """Blocks to be followed one after the other, from an empty folder."""

    name: str
    blocks: tuple[Block, ...]


def sessions() -> list[Session]:
    """All there is to run on all pages."""
    found: list[Session] = []
    for page in every_page():
        blocks = read(page)
        whole = "<!-- one session -->" in (ROOT / page).read_text()
        for section in [""] if whole else list(dict.fromkeys(block.section for block in blocks)):
            own = tuple(block for block in blocks if whole or block.section == section)
            if any(block.is_run for block in own):
                found.append(Session(f"{page} {section}".strip(), own))
    return found


@dataclass(frozen=True)
class Shown:
    """A console block, and what its commands really printed, prompts and commands included."""

    block: Block
    printed: str

    def check(self) -> None:
        """Fail unless that is what the page shows."""
        assert normalised(self.printed) == normalised(self.block.text), f"{self.block.place} shows something else"


class Reader:
    """Somebody who follows a page in an empty folder, typing nothing but what is shown."""

    def __init__(self, folder: Path, replaced: Mapping[str, str] | None = None) -> None:
        self.home = folder / "home"
        self.folder = self.home / "app"
        self.folder.mkdir(parents=True)
        self._aside = folder / "aside"
        self._aside.mkdir()
        self._replaced = replaced or {}
        self.environment = clean_environment(self.home) | {"JOBRUNNER_STATE_DIR": str(folder / "state")}
        self.environment["PATH"] = f"{self._programs(folder / 'bin')}:{self.environment['PATH']}"

    def follow(self, blocks: Iterable[Block]) -> list[Shown]:
        """Save the files and type the commands, in the order of the page and in one shell."""
        script = ["exec 2>&1", _PIP]
        consoles: list[Block] = []
        for number, block in enumerate(blocks):
            if block.saved_as:
                (self._aside / str(number)).write_text(self._typed(block.text))
                script.append(f"cp {self._aside}/{number} {shlex.quote(block.saved_as)}")
            elif block.is_run:
                consoles.append(block)
                script.append(f"printf '{_MARK}'")
                for command in block.commands:
                    script += [f"printf '%s\\n' {shlex.quote('$ ' + command)}", self._typed(command)]
        done = subprocess.run(
            ["bash", "-c", "\n".join(script)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        before, *printed = done.stdout.split(_MARK)
        assert not before, before
        assert len(printed) == len(consoles), done.stdout
        return [Shown(block, each) for block, each in zip(consoles, printed, strict=True)]

    def check(self, session: Session) -> None:
        """Follow a session, and fail unless its commands print what the page shows."""
        for shown in self.follow(session.blocks):
            shown.check()

    def _typed(self, text: str) -> str:
        for shown, meant in self._replaced.items():
            text = text.replace(shown, meant)
        return text

    def _programs(self, folder: Path) -> Path:
        """The python3 and jobrunner of this installation, for whoever has not made an environment of his own.

        An environment is made without pip, which takes seconds; see `_PIP`.
        """
        folder.mkdir()
        python = folder / "python3"
        python.write_text(
            f'#!/bin/sh\n[ "$1 $2" = "-m venv" ] && set -- "$@" --without-pip\nexec {sys.executable} "$@"\n'
        )
        python.chmod(0o755)
        (folder / "jobrunner").symlink_to(COMMAND)
        return folder


# What is installed for the tests is lent to the reader's environment; it must be there, and nothing is downloaded. That
# the package itself can be installed is what test_packaging.py shows.
_PIP = rf"""
pip() {{
  [ "$1" = install ] && [ -n "$VIRTUAL_ENV" ] || {{ echo "pip: not in an environment"; return 1; }}
  shift
  for word in "$@"; do case "$word" in
    -*|*/*) ;;
    *) {sys.executable} -c "from importlib.metadata import version; version('$word')" || return 1 ;;
  esac; done
  for folder in "$VIRTUAL_ENV"/lib/python3.*/site-packages; do
    echo 'import site; site.addsitedir("{sysconfig.get_paths()["purelib"]}")' > "$folder/lent.pth"
  done
  for program in jobrunner flask django-admin; do
    sed "1s|.*|#!$VIRTUAL_ENV/bin/python|" {Path(sys.executable).parent}/$program > "$VIRTUAL_ENV/bin/$program"
    chmod +x "$VIRTUAL_ENV/bin/$program"
  done
}}
"""


def without_peaks(text: str) -> str:
    """Without the lines of ``show`` that only attempts of some milliseconds have."""
    return re.sub(r"(?m)^ +peak_memory_bytes +\d+\n", "", text)


def normalised(text: str) -> str:
    """Without what differs from machine to machine: instants, folders, hosts, and the widths that follow from them."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ", "INSTANT", text)
    text = re.sub(r"(?<![\"=])(sqlite:/+|postgresql://)[^\s:]\S*?(?=:?\s|$)", "URL", text)
    text = re.sub(r"(?m)^  \S+( +INSTANT +INSTANT)", r"  HOST\1", text)
    text = re.sub(r"(?m)^  (worker|host) +\S+$", r"  \1 HOST", text)
    text = re.sub(r"(INSTANT) +\S+@\S+ ", r"\1 WHO  ", text)
    text = re.sub(r"(?m)^\d\d:\d\d:\d\dZ( .*), \d+\.\d\d s\b", r"CLOCK\1, SECONDS", text)
    text = re.sub(r"(?m)^(== attempt \d+ on) \S+, begun INSTANT(, at work)?$", r"\1 HOST", text)
    text = re.sub(r"(next try in) \w+;", r"\1 DURATION;", text)
    text = without_peaks(text)
    text = re.sub(r"(?m)^  (processor_seconds) +\S+$", r"  \1 SECONDS", text)
    text = text.replace("URL: up to date", "URL: migrated")  # as the tests' PostgreSQL databases are
    return "\n".join(re.sub(r" {2,}", "  ", line).rstrip() for line in text.strip().split("\n"))
