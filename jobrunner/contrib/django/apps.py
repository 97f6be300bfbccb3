"""The app: imports the handlers of all apps, and makes jobrunner's tables whenever Django migrates."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.core import checks
from django.db import connections
from django.db.models.signals import post_migrate
from django.utils.module_loading import autodiscover_modules

import jobrunner
from jobrunner.contrib.django import conf


class JobrunnerConfig(AppConfig):
    """``jobrunner.contrib.django``."""

    name = "jobrunner.contrib.django"
    label = "jobrunner"
    verbose_name = "jobrunner"

    def ready(self) -> None:
        """Import the handlers: ``jobs.py`` of every app, and ``tasks.py`` if jobrunner runs Django's tasks."""
        checks.register(conf.check_settings)
        post_migrate.connect(_migrate, sender=self, dispatch_uid="jobrunner")
        autodiscover_modules("jobs")
        if conf.runs_tasks():
            autodiscover_modules("tasks")


def _migrate(using: str, **_: Any) -> None:
    # After `migrate`, and after the creation of a test database.
    if using == conf.alias() and connections[using].vendor in conf.VENDORS:
        jobrunner.migrate(connections[using])
