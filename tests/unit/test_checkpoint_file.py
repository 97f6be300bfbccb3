"""The file by which a command keeps a checkpoint, as its tick makes, reads and removes it."""

import os
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from jobrunner.children.begun_page import BegunPage
from jobrunner.children.checkpoint_file import CheckpointFile, folders_beside, remove
from jobrunner.errors import BadPayload
from jobrunner.jobs.commands import Command
from jobrunner.lifecycle import Outcome
from jobrunner.model import ClaimedRun, Lease, Policy
from jobrunner.settings.config import load
from jobrunner.worker.hand import Hand
from jobrunner.worker.pools.commands import CommandPool


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    return folders_beside(tmp_path / "tick-7-abc.json")


def test_file_holds_the_last_value_and_what_is_written_is_read_once(folders: Path) -> None:
    place = CheckpointFile(folders, 5, {"value": {"é": 1.5}, "steps": {"kept": 1}})
    assert place.path.read_text() == '{"é":1.5}'
    assert place.newest(is_last=False) is None
    place.path.write_text(" [2]\n")
    assert place.newest(is_last=False) == {"value": [2], "steps": {"kept": 1}}
    assert (place.newest(is_last=False), place.newest(is_last=True)) == (None, None)
    place.close()
    assert list(folders.iterdir()) == []


@pytest.mark.parametrize("kept", [None, {"value": None, "steps": {}}, {}, [1], 5])
def test_there_is_no_file_if_there_is_no_value(folders: Path, kept: Any) -> None:
    place = CheckpointFile(folders, 5, kept)
    assert not place.path.exists()
    assert place.newest(is_last=True) is None
    place.path.write_text("1")
    assert place.newest(is_last=True) == {"value": 1, "steps": {}}


def test_what_is_half_written_at_a_look_is_judged_at_the_next_one(folders: Path) -> None:
    """A program may be writing at this moment: a warning in the output of each such run would be wrong."""
    place = CheckpointFile(folders, 5, None)
    place.path.write_text('{"page": ')
    assert place.newest(is_last=False) is None
    place.path.write_text('{"page": 10}')
    assert place.newest(is_last=False) == {"value": {"page": 10}, "steps": {}}
    place.path.write_text('{"page": ')
    assert place.newest(is_last=False) is None
    with pytest.raises(BadPayload, match="it is not JSON"):
        place.newest(is_last=False)
    # Said once.
    assert (place.newest(is_last=False), place.newest(is_last=True)) == (None, None)


def test_last_look_sees_a_write_in_the_same_instant_of_the_file_systems_clock(folders: Path) -> None:
    place = CheckpointFile(folders, 5, None)
    place.path.write_text("10")
    found = os.stat(place.path)
    assert place.newest(is_last=False) == {"value": 10, "steps": {}}
    place.path.write_text("11")
    os.utime(place.path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert place.newest(is_last=True) == {"value": 11, "steps": {}}


def test_what_a_program_leaves_in_the_folder_goes_with_it(folders: Path) -> None:
    place = CheckpointFile(folders, 5, None)
    inside = place.path.parent / "deep" / "er"
    inside.mkdir(parents=True)
    (inside / "file").touch()
    # A run of a killed tick of the same number begins in an empty folder.
    place = CheckpointFile(folders, 5, None)
    assert list(place.path.parent.iterdir()) == []
    inside.mkdir(parents=True)
    remove(folders)
    assert not folders.exists()
    remove(folders)
    place.close()


def test_without_a_folder_for_state_the_file_is_a_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    place = CheckpointFile(None, 5, {"value": 1})
    assert place.path.parent.parent == tmp_path
    assert place.path.parent.stat().st_mode & 0o777 == 0o700
    place.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kept", [None, {"value": 1, "steps": {}}], ids=["none", "one"])
def test_run_that_cannot_have_its_file_goes_without_it_unless_it_would_begin_anew(tmp_path: Path, kept: Any) -> None:
    """As on a disk without room."""
    no_folder = tmp_path / "file"
    no_folder.touch()
    started: list[Any] = []

    def start_command(line: Any) -> Any:
        started.append(line)
        raise OSError(11, "as far as this test goes")

    supervisor = SimpleNamespace(
        checkpoint_folders=no_folder / "x.checkpoints", commands=0, page=BegunPage(None), start_command=start_command
    )
    config = load({"HOME": str(tmp_path)})
    command = Command(Policy("known"), ("true",), tmp_path, {}, (), frozenset({0}), None, frozenset())
    hand = Hand(config.lease, BegunPage(None))
    at = datetime.now(UTC)
    run = ClaimedRun(Lease(1, "t"), "known", {}, 1, 3, None, at, None, at, checkpoint=kept)
    (held,) = hand.take([run], 0.0, 0.0)
    pool = CommandPool(hand, cast("Any", supervisor), config, {"known": command})
    ((_, result),) = pool.start(1, 1)
    assert result is not None
    assert (result.outcome, result.error_type) == (Outcome.FAILED, "not_started")
    if kept is None:
        assert b"JOBRUNNER_CHECKPOINT" not in started[0].env
    else:
        assert result.error == "JOBRUNNER_CHECKPOINT cannot be made: Not a directory"
        assert started == []
    assert held.checkpoint is None
