"""The applications of the quick start in their own servers: a request enqueues, and a real tick works."""

import json
import signal
import socket
import sqlite3
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from harness import Database, pages, sqlite_only, wait_for
from harness.commands import COMMAND, clean_environment
from harness.connections import sqlalchemy_url
from harness.processes import Patient
from harness.waiting import stretched

BIN = Path(COMMAND).parent


class Application:
    """The files of a section of the quick start, on a test's database."""

    def __init__(self, folder: Path, section: str, database: Database) -> None:
        self.folder = folder / "app"
        self.folder.mkdir()
        for block in pages.read(pages.place("quickstart-app.md")):
            if block.section == section and block.saved_as:
                (self.folder / block.saved_as).write_text(block.text)
        (folder / "state").mkdir(mode=0o700)
        self.environment = clean_environment(folder) | {"JOBRUNNER_STATE_DIR": str(folder / "state")}
        self.environment["PATH"] = f"{BIN}:{self.environment['PATH']}"

    def run(self, *words: str, **variables: str) -> str:
        done = subprocess.run(
            [str(BIN / words[0]), *words[1:]],
            cwd=self.folder,
            env=self.environment | variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, ""), f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def refused(self, *words: str) -> str:
        """What a command says that ends with 78."""
        done = subprocess.run(
            [str(BIN / words[0]), *words[1:]], cwd=self.folder, env=self.environment, capture_output=True, text=True
        )
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (78, "", 1), done
        return done.stderr

    @contextmanager
    def served(self, *words: str) -> Iterator[str]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        process = Patient(
            [str(BIN / words[0]), *words[1:], "--port", str(port)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for(lambda: answers(port) or process.poll() is not None, 30, f"{words} answers")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(10)


def answers(port: int) -> bool:
    with socket.socket() as attempt:
        return attempt.connect_ex(("127.0.0.1", port)) == 0


def post(url: str, body: Any) -> tuple[int, Any]:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=stretched(20)) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def test_flask_application_enqueues_and_its_command_ticks_in_its_app_context(
    database: Database, tmp_path: Path
) -> None:
    application = Application(tmp_path, "Flask", database)
    application.environment["DATABASE_URL"] = sqlalchemy_url(database)
    with application.served("flask", "run") as url:
        assert post(f"{url}/users", {"email": "ada"}) == (201, {"run": 1})
        assert post(f"{url}/users", {"email": "ada"}) == (409, {"error": "this address is taken"})
    # DATABASE_URL is the application's; jobrunner asks the engine of Flask-SQLAlchemy.
    assert application.run("flask", "jobrunner", "tick") == ""
    (run,) = database.query("SELECT status FROM job_runs")
    assert run["status"] == "succeeded"
    assert [bool(row["welcomed"]) for row in database.query('SELECT welcomed FROM "user"')] == [True]


def test_fastapi_application_enqueues_through_an_async_session_and_an_async_handler_works(
    database: Database, tmp_path: Path
) -> None:
    application = Application(tmp_path, "FastAPI", database)
    application.environment["DATABASE_URL"] = database.url
    with application.served("uvicorn", "app:app") as url:
        assert post(f"{url}/users", {"email": "ada"}) == (201, {"run": 1})
        assert post(f"{url}/users", {"email": "ada"}) == (409, {"detail": "this address is taken"})
    assert application.run("jobrunner", "tick", JOBRUNNER_APP_DIR=str(application.folder), JOBRUNNER_IMPORT="app") == ""
    (run,) = database.query("SELECT status, last_error FROM job_runs")
    assert run == {"status": "succeeded", "last_error": None}
    assert [bool(row["welcomed"]) for row in database.query("SELECT welcomed FROM users")] == [True]


@sqlite_only
def test_crontab_line_of_a_flask_application_runs_a_tick_from_its_env_file(database: Database, tmp_path: Path) -> None:
    application = Application(tmp_path, "Flask", database)
    # As where nothing is set: the database is the application's own.
    del application.environment["JOBRUNNER_STATE_DIR"]
    refused = application.refused("flask", "jobrunner", "crontab", "line")
    assert "write it into an env file (mode 0600) with: flask jobrunner env, and give that file" in refused
    (block,) = pages.checked_by(
        "tests/application/test_flask_fastapi.py::test_crontab_line_of_a_flask_application_runs_a_tick_from_its_env_file"
    )
    printed, installed = block.commands
    subprocess.run(["sh", "-c", printed], cwd=application.folder, env=application.environment, check=True)
    assert installed == "jobrunner --env-file jobrunner.env crontab install"
    for words in (["jobrunner"], ["flask", "jobrunner"]):
        line = application.run(*words, "--env-file", "jobrunner.env", "crontab", "line")
        command = line.partition(" PATH=")[2].partition(" ")[2].partition(" # ")[0]
        done = subprocess.run(
            ["sh", "-c", command], cwd="/", env={"HOME": str(tmp_path)}, capture_output=True, text=True
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), command
    with closing(sqlite3.connect(application.folder / "instance" / "app.db")) as used:
        assert used.execute("SELECT count(*) FROM job_ticks").fetchone() == (2,)
