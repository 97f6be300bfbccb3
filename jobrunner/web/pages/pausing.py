"""Pauses of a job type, a host, or everything."""

from __future__ import annotations

from functools import partial
from typing import cast, get_args

from jobrunner.errors import UsageError
from jobrunner.names import check_job_type
from jobrunner.store.queue import pauses
from jobrunner.store.queue.pauses import Kind
from jobrunner.web.call import Call, Redirect

_PAGES: dict[Kind, str] = {"type": "types", "host": "hosts", "all": ""}
_LONGEST_HOST = 255


def pause(call: Call) -> Redirect:
    """Let no run of it begin until it is resumed."""
    kind, name = _named(call)
    before = call.write(partial(pauses.pause, kind=kind, name=name, actor=call.actor))
    return Redirect(f"{_PAGES[kind]}?done={'pause' if before is None else 'paused'}", {"kind": kind, "name": name})


def resume(call: Call) -> Redirect:
    """Let its runs begin again."""
    kind, name = _named(call)
    since = call.write(partial(pauses.resume, kind=kind, name=name, actor=call.actor))
    return Redirect(f"{_PAGES[kind]}?done={'resumed' if since is None else 'resume'}", {"kind": kind, "name": name})


DONE = {
    "pause": "Paused. Runs at work go on.",
    "paused": "Somebody else has paused it already.",
    "resume": "Resumed: its runs begin with the next tick.",
    "resumed": "It is not paused; somebody else may have resumed it.",
}
"""What the pages say after it."""


def _named(call: Call) -> tuple[Kind, str]:
    given, name = call.form.get("kind", ""), call.form.get("name", "")
    if given not in get_args(Kind):
        raise UsageError("say what to pause: a type, a host, or all")
    kind = cast("Kind", given)
    if kind == "type":
        check_job_type(name)
    if kind == "host" and not 0 < len(name) <= _LONGEST_HOST:
        raise UsageError("give the name of a host")
    return kind, "" if kind == "all" else name
