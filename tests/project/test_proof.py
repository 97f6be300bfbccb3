"""`make proof`: its judge catches what is planted in a good book, its witness counts, its page is that of a run."""

import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.commands import clean_environment
from harness.processes import Patient
from harness.waiting import wait_for

ROOT = Path(__file__).parents[2]
LEDGER = {"p00-own-4": 1}
CLEAN = {"P1", "P2", "P3", "P4", "P5 once", "P5 transaction", "limits", "order"}


@pytest.fixture
def proof(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a module of proof/ by its name."""
    monkeypatch.syspath_prepend(str(ROOT))
    return lambda name: importlib.import_module(f"proof.{name}")


def good_day() -> list[str]:
    """What the witness has been told when nothing went wrong: kind, token, run, detail, process, in this order."""
    return [
        "acked p00-short-1 0 - 1",
        "acked p00-keyed-2 7 - 1",
        "acked p00-keyed-2 7 - 1",
        "acked p00-own-4 0 - 1",
        *(f"acked p00-limited-{number} 0 - 1" for number in (10, 11, 12)),
        "acked p00-part-5 0 - 1",
        "acked p00-whole-6 0 p00-part-5 1",
        "done p00-short-1 1 - 2",
        "effect p00-keyed-2 7 - 2",
        "done p00-keyed-2 7 - 2",
        "done p00-own-4 8 - 2",
        "done p00-part-5 9 - 2",
        "enter p00-whole-6 10 - 2",
        "leave p00-whole-6 10 - 2",
        "slot second00@10:00 20 - 2",
        *(f"enter p00-limited-{number} {number} - {number}" for number in (10, 11, 12)),
        "leave p00-limited-10 10 - 10",
        # Its process was killed. Another one does the run again.
        "gone  0 - 11",
        "enter p00-limited-11 11 - 13",
        "leave p00-limited-12 12 - 12",
        "leave p00-limited-11 11 - 13",
    ]


def book(lines: list[str], folder: Path) -> Path:
    """The file that the witness would have written."""
    path = folder / "book"
    with path.open("w") as out:
        for at, each in enumerate(lines, 1):
            kind, token, run, detail, process = each.split(" ")
            out.write("\t".join([str(at), kind, token, run, "1", "host1", detail.replace("-", "", detail == "-")]))
            out.write(f"\t{process}\n")
    return path


@pytest.fixture
def broken_of(proof: Any, tmp_path: Path) -> Any:
    """Judges a book and returns the promises that it finds broken, with what was broken."""

    def of(lines: list[str], ledger: dict[str, int] | None = None) -> dict[str, list[str]]:
        judge = proof("judge").Judge()
        judge.read(proof("witness").read(book(lines, tmp_path), 0)[0])
        cells = judge.judge("p00", LEDGER if ledger is None else ledger)
        assert cells.keys() == CLEAN
        return {name: cell.examples for name, cell in cells.items() if cell.broken}

    return of


def without(line: str) -> list[str]:
    lines = good_day()
    lines.remove(line)
    return lines


def test_judge_finds_nothing_in_a_good_day(broken_of):
    assert broken_of(good_day()) == {}


PLANTED = {
    "a run that was never done": (without("done p00-short-1 1 - 2"), {"P1": ["p00-short-1"]}),
    "an effect that was called twice": (
        [*good_day(), "effect p00-keyed-2 7 - 3"],
        {"P5 once": ["p00-keyed-2 was called 2 times"]},
    ),
    "an effect that was forgotten": (
        without("effect p00-keyed-2 7 - 2"),
        {"P5 once": ["p00-keyed-2 was never called, and its run has ended"]},
    ),
    "a slot with two runs": (
        [*good_day(), "slot second00@10:00 21 - 3"],
        {"P3": ["second00@10:00 has the runs [20, 21]"]},
    ),
    "a key with two runs": ([*good_day(), "acked p00-keyed-2 8 - 1"], {"P4": ["p00-keyed-2 has the runs [7, 8]"]}),
    "a fourth run at once": (
        [*good_day()[:-5], "enter p00-limited-14 14 - 14", *good_day()[-5:], "leave p00-limited-14 14 - 14"],
        {"limits": ["4 at once, with p00-limited-14"]},
    ),
    "two handlers of one run at once": (
        [*good_day()[:-5], "enter p00-limited-10 10 - 14", "leave p00-limited-10 10 - 10", "gone  0 - 14"],
        {
            "limits": ["4 at once, with p00-limited-10"],
            "P2": ["p00-limited-10"],
            "P1": [f"p00-limited-{n}" for n in (11, 12)],
        },
    ),
    "a child before its parent": (
        [*without("done p00-part-5 9 - 2"), "done p00-part-5 9 - 2"],
        {"order": ["p00-whole-6"]},
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_judge_catches(name, broken_of):
    lines, found = PLANTED[name]
    assert broken_of(lines) == found


@pytest.mark.parametrize("rows", [0, 2])
def test_judge_catches_a_transaction_with_other_rows_than_one(rows, broken_of):
    ledger = {"p00-own-4": rows} if rows else {}
    assert broken_of(good_day(), ledger) == {"P5 transaction": [f"p00-own-4: {rows} rows"]}


def test_effect_that_is_shown_as_uncertain_is_not_broken(broken_of):
    assert broken_of([*without("effect p00-keyed-2 7 - 2"), "uncertain p00-keyed-2 7 - 2"]) == {}


def test_run_whose_transaction_committed_is_done_though_its_process_was_killed(broken_of):
    assert broken_of(without("done p00-own-4 8 - 2")) == {}


def test_run_that_still_waits_is_late_and_not_lost(proof, tmp_path):
    judge = proof("judge").Judge()
    judge.read(proof("witness").read(book(without("done p00-short-1 1 - 2"), tmp_path), 0)[0])
    assert judge.judge("p00", LEDGER, ["p00-short-1"])["P1"].broken == 0


def test_what_was_told_of_one_phase_is_not_told_of_the_next(proof, tmp_path):
    judge = proof("judge").Judge()
    judge.read(proof("witness").read(book([*good_day(), "effect p00-keyed-2 7 - 3"], tmp_path), 0)[0])
    assert judge.judge("p00", LEDGER)["P5 once"].broken == 1
    assert judge.judge("p01", LEDGER)["P5 once"].broken == 0
    judge.read(proof("witness").read(book(["effect p00-keyed-2 7 - 3"], tmp_path), 0)[0])
    assert judge.judge("p02", LEDGER)["P5 once"].broken == 1


@pytest.fixture
def witness(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    place, file = tmp_path / "socket", tmp_path / "book"
    process = Patient([sys.executable, "-m", "proof.witness", str(place), str(file)], cwd=ROOT)
    try:
        wait_for(place.exists, 20, "the witness")
        yield place, file
    finally:
        process.kill()
        process.wait()


def test_witness_has_what_a_killed_process_has_sent_and_when_it_was_last_there(proof, witness):
    place, file = witness
    before = time.monotonic_ns()
    told = f"{before}\tenter\tp00-limited-1\t5\t1\thost1/1\t"
    source = (
        "import os, socket, sys\n"
        "line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
        "line.connect(sys.argv[1])\nline.send(sys.argv[2].encode())\nos.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", source, str(place), told])
    assert done.returncode == -signal.SIGKILL
    wait_for(lambda: file.read_text().count("\n") == 2, 20, "both lines")
    entered, gone = proof("witness").read(file, 0)[0]
    assert (entered.kind, entered.token, entered.run, entered.process) == ("enter", "p00-limited-1", 5, gone.process)
    assert gone.kind == "gone"
    assert before <= gone.at <= time.monotonic_ns()


def test_witness_takes_many_tokens_in_one_message(proof, witness):
    place, file = witness
    teller = proof("witness").Teller(str(place))
    teller.tell("acked", ["p00-short-1", "p00-short-2"])
    teller.close()
    wait_for(lambda: file.exists() and file.read_text().count("\n") == 2, 20, "the line, and the end")
    assert [each.token for each in proof("witness").read(file, 0)[0]] == ["p00-short-1", "p00-short-2", ""]


def test_page_is_that_of_a_committed_file_of_results(proof):
    """There is a page as soon as a run is committed."""
    page = proof("page")
    committed = list(page.RESULTS.glob("*.json"))
    assert page.PAGE.exists() == bool(committed)
    if committed:
        assert page.shown() in committed
        assert page.PAGE.read_text() == page.rendered(page.shown()), "make proof ARGS=--render"


def test_page_shows_what_did_not_hold_whether_it_is_promised_or_not(proof):
    page = proof("page")
    machine = {"cores": 2, "cpu": "a processor", "system": "Linux 6", "python": "3.11", "load_before": 0.5}
    results = {
        "at": "2026-11-26T03:00:00+00:00",
        "commit": "abc",
        "uncommitted_changes": False,
        "machine": machine,
        "postgresql": "18",
        "pgbouncer": "1",
        "seed": 7,
        "seconds": 60,
        "hosts": 3,
        "concurrency": 2,
        "lease_seconds": 15,
        "aimed_rate": 2000,
    }
    first, second = (
        {
            "title": title,
            "forgets": forgets,
            "left_out": "",
            "notes": ["something"],
            "load": {"acknowledged": 100, "seconds": 10, "failures": 2},
            "drained_seconds": drained,
            "counts": {"repeated": 3},
            "verify": {"code": int(forgets), "says": "run 7: two owners\n1 promise is broken"},
            "cells": {name: {"held": 10, "broken": 0, "examples": []} for name in page.PROMISES},
        }
        for title, forgets, drained in (("a fault", False, None), ("a loss", True, 4))
    )
    for each in (first, second):
        each["cells"]["P4"] = {"held": 9, "broken": 1, "examples": ["a key with two runs"]}
    results["phases"] = [first, second]
    block = page.block_of(results)
    row = "| a fault | 10 | 10 | 10 | **1 of 10 broken** | 10 | 10 | 10 | 10 | holds | **not in time** |"
    assert row in block
    assert "- a fault: P4: keys: 1 (**this is promised, and did not hold**), as `a key with two runs`." in block
    assert "- a loss: P4: keys: 1 (not promised there: the database has forgotten what it knew)" in block
    assert "- a loss: `jobrunner verify`: run 7: two owners 1 promise is broken" in block
    assert "| a fault | 100 | 10 | 2 | 3 | 0 | 0 |" in block
    assert "2 virtual cores (a processor), load 0.5 before" in block
    assert "- a fault: when the time was over, runs were still waiting or running." in block
    assert "BROKEN: a fault: P4: keys: 1, as a key with two runs" in page.summary(results)
    assert page.broken(results)
    second["verify"]["code"] = 0
    results["phases"] = [second]
    assert not page.broken(results)


def test_proof_says_in_one_line_that_it_needs_root(proof, monkeypatch, capsys):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(sys, "argv", ["proof"])
    assert proof("program").main() == 69
    assert capsys.readouterr().err == "make proof: it makes network namespaces, which needs root: sudo make proof\n"


_CUT = """
import socket, subprocess, sys
from proof.network import Machine, lay_cables
subprocess.run("mkdir -p /run/netns && mount -t tmpfs none /run/netns", shell=True, check=True)
lay_cables()
one, other = Machine("one", 1), Machine("other", 2)
listen = "import socket, sys; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('10.9.0.2', 9));"
listen += "print(flush=True); [print(s.recv(9).decode(), flush=True) for _ in range(2)]"
words = ["nsenter", "--net=/run/netns/other", sys.executable, "-c", listen]
told = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
told.stdout.readline()
send = "import socket, sys; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM);"
send += "s.sendto(sys.argv[1].encode(), ('10.9.0.2', 9))"
for word in ("first", "cut", "again"):
    (one.cut_off if word == "cut" else one.rejoin)()
    subprocess.run(["nsenter", "--net=/run/netns/one", sys.executable, "-c", send, word], check=True)
print(told.communicate()[0].split())
"""


def test_machine_that_is_cut_off_sends_nothing_until_it_rejoins(proof):
    """A port of the bridge was disabled, which the bridge undid at once: no partition was one."""
    if missing := proof("program")._missing():
        assert missing.count("\n") == 0
        return
    words = ["unshare", "--net", "--mount", "--fork", sys.executable, "-c", _CUT]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("['first', 'again']\n", 0), done.stderr


@pytest.mark.long
@pytest.mark.timeout(600)
def test_proof_runs_with_two_faults_and_leaves_nothing(tmp_path):
    """Where root and the programs are; elsewhere it says what is missing."""
    words = ["--only", "ticks-killed", "--only", "server-killed", "--rate", "200", "--results", str(tmp_path)]
    before = set(Path("/dev/shm").iterdir())
    environment = clean_environment(tmp_path) | {"PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-m", "proof", *words], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    if done.returncode == 69:
        assert (done.stdout, done.stderr.count("\n"), done.stderr[:12]) == ("", 1, "make proof: ")
        return
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = tmp_path.glob("*.json")
    phases = json.loads(path.read_text())["phases"]
    assert {each["fault"] for each in phases} == {"ticks-killed", "server-killed"}
    assert all(each["load"]["acknowledged"] > 0 for each in phases)
    assert {name for each in phases for name, cell in each["cells"].items() if not cell["held"]} <= {"P3"}
    assert not [each for each in set(Path("/dev/shm").iterdir()) - before if each.name == "proof"]
