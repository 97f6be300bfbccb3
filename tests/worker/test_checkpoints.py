"""A place to go on from: what a handler keeps by `ctx.checkpoint` and `ctx.step` reaches its next attempt.

Whatever ended this one; and nobody without the lease writes it.
"""

import json
import os
import signal
from typing import Any

import pytest

from harness import App, Commands, Database, wait_for
from harness.at_work import BEATS
from harness.database import Row
from harness.handlers_rows import attempts_of, make_due, queue, run_of, status_of, wait_until_running
from harness.invariants import assert_consistent
from harness.prefetch_jobs import KINDS
from harness.stops import check_clean_exit, start_tick, wait_until_at_work, wait_until_gone

HANDLERS = '''
import json


def note(ctx, value):
    """What this attempt saw, one line each."""
    with open(os.environ["TRACE_FILE"] + ".seen", "a") as file:
        print(json.dumps([ctx.run_id, value]), file=file)


@job("nightly", timeout="5m", kill_after="2s", max_attempts=9, backoff=exponential("1s", cap="1s"))
def nightly(ctx: Context, ends: list[str], go: str = "", times: int = 1):
    """Goes on by one page in each attempt, and ends it as its payload says."""
    begun = ctx.last_checkpoint
    note(ctx, begun)
    page = (begun or {"page": 0})["page"] + 1
    for number in range(times):
        ctx.checkpoint({"page": page, "of": number, "password": "hunter22hunter22"})
    ctx.step(f"page {page}", lambda: note(ctx, f"step {page}"))
    ctx.step("first", lambda: note(ctx, "first step"))
    leave_trace(ctx)
    end = ends[min(page, len(ends)) - 1]
    if end == "raises":
        raise RuntimeError("hunter22hunter22 was refused")
    if end == "killed":
        import signal
        os.kill(os.getpid(), signal.SIGKILL)
    while end == "waits" and not os.path.exists(go):
        if ctx.cancelled:
            raise RuntimeError("asked to stop")
        time.sleep(0.01)
    if end == "snoozes":
        raise Snooze("1s")
    return page


@job("nightly_async", timeout="5m", kill_after="2s", max_attempts=9, concurrency=50)
async def nightly_async(ctx: Context, ends: list[str], go: str = ""):
    import asyncio

    begun = ctx.last_checkpoint
    note(ctx, begun)
    page = (begun or {"page": 0})["page"] + 1
    ctx.checkpoint({"page": page})

    async def load(number):
        await asyncio.sleep(0.01)
        note(ctx, f"load {number}")
        return [number, (number,)]

    loaded = await asyncio.gather(*(ctx.step_async(f"load {number}", load, number) for number in range(3)))
    assert loaded == [[0, [0]], [1, [1]], [2, [2]]]
    assert await ctx.step_async("plain", lambda: 5) == 5
    leave_trace(ctx)
    end = ends[min(page, len(ends)) - 1]
    if end == "raises":
        raise RuntimeError("as asked")
    if end == "killed":
        import signal
        os.kill(os.getpid(), signal.SIGKILL)
    while end == "waits" and not os.path.exists(go):
        await asyncio.sleep(0.01)
    return page
'''
KEPT = "SELECT checkpoint FROM job_runs WHERE id = ?"
both_kinds = pytest.mark.parametrize("kind", ["nightly", "nightly_async"])


def kept(database: Database, run_id: int) -> Any:
    return database.value(KEPT, [run_id])


def pages(database: Database, run_id: int) -> tuple[int, list[str]]:
    """The page that the run has come to, and its steps."""
    found = kept(database, run_id)
    return found["value"]["page"], sorted(found["steps"])


def seen(app: App, run_id: int) -> list[Any]:
    """What the attempts of a run have noted."""
    path = app.path("trace.seen")
    lines = map(json.loads, path.read_text().splitlines()) if path.exists() else ()
    return [value for of_run, value in lines if of_run == run_id]


def begun(app: App, run_id: int) -> list[int | None]:
    """Where each attempt began."""
    return [value and value["page"] for value in seen(app, run_id) if not isinstance(value, str)]


def again(jobrunner: Commands, database: Database, run_id: int, **options: Any) -> Row:
    make_due(database, run_id)
    jobrunner.tick(**options)
    return run_of(database, run_id)


