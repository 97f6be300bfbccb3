"""`jobrunner completion SHELL`: the shells complete commands and options, without side effects."""

import contextlib
import itertools
import os
import pty
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from click.shell_completion import BashComplete

from harness import App, Commands, sqlite_only
from harness.calls import CALLS
from harness.commands import COMMAND
from harness.debian import one_at_a_time
from harness.waiting import stretched
from jobrunner.cli.program import cli, every_command

# Completing uses no database: one is enough.
pytestmark = sqlite_only

SHELLS = ["bash", "zsh", "fish"]
every_shell = pytest.mark.parametrize("shell", SHELLS)

# Whatever a process does to a database, a network or another process; written down by Python itself.
WATCH = """
import os, sys

def watch(event, details):
    if event in ("sqlite3.connect", "socket.connect", "subprocess.Popen", "os.posix_spawn", "os.fork", "os.exec"):
        line = os.open(os.environ["WATCHED"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(line, (event + "\\n").encode())
        os.close(line)

sys.addaudithook(watch)
"""


def protocol(shell: str, *words: str) -> dict[str, str]:
    """The environment in which the shell's script asks how the last word goes on."""
    if shell == "fish":
        return {"_JOBRUNNER_COMPLETE": "fish_complete", "COMP_WORDS": " ".join(words), "COMP_CWORD": words[-1]}
    place = str(len(words) - 1)
    return {"_JOBRUNNER_COMPLETE": f"{shell}_complete", "COMP_WORDS": " ".join(words), "COMP_CWORD": place}


def completed(jobrunner: Commands, shell: str, *words: str, **env: str) -> list[tuple[str, str]]:
    """Pairs of kind and word, as this shell's script reads them."""
    answer = jobrunner(env={**protocol(shell, *words), **env}).stdout
    if shell == "zsh":
        lines = answer.splitlines()
        return list(zip(lines[::3], lines[1::3], strict=False))
    if shell == "fish":
        pairs = [line.partition(",")[::2] for line in answer.splitlines() if line.startswith(("plain,", "file,"))]
        if not pairs:  # newer versions of click write three lines for each
            lines = answer.splitlines()
            pairs = list(zip(lines[::3], lines[1::3], strict=False))
        return [(kind, word.split("\t")[0]) for kind, word in pairs]
    return [(kind, word) for kind, _, word in (line.partition(",") for line in answer.splitlines())]


@every_shell
@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["stat"], {"status"}),
        (["schedule", "re"], {"remove"}),
        (["tick", "--b"], {"--budget", "--batch"}),
        (["enqueue", "--pa"], {"--payload"}),
        (["completion", ""], set(SHELLS)),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_commands_and_options_are_completed(
    jobrunner: Commands, shell: str, words: list[str], wanted: set[str]
) -> None:
    found = completed(jobrunner, shell, "jobrunner", *words)
    assert {word for kind, word in found if kind == "plain"} >= wanted
    assert all(word.startswith(words[-1]) for _, word in found)


@pytest.mark.usefixtures("database")
def test_every_command_and_each_of_its_options_is_completed() -> None:
    shell = BashComplete(cli, {}, "jobrunner", "_JOBRUNNER_COMPLETE")
    for command, parts in ((command, command.split()) for command in CALLS):
        assert parts[-1] in {each.value for each in shell.get_completions(parts[:-1], parts[-1][:2])}, command
        found = {each.value for each in shell.get_completions(parts, "--")}
        options = {name for option in every_command()[command].params for name in option.opts if name[:2] == "--"}
        assert options <= found, command


@every_shell
def test_completion_of_a_path_is_left_to_the_shell(jobrunner: Commands, shell: str) -> None:
    assert [kind for kind, _ in completed(jobrunner, shell, "jobrunner", "tick", "--log", "x")] == ["file"]


def script(jobrunner: Commands, shell: str, tmp_path: Path) -> Path:
    """The printed script, in a file that the shell can read."""
    printed = jobrunner("completion", shell)
    assert printed.stderr == ""
    file = tmp_path / f"completion.{shell}"
    file.write_text(printed.stdout)
    return file


def shell_environment(jobrunner: Commands) -> dict[str, str]:
    env = jobrunner.environment({"TERM": "dumb", "PS1": "$ "})
    return {**env, "PATH": f"{Path(COMMAND).parent}:{env['PATH']}"}


def program(shell: str) -> str:
    """The real shell; Debian's package where this is a bare machine and root may install it."""
    with one_at_a_time():
        if shutil.which(shell) is None and os.geteuid() == 0 and shutil.which("apt-get"):
            for step in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", shell]):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    command = ["apt-get", "-o", "DPkg::Lock::Timeout=60", *step]
                    subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=stretched(120))
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed, and could not be: apt-get install {shell}")
    return found


