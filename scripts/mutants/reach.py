"""Which test reaches which function and which statement: `python scripts/mutants/reach.py [TEST...]`.

The tests run once on a copy of the package in which each function says that it was called. So it is known for the
processes that a test starts, too. What is found is kept in .mutants, in a file for each file of tests, until it is
recorded again. On SQLite, if a test runs on both databases: it reaches the same functions on PostgreSQL.
"""

import ast
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sandbox import ROOT, Sandbox

KEPT = ROOT / ".mutants" / "reach"
_TOGETHER = 10
"""Files of tests that one pytest runs: its start takes as long as a file."""
_IMPORT = """
try:
    from reach_probe import reach as _reach_
except ImportError:  # a file that a bare interpreter runs, which does not know the copy
    def _reach_(place):
        pass
"""
_PROBE = """
import os

seen = set()


def reach(place):
    if place not in seen:
        seen.add(place)
        try:
            file = os.open({now!r}, os.O_WRONLY | os.O_APPEND)
        except OSError:
            return  # no test runs, or this process may open no file
        os.write(file, (place + "\\n").encode())
        os.close(file)


os.register_at_fork(after_in_child=seen.clear)
"""
_PLUGIN = """
import json, os, time
from pathlib import Path

import pytest
import reach_probe
from jobrunner.store.sql import statement

NOW, NOTED = {now!r}, {noted!r}


def pytest_collection_modifyitems(config, items):
    names = {{item.nodeid for item in items}}
    left = [item for item in items if item.nodeid.replace("postgresql", "sqlite", 1) in names - {{item.nodeid}}]
    items[:] = [item for item in items if item not in left]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    Path(NOW).write_text("")
    reach_probe.seen.clear()
    statement.compiled.cache_clear()
    begun = time.monotonic()
    item.has_failed = False
    done = yield
    seconds = round(time.monotonic() - begun, 2)
    places = sorted(set(Path(NOW).read_text().split("\\n")) - {{""}})
    os.unlink(NOW)
    if not item.has_failed:
        with open(NOTED, "a") as file:
            file.write(json.dumps([item.nodeid, seconds, places]) + "\\n")
    return done


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    item.has_failed = item.has_failed or not report.passed
    return report
"""


class Test(NamedTuple):
    """A test that reaches a place: how long it takes, and how many places it reaches in all."""

    name: str
    seconds: float
    reaches: int


def file_of(test: Test) -> str:
    """The file of a test."""
    return test.name.partition("::")[0]


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """The functions of a module, by their names as in `Class.method`. One within another is a part of that."""

    def within(body: Sequence[ast.stmt], before: str) -> Iterator[tuple[str, Any]]:
        for node in body:
            if isinstance(node, ast.ClassDef):
                yield from within(node.body, f"{before}{node.name}.")
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{before}{node.name}", node

    yield from within(tree.body, "")


def instrument(sandbox: Sandbox) -> None:
    """Let each function of the copy say that it was called, and each statement that it is sent."""
    for path in sorted((sandbox.copy / "jobrunner").rglob("*.py")):
        file = path.relative_to(sandbox.copy).as_posix()
        if "compiled" in path.parts or "migrations" in path.parts:
            continue
        tree = ast.parse(path.read_text())
        for name, node in functions(tree):
            place = f"{file}:{name}"
            call = ast.parse(f"_reach_({place!r})").body
            if place == "jobrunner/store/sql/statement.py:_source":
                call = ast.parse("isinstance(statement, Prepared) and _reach_(f'{database}:{statement.name}')").body
            node.body[_after_docstring(node.body) : _after_docstring(node.body)] = call
        first = next((i for i, each in enumerate(tree.body) if not _is_head(each)), len(tree.body))
        tree.body[first:first] = ast.parse(_IMPORT).body
        path.write_text(ast.unparse(ast.fix_missing_locations(tree)) + "\n")


def _after_docstring(body: list[ast.stmt]) -> int:
    first = body[0]
    return int(isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant))


def _is_head(node: ast.stmt) -> bool:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_text or (isinstance(node, ast.ImportFrom) and node.module == "__future__")


def record(tests: Sequence[str]) -> None:
    """Run the tests, and keep what they reach."""
    with tempfile.TemporaryDirectory(prefix="reach-") as made:
        folder = Path(made)
        now, noted = str(folder / "now"), folder / "noted"
        noted.touch()
        sandbox = Sandbox(folder)
        instrument(sandbox)
        (sandbox.copy / "reach_probe.py").write_text(_PROBE.format(now=now))
        (sandbox.copy / "reach_plugin.py").write_text(_PLUGIN.format(now=now, noted=str(noted)))
        for begin in range(0, len(tests), _TOGETHER):
            files = tests[begin : begin + _TOGETHER]
            done = sandbox.test(["-p", "reach_plugin", "--tb=no", *files])
            print(f"{', '.join(files)}: {done.stdout.strip().rpartition(chr(10))[2]}", flush=True)
            _keep(files, [json.loads(line) for line in noted.read_text().splitlines()])


def _keep(files: Sequence[str], lines: list[list[Any]]) -> None:
    KEPT.mkdir(parents=True, exist_ok=True)
    for file in files:
        of_file = [line for line in lines if line[0].partition("::")[0] == file]
        places = sorted({place for _, _, reached in of_file for place in reached})
        number = {place: index for index, place in enumerate(places)}
        tests = {test: [seconds, [number[each] for each in reached]] for test, seconds, reached in of_file}
        (KEPT / f"{file.replace('/', '-')}.json").write_text(json.dumps({"places": places, "tests": tests}))


def recorded() -> dict[str, list[Test]]:
    """By place, the tests that reach it."""
    found: dict[str, list[Test]] = {}
    for file in sorted(KEPT.glob("*.json")):
        kept = json.loads(file.read_text())
        for name, (seconds, reached) in kept["tests"].items():
            test = Test(name, seconds, len(reached))
            for index in reached:
                found.setdefault(kept["places"][index], []).append(test)
    return found


def main(tests: Sequence[str]) -> None:
    """Record these files, or those of all rooms but for what is about documents and packages."""
    rooms = ("unit", "worker", "store", "schedules", "promises", "health", "application")
    record(
        tests or [str(each.relative_to(ROOT)) for room in rooms for each in sorted(ROOT.glob(f"tests/{room}/test_*"))]
    )


if __name__ == "__main__":
    main(sys.argv[1:])
