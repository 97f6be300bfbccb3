"""A URL that leads to no database: one line within seconds, exit 69, and the password is never shown."""

from datetime import timedelta
from pathlib import Path

import pytest

from harness import Commands, PostgresDatabase, pages, postgresql_only, sqlite_only
from harness.doc_tables import first_table, text_of
from harness.unreachable import COMMANDS, PASSWORD, refused_by_each, refused_in_time
from jobrunner.store.drivers import waits
from jobrunner.store.drivers.causes import CAUSES
from jobrunner.store.drivers.waits import Waits

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


@sqlite_only
@pytest.mark.long(sample=20)
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
def test_a_refused_connection_names_the_database(jobrunner: Commands) -> None:
    (block,) = pages.checked_by("tests/health/test_unreachable.py::test_a_refused_connection_names_the_database")
    assert "postgresql://user@127.0.0.1:1/app" in block.text
    assert refused_by_each(jobrunner, REFUSED) == [block.text] * len(COMMANDS)


def test_page_has_the_limits_of_the_code() -> None:
    """Of a tick, a command, and a command that writes many rows. A file's lock is waited for twice."""
    of_tick = Waits.of(waits.of_tick(timedelta(seconds=60)))
    command, bulk = Waits.of(waits.COMMAND), waits.of_bulk(waits.COMMAND)
    silent, stalled, lock, file = first_table(text_of("unreachable.md"), "Why")
    each = (of_tick, command, bulk)
    assert silent[1:] == [f"{limits.connect} s an address" for limits in each]
    assert stalled[1].startswith(f"{of_tick.call:g} s, ")
    assert stalled[2:] == [
        f"{command.call:g} s",
        f"{command.call:g} s, and {bulk.call / 60:g} min once it has answered",
    ]
    assert [cell.partition(" s")[0] for cell in lock[1:]] == [f"{limits.lock:g}" for limits in each]
    assert lock[3].endswith(f"`migrate` {waits.of_migration(waits.COMMAND).lock:g} s")
    assert [cell.partition(" s")[0] for cell in file[1:]] == [f"{2 * limits.file:g}" for limits in each]
    page = text_of("unreachable.md")
    assert f"checks for at most {waits.PROBE.call:g} s" in page
    assert f"`JOBRUNNER_PATIENCE`, which is {waits.COMMAND.seconds} s by default" in page


def test_page_has_each_reason_that_a_message_can_give_with_its_remedy() -> None:
    rows = first_table(text_of("unreachable.md"), "What to do")
    names = {"user": "USER", "file": "FILE", "disk": "FILE or the server"}
    assert rows == [[reason, remedy.format(**names)] for _, reason, remedy in CAUSES]


@sqlite_only
def test_verbose_tick_does_not_print_the_password(jobrunner: Commands) -> None:
    done = jobrunner("tick", "-v", env={"JOBRUNNER_DATABASE_URL": REFUSED}, check=False)
    assert done.returncode == 69
    assert PASSWORD not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@sqlite_only
def test_unreachable_database_is_also_written_to_the_log_file(jobrunner: Commands, tmp_path: Path) -> None:
    log = tmp_path / "log"
    jobrunner("tick", "--log", log, env={"JOBRUNNER_DATABASE_URL": REFUSED}, check=False)
    assert '"result": "failed"' in log.read_text()
    assert PASSWORD not in log.read_text()
