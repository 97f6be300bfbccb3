"""How each reason of a run comes about that ``explain`` names."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from harness import App, Commands, Database
from harness.handlers_rows import queue
from harness.slots import go_to

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
CONFIG = """
[jobs.capped]
command = ["true"]
max_running = 1
[jobs.narrow]
command = ["true"]
concurrency = 1
[jobs.slow]
command = ["true"]
rate = "1/h"
[jobs.keyed]
command = ["true"]
concurrency_key = "customer"
max_running_per_key = 1
[jobs.fair]
command = ["true"]
fair_by = "customer"
[jobs.slow_keyed]
command = ["true"]
concurrency_key = "customer"
rate_per_key = "1/h"
"""


@dataclass
class Scene:
    """A database with one host, ``here``, whose ticks can run the handlers of the harness and two commands."""

    jobrunner: Commands
    database: Database
    env: Mapping[str, str]
    made: dict[str, int] = field(default_factory=dict)

    def run(self, *words: str, check: bool = True) -> Any:
        return self.jobrunner(*words, env=self.env, check=check)

    def follow(self, remedy: str, check: bool = True) -> Any:
        """Run the remedy. A variable in front of it is set."""
        words = shlex.split(remedy)
        given = dict(word.split("=", 1) for word in words[: words.index("jobrunner")])
        return self.jobrunner(*words[len(given) + 1 :], env={**self.env, **given}, check=check)

    def tick(self, *words: str) -> None:
        self.run("tick", *words)

    def enqueue(self, *words: str) -> int:
        return int(self.run("enqueue", *words).stdout)

    def explain(self, subject: object) -> dict[str, Any]:
        answer: dict[str, Any] = self.run("explain", str(subject), "--json").json()
        return answer

    def queue(self, job_type: str = "echo", **values: Any) -> int:
        return queue(self.database, job_type, **values)

    def running(self, job_type: str, lease: timedelta = MINUTE, **values: Any) -> int:
        at = self.database.now()
        lock = {"locked_by": "here:1:x", "host": "here", "lease_token": "t" * 32, "locked_until": at + lease}
        return self.queue(job_type, status="running", claimed_at=at, started_at=at, max_attempts=5, **lock, **values)

    def end(self, run_id: int) -> None:
        self.database.execute(
            "UPDATE job_runs SET status = 'succeeded', finished_at = ?, lease_token = NULL, locked_by = NULL,"
            " locked_until = NULL WHERE id = ?",
            [self.database.now(), run_id],
        )


def make_scene(jobrunner: Commands, database: Database, app: App) -> Scene:
    """A database in which a busy tick has said what its host can run."""
    app.path("jobrunner.toml").write_text(CONFIG)
    made = Scene(jobrunner, database, {"JOBRUNNER_HOST": "here", "JOBRUNNER_CONFIG": str(app.path("jobrunner.toml"))})
    made.queue("echo")
    made.tick()
    return made


def retry(scene: Scene) -> int:
    run_id = scene.queue("fail")
    scene.tick()
    return run_id


def dead(scene: Scene) -> int:
    run_id = scene.queue("fail", max_attempts=1)
    scene.tick()
    return run_id


def cancelled(scene: Scene) -> int:
    run_id = scene.enqueue("echo")
    scene.run("cancel", str(run_id), "--reason", "wrong customer")
    return run_id


def discarded(scene: Scene) -> int:
    run_id = scene.enqueue("echo")
    scene.run("discard", str(run_id), "--reason", "never mind")
    return run_id


def late(scene: Scene) -> int:
    run_id = scene.queue("echo", start_deadline_at=scene.database.now() - MINUTE)
    scene.tick()
    return run_id


def stopped(scene: Scene) -> int:
    scene.database.execute("UPDATE job_ticks SET started_at = ?", [scene.database.now() - 35 * HOUR])
    return scene.queue()


def follower(scene: Scene) -> int:
    parent = scene.enqueue("echo", "--run-at", "+1h")
    return scene.enqueue("echo", "--after", str(parent))


def of_key(scene: Scene) -> int:
    scene.queue("narrow", concurrency_key="k")
    return scene.queue(concurrency_key="k")


def limited(scene: Scene) -> int:
    scene.queue("capped")
    scene.tick()
    scene.made["holder"] = scene.running("capped", gate="all")
    return scene.queue("capped")


def of_limited_key(scene: Scene) -> int:
    payload = {"customer": "a"}
    scene.queue("keyed", payload=payload)
    scene.tick()
    gate = scene.database.value("SELECT gate FROM job_gates WHERE job_type = 'keyed'")
    scene.made["holder"] = scene.running("keyed", payload=payload, gate=gate)
    return scene.queue("keyed", payload=payload)


def of_fair_type(scene: Scene) -> int:
    scene.queue("fair", payload={"customer": "a"})
    scene.tick()
    for _ in range(3):
        scene.queue("fair", payload={"customer": "a"})
    return scene.queue("fair", payload={"customer": "b"})


def rated(scene: Scene, job_type: str = "slow") -> int:
    scene.made["listed"] = scene.queue(job_type, payload={"customer": "a"})
    scene.tick()
    return scene.queue(job_type, payload={"customer": "a"})


def jittered(scene: Scene) -> int:
    scene.run("schedule", "add", "nightly", "--type", "echo", "--cron", "@daily", "--jitter", "20h")
    midnight = scene.database.now().replace(hour=0, minute=0, second=0, microsecond=0) + 24 * HOUR
    go_to(scene.database, midnight + timedelta(seconds=30))
    # Some hours later: the delay of a name is always the same.
    scene.tick()
    return int(scene.database.value("SELECT max(id) AS id FROM job_runs"))


def two_machines(scene: Scene) -> int:
    scene.database.execute("UPDATE job_hosts SET last_boot = boot, boot = 'another', digest = 'another'")
    scene.queue()
    scene.tick()
    return full(scene)


def full(scene: Scene) -> int:
    scene.made["holder"] = scene.running("narrow")
    return scene.queue("narrow")


def paused(scene: Scene) -> int:
    scene.run("pause", "--type", "echo", "--reason", "mail is down")
    return scene.enqueue("echo")


def limit_set(scene: Scene) -> int:
    """More are at work than was set; they began behind no gate."""
    scene.running("echo")
    words = ("--max-running", "1", "--until", "2h", "--reason", "mail is slow")
    scene.run("limit", "echo", *words)
    return scene.enqueue("echo")


def host_paused(scene: Scene) -> int:
    scene.run("pause", "--host", "here")
    return scene.enqueue("echo")


def uncertain(scene: Scene) -> int:
    run_id, at = dead(scene), scene.database.now()
    scene.database.execute(
        "INSERT INTO job_effects (key, state, run_id, job_type, attempt, lease_token, token, intended_at)"
        " VALUES ('pay 7', 'uncertain', ?, 'fail', 1, 't', 't', ?)",
        [run_id, at],
    )
    return run_id


def unreported(scene: Scene) -> int:
    scene.database.execute("DELETE FROM job_hosts")
    return scene.queue()


def budget(scene: Scene) -> int:
    for _ in range(3):
        scene.queue()
    scene.tick("--batch", "1")
    return int(scene.database.value("SELECT max(id) AS id FROM job_runs"))
