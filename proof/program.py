"""The command line: `make proof`."""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
INSIDE = "JOBRUNNER_PROOF_INSIDE"
_OWN = ("unshare", "--net", "--mount", "--pid", "--ipc", "--fork", "--kill-child=SIGKILL", "--mount-proc")


def main() -> int:
    """Returns 0 when each promise held that is one, 1 when one did not, 69 where the proof cannot run."""
    options = _options()
    if options.render:
        from proof import page

        page.write(page.newest())
        return 0
    if INSIDE not in os.environ:
        missing = _missing()
        if missing:
            print(f"make proof: {missing}", file=sys.stderr)
            return 69
        # Every process, mount, namespace and segment of the proof lies in these, and ends with the first of them.
        os.execvpe("unshare", [*_OWN, sys.executable, "-m", "proof", *sys.argv[1:]], {**os.environ, INSIDE: "1"})
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return _prove(options)


def _missing() -> str:
    """What this machine lacks, in one line; empty: nothing."""
    from proof.hosts import missing_programs

    if os.geteuid() != 0:
        return "it makes network namespaces, which needs root: sudo make proof"
    if sys.platform != "linux":
        return "it needs the namespaces of Linux"
    if found := missing_programs():
        return f"these programs are missing: {', '.join(found)}; on Debian: apt install iproute2 util-linux pgbouncer"
    done = subprocess.run([*_OWN, "true"], capture_output=True, text=True)
    return "" if done.returncode == 0 else f"namespaces cannot be made here: {done.stderr.strip()}"


def _prove(options: argparse.Namespace) -> int:
    from proof import faults, page, stage
    from proof.about import about

    sys.path.insert(1, str(ROOT / "tests"))
    from harness.binaries import find_binaries

    folder = _own_folder()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1_000_000)
    choice = random.Random(seed)
    wanted = _order([each for each in faults.FAULTS if not options.only or each.name in options.only], choice)
    stage.say(f"seed {seed}: {', '.join(each.name for each in wanted)}")
    known = about(find_binaries())
    began = time.monotonic()
    found: list[dict[str, Any]] = []
    scene = stage.Stage(folder, find_binaries(), choice, options)
    try:
        release, version = stage.unpack_release()
        starts_old = any(each.name == "upgrade" for each in wanted)
        scene.migrate(release if starts_old else None)
        for host in scene.hosts:
            host.start()
        scene.start_load()
        for number, each in enumerate(wanted):
            found.append(_phase(scene, f"p{number:02}", each, options))
            # After each phase, because a later one may be interrupted.
            results = {
                **known,
                "seed": seed,
                "release": version,
                "aimed_rate": options.rate,
                "hosts": len(scene.hosts),
                "concurrency": options.concurrency,
                "lease_seconds": options.lease,
                "seconds": round(time.monotonic() - began),
                "phases": found,
            }
            path = page.save(results, options.results)
    finally:
        if options.keep:
            shutil.copytree(folder, options.keep, ignore=_unwanted, dirs_exist_ok=True)
    print(page.summary(results))
    print(f"written to {path}")
    if not options.results:
        page.write(path)
    return 1 if page.broken(results) else 0


def _phase(scene: Any, phase: str, fault: Any, options: argparse.Namespace) -> dict[str, Any]:
    """The load, the fault in its middle, the end of all runs, and what was counted."""
    from proof import faults, stage

    stage.say(f"{phase} {fault.title}")
    scene.notes = []
    began = time.monotonic()
    scene.say(f"go {phase}")
    time.sleep(options.before)
    left_out = ""
    try:
        fault.do(scene)
    except faults.NotHere as reason:
        left_out = str(reason)
    time.sleep(options.after)
    load = scene.stop_load()
    drained = scene.drain()
    cells, counts = scene.judged(phase)
    for words in scene.pool.ends():
        scene.note(f"PgBouncer ended by itself and was started again: {words}")
    if fault.name == "upgrade":
        scene.start_load()
    result = {
        "fault": fault.name,
        "title": fault.title,
        "forgets": fault.forgets,
        "left_out": left_out,
        "notes": scene.notes,
        "seconds": round(time.monotonic() - began, 1),
        "load": load,
        "drained_seconds": None if drained is None else round(drained, 1),
        "cells": {name: asdict(cell) for name, cell in cells.items()},
        "counts": counts,
        "verify": scene.verify(),
    }
    broken = {name: cell.examples for name, cell in cells.items() if cell.broken}
    rate = load["acknowledged"] / load["seconds"]
    stage.say(f"  {load['acknowledged']} acknowledged, {rate:.0f}/s; {counts}; broken: {broken or 'nothing'}")
    return result


def _unwanted(folder: str, names: list[str]) -> list[str]:
    """Data, and what is no file, are not copied."""
    paths = [Path(folder, name) for name in names]
    return [each.name for each in paths if each.name in ("data", "release") or not (each.is_file() or each.is_dir())]


def _order(wanted: list[Any], choice: random.Random) -> list[Any]:
    """An upgrade can only be first. The quiet phase is before all faults, and several at once after them."""
    first = [each for each in wanted if each.name == "upgrade"] + [each for each in wanted if each.name == "nothing"]
    last = [each for each in wanted if each.name == "several-at-once"]
    middle = [each for each in wanted if each not in [*first, *last]]
    choice.shuffle(middle)
    return [*first, *middle, *last]


def _own_folder() -> Path:
    """In memory that only this process and those that it starts can see."""
    for place in ("/dev/shm", "/run/netns"):
        Path(place).mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", place], check=True)
    folder = Path("/dev/shm/proof")
    folder.mkdir(mode=0o755)
    return folder


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make proof", description=__doc__)
    parser.add_argument("--seed", type=int, help="repeats the order, the machines and the times of a run")
    parser.add_argument("--only", action="append", default=[], metavar="FAULT", help="this fault; may be repeated")
    parser.add_argument("--rate", type=int, default=2000, help="runs a second that the application aims at [2000]")
    parser.add_argument("--concurrency", type=int, default=2, help="of each host [2]")
    parser.add_argument("--lease", type=int, default=15, help="seconds; more on a busy machine [15]")
    parser.add_argument("--before", type=float, default=5, help="seconds of load before the fault [5]")
    parser.add_argument("--after", type=float, default=8, help="seconds of load after it [8]")
    parser.add_argument("--results", type=Path, metavar="FOLDER", help="[proof/results, and the page is written]")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="copy the logs and the witness's book there")
    parser.add_argument("--render", action="store_true", help="only write the page from the newest results")
    return parser.parse_args()
