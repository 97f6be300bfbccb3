"""A tick whose handlers work while the database is away."""

import subprocess

from harness import App, Commands, wait_for
from harness.at_work import BEATS
from harness.invariants import read_log

STUBBORN = '''
@job("stubborn")
def stubborn(ctx: Context):
    """Cannot be talked out of its work."""
    leave_trace(ctx)
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass
'''


def tick_at_work(jobrunner: Commands, app: App, runs: int, *args: str) -> "subprocess.Popen[str]":
    process = jobrunner.start("tick", *args, env=BEATS | {"JOBRUNNER_LOG": str(app.path("log"))})
    wait_for(lambda: len(app.trace()) == runs, 30, "the handlers")
    return process


def failed_beats(app: App) -> int:
    return sum(line["event"] == "heartbeat" for line in read_log(app.path("log")))


def wait_for_failed_beats(app: App) -> None:
    """The tick has noticed that the database is away, and more than once."""
    before = failed_beats(app)
    wait_for(lambda: failed_beats(app) >= before + 3, 20, "failing beats")
