"""How tables and lines look on a terminal: they fit its width, and colour marks what is wrong.

Imported only if standard output is a terminal, because rich takes as long to import as a whole command takes. Rich
gives the colours that the terminal knows and the widths of letters. Its markup is never used, because the texts of jobs
are data.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import partial
from itertools import zip_longest
from typing import TextIO

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.console import Console
from rich.segment import Segment, Segments
from rich.style import Style

from jobrunner.text import visible

_GAP = "  "
_TALLEST_CELL = 8
"""A taller cell is harder to read than the fields of a row one below the other."""
_BAR_COLUMNS = 20
_MARKS = "#x-"
_LONG_WORD = 32
"""A longer word, such as a path or an address, may be broken after one of its marks."""
_PIECE = re.compile(r"[^/,:;&?=]*[/,:;&?=]+|[^/,:;&?=]+")

HEADING = Style(bold=True)
WRONG = Style(color="red", bold=True)
_DOUBTFUL = Style(color="yellow")
_NO_VALUE = Style(dim=True)
PLAIN = Style()
_OF_WORDS = {
    **dict.fromkeys(("dead", "killed", "timed_out", "crashed", "lease_expired"), WRONG),
    **dict.fromkeys(
        ("failed", "cancelled", "discarded", "dropped", "incompatible", "skipped", "paused", "at work, or killed"),
        _DOUBTFUL,
    ),
    **dict.fromkeys(("succeeded", "done"), Style(color="green")),
    "running": Style(color="cyan"),
    "-": _NO_VALUE,
}
_WRONG_NAMES = {"error", "last_error", "error_type", "problem", "finding"}


def width() -> int:
    """The columns of the terminal."""
    return max(shutil.get_terminal_size().columns, 20)


def console() -> Console:
    """Standard output. It has no styles with NO_COLOR, nor on a terminal that knows none."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return Console(
        file=sys.stdout, color_system=None if plain else "auto", width=width(),
        highlight=False, markup=False, emoji=False, legacy_windows=False,
    )  # fmt: skip


def show_table(headings: Sequence[str], rows: Sequence[Sequence[str]], indent: str) -> None:
    """Aligned columns. If words would have to be broken, the fields of each row stand one below the other."""
    columns = list(zip(headings, *rows, strict=True))
    widths = _widths(columns, width() - len(indent) - len(_GAP) * (len(headings) - 1))
    if widths is None or any(
        len(_lines(cell, room)) > _TALLEST_CELL
        for cells, room in zip(columns, widths, strict=True)
        for cell in cells
        if cell_len(cell) > room
    ):
        for index, row in enumerate(rows):
            if index:
                _print([[]])
            show_fields(list(zip(headings, row, strict=True)), indent)
        return
    _print(_table_lines(headings, rows, widths, indent))


def _table_lines(
    headings: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int], indent: str
) -> Iterator[list[Segment]]:
    for row in (headings, *rows):
        styles = [HEADING if row is headings else style_of(*pair) for pair in zip(headings, row, strict=True)]
        wrapped = [_lines(cell, room) for cell, room in zip(row, widths, strict=True)]
        for line in zip_longest(*wrapped, fillvalue=""):
            segments, behind = [], len(indent)
            for cell, room, style in zip(line, widths, styles, strict=True):
                if cell:
                    segments += [Segment(" " * behind), Segment(cell, style)]
                    behind = -cell_len(cell)
                behind += room + len(_GAP)
            yield segments


def show_fields(values: Sequence[tuple[str, str]], indent: str) -> None:
    """One name and its value per line. A long value goes on below its beginning."""
    column = max((cell_len(name) for name, _ in values), default=0)
    begin = len(indent) + column + len(_GAP)
    lines: list[list[Segment]] = []
    for name, value in values:
        first, *more = _lines(value, max(width() - begin, 10))
        style = style_of(name, value)
        padded = f"{name}{' ' * (column - cell_len(name))}{_GAP}"
        lines.append([Segment(indent), Segment(padded, _NO_VALUE), Segment(first, style)])
        lines += [[Segment(" " * begin), Segment(line, style)] for line in more]
    _print(lines)


