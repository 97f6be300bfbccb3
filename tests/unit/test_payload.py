"""Which payloads are allowed: every refusal has a reason, and a valid payload is stored unchanged."""

import json
import sqlite3
from collections import OrderedDict
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrunner.errors import BadPayload
from jobrunner.jobs.payload import check_payload, checked_text, encode_payload, parse_payload
from jobrunner.jobs.payload_limits import DEFAULT_LIMIT_BYTES

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)
payloads = st.dictionaries(texts, values, max_size=6)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner),
    max_leaves=10,
)


def nested(levels: int) -> dict[str, Any]:
    """A payload with so many levels of objects and one number at the bottom."""
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return dict(value)


@given(payloads)
def test_valid_payload_survives_a_round_trip(payload: dict[str, Any]) -> None:
    checked = check_payload(payload)
    assert checked == payload
    assert parse_payload(encode_payload(checked)) == payload


@pytest.mark.parametrize("number", [1e16, -1e22, 1.5e300, 1.7976931348623157e308, 12345678901234567890.0])
def test_a_float_that_postgresql_would_keep_as_a_whole_number_is_one(number: float) -> None:
    checked = check_payload({"a": [number, "1e+22", 1.5, 1e-7]})
    assert [type(each) for each in checked["a"]] == [int, str, float, float]
    assert checked == {"a": [number, "1e+22", 1.5, 1e-7]}
    assert encode_payload(checked) == checked_text({"a": [number, "1e+22", 1.5, 1e-7]})
    with pytest.raises(BadPayload, match="larger than 300 bytes"):
        check_payload({"a": [1e308]}, 300)


@given(anything)
def test_any_object_is_storable_or_refused(value: Any) -> None:
    """Storable: text that both databases take, which is UTF-8 without NUL, and numbers that JSON has."""
    try:
        text = encode_payload(check_payload({"value": value}))
    except BadPayload:
        return
    assert "\\u0000" not in text
    assert json.loads(text.encode().decode(), parse_constant=pytest.fail).keys() == {"value"}
    with closing(sqlite3.connect(":memory:")) as connection:
        assert connection.execute("SELECT json_valid(?)", [text]).fetchone() == (1,)


