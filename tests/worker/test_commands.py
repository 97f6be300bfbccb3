"""Commands as job types: the arguments, input and environment that a program gets."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from harness import App, Commands, Database
from harness.command_jobs import array, latin1_locale, probe, python, quoted, seen, shell, write_jobs
from harness.handlers_rows import attempt_of, queue, run_of, status_of

ODD = [
    "two words",
    "",
    "'single' \"double\"",
    "; touch hit",
    "$HOME ${HOME} $(touch hit)",
    "`touch hit`",
    "*",
    "~",
    "a\nb\r\n\tc",
    "Zoë",
    "☃ 😀 \u202e",
    "\x1b[2J\x7f",
    "--",
    "-rf",
    "{}",
    "{print $1}",
    "{{}}",
    "%s %(x)s",
    "\\",
    "x" * 100_000,
]
SQL = "'; DROP TABLE job_runs; --"
LOCALES: dict[str, dict[str, str | None]] = {
    "UTF-8": {"LANG": "C.UTF-8"},
    "C": {"LANG": "C"},
    # Python's own remedy for the C locale switched off: its file system encoding is ASCII then.
    "ASCII": {"LANG": "C", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    "none": {"LANG": None},
}


@pytest.mark.promise("P13")
def test_arguments_reach_the_program_exactly_in_any_locale(
    jobrunner: Commands, app: App, database: Database, tmp_path: Path
) -> None:
    folder = app.path("Größe ☃")
    folder.mkdir()
    arguments = [*ODD, "{payload.a}", "{payload.b}", "{run_id}"]
    write_jobs(app, f"[jobs.odd]\ncommand = {probe(app, *arguments)}\ncwd = {quoted(folder.name)}\n")
    payload = {"a": f"$(touch hit) {SQL}", "b": "-é☃ \n*"}
    latin1 = latin1_locale(tmp_path)
    locales = LOCALES | ({"Latin-1": latin1} if latin1 else {})
    for name, env in locales.items():
        run_id = queue(database, "odd", payload)
        assert jobrunner.tick(env=env).stderr == "", name
        assert status_of(database, run_id) == "succeeded", name
        assert seen(app, run_id)["argv"] == [*ODD, payload["a"], payload["b"], str(run_id)], name
        assert json.loads(seen(app, run_id)["stdin"]) == payload, name
        assert seen(app, run_id)["cwd"] == str(folder), name
    assert not list(app.folder.glob("**/hit"))
    assert not list(jobrunner.home.glob("**/hit"))
    assert database.value("SELECT count(*) FROM job_runs") == len(locales)


def test_command_gets_its_folder_environment_and_ids(jobrunner: Commands, app: App, database: Database) -> None:
    (app.folder / "below").mkdir()
    elsewhere = jobrunner.home / "else where ☃"
    elsewhere.mkdir()
    write_jobs(
        app,
        f"""
        [jobs.plain]
        command = {probe(app)}
        max_attempts = 7
        [jobs.relative]
        command = {probe(app)}
        cwd = "below"
        env = {{ GREETING = "Zoë ☃ $HOME", INHERITED = "changed", EMPTY = "", JOBRUNNER_ATTEMPT = "mine" }}
        [jobs.absolute]
        command = {probe(app)}
        cwd = {quoted(str(elsewhere))}
        """,
    )
    slot = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
    plain = queue(database, "plain", attempts=2)
    relative = queue(database, "relative", {"a": 1}, scheduled_for=slot)
    absolute = queue(database, "absolute")
    # What a tick that a command has started would inherit.
    stale = {"INHERITED": "as it was", "JOBRUNNER_SLOT": "stale", "JOBRUNNER_RUN_ID": "stale", "ODD": "\udcff"}
    jobrunner.tick(env=stale)

    found = seen(app, plain)
    assert found["cwd"] == str(app.folder)
    assert found["env"]["INHERITED"] == "as it was"
    assert found["env"]["ODD"] == "\udcff"
    assert found["env"]["HOME"] == str(jobrunner.home)
    ids = {name: value for name, value in found["env"].items() if re.match("JOBRUNNER_(RUN|JOB|ATT|MAX|SLOT)", name)}
    assert ids == {
        "JOBRUNNER_RUN_ID": str(plain),
        "JOBRUNNER_JOB_TYPE": "plain",
        "JOBRUNNER_ATTEMPT": "3",
        "JOBRUNNER_MAX_ATTEMPTS": "7",
    }
    assert found["session"]
    assert (found["stdin"], seen(app, relative)["stdin"]) == ("{}", '{"a":1}')

    found = seen(app, relative)
    assert found["cwd"] == str(app.folder / "below")
    assert found["env"]["GREETING"] == "Zoë ☃ $HOME"
    assert (found["env"]["INHERITED"], found["env"]["EMPTY"], found["env"]["JOBRUNNER_ATTEMPT"]) == (
        "changed",
        "",
        "mine",
    )
    assert found["env"]["JOBRUNNER_SLOT"] == "2026-03-29T01:30:00Z"
    late = timedelta(seconds=int(found["env"]["JOBRUNNER_LATE_SECONDS"]))
    assert timedelta(0) <= database.now() - slot - late < timedelta(minutes=2)
    assert seen(app, absolute)["cwd"] == str(elsewhere)


def test_a_command_gets_the_url_of_the_database_only_when_it_asks(
    jobrunner: Commands, app: App, database: Database
) -> None:
    jobs = f"""
        [jobs.plain]
        command = {probe(app)}
        [jobs.asks]
        command = {probe(app)}
        pass_env = ["JOBRUNNER_DATABASE_URL", "NOT_THERE"]
    """
    write_jobs(app, jobs)
    plain, asks = queue(database, "plain"), queue(database, "asks")
    jobrunner.tick(env={"DATABASE_URL": f"{database.url}?also=this"})
    assert seen(app, asks)["env"]["JOBRUNNER_DATABASE_URL"] == database.url
    assert "DATABASE_URL" not in seen(app, asks)["env"]
    # The URL may also stand in the file.
    write_jobs(app, f"[settings]\ndatabase_url = {quoted(database.url)}\n{jobs}")
    filed = queue(database, "plain")
    jobrunner.tick(env={"JOBRUNNER_DATABASE_URL": None})
    for run_id in (plain, filed):
        found = seen(app, run_id)
        descriptors = found.pop("descriptors")
        assert database.url not in json.dumps(found)
        assert sorted(descriptors) == ["0", "1", "2"]
        assert not [each for each in descriptors.values() if "socket" in each or ".db" in each]


READERS = {
    "reads": python("import sys, json; print(len(json.load(sys.stdin)['a']))"),
    "never_reads": array("/bin/true"),
    "closes": shell("exec <&-; exit 0"),
    "reads_twice": shell("cat /dev/stdin > /dev/null; cat /dev/stdin | wc -c"),
}


def test_large_payload_does_not_block_a_command_that_ignores_it(
    jobrunner: Commands, app: App, database: Database
) -> None:
    write_jobs(app, "".join(f"[jobs.{name}]\ncommand = {command}\n" for name, command in READERS.items()))
    payload = {"a": "é" * 100_000}
    runs = {name: queue(database, name, payload) for name in READERS}
    jobrunner.tick()
    assert {name: status_of(database, run_id) for name, run_id in runs.items()} == dict.fromkeys(READERS, "succeeded")
    assert attempt_of(database, runs["reads"])["output"] == "100000\n"


# Command, payload, and either what arrives or what the dead run says.
FILLED: dict[str, tuple[list[str], dict[str, Any], list[str] | str]] = {
    "fields": (["{job_type}", "{attempt}", "{max_attempts}"], {}, ["fields", "1", "5"]),
    "numbers": (["{payload.a}", "{payload.b}", "{payload.c}"], {"a": 1, "b": 1.5, "c": True}, ["1", "1.5", "true"]),
    "odd_key": (["{payload.a.b c}", "{payload.ö}"], {"a.b c": "x", "ö": "y"}, ["x", "y"]),
    "no_second_filling": (["{payload.a}"], {"a": "{run_id}"}, ["{run_id}"]),
    "empty": (["{payload.a}"], {"a": ""}, [""]),
    "option_after": (["--", "{payload.a}", "{payload.b}"], {"a": "-rf", "b": -1}, ["--", "-rf", "-1"]),
    "option": (["{payload.a}"], {"a": "-rf"}, 'the value of {payload.a} begins with "-"; put "--" before it'),
    "option_from_dashes": (["{payload.a}", "{payload.b}"], {"a": "--", "b": "-x"}, '{payload.a} begins with "-"'),
    "negative_number": (["{payload.a}"], {"a": -1}, 'the value of {payload.a} begins with "-"'),
    "missing": (["{payload.a}"], {"b": 1}, "{payload.a}, which the payload does not have"),
    "null": (["{payload.a}"], {"a": None}, "{payload.a}, which is not text or a number"),
    "list": (["{payload.a}"], {"a": ["x"]}, "{payload.a}, which is not text or a number"),
    "object": (["{payload.a}"], {"a": {"b": "x"}}, "{payload.a}, which is not text or a number"),
    "no_slot": (["{slot}"], {}, "{slot}, but this run stands for no slot"),
}


@pytest.mark.promise("P13")
def test_placeholders_are_replaced_by_these_values(jobrunner: Commands, app: App, database: Database) -> None:
    write_jobs(app, "".join(f"[jobs.{name}]\ncommand = {probe(app, *row[0])}\n" for name, row in FILLED.items()))
    runs = {name: queue(database, name, payload) for name, (_, payload, _) in FILLED.items()}
    jobrunner.tick(env={"JOBRUNNER_DEPLOY_GRACE": "0s"})
    for name, (_, _, expected) in FILLED.items():
        run = run_of(database, runs[name])
        if isinstance(expected, list):
            assert run["status"] == "succeeded", name
            assert seen(app, runs[name])["argv"] == expected, name
        else:
            assert (run["status"], run["attempts"], run["error_type"]) == ("dead", 1, "bad_payload"), name
            assert expected in run["last_error"], name
            assert not app.path(f"seen-{runs[name]}").exists(), name


def test_a_slot_is_an_argument_in_utc(jobrunner: Commands, app: App, database: Database) -> None:
    write_jobs(app, f"[jobs.of_slot]\ncommand = {probe(app, '{slot}')}\n")
    run_id = queue(database, "of_slot", scheduled_for=datetime(2026, 10, 25, 0, 30, tzinfo=UTC))
    jobrunner.tick()
    assert seen(app, run_id)["argv"] == ["2026-10-25T00:30:00Z"]


@pytest.mark.promise("P13")
def test_a_shell_runs_only_what_the_file_says(jobrunner: Commands, app: App, database: Database) -> None:
    line = "echo \"$JOBRUNNER_RUN_ID\" | tr 0-9 x; cat; awk '{print $1}' /dev/null; echo ${HOME} > /dev/null"
    write_jobs(app, f"[jobs.line]\nshell = true\ncommand = {quoted(line)}\n")
    run_id = queue(database, "line", {"a": "$(touch hit); touch hit; `touch hit`"})
    jobrunner.tick()
    assert status_of(database, run_id) == "succeeded"
    assert attempt_of(database, run_id)["output"] == 'x\n{"a":"$(touch hit); touch hit; `touch hit`"}'
    assert not list(app.folder.glob("**/hit"))


DAMAGED = {
    "an array": "[1]",
    "a lone surrogate": '{"a": "\\ud800"}',
    "NUL": '{"a": "\\u0000"}',
    "a number beyond every float": '{"a": 1e400}',
    "text": '"a"',
}


@pytest.mark.promise("P8", "P13")
def test_damaged_payload_of_a_command_does_not_stop_the_tick(jobrunner: Commands, app: App, database: Database) -> None:
    write_jobs(
        app, f"[jobs.odd]\ncommand = {array('/bin/true', '{payload.a}')}\n[jobs.fine]\ncommand = ['/bin/true']\n"
    )
    runs = {name: queue(database, "odd", {"a": "x"}, max_attempts=1) for name in DAMAGED}
    for name, run_id in runs.items():
        # PostgreSQL itself keeps some of them out.
        if database.name == "sqlite" or name in ("an array", "text"):
            database.execute("UPDATE job_runs SET payload = ? WHERE id = ?", [DAMAGED[name], run_id])
        else:
            database.execute("UPDATE job_runs SET payload = '[]' WHERE id = ?", [run_id])
    fine = queue(database, "fine", priority=-1)
    done = jobrunner.tick()
    assert done.stderr == ""
    assert status_of(database, fine) == "succeeded"
    assert {name: status_of(database, run_id) for name, run_id in runs.items()} == dict.fromkeys(DAMAGED, "dead")
