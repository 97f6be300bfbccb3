"""A day of a small shop with three hosts, as rows: what a person sees in the page when there is much to see."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any

from harness.database import Database
from jobrunner.schedules.recurrence import Recurrence

HOSTS = ("web-1", "web-2", "batch-1")
TYPES = {
    # Its type, how often it ends, and how long it takes (seconds).
    "orders.send_receipt": (120, 1.2),
    "search.index_product": (90, 0.4),
    "images.make_thumbnails": (50, 6.0),
    "billing.charge_card": (36, 2.1),
    "reports.sales_of_the_day": (12, 95.0),
}
SCHEDULES = {
    "sales of the day": ("reports.sales_of_the_day", "30 6 * * 1-5", "Europe/Berlin"),
    "index all products": ("search.index_product", "*/15 * * * *", "UTC"),
    "remind of open baskets": ("orders.send_receipt", "0 18 * * *", "America/New_York"),
    "close the month": ("billing.charge_card", "0 2 1 * *", "Europe/Berlin"),
}
ERRORS = (
    ("smtplib.SMTPServerDisconnected", "Connection unexpectedly closed by mail.example.com:587"),
    ("billing.CardDeclined", "card of order 20418 was declined: insufficient funds"),
    ("TimeoutError", "the handler was still at work after 2m"),
)
TRACEBACK = """Traceback (most recent call last):
  File "/srv/shop/billing/jobs.py", line 41, in charge_card
    receipt = gateway.charge(order.card, order.total, idempotency_key=ctx.effect_key)
  File "/srv/shop/billing/gateway.py", line 112, in charge
    raise CardDeclined(f"card of order {order.id} was declined: {answer.reason}")
billing.CardDeclined: card of order 20418 was declined: insufficient funds
"""
OUTPUT = """charging order 20418: 129.90 EUR
gateway answered 402 in 0.81 s
"""


def insert(database: Database, table: str, rows: Sequence[Mapping[str, Any]]) -> list[int]:
    """Insert rows of one table, by one statement. The ids of those that have one."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    marks = ", ".join(["(" + ", ".join("?" * len(names)) + ")"] * len(rows))
    values = [json.dumps(value) if isinstance(value, dict) else value for row in rows for value in map(row.get, names)]
    statement = f"INSERT INTO {table} ({', '.join(names)}) VALUES {marks}"
    if "key" in names or table in ("job_types", "job_pauses"):
        return [database.execute(statement, values)]
    return [row["id"] for row in database.query(f"{statement} RETURNING id", values)]


def plant_a_day(database: Database) -> dict[str, int]:
    """Insert it. A run of each status, by its status."""
    chance, now = Random(4), database.now()
    schedules = plant_schedules(database)
    runs, attempts = [], []
    for job_type, (count, seconds) in TYPES.items():
        for number in range(count):
            age = timedelta(hours=23.5) * (number + chance.random()) / count
            started, took = now - age - timedelta(minutes=3), timedelta(seconds=seconds * (0.5 + chance.random()))
            is_bad = job_type == "billing.charge_card" and number % 9 == 0
            error = ERRORS[2 if number % 12 else 1] if is_bad else (None, None)
            status = "dead" if is_bad else "succeeded"
            created = started - timedelta(seconds=chance.random() * 20)
            runs.append(
                {
                    **run_row(job_type, status, created, {"order": 20400 + number, "amount": 129.9}),
                    "started_at": started,
                    "finished_at": started + took,
                    "attempts": 1,
                    "max_attempts": 5,
                    "error_type": error[0],
                    "last_error": error[1],
                }
            )
            outcome = "timed_out" if error[0] == "TimeoutError" else "failed" if is_bad else "succeeded"
            attempts.append(attempt_row(0, 1, outcome, status, created, started, started + took, *error))
    order = sorted(range(len(runs)), key=lambda index: runs[index]["created_at"])
    ids = insert(database, "job_runs", [runs[index] for index in order])
    found = dict(zip(order, ids, strict=True))
    insert(database, "job_attempts", [{**each, "run_id": found[index]} for index, each in enumerate(attempts)])
    plant_slots(database, schedules)
    plant_week(database, schedules)
    chosen = plant_unfinished(database)
    chosen |= {
        status: max(found[index] for index, run in enumerate(runs) if run["status"] == status)
        for status in ("dead", "succeeded")
    }
    # The one that people look at had a failure before.
    database.execute(
        "UPDATE job_attempts SET sequence = 3, attempt = 3, lease_token = '3' WHERE run_id = ?", [chosen["dead"]]
    )
    (first,) = database.query("SELECT started_at FROM job_attempts WHERE run_id = ?", [chosen["dead"]])
    database.execute("UPDATE job_runs SET attempts = 3 WHERE id = ?", [chosen["dead"]])
    for number, error in ((1, ERRORS[2]), (2, ERRORS[1])):
        began = first["started_at"] - timedelta(minutes=20 - 8 * number)
        ended = began + timedelta(seconds=2)
        insert(
            database,
            "job_attempts",
            [attempt_row(chosen["dead"], number, "failed", "failed", began, began, ended, *error)],
        )
    plant_trails(database, chosen)
    return chosen


