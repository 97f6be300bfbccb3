"""The commands: found by name, imported only when called."""

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from harness.calls import CALLS
from jobrunner.cli import program

# With the settings of the program: click keeps the help option of the first context for the whole process.
CONTEXT = click.Context(program.cli, **program.cli.context_settings)


def test_each_module_in_a_folder_of_commands_is_a_command_of_the_table() -> None:
    places = {Path(*module.split(".")[2:]).with_suffix(".py") for module in program.MODULES.values()}
    folder = Path(program.__file__).parent
    files = (file for each in {place.parts[0] for place in places} for file in (folder / each).rglob("*.py"))
    assert {file.relative_to(folder) for file in files if file.name != "__init__.py"} == places


def test_every_command_has_a_row_in_the_table_of_calls() -> None:
    assert CALLS.keys() == program.MODULES.keys()


def test_each_command_and_each_of_its_options_is_completed() -> None:
    completion = ShellComplete(program.cli, {}, "jobrunner", "_JOBRUNNER_COMPLETE")
    for command in CALLS:
        *group, name = command.split()
        assert name in {each.value for each in completion.get_completions(group, name[:-1])}
        found = {each.value for each in completion.get_completions(command.split(), "--")}
        assert found >= {"--help", "--env-file", "--utc"}
        used = {word for word in CALLS[command].words.split() if word.startswith("--")}
        assert found >= used, command


def test_the_help_lists_every_command_once_in_a_section_with_what_it_does() -> None:
    text = program.cli.get_help(CONTEXT)
    for name in program.cli.list_commands(CONTEXT):
        command = program.cli.get_command(CONTEXT, name)
        assert command is not None
        assert text.count(f"\n  {name} ") == 1
        assert command.get_short_help_str(20).split()[0] in text


def test_every_command_takes_the_env_file_and_the_configuration_file_once() -> None:
    for words, command in program.every_command().items():
        flags = [flag for parameter in command.params for flag in parameter.opts]
        assert flags.count("--env-file") == flags.count("--config") == 1, words


def test_unknown_command_is_not_found() -> None:
    assert program.cli.get_command(CONTEXT, "nothing") is None


@pytest.mark.parametrize("words", [["--version"], ["completion", "bash"], ["tick", "--help"]], ids=" ".join)
def test_what_a_command_does_not_need_is_not_imported(words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "jobrunner", *words], capture_output=True, text=True, check=True
    )
    imported = {line.rpartition("| ")[2].strip() for line in done.stderr.splitlines()}
    assert "click" in imported
    assert not imported & (
        {"cronsim", "jobrunner.cli.questions.runs"} | ({"sqlalchemy"} if words[0] != "tick" else set())
    )
