"""examples/deploy: each file keeps its promises, and its command works in an empty environment."""

import configparser
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from harness import App, Commands, Database, sqlite_only, wait_for
from harness.commands import COMMAND
from harness.loops import READY, manager
from jobrunner.cli.program import cli
from jobrunner.cli.work.dev import _LONGEST_STOP_SECONDS
from jobrunner.settings.config import SETTINGS, load
from jobrunner.settings.env_file import parse_env, read_env_file
from jobrunner.store.drivers.location import locate

FOLDER = Path(__file__).parents[2] / "examples" / "deploy"
PROGRAM, ENV_FILE = "/srv/app/.venv/bin/jobrunner", "/etc/jobrunner/app.env"
ENV_EXAMPLE = (FOLDER / "jobrunner.env.example").read_text()
# What handlers get after SIGTERM, and after that until SIGKILL; then their ends are written.
SECONDS_TO_STOP = load({}).grace.total_seconds() + 5 + 5
ANALYZE = shutil.which("systemd-analyze")
LOGROTATE = shutil.which("logrotate", path="/usr/sbin:/usr/bin")


class Unit(configparser.RawConfigParser):
    def __init__(self, name: str) -> None:
        super().__init__(strict=True)
        self.text = (FOLDER / name).read_text()
        self.read_string(self.text)

    def optionxform(self, optionstr: str) -> str:
        return optionstr


@pytest.fixture
def service() -> Unit:
    return Unit("jobrunner.service")


@pytest.fixture
def timer() -> Unit:
    return Unit("jobrunner.timer")


@pytest.fixture
def cronjob() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((FOLDER / "kubernetes-cronjob.yaml").read_text())
    return loaded


def write_env_file(path: Path, jobrunner: Commands) -> None:
    """The example with the test's values, and what the test's handlers need."""
    text = ENV_EXAMPLE
    mine = {**jobrunner.environment(), "JOBRUNNER_LOG": str(path.with_name("tick.log"))}
    del mine["PATH"], mine["LANG"], mine["HOME"]
    for name, value in mine.items():
        text, found = re.subn(rf"(?m)^{name}=.*$", lambda _, line=f"{name}={value}": line, text)
        text += "" if found else f"{name}={value}\n"
    path.write_text(text)


