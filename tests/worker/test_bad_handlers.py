"""Handlers that cannot be imported: every command that needs them names them in one line, and their runs wait."""

import re

import pytest

from harness import App, Commands, Database, wait_for
from harness.handlers_rows import attempts_of, queue, run_of
from harness.waiting import span

SHOUT = """
import sys
for out in (sys.stdout, sys.stderr):
    print("\\x1b[2J\\x1b]0;owned\\x07", file=out, flush=True)
"""
JOB = "from jobrunner import job\n"
TWICE = JOB + "@job('{0}')\ndef {1}(ctx): ...\n"

HOLD_THE_LOCK = """
import ctypes
mutex, library = ctypes.create_string_buffer(64), ctypes.PyDLL(None)
library.pthread_mutex_lock(mutex)
library.pthread_mutex_lock(mutex)
"""
GREET = """
import json, os, struct, sys, time
for frame in ({"kind": "importing"}, {"kind": "ready", "policies": [{}]}):
    body = json.dumps(frame).encode()
    os.write(int(sys.argv[1]), struct.pack("!I", len(body)) + body)
time.sleep(600)
"""
ODD_POLICIES = """
import json, os, struct, sys, time
from jobrunner.jobs.policy import as_data
from jobrunner.model import Policy
policies = [as_data(Policy("a")) | {{{odd}}}]
body = json.dumps({{"kind": "ready", "policies": policies}}).encode()
os.write(int(sys.argv[1]), struct.pack("!I", len(body)) + body)
time.sleep(600)
"""
HIDE = """
import signal, time
for number in signal.valid_signals() - {9, 19}:
    signal.signal(number, signal.SIG_IGN)
time.sleep(600)
"""
# What stands in the module, and what is said of it.
BROKEN = {
    "raises escapes": ("raise ValueError('\\x1b[2J\\r\\n\\x9b31m\\0\\ud800 gone \\u202e')", "gone"),
    "an error without a text": ("raise KeyError", "KeyError"),
    "an error whose text fails": (
        "class Odd(Exception):\n    def __str__(self): raise RuntimeError('odd')\n\nraise Odd",
        "cannot be read",
    ),
    "an error of megabytes": ("raise ValueError('x' * 50_000_000)", "ValueError: xxx"),
    "an error's name of escapes": ("raise type('\\x1b[2J\\n', (Exception,), {})('gone')", "gone"),
    "interrupts": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "syntax": ("def broken(:\n", "SyntaxError"),
    "indentation": ("def broken():\nreturn\n", "IndentationError"),
    "NUL": ("x = 1\0\n", "null bytes"),
    "shouts and raises": (f"{SHOUT}raise ValueError('gone')", "gone"),
    "shouts and dies": (f"{SHOUT}import os; os.abort()", "SIGABRT"),
    "shouts and hangs": (f"{SHOUT}import time; time.sleep(600)", "it did not finish within "),
    "recursion": ("def f(): f()\nf()\n", "RecursionError"),
    "memory": ("raise MemoryError('none left')", "none left"),
    "a handler without a context": (JOB + "@job('x')\ndef x(): ...\n", "Context"),
    "a name that is none": (JOB + "@job('two\\nwords\\x1b[2J')\ndef x(ctx): ...\n", "job type"),
    "attempts that are none": (JOB + "@job('x', max_attempts=0)\ndef x(ctx): ...\n", "max_attempts"),
    "a timeout that is none": (JOB + "@job('x', timeout='soon')\ndef x(ctx): ...\n", "soon"),
    "exits": ("import sys; sys.exit('enough')", "SystemExit: enough"),
    "exits with 0": ("import sys; sys.exit(0)", "SystemExit: 0"),
    "exits at once": ("import os; os._exit(0)", "exited with status 0"),
    "segfaults": ("import ctypes; ctypes.string_at(0)", "was killed by SIGSEGV"),
    "is killed": ("import os; os.kill(os.getpid(), 9)", "was killed by SIGKILL"),
    "loops": (
        "while True:\n    try:\n        pass\n    except BaseException:\n        pass\n",
        "it did not finish within ",
    ),
    "holds the lock": (HOLD_THE_LOCK, "it did not finish within "),
    "hides": (HIDE, "it did not finish within "),
    "closes all": ("import os; os.closerange(0, 65536)", "failed"),
    "needs another": ("import no_such_module_at_all", "No module named 'no_such_module_at_all'"),
    "floods": ("print('x' * 50_000_000)\nraise RuntimeError('after the flood')\n", "after the flood"),
    "greets": (GREET, "its handshake is invalid"),
    "greets with a list": (ODD_POLICIES.format(odd="'job_type': []"), "its handshake is invalid"),
    "greets with a word": (ODD_POLICIES.format(odd="'concurrency': 'x'"), "its handshake is invalid"),
    "one handler twice": (TWICE.format("same", "one") + TWICE.format("same", "two"), "'same'"),
}
NO_NAMES = ["/etc/passwd", "a b", "a..b", ".handlers", "handlers.", "handlers-x", "1st", "handlers;x", "$(x)"]


