"""Calls that each type checker must refuse, on the line that says `wrong`."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from sqlalchemy import Connection

from jobrunner import Context, Entry, ask, enqueue, enqueue_async, job
from typed.handlers import clean_up, collect, fetch, no_context, send, wrong_context

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def sync(ctx: Context, lite: sqlite3.Connection) -> None:
    send.enqueue(lite, user_id="1")  # wrong type
    send.enqueue(lite, "1")  # wrong type, by position
    send.enqueue(lite, user_id=None)  # wrong type
    send.enqueue(lite)  # wrong: one is missing
    send.enqueue(lite, user=1)  # wrong name
    send.enqueue(lite, user_id=1, more=2)  # wrong: one too many
    send.enqueue(lite, 1, "note", True)  # wrong: one too many by position
    send.enqueue(lite, ctx, user_id=1)  # wrong: the context is jobrunner's to give
    send.enqueue("app.db", user_id=1)  # wrong: no connection
    send.enqueue(lite, user_id=1, run_at=NOON)  # wrong: options belong to using
    send.using(run_att=NOON)  # wrong option
    send.using(user_id=1)  # wrong: an argument is no option
    send.using(run_at=5)  # wrong type of an option
    send.using(run_at="2026-01-05")  # wrong type of an option
    send.using(priority="high")  # wrong type of an option
    send.using(key=5)  # wrong type of an option
    send.using(max_attempts="3")  # wrong type of an option
    send.using(timeout=[5])  # wrong type of an option
    send.using(priority=1).enqueue(lite, user_id="1")  # wrong type
    send.using(priority=1).enqueue(lite)  # wrong: one is missing
    send.using(priority=1).entry(user_id=1, note=5)  # wrong type
    send.using(idempotency_key="k")  # wrong: its name is key
    send.using(if_taken="never")  # wrong word
    send.using(if_parent_fails="keep")  # wrong word
    send.using(after="5")  # wrong type of an option
    send.enqueue_many(lite, [fetch.using(priority=1).entry("x", None)])  # wrong: an entry of another handler
    send.enqueue_many(lite, [], after=[5])  # wrong: for one run
    Entry({}, after=5)  # wrong: for one run
    enqueue(lite, "send", {}, keys="k")  # wrong option
    send.enqueue_many(lite, [{"user_id": 1}, 5])  # wrong: no payload
    send.enqueue_many(lite, [], key="k")  # wrong: a key is for one run
    fetch.enqueue(lite, url="x", when="2026-01-05")  # wrong type
    fetch.enqueue(lite, url="x")  # wrong: one is missing
    fetch.using(priority=1).enqueue(lite, ulr="x", when=None)  # wrong name
    clean_up.enqueue(lite, 1)  # wrong: one too many
    collect.enqueue(lite, names=[1])  # wrong type
    collect.enqueue(lite, names=[], more="x")  # wrong type of any other
    send(ctx, user_id="1")  # wrong type
    send(user_id=1)  # wrong: no context
    send(5, user_id=1)  # wrong: no context
    ask.counts("app.db")  # wrong: no connection
    ask.run(lite, "5")  # wrong type
    ask.runs(lite, "dead")  # wrong: options are named
    ask.runs(lite, statuses="dead")  # wrong option
    ask.runs(lite, since="2h")  # wrong type of an option
    print(ask.health(lite).found)  # wrong: its name is findings
    number: int = send(ctx, user_id=1)  # wrong type of the answer
    Entry([number])  # wrong: no payload
    enqueue(lite, 5)  # wrong type
    job("x", max_atempts=3)  # wrong option
    job("x", timeout=[5])  # wrong type of an option
    job("x", timeout=None)  # wrong: no limit is written in words
    job("x", on_stop="never")  # wrong word
    job("x", schedule=5)  # wrong type of an option
    job(no_context)  # wrong: takes no context
    job("x")(wrong_context)  # wrong: takes no context


async def asynchronous(ctx: Context, lite: sqlite3.Connection, pg: psycopg.Connection[Any], sql: Connection) -> None:
    await send.enqueue_async(lite, 1)  # wrong: a connection without await
    await send.enqueue_async(pg, 1)  # wrong: a connection without await
    await send.using(key="k").enqueue_async(sql, 1)  # wrong: a connection without await
    await send.enqueue_many_async(pg, [])  # wrong: a connection without await
    await enqueue_async(lite, "send")  # wrong: a connection without await
    await ask.health_async(lite)  # wrong: a connection without await
    text: str = await fetch(ctx, "x", when=NOON)  # wrong type of the answer
    await fetch(ctx, text, when=timedelta(1))  # wrong type
