"""Every command works with any environment variables, and text that is not ASCII arrives unchanged."""

import os
import pty
from pathlib import Path

import pytest

from harness import App, Commands, Database, sqlite_only
from harness.commands import COMMAND
from harness.environments import COMMANDS, LETTERS, check_exit, check_exits, letters, run_in
from harness.processes import Patient
from harness.terminal import read_terminal

ERROR = f"ValueError: schlechte Größe {LETTERS}"
VARIABLES = {
    "LANG=C": {"LANG": "C"},
    "no locale": {"LANG": None},
    "LC_ALL=POSIX": {"LC_ALL": "POSIX"},
    "ASCII streams": {"PYTHONIOENCODING": "ascii"},
    "ASCII for everything": {"LC_ALL": "C", "PYTHONUTF8": "0"},
    "warnings are errors": {"PYTHONWARNINGS": "error", "PYTHONHASHSEED": "0"},
    "development": {"PYTHONDEVMODE": "1", "PYTHONINSPECT": "1"},
    "all kinds": {
        "PYTHONPATH": "/nonexistent",
        "PYTHONSTARTUP": "/nonexistent/startup.py",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONOPTIMIZE": "2",
        "PYTHONUNBUFFERED": "1",
    },
    "no folders": {"HOME": None, "TMPDIR": "/nonexistent", "PATH": None},
    "things that are not there": {"HOME": "/nonexistent", "TMPDIR": "/proc", "LC_ALL": "de_DE.ISO-8859-1"},
}


@pytest.mark.long(sample=1)
@pytest.mark.parametrize("env", VARIABLES.values(), ids=VARIABLES.keys())
def test_every_command_works_with_any_locale_variables(
    jobrunner: Commands, app: App, database: Database, env: dict[str, str | None]
) -> None:
    letters(app)
    ends = check_exits(jobrunner, env=env, commands=COMMANDS)
    (run,) = database.query("SELECT status, payload, last_error FROM job_runs")
    assert run == {"status": "dead", "payload": {"name": LETTERS}, "last_error": ERROR.partition(": ")[2]}
    assert database.value("SELECT output FROM job_attempts") == f"printed {LETTERS}\n"
    for column in ("count(*) = 1", "count(finished_at) = 1", "count(error) = 0"):
        assert database.value(f"SELECT {column} FROM job_ticks")
    assert ends["enqueue"].stdout == "1\n"
    assert ERROR in ends["status"].stdout
    for text in (LETTERS, f"printed {LETTERS}"):
        assert text in ends["show"].stdout


@sqlite_only
@pytest.mark.long(sample=1)
@pytest.mark.parametrize("name", ["LC_ALL=POSIX", "ASCII streams", "ASCII for everything"])
def test_a_terminal_that_knows_ascii_only(jobrunner: Commands, app: App, database: Database, name: str) -> None:
    letters(app)
    for command in ("enqueue", "tick"):
        check_exit(run_in(jobrunner, 'exec "$@"', *COMMANDS[command]), 0)
    for words in (["show", "1"], ["status"]):
        code, seen = on_a_terminal(jobrunner, words, VARIABLES[name])
        assert code == 0
        assert f"schlechte Größe {LETTERS}" in seen
    code, seen = on_a_terminal(jobrunner, ["enqueue", "Größe"], VARIABLES[name])
    assert (code, len(seen.splitlines())) == (2, 1)
    assert "Größe" in seen
    assert database.value("SELECT count(*) FROM job_runs") == 1


def on_a_terminal(jobrunner: Commands, words: list[str], env: dict[str, str | None]) -> tuple[int, str]:
    """Exit code and what a person saw."""
    ours, terminal = pty.openpty()
    command = Patient(
        [COMMAND, *words], env=jobrunner.environment(env), stdin=terminal, stdout=terminal, stderr=terminal
    )
    os.close(terminal)
    seen = read_terminal(ours)
    return command.wait(timeout=30), seen


def test_a_handler_prints_in_any_locale(jobrunner: Commands, app: App, database: Database) -> None:
    """Its run must not fail for a letter that the locale of cron lacks."""
    app.add("""
        @job("prints")
        def prints(ctx: Context):
            print("Zoë ☃", flush=True)
            print("\\udcff")
    """)
    jobrunner.enqueue("prints")
    jobrunner.tick(env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii:strict"})
    (attempt,) = database.query("SELECT outcome, output FROM job_attempts")
    assert attempt == {"outcome": "succeeded", "output": "Zoë ☃\n\\udcff\n"}


def test_a_file_with_letters_in_its_name_is_found_in_any_locale(jobrunner: Commands, tmp_path: Path) -> None:
    (tmp_path / "größe.json").write_text('{"name": "Zoë ☃"}')
    env = VARIABLES["ASCII for everything"] | {"JOBRUNNER_LOG": str(tmp_path / "protokoll-größe")}
    payload = ["--payload", f"@{tmp_path}/größe.json"]
    check_exit(run_in(jobrunner, 'exec "$@"', "enqueue", "echo", *payload, env=env), 0)
    check_exit(run_in(jobrunner, 'exec "$@"', "tick", env=env), 0)
    assert jobrunner.show(1)["result"] == {"name": LETTERS}
    assert (tmp_path / "protokoll-größe").read_text()


def test_a_current_folder_that_is_gone(jobrunner: Commands, app: App, database: Database) -> None:
    """A deploy replaces it while cron's shell stands in it."""
    letters(app)
    check_exits(jobrunner, 'mkdir gone && cd gone && rmdir ../gone && exec "$@"')
    assert database.value("SELECT status FROM job_runs") == "dead"


@sqlite_only
def test_modules_in_the_current_folder_shadow_no_import_of_a_tick(
    jobrunner: Commands, app: App, tmp_path: Path, database: Database
) -> None:
    """Beside test_cli_commands: modules of ours, of the standard library and of the application."""
    letters(app)
    folder = tmp_path / "here"
    folder.mkdir()
    for name in ("jobs", "jobrunner", "handlers", "zoneinfo", "tzdata", "json", "psycopg", "sitecustomize"):
        (folder / f"{name}.py").write_text("raise SystemExit('a stray module was imported')\n")
    check_exits(jobrunner, f'cd "{folder}" && exec "$@"')
    assert database.value("SELECT status FROM job_runs") == "dead"
