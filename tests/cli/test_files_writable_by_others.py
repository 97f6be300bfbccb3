"""An env file or jobrunner.toml that others can write is refused, as cron refuses crontabs: it decides what is run."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness import App, Commands, Database
from jobrunner.errors import ConfigurationError
from jobrunner.settings import files

DEPLOY, ME, OTHER = 1001, 1002, 1003
JUDGED = [
    # who runs, owner, group, mode, what is wrong
    (0, 0, 0, 0o644, None),
    (0, 0, 0, 0o600, None),
    (0, 0, OTHER, 0o640, None),
    (0, 0, 0, 0o664, "mode 0664"),
    (0, 0, 0, 0o606, "mode 0606"),
    (0, ME, 0, 0o600, f"belongs to user {ME}"),
    (ME, ME, ME, 0o600, None),
    (ME, ME, ME, 0o664, None),
    (ME, 0, 0, 0o644, None),
    (ME, DEPLOY, DEPLOY, 0o664, None),
    (ME, DEPLOY, ME, 0o664, None),
    (ME, ME, OTHER, 0o664, "mode 0664"),
    (ME, DEPLOY, OTHER, 0o620, "mode 0620"),
    (ME, ME, ME, 0o666, "mode 0666"),
]


@pytest.mark.parametrize(("user", "owner", "group", "mode", "wrong"), JUDGED)
def test_file_writable_by_others_is_refused_by_the_rule_of_cron(
    monkeypatch: pytest.MonkeyPatch, user: int, owner: int, group: int, mode: int, wrong: str | None
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(os, "getegid", lambda: user)
    found = SimpleNamespace(st_uid=owner, st_gid=group, st_mode=0o100000 | mode)
    if wrong is None:
        files.check_owner(found, "the file")  # type: ignore[arg-type] # it reads no more of a stat
        return
    with pytest.raises(ConfigurationError, match=f"^the file .*{wrong}"):
        files.check_owner(found, "the file")  # type: ignore[arg-type] # it reads no more of a stat


def test_jobs_of_a_file_writable_by_others_do_not_run(
    jobrunner: Commands, app: App, database: Database, tmp_path: Path
) -> None:
    env_file, jobs = tmp_path / "app.env", app.path("jobrunner.toml")
    env_file.write_text("PATH=/srv/of/somebody:/usr/bin:/bin\n")
    jobs.write_text('[jobs.theirs]\ncommand = ["true"]\n')
    jobrunner.enqueue("echo")

    def is_refused(file: Path) -> None:
        for words in (["tick"], ["types"]):
            assert str(file) in jobrunner.refused(78, *words, "--env-file", env_file)

    for file in (env_file, jobs):
        file.chmod(0o666)
        is_refused(file)
        file.chmod(0o644)
        if os.geteuid() == 0:
            os.chown(file, 65534, 0)
            is_refused(file)
            os.chown(file, 0, 0)
    assert database.query("SELECT id FROM job_ticks") == []
    jobrunner.tick("--env-file", env_file)
    assert database.value("SELECT status FROM job_runs") == "succeeded"
