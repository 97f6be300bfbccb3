"""The log of a test: the file, and the events in it."""

import json
from pathlib import Path
from typing import Any

import pytest


class LogFile:
    """A log file and what is in it so far."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def lines(self, *events: str) -> list[dict[str, Any]]:
        """The lines of these events, or all; each must be one JSON object."""
        text = self.path.read_text("utf-8") if self.path.exists() else ""
        assert text == "" or text.endswith("\n")
        found = [json.loads(line) for line in text.split("\n")[:-1]]
        assert all(isinstance(line, dict) for line in found)
        return [line for line in found if not events or line["event"] in events]


@pytest.fixture
def log(tmp_path: Path) -> LogFile:
    return LogFile(tmp_path / "log")