def refuse(jobrunner: Commands, database: Database, imports: str, *says: str) -> None:
    """`tick` with a due run, `enqueue` and `jobs` each say so in one line; the run stays as it was."""
    run_id = queue(database, "echo", {"a": 1})
    before = run_of(database, run_id)
    commands = (["tick"], ["enqueue", "echo"], ["types"])
    limit = span(3)
    started = [
        jobrunner.start(*words, env={"JOBRUNNER_START_LIMIT": limit, "JOBRUNNER_IMPORT": imports}) for words in commands
    ]
    for words, process in zip(commands, started, strict=True):
        done = jobrunner.finish(process, timeout=40)
        assert (words, done.returncode, done.stdout) == (words, 78, "")
        assert re.fullmatch(r"jobrunner: [^\n]+\n", done.stderr), done.stderr
        assert done.stderr.rstrip("\n").isprintable(), done.stderr
        assert len(done.stderr) < 700
        for word in says:
            assert word in done.stderr
        assert "Traceback" not in done.stderr
    assert run_of(database, run_id) == before
    assert attempts_of(database, run_id) == []
    assert database.value("SELECT count(*) FROM job_runs") == 1
    wait_for(lambda: jobrunner.leftover_processes() == [], 10, jobrunner.describe_leftovers)


@pytest.mark.long(sample=8)
@pytest.mark.promise("P8")
@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_module_is_named_by_every_command_that_needs_it(
    what: str, jobrunner: Commands, app: App, database: Database
) -> None:
    source, reason = BROKEN[what]
    app.write("broken", source)
    refuse(jobrunner, database, "handlers,broken", "'broken'", reason)
    (tick,) = database.query("SELECT finished_at, error FROM job_ticks")
    assert (tick["finished_at"] is not None, reason in tick["error"]) == (True, True), tick
    # Without it the run is done, with its first attempt.
    jobrunner.tick()
    assert [row["attempt"] for row in attempts_of(database, 1)] == [1]
    assert run_of(database, 1)["status"] == "succeeded"


def test_invalid_module_name_is_reported_as_such(jobrunner: Commands, app: App, database: Database) -> None:
    # Were it taken for a path, this would be found and run.
    app.folder.with_name("evil.py").write_text("open('evil-was-here', 'w')")
    refuse(jobrunner, database, "handlers,../evil", "'../evil'", "not the name of a module")
    assert not (jobrunner.home / "evil-was-here").exists()
    started = {name: jobrunner.start("types", env={"JOBRUNNER_IMPORT": f"handlers,{name}"}) for name in NO_NAMES}
    for name, process in started.items():
        done = jobrunner.finish(process)
        assert (name, done.returncode, done.stdout, done.stderr.count("\n")) == (name, 78, "", 1)
        assert repr(name) in done.stderr
        assert "not the name of a module" in done.stderr


def test_missing_module_is_named_in_the_error(jobrunner: Commands, database: Database) -> None:
    refuse(jobrunner, database, "handlers,missing.deep", "'missing.deep'", "No module named 'missing'")


def test_file_name_in_place_of_a_module_is_refused(jobrunner: Commands, database: Database) -> None:
    refuse(jobrunner, database, "handlers.py", "'handlers.py'", "'handlers' is not a package")


def test_a_module_without_permission_is_named(jobrunner: Commands, app: App, database: Database) -> None:
    (app.folder / "broken.py").symlink_to("/proc/self/mem")  # which even root cannot read from its start
    refuse(jobrunner, database, "broken", "'broken'")


def test_two_handlers_of_one_name_are_both_named_in_the_error(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.write("mine", TWICE.format("report", "daily"))
    app.write("theirs", TWICE.format("report", "weekly"))
    refuse(jobrunner, database, "mine,theirs", "'theirs'", "'report'", "mine.daily", "theirs.weekly")


def test_an_application_folder_that_is_not_there_is_named(jobrunner: Commands, app: App, database: Database) -> None:
    app.folder.rename(app.folder.with_name("moved"))
    refuse(jobrunner, database, "handlers", "JOBRUNNER_APP_DIR", str(app.folder))


def test_escape_sequences_printed_by_a_module_do_not_reach_the_terminal(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.write("loud", SHOUT)
    app.imports = "loud,handlers"
    for words in (["types"], ["enqueue", "echo"], ["tick", "-v"], ["status"], ["show", "1"]):
        done = jobrunner(*words)
        assert not set("\x1b\x07") & set(done.stdout + done.stderr)
    assert run_of(database, 1)["status"] == "succeeded"
