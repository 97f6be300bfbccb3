"""pipx and uv install the wheel into an environment of its own, as docs/howto/installation.md shows."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from harness import App, Commands, pages, sqlite_only
from harness.installation import Distributions

NAME = "tests/project/test_tools.py::test_wheel_that_is_installed_as_a_tool_runs_commands_and_says_what_handlers_need"
TOOLS = ("pipx", "uv")


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of both, from the package index."""
    folder = tmp_path_factory.mktemp("tools")
    for words in (
        ["-m", "venv", "--without-pip", folder],
        ["-m", "pip", "--python", folder / "bin" / "python", "install", "--quiet", *TOOLS],
    ):
        subprocess.run([sys.executable, *words], check=True, capture_output=True)
    return folder / "bin"


@pytest.mark.long
@pytest.mark.timeout(600)
@sqlite_only
@pytest.mark.parametrize("tool", TOOLS)
def test_wheel_that_is_installed_as_a_tool_runs_commands_and_says_what_handlers_need(
    tool: str, tools: Path, distributions: Distributions, jobrunner: Commands, app: App, tmp_path: Path
) -> None:
    typed, said = pages.checked_by(NAME)
    (command,) = (each for each in typed.commands if each.startswith(tool))
    program, *words = shlex.split(command)
    words = [str(distributions.wheel) if word.endswith(".whl") else word for word in words]
    place = {f"{name}_BIN_DIR": str(tmp_path / "bin") for name in ("PIPX", "UV_TOOL")}
    place |= {"PIPX_HOME": str(tmp_path / "pipx"), "UV_TOOL_DIR": str(tmp_path / "uv")}
    # Where the package index is stands in the environment of the tester.
    done = subprocess.run([tools / program, *words], env={**os.environ, **place}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    jobrunner.command = str(tmp_path / "bin" / "jobrunner")

    toml = app.folder / "jobrunner.toml"
    toml.write_text('[jobs.hello]\ncommand = ["echo", "hello"]\n')
    toml.chmod(0o600)
    without = {"JOBRUNNER_IMPORT": None}
    run_id = int(jobrunner("enqueue", "hello", env=without).stdout)
    jobrunner.tick(env=without)
    assert jobrunner.show(run_id)["status"] == "succeeded"

    app.write("jobs", "import flask\n")
    jobrunner("enqueue", "greet", "--allow-unknown", env=without)
    refused = jobrunner("tick", env={"JOBRUNNER_IMPORT": "jobs"}, check=False)
    assert refused.returncode == 78
    assert re.sub(r"/\S+ has", "PLACE has", refused.stderr) == re.sub(r"/\S+ has", "PLACE has", said.text)
