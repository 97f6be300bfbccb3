"""A real receiver of notices and pings on loopback: a web server."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from harness.waiting import wait_for


@dataclass
class Request:
    """One request: its path with the query, its body, its headers, and when it came (monotonic)."""

    path: str
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    at: float = field(default_factory=time.monotonic)

    def json(self) -> Any:
        return json.loads(self.body)


class Web:
    """A web server. ``behave`` is a status to answer with, "hang", "reset", or "late 500": a 500 after ``ended``."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.behave: int | str = 200
        self.ended = threading.Event()
        self.answers = 0
        web = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                web.requests.append(Request(self.path, body, dict(self.headers)))
                behave = web.behave
                if behave == "hang":
                    web.ended.wait(60)
                    self.close_connection = True
                elif behave == "late 500":
                    web.ended.wait(60)
                    # The sender may have given up long ago.
                    with suppress(OSError):
                        self._answer(500)
                    web.answers += 1
                elif behave == "reset":
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                    self.close_connection = True
                else:
                    self._answer(int(behave))

            def _answer(self, status: int) -> None:
                self.send_response(status)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"OK")

            def log_message(self, *_: Any) -> None:
                """Keep the test's output clean."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/s3cret"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def wait_for(self, count: int) -> list[Request]:
        wait_for(lambda: len(self.requests) >= count, 20, f"{count} requests")
        return self.requests

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def web_server() -> Iterator[Web]:
    web = Web()
    web.start()
    try:
        yield web
    finally:
        web.close()
