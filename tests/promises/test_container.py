"""The image of examples/deploy/Dockerfile: built and run by podman, and its process without any image."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from harness import App, Commands, Database, debian, pages, sqlite_only, wait_for
from harness.commands import COMMAND
from harness.handlers_rows import queue, status_of
from harness.pages import ROOT
from harness.podman import Podman, podman
from harness.processes import Patient
from harness.stops import wait_until_at_work
from jobrunner.settings.config import load

DEPLOY = ROOT / "examples" / "deploy"
DOCKERFILE = DEPLOY / "Dockerfile"
THIS = "tests/promises/test_container.py::test_image_is_built_and_works_as_process_1"
# What handlers get after SIGTERM, and after that until SIGKILL; then their ends are written.
SECONDS_TO_STOP = load({}).grace.total_seconds() + 5 + 5


def instructions() -> dict[str, str]:
    """The instructions of the last stage; the last one of a kind counts, as in an image."""
    text = re.sub(r"(?m)^#.*\n", "", DOCKERFILE.read_text()).replace("\\\n", " ")
    last = text[text.rindex("\nFROM ") :]
    return {line.split(" ", 1)[0]: line.split(" ", 1)[1].strip() for line in last.splitlines() if " " in line}


def words_of(instruction: str) -> list[str]:
    found: list[str] = json.loads(instruction[instruction.index("[") :])
    return found


def variables() -> dict[str, str]:
    """What ENV sets, but for PATH."""
    given = dict(word.split("=", 1) for word in shlex.split(instructions()["ENV"]))
    del given["PATH"]
    return given


@sqlite_only
def test_process_of_the_image_works_without_an_image(
    jobrunner: Commands, app: App, database: Database, tmp_path: Path
) -> None:
    """Its words and variables, as process 1 where there are namespaces."""
    memory = tmp_path / "memory"
    memory.mkdir()
    run_id = queue(database, "wait_for", {"path": str(app.path("go"))})

    def placed(text: str) -> str:
        return text.replace("/tmp/", f"{memory}/").replace("/srv/app", str(app.folder))

    environment = jobrunner.environment({name: placed(value) for name, value in variables().items()})
    (name,) = words_of(instructions()["ENTRYPOINT"])
    assert name == "jobrunner"
    prefix = debian.UNSHARE if debian.can_unshare() else ()
    process = Patient(
        [*prefix, COMMAND, *map(placed, words_of(instructions()["CMD"]))],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_until_at_work(app, run_id)
    wait_for((memory / "ready").exists, 20, "it is ready")
    health = words_of(instructions()["HEALTHCHECK"])
    assert health[0] == name
    done = subprocess.run([COMMAND, *health[1:]], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "ok: nothing is wrong\n")
    assert instructions()["STOPSIGNAL"] == "SIGTERM"
    own = process.pid
    if prefix:
        own = int(Path(f"/proc/{own}/task/{own}/children").read_text())
        assert Path(f"/proc/{own}/status").read_text().split("NSpid:")[1].split()[1] == "1"
    subprocess.run(["kill", "-TERM", str(own)], check=True)
    wait_for(lambda: not (memory / "ready").exists(), 20, "it stops")
    app.release("go")
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert [json.loads(line)["event"] for line in out.splitlines()][-1] == "tick"
    assert status_of(database, run_id) == "succeeded"
    assert {path.name for path in memory.iterdir()} == {"jobrunner"}


def test_image_runs_as_a_user_that_is_not_root_and_has_fixed_numbers() -> None:
    assert instructions()["USER"] == "10001:10001"
    assert "--uid 10001" in DOCKERFILE.read_text()


def test_deployment_of_kubernetes_keeps_its_promises() -> None:
    deployment = yaml.safe_load((DEPLOY / "kubernetes-deployment.yaml").read_text())
    assert (deployment["apiVersion"], deployment["kind"]) == ("apps/v1", "Deployment")
    spec = deployment["spec"]
    assert set(spec) == {"replicas", "selector", "template"}
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    pod = spec["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] > SECONDS_TO_STOP
    assert pod["securityContext"]["runAsNonRoot"] is True
    user = pod["securityContext"]["runAsUser"], pod["securityContext"]["runAsGroup"]
    assert f"{user[0]}:{user[1]}" == instructions()["USER"]
    (container,) = pod["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert "livenessProbe" not in container
    (program, option, file) = container["readinessProbe"]["exec"]["command"]
    assert (program, option) == ("test", "-e")
    assert container["args"][container["args"].index("--ready-file") + 1] == file
    assert [each["mountPath"] for each in container["volumeMounts"]] == ["/tmp"]
    names = {entry["name"] for entry in container["env"]}
    assert names == {"JOBRUNNER_HOST", "JOBRUNNER_IMPORT"}


@sqlite_only
def test_words_of_the_deployment_start_a_loop(jobrunner: Commands, tmp_path: Path) -> None:
    deployment = yaml.safe_load((DEPLOY / "kubernetes-deployment.yaml").read_text())
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    words = [word.replace("/tmp/", f"{tmp_path}/") for word in container["args"]]
    loop = jobrunner.start(*words)
    wait_for((tmp_path / "ready").exists, 60, "it is ready")
    loop.send_signal(signal.SIGTERM)
    assert loop.wait() == 0


JOBS = """
import os, time
from jobrunner import Context, job

