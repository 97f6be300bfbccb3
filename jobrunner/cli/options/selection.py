"""The options by which somebody selects runs, for every command that lists or changes many of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

from jobrunner.cli.options.shared import of_schedule, of_time
from jobrunner.cli.options.types import of_types
from jobrunner.cli.parameters import Checked, job_id
from jobrunner.lifecycle import Status
from jobrunner.store.questions.selection import WAITING_FOR, Selection, stored_text

_Command = TypeVar("_Command", bound=Callable[..., Any])


_TEXT = Checked(stored_text)
_OPTIONS: dict[str, Callable[[_Command], _Command]] = {
    "statuses": click.option(
        "--status",
        "statuses",
        type=click.Choice([each.value for each in Status]),
        multiple=True,
        help="Runs with this status; repeatable.",
    ),
    "job_types": of_types("Runs of this type", stored_text),
    "schedule": of_schedule("Runs of this schedule.", stored_text),
    "since": of_time(
        "--since",
        "Runs that ended, started their attempt or became due since this time: ISO 8601 with an offset, or 2h for two"
        " hours ago.",
    ),
    "until": of_time("--until", "The same, until this time."),
    "key": click.option("--key", type=_TEXT, metavar="K", help="Runs with this idempotency key."),
    "concurrency_key": click.option(
        "--concurrency-key", type=_TEXT, metavar="K", help="Runs with this concurrency key."
    ),
    "error": click.option(
        "--error-like",
        "error",
        type=_TEXT,
        metavar="TEXT",
        help='Runs whose error ("ValueError: …") contains this text (upper and lower case do not matter).',
    ),
    "waiting_for": click.option(
        "--waiting-for",
        type=click.Choice(list(WAITING_FOR)),
        multiple=True,
        help="Runs that wait for this: their time, their retry, the end of a run or of a pause, a limit, a"
        " concurrency key, or only for a tick; repeatable.",
    ),
}


def some_selection_options(*names: str) -> Callable[[_Command], _Command]:
    """Give a command the options of these fields of a selection; it gets them as one argument, ``selection``."""

    def decorate(command: _Command) -> _Command:
        @wraps(command)
        def with_selection(*args: Any, **options: Any) -> Any:
            given = {name: options.pop(name) for name in names}
            given["statuses"] = tuple(map(Status, given.get("statuses", ())))
            return command(*args, selection=Selection(**given), **options)

        decorated: Any = with_selection
        for name in reversed(names):
            decorated = _OPTIONS[name](decorated)
        found: _Command = decorated
        return found

    return decorate


selection_options = some_selection_options(*_OPTIONS)
"""All of them."""


def ids_argument(command: _Command) -> _Command:
    """Give a command any number of ids of runs, as ``job_ids``."""
    return click.argument("job_ids", metavar="[JOB_ID]...", type=Checked(job_id), nargs=-1)(command)
