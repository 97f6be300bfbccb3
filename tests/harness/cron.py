"""The fixture `cron`: Debian's cron daemon itself, in a mount and pid namespace of its own.

Its clock runs twenty times as fast, where libfaketime can be had, so that a minute takes three seconds; what it starts
lives in real time. Where no daemon can run, a shell runs each line every second with the environment that cron would
give it, and the report says so.
"""

import contextlib
import os
import pwd
import re
import shutil
import subprocess
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.debian import UNSHARE, CronPrograms, NoCron, find_programs
from harness.processes import Patient
from harness.waiting import stretched

SPEED = 20
NOT_USED = "the cron daemon was not used"
FIELDS = re.compile(r"(?:\S+\s+){5}")

# Private to the namespace: /etc and /var/spool with our crontabs only, a mail program that notes, cron's pid file,
# and what libfaketime names after a process id.
SCRIPT = """
set -eu
folder=$1 && shift
mount --bind "$folder/etc" /etc
mount --bind "$folder/spool" /var/spool
mount --bind "$folder/sbin" /usr/sbin
# The folders of the tests may lie there.
case $folder in /dev/shm/*) kept=/dev/shm/$(echo "$folder" | cut -d/ -f4) && cd "$kept" ;; *) kept= ;; esac
mount -t tmpfs tmpfs /dev/shm
test -z "$kept" || { mkdir "$kept" && mount --no-canonicalize --bind . "$kept"; }
mount --rbind /run "$folder/run"
mount -t tmpfs tmpfs /run
for entry in "$folder"/run/*; do
    case $entry in *crond.*) ;; *) ln -s "$entry" /run/ ;; esac
done
cd /
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
"""
SENDMAIL = """\
#!/bin/sh
draft=$(mktemp {folder}/.mail-XXXXXX)
cat > "$draft"
mv "$draft" "{folder}/mail-${{draft##*-}}"
"""

# In the place of the program, where that cannot be had.
CRONTAB = """\
#!/bin/sh
case $1 in
    -l) cat "{file}" 2>/dev/null || {{ echo "no crontab for you" >&2; exit 1; }} ;;
    -) cat > "{file}" ;;
esac
"""


class Cron(ABC):
    """Runs crontabs: one of a user, and one in /etc/cron.d. Both belong to the user who runs the tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @abstractmethod
    def start(self, user_crontab: str, system_crontab: str) -> None: ...

    @abstractmethod
    def stop(self) -> None: ...

    @abstractmethod
    def mails(self) -> list[str]:
        """The bodies of the mails that were sent."""

    @abstractmethod
    def complaints(self, crontab: str) -> str:
        """What `crontab -n` finds wrong."""

    @abstractmethod
    def run(self, *command: object, env: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
        """Run a command where `crontab` is a program whose crontabs are this test's own."""


