"""Short runs are prefetched, several for a child; every promise holds as if each run came alone."""

import hashlib
from collections.abc import Iterable

import pytest

from harness import App, Commands, Database, wait_for
from harness.handlers_rows import queue, run_of, status_of, wait_until_running
from harness.invariants import assert_consistent, insert_runs, wait_for_exit
from harness.prefetch_jobs import KINDS, ONE, QUICK, begun, ends, of_kind, queue_head, warm_up


@pytest.fixture(autouse=True)
def quick_handlers(app: App) -> None:
    app.add(QUICK)


@pytest.mark.promise("P1", "P12")
@pytest.mark.parametrize("permits", [1, 3])
def test_many_short_runs_are_attempted_once_each_by_no_more_children_than_permits(
    jobrunner: Commands, app: App, database: Database, permits: int
) -> None:
    ids = insert_runs(database, 200, "quick")
    jobrunner.tick("--concurrency", permits)
    assert ends(database, ids) == {("succeeded", 1, 1): 200}
    assert begun(app) == dict.fromkeys(ids, 1)
    assert len({line.pid for line in app.trace()}) <= permits
    assert_consistent(database)


def test_short_runs_are_claimed_several_at_a_time(jobrunner: Commands, database: Database) -> None:
    insert_runs(database, 200, "quick")
    jobrunner.tick(env=ONE)
    assert database.value("SELECT count(DISTINCT lease_token) FROM job_attempts") < 100


@pytest.mark.promise("P1", "P6")
def test_queued_runs_behind_a_slow_run_are_returned_and_another_host_runs_them(
    jobrunner: Commands, app: App, database: Database
) -> None:
    warm_up(database)
    head = queue_head(database, act="hold", path=str(app.path("go")))
    followers = insert_runs(database, 20, "quick")
    tick = jobrunner.start("tick", env=ONE)
    wait_for(app.path(f"trace-queue-{head}").exists, 30, "a queue behind the head")
    wait_for(lambda: ends(database, followers) == {("queued", 0, 0): 20}, 20, database.describe)
    assert status_of(database, head) == "running"
    jobrunner.tick(env={**ONE, "JOBRUNNER_HOST": "other"})
    assert (tick.poll(), status_of(database, head)) == (None, "running")
    assert ends(database, followers) == {("succeeded", 1, 1): 20}
    assert set(hosts_of(database, followers)) == {"other"}
    app.release("go")
    wait_for_exit(tick, 0)
    assert ends(database, [head, *followers]) == {("succeeded", 1, 1): 21}
    assert begun(app).keys() >= {head, *followers}
    assert set(begun(app).values()) == {1}
    assert_consistent(database)


