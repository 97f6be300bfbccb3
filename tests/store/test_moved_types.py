"""What is moved to a database of the other kind while types are fair, renamed, or run once on every host."""

import json
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from harness import App, Commands, Database
from harness.databases import url
from harness.elsewhere import target_of
from harness.handlers_rows import make_due, queue, run_of
from harness.invariants import insert_runs
from harness.judge import breaches_at
from harness.limits import claim_of, declare, end
from jobrunner.model import Limits, Policy
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.location import locate

HANDLERS = """
from jobrunner import job

@job("export", fair_by="customer_id")
def export(ctx, customer_id):
    pass
"""


@pytest.mark.promise("P1")
def test_runs_of_a_fair_type_are_moved_with_their_gates_and_have_their_turns_there(
    jobrunner: Commands, app: App, database: Database, elsewhere: Database, tmp_path: Path
) -> None:
    app.write("handlers", HANDLERS)
    # A busy tick declares the type.
    jobrunner("enqueue", "export", "--payload", '{"customer_id": "A"}')
    jobrunner.tick()
    for customer in ["A"] * 5 + ["B", 1, None, "é"]:
        jobrunner("enqueue", "export", "--payload", json.dumps({"customer_id": customer}))
    # It became due after its enqueue, so that no claim has put it behind its gate yet.
    late = int(jobrunner("enqueue", "export", "--payload", '{"customer_id": "C"}', "--run-at", "+1h").stdout)
    database.execute("UPDATE job_runs SET run_at = ? WHERE id = ?", [database.now() - timedelta(seconds=1), late])
    before = database.query("SELECT id, gate, turn_at FROM job_runs ORDER BY id")
    assert [row["gate"] for row in before[-2:]] == ['customer_id ["é"]', ""]
    jobrunner("move", target_of(elsewhere, tmp_path))
    assert elsewhere.query("SELECT id, gate, turn_at FROM job_runs ORDER BY id") == before
    jobrunner.tick("--batch", "5", env=url(elsewhere))
    assert elsewhere.value("SELECT count(*) FROM job_runs WHERE status = 'succeeded'") == 6
    assert breaches_at(elsewhere.url) == []
    jobrunner.tick(env=url(elsewhere))
    assert elsewhere.value("SELECT count(*) FROM job_runs WHERE status = 'succeeded'") == 11


@pytest.mark.promise("P5")
@pytest.mark.parametrize("fair_by", [None, "of"])
def test_limit_of_a_key_that_both_databases_write_differently_holds_where_it_was_moved_to(
    jobrunner: Commands, store: Store, database: Database, elsewhere: Database, tmp_path: Path, fair_by: str | None
) -> None:
    policy = Policy("sync", limits=Limits(concurrency_key=("of",), max_running_per_key=1, fair_by=fair_by))
    keys = [{"a": [2.5, None], "b": 1}, 10**20, 1e-7, True, "é", 7]
    declare(store, policy)
    for _ in range(2):
        for key in keys:
            queue(database, "sync", {"of": key})
    # The first of each; the second ones wait behind the gates of their keys.
    begun = claim_of(store, "web1", policy).runs
    assert len(begun) == len(keys)
    # The owner of one is dead. It is at work until a tick recovers it, in the new database.
    lost = [run.lease for run in begun if run_of(database, run.lease.run_id)["payload"]["of"] == keys[0]]
    end(store, [run.lease for run in begun if run.lease not in lost])
    database.execute("UPDATE job_runs SET locked_until = ? WHERE status = 'running'", [database.now()])
    jobrunner("move", target_of(elsewhere, tmp_path))
    with closing(Store(locate(elsewhere.url), patience=timedelta(seconds=20))) as there:
        for key in keys:
            queue(elsewhere, "sync", {"of": key})
        for expected in (keys[1:], keys, keys[:1]):
            begun = claim_of(there, "web1", policy, limit=20).runs
            found = [run_of(elsewhere, run.lease.run_id)["payload"]["of"] for run in begun]
            assert sorted(map(str, found)) == sorted(map(str, expected))
            end(there, [*lost, *(run.lease for run in begun)])
            lost = []
    assert breaches_at(elsewhere.url) == []


RENAMED = """
from jobrunner import Schedule, job

@job("report.send", formerly="send_report", fair_by="customer_id")
def send(ctx, customer_id):
    pass

@job("rotate", schedule=Schedule("0 * * * *", on="every-host"))
def rotate(ctx):
    pass
"""


