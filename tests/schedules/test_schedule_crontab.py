"""`jobrunner crontab`: the one line that stays in the crontab, installed with the real program."""

import shlex
import subprocess
from pathlib import Path

import pytest

from harness import App, Commands, pages, wait_for
from harness.commands import COMMAND, clean_environment
from harness.cron import Cron

pytestmark = pytest.mark.timeout(400)

A_MINUTE = 100
PATH = "PATH=/usr/local/bin:/usr/bin:/bin"
OTHERS = b"""# m h  dom mon dow   command
MAILTO="ops@example.com"
\t0 5 * * 1\ttar -zcf /var/backups/home.tgz /home/ \\%h
# caf\xe9, in Latin-1
@reboot  /usr/bin/true # jobrunner:/not/ours
"""


def write_env_file(path: Path, **variables: str) -> Path:
    path.write_text("".join(f"{name}={value}\n" for name, value in variables.items()))
    path.chmod(0o600)
    return path


class Installer:
    """Calls the command, and the program crontab, as a user would at a shell of their own."""

    def __init__(self, cron: Cron, folder: Path) -> None:
        self.cron = cron
        self.environment = clean_environment(folder)

    def __call__(self, *words: object, **env: str) -> "subprocess.CompletedProcess[str]":
        return self.cron.run(COMMAND, "crontab", *words, env={**self.environment, **env})

    def crontab(self) -> bytes:
        done = self.cron.run("crontab", "-l", env=self.environment)
        return done.stdout.encode("latin-1") if done.returncode == 0 else b""

    def put(self, text: bytes, folder: Path) -> None:
        file = folder / "old-crontab"
        file.write_bytes(text)
        done = self.cron.run("sh", "-c", f"crontab - < {file}", env=self.environment)
        assert done.returncode == 0, done


@pytest.fixture
def install(cron: Cron, tmp_path: Path) -> Installer:
    return Installer(cron, tmp_path)


def lines_of(crontab: bytes) -> list[bytes]:
    return crontab.splitlines(keepends=True)


def test_the_installed_line_ticks_under_the_real_cron(
    install: Installer, cron: Cron, jobrunner: Commands, app: App, tmp_path: Path
) -> None:
    folder = tmp_path / "50% of 'the' $HOME"
    folder.mkdir()
    named = {name: value for name, value in jobrunner.environment().items() if name.startswith("JOBRUNNER_")}
    env_file = write_env_file(folder / "app.env", **named, TRACE_FILE=str(app.trace_file))
    done = install("install", "--env-file", env_file, "--log", folder / "tick.log")
    assert done.returncode == 0, done
    run_id = jobrunner.enqueue("append")
    cron.start(install.crontab().decode(), "")
    wait_for(lambda: jobrunner.show(run_id)["status"] == "succeeded", A_MINUTE, lambda: str(cron.mails()))
    assert (folder / "tick.log").exists()
    assert cron.mails() == []


def test_install_keeps_all_other_crontab_lines_byte_for_byte(install: Installer, tmp_path: Path) -> None:
    env_file = write_env_file(tmp_path / "app.env")
    install.put(OTHERS, tmp_path)
    before = install.crontab()
    assert lines_of(OTHERS)[2] in lines_of(before)
    line = install("line", "--env-file", env_file).stdout.encode("latin-1")
    assert install("install", "--env-file", env_file).returncode == 0
    assert install.crontab() == before + line
    assert install("remove", "--env-file", env_file).returncode == 0
    assert install.crontab() == before


def test_a_second_install_changes_nothing(install: Installer, tmp_path: Path) -> None:
    env_file = write_env_file(tmp_path / "app.env")
    assert install("install", "--env-file", env_file).stdout.startswith("installed: * * * * * ")
    crontab = install.crontab()
    again = install("install", "--env-file", env_file)
    assert (again.returncode, again.stderr) == (0, "")
    assert again.stdout.startswith("installed already: ")
    assert install.crontab() == crontab


