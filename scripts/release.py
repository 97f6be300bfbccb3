"""Make the files of a release of the commit that is checked out: `make release`, as docs/howto/releasing.md says.

Usage: python scripts/release.py [--without-audit]

Builds twice and compares the bytes, installs the wheel into an empty environment of each Python here, and writes
wheel, sdist, SBOM and checksums into a folder below dist/: all of them, or none. It signs, tags and uploads nothing.
"""

import argparse
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from test_pythons import pythons

ROOT = Path(__file__).resolve().parent.parent
CODE, CHANGES = Path("jobrunner", "__init__.py"), Path("CHANGELOG.md")
HEAD = re.compile(r"## (\S+) \((unreleased|\d{4}-\d\d-\d\d)\), schema \d+")
OWN = "cron-jobrunner"
# What must not show in the bytes.
SURROUNDINGS = ({"TZ": "UTC", "LC_ALL": "C"}, {"TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8"})
MASKS = (0o022, 0o077)
HANDLER = """
from jobrunner import job

@job("greet")
def greet(ctx, name):
    return f"Hello {name}"
"""
COMMAND = '[jobs.hello]\ncommand = ["echo", "hello"]\n'


class Refused(Exception):
    """There is no release; the message says why."""


class Release(NamedTuple):
    """What is released."""

    version: str
    commit: str
    made_at: int
    """When the commit was made, in seconds since 1970: the only time in the files."""

    @property
    def name(self) -> str:
        return f"cron_jobrunner-{self.version}"


class Audit(NamedTuple):
    """What pip-audit has said about the dependencies."""

    vulnerable: list[str]
    not_asked: list[str]


def main() -> None:
    words = argparse.ArgumentParser(prog="make release", description="Make the files of a release.")
    words.add_argument("--without-audit", action="store_true", help="also if no database of advisories can be asked")
    given = words.parse_args()
    try:
        release = identify()
        with tempfile.TemporaryDirectory() as temporary:
            made, tried = make(release, Path(temporary), audited=not given.without_audit)
            place = keep(made, release)
    except Refused as problem:
        sys.exit(f"release: {problem}")
    print(f"made {place.relative_to(ROOT)} from commit {release.commit[:12]}, tried on Python {', '.join(tried)}")
    print("not signed, not tagged, not uploaded: docs/howto/releasing.md goes on from here")


def identify() -> Release:
    """The release of this checkout. Raises Refused, with all that is in its way."""
    found = re.search(r'^__version__ = "(.+)"$', (ROOT / CODE).read_text(), re.MULTILINE)
    if found is None:
        raise Refused(f"{CODE} has no __version__")
    made = Release(found[1], git("rev-parse", "HEAD"), int(git("log", "-1", "--format=%ct")))
    if problems := list(obstacles(made)):
        raise Refused("\nrelease: ".join(problems))
    return made


def obstacles(release: Release) -> Iterator[str]:
    """What must be put right first."""
    if changed := git("status", "--porcelain").splitlines():
        yield f"{len(changed)} file(s) are changed or new, such as {changed[0][3:]}; commit them first"
    head = next((line for line in (ROOT / CHANGES).read_text().splitlines() if line.startswith("## ")), "")
    found = HEAD.fullmatch(head)
    if found is None or found[1] != release.version:
        wanted = f"## {release.version} (DATE), schema N"
        yield f"{CHANGES} begins with {head or 'no version'!r}, and {CODE} says {release.version}; write {wanted!r}"
    elif found[2] == "unreleased":
        yield f"{CHANGES} calls {release.version} unreleased; write the date of the release in its place"
    tag = f"v{release.version}"
    if git("tag", "--list", tag) and (tagged := git("rev-list", "-n", "1", tag)) != release.commit:
        yield (
            f"the tag {tag} is commit {tagged[:12]}, not {release.commit[:12]}: that version was released;"
            f" raise __version__ in {CODE}"
        )


def make(release: Release, folder: Path, *, audited: bool) -> tuple[list[Path], list[str]]:
    """The files, checked, and the versions of Python on which the wheel was tried."""
    step(f"building {release.name} twice")
    first, second = (build(release, folder / name, number) for number, name in enumerate(("first", "other place")))
    for path, other in zip(first, second, strict=True):
        if path.read_bytes() != other.read_bytes():
            raise Refused(
                f"{path.name} has other bytes when it is built in another folder, or straight from the checkout"
            )
    run(sys.executable, "-m", "twine", "check", "--strict", *first)
    (wheel,) = (path for path in first if path.suffix == ".whl")
    tried = []
    for version, python in pythons().items():
        tried.append(".".join(map(str, version)))
        step(f"trying the wheel on Python {tried[-1]}")
        environment = install(python, wheel, folder / tried[-1])
        use(environment, release, folder / f"home {tried[-1]}")
    step("listing the dependencies, and asking whether advisories name them")
    inventory = list_dependencies(environment, release, first[0].with_name(f"{release.name}.cdx.json"))
    judge(ask(environment), audited=audited)
    return [*first, inventory], tried


