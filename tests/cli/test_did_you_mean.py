"""A name that does not exist is answered with the one that was probably meant, and shells know the names."""

import pytest

from harness import App, Commands, Database
from harness.handlers_rows import queue
from jobrunner.cli.program import every_command


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
def test_wrong_name_is_refused_with_the_one_that_was_meant(
    jobrunner: Commands, database: Database, words: str, meant: str
) -> None:
    if "nihgtly" in words:
        jobrunner("schedule", "add", "nightly", "--type", "echo", "--cron", "@daily")
    jobrunner.refused(None, *words.split(), says=[f"id you mean '{meant}'?"])


def test_listing_without_a_run_of_a_mistyped_type_says_which_type_there_is(
    jobrunner: Commands, database: Database
) -> None:
    queue(database, "report.send")
    for words in ("stats --type report.sned", "history --type report.sned --since 1s", "runs --type report.sned"):
        done = jobrunner(*words.split())
        assert done.stderr == "jobrunner: no run has the type 'report.sned'; did you mean 'report.send'?\n"
        assert done.stdout != ""
    assert jobrunner("stats", "--type", "something").stderr == ""


# Each argument and option that takes the name of a job type, a schedule or a host, with a mistyped one. None: the test
# above has it; or it is of a change of many runs, which are all the same code; or the ticks of a loop answer it.
NAMED = {
    **{
        f"{command} {name}": f"{command} {name} {mistyped}{more}"
        for command, more in {"runs": "", "errors": "", "retry": " --dry-run"}.items()
        for name, mistyped in (("--type", "report.sned"), ("--schedule", "nihgtly"))
    },
    **{
        f"{command} {name}": None
        for command in ("cancel", "discard", "reschedule", "priority")
        for name in ("--type", "--schedule")
    },
    "archive runs --type": "archive runs --until 1d --type report.sned runs.jsonl",
    "enqueue job_type": None,
    "explain subject": "explain nihgtly",
    "history --type": "history --type report.sned --since 1s",
    "history --schedule": None,
    "limit job_type": "limit report.sned --max-running 2 --reason slow",
    "loop --type": None,
    "pause --type": "pause --type report.sned",
    "pause --host": "pause --host wbe1",
    "resume --type": "resume --type report.sned",
    "resume --host": "resume --host wbe1",
    "run job_type": "run ecoh",
    "schedule add --type": None,
    "schedule edit --type": "schedule edit nightly --type ecoh",
    **{f"schedule {each} name": f"schedule {each} nihgtly" for each in ("pause", "remove", "resume")},
    **dict.fromkeys(("schedule show name", "schedule trigger name")),
    "schedule backfill name": "schedule backfill nihgtly --since 2026-01-01T00:00:00Z --until 2026-01-02T00:00:00Z",
    "schedule edit name": "schedule edit nihgtly --cron @hourly",
    "schedule next asked": "schedule next nihgtly",
    "stats --type": "stats --type report.sned",
    "tick --type": "tick --type ecoh",
    "unlimit job_type": "unlimit report.sned",
}
MEANT = {"report.sned": "report.send", "nihgtly": "nightly", "wbe1": "web1", "ecoh": "echo"}


def named_parameters() -> set[str]:
    """The options and arguments that shells complete with names, and those that are called so."""

    found = {
        f"{words} {each.opts[0]}"
        for words, command in every_command().items()
        for each in command.params
        if each._custom_shell_complete is not None or each.name in ("types", "hosts", "job_type", "host")
    }
    # An address of this host.
    return found - {"web --host"}


def test_each_mistyped_type_schedule_and_host_is_answered_with_the_one_that_was_meant(
    jobrunner: Commands, app: App, database: Database
) -> None:
    # A command and no handlers: no child must be asked.
    app.path("jobrunner.toml").write_text('[jobs.echo]\ncommand = ["true"]\n')
    env = {"JOBRUNNER_IMPORT": None, "JOBRUNNER_CONFIG": str(app.path("jobrunner.toml"))}
    assert set(NAMED) == named_parameters()
    queue(database, "report.send")
    tick = "INSERT INTO job_ticks (host, worker, version, started_at) VALUES ('web1', 'web1:1:x', '1', ?)"
    database.execute(tick, [database.now()])
    jobrunner("schedule", "add", "nightly", "--type", "echo", "--cron", "@daily", env=env)
    silent = []
    for name, words in NAMED.items():
        if words is None:
            continue
        text = jobrunner(*words.split(), env=env, check=False).stderr
        (meant,) = (right for wrong, right in MEANT.items() if wrong in words)
        if f"did you mean '{meant}'?" not in text:
            silent.append((name, text))
    assert silent == []


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
