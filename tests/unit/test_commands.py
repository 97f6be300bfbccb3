"""The pure rules of commands: placeholders, environment, exit codes."""

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrunner.errors import BadPayload, ConfigurationError
from jobrunner.jobs.commands import Command, check_argument, placeholders_in
from jobrunner.lifecycle import Outcome
from jobrunner.model import ClaimedRun, Lease, Policy

NOW = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)


def command(*argv: str, **options: Any) -> Command:
    plain: dict[str, Any] = {
        "policy": Policy("x"),
        "argv": argv,
        "cwd": Path("/"),
        "env": {},
        "pass_env": (),
        "success_codes": frozenset({0}),
        "retry_codes": None,
        "discard_codes": frozenset(),
    }
    return Command(**{**plain, **options})


def run(payload: dict[str, Any] | None = None, slot: datetime | None = None) -> ClaimedRun:
    return ClaimedRun(Lease(812, "token"), "x", payload or {}, 2, 5, None, NOW, slot, NOW)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_any_text_is_one_argument_or_refused(text: str) -> None:
    filled = command("a", "{payload.a}")
    if text.startswith("-"):
        with pytest.raises(BadPayload):
            filled.arguments_for(run({"a": text}))
        filled = command("a", "--", "{payload.a}")
    assert filled.arguments_for(run({"a": text}))[-1] == text


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_no_number_is_an_option(number: float) -> None:
    try:
        arguments = command("a", "{payload.a}").arguments_for(run({"a": number}))
    except BadPayload:
        arguments = command("a", "--", "{payload.a}").arguments_for(run({"a": number}))[1:]
        assert arguments[-1].startswith("-")
    else:
        assert not arguments[-1].startswith("-")
    assert json.loads(arguments[-1]) == number


def test_a_slot_in_another_zone_is_told_in_utc() -> None:
    slot = datetime(2026, 1, 5, 9, 30, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    assert command("a", "{slot}").arguments_for(run(slot=slot)) == ["a", "2026-01-05T04:00:00Z"]
    with pytest.raises(BadPayload, match="stands for no slot"):
        command("a", "{slot}").arguments_for(run())


@pytest.mark.parametrize(
    "literal",
    [
        "",
        "{}",
        "{ run_id }",
        "{print $1}",
        "a{b}",
        "${HOME}",
        "{",
        "run_id",
        "{1}",
        "{a b}",
        "{payload.}",
        "%(run_id)s",
    ],
)
def test_other_braces_in_a_command_are_kept(literal: str) -> None:
    check_argument(literal)
    assert command("a", literal).arguments_for(run()) == ["a", literal]


@pytest.mark.parametrize("wrong", ["{run}", "{payload}", "{print}", "{run_id.x}", "x{run_id}", "{{run_id}}", "{slot} "])
def test_a_wrong_placeholder_is_refused_in_the_file(wrong: str) -> None:
    with pytest.raises(ConfigurationError):
        check_argument(wrong)


def test_placeholders_in_a_shell_command_are_found() -> None:
    assert placeholders_in("a {run_id} ${HOME} {print $1} {payload.a}") == ["run_id", "payload.a"]


def test_command_inherits_these_variables() -> None:
    environ = {
        b"PATH": b"/bin",
        b"ODD": b"\xff",
        b"DATABASE_URL": b"url",
        b"JOBRUNNER_DATABASE_URL": b"url",
        b"JOBRUNNER_RUN_ID": b"stale",
        b"JOBRUNNER_SLOT": b"stale",
    }
    ids = {
        b"JOBRUNNER_RUN_ID": b"812",
        b"JOBRUNNER_JOB_TYPE": b"x",
        b"JOBRUNNER_ATTEMPT": b"2",
        b"JOBRUNNER_MAX_ATTEMPTS": b"5",
        b"JOBRUNNER_LATE_SECONDS": b"%d" % run().lateness_seconds,
    }
    plain = command("a").environment_for(run(), environ)
    assert plain == {b"PATH": b"/bin", b"ODD": b"\xff", **ids}
    asks = command("a", pass_env=("DATABASE_URL", "NOT_THERE"), env={"PATH": "Zoë"}).environment_for(run(), environ)
    assert asks == {b"PATH": "Zoë".encode(), b"ODD": b"\xff", b"DATABASE_URL": b"url", **ids}


@pytest.mark.parametrize(
    ("code", "options", "outcome"),
    [
        (0, {}, Outcome.SUCCEEDED),
        (1, {}, Outcome.FAILED),
        (0, {"success_codes": frozenset({3})}, Outcome.FAILED),
        (4, {"discard_codes": frozenset({4})}, Outcome.DISCARDED),
        (75, {"retry_codes": frozenset({75})}, Outcome.FAILED),
        (1, {"retry_codes": frozenset({75})}, Outcome.DISCARDED),
        (1, {"retry_codes": frozenset()}, Outcome.DISCARDED),
        (1, {"retry_codes": frozenset({75}), "discard_codes": frozenset({4})}, Outcome.DISCARDED),
    ],
)
def test_exit_status_gives_this_outcome(code: int, options: dict[str, Any], outcome: Outcome) -> None:
    assert command("a", **options).meaning_of(code) is outcome
