"""A week of each policy, with outages, against a model that knows nothing of the code: runs, skipped stretches, ends.

The clock is moved from tick to tick. The ticks are processes that only expand; what workers would have done in between
is written into the rows by hand, so that each policy meets runs in every state.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest

from harness import Commands, Database
from harness.slot_model import Schedule, SlotRange
from harness.slots import NO_HANDLERS, go_to, utc

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
# In the middle of it Berlin's clocks go forward.
BEGIN = utc(2026, 3, 25, 12, 0, 30)
END = BEGIN + timedelta(days=7)
ENDS_AT = utc(2026, 3, 28, 18)
UNFINISHED = "('queued', 'failed', 'running')"


def schedules() -> list[Schedule]:
    def made(name: str, cron: str, options: dict[str, str], **values: Any) -> Schedule:
        return Schedule(name, cron, options=options, **values)

    return [
        Schedule("default", "*/10 * * * *"),
        made("skip", "0 * * * *", {"misfire": "skip"}, misfire="skip", window=2 * MINUTE),
        made(
            "all",
            "*/20 * * * *",
            {"misfire": "all", "misfire-most": "5", "misfire-window": "6h", "overlap": "queue"},
            most=5,
            window=6 * HOUR,
            overlap="queue",
        ),
        made("each", "15 * * * *", {"misfire": "all", "overlap": "allow"}, most=100, overlap="allow"),
        made("replace", "*/30 * * * *", {"overlap": "replace"}, overlap="replace"),
        made(
            "in time",
            "5,35 * * * *",
            {"start-deadline": "20m", "overlap": "queue"},
            start_deadline=20 * MINUTE,
            overlap="queue",
        ),
        made(
            "in a window",
            "* * * * *",
            {"misfire-window": "90s", "overlap": "allow"},
            window=timedelta(seconds=90),
            overlap="allow",
        ),
        made("jitter", "0 */2 * * *", {"jitter": "40m", "overlap": "allow"}, overlap="allow"),
        made("ends", "10 */3 * * *", {"ends-at": ENDS_AT.isoformat()}, ends_at=ENDS_AT),
        made(
            "seven",
            "0 */4 * * *",
            {"misfire": "all", "max-runs": "7", "overlap": "allow"},
            most=100,
            max_runs=7,
            overlap="allow",
        ),
        Schedule("night", "30 2 * * *", "Europe/Berlin", {"overlap": "allow"}, overlap="allow"),
    ]


def steps(choose: random.Random) -> Iterator[datetime]:
    """Mostly ticks a while apart; twice a machine that was off."""
    at = BEGIN
    outages = {12: 5 * HOUR, 30: 26 * HOUR}
    for number in range(70):
        wait = choose.choice([MINUTE, MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR, 4 * HOUR])
        at += outages.get(number, wait)
        if at >= END:
            break
        yield at
    yield END


class Week:
    """The rows as the workers and the ticks leave them."""

    def __init__(self, jobrunner: Commands, database: Database) -> None:
        self.jobrunner, self.database = jobrunner, database
        self.choose = random.Random(20260325)
        self.schedules = schedules()
        go_to(database, BEGIN)
        for each in self.schedules:
            options = {"type": "echo", "cron": each.cron, "timezone": each.timezone, **each.options}
            said = [word for name, value in options.items() for word in (f"--{name}", value)]
            jobrunner("schedule", "add", each.name, *said)
            each.know_slots(BEGIN, END)
        self.names = {row["id"]: row["name"] for row in database.query("SELECT id, name FROM job_definitions")}

    def work(self, now: datetime) -> None:
        """What handlers would have done since the last tick: of each definition a few runs get one step further."""
        runs = self.runs()
        at_work = {run["concurrency_key"] for run in runs if run["status"] == "running"} - {None}
        now_in: defaultdict[str, list[int]] = defaultdict(list)
        for run in runs:
            if run["status"] == "running":
                now_in[self.choose.choice(["running", "succeeded", "failed", "dead"])].append(run["id"])
            elif self.choose.random() < 0.5 and run["concurrency_key"] not in at_work and run["run_at"] <= now:
                status = self.choose.choice(["running", "running", "succeeded", "failed"])
                now_in[status].append(run["id"])
                at_work |= {run["concurrency_key"]} - {None} if status == "running" else set()
        for status, run_ids in now_in.items():
            self.write(run_ids, status, now)

    def write(self, run_ids: list[int], status: str, now: datetime) -> None:
        is_running, is_finished = status == "running", status in ("succeeded", "dead")
        token = "'t' || id" if is_running else "NULL"
        self.database.execute(
            "UPDATE job_runs SET status = ?, locked_by = ?, host = ?, locked_until = ?, claimed_at = ?, started_at = ?,"
            f" finished_at = ?, lease_token = {token}, attempts = attempts + 1"
            f" WHERE id IN ({', '.join(map(str, run_ids))})",
            [
                status,
                *(["somebody", "elsewhere", now + 5 * MINUTE, now, now] if is_running else [None] * 5),
                now if is_finished else None,
            ],
        )

    def runs(self) -> list[dict[str, Any]]:
        return self.database.query(f"SELECT * FROM job_runs WHERE status IN {UNFINISHED} ORDER BY id")

    def top(self, table: str) -> int:
        return int(self.database.value(f"SELECT max(id) AS id FROM {table}") or 0)

    def told_since(self, event_id: int) -> Mapping[str, list[SlotRange]]:
        """By the name of the schedule."""
        rows = self.database.query(
            "SELECT definition_id, detail FROM job_events WHERE id > ? AND action = 'skip slots' ORDER BY id",
            [event_id],
        )
        told: defaultdict[str, list[SlotRange]] = defaultdict(list)
        for name, d in ((self.names[row["definition_id"]], row["detail"]) for row in rows):
            stretch = datetime.fromisoformat(d["from"]), datetime.fromisoformat(d["to"]), d["count"], d["reason"]
            told[name].append(stretch)
        return told

    def new_runs(self, run_id: int) -> Mapping[str, list[dict[str, Any]]]:
        """By the name of the schedule."""
        made: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in self.database.query("SELECT * FROM job_runs WHERE id > ? ORDER BY id", [run_id]):
            made[self.names[row["definition_id"]]].append(row)
        return made

    def tick(self, number: int) -> None:
        if number % 9 == 4:
            ticks = [self.jobrunner.start("tick", env=NO_HANDLERS) for _ in range(3)]
            assert [(*tick.communicate(timeout=60), tick.returncode) for tick in ticks] == [("", "", 0)] * 3
            return
        done = self.jobrunner.tick(env=NO_HANDLERS)
        assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.timeout(400)
@pytest.mark.promise("P3", "P12")
@pytest.mark.long(sample=1)
def test_a_week_of_each_policy_with_outages(jobrunner: Commands, database: Database) -> None:
    week = Week(jobrunner, database)
    reasons = set()
    for number, now in enumerate(steps(week.choose)):
        go_to(database, now)
        week.work(now)
        # Whoever holds a run goes on holding it, however far the clock was moved.
        database.execute("UPDATE job_runs SET locked_until = ? WHERE status = 'running'", [now + 5 * MINUTE])
        before = week.runs()
        top_run, top_event = week.top("job_runs"), week.top("job_events")
        week.tick(number)
        statuses = {row["id"]: row for row in database.query("SELECT id, status, cancel_requested_at FROM job_runs")}
        new_runs, told, database_now = week.new_runs(top_run), week.told_since(top_event), database.now()
        for each in week.schedules:
            own = [run for run in before if week.names[run["definition_id"]] == each.name]
            late = [run for run in own if is_overdue(run, database_now)]
            assert all(statuses[run["id"]]["status"] == "dead" for run in late)
            own = [run for run in own if run not in late]
            runs, skipped = each.tick(now, [run["status"] for run in own])
            made = new_runs[each.name]
            assert ([run["scheduled_for"] for run in made], told[each.name]) == (runs, skipped)
            assert all(run["origin"] == "slot" for run in made)
            assert_replaced(each, own, bool(made), statuses)
            reasons |= {reason for *_, reason in skipped}
    # Otherwise this week would not have tried them.
    assert reasons == {"misfire", "overlap", "start_deadline"}
    assert_ends(week)
    all_runs = week.new_runs(0)
    for name in ("jitter", "night"):
        offsets = {run["run_at"] - run["scheduled_for"] for run in all_runs[name]}
        assert len(offsets) == 1
        assert timedelta(0) <= offsets.pop() < 40 * MINUTE
    assert len(all_runs["seven"]) == 7


def is_overdue(run: dict[str, Any], now: datetime) -> bool:
    deadline = run["start_deadline_at"]
    return deadline is not None and run["status"] != "running" and deadline <= now


def assert_replaced(
    schedule: Schedule, before: list[dict[str, Any]], was_made: bool, statuses: dict[int, dict[str, Any]]
) -> None:
    for run in before:
        after = statuses[run["id"]]
        if schedule.overlap == "replace" and was_made:
            is_stopped = after["status"] == "cancelled" or after["cancel_requested_at"] is not None
            assert is_stopped, after
            assert (after["status"] == "cancelled") == (run["status"] != "running")
        else:
            assert after["status"] == run["status"]


def assert_ends(week: Week) -> None:
    rows = week.database.query(
        "SELECT d.name AS name, e.detail AS detail FROM job_events e JOIN job_definitions d ON d.id = e.definition_id"
        " WHERE e.action = 'schedule ended' ORDER BY d.name"
    )
    assert [(row["name"], row["detail"]["reason"]) for row in rows] == [("ends", "ends_at"), ("seven", "max_runs")]
    all_runs = week.new_runs(0)
    for row in rows:
        made = len(all_runs[row["name"]])
        assert row["detail"]["runs_made"] == made
        assert week.database.value("SELECT runs_made FROM job_definitions WHERE name = ?", [row["name"]]) == made
