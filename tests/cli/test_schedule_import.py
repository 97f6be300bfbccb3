"""`jobrunner schedule import`: no line of a crontab is lost, and no entry of a file is changed."""

import os
import pwd
import shlex
import stat
import tomllib
from datetime import timedelta
from pathlib import Path

import pytest

from harness import App, Commands, Database
from harness.command_jobs import from_crontab, write_jobs

HEAD = "# written by hand\n[settings]\nconcurrency = 3 # three\n\n[jobs.mine]\ncommand = ['true']"


def test_the_entries_are_printed_and_the_report_goes_to_stderr(jobrunner: Commands) -> None:
    done = from_crontab(jobrunner, "# Saves all.\n0 5 * * * backup a\n", check=True)
    jobs = tomllib.loads(done.stdout)["jobs"]
    assert (jobs["backup"]["shell"], jobs["backup"]["command"]) == (True, "backup a")
    assert jobs["backup"]["cwd"] == pwd.getpwuid(os.getuid()).pw_dir
    assert "2 lines: 1 job, 0 not imported, 0 variables, 1 comment, 0 blank" in done.stderr


def test_printed_entries_can_be_applied_and_run(jobrunner: Commands, app: App, database: Database) -> None:
    text = from_crontab(jobrunner, "MAILTO=x\n* * * * * true\n5 5 * * * false # no more\n").stdout
    write_jobs(app, text)
    jobrunner("apply")
    assert {row["name"] for row in database.query("SELECT name FROM job_definitions")} == {"true", "false"}
    database.move_clock(timedelta(minutes=1))
    jobrunner.tick()
    assert [run["job_type"] for run in database.query("SELECT job_type FROM job_runs WHERE job_type = 'true'")] == [
        "true"
    ]


def test_line_that_is_not_imported_is_listed_and_the_exit_status_is_1(jobrunner: Commands) -> None:
    done = from_crontab(jobrunner, "@reboot a\n0 5 * * * b\n", check=False)
    assert done.returncode == 1
    assert set(tomllib.loads(done.stdout)["jobs"]) == {"b"}
    assert "line 1: not imported: " in done.stderr


def test_imported_entries_are_appended_to_an_existing_file(jobrunner: Commands, tmp_path: Path) -> None:
    real = tmp_path / "real.toml"
    real.write_text(HEAD)
    real.chmod(0o640)
    link = tmp_path / "jobrunner.toml"
    link.symlink_to(real)
    done = from_crontab(jobrunner, "0 5 * * * b\n", "-o", link)
    assert done.stdout == ""
    assert real.read_text().startswith(HEAD + "\n\n# From standard input\n")
    assert (link.is_symlink(), stat.S_IMODE(real.stat().st_mode)) == (True, 0o640)
    data = tomllib.loads(real.read_text())
    assert (data["settings"], set(data["jobs"])) == ({"concurrency": 3}, {"mine", "b"})


def test_second_import_adds_only_new_jobs(jobrunner: Commands, tmp_path: Path) -> None:
    """A name that is taken by another job is not given twice, and no job twice at all."""
    file = tmp_path / "jobrunner.toml"
    file.write_text(HEAD + '\n[schedules.b]\njob = "mine"\nschedule = "@daily"\n')
    lines = "A=1\n0 5 * * * mine\n0 6 * * * b | c\n"
    assert from_crontab(jobrunner, lines, "-o", file).returncode == 0
    assert set(tomllib.loads(file.read_text())["jobs"]) == {"mine", "mine_2", "b_2"}
    before = file.read_text()
    again = from_crontab(jobrunner, lines, "-o", file)
    assert file.read_text() == before
    assert f"line 2: mine: already in {file}, not changed" in again.stderr
    assert "3 lines: 0 jobs, 2 already there, 0 not imported, 1 variable" in again.stderr
    more = from_crontab(jobrunner, f"{lines}0 7 * * * mine\n", "-o", file)
    assert "line 4: mine_3" in more.stderr
    assert "at most JOBRUNNER_CONCURRENCY" in more.stderr
    assert {name: job.get("schedule") for name, job in tomllib.loads(file.read_text())["jobs"].items()} == {
        "mine": None,
        "mine_2": "0 5 * * *",
        "b_2": "0 6 * * *",
        "mine_3": "0 7 * * *",
    }


def test_new_file_is_readable_by_its_owner_only(jobrunner: Commands, tmp_path: Path) -> None:
    file = tmp_path / "jobrunner.toml"
    from_crontab(jobrunner, "PASSWORD=x\n0 5 * * * b\n", "-o", file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [("jobs = {}\n", 78, "jobs"), ("[settings\n", 78, "TOML"), ("[setings]\n", 78, "settings")],
)
def test_file_is_unchanged_if_the_entries_cannot_be_added(
    jobrunner: Commands, tmp_path: Path, text: str, code: int, said: str
) -> None:
    file = tmp_path / "jobrunner.toml"
    file.write_text(text)
    lines = "0 5 * * * mine\n0 6 * * * other\n"
    jobrunner.refused(code, "schedule", "import", "-", "-o", file, stdin=lines, says=[said])
    assert file.read_text() == text
    assert [each.name for each in tmp_path.glob("*.toml")] == ["jobrunner.toml"]
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    ("text", "words", "form"),
    [
        ("1 * * * * root /bin/true\n", [], "a system crontab"),
        ("1 * * * * root /bin/true\n", ["--no-system"], "the crontab of a user"),
        ("1 * * * * true root\n", [], "the crontab of a user"),
        ("1 * * * * root /bin/true\n2 * * * * true x\n", [], "the crontab of a user"),
        ("", [], "the crontab of a user"),
    ],
)
def test_system_crontab_is_detected_by_its_user_column(
    jobrunner: Commands, text: str, words: list[str], form: str
) -> None:
    assert f"read as {form}" in from_crontab(jobrunner, text, *words, check=False).stderr


