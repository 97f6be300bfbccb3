"""Reading a crontab: its lines, its variables and its surroundings, and any line at all."""

import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.crontabs import HOST, job, taken
from jobrunner.crontab.convert import take_over
from jobrunner.crontab.parse import Blank, Comment, Entry, Unreadable, Variable, read
from jobrunner.crontab.report import report
from jobrunner.crontab.toml import write
from jobrunner.errors import BadSchedule, UsageError
from jobrunner.schedules.recurrence import Recurrence
from jobrunner.settings import toml_file
from jobrunner.settings.toml_schedules import declarations


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", Blank(1)),
        (" \t", Blank(1)),
        ("  # a word ", Comment(1, "a word")),
        ("### a", Comment(1, "a")),
        ("MAILTO=", Variable(1, "MAILTO", "")),
        ('MAILTO=""', Variable(1, "MAILTO", "")),
        ("A = 'b c' ", Variable(1, "A", "b c")),
        ('A = "  b c  "', Variable(1, "A", "  b c")),
        ('A=x "y"  ', Variable(1, "A", 'x "y"')),
        ('"A B"=c', Variable(1, "A B", "c")),
        ("PATH=$PATH:/x # y", Variable(1, "PATH", "$PATH:/x # y")),
        ("*/5\t* * * *\ta b", Entry(1, "*/5 * * * *", None, "a b")),
        ("@daily a=b c", Entry(1, "@daily", None, "a=b c")),
        ("-*/5 * * * * a", Entry(1, "*/5 * * * *", None, "a")),
        ("0 5 * * mon-fri a% b", Entry(1, "0 5 * * mon-fri", None, "a% b")),
    ],
)
def test_a_line_is_read_as_cron_reads_it(text: str, line: object) -> None:
    assert read(f"{text}\n".encode(), has_user=False).lines == (line,)


@pytest.mark.parametrize(
    "text", ["0 5 * * *", "0 5 * * * ", "0 5 * *", "@daily", "'A=b", "A='b' c", "* * * * * * a", "abc"]
)
def test_crontab_line_that_cron_cannot_read_is_reported(text: str) -> None:
    (line,) = read(f"{text}\n".encode(), has_user=False).lines
    assert isinstance(line, Unreadable)


def test_a_system_crontab_has_a_user_in_each_line() -> None:
    text = "5 4 * * *  www-data\tcd / && run-parts x\n@daily root a\n5 4 * * * root\n"
    first, second, third = read(text.encode(), has_user=True).lines
    assert first == Entry(1, "5 4 * * *", "www-data", "cd / && run-parts x")
    assert second == Entry(2, "@daily", "root", "a")
    assert isinstance(third, Unreadable)


@pytest.mark.parametrize("data", [b"\0", b"0 5 * * * a\n\x1b[2J\n", b"\x7fELF\x02\x01", b"#" * (2**20 + 1)])
def test_file_that_is_no_crontab_is_refused_as_a_whole(data: bytes) -> None:
    with pytest.raises(UsageError):
        read(data, has_user=False)


def test_a_comment_in_latin_1_is_read_and_a_job_is_not_guessed_at() -> None:
    found = take_over(read("# täglich\n0 5 * * * a\n0 6 * * * ä\n".encode("latin-1"), has_user=False), HOST)
    assert [each.description for each in found.jobs] == ["täglich"]
    assert [(each.line, "UTF-8" in each.text) for each in found.refused] == [(3, True)]


@pytest.mark.parametrize(
    ("data", "word"),
    [(b"0 5 * * * a", "newline"), (b"0 5 * * * a\r\n", "Windows"), (b"\xef\xbb\xbf0 5 * * * a\n", "mark")],
)
def test_crontab_from_another_system_is_read_with_a_remark(data: bytes, word: str) -> None:
    crontab = read(data, has_user=False)
    assert crontab.lines == (Entry(1, "0 5 * * *", None, "a"),)
    assert any(word in remark for remark in crontab.remarks)
    assert any(word in said for said in report(crontab, take_over(crontab, HOST)))


def test_imported_job_gets_the_surroundings_that_cron_gave_it() -> None:
    found = job("A=b\nLOGNAME=x\nCRON_TZ=Asia/Tokyo\nMAILTO=me\n0 5 * * * c d\nZ=late\n")
    assert found.env == {"PATH": "/usr/bin:/bin", "A": "b", "MAILTO": "me"}
    assert (found.cwd, found.stdin, found.command) == ("/home/app", "", "c d")
    assert (found.schedule, found.timezone) == ("0 5 * * *", "Asia/Tokyo")


