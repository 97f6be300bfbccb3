"""`make deb`: the Debian package is built by Debian's own tools, installed, used, upgraded, removed and purged."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness import pages
from harness.debian import NoProgram
from harness.debian_root import DebianRoot, debian_root
from harness.installation import Distributions, once
from harness.waiting import wait_for
from jobrunner.settings.config import SETTINGS, load
from jobrunner.settings.env_file import parse_env

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "deploy" / "debian"
sys.path.insert(0, str(ROOT / "scripts"))
import debian_package  # noqa: E402

LIFE = "tests/project/test_debian_package.py::test_the_package_is_installed_used_upgraded_removed_and_purged"
pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def root(tmp_path: Path, record_property: Callable[[str, object], None]) -> Iterator[DebianRoot]:
    """A Debian of the test's own, whose /mnt is `tmp_path`."""
    try:
        with debian_root(tmp_path / "root", tmp_path) as found:
            if not found.has_systemd:
                record_property("systemd was not used", "it does not start in namespaces here")
            yield found
    except NoProgram as problem:
        pytest.skip(str(problem))


@pytest.fixture
def package(root: DebianRoot, tmp_path: Path, session_folder: Path, distributions: Distributions) -> Path:
    """The package in `tmp_path`; it is built once for all workers."""

    def make(folder: Path) -> None:
        shutil.copy(build(root, distributions, tmp_path / "built"), folder)

    (made,) = once(session_folder / "debian", make).glob("*.deb")
    return Path(shutil.copy(made, tmp_path))


def build(root: DebianRoot, distributions: Distributions, folder: Path) -> Path:
    folder.mkdir()
    source = there(debian_package.unpack(distributions.sdist, folder), folder.parent)
    with_pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    environment = {"PIP_CACHE_DIR": str(Path.home() / ".cache" / "pip"), **with_pip}
    if root.run("sh", "-c", f"cd {source} && dpkg-checkbuilddeps", check=False).returncode != 0:
        # What is missing, from Debian: into this root only.
        root.run("apt-get", "update", "-qq")
        root.run("apt-get", "install", "-y", "-qq", "--no-install-recommends", *debian_package.TOOLS.split())
    root.run("sh", "-c", f"cd {source} && {shlex.join(debian_package.BUILD)}", env=environment)
    (made,) = folder.glob("*.deb")
    return made


def there(path: Path, shared: Path) -> Path:
    """The path in the root."""
    return Path("/mnt") / path.relative_to(shared)


def control(package: Path) -> dict[str, str]:
    told = subprocess.run(["dpkg-deb", "--field", package], capture_output=True, text=True, check=True).stdout
    return dict(re.findall(r"(?m)^(\S+): (.*)$", told))


def newer(package: Path, folder: Path) -> Path:
    """The same package with a higher version, another line in its settings, and nothing else."""
    subprocess.run(["dpkg-deb", "--raw-extract", package, folder], check=True)
    described = folder / "DEBIAN" / "control"
    described.write_text(re.sub(r"(?m)^Version: .*", "Version: 99.0-1", described.read_text()))
    with (folder / "etc/jobrunner/jobrunner.env").open("a") as settings:
        settings.write("# A line of the next version.\n")
    made = folder.with_suffix(".deb")
    subprocess.run(["dpkg-deb", "-Znone", "--build", folder, made], check=True, capture_output=True)
    return made


def test_settings_of_the_package_are_settings_and_name_its_own_places() -> None:
    text = (FOLDER / "jobrunner.env").read_text()
    read = load({**parse_env(text), "JOBRUNNER_CONFIG": ""})
    assert (read.database_url, read.log) == ("sqlite:////var/lib/jobrunner/jobrunner.db", "/var/log/jobrunner/tick.log")
    everything = parse_env(re.sub(r"(?m)^#(?=[A-Z_]+=)", "", text))
    assert {name.removeprefix("JOBRUNNER_").lower() for name in everything} - {"config"} <= set(SETTINGS)
    assert f"-qx 'JOBRUNNER_DATABASE_URL={read.database_url}'" in (FOLDER / "jobrunner.postinst").read_text()


def test_units_of_the_package_are_those_of_the_examples_with_its_own_places(tmp_path: Path) -> None:
    shutil.copytree(FOLDER.parent, tmp_path / "examples" / "deploy")
    (tmp_path / "debian").mkdir()
    subprocess.run(["make", "-s", "-f", FOLDER / "rules", "placed"], cwd=tmp_path, check=True, capture_output=True)
    made = {path.name: path.read_text() for path in (tmp_path / "debian").iterdir()}
    check_places("".join(made.values()))
    assert {name.removeprefix("jobrunner.") for name in made} == {*UNITS, "logrotate"}
    for name, text in made.items():
        example = FOLDER.parent / name.replace("jobrunner.jobrunner-tick", "jobrunner").replace(".jobrunner-", "-")
        own = ["StateDirectory=jobrunner", "StateDirectoryMode=0750"] if name.endswith("tick.service") else []
        assert [line for line in text.splitlines() if line.startswith("StateDirectory")] == own
        assert len(text.splitlines()) == len(example.read_text().splitlines()) + len(own)


