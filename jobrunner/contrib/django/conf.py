"""jobrunner's settings as Django's settings give them: the database, and the environment of a tick."""

from __future__ import annotations

import os
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.utils.module_loading import import_string

from jobrunner.contrib.django import own_databases
from jobrunner.store.drivers.full_url import url_of_server
from jobrunner.store.sql.traits import TRAITS

VENDORS = tuple(TRAITS)
"""Django and SQLAlchemy have the same names for them."""
_HANDLERS = "jobrunner.contrib.django.handlers"


def alias() -> str:
    """The name in ``DATABASES`` of the database that holds jobrunner's tables."""
    return str(getattr(settings, "JOBRUNNER", {}).get("DATABASE", "default"))


def runs_tasks() -> bool:
    """Whether a backend of ``TASKS`` is jobrunner's, or a class made of it."""
    return any(map(_is_of_jobrunner, (getattr(settings, "TASKS", None) or {}).values()))


def _is_of_jobrunner(backend: Any) -> bool:
    try:
        return getattr(import_string(backend["BACKEND"]), "is_of_jobrunner", False)
    except (ImportError, LookupError, TypeError):
        # Django tells of it when the backend is used.
        return False


def prepare_tasks() -> str | None:
    """Make the tasks of all apps handlers of this process, also those declared with a backend of another library.

    ``using`` may have given such a task to jobrunner. Returns what is wrong with the settings of the backends.
    """
    if not runs_tasks():
        return None
    from jobrunner.contrib.django import package

    ours = [found for name in settings.TASKS if (found := package.backend_of_ours(name)) is not None]
    for app in apps.get_app_configs():
        module = sys.modules.get(f"{app.name}.tasks")
        for each in list(vars(module).values()) if module and ours else ():
            if isinstance(each, package.base.Task):
                (package.backend_of_ours(each.backend) or ours[0]).register(each)
    return next((each.problem for each in ours if each.problem), None)


def connection() -> Any:
    """This thread's connection to that database."""
    return connections[alias()]


def database_url() -> str:
    """The URL of that database, with the options that decide how to connect. Raises ImproperlyConfigured."""
    return url_of(connection())


def url_of(used: Any) -> str:
    """The same of this connection of Django."""
    if used.vendor not in VENDORS:
        raise ImproperlyConfigured(
            f"jobrunner works on PostgreSQL and SQLite, and DATABASES[{used.alias!r}] is {used.vendor};"
            ' name another one in JOBRUNNER = {"DATABASE": ...}'
        )
    if not TRAITS[used.vendor].has_server:
        return _url_of_file(str(used.settings_dict["NAME"]))
    parameters = dict(used.get_connection_params())
    if role := used.settings_dict["OPTIONS"].get("assume_role"):
        # Django takes it after it has connected, and a tick as it connects.
        name = re.sub(r"([\\\s])", r"\\\1", str(role))
        parameters["options"] = f"{parameters.get('options', '')} -c role={name}".strip()
    return url_of_server(parameters)


def url_for_libraries(used: Any) -> str:
    """Where this connection of Django leads, for the engines and drivers that an application uses beside Django."""
    try:
        return url_of(used)
    except ImproperlyConfigured:
        given = used.settings_dict
        return f"{used.vendor}://{given['HOST']}{':' if given['PORT'] else ''}{given['PORT']}/{given['NAME']}"


def _url_of_file(name: str) -> str:
    if name.startswith("file:") or ":memory:" in name:
        raise ImproperlyConfigured("jobrunner needs the path of a file in NAME: a tick is another process")
    return f"sqlite:///{quote(str(Path(name).absolute()), safe='/')}"


def url_in_use() -> str:
    """The URL of the database that jobrunner uses: ``JOBRUNNER_DATABASE_URL``, or else that of the settings.

    While a test runner is at work it is that of the settings, because the variable names the real database.
    """
    return ("" if own_databases.is_testing() else os.environ.get("JOBRUNNER_DATABASE_URL", "")) or database_url()


def environment(url: str = "") -> dict[str, str]:
    """The variables with which the ``jobrunner`` command works on this project. What is set already stays.

    ``url`` is that of the database, if it is not the one of the settings.
    """
    module = _settings_module()
    return {
        "DJANGO_SETTINGS_MODULE": module,
        "JOBRUNNER_DATABASE_URL": url or url_in_use(),
        "JOBRUNNER_APP_DIR": os.environ.get("JOBRUNNER_APP_DIR") or str(_project_folder(module)),
        "JOBRUNNER_IMPORT": imports(os.environ.get("JOBRUNNER_IMPORT", "")),
    }


def imports(given: str) -> str:
    """The modules for ``JOBRUNNER_IMPORT``. Ours, which sets Django up and imports the handlers, is the first one."""
    return ",".join([_HANDLERS, *(name for name in given.split(",") if name.strip() not in ("", _HANDLERS))])


def _settings_module() -> str:
    """The name of the module with the settings, below those that a test has overridden."""
    found: Any = settings
    while not (name := getattr(found, "SETTINGS_MODULE", None)):
        # While a test overrides settings, those below are here.
        below = getattr(found, "default_settings", None)
        if below is None or below is found:
            raise ImproperlyConfigured(
                "the settings were given to settings.configure(), and no other process can see them; put them into a"
                " module that DJANGO_SETTINGS_MODULE names"
            )
        found = below
    return str(name)


def _project_folder(module: str) -> Path:
    """The folder from which Python imports the settings."""
    names = module.split(".")
    file = import_module(module).__file__
    assert file is not None
    package = Path(file).resolve()
    return package.parents[len(names) - (0 if package.name == "__init__.py" else 1)]


def check_settings(**_: Any) -> list[CheckMessage]:
    """What ``manage.py check`` says."""
    given = getattr(settings, "JOBRUNNER", {})
    if not isinstance(given, dict) or set(given) - {"DATABASE"}:
        return [Error('JOBRUNNER must be a dictionary with the key "DATABASE" only', id="jobrunner.E001")]
    if alias() not in connections:
        return [Error(f"JOBRUNNER names the database {alias()!r}, which DATABASES lacks", id="jobrunner.E002")]
    if connection().vendor not in VENDORS:
        problem = f"jobrunner works on PostgreSQL and SQLite, and DATABASES[{alias()!r}] is {connection().vendor}"
        return [Error(problem, hint='Name another one in JOBRUNNER = {"DATABASE": ...}.', id="jobrunner.E003")]
    return []
