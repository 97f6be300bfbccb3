"""A database that cannot be reached: one line within seconds, exit 69, and the password is never shown."""

import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from ctypes import CDLL
from pathlib import Path

import pytest

from harness import Commands, PostgresDatabase, PrivatePostgres, SQLiteDatabase, postgresql_only, sqlite_only
from harness.commands import COMMAND, Completed

PASSWORD = "s3cr3t-wOrd"
SECONDS = 15
COMMANDS = [["tick"], ["status"], ["enqueue", "echo", "--allow-unknown"], ["migrate"]]
every_command = pytest.mark.parametrize("words", COMMANDS, ids=" ".join)

REFUSED = f"postgresql://user:{PASSWORD}@127.0.0.1:1/app"
WRONG_URLS = {
    "no URL": PASSWORD,
    "another database": f"mysql://user:{PASSWORD}@127.0.0.1/app",
    "half a URL": f"postgresql:/user:{PASSWORD}@host/app",
    "half an address": f"postgresql://user:{PASSWORD}@[::1/app",
    "a port that is a word": f"postgresql://user:{PASSWORD}@host:port/app",
    "a port that is too large": f"postgresql://user:{PASSWORD}@127.0.0.1:99999/app",
    "an @ in the password": f"postgresql://user:first@{PASSWORD}@127.0.0.1:1/app",
    "an @ and a / in the password": f"postgresql://user:first@{PASSWORD}/x@127.0.0.1:1/app",
    "an @ and a ? in the password": f"postgresql://user:first@{PASSWORD}?x@127.0.0.1:1/app",
    "a / in the password": f"postgresql://user:first/{PASSWORD}@127.0.0.1:1/app",
    "a # in the password": f"postgresql://user:first#{PASSWORD}@127.0.0.1:1/app",
    "a ? in the password": f"postgresql://user:first?{PASSWORD}@127.0.0.1:1/app",
    "a % in the password": f"postgresql://user:first%{PASSWORD}@127.0.0.1:1/app",
    "an unknown option": f"{REFUSED}?no_such_option={PASSWORD}",
    "a wrong option": f"{REFUSED}?connect_timeout={PASSWORD}",
    "the password as an option": f"postgresql://user@127.0.0.1:1/app?password={PASSWORD}",
    "a host without an address": f"postgresql://user:{PASSWORD}@nowhere.invalid/app",
    "a refused connection": REFUSED,
    "a refused connection, postgres://": REFUSED.replace("postgresql:", "postgres:"),
    "a socket that is not there": f"postgresql://user:{PASSWORD}@/app?host=/nonexistent",
    "SQLite in memory": "sqlite:///:memory:",
    "SQLite without a file": "sqlite://",
    "SQLite on a host": f"sqlite://user:{PASSWORD}@host/file.db",
}


def refused_in_time(jobrunner: Commands, url: str, *words: str) -> str:
    """Assert all that holds whatever the cause, and return the one line."""
    log = jobrunner.home / "log"
    before = time.monotonic()
    env = {"JOBRUNNER_DATABASE_URL": url, "JOBRUNNER_LOG": str(log)}
    done = jobrunner(*words, env=env, check=False)
    assert time.monotonic() - before < SECONDS
    return one_line(done, log)


def one_line(done: Completed, log: Path) -> str:
    assert (done.returncode, done.stdout) == (69, "")
    assert done.stderr.startswith("jobrunner: ")
    assert len(done.stderr.splitlines()) == 1
    told = log.read_text() if log.exists() else ""
    assert PASSWORD not in done.stdout + done.stderr + told
    return done.stderr


@sqlite_only
@pytest.mark.parametrize("url", WRONG_URLS.values(), ids=WRONG_URLS.keys())
@pytest.mark.parametrize("words", [["tick"], ["status"]], ids=" ".join)
def test_wrong_url_or_unknown_host_is_reported_in_one_line(jobrunner: Commands, url: str, words: list[str]) -> None:
    refused_in_time(jobrunner, url, *words)


