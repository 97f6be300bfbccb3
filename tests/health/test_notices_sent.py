"""Notices on their way: told at most once whatever dies, no run waits for a receiver, and a tick with none is idle."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from harness import App, Commands, Database
from harness.fault_points import NOTICE_POINTS
from harness.handlers_rows import queue, run_of
from harness.invariants import insert_runs, read_log
from harness.notices import HOUR, configure, dead, notices, tick, told
from harness.plan_calls import hooks
from harness.receivers import Web
from jobrunner.store.queue.ticks import idle


def test_many_ticks_at_once_and_a_kill_tell_each_dead_run_at_most_once_and_say_what_is_lost(
    jobrunner: Commands, app: App, database: Database, web: Web
) -> None:
    configure(app, '[notify]\non_dead = ["chat"]')
    # Killed before it has told, and after.
    for index, point in enumerate(NOTICE_POINTS):
        dead(database, f"lost_{index}")
        jobrunner.killed_at(point, env={"CHAT_URL": web.url})
        assert len(web.requests) == index
    dead(database, "fail", count=30)
    env = {"CHAT_URL": web.url}
    ticks = [jobrunner.start("tick", env=env) for _ in range(4)]
    for each in ticks:
        assert each.wait(60) == 0
    assert sum(runs for _, runs in told(web)) == 31
    database.move_clock(timedelta(minutes=20))
    tick(jobrunner, web)
    assert sum(runs for _, runs in told(web)) == 31
    unsent = jobrunner.status()["unsent_notifications"]
    found = {(each["job_type"], each["outcome"], each["receiver"]) for each in unsent}
    assert found == {("lost_0", "lost", "chat"), ("lost_1", "lost", "chat")}
    assert "chat" in jobrunner("status").stdout


def test_receiver_that_hangs_holds_up_no_run_and_its_secret_is_nowhere(
    jobrunner: Commands, app: App, database: Database, web: Web, tmp_path: Path
) -> None:
    configure(app, '[notify]\non_dead = ["chat"]\ngive_up_after = "1s"')
    web.behave = "hang"
    dead(database)
    first = queue(database, "echo")
    log = tmp_path / "log"
    process = jobrunner.start("tick", "--log", log, env={"CHAT_URL": web.url})
    web.wait_for(1)
    # The tick that waits for the receiver has ended all its runs, and another one begins new runs meanwhile.
    assert run_of(database, first)["status"] == "succeeded"
    assert database.value("SELECT count(*) FROM job_ticks WHERE finished_at IS NULL") == 0
    line = Path(f"/proc/{process.pid}/cmdline").read_bytes().decode()
    second = queue(database, "echo")
    assert tick(jobrunner, web) == ""
    assert run_of(database, second)["status"] == "succeeded"
    assert process.wait(20) == 0
    assert notices(database) == [("dead", "chat", "failed", 1)]
    status = jobrunner("status").stdout
    assert "no answer in time" in status
    assert len(web.requests) == 1, "what may have been told is not told again"
    assert "s3cret" not in line + status + json.dumps(read_log(log)) + database.describe()


def test_message_that_did_not_leave_is_sent_by_a_later_tick(
    jobrunner: Commands, app: App, database: Database, web: Web
) -> None:
    configure(app, '[notify]\non_dead = ["chat"]')
    dead(database)
    jobrunner.tick(env={"CHAT_URL": "http://127.0.0.1:1/s3cret"})
    assert notices(database) == [("dead", "chat", None, 1)]
    web.behave = 503
    tick(jobrunner, web)
    web.behave = 200
    tick(jobrunner, web)
    assert notices(database) == [("dead", "chat", "sent", 1)]
    dead(database)
    for _ in range(5):
        jobrunner.tick(env={"CHAT_URL": None})
    assert notices(database)[1:] == [("dead", "chat", "failed", 1)]
    assert "the environment has no CHAT_URL" in jobrunner("status").stdout


def insert_notice(database: Database, **values: Any) -> None:
    row = {"at": database.now(), "event": "dead", "job_type": "fail", "schedule": "", "receiver": "chat", "runs": 1}
    row |= {"detail": {}, "is_open": 1, **values}
    database.execute(f"INSERT INTO job_notices ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", row.values())


def test_tick_with_nothing_to_do_is_idle_unless_somebody_is_to_be_told(database: Database) -> None:
    now = database.now()
    of_types = hooks(
        on_dead=[], on_late=[], jobs={"fail": {"on_dead": ["chat"]}}, schedules={"s": {"on_dead": ["chat"]}}
    )
    situations: dict[str, tuple[Callable[[], object], bool, bool]] = {
        "nothing": (lambda: None, True, True),
        "a dead run": (lambda: dead(database), False, False),
        "one that was told": (lambda: dead(database, told_at=now + HOUR), True, True),
        "one of another type": (lambda: dead(database, "other"), False, True),
        "an old one": (lambda: dead(database, finished_at=now - timedelta(days=2)), True, True),
        "a late run that waits for its key": (lambda: blocked(database, now - HOUR), False, True),
        "a notice that nobody has taken": (lambda: insert_notice(database), False, False),
        "one for nobody here": (lambda: insert_notice(database, receiver="other"), True, True),
        "one that is being sent": (lambda: insert_notice(database, claimed_at=now), True, True),
        "one of a killed tick": (lambda: insert_notice(database, claimed_at=now - HOUR), False, False),
        "one that is settled": (lambda: insert_notice(database, settled_at=now, outcome="sent"), True, True),
    }
    database.execute("UPDATE job_state SET pruned_at = ?", [now])
    for name, (set_up, *expected) in situations.items():
        set_up()
        found = [
            idle.was_idle(database.url, None, "here", "here:1:a", "1", "", notify) for notify in (hooks(), of_types)
        ]
        assert found == expected, name
        assert idle.was_idle(database.url, None, "here", "here:1:a", "1", ""), name
        for table in ("job_runs", "job_notices"):
            database.execute(f"DELETE FROM {table}")


def blocked(database: Database, run_at: datetime) -> None:
    """A run that is due and waits behind another one with its key."""
    later = database.now() + timedelta(minutes=5)
    at_work = {"status": "running", "locked_by": "o", "host": "h", "lease_token": "t", "locked_until": later}
    insert_runs(database, 1, concurrency_key="k", run_at=run_at, **at_work)
    insert_runs(database, 1, concurrency_key="k", run_at=run_at)
