"""doctor: each planted cause is found, and the remedies that are commands mend it."""

import os
from pathlib import Path

import pytest

from harness import (
    App,
    Commands,
    Database,
    SQLiteDatabase,
    sqlite_only,
)
from harness.clinic import Clinic
from harness.doctor_remedies import CHECKED, Planted, execute
from jobrunner.admin.doctor.settings import _masked


@pytest.fixture
def clinic(jobrunner: Commands, app: App, database: Database, tmp_path: Path) -> Clinic:
    jobrunner.tick()
    return Clinic(jobrunner, app, database, tmp_path)


def rows(database: Database) -> str:
    return database.describe()


def test_doctor_of_a_host_in_order_finds_nothing_wrong_and_changes_nothing(clinic: Clinic) -> None:
    before = rows(clinic.database)
    assert clinic.wrong() == []
    named = {each["name"] for each in clinic.examine()[1]}
    assert {"settings", "state folder", "time zone", "database", "schema", "clock", "last tick", "handlers"} <= named
    assert {"definitions", "cron line"} <= named
    assert rows(clinic.database) == before
    done = clinic.jobrunner("doctor", "--no-crontab", check=False)
    assert "ok       schema " in done.stdout
    assert max(map(len, done.stdout.splitlines())) > 80, "no terminal: nothing is wrapped"


def test_doctor_names_the_origin_of_each_value_and_shows_no_secret(clinic: Clinic, tmp_path: Path) -> None:
    file = tmp_path / "jobrunner.toml"
    file.write_text('[settings]\nkeep_dead = "30d"\nconcurrency = 3\n')
    env_file = tmp_path / "more.env"
    env_file.write_text(
        "JOBRUNNER_LEASE=90s\nJOBRUNNER_DATABASE_URL=postgresql://ada:hunter2@127.0.0.1:1/app?password=x\n"
    )
    env = {"JOBRUNNER_CONCURRENCY": "5", "JOBRUNNER_DATABASE_URL": None}
    words = ("doctor", "--no-crontab", "--json", "--config", file, "--env-file", env_file)
    done = clinic.jobrunner(*words, env=env, check=False)
    found = {each["name"]: (each["value"], each["origin"]) for each in done.json()["settings"]}
    assert found["keep_dead"] == ("30d", f"{file}: settings.keep_dead")
    assert found["concurrency"] == ("5", "JOBRUNNER_CONCURRENCY")
    assert found["lease"] == ("1m30s", "JOBRUNNER_LEASE in the env file")
    assert found["grace"] == ("10s", "default")
    assert found["database_url"] == ("postgresql://ada@127.0.0.1:1/app", "JOBRUNNER_DATABASE_URL in the env file")
    assert "hunter2" not in done.stdout
    plain = clinic.jobrunner(
        "doctor", env={"JOBRUNNER_DATABASE_URL": None, "DATABASE_URL": clinic.database.url}, check=False
    )
    assert any(
        line.startswith("database_url") and line.endswith("  DATABASE_URL") for line in plain.stdout.splitlines()
    )
    assert _masked("ping_url", "https://ping.example/3f0c-secret?x=1") == "https://ping.example/…"
    assert _masked("smtp_password", "hunter2") == "(hidden)"


SAID = {row.said: row for rows in CHECKED.values() for row in rows if isinstance(row, Planted) and row.said}


@pytest.mark.parametrize("said", SAID)
def test_doctor_finds_a_planted_cause(clinic: Clinic, said: str) -> None:
    row = SAID[said]
    row.plant(clinic)
    check = clinic.found(row.name, row.verdict)
    assert said in check["found"]
    for word in row.names:
        assert word in check["remedy"]
    if row.act is None:
        execute(clinic, check["remedy"], {})
        assert clinic.wrong("--no-crontab") == []
        assert [each for each in clinic.examine("--no-crontab")[1] if said in each["found"]] == []


def test_doctor_of_a_host_without_ticks_names_the_hosts_that_have_some(clinic: Clinic) -> None:
    clinic.database.execute("UPDATE job_ticks SET host = 'elsewhere'")
    assert "elsewhere" in clinic.found("last tick", "warning")["found"]


@sqlite_only
def test_doctor_finds_settings_that_no_command_can_use(clinic: Clinic, tmp_path: Path) -> None:
    assert "did you mean 'JOBRUNNER_LEASE'?" in clinic.found("settings", "wrong", JOBRUNNER_LAESE="1m")["found"]
    assert "JOBRUNNER_LEASE" in clinic.found("settings", "wrong", JOBRUNNER_LEASE="soon")["found"]
    # The others are checked all the same.
    assert clinic.found("state folder", "wrong", JOBRUNNER_LAESE="1m", JOBRUNNER_STATE_DIR="/dev/null/x")
    refused = clinic.found("database", "wrong", JOBRUNNER_DATABASE_URL="postgresql://ada:hunter2@127.0.0.1:1/app")
    assert "postgresql://ada@127.0.0.1:1/app" in refused["found"]
    missing = tmp_path / "none" / "app.db"
    assert str(missing) in clinic.found("database", "wrong", JOBRUNNER_DATABASE_URL=f"sqlite:///{missing}")["found"]
    assert not missing.parent.exists()
    config = tmp_path / "jobrunner.toml"
    config.write_text('[settings]\ndatabase_url = "postgresql://ada:hunter2@127.0.0.1:1/app"\n')
    config.chmod(0o644)
    secret = clinic.found("secrets", "warning", JOBRUNNER_CONFIG=str(config))
    assert "hunter2" not in str(secret)
    assert secret["remedy"] == f"chmod o-r {config}"


@sqlite_only
def test_doctor_finds_files_that_ticks_cannot_use(clinic: Clinic) -> None:
    assert isinstance(clinic.database, SQLiteDatabase)
    path = clinic.database.path
    path.chmod(0o646)
    assert clinic.found("files", "wrong")["remedy"] == f"chmod o-w {path}"
    path.chmod(0o644)
    assert clinic.found("files", "warning")["remedy"] == f"chmod o-r {path}"
    path.chmod(0o600)
    assert [each["verdict"] for each in clinic.examine("--no-crontab")[1] if each["name"] == "files"] == ["ok"]
    if os.getuid() == 0:
        beside = path.with_name(f"{path.name}-wal")
        beside.touch()
        os.chown(beside, 12345, -1)
        assert f"{beside} belongs to user 12345" in clinic.found("files", "wrong")["found"]


@sqlite_only
def test_doctor_finds_code_that_each_start_compiles_anew_and_its_remedy_compiles_it(clinic: Clinic) -> None:
    """As in an image whose code belongs to root, or beside this variable: a tick with one run took twice as long."""
    folder = clinic.folder / "compiled"
    env = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": str(folder)}
    check = clinic.found("compiled code", "warning", **env)
    assert "PYTHONDONTWRITEBYTECODE is set" in check["found"]
    execute(clinic, check["remedy"], env)
    assert "compiled code" not in [each["name"] for each in clinic.examine("--no-crontab", **env)[1] if each["remedy"]]
    # As after a copy that has changed the times of the sources.
    (compiled,) = folder.rglob("jobrunner/clock.*.pyc")
    compiled.write_bytes(bytes(16) + compiled.read_bytes()[16:])
    assert "compiles 1 of " in clinic.found("compiled code", "warning", **env)["found"]