def type_into(command: list[str], env: dict[str, str], cwd: Path, keys: str, until: str) -> str:
    """Type keys into a program on a terminal of its own; what it showed until the awaited words came."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.execve(command[0], command, env)
    shown = ""
    try:
        deadline = time.monotonic() + stretched(30)
        sent = False
        while until not in shown:
            ready, _, _ = select.select([terminal], [], [], deadline - time.monotonic())
            assert ready, f"{until!r} was not shown:\n{shown}"
            shown += os.read(terminal, 65536).decode(errors="replace")
            if not sent and "READY" in shown:
                os.write(terminal, keys.encode())
                sent = True
        return shown
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)


@pytest.mark.timeout(500)
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_the_tab_key_completes_in_the_real_shell(jobrunner: Commands, shell: str, tmp_path: Path) -> None:
    """Typed on a terminal: three words are begun and completed, and the line that comes of it is run."""
    file = script(jobrunner, shell, tmp_path)
    found = program(shell)
    if shell == "bash":
        start = tmp_path / "bashrc"
        start.write_text(f"source '{file}'\nPS1='READ''Y '\n")
        command = [found, "--noprofile", "--rcfile", str(start), "-i"]
        env = shell_environment(jobrunner)
    else:
        (tmp_path / ".zshrc").write_text(
            f"autoload -Uz compinit\ncompinit -D -u\nsource '{file}'\nPS1='READ''Y '\nunsetopt zle_bracketed_paste\n"
        )
        command = [found, "-i"]
        env = {**shell_environment(jobrunner), "ZDOTDIR": str(tmp_path), "TERM": "vt100"}
    shown = type_into(command, env, tmp_path, "jobrunner sched\tremo\t--he\t\r", "Options:")
    assert "Usage: jobrunner schedule remove" in shown


@pytest.mark.timeout(500)
def test_fish_completes_from_the_file_that_the_help_names(jobrunner: Commands, tmp_path: Path) -> None:
    folder = jobrunner.home / ".config" / "fish" / "completions"
    folder.mkdir(parents=True)
    shutil.copy(script(jobrunner, "fish", tmp_path), folder / "jobrunner.fish")

    def complete(line: str) -> list[str]:
        command = [program("fish"), "-c", f"complete --do-complete '{line}'"]
        done = subprocess.run(command, env=shell_environment(jobrunner), cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        return [line.split("\t")[0] for line in done.stdout.splitlines()]

    assert complete("jobrunner sched") == ["schedule"]
    assert complete("jobrunner schedule remo") == ["remove"]
    assert set(complete("jobrunner tick --b")) == {"--budget", "--batch"}


def test_completing_starts_no_process_and_opens_a_database_only_for_names(
    jobrunner: Commands, app: App, tmp_path: Path
) -> None:
    jobrunner("schedule", "add", "nightly", "--type", "report", "--cron", "@daily", "--allow-unknown")
    (tmp_path / "sitecustomize.py").write_text(WATCH)
    watched = tmp_path / "watched"
    env = {"PYTHONPATH": str(tmp_path), "WATCHED": str(watched)}
    missing = {"JOBRUNNER_DATABASE_URL": f"sqlite:///{tmp_path}/missing.db"}
    asked = [["st"], ["enqueue", "echo", "--"], ["show", ""], ["completion", ""]]
    names = {"enqueue r": "report", "history --type ": "report", "schedule remove ni": "nightly"}
    for shell in SHELLS:
        assert jobrunner("completion", shell, env=env).stderr == ""
    # How the words go on does not depend on the shell that asks.
    for shell, words in zip(itertools.cycle(SHELLS), asked, strict=False):
        completed(jobrunner, shell, "jobrunner", *words, **env)
    for shell, line in zip(SHELLS, names, strict=True):
        assert completed(jobrunner, shell, "jobrunner", *line.split(" "), **env, **missing) in ([], [("", "")])
    assert not watched.exists(), watched.read_text()
    assert not (tmp_path / "missing.db").exists()
    for shell, (line, name) in zip(SHELLS, names.items(), strict=True):
        assert completed(jobrunner, shell, "jobrunner", *line.split(" "), **env) == [("plain", name)]
    assert set(watched.read_text().split()) == {"sqlite3.connect"}
    # The watch itself works.
    jobrunner("enqueue", "echo", env=env)
    assert {"sqlite3.connect", "subprocess.Popen"} <= set(watched.read_text().split())


@pytest.mark.parametrize("words", [["tcsh"], ["powershell"], [""], [], ["bash", "zsh"], ["bash\nzsh"]])
def test_an_unknown_shell_is_refused_in_one_line(jobrunner: Commands, words: list[str]) -> None:
    jobrunner.refused(2, "completion", *words)


@every_shell
def test_the_script_needs_no_shell_here_and_no_database(jobrunner: Commands, shell: str, tmp_path: Path) -> None:
    """It may be printed on another machine, say, into a package or an image."""
    env = {"PATH": str(tmp_path), "JOBRUNNER_DATABASE_URL": "nonsense"}
    printed = jobrunner("completion", shell, env=env)
    assert "_JOBRUNNER_COMPLETE" in printed.stdout
    assert printed.stderr == ""
    assert printed.stdout == jobrunner("completion", shell).stdout
