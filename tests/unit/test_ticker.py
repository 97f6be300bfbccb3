"""The loop when the system lets it start nothing."""

import subprocess
import sys

from harness.waiting import stretched

LOOP = """
import sys
from datetime import timedelta
from jobrunner.ticker.readiness import Readiness
from jobrunner.ticker.ticker import Ticker

# Longer than the system takes one argument.
sys.exit(Ticker(["x" * 200_000], {}, timedelta(seconds=1), Readiness({}, None), print).run())
"""


def test_loop_that_cannot_start_its_check_says_so_and_ends() -> None:
    done = subprocess.run([sys.executable, "-P", "-c", LOOP], capture_output=True, text=True, timeout=stretched(60))
    assert (done.returncode, done.stdout.splitlines()[0]) == (71, "cannot start a tick: Argument list too long")
