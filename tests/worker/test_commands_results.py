"""The outcome of a command by its exit status, and the part of its output that is kept."""

from datetime import timedelta

import pytest

from harness import App, Commands, Database, wait_for
from harness.command_jobs import array, python, quoted, shell, write_jobs
from harness.handlers_rows import attempt_of, queue, run_of, status_of, wait_until_running

# Exit status, further keys, and how the run ends.
ENDS = {
    "zero": (0, "", "succeeded"),
    "one": (1, "", "failed"),
    "last": (255, "", "failed"),
    "other_success": (3, "success_codes = [0, 3]", "succeeded"),
    "zero_no_success": (0, "success_codes = [3]", "failed"),
    "discard": (4, "discard_codes = [4, 5]", "dead"),
    "not_discard": (6, "discard_codes = [4, 5]", "failed"),
    "retry": (75, "retry_codes = [75]", "failed"),
    "not_retry": (1, "retry_codes = [75]", "dead"),
    "no_retry": (1, "retry_codes = []", "dead"),
    "success_beside_retry": (0, "retry_codes = [75]", "succeeded"),
    "its_own_127": (127, "success_codes = [127]", "succeeded"),
}


@pytest.mark.promise("P12")
def test_exit_codes_of_commands_give_these_outcomes(jobrunner: Commands, app: App, database: Database) -> None:
    jobs = [
        f"[jobs.{name}]\ncommand = {shell(f'echo first; echo said by {name} >&2; exit {code}')}\n{keys}\n"
        for name, (code, keys, _) in ENDS.items()
    ]
    write_jobs(app, "".join(jobs))
    runs = {name: queue(database, name) for name in ENDS}
    jobrunner.tick()
    assert {name: status_of(database, run_id) for name, run_id in runs.items()} == {
        name: end for name, (_, _, end) in ENDS.items()
    }
    for name, (code, _, end) in ENDS.items():
        run, attempt = run_of(database, runs[name]), attempt_of(database, runs[name])
        error = None if end == "succeeded" else f"exit status {code}: said by {name}"
        assert (run["last_error"], attempt["error"]) == (error, error)
        assert run["error_type"] == (error and "exit_status")
        assert attempt["output"] == f"first\nsaid by {name}\n"
        assert attempt["outcome"] == {"dead": "discarded"}.get(end, end)


SIGNALS = {
    "segfault": ("kill -SEGV $$", 11, "the command was killed by SIGSEGV"),
    "killed": ("kill -KILL $$", 9, "the command was killed by SIGKILL (out of memory?)"),
    "terminated": ("kill -TERM $$", 15, "the command was killed by SIGTERM"),
    "own_alarm": ("kill -ALRM $$", 14, "the command was killed by SIGALRM"),
    "pipe": ("kill -PIPE $$", 13, "the command was killed by SIGPIPE"),
    "real_time": ("kill -40 $$", 40, "the command was killed by"),
}


@pytest.mark.promise("P8", "P12")
def test_command_ended_by_a_signal_is_retried(jobrunner: Commands, app: App, database: Database) -> None:
    write_jobs(app, "".join(f"[jobs.{name}]\ncommand = {shell(row[0])}\n" for name, row in SIGNALS.items()))
    runs = {name: queue(database, name) for name in SIGNALS}
    jobrunner.tick()
    for name, (_, number, error) in SIGNALS.items():
        run, attempt = run_of(database, runs[name]), attempt_of(database, runs[name])
        assert (run["status"], attempt["outcome"], attempt["exit_signal"]) == ("failed", "crashed", number), name
        assert run["last_error"].startswith(error), name


def test_command_attempts_and_backoff_come_from_the_configuration_file(
    jobrunner: Commands, app: App, database: Database
) -> None:
    write_jobs(
        app,
        """
        [jobs.twice]
        command = ["/bin/false"]
        max_attempts = 2
        backoff = { fixed = "7m", jitter = 0 }
        """,
    )
    run_id = queue(database, "twice")
    jobrunner.tick()
    run = run_of(database, run_id)
    assert (run["status"], run["attempts"], run["last_error"]) == ("failed", 1, "exit status 1")
    assert timedelta(minutes=6) < run["run_at"] - run["failed_at"] < timedelta(minutes=8)
    database.execute("UPDATE job_runs SET run_at = ? WHERE id = ?", [database.now(), run_id])
    jobrunner.tick()
    assert (status_of(database, run_id), run_of(database, run_id)["attempts"]) == ("dead", 2)


WRITERS = {
    "flood": python(
        "import sys\nline = b'x' * 1023 + b'\\n'\n"
        "for _ in range(50 * 1024): sys.stdout.buffer.write(line)\n"
        "sys.stdout.flush()\nsys.exit('the end of the flood')"
    ),
    "binary": python(
        "import os\nos.write(1, bytes(range(256)) * 3 + b'\\nlast \\xff\\x00 line\\n')\nraise SystemExit(1)"
    ),
    "escapes": shell(r"printf '\033[2J\033]0;owned\007\r\n\233fine\r\nlast\033[31m\r\n'; exit 1"),
    "no_newline": shell("printf 'no newline'; exit 1"),
    "blank_lines": shell(r"printf 'told\n \n\n'; exit 1"),
    "long_line": python("import sys; print('a' * 100_000); sys.exit(1)"),
    "silent": shell("exit 1"),
    "closed": shell("exec >&- 2>&-; exit 1"),
}
LAST = {"flood": "the end of the flood", "no_newline": "no newline", "blank_lines": "told"}


