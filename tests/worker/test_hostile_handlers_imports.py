"""A handler module that misbehaves at import harms no tick, and one that is missing is looked for twice."""

import pytest

from harness import App, Commands, Database, wait_for
from harness.handlers_rows import attempt_of, queue, run_of, status_of

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
    # Were SIGTERM still ignored, this one would have to be killed, after five seconds.
    slow = queue(database, "wait_for", {"path": "/nowhere/to be found"}, timeout=0.5)
    done = jobrunner.tick(env={"JOBRUNNER_CONCURRENCY": "2"}, timeout=40)
    assert (done.stdout, done.stderr) == ("", "")
    for run_id in runs:
        attempt = attempt_of(database, run_id)
        assert (attempt["outcome"], attempt["output"]) == ("succeeded", None)
        assert run_of(database, run_id)["result"] == run_of(database, run_id)["payload"]
    ended = attempt_of(database, slow)
    assert (ended["outcome"], ended["exit_signal"]) == ("timed_out", None)
    wait_for(lambda: jobrunner.leftover_processes() == [], 5, jobrunner.describe_leftovers)
