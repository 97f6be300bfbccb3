"""jobrunner dev: what a developer sees, a change of the code, and Ctrl-C."""

import os
import signal
import threading
from typing import IO

from harness import App, Commands, Database, sqlite_only, wait_for
from harness.handlers_rows import queue, run_of, status_of

GREET = """
import os, time
from jobrunner import Context, job

@job("greet", max_attempts=1, kill_after="1s")
def greet(ctx: Context, name: str):
    print("WORD", name)
    if name == "slow":
        open(os.environ["TRACE_FILE"], "w").close()
        time.sleep(60)
    if name == "Eve":
        raise RuntimeError("not her")
"""


class Screen:
    """What the command has printed so far."""

    def __init__(self, stream: IO[str]) -> None:
        self.lines: list[str] = []
        threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self.lines.append(line.rstrip("\n"))

    def wait(self, text: str) -> str:
        found = wait_for(lambda: [line for line in self.lines if text in line], 30, lambda: "\n".join(self.lines))
        return str(found[0])


@sqlite_only
def test_dev_shows_what_happens_takes_up_new_code_and_leaves_no_process(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.write("handlers", GREET.replace("WORD", "hello"))
    process = jobrunner.start("dev", "handlers", cwd=app.folder, cold=True, env={"JOBRUNNER_IMPORT": None})
    assert process.stdout
    screen = Screen(process.stdout)
    assert screen.wait("ready").endswith("greet; Ctrl-C ends it")
    queue(database, "greet", {"name": "Ada"})
    assert "run 1 greet {'name': 'Ada'}" in screen.wait("queued")
    assert "run 1 greet, attempt 1" in screen.wait("succeeded")
    screen.wait("    hello Ada")

    queue(database, "greet", {"name": "slow"})
    wait_for(app.trace_file.exists, 20, "the slow handler is at work")
    app.write("handlers", GREET.replace("WORD", "good morning").replace("time.sleep(60)", "pass"))
    assert screen.wait("reloaded").endswith("handlers.py: greet")
    screen.wait("    good morning slow")
    assert run_of(database, 2)["attempts"] == 1

    queue(database, "greet", {"name": "Eve"})
    assert "run 3 greet, attempt 1" in (line := screen.wait("dead "))
    assert line.endswith("RuntimeError: not her")
    screen.wait("    RuntimeError: not her")
    app.write("handlers", "import nothing_of_this_name")
    screen.wait("nothing_of_this_name")

    app.write("handlers", GREET)
    queue(database, "greet", {"name": "slow"})
    app.trace_file.unlink()
    wait_for(app.trace_file.exists, 20, "the slow handler is at work")
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(20) == 0
    screen.wait("stopped")
    assert process.stderr
    assert process.stderr.read() == ""
    assert jobrunner.leftover_processes() == []
    assert status_of(database, 4) == "queued"


@sqlite_only
def test_dev_once_works_on_what_is_due_shows_it_and_ends_as_its_tick(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.write("handlers", GREET.replace("WORD", "hello"))
    for name in ("Ada", "Eve"):
        queue(database, "greet", {"name": name})
    done = jobrunner("dev", "--once", "handlers", cwd=app.folder, env={"JOBRUNNER_IMPORT": None})
    assert done.stdout.splitlines()[0].endswith("greet; one tick")
    for said in ("succeeded  run 1 greet, attempt 1", "    hello Ada", "dead       run 2 greet", "not her"):
        assert said in done.stdout
    assert len(done.stdout.split("ready")) == 2
    nothing = jobrunner("dev", "--once")
    assert nothing.stdout.count("\n") == 1
    app.write("handlers", "raise RuntimeError('broken')")
    queue(database, "greet", {"name": "Bob"})
    broken = jobrunner("dev", "--once", check=False)
    assert (broken.returncode, "  problem    importing" in broken.stdout) == (78, True)