def run_row(job_type: str, status: str, created: Any, payload: dict[str, Any], **columns: Any) -> dict[str, Any]:
    times = {"run_at": created, "created_at": created, "updated_at": created}
    fixed = {"payload": payload, "priority": 0, "attempts": 0}
    return {"job_type": job_type, "status": status, **fixed, **times, **columns}


def attempt_row(
    run_id: int, number: int, outcome: str, status: str, due: Any, start: Any, end: Any, kind: Any, error: Any
) -> dict[str, Any]:
    told = {"traceback": TRACEBACK if kind == ERRORS[1][0] else None, "output": OUTPUT if kind else None}
    return {
        "run_id": run_id,
        "sequence": number,
        "attempt": number,
        "lease_token": f"{number:032}",
        "status": status,
        "worker": "batch-1/4711",
        "host": HOSTS[number % 3],
        "due_at": due,
        "started_at": start,
        "finished_at": end,
        "outcome": outcome,
        "error_type": kind,
        "error": error,
        **told,
    }


def plant_schedules(database: Database) -> dict[str, int]:
    now = database.now()
    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "job_type": job_type,
            "payload": {},
            "schedule": schedule,
            "timezone": zone,
            "source": "code",
            "description": "What the manager reads at breakfast." if "sales" in name else None,
            "last_slot_at": now - timedelta(minutes=5),
            "next_run_at": Recurrence.parse(schedule, zone).next_after(now),
            "created_at": now - timedelta(days=90),
            "updated_at": now - timedelta(days=9),
            "paused_at": now - timedelta(hours=7) if name == "close the month" else None,
        }
        for name, (job_type, schedule, zone) in SCHEDULES.items()
    ]
    return dict(zip(SCHEDULES, insert(database, "job_definitions", rows), strict=True))


def plant_slots(database: Database, schedules: Mapping[str, int]) -> None:
    """The runs of a schedule, one for each working day: two of them failed, whatever day it is today."""
    now = database.now()
    rows = []
    days = (now - timedelta(days=days) for days in range(34, 0, -1))
    working_days = [day.replace(hour=5, minute=30, second=0, microsecond=0) for day in days if day.weekday() < 5]
    for slot in working_days:
        is_bad = slot in working_days[-9:-7]
        ended = {"started_at": slot + timedelta(seconds=21), "finished_at": slot + timedelta(seconds=118)}
        told = {"error_type": ERRORS[0][0], "last_error": ERRORS[0][1]} if is_bad else {}
        status = "dead" if is_bad else "succeeded"
        rows.append(
            run_row("reports.sales_of_the_day", status, slot, {}, scheduled_for=slot, attempts=1, **ended, **told)
        )
    insert(database, "job_runs", [{**row, "definition_id": schedules["sales of the day"]} for row in rows])


def plant_week(database: Database, schedules: Mapping[str, int]) -> None:
    """The runs of two more schedules in three days. Some were late, and some slots were skipped."""
    now = database.now()
    for name in ("index all products", "remind of open baskets"):
        job_type, schedule, zone = SCHEDULES[name]
        slots = list(Recurrence.parse(schedule, zone).slots(now - timedelta(days=3), now - timedelta(minutes=5)))
        skipped = slots[-90:-86] if len(slots) > 90 else []
        rows = []
        for number, slot in enumerate(slots):
            if slot in skipped:
                continue
            started = slot + timedelta(minutes=17 if number % 41 == 1 else 0, seconds=9)
            ended = {"started_at": started, "finished_at": started + timedelta(seconds=2), "attempts": 1}
            own = {"definition_id": schedules[name], "scheduled_for": slot}
            rows.append(run_row(job_type, "succeeded", slot, {}, **ended, **own))
        insert(database, "job_runs", rows)
        if skipped:
            first, last = skipped[0].isoformat(), skipped[-1].isoformat()
            detail = {"from": first, "to": last, "count": len(skipped), "reason": "overlap"}
            event = {"at": skipped[-1], "actor": "tick", "action": "skip slots", "detail": detail}
            insert(database, "job_events", [{**event, "definition_id": schedules[name]}])


