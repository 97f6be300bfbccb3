"""This Debian again, in which a test may install what it likes: an overlay over `/`, in namespaces of its own.

What is written there is in memory, and gone with the last process. Its systemd is process 1, where it can be.
"""

import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from harness.debian import NoProgram, one_at_a_time
from harness.processes import Patient
from harness.waiting import stretched

NAMESPACES = ("--mount", "--pid", "--uts", "--ipc")
# What could change the machine's kernel, or its clock.
TAKEN = "-sys_module,-sys_time,-sys_boot,-sys_rawio,-syslog,-audit_control,-audit_read,-mac_admin"
SYSTEMD = "/lib/systemd/systemd"
START_SECONDS = 60
# Nothing that the machine starts starts here, and its kernel is not changed: /proc/sys and /sys are read-only.
SCRIPT = """
set -eu
folder=$1 shared=$2 process=$3
mount -t tmpfs -o mode=0755 tmpfs "$folder"
cd "$folder"
mkdir upper work root
mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root
mount -t proc proc root/proc
mount --bind root/proc/sys root/proc/sys
mount -o remount,bind,ro root/proc/sys
mount -t sysfs -o ro sysfs root/sys
mount -t tmpfs -o mode=0755 tmpfs root/dev
mknod -m 0666 root/dev/null c 1 3
mknod -m 0666 root/dev/zero c 1 5
mknod -m 0666 root/dev/random c 1 8
mknod -m 0666 root/dev/urandom c 1 9
mknod -m 0666 root/dev/tty c 5 0
ln -s /proc/self/fd root/dev/fd
ln -s fd/1 root/dev/stdout
for place in dev/shm run tmp; do mkdir -p root/$place; mount -t tmpfs -o mode=1777 tmpfs root/$place; done
chmod 0755 root/run
mount --bind "$shared" root/mnt
rm -rf root/etc/systemd/system/*.wants
# An image says with it that no package may start its services.
rm -f root/usr/sbin/policy-rc.d
# After each package the index of all man pages would be made again.
rm -f root/var/lib/man-db/auto-update
: > root/etc/fstab
echo web1 > root/etc/hostname
hostname web1
# Packages that others install meanwhile: what is there is there from now on.
cp -p root/var/lib/dpkg/status root/var/lib/dpkg/status.own
mv root/var/lib/dpkg/status.own root/var/lib/dpkg/status
if [ "$process" = systemd ]; then
    # The cgroup of this process is the whole tree for systemd.
    mkdir cgroups
    mount -t cgroup2 cgroup2 cgroups
    mkdir "cgroups/$CGROUP"
    echo 0 > "cgroups/$CGROUP/cgroup.procs"
    umount cgroups
    exec unshare --cgroup sh -c "
        mount -t cgroup2 cgroup2 root/sys/fs/cgroup
        exec chroot root env -i container=other PATH=$PATHS setpriv --bounding-set=$TAKEN $SYSTEMD --unit=basic.target"
fi
exec chroot root env -i PATH=$PATHS sleep infinity
"""
# What systemd has made stays when it is killed, and its processes end a little later.
CLEAN = """
folder=$1
mount -t cgroup2 cgroup2 "$folder"
cd "$folder"
for _ in $(seq 100); do
    test -d "$CGROUP" || break
    find "$CGROUP" -depth -type d -exec rmdir {} + || sleep 0.1
done
"""
PATHS = "/usr/sbin:/usr/bin:/sbin:/bin"


class DebianRoot:
    """The system, and how to run something in it. `shared` is /mnt there."""

    def __init__(self, process: int, *, has_systemd: bool) -> None:
        self.has_systemd = has_systemd
        self._process = process

    def run(
        self, *command: object, user: str = "root", check: bool = True, env: Mapping[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command, with hardly an environment; with `check` another exit code than 0 is an AssertionError."""
        enter = ["nsenter", f"--target={self._process}", *NAMESPACES, "--cgroup", "--root", "--wd", "env", "-i"]
        variables = {"PATH": PATHS, "LANG": "C.UTF-8", "HOME": "/root", **(env or {})}
        as_user = [] if user == "root" else ["runuser", "-u", user, "--"]
        words = [*enter, *(f"{name}={value}" for name, value in variables.items()), *as_user, *map(str, command)]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
        assert not check or done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        return done


@contextmanager
def debian_root(folder: Path, shared: Path) -> Iterator[DebianRoot]:
    """Raises NoProgram where there is no Debian, no right to this, or no such namespace."""
    if os.geteuid() != 0 or not Path("/var/lib/dpkg/status").exists():
        raise NoProgram("no Debian here, or not root")
    folder.mkdir()
    log = folder.with_suffix(".log")
    given = {**os.environ, "CGROUP": f"jobrunner-{uuid4().hex}", "TAKEN": TAKEN, "PATHS": PATHS, "SYSTEMD": SYSTEMD}
    for name in ("systemd", "sleep"):
        with log.open("wb") as output, one_at_a_time():
            words = ["unshare", *NAMESPACES, "--fork", "--kill-child", "sh", "-c", SCRIPT, "sh", folder, shared, name]
            process = Patient(words, env=given, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
            first = _first_process(process, name)
        try:
            if first is not None and _is_up(found := DebianRoot(first, has_systemd=name == "systemd")):
                yield found
                return
        finally:
            process.kill()
            process.wait()
            clean = ["unshare", "--mount", "sh", "-c", CLEAN, "sh", str(folder)]
            subprocess.run(clean, env=given, capture_output=True)
    raise NoProgram(f"no overlay of / in namespaces of its own here: {log.read_text()}")


def _first_process(process: Patient, name: str) -> int | None:
    """The first process of the namespaces when it has become the program of this name; None: it never will."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while process.poll() is None:
        with suppress(OSError):
            for child in children.read_text().split():
                if Path(f"/proc/{child}/comm").read_text() == f"{name}\n":
                    return int(child)
        time.sleep(0.05)
    return None


def _is_up(root: DebianRoot) -> bool:
    deadline = time.monotonic() + stretched(START_SECONDS)
    while root.has_systemd and root.run("systemctl", "is-active", "basic.target", check=False).returncode != 0:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True
