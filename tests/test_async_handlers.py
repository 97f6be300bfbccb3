"""``async def`` handlers: many at once in one child, each with its own end, output and limit."""

import pytest

from handlers_rows import attempt_of, queue, run_of, status_of, wait_until_running
from harness import App, Commands, Database, wait_for

HANDLERS = """
import asyncio, logging, subprocess, sys, threading

logging.basicConfig(level="INFO", format="logged %(message)s")


async def until(path):
    while not os.path.exists(path):
        await asyncio.sleep(0.01)


@job("hold", concurrency=40, timeout="5m")
async def hold(ctx: Context, path: str = "/nowhere"):
    leave_trace(ctx)
    await until(path)
    return ctx.run_id


@job("pair", concurrency=2, timeout="5m")
async def pair(ctx: Context, path: str = "/nowhere"):
    leave_trace(ctx)
    await until(path)


@job("single", concurrency=1, timeout="5m")
def single(ctx: Context, path: str):
    leave_trace(ctx)
    while not os.path.exists(path):
        time.sleep(0.01)


@job("polite", timeout="500ms", kill_after="20s", max_attempts=1)
async def polite(ctx: Context):
    leave_trace(ctx)
    try:
        await asyncio.sleep(600)
    finally:
        print("cleaned up", ctx.cancelled)


@job("finishing", timeout="500ms", kill_after="20s")
async def finishing(ctx: Context):
    try:
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        return "done, if late"


@job("speak")
async def speak(ctx: Context):
    me = f"<{ctx.run_id}>"
    print("print", me)
    await asyncio.sleep(0)
    logging.info(me)
    sys.stderr.write(f"stderr {me}\\n")
    sys.stdout.buffer.write(f"bytes {me}\\n".encode())
    await asyncio.to_thread(lambda: print("thread", me))

    async def below():
        await asyncio.sleep(0.01)
        print("below", me)

    await asyncio.gather(below(), asyncio.create_task(below()))
    ctx.log.info("bound", me=me)
    print("no newline", me, end="")


@job("flood")
async def flood(ctx: Context):
    for number in range(40_000):
        print(f"<{ctx.run_id}>", number, "x" * 100)
        if number % 100 == 0:
            await asyncio.sleep(0)
    print(f"the end of <{ctx.run_id}>")


@job("ways")
async def ways(ctx: Context, way: str):
    await asyncio.sleep(0)
    if way == "retry":
        raise Retry("later", after="1h")
    if way == "discard":
        return Discard("never")
    if way == "snooze":
        raise Snooze("1h")
    if way == "exit":
        sys.exit(3)
    if way == "cancelled":
        raise asyncio.CancelledError("its own")
    if way == "background exit":
        async def leave():
            sys.exit(4)
        await asyncio.create_task(leave())
    if way == "left behind":
        async def later():
            await asyncio.sleep(0.3)
            open(os.environ["TRACE_FILE"] + "-left", "w").close()
        globals()["kept"] = asyncio.create_task(later())
    if way == "progress":
        ctx.progress(3, 10, "three")
        await until(os.environ["TRACE_FILE"] + "-go")
    return {"way": way}
"""


@pytest.fixture
def app(app: App) -> App:
    app.add(HANDLERS)
    return app


def wait_for_attempts(app: App, count: int) -> None:
    wait_for(lambda: len(app.trace()) >= count, 30, f"{count} attempts begun")


def test_many_run_at_once_in_one_child_and_take_no_places(jobrunner: Commands, app: App, database: Database) -> None:
    runs = [queue(database, "hold", {"path": str(app.path("go"))}) for _ in range(30)]
    tick = jobrunner.start("tick", "--concurrency", "1")
    wait_for_attempts(app, 30)
    assert len({line.pid for line in app.trace()}) == 1
    # The only place of the host is free for a handler of the other kind, in a child of its own.
    beside = queue(database, "append")
    jobrunner.tick("--concurrency", "1")
    assert status_of(database, beside) == "succeeded"
    app.release("go")
    assert tick.communicate(timeout=60) == ("", "")
    assert {run_of(database, run_id)["status"] for run_id in runs} == {"succeeded"}
    assert [run_of(database, run_id)["result"] for run_id in runs] == runs
    assert len(app.trace()) == 31


