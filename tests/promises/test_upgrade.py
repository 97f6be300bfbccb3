"""From the first release to this code and back, on one database, while runs are enqueued and done."""

import json
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from harness import Commands, Database, PostgresDatabase, wait_for
from harness.handlers_rows import attempts_of, make_due, queue, run_of
from harness.listening_ticks import linger
from harness.releases import FIRST, FIRST_SCHEMA, Release
from jobrunner.store.sql.versions import SCHEMA_REVISION

VERSION = "SELECT version_num FROM job_schema_version"
ENQUEUE = """
import json, os, sys, time
from pathlib import Path
import jobrunner
from jobrunner.store.drivers.location import locate

ids = []
while not Path(sys.argv[1]).exists():
    ids.append(jobrunner.enqueue(None, "append", {"by": jobrunner.__version__}).id)
    time.sleep(0.05)
print(json.dumps(ids))
"""
UNDONE = "SELECT count(*) FROM job_runs WHERE status <> 'succeeded'"


@contextmanager
def repeating(act: Callable[[], object]) -> Iterator[None]:
    """Do this again and again in another thread, and raise here what it has raised."""
    ended, raised = threading.Event(), list[BaseException]()

    def run() -> None:
        while not ended.is_set() and not raised:
            try:
                act()
            except BaseException as error:  # noqa: BLE001 - raised below
                raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    if raised:
        raise raised[0]


def printed(process: "subprocess.Popen[str]") -> list[int]:
    """The runs that an application has enqueued."""
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (0, "")
    found: list[int] = json.loads(stdout)
    return found


def column(database: Database) -> bool:
    """Whether the tables are those of the newest schema."""
    try:
        database.query("SELECT checkpoint FROM job_runs WHERE id = 0")
    except Exception:  # noqa: BLE001 - each driver has its own
        return False
    return True


def succeeded(database: Database) -> int:
    count: int = database.value("SELECT count(*) FROM job_runs WHERE status = 'succeeded'")
    return count


@pytest.mark.promise("P1", "P2", "P7")
def test_upgrade_and_downgrade_under_load_lose_double_and_charge_no_run(
    jobrunner: Commands, database: Database, first_release: Release, tmp_path: Path
) -> None:
    old, stop = first_release, tmp_path / "stop"
    # The newer code says on the older schema that it must be migrated.
    assert "run: jobrunner migrate" in jobrunner.refused(78, "tick")
    listening = linger(old, "45s", host="old-listening")
    enqueued: list[int] = []
    old_tick = {"JOBRUNNER_HOST": "old", "JOBRUNNER_BUDGET": "2s"}
    new_tick = {"JOBRUNNER_HOST": "new", "JOBRUNNER_BUDGET": "2s"}
    enqueuing = old.start_python(ENQUEUE, stop)
    with repeating(lambda: old("tick", env=old_tick)):
        wait_for(lambda: succeeded(database) > 10, describe="the old release works")
        jobrunner("migrate")
        assert database.value(VERSION) == f"{SCHEMA_REVISION:04}"
        also = jobrunner.start_python(ENQUEUE, stop)
        with repeating(lambda: jobrunner("tick", env=new_tick)):
            if isinstance(database, PostgresDatabase):
                with psycopg.connect(database.url) as connection:
                    for _ in range(20):
                        found = connection.execute("SELECT id FROM jobrunner_enqueue('append')").fetchone()
                        assert found is not None
                        enqueued.append(found[0])
                        connection.commit()
            by_new = "SELECT count(*) FROM job_attempts WHERE host = 'new'"
            wait_for(lambda: database.value(by_new) > 10, describe="the new code works beside it")
            # An old program leaves the newer schema as it is.
            assert f"its schema {SCHEMA_REVISION} is newer" in old("migrate").stdout
        before = succeeded(database)
        stop.touch()
        enqueued += printed(also)
        jobrunner("downgrade", FIRST_SCHEMA, "--delete-data")
        assert (database.value(VERSION), column(database)) == (f"{FIRST_SCHEMA:04}", False)
        queue(database, "append")
        wait_for(lambda: succeeded(database) > before, describe="the old release works again")
    enqueued += printed(enqueuing)
    wait_for(lambda: database.value(UNDONE) == 0 or old("tick") is None, 120, "all is done")
    listening.terminate()
    listening.communicate(timeout=60)
    # It finds nothing missing or different.
    assert old("migrate").stdout.endswith(": up to date\n")
    runs = {row["id"]: row for row in database.query("SELECT id, status, attempts, lease_expiries FROM job_runs")}
    assert set(enqueued) <= set(runs)
    assert {(row["status"], row["attempts"], row["lease_expiries"]) for row in runs.values()} == {("succeeded", 1, 0)}
    assert Counter(line.run_id for line in jobrunner.app.trace()) == Counter(dict.fromkeys(runs, 1))
    hosts = {row["host"] for row in database.query("SELECT DISTINCT host FROM job_attempts")}
    # Which of the old ones was the quicker, the listening one or the others, is not said.
    assert "new" in hosts
    assert hosts & {"old", "old-listening"}
    versions = database.query("SELECT DISTINCT version FROM job_ticks WHERE host LIKE 'old%'")
    assert versions == [{"version": FIRST}]


@pytest.mark.promise("P1")
def test_attempt_of_an_old_host_leaves_the_checkpoint_to_the_next_one_of_a_new_host(
    jobrunner: Commands, database: Database, first_release: Release
) -> None:
    """And its retry --force of a success does not take it away: the upgrade notes say so."""
    jobrunner("migrate")
    jobrunner.app.add("""
        @job("goes_on", max_attempts=9)
        def goes_on(ctx: Context):
            if not hasattr(ctx, "checkpoint"):
                raise RuntimeError("the old release has none")
            page = (ctx.last_checkpoint or 0) + 1
            ctx.checkpoint(page)
            if page < 2:
                raise RuntimeError("as asked")
    """)
    run_id = queue(database, "goes_on")
    for command in (jobrunner, first_release, jobrunner):
        make_due(database, run_id)
        command("tick")
    assert [each["outcome"] for each in attempts_of(database, run_id)] == ["failed", "failed", "succeeded"]
    assert run_of(database, run_id)["checkpoint"] == {"value": 2, "steps": {}}
    first_release("retry", run_id, "--force")
    assert run_of(database, run_id)["checkpoint"] == {"value": 2, "steps": {}}
