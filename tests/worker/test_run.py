"""`jobrunner run TYPE`: one run, now, with its output on the terminal."""

import signal
from datetime import timedelta

import pytest

from harness import App, Commands, Database, sqlite_only, wait_for
from harness.handlers_rows import queue, run_of, status_of
from harness.waiting import stretched

HANDLERS = """
@job("try_me", max_attempts=5)
def try_me(ctx: Context, fails: bool = False):
    print("so it begins")
    if fails:
        look_up()


def look_up():
    try:
        {}["table"]
    except KeyError as error:
        raise ValueError("no such table") from error


@job("step", timeout="100ms")
def step(ctx: Context, fails: bool = False):
    number = 6
    breakpoint()
    time.sleep(0.3)
    if fails:
        look_up()
    return number * 7


@job("step_async")
async def step_async(ctx: Context):
    answer = await ctx.once_async("asked", lambda: 42)
    breakpoint()
    return answer.outcome
"""
FAILED = """\
   Traceback (most recent call last):
     File "{file}", line {raised}, in look_up
       {{}}["table"]
       ~~^^^^^^^^^
   KeyError: 'table'

   The above exception was the direct cause of the following exception:

   Traceback (most recent call last):
     File "{file}", line {begun}, in {handler}
       look_up()
     File "{file}", line {again}, in look_up
       raise ValueError("no such table") from error
   ValueError: no such table
"""


def traceback_of(app: App, handler: str) -> str:
    """What is shown when the handler has failed: it begins with the handler."""
    file = app.folder / "handlers.py"
    lines = ["", *file.read_text().splitlines()]
    first = next(number for number, line in enumerate(lines) if line.startswith(f"def {handler}("))
    begun = lines.index("        look_up()", first)
    raised, again = (
        lines.index('        {}["table"]'),
        lines.index('        raise ValueError("no such table") from error'),
    )
    return FAILED.format(file=file, handler=handler, begun=begun, raised=raised, again=again)


@pytest.fixture(autouse=True)
def handlers(app: App) -> None:
    app.add(HANDLERS)


def test_run_in_the_foreground_shows_its_output_and_stands_in_the_history(
    jobrunner: Commands, database: Database
) -> None:
    other = queue(database, "try_me")
    done = jobrunner("run", "try_me", "--reason", "a look")
    assert "so it begins\n" in done.stdout
    assert f"== run {other + 1} succeeded" in done.stdout.splitlines()[-1]
    assert (run_of(database, other + 1)["attempts"], status_of(database, other)) == (1, "queued")
    assert database.value("SELECT count(*) FROM job_attempts") == 1


