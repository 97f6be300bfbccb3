"""Advisory locks that others hold block no claim, no apply and no listening."""

import contextlib
import re

from harness import App, Commands, PostgresDatabase, postgresql_only
from harness.invariants import insert_runs, outcomes
from harness.waiting import span

KEYS = ("720614, hashtext('living')", "7206148302", "720615, 0")


@postgresql_only
def test_advisory_locks_of_any_role_block_no_claim_no_apply_and_no_listening(
    jobrunner: Commands, app: App, database: PostgresDatabase
) -> None:
    """An advisory lock may be taken by any role: nothing waits for one but a migration, which says who has it."""
    app.path("jobrunner.toml").write_text("[jobs.echoed]\ncommand = ['true']\nschedule = '@yearly'\n")
    runs = insert_runs(database, 2)
    log = app.path("log")
    with contextlib.closing(database.access.admin(database.database)) as stranger:
        for key in (*KEYS, "7206148301"):
            stranger.execute(f"SELECT pg_advisory_lock({key})")
        migrating = jobrunner.start("migrate", env={"JOBRUNNER_PATIENCE": span(3)})
        assert "echoed" in jobrunner("apply").stdout
        listening = jobrunner.tick(
            "--linger", "--log", log, env={"JOBRUNNER_LEASE": span(4), "JOBRUNNER_HOST": "living"}
        )
        assert listening.stderr == ""
        assert [outcomes(database, run_id) for run_id in runs] == [["succeeded"]] * 2
        session = stranger.info.backend_pid
        assert f"session {session} of the role " in log.read_text()
        assert f"session {session} of the role " in database.value("SELECT error FROM job_ticks")
        _, stderr = migrating.communicate(timeout=40)
        assert migrating.returncode == 69
        # A role that may see more is told more.
        seen = r"\((doing what only that role may see|idle)\)"
        assert re.fullmatch(rf"jobrunner: [^\n]*: session {session} of the role [^\n]* {seen}; [^\n]*\n", stderr)
