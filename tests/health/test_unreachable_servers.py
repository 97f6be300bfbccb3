"""A server that is away, is none, or refuses: one line within seconds, exit 69."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager

import pytest

from harness import Commands, PostgresDatabase, PrivatePostgres, postgresql_only, sqlite_only
from harness.unreachable import COMMANDS, PASSWORD, all_refused_in_time, refused_by_each

Answer = Callable[[socket.socket], None]


@contextmanager
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


SILENT = [say_nothing, agree_and_fall_silent]
SPEAKING = [hang_up, say_nonsense]


@sqlite_only
@pytest.mark.parametrize("answers", [SILENT, SPEAKING], ids=["silent", "speaking"])
def test_host_without_a_working_server_is_reported_in_one_line(jobrunner: Commands, answers: list[Answer]) -> None:
    with ExitStack() as servers:
        urls = [servers.enter_context(answering(answer)) for answer in answers]
        all_refused_in_time(jobrunner, [(url, words) for url in urls for words in (["tick"], ["status"])])


def test_a_wrong_password(private_jobrunner: Commands, private_postgres: PrivatePostgres) -> None:
    role, _, rest = private_postgres.url.partition("//")[2].partition(":")
    url = f"postgresql://{role}:{PASSWORD}@{rest.partition('@')[2]}"
    assert all("password was refused" in line for line in refused_by_each(private_jobrunner, url))


@postgresql_only
def test_a_database_that_is_not_there(jobrunner: Commands, database: PostgresDatabase) -> None:
    lines = refused_by_each(jobrunner, database.access.url("no_such_database"))
    assert all("no database of that name" in line for line in lines)


@postgresql_only
def test_a_database_that_is_read_only(jobrunner: Commands, database: PostgresDatabase) -> None:
    with database.access.admin(database.database) as connection:
        connection.execute(f'ALTER DATABASE "{database.database}" SET default_transaction_read_only = on')
    tick, _, enqueue, _ = COMMANDS
    assert all("read-only" in line for line in refused_by_each(jobrunner, database.url, [tick, enqueue]))
    assert jobrunner("status").returncode == 0


def test_a_user_without_rights(private_jobrunner: Commands, private_postgres: PrivatePostgres) -> None:
    access = private_postgres.database.access
    with access.admin() as connection:
        connection.execute("DROP ROLE IF EXISTS weak")
        connection.execute(f"CREATE ROLE weak LOGIN PASSWORD '{PASSWORD}'")
    url = f"postgresql://weak:{PASSWORD}@{private_postgres.url.partition('@')[2]}"
    assert all(" may not " in line for line in refused_by_each(private_jobrunner, url))


def test_a_server_that_is_stopped(private_jobrunner: Commands, private_postgres: PrivatePostgres) -> None:
    private_postgres.stop()
    refused_by_each(private_jobrunner, private_postgres.url)