@pytest.mark.parametrize("script", ["command.sh", "jobrunner.postinst", "jobrunner.prerm", "jobrunner.postrm"])
def test_scripts_of_the_package_are_read_by_a_shell(script: str) -> None:
    done = subprocess.run(["sh", "-n", FOLDER / script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert script == "command.sh" or "\n#DEBHELPER#\n" in (FOLDER / script).read_text()


def test_make_deb_says_what_is_missing_where_there_is_no_debian(tmp_path: Path) -> None:
    command = [sys.executable, ROOT / "scripts" / "debian_package.py", "--to", tmp_path / "dist"]
    done = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True)
    assert (done.returncode, done.stdout, list(tmp_path.iterdir())) == (1, "", [])
    assert (
        done.stderr == f"make deb: there is no dpkg-buildpackage; on Debian: apt-get install {debian_package.TOOLS}\n"
    )


def test_an_unreleased_package_is_older_than_its_release(tmp_path: Path) -> None:
    changes = tmp_path / "CHANGELOG.md"
    changes.write_text("# Changelog\n\n## 1.2.0 (unreleased), schema 3\n\n## 1.1.0 (2026-01-02), schema 2\n")
    assert debian_package.version(tmp_path) == "1.2.0~unreleased"
    changes.write_text(changes.read_text().replace("unreleased", "2026-03-04"))
    assert debian_package.version(tmp_path) == "1.2.0"


@pytest.mark.long
def test_the_package_is_installed_used_upgraded_removed_and_purged(
    root: DebianRoot, package: Path, tmp_path: Path
) -> None:
    """By the commands of the page, under systemd where it starts here."""
    blocks = pages.checked_by(LIFE)
    declared = next(block.text for block in blocks if block.language == "toml")
    install, first, loop, remove = (block for block in blocks if block.language == "console")
    before = traces(root)

    # It says itself what it needs, and holds nothing of where it was built.
    told = control(package)
    assert (told["Package"], told["Version"]) == ("jobrunner", f"{debian_package.version(ROOT)}-1")
    assert re.search(r"python3 \(>= 3\.\d+\), python3 \(<< 3\.\d+\), libc6 ", told["Depends"])

    follow(root, install, {"dist/jobrunner_*.deb": str(there(package, tmp_path))})
    assert "installed" in root.run("dpkg-query", "--show", "--showformat=${db:Status-Status}", "jobrunner").stdout
    assert root.run("jobrunner", "--version").stdout.startswith("jobrunner ")
    settings = "/etc/jobrunner/jobrunner.env"
    assert root.run("stat", "-c", "%A %U:%G", settings).stdout == "-rw-r----- root:jobrunner\n"
    assert root.run("grep", "-rlI", "/mnt/built", "/usr/lib/jobrunner", check=False).stdout == ""
    check_help(root)
    check_units(root)
    if root.has_systemd:
        assert root.run("systemctl", "is-active", "jobrunner-tick.timer").stdout == "active\n"

    write(root, "/etc/jobrunner/jobrunner.toml", declared + SLOW)
    follow(root, first, {})
    assert as_jobrunner(root, "status", "--json")["database"] == "sqlite:////var/lib/jobrunner/jobrunner.db"
    # Everybody may call the command, with settings of their own.
    told_nobody = root.run("jobrunner", "status", user="nobody", check=False)
    assert told_nobody.stderr.startswith("jobrunner: there is no database at /nonexistent/")

    # An upgrade stops a tick at work, keeps what was changed, and goes on.
    write(root, settings, "JOBRUNNER_CONCURRENCY=2\n")
    slow = start_slow(root)
    root.run("dpkg", "--install", "--force-confold", there(newer(package, tmp_path / "newer"), tmp_path))
    assert root.run("stat", "-c", "%A %U:%G", settings).stdout == "-rw-r----- root:jobrunner\n"
    assert root.run("tail", "-n", "1", settings).stdout == "JOBRUNNER_CONCURRENCY=2\n"
    if root.has_systemd:
        attempts = as_jobrunner(root, "show", slow, "--json")["attempt_log"]
        assert [each["outcome"] for each in attempts][:1] == ["released"]
        assert root.run("systemctl", "is-active", "jobrunner-tick.timer").stdout == "active\n"
        follow(root, loop, {})
        assert root.run("systemctl", "is-active", "jobrunner-loop.service").stdout == "active\n"

    removal, purge = remove.commands
    type_in(root, removal)
    assert root.run("test", "-e", "/usr/lib/jobrunner", check=False).returncode == 1
    assert root.run("test", "-e", "/var/lib/jobrunner/jobrunner.db", "-a", "-e", settings).returncode == 0
    if root.has_systemd:
        units = root.run("systemctl", "list-units", "--state=active,activating", "--plain", "--no-legend").stdout
        assert "jobrunner" not in units
    type_in(root, purge)
    assert traces(root) == before
    assert root.run("getent", "passwd", "jobrunner", check=False).stdout == ""


UNITS = {"jobrunner-tick.service", "jobrunner-tick.timer", "jobrunner-loop.service"}
SLOW = '\n[jobs.slow]\ncommand = ["sleep", "600"]\n'


def follow(root: DebianRoot, block: pages.Block, replaced: dict[str, str]) -> None:
    """Type what a block shows, and compare what is printed with what it shows."""
    steps = re.split(r"(?m)^\$ (.*)\n", block.text)[1:]
    for typed, shown in zip(steps[::2], steps[1::2], strict=True):
        command = typed
        for page, meant in replaced.items():
            command = command.replace(page, meant)
        printed = type_in(root, command)
        assert not shown or pages.normalised(printed) == pages.normalised(shown), f"{block.place}: {typed}"


def type_in(root: DebianRoot, command: str) -> str:
    """What root gets printed; sudo is not everywhere, and systemd neither."""
    words = shlex.split(command)
    assert words.pop(0) == "sudo"
    user = "root"
    if words[0] == "-u":
        user = words[1]
        words = words[2:]
    if words[0] == "systemctl" and not root.has_systemd:
        user, words = "jobrunner", ["jobrunner", "tick"]
    return root.run(*words, user=user).stdout


def as_jobrunner(root: DebianRoot, *words: object) -> Any:
    return json.loads(root.run("jobrunner", *words, user="jobrunner").stdout)


def write(root: DebianRoot, path: str, text: str) -> None:
    """Add a text to a file there, as an editor would: its owner and its mode stay."""
    root.run("sh", "-c", 'printf %s "$1" >> "$2"', "sh", text, path)


def traces(root: DebianRoot) -> set[str]:
    """Files and folders of the package and of its user, wherever they may be."""
    places = ("/etc", "/home", "/lib", "/opt", "/srv", "/usr", "/var")
    found = root.run("find", *places, "-xdev", "-name", "*jobrunner*").stdout
    return set(found.splitlines())


def check_help(root: DebianRoot) -> None:
    """The man page and the completion, where the host has their programs."""
    text = root.run("zcat", "/usr/share/man/man1/jobrunner.1.gz").stdout
    assert text == (ROOT / "docs/reference/jobrunner.1").read_text()
    completing = (
        ". /usr/share/bash-completion/completions/jobrunner; COMP_WORDS=(jobrunner sched); COMP_CWORD=1;"
        ' _jobrunner_completion jobrunner; echo "${COMPREPLY[@]}"'
    )
    assert root.run("bash", "-c", completing).stdout == "schedule\n"
    assert root.run("head", "-n", "1", "/usr/share/zsh/vendor-completions/_jobrunner").stdout == "#compdef jobrunner\n"


def check_units(root: DebianRoot) -> None:
    """They are those of the examples, with nothing of the examples' application in them."""
    listed = root.run("dpkg", "--listfiles", "jobrunner").stdout.split()
    units = [path for path in listed if "/systemd/system/" in path]
    assert {Path(path).name for path in units} == UNITS
    check_places(root.run("cat", *units, "/etc/logrotate.d/jobrunner").stdout)
    if root.run("which", "systemd-analyze", check=False).returncode == 0:
        done = root.run("systemd-analyze", "verify", "--man=no", *units, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def check_places(text: str) -> None:
    assert not re.search(r"/srv/app|\bapp\b|app\.env|\bjobrunner\.(timer|service)", text)
    assert {"User=jobrunner", "EnvironmentFile=/etc/jobrunner/jobrunner.env"} <= set(text.splitlines())


def start_slow(root: DebianRoot) -> int:
    """A run that a tick of the service has at work."""
    run_id = int(root.run("jobrunner", "enqueue", "slow", user="jobrunner").stdout)
    if root.has_systemd:
        root.run("systemctl", "start", "--no-block", "jobrunner-tick.service")
        wait_for(lambda: as_jobrunner(root, "show", run_id, "--json")["status"] == "running")
    return run_id
