"""`jobrunner schedule import --scheduler`: schedules of other libraries fire at the same instants, or are refused.

The real libraries read the same expressions beside jobrunner, and both are asked for the next times.
"""

import random
import stat
import tomllib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger
from celery.schedules import crontab

from harness import App, Commands, Database
from harness.waiting import span
from jobrunner.schedules.recurrence import Recurrence

# Without daylight saving, about which the three have different rules.
ZONE = "Asia/Tokyo"
START = datetime(2026, 1, 31, 22, 59, tzinfo=UTC)
OF_BOTH = {
    "minute": ["*", "0", "*/7", "*/15", "1,2,3,50", "10-50/20", "59"],
    "hour": ["*", "0", "*/5", "9-17", "8-20/3", "3,4,22"],
    "month": ["*", "*/3", "1,7", "2-4", "12"],
}
OF_CELERY = {
    "day": ["*", "1", "*/2", "13", "28-31", "*/10", "1-7"],
    "weekday": ["*", "0", "sun", "mon-fri", "*/2", "6"],
}
OF_APSCHEDULER = {
    "day": ["*", "1", "*/2", "last", "13,last", "1st mon", "2nd fri,last sun", "5th wed", "28-31"],
    "weekday": ["*", "0", "6", "sun", "mon-fri", "sat-sun", "*/2", "1,3"],
}


def drawn(days: dict[str, list[str]], count: int) -> list[dict[str, str]]:
    """Fields that a seed draws; each text of the two fields of days is among them."""
    dice = random.Random(87)
    table = OF_BOTH | days
    found = [{name: dice.choice(texts) for name, texts in table.items()} for _ in range(count)]
    for name, texts in days.items():
        other = next(each for each in days if each != name)
        found += [{**found[0], name: text, other: "*"} for text in texts]
    return found


