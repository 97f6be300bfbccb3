"""Runs commands in unusual environments, such as those of cron or a container."""

import os
import subprocess
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import pytest

from harness import App, Commands, Database
from harness.commands import COMMAND, Completed, describe
from harness.long import some
from harness.processes import Patient

LETTERS = "Zoë ☃"
COMMANDS = {
    "migrate": ["migrate"],
    "enqueue": ["enqueue", "letters", "--payload", f'{{"name": "{LETTERS}"}}', "--max-attempts", "1"],
    "tick": ["tick"],
    "status": ["status"],
    "show": ["show", "1"],
    "schedule list": ["schedule", "list"],
    "types": ["types"],
}
# They change nothing that another one needs.
_READING = ["status", "show", "schedule list", "types"]
NEEDS_A_DATABASE = [name for name in COMMANDS if name != "types"]
NEEDS_A_CHILD = ["enqueue", "tick", "types"]
NO_URL = {"JOBRUNNER_DATABASE_URL": None}
NOBODY = 61_234
"""A user id that no password database knows."""


def all_exit(code: int, commands: Iterable[str]) -> dict[str, int]:
    return dict.fromkeys(commands, code)


def letters(app: App) -> None:
    """A handler whose payload, output and error are not in ASCII."""
    app.add("""
        @job("letters")
        def letters(ctx: Context, name: str):
            print("printed", name)
            raise ValueError(f"schlechte Größe {name}")
    """)


def run_in(
    jobrunner: Commands,
    surroundings: str,
    *words: str,
    env: Mapping[str, str | None] | None = None,
    cwd: Path | None = None,
) -> Completed:
    """Run a command by a line of shell, in which "$@" is the command."""
    process = Patient(
        ["sh", "-c", surroundings, "sh", COMMAND, *words],
        env=jobrunner.environment(env),
        cwd=cwd or jobrunner.home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        stdout, stderr = process.communicate(timeout=60)
    finally:
        process.kill()
    # Not by the locale of whoever runs the tests: what is printed is UTF-8 or less.
    done = Completed([COMMAND, *words], process.returncode, stdout.decode(), stderr.decode())
    jobrunner.history.append(done)
    return done


def check_exit(done: Completed, code: int) -> None:
    """Check the exit code, and that stderr has one line for an error and none otherwise."""
    assert done.returncode == code, describe(done)
    lines = done.stderr.splitlines()
    assert len(lines) == (1 if code else 0), describe(done)
    assert all(line.startswith("jobrunner: ") and len(line) > 25 for line in lines), describe(done)


def drawn_commands() -> dict[str, list[str]]:
    """Those that this test starts in this run: a start costs ten times what a command does, and these are many."""
    reading = some(os.environ["PYTEST_CURRENT_TEST"], _READING, 1)
    return {name: words for name, words in COMMANDS.items() if name in reading or name not in _READING}


def check_exits(
    jobrunner: Commands,
    surroundings: str = 'exec "$@"',
    env: Mapping[str, str | None] | None = None,
    codes: Mapping[str, int] | None = None,
    *,
    commands: Mapping[str, list[str]] | None = None,
) -> dict[str, Completed]:
    """Run the commands, or those that are drawn; those that `codes` does not name must succeed."""
    ends = {}
    for name, words in (drawn_commands() if commands is None else commands).items():
        ends[name] = run_in(jobrunner, surroundings, *words, env=env)
        check_exit(ends[name], (codes or {}).get(name, 0))
    return ends


def with_mounts(script: str) -> str:
    """A line of shell that runs the command with the mounts of `script`, which only the command sees."""
    unshare = unshared("--mount") if os.geteuid() == 0 else unshared("--user", "--map-root-user", "--mount")
    return f'exec {unshare} sh -c \'{script} && exec "$@"\' sh "$@"'


def read_only(*folders: Path) -> str:
    """A line of shell that runs the command where these folders are a read-only file system."""
    return with_mounts(" && ".join(f'mount --bind "{it}" "{it}" && mount -o remount,bind,ro "{it}"' for it in folders))


def with_home(home: Path, script: str = "true") -> str:
    """A line of shell that runs the command where the password database names this home folder, for NOBODY too."""
    passwd = home.parent / "passwd"
    users = {os.geteuid(), 0, NOBODY}
    passwd.write_text("".join(f"user{uid}:x:{uid}:{uid}::{home}:/bin/sh\n" for uid in users))
    return with_mounts(f'mount --bind "{passwd}" /etc/passwd && {script}')


def as_nobody() -> str:
    """The words that run a command as a user who is in no password database, and whom permissions hold.

    In a user namespace, where it owns the files of whoever runs the tests: those may be hidden from others.
    """
    return unshared("--user", f"--map-user={NOBODY}", f"--map-group={NOBODY}")


@cache
def unshared(*words: str) -> str:
    done = subprocess.run(["unshare", *words, "true"], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.fail(
            f"this test needs `unshare {' '.join(words)}`: {done.stderr.strip()}; run it as root, or allow user"
            " namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns=0)",
            pytrace=False,
        )
    return " ".join(["unshare", *words])


def tree(folder: Path) -> list[str]:
    """The paths of all that lies in a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def nothing_is_lost(jobrunner: Commands, database: Database, enqueued: int) -> None:
    """Every run that was enqueued is there, and ends once the limit is gone."""
    assert database.value("SELECT count(*) FROM job_runs") == enqueued
    assert database.value("SELECT count(*) FROM job_runs WHERE status NOT IN ('queued', 'dead')") == 0
    jobrunner.tick()
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'dead'") == enqueued
