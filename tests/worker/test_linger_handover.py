"""A newer tick supersedes an older listening tick of the same host and types, once it can do its work."""

import threading
from itertools import pairwise

import pytest

from harness import App, Commands, Database, wait_for
from harness.handlers_rows import attempts_of, queue, run_of, status_of, wait_until_running
from harness.listening_ticks import check_left_quietly, linger, log_lines, stop, wait_for_success


def test_older_listening_tick_ends_when_a_newer_tick_listens(jobrunner: Commands, app: App, database: Database) -> None:
    older = linger(jobrunner)
    newer = linger(jobrunner)
    check_left_quietly(older)
    first, second = database.query("SELECT * FROM job_ticks ORDER BY id")
    assert first["finished_at"] >= second["listening_at"]
    assert [line["result"] for line in log_lines(jobrunner, "linger")].count("superseded") == 1
    wait_for_success(database, queue(database, "append"))
    assert newer.poll() is None
    stop(newer)


@pytest.mark.promise("P1")
def test_over_three_handovers_no_run_is_lost_or_done_twice(jobrunner: Commands, database: Database) -> None:
    run_ids: list[int] = []
    ends = threading.Event()

    def enqueue_on_and_on() -> None:
        while not ends.wait(0.05):
            run_ids.append(queue(database, "echo"))

    tick = linger(jobrunner)
    stream = threading.Thread(target=enqueue_on_and_on)
    stream.start()
    try:
        for _ in range(3):
            newer = linger(jobrunner)
            check_left_quietly(tick)
            tick = newer
        seen = len(run_ids)
        wait_for(lambda: len(run_ids) > seen + 5)
    finally:
        ends.set()
        stream.join()
    wait_for_success(database, *run_ids)
    stop(tick)
    assert database.value("SELECT count(*) FROM job_attempts") == len(run_ids)
    rows = database.query("SELECT * FROM job_ticks ORDER BY id")
    assert len(rows) == 4
    for before, after in pairwise(rows):
        assert after["listening_at"] <= before["finished_at"], "there was a moment at which nobody listened"
    assert sum(row["counts"].get("succeeded", 0) for row in rows) == len(run_ids)


def test_tick_of_other_types_or_another_host_supersedes_no_listening_tick(
    jobrunner: Commands, database: Database
) -> None:
    older = linger(jobrunner)
    others = [
        linger(jobrunner, "--type", "append"),
        linger(jobrunner, "--type", "sleep", "--type", "append"),
        linger(jobrunner, host="there"),
    ]
    newer = linger(jobrunner)
    check_left_quietly(older)
    assert [other.poll() for other in others] == [None, None, None]
    # The same types in another order are the same.
    like_the_second = linger(jobrunner, "--type", "append", "--type", "sleep", "--type", "append")
    check_left_quietly(others[1])
    assert (others[0].poll(), others[2].poll(), newer.poll()) == (None, None, None)
    stop(others[0], others[2], newer, like_the_second)


@pytest.mark.promise("P9")
def test_superseded_tick_finishes_its_run(jobrunner: Commands, app: App, database: Database) -> None:
    older = linger(jobrunner)
    run_id = queue(database, "wait_for", {"path": str(app.path("go"))})
    wait_until_running(database, run_id)
    newer = linger(jobrunner)
    wait_for(lambda: any(line["result"] == "superseded" for line in log_lines(jobrunner, "linger")))
    wait_for_success(database, queue(database, "append"))
    assert (older.poll(), status_of(database, run_id)) == (None, "running")
    app.release("go")
    check_left_quietly(older)
    assert (status_of(database, run_id), len(attempts_of(database, run_id))) == ("succeeded", 1)
    stop(newer)


def test_superseded_and_new_tick_share_the_permits_of_the_host(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """At most so many runs at work on this host, however many ticks: here 2."""
    older = linger(jobrunner, "--concurrency", "2")
    first = [queue(database, "wait_for", {"path": str(app.path(name))}) for name in ("a", "b")]
    for run_id in first:
        wait_until_running(database, run_id)
    second = [queue(database, "wait_for", {"path": str(app.path("c"))}) for _ in range(3)]
    newer = linger(jobrunner, "--concurrency", "2")
    wait_for(lambda: any(line["result"] == "superseded" for line in log_lines(jobrunner, "linger")))
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'running'") == 2
    app.release("a")
    # A place is free: the newer one takes it, and only that one.
    wait_for(lambda: any(status_of(database, run_id) == "running" for run_id in second))
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'running'") == 2
    app.release("b")
    app.release("c")
    wait_for_success(database, *first, *second)
    check_left_quietly(older)
    stop(newer)
    assert {run_of(database, run_id)["attempts"] for run_id in (*first, *second)} == {1}


@pytest.mark.promise("P8")
def test_tick_with_broken_handlers_supersedes_no_listening_tick(
    jobrunner: Commands, app: App, database: Database
) -> None:
    older = linger(jobrunner)
    app.write("broken", "raise RuntimeError('a bad deploy')")
    done = jobrunner("tick", "--linger", check=False, env={"JOBRUNNER_IMPORT": "broken", "JOBRUNNER_HOST": "here"})
    assert (done.returncode, "a bad deploy" in done.stderr) == (78, True)
    wait_for_success(database, queue(database, "append"))
    assert older.poll() is None
    stop(older)


def test_tick_of_another_application_supersedes_no_listening_tick(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """Each goes on hearing of its own runs; by name, or by where and what its handlers are."""
    app.path("other.py").write_text((app.folder / "handlers.py").read_text())
    named = {"JOBRUNNER_APPLICATION": "shop"}
    older = linger(jobrunner)
    others = [linger(jobrunner, **named), linger(jobrunner, JOBRUNNER_IMPORT="other")]
    newer = linger(jobrunner)
    check_left_quietly(older)
    assert [other.poll() for other in others] == [None, None]
    stop(newer, *others)
