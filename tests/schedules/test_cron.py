"""The recommended crontab line under Debian's own cron: it works, and it mails only errors."""

import os
import pwd
from collections.abc import Mapping
from pathlib import Path

import pytest

from harness import App, Commands, Database, wait_for
from harness.commands import COMMAND
from harness.cron import Cron, commands

# A machine without libfaketime lives through real minutes.
pytestmark = pytest.mark.timeout(400)

EXAMPLE = (Path(__file__).parents[2] / "crontab.example").read_text()
PROGRAM, ENV_FILE, LOG_FILE = "/srv/app/.venv/bin/jobrunner", "/etc/jobrunner/app.env", "/var/log/jobrunner/tick.log"
A_MINUTE = 100


def system_form(example: str) -> str:
    """The alternative for /etc/cron.d: its commented line instead of the other one."""
    lines = example.splitlines(keepends=True)
    return "".join(line.replace("#* ", "* ", 1) for line in lines if not line.startswith("* "))


def with_paths(crontab: str, env_file: Path, log_file: Path) -> str:
    """The example with its three paths, and the user, replaced by the test's."""
    for path, other in ((PROGRAM, COMMAND), (ENV_FILE, env_file), (LOG_FILE, log_file)):
        assert path in crontab
        crontab = crontab.replace(path, str(other))
    user = pwd.getpwuid(os.getuid()).pw_name
    return crontab.replace("* * * * * app ", f"* * * * * {user} ")


class Site:
    """A host on which the example was installed in both forms; each has its own name, so that its ticks are known."""

    def __init__(self, jobrunner: Commands, cron: Cron, folder: Path) -> None:
        self.jobrunner = jobrunner
        self.cron = cron
        self.folder = folder

    def install(self) -> None:
        crontabs = []
        for name, example in (("user", EXAMPLE), ("system", system_form(EXAMPLE))):
            self.write_env_file(name)
            crontabs.append(with_paths(example, self.folder / f"{name}.env", self.folder / f"{name}.log"))
        self.cron.start(*crontabs)

    def write_env_file(self, name: str, more: Mapping[str, str] | None = None) -> None:
        variables = {
            name: value
            for name, value in self.jobrunner.environment().items()
            if name.startswith("JOBRUNNER_") or name == "TRACE_FILE"
        }
        variables |= {"JOBRUNNER_HOST": name, **(more or {})}
        draft = self.folder / "draft"
        draft.write_text("".join(f"{key}={value}\n" for key, value in variables.items()))
        draft.chmod(0o600)
        draft.rename(self.folder / f"{name}.env")

    def describe(self) -> str:
        found = [*self.folder.glob("*.log"), self.folder / "cron" / "output"]
        said = "\n".join(f"{path.name}: {path.read_text()[-2000:]}" for path in found if path.exists())
        return f"mails: {self.cron.mails()}\n{said}"


@pytest.fixture
def site(jobrunner: Commands, cron: Cron, tmp_path: Path) -> Site:
    return Site(jobrunner, cron, tmp_path)


def finished_ticks(database: Database, host: str) -> int:
    return int(database.value("SELECT count(*) AS n FROM job_ticks WHERE host = ? AND finished_at IS NOT NULL", [host]))


def test_the_line_of_the_example_runs_under_cron_and_mails_only_what_is_wrong(
    site: Site, jobrunner: Commands, app: App, database: Database
) -> None:
    app.add("""
        @job("environment")
        def environment(ctx: Context):
            print("this is not for cron")
            return {**os.environ, "cwd": os.getcwd()}
    """)
    run_id = jobrunner.enqueue("environment")
    failing = jobrunner.enqueue("fail", max_attempts=1)
    site.install()
    for host in ("user", "system"):
        wait_for(lambda host=host: finished_ticks(database, host), A_MINUTE, site.describe)
    run = jobrunner.show(run_id)
    assert run["status"] == "succeeded"
    assert jobrunner.show(failing)["status"] == "dead"
    check_environment(run["result"])
    assert site.cron.mails() == []

    for host in ("user", "system"):
        site.write_env_file(host, {"JOBRUNNER_DATABASE_URL": "postgresql://app:hunter2@127.0.0.1:1/none"})
    wait_for(site.cron.mails, A_MINUTE, site.describe)
    for mail in site.cron.mails():
        assert len(mail.splitlines()) == 1, mail
        assert mail.startswith("jobrunner: ")
        assert "127.0.0.1" in mail
        assert "hunter2" not in mail


def check_environment(environment: dict[str, str]) -> None:
    """What a handler sees is cron's environment with that of the crontab and the env file, and nothing else."""
    user = pwd.getpwuid(os.getuid())
    assert environment["HOME"] == environment["cwd"] == user.pw_dir
    assert environment["LOGNAME"] == user.pw_name
    assert environment["SHELL"] == "/bin/sh"
    assert (environment["PATH"], environment["LANG"]) == ("/usr/local/bin:/usr/bin:/bin", "C.UTF-8")
    assert environment["TRACE_FILE"].startswith("/")
    assert not {"LD_PRELOAD", "FAKETIME", "PYTEST_CURRENT_TEST", "VIRTUAL_ENV"} & set(environment)


@pytest.mark.parametrize("form", ["user", "system"])
def test_cron_finds_nothing_wrong_with_the_example(cron: Cron, form: str) -> None:
    # The program knows no crontab with a user in each line; it reads that one as part of the command.
    assert cron.complaints(EXAMPLE if form == "user" else system_form(EXAMPLE)) == ""


def test_cron_finds_a_line_without_all_its_fields(cron: Cron) -> None:
    assert cron.complaints(EXAMPLE.replace("\n* * * * * ", "\n* * * * ")) != ""


def test_the_example_shows_one_line_in_both_forms() -> None:
    (user,) = commands(EXAMPLE, has_user=False)
    (system,) = commands(system_form(EXAMPLE), has_user=True)
    assert user == system == f"{PROGRAM} tick --env-file {ENV_FILE} --log {LOG_FILE}"
    assert EXAMPLE.endswith("\n")
