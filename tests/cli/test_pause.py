"""`jobrunner pause` and `resume` of a job type, a host or everything."""

from datetime import timedelta

import pytest

from harness import App, Commands, Database
from harness.handlers_rows import queue, run_of, status_of, wait_until_running
from harness.invariants import insert_runs
from harness.limits import claim_all
from harness.listening_ticks import linger, stop, wait_for_success
from harness.stores import opening
from harness.waiting import stretched
from jobrunner.model import Limits, Policy
from jobrunner.store.queue.ticks import ticks

HERE = {"JOBRUNNER_HOST": "here", "JOBRUNNER_HEARTBEAT": "200ms"}
KINDS = {"type": ["--type", "append"], "host": ["--host", "here"], "all": ["--all"]}


@pytest.mark.parametrize("kind", KINDS)
def test_paused_run_does_not_begin_until_it_is_resumed(jobrunner: Commands, database: Database, kind: str) -> None:
    words = KINDS[kind]
    before = queue(database, "append")
    done = jobrunner("pause", *words, "--reason", "the disk\nis full", env=HERE)
    assert ": paused; " in done.stdout
    after = jobrunner.enqueue("append")
    other = jobrunner.enqueue("echo")
    assert jobrunner.tick(env=HERE).stdout == ""
    waiting = [before, after] if kind == "type" else [before, after, other]
    assert [status_of(database, each) for each in waiting] == ["queued"] * len(waiting)
    assert status_of(database, other) == ("succeeded" if kind == "type" else "queued")
    (pause,) = jobrunner("pauses", "--json").json()
    assert (pause["kind"], pause["reason"]) == (kind, "the disk is full")
    assert jobrunner("status", "--json").json()["pauses"] == [pause]
    assert "the disk is full" in jobrunner("status").stdout
    assert f"paused since {pause['paused_at'][:10]}" in jobrunner("pause", *words).stdout
    assert ": resumed; " in jobrunner("resume", *words).stdout
    assert ": not paused" in jobrunner("resume", *words).stdout
    assert jobrunner("pauses").stdout == "nothing is paused\n"
    jobrunner.tick(env=HERE)
    assert [status_of(database, each) for each in (before, after, other)] == ["succeeded"] * 3
    events = database.query("SELECT action, detail FROM job_events ORDER BY id")
    assert [event["action"] for event in events] == [f"pause {kind}", f"resume {kind}"]
    assert events[0]["detail"]["reason"] == "the disk is full"


def test_resume_names_what_stays_paused(jobrunner: Commands) -> None:
    jobrunner("pause", "--all", "--type", "mail", "--host", "nowhere", "--reason", "move")
    lines = jobrunner("resume", "--all").stdout.splitlines()
    assert lines[0].startswith("everything: resumed")
    assert sorted(line.split(" since ")[0] for line in lines[1:]) == [
        "still paused: host nowhere",
        "still paused: type mail",
    ]


def test_claim_of_any_code_leaves_out_what_is_paused(database: Database) -> None:
    """Also from behind gates, and runs that must start alone; and a tick beside them has nothing to do."""
    for job_type in ("plain", "capped"):
        queue(database, job_type)
        queue(database, job_type, lease_expiries=2)
    policies = [Policy("plain"), Policy("capped", limits=Limits(max_running=5))]
    pause = "INSERT INTO job_pauses (kind, name, actor, paused_at) VALUES (?, ?, 'a', ?)"
    with opening(database, patience_seconds=20) as open_one:
        store = open_one()
        for kind, name in (("all", ""), ("host", "here"), ("type", "plain"), ("type", "capped")):
            database.execute(pause, [kind, name, database.now()])
        for kind in ("all", "host"):
            assert claim_all(store, "here", *policies) == []
            assert not store.read(lambda each: ticks.is_anything_due(each, "here"))
            database.execute("DELETE FROM job_pauses WHERE kind = ?", [kind])
        # The views alone keep out older code, which does not know that there are pauses.
        assert database.value("SELECT count(*) FROM job_due") == 0
        assert claim_all(store, "here", *policies) == []
        assert not store.read(ticks.is_quarantined_due)
        database.execute("DELETE FROM job_pauses WHERE name = 'capped'")
        (lease,) = claim_all(store, "here", *policies)
        assert run_of(database, lease.run_id)["job_type"] == "capped"


def test_run_at_work_goes_on_beside_a_pause_and_can_be_cancelled(
    jobrunner: Commands, app: App, database: Database
) -> None:
    ended, cancelled = (jobrunner.enqueue("wait_for", {"path": str(app.path(name))}) for name in ("a", "b"))
    tick = jobrunner.start("tick", env=HERE)
    wait_until_running(database, ended)
    wait_until_running(database, cancelled)
    assert "2 at work go on" in jobrunner("pause", "--all").stdout
    late = queue(database, "append", start_deadline_at=database.now() - timedelta(seconds=1))
    jobrunner("cancel", cancelled)
    app.release("a")
    tick.communicate(timeout=30)
    assert status_of(database, ended) == "succeeded"
    assert status_of(database, cancelled) == "cancelled"
    jobrunner.tick(env=HERE)
    # Its deadline has passed, and a pause does not stop that clock.
    assert (run_of(database, late)["status"], run_of(database, late)["error_type"]) == ("dead", "start_deadline")


def test_listening_tick_takes_the_waiting_runs_soon_after_resume(jobrunner: Commands, database: Database) -> None:
    jobrunner("pause", "--type", "append", "--host", "here")
    run_id = queue(database, "append")
    tick = linger(jobrunner)
    jobrunner("resume", "--host", "here")
    jobrunner("resume", "--type", "append")
    resumed_at = database.query("SELECT max(at) AS resumed_at FROM job_events")[0]["resumed_at"]
    wait_for_success(database, run_id)
    row = run_of(database, run_id)
    assert timedelta(0) < row["started_at"] - resumed_at < timedelta(seconds=stretched(10))
    assert database.value("SELECT count(*) FROM job_attempts") == 1
    stop(tick)


REFUSED = {
    "nothing named": ["pause"],
    "nothing to resume": ["resume"],
    "no type": ["pause", "--type", ""],
    "no host": ["pause", "--host", ""],
    "no reason": ["pause", "--all", "--reason", " "],
}


@pytest.mark.parametrize("words", REFUSED.values(), ids=REFUSED.keys())
def test_pause_of_nothing_is_refused_in_one_line(jobrunner: Commands, database: Database, words: list[str]) -> None:
    jobrunner.refused(2, *words)
    assert database.value("SELECT count(*) FROM job_pauses") == 0


def test_host_whose_ticks_are_forgotten_is_known_by_its_runs_at_work(jobrunner: Commands, database: Database) -> None:
    now = database.now()
    lease = {"locked_by": "w", "lease_token": "t", "locked_until": now + timedelta(hours=1), "attempts": 1}
    insert_runs(database, 1, status="running", host="away", started_at=now, **lease)
    assert "1 at work go on" in jobrunner("pause", "--host", "away").stdout
    assert "no tick of this host is known" in jobrunner("pause", "--host", "nowhere").stdout