class Daemon(Cron):
    def __init__(self, folder: Path, programs: CronPrograms) -> None:
        super().__init__(folder)
        self.programs = programs
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, user_crontab: str, system_crontab: str) -> None:
        self._prepare()
        install(self.folder / "etc/cron.d/jobrunner", system_crontab, 0o644)
        install(self.folder / "spool/cron/crontabs/root", user_crontab, 0o600)
        faketime = self.programs.faketime
        faster = [f"LD_PRELOAD={faketime}", f"FAKETIME=+0 x{SPEED}"] if faketime else []
        self.process = self._enter(*faster, self._copy(self.programs.cron), "-f")

    def complaints(self, crontab: str) -> str:
        self._prepare()
        checked = self.folder / "checked"
        install(checked, crontab, 0o644)
        process = self._enter(self._copy(self.programs.crontab), "-n", checked)
        return "" if process.wait(30) == 0 else (self.folder / "output").read_text()

    def run(self, *command: object, env: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
        self._prepare()
        (self.folder / "bin").mkdir(exist_ok=True)
        shutil.copy(self.programs.crontab, self.folder / "bin")
        variables = [f"{name}={value}" for name, value in env.items() if name != "PATH"]
        path = f"PATH={self.folder / 'bin'}:{env['PATH']}"
        with (self.folder / "stderr").open("w+") as stderr:
            process = self._enter("env", path, *variables, *command, stderr=stderr)
            code = process.wait(60)
            stderr.seek(0)
            said = stderr.read()
        return subprocess.CompletedProcess(
            list(map(str, command)), code, (self.folder / "output").read_text("latin-1"), said
        )

    def _prepare(self) -> None:
        if (self.folder / "etc").exists():
            return
        for name in ("spool/cron/crontabs", "sbin", "run", "mails"):
            (self.folder / name).mkdir(parents=True)
        etc = self.folder / "etc"
        subprocess.run(["cp", "-a", "/etc", etc], check=True)
        (etc / "crontab").unlink(missing_ok=True)
        shutil.rmtree(etc / "cron.d", ignore_errors=True)
        (etc / "cron.d").mkdir()
        shutil.copy(self.programs.pam, etc / "pam.d" / "cron")
        # What the package's installation would have added.
        with (etc / "group").open("a") as groups:
            groups.write("crontab:x:65000:\n")
        install(self.folder / "sbin" / "sendmail", SENDMAIL.format(folder=self.folder / "mails"), 0o755)

    def _copy(self, program: Path) -> Path:
        # In the namespace its own folder is hidden.
        return Path(shutil.copy(program, self.folder))

    def _enter(self, *command: object, stderr: Any = subprocess.STDOUT) -> "subprocess.Popen[bytes]":
        with (self.folder / "output").open("wb") as output:
            return Patient(
                [*UNSHARE, "sh", "-c", SCRIPT, "sh", self.folder, *map(str, command)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=stderr,
            )

    def stop(self) -> None:
        if self.process is not None:
            # With its first process the whole namespace ends.
            self.process.kill()
            self.process.wait(30)
        # Passwords are in it, and the folders of failed tests are kept.
        shutil.rmtree(self.folder / "etc", ignore_errors=True)

    def mails(self) -> list[str]:
        return [path.read_text().partition("\n\n")[2] for path in sorted((self.folder / "mails").glob("mail-*"))]


class Shell(Cron):
    """Instead of the daemon: all lines every second."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []
        self._mails: list[str] = []

    def start(self, user_crontab: str, system_crontab: str) -> None:
        for text, has_user in ((user_crontab, False), (system_crontab, True)):
            variables = environment(text)
            for command in commands(text, has_user):
                thread = threading.Thread(target=self._repeat, args=(command, variables))
                thread.start()
                self._threads.append(thread)

    def _repeat(self, command: str, variables: dict[str, str]) -> None:
        while not self._ended.is_set():
            done = subprocess.run(
                ["/bin/sh", "-c", command],
                env=variables,
                cwd=variables["HOME"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            if done.stdout:
                self._mails.append(done.stdout)
            self._ended.wait(1)

    def stop(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(stretched(60))

    def mails(self) -> list[str]:
        return list(self._mails)

    def run(self, *command: object, env: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
        program = self.folder / "bin" / "crontab"
        program.parent.mkdir(exist_ok=True)
        install(program, CRONTAB.format(file=self.folder / "crontab"), 0o755)
        words = list(map(str, command))
        environ = {**env, "PATH": f"{program.parent}:{env['PATH']}"}
        return subprocess.run(words, env=environ, capture_output=True, text=True, encoding="latin-1")

    def complaints(self, crontab: str) -> str:
        try:
            commands(crontab, has_user=False)
        except AssertionError as wrong:
            return str(wrong)
        return ""


def install(path: Path, text: str, mode: int) -> None:
    path.write_text(text)
    path.chmod(mode)


def environment(crontab: str) -> dict[str, str]:
    """What cron gives a command: four variables of its own, and those of the crontab."""
    user = pwd.getpwuid(os.getuid())
    own = {"HOME": user.pw_dir, "LOGNAME": user.pw_name, "SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"}
    return own | dict(re.findall(r"(?m)^(\w+)\s*=\s*(.*?)\s*$", crontab))


def commands(crontab: str, has_user: bool) -> list[str]:
    """The commands of the lines, of which every one must be for each minute."""
    found = []
    for line in crontab.splitlines():
        if line.startswith("#") or not line.strip() or re.match(r"\w+\s*=", line):
            continue
        assert line.startswith("* * * * * "), line
        command = FIELDS.sub("", line, count=1)
        command = command.split(maxsplit=1)[1] if has_user else command
        assert not re.search(r"(?<!\\)%", command), "a newline to cron"
        found.append(command.replace("\\%", "%"))
    return found


@pytest.fixture
def cron(tmp_path: Path, record_property: Callable[[str, object], None]) -> Iterator[Cron]:
    """Cron, to be started with two crontabs; stopped with all that it started when the test ends."""
    folder = tmp_path / "cron"
    folder.mkdir()
    made: Cron
    try:
        made = Daemon(folder, find_programs())
    except NoCron as reason:
        record_property(NOT_USED, str(reason))
        made = Shell(folder)
    with contextlib.ExitStack() as stack:
        stack.callback(made.stop)
        yield made


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """A test that had to do without a daemon has passed, but proves less: say which, and why."""
    for report in terminalreporter.getreports("passed"):
        for name, reason in report.user_properties:
            if name.endswith("was not used"):
                terminalreporter.write_line(f"{report.nodeid}: {name}: {reason}")
