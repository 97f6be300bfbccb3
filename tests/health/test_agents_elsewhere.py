"""`jobrunner mcp` with a role that may only read, behind a pooler, and on a standby."""

from collections.abc import Mapping

from harness import Commands, PostgresDatabase, postgresql_only
from harness.agents import agent
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