@job("look", timeout="5m")
def look(ctx: Context):
    with open("/data/at-work", "w"):
        pass
    while not os.path.exists("/data/go"):
        time.sleep(0.01)
    return {"uid": os.getuid(), "parent": os.getppid()}
"""


@pytest.fixture(scope="module")
def engine() -> Iterator[Podman]:
    try:
        with podman() as found:
            yield found
    except debian.NoProgram as reason:
        pytest.skip(str(reason))


@pytest.mark.long
@pytest.mark.timeout(900)
def test_image_is_built_and_works_as_process_1(engine: Podman, tmp_path: Path) -> None:
    owner = os.stat(os.devnull).st_uid
    wheels, application, data = tmp_path / "wheels", tmp_path / "application", tmp_path / "data"
    ask = [sys.executable, "-m", "pip", "wheel", "--quiet", "--wheel-dir", str(wheels), str(ROOT), "hatchling"]
    subprocess.run(ask, check=True, stderr=subprocess.DEVNULL)
    mounts = engine.make_base(wheels)
    engine.build(DOCKERFILE, ROOT, "jobrunner", mounts)
    # The application of the page.
    (block,) = (block for block in pages.checked_by(THIS) if block.saved_as == "Dockerfile")
    (application / "app").mkdir(parents=True)
    (application / "Dockerfile").write_text(block.text)
    (application / "requirements.txt").write_text("# nothing more\n")
    (application / "app" / "__init__.py").touch()
    (application / "app" / "jobs.py").write_text(JOBS)
    engine.build(application / "Dockerfile", application, "myapp", mounts)

    data.mkdir()
    data.chmod(0o777)
    options = ["--read-only", "--tmpfs=/tmp", "--hostname=jobs", "--network=none", "--pull=never", *mounts]
    options += [f"--volume={data}:/data", "--env=JOBRUNNER_DATABASE_URL=sqlite:////data/jobs.db"]
    engine("run", "--rm", *options, "myapp", "migrate")
    engine("run", "--rm", *options, "myapp", "enqueue", "look")
    container = engine.start("run", "--name=jobs", "--no-healthcheck", *options, "myapp")
    wait_for((data / "at-work").exists, 60, "the handler is at work")
    inside = ["exec", "jobs"]
    assert engine(*inside, "id", "-u").stdout == "10001\n"
    assert engine(*inside, "test", "-e", "/tmp/ready").returncode == 0
    assert "read-only" in engine(*inside, "touch", "/srv/app/x", check=False).stderr.lower()
    assert engine(*inside, "find", "app/__pycache__", "-name", "jobs.*.pyc").stdout.count("\n") == 1
    checks = json.loads(engine(*inside, "jobrunner", "doctor", "--no-crontab", "--json", check=False).stdout)["checks"]
    assert [each for each in checks if each["verdict"] == "wrong" and each["name"] != "files"] == []
    assert [each for each in checks if each["name"] == "compiled code" and each["remedy"]] == []
    assert b"loop" in engine(*inside, "cat", "/proc/1/cmdline").stdout.encode().split(b"\0")
    assert engine(*inside, *words_of(instructions()["HEALTHCHECK"])).stdout == "ok: nothing is wrong\n"
    stopping = engine.start("stop", "--time=60", "jobs")
    wait_for(lambda: engine(*inside, "test", "-e", "/tmp/ready", check=False).returncode != 0, 60, "it stops")
    (data / "go").touch()
    stdout, stderr = container.communicate()
    stopping.communicate()
    assert (stopping.returncode, container.returncode) == (0, 0), stderr
    assert json.loads(stdout.splitlines()[-1])["event"] == "tick"
    shown = json.loads(engine("run", "--rm", *options, "myapp", "show", "1", "--json").stdout)
    assert (shown["status"], shown["result"]["uid"]) == ("succeeded", 10001)
    assert shown["result"]["parent"] != 1
    assert os.stat(os.devnull).st_uid == owner
