"""Make the Debian package of this checkout with Debian's own tools: `make deb`.

Usage: python scripts/debian_package.py [--revision N] [--to FOLDER]

An sdist is unpacked and gets examples/deploy/debian as its folder debian/, with a changelog; dpkg-buildpackage does
the rest.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from email.utils import formatdate
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = "dpkg-dev debhelper python3-venv python3-pip"
BUILD = ("dpkg-buildpackage", "--build=binary", "--no-sign")
CHANGES = re.compile(r"^## (\S+) \((unreleased|[\d-]+)\)", re.MULTILINE)
ENTRY = """\
jobrunner ({version}) unstable; urgency=medium

  * See CHANGELOG.md, in this folder changelog.gz.

 -- The jobrunner developers <jobrunner@localhost>  {date}
"""


def main() -> None:
    words = argparse.ArgumentParser(prog="make deb", description="Make the Debian package.")
    words.add_argument("--revision", type=int, default=1, help="2 for newer dependencies of the same version")
    words.add_argument("--to", type=Path, default=ROOT / "dist", help="the folder of the package")
    given = words.parse_args()
    if shutil.which("dpkg-buildpackage") is None:
        sys.exit(f"make deb: there is no dpkg-buildpackage; on Debian: apt-get install {TOOLS}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        run(sys.executable, "-m", "build", "--no-isolation", "--sdist", "--outdir", str(folder), str(ROOT), cwd=folder)
        (sdist,) = folder.glob("*.tar.gz")
        run(*BUILD, cwd=unpack(sdist, folder, given.revision))
        given.to.mkdir(exist_ok=True)
        for package in folder.glob("*.deb"):
            print(f"made {shutil.copy(package, given.to)}")


def unpack(sdist: Path, folder: Path, revision: int = 1) -> Path:
    """The sources in that folder, as Debian's tools want them."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (source,) = folder.glob("*/")
    shutil.copytree(source / "examples" / "deploy" / "debian", source / "debian")
    entry = ENTRY.format(version=f"{version(source)}-{revision}", date=formatdate(made_at()))
    (source / "debian" / "changelog").write_text(entry)
    return source


def version(source: Path) -> str:
    """That of the newest changes. Before its release it is a lower one than that of the release."""
    found = CHANGES.search((source / "CHANGELOG.md").read_text())
    assert found
    return found[1] if found[2] != "unreleased" else f"{found[1]}~unreleased"


def made_at() -> float:
    """When the commit was made: the only time in the package."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return float(given)
    asked = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True)
    return float(asked.stdout) if asked.returncode == 0 else time.time()


def run(*words: str, cwd: Path) -> None:
    """One step. What it prints is shown if it fails."""
    foreign = ("PYTHON", "VIRTUAL_ENV", "JOBRUNNER_", "MAKE", "MFLAGS")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    # debhelper gives each step an empty home folder.
    environment.setdefault("PIP_CACHE_DIR", str(Path.home() / ".cache" / "pip"))
    done = subprocess.run(words, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}make deb: {words[0]} failed")


if __name__ == "__main__":
    main()
