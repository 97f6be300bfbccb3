"""The options of a job type: one row for each, with its type, its check and its words.

A row is the annotation of a key of a TypedDict, so that type checkers read the same table in ``@job``. Everything else
is made from it: the keys of ``[jobs.NAME]`` in jobrunner.toml, what a child says of its handlers, ``OPTIONS`` of
Django's tasks, the columns and the JSON of ``jobrunner types``, and the tables of the documents. The defaults are those
of ``Policy``. ``application.handler_options`` has the options that stay with a handler.
"""
# Not "from __future__ import annotations": the annotations are the table.

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Annotated, Any, NamedTuple, TypedDict, get_args

from jobrunner.backoff import Backoff, instead_of
from jobrunner.backoff import check as check_backoff
from jobrunner.durations import Duration, parse_duration
from jobrunner.errors import UsageError, WrongOption
from jobrunner.jobs.options import Number, OneOf, Row, parse_timeout, rows_of
from jobrunner.model import MOST_WAITING, KeyScope, OnStop, Policy, WhenFull
from jobrunner.names import check_job_type
from jobrunner.rates import parse_rate
from jobrunner.text import nearest, shown

MOST_NAMES = 3
MOST_FORMER_NAMES = 10
_MOST_CHARACTERS = 100
_OTHER_NAMES = {
    **dict.fromkeys(("retries", "max_retries", "retry_limit", "attempts", "tries", "max_tries"), "max_attempts"),
    **dict.fromkeys(("time_limit", "soft_time_limit", "job_timeout", "expires"), "timeout"),
    **dict.fromkeys(("retry_delay", "retry_backoff", "default_retry_delay", "delay", "countdown", "wait"), "backoff"),
    **dict.fromkeys(("autoretry_for", "retry_for", "retry_when"), "retry_on"),
    **dict.fromkeys(("dont_autoretry_for", "throws", "abort_on"), "discard_on"),
    **dict.fromkeys(("rate_limit", "throttle", "limit"), "rate"),
    **dict.fromkeys(("cron", "crontab", "every"), "schedule"),
    **dict.fromkeys(("tz", "time_zone"), "timezone"),
    **dict.fromkeys(("workers", "max_workers", "threads"), "concurrency"),
    **dict.fromkeys(("renamed_from", "former_names", "aliases", "alias"), "formerly"),
}
"""What other libraries call an option that there is here, too."""


class Length(NamedTuple):
    """A duration."""

    parse: Callable[[Any], timedelta | None] = parse_duration

    def check(self, name: str, value: Any) -> timedelta | None:
        """The duration. None: no limit."""
        return self.parse(value)


class Waits:
    """The waits before the next attempts."""

    def check(self, name: str, value: Any) -> Backoff:
        """The backoff."""
        if type(value) is not Backoff:
            makers = "exponential, fixed, waits or polynomial"
            raise WrongOption(name, f"must be made by {makers}, not {shown(value)}{instead_of(value)}")
        return check_backoff(value)


class HowOften:
    """A rate, as text."""

    def check(self, name: str, value: object) -> str:
        """The text."""
        return parse_rate(name, value, None).text


class Name:
    """The name of an argument of the payload."""

    def check(self, name: str, value: object) -> str:
        """The name."""
        if not isinstance(value, str) or not value.isidentifier() or len(value) > _MOST_CHARACTERS:
            raise WrongOption(name, f"must name one argument of the payload, such as customer_id, not {shown(value)}")
        return value


class Names:
    """The name of an argument of the payload, or a few."""

    def check(self, name: str, value: object) -> tuple[str, ...]:
        """The names."""
        names = (value,) if isinstance(value, str) else value
        if not isinstance(names, list | tuple) or not 1 <= len(names) <= MOST_NAMES:
            raise WrongOption(name, f"must be the name of a payload argument, or up to {MOST_NAMES} names")
        for each in names:
            if not isinstance(each, str) or not each.isidentifier() or len(each) > _MOST_CHARACTERS:
                raise WrongOption(name, f"must name an argument of the payload, such as customer_id, not {shown(each)}")
        return tuple(names)


class FormerNames:
    """The names that a job type had before."""

    def check(self, name: str, value: object) -> tuple[str, ...]:
        """The names."""
        names = (value,) if isinstance(value, str) else value
        if not isinstance(names, list | tuple) or len(names) > MOST_FORMER_NAMES:
            raise WrongOption(name, f"must be the name that the type had before, or up to {MOST_FORMER_NAMES} names")
        try:
            found = tuple(map(check_job_type, names))
        except UsageError as error:
            raise WrongOption(name, f"has a name that no type can have had: {error}") from None
        if repeated := next((each for each in found if found.count(each) > 1), None):
            raise WrongOption(name, f"has {repeated!r} twice")
        return found


def key_window(window: Duration) -> timedelta:
    """The time for which a key stays taken. Raises UsageError."""
    length = parse_duration(window)
    if not length:
        raise UsageError("a key_window of 0 holds no key; give the time for which a key stays taken")
    return length