@pytest.mark.promise("P8", "P14")
def test_end_of_the_output_of_a_command_is_kept(jobrunner: Commands, app: App, database: Database) -> None:
    write_jobs(app, "".join(f"[jobs.{name}]\ncommand = {command}\n" for name, command in WRITERS.items()))
    runs = {name: queue(database, name) for name in WRITERS}
    assert jobrunner.tick().stderr == ""
    attempts = {name: attempt_of(database, run_id) for name, run_id in runs.items()}
    assert {attempt["outcome"] for attempt in attempts.values()} == {"failed"}
    for name, last in LAST.items():
        assert attempts[name]["error"] == f"exit status 1: {last}"
        assert run_of(database, runs[name])["last_error"] == f"exit status 1: {last}"
    assert attempts["flood"]["output"].endswith("x\nthe end of the flood\n")
    assert 10_000 < len(attempts["flood"]["output"]) <= 16 * 1024
    assert "ABC" in attempts["binary"]["output"]
    assert "last" in attempts["binary"]["error"]
    assert len(attempts["long_line"]["error"]) <= 500
    for name in ("silent", "closed"):
        assert (attempts[name]["error"], attempts[name]["output"]) == ("exit status 1", None)
    for words in (["show", runs["escapes"]], ["show", runs["binary"]], ["status"]):
        shown = jobrunner(*words).stdout
        assert not set(shown) & {"\x1b", "\x07", "\r", "\x9b", "\x00"}, words
        assert "last" in shown, words


def test_output_is_shown_while_the_command_runs(jobrunner: Commands, app: App, database: Database) -> None:
    write_jobs(
        app, f"[jobs.talks]\ncommand = {shell('echo half done; until [ -e go ]; do sleep 0.1; done; echo all done')}\n"
    )
    run_id = queue(database, "talks")
    tick = jobrunner.start("tick", env={"JOBRUNNER_HEARTBEAT": "0.3"})
    wait_until_running(database, run_id)
    wait_for(lambda: "half done" in jobrunner("show", run_id).stdout, 20)
    assert "all done" not in jobrunner("show", run_id).stdout
    app.end(tick, "go")
    assert attempt_of(database, run_id)["output"] == "half done\nall done\n"
    assert run_of(database, run_id)["output"] is None


@pytest.mark.promise("P8")
def test_a_launcher_that_fails_is_not_taken_for_the_program(jobrunner: Commands, app: App, database: Database) -> None:
    # The loader ends whatever is started here with status 127, which this program is said to succeed with.
    broken = app.path("broken")
    broken.mkdir()
    (broken / "libc.so.6").write_bytes(b"no library")
    (broken / "libm.so.6").write_bytes(b"no library")
    write_jobs(
        app,
        f"""
        [jobs.never]
        command = {shell("echo began; exit 127")}
        success_codes = [0, 1, 127]
        env = {{ LD_LIBRARY_PATH = {quoted(str(broken))} }}
        """,
    )
    run_id = queue(database, "never")
    assert jobrunner.tick().returncode == 0
    run = run_of(database, run_id)
    assert (run["status"], run["error_type"]) == ("failed", "not_started")
    assert "launcher" in run["last_error"]
    assert "began" not in attempt_of(database, run_id)["output"]


def test_command_that_cannot_be_started_is_reported_and_retried(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.path("plain.sh").write_text("echo hello\n")
    app.path("text").write_text("text")
    app.path("plain.sh").chmod(0o755)
    app.path("interpreterless").write_text("#!/no/such/interpreter\n")
    app.path("interpreterless").chmod(0o755)
    rows = {
        "missing": (array("no-such-program"), "", "no-such-program cannot be started: No such file or directory"),
        "missing_path": (array("./none"), "", "./none cannot be started: No such file or directory"),
        "not_executable": (array("./text"), "", "./text cannot be started: Permission denied"),
        "folder": (array("/tmp"), "", "/tmp cannot be started: Permission denied"),
        "no_script": (array("./plain.sh"), "", "./plain.sh cannot be started: Exec format error"),
        "no_interpreter": (
            array("./interpreterless"),
            "",
            "No such file or directory (the program that its first line names",
        ),
        "no_folder": (array("/bin/true"), 'cwd = "gone"', "gone cannot be entered: No such file or directory"),
        "folder_is_file": (array("/bin/true"), 'cwd = "text"', "text cannot be entered: Not a directory"),
        "odd_name": (array("/none/\u2603\n"), "", "cannot be started"),
    }
    write_jobs(app, "".join(f"[jobs.{name}]\ncommand = {row[0]}\n{row[1]}\n" for name, row in rows.items()))
    runs = {name: queue(database, name) for name in rows}
    assert jobrunner.tick().returncode == 0
    for name, (_, _, told) in rows.items():
        run = run_of(database, runs[name])
        assert (run["status"], run["error_type"], run["attempts"]) == ("failed", "not_started", 1), name
        assert told in run["last_error"], name
    assert "PATH is /usr/local/bin:/usr/bin:/bin" in run_of(database, runs["missing"])["last_error"]
    assert run_of(database, runs["no_script"])["last_error"].endswith("(is its first line #!/bin/sh or the like?)")
