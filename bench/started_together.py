"""Ticks of many hosts that begin in the same instant: `python started_together.py COUNT...`, a crowd for each number.

Each host is a process that has imported what an idle tick needs, as if it had a processor of its own to start on, and
waits for the sign. Printed as JSON for each crowd: for each tick the seconds from the sign to its end, its processor
time since it was made, and its exit status. The settings are in the environment; host and state folder of each tick are
added.
"""

import gc
import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import NoReturn

_READY = b"r"
_NEEDED = (
    "jobrunner.cli",
    "jobrunner.cli.environment",
    "jobrunner.names",
    "jobrunner.settings.config",
    "jobrunner.settings.state_folder",
    "jobrunner.store.drivers.location",
    "jobrunner.store.drivers.raw.libpq",
    "jobrunner.store.queue.ticks.idle",
    # What a tick needs besides that is not idle, or that gets no connection.
    "psycopg",
    "jobrunner.cli.program",
    "jobrunner.cli.reporting",
    "jobrunner.cli.ticking",
    "jobrunner.store.drivers.postgresql",
    "jobrunner.store.questions",
)


def main() -> None:
    for name in _NEEDED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    folder = Path(os.environ["JOBRUNNER_STATE_DIR"])
    print(json.dumps([_crowd(int(word), folder) for word in sys.argv[1:]]))


def _crowd(count: int, folder: Path) -> list[tuple[float, float, int]]:
    ready, tell_ready = os.pipe()
    sign, give_sign = os.pipe()
    hosts = set()
    for number in range(count):
        pid = os.fork()
        if not pid:
            os.close(give_sign)
            _tick(number, folder, tell_ready, sign)
        hosts.add(pid)
    for each in (tell_ready, sign):
        os.close(each)
    left = count
    while left:
        left -= len(os.read(ready, left)) or left
    began = time.perf_counter()
    os.close(give_sign)
    ended = []
    while hosts:
        pid, status, usage = os.wait3(0)
        hosts.remove(pid)
        used = usage.ru_utime + usage.ru_stime
        ended.append((time.perf_counter() - began, used, os.waitstatus_to_exitcode(status)))
    os.close(ready)
    return ended


def _tick(number: int, folder: Path, tell_ready: int, sign: int) -> NoReturn:
    from jobrunner.cli import main as command

    state = folder / f"host-{number}"
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.environ |= {"JOBRUNNER_HOST": f"host-{number}", "JOBRUNNER_STATE_DIR": str(state)}
    sys.argv = ["jobrunner", "tick"]
    os.write(tell_ready, _READY)
    os.read(sign, 1)
    try:
        command()
    except SystemExit as end:
        os._exit(end.code if isinstance(end.code, int) else 1)
    os._exit(0)


if __name__ == "__main__":
    main()
