"""Where the parent of a drain spends its time: cProfile of the tick's main thread, sorted, as text."""

import pstats
import sys
from pathlib import Path

from processes import Failed
from sizes import Sizes
from stage import COMMAND, opened

# A tick may leave by os._exit, which lets no profiler write.
_DRIVER = """
import cProfile, os, runpy, sys
profile, leave, out = cProfile.Profile(), os._exit, sys.argv.pop(1)
def left(code):
    profile.disable()
    profile.dump_stats(out)
    leave(code)
os._exit = left
sys.argv = sys.argv[1:]
try:
    profile.runcall(runpy.run_path, sys.argv[0], run_name="__main__")
finally:
    profile.disable()
    profile.dump_stats(out)
"""
_ROWS = 60


def profile(database: str, sizes: Sizes, folder: Path) -> int:
    """Drain so many (`runs`) no-ops and write profile-DATABASE.txt, by own time and by time with callees.

    The profiler itself makes every call dearer: its shares tell where to look, not how long anything takes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    raw, text = (folder / f"profile-{database}.{kind}" for kind in ("stats", "txt"))
    raw.unlink(missing_ok=True)
    with opened(sizes) as stage:
        queue = stage.queue(database)
        queue.add_due("noop", sizes.runs)
        queue.tick("--batch", sizes.runs, command=[sys.executable, "-c", _DRIVER, str(raw), COMMAND])
        queue.check_drained(sizes.runs)
    if not raw.exists():
        raise Failed("the tick left no profile")
    _write(raw, text)
    print(f"written to {text}")
    return 0


def _write(raw: Path, text: Path) -> None:
    with text.open("w") as file:
        stats = pstats.Stats(str(raw), stream=file)
        for order in ("tottime", "cumulative"):
            stats.sort_stats(order).print_stats(_ROWS)
