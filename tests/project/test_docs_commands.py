"""The pages of documentation, followed from an empty folder: each command prints what its page shows."""

from pathlib import Path

import pytest

from harness import pages
from harness.pages import Reader, Session

# Some twenty commands one after the other, on a machine that has other things to do.
pytestmark = pytest.mark.timeout(300)

# Those of test_quickstart_apps.py and test_quickstarts.py.
QUICK_STARTS = "docs/tutorial/"
LONG = pytest.mark.long(sample=2)
SESSIONS = [
    # The README is followed in every run.
    pytest.param(session, id=session.name, marks=() if session.name.startswith("README.md") else LONG)
    for session in pages.sessions()
    if not session.name.startswith((*pages.FOR_DEVELOPERS, QUICK_STARTS))
]


@pytest.mark.parametrize("session", SESSIONS)
def test_commands_print_what_the_page_shows(session: Session, tmp_path: Path) -> None:
    Reader(tmp_path / "you").check(session)
