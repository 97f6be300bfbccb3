"""Makes the policy of a job type, by the same rules for the decorator and for the configuration file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from jobrunner.errors import WrongOption
from jobrunner.jobs.limits import make_limits
from jobrunner.jobs.options import checked
from jobrunner.jobs.payload import check_match
from jobrunner.model import KeyScope, Policy
from jobrunner.names import check_job_type

DEFAULT_ASYNC_CONCURRENCY = 10
_OF_LIMITS = (
    "max_running", "rate", "burst", "concurrency_key", "max_running_per_key", "rate_per_key", "burst_per_key"
)  # fmt: skip


def make_policy(job_type: str, *, is_async: bool = False, **options: Any) -> Policy:
    """A policy of these ``options``, which are all checked. Each has a row in ``OPTIONS``.

    ``concurrency`` None means the host's concurrency, or ten if async. ``key_scope`` None means window with a
    ``key_window``, and forever without one. Raises UsageError, which names the wrong part.
    """
    return combined(job_type, checked(options), is_async=is_async)


def combined(job_type: str, values: Mapping[str, Any], *, is_async: bool = False) -> Policy:
    """The same of options that are checked already, each by itself: are they right together?"""
    parts = dict(values)
    limits = make_limits(**{name: parts.pop(name, None) for name in _OF_LIMITS})
    if is_async and parts.get("concurrency") is None:
        parts["concurrency"] = DEFAULT_ASYNC_CONCURRENCY
    parts["key_scope"] = _key_scope(parts.get("key_scope"), parts.get("key_window"))
    return Policy(check_job_type(job_type), is_async=is_async, limits=limits, **parts)


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
    _declared[policy.job_type] = policy, encode


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
