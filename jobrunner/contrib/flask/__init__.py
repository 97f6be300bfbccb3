"""``flask jobrunner ...``: jobrunner on the database of a Flask application, with an app context for each run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click
from flask import Flask
from flask.cli import ScriptInfo, pass_script_info

from jobrunner.contrib import command_line

_HANDLERS = "jobrunner.contrib.flask.handlers"


@click.command("jobrunner", context_settings={"ignore_unknown_options": True}, add_help_option=False)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
@pass_script_info
def command(info: ScriptInfo, words: tuple[str, ...]) -> None:
    """Run jobrunner on this application, e.g. `flask jobrunner tick`. `flask jobrunner env` prints an env file."""
    command_line.run(words, lambda: environment(info.load_app(), info.app_import_path), "flask jobrunner")


def environment(app: Flask, import_path: str | None) -> dict[str, str]:
    """The variables with which the ``jobrunner`` command works on this application. What is set already stays."""
    imports = os.environ.get("JOBRUNNER_IMPORT", "")
    given = {
        "FLASK_APP": _absolute(import_path),
        "JOBRUNNER_APP_DIR": os.environ.get("JOBRUNNER_APP_DIR") or os.getcwd(),
        "JOBRUNNER_IMPORT": imports if _HANDLERS in imports.split(",") else f"{_HANDLERS},{imports}".strip(","),
    }
    url = os.environ.get("JOBRUNNER_DATABASE_URL") or database_url(app)
    return given | ({} if url is None else {"JOBRUNNER_DATABASE_URL": url})


def database_url(app: Flask) -> str | None:
    """The URL of Flask-SQLAlchemy's engine. None means that the application has none."""
    database: Any = app.extensions.get("sqlalchemy")
    if database is None:
        return None
    with app.app_context():
        return str(database.engine.url.render_as_string(hide_password=False))


def _absolute(import_path: str | None) -> str:
    """What a process in another folder can load the application from, as `flask` itself finds it."""
    if import_path is not None:
        place, _, rest = import_path.partition(":")
        is_file = place.endswith(".py") or "/" in place
        return f"{Path(place).absolute()}{_ and ':'}{rest}" if is_file else import_path
    return str(next((Path(name).absolute() for name in ("wsgi.py", "app.py") if Path(name).exists()), Path("app.py")))
