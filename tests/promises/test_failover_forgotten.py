"""An asynchronous standby is promoted: what it has forgotten has happened outside, and must not happen again."""

from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path

import pytest

from harness import App, Commands, Database, postgresql_only
from harness.effect_jobs import traces, with_effects
from harness.effects import LostRun, OtherSide, rows_of_effects
from harness.handlers_rows import run_of
from harness.invariants import insert_runs, read_log
from harness.standby import Pair
from jobrunner.effects.database import ChildDatabase
from jobrunner.effects.once import EffectRun
from jobrunner.effects.run import RunEffects

HANDLERS = """
import os

import psycopg

from jobrunner import Context, job


def pay(key):
    trace = os.open(os.environ["TRACE_FILE"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(trace, f"{key}\\n".encode())
    os.close(trace)
    return {"receipt": key}


@job("charge")
def charge(ctx: Context, key: str):
    with psycopg.connect(os.environ["ORDERS"]) as connection:
        connection.execute("INSERT INTO orders VALUES (%s)", [ctx.run_id])
    return ctx.once(key, pay, key).outcome
"""
PAUSE = timedelta(seconds=101)


@pytest.fixture
def pair(pair: Pair, app: App) -> Pair:
    """It is asynchronous, and a tick has noted the server."""
    app.write("handlers", HANDLERS)
    pair.database.execute("CREATE TABLE orders (run_id bigint)")
    pair.set_synchronous("")
    return pair


def environment(pair: Pair) -> dict[str, str]:
    """With a URL that need not be changed."""
    return {"ORDERS": pair.url_of_both, "JOBRUNNER_DATABASE_URL": pair.url_of_both}


def pay_and_fail_over(pair: Pair, jobrunner: Commands, env: dict[str, str]) -> tuple[Database, int]:
    """The run exists on the standby. It is done when the standby receives nothing more, and is promoted."""
    jobrunner.tick(env=env)
    (run_id,) = insert_runs(pair.database, 1, "charge", {"key": "charge:7"})
    pair.wait_for_standby()
    pair.stall()
    jobrunner.tick(env=env)
    assert run_of(pair.database, run_id)["status"] == "succeeded"
    promoted = pair.fail_over()
    assert (run_of(promoted, run_id)["status"], rows_of_effects(promoted)) == ("queued", {})
    return promoted, run_id


@pytest.mark.promise("P5")
def test_payment_that_the_promoted_standby_has_forgotten_is_not_made_again_and_the_work_in_the_database_is_done_again(
    pair: Pair, jobrunner_on_pair: Commands, app: App
) -> None:
    """The result is not put back: what the handler wrote in this database was undone with it."""
    env = {**environment(pair), "JOBRUNNER_LOG": str(app.path("log"))}
    promoted, run_id = pay_and_fail_over(pair, jobrunner_on_pair, env)
    assert promoted.query("SELECT * FROM orders") == []
    jobrunner_on_pair.tick(env=env)
    assert traces(app) == ["charge:7"]
    run = run_of(promoted, run_id)
    assert (run["status"], run["result"]) == ("succeeded", {"receipt": "charge:7"})
    assert promoted.query("SELECT * FROM orders") == [{"run_id": run_id}]
    # The attempt that has called is lost, and that is no breach.
    jobrunner_on_pair("verify", env=env)
    (event,) = promoted.query("SELECT detail FROM job_events WHERE action = 'effects put back'")
    assert {name: event["detail"][name] for name in ("applied", "keys")} == {"applied": 1, "keys": ["charge:7"]}
    lines = [(each["event"], each["result"]) for each in read_log(app.path("log"))]
    assert [each for each in lines if each[0] in ("server changed", "effects")] == [
        ("effects", "put back"),
        ("server changed", "a standby was promoted, or a backup restored"),
    ]


