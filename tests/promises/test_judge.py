"""The judge of the promises, `jobrunner verify`: it finds each damage, and nothing in a history that is right."""

import json
import re
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from harness import App, Commands, Database, sqlite_only
from harness.commands import COMMAND
from harness.damages import ALWAYS_JUDGED, DAMAGES, excuse, insert_schedule
from harness.doc_tables import witnesses
from harness.invariants import insert_runs
from harness.judge import KEPT, breaches, breaches_at, judged
from harness.pages import checked_by
from harness.scenes import FAILED, PERSON, SUCCEEDED, Scene, make_history
from harness.waiting import stretched
from jobrunner.errors import UsageError
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.location import locate
from jobrunner.store.queue import expiries
from jobrunner.store.queue.pauses import Kind
from jobrunner.store.schema import metadata
from jobrunner.store.verify.reading import texts
from jobrunner.verify.promises import PROMISES
from jobrunner.verify.verifier import Scope, verify


def test_each_promise_has_a_damage_that_breaks_it() -> None:
    assert DAMAGES.keys() == PROMISES.keys()


@pytest.mark.promise("P1", "P2", "P3", "P4", "P5", "P6", "P7", "P12")
def test_each_damage_is_found_by_the_promise_that_it_breaks_and_by_no_other(database: Database, store: Store) -> None:
    scene = Scene(database, store)
    make_history(scene)
    scene.tick(database.now())
    verdict = judged(store)
    assert (verdict.holds, verdict.breaches) == (True, []), verdict.sentence
    assert verdict.runs == database.value("SELECT count(*) FROM job_runs")
    broken = {name: str(damage(scene)) for name, damage in DAMAGES.items()}
    scene.tick(database.now())
    found = judged(store)
    assert {(each.promise, each.subject) for each in found.breaches} == set(broken.items())
    assert not found.holds
    assert breaches_at(database.url) == [str(each) for each in found.breaches]


@sqlite_only
def test_the_command_says_in_one_sentence_that_all_promises_hold(
    jobrunner: Commands, app: App, database: Database
) -> None:
    for number in range(3):
        jobrunner("enqueue", "append", "--key", str(number))
    jobrunner.tick()
    today = f"{database.now():%Y-%m-%d}"
    assert jobrunner("verify").stdout == f"3 runs since {today}: all promises hold\n"
    (shown,) = checked_by("tests/promises/test_judge.py::test_the_command_says_in_one_sentence_that_all_promises_hold")
    assert shown.text == "$ jobrunner verify\n3 runs since 2026-11-26: all promises hold\n"
    answer = json.loads(jobrunner("verify", "--json").stdout)
    assert (answer["holds"], answer["runs"], answer["breaches"], answer["next_position"]) == (True, 3, [], None)


@sqlite_only
def test_the_command_names_what_is_broken_and_exits_with_1(jobrunner: Commands, database: Database) -> None:
    (run_id,) = insert_runs(database, 1, status="succeeded", finished_at=database.now())
    sentence = f"run {run_id} is succeeded, which no run becomes after it was queued"
    done = jobrunner("verify", check=False)
    today = f"{database.now():%Y-%m-%d}"
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines() == [
        f"moves_allowed (P1): {sentence}; look at its history: jobrunner show {run_id}",
        f"1 run since {today}: 1 breach of moves_allowed",
    ]


def test_what_is_stopped_in_time_goes_on_at_its_position_and_finds_the_rest(database: Database, store: Store) -> None:
    insert_runs(database, 1500, status="succeeded", finished_at=database.now())
    stopped, looked = [], 0
    position: str | None = ""
    while position is not None:
        verdict = verify(store, Scope(KEPT, within=timedelta(0), position=position or None))
        position, looked = verdict.next_position, looked + verdict.runs
        stopped.append(verdict.next_position)
    assert looked == 1500
    assert "runs:1000" in stopped
    with pytest.raises(UsageError, match="is no position"):
        verify(store, Scope(KEPT, position="runs:x"))


def test_overlap_of_some_seconds_is_a_breach_where_the_clock_of_the_database_makes_no_steps(
    jobrunner: Commands, database: Database, store: Store
) -> None:
    scene, now = Scene(database, store), database.now()
    for begun, ended in ((100, 40), (50, 30)):
        run_id = scene.run(SUCCEEDED, concurrency_key="alone")
        times = {"started_at": now - timedelta(seconds=begun), "finished_at": now - timedelta(seconds=ended)}
        scene.set("attempts", f"run_id = {run_id}", **times)
    assert "one_at_a_time" not in jobrunner("verify", check=False).stdout
    assert "one_at_a_time" not in jobrunner("verify", "--slack", "11s", check=False).stdout
    assert "one_at_a_time" in jobrunner("verify", "--slack", "9s", check=False).stdout


