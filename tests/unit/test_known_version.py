"""psycopg learns its version without importlib.metadata, and it is the right one."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

from jobrunner.store import known_version

PRINT = """
from jobrunner.store import known_version
known_version.tell_psycopg()
import psycopg, psycopg_binary, sys
print(psycopg.__version__, psycopg_binary.__version__, psycopg.pq.__impl__, "importlib.metadata" in sys.modules)
"""


def test_psycopg_that_is_told_its_version_has_the_one_of_its_metadata() -> None:
    done = subprocess.run([sys.executable, "-c", PRINT], capture_output=True, text=True, check=True)
    versions = [importlib.metadata.version(name) for name in ("psycopg", "psycopg-binary")]
    assert done.stdout.split() == [*versions, "binary", "False"]


@pytest.mark.parametrize(
    "names", [[], ["psycopg-3.2.1.dist-info", "psycopg-3.2.2.dist-info"], ["psycopg-3.2.1.egg-info"]]
)
def test_psycopg_asks_by_itself_where_its_version_is_not_plain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str]
) -> None:
    for name in ["psycopg", *names]:
        (tmp_path / name).mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    for name in ("psycopg", "psycopg.version", "psycopg_binary", "psycopg_binary.version"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    known_version.tell_psycopg()
    assert "psycopg.version" not in sys.modules
    assert sys.modules["psycopg_binary.version"].__version__ == importlib.metadata.version("psycopg-binary")
