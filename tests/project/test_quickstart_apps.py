"""The quick start of each framework, followed from an empty folder: each command prints what the page shows."""

from pathlib import Path

import pytest

from harness import pages
from harness.pages import Reader, Session

# Some twenty commands one after the other, on a machine that has other things to do.
pytestmark = pytest.mark.timeout(300)

SESSIONS = [session for session in pages.sessions() if session.name.startswith(pages.place("quickstart-app.md"))]


@pytest.mark.long(sample=1)
@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.name)
def test_quickstart_commands_print_what_the_page_shows(session: Session, tmp_path: Path) -> None:
    Reader(tmp_path / "you").check(session)
