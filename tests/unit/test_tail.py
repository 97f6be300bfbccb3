"""The tails of outputs, separated by a mark: the same sections however the bytes arrive."""

from collections.abc import Iterable
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from jobrunner.children.output import TAIL_BYTES, Sections, Tail

MARK = b"\0jobrunner 00ab\n"
# Pieces of the mark itself among them: the worst that a handler may write without knowing it.
texts = st.lists(
    st.sampled_from([b"", b"a", b"\n", b"\0", b"\0\0", MARK[:5], MARK[:-1], MARK[1:], b"text "]), max_size=5
).map(b"".join)
lists_of_outputs = st.lists(texts.filter(lambda text: MARK not in text), min_size=1, max_size=6)


def written(parts: Iterable[bytes]) -> Sections:
    sections = Sections(MARK)
    for part in parts:
        sections.add(part)
    return sections


def texts_of(sections: Sections, count: int) -> list[str | None]:
    """The output of each of the next ``count`` runs."""
    found = []
    for _ in range(count):
        found.append(sections.first.text())
        sections.next_section()
    return found


def split(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


@given(lists_of_outputs, st.lists(st.integers(0, 1000), max_size=8))
def test_output_sections_do_not_depend_on_how_output_is_split(outputs: list[bytes], cuts: list[int]) -> None:
    # Also where the end of a text and the mark after it look like a mark that begins earlier.
    data = b"".join(output + MARK for output in outputs)
    whole = texts_of(written([data]), len(outputs))
    assert texts_of(written(split(data, cuts)), len(outputs)) == whole
    assert whole == [output.decode() or None for output in outputs]


def test_a_mark_may_come_byte_by_byte() -> None:
    data = b"one" + MARK + MARK + b"three" + MARK
    assert texts_of(written(bytes([byte]) for byte in data), 3) == ["one", None, "three"]


def test_without_a_mark_the_next_run_gets_a_new_section() -> None:
    sections = written([b"all that is written goes elsewhere"])
    assert texts_of(sections, 1) == ["all that is written goes elsewhere"]
    assert sections.first.text() is None
    sections.add(b"next" + MARK)
    assert texts_of(sections, 1) == ["next"]


def test_output_that_begins_like_a_mark_is_kept() -> None:
    sections = written([MARK[:6]])
    assert sections.first.text() is None
    sections.add(b"no")
    assert sections.first.text() == (MARK[:6] + b"no").decode()


def test_the_end_of_a_flood_is_kept_in_its_own_section() -> None:
    flood = b"x" * 70_000 + b"end"
    sections = written([b"before" + MARK, flood[:40_000], flood[40_000:] + MARK[:3], MARK[3:] + b"after" + MARK])
    assert texts_of(sections, 3) == ["before", flood[-TAIL_BYTES:].decode(), "after"]


@given(st.lists(st.binary(max_size=TAIL_BYTES), max_size=8))
def test_tail_keeps_the_end_and_counts_every_byte(parts: list[bytes]) -> None:
    tail = Tail()
    for part in parts:
        tail.add(part)
    data = b"".join(parts)
    assert tail.bytes_written == len(data)
    assert tail.text() == (data[-TAIL_BYTES:].decode("utf-8", "replace") if data else None)


def test_the_last_line_is_the_last_that_is_not_blank() -> None:
    tail = Tail()
    assert tail.last_line() == ""
    tail.add(b"first\n last one \n\n  \n")
    assert tail.last_line() == "last one"
