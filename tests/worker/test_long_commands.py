"""Commands that do not end soon."""

import signal

from harness import App, Commands, Database, sqlite_only, wait_for
from harness.handlers_rows import queue

# Garbage collection as each process has it a moment after its start, and from then on.
LOOKING = """
import gc, os, sys, threading, time

def look():
    while not gc.isenabled() or gc.get_freeze_count() == 0:
        time.sleep(0.01)
    open(os.path.join(os.environ["SEEN"], sys.argv[1]), "w").close()

if len(getattr(sys, "orig_argv", ())) > 2 and "jobrunner" in sys.orig_argv[1]:
    threading.Thread(target=look, daemon=True).start()
"""


@sqlite_only
def test_a_command_that_does_not_end_soon_collects_garbage(jobrunner: Commands, app: App, database: Database) -> None:
    app.write("sitecustomize", LOOKING)
    app.write("handlers", "")
    seen = app.folder / "seen"
    seen.mkdir()
    queue(database, "echo")
    env = {"PYTHONPATH": str(app.folder), "SEEN": str(seen)}
    commands = [["tick", "--linger", "1m"], ["web", "--port", "0"], ["dev"], ["loop"], ["watch", "1"]]
    started = [jobrunner.start(*words, cwd=app.folder, cold=True, env=env) for words in commands]
    try:
        wait_for(lambda: len(list(seen.iterdir())) == len(commands), 30, lambda: str(list(seen.iterdir())))
    finally:
        for process in started:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=20)
