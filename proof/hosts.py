"""The hosts: each has a network, processes, a boot, a clock, a state folder and a deployed application of its own."""

import contextlib
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path

from proof.network import Machine, TooLate, until_true
from proof.servers import run

ROOT = Path(__file__).parents[1]
_APPLICATION = Path(__file__).parent / "app" / "proof_jobs.py"
_CLOCK = Path(__file__).parent / "clock.c"
_EVERY = "20s"
STATE_MB = 1


def base_environment(home: Path) -> dict[str, str]:
    """What cron gives to a command, and no more."""
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8", "TMPDIR": "/tmp"}


class Host:
    """A machine on which `jobrunner loop` starts ticks. Its power can be cut, and each of its processes with it."""

    def __init__(self, machine: Machine, folder: Path, witness: Path, concurrency: int, lease: int) -> None:
        self.machine = machine
        self.folder = folder / machine.name
        self.state = self.folder / "state"
        self._app = self.folder / "app"
        self._env_file = self.folder / "env"
        self._clock = self.folder / "clock"
        self._boot = self.folder / "boot"
        self._stopped = self.folder / "stopped"
        self._concurrency = concurrency
        self._lease = lease
        self._witness = witness
        self._code: Path | None = None
        self.has_clock = False
        for each in (self.folder, self._app, self.state):
            each.mkdir(mode=0o700)
        run("mount", "-t", "tmpfs", "-o", f"size={STATE_MB}m,mode=700", "tmpfs", self.state)
        self._clock.write_bytes(struct.pack("=q", 0))
        self.deploy(1)

    @property
    def name(self) -> str:
        return self.machine.name

    def deploy(self, version: int) -> None:
        """Put another version of the application's code in place, in one step."""
        new = self._app / "new"
        new.write_text(_APPLICATION.read_text().replace("VERSION = 1\n", f"VERSION = {version}\n"))
        new.rename(self._app / _APPLICATION.name)

    def point_to(self, url: str) -> None:
        """Write the env file, as an operator does."""
        new = self.folder / "env.new"
        new.write_text(f"JOBRUNNER_DATABASE_URL={url}\n")
        new.chmod(0o600)
        new.rename(self._env_file)

    def use(self, code: Path | None) -> None:
        """Work with the jobrunner of this folder from the next start on; None: with that of this checkout."""
        self._code = code

    def start(self) -> None:
        """Power on: a new boot, and the service that starts ticks."""
        self.machine.rejoin()
        self._boot.write_text(f"{uuid.uuid4()}\n")
        service = [sys.executable, "-P", "-m", "jobrunner", "loop", "--every", _EVERY, "--linger", "30s", "--log"]
        service += [str(self.folder / "log"), "--concurrency", str(self._concurrency)]
        self._stopped.unlink(missing_ok=True)
        # As a service manager does, it starts what has ended again.
        script = f"mount --bind {self._boot} /proc/sys/kernel/random/boot_id || exit 1\n"
        script += f'while [ ! -e {self._stopped} ]; do "$@"; sleep 1; done'
        own = ["unshare", "--mount", "--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc"]
        self.machine.start([*own, "sh", "-c", script, "sh", *service], self._environment(), self.folder / "output")

    def command(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """A command that an operator calls on this host."""
        enter = ["nsenter", f"--net=/run/netns/{self.name}", "--", sys.executable, "-P", "-m", "jobrunner", *words]
        env = self._environment()
        env.pop("LD_PRELOAD", None)
        return subprocess.run(enter, env=env, capture_output=True, text=True, cwd="/", timeout=600)

    def stop(self) -> None:
        """Stop the service as systemd does: SIGTERM, and SIGKILL for what is left after half a minute."""
        self._stopped.touch()
        for pid in self._of("jobrunner loop"):
            os.kill(pid, signal.SIGTERM)
        with contextlib.suppress(TooLate):
            until_true(lambda: not self._of("jobrunner loop"), 30, "the end of the loop")
        self.machine.kill()

    def kill_a_tick(self, choice: random.Random) -> bool:
        """SIGKILL for one of its ticks. Its children are left to themselves."""
        ticks = self._of("jobrunner tick")
        if ticks:
            os.kill(choice.choice(ticks), signal.SIGKILL)
        return bool(ticks)

    def set_clock(self, seconds: int) -> None:
        """Set the clock of the host while its processes work. Only with ``has_clock``."""
        with self._clock.open("r+b") as file:
            file.write(struct.pack("=q", seconds))

    def _of(self, words: str) -> list[int]:
        needle = f"-m {words}".replace(" ", "\0").encode()
        found = []
        for pid in self.machine.processes():
            try:
                line = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            if needle in line and not line.startswith((b"unshare", b"nsenter", b"sh")):
                found.append(pid)
        return found

    def _environment(self) -> dict[str, str]:
        env = {
            **base_environment(self.folder),
            "JOBRUNNER_ENV_FILE": str(self._env_file),
            "JOBRUNNER_APP_DIR": str(self._app),
            "JOBRUNNER_IMPORT": _APPLICATION.stem,
            "JOBRUNNER_HOST": self.name,
            "JOBRUNNER_LEASE": f"{self._lease}s",
            "JOBRUNNER_START_LIMIT": "2m",
            "JOBRUNNER_STATE_DIR": str(self.state),
            "PROOF_HOST": self.name,
            "PROOF_WITNESS": str(self._witness),
        }
        if self._code is not None:
            env["PYTHONPATH"] = str(self._code)
        if self.has_clock:
            env |= clock_of(self._clock)
        return env


def clock_of(file: Path) -> Mapping[str, str]:
    """The environment of processes whose wall clock is ahead by the seconds in the file."""
    library = file.with_suffix(".so")
    if not library.exists():
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, _CLOCK], check=True)
    return {"LD_PRELOAD": str(library), "PROOF_CLOCK": str(file)}


def can_set_clocks() -> bool:
    return shutil.which("cc") is not None


def missing_programs() -> list[str]:
    """The programs without which nothing works."""
    needed = ("ip", "unshare", "nsenter", "mount", "pgbouncer")
    return [each for each in needed if shutil.which(each, path="/usr/sbin:/usr/bin:/sbin:/bin") is None]
