"""retry: queue runs again, one of them with another payload if its payload was wrong."""

from __future__ import annotations

from datetime import datetime
from functools import partial

import click

from jobrunner.admin.bulk import Changed
from jobrunner.admin.new_payload import new_payload
from jobrunner.cli import environment, render, session
from jobrunner.cli.bulk import OVER, Many, change_each, change_many, of_many
from jobrunner.cli.parameters import read_payload
from jobrunner.errors import NotFoundError
from jobrunner.lifecycle import Status
from jobrunner.masking.values import Names
from jobrunner.store.changes import one_run, run_changes
from jobrunner.store.changes.bulk import Batch
from jobrunner.text import picked


@click.command()
@of_many
@OVER
@click.option("--force", is_flag=True, help="Also retry runs that have succeeded.")
@click.option(
    "--payload",
    metavar="JSON|@FILE|-",
    help="Replace the payload of this one run, also while it waits for its first attempt.",
)
@click.option(
    "--allow-unknown",
    is_flag=True,
    help="Accept a --payload also if this host has no handler for the job type, or one that cannot take it.",
)
def retry(many: Many, force: bool, payload: str | None, allow_unknown: bool) -> None:
    """Queue failed, dead or cancelled runs again, due now, with at least one more attempt.

    --payload repairs one run whose payload is wrong. The audit trail says what was changed, without secrets.

    Example: `jobrunner retry --status dead --type mail --since 2h --over 10m`

    Example: `jobrunner retry 812 --payload '{"name": "Ada"}'`
    """
    if payload is not None:
        _repair(many, payload, force=force, allow_unknown=allow_unknown)
        return
    if allow_unknown:
        raise click.UsageError("--allow-unknown belongs to --payload")
    if not many.is_by_ids:
        change_many(many, lambda _: run_changes.retry(force=force), _spread_from_now)
        return
    change_each(
        many.job_ids, partial(one_run.retry, actor=session.actor(), force=force), "queued again", _not_retried(force)
    )


def _spread_from_now(at: datetime) -> datetime:
    return at


_UNKNOWN = "--allow-unknown accepts the payload all the same"


def _not_retried(force: bool) -> dict[Status, str]:
    """Why runs of these statuses are not retried."""
    return {
        Status.QUEUED: "it is waiting already",
        Status.RUNNING: "it is at work; cancel it first",
        Status.SUCCEEDED: f"its work is done{'' if force else '; --force runs it again'}",
    }


def _repair(many: Many, text: str, *, force: bool, allow_unknown: bool) -> None:
    """Retry one run with this payload, if its handler can take it. The rules are those of ``enqueue``."""
    if len(many.job_ids) != 1 or not many.selection.is_empty or many.everything or many.over or many.limit:
        raise click.UsageError("--payload is for one run: give its JOB_ID, and no filter")
    (run_id,) = many.job_ids
    config = environment.load()
    text = read_payload(text, config.payload_limit)
    database = session.open_database(config)
    found = database.read(partial(one_run.type_and_status, run_id=run_id))
    if found is None:
        raise NotFoundError(f"there is no run {run_id}")
    names = Names(config.notify.redact if config.notify is not None else ())
    check = None if allow_unknown else partial(session.check_payload, config, _UNKNOWN)
    new = new_payload(text, config.payload_limit, found.job_type, check, names)
    answer = picked(Changed, Batch(1 - many.is_dry), action="retry", matching={found.status: 1}, dry_run=many.is_dry)
    if many.is_dry:
        nothing = f"retry: run {run_id} ({found.status}); nothing changed"
        click.echo(render.json_line(answer) if many.as_json else nothing)
        return
    change = partial(one_run.retry, actor=session.actor(), force=force, payload=new)
    change_each(many.job_ids, change, "queued again with the new payload", _not_retried(force), quietly=many.as_json)
    if many.as_json:
        render.done(render.json_line(answer))
