"""The fixture `jobrunner`: the installed command as a real process, in an environment as empty as cron's."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from harness.app import App
from harness.database import Database
from harness.processes import Patient, command_line, kill_group, kill_marked, marked_processes
from harness.warm import WarmProcess, can_be_warm

if TYPE_CHECKING:
    from harness.databases import PrivatePostgres

# Another installation can be put to the same tests, e.g. a wheel in a clean environment.
COMMAND = os.environ.get("JOBRUNNER_TEST_COMMAND") or str(Path(sys.executable).with_name("jobrunner"))


def clean_environment(home: Path) -> dict[str, str]:
    """What a command gets besides JOBRUNNER_*: none of the developer's own settings."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "TMPDIR": tempfile.gettempdir(),
        "LANG": "C.UTF-8",
    }


class Completed(subprocess.CompletedProcess[str]):
    """What a finished command left: returncode, stdout, stderr."""

    def json(self) -> Any:
        """The standard output, decoded."""
        try:
            return json.loads(self.stdout)
        except ValueError:
            raise AssertionError(f"not JSON:\n{describe(self)}") from None


def describe(done: "subprocess.CompletedProcess[str]") -> str:
    words = " ".join(done.args[1:])
    return f"jobrunner {words}: exit {done.returncode}\nstdout: {done.stdout}\nstderr: {done.stderr}"


