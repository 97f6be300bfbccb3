"""An idle tick reports a database that it cannot use in the same way as a full tick."""

import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import Commands, Database, PostgresDatabase, SQLiteDatabase, postgresql_only, sqlite_only, wait_for
from harness.idle_ticks import IN_FULL, quiet_hour, trails

pytestmark = pytest.mark.cold


@pytest.fixture(autouse=True)
def nothing_to_do(database: Database) -> None:
    quiet_hour(database)


def told_alike(jobrunner: Commands, code: int, url: str | None = None) -> str:
    """What a tick says, after it was seen that one in full says the same."""
    env = {} if url is None else {"JOBRUNNER_DATABASE_URL": url}
    started = [jobrunner.start("tick", *words, env=env) for words in ((), IN_FULL)]
    short, full = (jobrunner.finish(process) for process in started)
    assert short.returncode == full.returncode == code
    assert short.stdout == full.stdout == ""
    assert short.stderr == full.stderr
    assert len(short.stderr.splitlines()) == 1
    return short.stderr


@pytest.fixture
def silent_server() -> Iterator[socket.socket]:
    """Takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)
        yield server


@postgresql_only
def test_idle_tick_reports_a_server_that_never_answers(jobrunner: Commands, silent_server: socket.socket) -> None:
    url = f"postgresql://somebody:s3cret@127.0.0.1:{silent_server.getsockname()[1]}/x"
    said = told_alike(jobrunner, 69, url)
    assert "s3cret" not in said
    assert "did not answer" in said


@pytest.mark.parametrize(
    "damage",
    [
        ["DROP TABLE job_schema_version"],
        ["UPDATE job_schema_version SET version_num = '0000'"],
        ["UPDATE job_schema_version SET version_num = 'mine'"],
        ["UPDATE job_state SET oldest_code = 99"],
        ["DROP VIEW job_due", "DROP VIEW job_expandable"],
    ],
    ids=lambda statements: statements[-1],
)
def test_idle_tick_reports_a_schema_that_does_not_fit(
    jobrunner: Commands, database: Database, damage: list[str]
) -> None:
    for statement in damage:
        database.execute(statement)
    assert re.search("schema|tables", told_alike(jobrunner, 78))


@sqlite_only
@pytest.mark.parametrize("content", [None, "", "no database"])
def test_idle_tick_reports_a_file_that_is_no_database(jobrunner: Commands, tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "other.db"
    if content is not None:
        path.write_text(content)
    told_alike(jobrunner, 78 if content == "" else 69, f"sqlite:///{path}")
    assert path.exists() == (content is not None), "a database was created unasked"


@sqlite_only
@pytest.mark.long(sample=2)
@pytest.mark.parametrize("url", ["sqlite:///:memory:", "sqlite://", "mysql://u:secret@h/d", "nonsense"])
def test_idle_tick_reports_an_invalid_url(jobrunner: Commands, url: str) -> None:
    assert "secret" not in told_alike(jobrunner, 69, url)


@postgresql_only
@pytest.mark.long(sample=2)
@pytest.mark.parametrize("wrong", ["password", "database", "port", "option"])
def test_idle_tick_reports_a_server_that_refuses(jobrunner: Commands, database: PostgresDatabase, wrong: str) -> None:
    before, _, after = database.url.partition("@")
    address, _, name = after.partition("/")
    user = before.removeprefix("postgresql://").partition(":")[0]
    url = {
        "password": f"postgresql://{user}:s3cret%2F@{after}",
        "database": f"{before}@{address}/none_{name}",
        "port": f"postgresql://{user}:s3cret%2F@127.0.0.1:1/{name}",
        "option": f"postgresql://{user}:s3cret%2F@{after}?sslmode=nonsense",
    }[wrong]
    said = told_alike(jobrunner, 69, url)
    assert "s3cret" not in said


@postgresql_only
def test_interrupted_idle_tick_prints_one_line(jobrunner: Commands, silent_server: socket.socket) -> None:
    url = f"postgresql://somebody:s3cret@127.0.0.1:{silent_server.getsockname()[1]}/x"
    waiting = jobrunner.start("tick", env={"JOBRUNNER_DATABASE_URL": url})
    connected, _ = silent_server.accept()
    with connected:
        waiting.send_signal(signal.SIGINT)
        assert waiting.communicate(timeout=30) == ("", "jobrunner: interrupted\n")
    assert waiting.returncode == 130


@sqlite_only
def test_idle_tick_waits_the_full_time_for_a_locked_file(jobrunner: Commands, database: SQLiteDatabase) -> None:
    locker = database.connect()
    locker.execute("BEGIN IMMEDIATE")
    waiting = jobrunner.start("tick")
    wait_for(lambda: has_gone_the_long_way(waiting.pid), 30, "the tick does not stay in the short way")
    assert waiting.poll() is None
    locker.execute("ROLLBACK")
    locker.close()
    assert waiting.communicate(timeout=30) == ("", "")
    assert waiting.returncode == 0
    (trail,) = trails(database)
    assert trail["finished_at"] is not None


@postgresql_only
def test_idle_query_that_hangs_is_cut_and_repeated(jobrunner: Commands, database: PostgresDatabase) -> None:
    with database.connect() as locker:
        locker.execute("BEGIN")
        locker.execute("LOCK TABLE job_ticks IN ACCESS EXCLUSIVE MODE")
        waiting = jobrunner.start("tick")
        wait_for(lambda: has_gone_the_long_way(waiting.pid), 30, "the tick does not stay in the short way")
        locker.execute("ROLLBACK")
    assert waiting.communicate(timeout=30) == ("", "")
    assert waiting.returncode == 0
    # What was cut may have been written all the same, by a server that had not noticed.
    assert len(trails(database)) in (1, 2)
    assert all(trail["finished_at"] for trail in trails(database))


def has_gone_the_long_way(pid: int) -> bool:
    """Whether a compiled module that the short way does without is in its memory: it is needed to start children."""
    return "_posixsubprocess" in Path(f"/proc/{pid}/maps").read_text()
