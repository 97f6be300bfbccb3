"""The private folder in which a tick notes its processes; without one it prints a warning."""

import json
import os
import pwd
from pathlib import Path

import pytest

from harness import Commands, Database
from jobrunner.children.process_groups import GroupFile, kill_leftovers, state_problem
from jobrunner.model import Owner
from jobrunner.settings import state_folder
from jobrunner.settings.config import default_database_file

OWNER = Owner("here", "here:1:aa")


def noted(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("tick-*"))


def test_state_folder_of_another_user_is_reported_if_leftovers_cannot_be_killed(
    jobrunner: Commands, database: Database, tmp_path: Path
) -> None:
    """Anybody may make /tmp/jobrunner-UID, or open a folder to all."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o777)
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    for taken in (folder, link, Path("/proc/none")):
        env = {"JOBRUNNER_STATE_DIR": str(taken)}
        jobrunner.enqueue("echo")
        done = jobrunner.tick(env=env)
        assert done.stderr.startswith("jobrunner: no folder for state is writable and private to this user"), done
        assert (len(done.stderr.splitlines()), str(taken) in done.stderr) == (1, True)
        status = jobrunner("status", env=env).stdout
        assert "\nWARNING    no folder for state is writable and private to this user" in status
        assert jobrunner("status", "--json", env=env).json()["state_problem"] in done.stderr
    assert list(folder.iterdir()) == []
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'succeeded'") == 3
    assert jobrunner.status()["state_problem"] is None
    assert "folder for state" not in jobrunner("status").stdout


def test_second_state_folder_is_used_if_the_first_is_unusable(tmp_path: Path) -> None:
    taken, own = tmp_path / "taken", tmp_path / "own" / "state"
    taken.mkdir(mode=0o700)
    taken.chmod(0o777)
    file = GroupFile([taken, own], OWNER, "aa")
    file.add(os.getpid())
    assert (noted(taken), len(noted(own))) == ([], 1)
    assert state_problem([taken, own]) is None
    file.close()
    assert noted(own) == []


def test_state_folder_is_the_same_under_cron_and_in_a_login_session(monkeypatch: pytest.MonkeyPatch) -> None:
    before = state_folder.for_state(None)
    for name in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR", "HOME", "TMPDIR"):
        monkeypatch.setenv(name, "/elsewhere")
    assert state_folder.for_state(None) == before
    user = os.getuid()
    assert before[-2:] == [f"/run/user/{user}/jobrunner", f"/tmp/jobrunner-{user}"]
    assert before[0] == f"{state_folder.home()}/.local/state/jobrunner"


def test_user_whose_home_is_the_root_folder_has_a_plain_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Users that run a service often have / as their home."""
    entry = pwd.getpwuid(os.getuid())
    monkeypatch.setattr(pwd, "getpwuid", lambda _: pwd.struct_passwd((*entry[:5], "/", entry.pw_shell)))
    assert state_folder.for_state(None)[0] == "/.local/state/jobrunner"
    assert default_database_file() == "/.local/share/jobrunner/jobrunner.db"


def test_notes_of_another_host_in_a_shared_home_are_not_used(tmp_path: Path) -> None:
    """Read as those of a dead tick of ours, they would be taken away, and its leftovers never found."""
    file = GroupFile([tmp_path / "state"], OWNER, "aa")
    file.add(os.getpid())
    (path,) = (tmp_path / "state").glob("tick-*.json")
    note = json.loads(path.read_text())
    for field, value, stays in (("node", "another", True), ("namespace", "pid:[7]", True), ("boot", "before", False)):
        path.write_text(json.dumps(note | {field: value}))
        assert kill_leftovers([tmp_path / "state"]) == (0, [])
        assert path.exists() == stays
    month = 31 * 86400
    path.write_text(json.dumps(note | {"node": "another"}))
    os.utime(path, (path.stat().st_mtime - month,) * 2)
    kill_leftovers([tmp_path / "state"])
    assert not path.exists()
