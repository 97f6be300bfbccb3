"""Schedules of code and the file: a mistake is reported at import, with the handler and the remedy."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from jobrunner import Context, Schedule, job
from jobrunner.application import registry
from jobrunner.errors import ConfigurationError, UsageError
from jobrunner.model import Declaration, SlotPolicy
from jobrunner.schedules import declare

EVERYTHING = Schedule(
    "0  2 * * mon",
    "Europe/Berlin",
    payload={"a": [1, 2.5, None, True, "é"]},
    name="weekly report",
    description="for the board",
    misfire="all",
    misfire_window="2h",
    misfire_most=7,
    overlap="queue",
    start_deadline=90,
    jitter=timedelta(seconds=1.5),
    ends_at=datetime(2030, 1, 1, tzinfo=timezone(timedelta(hours=1))),
    max_runs=3,
)


def test_schedule_with_every_option_is_declared() -> None:
    assert declare.declare(EVERYTHING, "report", "code") == Declaration(
        name="weekly report",
        job_type="report",
        schedule="0 2 * * mon",
        timezone="Europe/Berlin",
        payload={"a": [1, 2.5, None, True, "é"]},
        source="code",
        policy=SlotPolicy(
            misfire="all",
            misfire_window=timedelta(hours=2),
            misfire_most=7,
            overlap="queue",
            start_deadline=timedelta(seconds=90),
            jitter=timedelta(seconds=1.5),
            ends_at=datetime(2029, 12, 31, 23, tzinfo=UTC),
            max_runs=3,
        ),
        description="for the board",
    )


@pytest.mark.parametrize("each", [EVERYTHING, Schedule("@daily")], ids=["everything", "little"])
def test_a_declaration_travels_as_json(each: Schedule) -> None:
    declaration = declare.declare(each, "report", "code")
    assert declare.from_data(json.loads(json.dumps(declare.as_data(declaration)))) == declaration


def test_declaration_from_json_is_checked_again() -> None:
    """A handler's module may have forged it."""
    data = declare.as_data(declare.declare(EVERYTHING, "report", "code"))
    for name, value in (("expression", "* * *"), ("timezone", "Mars"), ("name", "\x1b[2J"), ("jitter", "x")):
        with pytest.raises(UsageError):
            declare.from_data({**data, name: value})
    with pytest.raises(UsageError, match="larger than 10 bytes"):
        declare.from_data(data, payload_limit=10)
    with pytest.raises(TypeError):
        declare.from_data({**data, "else": 1})


def test_a_text_is_a_schedule_named_like_its_type() -> None:
    @job("nightly", schedule="0 2 * * *", timezone="Europe/Berlin")
    def nightly(ctx: Context) -> None: ...

    (declared,) = nightly.schedules
    assert (declared.name, declared.job_type, declared.source) == ("nightly", "nightly", "code")
    assert (declared.schedule, declared.timezone, declared.payload) == ("0 2 * * *", "Europe/Berlin", {})
    assert declared.policy == SlotPolicy()


def test_several_schedules_of_one_handler_have_payloads_of_their_own() -> None:
    @job("send", schedule=[Schedule("@daily", name="de", payload={"to": "de"}), Schedule("@weekly", name="fr")])
    def send(ctx: Context, to: str = "fr") -> None: ...

    assert [(each.name, each.job_type, each.payload) for each in send.schedules] == [
        ("de", "send", {"to": "de"}),
        ("fr", "send", {}),
    ]