def test_install_replaces_the_older_line_of_the_same_installation(install: Installer, tmp_path: Path) -> None:
    env_file = write_env_file(tmp_path / "app.env")
    old = f"*/5 * * * * /old/bin/jobrunner tick --env-file {env_file} # jobrunner:{env_file}\n".encode()
    install.put(old + OTHERS + old, tmp_path)
    others = [each for each in lines_of(install.crontab()) if each != old]
    assert install("install", "--env-file", env_file).returncode == 0
    (new,) = (each for each in lines_of(install.crontab()) if str(env_file).encode() in each)
    assert COMMAND.encode() in new
    assert [each for each in lines_of(install.crontab()) if each != new] == others


def test_two_installations_have_separate_crontab_lines(install: Installer, tmp_path: Path) -> None:
    files = [write_env_file(tmp_path / f"{name}.env") for name in ("app", "other.app")]
    for _ in range(2):
        for file in files:
            assert install("install", "--env-file", file).returncode == 0
    ours = [each for each in lines_of(install.crontab()) if b" tick " in each]
    assert len(ours) == 2
    assert install("remove", "--env-file", files[0]).returncode == 0
    assert [each for each in lines_of(install.crontab()) if b" tick " in each] == [ours[1]]


def test_refused_crontab_leaves_the_old_one_in_place(install: Installer, tmp_path: Path) -> None:
    """The program that says no, or cannot read: nothing is written over what may be there."""
    env_file = write_env_file(tmp_path / "app.env")
    written = tmp_path / "written"
    for number, (script, said) in enumerate(
        (
            (
                'case $1 in -l) echo "0 5 * * * precious";; *) echo "errors in crontab file" >&2; exit 1;; esac',
                "stays as it",
            ),
            (f'case $1 in -l) echo "disk is broken" >&2; exit 1;; *) touch {written};; esac', "disk is broken"),
            ('echo "You (app) are not allowed to use this program (crontab)" >&2; exit 1', "not allowed"),
        )
    ):
        program = tmp_path / f"broken{number}" / "crontab"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        done = called(tmp_path, "install", "--env-file", env_file, PATH=f"{program.parent}:/usr/bin:/bin")
        assert (done.returncode, done.stdout) == (1, ""), done
        assert said in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert not written.exists()


def test_missing_crontab_program_is_reported_with_the_manual_way(tmp_path: Path) -> None:
    environment = {**clean_environment(tmp_path), "PATH": str(tmp_path)}
    done = subprocess.run([COMMAND, "crontab", "install"], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert "install cron" in done.stderr


def printed(tmp_path: Path, *words: object, **env: str) -> "subprocess.CompletedProcess[str]":
    return called(tmp_path, "line", *words, **env)


def called(tmp_path: Path, *words: object, **env: str) -> "subprocess.CompletedProcess[str]":
    command = [COMMAND, "crontab", *map(str, words)]
    environment = {**clean_environment(tmp_path), **env}
    return subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path)


def test_crontab_line_has_absolute_paths(tmp_path: Path) -> None:
    (tmp_path / "app.env").write_text("JOBRUNNER_CONCURRENCY=2\n")
    (tmp_path / "jobrunner.toml").write_text("")
    (tmp_path / "log").mkdir()
    words = ("--env-file", "app.env", "--config", "jobrunner.toml", "--log", "log/tick")
    done = printed(tmp_path, *words)
    files = [tmp_path / name for name in ("app.env", "jobrunner.toml", "log/tick")]
    flags = " ".join(f"{flag} {file}" for flag, file in zip(words[::2], files, strict=True))
    assert done.stdout == f"* * * * * {PATH} {COMMAND} tick {flags} # jobrunner:{files[0]}\n"
    by_variable = printed(tmp_path, JOBRUNNER_ENV_FILE="app.env")
    assert by_variable.stdout == f"* * * * * {PATH} {COMMAND} tick --env-file {files[0]} # jobrunner:{files[0]}\n"


