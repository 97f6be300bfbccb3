"""Crontabs made to hang the import, or to deceive the reader of its output."""

import os
import time
import tomllib
from collections.abc import Callable

import pytest

from jobrunner.crontab.convert import take_over
from jobrunner.crontab.host import change_crontab
from jobrunner.crontab.import_records import Host
from jobrunner.crontab.parse import read
from jobrunner.crontab.report import report
from jobrunner.crontab.toml import quoted, write
from jobrunner.errors import JobrunnerError

HOST = Host("app", "/home/app", "Europe/Berlin")
EACH = "* * * * * "
LARGE = 16_000
LINES = {
    "the names of fields in a comment": lambda size: "# " + "m h " * (size // 4) + f"\n{EACH}a",
    "two of them": lambda size: "# " + "dom " * (size // 4) + f"\n{EACH}a",
    "blanks within a value": lambda size: "A=x" + " " * 2 * size + "y",
    "blanks behind quotes": lambda size: 'A="x"' + " " * size + "y",
    "tests": lambda size: EACH + "[ " * (size // 2),
    "open brackets": lambda size: EACH + "$(" * (size // 2),
    "quotes": lambda size: EACH + "'\"" * (size // 2),
    "percent signs": lambda size: EACH + "%\\%" * (size // 3),
    "the same program again and again": lambda size: f"{EACH}a b\n" * (size * 3 // 8),
    "a long list": lambda size: "1," * (size // 2) + "1 * * * * a",
}


def seconds_to_import(text: str) -> float:
    before = time.process_time()
    crontab = read(f"{text}\n".encode(), has_user=False)
    found = take_over(crontab, HOST)
    write(found.jobs, "x")
    list(report(crontab, found))
    return time.process_time() - before


@pytest.mark.parametrize("line", LINES.values(), ids=LINES.keys())
def test_a_line_of_16_kilobytes_does_not_hang_the_import(line: Callable[[int], str]) -> None:
    """The first one took minutes, the others seconds: the time grew as the square of the length, or faster."""
    quarter = seconds_to_import(line(LARGE // 4))
    assert seconds_to_import(line(LARGE)) < 8 * quarter + 0.2


@pytest.mark.parametrize("hidden", ["\x85", "\x9b31m", "\u202e", "\u200b", "\x7f", "\ufeff", "\t", "\u2028"])
def test_no_character_that_acts_or_hides_on_a_terminal_is_printed_into_the_file(hidden: str) -> None:
    for text in (f"echo {hidden}", f'echo "{hidden}" \\'):
        written = quoted(text)
        assert written.isprintable()
        assert tomllib.loads(f"a = {written}") == {"a": text}


def test_a_user_without_an_entry_in_the_password_database_has_no_crontab(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 61_234)
    with pytest.raises(JobrunnerError, match="no user 61234, and so no crontab"):
        change_crontab(lambda text: text)