@postgresql_only
def test_url_with_several_hosts_connects_to_the_one_that_answers(
    jobrunner: Commands, database: PostgresDatabase
) -> None:
    """As libpq reads it, for a server with a stand-by."""
    scheme, _, rest = database.url.rpartition("@")
    env = {"JOBRUNNER_DATABASE_URL": f"{scheme}@127.0.0.1:1,{rest}"}
    jobrunner("enqueue", "echo", env=env)
    jobrunner.tick(env=env)
    assert database.value("SELECT status FROM job_runs") == "succeeded"


@sqlite_only
@every_command
def test_a_refused_connection_names_the_database(jobrunner: Commands, words: list[str]) -> None:
    line = refused_in_time(jobrunner, REFUSED, *words)
    assert "postgresql://user@127.0.0.1:1/app" in line
    assert "refused" in line


@sqlite_only
def test_verbose_tick_does_not_print_the_password(jobrunner: Commands) -> None:
    done = jobrunner("tick", "-v", env={"JOBRUNNER_DATABASE_URL": REFUSED}, check=False)
    assert done.returncode == 69
    assert PASSWORD not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@sqlite_only
def test_unreachable_database_is_also_written_to_the_log_file(jobrunner: Commands, tmp_path: Path) -> None:
    log = tmp_path / "log"
    jobrunner("tick", "--log-file", log, env={"JOBRUNNER_DATABASE_URL": REFUSED}, check=False)
    assert '"result": "failed"' in log.read_text()
    assert PASSWORD not in log.read_text()


Answer = Callable[[socket.socket], None]


