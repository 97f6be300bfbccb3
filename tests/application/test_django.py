"""A real Django project: its own server, its own test runner, a real tick; its tasks by Django's documentation."""

import json
import re
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from harness import Database, PostgresDatabase, pages, postgresql_only, sqlite_only, wait_for
from harness.django_project import Project
from harness.processes import Patient
from harness.waiting import stretched


@pytest.fixture
def project(database: Database, tmp_path: Path) -> Project:
    return Project(tmp_path, database)


@contextmanager
def served(project: Project) -> Iterator[str]:
    """The project's own server; the URL that it answers at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "manage.py", "runserver", "--noreload", f"127.0.0.1:{port}"]
    process = Patient(
        command, cwd=project.folder, env=project.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_for(lambda: answers(port) or process.poll() is not None, 30, "the server answers")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


def answers(port: int) -> bool:
    with socket.socket() as attempt:
        return attempt.connect_ex(("127.0.0.1", port)) == 0


def get(url: str) -> Any:
    try:
        with urllib.request.urlopen(url, timeout=stretched(20)) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return json.loads(error.read())


def test_running_django_application_enqueues_and_a_tick_of_its_manage_py_works(
    project: Project, database: Database
) -> None:
    project.manage("migrate", "--verbosity", "0")
    with served(project) as url:
        assert get(f"{url}/users/?email=ada") == {"run": 1}
        assert get(f"{url}/users/?email=ada") == {"error": "this address is taken"}
        task = get(f"{url}/add/")["id"]
        assert get(f"{url}/see/?id={task}") == {"status": "READY", "value": None}
        done = project.manage("jobrunner", "tick")
        assert (done.stdout, done.stderr) == ("", "")
        assert get(f"{url}/see/?id={task}") == {"status": "SUCCESSFUL", "value": 3}
    runs = database.query("SELECT job_type, status, result FROM job_runs ORDER BY id")
    assert runs == [
        {"job_type": "send_welcome", "status": "succeeded", "result": "welcome ada"},
        {"job_type": "shop.tasks.add", "status": "succeeded", "result": 3},
    ]
    assert re.search(r"runs +queued 0 .* succeeded 2 ", project.manage("jobrunner", "status").stdout)
    refused = project.manage("jobrunner", "show", "99", check=False)
    assert (refused.returncode, refused.stderr) == (1, "jobrunner: there is no run 99\n")


@sqlite_only
def test_env_file_that_manage_py_prints_lets_cron_tick_without_django(project: Project, database: Database) -> None:
    file = project.folder / "jobrunner.env"
    file.touch(0o600)
    file.write_text(project.manage("jobrunner", "env").stdout)
    database.execute(
        "INSERT INTO job_runs (job_type, payload, status, priority, run_at, created_at, updated_at)"
        " VALUES ('send_welcome', ?, 'queued', 0, ?, ?, ?)",
        [{"email": "nobody"}, *[database.now()] * 3],
    )
    done = subprocess.run(
        [Path(sys.executable).with_name("jobrunner"), "--env-file", file, "tick"],
        cwd="/",
        env={name: project.environment[name] for name in ("PATH", "HOME", "JOBRUNNER_STATE_DIR", "DATABASE")},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    # The project was not migrated, so the handler's own table is missing.
    assert database.value("SELECT error_type FROM job_runs") == "OperationalError"


@pytest.mark.parametrize(("database", "use_tz"), [("sqlite", "yes"), ("postgresql", "no")], indirect=["database"])
def test_djangos_own_test_runner_passes_the_tests_of_the_kit_and_of_the_backend(project: Project, use_tz: str) -> None:
    done = project.manage("test", "--noinput", "--keepdb", check=False, USE_TZ=use_tz, PYTHONWARNINGS="default")
    print(*re.findall(r"used: .*", done.stdout))
    assert done.returncode == 0, done.stderr[-6000:]
    assert int(re.findall(r"Ran (\d+) tests", done.stderr)[0]) >= 22


@sqlite_only
def test_example_of_the_page_is_a_test_of_the_project(project: Project) -> None:
    (block,) = pages.checked_by("tests/application/test_django.py::test_example_of_the_page_is_a_test_of_the_project")
    (project.folder / "shop" / "tests.py").write_text(block.text)
    assert "Ran 1 test in" in project.manage("test", "--noinput", "shop.tests").stderr


@sqlite_only
def test_settings_of_the_page_are_what_the_code_reads(project: Project, database: Database) -> None:
    blocks = pages.checked_by("tests/application/test_django.py::test_settings_of_the_page_are_what_the_code_reads")
    settings = project.folder / "mysite" / "settings.py"
    other = 'DATABASES["queue"] = DATABASES["default"] | {"NAME": "/tmp/of-the-queue.db"}'
    all_tasks = 'TASKS["other"] = TASKS["default"] | {"QUEUES": []}'
    settings.write_text("\n".join([settings.read_text(), other, *(block.text for block in blocks), all_tasks]))
    assert "no issues" in project.manage("check").stdout
    assert "JOBRUNNER_DATABASE_URL=sqlite:////tmp/of-the-queue.db\n" in project.manage("jobrunner", "env").stdout


@sqlite_only
def test_wrong_options_of_a_backend_are_a_line_of_check_and_stop_a_tick_without_a_traceback(
    project: Project, database: Database
) -> None:
    project.manage("migrate", "--verbosity", "0")
    settings = project.folder / "mysite" / "settings.py"
    settings.write_text(f'{settings.read_text()}\nTASKS["default"]["OPTIONS"] = {{"backoff": "2s"}}\n')
    checked = project.manage("check", check=False)
    assert checked.returncode == 1
    assert "Traceback" not in checked.stderr
    assert re.search(r"\(jobrunner\.E006\) TASKS\['default'\]: backoff must be", checked.stderr), checked.stderr
    insert = (
        "INSERT INTO job_runs (job_type, payload, status, priority, run_at, created_at, updated_at)"
        " VALUES ('shop.tasks.add', ?, 'queued', 0, ?, ?, ?)"
    )
    database.execute(insert, [{"args": [1]}, *[database.now()] * 3])
    ticked = project.manage("jobrunner", "tick", check=False)
    assert (ticked.returncode, ticked.stderr.count("\n")) == (78, 1)
    assert "TASKS['default']: backoff must be" in ticked.stderr
    assert database.value("SELECT status FROM job_runs") == "queued"


@postgresql_only
def test_tick_takes_the_role_that_django_assumes(database: PostgresDatabase, tmp_path: Path) -> None:
    name = f"{database.database} staff"
    with database.access.admin() as admin:
        # Its tables are those of a role whose rights the role that connects does not inherit.
        admin.execute(f'CREATE ROLE "{name}"')
        admin.execute(f'GRANT "{name}" TO "{database.access.role}" WITH INHERIT FALSE')
        admin.execute(f'CREATE DATABASE "{name}" OWNER "{name}" TEMPLATE template0')
        try:
            project = Project(tmp_path, database)
            default = json.loads(project.environment["DATABASE"])
            default |= {"NAME": name, "OPTIONS": {"assume_role": name}}
            project.environment["DATABASE"] = json.dumps(default)
            project.manage("migrate", "--verbosity", "0")
            project.manage("jobrunner", "enqueue", "shop.tasks.add", "--payload", '{"args": [1]}')
            project.manage("jobrunner", "tick")
            assert '"result": 1,' in project.manage("jobrunner", "show", "1", "--json").stdout
        finally:
            admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
            admin.execute(f'DROP ROLE "{name}"')


@pytest.mark.long
@pytest.mark.timeout(900)
@sqlite_only
@pytest.mark.parametrize("series", ["6.0", "6.1"])
def test_backend_passes_with_django_6_where_there_is_a_python_for_it(
    series: str, project: Project, tmp_path: Path
) -> None:
    """Django 6 needs Python 3.12, and these tests may run on 3.11."""
    root = Path(__file__).parents[2]
    asked = "import test_pythons; print(*test_pythons.pythons().values())"
    found = subprocess.check_output([sys.executable, "-c", asked], cwd=root / "scripts", text=True).split()
    newest = found[-1]
    version = subprocess.run(
        [newest, "-c", "import sys; print(sys.version_info >= (3, 12))"], capture_output=True, text=True
    )
    if version.stdout.strip() != "True":
        pytest.skip(f"no Python from 3.12 on is installed; the newest is {newest}")
    subprocess.run([newest, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", f"django=={series}.*", "asyncpg", root], check=True)
    done = subprocess.run(
        [python, "manage.py", "test", "--noinput"],
        cwd=project.folder,
        env=project.environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    (used,) = re.findall(r"used: .*", done.stdout)
    assert f"Django {series}" in used
