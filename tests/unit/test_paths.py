"""Paths of settings are those of pathlib, without its import."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jobrunner.settings.paths import absolute

pieces = st.sampled_from(["", ".", "..", "a", "b c", "ü", "...", ".hidden"])


@given(st.lists(pieces, min_size=1, max_size=6).map("/".join).filter(lambda path: not path.startswith("//")))
@example("/")
@example("/srv//app/./handlers/")
@example("/srv/link/../app")
def test_path_becomes_absolute_as_with_pathlib(path: str) -> None:
    assert absolute(path) == str(Path(path).absolute())


def test_absolute_path_needs_no_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert absolute("/srv/app/") == "/srv/app"