def build(release: Release, folder: Path, number: int) -> list[Path]:
    """The sdist and the wheel: the first time the wheel is made of the sdist, the second time of the checkout."""
    source, made = folder / "source", folder / "dist"
    packed = subprocess.run(["git", "archive", release.commit], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(source, filter="data")
    for path in source.rglob("*"):
        path.chmod(path.stat().st_mode & ~MASKS[number])
        os.utime(path, (number, number))
    kinds = ["--sdist", "--wheel"] if number else []
    words = ["-m", "build", "--no-isolation", *kinds, "--outdir", made, source]
    run(sys.executable, *words, umask=MASKS[number], SOURCE_DATE_EPOCH=str(release.made_at), **SURROUNDINGS[number])
    return sorted(made.iterdir())


def install(python: str, wheel: Path, folder: Path) -> Path:
    """An environment with nothing but the wheel and what it needs, not even pip."""
    run(python, "-m", "venv", "--without-pip", folder)
    run(sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "--quiet", wheel)
    return folder


def use(environment: Path, release: Release, home: Path) -> None:
    """Run a handler and a command on an SQLite file."""
    home.mkdir()
    (home / "jobs.py").write_text(HANDLER)
    (home / "jobrunner.toml").write_text(COMMAND)
    (home / "jobrunner.toml").chmod(0o600)
    settings = {"HOME": str(home), "PATH": os.environ["PATH"], "JOBRUNNER_IMPORT": "jobs"}
    settings |= {"JOBRUNNER_APP_DIR": str(home), "JOBRUNNER_DATABASE_URL": f"sqlite:///{home}/jobs.db"}

    def jobrunner(*words: str) -> str:
        return run(environment / "bin" / "jobrunner", *words, cwd=home, only=settings)

    if (said := jobrunner("--version").strip()) != f"jobrunner {release.version}":
        raise Refused(f"the installed command says {said!r}, and {CODE} {release.version}")
    jobrunner("migrate")
    ids = [jobrunner("enqueue", "greet", "--payload", '{"name": "Ada"}'), jobrunner("enqueue", "hello")]
    jobrunner("tick")
    for each in ids:
        status = json.loads(jobrunner("show", each.strip(), "--json"))["status"]
        if status != "succeeded":
            raise Refused(f"run {each.strip()} of the installed wheel is {status} after a tick")


def list_dependencies(environment: Path, release: Release, to: Path) -> Path:
    """The SBOM, in the form of CycloneDX: what pip installs with the wheel today."""
    described = to.with_name("pyproject.toml")
    text = (ROOT / "pyproject.toml").read_text()
    described.write_text(text.replace('dynamic = ["version"]', f'version = "{release.version}"'))
    words = ["-m", "cyclonedx_py", "environment", environment / "bin" / "python", "--pyproject", described]
    words += ["--mc-type", "library", "--output-reproducible", "--output-file", to]
    run(sys.executable, *words, SOURCE_DATE_EPOCH=str(release.made_at))
    return to


def ask(environment: Path) -> Audit:
    """Have pip-audit ask the package index for the advisories that name what is installed."""
    (site,) = environment.glob("lib/python*/site-packages")
    words = [sys.executable, "-m", "pip_audit", "--path", str(site), "--format", "json", "--progress-spinner", "off"]
    done = subprocess.run(words, capture_output=True, text=True, cwd="/")
    try:
        return read_audit(json.loads(done.stdout))
    except ValueError:
        last = (done.stderr.strip().splitlines() or ["no answer"])[-1]
        return Audit([], [f"all dependencies ({last})"])


def read_audit(answer: Mapping[str, Any]) -> Audit:
    """pip-audit calls it a success, too, if the index knows advisories of no dependency: those are not asked about."""
    others = [each for each in answer["dependencies"] if each["name"] != OWN]
    vulnerable = [
        f"{each['name']} {each['version']}: {', '.join(one['id'] for one in each['vulns'])}"
        for each in others
        if each.get("vulns")
    ]
    return Audit(vulnerable, [each["name"] for each in others if "skip_reason" in each])


def judge(audit: Audit, *, audited: bool) -> None:
    if audit.vulnerable:
        raise Refused(f"advisories name what pip installs: {'; '.join(audit.vulnerable)}; raise the lower bounds")
    if not audit.not_asked:
        return
    missing = f"nothing could say whether advisories name {', '.join(audit.not_asked)}"
    if audited:
        raise Refused(f"{missing}; try where the index tells them, or: make release ARGS=--without-audit")
    step(f"NOT AUDITED: {missing}")


def keep(made: list[Path], release: Release) -> Path:
    """Put the files where they stay, with their checksums, in the place of an earlier try."""
    draft = Path(tempfile.mkdtemp(dir=_folder(ROOT / "dist")))
    for path in made:
        shutil.copyfile(path, draft / path.name)
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(draft.iterdir())]
    (draft / "SHA256SUMS").write_text("".join(sums))
    draft.chmod(0o755)
    place = ROOT / "dist" / release.name
    shutil.rmtree(place, ignore_errors=True)
    return draft.rename(place)


def _folder(path: Path) -> Path:
    path.mkdir(exist_ok=True)
    return path


def git(*words: str) -> str:
    return run("git", *words, cwd=ROOT).rstrip()


def run(
    *words: str | Path, cwd: Path = Path("/"), umask: int = -1, only: Mapping[str, str] | None = None, **variables: str
) -> str:
    """What it prints. Raises Refused if it fails."""
    environment = dict(only) if only is not None else os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"} | variables
    try:
        done = subprocess.run(words, cwd=cwd, env=environment, umask=umask, capture_output=True, text=True)
    except OSError as problem:
        raise Refused(f"{words[0]} cannot be started: {problem}") from None
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise Refused(f"{' '.join(map(str, words))}: exit {done.returncode}\n{said}")
    return done.stdout


def step(words: str) -> None:
    print(words, flush=True)


if __name__ == "__main__":
    main()
