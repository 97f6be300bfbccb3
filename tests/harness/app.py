"""The fixture `app`: a folder with handlers, as a user of jobrunner would have one."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

HANDLERS = '''
import os
import time

from jobrunner import Context, Discard, Retry, Snooze, exponential, job


@job("echo")
def echo(ctx: Context, **payload):
    return payload


def leave_trace(ctx):
    """One line per attempt; O_APPEND keeps the lines of several processes apart."""
    line = f"{ctx.run_id} {ctx.attempt} {os.getpid()}\\n".encode()
    trace = os.open(os.environ["TRACE_FILE"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(trace, line)
    finally:
        os.close(trace)


@job("append")
def append(ctx: Context, **payload):
    leave_trace(ctx)


@job("sleep", timeout="5m", kill_after="2s")
def sleep(ctx: Context, seconds: float):
    leave_trace(ctx)
    time.sleep(seconds)


@job("fail")
def fail(ctx: Context, message: str = "as asked"):
    leave_trace(ctx)
    raise RuntimeError(message)


@job("wait_for", timeout="5m")
def wait_for(ctx: Context, path: str):
    """Holds its run at work until the test makes the file."""
    leave_trace(ctx)
    while not os.path.exists(path):
        time.sleep(0.01)
'''


@dataclass(frozen=True)
class TraceLine:
    """What a handler left behind: which run, which attempt, in which process."""

    run_id: int
    attempt: int
    pid: int


class App:
    """The application folder. `handlers` is imported by the children, unless `imports` names other modules."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.trace_file = folder / "trace"
        self.imports = "handlers"
        self.write("handlers", HANDLERS)

    def write(self, module: str, source: str) -> Path:
        """Write a module, indented as the test that holds it, in place of one of that name."""
        path = self.folder / f"{module}.py"
        path.write_text(dedent(source))
        # Compiled code is taken for this source's if both sources have one length and were written in one second.
        shutil.rmtree(self.folder / "__pycache__", ignore_errors=True)
        return path

    def add(self, source: str) -> Path:
        """Write further handlers after the default ones."""
        return self.write("handlers", HANDLERS + "\n\n" + dedent(source))

    def path(self, name: str) -> Path:
        """A file of the test's own in the folder, e.g. one that a handler waits for."""
        return self.folder / name

    def release(self, name: str) -> None:
        """Make the file that a `wait_for` handler polls for."""
        self.path(name).touch()

    def end(self, tick: "subprocess.Popen[str]", name: str) -> None:
        """Make that file, and wait until the tick whose handlers wait for it has ended as it should."""
        self.release(name)
        assert (*tick.communicate(timeout=60), tick.returncode) == ("", "", 0)

    def trace(self) -> list[TraceLine]:
        """What the handlers appended so far, in order."""
        if not self.trace_file.exists():
            return []
        return [TraceLine(*map(int, line.split())) for line in self.trace_file.read_text().splitlines()]

    def environment(self) -> dict[str, str]:
        return {
            "JOBRUNNER_APP_DIR": str(self.folder),
            "JOBRUNNER_IMPORT": self.imports,
            "TRACE_FILE": str(self.trace_file),
        }


@pytest.fixture
def app(tmp_path: Path) -> App:
    """An application folder with the handlers echo, append, sleep, fail and wait_for."""
    folder = tmp_path / "app"
    folder.mkdir()
    return App(folder)
