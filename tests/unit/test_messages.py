"""A message from a child is checked once, where it arrives: it is dropped or becomes a typed value."""

import functools
import json
import math
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.counted_calls import calls_of
from jobrunner import model
from jobrunner.backoff import polynomial, waits
from jobrunner.children.frames import BrokenFrame, Frame, Inbox, encode
from jobrunner.children.inside.reports import encode_success
from jobrunner.children.messages import (
    Cancel,
    CancelReceived,
    Hello,
    ImportFailed,
    Importing,
    Output,
    Progress,
    Ready,
    Report,
    StartRun,
    StartRuns,
    ToChild,
    frame_of,
    of_parent,
)
from jobrunner.children.protocol import OUTCOMES, Handshake, of_child, of_run
from jobrunner.jobs.payload import check_payload
from jobrunner.jobs.policy import as_data, from_data
from jobrunner.model import Policy

LIMIT = 1000
REAL: list[Frame] = [
    {"kind": "importing", "module": "handlers"},
    {"kind": "import_failed", "module": "handlers", "error": "no"},
    {"kind": "ready", "policies": [as_data(Policy("a")), as_data(Policy("b", backoff=waits("1s", "2s")))]},
    {
        "kind": "ready",
        "policies": [as_data(Policy("c", timeout=None, concurrency=3, is_async=True, backoff=polynomial()))],
        "schedules": [{"name": "nightly"}],
        "misfits": [None, "no"],
    },
    {"kind": "progress", "run_id": 7, "progress": {"done": 1, "total": 2.5, "message": "ä"}},
    {"kind": "output", "run_id": 7, "text": "line\n"},
    {"kind": "cancel_received", "run_id": 7},
    {"kind": "report", "run_id": 7, "outcome": "succeeded", "ended_at": 1.5, "result": {"a": [1]}},
    {"kind": "report", "run_id": 7, "outcome": "not_begun"},
    {
        "kind": "report",
        "run_id": 7,
        "outcome": "failed",
        "ended_at": 2,
        "was_asked_to_stop": True,
        "is_last": True,
        "error_type": "E",
        "error": "e",
        "traceback": "t",
        "wait_seconds": 60.0,
    },
]
numbers = st.integers() | st.sampled_from([0, -1, 2**63, 10**400, 1e308, -0.0]) | st.floats(allow_nan=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text() | st.sampled_from(["\0", "\ud800", "x" * 50_000]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KINDS = sorted({frame["kind"] for frame in REAL})
PARTS = sorted({name for frame in REAL for name in frame} - {"kind"})
anything = st.builds(
    lambda kind, parts: {**parts, "kind": kind},
    st.sampled_from(KINDS) | st.text(),
    st.dictionaries(st.sampled_from(PARTS) | st.text(), values, max_size=6),
)


@st.composite
def mutated(draw: st.DrawFn) -> Frame:
    """A real frame in which one value, at whatever depth, is another or missing."""

    def change(value: Any) -> Any:
        if isinstance(value, dict) and value and draw(st.integers(0, 3)):
            name = draw(st.sampled_from(sorted(value)))
            rest = {key: item for key, item in value.items() if key != name}
            return rest if draw(st.integers(0, 5)) == 0 else {**rest, name: change(value[name])}
        if isinstance(value, list) and value and draw(st.integers(0, 3)):
            return [change(value[0]), *value[1:]]
        return draw(values)

    frame = draw(st.sampled_from(REAL))
    name = draw(st.sampled_from(sorted(set(frame) - {"kind"})))
    return {**frame, name: change(frame[name])}


@given(anything | mutated())
def test_any_frame_is_dropped_or_becomes_a_typed_message(frame: Frame) -> None:
    try:
        (received,) = Inbox().feed(encode(frame))
    except ValueError:
        return  # infinity: no child of ours can send it
    assert_typed_of_child(of_child(received))
    assert_typed_of_run(of_run(received, LIMIT))


def assert_typed_of_child(message: object) -> None:
    if isinstance(message, Importing):
        assert_text(message.module, 1000)
    elif isinstance(message, ImportFailed):
        assert_text(message.error, 10_000)
    elif isinstance(message, Handshake):
        assert all(isinstance(each, dict) for each in message.schedules)
        assert all(each is None or isinstance(each, str) for each in message.misfits)
        for policy in message.policies:
            assert 1 <= policy.max_attempts <= 1000
            assert policy.timeout is None or policy.timeout > timedelta(0)
            assert timedelta(0) <= policy.backoff.wait(3) <= timedelta(days=365)
            assert policy.concurrency is None or 1 <= policy.concurrency <= 10_000
            assert {policy.job_type: policy.is_async}
            assert from_data(as_data(policy)) == policy
    else:
        assert message is None


def assert_typed_of_run(message: object) -> None:
    if message is None:
        return
    assert isinstance(message, Progress | Output | CancelReceived | Report)
    assert type(message.run_id) is int
    assert 0 < message.run_id < 2**63
    if isinstance(message, Progress):
        assert check_payload(message.progress, 4096) == message.progress
    elif isinstance(message, Output):
        assert_text(message.text, 16 * 1024)
    elif isinstance(message, Report):
        assert message.outcome in OUTCOMES
        assert message.ended_at is None or math.isfinite(message.ended_at)
        assert message.wait is None or timedelta(0) <= message.wait <= timedelta(days=3650)
        for text, most in ((message.error_type, 200), (message.error, 10_000), (message.traceback, 33_000)):
            assert text is None or assert_text(text, most) is None
        check_payload({"result": message.result}, LIMIT + 20)


def assert_text(text: object, most: int) -> None:
    assert isinstance(text, str)
    assert len(text) <= most


@pytest.mark.parametrize("frame", REAL, ids=lambda frame: frame["kind"])
def test_messages_of_a_child_arrive(frame: Frame) -> None:
    message = of_run(frame, LIMIT) or of_child(frame)
    assert message is not None
    told = message._asdict()
    if isinstance(message, Handshake):
        told = {
            "schedules": message.schedules,
            "misfits": message.misfits,
            "policies": [as_data(policy) for policy in message.policies],
        }
    assert {name: value for name, value in told.items() if value} == {
        name: value for name, value in frame.items() if name in told
    }


POLICY = as_data(Policy("a"))
BAD_POLICIES: dict[str, Any] = {
    "no object": 1,
    "empty": {},
    "a list for a name": {**POLICY, "job_type": ["a"]},
    "an unusable name": {**POLICY, "job_type": "a b"},
    "a word for a limit": {**POLICY, "concurrency": "x"},
    "a limit beyond any": {**POLICY, "concurrency": 10**30},
    "endless attempts": {**POLICY, "max_attempts": 10**30},
    "an endless timeout": {**POLICY, "timeout": 10**400},
    "a word for a flag": {**POLICY, "is_async": "no"},
    "no backoff": {**POLICY, "backoff": None},
    "a backoff of words": {**POLICY, "backoff": {**POLICY["backoff"], "seconds": ["x"]}},
    "a backoff of nothing": {**POLICY, "backoff": {**POLICY["backoff"], "seconds": []}},
    "a shape of its own": {**POLICY, "backoff": {**POLICY["backoff"], "shape": "waits", "seconds": [-1]}},
    "an unknown word": {**POLICY, "on_stop": "explode"},
    "a nest": {**POLICY, "concurrency": functools.reduce(lambda inner, _: [inner], range(5000), [])},
}


@pytest.mark.parametrize("policy", BAD_POLICIES.values(), ids=BAD_POLICIES)
def test_a_handshake_with_a_policy_that_no_handler_can_have_is_refused(policy: Any) -> None:
    assert of_child({"kind": "ready", "policies": [policy]}) == ImportFailed("its handshake is invalid")


def ready(*policies: Policy, **changed: Any) -> Frame:
    """A handshake; the last policy has these changes."""
    *others, last = json.loads(json.dumps([as_data(each) for each in policies]))
    return {"kind": "ready", "policies": [*others, {**last, **changed}]}


def test_policies_that_differ_in_their_names_only_are_those_that_the_child_has() -> None:
    policies = [Policy("a"), Policy("b", max_attempts=1), Policy("c"), Policy("d", formerly=("old",)), Policy("e")]
    named = [each for policy in policies for each in policy.of_each_name()]
    assert of_child(ready(*policies)) == Handshake(named, [], [])


@pytest.mark.parametrize(
    "changed", [{"max_attempts": True}, {"job_type": "a b"}, {"job_type": "old", "formerly": ["old"]}], ids=str
)
def test_a_wrong_policy_beside_one_that_is_nearly_the_same_is_refused(changed: dict[str, Any]) -> None:
    right = Policy("a", max_attempts=1, formerly=tuple(changed.get("formerly", ())))
    frame = ready(right, right._replace(job_type="b"), **changed)
    assert of_child(frame) == ImportFailed("its handshake is invalid")


def test_of_five_hundred_policies_what_they_have_in_common_is_checked_once() -> None:
    """For a host of so many types that was 20 ms of each tick with a run."""
    many = ready(*(Policy(f"type_{number}") for number in range(500)))
    assert calls_of(lambda: of_child(many)) < 500 * 20


def test_a_result_larger_than_any_may_be_is_not_kept() -> None:
    report: Frame = {"kind": "report", "run_id": 1, "outcome": "succeeded", "result": "x" * LIMIT}
    assert of_run(report, LIMIT) == Report(1, "succeeded")
    assert of_run(report, 2 * LIMIT) == Report(1, "succeeded", result="x" * LIMIT)


def test_the_largest_policy_that_can_be_declared_is_taken() -> None:
    policy = Policy("a", max_attempts=1000, concurrency=10_000, max_waiting=model.MOST_WAITING)
    assert of_child({"kind": "ready", "policies": [as_data(policy)]}) == Handshake([policy], [], [])


AT = "2026-01-01T00:00:00+00:00"
TO_CHILD = [
    Hello(["handlers"], "ab", "/srv/app", ["a command"], True, [["a", {"n": 1}]]),
    Hello([], "ab", None, [], False, []),
    StartRuns(3, {"job_type": "a"}, {"run_id": [7], "payload": [{"n": 1}]}),
    StartRuns(None, {"job_type": "a"}, {"run_id": [7], "payload": [{"n": 1}]}),
    Cancel(7),
]
FROM_CHILD = [
    Importing("handlers"),
    ImportFailed("no"),
    Progress(7, {"done": 1}),
    Output(7, "line"),
    CancelReceived(7),
    Report(7, "succeeded", 1.5, result={"a": 1}),
    Report(7, "failed", 1.5, 60.0, "E", "e", "t", was_asked_to_stop=True, is_last=True),
]


@pytest.mark.parametrize("message", TO_CHILD)
def test_messages_of_the_parent_arrive_unchanged(message: ToChild) -> None:
    (frame,) = Inbox().feed(encode(frame_of(message)))
    assert of_parent(frame) == message


ONE = StartRun(7, "a", {"n": 1}, 1, 5, 2.5, 0.5, 1000, 12.5, AT, 60.0, 70.0, 3, "token", "traceparent")
OTHER = StartRun(8, "b", {"n": 2}, 2, 6, 3.5, 0.0, 1001, 13.5, None, None, None, None, "other", None)


@pytest.mark.parametrize("runs", [[ONE], [ONE, ONE], [ONE, OTHER], [OTHER, ONE, OTHER]])
def test_runs_that_are_sent_together_arrive_as_they_are(runs: list[StartRun]) -> None:
    (frame,) = Inbox().feed(encode(frame_of(StartRuns.of(3, runs))))
    message = of_parent(frame)
    assert isinstance(message, StartRuns)
    assert (message.first, list(message.runs())) == (3, runs)


@pytest.mark.parametrize(("payload", "other"), [({"n": 1}, {"n": True}), ({"n": 0}, {"n": 0.0}), ({"n": 1}, {})])
def test_a_payload_that_equals_that_of_the_run_before_keeps_its_types(payload: Any, other: Any) -> None:
    message = StartRuns.of(3, [ONE._replace(payload=payload), ONE._replace(payload=other)])
    assert repr([start.payload for start in message.runs()]) == repr([payload, other])


@pytest.mark.parametrize("peak", [None, 1 << 40])
@pytest.mark.parametrize("seconds", [0.0, 1.5, 12345.678901234567, 1e-7, 1e22])
def test_the_short_way_to_encode_a_success_gives_the_same_bytes(seconds: float, peak: int | None) -> None:
    report = Report(7, "succeeded", seconds, peak_memory_bytes=peak, processor_seconds=seconds)
    assert encode_success(7, seconds, peak, seconds) == encode(frame_of(report))
    assert encode_success(7, seconds) == encode(frame_of(Report(7, "succeeded", seconds)))


@pytest.mark.parametrize("message", FROM_CHILD)
def test_messages_of_a_child_pass_the_check_unchanged(message: Any) -> None:
    (frame,) = Inbox().feed(encode(frame_of(message)))
    assert message in (of_child(frame), of_run(frame, LIMIT))


def test_ready_message_of_a_child_is_understood() -> None:
    policy = Policy("a")
    (frame,) = Inbox().feed(encode(frame_of(Ready([as_data(policy)], [{"name": "n"}], [None, "no"]))))
    assert of_child(frame) == Handshake([policy], [{"name": "n"}], [None, "no"])


@pytest.mark.parametrize("frame", [{"kind": "report"}, {"kind": "run", "run_id": 7}, {"kind": "cancel", "id": 7}])
def test_child_ignores_messages_that_its_parent_never_sends(frame: Frame) -> None:
    with pytest.raises(BrokenFrame, match="no message of the kind"):
        of_parent(frame)
