"""Django's own tasks: ``django.tasks`` of Django 6, or the backport ``django_tasks`` before."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import django

PACKAGE = "django.tasks" if django.VERSION >= (6, 0) else "django_tasks"
base: Any = import_module(f"{PACKAGE}.base")
signals: Any = import_module(f"{PACKAGE}.signals")
exceptions: Any = import_module(f"{PACKAGE}.exceptions")
# The backport has it under another name.
InvalidTaskBackend: Any = getattr(exceptions, "InvalidTaskBackend", None) or exceptions.InvalidTaskBackendError
BaseTaskBackend: Any = import_module(f"{PACKAGE}.backends.base").BaseTaskBackend


def backends() -> Any:
    """The backends of ``TASKS``, by their aliases."""
    return import_module(PACKAGE).task_backends


def backend_of_ours(alias: str) -> Any:
    """The backend of this alias. None: TASKS has none any more, or one of another library."""
    try:
        found = backends()[alias]
    except InvalidTaskBackend:
        return None
    return found if getattr(found, "is_of_jobrunner", False) else None


def normalized(value: Any) -> Any:
    """The value as JSON would bring it back. Raises TypeError or ValueError for what JSON cannot hold."""
    module = "django.utils.json" if PACKAGE == "django.tasks" else "django_tasks.utils"
    return import_module(module).normalize_json(value)