def test_home_and_path_of_the_crontab_hold_from_there_on() -> None:
    first, second = taken("0 5 * * * a\nHOME=/srv\nPATH=/opt/bin\n0 6 * * * b\n").jobs
    assert (first.cwd, first.env["PATH"]) == ("/home/app", "/usr/bin:/bin")
    assert (second.cwd, second.env) == ("/srv", {"PATH": "/opt/bin", "HOME": "/srv"})


def test_shell_variable_is_used_for_the_lines_below() -> None:
    found = job("SHELL=/bin/bash\n0 5 * * * a | b\n")
    assert found.argv == ("/bin/bash", "-c", "a | b")
    assert 'command = ["/bin/bash", "-c", "a | b"]' in write([found], "a test")


def test_a_home_folder_that_does_not_exist_stops_no_job_as_under_cron() -> None:
    host = replace(HOST, is_folder=lambda path: path != "/home/app")
    found = taken("0 5 * * * a\nHOME=/srv\n0 6 * * * b\n", host=host)
    assert [each.cwd for each in found.jobs] == ["/", "/srv"]
    assert [each.text for each in found.remarks if "no home folder /home/app" in each.text] == [found.remarks[0].text]


def test_standard_input_after_a_percent_sign_keeps_its_blanks() -> None:
    assert job("0 5 * * * a  %b \t\n").stdin == "b \t\n"


FIELD = st.sampled_from(["*", "*/5", "0", "5-10", "mon", "22-2", "5/15", "61", "", "@daily", "@reboot", "-*"])
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=20)
TRICKY = st.text("ab '\"{}\\$=%/~-.\t&", max_size=12)
LINES = st.one_of(
    st.builds(lambda *parts: " ".join(parts), FIELD, FIELD, FIELD, FIELD, FIELD, WORDS),
    st.builds(lambda name, value: f"{name}={value}", WORDS, WORDS),
    st.builds(lambda words, tail: f"0 5 * * * {words} {tail}", WORDS, WORDS),
    st.builds(lambda text: f"# {text}", WORDS),
    st.sampled_from(["", "0 5 * * * root a 'b' \"c\" \\\\ % {} ''' \"\"\"", "SHELL=/bin/bash", 'A=\'"""\\u\'']),
    WORDS,
)


@given(st.lists(LINES, max_size=8), st.booleans())
def test_every_line_is_accounted_for_and_every_job_is_read_back(lines: list[str], has_user: bool) -> None:
    text = "".join(f"{line}\n" for line in lines)
    try:
        crontab = read(text.encode(), has_user=has_user)
    except UsageError:
        return
    found = take_over(crontab, HOST)
    assert len(crontab.lines) == len(lines)
    told = {remark.line for remark in found.remarks} | set(found.comments)
    assert len(told) == len(found.remarks) + len(found.comments)
    assert len(told) + found.blank == len(lines)
    assert all(len(said.splitlines()) == 1 for said in report(crontab, found))
    written = tomllib.loads(write(found.jobs, "a test")).get("jobs", {})
    assert len(written) == len(found.jobs)
    for each in found.jobs:
        command = written[each.name]["command"]
        assert command == (each.command if "shell" in written[each.name] else list(each.argv))
        assert (written[each.name]["env"], written[each.name]["stdin"]) == (each.env, each.stdin)


@given(st.lists(st.one_of(WORDS, TRICKY), min_size=1, max_size=4))
def test_written_toml_is_always_readable(commands: list[str]) -> None:
    text = "".join(f"0 5 * * * {command}\n" for command in commands)
    try:
        found = taken(text)
    except UsageError:
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / "jobrunner.toml"
        path.write_text(write(found.jobs, "a test"), encoding="utf-8")
        read_back = toml_file.read(path)
        assert len(declarations(path, read_back.schedules, sys.maxsize)) == len(found.jobs)


FIELDS = ["0", "1", "5", "7", "*", "*/2", "1-5", "1,2", "mon", "jan", "5/2", "9-1", "sun#2", "L", "60", "31", "2"]


@given(st.lists(st.sampled_from(FIELDS), min_size=5, max_size=5))
def test_imported_expressions_are_checked_like_all_others(fields: list[str]) -> None:
    expression = " ".join(fields)
    found = taken(f"{expression} a\n")
    try:
        wanted = [Recurrence.parse(expression).expression]
        if "#" in expression or "L" in expression:
            # Ours, and no cron's.
            wanted = []
    except BadSchedule:
        wanted = []
    assert [each.schedule for each in found.jobs] == wanted
    assert len(found.refused) == 1 - len(wanted)
