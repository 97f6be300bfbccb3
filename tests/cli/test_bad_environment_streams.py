"""Standard streams that are closed: the exit code is right, and nothing is done twice."""

import pytest

from harness import App, Commands, Database, sqlite_only
from harness.environments import drawn_commands, letters, run_in

# Where its text is all that a command is for, it has not done its work. What is committed is done.
LISTINGS = dict.fromkeys(["status", "show", "schedule list", "types"], 1)


REDIRECTIONS: dict[str, dict[str, int]] = {
    ">&-": {},
    "<&- 2>&-": {},
    "<&- >&- 2>&-": {},
    "2>/dev/full": {},
    ">/dev/full 2>/dev/full": LISTINGS,
}


@sqlite_only
@pytest.mark.long(sample=1)
@pytest.mark.parametrize(("redirection", "codes"), REDIRECTIONS.items(), ids=REDIRECTIONS.keys())
def test_every_command_survives_each_closed_stream(
    jobrunner: Commands, app: App, database: Database, redirection: str, codes: dict[str, int]
) -> None:
    letters(app)
    for name, words in drawn_commands().items():
        done = run_in(jobrunner, f'exec "$@" {redirection}', *words)
        assert (name, done.returncode, done.stderr) == (name, codes.get(name, 0), "")
    assert run_in(jobrunner, f'exec "$@" {redirection}', "tick", "-v").returncode == 0
    for words in (["show", "99"], ["enqueue", "no such"], ["no-such-command"], []):
        done = run_in(jobrunner, f'exec "$@" {redirection}', *words)
        assert (words, done.returncode) == (words, 1 if words[:1] == ["show"] else 2)
    (run,) = database.query("SELECT status FROM job_runs")
    assert run == {"status": "dead"}
    assert database.query("SELECT error FROM job_ticks") == [{"error": None}] * 2
