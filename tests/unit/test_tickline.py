"""Where the tick's own line is put in a crontab, whose variables hold for all lines below them."""

import pytest

from jobrunner.crontab.tick_line import tick_line, with_line, without_line

LINE = tick_line(["/srv/jobrunner", "tick"], "x", sets_path=True)
OURS = LINE.encode() + b"\n"


@pytest.mark.parametrize(
    ("above", "below"),
    [
        (b"", b""),
        (b"A=1\n0 5 * * * a\n", b""),
        (b"0 5 * * * a\n", b'MAILTO=""\n0 6 * * * b\n'),
        (b"MAILTO=ops\n", b"MAILTO=\nA=1\nMAILTO=''\n0 6 * * * b\n"),
        (b'MAILTO=""\n0 6 * * * b\nMAILTO=ops\n', b""),
        (b"", b' MAILTO = "" \n0 6 * * * b # MAILTO=ops\n'),
        (b'# MAILTO=""\n', b""),
    ],
)
def test_tick_line_is_never_put_after_an_empty_mailto(above: bytes, below: bytes) -> None:
    """Neither at first, nor where an older version has put it."""
    assert with_line(above + below, LINE, "x") == above + OURS + below
    assert with_line(above + below + OURS.replace(b"/srv", b"/old"), LINE, "x") == above + OURS + below
    assert with_line(above + OURS + below, LINE, "x") == above + OURS + below
    assert without_line(above + OURS + below, "x") == above + below


def test_crontab_without_a_final_newline_gets_one() -> None:
    assert with_line(b"0 5 * * * a", LINE, "x") == b"0 5 * * * a\n" + OURS
