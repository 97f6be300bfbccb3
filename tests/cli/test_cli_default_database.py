"""The embedded database: created at first use, private, and the same wherever the command is started."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from harness import App, Commands, sqlite_only, wait_for
from harness.calls import WITH_A_SCHEMA
from harness.commands import COMMAND
from harness.processes import Patient
from harness.warm import WarmProcess

pytestmark = sqlite_only

PYTHON = Path(COMMAND).with_name("python")
MAIN = "from jobrunner.cli import main\nmain()"


class Home:
    """A home folder for the password database, in the installed command's own process.

    The command asks the password database, not HOME: Python's start-up hook gives that another answer here, so
    that no test touches the home folder of whoever runs it.
    """

    def __init__(self, jobrunner: Commands, folder: Path) -> None:
        self.jobrunner = jobrunner
        self.folder = folder / "real home"
        self.folder.mkdir()
        self.file = self.folder / ".local" / "share" / "jobrunner" / "jobrunner.db"
        hook = folder / "hook"
        hook.mkdir()
        self.start_up = (
            "import pwd\nfound = pwd.getpwuid\n"
            f"pwd.getpwuid = lambda uid: pwd.struct_passwd((*found(uid)[:5], {str(self.folder)!r}, found(uid)[6]))\n"
        )
        (hook / "sitecustomize.py").write_text(self.start_up)
        self.hook = str(hook)

    def start(self, *words: str, cwd: Path | None = None, **env: str) -> "subprocess.Popen[str]":
        return Patient(
            [COMMAND, *words],
            env=self.jobrunner.environment({"JOBRUNNER_DATABASE_URL": None, "PYTHONPATH": self.hook, **env}),
            cwd=cwd or self.jobrunner.home,
            umask=0,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run_warm(self, *words: str) -> tuple[int, str, str]:
        """The command as the warm starter's: as quick as ten of the installed ones. Its umask is another one."""
        process = WarmProcess(
            [sys.executable, "-c", f"{self.start_up}import sys\nsys.argv[0] = 'jobrunner'\n{MAIN}", *words],
            env=self.jobrunner.environment({"JOBRUNNER_DATABASE_URL": None}),
            cwd=self.jobrunner.home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        stdout, stderr = process.communicate(timeout=60)
        return process.returncode, stdout, stderr

    def run(self, *words: str, cwd: Path | None = None, **env: str) -> tuple[int, str, str]:
        process = self.start(*words, cwd=cwd, **env)
        stdout, stderr = process.communicate(timeout=60)
        return process.returncode, stdout, stderr


@pytest.fixture
def home(jobrunner: Commands, tmp_path: Path) -> Home:
    return Home(jobrunner, tmp_path)


def mode(path: Path) -> str:
    return oct(stat.S_IMODE(path.stat().st_mode))


def test_default_database_is_created_private_and_reported(home: Home) -> None:
    code, stdout, stderr = home.run("enqueue", "echo")
    assert (code, stdout, stderr) == (0, "1\n", f"jobrunner: created the database {home.file}\n")
    assert (mode(home.file), mode(home.file.parent)) == ("0o600", "0o700")
    assert [path.name for path in home.file.parent.iterdir()] == ["jobrunner.db"]
    assert home.run("tick") == (0, "", "")


# These make what does not exist yet; every other command is given a database.
CREATING = ("tick", "enqueue", "run", "schedule add", "apply")


def test_no_other_command_creates_the_default_database(home: Home) -> None:
    """A person who looks with the wrong user or without the env file must not be shown an empty database."""
    tried = [words for words in WITH_A_SCHEMA if not " ".join(words).startswith(CREATING)]
    tried += [["apply", "--dry-run"]]
    assert len(tried) > 15
    # The first as the installed command: that the others are the same to it, test_warm.py says.
    for words, run in zip(tried, [home.run] + [home.run_warm] * len(tried), strict=False):
        code, stdout, stderr = run(*words)
        assert (words, code, stdout) == (words, 69, "")
        assert stderr == f"jobrunner: there is no database at {home.file}; create it with: jobrunner migrate\n"
    code, stdout, _ = home.run("doctor", "--no-crontab")
    assert (code, f"there is no database at {home.file}" in stdout) == (1, True)
    assert not home.file.parent.exists()


def test_the_files_beside_the_default_database_are_private_too(home: Home, app: App) -> None:
    assert home.run("enqueue", "wait_for", "--payload", f'{{"path": "{app.path("go")}"}}')[0] == 0
    tick = home.start("tick")
    wait_for(app.trace, 30, "the handler is at work")
    modes = {path.name: mode(path) for path in home.file.parent.iterdir()}
    app.release("go")
    tick.communicate(timeout=30)
    assert modes == dict.fromkeys(["jobrunner.db", "jobrunner.db-wal", "jobrunner.db-shm"], "0o600")


def test_the_default_database_is_the_same_wherever_the_command_is_started(home: Home, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "jobrunner.db").write_text("not this one")
    environments = [
        {},
        {"HOME": str(elsewhere), "USER": "somebody", "LOGNAME": "somebody"},
        {"HOME": ""},
        {"XDG_DATA_HOME": str(elsewhere), "XDG_CONFIG_HOME": str(elsewhere), "TMPDIR": str(elsewhere)},
        {"DATABASE_URL": "", "JOBRUNNER_DATABASE_URL": " "},
    ]
    for number, environment in enumerate(environments, 1):
        code, stdout, _ = home.run("enqueue", "echo", cwd=elsewhere if number % 2 else None, **environment)
        assert (code, stdout) == (0, f"{number}\n")
    found = [path for path in tmp_path.rglob("jobrunner.db") if path.parent != elsewhere and path.parent != tmp_path]
    assert found == [home.file]
    assert [path.name for path in elsewhere.iterdir()] == ["jobrunner.db"]


def test_default_database_file_depends_on_the_user_only(jobrunner: Commands, tmp_path: Path) -> None:
    """Without the hook: this asks only for the name."""
    script = "from jobrunner.settings.config import default_database_file; print(default_database_file())"
    answers = set()
    for env in ({}, {"HOME": str(tmp_path)}, {"XDG_DATA_HOME": str(tmp_path)}, {"HOME": None}):
        environment = jobrunner.environment(env)
        command = [PYTHON, "-c", script]
        answers.add(subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True).stdout)
    (answer,) = answers
    assert str(tmp_path) not in answer
    assert answer.endswith("/.local/share/jobrunner/jobrunner.db\n")


