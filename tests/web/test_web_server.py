"""`jobrunner web`: closed to whoever has not its link, on this host only, and a page of its own while it runs."""

import re
import subprocess
import sys
from collections.abc import Mapping
from html import unescape
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urlencode

from harness import App, Commands, Database, pages, sqlite_only, wait_for
from harness.handlers_rows import queue, status_of
from harness.waiting import stretched
from harness.web import FORM, SAME, Tags
from harness.web_server import Served, served


class Browser:
    """Talks to one server, with the cookie that it was given."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.cookie = ""

    def __call__(
        self, path: str, form: Mapping[str, str] | None = None, *, method: str = "", **headers: str
    ) -> tuple[HTTPResponse, str]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=stretched(20))
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {**({"Cookie": self.cookie} if self.cookie else {}), **(FORM if form else {}), **sent}
        body = None if form is None else urlencode(form)
        connection.request(method or ("GET" if form is None else "POST"), path, body, sent)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer, text

    def sign_in(self, link: str) -> int:
        """Open a link that the command has printed."""
        answer, _ = self(link.partition(f":{self.port}")[2])
        if found := answer.headers["Set-Cookie"]:
            self.cookie = found.partition(";")[0]
        return answer.status


def signed_in(server: Served) -> Browser:
    browser = Browser(server.port)
    assert browser.sign_in(server.lines[-1]) == 303
    return browser


def test_page_is_closed_to_all_but_the_browser_with_the_link(jobrunner: Commands, database: Database) -> None:
    run_id = queue(database, "append")
    with served(jobrunner) as server:
        stranger, browser = Browser(server.port), Browser(server.port)
        answer, text = stranger("/")
        assert (answer.status, "Open the link" in text) == (403, True)
        assert stranger("/runs/1?format=json")[0].status == 403
        assert stranger(f"/runs/{run_id}/cancel", {"a": "b"}, **SAME)[0].status == 403
        assert stranger("/?token=" + "x" * 43)[0].status == 403
        # A look at the link that is no visit does not use it up.
        link = server.lines[0].partition(str(server.port))[2]
        assert stranger(link, method="HEAD")[0].status == 403
        assert browser.sign_in(server.lines[0]) == 303
        assert stranger.sign_in(server.lines[0]) == 403, "the link is good for one time"
        answer, text = browser("/")
        assert answer.status == 200
        assert "server" not in {name.lower() for name in answer.headers}
        Tags(text).check()
        style = re.search(r'href="(\./static/style[^"]+)"', text)
        assert style
        answer, _ = Browser(server.port)(style[1].removeprefix("."))
        assert (answer.status, "immutable" in answer.headers["Cache-Control"]) == (200, True)
        # Another site: its name leads to this host, or its page sends a form.
        assert browser("/", Host="evil.example")[0].status == 403
        assert browser("/", Host=f"evil.example:{server.port}")[0].status == 403
        assert browser("/", Host=f"localhost:{server.port}")[0].status == 200
        assert browser(f"/runs/{run_id}/cancel", {"a": "b"}, Origin="http://evil.example")[0].status == 403
        assert status_of(database, run_id) == "queued"
        own = f"http://127.0.0.1:{server.port}"
        answer, _ = browser(f"/runs/{run_id}/cancel", {"a": "b"}, Origin=own)
        assert (answer.status, answer.headers["Location"]) == (303, f"../../runs/{run_id}?done=cancel")
    assert status_of(database, run_id) == "cancelled"
    (event,) = database.query("SELECT actor FROM job_events")
    assert event["actor"].endswith(" (page)")
    assert server.lines[1:] != server.lines[:1], "the next browser has a link of its own"


@sqlite_only
def test_read_only_page_behind_a_proxy(jobrunner: Commands, database: Database) -> None:
    run_id = queue(database, "append")
    with served(jobrunner, "--read-only", "--prefix", "/jobs/", "--allow-host", "Admin.example") as server:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/jobs/\?token=\S{43}", server.lines[0])
        browser = signed_in(server)
        for path in (f"/runs/{run_id}", f"/jobs/runs/{run_id}"):
            answer, text = browser(path, Host="admin.example")
            assert (answer.status, "<button" in text) == (200, False)
        answer, _ = browser("/jobs")
        assert (answer.status, answer.headers["Location"]) == (308, "jobs/")
        assert browser(f"/jobs/runs/{run_id}/cancel", {"a": "b"}, **SAME)[0].status == 403
    assert status_of(database, run_id) == "queued"


@sqlite_only
def test_what_web_refuses_is_one_line(jobrunner: Commands) -> None:
    for words, code, says in (
        (["--host", "0.0.0.0"], 2, "no loopback address"),
        (["--host", "example.com"], 2, "no address such as"),
        (["--trust-header", "X-Remote-User", "--host", "0.0.0.0"], 2, "trust the header of every client"),
        (["--trust-header", "X Y", "--proxy", "::1"], 2, "not the name of a header"),
        (["--proxy", "example.com"], 2, "no address such as"),
        (["--proxy", "10.0.0.1", "--host", "0.0.0.0"], 2, "no loopback address"),
        (["--user-file", "f", "--trust-header", "X-User", "--proxy", "::1"], 2, "give one of them"),
        (["--user-file", "/nowhere/at/all"], 78, "No such file"),
        (["--port", "70000"], 2, "from 0 to 65535"),
    ):
        assert says in jobrunner.refused(code, "web", *words)
    with served(jobrunner) as server:
        refused = jobrunner("web", "--port", server.port, check=False)
        assert (refused.returncode, "try another --port" in refused.stderr) == (1, True)
    refused = jobrunner("web", env={"JOBRUNNER_DATABASE_URL": "sqlite:////nowhere/at/all.db"}, check=False)
    assert (refused.returncode, refused.stdout) == (69, "")


def test_people_of_the_user_file_sign_in_with_their_passwords(
    jobrunner: Commands, database: Database, tmp_path: Path
) -> None:
    run_id = queue(database, "append")
    people = tmp_path / "people"
    password = "correct horse"
    (block,) = pages.checked_by(
        "tests/web/test_web_server.py::test_people_of_the_user_file_sign_in_with_their_passwords"
    )
    *adding, serving = (command.replace("people", str(people)).split()[1:] for command in block.commands)
    for words in adding:
        made = jobrunner(*words, stdin=f"{password}\n")
        assert password not in made.stdout + made.stderr + people.read_text()
    with served(jobrunner, *serving[1:], "--host", "0.0.0.0") as server:
        assert server.lines[0] == f"http://0.0.0.0:{server.port}/"
        statuses = {}
        for name in ("ada", "bob"):
            browser = Browser(server.port)
            answer, _ = browser(f"/runs/{run_id}")
            assert (answer.status, answer.headers["Location"]) == (303, "../login")
            answer, text = browser("/login")
            assert '<form class="line" method="post" action="login">' in text
            answer, _ = browser("/login", {"name": name, "password": password}, **SAME)
            assert (answer.status, answer.headers["Location"]) == (303, "./")
            browser.cookie = answer.headers["Set-Cookie"].partition(";")[0]
            assert browser("/")[0].status == 200
            statuses[name] = browser(f"/runs/{run_id}/priority", {"priority": "7"}, **SAME)[0].status
        assert statuses == {"ada": 303, "bob": 403}
    (event,) = database.query("SELECT actor FROM job_events")
    assert event["actor"] == "ada (page)"


@sqlite_only
def test_name_in_a_header_is_believed_of_the_named_proxy_only(jobrunner: Commands) -> None:
    named = {"X_Remote_User": "ada"}
    with served(jobrunner, "--trust-header", "X-Remote-User", "--proxy", "127.0.0.1") as server:
        browser = Browser(server.port)
        assert (browser("/", **named)[0].status, browser("/")[0].status) == (200, 403)
        # What a visitor says of where he comes from is not the address of the connection.
        assert browser("/", **named, X_Forwarded_For="10.9.9.9")[0].status == 200
    with served(jobrunner, "--trust-header", "X-Remote-User", "--proxy", "10.9.9.9") as server:
        assert Browser(server.port)("/", **named, X_Forwarded_For="10.9.9.9")[0].status == 403


def test_page_says_when_the_schema_does_not_fit_and_when_the_database_comes_back(
    jobrunner: Commands, database: Database
) -> None:
    with served(jobrunner) as server:
        browser = signed_in(server)
        database.execute("ALTER TABLE job_attempts RENAME TO gone")
        queue(database, "append")
        answer, text = browser("/runs/1")
        assert (answer.status, "jobrunner migrate" in text) == (503, True)
        database.execute("ALTER TABLE gone RENAME TO job_attempts")
        wait_for(lambda: browser("/runs/1")[0].status == 200, 10)


@sqlite_only
def test_commands_of_the_page(jobrunner: Commands) -> None:
    """What docs/howto/dashboard.md prints is what the command prints."""
    (block,) = pages.checked_by("tests/web/test_web_server.py::test_commands_of_the_page")
    command, link = block.text.splitlines()
    assert command == "$ jobrunner web"
    with served(jobrunner) as server:
        shape = re.sub(r"token=\S+", "token=", link)
        assert shape == re.sub(r"token=\S+", "token=", server.lines[0].replace(str(server.port), "8321"))


INTERRUPTED_AT_ONCE = """
import asyncio, os, signal, socket
from jobrunner.web.server import serve

