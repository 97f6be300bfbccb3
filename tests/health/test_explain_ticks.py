"""explain when no tick comes: since when by the rhythm of the host, which crontab line, and which other database."""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from harness import Commands, Database
from harness.commands import COMMAND
from harness.handlers_rows import queue
from harness.stores import opening
from jobrunner.admin import own_ticks
from jobrunner.admin.findings import findings
from jobrunner.model import Policy, TickKind
from jobrunner.settings import config
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.questions.explain.runs import explain_run
from jobrunner.store.queue.ticks import hosts
from jobrunner.store.queue.ticks.hosts import HostReport

MINUTE = timedelta(minutes=1)
# The ages of the last ticks in minutes, the oldest first; whether ticks have stopped.
RHYTHMS: dict[str, tuple[Sequence[float], bool]] = {
    "each minute, and two are missing": ((7, 6, 5, 4), True),
    "each minute": ((4, 3, 2, 1), False),
    "each minute, and the second is missing": ((5, 4, 3, 2), True),
    "every ten minutes": ((45, 35, 25, 15), False),
    "every ten minutes, and two are missing": ((52, 42, 32, 22), True),
    "each hour": ((250, 190, 130, 70), False),
    "each hour, and two are missing": ((310, 250, 190, 130), True),
    "two applications every ten minutes": ((35.1, 35, 25.1, 25, 15.1, 15), False),
    "after a long break": ((5000, 3, 2, 1), False),
    "the first one, just now": ((4,), False),
    "the only one, long ago": ((6,), True),
    "none": ((), True),
    "by a clock that was ahead": ((7, 6, -600), False),
}


def insert_ticks(database: Database, ages: Sequence[float], host: str = "here", application: str = "") -> None:
    at = database.now()
    for number, age in enumerate(ages):
        name = host.format(number)
        values = [name, f"{name}:1:x", at - age * MINUTE, application]
        columns = "host, worker, started_at, version, application, types"
        database.execute(f"INSERT INTO job_ticks ({columns}) VALUES (?, ?, ?, '1', ?, '')", values)


@pytest.mark.promise("P12")
def test_ticks_have_stopped_when_two_are_missing_in_the_rhythm_of_their_host(database: Database) -> None:
    """explain waited for three minutes, and health for two, whatever the rhythm: one denied what the other said."""
    settings = config.load({})
    with opening(database, patience_seconds=20) as open_one:
        store, wrong = open_one(), []
        report = HostReport(TickKind("here", "", ""), (Policy("echo"),), {"concurrency": 4}, "here", "boot")
        store.write(partial(hosts.write, report=report))
        run_id = queue(database, "echo")
        # In Kubernetes each tick has a name of its own: together they have a rhythm.
        for host in ("here", "pod-{}"):
            for name, (ages, expected) in RHYTHMS.items():
                database.execute("DELETE FROM job_ticks")
                insert_ticks(database, ages, host)
                found = store.read(partial(explain_run, run_id=run_id))
                assert found is not None
                if found.reason != ("ticks_stopped" if expected else "ready" if host == "here" else "unreported"):
                    wrong.append((host, name, found))
                told = {each.name for each in store.read(lambda connection: findings(connection, settings, None))}
                if ("ticks_stopped" in told) != expected or "host_stopped" in told:
                    wrong.append((host, name, told))
        assert wrong == []


def test_every_command_says_by_one_threshold_whether_ticks_have_stopped(
    jobrunner: Commands, database: Database
) -> None:
    insert_ticks(database, [7, 6, 5, 4], "here")
    run_id = queue(database, "echo")
    for tick_age, expected in (("2m", True), ("10m", False)):
        env = {"JOBRUNNER_HOST": "here", "JOBRUNNER_HEALTH_TICK_AGE": tick_age}
        health, status, explain, show, doctor = (
            jobrunner(*words, "--json", env=env, check=False).json()
            for words in (("health",), ("status",), ("explain", run_id), ("show", run_id), ("doctor", "--no-crontab"))
        )
        reasons = (explain["reason"], show["explanation"]["reason"], status["oldest_due"]["reason"])
        listed = [{each["name"] for each in found["findings"]} for found in (health, status)]
        (tick,) = [each["verdict"] for each in doctor["checks"] if each["name"] == "last tick"]
        said = [*(each == "ticks_stopped" for each in reasons), *("ticks_stopped" in each for each in listed)]
        assert [*said, tick == "wrong"] == [expected] * 6, (tick_age, reasons, listed, tick)


