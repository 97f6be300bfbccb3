"""`make release`: what it refuses, the same bytes wherever it builds, and the steps of docs/howto/releasing.md."""

import hashlib
import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

from harness import pages
from harness.installation import copy_checkout
from harness.pages import ROOT
from jobrunner import __version__

IDENTITY = {f"GIT_{who}_{what}": "Ada" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
FOUND = {
    "dependencies": [
        {"name": "click", "version": "8.1.3", "vulns": []},
        {"name": "mako", "version": "1.1", "vulns": [{"id": "PYSEC-2022-260", "fix_versions": ["1.2.2"]}]},
        {"name": "cron-jobrunner", "skip_reason": "Dependency not found on PyPI"},
    ]
}
UNKNOWN = {"dependencies": [{"name": "click", "skip_reason": "Dependency not found on PyPI and could not be audited"}]}


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("release")


def run(*words: str, cwd: Path, env: Mapping[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, **IDENTITY, "GIT_CONFIG_GLOBAL": os.devnull, **(env or {})}
    return subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True)


def commit(folder: Path, message: str = "one more") -> None:
    for words in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", message]):
        done = run("git", *words, cwd=folder)
        assert done.returncode == 0, done.stderr


def date_the_changes(folder: Path, version: str = __version__) -> None:
    file = folder / "CHANGELOG.md"
    file.write_text(re.sub(r"(?m)^## \S+ \([\w-]+\)", f"## {version} (2026-11-25)", file.read_text(), count=1))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What the refusals look at, committed: only these files."""
    folder = tmp_path / "checkout"
    for name in (
        "scripts/release.py",
        "scripts/test_pythons.py",
        "scripts/ends.py",
        "jobrunner/__init__.py",
        "CHANGELOG.md",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes((ROOT / name).read_bytes())
    date_the_changes(folder)
    commit(folder)
    return folder


def refusal(folder: Path) -> str:
    done = run(sys.executable, "scripts/release.py", cwd=folder, env={"PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode == 1, done.stdout
    assert "Traceback" not in done.stderr
    assert not (folder / "dist").exists()
    return done.stderr


def test_files_that_are_not_committed_are_refused(checkout: Path) -> None:
    (checkout / "new.py").touch()
    assert refusal(checkout) == "release: 1 file(s) are changed or new, such as new.py; commit them first\n"


def test_version_without_its_head_in_the_changelog_is_refused(checkout: Path) -> None:
    date_the_changes(checkout, "0.0.9")
    commit(checkout)
    told = refusal(checkout)
    assert told.startswith("release: CHANGELOG.md begins with '## 0.0.9 (2026-11-25), schema")
    assert f"jobrunner/__init__.py says {__version__}; write '## {__version__} (DATE), schema N'" in told


def test_version_that_the_changelog_calls_unreleased_is_refused(checkout: Path) -> None:
    file = checkout / "CHANGELOG.md"
    file.write_text(file.read_text().replace("(2026-11-25)", "(unreleased)", 1))
    commit(checkout)
    assert f"CHANGELOG.md calls {__version__} unreleased; write the date" in refusal(checkout)


def test_version_whose_tag_is_another_commit_is_refused(checkout: Path) -> None:
    run("git", "tag", "--annotate", f"v{__version__}", "--message", "released", cwd=checkout)
    (checkout / "more.py").touch()
    commit(checkout)
    assert f"the tag v{__version__} is commit" in refusal(checkout)


def test_folder_without_git_is_refused(checkout: Path) -> None:
    (checkout / ".git").rename(checkout.parent / "git")
    assert "not a git repository" in refusal(checkout)


def test_wheel_and_sdist_have_the_same_bytes_from_another_folder_umask_and_time(
    release: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "checkout"
    copy_checkout(folder)
    date_the_changes(folder)
    commit(folder)
    monkeypatch.setattr(release, "ROOT", folder)
    made = release.identify()
    first, second = (release.build(made, tmp_path / f"number {number}", number) for number in (0, 1))
    assert [path.name for path in first] == [f"{made.name}-py3-none-any.whl", f"{made.name}.tar.gz"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_vulnerable_dependency_is_refused_and_the_package_itself_is_not_asked_about(release: ModuleType) -> None:
    found = release.read_audit(FOUND)
    assert found == (["mako 1.1: PYSEC-2022-260"], [])
    with pytest.raises(release.Refused, match=re.escape("mako 1.1: PYSEC-2022-260")):
        release.judge(found, audited=False)


def test_dependency_of_which_the_index_has_no_advisories_counts_as_not_audited(
    release: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    """pip-audit ends with 0 and "No known vulnerabilities found" there."""
    found = release.read_audit(UNKNOWN)
    assert found == ([], ["click"])
    with pytest.raises(release.Refused, match="nothing could say whether advisories name click"):
        release.judge(found, audited=True)
    release.judge(found, audited=False)
    assert capsys.readouterr().out == "NOT AUDITED: nothing could say whether advisories name click\n"


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_steps_of_the_page_end_with_a_release_and_its_tag(tmp_path: Path) -> None:
    blocks = pages.checked_by("tests/project/test_release.py::test_steps_of_the_page_end_with_a_release_and_its_tag")
    folder = tmp_path / "checkout"
    copy_checkout(folder)
    commit(folder)
    date_the_changes(folder)
    make = f"make PYTHON={sys.executable} VENV={tmp_path}/env release"
    meant = {"make docs": f"{sys.executable} scripts/page_tables.py", "make release": make}
    environment = {"PYTHONS": sys.executable, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    for command in (command for block in blocks for command in block.commands):
        words = command
        for shown, replaced in meant.items():
            words = words.replace(shown, replaced)
        done = run("bash", "-c", words, cwd=folder, env=environment)
        # The index may have no advisories: a mirror has none.
        assert done.returncode == 0 or (command == "make release" and "advisories name alembic" in done.stderr), (
            command,
            done.stdout,
            done.stderr,
        )
    place = folder / "dist" / f"cron_jobrunner-{__version__}"
    names = {path.name for path in place.iterdir()}
    assert names == {"SHA256SUMS", *(f"{place.name}{end}" for end in ("-py3-none-any.whl", ".tar.gz", ".cdx.json"))}
    inventory = json.loads((place / f"{place.name}.cdx.json").read_text())
    assert inventory["metadata"]["component"]["version"] == __version__
    assert {"SQLAlchemy", "psycopg", "click"} <= {each["name"] for each in inventory["components"]}
    assert str(tmp_path) not in json.dumps(inventory)
    sums = dict(line.split("  ")[::-1] for line in (place / "SHA256SUMS").read_text().splitlines())
    assert sums == {name: hashlib.sha256((place / name).read_bytes()).hexdigest() for name in names - {"SHA256SUMS"}}
    tagged = run("git", "rev-list", "-n", "1", f"v{__version__}", cwd=folder)
    assert tagged.stdout == run("git", "rev-parse", "HEAD", cwd=folder).stdout