@pytest.mark.promise("P5")
def test_other_host_that_claims_the_run_first_calls_nothing_before_the_host_that_has_paid_has_put_that_back(
    pair: Pair, jobrunner_on_pair: Commands, app: App, tmp_path: Path
) -> None:
    env = environment(pair)
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    other = {**env, "JOBRUNNER_HOST": "other", "JOBRUNNER_STATE_DIR": str(tmp_path / "elsewhere")}
    promoted, run_id = pay_and_fail_over(pair, jobrunner_on_pair, env)
    jobrunner_on_pair.tick(env=other)
    run = run_of(promoted, run_id)
    assert (run["status"], run["attempts"], traces(app)) == ("queued", 0, ["charge:7"])
    errors = promoted.query("SELECT outcome, error FROM job_attempts")
    assert [(each["outcome"], "a standby was promoted" in each["error"]) for each in errors] == [("snoozed", True)]
    jobrunner_on_pair.tick(env=env)
    assert rows_of_effects(promoted)["charge:7"]["state"] == "applied"
    insert_runs(promoted, 1, "charge", {"key": "charge:8"})
    promoted.move_clock(PAUSE)
    jobrunner_on_pair.tick(env=other)
    assert run_of(promoted, run_id)["status"] == "succeeded"
    promoted.move_clock(PAUSE)
    jobrunner_on_pair.tick(env=other)
    assert traces(app) == ["charge:7", "charge:8"]


# The same on one server, which forgets what is deleted, and takes itself for one that was promoted.


@pytest.fixture
def mails(jobrunner: Commands, app: App, database: Database) -> Commands:
    with_effects(app, database)
    jobrunner.tick()
    return jobrunner


def promote(database: Database, *, forgets: bool = True) -> None:
    if forgets:
        database.execute("DELETE FROM job_effects")
    database.execute("UPDATE job_state SET server = split_part(server, '/', 1) || '/0'")
    database.execute("UPDATE job_runs SET status = 'queued', finished_at = NULL, attempts = 0, run_at = created_at")


@postgresql_only
@pytest.mark.promise("P5")
def test_tick_that_has_nothing_to_do_puts_back_what_its_host_has_called(
    mails: Commands, app: App, database: Database
) -> None:
    """Another host may have the run by now, which must get the outcome before the pause is over."""
    insert_runs(database, 1, "mail", {"key": "a"})
    mails.tick()
    promote(database)
    database.execute("UPDATE job_runs SET run_at = ?", [database.now() + timedelta(hours=1)])
    mails.tick()
    assert rows_of_effects(database)["a"]["state"] == "applied"


@postgresql_only
@pytest.mark.promise("P5")
def test_event_says_how_much_the_promoted_standby_has_lost_at_least(
    mails: Commands, app: App, database: Database
) -> None:
    for key in ("a", "b"):
        insert_runs(database, 1, "mail", {"key": key})
        mails.tick()
        database.move_clock(timedelta(seconds=7))
    first, last = (each["intended_at"] for each in rows_of_effects(database).values())
    promote(database)
    mails.tick()
    (event,) = database.query("SELECT detail FROM job_events WHERE action = 'effects put back'")
    assert event["detail"]["lost_seconds_at_least"] == round((last - first).total_seconds(), 1) >= 7


@postgresql_only
@pytest.mark.promise("P5")
def test_call_of_which_no_answer_was_noted_is_uncertain_after_the_promotion(
    mails: Commands, app: App, database: Database
) -> None:
    (run_id,) = insert_runs(database, 1, "mail", {"key": "a"})
    mails.tick(env={"JOBRUNNER_FAULT": "effect.called=kill"})
    promote(database)
    mails.tick()
    assert [each["key"] for each in mails("effects", "list", "--json").json()] == ["a"]
    database.move_clock(PAUSE)
    for _ in range(2):
        mails.tick()
        database.move_clock(timedelta(hours=1))
    assert run_of(database, run_id)["error_type"] == "UncertainEffect"
    assert traces(app) == ["a"]
    (event,) = database.query("SELECT detail FROM job_events WHERE action = 'effects put back'")
    assert event["detail"]["uncertain"] == 1