def test_run_whose_start_deadline_was_moved_after_its_last_claim_was_not_begun_too_late(
    database: Database, store: Store
) -> None:
    """An enqueue that replaces a run that waits for its next attempt gives it a deadline of its own."""
    scene = Scene(database, store)
    past = database.now() - timedelta(hours=1)
    for ends in ((FAILED,), (FAILED, SUCCEEDED)):
        run_id = scene.run(*ends, start_deadline_at=timedelta(minutes=10))
        scene.set("runs", f"id = {run_id}", start_deadline_at=past)
    assert [each.subject for each in judged(store).breaches] == [str(run_id)]
    ended = database.now()
    scene.set("runs", f"id = {run_id}", status="dead", finished_at=ended, error_type="start_deadline")
    assert "begun_in_time" not in {each.promise for each in judged(store).breaches}


def test_run_that_waits_for_itself_is_named_before_it_has_waited_for_long(database: Database, store: Store) -> None:
    """Version 0.1.0 made such a run of the id of an enqueue that was rolled back."""
    (run_id,) = insert_runs(database, 1, gate="after")
    database.execute("INSERT INTO job_parents VALUES (?, ?, 'cancel', NULL)", [run_id, run_id])
    assert [str(each) for each in verify(store, Scope(KEPT)).breaches] == [
        f"parents_first (P1): run {run_id} waits for itself; find out what it waits for: jobrunner explain {run_id}"
    ]


def test_since_leaves_out_what_was_created_before(database: Database, store: Store) -> None:
    now = database.now()
    for days in (9, 5, 1):
        insert_runs(database, 2, created_at=now - timedelta(days))
    for since, runs in ((timedelta(days=6), 4), (now - timedelta(days=2), 2), (now, 0), (timedelta(days=30), 6)):
        assert verify(store, Scope(KEPT, since=since)).runs == runs


@sqlite_only
def test_the_job_of_the_page_makes_a_finding_of_health_when_a_promise_is_broken(
    jobrunner: Commands, app: App, database: Database
) -> None:
    (shown,) = checked_by(
        "tests/promises/test_judge.py::test_the_job_of_the_page_makes_a_finding_of_health_when_a_promise_is_broken"
    )
    app.path("jobrunner.toml").write_text(shown.text.replace('"jobrunner", "verify"', f'"{COMMAND}", "verify"'))
    jobrunner("apply")
    (run_id,) = insert_runs(database, 1, status="succeeded", finished_at=database.now())
    for is_broken in (True, False):
        verifying = jobrunner("schedule", "trigger", "verify").stdout.split()[-1]
        jobrunner.tick()
        found = jobrunner("health", "--only", "broken_promises", check=False).stdout
        if is_broken:
            assert "verify has found: " in found
            assert f"1 breach of moves_allowed; find out what run {verifying} has named: " in found
            assert f"run {run_id} is succeeded, which no run becomes" in jobrunner("logs", verifying).stdout
        else:
            assert found == "ok: nothing is wrong\n"
        database.execute("DELETE FROM job_runs WHERE id = ?", [run_id])


def test_the_page_of_the_promises_names_by_which_checks_each_is_judged() -> None:
    for number, found in witnesses().items():
        named = re.findall(r"`(\w+)`", found.judged_by)
        assert named == [each.name for each in PROMISES.values() if each.number == number], number


@sqlite_only
def test_a_run_that_was_begun_again_after_its_lease_was_lost_is_named_and_is_no_breach(
    jobrunner: Commands, database: Database, store: Store
) -> None:
    scene = Scene(database, store)
    lost = scene.claim(scene.enqueue()).run_id
    scene.set("runs", f"id = {lost}", locked_until=database.now() - timedelta(hours=1))
    store.write(lambda connection: expiries.recover(connection, 10))
    assert judged(store).lost_leases == []
    scene.set("runs", f"id = {lost}", run_at=database.now())
    scene.claim(lost)
    verdict = judged(store)
    assert (verdict.holds, verdict.lost_leases) == (True, [lost])
    assert f"a lease was lost, and the run begun again: run {lost}\n" in jobrunner("verify").stdout


