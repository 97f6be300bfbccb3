"""docs/howto/scale.md: its handler hands runs over to a real Celery, and its command starts Jobs by a real kubectl."""

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
import yaml

from harness import App, Commands, Database, pages, wait_for
from harness.debian import NoProgram, find
from harness.invariants import insert_runs, outcomes, wait_for_exit
from harness.processes import Patient

HANDS_OVER = "tests/store/test_scale.py::test_handler_of_the_page_hands_each_run_over_to_celery"
STARTS_A_JOB = "tests/store/test_scale.py::test_command_of_the_page_starts_one_job_of_kubernetes_for_a_run"
ROLE = "tests/store/test_scale.py::test_role_of_the_page_allows_what_its_command_does_and_no_more"
JOBS = "/apis/batch/v1/namespaces/default/jobs"


ENGINE = """
from sqlalchemy import create_engine, text

engine = create_engine(os.environ["JOBRUNNER_DATABASE_URL"].replace("postgresql:", "postgresql+psycopg:"))
"""
WORKER = ("-m", "celery", "-A", "receiving", "worker", "--pool", "solo", "--without-gossip", "--without-mingle")


def test_handler_of_the_page_hands_each_run_over_to_celery(jobrunner: Commands, app: App, database: Database) -> None:
    """Its child dies after the message: the task arrives twice, and does its work once."""
    handler, task = (block.text for block in pages.checked_by(HANDS_OVER))
    app.path("broker").mkdir()
    broker = {f"data_folder_{way}": str(app.path("broker")) for way in ("in", "out")}
    broker["control_folder"] = str(app.path("control"))
    handler += f"\ncelery.conf.broker_transport_options = {broker!r}\n"
    app.write("handlers", handler)
    app.write("receiving", handler + ENGINE + task)
    environment = {"BROKER_URL": "filesystem://"}
    database.execute("CREATE TABLE videos (id INTEGER, renders INTEGER)")
    database.execute("INSERT INTO videos VALUES (812, 0)")
    database.execute("CREATE TABLE handed_over (id VARCHAR(50) PRIMARY KEY)")
    (run_id,) = insert_runs(database, 1, "hand_over", {"task": "app.render", "arguments": [812]})
    jobrunner.tick(env={**environment, "JOBRUNNER_FAULT": "child.handler_returned=kill"})
    database.move_clock(timedelta(hours=1))
    jobrunner.tick(env=environment)
    assert outcomes(database, run_id) == ["crashed", "succeeded"]
    assert len(list(app.path("broker").iterdir())) == 2
    log = app.path("worker.log")
    with log.open("wb") as output:
        worker = Patient(
            [sys.executable, *WORKER, "--loglevel", "INFO"],
            cwd=app.folder,
            env=jobrunner.environment(environment),
            stdout=output,
            stderr=output,
        )
    try:
        done = f"app.render[jobrunner-{run_id}] succeeded"
        wait_for(lambda: log.read_text().count(done) == 2, 60, "two tasks")
    finally:
        worker.kill()
        worker.wait(30)
    assert database.value("SELECT renders FROM videos") == 1


class Kubernetes:
    """Answers like the API server of Kubernetes for Jobs. Each new Job takes the next of ``ends``."""

    def __init__(self) -> None:
        self.jobs: dict[str, dict[str, Any]] = {}
        self.ends: list[str | None] = []
        self.asked: list[tuple[str, str]] = []
        self.url = ""

    def add(self, job: dict[str, Any]) -> None:
        end = self.ends.pop(0)
        conditions = [{"type": end, "status": "True"}] if end else []
        self.jobs[job["metadata"]["name"]] = {**job, "status": {"conditions": conditions}}

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if path in _DISCOVERY:
            return 200, _DISCOVERY[path]
        if not path.startswith(JOBS):
            return 404, _refusal("NotFound", 404)
        name = body["metadata"]["name"] if method == "POST" else path.rpartition("/")[2]
        self.asked.append((method, name))
        if method == "POST":
            if name in self.jobs:
                return 409, _refusal("AlreadyExists", 409)
            self.add(body)
            return 201, self.jobs[name]
        if name not in self.jobs:
            return 404, _refusal("NotFound", 404)
        return 200, self.jobs.pop(name) if method == "DELETE" else self.jobs[name]


def _refusal(reason: str, code: int) -> dict[str, Any]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": reason,
        "message": reason,
        "code": code,
    }


