"""The README is a promise, too: what it shows is run, and what it says is compared."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.commands import clean_environment
from jobrunner import lifecycle

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def normalised(text: str) -> str:
    """Without what differs from machine to machine: instants, folders, host names, and widths that follow from them."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ", "INSTANT", text)
    text = re.sub(r"sqlite:/+\S*/app\.db", "URL", text)
    text = re.sub(r"(?m)^  \S+( +INSTANT +INSTANT)", r"  HOST\1", text)
    return "\n".join(re.sub(r" {2,}", "  ", line).rstrip() for line in text.strip().split("\n"))


def test_diagram_is_made_from_the_table_of_transitions():
    assert blocks("mermaid") == [lifecycle.diagram() + "\n"]


def test_five_minutes_print_what_the_readme_shows(tmp_path):
    handlers = next(block for block in blocks("python") if "@job" in block)
    (tmp_path / "jobs.py").write_text(handlers)
    session = next(block for block in blocks("console") if "jobrunner migrate" in block)
    commands = [line[2:] for line in session.splitlines() if line.startswith("$ ")]
    environment = clean_environment(tmp_path)
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    environment["JOBRUNNER_STATE_DIR"] = str(tmp_path / "state")
    # The prompt is printed before each command, so that outputs can be told apart as in the README.
    script = "\n".join(f"printf '%s\\n' {quoted('$ ' + command)}; {command}" for command in commands)
    shown = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
    )
    assert normalised(shown.stdout) == normalised(session)


def test_crontab_line_is_the_one_of_the_example():
    (line,) = blocks("crontab")
    assert line in (ROOT / "crontab.example").read_text().splitlines(keepends=True)


@pytest.mark.parametrize("target", ["demo", "test", "check", "help"])
def test_named_make_targets_exist(target):
    assert f"make {target}" in README
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_command_and_setting_is_in_the_readme():
    done = subprocess.run([sys.executable, "-m", "jobrunner", "--help"], capture_output=True, text=True, check=True)
    for command in re.findall(r"^  (\w+) ", done.stdout.split("Commands:")[1], re.MULTILINE):
        assert f"`jobrunner {command}" in README
    source = (ROOT / "jobrunner" / "config.py").read_text()
    for name in re.findall(r'reader\.\w+\("(\w+)"', source):
        assert f"JOBRUNNER_{name.upper()}`" in README or f"_{name.upper().rpartition('_')[2]}`" in README, name


def test_ci_runs_the_test_command_of_the_readme():
    assert "make test" in README
    check = subprocess.run(["make", "-n", "check"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "make check" in (ROOT / ".ci" / "run").read_text()
    assert "pytest" in check.stdout


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
