"""The command line as a whole: help, version, `python -m`, its streams."""

import signal
import subprocess
from pathlib import Path

import pytest

import jobrunner as package
from harness import App, Commands, Database, sqlite_only, wait_for
from harness.calls import CALLS
from harness.commands import COMMAND
from harness.help_texts import listed_commands
from harness.processes import Patient
from jobrunner.cli.program import MODULES

pytestmark = sqlite_only

NO_DATABASE = {"JOBRUNNER_DATABASE_URL": "postgresql://127.0.0.1:1/none"}
PYTHON = Path(COMMAND).with_name("python")


@pytest.mark.parametrize("command", CALLS)
def test_every_command_has_help(jobrunner: Commands, command: str) -> None:
    done = jobrunner(*command.split(), "-h" if command == "tick" else "--help", env=NO_DATABASE)
    assert done.stderr == ""
    assert done.stdout.startswith(f"Usage: jobrunner {command} ")
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_help_of_the_whole_lists_every_command(jobrunner: Commands) -> None:
    listed = listed_commands(jobrunner("--help", env=NO_DATABASE).stdout)
    assert sorted(listed) == sorted({command.split()[0] for command in MODULES})


@pytest.mark.parametrize("words", [[], ["schedule"]], ids=str)
def test_no_command_at_all_shows_the_help(jobrunner: Commands, words: list[str]) -> None:
    done = jobrunner(*words, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("Usage: jobrunner")
    assert len(done.stderr.splitlines()) > 5


def test_version_option_prints_the_version(jobrunner: Commands) -> None:
    assert jobrunner("--version", env=NO_DATABASE).stdout == f"jobrunner {package.__version__}\n"


@pytest.mark.parametrize("words", [["no-such-command"], ["--no-such-option"], ["schedule", "nope"], ["retry"]], ids=str)
def test_wrong_usage_is_one_line_that_names_the_help(jobrunner: Commands, words: list[str]) -> None:
    assert "--help" in jobrunner.refused(2, *words, env=NO_DATABASE)


def test_python_m_is_the_same_command(jobrunner: Commands, database: Database) -> None:
    def module(*words: str) -> str:
        done = subprocess.run(
            [PYTHON, "-m", "jobrunner", *words],
            env=jobrunner.environment(),
            cwd=jobrunner.home,
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    assert module("--version") == f"jobrunner {package.__version__}\n"
    assert module("enqueue", "echo") == "1\n"
    assert module("tick") == ""
    assert database.value("SELECT status FROM job_runs") == "succeeded"
    assert module("--help") == jobrunner("--help").stdout


def shell(jobrunner: Commands, script: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", script.replace("jobrunner", COMMAND)],
        env=jobrunner.environment(env),
        cwd=jobrunner.home,
        capture_output=True,
        text=True,
    )


def test_closed_streams_are_no_error(jobrunner: Commands, database: Database) -> None:
    jobrunner.enqueue("echo")
    for script in (
        "jobrunner tick <&- >&- 2>&-",
        "jobrunner status >&-",
        "jobrunner status 2>&-",
        "jobrunner show 1 <&-",
    ):
        done = shell(jobrunner, script)
        assert (script, done.returncode, done.stderr) == (script, 0, "")
    assert database.value("SELECT status FROM job_runs") == "succeeded"


def test_a_full_disk_under_the_output_is_one_line(jobrunner: Commands) -> None:
    done = shell(jobrunner, "jobrunner status > /dev/full")
    assert done.returncode == 1
    assert done.stderr == "jobrunner: No space left on device\n"


def test_output_works_on_a_terminal_with_few_characters(jobrunner: Commands) -> None:
    run_id = jobrunner.enqueue("echo", {"name": "Zoë"})
    done = shell(jobrunner, f"jobrunner show {run_id}", PYTHONIOENCODING="iso8859-7")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Zo\\xeb" in done.stdout


@pytest.mark.parametrize("command", [[COMMAND], [str(PYTHON), "-m", "jobrunner"]], ids=["jobrunner", "python -m"])
def test_the_current_folder_is_not_on_the_import_path(jobrunner: Commands, tmp_path: Path, command: list[str]) -> None:
    """Neither ours nor the children's: cron starts in the home folder, where anything may lie about."""
    folder = tmp_path / "here"
    folder.mkdir()
    for name in ("click", "sqlalchemy", "structlog", "alembic", "getpass", "handlers_here", "cronsim"):
        (folder / f"{name}.py").write_text("raise SystemExit('a stray module was imported')\n")
    log = ["--log", str(tmp_path / "log")]
    schedule = ["schedule", "add", "n", "--type", "echo", "--cron", "@daily"]
    for words in (["migrate"], ["enqueue", "echo"], schedule, ["tick", *log], ["types"]):
        done = subprocess.run(
            [*command, *words], env=jobrunner.environment(), cwd=folder, capture_output=True, text=True
        )
        assert (words, done.returncode, done.stderr) == (words, 0, "")
    env = jobrunner.environment({"JOBRUNNER_IMPORT": "handlers_here"})
    done = subprocess.run([*command, "types"], env=env, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 78
    assert "No module named 'handlers_here'" in done.stderr


def test_an_interrupted_command_is_one_line(jobrunner: Commands, app: App) -> None:
    app.write(
        "handlers",
        """
        import os, time
        open(os.environ["TRACE_FILE"], "w").write("1 1 1\\n")
        time.sleep(300)
        """,
    )
    command = Patient(
        [COMMAND, "types"],
        env=jobrunner.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Whoever runs the tests in the background of a shell has it ignored, and hands that down.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    wait_for(app.trace, 30, "the handlers are being imported")
    command.send_signal(signal.SIGINT)
    stdout, stderr = command.communicate(timeout=30)
    assert (command.returncode, stdout, stderr) == (130, "", "\njobrunner: interrupted\n")
