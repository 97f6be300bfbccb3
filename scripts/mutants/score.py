"""How many mutants the tests kill, by room: `make mutation-score ARGS="--each 10 --room worker --seed 7"`.

The finder (`operators.py`) knows all that may be changed. A seed draws so many of each room. Each is tried with the
tests that reach its function (`reach.py`), the nearest first, until one fails. What became of each goes into a file of
results, from which the table in tests/README.md is made. `--again` tries those that survived once more, after tests
were written for them; `--render` only writes the table.
"""

import argparse
import ast
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import operators
import reach
import score_page
from rooms import ROOMS, files
from sandbox import ROOT, CannotCompile, Sandbox
from survivors import WRITTEN

_SECONDS = 40.0
"""Of recorded time: so many tests are tried for one mutant."""
_MOST_TESTS = 60


def drawn(room: str, count: int, seed: int) -> list[tuple[str, operators.Site]]:
    """The sample of a room: files with what is changed in them."""
    found = [(file, site) for file in files(room) for site in operators.sites(ast.parse((ROOT / file).read_text()))]
    return random.Random(f"{seed} {room}").sample(found, min(count, len(found)))


class Tests:
    """Chooses the tests of a mutant, but for those ``left_out``, which fail without a change."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._by_place = reach.recorded()
        files = sorted({reach.file_of(test) for tests in self._by_place.values() for test in tests})
        if not files:
            sys.exit("nothing is recorded: run scripts/mutants/reach.py first; it takes as long as the tests")
        self._there = set(sandbox.test(["--collect-only", "--everything", *files]).stdout.splitlines())
        self._turn = 0
        self.left_out: set[str] = set()

    def nearest(self, file: str, function: str, statements: set[str]) -> list[str]:
        """Those that reach least else come first, and one of each file before a second one of any."""
        places = {f"{file}:{function}", *statements, *(f"sqlite:{each.partition(':')[2]}" for each in statements)}
        found = {test for place in places for test in self._by_place.get(place, ())}
        if not found:
            # A constant, or a function that is called while its module is imported.
            of_file = (tests for place, tests in self._by_place.items() if place.startswith(f"{file}:"))
            found = {test for tests in of_file for test in tests}
        by_file: dict[str, list[reach.Test]] = {}
        found = {test for test in found if test.name in self._there}
        for test in sorted(found, key=lambda each: (each.reaches, each.seconds, each.name)):
            by_file.setdefault(reach.file_of(test), []).append(test)
        ranked = sorted((rank, test.reaches, test) for tests in by_file.values() for rank, test in enumerate(tests))
        chosen, seconds = [], 0.0
        for _, _, test in ranked:
            if seconds + test.seconds <= _SECONDS and len(chosen) < _MOST_TESTS:
                chosen.append(test.name)
                seconds += test.seconds
        self._turn += 1
        # In turn on each database, as the suite has both.
        is_for_server = bool(statements) and not any(each.startswith("sqlite:") for each in statements)
        named = [self._on(name, is_for_server or (n + self._turn) % 2 == 1) for n, name in enumerate(chosen)]
        return [name for name in named if name not in self.left_out]

    def _on(self, name: str, is_for_server: bool) -> str:
        other = name.replace("[sqlite", "[postgresql")
        return other if is_for_server and other in self._there else name


def attempt(sandbox: Sandbox, tests: Tests, file: str, name: str) -> dict[str, Any]:
    """What becomes of one mutant."""
    began = time.monotonic()
    killer, chosen = None, []
    try:
        with sandbox.changed(file, operators.changed((ROOT / file).read_text(), name)) as statements:
            chosen = tests.nearest(file, name.partition(":")[0], statements)
            killer = sandbox.first_failure(chosen)
    except CannotCompile as error:
        killer = f"make statements: {error}"
    except RuntimeError as error:
        if "not found" in str(error):
            raise
        killer = "the start of the tests"
    seconds = round(time.monotonic() - began)
    return {"file": file, "name": name, "killer": killer, "tests": len(chosen), "seconds": seconds}


def note_false_kills(sandbox: Sandbox, tests: Tests, tried: list[dict[str, Any]]) -> None:
    """Note which tests that have killed also fail without a change, as may happen on a machine that is busy."""
    killers = {each["killer"] for each in tried if "::" in (each["killer"] or "")}
    while killers - tests.left_out and (failed := sandbox.first_failure(sorted(killers - tests.left_out))):
        tests.left_out.add(failed)


def _commit() -> str:
    asked = ["git", "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def measure(rooms: list[str], each: int, seed: int, path: Path) -> None:
    """Try a sample of each room that has none in the file yet."""
    results = json.loads(path.read_text()) if path.exists() else {"commit": _commit(), "seed": seed, "mutants": []}
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        sandbox = Sandbox(Path(folder))
        tests = Tests(sandbox)
        for room in rooms:
            known = {(one["file"], one["name"]) for one in results["mutants"]}
            for file, site in drawn(room, each, results["seed"]):
                if (file, site.name) not in known:
                    found = {"room": room, **attempt(sandbox, tests, file, site.name)}
                    results["mutants"].append(found)
                    path.write_text(json.dumps(results, indent=1) + "\n")
                    print(
                        f"{room}: {file}: {site.name}: {found['killer'] or 'SURVIVED'} ({found['seconds']} s)",
                        flush=True,
                    )
        note_false_kills(sandbox, tests, results["mutants"])
        for one in [one for one in results["mutants"] if one["killer"] in tests.left_out]:
            one.update(attempt(sandbox, tests, one["file"], one["name"]))
            path.write_text(json.dumps(results, indent=1) + "\n")


def again(path: Path) -> None:
    """Try those that survived once more, with the tests that are named for them."""
    results = json.loads(path.read_text())
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        sandbox = Sandbox(Path(folder))
        for one in results["mutants"]:
            place = f"{one['file']}:{one['name']}"
            if one["killer"] is None and (written := WRITTEN.get(place)):
                with sandbox.changed(one["file"], operators.changed((ROOT / one["file"]).read_text(), one["name"])):
                    one["killed_later"] = sandbox.first_failure([written])
                print(f"{place}: {one['killed_later'] or 'SURVIVED'}", flush=True)
                path.write_text(json.dumps(results, indent=1) + "\n")


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=10, help="how many mutants of each room")
    parser.add_argument("--room", action="append", choices=ROOMS, help="only this room; may be repeated")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10_000))
    parser.add_argument("--again", action="store_true", help="only those that survived in the newest results")
    parser.add_argument("--render", action="store_true", help="only write the table")
    given = parser.parse_args()
    path = score_page.RESULTS / f"{time.strftime('%Y-%m-%d')}-seed-{given.seed}.json"
    if given.again:
        newest = score_page.newest()
        if newest is not None:
            again(newest)
    elif not given.render:
        print(f"seed {given.seed}, commit {_commit()}", flush=True)
        path.parent.mkdir(exist_ok=True)
        measure(given.room or list(ROOMS), given.each, given.seed, path)
    score_page.write()


if __name__ == "__main__":
    main()
