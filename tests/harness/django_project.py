"""The Django project of the tests, on a database of a test."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from harness.commands import clean_environment
from harness.database import Database, SQLiteDatabase

PROJECT = Path(__file__).parents[1] / "django_project"


class Project:
    """A copy of the project on a test's database."""

    def __init__(self, folder: Path, database: Database) -> None:
        self.folder = folder / "project"
        shutil.copytree(PROJECT, self.folder, ignore=shutil.ignore_patterns("__pycache__"))
        self.environment = {
            **clean_environment(folder),
            "DATABASE": json.dumps(settings_of(database)),
            "JOBRUNNER_STATE_DIR": str(folder / "state"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        (folder / "state").mkdir(mode=0o700)

    def manage(self, *words: str, check: bool = True, **variables: str) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=self.folder,
            env=self.environment | variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert not check or done.returncode == 0, f"{words}: {done.stdout}\n{done.stderr}"
        return done


def settings_of(database: Database, test_name: str = "") -> dict[str, Any]:
    """What DATABASES says of it. ``test_name``: the database of the tests of the project, if it is another one."""
    if isinstance(database, SQLiteDatabase):
        settings = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(database.path), "OPTIONS": {"timeout": 30}}
        return settings | ({"TEST": {"NAME": test_name}} if test_name else {})
    url = urlsplit(database.url)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": url.path[1:],
        "USER": url.username,
        "PASSWORD": url.password,
        "HOST": url.hostname,
        "PORT": url.port,
        "OPTIONS": {"sslmode": "prefer", "application_name": "shop"},
        # The role may not create databases; with --keepdb this one is used.
        "TEST": {"NAME": test_name or url.path[1:]},
    }
