"""A name that does not exist is answered with the one that was probably meant, and shells know the names."""

import pytest

from harness import App, Commands, Database
from harness.handlers_rows import queue


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("enqeue", "enqueue"),
        ("schedule lst", "list"),
        ("effects lits", "list"),
        ("status --jsn", "--json"),
        ("enqueue ecoh", "echo"),
        ("schedule add n --cron @daily --type ecoh", "echo"),
        ("schedule show nihgtly", "nightly"),
        ("schedule trigger nihgtly", "nightly"),
        ("history --schedule nihgtly", "nightly"),
    ],
    ids=lambda words: words,
)
@pytest.mark.either_database
def test_wrong_name_is_refused_with_the_one_that_was_meant(
    jobrunner: Commands, database: Database, words: str, meant: str
) -> None:
    if "nihgtly" in words:
        jobrunner("schedule", "add", "nightly", "--type", "echo", "--cron", "@daily")
    refused = jobrunner(*words.split(), check=False)
    assert refused.returncode != 0
    assert (refused.stdout, len(refused.stderr.splitlines())) == ("", 1)
    assert f"id you mean '{meant}'?" in refused.stderr


def test_listing_without_a_run_of_a_mistyped_type_says_which_type_there_is(
    jobrunner: Commands, database: Database
) -> None:
    queue(database, "report.send")
    for words in ("stats report.sned", "history --type report.sned --since 1s", "runs --type report.sned"):
        done = jobrunner(*words.split())
        assert done.stderr == "jobrunner: no run has the type 'report.sned'; did you mean 'report.send'?\n"
        assert done.stdout != ""
    assert jobrunner("stats", "something").stderr == ""


def test_shell_completes_names_from_the_database_and_is_never_disturbed(
    jobrunner: Commands, app: App, database: Database
) -> None:
    queue(database, "report.send")
    queue(database, "report\x1b[2J")
    app.path("jobrunner.toml").write_text('[jobs."report.print"]\ncommand = ["lpr"]\n')
    jobrunner("schedule", "add", "report nightly", "--type", "report.daily", "--cron", "@daily", "--allow-unknown")

    def completed(line: str, **env: str) -> list[str]:
        words = line.split(" ")
        asked = {"_JOBRUNNER_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
        done = jobrunner(env={**asked, **env})
        assert done.stderr == ""
        return done.stdout.split("\n")[:-1] if done.stdout.strip() else []

    types = ["plain,report.daily", "plain,report.print", "plain,report.send"]
    for line in ("jobrunner enqueue rep", "jobrunner history --type report", "jobrunner pause --type rep"):
        assert completed(line) == types
    for line in ("jobrunner schedule remove re", "jobrunner history --schedule re"):
        assert completed(line) == ["plain,report nightly"]
    for url in ("postgresql://127.0.0.1:1/none", "nonsense"):
        assert completed("jobrunner schedule remove re", JOBRUNNER_DATABASE_URL=url) == []
