"""The log of a tick, as a file of JSON lines."""

import json
from pathlib import Path

import pytest

from jobrunner.errors import ConfigurationError
from jobrunner.log import LineLog, open_log
from jobrunner.names import LOG_LEVELS


@pytest.mark.parametrize("level", ["info", "warning", "error"])
def test_event_is_one_line_with_its_fields_level_and_instant(tmp_path: Path, level: str) -> None:
    path = tmp_path / "log"
    text = 'a\nb"\\\u2028\x00\ud800é☃'
    log = open_log(str(path), on_stderr=False)
    assert isinstance(log, LineLog)
    with log._stream:
        getattr(log, level)("tick", text=text, path=Path("/x"), nothing=None, some=[1, "a"])
    written = path.read_text("utf-8")
    assert (written.count("\n"), written[-1], written.isascii()) == (1, "\n", True)
    line = json.loads(written)
    assert list(line) == ["text", "path", "nothing", "some", "event", "level", "at"]
    assert (line["event"], line["level"], len(line["at"])) == ("tick", level, 29)
    assert (line["path"], line["nothing"], line["some"]) == ("/x", None, [1, "a"])
    assert line["text"].startswith('a\nb"\\\u2028')
    assert not {"\x00", "\ud800"} & set(line["text"])


@pytest.mark.parametrize("level", LOG_LEVELS)
def test_events_below_the_level_are_left_out(tmp_path: Path, level: str) -> None:
    path = tmp_path / "log"
    log = open_log(str(path), on_stderr=False, level=level)
    assert isinstance(log, LineLog)
    with log._stream:
        for each in LOG_LEVELS:
            getattr(log, each)("tick")
    written = [json.loads(line)["level"] for line in path.read_text().splitlines()]
    assert written == list(LOG_LEVELS[LOG_LEVELS.index(level) :])


def test_file_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot write the log file"):
        open_log(str(tmp_path / "none" / "log"), on_stderr=True)