@pytest.mark.long(sample=1)
@pytest.mark.parametrize("round_", [1, 2, 3])
def test_eight_first_commands_at_once_make_one_database(home: Home, round_: int) -> None:
    """In three rounds: whether they meet at the very moment is up to the machine."""
    started = [home.start("enqueue", "echo", "--allow-unknown") for _ in range(8)]
    ends = [process.communicate(timeout=60) for process in started]
    assert [process.returncode for process in started] == [0] * 8, ends
    assert sorted(int(stdout) for stdout, _ in ends) == list(range(1, 9))
    assert sorted(stderr for _, stderr in ends) == [""] * 7 + [f"jobrunner: created the database {home.file}\n"]
    # Connections that close at the same instant leave the write-ahead log to the next one: each sees another at work.
    assert home.run("enqueue", "echo", "--allow-unknown") == (0, "9\n", "")
    assert [path.name for path in home.file.parent.iterdir()] == ["jobrunner.db"]
    assert mode(home.file) == "0o600"


def test_a_user_without_a_home_is_told_what_to_set(home: Home) -> None:
    Path(home.hook, "sitecustomize.py").write_text(
        "import pwd\n\ndef nobody(uid):\n    raise KeyError(uid)\n\npwd.getpwuid = nobody\n"
    )
    code, stdout, stderr = home.run("status")
    assert (code, stdout, len(stderr.splitlines())) == (78, "", 1)
    assert "JOBRUNNER_DATABASE_URL" in stderr
