"""Questions from Python: the records of the commands, on any connection of the caller, which stays as it was."""

import asyncio
from typing import Any

import pytest

from harness import Commands, Database
from harness.async_connections import KINDS as ASYNC_KINDS
from harness.async_connections import Opened
from harness.asked import KINDS, questions, timeless
from harness.plans import fill_a_little
from jobrunner import ask


@pytest.fixture
def run(jobrunner: Commands, database: Database) -> int:
    """A run, beside something of everything."""
    fill_a_little(database)
    jobrunner.tick()
    database.execute("UPDATE job_runs SET progress = ?, last_error = 'no_such', error_type = 'E'", ['{"done": 1}'])
    return int(database.value("SELECT max(run_id) FROM job_attempts"))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_asked_from_python_is_what_the_command_prints(
    jobrunner: Commands, database: Database, run: int, kind: str
) -> None:
    with KINDS[kind](database) as connection:
        for asked in questions(run, "little"):
            answer = ask.to_dict(asked.of(connection))
            if asked.name != "counts" and hasattr(connection, "rollback"):
                connection.rollback()
            assert timeless(answer) == timeless(asked.printed(jobrunner)), asked.words


def test_what_is_asked_with_await_is_what_the_command_prints(
    jobrunner: Commands, database: Database, run: int
) -> None:
    listed = questions(run, "little")
    printed = [asked.printed(jobrunner) for asked in listed]

    async def story(opened: Opened) -> None:
        for asked, expected in zip(listed, printed, strict=True):
            answer = ask.to_dict(await asked.of_async(opened.connection))
            assert timeless(answer) == timeless(expected), asked.words

    async def tell() -> None:
        for kind in ASYNC_KINDS[database.name]:
            async with kind(database) as opened:
                try:
                    await story(opened)
                except BaseException as error:
                    error.add_note(f"on {kind.__name__}")
                    raise

    asyncio.run(tell())