def answering(answer: Answer) -> Iterator[str]:
    """A server on loopback that treats every caller so; its URL."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        callers = []

        def serve() -> None:
            while True:
                try:
                    caller, _ = server.accept()
                except OSError:
                    return
                callers.append(caller)
                answer(caller)

        threading.Thread(target=serve, daemon=True).start()
        yield f"postgresql://user:{PASSWORD}@127.0.0.1:{server.getsockname()[1]}/app"
        server.shutdown(socket.SHUT_RDWR)
        for caller in callers:
            caller.close()


def say_nothing(_: socket.socket) -> None:
    """Accept and never speak, as a stopped server or a silent firewall behind a proxy does."""


def hang_up(caller: socket.socket) -> None:
    caller.close()


def say_nonsense(caller: socket.socket) -> None:
    caller.recv(100)
    caller.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    caller.close()


def agree_and_fall_silent(caller: socket.socket) -> None:
    caller.recv(100)
    caller.sendall(b"N")


@pytest.fixture
def odd_server(request: pytest.FixtureRequest) -> Iterator[str]:
    yield from answering(request.param)


@sqlite_only
@pytest.mark.parametrize(
    "odd_server",
    [say_nothing, hang_up, say_nonsense, agree_and_fall_silent],
    indirect=True,
    ids=lambda answer: answer.__name__,
)
@pytest.mark.parametrize("words", [["tick"], ["status"]], ids=" ".join)
def test_host_without_a_working_server_is_reported_in_one_line(
    jobrunner: Commands, odd_server: str, words: list[str]
) -> None:
    refused_in_time(jobrunner, odd_server, *words)


@every_command
def test_a_wrong_password(private_jobrunner: Commands, private_postgres: PrivatePostgres, words: list[str]) -> None:
    role, _, rest = private_postgres.url.partition("//")[2].partition(":")
    url = f"postgresql://{role}:{PASSWORD}@{rest.partition('@')[2]}"
    line = refused_in_time(private_jobrunner, url, *words)
    assert "password was refused" in line


@postgresql_only
@every_command
def test_a_database_that_is_not_there(jobrunner: Commands, database: PostgresDatabase, words: list[str]) -> None:
    line = refused_in_time(jobrunner, database.access.url("no_such_database"), *words)
    assert "no database of that name" in line


@postgresql_only
@pytest.mark.parametrize("words", COMMANDS[:3], ids=" ".join)
def test_a_database_that_is_read_only(jobrunner: Commands, database: PostgresDatabase, words: list[str]) -> None:
    with database.access.admin(database.database) as connection:
        connection.execute(f'ALTER DATABASE "{database.database}" SET default_transaction_read_only = on')
    if words == ["status"]:
        assert jobrunner(*words).returncode == 0
    else:
        assert "read-only" in refused_in_time(jobrunner, database.url, *words)


@every_command
def test_a_user_without_rights(
    private_jobrunner: Commands, private_postgres: PrivatePostgres, words: list[str]
) -> None:
    access = private_postgres.database.access
    with access.admin() as connection:
        connection.execute("DROP ROLE IF EXISTS weak")
        connection.execute(f"CREATE ROLE weak LOGIN PASSWORD '{PASSWORD}'")
    url = f"postgresql://weak:{PASSWORD}@{private_postgres.url.partition('@')[2]}"
    assert "its user may not" in refused_in_time(private_jobrunner, url, *words)


@every_command
def test_a_server_that_is_stopped(
    private_jobrunner: Commands, private_postgres: PrivatePostgres, words: list[str]
) -> None:
    private_postgres.stop()
    refused_in_time(private_jobrunner, private_postgres.url, *words)


@sqlite_only
@every_command
@pytest.mark.parametrize("content", [b"this is no database\n" * 500, b"SQLite format 3\0" + b"\x5a" * 8000], ids=len)
def test_a_file_that_is_not_sqlite(jobrunner: Commands, tmp_path: Path, words: list[str], content: bytes) -> None:
    file = tmp_path / "other.db"
    file.write_bytes(content)
    line = refused_in_time(jobrunner, f"sqlite:///{file}", *words)
    assert "not an SQLite database" in line
    assert file.read_bytes() == content


@sqlite_only
@every_command
def test_a_folder_in_the_place_of_a_file(jobrunner: Commands, tmp_path: Path, words: list[str]) -> None:
    refused_in_time(jobrunner, f"sqlite:///{tmp_path}", *words)


@sqlite_only
@pytest.mark.parametrize("words", COMMANDS[:3], ids=" ".join)
def test_a_file_that_is_not_there_is_not_created(jobrunner: Commands, tmp_path: Path, words: list[str]) -> None:
    file = tmp_path / "none" / "none.db"
    line = refused_in_time(jobrunner, f"sqlite:///{file}", *words)
    assert "jobrunner migrate" in line
    assert not file.parent.exists()


def obey_permissions() -> None:
    """Root reads and writes whatever it likes; without these capabilities the mode of a file holds for it, too."""
    if os.geteuid() == 0:
        libc, drop = CDLL(None), 24
        for capability in (1, 2):
            libc.prctl(drop, capability, 0, 0, 0)


@sqlite_only
@every_command
@pytest.mark.parametrize("what", ["folder", "closed folder", "file", "unreadable file"])
def test_a_file_or_folder_without_permission(
    jobrunner: Commands, database: SQLiteDatabase, tmp_path: Path, words: list[str], what: str
) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    file = folder / "jobrunner.db"
    file.write_bytes(database.path.read_bytes())
    file.chmod({"file": 0o400, "unreadable file": 0}.get(what, 0o600))
    folder.chmod({"folder": 0o500, "closed folder": 0}.get(what, 0o700))
    log = jobrunner.home / "log"
    done = subprocess.run(
        [COMMAND, *words],
        env=jobrunner.environment({"JOBRUNNER_DATABASE_URL": f"sqlite:///{file}", "JOBRUNNER_LOG": str(log)}),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        preexec_fn=obey_permissions,
    )
    folder.chmod(0o700)
    if what == "file" and words in (["status"], ["migrate"]):
        assert (done.returncode, done.stderr) == (0, "")  # they only read
    else:
        one_line(Completed(done.args, done.returncode, done.stdout, done.stderr), log)


@sqlite_only
def test_a_database_that_cannot_be_created(jobrunner: Commands, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (f"{tmp_path}/file/new.db", "/proc/jobrunner/new.db", f"{tmp_path}/{'x' * 300}/new.db"):
        refused_in_time(jobrunner, f"sqlite:///{place}", "migrate")
