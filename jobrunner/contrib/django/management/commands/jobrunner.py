"""``manage.py jobrunner ...``: the command line of jobrunner, on the database of Django's settings."""

from __future__ import annotations

import os
import subprocess
import sys
from argparse import REMAINDER, ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from jobrunner.contrib import command_line
from jobrunner.contrib.django import conf, own_databases


class Command(BaseCommand):
    """Passes the words to jobrunner. ``env`` is the only one of its own."""

    help = "Run jobrunner on this project's database, e.g. `manage.py jobrunner tick`. `env` prints an env file."
    requires_system_checks: list[str] = []  # noqa: RUF012 - Django's own type

    def run_from_argv(self, argv: list[str]) -> None:
        """Become the command ``jobrunner`` with the words after its name."""
        connections.close_all()
        command_line.run(argv[2:], conf.environment, "manage.py jobrunner")

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take all words."""
        parser.add_argument("words", nargs=REMAINDER)

    def handle(self, *_: Any, words: list[str], **__: Any) -> str:
        """Run jobrunner in another process, for ``call_command``."""
        command = [sys.executable, "-m", "jobrunner", *words]
        environment = os.environ | conf.environment()
        if own_databases.is_testing():
            from jobrunner.testing.own_databases import variables

            # A test has renamed the databases in this process only.
            environment |= variables(own_databases.to_tell())
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise CommandError(done.stderr.strip(), returncode=done.returncode)
        return done.stdout