@pytest.mark.promise("P1", "P3", "P4")
def test_what_waits_under_a_former_name_or_for_one_host_is_done_where_it_was_moved_to(
    jobrunner: Commands, app: App, database: Database, elsewhere: Database, tmp_path: Path
) -> None:
    def on(host: str, where: Database) -> dict[str, str | None]:
        return {"JOBRUNNER_HOST": host, "JOBRUNNER_STATE_DIR": str(tmp_path / host), **url(where)}

    app.write("handlers", RENAMED.replace("report.send", "send_report").replace('formerly="send_report", ', ""))
    jobrunner("apply")
    payload = ("--payload", '{"customer_id": "A"}')
    jobrunner("enqueue", "send_report", *payload, "--key", "May")
    jobrunner("limit", "send_report", "--max-running", "1", "--reason", "slow")
    for host in ("web1", "web2"):
        jobrunner.tick(env=on(host, database))
    old = int(jobrunner("enqueue", "send_report", *payload, "--key", "June").stdout)
    own = int(jobrunner("schedule", "trigger", "rotate@web2").stdout)
    app.write("handlers", RENAMED)
    jobrunner("move", target_of(elsewhere, tmp_path))
    for key in ("May", "June"):
        again = jobrunner("enqueue", "report.send", *payload, "--key", key, "--json", env=url(elsewhere)).json()
        assert not again["created"]
    new = int(jobrunner("enqueue", "report.send", *payload, env=url(elsewhere)).stdout)
    jobrunner.tick(env=on("web1", elsewhere))
    assert [run_of(elsewhere, each)["status"] for each in (old, new, own)] == ["succeeded", "succeeded", "queued"]
    jobrunner.tick(env=on("web2", elsewhere))
    assert run_of(elsewhere, own)["status"] == "succeeded"
    assert elsewhere.value("SELECT host FROM job_attempts WHERE run_id = ?", [own]) == "web2"
    assert breaches_at(elsewhere.url) == []


@pytest.mark.promise("P5")
def test_limit_that_ends_after_a_move_holds_until_then_and_lets_go_all_that_has_waited_for_it(
    jobrunner: Commands, database: Database, elsewhere: Database, tmp_path: Path
) -> None:
    def done() -> int:
        return int(elsewhere.value("SELECT count(*) FROM job_runs WHERE status = 'succeeded'"))

    insert_runs(database, 4, "echo")
    jobrunner("limit", "echo", "--rate", "1/h", "--until", "30m", "--reason", "slow")
    # The others wait behind the gate, and the rate is used up for an hour.
    jobrunner.tick()
    jobrunner("move", target_of(elsewhere, tmp_path))
    jobrunner.tick(env=url(elsewhere))
    assert done() == 1
    elsewhere.move_clock(timedelta(minutes=31))
    jobrunner.tick(env=url(elsewhere))
    assert (done(), elsewhere.query("SELECT * FROM job_set_limits")) == (4, [])
    assert breaches_at(elsewhere.url) == []


PAGES = """
from jobrunner import Context, job

@job("pages", max_attempts=2)
def pages(ctx: Context, by: str):
    page = (ctx.last_checkpoint or {"next": 0})["next"]
    loaded = ctx.step("load", lambda: [ctx.attempt, 0.1, 2**70, "é\\u2028", None])
    ctx.checkpoint({"next": page + 1, "exact": 1.5, "size": 2**64})
    if page < 2:
        raise ValueError(by)
    return [page, loaded, ctx.last_checkpoint["size"]]
"""


@pytest.mark.promise("P1")
def test_run_that_has_failed_before_a_move_goes_on_from_its_checkpoint_there_also_after_a_retry(
    jobrunner: Commands, app: App, database: Database, elsewhere: Database, tmp_path: Path
) -> None:
    app.write("handlers", PAGES)
    run_id = queue(database, "pages", {"by": "é"})
    jobrunner.tick()
    jobrunner("move", target_of(elsewhere, tmp_path))
    make_due(elsewhere, run_id)
    jobrunner.tick(env=url(elsewhere))
    assert run_of(elsewhere, run_id)["status"] == "dead"
    jobrunner("retry", run_id, env=url(elsewhere))
    jobrunner.tick(env=url(elsewhere))
    run = run_of(elsewhere, run_id)
    assert (run["status"], run["attempts"]) == ("succeeded", 3)
    # The step was done once, in the first attempt, by the other database.
    assert run["result"] == [2, [1, 0.1, 2**70, "é\u2028", None], 2**64]
    assert breaches_at(elsewhere.url) == []
