"""effects settle: record whether an effect was applied."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import click

from jobrunner.cli import environment, options, render, session
from jobrunner.errors import NotFoundError, UsageError
from jobrunner.jobs.payload import check_payload
from jobrunner.store.changes import settlement
from jobrunner.store.changes.settlement import Settled
from jobrunner.text import visible


@click.command()
@click.argument("key")
@click.option(
    "--applied/--not-applied",
    "applied",
    default=None,
    help="Whether the effect was applied. One of the two is required.",
)
@click.option("--outcome", metavar="JSON", help="With --applied: what the call would have returned.")
@options.REASON
def settle(key: str, applied: bool | None, outcome: str | None) -> None:
    """Record whether an uncertain effect was applied, after you have asked the other system.

    With --applied the call is never made again, and later attempts get the outcome. With --not-applied the key is free
    again, and the next attempt makes the call. The audit trail keeps your answer, with your name.

    Example: jobrunner effects settle invoice-812 --applied
    """
    if applied is None:
        raise UsageError("say whether the effect was applied: --applied or --not-applied")
    if outcome is not None and not applied:
        raise UsageError("an effect that was not applied has no outcome; leave out --outcome")
    config = environment.load()
    given = None if outcome is None else _parsed(outcome, config.payload_limit)
    database = session.open_database(config)
    answer = database.write(partial(settlement.settle, key=key, actor=session.actor(), applied=applied, outcome=given))
    if answer is Settled.UNKNOWN:
        raise NotFoundError(f"{answer.value} {visible(key)!r}")
    if answer is not Settled.DONE:
        raise NotFoundError(f"the effect {visible(key)!r} is not uncertain: {answer.value}")
    render.done(f"effect {visible(key)}: {'applied' if applied else 'not applied, and its key is free again'}")


def _parsed(text: str, limit_bytes: int) -> Any:
    try:
        return check_payload({"outcome": json.loads(text)}, limit_bytes)["outcome"]
    except (ValueError, RecursionError):
        raise UsageError("the outcome is not JSON; a text needs quotes: '\"msg-17\"'") from None
