"""Django's own tests of its tasks, on our backend: all pass but those that docs/howto/django.md lists with a reason."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness import Database, SQLiteDatabase
from harness.databases import shared_by_workers
from harness.django_suite import Suite
from harness.doc_tables import text_of

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]


def differences(how: str) -> set[str]:
    """The tests of the page that do not pass with drain, or with a tick."""
    section = text_of("django.md").partition("### Django's own tests")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.+`) \| (.+) \| (.+) \|$", section, re.MULTILINE)
    assert all(reason.endswith(".") for _, _, reason in rows)
    return {name for names, modes, _ in rows if how in modes.split(", ") for name in re.findall(r"`(.+?)`", names)}


@pytest.fixture(scope="module", params=["here", "newest"])
def suite(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Suite:
    """``here`` is the environment of the tests, before Python 3.12 with the backport; ``newest`` has Django 6."""
    with shared_by_workers(tmp_path_factory) as shared:
        python = Path(sys.executable) if request.param == "here" else with_django_6(shared / "django 6")
        return Suite(tmp_path_factory.mktemp("django") / "suite", python, shared / "packages of django")


def with_django_6(folder: Path) -> Path:
    """The Python of an environment with Django 6 and jobrunner."""
    asked = "import test_pythons; print(*test_pythons.pythons().values())"
    newest = subprocess.check_output([sys.executable, "-c", asked], cwd=ROOT / "scripts", text=True).split()[-1]
    version = subprocess.check_output([newest, "-c", "import sys; print(sys.version_info >= (3, 12))"], text=True)
    if sys.version_info >= (3, 12) or version.strip() != "True":
        pytest.skip("these tests run with Django 6 already, or there is no Python from 3.12 on")
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([newest, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "django>=6,<7", ROOT], check=True)
    return python


@pytest.mark.parametrize("how", ["drain", "tick"])
def test_djangos_own_tests_of_tasks_pass_but_those_that_the_page_lists(
    how: str, suite: Suite, database: Database, empty: Database, tmp_path: Path
) -> None:
    name = str(tmp_path / "test.db") if isinstance(empty, SQLiteDatabase) else empty.url.rpartition("/")[2]
    outcome = suite.run(database, how, name)
    assert outcome.ran >= 70, outcome.text[-3000:]
    assert outcome.red == differences(how), outcome.text[-6000:]
    # What they have enqueued is in the database of tests.
    assert database.value("SELECT count(*) AS n FROM job_runs") == 0
