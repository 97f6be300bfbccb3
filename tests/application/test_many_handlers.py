"""An application of hundreds of job types is imported by each tick that has a run, and its file is read."""

from pathlib import Path

import pytest

from harness.counted_calls import calls_of
from jobrunner import Context, job
from jobrunner.settings import toml_file


def register(first: int, count: int, *, renamed: bool = False) -> None:
    for number in range(first, first + count):

        @job(f"type_{number}", formerly=[f"was_{number}"] if renamed else [])
        def tried(ctx: Context, order_id: int, note: str = "") -> None: ...


@pytest.mark.parametrize("renamed", [False, True])
def test_a_handler_beside_hundreds_of_others_is_registered_with_no_more_calls_than_the_first_ones(
    renamed: bool,
) -> None:
    register(0, 1, renamed=renamed)
    few = calls_of(lambda: register(1, 100, renamed=renamed))
    register(101, 500, renamed=renamed)
    assert calls_of(lambda: register(601, 100, renamed=renamed)) < few * 1.1


@pytest.mark.parametrize("line", ["", 'formerly = "was_{0}"'])
def test_file_of_hundreds_of_commands_is_read_with_as_many_calls_for_each_as_one_of_few(
    tmp_path: Path, line: str
) -> None:
    def read(count: int) -> int:
        file = tmp_path / f"{count}.toml"
        table = f'[jobs.type_{{0}}]\ncommand = ["true"]\n{line}\n'
        file.write_text("".join(table.format(number) for number in range(count)))
        return calls_of(lambda: toml_file.read(file))

    read(1)
    assert read(400) < read(40) * 10 * 1.1
