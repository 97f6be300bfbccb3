"""Frames between a parent and its child: complete however the bytes arrive, and garbage is refused."""

import json
import random
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrunner.children.frames import LARGEST_BYTES, BrokenFrame, Frame, Inbox, encode

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
frames = st.builds(
    lambda kind, rest: {**rest, "kind": kind}, st.text(), st.dictionaries(st.text(max_size=8), values, max_size=3)
)
SOME: list[Frame] = [
    {"kind": "run", "run_id": 7, "payload": {"text": "ä 😀 \ud800 \x00", "n": [1.5, None, True]}},
    {"kind": ""},
    {"kind": "report", "run_id": 7, "result": "x" * 300},
]


def with_length(body: bytes) -> bytes:
    return struct.pack("!I", len(body)) + body


def test_a_frame_arrives_whole_wherever_it_is_split() -> None:
    data = b"".join(map(encode, SOME))
    for cut in range(len(data) + 1):
        inbox = Inbox()
        assert inbox.feed(data[:cut]) + inbox.feed(data[cut:]) == SOME


def test_frames_arrive_byte_by_byte_as_soon_as_they_are_complete() -> None:
    ends = {len(b"".join(map(encode, SOME[: count + 1]))): SOME[count] for count in range(len(SOME))}
    inbox = Inbox()
    for position, byte in enumerate(b"".join(map(encode, SOME)), start=1):
        assert inbox.feed(bytes([byte])) == ([ends[position]] if position in ends else [])


@given(st.lists(frames, max_size=5), st.randoms())
def test_any_frames_in_any_pieces_come_back_the_same(sent: list[Frame], chance: random.Random) -> None:
    data = b"".join(map(encode, sent))
    inbox = Inbox()
    received = []
    while data:
        size = chance.randint(1, len(data))
        received += inbox.feed(data[:size])
        data = data[size:]
    assert received == sent
    assert inbox.feed(b"") == []


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b'{"kind": "run"} x', "not JSON"),
        (b"[" * 200_000, "not JSON"),
        (b'{"kind": ' + b"9" * 5000 + b"}", "not JSON"),
        (b"[]", "without a kind"),
        (b"null", "without a kind"),
        (b'"kind"', "without a kind"),
        (b"{}", "without a kind"),
        (b'{"kind": 1}', "without a kind"),
        (b'{"kind": null}', "without a kind"),
    ],
)
def test_a_body_that_is_no_frame_is_refused(body: bytes, problem: str) -> None:
    with pytest.raises(BrokenFrame, match=problem):
        Inbox().feed(with_length(body))


@given(st.binary(max_size=200))
def test_garbage_frame_is_incomplete_or_refused(data: bytes) -> None:
    try:
        for frame in Inbox().feed(data):
            assert isinstance(frame["kind"], str)
    except BrokenFrame:
        return


def test_a_length_beyond_any_message_is_refused_before_the_rest_is_awaited() -> None:
    with pytest.raises(BrokenFrame, match="larger than any message"):
        Inbox().feed(struct.pack("!I", LARGEST_BYTES + 1))
    assert Inbox().feed(struct.pack("!I", LARGEST_BYTES)) == []


def test_text_that_a_handler_writes_to_the_channel_is_refused() -> None:
    with pytest.raises(BrokenFrame, match="larger than any message"):
        Inbox().feed(b"Traceback (most recent call last):\n")


def test_frames_before_a_broken_frame_are_read() -> None:
    inbox = Inbox()
    assert inbox.feed(encode({"kind": "hello"})) == [{"kind": "hello"}]
    with pytest.raises(BrokenFrame):
        inbox.feed(with_length(b"nonsense"))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_nan_and_infinity_are_not_sent(value: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        encode({"kind": "report", "result": value})


@pytest.mark.parametrize("value", [object(), b"x", {1}], ids=["object", "bytes", "set"])
def test_python_objects_are_never_sent(value: Any) -> None:
    with pytest.raises(TypeError, match="not JSON serializable"):
        encode({"kind": "report", "result": value})


def test_the_bytes_are_a_length_and_plain_json() -> None:
    data = encode({"kind": "run", "text": "ä"})
    assert struct.unpack("!I", data[:4]) == (len(data) - 4,)
    assert json.loads(data[4:].decode("ascii")) == {"kind": "run", "text": "ä"}


def test_frames_before_garbage_are_not_lost() -> None:
    inbox = Inbox()
    assert inbox.feed(encode({"kind": "report", "run_id": 1}) + b"\xff" * 100) == [{"kind": "report", "run_id": 1}]
    with pytest.raises(BrokenFrame):
        inbox.feed(b"")
