"""The files of docs/howto/platforms.md: parsed, and their commands started as each platform starts them."""

import json
import os
import signal
import subprocess
import tomllib
from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest
import yaml

from harness import App, Commands, PostgresDatabase, pages, postgresql_only
from harness.handlers_rows import queue
from harness.processes import Patient
from jobrunner.settings import config

TEST = "tests/project/test_platforms.py::test_files_of_each_platform_migrate_start_ticks_and_end_in_time"
AFTER_GRACE = 5


class Setup(NamedTuple):
    """What a file says: its commands, the environment that it or the platform sets, and how long a stop may take."""

    release: list[str]
    loop: list[str]
    env: Mapping[str, str]
    stop_seconds: int


def shell(command: str) -> list[str]:
    return ["sh", "-c", command]


def of_heroku(text: str, url: str) -> Setup:
    lines = dict(line.split(": ", 1) for line in text.splitlines())
    env = {"DATABASE_URL": url, "DYNO": "jobs.1", "JOBRUNNER_IMPORT": "app.jobs"}
    return Setup(shell(lines["release"]), shell(lines["jobs"]), env, 30)


def of_fly(text: str, url: str) -> Setup:
    given = tomllib.loads(text)
    assert given["kill_signal"] == "SIGTERM"
    env = {**given["env"], "JOBRUNNER_DATABASE_URL": url}
    seconds = int(given["kill_timeout"].removesuffix("s"))
    # Without a shell.
    release, loop = given["deploy"]["release_command"], given["processes"]["jobs"]
    return Setup(release.split(), loop.split(), env, seconds)


def of_render(text: str, url: str) -> Setup:
    given: Any = yaml.safe_load(text)
    (service,) = given["services"]
    env = {each["key"]: each.get("value", url) for each in service["envVars"]}
    assert {each["fromDatabase"]["name"] for each in service["envVars"] if "fromDatabase" in each} == {
        each["name"] for each in given["databases"]
    }
    release, loop = shell(service["preDeployCommand"]), shell(service["startCommand"])
    return Setup(release, loop, env, service["maxShutdownDelaySeconds"])


def of_ecs(text: str, url: str) -> Setup:
    (container,) = json.loads(text)["containerDefinitions"]
    env = {each["name"]: each["value"] for each in container["environment"]}
    env |= {each["name"]: url for each in container["secrets"]}
    # The image begins with the command itself.
    return Setup(["jobrunner", "migrate"], ["jobrunner", *container["command"]], env, container["stopTimeout"])


PLATFORMS = {"procfile": of_heroku, "toml": of_fly, "yaml": of_render, "json": of_ecs}


@postgresql_only
@pytest.mark.parametrize("language", PLATFORMS)
def test_files_of_each_platform_migrate_start_ticks_and_end_in_time(
    jobrunner: Commands, app: App, empty: PostgresDatabase, language: str
) -> None:
    (block,) = (each for each in pages.checked_by(TEST) if each.language == language)
    setup = PLATFORMS[language](block.text, empty.url.replace("postgresql://", "postgres://"))
    assert setup.env["JOBRUNNER_IMPORT"] == "app.jobs"
    assert setup.stop_seconds > config.load({}).grace.total_seconds() + AFTER_GRACE
    folder = os.path.dirname(jobrunner.command)
    env = {**jobrunner.environment(), **setup.env, "JOBRUNNER_IMPORT": "handlers"}
    if language == "procfile":
        del env["JOBRUNNER_DATABASE_URL"]
    env["PATH"] = f"{folder}:{env.get('PATH', os.defpath)}"

    def at(words: list[str]) -> list[str]:
        return [str(jobrunner.command), *words[1:]] if words[0] == "jobrunner" else words

    subprocess.run(at(setup.release), env=env, check=True, stdout=subprocess.DEVNULL)
    run_id = queue(empty, "append")
    with Patient(at(setup.loop), env=env, stderr=subprocess.PIPE, text=True) as loop:
        empty.wait_until("SELECT status = 'succeeded' AS done FROM job_runs")
        loop.send_signal(signal.SIGTERM)
        _, said = loop.communicate(timeout=setup.stop_seconds)
    assert (loop.returncode, "jobrunner: ready" in said) == (0, True), said
    hosts = {row["host"] for row in empty.query("SELECT host FROM job_ticks")}
    assert hosts == {setup.env.get("JOBRUNNER_HOST", "jobs.1")}
    assert run_id == 1
