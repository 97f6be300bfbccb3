"""Each thing has one name, each name means one thing, and an old name is refused with the new one."""

from collections.abc import Iterator

import click
import pytest

from harness import Commands, sqlite_only
from jobrunner.cli.program import cli
from jobrunner.renamed import RENAMED


def commands() -> dict[str, click.Command]:
    """Each command and each group by its path."""

    def walk(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
        for name in group.list_commands(context):
            if (command := group.get_command(context, name)) is not None:
                yield f"{path}{name}", command
                if isinstance(command, click.Group):
                    yield from walk(command, f"{path}{name} ")

    context = click.Context(cli)
    return dict(walk(cli, ""))


def spelled(command: click.Command) -> set[str]:
    return {name for each in command.params for name in (*each.opts, *each.secondary_opts) if name.startswith("-")}


@sqlite_only
@pytest.mark.parametrize("old", [*RENAMED["command"], *RENAMED["option"]])
def test_an_old_command_or_option_is_refused_with_its_new_name(jobrunner: Commands, old: str) -> None:
    done = jobrunner(*old.split(), check=False)
    new = {**RENAMED["command"], **RENAMED["option"]}[old]
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert f"is now: {'jobrunner ' if old in RENAMED['command'] else ''}{new}" in done.stderr


@sqlite_only
def test_a_type_that_stats_took_as_an_argument_is_refused_with_the_option(jobrunner: Commands) -> None:
    done = jobrunner("stats", "report", check=False)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert f"'report' of 'stats' is now: {RENAMED['argument']['stats']}" in done.stderr


def test_each_new_name_of_a_command_or_an_option_is_there_and_no_old_one() -> None:
    tree = commands()
    assert not RENAMED["command"].keys() & tree.keys()
    assert set(RENAMED["command"].values()) <= tree.keys()
    for old, new in RENAMED["option"].items():
        path, name = old.rsplit(" ", 1)
        assert name not in spelled(tree[path])
        # Another option of this command, or a command of its own.
        if new.startswith("--"):
            assert new.split(",")[0].split()[0] in spelled(tree[path]), old
        else:
            assert any(f"{new} ".startswith(f"jobrunner {each} ") for each in tree), old
