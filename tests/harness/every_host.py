"""Hosts that share a database, each with ticks of its own, and the hourly job that runs on each of them."""

from datetime import timedelta

from harness.app import App
from harness.commands import Commands
from harness.database import Database
from harness.slots import go_to, utc

NOON = utc(2026, 5, 1, 12)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
ROTATE = """
@job("rotate"{options})
def rotate(ctx: Context):
    if os.path.exists(os.path.join(os.path.dirname(__file__), os.environ["JOBRUNNER_HOST"])):
        raise ValueError("the disk is full")
"""


class Hosts:
    """Hosts that share the database, each with a tick when it is asked for."""

    def __init__(self, jobrunner: Commands, app: App, database: Database, options: str = "") -> None:
        self.jobrunner, self.app, self.database = jobrunner, app, database
        app.add(ROTATE.replace("{options}", options))
        go_to(database, NOON + MINUTE)

    def env(self, host: str) -> dict[str, str | None]:
        return {"JOBRUNNER_HOST": host, "JOBRUNNER_STATE_DIR": f"{self.jobrunner.state_dir}-{host}"}

    def tick(self, *names: str) -> None:
        for name in names:
            done = self.jobrunner.tick(env=self.env(name))
            assert (done.stdout, done.stderr) == ("", "")

    def at(self, after_noon: timedelta, *names: str) -> None:
        go_to(self.database, NOON + after_noon)
        self.tick(*names)

    def add(self, *options: str) -> None:
        declared = ("--type", "rotate", "--cron", "0 * * * *", "--on", "every-host")
        self.jobrunner("schedule", "add", "logs", *declared, *options, env=self.env("web1"))

    def ran(self) -> list[tuple[str, int | None, str]]:
        """By schedule and slot, in hours after noon: on which host."""
        rows = self.database.query(
            "SELECT d.name AS name, r.scheduled_for AS scheduled_for, a.host AS host FROM job_attempts a"
            " JOIN job_runs r ON r.id = a.run_id JOIN job_definitions d ON d.id = r.definition_id"
            " ORDER BY r.scheduled_for, d.name, a.sequence"
        )
        return [
            (row["name"], row["scheduled_for"] and (row["scheduled_for"] - NOON) // HOUR, row["host"]) for row in rows
        ]

    def fail_on(self, host: str) -> None:
        (self.app.folder / host).touch()
