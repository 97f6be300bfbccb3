"""Connections to `jobrunner web` that send nothing, send slowly or read nothing, and cookies of neighbours."""

import asyncio
import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from harness import Commands, wait_for
from harness.doc_tables import text_of
from harness.waiting import stretched
from harness.web_server import served
from jobrunner.web import EVERYTHING, Visitor
from jobrunner.web.connections import Limits
from jobrunner.web.messages import Request, Response
from jobrunner.web.server import Server, server_of
from jobrunner.web.sign_in import LinkSignIn
from jobrunner.web.zones import zone_of

# Long enough for an answer beside other work, and no test waits for it.
LONG = 300.0


def test_person_is_answered_beside_many_connections_that_send_nothing(jobrunner: Commands) -> None:
    with served(jobrunner) as server, ExitStack() as stack:
        for _ in range(150):
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 20))
        for _ in range(3):
            assert status_of(server.port) == 200


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /healthz HTTP/1.1\r\nHost: local",
        b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nname=a",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n\0GET /heal",
    ],
    ids=["nothing", "half a header", "half a body", "half a second request"],
)
def test_connection_whose_request_does_not_arrive_is_ended(sent: bytes) -> None:
    with serving(answer(b"ok"), Limits(arrive=0.2, answer=LONG, read=LONG)) as (server, port):
        with socket.create_connection(("127.0.0.1", port), 30) as slow:
            whole, _, begun = sent.rpartition(b"\0")
            if whole:
                slow.sendall(whole)
                assert slow.recv(4096)
            slow.sendall(begun)
            # The end, and not the time limit of this socket.
            while slow.recv(4096):
                pass
        wait_for(lambda: not server.server_state.connections, 20, "no connection is left")


def test_connection_that_does_not_read_its_answer_is_ended() -> None:
    with ExitStack() as stack:
        limits = Limits(arrive=LONG, answer=LONG, read=0.5)
        server, port = stack.enter_context(serving(answer(b"x" * 30_000_000), limits))
        deaf = stack.enter_context(socket.create_connection(("127.0.0.1", port), 30))
        deaf.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_for(lambda: server.server_state.total_requests > 0, 20, "it is answered")
        wait_for(lambda: not server.server_state.connections, 20, "no connection is left")


def test_slow_bytes_do_not_prolong_the_time_for_a_request() -> None:
    with ExitStack() as stack:
        server, port = stack.enter_context(serving(answer(b"ok"), Limits(arrive=0.3, answer=LONG, read=LONG)))
        slow = stack.enter_context(socket.create_connection(("127.0.0.1", port), 30))
        slow.sendall(b"GET /")

        def is_ended() -> bool:
            try:
                slow.sendall(b"x")
            except OSError:
                return True
            return not server.server_state.connections

        wait_for(is_ended, 20, "it is ended")


def test_connection_that_is_used_again_and_again_is_kept() -> None:
    with serving(answer(b"ok"), Limits(arrive=LONG, answer=LONG, read=LONG)) as (server, port):
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=stretched(30))
        for _ in range(5):
            client.request("GET", "/")
            assert client.getresponse().read() == b"ok"
        assert len(server.server_state.connections) == 1
        client.close()


NEIGHBOURS = (
    '{"a": 1}',
    "a b=c",
    "name=caf\u00e9",
    "=x",
    "broken",
    'x="unclosed',
    "a[]=1",
    "theme=dark,light;;",
    "jobrunner=1; a=\x01",
)


@pytest.mark.parametrize("neighbour", NEIGHBOURS)
@pytest.mark.parametrize("is_first", [True, False])
def test_cookie_of_a_neighbour_locks_nobody_out_whatever_it_is(neighbour: str, is_first: bool) -> None:
    told: list[str] = []
    sign_in = LinkSignIn(Visitor("ada", EVERYTHING), told.append, 8080)
    begun = sign_in.enter(Request("GET", "/", f"token={told[0]}", {"host": "localhost"}))
    assert isinstance(begun, Response)
    own = dict(begun.headers)["Set-Cookie"].partition(";")[0] + "; jobrunner_zone=Europe/Berlin"
    sent = f"{neighbour}; {own}" if is_first else f"{own}; {neighbour}"
    request = Request("GET", "/runs", "", {"host": "localhost", "cookie": sent})
    found = sign_in.enter(request)
    assert isinstance(found, Request)
    assert found.visitor is not None
    assert str(zone_of(request)) == "Europe/Berlin"


def status_of(port: int) -> int:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=stretched(20))
    client.request("GET", "/healthz")
    found = client.getresponse().status
    client.close()
    return found


def answer(body: bytes) -> Callable[[Request], Response]:
    return lambda _: Response(200, (("Content-Type", "text/plain"),), body)


@contextmanager
def serving(respond: Callable[[Request], Response], limits: Limits) -> Iterator[tuple[Server, int]]:
    """The server of the command in this process, with other limits."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = server_of(respond, limits)
        # Uvicorn's own limit between two requests is five seconds, which may pass beside other work.
        server.config.timeout_keep_alive = int(LONG)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
        thread.start()
        try:
            yield server, listening.getsockname()[1]
        finally:
            server.handle_exit(2, None)
            thread.join(stretched(30))
            assert not thread.is_alive()


def test_page_says_the_limits_of_connections() -> None:
    page = text_of("dashboard.md")
    limits = Limits()
    assert f"A request must arrive within {limits.arrive:.0f} seconds" in page
    assert f"its answer must be read within {limits.read:.0f} seconds. There are at most {limits.most} conn" in page