@pytest.mark.promise("P1")
@both_kinds
@pytest.mark.parametrize("end", ["raises", "killed"])
def test_attempt_after_a_failure_or_a_kill_goes_on_where_the_one_before_ended(
    kind: str, end: str, jobrunner: Commands, app: App, database: Database
) -> None:
    app.add(HANDLERS)
    run_id = queue(database, kind, {"ends": [end, end, "returns"]})
    for _ in range(3):
        row = again(jobrunner, database, run_id)
    assert (row["status"], row["result"]) == ("succeeded", 3)
    assert begun(app, run_id) == [None, 1, 2]
    # Steps are called once over all attempts.
    steps = [each for each in seen(app, run_id) if isinstance(each, str)]
    once = ["first step", "step 1", "step 2", "step 3"] if kind == "nightly" else ["load 0", "load 1", "load 2"]
    assert sorted(steps) == once
    assert pages(database, run_id)[0] == 3
    assert_consistent(database)


@pytest.mark.promise("P9")
@both_kinds
def test_a_stopped_tick_leaves_its_long_run_a_place_to_go_on_from(
    kind: str, jobrunner: Commands, app: App, database: Database
) -> None:
    """A deploy. Its heartbeat is three minutes away: the write that ends the attempt has it."""
    app.add(HANDLERS)
    run_id = queue(database, kind, {"ends": ["waits", "returns"], "go": str(app.path("go"))})
    tick = start_tick(jobrunner, "--grace", "0s", JOBRUNNER_LEASE="10m", JOBRUNNER_HEARTBEAT="3m")
    wait_until_at_work(app, run_id)
    assert kept(database, run_id) is None
    tick.send_signal(signal.SIGTERM)
    check_clean_exit(jobrunner, tick)
    assert (status_of(database, run_id), pages(database, run_id)[0]) == ("queued", 1)
    assert again(jobrunner, database, run_id)["result"] == 2
    assert begun(app, run_id) == [None, 1]


@pytest.mark.promise("P1")
@both_kinds
def test_what_a_heartbeat_has_written_outlives_a_killed_tick(
    kind: str, jobrunner: Commands, app: App, database: Database
) -> None:
    app.add(HANDLERS)
    run_id = queue(database, kind, {"ends": ["waits", "returns"], "go": str(app.path("go"))})
    tick = start_tick(jobrunner, **BEATS)
    database.wait_until("SELECT count(*) FROM job_runs WHERE checkpoint IS NOT NULL", describe="a beat")
    tick.kill()
    tick.communicate()
    wait_until_gone(jobrunner)
    assert again(jobrunner, database, run_id)["status"] != "succeeded"
    assert (again(jobrunner, database, run_id)["result"], begun(app, run_id)) == (2, [None, 1])
    assert [each["outcome"] for each in attempts_of(database, run_id)] == ["lease_expired", "succeeded"]


@pytest.mark.promise("P6")
def test_recovery_of_an_expired_lease_keeps_the_place(jobrunner: Commands, app: App, database: Database) -> None:
    app.add(HANDLERS)
    place = {"value": {"page": 4}, "steps": {"first": None}}
    expired = {"status": "running", "locked_by": "gone:1:a", "host": "gone", "lease_token": "t" * 32, "attempts": 1}
    at = database.now()
    expired |= {"locked_until": at, "claimed_at": at, "started_at": at, "max_attempts": 3}
    run_id = queue(database, "nightly", {"ends": ["returns"]}, **expired, checkpoint=place)
    jobrunner.tick()
    assert (status_of(database, run_id), kept(database, run_id)) == ("failed", place)
    assert again(jobrunner, database, run_id)["result"] == 5
    assert begun(app, run_id) == [4]


@pytest.mark.promise("P2")
def test_a_stale_owner_never_writes_a_checkpoint(jobrunner: Commands, app: App, database: Database) -> None:
    """Its heartbeats and the end of its attempt both come after another tick has taken the run."""
    app.add(HANDLERS)
    run_id = queue(database, "nightly", {"ends": ["waits"], "go": str(app.path("go"))})
    tick = start_tick(jobrunner, JOBRUNNER_LEASE="10m", JOBRUNNER_HEARTBEAT="3m")
    wait_until_at_work(app, run_id)
    newer = {"value": {"page": 70}, "steps": {}}
    database.execute("UPDATE job_runs SET lease_token = ?, checkpoint = ? WHERE id = ?", ["n" * 32, newer, run_id])
    app.release("go")
    assert tick.wait(30) == 0
    assert kept(database, run_id) == newer