def test_import_with_user_takes_only_the_lines_of_that_user(jobrunner: Commands) -> None:
    text = "1 * * * * root a\n2 * * * * nobody b\n"
    done = from_crontab(jobrunner, text, "--system", "--user", "nobody", check=False)
    (job,) = tomllib.loads(done.stdout)["jobs"].values()
    assert (job["command"], job["env"]["PATH"]) == ("b", "/usr/bin:/bin")
    # On most hosts that user has no home folder, which stops no job under cron either.
    home = pwd.getpwnam("nobody").pw_dir
    assert job["cwd"] == (home if os.path.isdir(home) else "/")
    assert "line 1: not imported: it runs as root" in done.stderr


@pytest.mark.parametrize("words", [("--user", "no such user"), ("--timezone", "Europe/Berln"), ("--user", "\udcff")])
def test_unknown_user_or_zone_is_refused_in_one_line(jobrunner: Commands, words: tuple[str, str]) -> None:
    jobrunner.refused(2, "schedule", "import", "-", *words, stdin="0 5 * * * b\n")


@pytest.mark.parametrize(
    "data",
    [b"\x7fELF\x00\x01\n" * 100, b"0 5 * * * a\0b\n", b"# x\n" * 3_000_000, bytes(range(256)) * 100],
    ids=["program", "NUL", "10 MB", "bytes"],
)
def test_file_that_is_no_crontab_is_refused_in_one_line_with_exit_2(
    jobrunner: Commands, tmp_path: Path, data: bytes
) -> None:
    file = tmp_path / "crontab"
    file.write_bytes(data)
    assert str(file) in jobrunner.refused(2, "schedule", "import", file)


def test_missing_crontab_is_refused_in_one_line_with_exit_2(jobrunner: Commands, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path, tmp_path / "missing", tmp_path / "fifo", "x" * 5000, tmp_path / "a\nb"):
        jobrunner.refused(2, "schedule", "import", path, timeout=30)


@pytest.mark.parametrize(
    "data",
    [b"0 5 * * * a", b"0 5 * * * a\r\n", b"# t\xe4glich\n0 5 * * * a\n", b"\xef\xbb\xbf0 5 * * * a\n"],
    ids=["no newline", "CRLF", "Latin-1", "mark"],
)
def test_a_crontab_from_elsewhere_is_taken_over(jobrunner: Commands, tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "crontab"
    file.write_bytes(data)
    done = jobrunner("schedule", "import", file)
    assert tomllib.loads(done.stdout)["jobs"]["a"]["command"] == "a"


def test_a_job_that_is_not_utf_8_is_listed(jobrunner: Commands, tmp_path: Path) -> None:
    file = tmp_path / "crontab"
    file.write_bytes(b"0 5 * * * a\n0 6 * * * t\xe4glich\n")
    done = jobrunner("schedule", "import", file, check=False)
    assert (done.returncode, set(tomllib.loads(done.stdout)["jobs"])) == (1, {"a"})
    assert "line 2: not imported: it is not UTF-8" in done.stderr


def test_stdin_text_of_a_command_replaces_the_payload_on_standard_input(jobrunner: Commands, app: App) -> None:
    """What `%` became: the command reads the text, whatever the payload, and an empty one where none is wanted."""
    write_jobs(app, '[jobs.said]\ncommand = ["cat"]\nstdin = "ä\\nb"\n[jobs.none]\ncommand = ["cat"]\nstdin = ""\n')
    ids = [jobrunner.enqueue(name, {"a": 1}) for name in ("said", "none")]
    jobrunner.tick()
    outputs = [jobrunner.show(each)["attempt_log"][0]["output"] for each in ids]
    assert [each or "" for each in outputs] == ["ä\nb", ""]


@pytest.mark.parametrize("way", ["a new file", "the file of the application", "printed", "an env file"])
def test_commands_that_an_import_prints_put_the_jobs_to_work_as_they_are(
    jobrunner: Commands, app: App, database: Database, tmp_path: Path, way: str
) -> None:
    """In the same folder and environment: `jobrunner apply` alone found nothing to apply there."""
    folder = tmp_path / "new folder"
    folder.mkdir()
    env: dict[str, str | None] = {"JOBRUNNER_APP_DIR": None, "JOBRUNNER_IMPORT": None}
    words: list[object] = [] if way == "printed" else ["-o", "jobrunner.toml"]
    if way == "the file of the application":
        env["JOBRUNNER_APP_DIR"] = str(folder)
    if way == "an env file":
        (folder / "app.env").write_text(f"JOBRUNNER_DATABASE_URL={database.url}\n")
        (folder / "app.env").chmod(0o600)
        env["JOBRUNNER_DATABASE_URL"] = None
        words += ["--env-file", "app.env"]
    done = from_crontab(jobrunner, "* * * * * true\n", *words, env=env, cwd=folder)
    if way == "printed":
        (folder / "jobrunner.toml").write_text(done.stdout)
    (said,) = [line for line in done.stderr.splitlines() if "next: " in line]
    following = shlex.split(said.partition("next: ")[2].partition(";")[0])
    assert following[:2] == ["jobrunner", "apply"]
    jobrunner(*following[1:], env=env, cwd=folder)
    assert database.value("SELECT name FROM job_definitions") == "true"
    ticking = shlex.split(said.partition("that file, too: ")[2])
    assert ticking[1:3] == ([] if way == "the file of the application" else ["crontab", "install"])
    database.move_clock(timedelta(minutes=1))
    jobrunner("tick", *ticking[3:], env=env, cwd=folder)
    assert database.value("SELECT status FROM job_runs") == "succeeded"
