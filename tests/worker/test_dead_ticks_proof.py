"""What proves that a tick of this host is dead, and what leaves it in doubt."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from harness import wait_for
from harness.dead_ticks import change, note_of, started
from harness.processes import Patient, is_working
from jobrunner.children.process_groups import GroupFile, kill_leftovers
from jobrunner.model import Owner

NOBODY = 65534


def test_tick_is_not_proven_dead_while_one_of_its_processes_cannot_be_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = Patient(["sleep", "60"], env={"JOBRUNNER_TICK": "aa"}, start_new_session=True)
    file = GroupFile([tmp_path / "state"], Owner("here", "here:1:aa"), "aa")
    file.add(left.pid)
    note = note_of(tmp_path / "state")
    change(note, pid=2**22 + 1)
    text = note.read_text()
    monkeypatch.setattr("jobrunner.children.process_groups._GIVE_UP_SECONDS", 0.0)
    assert kill_leftovers([tmp_path / "state"]) == (0, [])
    monkeypatch.undo()
    note.write_text(text)
    killed, (dead,) = kill_leftovers([tmp_path / "state"])
    assert (killed, dead.mark) == (1, "aa")
    left.wait()


def test_tick_is_not_proven_dead_while_the_mark_of_a_process_of_its_group_cannot_be_read() -> None:
    """As of a command that runs sudo: it outlives its tick, and whoever runs ticks cannot end it."""
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder, "state")
        file = GroupFile([state], Owner("here", "here:1:aa"), "aa")
        with hidden_process() as pid:
            file.add(pid)
            note = note_of(state)
            change(note, pid=2**22 + 1)
            assert dead_ticks_seen_without_rights(Path(folder), state, note) == 0
            assert is_working(pid)


@contextmanager
def hidden_process() -> Iterator[int]:
    """A process with the mark of a tick whose environment only a superuser can read."""
    hide = "import ctypes, time; ctypes.CDLL(None).prctl(4, 0); print(flush=True); time.sleep(60)"
    command, environ = [sys.executable, "-S", "-c", hide], {"JOBRUNNER_TICK": "aa"}
    with Patient(command, env=environ, stdout=subprocess.PIPE, start_new_session=True) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield process.pid
        finally:
            process.kill()


def dead_ticks_seen_without_rights(*paths: Path) -> int:
    """How many ticks of the state folder, the second path, are dead for a user who is not root and owns the paths."""
    child = os.fork()
    if child == 0:
        with suppress(Exception):
            if os.getuid() == 0:
                for path in paths:
                    os.chown(path, NOBODY, NOBODY)
                os.setresuid(NOBODY, NOBODY, NOBODY)
            os._exit(len(kill_leftovers([paths[1]]).dead))
        os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_tick_that_has_ended_counts_as_dead_before_its_parent_has_asked_for_it(tmp_path: Path) -> None:
    """As in a container whose first process never asks."""
    ended = Patient(["true"])
    wait_for(lambda: not is_working(ended.pid), 10, "its end")
    GroupFile([tmp_path / "state"], Owner("here", "here:1:aa"), "aa")
    note = note_of(tmp_path / "state")
    change(note, pid=ended.pid, started=started(ended.pid))
    (dead,) = kill_leftovers([tmp_path / "state"]).dead
    assert (dead.owner, dead.mark) == (Owner("here", "here:1:aa"), "aa")
    ended.wait()
