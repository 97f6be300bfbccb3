"""What a service manager hears, and what is no business of it."""

from pathlib import Path

import pytest

from harness.loops import manager
from jobrunner.ticker.readiness import Readiness


@pytest.mark.parametrize(("pid", "beats"), [("", True), ("1", False)])
def test_watchdog_that_watches_another_process_hears_nothing(pid: str, beats: bool) -> None:
    environ = {"WATCHDOG_USEC": "4000000", "WATCHDOG_PID": pid}
    assert Readiness(environ, None).beat_seconds == (2.0 if beats else None)
    assert environ == {}


def test_address_that_is_no_absolute_path_gets_no_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for address, hears in (("notify", []), (str(tmp_path / "notify"), ["READY=1\nSTATUS=well"])):
        with manager(address) as systemd:
            Readiness({"NOTIFY_SOCKET": address}, None).ready("well")
            assert systemd.messages() == hears
        (tmp_path / "notify").unlink()