def test_a_burst_of_checkpoints_before_long_work_is_with_the_tick(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """The last of a burst is not held back until the next call, which may be an hour away, or never come."""
    app.add(HANDLERS)
    app.add(
        """
        @job("bursts")
        def bursts(ctx: Context):
            for number in range(500):
                ctx.checkpoint(number)
            leave_trace(ctx)
            time.sleep(600)
        """
    )
    run_id = queue(database, "bursts")
    tick = start_tick(jobrunner, **BEATS)
    wait_until_at_work(app, run_id)
    wait_for(lambda: (kept(database, run_id) or {}).get("value") == 499, 30, "the last of them")
    os.kill(app.trace()[0].pid, signal.SIGKILL)
    assert tick.wait(30) == 0
    assert kept(database, run_id) == {"value": 499, "steps": {}}


def test_progress_and_checkpoints_reach_the_row_side_by_side(jobrunner: Commands, app: App, database: Database) -> None:
    app.add(
        """
        @job("reports")
        def reports(ctx: Context, go: str):
            ctx.progress(3, 10)
            ctx.checkpoint([1, 2.5, None, "é😀", {"deep": [{}]}])
            ctx.progress(4, 10)
            print("out")
            while not os.path.exists(go):
                time.sleep(0.01)
        """
    )
    run_id = queue(database, "reports", {"go": str(app.path("go"))})
    tick = start_tick(jobrunner, **BEATS)
    database.wait_until("SELECT count(*) FROM job_runs WHERE progress IS NOT NULL AND checkpoint IS NOT NULL")
    app.release("go")
    assert tick.wait(30) == 0
    assert kept(database, run_id) == {"value": [1, 2.5, None, "é😀", {"deep": [{}]}], "steps": {}}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("words", [(), ("--strict",), ("--linger", "1s")], ids=["default", "strict", "linger"])
def test_short_runs_that_share_a_child_keep_each_its_own_place(
    words: tuple[str, ...], kind: str, jobrunner: Commands, app: App, database: Database
) -> None:
    """They are claimed together, wait behind one another in a child, and end in one write."""
    app.add(HANDLERS)
    app.add(
        f"""
        @job("short", max_attempts=9)
        {kind} short(ctx: Context, number: int):
            seen = ctx.last_checkpoint
            assert seen is None or type(seen["n"]) is type(number % 2 == 1) or number % 2 == 0, seen
            ctx.checkpoint({{"n": number if number % 2 == 0 else True, "of": ctx.run_id, "was": seen and seen["of"]}})
            if ctx.attempt == 1:
                raise Retry("once more", after="1s")
        """
    )
    runs = {number: queue(database, "short", {"number": number}) for number in range(60)}
    jobrunner.tick(*words)
    database.execute("UPDATE job_runs SET run_at = ?", [database.now()])
    jobrunner.tick(*words)
    for number, run_id in runs.items():
        n = number if number % 2 == 0 else True
        assert status_of(database, run_id) == "succeeded"
        assert kept(database, run_id) == {"value": {"n": n, "of": run_id, "was": run_id}, "steps": {}}


def test_a_loop_gives_the_place_to_the_next_attempt(jobrunner: Commands, app: App, database: Database) -> None:
    app.add(HANDLERS)
    run_id = queue(database, "nightly", {"ends": ["raises", "snoozes", "returns"]})
    loop = jobrunner.start("loop", "--every", "1s", env={"JOBRUNNER_LOG": str(app.path("log"))})
    wait_for(lambda: status_of(database, run_id) == "succeeded", 60, "three attempts")
    loop.send_signal(signal.SIGTERM)
    assert loop.wait(30) == 0
    assert begun(app, run_id) == [None, 1, 2]


def test_own_transaction_that_ends_the_run_and_a_checkpoint_before_it(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """The run is over when its tick gets to write: nothing fails, and the lease is the fence as ever."""
    app.add(
        """
        @job("own")
        def own(ctx: Context):
            ctx.checkpoint(1)
            with ctx.transaction():
                ctx.checkpoint(2)
            ctx.checkpoint(3)
        """
    )
    run_id = queue(database, "own")
    jobrunner.tick()
    assert status_of(database, run_id) == "succeeded"
    assert_consistent(database)


def test_a_run_that_waits_at_work_shows_its_place(jobrunner: Commands, app: App, database: Database) -> None:
    app.add(HANDLERS)
    run_id = queue(database, "nightly", {"ends": ["waits"], "go": str(app.path("go"))})
    tick = start_tick(jobrunner, **BEATS)
    wait_until_running(database, run_id)
    database.wait_until("SELECT count(*) FROM job_runs WHERE checkpoint IS NOT NULL", describe="a beat")
    shown = json.loads(jobrunner("show", run_id, "--json").stdout)
    assert shown["checkpoint"]["value"]["page"] == 1
    assert "checkpoint" in jobrunner("show", run_id).stdout
    app.release("go")
    assert tick.wait(30) == 0
