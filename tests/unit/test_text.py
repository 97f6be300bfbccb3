"""Texts from outside, made fit for a database, a line and a terminal."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrunner.text import LAST_ERROR_CHARACTERS, one_line, storable, visible, visible_block

CONTROLS = "".join(chr(code) for code in (*range(0x20), *range(0x7F, 0xA0)))
BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
HIDDEN = "\u200b\u200c\u200d\u2060\ufeff\u2028\u2029"

texts = st.text(st.characters(exclude_categories=[]) | st.sampled_from(CONTROLS + BIDI + HIDDEN + "\ud800\udfff"))


@given(texts)
def test_storable_text_is_utf8_without_nul_and_otherwise_the_same(text: str) -> None:
    kept = storable(text)
    assert "\x00" not in kept
    assert len(kept.encode()) >= len(text)
    assert len(kept) == len(text)
    assert all(new in (old, "\ufffd") for old, new in zip(text, kept, strict=True))
    assert storable(kept) == kept


def test_nul_and_each_lone_surrogate_become_the_replacement_character() -> None:
    assert storable("a\x00b\ud83dc\udc00\ud800") == "a\ufffdb\ufffdc\ufffd\ufffd"
    assert storable("😀 ä \x1b[31m") == "😀 ä \x1b[31m"


@given(texts, st.integers(1, 60))
def test_one_line_is_one_storable_line_within_its_limit(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert line == storable(line) == line.strip()
    assert len(line.splitlines()) <= 1
    assert "\n" not in line


def test_white_space_becomes_one_space() -> None:
    assert one_line("  first\r\n\tsecond \v third\u2028fourth\x85fifth ") == "first second third fourth fifth"


def test_a_long_text_is_cut_with_an_ellipsis() -> None:
    assert one_line("x" * LAST_ERROR_CHARACTERS) == "x" * LAST_ERROR_CHARACTERS
    cut = one_line("x" * 10**7)
    assert (len(cut), cut[-1]) == (LAST_ERROR_CHARACTERS, "…")


def test_text_after_much_white_space_is_kept() -> None:
    assert one_line(" " * 3000 + "the reason") == "the reason"
    assert one_line("\n" * 3000 + "the reason", 5) == "the …"


@given(texts)
def test_visible_text_has_no_control_reordering_or_hidden_characters(text: str) -> None:
    shown = visible(text)
    assert not set(shown) & set(CONTROLS + BIDI + HIDDEN)
    assert not {unicodedata.category(character) for character in shown} & {"Cc", "Cs", "Zl", "Zp"}
    assert len(shown.splitlines()) <= 1
    shown.encode()


@given(texts)
def test_a_block_keeps_its_lines_and_tabs_only(text: str) -> None:
    shown = visible_block(text)
    assert not set(shown) & (set(CONTROLS + BIDI + HIDDEN) - {"\n", "\t"})
    assert shown.count("\n") == text.count("\n")
    assert shown.count("\t") == text.count("\t")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", "\\x1b[2J"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("a\x9b31mb", "a\\x9b31mb"),
        ("abc\u202egpj.exe", "abc\\u202egpj.exe"),
        ("pass\u200bword", "pass\\u200bword"),
        ("\ufeffx", "\\ufeffx"),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("\x00\ud800", "\ufffd\ufffd"),
        ("Ünïcödé 😀 עברית", "Ünïcödé 😀 עברית"),
    ],
)
def test_marks_become_escapes_and_letters_stay(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_a_block_of_output_keeps_its_layout() -> None:
    assert visible_block("a\n\tb\r\x1b[1mc") == "a\n\tb\\r\\x1b[1mc"