def test_a_handler_without_a_schedule_has_none() -> None:
    @job("plain")
    def plain(ctx: Context) -> None: ...

    @job("empty", schedule=[])
    def empty(ctx: Context) -> None: ...

    assert plain.schedules == empty.schedules == ()


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "expression": ({"schedule": "61 * * * *"}, "61"),
    "reboot": ({"schedule": "@reboot"}, "@reboot"),
    "empty": ({"schedule": ""}, "field"),
    "zone": ({"schedule": "@daily", "timezone": "Europe/Berlni"}, "Europe/Berlni"),
    "no zone": ({"schedule": "@daily", "timezone": ""}, "zone"),
    "zone alone": ({"timezone": "UTC"}, "no schedule="),
    "zone twice": ({"schedule": Schedule("@daily"), "timezone": "UTC"}, "second argument"),
    "a number": ({"schedule": 5}, "a list of Schedules"),
    "a number within": ({"schedule": Schedule(5)}, "must be texts"),  # type: ignore[arg-type] # what a type checker would have told
    "texts": ({"schedule": ["@daily", "@hourly"]}, "a list of Schedules"),
    "nameless": ({"schedule": [Schedule("@daily"), Schedule("@hourly", name="b")]}, "name='...'"),
    "namesakes": ({"schedule": [Schedule("@daily", name="b", payload={"to": "x"})] * 2}, "two of them"),
    "name": ({"schedule": Schedule("@daily", name="a\nb")}, "1 to 200 characters"),
    "name no text": ({"schedule": Schedule("@daily", name=7)}, "1 to 200 characters"),  # type: ignore[arg-type] # what a type checker would have told
    "payload no object": ({"schedule": Schedule("@daily", payload=[1])}, "JSON object"),  # type: ignore[arg-type] # what a type checker would have told
    "payload no JSON": ({"schedule": Schedule("@daily", payload={"to": {1}})}, "argument 'to' must be str, not set"),
    "unknown argument": ({"schedule": Schedule("@daily", payload={"two": 1})}, "unexpected argument 'two'"),
    "missing argument": (
        {"schedule": Schedule("@daily", name="d", payload={})},
        "'d': the payload does not fit the job type 'report': missing argument 'to'",
    ),
    "kind of argument": ({"schedule": Schedule("@daily", payload={"to": 1})}, "'to' must be str, not int"),
    "misfire": ({"schedule": Schedule("@daily", misfire="al")}, "misfire"),
    "window": ({"schedule": Schedule("@daily", misfire_window="soon")}, "misfire_window"),
    "end": ({"schedule": Schedule("@daily", ends_at=datetime(2030, 1, 1))}, "ends_at"),
    "both": ({"schedule": Schedule("@daily", misfire="all", overlap="replace")}, "contradict"),
    "description": ({"schedule": Schedule("@daily", description="\0")}, "description"),
}


@pytest.mark.parametrize(("options", "says"), WRONG.values(), ids=WRONG.keys())
def test_bad_schedule_is_reported_at_import_with_its_handler(options: dict[str, Any], says: str) -> None:
    def report(ctx: Context, to: str) -> None: ...

    with pytest.raises(ConfigurationError) as caught:
        job("report", **options)(report)
    told = str(caught.value)
    assert says in told
    assert f"{__name__}." in told
    assert "report" in told
    assert "\n" not in told
    assert registry.registered() == {}


def test_two_handlers_cannot_have_schedules_of_one_name() -> None:
    @job("first", schedule=Schedule("@daily", name="same"))
    def first(ctx: Context) -> None: ...

    with pytest.raises(ConfigurationError, match=r"first and .*second are both named 'same'"):

        @job("second", schedule=Schedule("@daily", name="same"))
        def second(ctx: Context) -> None: ...


LATER = """
from __future__ import annotations
from jobrunner import Context, Schedule, job

@job("later", schedule=Schedule("@daily", payload={"size": "m"}))
def later(ctx: Context, size: Size, count: int = 0) -> None: ...

from typing import Literal
Size = Literal["s", "m"]

try:
    later.check({"size": "x"})
except Exception as error:
    print(error)
"""


def test_annotations_that_cannot_be_resolved_at_import_are_resolved_later() -> None:
    """What an annotation names may stand below the handler: looked at once too early, it was never looked at again."""
    done = subprocess.run([sys.executable, "-c", LATER], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("argument 'size' must be Literal['s', 'm'], not str\n", "")


def test_a_handler_module_without_schedules_does_not_pay_for_them() -> None:
    script = """
import sys
from jobrunner import Context, job

@job("plain")
def plain(ctx: Context) -> None: ...

names = ("jobrunner.schedules.declare", "jobrunner.schedules.recurrence", "cronsim")
print([name for name in names if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")
