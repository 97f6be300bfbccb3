"""The pages for those who write handlers, followed from an empty folder: each command prints what its page shows."""

from pathlib import Path

import pytest

from harness import pages
from harness.pages import Reader, Session

pytestmark = pytest.mark.timeout(300)

SESSIONS = [session for session in pages.sessions() if session.name.startswith(pages.FOR_DEVELOPERS)]


@pytest.mark.long(sample=2)
@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.name)
def test_commands_print_what_the_page_shows(session: Session, tmp_path: Path) -> None:
    Reader(tmp_path / "you").check(session)
