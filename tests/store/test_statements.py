"""The statements of a tick are compiled ahead, as SQLAlchemy would compile them now, and a tick needs nothing else."""

import ast
import subprocess
import sys
from datetime import timedelta
from importlib import import_module
from pathlib import Path

import pytest

import jobrunner
from harness import App, Commands, Database
from harness.at_work import running
from harness.idle_ticks import imported_by, tick
from harness.invariants import insert_runs

SOURCES = Path(jobrunner.__file__).parent
SCRIPT = SOURCES.parent / "scripts" / "statements.py"


def test_compiled_statements_that_are_not_what_sqlalchemy_compiles_fail_the_check() -> None:
    """A changed statement would otherwise not be what a tick sends."""
    done = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("text", ['SELECT "a"', '"a"', '""', '"""a""""', "a\nb", r"a\b", 'a\\"', r"LIKE '\%'"])
def test_statement_with_quotes_anywhere_is_written_as_python_that_says_the_same(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quote at the end would otherwise be a part of what ends the text, and no tick could import the module."""
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    assert ast.literal_eval(import_module(SCRIPT.stem).literal(text)) == text


def test_each_statement_that_the_store_names_is_compiled_ahead() -> None:
    compiled = [import_module(f"jobrunner.store.sql.compiled.{each}").STATEMENTS for each in ("postgresql", "sqlite")]
    known = {name for statements in compiled for name, _ in statements}
    assert known == {name for path in (SOURCES / "store").glob("**/*.py") for name in prepared_in(path)}


def prepared_in(path: Path) -> list[str]:
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    made = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "Prepared"]
    return [call.args[0].value for call in made if isinstance(call.args[0], ast.Constant)]


def test_a_tick_that_recovers_ends_expands_and_runs_imports_no_sqlalchemy_and_no_other_database(
    jobrunner: Commands, app: App, database: Database
) -> None:
    handler = "@job('known')\ndef known(ctx, day: date | None = None):\n    ctx.progress(1)\n"
    app.write("handlers", f"from datetime import date\nfrom jobrunner import job\n\n{handler}")
    now = database.now()
    database.execute("UPDATE job_state SET pruned_at = ?", [now])
    jobrunner("schedule", "add", "each", "--type", "known", "--cron", "* * * * *")
    database.execute("UPDATE job_definitions SET last_slot_at = ?, next_run_at = NULL", [now - timedelta(hours=1)])
    past = now - timedelta(minutes=1)
    (due,) = insert_runs(database, 1, "known", run_at=past)
    insert_runs(database, 1, "known", run_at=past, start_deadline_at=past)
    running(database, 1, locked_until=past, host="elsewhere")
    busy = tick(jobrunner)
    counts = database.value("SELECT counts FROM job_ticks ORDER BY id DESC")
    assert counts.keys() == {"claimed", "dead", "expanded", "recovered", "succeeded", "skipped"}
    assert database.value("SELECT status FROM job_runs WHERE id = ?", [due]) == "succeeded"
    others = {"sqlite": "psycopg", "postgresql": "_sqlite3"}
    # The handler's child converts its arguments.
    assert not busy.imported & {"sqlalchemy", "alembic", "msgspec", others[database.name]}


def test_status_and_health_with_something_in_each_of_their_tables_import_neither_sqlalchemy_nor_rich(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """To import them takes longer than to read the database, also beside a long history."""
    app.write(
        "handlers", "from jobrunner import job\n\n@job('known', max_running=1, max_waiting=9)\ndef known(ctx): ...\n"
    )
    jobrunner.enqueue("known")
    jobrunner.tick()
    past = database.now() - timedelta(minutes=1)
    jobrunner("schedule", "add", "each", "--type", "known", "--cron", "* * * * *")
    jobrunner("pause", "--type", "other")
    for of_type in ("known", "other"):
        insert_runs(database, 2, of_type, run_at=past)
    insert_runs(database, 1, "known", status="failed", run_at=past + timedelta(hours=1), error_type="E", last_error="e")
    insert_runs(database, 1, "known", status="dead", finished_at=past, error_type="E", last_error="e")
    running(database, 1, job_type="known", gate="all", locked_until=past + timedelta(hours=1))
    effect = "INSERT INTO job_effects (key, state, run_id, job_type, attempt, token, lease_token, intended_at)"
    database.execute(f"{effect} VALUES ('pay-1', 'intended', 1, 'known', 1, 't', 'l', ?)", [past])
    found = jobrunner.status()
    tables = (
        "running", "failing", "dead", "pauses", "schedules", "unknown_types", "limits", "running_limits",
        "uncertain_effects", "ticks",
    )  # fmt: skip
    assert [name for name in tables if not found[name]] == []
    assert found["oldest_due"]["reason"] == "limit"
    for words in (["status"], ["status", "--json"], ["health"]):
        done = jobrunner(*words, env={"PYTHONPROFILEIMPORTTIME": "1"}, check=False)
        assert not imported_by(done) & {"sqlalchemy", "alembic", "prometheus_client"}, words
