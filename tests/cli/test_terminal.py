"""How commands look on a terminal: on a real one, of 80 and of 200 columns."""

import json
import os
import re
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from harness import App, Commands, Database, sqlite_only
from harness.at_work import OWNER, running
from harness.calls import CALLS
from harness.commands import COMMAND
from harness.handlers_rows import queue
from harness.terminal import STYLES, open_terminal, read_terminal, seen_at
from jobrunner.cli import terminal
from jobrunner.cli.questions import stats
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.location import locate
from jobrunner.store.queue.finalize import finalize_all

HOSTILE = "\x1b[2J\x1b]0;owned\x07 \x9b31m \u202e [bold]not markup[/bold] :smile:"
LONG = "the report could not be rendered because its template names a variable that nobody has given " * 4
PATH = "/srv/application/releases/2026-11-22/reports/weekly/summary_of_all_customers_of_the_region.html"
# What each shows lies in `many_rows`.
TABLE = ["show 2", *(each.words.format(run=1, schedule="nightly") for each in CALLS.values() if each.fits_terminal)]


def many_rows(jobrunner: Commands, database: Database) -> None:
    """A run that is dead, one that failed, one that runs, and a schedule: with long and with hostile texts."""
    store = Store(locate(database.url), patience=timedelta(seconds=20))
    ends = [
        (
            lease,
            AttemptResult(Outcome.DISCARDED, error=f"{LONG}{PATH}", error_type="Error", output=f"{LONG}\n{HOSTILE}"),
        )
        for lease in running(database, 1, job_type="reports.send_weekly_summary_to_all_customers")
    ]
    ends += [
        (lease, AttemptResult(Outcome.FAILED, error=HOSTILE, error_type=HOSTILE, traceback=f"File {PATH}\n\t{LONG}"))
        for lease in running(database, 1, job_type="echo", idempotency_key=HOSTILE)
    ]
    store.write(lambda connection: finalize_all(connection, OWNER, ends))
    store.close()
    running(database, 1, progress=json.dumps({"done": 3, "total": 10, "message": HOSTILE}))
    queue(database, "echo", {"text": HOSTILE, "long": LONG})
    jobrunner(
        "schedule", "add", "nightly", "--type", "echo", "--cron", "0 3 * * *", "--payload", json.dumps({"a": HOSTILE})
    )
    jobrunner("schedule", "pause", "nightly")


def test_commands_fit_their_terminal_break_no_word_and_leave_nothing_out(
    jobrunner: Commands, database: Database
) -> None:
    many_rows(jobrunner, database)
    for words in TABLE:
        done = jobrunner(*words.split(), check=False)
        plain = done.stdout
        assert "\x1b" not in plain
        for columns in (80, 200):
            code, seen = seen_at(jobrunner, f"{words} --utc", columns)
            shown = STYLES.sub("", seen)
            assert code == done.returncode, seen
            assert not set(shown) & set("\x1b\x07\x9b\u202e"), words
            assert max(map(len, shown.splitlines())) <= columns, (words, columns, shown)
            # A word of a full line cannot be kept together.
            wanted = {word for word in plain.split() if len(word) < 60 and not _changes(word)}
            assert wanted - set(shown.split()) == set(), (words, columns, shown)
            assert PATH not in plain or PATH in "".join(shown.split())


def _changes(word: str) -> bool:
    """Whether a word may differ between two calls, because it tells a time."""
    word = word.rstrip(".;,:")
    return word[:1].isdigit() and word[-1] in "Zsm"


def test_table_that_is_too_wide_shows_each_field_of_a_row(jobrunner: Commands, app: App) -> None:
    """Also where two columns have names that end alike."""
    jobrunner.enqueue("echo")
    jobrunner.tick()
    _, seen = seen_at(jobrunner, "stats", 60)
    shown = STYLES.sub("", seen)
    assert [name for name in stats.HEADINGS if f"  {name} " not in shown] == []


@sqlite_only
def test_stats_draw_a_bar_for_each_type_to_a_person_and_to_nobody_else(
    jobrunner: Commands, database: Database, store: Store
) -> None:
    """Marks tell apart what succeeded and what died, also without colour, and the least number is seen."""
    long_name = "reports.send_weekly_summary_to_all_customers_of_the_region"
    for job_type, outcome, count in (
        ("echo", Outcome.SUCCEEDED, 300), ("echo", Outcome.DISCARDED, 1), (long_name, Outcome.DISCARDED, 30),
    ):  # fmt: skip
        ends = [(lease, AttemptResult(outcome, error="no")) for lease in running(database, count, job_type=job_type)]
        store.write(lambda connection, ends=ends: finalize_all(connection, OWNER, ends))
    bars = {columns: seen_at(jobrunner, "stats", columns, {"NO_COLOR": "1"})[1] for columns in (80, 200)}
    for columns, seen in bars.items():
        assert max(map(len, seen.splitlines())) <= columns
        (echo,) = re.findall(r"^ +echo +(#+)(x)$", seen, re.MULTILINE)
        (other,) = re.findall(r"region +(x+)$", seen.replace("\r", ""), re.MULTILINE)
        assert len(echo[0]) == pytest.approx(10 * len(other), abs=11)
        assert "# succeeded  x dead  - cancelled" in seen
    assert len(bars[80]) < len(bars[200])
    assert "\x1b[32m##" in seen_at(jobrunner, "stats", 80)[1]
    assert "##" not in jobrunner("stats").stdout


