"""`jobrunner runs`: the list of runs, its pages, and what it prints."""

import json
from datetime import UTC, datetime, timedelta

from harness import Commands, Database, sqlite_only
from harness.invariants import insert_runs
from jobrunner.cli.questions.runs import _more
from jobrunner.store.questions.runs.run_list import Page

HOSTILE = "\x1b[2J\u202eevil\nsecond"


def test_runs_are_listed_newest_first_page_by_page(jobrunner: Commands, database: Database) -> None:
    now = database.now()
    row = {"status": "dead", "finished_at": now, "attempts": 3, "max_attempts": 3, "error_type": "ValueError"}
    ids = insert_runs(database, 3, last_error="no such file", **row)
    waiting = insert_runs(database, 1, "later", run_at=now + timedelta(hours=1))
    assert jobrunner("runs").stdout.splitlines()[0].split() == ["ID", "TYPE", "STATUS", "TIME", "ATTEMPTS", "ERROR"]
    assert [int(line.split()[0]) for line in jobrunner("runs").stdout.splitlines()[1:]] == [*waiting, *ids[::-1]]
    page = jobrunner("runs", "--status", "dead", "--limit", "2").stdout.splitlines()
    assert [line.split()[:3] for line in page[1:3]] == [[str(each), "append", "dead"] for each in (ids[2], ids[1])]
    assert page[1].endswith("3 of 3    ValueError: no such file")
    assert page[3:] == [f"more: --before {ids[1]}"]
    rest = jobrunner("runs", "--status", "dead", "--limit", "2", "--before", str(ids[1])).stdout.splitlines()
    assert [int(line.split()[0]) for line in rest[1:]] == [ids[0]]
    found = jobrunner("runs", "--type", "append", "--since", "2h", "--limit", "2", "--json").json()
    assert [run["id"] for run in found["runs"]] == [ids[2], ids[1]]
    assert (found["next_before"], found["searched_back_to"]) == (ids[1], None)
    done = jobrunner("runs", "--error-like", "SUCH", "--limit", "2", "--jsonl")
    assert [json.loads(line)["last_error"] for line in done.stdout.splitlines()] == ["no such file"] * 2
    assert done.stderr == f"jobrunner: more: --before {ids[1]}\n"


def test_no_runs_are_said_to_be_none(jobrunner: Commands, database: Database) -> None:
    assert jobrunner("runs").stdout == "no runs\n"
    assert jobrunner("runs", "--json").json() == {"runs": [], "next_before": None, "searched_back_to": None}
    done = jobrunner("runs", "--jsonl")
    assert (done.stdout, done.stderr) == ("", "")


def test_a_search_that_has_not_finished_never_says_none() -> None:
    page = Page([], 123, datetime(2026, 11, 3, 14, 2, tzinfo=UTC))
    assert _more(page) == "searched back to 2026-11-03 14:02:00Z; --before 123 continues"


def test_text_of_a_run_does_not_control_the_terminal(jobrunner: Commands, database: Database) -> None:
    insert_runs(database, 1, HOSTILE, status="failed", error_type=HOSTILE, last_error=HOSTILE)
    shown = jobrunner("runs").stdout
    assert len(shown.splitlines()) == 2
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert r"\x1b[2J\u202eevil\nsecond" in shown


WRONG = {
    "--since yesterday": "'yesterday' is not a time; write 2026-01-31T09:00:00Z, or 2h for two hours ago",
    "--since 2026-01-31T09:00": "has no offset",
    "--status late": "'late' is not one of 'queued'",
    "--waiting-for godot": "'godot' is not one of 'time'",
    "--type=": "'' cannot be searched for",
    "--before 0": "'0' is not the id of a run",
    "--json --jsonl": "exclude each other",
    "--schedule nightly": "there is no schedule named 'nightly'",
}


@sqlite_only
def test_a_wrong_filter_is_one_line(jobrunner: Commands, database: Database) -> None:
    for words, told in WRONG.items():
        jobrunner.refused(1 if "--schedule" in words else 2, "runs", *words.split(), says=[told])
