"""The fixtures `distributions` and `installation`: what a stranger gets from the package index.

Built from a copy of the checkout and installed into empty environments with nothing but the dependencies, once for
all workers of a test session.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KINDS = ("wheel", "sdist, path with a space")


@dataclass(frozen=True)
class Distributions:
    """The copy of the checkout, and what was built of it."""

    checkout: Path
    sdist: Path
    wheel: Path
    """Made of the sdist."""


@dataclass(frozen=True)
class Installation:
    """An environment that holds the package and its dependencies only, not even pip."""

    folder: Path

    @property
    def command(self) -> Path:
        return self.folder / "bin" / "jobrunner"

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"


def run(command: Iterable[str | Path], cwd: Path) -> None:
    """One step of building or installing; what pip says about the index stays as it is set on this machine."""
    foreign = ("PYTHON", "VIRTUAL_ENV", "JOBRUNNER_", "PYTEST_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.fail(f"{' '.join(words)}: exit {done.returncode}\n{done.stdout}{done.stderr}", pytrace=False)


def once(folder: Path, make: Callable[[Path], None]) -> Path:
    """The folder as the first worker makes it; the others wait for it. What failed is begun anew."""
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        finished = folder.with_name(f"{folder.name}.done")
        if not finished.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            finished.touch()
    return folder


def build(source: Path, to: Path, *options: str) -> None:
    run([sys.executable, "-m", "build", "--no-isolation", *options, "--outdir", to, source], to)


def copy_checkout(to: Path) -> None:
    """Everything but what git ignores, which needs no git: these tests run from an unpacked sdist, too."""
    ignored = [line.strip("/") for line in (ROOT / ".gitignore").read_text().split()]
    shutil.copytree(ROOT, to, ignore=shutil.ignore_patterns(".git", *ignored))


@pytest.fixture(scope="session")
def session_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all workers of this session."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session")
def distributions(session_folder: Path) -> Distributions:
    """The sdist, and the wheel of that sdist, which is what an index offers."""

    def make(folder: Path) -> None:
        copy_checkout(folder / "checkout")
        build(folder / "checkout", folder)

    made = once(session_folder / "distributions", make)
    (sdist,) = made.glob("*.tar.gz")
    (wheel,) = made.glob("*.whl")
    return Distributions(made / "checkout", sdist, wheel)


@pytest.fixture(scope="session", params=KINDS)
def installation(request: pytest.FixtureRequest, session_folder: Path, distributions: Distributions) -> Installation:
    """An empty environment with the wheel; and one in a folder with a space, with what pip makes of the sdist."""
    plain = request.param == KINDS[0]

    def make(folder: Path) -> None:
        run([sys.executable, "-m", "venv", "--without-pip", folder / "env"], folder)
        what = distributions.wheel if plain else distributions.sdist
        pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", folder / "env" / "bin" / "python"]
        # Few of the modules are ever imported: Python compiles those at their first use.
        run([*pip, "install", "--quiet", "--no-compile", what], folder)

    name = "installed" if plain else "installed in a folder with a space"
    return Installation(once(session_folder / name, make) / "env")
