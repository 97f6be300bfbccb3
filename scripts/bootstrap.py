"""Make the virtual environment and install the package with some of its dependency groups.

Usage: python scripts/bootstrap.py VENV GROUP...

Works with any pip: groups are read here, not by pip (which knows them from 25.1 on). Where Python comes without pip
(Debian without python3-venv), pip itself is taken from the package index, checked against a hash that is pinned here.
Only the standard library may be imported; the Makefile has checked that this is Python 3.11 or later.
"""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import urllib.error
import urllib.parse
import urllib.request
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PIP_WHEEL = "pip-25.3-py3-none-any.whl"
PIP_SHA256 = "9655943313a94722b7774661c21049070f6bbb0a1516bf02f7c8d5d9201514cd"
NO_PIP = "cannot get pip ({reason}); on Debian or Ubuntu: apt-get install python3-venv, then make again"


def requirements(groups: list[str]) -> list[str]:
    """The requirements of some dependency groups, in the words of pyproject.toml."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]

    def of(group: str) -> list[str]:
        found: list[str] = []
        for entry in table[group]:
            found += [entry] if isinstance(entry, str) else of(entry["include-group"])
        return found

    return list(dict.fromkeys(requirement for group in groups for requirement in of(group)))


def works(python: Path) -> bool:
    """Whether an earlier run left a whole environment whose Python still exists."""
    if not python.exists():
        return False
    check = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    return subprocess.run([python, "-c", check], capture_output=True).returncode == 0


def create(folder: Path, python: Path) -> None:
    print(f"creating {folder.name} with Python {'.'.join(map(str, sys.version_info[:3]))}", flush=True)
    try:
        import ensurepip  # noqa: F401

        venv.create(folder, clear=True, symlinks=True, with_pip=True)
    except (ImportError, subprocess.CalledProcessError):  # missing, or there without its wheels
        venv.create(folder, clear=True, symlinks=True, with_pip=False)
        with tempfile.TemporaryDirectory() as temporary:
            wheel = Path(temporary) / PIP_WHEEL
            wheel.write_bytes(pip_wheel())
            # A wheel is a zip file that Python can import: pip installs itself.
            run([python, wheel / "pip", "install", "--quiet", "--no-index", wheel])


def pip_wheel() -> bytes:
    index = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/") + "/pip/"
    try:
        page = download(index).decode()
        link = re.search(rf'href="([^"#]*{re.escape(PIP_WHEEL)})[#"]', page)
        if link is None:
            sys.exit(NO_PIP.format(reason=f"the package index has no {PIP_WHEEL}"))
        content = download(urllib.parse.urljoin(index, link[1]))
    except (urllib.error.URLError, OSError) as problem:
        sys.exit(NO_PIP.format(reason=problem))
    if hashlib.sha256(content).hexdigest() != PIP_SHA256:
        sys.exit(NO_PIP.format(reason=f"{PIP_WHEEL} of the package index is not the one that was pinned"))
    return content


def download(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=60) as answer:
        content: bytes = answer.read()
        return content


def run(command: list[str | Path]) -> None:
    done = subprocess.run(command, cwd=ROOT, env=os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"})
    if done.returncode != 0:
        sys.exit("the installation failed; its reason is above, and `make` tries again")


def main() -> None:
    folder, groups = Path(sys.argv[1]).absolute(), sys.argv[2:]
    python = folder / "bin" / "python"
    if not works(python):
        create(folder, python)
    print(f"installing the package and what its {' and '.join(groups)} needs", flush=True)
    run([python, "-m", "pip", "install", "--quiet", "--editable", ".", *requirements(groups)])


if __name__ == "__main__":
    main()
