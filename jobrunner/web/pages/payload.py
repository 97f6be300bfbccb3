"""Another payload for a run: the form for it, and what was typed into it."""

from __future__ import annotations

import json
import os
from functools import partial
from urllib.parse import quote_plus

from jobrunner.admin.new_payload import new_payload
from jobrunner.application.registry import serving
from jobrunner.errors import HandlersUnavailable, NotFoundError, UsageError
from jobrunner.jobs.payload import Payload, check_match
from jobrunner.settings import config
from jobrunner.store.changes import one_run
from jobrunner.store.changes.one_run import NewPayload
from jobrunner.store.questions.runs.run_details import Run
from jobrunner.text import visible_block
from jobrunner.web.call import Call
from jobrunner.web.messages import LONGEST_BODY
from jobrunner.web.rendering import pretty

_LONGEST = LONGEST_BODY - 8 * 1024
"""Of a payload as a form is sent; the rest is for the other fields."""


def text_of(call: Call, run: Run) -> str | None:
    """What the form shows: the payload as it is, without its secrets, or what was typed and refused.

    None: it is too long for a form.
    """
    if "payload" in call.form:
        return call.form["payload"]
    text = pretty(run.payload)
    if visible_block(text) != text:
        # The page shows such a character by a name that is no JSON.
        text = json.dumps(run.payload, indent=2).replace("\x7f", "\\u007f")
    return text if len(quote_plus(text)) <= _LONGEST else None


def typed(call: Call, run_id: int) -> NewPayload:
    """The payload that was typed. Raises UsageError if it cannot be used, or not be checked."""
    found = call.access.read(partial(one_run.type_and_status, run_id=run_id))
    if found is None:
        raise NotFoundError(f"there is no run {run_id}")
    limit = config.for_enqueue(os.environ).payload_limit
    check = None if call.form.get("unchecked") == "yes" else call.check
    try:
        return new_payload(call.form.get("payload", ""), limit, found.job_type, check, call.masks.names)
    except HandlersUnavailable as error:
        raise UsageError(str(error)) from None


def check_here(job_type: str, payload: Payload) -> None:
    """Raise PayloadMismatch if this process has a handler of the type that cannot take the payload."""
    if (job := serving().get(job_type)) is not None:
        check_match(job_type, job.check, payload)