@pytest.mark.parametrize(("job_type", "most"), [("pair", 2), ("single", 1)])
def test_no_more_of_a_type_than_its_concurrency_over_all_ticks_of_a_host(
    jobrunner: Commands, app: App, database: Database, job_type: str, most: int
) -> None:
    for _ in range(5):
        queue(database, job_type, {"path": str(app.path("go"))})
    tick = jobrunner.start("tick", "--concurrency", "4")
    wait_for_attempts(app, most)
    jobrunner.tick("--concurrency", "4")
    assert len(app.trace()) == most
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'running'") == most
    # Another host counts for itself.
    other = jobrunner.start("tick", "--concurrency", "4", env={"JOBRUNNER_HOST": "elsewhere"})
    wait_for_attempts(app, 2 * most)
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'running'") == 2 * most
    app.release("go")
    assert tick.wait(30) == other.wait(30) == 0
    jobrunner.tick()
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'succeeded'") == 5


@pytest.mark.promise("P6")
def test_a_timeout_cancels_that_one_only(jobrunner: Commands, app: App, database: Database) -> None:
    held = queue(database, "hold", {"path": str(app.path("go"))})
    late, polite = queue(database, "finishing"), queue(database, "polite")
    tick = jobrunner.start("tick")
    database.wait_until("SELECT finished_at FROM job_runs WHERE id = ?", [polite])
    database.wait_until("SELECT finished_at FROM job_runs WHERE id = ?", [late])
    attempt = attempt_of(database, polite)
    assert (attempt["outcome"], attempt["error"]) == ("timed_out", "timed out after 500ms")
    assert "in polite" in attempt["traceback"]
    assert attempt["output"] == "cleaned up True\n"
    assert (status_of(database, late), run_of(database, late)["result"]) == ("succeeded", "done, if late")
    app.release("go")
    assert tick.wait(30) == 0
    assert attempt_of(database, held)["outcome"] == "succeeded"
    assert len({line.pid for line in app.trace()}) == 1


def test_output_is_attributed_to_the_run_that_wrote_it(jobrunner: Commands, app: App, database: Database) -> None:
    runs = [queue(database, "speak") for _ in range(8)]
    jobrunner.tick()
    for run_id in runs:
        attempt = attempt_of(database, run_id)
        lines = attempt["output"].splitlines()
        me = f"<{run_id}>"
        assert sorted(line.split()[0] for line in lines if "bound" not in line) == sorted(
            ["print", "logged", "stderr", "bytes", "thread", "below", "below", "no"]
        )
        assert all(me in line for line in lines)
        assert "bound" in attempt["output"]


