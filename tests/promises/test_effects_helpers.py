"""A file that is written as a whole, and a webhook that the other side recognizes by its key."""

import base64
import hashlib
import json
import socket
import threading
import urllib.error
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from jobrunner import NotApplied, post_webhook, write_file
from jobrunner.errors import UsageError


def test_file_is_replaced_as_a_whole_and_a_repeat_removes_what_a_crash_has_left(tmp_path: Path) -> None:
    target = tmp_path / "re[po]rt.txt"
    target.write_text("old")
    left = tmp_path / f".re[po]rt.txt.{hashlib.sha256(b'k').hexdigest()[:16]}.00.tmp"
    left.write_text("half")
    others = tmp_path / f".re[po]rt.txt.{hashlib.sha256(b'other').hexdigest()[:16]}.00.tmp"
    others.write_text("half")
    done = write_file(target, "new ü", key="k")
    assert (target.read_text(encoding="utf-8"), done["bytes"], done["path"]) == ("new ü", 6, str(target))
    assert done["sha256"] == hashlib.sha256("new ü".encode()).hexdigest()
    assert sorted(tmp_path.iterdir()) == sorted([target, others])
    assert write_file(target, b"newer", key="k")["bytes"] == 5
    with pytest.raises(NotApplied, match="No such file"):
        write_file(tmp_path / "missing" / "x", "", key="k")
    (tmp_path / "folder").mkdir()
    with pytest.raises(NotApplied):
        write_file(tmp_path / "folder", "x", key="k")
    assert sorted(tmp_path.iterdir()) == sorted([target, others, tmp_path / "folder"])


class _Server(BaseHTTPRequestHandler):
    received: list[tuple[str | None, bytes]]
    logins: list[str | None]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.received.append((self.headers["Idempotency-Key"], body))
        self.logins.append(self.headers["Authorization"])
        if self.path == "/silent":
            self.close_connection = True
            return
        self.send_response(int(self.path[1:]))
        self.send_header("Location", "/200")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    _Server.received, _Server.logins = [], []
    with ThreadingHTTPServer(("127.0.0.1", 0), _Server) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{listening.server_address[1]}"
        listening.shutdown()


def test_webhook_says_what_was_applied_what_was_refused_and_what_is_uncertain(server: str) -> None:
    assert post_webhook(f"{server}/201", {"a": "ü"}, key="mail:ü 1") == {"status": 201, "body": "ok"}
    assert _Server.received == [("mail:%C3%BC 1", json.dumps({"a": "ü"}).encode())]
    for status in (400, 401, 404, 422, 429):
        with pytest.raises(NotApplied, match=f"refused it with {status}"):
            post_webhook(f"{server}/{status}", {}, key="k")
    for status in (301, 303, 308, 408, 409, 500, 503):
        with pytest.raises(urllib.error.HTTPError, match=str(status)):
            post_webhook(f"{server}/{status}", {}, key="k")
    with pytest.raises(OSError, match="closed connection"):
        post_webhook(f"{server}/silent", {}, key="k")
    # No redirect was followed, and nothing was sent twice.
    assert len(_Server.received) == 1 + 5 + 7 + 1


def test_webhook_tells_the_login_of_its_url_and_none_where_the_url_has_none(server: str) -> None:
    for url in (server, server.replace("//", "//ada:love%20lace@")):
        post_webhook(f"{url}/200", {}, key="k")
    assert _Server.logins == [None, f"Basic {base64.b64encode(b'ada:love lace').decode()}"]


def test_webhook_without_a_connection_is_refused_and_without_an_answer_uncertain() -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/"
        with pytest.raises(TimeoutError):
            post_webhook(url, b"", key="k", timeout="100ms")
    with pytest.raises(NotApplied, match="no connection was made"):
        post_webhook(url, b"", key="k")
    with pytest.raises(UsageError, match="http"):
        post_webhook("file:///etc/passwd", b"", key="k")
