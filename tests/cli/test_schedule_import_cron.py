"""Jobs that `jobrunner schedule import` has taken over run under ticks as under cron."""

import json
import os
import pwd
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from harness import App, Commands, Database, wait_for
from harness.command_jobs import from_crontab
from harness.cron import Cron, Shell

pytestmark = pytest.mark.timeout(400)

A_MINUTE = 100
PROBE = """\
#!/usr/bin/python3 -IS
import json, os, sys
seen = {
    "argv": sys.argv[2:],
    "stdin": sys.stdin.read(),
    "cwd": os.getcwd(),
    "env": {name: value for name, value in os.environ.items() if name != "OUT"},
}
path = os.path.join(os.environ["OUT"], sys.argv[1])
with open(path + ".draft", "w") as file:
    json.dump(seen, file)
os.rename(path + ".draft", path)
"""
# Each line tells what it got under a name of its own. HOME changes half way down.
LINES = r"""
MAILTO=""
OUT={out}
* * * * * {probe} plain a 'b c' "d\"e" f\ g \%h
* * * * * {probe} input -%first%second \% third%
* * * * * {probe} backslashes 'a\\b' "c\\\\d" \\e
* * * * * cd {folder} && ./probe folder
* * * * * cd {folder} && ./bare bare
* * * * * FRONT=1 {probe} front
* * * * * {probe} shell $HOME "$OUT" *nothing; {probe} shell2 `echo x` | cat > /dev/null 2>&1
* * * * * {probe} date $(date +\%Y)%in a shell
SPACED = "  two  words "
PATH={folder}:/usr/bin:/bin
* * * * * probe path
HOME={folder}
SHELL=/bin/bash
* * * * * ./probe home
* * * * * ./probe bash {{1..3}} <<< x
* * * * * ./probe dollars '$HOME' "a b" '*'
"""
NAMES = {
    *("plain", "input", "backslashes", "folder", "bare", "front", "shell", "shell2", "date", "path", "home", "bash"),
    "dollars",
}


def seen_in(folder: Path) -> dict[str, Any]:
    return {path.name: json.loads(path.read_text()) for path in folder.iterdir() if path.suffix != ".draft"}


def test_imported_jobs_run_under_ticks_as_under_cron(
    jobrunner: Commands, app: App, database: Database, cron: Cron, tmp_path: Path
) -> None:
    """One crontab, run by the real daemon and by real ticks: same arguments, input, folder and variables."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name, script in (("probe", PROBE), ("bare", './probe "$1" "no first line"\n')):
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    crontabs = {}
    for kind in ("cron", "tick"):
        out = tmp_path / f"out-{kind}"
        out.mkdir()
        crontabs[kind] = LINES.format(out=out, probe=folder / "probe", folder=folder)
    if not isinstance(cron, Shell):
        cron.start(crontabs["cron"], "")
        wait_for(lambda: set(seen_in(tmp_path / "out-cron")) == NAMES, A_MINUTE, lambda: str(cron.mails()))
        cron.stop()

    app.imports = ""
    done = from_crontab(jobrunner, crontabs["tick"], "-o", app.path("jobrunner.toml"))
    assert "19 lines: 12 jobs, 0 not imported, 6 variables" in done.stderr
    jobrunner("apply")
    database.move_clock(timedelta(minutes=1))
    user = pwd.getpwuid(os.getuid())
    as_cron = {"HOME": user.pw_dir, "LOGNAME": user.pw_name, "SHELL": "/bin/sh", "LANG": None, "TMPDIR": None}
    jobrunner.tick(env=as_cron)
    runs = database.query("SELECT job_type, status, last_error FROM job_runs")
    assert {run["status"] for run in runs} == {"succeeded"}, runs
    ticks = seen_in(tmp_path / "out-tick")
    assert set(ticks) == NAMES
    for name, under_cron in seen_in(tmp_path / "out-cron").items():
        compare(name, under_cron, ticks[name], tmp_path)


def compare(name: str, under_cron: dict[str, Any], under_tick: dict[str, Any], folder: Path) -> None:
    for key in ("argv", "stdin", "cwd"):
        expected = json.loads(json.dumps(under_cron[key]).replace(f"{folder}/out-cron", f"{folder}/out-tick"))
        assert under_tick[key] == expected, name
    # A shell sets those by itself, another than dash others.
    own = {"PWD", "OLDPWD", "SHLVL", "_"}
    wanted = {key: value for key, value in under_cron["env"].items() if key not in own}
    assert {key: under_tick["env"].get(key) for key in wanted} == wanted, name