def test_a_flood_of_output_of_many_runs_blocks_nobody_and_keeps_its_end(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """Parent and child once waited for each other: one wrote runs, the other output, and neither read."""
    payload = {"padding": "x" * 100_000}
    app.add(HANDLERS.replace("async def flood(ctx: Context):", "async def flood(ctx: Context, padding: str):"))
    runs = [queue(database, "flood", payload) for _ in range(10)]
    jobrunner.tick(timeout=100)
    for run_id in runs:
        attempt = attempt_of(database, run_id)
        assert attempt["outcome"] == "succeeded"
        assert attempt["output"].endswith(f"the end of <{run_id}>\n")
        assert len(attempt["output"]) <= 16 * 1024
        others = {f"<{other}>" for other in runs if other != run_id}
        assert not any(other in attempt["output"] for other in others)


@pytest.mark.parametrize(
    ("way", "status", "error"),
    [
        ("retry", "failed", "later"),
        ("discard", "dead", "never"),
        ("snooze", "queued", None),
        ("exit", "failed", "3"),
        ("cancelled", "failed", "its own"),
        ("background exit", "failed", "SystemExit: 4"),
        ("plain", "succeeded", None),
    ],
)
def test_every_way_out_of_an_async_handler(
    jobrunner: Commands, database: Database, way: str, status: str, error: str | None
) -> None:
    run_id = queue(database, "ways", {"way": way})
    misfit = queue(database, "ways", {"wya": way})
    jobrunner.tick()
    run = run_of(database, run_id)
    assert (run["status"], run["last_error"] if status in ("failed", "dead") else None) == (status, error)
    assert (status_of(database, misfit), run_of(database, misfit)["error_type"]) == ("dead", "bad_payload")


def test_what_a_handler_leaves_in_the_background_ends_with_it(
    jobrunner: Commands, app: App, database: Database
) -> None:
    queue(database, "ways", {"way": "left behind"})
    held = queue(database, "hold", {"path": str(app.path("go"))})
    tick = jobrunner.start("tick")
    database.wait_until("SELECT count(*) FROM job_runs WHERE status = 'succeeded'")
    # The loop turns on for the other run for longer than what was left behind would have needed.
    queue(database, "polite")
    database.wait_until("SELECT finished_at FROM job_runs WHERE job_type = 'polite'")
    app.release("go")
    assert tick.wait(30) == 0
    assert status_of(database, held) == "succeeded"
    assert not app.path("trace-left").exists()


def test_progress_is_the_runs_own(jobrunner: Commands, app: App, database: Database) -> None:
    telling, silent = (
        queue(database, "ways", {"way": "progress"}),
        queue(database, "hold", {"path": str(app.path("trace-go"))}),
    )
    tick = jobrunner.start("tick", env={"JOBRUNNER_LEASE": "2s"})
    database.wait_until("SELECT id FROM job_runs WHERE progress IS NOT NULL")
    assert run_of(database, telling)["progress"] == {"done": 3, "total": 10, "message": "three"}
    assert run_of(database, silent)["progress"] is None
    app.release("trace-go")
    assert tick.wait(30) == 0


def test_cancel_stops_one_and_leaves_its_neighbours(jobrunner: Commands, app: App, database: Database) -> None:
    one, other = (queue(database, "hold", {"path": str(app.path("go"))}) for _ in range(2))
    tick = jobrunner.start("tick", env={"JOBRUNNER_LEASE": "2s"})
    wait_until_running(database, one)
    wait_for_attempts(app, 2)
    jobrunner("cancel", one)
    database.wait_until("SELECT id FROM job_runs WHERE status = 'cancelled'")
    assert status_of(database, other) == "running"
    app.release("go")
    assert tick.wait(30) == 0
    assert (status_of(database, one), status_of(database, other)) == ("cancelled", "succeeded")
    assert attempt_of(database, other)["outcome"] == "succeeded"


@pytest.mark.promise("P2")
def test_a_lost_lease_stops_its_own_run_only(jobrunner: Commands, app: App, database: Database) -> None:
    lost, kept = (queue(database, "hold", {"path": str(app.path("go"))}) for _ in range(2))
    tick = jobrunner.start("tick", env={"JOBRUNNER_LEASE": "3s"})
    wait_for_attempts(app, 2)
    database.execute("UPDATE job_runs SET lease_token = 'somebody else''s', locked_by = 'else' WHERE id = ?", [lost])
    database.wait_until(
        "SELECT 1 FROM job_runs WHERE id = ? AND heartbeat_at > claimed_at", [kept], describe="a beat of the neighbour"
    )
    app.release("go")
    assert tick.wait(30) == 0
    assert (status_of(database, lost), status_of(database, kept)) == ("running", "succeeded")
    assert database.query("SELECT 1 AS one FROM job_attempts WHERE run_id = ?", [lost]) == []


@pytest.mark.promise("P9")
def test_a_stopped_tick_hands_async_runs_back_uncharged(jobrunner: Commands, app: App, database: Database) -> None:
    runs = [queue(database, "hold", {"path": str(app.path("never"))}) for _ in range(5)]
    tick = jobrunner.start("tick", "--grace", "100ms")
    wait_for_attempts(app, 5)
    tick.terminate()
    assert tick.communicate(timeout=30) == ("", "")
    for run_id in runs:
        assert (status_of(database, run_id), run_of(database, run_id)["attempts"]) == ("queued", 0)
        assert attempt_of(database, run_id)["outcome"] == "released"


ONLY_ASYNC = """
from jobrunner import job


@job("only")
async def only(ctx): ...
"""


@pytest.mark.parametrize("module", [ONLY_ASYNC, "", "from jobrunner import job\n\n@job('only')\ndef only(ctx): ...\n"])
def test_a_tick_whose_handlers_serve_nothing_more_ends_before_its_budget(
    jobrunner: Commands, app: App, database: Database, module: str
) -> None:
    """It once sat out its budget, waiting for work for children that had nothing to serve."""
    app.write("handlers", module)
    app.path("jobrunner.toml").write_text('[jobs.command]\ncommand = ["true"]\n')
    runs = [queue(database, "only"), queue(database, "command"), queue(database, "unknown")]
    jobrunner.tick("--budget", "100s", timeout=30)
    jobrunner.tick("--budget", "100s", "--types", "command", timeout=30)
    statuses = [status_of(database, run_id) for run_id in runs]
    assert statuses == ["succeeded" if "only" in module else "queued", "succeeded", "queued"]
