"""Commands as job types for tests, and a program that reports how it was started."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from harness import App, Commands
from harness.commands import Completed

PROBE = """
import json, os, sys

def link(number):
    return os.readlink(f"/proc/self/fd/{number}")

def command_line(pid):
    try:
        return open(f"/proc/{pid}/cmdline", "rb").read().decode("latin-1")
    except OSError:
        return ""

numbers = [number for number in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{number}")]
descriptors = {number: link(number) for number in numbers}
seen = {
    "argv": [os.fsencode(each).hex() for each in sys.argv[1:]],
    "stdin": sys.stdin.buffer.read().hex(),
    "cwd": os.getcwdb().hex(),
    "env": open("/proc/self/environ", "rb").read().hex(),
    "descriptors": descriptors,
    "command_lines": [command_line(pid) for pid in os.listdir("/proc") if pid.isdigit()],
    "session": os.getsid(0) == os.getpid(),
}
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "seen-" + os.environ["JOBRUNNER_RUN_ID"])
with open(path, "w") as file:
    json.dump(seen, file)
"""


def quoted(text: str) -> str:
    """A TOML string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def array(*texts: str) -> str:
    """A TOML array of strings."""
    return f"[{', '.join(map(quoted, texts))}]"


def shell(script: str) -> str:
    """An argument list for lines of shell, which our own `shell = true` is not needed for."""
    return array("/bin/sh", "-c", script)


def python(script: str, *arguments: str) -> str:
    """An argument list for lines of Python without the site's packages."""
    return array(sys.executable, "-I", "-S", "-c", script, *arguments)


def write_jobs(app: App, text: str) -> Path:
    """Make jobrunner.toml the application's only source of job types."""
    app.imports = ""
    path = app.path("jobrunner.toml")
    path.write_text(text, encoding="utf-8")
    return path


def probe(app: App, *arguments: str) -> str:
    """An argument list that notes how it was started; see `seen`."""
    program = app.path("probe.py")
    program.write_text(PROBE)
    return array(sys.executable, "-I", "-S", str(program), *arguments)


def seen(app: App, run_id: int) -> dict[str, Any]:
    """What the probe noted in a run, in text; its environment as a dict."""
    found: dict[str, Any] = json.loads(app.path(f"seen-{run_id}").read_text())
    found["argv"] = [bytes.fromhex(each).decode("utf-8", "surrogateescape") for each in found["argv"]]
    found["cwd"] = bytes.fromhex(found["cwd"]).decode()
    found["stdin"] = bytes.fromhex(found["stdin"]).decode()
    pairs = bytes.fromhex(found["env"]).decode("utf-8", "surrogateescape").split("\0")
    found["env"] = dict(pair.split("=", 1) for pair in pairs if pair)
    return found


def latin1_locale(folder: Path) -> dict[str, str | None]:
    """The environment of a locale in Latin-1, made in the folder; empty where none can be made."""
    if shutil.which("localedef") is None:
        return {}
    made = subprocess.run(
        ["localedef", "-i", "de_DE", "-f", "ISO-8859-1", folder / "de_DE.ISO-8859-1"], capture_output=True
    )
    return {"LC_ALL": "de_DE.ISO-8859-1", "LOCPATH": str(folder)} if made.returncode == 0 else {}


HOLD = shell("touch at-work-$JOBRUNNER_RUN_ID; until [ -e go ]; do sleep 0.05; done")
ECHO = array("/bin/echo", "hello")


def at_work(app: App) -> int:
    return len(list(app.folder.glob("at-work-*")))


def with_handlers(app: App, text: str, imports: str = "handlers") -> None:
    write_jobs(app, text)
    app.imports = imports


def from_crontab(jobrunner: Commands, text: str, *words: object, **options: Any) -> Completed:
    """What an import of these lines says."""
    return jobrunner("schedule", "import", "-", "--timezone", "UTC", *words, stdin=text, **options)
