"""How the demo tells what it does, runs the installed command, and looks into the database."""

import itertools
import json
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, Row, create_engine, text
from tables import url

COMMAND = Path(sys.executable).with_name("jobrunner")
DEADLINE_SECONDS = 90


class DemoFailed(Exception):
    """Something is not as it should be; the message is one line."""


def say(line: str) -> None:
    """One line of what is going on."""
    print(f"   {line}", flush=True)


_sections = itertools.count(1)


def chapter(title: str) -> None:
    """The next part of the demo."""
    print(f"\n{next(_sections)}. {title}", flush=True)


def command(*words: str) -> None:
    """Show a command as one would type it."""
    print(f"   $ jobrunner {shlex.join(words)}", flush=True)


def jobrunner(*words: str) -> None:
    """Run the installed command as anybody would, and show what it prints."""
    command(*words)
    done = subprocess.run([COMMAND, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    for line in (done.stdout + done.stderr).splitlines():
        print(f"     {line}".rstrip(), flush=True)
    if done.returncode:
        raise DemoFailed(f"jobrunner {words[0]} ended with exit code {done.returncode}")


@cache
def reader() -> Engine:
    """A connection that only looks: it waits for nobody, not even for a tick that is held still."""
    return create_engine(url())


def rows(statement: str) -> Sequence[Row[Any]]:
    """What a statement finds: jobrunner's tables are ordinary tables."""
    with reader().connect() as connection:
        return connection.execute(text(statement)).all()


def decoded(value: Any) -> dict[str, int]:
    """A column of JSON, which SQLite gives as text."""
    return dict(json.loads(value) if isinstance(value, str) else value or {})


def shown(path: Path) -> str:
    """A path as short as it can be said from here."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path) + "/"


def expect(what: str, is_so: bool) -> None:
    """The demo ends here unless it is so."""
    if not is_so:
        raise DemoFailed(f"not as it should be: {what}")


def wait_for(is_so: Callable[[], object], what: str) -> None:
    """Look until it is so, for a bounded time."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not is_so():
        if time.monotonic() > deadline:
            raise DemoFailed(f"waited {DEADLINE_SECONDS} s in vain for {what}; see jobrunner.log")
        time.sleep(0.05)
