"""A real tick of a test: a process with children, which see the databases of the test and open no others."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jobrunner.application.registry import registered
from jobrunner.errors import UsageError
from jobrunner.jobs.commands import DATABASE_URLS
from jobrunner.testing.own_databases import variables

_GUARD = "jobrunner.testing.guard"


def run_tick(
    url: str, words: Sequence[str], given: Mapping[str, str], databases: Iterable[str]
) -> subprocess.CompletedProcess[str]:
    """Run it on the database of this URL. See ``Jobs.tick``."""
    with tempfile.TemporaryDirectory() as folder:
        refusals = Path(folder) / "refusals"
        environment = _environment(url, given, [*databases], refusals)
        command = [sys.executable, "-m", "jobrunner", "tick", *words]
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if refusals.exists():
            raise AssertionError(f"a handler did not get a database: {refusals.read_text().splitlines()[0]}")
    if done.returncode:
        raise AssertionError(f"jobrunner tick exited with {done.returncode}: {done.stderr.strip()}")
    return done


def has_django() -> bool:
    """Whether this is a project of Django with jobrunner in it."""
    # Not imported here: whoever uses it has done so.
    apps: Any = getattr(sys.modules.get("django.apps"), "apps", None)
    return apps is not None and apps.ready and bool(apps.is_installed("jobrunner.contrib.django"))


def _environment(url: str, given: Mapping[str, str], databases: list[str], refusals: Path) -> dict[str, str]:
    """The environment of a tick that knows the handlers of this process."""
    base = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    if has_django():
        from jobrunner.contrib.django import conf, own_databases

        if (problem := own_databases.in_memory()) is not None:
            raise UsageError(problem)
        told = own_databases.to_tell() | {"urls": databases}
        found = base | conf.environment(url) | dict(given) | variables(told, str(refusals))
        return found | {"JOBRUNNER_IMPORT": conf.imports(found["JOBRUNNER_IMPORT"])}
    modules = sorted({each.function.__module__ for each in registered().values()})
    found = {"JOBRUNNER_IMPORT": ",".join(modules), **base, "JOBRUNNER_DATABASE_URL": url, **given}
    told = {
        "urls": [found["JOBRUNNER_DATABASE_URL"], *databases],
        "real": [os.environ[name] for name in DATABASE_URLS if os.environ.get(name)],
    }
    # First, so that it is there before an application opens a connection.
    imports = f"{_GUARD},{found['JOBRUNNER_IMPORT']}".strip(",")
    return found | variables(told, str(refusals)) | {"JOBRUNNER_IMPORT": imports}
