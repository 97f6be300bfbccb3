"""The app: imports the handlers of all apps, and makes jobrunner's tables whenever Django migrates."""

from __future__ import annotations

import os
from typing import Any

from django.apps import AppConfig
from django.core import checks
from django.db import connections
from django.db.models.signals import post_migrate
from django.utils.module_loading import autodiscover_modules

import jobrunner
from jobrunner.contrib.django import conf, own_databases
from jobrunner.names import TESTED
from jobrunner.store.sql.traits import databases


class JobrunnerConfig(AppConfig):
    """``jobrunner.contrib.django``."""

    name = "jobrunner.contrib.django"
    label = "jobrunner"
    verbose_name = "jobrunner"

    def __init__(self, app_name: str, app_module: Any) -> None:
        super().__init__(app_name, app_module)
        self._told: dict[str, Any] | None = None
        if os.environ.get(TESTED):
            from jobrunner.testing.own_databases import told

            self._told = told()
        if self._told is not None:
            # Before models are imported, and so before an app opens a connection.
            _open_only(self._told)

    def ready(self) -> None:
        """Import the handlers: ``jobs.py`` of every app, and ``tasks.py`` if jobrunner runs Django's tasks."""
        if self._told is not None:
            own_databases.be_in_a_test(self._told)
        checks.register(conf.check_settings)
        post_migrate.connect(_migrate, sender=self, dispatch_uid="jobrunner")
        autodiscover_modules("jobs")
        if conf.runs_tasks():
            autodiscover_modules("tasks")


def _open_only(told: dict[str, Any]) -> None:
    """Hold Django to the databases of a test, and what a handler opens by itself, such as an engine of SQLAlchemy."""
    from jobrunner.store.drivers import allowed_databases
    from jobrunner.testing.own_databases import note_refusal

    real = [conf.url_for_libraries(each) for each in connections.all() if each.vendor in databases(has_server=False)]
    opened = own_databases.take_over(told, conf.alias())
    urls = [conf.url_for_libraries(connections[alias]) for alias in opened]
    allowed_databases.allow_only([*urls, *told.get("urls", ())], note_refusal, real=real)


def _migrate(using: str, **_: Any) -> None:
    # After `migrate`, and after the creation of a test database.
    if using == conf.alias() and connections[using].vendor in conf.VENDORS:
        jobrunner.migrate(connections[using])
