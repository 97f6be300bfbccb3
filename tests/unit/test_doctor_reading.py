"""What doctor reads: the table of mounts, and the lines of a crontab."""

import pytest

from jobrunner.admin.doctor import files
from jobrunner.crontab.ticking_lines import Call, call_of, tick_lines

MOUNTS = """\
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
22 21 0:40 / /srv/data rw - nfs4 server:/data rw
23 22 8:2 / /srv/data/local rw - xfs /dev/sda2 rw
24 21 0:41 / /mnt/with\\040space rw - fuse.sshfs host: rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/app.db", "ext4"),
        ("/srv/data/app.db", "nfs4"),
        ("/srv/database/app.db", "ext4"),
        ("/srv/data/local/app.db", "xfs"),
        ("/mnt/with space/app.db", "fuse.sshfs"),
    ],
)
def test_file_system_of_a_path_is_that_of_its_nearest_mount(path: str, kind: str) -> None:
    assert files.file_system(path, MOUNTS) == kind


CALLS = {
    "/usr/bin/jobrunner tick": Call(["/usr/bin/jobrunner"], [], None, {}),
    "cd /srv/app && bin/jobrunner tick --budget 30s --config=x.toml >> log 2>&1 # jobrunner:x": Call(
        ["bin/jobrunner"], ["--config=x.toml"], "/srv/app", {}
    ),
    "PATH=/usr/local/bin:/bin X='a b' jobrunner --env-file /etc/x tick || mail root": Call(
        ["jobrunner"], ["--env-file", "/etc/x"], None, {"PATH": "/usr/local/bin:/bin", "X": "a b"}
    ),
    "flock -n /tmp/x timeout 55 python3 -m jobrunner tick": Call(["python3", "-m", "jobrunner"], [], None, {}),
    "/srv/bin/python manage.py jobrunner tick": Call(["/srv/bin/python", "manage.py", "jobrunner"], [], None, {}),
    "jobrunner tick --env-file $HOME/x": None,
    "jobrunner tick 'unclosed": None,
    "jobrunner-wrapper tick": None,
}


@pytest.mark.parametrize(("command", "call"), CALLS.items(), ids=CALLS.keys())
def test_call_of_a_crontab_line_is_read_without_a_shell(command: str, call: Call | None) -> None:
    assert call_of(command) == call


def test_tick_lines_of_a_system_crontab_have_their_user_and_the_variables_above_them() -> None:
    data = b'MAILTO=""\n# jobrunner tick\n* * * * * app jobrunner tick\nMAILTO=ops\n0 3 * * * root backup\n'
    (line,) = tick_lines("/etc/cron.d/app", data, has_user=True)
    assert (line.number, line.user, line.command, line.variables) == (3, "app", "jobrunner tick", {"MAILTO": ""})
