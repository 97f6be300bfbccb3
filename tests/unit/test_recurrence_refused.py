"""Refused expressions: one line names the field and the correction."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import vixie
from jobrunner.errors import BadSchedule
from jobrunner.schedules.recurrence import Recurrence
from unit.recurrences import LEAP_DAY, assert_one_line, utc

REFUSED = [
    ("", "empty"),
    ("   ", "empty"),
    ("* * * *", "has 4"),
    ("0 0 * * * *", "has 6"),
    ("0 2 * * * /usr/bin/backup", "command"),
    ("0 2 * * *\n", "line break"),
    ("0 2 * * *\r\n* * * * *", "line break"),
    ("0 2 * * *\x00", "ASCII"),
    ("0\x0b2 * * *", "ASCII"),
    ("0\u00a02 * * *", "ASCII"),
    ("\u0660 2 * * *", "ASCII"),
    ("\uff10 2 * * *", "ASCII"),
    ("² 2 * * *", "ASCII"),
    ("0 2 * * *" + ",1" * 600, "at most 1000"),
    ("TZ=UTC 0 2 * * *", "timezone"),
    ("@reboot", "crontab itself"),
    ("@every 5m", "write 'every 5m'"),
    ("@", "@daily"),
    ("@daily backup", "nothing may follow @daily"),
    ("60 * * * *", "the minute field '60': 60 is out of range; write 0 to 59"),
    ("* 24 * * *", "the hour field '24': 24 is out of range; write 0 to 23"),
    ("* * 0 * *", "the day-of-month field '0': 0 is out of range; write 1 to 31"),
    ("* * * 13 *", "the month field '13': 13 is out of range; write 1 to 12"),
    ("* * * * 8", "the day-of-week field '8': 8 is out of range; write 0 to 7"),
    ("5-64/30 * * * *", "64 is out of range"),
    ("9" * 900 + " * * * *", "out of range"),
    ("* 22-2 * * *", "runs backwards; write 22-23,0-2"),
    ("* 23-0 * * *", "write 23,0"),
    ("* * * nov-feb *", "write 11-12,1-2"),
    ("* * * * fri-sun", "write 5-7"),
    ("* * * * fri-mon", "write 5-6,0-1"),
    ("*5 * * * *", "'*5' is not understood"),
    ("** * * * *", "'**' is not understood"),
    ("*-5 * * * *", "not understood"),
    ("1.5 * * * *", "'1.5' is not understood"),
    ("-1 * * * *", "not understood"),
    ("1- * * * *", "not understood"),
    ("1-5-7 * * * *", "not understood"),
    ("+5 * * * *", "not understood"),
    ("1_0 * * * *", "not understood"),
    ("1;2 * * * *", "not understood"),
    ("1,,2 * * * *", "extra comma"),
    (",1 * * * *", "extra comma"),
    ("1, * * * *", "extra comma"),
    ("*/0 * * * *", "a step cannot be 0"),
    ("*/ * * * *", "not understood"),
    ("*/2/3 * * * *", "not understood"),
    ("*/-2 * * * *", "not understood"),
    ("5/15 * * * *", "write 5-59/15"),
    ("*/90 * * * *", "write at most 60"),
    ("0 */25 * * *", "write at most 24"),
    ("0 0 * * monday", "mon"),
    ("0 0 * january *", "jan"),
    ("0 0 * mon *", "the month field"),
    ("0 0 * * jan", "the day-of-week field"),
    ("jan * * * *", "the minute field"),
    ("0 0 ? * *", "'?' is not understood"),
    ("H * * * *", "'H' is not understood"),
    ("0 0 15W * *", "'15W' is not understood"),
    ("0 0 L-3 * *", "not understood"),
    ("0 0 L/2 * *", "not understood"),
    ("0 0 * * L", "not understood"),
    ("0 0 * * friL", "not understood"),
    ("0 0 * * 5#6", "not understood"),
    ("0 0 * * 5#0", "not understood"),
    ("0 0 * * 1-5#2", "not understood"),
    ("0 L * * *", "the hour field"),
    ("0 0 30 2 *", "never fire"),
    ("0 0 31 2,4,6 *", "never fire"),
    ("0 0 30 2 */2", "never fire"),
    ("0 0 LW * */7", "never fire"),
    (None, "NoneType"),
    (5, "int"),
    (["* * * * *"], "list"),
    (b"* * * * *", "bytes"),
]


def short(value: object) -> str:
    return ascii(value)[:30]


@pytest.mark.parametrize(("expression", "told"), REFUSED, ids=short)
def test_refused_expressions(expression: str, told: str) -> None:
    with pytest.raises(BadSchedule) as caught:
        Recurrence.parse(expression)
    assert_one_line(str(caught.value), told)
    with pytest.raises(BadSchedule):
        Recurrence(expression)


@pytest.mark.parametrize(
    "text", ["* 22-2 * * *", "*5 * * * *", "1.5 * * * *", "*-5 * * * *", "1-5-7 * * * *", "1;2 * * * *"]
)
def test_expressions_refused_as_misread_are_accepted_by_cron(text: str) -> None:
    vixie.read(text)


@pytest.mark.parametrize(
    "text",
    [
        "00 02 * * *",
        "*/60 */24 * * *",
        "0 0 * * SUN",
        "0 0 * * mon-Fri",
        "0 0 30 2 1",
        "5-5 * * * *",
        "1-5/10 0 * * *",
        "5-05/2 0 * * mon-1/3",
    ],
)
def test_expressions_that_debian_reads_as_meant_are_accepted(text: str) -> None:
    expected = vixie.fired(vixie.read(text), LEAP_DAY)
    assert list(Recurrence.parse(text).slots(utc("2032-02-28T23:00"), utc("2032-03-01T01:00"))) == expected


@pytest.mark.parametrize(
    ("zone", "told"),
    [
        ("", "not a known zone"),
        (" UTC", "did you mean UTC?"),
        ("utc", "did you mean UTC?"),
        ("Europe/Berln", "did you mean Europe/Berlin?"),
        ("europe/berlin", "did you mean Europe/Berlin?"),
        ("Mars/Olympus", "Europe/Berlin"),
        ("../../etc/passwd", "not a known zone"),
        ("Europe/../UTC", "not a known zone"),
        ("/etc/localtime", "not a known zone"),
        ("/usr/share/zoneinfo/UTC", "not a known zone"),
        ("UTC\x00", "not a known zone"),
        ("UTC\n", "not a known zone"),
        ("Europe", "not a known zone"),
        ("America/Argentina", "not a known zone"),
        ("Europe/", "not a known zone"),
        ("zone.tab", "not a known zone"),
        ("tzdata.zi", "not a known zone"),
        ("leapseconds", "not a known zone"),
        ("zones", "not a known zone"),
        ("posixrules", "not a known zone"),
        ("localtime", "not a known zone"),
        ("Factory", "not a known zone"),
        ("factory", "not a known zone"),
        ("America/Berlin", "did you mean Europe/Berlin?"),
        ("Asia/Tokio", "did you mean Asia/Tokyo?"),
        ("Africa/Kairo", "did you mean Africa/Cairo?"),
        ("right/UTC", "not a known zone"),
        ("posix/UTC", "not a known zone"),
        ("UTC+2", "not a known zone"),
        ("Zürich", "not a known zone"),
        ("x" * 5000, "not a known zone"),
        (None, "NoneType"),
        (1, "int"),
        (["UTC"], "list"),
        (b"UTC", "bytes"),
    ],
    ids=short,
)
def test_refused_zones(zone: str, told: str) -> None:
    with pytest.raises(BadSchedule) as caught:
        Recurrence.parse("0 2 * * *", zone)
    assert_one_line(str(caught.value), told, begins="bad time zone ")


def test_a_file_that_is_not_a_zone_is_refused_wherever_zones_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Notes").write_text("not a zone")
    (tmp_path / "Folder").mkdir()
    import zoneinfo

    zoneinfo.reset_tzpath([str(tmp_path)])
    try:
        for name in ("Notes", "Folder"):
            with pytest.raises(BadSchedule, match="not a known zone"):
                Recurrence.parse("0 2 * * *", name)
    finally:
        zoneinfo.reset_tzpath()