def test_failed_run_in_the_foreground_has_one_attempt_its_traceback_and_exit_status_1(
    jobrunner: Commands, app: App, database: Database
) -> None:
    done = jobrunner("run", "try_me", "--payload", '{"fails": true}', check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.endswith(traceback_of(app, "try_me"))
    assert database.query("SELECT status, attempts FROM job_runs") == [{"status": "dead", "attempts": 1}]


def test_interrupted_run_in_the_foreground_is_cancelled(jobrunner: Commands, app: App, database: Database) -> None:
    words = ["run", "wait_for", "--payload", f'{{"path": "{app.path("never")}"}}']
    command = jobrunner.start(*words, env={"JOBRUNNER_HEARTBEAT": "200ms"})
    database.wait_until("SELECT count(*) FROM job_runs WHERE status = 'running'")
    command.send_signal(signal.SIGINT)
    out, err = command.communicate(timeout=60)
    assert (command.returncode, "cancelling the run" in err) == (130, True), out + err
    assert database.value("SELECT status FROM job_runs") == "cancelled"
    # Its tick has ended, too.
    assert database.value("SELECT count(*) FROM job_ticks WHERE finished_at IS NULL") == 0


@sqlite_only
def test_paused_type_is_not_run_in_the_foreground_until_it_is_resumed(jobrunner: Commands, database: Database) -> None:
    jobrunner("pause", "--type", "try_me")
    command = jobrunner.start("run", "try_me")
    database.wait_until("SELECT count(*) FROM job_ticks")
    assert database.value("SELECT status FROM job_runs") == "queued"
    jobrunner("resume", "--type", "try_me")
    out, _ = command.communicate(timeout=60)
    assert command.returncode == 0
    assert "so it begins" in out


@sqlite_only
def test_run_in_the_foreground_of_an_unknown_type_writes_nothing(jobrunner: Commands, database: Database) -> None:
    jobrunner.refused(None, "run", "nobody")
    assert database.value("SELECT count(*) FROM job_runs") == 0


def test_debugged_handler_stops_at_its_breakpoint_in_this_terminal_and_no_timeout_ends_it(
    jobrunner: Commands, database: Database
) -> None:
    other = queue(database, "step")
    done = jobrunner("run", "step", "--debug", "--reason", "a look", stdin="p number + 1\nnumber = 8\nc\n")
    assert "(Pdb) 7\n" in done.stdout
    assert done.stdout.splitlines()[-1].startswith(f"== run {other + 1} succeeded")
    assert run_of(database, other + 1)["result"] == 56
    assert (run_of(database, other + 1)["attempts"], status_of(database, other)) == (1, "queued")
    assert database.value("SELECT count(*) FROM job_events WHERE action = 'run'") == 1


def test_debugged_handler_that_fails_is_dead_with_its_traceback(
    jobrunner: Commands, app: App, database: Database
) -> None:
    done = jobrunner("run", "step", "--debug", "--payload", '{"fails": true}', stdin="c\n", check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.endswith(traceback_of(app, "step"))
    left = jobrunner("run", "step", "--debug", stdin="q\n", check=False)
    assert (left.returncode, "BdbQuit" in left.stdout) == (1, True)
    assert [row["status"] for row in database.query("SELECT status FROM job_runs")] == ["dead", "dead"]


def test_debugged_coroutine_has_its_context_and_its_breakpoint(jobrunner: Commands, database: Database) -> None:
    done = jobrunner("run", "step_async", "--debug", stdin="p answer.outcome\nc\n")
    assert "(Pdb) 42\n" in done.stdout
    assert run_of(database, 1)["result"] == 42


def test_debugged_run_keeps_its_lease_however_long_a_person_looks(
    jobrunner: Commands, app: App, database: Database
) -> None:
    words = ["run", "wait_for", "--debug", "--payload", f'{{"path": "{app.path("go")}"}}']
    lease = stretched(1)
    command = jobrunner.start(*words, env={"JOBRUNNER_LEASE": f"{lease}s"})
    database.wait_until("SELECT count(*) FROM job_runs WHERE status = 'running'")
    first = run_of(database, 1)["locked_until"]
    # Two leases later.
    wait_for(
        lambda: (run_of(database, 1)["locked_until"] - first).total_seconds() > 2 * lease,
        30,
        lambda: run_of(database, 1),
    )
    jobrunner.tick()
    app.path("go").touch()
    out, err = command.communicate(timeout=60)
    assert (command.returncode, err) == (0, ""), out
    assert [run_of(database, 1)[name] for name in ("status", "lease_expiries")] == ["succeeded", 0]


def test_debugged_run_that_may_not_begin_leaves_nothing(jobrunner: Commands, app: App, database: Database) -> None:
    def refused(*words: str) -> str:
        done = jobrunner("run", *words, "--debug", check=False)
        assert (done.returncode != 0, done.stderr.count("\n")) == (True, 1)
        return done.stderr

    jobrunner("pause", "--type", "step")
    assert "nothing was enqueued: jobrunner explain step" in refused("step")
    jobrunner("resume", "--type", "step")
    first = queue(database, "step", priority=1000, run_at=database.now() - timedelta(hours=1))
    assert f"run {first} of step comes first, and nothing was enqueued" in refused("step")
    assert "no handler for 'nobody'" in refused("nobody")
    assert "leave out --timeout" in refused("step", "--timeout", "1m")
    assert "needs the standard input" in refused("step", "--payload", "-")
    app.path("jobrunner.toml").write_text('[jobs.copy]\ncommand = ["true"]\n')
    assert "copy is a command of jobrunner.toml, which has no code to step through" in refused("copy")
    assert "does not fit" in refused("step", "--payload", '{"fail": 1}')
    app.write("handlers", "import os\nos.environ['NO_SUCH_KEY']\n")
    assert "KeyError: 'NO_SUCH_KEY' (handlers.py, line 2)" in refused("step")
    assert [row["status"] for row in database.query("SELECT status FROM job_runs")] == ["queued"]


def test_debugged_run_goes_on_where_its_handler_has_been(jobrunner: Commands, app: App, database: Database) -> None:
    app.add("""
        @job("place", max_attempts=3)
        def place(ctx: Context):
            ctx.checkpoint({"page": 1})
            ctx.step("load", lambda: 5)
            ctx.checkpoint({"page": 2})
            raise RuntimeError("as asked")
    """)
    jobrunner("run", "place", "--debug", check=False)
    assert run_of(database, 1)["checkpoint"] == {"value": {"page": 2}, "steps": {"load": 5}}