def plant_unfinished(database: Database) -> dict[str, int]:
    now = database.now()
    lease = {"locked_by": "batch-1/4711", "host": "batch-1", "lease_token": "t" * 32, "claimed_at": now}
    lease |= {"locked_until": now + timedelta(minutes=5), "heartbeat_at": now - timedelta(seconds=9), "attempts": 1}
    begun = now - timedelta(seconds=74)
    log = "read 1 204 orders\nread 2 408 orders\n"
    at_work = {
        **lease,
        "started_at": begun,
        "progress": {"done": 2408, "total": 6100, "message": "orders read"},
        "output": log,
    }
    bad = {"error_type": ERRORS[0][0], "last_error": ERRORS[0][1], "failed_at": now - timedelta(minutes=4)}
    stopped = {"cancel_requested_at": now - timedelta(hours=2), "finished_at": now - timedelta(hours=2)}
    rows = [
        run_row("reports.sales_of_the_day", "running", begun, {"day": "2026-11-21"}, **at_work),
        run_row("orders.send_receipt", "failed", now - timedelta(minutes=9), {"order": 20440}, attempts=2, **bad),
        run_row("images.make_thumbnails", "cancelled", now - timedelta(hours=3), {"product": 77}, **stopped),
        *(run_row("search.index_product", "queued", now, {"product": number}) for number in range(14)),
    ]
    rows[1] |= {"run_at": now + timedelta(minutes=6), "max_attempts": 5}
    ids = insert(database, "job_runs", rows)
    return dict(zip(("running", "failed", "cancelled", "queued"), ids, strict=False))


def plant_trails(database: Database, runs: Mapping[str, int]) -> None:
    """Ticks, effects, limits, and what people did."""
    now = database.now()
    tick = {"version": "0.9.0", "ended_by": "empty", "counts": {"claimed": 3, "succeeded": 3}}
    ticks = [
        {
            "host": host,
            "worker": f"{host}/{4000 + minute}",
            "started_at": now - timedelta(minutes=minute),
            "finished_at": now - timedelta(minutes=minute, seconds=-8),
            **tick,
        }
        for minute in range(12, 0, -1)
        for host in HOSTS
    ]
    # In the night there is more to do than a tick has time for.
    night = {"version": "0.9.0", "ended_by": "budget", "counts": {"claimed": 400, "succeeded": 400}, "host": "batch-1"}
    left = [(11 * 60 - 15 * n, 420 - 34 * n) for n in range(12)] + [(195, 31), (180, 9)]
    behind = [
        {
            **night,
            "worker": f"batch-1/{9000 + minutes}",
            "started_at": now - timedelta(minutes=minutes),
            "finished_at": now - timedelta(minutes=minutes, seconds=-50),
            "left_due": {"runs": {"search.index_product": runs, "orders.send_receipt": runs // 4}, "at_least": False},
        }
        for minutes, runs in left
    ]
    insert(database, "job_ticks", behind)
    insert(database, "job_ticks", ticks)
    effect = {"job_type": "billing.charge_card", "attempt": 1, "lease_token": "t" * 32, "state": "uncertain"}
    keys = ("charge:order:20418", "charge:order:20433")
    rows = [{**effect, "key": key, "token": key, "run_id": runs["dead"]} for key in keys]
    insert(database, "job_effects", [{**row, "intended_at": now - timedelta(minutes=31)} for row in rows])
    limit = {"max_waiting": 500, "when_full": "drop", "dropped": 12, "dropped_at": now - timedelta(hours=5)}
    insert(database, "job_types", [{"job_type": "search.index_product", **limit, "updated_at": now}])
    pause = {"kind": "host", "name": "web-2", "actor": "grace", "reason": "new disk"}
    insert(database, "job_pauses", [{**pause, "paused_at": now - timedelta(minutes=50)}])
    people = (
        (timedelta(hours=7), "grace", "pause schedule", None, {"name": "close the month", "reason": "new tax rate"}),
        (timedelta(minutes=50), "grace", "pause host", None, {"name": "web-2", "reason": "new disk"}),
        (timedelta(minutes=26), "ada (page)", "retry", runs["dead"], {"from": "dead", "reason": "gateway is back"}),
        (timedelta(hours=2), "ada (page)", "cancel", runs["cancelled"], {"from": "queued"}),
    )
    rows = [
        {"at": now - age, "actor": actor, "action": action, "run_id": run_id, "detail": detail}
        for age, actor, action, run_id, detail in people
    ]
    insert(database, "job_events", rows)


def end_of(database: Database, run_id: int, status: str, now: datetime, waited: float = 0.0, ran: float = 0.0) -> None:
    """The row of an attempt, from which the tallies are made."""
    began = now - timedelta(seconds=ran)
    database.execute(
        "INSERT INTO job_attempts (run_id, sequence, attempt, lease_token, worker, host, due_at, started_at,"
        " finished_at, outcome, status) VALUES (?, 1, 1, 't', 'w', 'h', ?, ?, ?, ?, ?)",
        [run_id, began - timedelta(seconds=waited), began, now, "failed" if status == "dead" else "succeeded", status],
    )