@pytest.mark.promise("P1")
def test_queued_runs_of_any_length_are_recalled_from_behind_a_slow_run(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """Their contents fill the channel of the child many times, and it reads none of them while it is at work."""
    warm_up(database)
    head = queue_head(database, act="hold", path=str(app.path("go")))
    followers = insert_runs(database, 20, "quick", {"path": "x" * 200_000})
    tick = jobrunner.start("tick", env=ONE)
    wait_for(app.path(f"trace-queue-{head}").exists, 30, "a queue behind the head")
    wait_for(lambda: ends(database, followers) == {("queued", 0, 0): 20}, 20, database.describe)
    app.release("go")
    wait_for_exit(tick, 0)
    assert ends(database, [head, *followers]) == {("succeeded", 1, 1): 21}
    assert set(begun(app).values()) == {1}
    assert_consistent(database)


@pytest.mark.promise("P1", "P7")
def test_the_results_of_quick_runs_are_written_while_a_slow_run_follows_in_the_same_child(
    jobrunner: Commands, app: App, database: Database
) -> None:
    quick = warm_up(database)
    head = queue_head(database, act="hold", path=str(app.path("go")))
    insert_runs(database, 20, "quick")
    tick = jobrunner.start("tick", env=ONE)
    wait_until_running(database, head)
    wait_for(lambda: ends(database, quick) == {("succeeded", 1, 1): len(quick)}, 20, database.describe)
    assert status_of(database, head) == "running"
    app.release("go")
    wait_for_exit(tick, 0)
    assert len({line.pid for line in app.trace()}) == 1


def hosts_of(database: Database, run_ids: list[int]) -> Iterable[str]:
    rows = database.query("SELECT run_id, host FROM job_attempts")
    return [row["host"] for row in rows if row["run_id"] in run_ids]


LOOK = """
import sqlite3

seen = None
earlier = [0]


@job("look", timeout="5m")
def look(ctx: Context):
    global seen
    url = os.environ["LOOK_AT"]
    if seen is None and url.startswith("sqlite"):
        seen = sqlite3.connect(url.removeprefix("sqlite:///"), timeout=30, isolation_level=None)
    elif seen is None:
        import psycopg
        seen = psycopg.connect(url, autocommit=True)
    ids = ", ".join(map(str, earlier))
    earlier.append(ctx.run_id)
    statement = f"SELECT count(*) FROM job_runs WHERE status = 'running' AND id IN ({ids})"
    return {"unwritten": seen.execute(statement).fetchone()[0]}
"""
STRICT = {"environment": "JOBRUNNER_STRICT=true", "flag": "--strict", "file": "strict = true"}


@pytest.mark.promise("P2")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("said", [*STRICT, "nowhere"])
def test_strict_child_begins_a_run_after_the_result_before_it_is_written(
    jobrunner: Commands, app: App, database: Database, said: str, kind: str
) -> None:
    app.add(of_kind(kind, LOOK))
    ids = insert_runs(database, 50, "look")
    env = {**ONE, "LOOK_AT": database.url}
    if said == "file":
        app.path("jobrunner.toml").write_text("[settings]\nstrict = true\n")
    elif said == "environment":
        env["JOBRUNNER_STRICT"] = "true"
    jobrunner.tick(*(["--strict"] if said == "flag" else []), env=env)
    assert ends(database, ids) == {("succeeded", 1, 1): 50}
    unwritten = [run_of(database, run_id)["result"]["unwritten"] for run_id in ids]
    # Without it earlier runs of the child have ended and are not written yet.
    assert (max(unwritten) == 0) == (said in STRICT)


THREADS = """
@job("count_threads")
def count_threads(ctx: Context):
    return {"threads": len(os.listdir(f"/proc/{os.getppid()}/task"))}
"""


def test_result_that_its_child_waits_for_is_written_without_another_thread_however_many_runs_wait(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """The child begins nothing until the write has ended, so nothing would go on beside it."""
    app.add(THREADS)
    most = []
    for runs in (5, 60):
        ids = insert_runs(database, runs, "count_threads")
        jobrunner.tick("--strict", env=ONE)
        most.append(max(run_of(database, run_id)["result"]["threads"] for run_id in ids))
    assert most[0] == most[1]


DIGEST = """
import hashlib


@job("digest")
def digest(ctx: Context, text: str):
    leave_trace(ctx)
    return hashlib.sha256(text.encode()).hexdigest()
"""


@pytest.mark.promise("P1", "P13")
@pytest.mark.parametrize("permits", [1, 3])
def test_payloads_too_long_for_the_prefetch_queue_arrive_whole_among_short_ones(
    jobrunner: Commands, app: App, database: Database, permits: int
) -> None:
    app.add(DIGEST)
    # 65 536 bytes are the longest message. An umlaut takes six of them.
    sizes = [*[10] * 20, 60_000, 10, 66_000, 10, 200_000, *range(65_100, 65_600, 20), 10, 66_000, 66_000, *[10] * 20]
    wanted = [str(n % 10) * size for n, size in enumerate(sizes)]
    wanted += ["ä" * 10_800, "ä" * 10_950, "ä" * 40_000]
    texts = {queue(database, "digest", {"text": text}): text for text in wanted}
    jobrunner.tick("--concurrency", permits)
    assert ends(database, list(texts)) == {("succeeded", 1, 1): len(texts)}
    results = {row["id"]: row["result"] for row in database.query("SELECT id, result FROM job_runs")}
    assert results == {run_id: hashlib.sha256(text.encode()).hexdigest() for run_id, text in texts.items()}
    assert begun(app) == dict.fromkeys(texts, 1)
