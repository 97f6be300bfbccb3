"""A traceback that is shown begins with the user's own code."""

import re

from harness import App, Commands, Database, sqlite_only
from harness.handlers_rows import attempt_of, queue
from harness.waiting import stretched

HANDLERS = """
import ctypes
import jobrunner


@jobrunner.around_run
def within(ctx):
    yield


@jobrunner.after_run
def look_back(ctx, error):
    if ctx.job_type == "looked_back":
        {}["look_back"]


def fail():
    raise ValueError("so")


@job("plain")
def plain(ctx: Context):
    fail()


@job("chained")
def chained(ctx: Context):
    try:
        fail()
    except ValueError as error:
        raise RuntimeError("therefore") from error


@job("grouped")
def grouped(ctx: Context):
    try:
        fail()
    except ValueError as error:
        raise ExceptionGroup("all", [error, KeyError("other")])


@job("coroutine")
async def coroutine(ctx: Context):
    fail()


@job("inside")
def inside(ctx: Context):
    ctx.once("inside", fail)


@job("refused")
def refused(ctx: Context):
    ctx.progress("half")


@job("slow", timeout=LIMIT, kill_after=LIMIT)
def slow(ctx: Context):
    while True:
        pass


@job("dies")
def dies(ctx: Context):
    ctypes.string_at(0)


@job("looked_back")
def looked_back(ctx: Context):
    pass
"""
# The functions whose frames are shown, the outermost first; those of a cause before.
SHOWN = {
    "plain": ["plain", "fail"],
    "chained": ["chained", "fail", "chained"],
    "grouped": ["grouped", "fail", "grouped", "grouped", "fail"],
    "coroutine": ["coroutine", "fail"],
    "slow": ["slow"],
    "dies": ["dies", "string_at"],
    "looked_back": ["look_back"],
}


@sqlite_only
def test_traceback_of_a_run_begins_with_its_handler(jobrunner: Commands, app: App, database: Database) -> None:
    file = app.add(HANDLERS.replace("LIMIT", str(stretched(0.3))))
    runs = {name: queue(database, name, max_attempts=1) for name in (*SHOWN, "inside", "refused")}
    jobrunner.tick(cold=True)
    told = {name: attempt_of(database, run_id) for name, run_id in runs.items()}
    shown = {name: row["output" if name == "looked_back" else "traceback"] or "" for name, row in told.items()}
    for name, text in shown.items():
        frames = re.findall(r'File "(.*)", line \d+,? in (\w+)', text)
        if name in ("slow", "dies"):
            frames.reverse()
        if name in SHOWN:
            assert [function for _, function in frames][: len(SHOWN[name])] == SHOWN[name], text
            assert "jobrunner/" not in text.replace(str(app.folder), ""), text
        assert frames[0][0] == str(file), text
    # What jobrunner does between two functions of the user stays, and so does an error of its own below the handler.
    assert [each in shown["inside"] for each in ("in inside", "effects/", "in fail")] == [True] * 3
    assert "context.py" in shown["refused"]
