"""The plugin for pytest: the fixtures ``jobs`` and ``jobrunner_connection``. It imports nothing until one is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from jobrunner.testing import Jobs


@pytest.fixture
def jobrunner_connection() -> Any:
    """The connection of a test's ``jobs``: define this fixture anew in ``conftest.py``, unless you use Django."""
    return None


@pytest.fixture
def jobs(jobrunner_connection: Any) -> Jobs:
    """The runs of this test's database, in the test's own transaction; see ``jobrunner.testing``."""
    from jobrunner.testing import Jobs

    return Jobs(jobrunner_connection)
