"""Limits of a job type that are set at run time, instead of those of its code."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

from jobrunner.durations import parse_duration
from jobrunner.errors import UsageError
from jobrunner.jobs.job_options import MOST_RUNNING
from jobrunner.names import check_job_type
from jobrunner.rates import parse_rate
from jobrunner.store.queue import set_limits
from jobrunner.store.queue.set_limits import Wanted
from jobrunner.text import whole_number
from jobrunner.web import fields
from jobrunner.web.call import Call, Redirect


def limit(call: Call) -> Redirect:
    """Let no more runs of the type be at work, or begin in a time, than the visitor says."""
    name = check_job_type(call.form.get("name", ""))
    if call.actor.reason is None:
        raise UsageError("give the reason, which the audit trail keeps")
    done = call.write(partial(set_limits.set_limit, wanted=_wanted(call, name), actor=call.actor))
    return Redirect(f"types?done={'limit' if done.before is None else 'limited'}", {"name": name})


def unlimit(call: Call) -> Redirect:
    """Let the limits of its code hold again."""
    name = check_job_type(call.form.get("name", ""))
    before = call.write(partial(set_limits.unset, job_type=name, actor=call.actor))
    return Redirect(f"types?done={'unlimited' if before is None else 'unlimit'}", {"name": name})


DONE = {
    "limit": "Limited. Runs at work go on.",
    "limited": "Limited. It replaces what was set before.",
    "unlimit": "The limits of its code hold again.",
    "unlimited": "Nothing is set for it; somebody else may have taken it back, or it has ended.",
}
"""What the page says after it."""


def _wanted(call: Call, name: str) -> Wanted:
    most, rate = call.form.get("max_running", "").strip(), call.form.get("rate", "").strip()
    if not most and not rate:
        raise UsageError("say how many may be at work, or at what rate they may start")
    if most == "0":
        raise UsageError("0 lets no run begin: pause the type instead")
    return Wanted(
        name,
        whole_number(most, least=1, most=MOST_RUNNING) if most else None,
        parse_rate("rate", rate, None) if rate else None,
        _until(call.form.get("ends_at", "").strip()),
    )


def _until(text: str) -> datetime | timedelta | None:
    if not text:
        return None
    try:
        return parse_duration(text.removeprefix("+"))
    except UsageError:
        return fields.instant(text, "2h for two hours, or ")