@postgresql_only
@pytest.mark.promise("P5")
def test_payment_of_a_lost_run_whose_id_another_run_got_is_uncertain_and_no_payment_of_the_other_one(
    mails: Commands, app: App, database: Database
) -> None:
    (run_id,) = insert_runs(database, 1, "mail", {"key": "charge:1001"})
    mails.tick()
    promote(database)
    database.execute("UPDATE job_runs SET created_at = created_at + interval '1 second'")
    mails.tick()
    assert rows_of_effects(database)["charge:1001"]["state"] == "intended"
    assert run_of(database, run_id)["status"] == "queued"


@postgresql_only
@pytest.mark.promise("P5")
def test_outcome_alone_that_was_forgotten_is_put_back(mails: Commands, app: App, database: Database) -> None:
    (run_id,) = insert_runs(database, 1, "mail", {"key": "a"})
    mails.tick()
    database.execute("UPDATE job_effects SET state = 'intended', outcome = NULL, settled_at = NULL")
    promote(database, forgets=False)
    mails.tick()
    assert rows_of_effects(database)["a"]["outcome"] == {"id": "a"}
    assert (run_of(database, run_id)["status"], traces(app)) == ("succeeded", ["a"])


@postgresql_only
@pytest.mark.promise("P5")
def test_effect_that_somebody_has_settled_as_not_applied_stays_so_after_a_promotion(
    mails: Commands, app: App, database: Database
) -> None:
    insert_runs(database, 1, "mail", {"key": "a"})
    mails.tick(env={"JOBRUNNER_FAULT": "effect.called=kill"})
    mails("effects", "settle", "a", "--not-applied")
    promote(database)
    mails.tick()
    assert rows_of_effects(database) == {}


@postgresql_only
@pytest.mark.promise("P5")
def test_what_is_in_the_notes_and_no_database_can_hold_stops_no_tick_and_hides_no_other_note(
    mails: Commands, app: App, database: Database
) -> None:
    insert_runs(database, 1, "mail", {"key": "a"})
    mails.tick()
    (path,) = mails.state_dir.glob("effects-*.notes")
    text = path.read_text()
    too_long = text.replace('"a"', '"b"').replace('"call": "', '"call": "f')
    unreadable = too_long.replace('"b"', '"\\u0000"').replace('"call": "f', '"call": "0')
    path.write_text(unreadable + too_long + text)
    promote(database)
    mails.tick()
    assert set(rows_of_effects(database)) == {"a"}


@postgresql_only
def test_dump_that_was_restored_into_another_cluster_pauses_no_effect(
    mails: Commands, app: App, database: Database
) -> None:
    database.execute("UPDATE job_state SET server = '1/7'")
    insert_runs(database, 1, "mail", {"key": "a"})
    mails.tick()
    assert traces(app) == ["a"]


@postgresql_only
@pytest.mark.promise("P5")
def test_effect_is_called_though_its_host_cannot_note_it_and_the_output_says_so(
    mails: Commands, app: App, database: Database, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    other_side = OtherSide(tmp_path / "ledger")
    lease = LostRun(database).claim()
    child = ChildDatabase(database.url, 60, folder=str(mails.state_dir))
    server = database.value("SELECT server FROM job_state")
    now = int(database.now().timestamp()) // 300
    for number in (now, now + 1):
        (mails.state_dir / f"{child.notes._beginning(server)}{number}.notes").mkdir()
    effects = RunEffects(child, EffectRun(lease, "append", 1, 10_000), nullcontext)
    assert effects.once("a", other_side.send, "raise", "a").state == "applied"
    assert other_side.calls() == {"a": 1}
    assert "the effect is not noted in the state folder" in capfd.readouterr().err
    child.close()
