"""How tables and lines look on a terminal: they fit its width, and colour marks what is wrong.

Imported only if standard output is a terminal. The colours are the eight that every terminal has.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import partial
from itertools import zip_longest
from typing import NamedTuple, TextIO

from jobrunner.text import visible

_GAP = "  "
_TALLEST_CELL = 8
"""A taller cell is harder to read than the fields of a row one below the other."""
_BAR_COLUMNS = 20
_MARKS = "#x-"
_LONG_WORD = 32
"""A longer word, such as a path or an address, may be broken after one of its marks."""
_PIECE = re.compile(r"[^/,:;&?=]*[/,:;&?=]+|[^/,:;&?=]+")

# The numbers of SGR, the escape sequence for styles: 1 is bold, 2 is dim, 31 and above are colours.
PLAIN, HEADING, WRONG = "", "1", "1;31"
_NO_VALUE, _GOOD, _DOUBTFUL, _AT_WORK = "2", "32", "33", "36"
_OF_WORDS = {
    **dict.fromkeys(("dead", "killed", "timed_out", "crashed", "lease_expired"), WRONG),
    **dict.fromkeys(
        ("failed", "cancelled", "discarded", "dropped", "incompatible", "skipped", "paused", "at work, or killed"),
        _DOUBTFUL,
    ),
    **dict.fromkeys(("succeeded", "done"), _GOOD),
    "running": _AT_WORK,
    "-": _NO_VALUE,
}
_WRONG_NAMES = {"error", "last_error", "error_type", "problem", "finding"}


def width() -> int:
    """The columns of the terminal."""
    return max(shutil.get_terminal_size().columns, 20)


class Part(NamedTuple):
    """A piece of a line, and its style."""

    text: str
    style: str = PLAIN


def columns_of(text: str) -> int:
    """How many columns of a terminal a text takes: two for a wide letter, such as a Chinese one, none for an accent."""
    return len(text) if text.isascii() else sum(map(_columns_of_letter, text))


def _columns_of_letter(letter: str) -> int:
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _cut(text: str, room: int) -> Iterator[str]:
    """The text in pieces of at most so many columns."""
    piece = ""
    for letter in text:
        if piece and columns_of(piece + letter) > room:
            yield piece
            piece = ""
        piece += letter
    yield piece


def show_table(headings: Sequence[str], rows: Sequence[Sequence[str]], indent: str) -> None:
    """Aligned columns. If words would have to be broken, the fields of each row stand one below the other."""
    columns = list(zip(headings, *rows, strict=True))
    widths = _widths(columns, width() - len(indent) - len(_GAP) * (len(headings) - 1))
    if widths is None or any(
        len(_lines(cell, room)) > _TALLEST_CELL
        for cells, room in zip(columns, widths, strict=True)
        for cell in cells
        if columns_of(cell) > room
    ):
        for index, row in enumerate(rows):
            if index:
                _print([[]])
            show_fields(list(zip(headings, row, strict=True)), indent)
        return
    _print(_table_lines(headings, rows, widths, indent))


def _table_lines(
    headings: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int], indent: str
) -> Iterator[list[Part]]:
    for row in (headings, *rows):
        styles = [HEADING if row is headings else style_of(*pair) for pair in zip(headings, row, strict=True)]
        wrapped = [_lines(cell, room) for cell, room in zip(row, widths, strict=True)]
        for line in zip_longest(*wrapped, fillvalue=""):
            segments, behind = [], len(indent)
            for cell, room, style in zip(line, widths, styles, strict=True):
                if cell:
                    segments += [Part(" " * behind), Part(cell, style)]
                    behind = -columns_of(cell)
                behind += room + len(_GAP)
            yield segments


def show_fields(values: Sequence[tuple[str, str]], indent: str) -> None:
    """One name and its value per line. A long value goes on below its beginning."""
    column = max((columns_of(name) for name, _ in values), default=0)
    begin = len(indent) + column + len(_GAP)
    lines: list[list[Part]] = []
    for name, value in values:
        first, *more = _lines(value, max(width() - begin, 10))
        style = style_of(name, value)
        padded = f"{name}{' ' * (column - columns_of(name))}{_GAP}"
        lines.append([Part(indent), Part(padded, _NO_VALUE), Part(first, style)])
        lines += [[Part(" " * begin), Part(line, style)] for line in more]
    _print(lines)


def show_bars(kinds: Sequence[str], rows: Sequence[tuple[str, Sequence[int]]]) -> None:
    """A bar for each row: its numbers of each kind. Each kind has a mark, so that no colour is needed."""
    most = max(sum(numbers) for _, numbers in rows)
    column = min(max(columns_of(name) for name, _ in rows), width() // 2)
    room = width() - column - 2 * len(_GAP) - 1
    marks = list(zip(_MARKS, map(partial(style_of, ""), kinds), strict=False))
    lines = []
    for name, numbers in rows:
        lengths = [max(number and 1, number * room // most) for number in numbers]
        lengths[lengths.index(max(lengths))] -= max(0, sum(lengths) - room)
        *above, label = _lines(name, column)
        lines += [[Part(_GAP + line)] for line in above]
        padded = f"{_GAP}{label}{' ' * (column - columns_of(label))}{_GAP}"
        bar = [Part(mark * length, style) for (mark, style), length in zip(marks, lengths, strict=True)]
        lines.append([Part(padded), *bar])
    legend = [Part(_GAP)]
    for (mark, style), kind in zip(marks, kinds, strict=True):
        legend += [Part(mark, style), Part(f" {kind}{_GAP}", _NO_VALUE)]
    _print([*lines, legend])


def show_line(text: str, hanging: int, *, is_wrong: bool) -> None:
    """A line of prose, wrapped between words. Its further lines are indented by ``hanging``."""
    words = text.lstrip(" ")
    indent, hanging = len(text) - len(words), min(hanging, width() // 2)
    style = WRONG if is_wrong else PLAIN
    first, *more = _lines(words, max(width() - max(indent, hanging), 10))
    lines = [[Part(" " * indent), Part(first, style)]]
    _print(lines + [[Part(" " * hanging), Part(each, style)] for each in more])


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
        words = words if columns_of(words) < width() else f"{next(_cut(words, width() - 2)).rstrip()}…"
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


def style_of(name: str, text: str) -> str:
    """The style of a value: by its name, or else by what it says."""
    if text in _OF_WORDS:
        return _OF_WORDS[text]
    return WRONG if name.lower().replace(" ", "_") in _WRONG_NAMES else PLAIN


def _print(lines: Iterable[Sequence[Part]]) -> None:
    """To standard output. It has no styles with NO_COLOR, nor on a terminal that knows none."""
    is_plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") in ("dumb", "unknown")
    for line in lines:
        texts = [text if is_plain or not style else f"\x1b[{style}m{text}\x1b[0m" for text, style in line]
        sys.stdout.write("".join(texts) + "\n")


def _widths(columns: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """The width of each column. None means that not even the longest words have room beside each other."""
    widths = [max(columns_of(piece) for text in texts for piece in ("", *_pieces(text))) for texts in columns]
    wanted = [max(map(columns_of, texts)) - least for texts, least in zip(columns, widths, strict=True)]
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
    if columns_of(text) <= room:
        return [text]
    lines = [""]
    for word in text.split(" "):
        begun = f"{lines[-1]} {word}" if lines[-1] else word
        if columns_of(begun) <= room:
            lines[-1] = begun
        elif columns_of(word) <= room:
            lines.append(word)
        else:
            _add_long_word(lines, word, room)
    return lines if lines[0] else lines[1:]


def _add_long_word(lines: list[str], word: str, room: int) -> None:
    lines.append("")
    for piece in _PIECE.findall(word):
        for part in _cut(piece, room):
            if columns_of(lines[-1] + part) <= room:
                lines[-1] += part
            else:
                lines.append(part)