def imported(jobrunner: Commands, folder: Path, scheduler: str, text: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The schedules of the file, and the reasons of those that were refused."""
    (folder / "there.py").write_text(text)
    done = jobrunner("schedule", "import", "--scheduler", scheduler, "there", check=False)
    lines = [line.partition(": not imported: ") for line in done.stderr.splitlines()]
    refused = {name: reason for name, mark, reason in lines if mark}
    assert done.returncode == (1 if refused else 0), done.stderr
    return tomllib.loads(done.stdout).get("schedules", {}), refused


def same_times(entry: dict[str, Any], following: Callable[[datetime], datetime]) -> None:
    """Fail unless the entry and the other library name the same next ten instants."""
    recurrence = Recurrence(entry["schedule"], entry["timezone"])
    at = START
    for _ in range(10):
        ours = recurrence.next_after(at)
        assert ours is not None
        assert ours == following(at), entry
        at = ours


def after_in_celery(schedule: crontab) -> Callable[[datetime], datetime]:
    def following(at: datetime) -> datetime:
        last, delta, _ = schedule.remaining_delta(at.astimezone(ZoneInfo(ZONE)), tz=ZoneInfo(ZONE))
        found: datetime = last + delta
        return found

    return following


def after_in_apscheduler(trigger: Any) -> Callable[[datetime], datetime]:
    return lambda at: trigger.get_next_fire_time(None, at + timedelta(microseconds=1))


@pytest.fixture
def folder(jobrunner: Commands, app: App) -> Path:
    return Path(app.folder)


def test_crontabs_of_celery_beat_fire_at_the_same_instants(jobrunner: Commands, folder: Path) -> None:
    """Of two restricted fields of days, which Celery joins by AND and cron by OR, exactly none is imported."""
    every = drawn(OF_CELERY, 90)
    words = [
        f"crontab({a['minute']!r}, {a['hour']!r}, day_of_week={a['weekday']!r}, day_of_month={a['day']!r},"
        f" month_of_year={a['month']!r})"
        for a in every
    ]
    text = f"""
from celery import Celery
from celery.schedules import crontab
app = Celery(set_as_current=False)
app.conf.timezone = {ZONE!r}
app.conf.beat_schedule = {{
    str(n): {{"task": "work", "schedule": each}} for n, each in enumerate([{", ".join(words)}])
}}
"""
    found, refused = imported(jobrunner, folder, "celery-beat", text)
    assert {int(name) for name in refused} == {
        place
        for place, each in enumerate(every)
        if not (each["day"].startswith("*") or each["weekday"].startswith("*"))
    }
    assert all("AND" in reason for reason in refused.values())
    app = SimpleNamespace(timezone=ZoneInfo(ZONE), conf=SimpleNamespace(enable_utc=True), now=lambda: START)
    for name, entry in found.items():
        each = every[int(name)]
        schedule = crontab(
            each["minute"], each["hour"], each["weekday"], each["day"], each["month"], nowfun=lambda: START, app=app
        )
        same_times(entry, after_in_celery(schedule))


def test_triggers_of_apscheduler_fire_at_the_same_instants(jobrunner: Commands, folder: Path) -> None:
    """Its week begins with Monday; `last`, `2nd fri` and the start of an interval have a form of jobrunner's."""
    every = drawn(OF_APSCHEDULER, 90)
    options = [
        {"month": a["month"], "day": a["day"], "day_of_week": a["weekday"], "hour": a["hour"], "minute": a["minute"]}
        for a in every
    ]
    text = f"""
from apscheduler.schedulers.background import BackgroundScheduler
scheduler = BackgroundScheduler(timezone={ZONE!r})
def work(): raise SystemExit("a job ran in the import")
for number, each in enumerate({options!r}):
    scheduler.add_job(work, "cron", id=str(number), **each)
scheduler.add_job(work, "interval", minutes=90, start_date="2026-01-01 00:20:00", id="anchored")
scheduler.start()
"""

    found, refused = imported(jobrunner, folder, "apscheduler", text)
    anchored = found.pop("anchored")
    same_times(
        anchored, after_in_apscheduler(IntervalTrigger(minutes=90, start_date="2026-01-01 00:20:00", timezone=ZONE))
    )
    # Its Saturday and Sunday are every sixth day of the week of cron, so that they can have a star.
    starred = {"*", "sat-sun"}
    assert {int(name) for name in refused} == {
        place
        for place, each in enumerate(every)
        if not each["day"].startswith("*") and each["weekday"] not in ({"*"} if " " in each["day"] else starred)
    }
    for name, entry in found.items():
        same_times(entry, after_in_apscheduler(CronTrigger(timezone=ZONE, **options[int(name)])))


CELERY = """
from datetime import datetime, timedelta
from celery import Celery
from celery.schedules import crontab, schedule, solar
print("printed by the application")
app = Celery(set_as_current=False)
app.conf.{settings}
@app.task(name="report")
def report(to, *more): pass
at = crontab(0, 7)
app.conf.beat_schedule = {{
    "named": {{"task": "report", "schedule": at, "args": ["ops"], "options": {{"expires": 90, "queue": "low"}}}},
    "often": {{"task": "report", "schedule": timedelta(hours=26), "kwargs": {{"to": "o'ps", "n": [1, {{}}]}}}},
    "a: 'b' \\"c\\"": {{"task": "report", "schedule": at}},
    "red \\x1b[31m": {{"task": "report", "schedule": at}},
    "a b": {{"task": "a b", "schedule": at}},
    "short": {{"task": "report", "schedule": 30}},
    "relative": {{"task": "report", "schedule": schedule(timedelta(hours=1), relative=True)}},
    "sun": {{"task": "report", "schedule": solar.__new__(solar)}},
    "own": {{"task": "report", "schedule": crontab(0, 7, nowfun=datetime.now)}},
    "later": {{"task": "report", "schedule": at, "options": {{"countdown": 60}}}},
    "until": {{"task": "report", "schedule": at, "options": {{"expires": datetime(2030, 1, 1)}}}},
    "extra": {{"task": "report", "schedule": at, "args": ["a", "b"]}},
    "unknown": {{"task": "elsewhere", "schedule": at, "args": ["a"]}},
    "none": {{"task": "report", "schedule": at, "kwargs": {{"to": None}}}},
    "bytes": {{"task": "report", "schedule": at, "kwargs": {{"to": b"x"}}}},
}}
"""
APSCHEDULER = """
from datetime import datetime
from apscheduler.schedulers.blocking import BlockingScheduler
from apscheduler.jobstores.base import BaseJobStore
from apscheduler.triggers.combining import OrTrigger
from apscheduler.triggers.cron import CronTrigger
class Kept(BaseJobStore):
    add_job = get_all_jobs = get_due_jobs = get_next_run_time = lookup_job = remove_all_jobs = None
    remove_job = update_job = None
defaults = {"misfire_grace_time": None}
scheduler = BlockingScheduler(timezone="Asia/Tokyo", job_defaults=defaults, jobstores={"db": Kept()})
def work(a=1): raise SystemExit("a job ran in the import")
add = scheduler.add_job
add(work, "cron", hour=1, id="plain", args=[3])
add(work, "cron", hour=1, id="late", misfire_grace_time=600, coalesce=False, jitter=20, end_date="2030-01-01")
add(work, "cron", hour=1, id="early", misfire_grace_time=5)
add(work, "interval", minutes=5)
for name, options in {"second": {"second": "*/10"}, "week": {"week": "2"}, "year": {"year": "2030"}}.items():
    add(work, "cron", id=name, **options)
add(work, "cron", hour=1, id="many", max_instances=3)
add(work, "cron", hour=1, id="starts", start_date="2999-01-01")
add(work, "date", run_date="2030-01-01", id="once")
add(work, OrTrigger([CronTrigger(hour=1)]), id="both")
add(lambda: None, "cron", hour=1, id="lambda")
scheduler.start()
"""
DJANGO = """
CRONTAB_COMMAND_SUFFIX = "2>&1"
CRONJOBS = [
    ("*/5 * * * *", "shop.cron.often"),
    ("0 4 * * *", "shop.cron.nightly", ">> /var/log/nightly.log"),
    ("0 5 * * *", "shop.cron.nightly", ["a"], {{"b": 2}}),
    ("0 6 * * *", "shop.cron.mailed", "| mail ops"),
    ("0 6 * * *", "shop.cron.sequel", "; rm -rf x"),
    ("0 6 * * *", "django.core.management.call_command", ["clearsessions"]),
    ("0 6 * * 5L", "shop.cron.last"),
    ("@reboot", "shop.cron.boot"),
]
{more}
"""


def test_entry_of_celery_that_would_mean_something_else_is_refused_with_the_reason(
    jobrunner: Commands, folder: Path
) -> None:
    found, refused = imported(jobrunner, folder, "celery-beat", CELERY.format(settings="timezone = 'Europe/Berlin'"))
    assert found == {
        "named": {
            "job": "report",
            "schedule": "0 7 * * *",
            "timezone": "Europe/Berlin",
            "overlap": "allow",
            "start_deadline": "90s",
            "payload": {"to": "ops"},
        },
        "a: 'b' \"c\"": {"job": "report", "schedule": "0 7 * * *", "timezone": "Europe/Berlin", "overlap": "allow"},
        "often": {
            "job": "report",
            "schedule": "every 26h",
            "timezone": "UTC",
            "overlap": "allow",
            "payload": {"to": "o'ps", "n": [1, {}]},
        },
    }
    assert_reasons(
        refused,
        {"short": "too short", "relative": "relative", "sun": "solar", "own": "crontab", "later": "countdown"}
        | {"red \\x1b[31m": "invisible", "a b": "job type"}
        | {"until": "expires", "extra": "*args", "unknown": "no names", "none": "None", "bytes": "no JSON"},
    )


def test_celery_app_without_a_named_time_zone_is_refused_until_it_is_given(jobrunner: Commands, folder: Path) -> None:
    text = CELERY.format(settings="update(enable_utc=False, beat_scheduler='other:Scheduler')")
    _, refused = imported(jobrunner, folder, "celery-beat", text)
    assert "--timezone" in refused["named"]
    assert "other:Scheduler" in refused["beat_scheduler"]
    words = ("schedule", "import", "--scheduler", "celery-beat", "there", "--timezone", "Europe/Paris")
    done = jobrunner(*words, check=False)
    assert tomllib.loads(done.stdout)["schedules"]["named"]["timezone"] == "Europe/Paris"


def test_job_of_apscheduler_that_would_mean_something_else_is_refused_with_the_reason(
    jobrunner: Commands, folder: Path
) -> None:
    found, refused = imported(jobrunner, folder, "apscheduler", APSCHEDULER)
    tokyo = {"job": "there.work", "schedule": "0 1 * * *", "timezone": ZONE}
    assert found == {
        "plain": {**tokyo, "payload": {"a": 3}},
        "late": {
            **tokyo,
            "misfire": "all",
            "misfire_window": "10m",
            "jitter": "20s",
            "ends_at": "2029-12-31T15:00:00Z",
        },
        "early": {**tokyo, "misfire": "skip"},
        "work": {"job": "there.work", "schedule": "every 5m", "timezone": "UTC"},
    }
    assert_reasons(
        refused,
        {"second": "without second", "week": "without week", "year": "without year", "many": "max_running = 3"}
        | {"starts": "start_date", "once": "--run-at", "both": "or", "lambda": "no name", "job store db": "not read"},
    )


def test_entry_of_django_crontab_that_would_mean_something_else_is_refused_with_the_reason(
    jobrunner: Commands, folder: Path
) -> None:
    (folder / "shop").mkdir()
    (folder / "shop" / "cron.py").write_text("def nightly(a, b): pass\n")
    words = ("schedule", "import", "--scheduler", "django-crontab", "there", "--timezone", "Europe/Berlin")
    (folder / "there.py").write_text(DJANGO.format(more="CRONTAB_LOCK_JOBS = True\nSECRET_KEY = 'x'"))
    done = jobrunner(*words, check=False)
    common = {"timezone": "Europe/Berlin", "misfire": "skip", "overlap": "skip"}
    nightly = {"job": "shop.cron.nightly", **common}
    assert tomllib.loads(done.stdout)["schedules"] == {
        "often": {"job": "shop.cron.often", "schedule": "*/5 * * * *", **common},
        "nightly": {**nightly, "schedule": "0 4 * * *"},
        "nightly_2": {**nightly, "schedule": "0 5 * * *", "payload": {"a": "a", "b": 2}},
    }
    for said in ("| mail ops", "; rm -rf x", "[jobs.clearsessions]", "5L", "@reboot"):
        assert said in done.stderr
    _, refused = imported(jobrunner, folder, "django-crontab", DJANGO.format(more="CRONTAB_COMMAND_PREFIX = 'A=1'"))
    assert len(refused) == 8
    assert all("CRONTAB_COMMAND_PREFIX" in reason for reason in refused.values())


def assert_reasons(refused: dict[str, str], expected: dict[str, str]) -> None:
    assert refused.keys() == expected.keys()
    for name, part in expected.items():
        assert part in refused[name]


def test_imported_schedule_runs_its_handler_with_its_arguments_and_a_second_import_adds_nothing(
    jobrunner: Commands, app: App, database: Database, folder: Path
) -> None:
    app.write("handlers", "from jobrunner import job\n@job('report')\ndef report(ctx, to):\n    print('to', to)\n")
    (folder / "there.py").write_text(CELERY.format(settings="timezone = 'Europe/Berlin'"))
    file = folder / "jobrunner.toml"
    words = ("schedule", "import", "--scheduler", "celery-beat", "there:app", "-o", file)
    first = jobrunner(*words, check=False)
    assert "printed by the application" in first.stderr
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    text = file.read_text()
    again = jobrunner(*words, check=False)
    assert "0 imported, 3 already there, 12 not" in again.stderr
    assert file.read_text() == text
    file.write_text(text.replace('start_deadline = "90s"\n', "").replace(text[text.index("[schedules.often]") :], ""))
    other = jobrunner(*words, check=False)
    assert (other.returncode, "already has another named, so nothing was written" in other.stderr) == (2, True)
    jobrunner("apply", "--config", file)
    database.move_clock(timedelta(days=1, minutes=1))
    jobrunner.tick("--config", file)
    assert database.query("SELECT status FROM job_runs") == [{"status": "succeeded"}]


@pytest.mark.parametrize(
    ("text", "target", "said"),
    [
        ("import time; time.sleep(600)", "there", "within"),
        ("import os; os.kill(os.getpid(), 9)", "there", "did not come to its end"),
        ("raise RuntimeError('two\\nlines \\x1b[31m')", "there", "RuntimeError"),
        ("", "there", "give MODULE:NAME"),
        ("app = 1", "there:app", "is not an app of Celery"),
        ("", "no_such_module", "No module named"),
    ],
)
def test_application_that_cannot_be_read_is_refused_in_one_line(
    jobrunner: Commands, folder: Path, text: str, target: str, said: str
) -> None:
    (folder / "there.py").write_text(text)
    env = {"JOBRUNNER_START_LIMIT": span(1 if "sleep" in text else 60)}
    jobrunner.refused(1, "schedule", "import", "--scheduler", "celery-beat", target, says=[said], env=env)
