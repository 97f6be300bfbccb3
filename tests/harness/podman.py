"""Debian's podman, which builds and runs containers without a registry: from the system, else unpacked.

The base image is this machine itself: its programs and its Python are mounted into each container, read-only.
"""

import io
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness import debian
from harness.processes import Patient

BASE = "localhost/base"
STEP_SECONDS = 300
# Podman's own programs and libraries stand over those of the system. A mixed hierarchy of cgroups is refused.
ENTER = """
mount --make-rprivate /
if [ -n "$ROOT" ]; then mount -t overlay overlay -o "lowerdir=$ROOT/usr:/usr" /usr; fi
umount --lazy --recursive /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup || mount -t tmpfs none /sys/fs/cgroup
# A container's user becomes the owner of its standard input, which is /dev/null: not that of this machine.
mknod -m 666 "$FOLDER/null" c 1 3
mount --bind "$FOLDER/null" /dev/null
echo entered
exec sleep 3600
"""
CONFIGURATION = """
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
cgroups = "disabled"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
"""
ANY_IMAGE = '{"default": [{"type": "insecureAcceptAnything"}]}'
PYTHON = Path(sys.base_prefix)
MOUNTS = ("/usr", "/etc/ssl", str(PYTHON))
LINKS = ("bin", "sbin", "lib", "lib64")


class Podman:
    """Calls podman in a mount namespace of its own, with storage of its own."""

    def __init__(self, folder: Path, namespace: int) -> None:
        self._folder = folder
        self._prefix = ["nsenter", f"--mount=/proc/{namespace}/ns/mnt", "podman"]
        self._environment = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "CONTAINERS_CONF": str(folder / "containers.conf"),
            "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf"),
        }

    def start(self, *words: object, **options: object) -> "subprocess.Popen[str]":
        """Start it; its output goes through pipes."""
        return Patient(
            [*self._prefix, *map(str, words)],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *words: object, check: bool = True) -> "subprocess.CompletedProcess[str]":
        process = self.start(*words)
        stdout, stderr = process.communicate(timeout=STEP_SECONDS)
        assert not check or process.returncode == 0, f"podman {words}: {process.returncode}\n{stdout}\n{stderr}"
        return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)

    def make_base(self, wheels: Path) -> list[str]:
        """Make the base image; its pip finds these wheels only. Returns the options for what it mounts."""
        archive = self._folder / "base.tar"
        with tarfile.open(archive, "w") as tar:
            for name in ("etc", "usr", "tmp", "proc", "sys", "dev", "run", "srv", "wheels"):
                info = tarfile.TarInfo(name)
                info.type, info.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
                tar.addfile(info)
            for name in LINKS:
                info = tarfile.TarInfo(name)
                info.type, info.linkname = tarfile.SYMTYPE, f"usr/{name}"
                tar.addfile(info)
            for name, text in {
                "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n",
                "etc/group": "root:x:0:\n",
                "etc/pip.conf": "[global]\nno-index = true\nfind-links = /wheels\n",
            }.items():
                info = tarfile.TarInfo(name)
                info.size = len(text)
                tar.addfile(info, io.BytesIO(text.encode()))
        self("import", "--change", f"ENV PATH={PYTHON}/bin:/usr/bin:/bin:/usr/sbin:/sbin", archive, BASE)
        mounts = [*MOUNTS, f"{wheels}:/wheels"]
        return [f"--volume={each if ':' in each else f'{each}:{each}'}:ro" for each in mounts]

    def build(self, dockerfile: Path, context: Path, tag: str, options: Sequence[str]) -> None:
        """Build an image from the base image."""
        words = [
            "--format=docker",
            "--layers=false",
            "--isolation=chroot",
            "--pull=never",
            f"--build-arg=BASE={BASE}",
            *options,
        ]
        self("build", *words, f"--tag={tag}", f"--file={dockerfile}", context)


@contextmanager
def podman() -> Iterator[Podman]:
    """Raises debian.NoProgram where podman cannot be had, or no container can be run."""
    if os.geteuid() != 0 or not debian.can_unshare():
        raise debian.NoProgram("containers need root here, and namespaces")
    root = "" if shutil.which("podman") else str(_unpacked())
    # On a disk: the file system of a container may be nested once only.
    folder = debian.cache_folder("containers") / str(os.getpid())
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    (folder / "containers.conf").write_text(CONFIGURATION)
    (folder / ".config" / "containers").mkdir(parents=True)
    (folder / ".config" / "containers" / "policy.json").write_text(ANY_IMAGE)
    storage = f'[storage]\ndriver = "overlay"\ngraphroot = "{folder}/storage"\nrunroot = "{folder}/run"\n'
    (folder / "storage.conf").write_text(storage)
    namespace = Patient(
        ["unshare", "--mount", "sh", "-ec", ENTER],
        env={**os.environ, "ROOT": root, "FOLDER": str(folder)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert namespace.stdout
        if namespace.stdout.readline() != "entered\n":
            raise debian.NoProgram("no mount namespace in which podman works can be made here")
        yield Podman(folder, namespace.pid)
    finally:
        namespace.kill()
        namespace.communicate()
        shutil.rmtree(folder, ignore_errors=True)


def _unpacked() -> Path:
    try:
        with debian.one_at_a_time("podman"):
            place = debian.cache_folder("podman")
            return debian.unpack("podman", [] if place.exists() else debian.with_dependencies("podman"))
    except (OSError, subprocess.SubprocessError) as problem:
        raise debian.NoProgram(f"no podman here, and its package cannot be had: {problem}") from problem
