"""Real crontabs of Debian packages: each is converted and compared with the golden files beside it."""

import os
import sys
from pathlib import Path

import pytest

from jobrunner.crontab import convert, parse, toml
from jobrunner.crontab.report import report
from jobrunner.schedules.recurrence import Recurrence
from jobrunner.settings import toml_file
from jobrunner.settings.toml_schedules import declarations

FOLDER = Path(__file__).parents[1] / "crontabs"
NAMES = sorted(path.stem for path in FOLDER.glob("*.crontab"))
# Whose ticks the jobs are for; root's, where nobody is named.
USERS = {"amavisd-new": "amavis", "awstats": "www-data", "logcheck": "logcheck", "mailman3": "list"}
USER_FORM = {"sysstat-example"}


def crontab(name: str) -> parse.Crontab:
    return parse.read((FOLDER / f"{name}.crontab").read_bytes(), has_user=name not in USER_FORM)


def taken(name: str, user: str | None = None) -> convert.Takeover:
    user = user or USERS.get(name, "root")
    home = "/root" if user == "root" else f"/home/{user}"
    return convert.take_over(crontab(name), convert.Host(user, home, "Europe/Berlin"))


def compare(path: Path, text: str) -> None:
    if os.environ.get("UPDATE_CRONTABS"):
        path.write_text(text)
    assert text == path.read_text(), f"{path.name} differs; if that is right: UPDATE_CRONTABS=1"


def test_corpus_has_at_least_ten_crontabs() -> None:
    assert len(NAMES) >= 10


@pytest.mark.parametrize("name", NAMES)
def test_debian_crontab_converts_to_the_golden_file(name: str) -> None:
    found = taken(name)
    compare(FOLDER / f"{name}.toml", toml.write(found.jobs, name))
    compare(FOLDER / f"{name}.report", "\n".join(report(crontab(name), found)) + "\n")


@pytest.mark.parametrize("name", NAMES)
def test_written_golden_file_reads_back_every_job_with_its_schedule(name: str, tmp_path: Path) -> None:
    path = tmp_path / "jobrunner.toml"
    path.write_text((FOLDER / f"{name}.toml").read_text())
    read = toml_file.read(path)
    declared = {each.name: each for each in declarations(path, read.schedules, sys.maxsize)}
    jobs = taken(name).jobs
    assert jobs
    assert len(read.commands) == len(declared) == len(jobs)
    for job in jobs:
        command, said = read.commands[job.name], declared[job.name]
        assert command.argv == ("/bin/sh", "-c", job.command)
        assert (command.stdin, str(command.cwd), command.env) == (job.stdin, job.cwd, job.env)
        assert (command.policy.timeout, command.policy.max_attempts) == (None, 1)
        assert (said.schedule, said.timezone, said.description) == (job.schedule, job.timezone, job.description)
        assert (said.policy.misfire, said.policy.overlap) == ("skip", "allow")
        Recurrence.parse(said.schedule, said.timezone)


@pytest.mark.parametrize("name", sorted(USERS))
def test_the_jobs_of_another_user_are_listed_and_not_run_as_root(name: str) -> None:
    found = taken(name, "root")
    assert found.jobs == ()
    assert {remark.line for remark in found.refused} >= {job.line for job in taken(name).jobs}
    assert all(f"--user {USERS[name]}" in remark.text for remark in found.refused)
