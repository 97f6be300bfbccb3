"""What every command says of a database that it cannot reach, whatever the cause."""

import time
from pathlib import Path

from harness.commands import Commands, Completed
from harness.waiting import stretched

PASSWORD = "s3cr3t-wOrd"
SECONDS = 15
COMMANDS = [["tick"], ["status"], ["enqueue", "echo", "--allow-unknown"], ["migrate"]]


def refused_in_time(jobrunner: Commands, url: str, *words: str) -> str:
    """Assert all that holds whatever the cause, and return the one line."""
    (line,) = all_refused_in_time(jobrunner, [(url, [*words])])
    return line


def refused_by_each(jobrunner: Commands, url: str, commands: list[list[str]] = COMMANDS) -> list[str]:
    """The same of each command."""
    return all_refused_in_time(jobrunner, [(url, words) for words in commands])


def all_refused_in_time(jobrunner: Commands, calls: list[tuple[str, list[str]]]) -> list[str]:
    """The same of several commands that are started together, each with its URL."""
    logs = [jobrunner.home / f"log {number}" for number in range(len(calls))]
    before = time.monotonic()
    started = [
        jobrunner.start(*words, env={"JOBRUNNER_DATABASE_URL": url, "JOBRUNNER_LOG": str(log)})
        for (url, words), log in zip(calls, logs, strict=True)
    ]
    done = [jobrunner.finish(process) for process in started]
    assert time.monotonic() - before < stretched(SECONDS)
    return [one_line(each, log) for each, log in zip(done, logs, strict=True)]


def one_line(done: Completed, log: Path) -> str:
    assert (done.returncode, done.stdout) == (69, "")
    assert done.stderr.startswith("jobrunner: ")
    assert len(done.stderr.splitlines()) == 1
    told = log.read_text() if log.exists() else ""
    assert PASSWORD not in done.stdout + done.stderr + told
    return done.stderr