@pytest.mark.promise("P12")
def test_who_waits_for_a_tick_is_told_the_crontab_line_and_the_other_database_that_ticks_use(
    jobrunner: Commands, database: Database, tmp_path: Path
) -> None:
    tab, programs, other = tmp_path / "tab", tmp_path / "programs", tmp_path / "other.db"
    programs.mkdir()
    (programs / "crontab").write_text(f'#!/bin/sh\ncat "{tab}"\n')
    (programs / "crontab").chmod(0o755)
    tab.write_text(f"MAILTO=ada\n* * * * * JOBRUNNER_DATABASE_URL=sqlite:///{other} {COMMAND} tick\n")
    env = {"JOBRUNNER_HOST": "here", "PATH": f"{programs}:/usr/bin:/bin", "JOBRUNNER_IMPORT": None}

    def explained(subject: object) -> dict[str, Any]:
        answer: dict[str, Any] = jobrunner("explain", subject, "--json", env=env).json()
        return answer

    insert_ticks(database, [35 * 60], "there")
    run_id = queue(database, "echo")
    assert "Look on there for the crontab line * * * * * jobrunner tick." in explained(run_id)["sentence"]
    insert_ticks(database, [34 * 60])
    found = explained(run_id)
    assert (found["reason"], found["facts"]["cron_line"]) == ("ticks_stopped", "crontab -l, line 2")
    assert found["sentence"].endswith("Look at the line that starts them here: crontab -l, line 2.")
    # Now what is wrong shows: the line names another database.
    elsewhere = {**env, "JOBRUNNER_DATABASE_URL": f"sqlite:///{other}"}
    jobrunner("migrate", env=elsewhere)
    jobrunner("tick", env=elsewhere)
    found = explained(run_id)
    assert (found["reason"], found["remedy"]) == ("ticks_elsewhere", own_ticks._ONE_DATABASE)
    assert f"use another database: sqlite:///{other}, the last one " in found["sentence"]
    assert jobrunner("show", run_id, "--json", env=env).json()["explanation"]["reason"] == "ticks_elsewhere"
    said = jobrunner("doctor", env=env, check=False).stdout
    assert f"crontab -l, line 2: its ticks use another database, sqlite:///{other}, not " in " ".join(said.split())
    # A tick that uses the right one ends it. It has another name than the command.
    jobrunner("tick", env={**env, "JOBRUNNER_HOST": "web-7"})
    found = explained(run_id)
    assert found["reason"] != "ticks_elsewhere"
    assert any("have the host name web-7, and this command has here" in note for note in found["notes"]), found


def report(store: Store, kind: TickKind, *types: str) -> None:
    given = HostReport(kind, tuple(map(Policy, types)), {"concurrency": 4}, "here", "boot")
    store.write(partial(hosts.write, report=given))


