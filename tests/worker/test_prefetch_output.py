"""The outputs of many runs in one process are kept apart, whatever a run does to the streams."""

from collections.abc import Mapping

import pytest

from harness import App, Commands, Database
from harness.handlers_rows import queue
from harness.invariants import insert_runs
from harness.prefetch_jobs import ONE, QUICK, begun, ends, warm_up

TAIL = 16 * 1024

TALK = r"""
import subprocess


@job("talk", timeout="1m")
def talk(ctx: Context, ways=(), act=None):
    leave_trace(ctx)
    number = ctx.run_id
    if "print" in ways: print(f"print {number}", end="")
    if "line" in ways: print(f"line {number}")
    if "write" in ways: os.write(1, f"write {number};".encode())
    if "error" in ways: print(f"error {number}", end="", file=sys.stderr)
    if "process" in ways: subprocess.run(["echo", f"process {number}"])
    if "much" in ways: print(f"[{number}]" * 4000, end="")
    if act == "close 1": os.close(1)
    elif act == "close streams": sys.stdout.close(); sys.stderr.close()
    elif act == "replace streams": sys.stdout = sys.stderr = open(os.environ["ELSEWHERE"], "a")
    elif act == "no streams": sys.stdout = sys.stderr = None
    elif act == "file over 1":
        file = os.open(os.environ["ELSEWHERE"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(file, 1)
        os.dup2(file, 2)
        print(f"elsewhere {number}")
    elif act == "flood":
        for _ in range(5_000): print("x" * 999)
    elif act == "do not block": os.set_blocking(1, False)
"""
WAYS = [[], ["print"], ["write"], ["line", "error"], ["print", "write", "error"], ["write", "print", "line"]]


def said(run_id: int, ways: list[str]) -> str | None:
    parts = {
        "print": f"print {run_id}",
        "line": f"line {run_id}\n",
        "write": f"write {run_id};",
        "error": f"error {run_id}",
        "process": f"process {run_id}\n",
        "much": f"[{run_id}]" * 4000,
    }
    # In the order in which the handler goes through them.
    return "".join(text for way, text in parts.items() if way in ways)[-TAIL:] or None


def outputs(database: Database) -> Mapping[int, str | None]:
    rows = database.query("SELECT run_id, output FROM job_attempts WHERE outcome = 'succeeded'")
    return {row["run_id"]: row["output"] for row in rows}


@pytest.mark.promise("P12")
@pytest.mark.parametrize("permits", [1, 3])
def test_each_of_many_short_runs_has_its_own_output(
    jobrunner: Commands, app: App, database: Database, permits: int
) -> None:
    app.add(QUICK + TALK)
    expected = {}
    for number in range(300):
        ways = list(WAYS[number % len(WAYS)])
        ways += ["process"] * (number % 50 == 7) + ["much"] * (number % 40 == 13)
        run_id = queue(database, "talk", {"ways": ways})
        expected[run_id] = said(run_id, ways)
    jobrunner.tick("--concurrency", permits)
    assert outputs(database) == expected
    assert begun(app) == dict.fromkeys(expected, 1)


ACTS = ["close 1", "close streams", "replace streams", "no streams", "file over 1", "flood", "do not block"]


@pytest.mark.promise("P8", "P12")
@pytest.mark.parametrize("act", ACTS)
def test_run_that_closes_or_redirects_its_streams_costs_no_neighbour_its_output(
    jobrunner: Commands, app: App, database: Database, act: str
) -> None:
    app.add(QUICK + TALK)
    elsewhere = app.path("elsewhere")
    warm_up(database, "talk")
    ways = ["print", "write", "error"]
    neighbours = []
    for _ in range(2):
        neighbours += insert_runs(database, 20, "talk", {"ways": ways}, run_at=database.now())
        bad = queue(database, "talk", {"ways": ["write"], "act": act}, run_at=database.now())
    neighbours += insert_runs(database, 20, "talk", {"ways": ways}, run_at=database.now())
    jobrunner.tick(env={**ONE, "ELSEWHERE": str(elsewhere)})
    assert ends(database, [bad, *neighbours]) == {("succeeded", 1, 1): 61}
    found = outputs(database)
    wrong = {run_id: found[run_id] for run_id in neighbours if found[run_id] != said(run_id, ways)}
    assert wrong == {}
    own = found[bad] or ""
    assert own == (("x" * 999 + "\n") * 17)[-TAIL:] if act == "flood" else own.startswith(f"write {bad};")
    assert not [each for each in found.values() if each and ("\0" in each or "jobrunner" in each)]
    if elsewhere.exists():
        assert b"jobrunner" not in elsewhere.read_bytes()