def show_bars(kinds: Sequence[str], rows: Sequence[tuple[str, Sequence[int]]]) -> None:
    """A bar for each row: its numbers of each kind. Each kind has a mark, so that no colour is needed."""
    most = max(sum(numbers) for _, numbers in rows)
    column = min(max(cell_len(name) for name, _ in rows), width() // 2)
    room = width() - column - 2 * len(_GAP) - 1
    marks = list(zip(_MARKS, map(partial(style_of, ""), kinds), strict=False))
    lines = []
    for name, numbers in rows:
        lengths = [max(number and 1, number * room // most) for number in numbers]
        lengths[lengths.index(max(lengths))] -= max(0, sum(lengths) - room)
        *above, label = _lines(name, column)
        lines += [[Segment(_GAP + line)] for line in above]
        padded = f"{_GAP}{label}{' ' * (column - cell_len(label))}{_GAP}"
        bar = [Segment(mark * length, style) for (mark, style), length in zip(marks, lengths, strict=True)]
        lines.append([Segment(padded), *bar])
    legend = [Segment(_GAP)]
    for (mark, style), kind in zip(marks, kinds, strict=True):
        legend += [Segment(mark, style), Segment(f" {kind}{_GAP}", _NO_VALUE)]
    _print([*lines, legend])


def show_line(text: str, hanging: int, *, is_wrong: bool) -> None:
    """A line of prose, wrapped between words. Its further lines are indented by ``hanging``."""
    words = text.lstrip(" ")
    indent, hanging = len(text) - len(words), min(hanging, width() // 2)
    style = WRONG if is_wrong else PLAIN
    first, *more = _lines(words, max(width() - max(indent, hanging), 10))
    lines = [[Segment(" " * indent), Segment(first, style)]]
    _print(lines + [[Segment(" " * hanging), Segment(each, style)] for each in more])


@contextmanager
def changing_line(
    stream: TextIO, *, leaves_no_line: bool = False
) -> Iterator[Callable[[str, float, float | None, str], None]]:
    """A line drawn in place: what goes on, a bar if there is a total, and a message. It never fills the last column."""
    is_simple = os.environ.get("TERM") == "dumb"
    last = ""

    def show(what: str, done: float, total: float | None, message: str) -> None:
        nonlocal last
        amount = "" if total is None else f"[{_bar(done / total if total else 1)}] {done:g}/{total:g}"
        words = "  ".join(filter(None, (visible(what), amount, visible(message))))
        words = words if cell_len(words) < width() else f"{set_cell_size(words, width() - 2).rstrip()}…"
        if words != last:
            stream.write(f"{words}\n" if is_simple else f"\r\x1b[K{words}")
            stream.flush()
        last = words

    try:
        yield show
    finally:
        if last and not is_simple:
            stream.write("\r\x1b[K" if leaves_no_line else "\n")
            stream.flush()


def _bar(share: float) -> str:
    full = round(_BAR_COLUMNS * min(max(share, 0), 1))
    return "#" * full + "." * (_BAR_COLUMNS - full)


class _Page(io.StringIO):
    """What is shown next, composed as for the terminal itself."""

    def isatty(self) -> bool:
        """Whatever is composed for it has its colours and its width."""
        return True


def redraw(show: Callable[[], None], *, is_first: bool) -> None:
    """Show what ``show`` prints from the top of the screen. What the screen has no room for is counted."""
    page = _Page()
    with redirect_stdout(page):
        show()
    lines = page.getvalue().rstrip("\n").split("\n")
    if os.environ.get("TERM") == "dumb":
        sys.stdout.write("\n".join(lines) + "\n\n")
    else:
        room = max(shutil.get_terminal_size().lines - 1, 3)
        if len(lines) > room:
            lines = [*lines[: room - 1], f"… {len(lines) - room + 1} more lines"]
        begin = "\x1b[2J\x1b[H" if is_first else "\x1b[H"
        sys.stdout.write(begin + "".join(f"{line}\x1b[K\n" for line in lines) + "\x1b[J")
    sys.stdout.flush()


def style_of(name: str, text: str) -> Style:
    """The style of a value: by its name, or else by what it says."""
    if text in _OF_WORDS:
        return _OF_WORDS[text]
    return WRONG if name.lower().replace(" ", "_") in _WRONG_NAMES else PLAIN


def _print(lines: Iterator[list[Segment]] | list[list[Segment]]) -> None:
    console().print(Segments([each for line in lines for each in (*line, Segment.line())]), end="", soft_wrap=True)


def _widths(columns: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """The width of each column. None means that not even the longest words have room beside each other."""
    widths = [max(cell_len(piece) for text in texts for piece in ("", *_pieces(text))) for texts in columns]
    wanted = [max(map(cell_len, texts)) - least for texts, least in zip(columns, widths, strict=True)]
    spare = room - sum(widths)
    if spare < 0:
        return None
    # Those that want little get all that they want, and the others share the rest.
    order = sorted(range(len(columns)), key=wanted.__getitem__)
    for place, index in enumerate(order):
        given = min(wanted[index], spare // (len(order) - place))
        widths[index] += given
        spare -= given
    return widths


def _pieces(text: str) -> list[str]:
    """What is never broken in a table: the words, and the parts of a very long word."""
    words = text.split(" ")
    if len(text) <= _LONG_WORD:
        return words
    return [piece for word in words for piece in (_PIECE.findall(word) if len(word) > _LONG_WORD else [word])]


def _lines(text: str, room: int) -> list[str]:
    """The text in lines of at most so many columns, broken between words if these have room."""
    if cell_len(text) <= room:
        return [text]
    lines = [""]
    for word in text.split(" "):
        begun = f"{lines[-1]} {word}" if lines[-1] else word
        if cell_len(begun) <= room:
            lines[-1] = begun
        elif cell_len(word) <= room:
            lines.append(word)
        else:
            _add_long_word(lines, word, room)
    return lines if lines[0] else lines[1:]


def _add_long_word(lines: list[str], word: str, room: int) -> None:
    lines.append("")
    for piece in _PIECE.findall(word):
        for part in chop_cells(piece, room):
            if cell_len(lines[-1] + part) <= room:
                lines[-1] += part
            else:
                lines.append(part)