LATER = timedelta(minutes=40)
# The kinds of ticks on one host, their ages in minutes and what they know; the reason; words of its sentence or remedy.
KINDS: dict[str, tuple[dict[str, tuple[Sequence[float], Sequence[str]]], str, str]] = {
    "cron's environment has lost the handlers": (
        {"shop": ((5, 4, 3, 2, 1), ("echo",)), "": ((0.1,), ())},
        "unknown_type",
        "the newest tick of here has no handler for 'echo'; earlier ones had",
    ),
    "a deploy has replaced the application by another one": (
        {"shop 1": ((5, 4, 3, 2, 1), ()), "shop 2": ((0.1,), ("echo",))},
        "ready",
        "by the next tick of here",
    ),
    "two applications tick in turn": (
        {"shop": ((4.1, 3.1, 2.1, 1.1, 0.1), ("echo",)), "other": ((4, 3, 2, 1, 0), ("mail",))},
        "ready",
        "by the next tick of here",
    ),
    "the application of two that knows it ticks no more": (
        {"shop": ((14, 13, 12, 11, 10), ("echo",)), "other": ((14, 13, 2, 1, 0), ("mail",))},
        "unknown_type",
        "only here had a handler for 'echo', and its ticks have not come for 10m. start again on here what starts its",
    ),
    "one of two ticks every ten minutes": (
        {"shop": ((35, 25, 15, 5), ("echo",)), "other": ((35, 34, 3, 2, 1, 0), ("mail",))},
        "ready",
        "by the next tick of here",
    ),
}


def test_a_run_would_be_claimed_only_by_the_newest_ticks_of_a_host_and_not_by_any_of_the_last_hour(
    database: Database,
) -> None:
    """For an hour after cron lost JOBRUNNER_IMPORT, explain said that the next tick would claim the run."""
    with opening(database, patience_seconds=20) as open_one:
        store, wrong = open_one(), {}
        run_id = queue(database, "echo")
        for name, (kinds, reason, words) in KINDS.items():
            for table in ("job_ticks", "job_hosts"):
                database.execute(f"DELETE FROM {table}")
            for application, (ages, types) in kinds.items():
                report(store, TickKind("here", application, ""), *types)
                insert_ticks(database, ages, application=application)
            found = store.read(partial(explain_run, run_id=run_id))
            assert found is not None
            if found.reason != reason or words not in f"{found.sentence} {found.remedy}".replace("10m1s", "10m"):
                wrong[name] = found
        assert wrong == {}


def test_a_host_whose_ticks_fail_at_the_import_of_the_handlers_would_not_claim_a_run(
    jobrunner: Commands, database: Database, tmp_path: Path
) -> None:
    """explain said "would be claimed now" two lines below the CRITICAL of status. A command is claimed all the same."""
    module = tmp_path / "shop_jobs.py"
    module.write_text("import os\nos.environ['KEY']\n")
    (tmp_path / "jobrunner.toml").write_text('[jobs.backup]\ncommand = ["true"]\n')
    env = {"JOBRUNNER_HOST": "here", "JOBRUNNER_IMPORT": "shop_jobs", "JOBRUNNER_APP_DIR": str(tmp_path)}

    def explained(subject: object) -> dict[str, Any]:
        answer: dict[str, Any] = jobrunner("explain", subject, "--json", env=env).json()
        return answer

    run_id = queue(database, "echo")
    assert jobrunner("tick", env=env, check=False).returncode == 78
    found = explained(run_id)
    assert found["reason"] == "no_handlers", found
    assert "the ticks of here cannot run their handlers: importing" in found["sentence"], found
    assert "JOBRUNNER_IMPORT" in found["remedy"], found
    # Also after an idle tick, which imports nothing and so does not fail.
    database.execute("UPDATE job_runs SET run_at = ?", [database.now() + LATER])
    jobrunner("tick", env=env)
    database.execute("UPDATE job_runs SET run_at = ?", [database.now()])
    assert explained(run_id)["reason"] == "no_handlers"
    # What failed says nothing of commands, and health does not say that nobody has a handler.
    assert explained(queue(database, "backup"))["reason"] == "ready"
    told = {each["name"] for each in jobrunner("health", "--json", env=env, check=False).json()["findings"]}
    assert "unknown_types" not in told
    module.write_text("from jobrunner import job\n\n@job('echo')\ndef echo(ctx): ...\n")
    jobrunner("tick", env=env)
    assert explained(queue(database, "echo"))["reason"] == "ready"
