"""retry with another payload: mends a run whose payload is wrong."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

import click

from jobrunner.admin.new_payload import new_payload
from jobrunner.cli import environment, render, session
from jobrunner.cli.changing import Many, change_each
from jobrunner.cli.parameters import read_payload
from jobrunner.errors import NotFoundError
from jobrunner.lifecycle import Status
from jobrunner.masking.values import Names
from jobrunner.store.changes import admin
from jobrunner.store.changes.bulk import Batch

_UNKNOWN = "--allow-unknown accepts the payload all the same"


def not_retried(force: bool) -> dict[Status, str]:
    """Why runs of these statuses are not retried."""
    return {
        Status.QUEUED: "it is waiting already",
        Status.RUNNING: "it is at work; cancel it first",
        Status.SUCCEEDED: f"its work is done{'' if force else '; --force runs it again'}",
    }


def mend(many: Many, text: str, *, force: bool, allow_unknown: bool) -> None:
    """Retry one run with this payload, if its handler can take it. The rules are those of ``enqueue``."""
    if len(many.job_ids) != 1 or not many.selection.is_empty or many.everything or many.over or many.limit:
        raise click.UsageError("--payload is for one run: give its JOB_ID, and no filter")
    (run_id,) = many.job_ids
    config = environment.load()
    text = read_payload(text, config.payload_limit)
    database = session.open_database(config)
    found = database.read(partial(admin.type_and_status, run_id=run_id))
    if found is None:
        raise NotFoundError(f"there is no run {run_id}")
    names = Names(config.notify.redact if config.notify is not None else ())
    check = None if allow_unknown else partial(session.check_payload, config, _UNKNOWN)
    new = new_payload(text, config.payload_limit, found.job_type, check, names)
    counted = {"action": "retry", "matching": {found.status: 1}}
    if many.is_dry:
        empty = {**counted, **asdict(Batch(0)), "dry_run": True}
        click.echo(
            render.json_line(empty) if many.as_json else f"retry: run {run_id} ({found.status}); nothing changed"
        )
        return
    change = partial(admin.retry, actor=session.actor(), force=force, payload=new)
    change_each(many.job_ids, change, "queued again with the new payload", not_retried(force), quietly=many.as_json)
    if many.as_json:
        render.done(render.json_line({**counted, **asdict(Batch(1)), "dry_run": False}))