make = asyncio.BaseEventLoop.create_task

def interrupted(loop, coroutine, **options):
    asyncio.BaseEventLoop.create_task = make
    os.kill(os.getpid(), signal.SIGINT)
    return make(loop, coroutine, **options)

asyncio.BaseEventLoop.create_task = interrupted
try:
    serve(None, socket.create_server(("127.0.0.1", 0)))
except KeyboardInterrupt:
    print("interrupted")
"""


def test_interrupt_before_the_server_serves_ends_it_without_a_word() -> None:
    ended = subprocess.run([sys.executable, "-c", INTERRUPTED_AT_ONCE], capture_output=True, text=True)
    assert (ended.stdout, ended.stderr) == ("interrupted\n", "")


def test_the_server_of_the_page_asks_the_handlers_of_its_host(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.add('@job("typed")\ndef typed(ctx: Context, count: int): ...\n')
    at = database.now()
    mine, unknown = (
        queue(database, each, {"count": "1"}, status="dead", finished_at=at) for each in ("typed", "nobody")
    )
    with served(jobrunner) as server:
        browser = signed_in(server)
        for run_id, given, says in (
            (mine, {"payload": '{"count": "many"}'}, "argument 'count' must be int, not str"),
            (unknown, {"payload": '{"count": 2}'}, "no handler for 'nobody'"),
        ):
            answer, text = browser(f"/runs/{run_id}/payload", given, **SAME)
            assert (answer.status, says in unescape(text)) == (400, True), text
            assert "tick the box" in text or run_id == mine
        for run_id, more in ((mine, {}), (unknown, {"unchecked": "yes"})):
            answer, text = browser(f"/runs/{run_id}/payload", {"payload": '{"count": 2}', **more}, **SAME)
            assert answer.status == 303, text
    assert [status_of(database, run_id) for run_id in (mine, unknown)] == ["queued"] * 2


FROZEN = """
import gc, os, signal, socket, threading, urllib.request
from jobrunner.web.messages import Response
from jobrunner.web.server import serve

listening = socket.create_server(("127.0.0.1", 0))

def ask():
    with urllib.request.urlopen("http://127.0.0.1:%d/" % listening.getsockname()[1]) as answer:
        print(answer.read().decode())
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=ask).start()
try:
    serve(lambda request: Response(200, (), str(gc.get_freeze_count()).encode()), listening)
except KeyboardInterrupt:
    pass
"""


def test_no_collection_of_garbage_looks_through_what_the_server_has_imported() -> None:
    """Every fifth page took four times as long as the others: a full collection went through all modules."""
    done = subprocess.run(
        [sys.executable, "-c", FROZEN], capture_output=True, text=True, timeout=stretched(60), check=True
    )
    assert int(done.stdout) > 10_000