def test_crontab_line_in_the_docs_is_the_one_that_is_printed(tmp_path: Path) -> None:
    name = "tests/schedules/test_schedule_crontab.py::test_crontab_line_in_the_docs_is_the_one_that_is_printed"
    (block,) = pages.checked_by(name)
    env_file, log_file = tmp_path / "app.env", tmp_path / "tick.log"
    env_file.write_text("")
    shown = block.text.replace("/etc/jobrunner/app.env", str(env_file)).replace("/srv/app/.venv/bin/jobrunner", COMMAND)
    assert printed(tmp_path, "--env-file", env_file, "--log", log_file).stdout == shown.replace(
        "/var/log/jobrunner/tick.log", str(log_file)
    )


def test_path_of_the_env_file_is_not_repeated_in_the_crontab_line(tmp_path: Path) -> None:
    (tmp_path / "app.env").write_text("PATH=/opt/tools/bin:/usr/bin:/bin\n")
    done = printed(tmp_path, "--env-file", "app.env")
    assert done.stdout.startswith(f"* * * * * {COMMAND} tick --env-file ")


@pytest.mark.parametrize(
    "name",
    [
        "JOBRUNNER_DATABASE_URL",
        "DATABASE_URL",
        "JOBRUNNER_APP_DIR",
        "JOBRUNNER_KEEP_DEAD",
        "JOBRUNNER_KEEP_TYPES",
        "JOBRUNNER_HEALTH_DEAD",
        "JOBRUNNER_IMPORT",
    ],
)
def test_crontab_line_is_refused_if_a_setting_is_only_in_this_environment(name: str, tmp_path: Path) -> None:
    """Its ticks would work on another database than every command by hand, for ever and in silence."""
    given = {"KEEP_DEAD": "3d", "KEEP_TYPES": "a=3d", "HEALTH_DEAD": "7", "IMPORT": "json", "APP_DIR": str(tmp_path)}
    value = given.get(name.removeprefix("JOBRUNNER_"), "sqlite:////srv/secret.db")
    done = printed(tmp_path, **{name: value})
    assert (done.returncode, done.stdout) == (78, "")
    assert name in done.stderr
    assert "--env-file" in done.stderr
    assert "secret" not in done.stderr


@pytest.mark.parametrize(
    "setting", ["JOBRUNNER_APP_DIR=app", "JOBRUNNER_LOG=tick.log", "JOBRUNNER_DATABASE_URL=sqlite:///app.db"]
)
def test_crontab_line_is_refused_if_a_path_in_the_env_file_is_relative(setting: str, tmp_path: Path) -> None:
    (tmp_path / "app.env").write_text(f"{setting}\n")
    (tmp_path / "app.env").chmod(0o600)
    done = printed(tmp_path, "--env-file", "app.env")
    assert (done.returncode, done.stdout) == (78, "")
    assert setting.partition("=")[0] in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", ["back\\slash", "line\nbreak", "x" * 200 + "/" + "y" * 200])
def test_crontab_line_is_refused_if_cron_would_read_a_path_differently(name: str, tmp_path: Path) -> None:
    file = tmp_path / name / name / "app.env"
    file.parent.mkdir(parents=True)
    file.write_text("")
    done = printed(tmp_path, "--env-file", file)
    assert (done.returncode, done.stdout) == (78, "")
    assert len(done.stderr.splitlines()) == 1


def test_printed_crontab_line_runs_in_a_shell_as_meant(tmp_path: Path) -> None:
    folder = tmp_path / 'it\'s 100% "ours"; $(id)'
    folder.mkdir()
    file = folder / "app.env"
    file.write_text("")
    line = printed(tmp_path, "--env-file", file).stdout
    assert "%" not in line.replace("\\%", "")
    words = shlex.split(line.replace("\\%", "%").split(" tick ", 1)[1], comments=True)
    assert words == ["--env-file", str(file)]


def test_two_concurrent_installs_keep_both_lines(install: Installer, tmp_path: Path) -> None:
    files = [write_env_file(tmp_path / f"app{number}.env") for number in range(4)]
    calls = " & ".join(f"{COMMAND} crontab install --env-file {file} > /dev/null" for file in files)
    done = install.cron.run("sh", "-c", f"{calls} & wait", env=install.environment)
    assert done.stderr == ""
    crontab = install.crontab().decode()
    assert all(f" # jobrunner:{file}\n" in crontab for file in files)