class Commands:
    """Calls the command against one database, with the handlers of one application."""

    def __init__(self, folder: Path, app: App, database: Database) -> None:
        self.app = app
        self.database = database
        self.command = COMMAND
        self.is_cold = False
        self.home = folder / "home"
        self.state_dir = folder / "state"
        for made in (self.home, self.state_dir):
            made.mkdir(mode=0o700, exist_ok=True)
        self.test_id = uuid4().hex
        self.history: list[Completed] = []
        self._marks = [f"TEST_ID_OF_JOBRUNNER={self.test_id}".encode(), f"{folder}/".encode()]
        self._started: list[subprocess.Popen[Any]] = []

    def environment(self, env: Mapping[str, str | None] | None = None) -> dict[str, str]:
        """A command's whole environment; None as a value takes a variable away."""
        variables: dict[str, str | None] = {
            **clean_environment(self.home),
            **self.app.environment(),
            "JOBRUNNER_DATABASE_URL": self.database.url,
            "JOBRUNNER_STATE_DIR": str(self.state_dir),
            "TEST_ID_OF_JOBRUNNER": self.test_id,
            **(env or {}),
        }
        return {name: value for name, value in variables.items() if value is not None}

    def __call__(
        self,
        *args: object,
        env: Mapping[str, str | None] | None = None,
        stdin: str | None = None,
        check: bool = True,
        timeout: float = 60,
        cwd: Path | None = None,
        cold: bool = False,
    ) -> Completed:
        """Run the command to its end. With `check` another exit code than 0 is an AssertionError."""
        process = self.start(*args, env=env, stdin=stdin is not None, cwd=cwd, cold=cold)
        done = self.finish(process, stdin, timeout)
        assert not check or done.returncode == 0, describe(done)
        return done

    def refused(self, code: int | None, *args: object, says: Iterable[str] = (), **options: Any) -> str:
        """The one line that a command says on stderr, with all this in it, as it ends so; None is any code but 0."""
        done = self(*args, check=False, **options)
        assert done.returncode == code if code is not None else done.returncode, describe(done)
        assert (done.stdout, done.stderr.count("\n"), done.stderr[:11]) == ("", 1, "jobrunner: "), describe(done)
        assert [each for each in says if each not in done.stderr] == [], describe(done)
        return done.stderr

    def finish(self, process: "subprocess.Popen[str]", stdin: str | None = None, timeout: float = 60) -> Completed:
        """Wait for the end of a command that was started. Commands that are started first work at the same time."""
        try:
            stdout, stderr = process.communicate(stdin, timeout)
        except subprocess.TimeoutExpired:
            kill_group(process)
            words = " ".join(map(str, process.args[1:]))  # type: ignore[index] # a list: what `start` has given it
            raise AssertionError(f"jobrunner {words}: still at work after {timeout} s") from None
        finally:
            self._started.remove(process)
        done = Completed(process.args, process.returncode, stdout, stderr)
        self.history.append(done)
        return done

    def start(
        self,
        *args: object,
        env: Mapping[str, str | None] | None = None,
        stdin: bool = False,
        cwd: Path | None = None,
        cold: bool = False,
        terminal: int | None = None,
    ) -> "subprocess.Popen[str]":
        """Start the command in its own session and go on. The end of the test kills it and all it started.

        With `terminal`, the end of a pseudo-terminal, its three streams are that.

        Its output goes through pipes: read it with `communicate()`, or keep it small. It is a copy of a process that
        has imported everything (`harness.starter`), ten times as quick; `cold` starts the script itself, for tests of
        the start, the environment and the imports.
        """
        given = subprocess.PIPE if stdin else subprocess.DEVNULL
        streams = {"stdin": given} if terminal is None else dict.fromkeys(("stdin", "stdout", "stderr"), terminal)
        process: subprocess.Popen[str] = self._popen(args, env, cold=cold, cwd=cwd, text=True, **streams)
        self._started.append(process)
        return process

    def run_bytes(
        self, *args: object, env: Mapping[str, str | None] | None = None, stdin: bytes | None = None
    ) -> "subprocess.CompletedProcess[bytes]":
        """Run the command to its end, with whatever exit code; its output as it came."""
        return self.finish_bytes(self.start_bytes(*args, env=env, stdin=stdin), stdin)

    def start_bytes(
        self, *args: object, env: Mapping[str, str | None] | None = None, stdin: bytes | None = None
    ) -> "subprocess.Popen[bytes]":
        process: subprocess.Popen[bytes] = self._popen(
            args, env, stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE
        )
        self._started.append(process)
        return process

    def finish_bytes(
        self, process: "subprocess.Popen[bytes]", stdin: bytes | None = None
    ) -> "subprocess.CompletedProcess[bytes]":
        with process:
            try:
                stdout, stderr = process.communicate(stdin, timeout=60)
            except BaseException:
                kill_group(process)
                raise
        self._started.remove(process)
        return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)

    def _popen(
        self,
        args: Sequence[object],
        env: Mapping[str, str | None] | None,
        *,
        cold: bool = False,
        cwd: Path | None = None,
        **options: Any,
    ) -> "subprocess.Popen[Any]":
        environment = self.environment(env)
        words = [str(word) for word in args]
        is_warm = not (cold or self.is_cold) and can_be_warm(self.command, words, environment)
        return (WarmProcess if is_warm else Patient)(
            [self.command, *words],
            env=environment,
            cwd=cwd or self.home,
            start_new_session=True,
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
        )

    def start_python(self, source: str, *args: object) -> "subprocess.Popen[str]":
        """An application of a user's own, as `python -c`: with the commands' environment, and `app` to import from."""
        process = WarmProcess(
            [sys.executable, "-c", dedent(source), *map(str, args)],
            env={"PYTHONPATH": str(self.app.folder), **self.environment()},
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._started.append(process)
        return process

    def python(self, source: str, *args: object) -> str:
        """What such an application prints; it must succeed."""
        process = self.start_python(source, *args)
        stdout, stderr = process.communicate(timeout=60)
        self._started.remove(process)
        assert (process.returncode, stderr) == (0, "")
        return stdout

    def tick(self, *args: object, **options: Any) -> Completed:
        return self("tick", *args, **options)

    def killed_at(self, point: str, *args: object, env: Mapping[str, str | None] | None = None) -> None:
        """A tick that is killed at a fault point."""
        done = self("tick", *args, env={"JOBRUNNER_FAULT": f"{point}=kill", **(env or {})}, check=False)
        assert done.returncode == -signal.SIGKILL, describe(done)

    def enqueue(self, job_type: str, payload: Mapping[str, Any] | None = None, **options: object) -> int:
        """Enqueue a run and return its id: `enqueue("echo", {"a": 1}, run_at=..., key="x")`."""
        words: list[object] = ["enqueue", job_type, "--payload", json.dumps(payload or {}), "--json"]
        for name, value in options.items():
            flag = "--" + name.replace("_", "-")
            words += [flag] if value is True else [flag, value]
        answer = self(*words).json()
        return int(answer["id"] if isinstance(answer, dict) else answer)

    def show(self, run_id: int) -> dict[str, Any]:
        answer: dict[str, Any] = self("show", run_id, "--json").json()
        return answer

    def status(self) -> dict[str, Any]:
        answer: dict[str, Any] = self("status", "--json").json()
        return answer

    def leftover_processes(self) -> list[int]:
        """The living processes that descend from this test's commands, those still at work on purpose included."""
        return marked_processes(self._marks)

    def describe_leftovers(self) -> str:
        return "\n".join(f"{pid}: {command_line(pid)}" for pid in self.leftover_processes()) or "none left"

    def describe_history(self) -> str:
        return "\n".join(describe(done) for done in self.history[-10:])

    def close(self) -> None:
        for process in self._started:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGCONT)
            kill_group(process)
        kill_marked(self._marks)


@pytest.fixture
def jobrunner(request: pytest.FixtureRequest, database: Database, app: App, tmp_path: Path) -> Iterator[Commands]:
    """The installed command, against `database`, with the handlers of `app`."""
    commands = Commands(tmp_path, app, database)
    commands.is_cold = request.node.get_closest_marker("cold") is not None
    yield commands
    commands.close()


@pytest.fixture
def private_jobrunner(private_postgres: "PrivatePostgres", app: App, tmp_path: Path) -> Iterator[Commands]:
    """The installed command, against the database of `private_postgres`."""
    commands = Commands(tmp_path, app, private_postgres.database)
    yield commands
    commands.close()
