"""`jobrunner mcp` with a role that may only read, behind a pooler, and on a standby."""

from collections.abc import Mapping
from pathlib import Path

from harness import Commands, Database, PostgresDatabase, postgresql_only
from harness.agents import agent
from harness.elsewhere import target_of
from harness.invariants import insert_runs
from harness.pgbouncer import Bouncer
from harness.roles import SCHEMA, granted
from harness.standby import Pair

ASKED = ("status", "health", "runs", "stats", "limits")


def asked_at(jobrunner: Commands, env: Mapping[str, str | None]) -> str:
    """Let an agent ask there. Returns what it is told when it wants a change."""
    with agent(jobrunner, "--allow-changes", env=env) as ask:
        for name in ASKED:
            ask(name)
        return ask.refused("pause", type=["echo"], reason="x")


@postgresql_only
def test_agent_of_a_role_that_only_looks_is_answered_and_told_what_it_may_not_do(
    jobrunner: Commands, database: PostgresDatabase
) -> None:
    jobrunner("migrate", env=SCHEMA)
    with granted(database) as urls:
        env = {**SCHEMA, "JOBRUNNER_DATABASE_URL": urls["jobs_look"]}
        assert "may not" in asked_at(jobrunner, env)


def test_agent_on_a_standby_is_answered_and_told_that_nothing_can_be_written_there(
    pair: Pair, jobrunner_on_pair: Commands
) -> None:
    pair.wait_for_standby()
    assert "read-only" in asked_at(jobrunner_on_pair, {"JOBRUNNER_DATABASE_URL": pair.standby.url})


@postgresql_only
def test_agent_behind_a_pooler_is_answered_and_changes_what_it_was_shown(
    jobrunner: Commands, database: PostgresDatabase, bouncer: Bouncer
) -> None:
    insert_runs(database, 2, "echo")
    with agent(jobrunner, "--allow-changes", env={"JOBRUNNER_DATABASE_URL": bouncer.url}) as ask:
        for name in ASKED:
            ask(name)
        given = {"type": ["echo"], "reason": "sent twice"}
        shown = ask("cancel", **given)
        ask("cancel", **given, confirm=shown["confirm"])
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'cancelled'") == 2


def test_agent_that_has_seen_what_a_change_would_do_is_refused_it_once_the_database_is_moved_or_newer(
    jobrunner: Commands, database: Database, elsewhere: Database, tmp_path: Path
) -> None:
    insert_runs(database, 2, "echo")
    given = {"type": ["echo"], "reason": "sent twice"}
    with agent(jobrunner, "--allow-changes") as ask:
        moved, newer = (ask("cancel", **given)["confirm"] for _ in range(2))
        jobrunner("move", target_of(elsewhere, tmp_path))
        for name in ASKED:
            assert "was moved to" in ask.refused(name)
        assert "was moved to" in ask.refused("cancel", **given, confirm=moved)
        database.execute("UPDATE job_state SET moved = NULL, oldest_code = 1000000")
        assert "upgrade jobrunner" in ask.refused("status")
        assert "upgrade jobrunner" in ask.refused("cancel", **given, confirm=newer)
    assert elsewhere.value("SELECT count(*) FROM job_runs WHERE status = 'queued'") == 2
