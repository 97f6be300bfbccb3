"""`docs/howto/troubleshooting.md`: what it shows of runs at work and of runs that were cut off.

Its other commands are run by tests/project/test_docs_commands.py.
"""

import re
import signal

from harness import App, Commands, Database, pages, wait_for
from harness.command_jobs import HOLD, at_work, write_jobs
from harness.doc_tables import text_of
from harness.schemas import objects

SLOW = f"[jobs.slow]\ncommand = {HOLD}\n"


def shape(text: str) -> str:
    """Without what differs: hosts, names of ticks, durations and instants."""
    text = re.sub(r"\bon \S+ for \w+; its last heartbeat was \w+ ago", "on HOST for DURATION", text)
    text = re.sub(r"(?m)^(  (?:worker|host)) .*$", r"\1 HOST", text)
    text = re.sub(r"\b\d+(\.\d+)?(ms|s)\b", "DURATION", text)
    return pages.normalised(text)


def wait_until_begun(app: App) -> None:
    """Not only claimed: a run that was claimed by a tick that is killed then is begun by the next one."""
    wait_for(lambda: at_work(app), 30, "the command has begun")


def test_run_that_stays_running_is_explained_and_cancelled_as_the_page_has_it(
    jobrunner: Commands, app: App, database: Database
) -> None:
    (block,) = pages.checked_by(
        "tests/health/test_troubleshooting.py::test_run_that_stays_running_is_explained_and_cancelled_as_the_page_has_it"
    )
    write_jobs(app, SLOW)
    jobrunner("enqueue", "slow")
    tick = jobrunner.start("tick")
    wait_until_begun(app)
    printed = "".join(f"$ {command}\n{jobrunner(*command.split()[1:]).stdout}" for command in block.commands)
    assert shape(printed) == shape(block.text)
    assert jobrunner.finish(tick).returncode == 0
    assert database.query("SELECT status FROM job_runs") == [{"status": "cancelled"}]


def test_attempt_that_was_cut_off_is_shown_as_the_page_has_it(
    jobrunner: Commands, app: App, database: Database
) -> None:
    (block,) = pages.checked_by(
        "tests/health/test_troubleshooting.py::test_attempt_that_was_cut_off_is_shown_as_the_page_has_it"
    )
    write_jobs(app, SLOW + "max_attempts = 1\n")
    jobrunner("enqueue", "slow")
    tick = jobrunner.start("tick")
    wait_until_begun(app)
    tick.send_signal(signal.SIGKILL)
    jobrunner.finish(tick)
    jobrunner.tick()
    shown = jobrunner("show", 1).stdout
    (_, expected) = block.text.split("\n", 1)
    assert shape(expected) in shape(shown[shown.index("attempt 1\n") :])


def test_statistics_of_the_page_have_what_it_explains(jobrunner: Commands, app: App, database: Database) -> None:
    (block,) = pages.checked_by(
        "tests/health/test_troubleshooting.py::test_statistics_of_the_page_have_what_it_explains"
    )
    write_jobs(app, '[jobs.backup]\ncommand = ["true"]\n')
    jobrunner("enqueue", "backup")
    jobrunner.tick()
    assert shape("$ jobrunner stats\n" + jobrunner("stats").stdout) == shape(block.text)


def test_uninstalling_as_operations_has_it_keeps_the_history_and_leaves_nothing(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """The commands are those of the page, so that they cannot differ from it."""
    section = text_of("operations.md").split("\n## Uninstall\n")[1].split("\n## ")[0]
    archive, downgrade = re.findall(r"`jobrunner ((?:archive|downgrade) [^`]+)`", section)
    write_jobs(app, '[jobs.backup]\ncommand = ["true"]\n')
    jobrunner("enqueue", "backup")
    jobrunner.tick()
    kept = app.folder / "history.jsonl"

    def archives() -> bool:
        jobrunner(*archive.replace("FILE", str(kept)).split())
        return kept.exists()

    # While any transaction of the server writes, as those of other tests do, a run may not be counted yet.
    wait_for(archives, describe="a file of the archive")
    assert '"backup"' in kept.read_text()
    jobrunner(*downgrade.split())
    assert objects(database) == set()