@given(st.text())
def test_any_text_is_a_payload_or_refused_in_one_line(text: str) -> None:
    refused = ""
    try:
        parse_payload(text)
    except BadPayload as problem:
        refused = str(problem)
    assert len(refused.splitlines()) <= 1


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([1], "must be a JSON object, not an array"),
        ((1,), "must be a JSON object, not an array"),
        ("text", "must be a JSON object, not a string"),
        (True, "must be a JSON object, not true or false"),
        (1, "must be a JSON object, not a number"),
        (1.5, "must be a JSON object, not a number"),
        (None, "must be a JSON object, not null"),
        (object(), "must be a JSON object, not object"),
        ({"a": "x\x00"}, "the value of 'a' holds a NUL character"),
        ({"a": ["\ud800"]}, "the value of 'a' holds a lone surrogate"),
        ({"a": {"b\x00": 1}}, "a key of the value of 'a' holds a NUL character"),
        ({"\udfff": 1}, "a key of the payload holds a lone surrogate"),
        ({1: 2}, "a key of the payload is 1; keys must be text"),
        ({"a": {None: 2}}, "a key of the value of 'a' is None; keys must be text"),
        ({"a": float("nan")}, "the value of 'a' is nan, which JSON cannot hold"),
        ({"a": {"b": [float("inf")]}}, "the value of 'b' is inf, which JSON cannot hold"),
        ({"a": -float("inf")}, "the value of 'a' is -inf, which JSON cannot hold"),
        ({"a": datetime(2026, 1, 1, tzinfo=UTC)}, "the value of 'a' is of type datetime, which JSON cannot hold"),
        ({"a": b"x"}, "the value of 'a' is of type bytes, which JSON cannot hold"),
        ({"a": Decimal(1)}, "the value of 'a' is of type Decimal, which JSON cannot hold"),
        ({"a": {1}}, "the value of 'a' is of type set, which JSON cannot hold"),
        ({"a": 10**5000}, "a number with too many digits"),
        (nested(65), "nested deeper than 64 levels"),
        ({"a": "x" * DEFAULT_LIMIT_BYTES}, "larger than 262144 bytes"),
    ],
)
def test_a_value_that_cannot_be_kept_is_refused(value: object, problem: str) -> None:
    with pytest.raises(BadPayload, match=problem):
        check_payload(value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "not JSON: Expecting value at character 1"),
        ("{", "not JSON: .* at character 2"),
        ('{"a": 1,}', "not JSON: .* at character"),
        ("{'a': 1}", "not JSON: .* at character 2"),
        ('{"a": 1} x', "not JSON: Extra data at character 10"),
        ("[1]", "must be a JSON object, not an array"),
        ("null", "must be a JSON object, not null"),
        ('{"a": NaN}', "holds NaN, which is not JSON"),
        ('{"a": -Infinity}', "holds -Infinity, which is not JSON"),
        ('{"a": 1e400}', "the value of 'a' is inf, which JSON cannot hold"),
        ('{"a": "\\u0000"}', "the value of 'a' holds a NUL character"),
        ('{"a": "\\ud83d"}', "the value of 'a' holds a lone surrogate"),
        ('{"a": 1, "b": 2, "a": 3}', "names 'a' twice"),
        ('{"a": {"b": 1, "b": 1}}', "names 'b' twice"),
        ('{"a": ' + "9" * 5000 + "}", "a number with too many digits"),
        ('{"a": ' * 65 + "1" + "}" * 65, "nested deeper than 64 levels"),
        ("[" * 100_000 + "]" * 100_000, "nested deeper than 64 levels"),
        (f'{{"a": "{"x" * DEFAULT_LIMIT_BYTES}"}}', "larger than 262144 bytes"),
        ("\ufeff{}", "not JSON"),
    ],
)
def test_a_text_that_is_no_payload_is_refused(text: str, problem: str) -> None:
    with pytest.raises(BadPayload, match=problem):
        parse_payload(text)


def test_the_limit_counts_bytes_not_characters() -> None:
    assert check_payload({"a": "ä" * 4}, limit_bytes=16) == {"a": "ää" * 2}
    with pytest.raises(BadPayload, match="larger than 15 bytes"):
        check_payload({"a": "ä" * 4}, limit_bytes=15)
    with pytest.raises(BadPayload, match="larger than 15 bytes"):
        parse_payload('{"a":"ääää"}', limit_bytes=15)


def test_64_levels_are_allowed() -> None:
    assert check_payload(nested(63)) == nested(63)


def test_a_pair_of_surrogate_escapes_is_one_character() -> None:
    assert parse_payload('{"a": "\\ud83d\\ude00"}') == {"a": "😀"}


def test_payload_that_contains_itself_is_refused() -> None:
    endless: dict[str, Any] = {}
    endless["a"] = [endless]
    with pytest.raises(BadPayload, match="nested deeper"):
        check_payload(endless)


@pytest.mark.parametrize("value", [OrderedDict(a={"b": 1}), MappingProxyType({"a": OrderedDict(b=1)})], ids=repr)
def test_every_kind_of_mapping_can_be_a_payload(value: Any) -> None:
    assert json.loads(encode_payload(check_payload(value))) == {"a": {"b": 1}}


def test_a_mapping_that_json_does_not_know_is_refused_inside() -> None:
    with pytest.raises(BadPayload, match="the value of 'a' is of type mappingproxy, which JSON cannot hold"):
        check_payload({"a": MappingProxyType({"b": 1})})


def test_the_callers_own_object_is_not_kept() -> None:
    own = {"a": 1}
    checked = check_payload(own)
    own["b"] = 2
    assert checked == {"a": 1}