def test_what_an_archive_a_clock_or_a_deploy_may_explain_is_no_breach(database: Database, store: Store) -> None:
    scene = Scene(database, store)
    for damage in DAMAGES.values():
        damage(scene)
    excuse(scene)
    found = judged(store)
    assert {each.promise for each in found.breaches} == ALWAYS_JUDGED
    assert found.not_judged == ["the limits of the type limited: not all hosts report them as they are stored"]


@pytest.mark.promise("P12")
@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM job_events WHERE action LIKE 'pause%'",
        "UPDATE job_events SET at = (SELECT min(started_at) FROM job_ticks) WHERE action LIKE 'pause%'",
        "UPDATE job_events SET action = 'resume schedule' WHERE action LIKE 'pause%'",
    ],
)
def test_pause_in_force_that_no_row_explains_is_named(
    jobrunner: Commands, database: Database, store: Store, damage: str
) -> None:
    scene = Scene(database, store)
    insert_schedule(scene, "hourly")
    jobrunner("schedule", "pause", "hourly")
    paused: list[tuple[Kind, str]] = [("type", "a"), ("type", "b"), ("host", "a"), ("all", "")]
    for kind, name in paused:
        scene.pause(kind, name)
    assert breaches(store) == []
    database.execute(damage)
    found = judged(store).breaches
    assert {each.promise for each in found} == {"pauses_recorded"}
    assert sorted(each.subject for each in found) == ["everything", "host a", "schedule hourly", "type a", "type b"]
    assert any(f" by {PERSON.name}, and no row says so" in each.sentence for each in found)


def test_row_of_another_pause_of_the_same_instant_explains_no_pause(database: Database, store: Store) -> None:
    scene = Scene(database, store)
    for name in ("a", "b"):
        scene.pause("type", name)
    at = database.value("SELECT paused_at FROM job_pauses WHERE name = 'a'")
    scene.set("pauses", "name = 'b'", paused_at=at)
    scene.set("events", "action = 'pause type'", at=at)
    assert breaches(store) == []
    scene.set("pauses", "name = 'b'", name="c")
    assert [each.subject for each in judged(store).breaches] == ["type c"]


def test_slots_whose_runs_an_archive_has_taken_away_are_no_breach(
    jobrunner: Commands, database: Database, store: Store, tmp_path: Path
) -> None:
    scene = Scene(database, store)
    insert_schedule(scene, "hourly")
    slots = database.execute("UPDATE job_runs SET status = 'dead', finished_at = scheduled_for")
    assert f"deleted {slots} runs" in jobrunner("archive", "runs", "--until", "0s", tmp_path / "runs.jsonl").stdout
    assert breaches(store) == []
    database.execute("DELETE FROM job_events")
    assert [each.promise for each in judged(store).breaches] == ["slots_recorded"]


def test_a_snapshot_sees_what_was_committed_before_it_alone(database: Database, store: Store) -> None:
    def look(connection: Connection) -> list[int]:
        counts = []
        for _ in range(2):
            counts.append(connection.execute("SELECT count(*) FROM job_runs").scalar_one())
            insert_runs(database, 1)
        return counts

    assert store.snapshot(look) == [0, 0]


def test_the_judge_finds_nothing_beside_a_tick_at_work(jobrunner: Commands, app: App, database: Database) -> None:
    insert_runs(database, 150)
    tick = jobrunner.start("tick")
    looks = 0
    with closing(Store(locate(database.url), patience=timedelta(seconds=stretched(20)))) as store:
        while tick.poll() is None:
            assert breaches(store) == []
            looks += 1
        assert judged(store).runs == 150
    assert looks
    assert tick.communicate() == ("", "")


def test_the_statements_of_the_judge_read_tables_alone() -> None:
    tables = {name for words in texts().values() for name in re.findall(r"(?:FROM|JOIN) (\w+)", words)}
    assert tables <= set(metadata.tables)
    assert not re.search(r"INSERT|UPDATE|DELETE|jobrunner_", " ".join(texts().values()))


def test_what_a_newer_version_has_written_is_no_breach(database: Database, store: Store) -> None:
    scene = Scene(database, store)
    run_id = scene.run(FAILED, FAILED)
    scene.set("attempts", f"run_id = {run_id} AND sequence = 1", outcome="checkpointed")
    scene.set("runs", f"id = {run_id}", attempts=1)
    assert breaches(store) == []
    scene.set("attempts", f"run_id = {run_id} AND sequence = 1", outcome="failed")
    assert [each.promise for each in judged(store).breaches] == ["attempts_recorded"]