def run_bare(command: list[str], environment: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    assert command[0] == PROGRAM
    return subprocess.run(
        [COMMAND, *command[1:]],
        env=dict(environment),
        cwd="/",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )


def test_the_env_file_holds_settings_that_exist(tmp_path: Path) -> None:
    everything = re.sub(r"(?m)^#(?=[A-Z])", "", ENV_EXAMPLE)
    variables = parse_env(everything)
    assert load(variables).database_url == "postgresql://app:secret@db.example/app"
    assert variables["SMTP_PASSWORD"] == "as it is, with $ and # and \\"
    known = {f"JOBRUNNER_{name.upper()}" for name in SETTINGS}
    assert {name for name in variables if name.startswith("JOBRUNNER_")} <= known
    assert set(parse_env(ENV_EXAMPLE)) < set(variables)


def test_systemd_service_command_works(jobrunner: Commands, database: Database, service: Unit, tmp_path: Path) -> None:
    run_id = jobrunner.enqueue("append", {"a": 1})
    env_file = tmp_path / "app.env"
    write_env_file(env_file, jobrunner)
    assert service["Service"]["EnvironmentFile"] == ENV_FILE
    # What systemd gives to a service with User=.
    systemd = {"LANG": "C.UTF-8", "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    systemd |= {"HOME": "/", "LOGNAME": "app", "USER": "app", "SHELL": "/usr/sbin/nologin"}
    done = run_bare(shlex.split(service["Service"]["ExecStart"]), systemd | read_env_file(env_file))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert jobrunner.show(run_id)["status"] == "succeeded"
    assert (tmp_path / "tick.log").exists()


def test_systemd_service_gives_a_tick_time_to_end(service: Unit) -> None:
    section = service["Service"]
    assert (section["Type"], section["KillMode"], section["TimeoutStartSec"]) == ("oneshot", "mixed", "infinity")
    assert int(section["TimeoutStopSec"].removesuffix("s")) > SECONDS_TO_STOP
    assert "Restart" not in section
    # Each of these keeps a tick from finding, at its next start, what it has noted in /tmp or sees in /proc.
    assert not {"ProtectProc", "ProcSubset", "PrivateUsers"} & set(section)
    assert section["PrivateTmp"] == "false"
    # These, and all that imply NoNewPrivileges=, take from handlers what they may do under cron.
    taking = r"NoNew|NoExec|System|Lock|Restrict|Memory|DynamicUser|UMask|Private(Net|Dev)|Protect(Kernel|Home|Clock)"
    assert not [name for name in section if re.match(taking, name)]


@sqlite_only
def test_systemd_hears_that_the_loop_of_its_unit_is_ready(jobrunner: Commands, tmp_path: Path) -> None:
    section = Unit("jobrunner-loop.service")["Service"]
    assert (section["Type"], section["KillMode"], section["Restart"]) == ("notify", "mixed", "on-failure")
    assert int(section["TimeoutStopSec"].removesuffix("s")) > SECONDS_TO_STOP
    # While the database is away the start lasts.
    assert section["TimeoutStartSec"] == "infinity"
    env_file = tmp_path / "app.env"
    write_env_file(env_file, jobrunner)
    program, *words = shlex.split(section["ExecStart"])
    assert program == PROGRAM
    words = [word.replace(ENV_FILE, str(env_file)) for word in words]
    watches = {"WATCHDOG_USEC": "60000000", "NOTIFY_SOCKET": str(tmp_path / "notify")}
    with manager(watches["NOTIFY_SOCKET"]) as systemd:
        loop = jobrunner.start(*words, env=watches)
        systemd.wait_for(READY)
        loop.send_signal(signal.SIGTERM)
        assert loop.wait() == 0


def test_systemd_finds_nothing_wrong_with_the_units(service: Unit, timer: Unit, tmp_path: Path) -> None:
    env_file = tmp_path / "app.env"
    env_file.touch()
    loop = Unit("jobrunner-loop.service")
    (tmp_path / "jobrunner-loop.service").write_text(loop.text.replace(PROGRAM, COMMAND))
    assert set(loop.sections()) == {"Unit", "Service", "Install"}
    for name, unit in (("jobrunner.service", service), ("jobrunner.timer", timer)):
        (tmp_path / name).write_text(unit.text.replace(PROGRAM, COMMAND).replace(ENV_FILE, str(env_file)))
        sections = {"Unit", "Service"} if name.endswith("service") else {"Unit", "Timer", "Install"}
        assert set(unit.sections()) == sections
    for program in [ANALYZE] if ANALYZE else []:
        units = [tmp_path / name for name in ("jobrunner.service", "jobrunner.timer", "jobrunner-loop.service")]
        done = subprocess.run([program, "verify", *units], capture_output=True, text=True)
        assert (done.returncode, done.stderr.strip()) == (0, "")


def test_the_timer_elapses_each_minute(timer: Unit) -> None:
    section = timer["Timer"]
    assert section["OnCalendar"] == "*:*:00"
    assert section["AccuracySec"] == "1s"
    assert timer["Install"]["WantedBy"] == "timers.target"
    for program in [ANALYZE] if ANALYZE else []:
        command = [program, "calendar", "--iterations=5", section["OnCalendar"]]
        done = subprocess.run(command, env={"TZ": "UTC"}, capture_output=True, text=True, check=True)
        times = [datetime.fromisoformat(found) for found in re.findall(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", done.stdout)]
        assert len(times) == 5
        assert {later - earlier for earlier, later in pairwise(times)} == {timedelta(minutes=1)}


def test_kubernetes_cronjob_has_the_promised_limits(cronjob: dict[str, Any]) -> None:
    assert (cronjob["apiVersion"], cronjob["kind"]) == ("batch/v1", "CronJob")
    spec = cronjob["spec"]
    assert (spec["schedule"], spec["concurrencyPolicy"]) == ("* * * * *", "Allow")
    assert {"successfulJobsHistoryLimit", "failedJobsHistoryLimit"} < set(spec)
    # Below ten, Kubernetes' controller may miss it: it looks every ten seconds.
    assert spec["startingDeadlineSeconds"] > 10
    job = spec["jobTemplate"]["spec"]
    assert job["backoffLimit"] == 0
    assert "activeDeadlineSeconds" not in job
    pod = job["template"]["spec"]
    assert pod["restartPolicy"] == "Never"
    assert pod["terminationGracePeriodSeconds"] > SECONDS_TO_STOP
    (container,) = pod["containers"]
    environment = {entry["name"]: entry for entry in container["env"]}
    assert environment["JOBRUNNER_HOST"]["valueFrom"] == {"fieldRef": {"fieldPath": "spec.nodeName"}}
    assert "JOBRUNNER_DATABASE_URL" not in environment
    assert container["envFrom"] == [{"secretRef": {"name": "jobrunner"}}]


# What the API server would refuse: a key that it does not know in that place.
KEYS = {
    "": {"apiVersion", "kind", "metadata", "spec"},
    "spec": {
        "schedule",
        "timeZone",
        "concurrencyPolicy",
        "startingDeadlineSeconds",
        "successfulJobsHistoryLimit",
        "failedJobsHistoryLimit",
        "suspend",
        "jobTemplate",
    },
    "spec.jobTemplate": {"metadata", "spec"},
    "spec.jobTemplate.spec": {"backoffLimit", "ttlSecondsAfterFinished", "template", "parallelism", "completions"},
    "spec.jobTemplate.spec.template": {"metadata", "spec"},
    "spec.jobTemplate.spec.template.spec": {
        "restartPolicy",
        "terminationGracePeriodSeconds",
        "automountServiceAccountToken",
        "containers",
        "securityContext",
        "volumes",
    },
}


@pytest.mark.parametrize("path", KEYS)
def test_kubernetes_cronjob_keys_are_valid(cronjob: dict[str, Any], path: str) -> None:
    found: Any = cronjob
    for name in path.split(".") if path else []:
        found = found[name]
    assert set(found) <= KEYS[path]


def test_kubernetes_cronjob_command_works(jobrunner: Commands, database: Database, cronjob: dict[str, Any]) -> None:
    run_id = jobrunner.enqueue("append", {"a": 1})
    (container,) = cronjob["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    # A container has its image's PATH and HOME; the rest is the manifest's, with the test's values.
    names = {entry["name"] for entry in container["env"]} | {"JOBRUNNER_DATABASE_URL"}
    mine = jobrunner.environment({"JOBRUNNER_HOST": "node-1"})
    environment = {name: mine[name] for name in names} | {"TRACE_FILE": mine["TRACE_FILE"]}
    environment |= {"JOBRUNNER_STATE_DIR": mine["JOBRUNNER_STATE_DIR"], "PATH": "/usr/bin:/bin", "HOME": "/"}
    done = run_bare(container["command"], environment)
    assert (done.returncode, done.stdout) == (0, "")
    assert [line.split()[2] for line in done.stderr.splitlines()] == ["claimed", "succeeded", "tick"]
    assert jobrunner.show(run_id)["status"] == "succeeded"
    assert database.value("SELECT host FROM job_ticks") == "node-1"


@sqlite_only
def test_a_log_that_is_renamed_loses_no_line(jobrunner: Commands, app: App, tmp_path: Path) -> None:
    """logrotate's configuration has no copytruncate and no postrotate, because of this."""
    log, rotated = tmp_path / "tick.log", tmp_path / "tick.log.1"
    jobrunner.enqueue("wait_for", {"path": str(app.path("go"))})
    env = {"JOBRUNNER_LOG": str(log)}
    tick = jobrunner.start("tick", env=env)
    wait_for(app.trace, 30, "the handler is at work")
    log.rename(rotated)
    jobrunner.tick(env=env)
    app.end(tick, "go")
    assert [len(path.read_text().splitlines()) for path in (rotated, log)] == [3, 1]
    assert log.stat().st_mode & 0o777 == 0o600


def test_logrotate_renames_and_does_nothing_else(tmp_path: Path) -> None:
    text = (FOLDER / "jobrunner.logrotate").read_text()
    directives = {line.split()[0] for line in text.splitlines() if line.strip() and not line.strip().startswith("#")}
    assert {"su", "nocreate", "delaycompress", "missingok"} < directives
    assert not {"copytruncate", "postrotate", "create"} & directives
    configuration = tmp_path / "configuration"
    configuration.write_text(text.replace("su app app", "su root root").replace("/var/log/jobrunner", str(tmp_path)))
    for program in [LOGROTATE] if LOGROTATE else []:
        command = [program, "--debug", "--state", tmp_path / "state", configuration]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, "error" in done.stderr) == (0, False), done.stderr


def test_the_readme_tells_of_each_file() -> None:
    text = (FOLDER / "README.md").read_text()
    linked = {(FOLDER / target).resolve() for target in re.findall(r"\]\(([^)]+)\)", text)}
    assert all(path.exists() for path in linked)
    assert {path for path in FOLDER.iterdir() if path.name != "README.md"} <= linked


def test_compose_file_starts_the_jobs_of_the_image_when_the_tables_are_there() -> None:
    services = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]
    jobs, web, migrate = services["jobs"], services["web"], services["migrate"]
    assert jobs["environment"] == web["environment"] == migrate["environment"]
    assert jobs["build"] == web["build"] == migrate["build"]
    config = load(jobs["environment"])
    assert config.database_url is not None
    assert locate(config.database_url).options["host"] == "db"
    assert (str(config.app_dir), jobs["volumes"]) == ("/srv/app", [".:/srv/app"])
    for service in (jobs, migrate):
        program, *words = service["command"]
        assert program == "jobrunner"
        assert CliRunner().invoke(cli, [*words, "--help"]).exit_code == 0
    assert jobs["depends_on"] == web["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}
    assert migrate["depends_on"] == {"db": {"condition": "service_healthy"}}
    assert int(jobs["stop_grace_period"].removesuffix("s")) > _LONGEST_STOP_SECONDS
