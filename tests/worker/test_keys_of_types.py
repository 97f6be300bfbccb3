"""The scope of a type's keys: its code or the file of commands says it, and every way in knows it."""

from typing import Any

import pytest

from harness import App, Commands, Database
from harness.keys import end, one, stored_scopes
from jobrunner import KeyTaken, job
from jobrunner.application import registry
from jobrunner.errors import ConfigurationError
from jobrunner.jobs import policy
from jobrunner.jobs.context import Context
from jobrunner.settings import toml_file


def test_scope_of_a_handler_is_stored_by_its_first_keyed_enqueue(database: Database, connection: Any) -> None:
    @job("daily", key_window="1d")
    def daily(ctx: Context, n: int = 0) -> None: ...

    @job("sync", key_scope="active", max_waiting=1)
    def sync(ctx: Context, n: int = 0) -> None: ...

    @job("plain")
    def plain(ctx: Context) -> None: ...

    assert [each.using(key="k").enqueue(connection).created for each in (daily, sync, plain)] == [True] * 3
    # A used key answers before anything is asked about the limit.
    assert not sync.using(key="k").enqueue(connection).created
    assert daily.using(key="k", if_taken="replace").enqueue(connection, n=1).replaced
    with pytest.raises(KeyTaken):
        sync.enqueue_many(connection, [sync.using(key="k", if_taken="raise").entry(n=1)])
    connection.commit()
    assert stored_scopes(database) == {"daily": ("window", 86400), "sync": ("active", None)}
    end(database)
    assert sync.using(key="k").enqueue(connection).created
    connection.commit()
    # Now by its name only, as any other process knows it.
    registry._registered.clear()
    policy._declared.clear()
    end(database)
    assert [one(connection, job_type).created for job_type in ("daily", "sync", "plain")] == [False, True, False]

    # Code of another version: its scope counts from its first enqueue on.
    @job("sync")
    def sync_again(ctx: Context) -> None: ...

    end(database)
    assert not sync_again.using(key="k").enqueue(connection).created
    connection.commit()
    assert stored_scopes(database)["sync"] == ("forever", None)


CODE = """
@job("daily", key_window="1d")
def daily(ctx):
    pass

@job("sync", key_scope="active")
def sync(ctx, **payload):
    pass
"""
FILE = '[jobs.sweep]\ncommand = ["true"]\nkey_scope = "active"\n[jobs.report]\ncommand = ["true"]\nkey_window = "90m"\n'


def test_command_line_knows_the_scopes_of_code_and_file_and_says_what_was_done(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.add(CODE)
    app.path("jobrunner.toml").write_text(FILE)
    jobrunner("enqueue", "sync")
    jobrunner.tick()
    expected = {
        "daily": ("window", 86400.0),
        "sync": ("active", None),
        "sweep": ("active", None),
        "report": ("window", 5400.0),
    }
    assert stored_scopes(database) == expected
    shown = jobrunner("types").stdout
    windows = [line.split()[-2:] for line in shown.splitlines() if " window " in line]
    assert sorted(windows) == [["window", "1d"], ["window", "1h30m"]]
    assert jobrunner("enqueue", "sync", "--key", "k", "--json").json().items() >= {"id": 2, "created": True}.items()
    answers = {
        "existing": {"id": 2, "created": False},
        "replace": {"id": 2, "created": False, "replaced": True},
    }
    for taken, answer in answers.items():
        words = ["--key", "k", "--if-taken", taken, "--payload", f'{{"n": "{taken}"}}', "--json"]
        assert jobrunner("enqueue", "sync", *words).json().items() >= answer.items()
    assert database.value("SELECT payload FROM job_runs WHERE id = 2") == {"n": "replace"}
    refused = jobrunner("enqueue", "sync", "--key", "k", "--if-taken", "raise", check=False)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == "jobrunner: the key 'k' of the job type 'sync' is taken by run 2, which is queued\n"
    jobrunner.refused(2, "enqueue", "sync", "--key", "k", "--if-taken", "fail")
    # The key is free, is taken by another run, and then the first one is to be begun again.
    end(database)
    assert jobrunner("enqueue", "sync", "--key", "k", "--allow-unknown").stdout == "3\n"
    refused = jobrunner("retry", 2, "--force", check=False)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == "jobrunner: run 2 is succeeded: its key is taken by run 3; cancel that one first\n"


@pytest.mark.long(sample=0.5)
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"key_scope": "actives"}, "the nearest is 'active'"),
        ({"key_scope": "window"}, 'such as key_window "1d"'),
        ({"key_scope": "active", "key_window": "1d"}, "leave one of them out"),
        ({"key_window": 0}, "holds no key"),
        ({"key_window": "a day"}, "not a duration"),
    ],
)
def test_scope_that_cannot_be_used_is_refused_at_import(
    jobrunner: Commands, app: App, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):

        @job("sync", **options)
        def sync(ctx: Context) -> None: ...

    file = app.path("wrong.toml")
    lines = [f"{key} = {value!r}".replace("'", '"') for key, value in options.items()]
    file.write_text("\n".join(["[jobs.sync]", 'command = ["true"]', *lines]))
    with pytest.raises(ConfigurationError, match=words):
        toml_file.read(file)
