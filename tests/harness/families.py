"""Commands that start processes, some of which ignore a request to stop."""

import subprocess

from harness import App, wait_for
from harness.processes import is_working

# A child that obeys, and one that ignores SIGTERM and has a child of its own that ignores it, too.
FAMILY = """
sleep 600 & obeys=$!
sh -c 'trap "" TERM; sleep 600 & echo $! > born-$JOBRUNNER_RUN_ID; wait' & stubborn=$!
until [ -s born-$JOBRUNNER_RUN_ID ]; do sleep 0.05; done
echo $$ $obeys $stubborn $(cat born-$JOBRUNNER_RUN_ID) > family-$JOBRUNNER_RUN_ID.new
mv family-$JOBRUNNER_RUN_ID.new family-$JOBRUNNER_RUN_ID
"""
WAITS = FAMILY + "sleep 600"


def family(app: App, run_id: int) -> list[int]:
    """The process ids of a command, first its own, and of all that it has started."""
    path = app.path(f"family-{run_id}")
    wait_for(path.exists, 20, "the command is at work")
    pids = [int(word) for word in path.read_text().split()]
    assert len(pids) == 4
    return pids


def wait_until_dead(*pids: int) -> None:
    wait_for(lambda: not any(map(is_working, pids)), 20, f"the end of {pids}")


def check_ended(tick: "subprocess.Popen[str]") -> None:
    out, err = tick.communicate(timeout=30)
    assert (tick.returncode, out, err) == (0, "", "")