def test_what_is_wrong_is_coloured_unless_the_reader_or_the_terminal_wants_no_colour(
    jobrunner: Commands, database: Database
) -> None:
    many_rows(jobrunner, database)
    _, seen = seen_at(jobrunner, "show 1", 80)
    assert "\x1b[1;31mdead\x1b[0m" in seen
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        code, plain = seen_at(jobrunner, "show 1", 80, env)
        assert (code, "\x1b" in plain) == (0, False)
        # For how long it has been dead is counted in seconds.
        assert re.sub(r"\b\d+m?s\b", "", plain) == re.sub(r"\b\d+m?s\b", "", STYLES.sub("", seen))


def test_times_on_a_terminal_are_the_readers_and_everywhere_else_utc(jobrunner: Commands, database: Database) -> None:
    at = database.now().replace(year=2031, month=1, day=31, hour=23, minute=30, second=0, microsecond=0)
    run_id = queue(database, "echo", run_at=at)
    tokyo = {"TZ": "Asia/Tokyo"}
    here = "2031-02-01 08:30:00+09:00"
    assert here in seen_at(jobrunner, f"show {run_id}", 80, tokyo)[1]
    for words in (f"show {run_id} --utc", f"--utc show {run_id}"):
        assert "2031-01-31 23:30:00Z" in seen_at(jobrunner, words, 80, tokyo)[1]
    assert "2031-01-31 23:30:00Z" in jobrunner("show", run_id, env=tokyo).stdout
    assert '"2031-01-31T23:30:00Z"' in seen_at(jobrunner, f"show {run_id} --json", 80, tokyo)[1]
    # What is shown can be given back.
    jobrunner("enqueue", "echo", "--run-at", here)
    assert database.value("SELECT count(*) FROM job_runs WHERE run_at = ?", [at]) == 2


@sqlite_only
@pytest.mark.parametrize(
    ("words", "on_terminal", "wanted"),
    [("tick", True, False), ("status --json", True, False), ("status", False, False), ("types", True, True)],
    ids=str,
)
def test_what_shows_on_a_terminal_is_imported_only_there(
    jobrunner: Commands, words: str, on_terminal: bool, wanted: bool
) -> None:
    """Cron starts 1440 ticks a day, and none of them shows anything to a person."""
    jobrunner.enqueue("echo")
    ours, theirs = open_terminal(80)
    done = subprocess.run(
        [Path(COMMAND).with_name("python"), "-X", "importtime", "-m", "jobrunner", *words.split()],
        env=jobrunner.environment(), cwd=jobrunner.home, stdout=theirs if on_terminal else subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    os.close(theirs)
    read_terminal(ours)
    assert ("jobrunner.cli.terminal" in done.stderr) is wanted


@sqlite_only
def test_import_apply_and_migrate_show_their_progress_to_a_person_and_to_nobody_else(
    jobrunner: Commands, database: Database, app: App, tmp_path: Path
) -> None:
    """One line on stderr that changes in its place, so that output into a file is the same."""
    tab, toml = tmp_path / "tab", app.path("jobrunner.toml")
    tab.write_text("".join(f"{minute} 3 * * * /bin/true {minute}\n" for minute in range(60)))
    code, seen = seen_at(jobrunner, f"schedule import --no-system --output {toml} {tab}", 80)
    assert (code, "lines of the crontab  [##########..........] 30/60\r\x1b[K" in seen) == (0, True), seen
    env = {"JOBRUNNER_CONFIG": str(toml)}
    assert jobrunner("apply", "--dry-run", env=env).stderr == ""
    code, seen = seen_at(jobrunner, "apply", 80, env)
    assert (code, "schedules  [##########..........] 30/60\r\x1b[K" in seen) == (0, True), seen
    indexes = ("job_runs_deadline", "job_runs_key")
    for index in indexes:
        database.execute(f"DROP INDEX {index}")
    code, seen = seen_at(jobrunner, "migrate", 80)
    assert (code, "migration  [##########..........] 1/2\r\x1b[K" in seen) == (0, True), seen
    assert "created again: job_runs_" in seen
    database.execute(f"DROP INDEX {indexes[0]}")
    assert jobrunner("migrate").stderr == ""


def test_long_backfill_shows_its_progress_to_a_person_and_to_nobody_else(
    jobrunner: Commands, database: Database
) -> None:
    jobrunner("schedule", "add", "often", "--type", "echo", "--cron", "* * * * *")
    begin = database.now().replace(second=0, microsecond=0) - timedelta(days=2)
    span = [f"--since={begin.isoformat()}", f"--until={(begin + timedelta(minutes=1499)).isoformat()}", "--limit=1500"]
    words = ["schedule", "backfill", "often", "--json", *span]
    code, seen = seen_at(jobrunner, " ".join(words), 80)
    assert code == 0
    assert "backfill of often  [#############.......] 1000/1500\r\x1b[K" in seen
    assert json.loads(seen.rpartition("\x1b[K")[2])[1499]["answer"] == "made"
    again = jobrunner(*words)
    assert again.stderr == ""
    assert {row["answer"] for row in again.json()} == {"has a run"}


def test_wide_letters_take_two_columns_and_accents_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert terminal.columns_of("plain") == 5
    assert terminal.columns_of("日本 e\N{COMBINING ACUTE ACCENT}") == 6
    terminal.show_fields([("name", "日" * 50)], "")
    lines = capsys.readouterr().out.splitlines()
    assert "".join(line.removeprefix("\x1b[2mname  \x1b[0m").strip() for line in lines) == "日" * 50
    assert max(terminal.columns_of(line.replace("\x1b[2m", "").replace("\x1b[0m", "")) for line in lines) <= 80
