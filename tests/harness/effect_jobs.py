"""Handlers with effects and with transactions of their own, for tests with ticks."""

from harness import App, Database

HANDLERS = """
import asyncio
import os
import sys
import time

from jobrunner import Context, job


def leave_trace(text):
    trace = os.open(os.environ["TRACE_FILE"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(trace, f"{text}\\n".encode())
    os.close(trace)


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.01)


def send(key):
    leave_trace(key)
    return {"id": key}


@job("mail")
def mail(ctx: Context, key: str):
    effect = ctx.once(key, send, key)
    return {"state": effect.state, "new": effect.is_new, "heavy": "sqlalchemy" in sys.modules}


@job("mail_async")
async def mail_async(ctx: Context, key: str):
    async def send_async(key):
        return send(key)

    effect = await ctx.once_async(key, send_async, key)
    return {"state": effect.state, "new": effect.is_new, "heavy": "sqlalchemy" in sys.modules}


def insert(ctx, connection):
    connection.exec_driver_sql(f"INSERT INTO things VALUES ({ctx.run_id})")


@job("work", kill_after="1s")
def work(ctx: Context, wait: str = "", error: str = "", answer=None):
    with ctx.transaction() as connection:
        insert(ctx, connection)
        ctx.result = {"attempt": ctx.attempt}
    leave_trace(f"committed {ctx.run_id}")
    if wait:
        wait_for(wait)
    if error:
        raise RuntimeError(error)
    return answer


@job("work_async")
async def work_async(ctx: Context):
    def in_a_thread():
        with ctx.transaction() as connection:
            insert(ctx, connection)

    await asyncio.to_thread(in_a_thread)


@job("work_awaited")
async def work_awaited(ctx: Context, wait: float = 0):
    async with ctx.transaction() as connection:
        await connection.exec_driver_sql(f"INSERT INTO things VALUES ({ctx.run_id})")
        ctx.result = {"attempt": ctx.attempt}
        leave_trace("inside")
        await asyncio.sleep(wait)


@job("slow_inside", kill_after="1s")
def slow_inside(ctx: Context):
    with ctx.transaction() as connection:
        leave_trace("inside")
        insert(ctx, connection)
        time.sleep(30)
"""


def with_effects(app: App, database: Database) -> App:
    """An application with these handlers, and the table that they write."""
    app.write("handlers", HANDLERS)
    database.execute("CREATE TABLE things (run_id INTEGER)")
    return app


def traces(app: App) -> list[str]:
    """What the handlers have left, line by line."""
    return app.trace_file.read_text().splitlines() if app.trace_file.exists() else []


def done(database: Database, run_id: int) -> int:
    """How often the work of a run was committed."""
    count: int = database.value("SELECT count(*) FROM things WHERE run_id = ?", [run_id])
    return count
