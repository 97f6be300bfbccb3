"""Limits that a shell, a unit file or a container sets: descriptors and processes."""

import os

import pytest

from harness import App, Commands, Database
from harness.commands import describe
from harness.environments import (
    COMMANDS,
    NEEDS_A_CHILD,
    all_exit,
    check_exit,
    check_exits,
    drawn_commands,
    letters,
    nothing_is_lost,
    run_in,
)


def test_commands_work_or_report_too_few_file_descriptors(jobrunner: Commands, app: App, database: Database) -> None:
    """Enough for a database, not for a child beside it."""
    letters(app)
    jobrunner(*COMMANDS["enqueue"])
    ends = check_exits(jobrunner, 'ulimit -n 12 && exec "$@"', codes=all_exit(78, NEEDS_A_CHILD))
    for name in ends.keys() & NEEDS_A_CHILD:
        assert "Too many open files" in ends[name].stderr
    nothing_is_lost(jobrunner, database, 1)


def test_commands_with_almost_no_file_descriptors_end_in_one_line(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """What it is that cannot be opened depends on the system's libraries; that it ends in one line does not."""
    letters(app)
    jobrunner(*COMMANDS["enqueue"])
    for words in drawn_commands().values():
        done = run_in(jobrunner, 'ulimit -n 6 && exec "$@"', *words)
        assert done.returncode in (0, 1, 69, 78), describe(done)
        check_exit(done, done.returncode)
    nothing_is_lost(jobrunner, database, 1)


def few_processes(limit: int) -> str:
    """A line of shell that runs the command as a user who may have so many processes and threads."""
    prlimit = f"exec prlimit --nproc={limit}"
    if os.geteuid() != 0:
        return f'{prlimit} "$@"'
    # The limit does not hold for root. The one capability stands for owning the files of the test.
    capable = "--inh-caps=+dac_override --ambient-caps=+dac_override"
    user = 100_000 + os.getpid()  # not shared with the same test in another worker
    return f'{prlimit} setpriv --reuid={user} --regid={user} --clear-groups {capable} "$@"'


@pytest.mark.long(sample=1)
@pytest.mark.parametrize(("limit", "fails"), [(1, NEEDS_A_CHILD), (2, ["tick"]), (3, ["tick"])])
def test_commands_work_or_report_too_few_processes(
    jobrunner: Commands, app: App, database: Database, limit: int, fails: list[str]
) -> None:
    """1: no thread and no child; 2: the watch but no heartbeat; 3: both threads of a tick, but no child beside."""
    if os.geteuid() != 0:
        fails = NEEDS_A_CHILD  # who runs the tests has more processes already
    letters(app)
    jobrunner(*COMMANDS["enqueue"])
    env = {"JOBRUNNER_STATE_DIR": str(jobrunner.home / "state of that user")}
    check_exits(jobrunner, few_processes(limit), env, codes=all_exit(78, fails))
    nothing_is_lost(jobrunner, database, 1 if "enqueue" in fails else 2)