MOST_RUNNING = 1_000_000
_COUNT = Number(1, MOST_RUNNING)


class PolicyOptions(TypedDict, total=False):
    """The options of a job type that a tick needs to know: those of ``Policy``, of handlers and commands alike."""

    max_attempts: Annotated[int, Row(Number(1, 1000), "Attempts before the run is dead")]
    timeout: Annotated[Duration, Row(Length(parse_timeout), 'The limit of each attempt; `"none"` for no limit')]
    backoff: Annotated[
        Backoff,
        Row(
            Waits(),
            "The [pause before the next attempt](handlers.md#the-pause-before-the-next-attempt)",
            absent="1m, doubled, at most 30m",
        ),
    ]
    kill_after: Annotated[Duration, Row(Length(), "The time between the request to stop (SIGTERM) and SIGKILL")]
    concurrency: Annotated[
        int | None,
        Row(
            Number(1, 10_000),
            "The most runs of this type that one host runs at the same time",
            absent="the host's limit; 10 for `async def`",
        ),
    ]
    max_running: Annotated[
        int | None,
        Row(
            _COUNT,
            "The [most runs](limits.md) of this type that are `running`, on all hosts together",
            absent="no limit",
        ),
    ]
    rate: Annotated[
        str | None,
        Row(
            HowOften(),
            "The [rate limit](limits.md): how many runs of this type may start in a time, on all hosts together, such"
            ' as `"10/s"`, `"100/m"`, `"1000/h"` or `"1/30s"`',
            absent="no limit",
        ),
    ]
    burst: Annotated[
        int | None,
        Row(_COUNT, "How many may start at once after a pause", absent="what the `rate` allows in a second, or 1"),
    ]
    concurrency_key: Annotated[
        str | Sequence[str] | None,
        Row(
            Names(),
            "The name of an argument of the payload, or a list of up to three. Runs with the same values there have"
            " the same key, for example those of one customer",
        ),
    ]
    max_running_per_key: Annotated[
        int | None,
        Row(_COUNT, "The most runs of each key that are `running`", absent="1; no limit with a `rate_per_key`"),
    ]
    rate_per_key: Annotated[str | None, Row(HowOften(), "The rate limit of each key", absent="no limit")]
    burst_per_key: Annotated[int | None, Row(_COUNT, "The `burst` of each key", absent="as for `burst`")]
    fair_by: Annotated[
        str | None,
        Row(
            Name(),
            "The name of an argument of the payload, such as `customer_id`: claims"
            " [go round](limits.md#a-fair-share-between-keys) its values that wait, so that many runs of one do not"
            " hold up those of another",
        ),
    ]
    max_waiting: Annotated[
        int | None,
        Row(
            Number(1, MOST_WAITING),
            "The most runs of this type that [may wait](handlers.md#a-limit-for-what-waits), on all hosts together",
            absent="no limit",
        ),
    ]
    when_full: Annotated[
        WhenFull,
        Row(
            OneOf(get_args(WhenFull)),
            "What happens to one more: `refuse` it with an error, or `drop` it without one. `status` counts what was"
            " dropped",
        ),
    ]
    on_stop: Annotated[
        OnStop,
        Row(
            OneOf(get_args(OnStop)),
            "What happens to a run that is still running when a stopped tick's grace is over: `release` puts it back"
            " into the queue, `drop` cancels it",
        ),
    ]
    key_scope: Annotated[
        KeyScope | None,
        Row(
            OneOf(get_args(KeyScope)),
            "For how long a run holds its [key](enqueue.md#keys): `forever`; `active`: while it is queued, running or"
            " failed; `window`: for the `key_window`",
        ),
    ]
    key_window: Annotated[
        Duration | None,
        Row(
            Length(key_window),
            'For how long a run holds its key, from its creation, such as `"1d"`. It makes the `key_scope` `window`',
        ),
    ]
    formerly: Annotated[
        str | Sequence[str],
        Row(
            FormerNames(),
            "The name that the type [had before](../howto/operations.md#rename-a-job-type), or a list of such names:"
            " what was enqueued under them is run here, too",
            absent="no other name",
        ),
    ]


OF_POLICY: Mapping[str, Row] = {
    name: row._replace(default=Policy._field_defaults.get(name)) for name, row in rows_of(PolicyOptions).items()
}
"""By name, in the order in which they are documented."""


def checked(given: Mapping[str, Any], rows: Mapping[str, Row] = OF_POLICY) -> dict[str, Any]:
    """The values of these options as they are kept. Raises WrongOption for the first one that cannot be used.

    None, where the type of an option has it, is kept: it means the same as an option that is not given.
    """
    for name in given:
        if name not in rows:
            near = _OTHER_NAMES.get(name) or nearest(name, rows)
            hint = f"there are: {', '.join(rows)}" if near is None else f"did you mean {near}?"
            raise WrongOption(name, f"is not an option of a job type; {hint}")
    return {name: rows[name].check(name, value) for name, value in given.items()}
