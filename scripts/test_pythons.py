"""Run tests with the lowest and with the newest versions of the dependencies, on every Python that this machine has.

Usage: python scripts/test_pythons.py FOLDER [PYTEST ARGUMENT...]

Without arguments for pytest a selection is run in which every dependency takes part. Pythons are looked for in PATH and
where pyenv and uv keep theirs; the variable PYTHONS names others. Only the standard library may be imported.
"""

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from ends import report

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 11)
SMOKE = [
    "tests/unit/test_conversion.py",
    "tests/unit/test_raw_driver.py",
    "tests/unit/test_program.py",
    "tests/unit/test_recurrence_refused.py",
    "tests/cli/test_cli_enqueue.py",
    "tests/store/test_enqueue_callers_connection.py",
    "tests/application/test_django.py",
    "tests/application/test_flask_fastapi.py",
    "tests/web/test_web_adapters.py",
    "tests/application/test_testing_kit.py",
    "tests/application/test_handlers.py",
    "tests/worker/test_commands.py",
    "tests/store/test_migrations.py",
    "tests/worker/test_finalize_together.py",
    "tests/store/test_rows_damaged.py",
    "tests/cli/test_logs.py",
    "tests/schedules/test_schedules.py",
    "tests/worker/test_idle_tick.py",
    "tests/worker/test_hostile_handlers.py",
]
FRAMEWORKS = ("django", "fastapi", "flask")
"""The package does not need them, and works beside them from the lower bounds in the group of the tests on."""
KEPT_ELSEWHERE = (".pyenv/versions/*/bin", ".local/share/uv/python/*/bin")
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?>=([0-9.]+)")


def lowest_versions() -> list[str]:
    """The dependencies of the package, and the frameworks, at their lower bounds, as constraints for pip."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())
    listed = table["project"]["dependencies"]
    listed += [each for each in table["dependency-groups"]["test"] if each.partition(">")[0] in FRAMEWORKS]
    found = []
    for each in listed:
        bound = _REQUIREMENT.fullmatch(each)
        if bound is None:
            sys.exit(f"{each!r} in pyproject.toml has no lower bound, or one that this script cannot read")
        found.append(f"{bound[1]}=={bound[2]}")
    return found


def version_of(python: str) -> tuple[int, int] | None:
    """The version of a Python that can make environments; None: it is none, or does not work."""
    asked = "import sys, venv; print(sys.implementation.name, *sys.version_info[:2], sys.version_info.releaselevel)"
    try:
        done = subprocess.run([python, "-c", asked], capture_output=True, text=True, timeout=30, cwd="/")
    except (OSError, subprocess.SubprocessError):
        return None
    words = done.stdout.split()
    if len(words) != 4 or words[0] != "cpython" or words[3] != "final":
        return None
    return int(words[1]), int(words[2])


def pythons() -> dict[tuple[int, int], str]:
    """One Python of each version from the oldest that is supported on."""
    if named := os.environ.get("PYTHONS", "").split():
        candidates = named
    else:
        folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
        folders += [folder for pattern in KEPT_ELSEWHERE for folder in sorted(Path.home().glob(pattern))]
        candidates = [sys.executable, *(str(path) for folder in folders for path in sorted(folder.glob("python3.*")))]
        candidates = [each for each in candidates if re.search(r"/python(3|3\.\d+)?$", each)]
    found: dict[tuple[int, int], str] = {}
    for python in candidates:
        version = version_of(python)
        if version is not None and version >= OLDEST:
            found.setdefault(version, python)
        elif named:
            sys.exit(f"{python} is no Python from {'.'.join(map(str, OLDEST))} on")
    return dict(sorted(found.items()))


def install(python: str, folder: Path, constraints: Path | None) -> bool:
    """Make the environment, or bring it up to date."""
    wanted = {"PIP_UPGRADE": "1", "PIP_UPGRADE_STRATEGY": "eager"}
    if constraints is not None:
        wanted["PIP_CONSTRAINT"] = str(constraints)
    words = [python, str(ROOT / "scripts" / "bootstrap.py"), str(folder), "test"]
    return subprocess.run(words, cwd=ROOT, env=os.environ | wanted).returncode == 0


def test(folder: Path, arguments: list[str]) -> bool:
    words = [str(folder / "bin" / "python"), "-m", "pytest", "-q", *arguments]
    return subprocess.run(words, cwd=ROOT).returncode == 0


def main() -> None:
    folder = Path(sys.argv[1]).absolute()
    arguments = sys.argv[2:] or ["-n", "auto", *SMOKE]
    ends = []
    with tempfile.TemporaryDirectory() as temporary:
        lowest = Path(temporary) / "lowest.txt"
        lowest.write_text("\n".join([*lowest_versions(), ""]))
        for version, python in pythons().items():
            for name, constraints in (("lowest", lowest), ("newest", None)):
                label = f"Python {'.'.join(map(str, version))} ({python}), {name} versions"
                print(f"\n{label}", flush=True)
                place = folder / f"{'.'.join(map(str, version))}-{name}"
                if not install(python, place, constraints):
                    ends.append((label, "cannot be installed"))
                else:
                    ends.append((label, "passed" if test(place, arguments) else "failed"))
    report(ends)


if __name__ == "__main__":
    main()
