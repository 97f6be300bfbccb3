"""An SQLite file and its backup: no old log comes back after `jobrunner restore`, and damage is told by every tick."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from harness import App, Commands, Database, SQLiteDatabase, sqlite_only, wait_for
from harness.backups import REFUSED, back_up
from harness.invariants import insert_runs
from harness.waiting import span
from jobrunner.settings import state_folder

pytestmark = sqlite_only
WORDS = ("cannot use the database", "the file is damaged", "jobrunner restore BACKUP")


def rows(file: Path) -> list[str]:
    """Every row but those of the restore itself and of ticks, as SQL."""
    with closing(sqlite3.connect(file)) as connection:
        return [
            line
            for line in connection.iterdump()
            if not line.startswith(('INSERT INTO "job_events"', 'INSERT INTO "job_ticks"', 'INSERT INTO "sqlite_seq'))
        ]


@pytest.fixture
def file(database: Database) -> Path:
    assert isinstance(database, SQLiteDatabase)
    return database.path


@pytest.fixture
def backup(database: Database, file: Path, tmp_path: Path) -> Path:
    """Of a time when there were 50 runs; later there are 500."""
    insert_runs(database, 50)
    found = back_up(file, tmp_path / "backup.db")
    insert_runs(database, 150)
    return found


def leave_log(file: Path) -> bytes:
    """Write some runs as a process that is then killed: its log stays beside the file. The file itself is returned."""
    with closing(sqlite3.connect(file, isolation_level=None)) as writer:
        # Held back by a reader, as a killed process holds it back for ever.
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        writer.execute(
            "INSERT INTO job_runs (job_type, payload, status, priority, run_at, created_at, updated_at)"
            " SELECT job_type, payload, 'queued', priority, run_at, created_at, updated_at FROM job_runs"
        )
        left, log = file.read_bytes(), Path(f"{file}-wal").read_bytes()
    file.write_bytes(left)
    Path(f"{file}-wal").write_bytes(log)
    return left


def move_over(file: Path, backup: Path) -> None:
    """What an operator did who did not know of the log."""
    leave_log(file)
    shutil.copy(backup, f"{file}.new")
    os.replace(f"{file}.new", file)


def with_other_pages(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA page_size = 1024")
        connection.execute("CREATE TABLE other (id)")
        connection.execute("PRAGMA journal_mode = WAL")


def missing(file: Path) -> None:
    leave_log(file)
    file.unlink()


STATES: dict[str, Callable[[Path, Path], object]] = {
    "in order": lambda file, _: None,
    "beside the log of a killed tick": lambda file, _: leave_log(file),
    "damaged by an old log": move_over,
    "no database": lambda file, _: file.write_bytes(b"no database" * 1000),
    "empty": lambda file, _: file.write_bytes(b""),
    "missing beside an old log": lambda file, _: missing(file),
    "of other pages": lambda file, _: with_other_pages(file),
}


@pytest.mark.parametrize("state", STATES)
def test_restored_file_has_the_rows_of_the_backup_and_nothing_of_an_old_log(
    jobrunner: Commands, app: App, database: Database, file: Path, backup: Path, state: str
) -> None:
    expected, untouched = rows(backup), backup.read_bytes()
    STATES[state](file, backup)
    done = jobrunner("restore", backup, "--reason", "a test")
    assert done.stdout == f"restored sqlite:///{file} from {backup}\n"
    assert done.stderr.startswith("next: jobrunner schedule resume --all --from now;")
    assert rows(file) == expected
    assert (backup.read_bytes(), list(backup.parent.glob("backup.db-*"))) == (untouched, [])
    (event,) = database.query("SELECT action, detail FROM job_events")
    assert (event["action"], event["detail"]) == ("restore", {"reason": "a test", "file": str(backup)})
    assert jobrunner.tick().stderr == ""
    assert (len(app.trace()), database.value("PRAGMA integrity_check")) == (50, "ok")
    assert database.value("PRAGMA journal_mode") == "wal"


def test_restore_that_is_killed_half_way_changes_nothing(
    jobrunner: Commands, database: Database, file: Path, backup: Path, tmp_path: Path
) -> None:
    before = rows(file)
    env = {"JOBRUNNER_FAULT": "restore.step=kill", "JOBRUNNER_FAULT_TRACE": str(tmp_path / "trace")}
    assert jobrunner("restore", backup, env=env, check=False, cold=True).returncode == -9
    assert (tmp_path / "trace").read_text().startswith("restore.step kill")
    assert rows(file) == before
    jobrunner("restore", backup)
    assert rows(file) == rows(backup)


@pytest.mark.promise("P1", "P2")
def test_restore_beside_a_running_tick_leaves_it_no_run_and_loses_none(
    jobrunner: Commands, app: App, database: Database, file: Path, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    run_id = jobrunner.enqueue("wait_for", {"path": str(gate)})
    backup = back_up(file, tmp_path / "backup.db")
    tick = jobrunner.start("tick")
    wait_for(app.trace, 20, "a run at work")
    insert_runs(database, 20)
    jobrunner("restore", backup)
    # Queued as in the backup; the tick at work may have claimed it already.
    assert database.query("SELECT id FROM job_runs") == [{"id": run_id}]
    gate.touch()
    tick.communicate(timeout=60)
    jobrunner.tick()
    assert database.query("SELECT status, attempts FROM job_runs") == [{"status": "succeeded", "attempts": 1}]
    assert database.value("PRAGMA integrity_check") == "ok"


@pytest.mark.parametrize("kind", REFUSED)
def test_backup_that_cannot_be_used_is_refused_and_changes_nothing(
    jobrunner: Commands, file: Path, tmp_path: Path, kind: str
) -> None:
    make, code, said = REFUSED[kind]
    given, before = make(tmp_path / "given.db", file), file.read_bytes()
    assert said in jobrunner.refused(code, "restore", given)
    assert file.read_bytes() == before


def alone(backup: Path) -> sqlite3.Connection:
    writer = sqlite3.connect(backup, isolation_level=None)
    writer.execute("PRAGMA locking_mode = EXCLUSIVE")
    return writer


def in_a_file_without_log(backup: Path) -> sqlite3.Connection:
    writer = sqlite3.connect(backup, isolation_level=None)
    writer.execute("PRAGMA journal_mode = DELETE")
    return writer


@pytest.mark.parametrize("is_target", [False, True])
@pytest.mark.parametrize("begin", [alone, in_a_file_without_log])
def test_file_that_another_process_has_locked_is_told_as_in_use_and_by_whom(
    jobrunner: Commands, file: Path, backup: Path, begin: Callable[[Path], sqlite3.Connection], is_target: bool
) -> None:
    """As a backup it was said to be no database of jobrunner, or was copied with what was not committed."""
    env, locked = {"JOBRUNNER_PATIENCE": span(1)}, backup
    if is_target:
        locked = back_up(file, Path(f"{backup}.target"))
        env["JOBRUNNER_DATABASE_URL"] = f"sqlite:///{locked}"
    with closing(begin(locked)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        writer.execute("UPDATE job_runs SET priority = 9")
        jobrunner.refused(69, "restore", backup, env=env, says=[f"process {os.getpid()} ", f"kill {os.getpid()}"])


def test_restore_ends_though_its_backup_changes_meanwhile(jobrunner: Commands, file: Path, backup: Path) -> None:
    """SQLite begins anew then. Without the common memory of a log each step looks like a change."""
    expected = rows(backup)
    Path(f"{backup}-wal").touch()
    Path(f"{backup}-shm").mkdir()
    jobrunner("restore", backup)
    assert rows(file) == expected


def test_restore_of_an_older_schema_says_how_to_go_on(jobrunner: Commands, file: Path, backup: Path) -> None:
    with closing(sqlite3.connect(backup, isolation_level=None)) as connection:
        connection.execute("UPDATE job_schema_version SET version_num = '0000'")
    assert jobrunner("restore", backup).stderr == "next: jobrunner migrate\n"
    assert jobrunner("tick", check=False).returncode == 78


def test_restore_of_a_servers_database_is_left_to_its_own_programs(jobrunner: Commands, backup: Path) -> None:
    env = {"JOBRUNNER_DATABASE_URL": "postgresql://127.0.0.1:1/none"}
    assert "pg_restore" in jobrunner.refused(2, "restore", backup, env=env)


def test_backup_moved_over_the_file_beside_an_old_log_is_told_by_each_tick_doctor_and_health(
    jobrunner: Commands, database: Database, file: Path, backup: Path
) -> None:
    """Six ticks in a row had nothing to do there, and doctor and health found nothing wrong."""
    jobrunner.tick()
    jobrunner("restore", backup)
    jobrunner.tick()
    back_up(file, Path(f"{backup}.later"))
    insert_runs(database, 300)
    jobrunner.tick()
    move_over(file, Path(f"{backup}.later"))
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",)
    for _ in range(3):
        assert [words for words in WORDS if words not in jobrunner.refused(69, "tick", cold=True)] == []
    report = jobrunner("doctor", "--json", "--no-crontab", check=False)
    (check,) = [each for each in report.json()["checks"] if each["name"] == "integrity"]
    assert (report.returncode, check["verdict"]) == (1, "wrong")
    assert check["remedy"] == "restore a backup: jobrunner restore BACKUP"
    for words in ([], ["--only", "ticks_stopped"]):
        done = jobrunner("health", *words, check=False)
        assert done.returncode == (0 if words else 1)
        assert done.stdout.startswith("ok" if words else "CRITICAL damaged_file: ")
    jobrunner("restore", backup)
    assert jobrunner.tick().stderr == ""
    assert jobrunner("health").stdout == "ok: nothing is wrong\n"


def test_idle_tick_checks_the_file_only_if_something_else_has_written_it(
    jobrunner: Commands, database: Database, file: Path
) -> None:
    folders = [str(jobrunner.state_dir)]

    def is_changed() -> bool:
        host = database.value("SELECT host FROM job_ticks ORDER BY id DESC LIMIT 1")
        return state_folder.is_changed(folders, database.url, None, host, str(file))

    insert_runs(database, 3)
    jobrunner.tick()
    assert not is_changed(), "its own changes are no reason"
    jobrunner.tick()
    assert not is_changed()

    def is_seen() -> bool:
        # Times of files may be as coarse as a hundredth of a second.
        insert_runs(database, 1)
        return is_changed()

    wait_for(is_seen, 10, "a change of the file by something else")
