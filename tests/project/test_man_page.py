"""docs/reference/jobrunner.1, the man page: made from the commands, and without a fault that mandoc can see."""

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

import jobrunner as package
from harness import Commands, sqlite_only
from harness.debian import NoProgram, find
from harness.doc_tables import path_of
from harness.help_texts import help_of
from jobrunner.cli.program import MODULES
from jobrunner.settings.env_file import written

ROOT = Path(__file__).parents[2]
PAGE = path_of("jobrunner.1")
# A reader who formats the page sees the title, and so that it is of no release yet.
UNRELEASED = "WARNING: cannot parse date, using it verbatim: TH unreleased"


@pytest.fixture(scope="module")
def read() -> str:
    """The page as a reader sees it, in one long line for each paragraph."""
    try:
        mandoc, environment = find("mandoc", "usr/bin/mandoc", "mandoc")
    except NoProgram as problem:
        pytest.skip(str(problem))
    command = [mandoc, "-Tutf8", "-O", "width=1000", PAGE]
    shown = subprocess.run(command, env=dict(environment), capture_output=True, text=True, check=True).stdout
    return re.sub(".\b", "", shown)


def test_man_page_is_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import man_page

    page: Any = man_page
    assert page.PAGE == PAGE
    assert page.PAGE.read_text() == page.page(), "run: make docs"


def test_man_page_has_nothing_that_its_formatter_warns_of(read: str) -> None:
    mandoc, environment = find("mandoc", "usr/bin/mandoc", "mandoc")
    done = subprocess.run([mandoc, "-Tlint", PAGE], env=dict(environment), capture_output=True, text=True)
    assert [line for line in done.stdout.splitlines() if not line.endswith(UNRELEASED)] == []
    assert (read.splitlines()[0].split()[0], done.stderr) == ("JOBRUNNER(1)", "")
    assert read.splitlines()[-1].startswith(f"jobrunner {package.__version__} ")
    # What the pages have and a terminal cannot: links, and code between marks.
    assert not re.search(r"\]\(|`jobrunner|\(see below\)", read)


def test_man_page_has_every_command_with_every_option_and_every_setting(read: str) -> None:
    """Read from the help texts themselves, and not by what makes the page."""
    every = read.partition("\nOPTIONS OF EVERY COMMAND\n")[2].partition("\nWORK\n")[0]
    for command in MODULES:
        section = read.partition(f"\n   jobrunner {command}\n")[2].partition("\n   jobrunner ")[0]
        options = re.findall(r"^  (?:-\w, )?(--?[a-z-]+)", help_of(*command.split()), re.MULTILINE)
        assert options, command
        assert [each for each in options if not re.search(rf"(?m)^ .*{each}\b", f"{section}\n{every}")] == [], command
    environment = read.partition("\nENVIRONMENT\n")[2].partition("\nFILES\n")[0]
    settings = set(re.findall(r"`(JOBRUNNER_[A-Z_]+)` \|", path_of("settings.md").read_text()))
    options = {"JOBRUNNER_ENV_FILE", "JOBRUNNER_CONFIG"}
    assert set(re.findall(r"(?m)^ {7}(JOBRUNNER_[A-Z_]+)$", environment)) == settings - options
    assert all(name in every for name in options)


@sqlite_only
def test_examples_of_the_man_page_work(read: str, jobrunner: Commands, tmp_path: Path) -> None:
    """With an empty database, one after the other."""
    examples = read.partition("\nEXAMPLES\n")[2].partition("\nSEE ALSO\n")[0]
    typed = re.findall(r"(?m)^ {11}jobrunner (.+)$", examples)
    assert len(typed) > 4
    mine = {name: value for name, value in jobrunner.environment().items() if name.startswith("JOBRUNNER_")}
    env_file = tmp_path / "app.env"
    env_file.write_text(written(mine))
    for command in typed:
        done = jobrunner(*shlex.split(command), env={**dict.fromkeys(mine), "JOBRUNNER_ENV_FILE": str(env_file)})
        assert done.stderr == "", command
