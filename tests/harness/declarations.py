"""Schedules as code and jobrunner.toml declare them, and what apply makes of them."""

from typing import Any

from harness import App, Commands, Database

CODE = """
from jobrunner import Schedule

@job("nightly", schedule="0 2 * * *", timezone="Europe/Berlin")
def nightly(ctx: Context):
    leave_trace(ctx)

@job("send", schedule=[
    Schedule("@daily", name="send de", payload={"to": "de"}, description="the Germans"),
    Schedule("30 8 * * mon", name="send fr", payload={"to": "fr"}, misfire="all", misfire_window="2h", jitter="5m"),
])
def send(ctx: Context, to: str):
    leave_trace(ctx)
"""
FILE = """
[jobs.backup]
command = ["/bin/true"]
schedule = "0 3 * * *"
timezone = "America/New_York"
overlap = "queue"
ends_at = 2100-01-01T00:00:00+01:00

[schedules.hourly]
job = "send"
schedule = "@hourly"
payload = { to = "all" }
"""
NAMES = ["backup", "hourly", "nightly", "send de", "send fr"]


def declare(app: App, *, code: str | None = None, file: str | None = None) -> None:
    """Write what the next deploy holds; what is not given stays as it is."""
    if code is not None:
        app.add(code)
    if file is not None:
        app.path("jobrunner.toml").write_text(file)


def deploy(jobrunner: Commands, **sources: str) -> None:
    """Have the next deploy come: its sources, as `declare` writes them, and its `jobrunner apply`."""
    declare(jobrunner.app, **sources)
    jobrunner("apply")


def one(name: str, expression: str = "@daily", **options: Any) -> str:
    """A module with one schedule, of the handler `append`'s kind."""
    said = "".join(f", {key}={value!r}" for key, value in options.items())
    return f"""
from jobrunner import Schedule

@job("scheduled", schedule=Schedule({expression!r}, name={name!r}{said}))
def scheduled(ctx: Context, **payload):
    leave_trace(ctx)
"""


def applied(jobrunner: Commands, *words: str, **options: Any) -> dict[str, Any]:
    """What apply says it did: added and disabled as names, changed as name and fields."""
    said: dict[str, Any] = jobrunner("apply", "--json", *words, **options).json()
    return {
        "added": [each["name"] for each in said["added"]],
        "changed": {
            each["name"]: {field: (change["from"], change["to"]) for field, change in each["changes"].items()}
            for each in said["changed"]
        },
        "disabled": [each["name"] for each in said["disabled"]],
        "unchanged": said["unchanged"],
    }


def nothing(unchanged: int) -> dict[str, Any]:
    """What apply says when there is nothing to do."""
    return {"added": [], "changed": {}, "disabled": [], "unchanged": unchanged}


def definitions(database: Database) -> dict[str, dict[str, Any]]:
    """The definitions that there are, by name."""
    rows = database.query("SELECT * FROM job_definitions WHERE removed_at IS NULL")
    return {row["name"]: row for row in rows}


def everything(database: Database) -> list[Any]:
    """All that an apply could touch."""
    tables = ("job_definitions", "job_runs", "job_events")
    return [database.query(f"SELECT * FROM {table} ORDER BY id") for table in tables]


def trail(database: Database) -> list[tuple[str, str]]:
    """The actions of the audit trail with the names of their definitions, in order."""
    rows = database.query(
        "SELECT e.action AS action, d.name AS name FROM job_events e JOIN job_definitions d ON d.id = e.definition_id"
        " ORDER BY e.id"
    )
    return [(row["action"], row["name"]) for row in rows]
