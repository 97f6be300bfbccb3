"""Calls that each type checker must accept."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from sqlalchemy import Connection
from sqlalchemy.orm import Session

from jobrunner import (
    Context,
    Enqueued,
    Entry,
    Schedule,
    ask,
    enqueue,
    enqueue_async,
    enqueue_many,
    enqueue_many_async,
    fixed,
    job,
)
from typed.handlers import clean_up, collect, fetch, no_context, send

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def sync(ctx: Context, engine: Connection, session: Session, pg: psycopg.Connection, lite: sqlite3.Connection) -> None:
    send.enqueue(lite, user_id=1)
    send.enqueue(lite, 1)
    send.enqueue(lite, 1, "note")
    send.enqueue(pg, 1, note="note", urgent=True)
    send.enqueue(engine, note="note", user_id=1)
    answer: Enqueued = send.enqueue(session, user_id=1, urgent=answered(None))
    send.using(run_at=NOON).enqueue(lite, user_id=1)
    send.using(run_at=timedelta(hours=1), priority=5, key="k").enqueue(lite, 1)
    send.using(max_attempts=3, timeout="none").enqueue(pg, 1, "note")
    later = send.using(run_at=None, timeout=timedelta(minutes=1))
    later.enqueue(lite, user_id=1, urgent=answered(answer))
    send.enqueue_many(
        lite, [{"user_id": 1}, Entry({"user_id": 2}, priority=1), later.entry(3, urgent=True)], priority=2
    )
    send.enqueue_many(None, [later.entry(3)], run_at=NOON, if_taken="raise")
    send.using(key="k", if_taken="replace", after=[answer, 5], if_parent_fails="run").enqueue(None, user_id=1)
    fetch.enqueue(lite, url="x", when=NOON)
    fetch.enqueue(lite, "x", None)
    fetch.using(priority=1).enqueue(lite, "x", when=None)
    clean_up.enqueue(lite)
    clean_up.using(priority=1).enqueue(lite)
    collect.enqueue(lite, names=["a"], more=1, and_more=2)
    text: str = send(ctx, user_id=1)
    send(ctx, 1, text, urgent=True)
    clean_up(ctx)
    enqueue(lite, "send", {"user_id": 1}, run_at=NOON)
    enqueue(None, "send", {"user_id": 1}, key="k", timeout="5s", max_attempts=None)
    enqueue_many(lite, "send", [{"user_id": 1}, later.entry(3), Entry({}, key="k", if_taken="raise")], priority=1)
    name: str = fetch.name
    counts: dict[str, int] = ask.counts(lite)
    found: ask.Health = ask.health(session)
    first: ask.Finding = found.findings[0]
    run: ask.ShownRun = ask.run(pg, counts["dead"])
    reason: str = run.explanation["reason"] + first.remedy
    page: ask.Page = ask.runs(engine, status=["dead", "failed"], job_type="send", since=timedelta(hours=2), before=5)
    listed: ask.SelectedRun = page.runs[0]
    explained: ask.Explanation = ask.explain(None, reason)
    whole: ask.Status = ask.status(lite)
    ask.to_dict([listed, explained, whole])
    no_context()
    print(name)


async def asynchronous(ctx: Context, lite: sqlite3.Connection, pg: psycopg.AsyncConnection[Any]) -> int:
    await send.enqueue_async(pg, 1)
    await send.using(priority=1).enqueue_async(None, user_id=1)
    await send.enqueue_many_async(pg, [{"user_id": 1}, send.using(key="k").entry(1)], priority=1)
    await enqueue_async(pg, "send", {"user_id": 1}, key="k")
    await enqueue_many_async(None, "send", [{"user_id": 1}])
    await collect(ctx, names=[], other=1)
    health: ask.Health = await ask.health_async(pg)
    await ask.runs_async(pg, until=NOON, limit=health.healthy + 1)
    await ask.explain_async(None, (await ask.run_async(pg, 5)).id)
    send.enqueue(lite, 1)
    return await fetch(ctx, "x", when=NOON)


def answered(answer: Enqueued | None) -> bool:
    return answer is not None and answer.created


every_option = job(
    "every_option",
    max_attempts=3,
    timeout=timedelta(minutes=1),
    backoff=fixed("1m"),
    retry_on=(ValueError, OSError),
    discard_on=KeyError,
    concurrency=None,
    rate="1/s",
    concurrency_key=["shop", "region"],
    when_full="drop",
    key_scope="window",
    key_window=60,
    schedule=[Schedule("@daily")],
)


@job
def within(ctx: Context, number: float) -> None:
    print(ctx.attempt, number)
