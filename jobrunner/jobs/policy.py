"""Makes the policy of a job type, by the same rules for the decorator and for the configuration file.

A policy is also data: what a child says of its handlers, and the JSON of ``jobrunner types``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from operator import itemgetter
from typing import Any, TypeAlias

from jobrunner.backoff import Backoff
from jobrunner.errors import ConfigurationError, WrongOption
from jobrunner.jobs.job_options import OF_POLICY, checked
from jobrunner.jobs.limits import make_limits
from jobrunner.jobs.payload import check_match
from jobrunner.model import KeyScope, Limits, Policy
from jobrunner.names import check_job_type

DEFAULT_ASYNC_CONCURRENCY = 10
_options = itemgetter("is_async", *OF_POLICY)


def make_policy(job_type: str, *, is_async: bool = False, **options: Any) -> Policy:
    """A policy of these ``options``, which are all checked. Each has a row in ``OF_POLICY``.

    ``concurrency`` None means the host's concurrency, or ten if async. ``key_scope`` None means window with a
    ``key_window``, and forever without one. Raises UsageError, which names the wrong part.
    """
    return combined(job_type, checked(options), is_async=is_async)


def combined(job_type: str, values: Mapping[str, Any], *, is_async: bool = False) -> Policy:
    """The same of options that are checked already, each by itself: are they right together?"""
    parts = {name: value for name, value in values.items() if name in Policy._fields}
    if is_async and parts.get("concurrency") is None:
        parts["concurrency"] = DEFAULT_ASYNC_CONCURRENCY
    parts["key_scope"] = _key_scope(parts.get("key_scope"), parts.get("key_window"))
    if job_type in parts.get("formerly", ()):
        raise WrongOption("formerly", f"has {job_type!r}, which is the name of the type today; leave it out")
    return Policy(check_job_type(job_type), is_async=is_async, limits=make_limits(values), **parts)


def check_former_names(policy: Policy, taken: Mapping[str, Policy]) -> None:
    """Raise WrongOption if a former name of a type is that of another one, or if its name is a former one of another.

    Otherwise a run would have two handlers. ``taken`` has the other types by each name that they have or had.
    """
    for name in policy.formerly:
        if (other := taken.get(name)) is not None:
            if other.job_type == name:
                raise WrongOption("formerly", f"has {name!r}, a type that is still declared; remove one of the two")
            raise WrongOption("formerly", f"has {name!r}, and so has that of {other.job_type!r}; remove one of the two")
    if (other := taken.get(policy.job_type)) is not None:
        was = f"its job type {policy.job_type!r} is a former name (formerly) of {other.job_type!r}"
        raise ConfigurationError(f"{was}; remove one of the two")


def options_of(policy: Policy) -> dict[str, Any]:
    """The options that make this policy, by name."""
    values = policy._asdict() | (policy.limits or Limits()).as_data()
    return {name: values[name] for name in OF_POLICY}


def as_data(policy: Policy) -> dict[str, Any]:
    """Plain JSON data; ``from_data`` is its inverse."""
    values = {name: _plain(value) for name, value in options_of(policy).items()}
    return {"job_type": policy.job_type, "is_async": policy.is_async, **values}


def _plain(value: Any) -> Any:
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value.as_data() if isinstance(value, Backoff) else value


def from_data(data: Mapping[str, Any]) -> Policy:
    """A policy from its data, checked by the rules of the decorator.

    Raises JobrunnerError, KeyError, TypeError or ValueError for what is no policy.
    """
    job_type, is_async = data["job_type"], data["is_async"]
    if not isinstance(job_type, str) or type(is_async) is not bool:
        raise ValueError(data)
    given = {name: data[name] for name in OF_POLICY}
    given |= {"backoff": Backoff.from_data(given["backoff"])}
    # None is no option of a time limit: it is written in words.
    given |= {"timeout": "none"} if given["timeout"] is None else {}
    return make_policy(job_type, is_async=is_async, **given)


def all_from_data(listed: Iterable[Mapping[str, Any]]) -> list[Policy]:
    """The policies of each of these data. What many of them have in common is checked once.

    Raises what ``from_data`` raises, and RecursionError.
    """
    made: dict[str, Policy] = {}
    policies = []
    for data in listed:
        # Their text, because JSON has values that are equal and not the same: 1 and true.
        options = repr(_options(data))
        policy = made.get(options)
        # Whether former names are right depends on the name.
        if policy is None or policy.formerly:
            policy = made[options] = from_data(data)
        policies.append(policy._replace(job_type=check_job_type(data["job_type"])))
    return policies


def _key_scope(chosen: KeyScope | None, window: object) -> KeyScope:
    if chosen is None:
        return "forever" if window is None else "window"
    if chosen == "window" and window is None:
        raise WrongOption("key_scope", 'is "window", which needs the length of the window, such as key_window "1d"')
    if chosen != "window" and window is not None:
        raise WrongOption("key_scope", f'is {chosen!r}, and key_window makes it "window"; leave one of them out')
    return chosen


Encode: TypeAlias = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Makes a payload from the arguments of a handler. It raises PayloadMismatch if the handler cannot take them."""
_declared: dict[str, tuple[Policy, Encode]] = {}


def declare(policy: Policy, encode: Encode) -> None:
    """Store the policy of a job type and how its payloads are made, for the enqueues of this process."""
    for each in policy.of_each_name():
        _declared[each.job_type] = each, encode


def declared(job_type: str) -> Policy | None:
    """The policy of a job type. None means that this process has no handler for it."""
    return _declared[job_type][0] if job_type in _declared else None


def encoded(job_type: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The payload for these arguments. If this process has no handler for the type, they are the payload.

    Raises PayloadMismatch if there is a handler that cannot take them.
    """
    if not isinstance(job_type, str) or job_type not in _declared:
        return arguments
    return check_match(job_type, _declared[job_type][1], arguments)