def _resources(version: str, *listed: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": list(listed)}


_BATCH = {"groupVersion": "batch/v1", "version": "v1"}
_DISCOVERY: dict[str, Any] = {
    "/version": {"major": "1", "minor": "30", "gitVersion": "v1.30.0"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/api/v1": _resources("v1"),
    "/apis": {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [{"name": "batch", "versions": [_BATCH], "preferredVersion": _BATCH}],
    },
    "/apis/batch/v1": _resources(
        "batch/v1",
        {
            "name": "jobs",
            "singularName": "job",
            "namespaced": True,
            "kind": "Job",
            "verbs": ["create", "delete", "get", "list", "watch"],
        },
    ),
}


@contextmanager
def kubernetes() -> Iterator[Kubernetes]:
    cluster = Kubernetes()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length) or b"null")
            status, answer = cluster.answer(self.command, self.path.partition("?")[0], body)
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_POST(self) -> None:
            self.do_GET()

        def do_DELETE(self) -> None:
            self.do_GET()

        def log_message(self, *_: Any) -> None:
            """Keep the test's output clean."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        Thread(target=listening.serve_forever, daemon=True).start()
        cluster.url = f"http://127.0.0.1:{listening.server_address[1]}"
        yield cluster
        listening.shutdown()


def configuration_of(cluster: Kubernetes) -> str:
    context = {"cluster": "test", "user": "test", "namespace": "default"}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": {"server": cluster.url}}],
            "users": [{"name": "test", "user": {}}],
            "contexts": [{"name": "test", "context": context}],
            "current-context": "test",
        }
    )


@pytest.mark.timeout(400)
def test_command_of_the_page_starts_one_job_of_kubernetes_for_a_run(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """One that ends well; one that an earlier attempt has started; one that fails; one that is cancelled."""
    try:
        kubectl, libraries = find("kubernetes-client", "usr/bin/kubectl", "kubectl")
    except NoProgram as reason:
        pytest.skip(str(reason))
    script, settings = pages.checked_by(STARTS_A_JOB)
    app.path("kubernetes-job.sh").write_text(script.text)
    app.path("jobrunner.toml").write_text(settings.text + 'kill_after = "60s"\n')
    runs = insert_runs(database, 4, "render", {"video": "812"})
    new, known, failing, endless = runs
    with kubernetes() as cluster:
        app.path("kube.json").write_text(configuration_of(cluster))
        environment = {
            **libraries,
            "KUBECONFIG": str(app.path("kube.json")),
            "PATH": f"{kubectl.parent}:{os.environ['PATH']}",
            "JOB_LOOK_SECONDS": "0.1",
            "JOBRUNNER_CONCURRENCY": "1",
            "JOBRUNNER_HEARTBEAT": "0.2s",
        }
        cluster.ends = ["Complete", "Complete", "Failed", None]
        cluster.add({"metadata": {"name": f"jobrunner-{known}"}, "kind": "Job", "apiVersion": "batch/v1"})
        tick = jobrunner.start("tick", env=environment)
        wait_for(lambda: ("POST", f"jobrunner-{endless}") in cluster.asked, 90, "the last Job")
        jobrunner("cancel", endless)
        assert wait_for_exit(tick, 0) == ""
        ended = [outcomes(database, each) for each in runs]
        assert ended == [["succeeded"], ["succeeded"], ["failed"], ["cancelled"]]
        (container,) = cluster.jobs[f"jobrunner-{new}"]["spec"]["template"]["spec"]["containers"]
        assert (container["image"], container["command"]) == ("registry.example/render:1.0", ["render", "812"])
        changes = [each for each in cluster.asked if each[0] != "GET"]
        assert changes == [
            ("POST", f"jobrunner-{new}"),
            ("POST", f"jobrunner-{failing}"),
            ("DELETE", f"jobrunner-{failing}"),
            ("POST", f"jobrunner-{endless}"),
            ("DELETE", f"jobrunner-{endless}"),
        ]


def test_role_of_the_page_allows_what_its_command_does_and_no_more() -> None:
    (block,) = pages.checked_by(ROLE)
    account, role, binding = yaml.safe_load_all(block.text)
    assert [each["kind"] for each in (account, role, binding)] == ["ServiceAccount", "Role", "RoleBinding"]
    (script, _) = pages.checked_by(STARTS_A_JOB)
    assert role["rules"] == [{"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["create", "get", "delete"]}]
    assert set(re.findall(r"kubectl (\w+) job", script.text)) == {"create", "get", "delete"}
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": account["metadata"]["name"]}]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    folder = pages.ROOT / "examples" / "deploy"
    assert "automountServiceAccountToken: false" in (folder / "kubernetes-cronjob.yaml").read_text()
