"""The log line that is written without structlog is the line that structlog would write."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

# In processes of their own: a log stays open for as long as its process lives.
PLAIN = "from jobrunner.log import PlainLog as Log; log = Log(path)"
FULL = "from jobrunner.log import open_log; log = open_log(path, on_stderr=False)"


def write(path: Path, how: str, fields: str) -> bytes:
    """The line in the file, or what was raised."""
    program = f"""
from pathlib import Path
path = Path({str(path)!r})
try:
    {how}
    log.info("tick", **{fields})
except Exception as error:
    print(type(error), error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=60)
    return done.stdout or path.read_bytes()


@pytest.mark.parametrize(
    "fields",
    [
        "{}",
        "{'result': 'done', 'seconds': 0.012}",
        r"""{'text': 'a\nb"\\\u2028\x00\ud800é☃', 'path': Path('/x'), 'nothing': None, 'list': [1, 'a']}""",
    ],
    ids=["none", "as it is", "hostile"],
)
def test_both_log_writers_write_the_same_line(tmp_path: Path, fields: str) -> None:
    lines = [write(tmp_path / name, how, fields) for name, how in (("plain", PLAIN), ("full", FULL))]
    at = [json.loads(line)["at"] for line in lines]
    plain, full = (line.replace(each.encode(), b"") for line, each in zip(lines, at, strict=True))
    assert plain == full
    assert plain.endswith(b'"event": "tick", "level": "info", "at": ""}\n')
    assert list(map(len, at)) == [29, 29]


def test_both_log_writers_refuse_an_unopenable_file_alike(tmp_path: Path) -> None:
    path = tmp_path / "none" / "log"
    plain, full = (write(path, how, "{}") for how in (PLAIN, FULL))
    assert plain == full
    assert b"ConfigurationError" in plain
