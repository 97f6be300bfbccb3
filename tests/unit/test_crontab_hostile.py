"""Crontabs made to hang the import, or to deceive the reader of its output."""

import os
import time
import tomllib

import pytest

from jobrunner.crontab.convert import take_over
from jobrunner.crontab.host import change_crontab
from jobrunner.crontab.parse import read
from jobrunner.crontab.report import report
from jobrunner.crontab.takeover import Host
from jobrunner.crontab.toml import quoted, write
from jobrunner.errors import JobrunnerError

HOST = Host("app", "/home/app", "Europe/Berlin")
EACH = "* * * * * "
LARGE = 16_000
LINES = {
    "the names of fields in a comment": "# " + "m h " * (LARGE // 4) + f"\n{EACH}a",
    "two of them": "# " + "dom " * (LARGE // 4) + f"\n{EACH}a",
    "blanks within a value": "A=x" + " " * 2 * LARGE + "y",
    "blanks behind quotes": 'A="x"' + " " * LARGE + "y",
    "tests": EACH + "[ " * (LARGE // 2),
    "open brackets": EACH + "$(" * (LARGE // 2),
    "quotes": EACH + "'\"" * (LARGE // 2),
    "percent signs": EACH + "%\\%" * (LARGE // 3),
    "the same program again and again": f"{EACH}a b\n" * 6_000,
    "a long list": "1," * (LARGE // 2) + "1 * * * * a",
}


@pytest.mark.parametrize("text", LINES.values(), ids=LINES.keys())
def test_a_line_of_16_kilobytes_does_not_hang_the_import(text: str) -> None:
    """The first one took minutes, the others seconds."""
    before = time.process_time()
    crontab = read(f"{text}\n".encode(), has_user=False)
    found = take_over(crontab, HOST)
    write(found.jobs, "x")
    list(report(crontab, found))
    assert time.process_time() - before < 1.0


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
