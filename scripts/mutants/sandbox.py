"""A copy of the package that may be changed, and an environment whose tests and commands import it."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("jobrunner", "alembic", "alembic.ini", "scripts/statements.py")
COMPILED = "jobrunner/store/sql/compiled"
IN_STATEMENTS = (
    "jobrunner/store/statements/",
    "jobrunner/store/schema/",
    "jobrunner/store/sql/",
    "jobrunner/lifecycle",
)
"""What the statements that are compiled ahead are made of."""
LONGEST_SECONDS = 300


class CannotCompile(Exception):
    """The statements cannot be made any more: `make statements` fails."""


class Sandbox:
    """The copy, and an environment that imports it instead of the checkout and all else as it is here."""

    def __init__(self, folder: Path) -> None:
        self.copy = folder / "checkout"
        for name in COPIED:
            source, target = ROOT / name, self.copy / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, target)
        builder = venv.EnvBuilder(symlinks=True)
        context = builder.ensure_directories(folder / "venv")
        builder.create(folder / "venv")
        self.python = Path(context.env_exe)
        variables = {"base": str(folder / "venv"), "platbase": str(folder / "venv")}
        packages = Path(sysconfig.get_path("purelib", "venv", vars=variables))
        (packages / "mutants.pth").write_text(f"{self.copy}\n{sysconfig.get_path('purelib')}\n")
        installed = Path(sysconfig.get_path("scripts")) / "jobrunner"
        command = self.python.with_name("jobrunner")
        command.write_text(re.sub(r"\A#!.*", f"#!{self.python}", installed.read_text()))
        command.chmod(0o755)
        if not self._imports_the_copy():
            sys.exit("the tests would import another jobrunner than the changed one")

    @contextmanager
    def changed(self, file: str, text: str) -> Iterator[set[str]]:
        """While the block runs, a file of the copy is this. Yields the statements that it changes.

        Raises CannotCompile if they cannot be made.
        """
        path, folder = self.copy / file, self.copy / COMPILED
        before = {each: each.read_text() for each in (path, *folder.glob("*sql*.py"))}
        self._write(path, text)
        try:
            yield self._compile(before) if file.startswith(IN_STATEMENTS) else set()
        finally:
            for each, old in before.items():
                self._write(each, old)

    def _compile(self, before: dict[Path, str]) -> set[str]:
        """Otherwise a tick would send the statements as they were before the change."""
        script = [str(self.python), "-P", "scripts/statements.py"]
        done = subprocess.run(script, cwd=self.copy, capture_output=True, text=True)
        if done.returncode:
            raise CannotCompile(done.stderr.strip().rpartition("\n")[2])
        changed = set()
        for path in (self.copy / COMPILED).glob("*sql*.py"):
            old, new = (set(_statements(text)) for text in (before[path], path.read_text()))
            changed |= {f"{path.stem}:{name}" for name, _ in old ^ new}
            self._forget(path)
        return changed

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text)
        self._forget(path)

    def _forget(self, path: Path) -> None:
        # What was compiled from another text of the same length in the same second would be taken for this one.
        Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)

    def first_failure(self, tests: Sequence[str]) -> str | None:
        """The test that fails, if one does. Raises RuntimeError with what pytest says when they could not be run."""
        if not tests:
            return None
        try:
            done = self.test(["-x", "--everything", "--tb=no", *tests], longest(LONGEST_SECONDS))
        except subprocess.TimeoutExpired:
            return "the limit of time"
        if done.returncode not in (0, 1):
            raise RuntimeError(done.stdout)
        if done.returncode == 0:
            return None
        failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
        return failed[1] if failed else "a test"

    def test(self, arguments: Sequence[str], seconds: float | None = None) -> "subprocess.CompletedProcess[str]":
        """Run pytest with the copy."""
        # -P: else the checkout, which is the working folder, would be imported first.
        command = [str(self.python), "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        environment = {**os.environ, "JOBRUNNER_TEST_COMMAND": ""}
        return subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
        )

    def _imports_the_copy(self) -> bool:
        where = [str(self.python), "-P", "-c", "import jobrunner; print(jobrunner.__file__)"]
        done = subprocess.run(where, cwd=ROOT, capture_output=True, text=True)
        return Path(done.stdout.strip()).is_relative_to(self.copy)


def longest(seconds: float) -> float:
    """A limit of time on this machine, which may be busy."""
    return seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def _statements(text: str) -> list[tuple[str, str]]:
    """The name and the text of each statement of a file that is compiled ahead."""
    entries = re.split(r"^    \('", text, flags=re.MULTILINE)[1:]
    return [(entry.partition("'")[0], entry) for entry in entries]
