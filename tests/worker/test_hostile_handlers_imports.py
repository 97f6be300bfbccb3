"""A handler module that dies, hangs or misbehaves at import: the tick names it, and its runs wait."""

import pytest

from harness import App, Commands, Database, wait_for
from harness.handlers_rows import attempt_of, attempts_of, queue, run_of, status_of

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
# The source of the module and what the tick says of it.
BROKEN = {
    "raises": ("raise ValueError('no such thing')", "ValueError: no such thing"),
    "raises_lines": ("raise ValueError('one\\ntwo\\0\\ud800')", "ValueError: one two"),
    "exits": ("import sys; sys.exit('enough')", "SystemExit: enough"),
    "exits_0": ("import sys; sys.exit(0)", "SystemExit: 0"),
    "os_exits": ("import os; os._exit(0)", "exited with status 0"),
    "segfaults": ("import ctypes; ctypes.string_at(0)", "was killed by SIGSEGV"),
    "is_killed": ("import os; os.kill(os.getpid(), 9)", "was killed by SIGKILL"),
    "sleeps": ("import time; time.sleep(600)", "it did not finish within 2s"),
    "loops": ("while True:\n    try:\n        pass\n    except BaseException:\n        pass\n", "within 2s"),
    "holds_the_lock": (HOLD_THE_LOCK, "it did not finish within 2s"),
    "closes_all": ("import os; os.closerange(0, 65536)", "failed"),
    "is_wrong": ("def broken(:\n", "SyntaxError"),
    "needs_another": ("import no_such_module_at_all", "No module named 'no_such_module_at_all'"),
    "floods": ("print('x' * 50_000_000)\nraise RuntimeError('after the flood')\n", "after the flood"),
    "greets": (GREET, "its handshake is invalid"),
    "greets_with_a_list": (ODD_POLICIES.format(odd="'job_type': []"), "its handshake is invalid"),
    "greets_with_a_word": (ODD_POLICIES.format(odd="'concurrency': 'x'"), "its handshake is invalid"),
    "hides": (HIDE, "it did not finish within 2s"),
}
# What a module may do all the same.
ODD = {
    "prints": "import sys\nprint('x' * 1_000_000)\nprint('hello', file=sys.stderr)\n",
    "takes_signals": "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n",
    "starts_threads": "import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()\n",
    "starts_processes": "import subprocess\nsubprocess.Popen(['sleep', '600'])\n",
    "forks": "import os\nos.fork()\n",
    "closes_output": "import os, sys\nos.close(1)\nos.close(2)\nsys.stdout = sys.stderr = None\n",
    "changes_folder": "import os\nos.chdir('/')\n",
    "registers_at_exit": "import atexit, time\natexit.register(time.sleep, 600)\n",
}


@pytest.mark.long(sample=6)
@pytest.mark.promise("P8")
@pytest.mark.parametrize("what", BROKEN)
def test_a_module_that_cannot_be_imported_is_named_and_its_runs_wait(
    what: str, jobrunner: Commands, app: App, database: Database
) -> None:
    source, reason = BROKEN[what]
    app.write(f"broken_{what}", source)
    app.imports = f"handlers,broken_{what}"
    run_id = queue(database, "echo", {"a": 1})
    jobrunner.refused(78, "tick", env={"JOBRUNNER_START_LIMIT": "2s"}, timeout=30, says=[f"'broken_{what}'", reason])
    row = run_of(database, run_id)
    assert (row["status"], row["attempts"], attempts_of(database, run_id)) == ("queued", 0, [])
    (tick,) = database.query("SELECT finished_at, error FROM job_ticks")
    assert tick["finished_at"] is not None
    assert reason in tick["error"]
    wait_for(lambda: jobrunner.leftover_processes() == [], 5, jobrunner.describe_leftovers)
    # Once the module is mended the run is done.
    app.write(f"broken_{what}", "")
    jobrunner.tick()
    assert (status_of(database, run_id), attempt_of(database, run_id)["attempt"]) == ("succeeded", 1)


@pytest.mark.promise("P8")
def test_a_missing_module_is_named_after_two_tries(jobrunner: Commands, app: App, database: Database) -> None:
    app.imports = "handlers,nowhere_to_be_found"
    run_id = queue(database, "echo")
    log = app.path("log")
    done = jobrunner.tick(env={"JOBRUNNER_LOG": str(log)}, check=False)
    assert done.returncode == 78
    assert "'nowhere_to_be_found'" in done.stderr
    assert "ModuleNotFoundError" in done.stderr
    assert log.read_text().count('"event": "child"') == 2
    assert (status_of(database, run_id), run_of(database, run_id)["attempts"]) == ("queued", 0)
    # Who looks at the state of things is told, and gets the state.
    assert "nowhere_to_be_found" in jobrunner.status()["handlers_problem"]


@pytest.mark.long(sample=3)
@pytest.mark.promise("P8")
@pytest.mark.parametrize("what", ODD)
def test_module_that_misbehaves_at_import_harms_no_tick(
    what: str, jobrunner: Commands, app: App, database: Database
) -> None:
    app.write("odd", ODD[what])
    app.imports = "odd,handlers"
    runs = [queue(database, "echo", {"a": number}) for number in range(4)]
    # Were SIGTERM still ignored, this one would have to be killed.
    slow = queue(database, "sleep", {"seconds": 600}, timeout=0.5)
    done = jobrunner.tick(env={"JOBRUNNER_CONCURRENCY": "2"}, timeout=40)
    assert (done.stdout, done.stderr) == ("", "")
    for run_id in runs:
        attempt = attempt_of(database, run_id)
        assert (attempt["outcome"], attempt["output"]) == ("succeeded", None)
        assert run_of(database, run_id)["result"] == run_of(database, run_id)["payload"]
    ended = attempt_of(database, slow)
    assert (ended["outcome"], ended["exit_signal"]) == ("timed_out", None)
    wait_for(lambda: jobrunner.leftover_processes() == [], 5, jobrunner.describe_leftovers)
