"""Imports the handler modules of a child, and answers what the parent has asked for in its ``Hello``."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

from jobrunner.application.job import Job
from jobrunner.application.registry import registered, serving
from jobrunner.children.inside.reports import Send
from jobrunner.children.messages import Hello, ImportFailed, Importing, Ready
from jobrunner.errors import BadPayload, ConfigurationError
from jobrunner.jobs.payload import check_match
from jobrunner.jobs.policy import as_data


def import_handlers(hello: Hello, send: Send) -> Ready | ImportFailed:
    """Import the modules, and say by ``send`` which one is next; returns the answer to the parent."""
    if hello.app_dir:
        if not os.path.isdir(hello.app_dir):
            return ImportFailed(f"JOBRUNNER_APP_DIR {hello.app_dir} is not a folder")
        sys.path.insert(0, hello.app_dir)
    pid = os.getpid()
    for module in hello.imports:
        send(Importing(module))
        try:
            _check_module_name(module)
            importlib.import_module(module)
        except BaseException as error:  # noqa: BLE001 - a module may also exit while imported
            from jobrunner.children.inside import failures

            return failures.of_import(error)
        finally:
            if os.getpid() != pid:
                # This is a copy that the module has forked. It must not take runs from the channel of the child.
                os._exit(0)
    schedules: list[dict[str, Any]] = []
    for name, job in registered().items():
        try:
            if name in hello.reserved:
                raise ConfigurationError(f"{name!r} is a handler and also a command of jobrunner.toml; rename one")
            if former := sorted({*job.policy.formerly}.intersection(hello.reserved)):
                taken = f"{former[0]!r} is a command of jobrunner.toml and a former name (formerly) of {name!r}"
                raise ConfigurationError(f"{taken}; remove one of the two")
            # Annotations may name what another module defines.
            job.resolve()
            schedules += _schedules(job) if hello.schedules else ()
        except (BadPayload, ConfigurationError) as error:
            from jobrunner.children.inside import failures

            return failures.of_handler(error, job.function)
    policies = [as_data(job.policy) for job in registered().values()]
    return Ready(policies, schedules, [_misfit(job_type, payload) for job_type, payload in hello.payloads])


def _misfit(job_type: str, payload: dict[str, Any]) -> str | None:
    """Why the payload does not fit the handler of this type. None means that it fits, or that there is no handler."""
    job = serving().get(job_type)
    try:
        if job is not None:
            check_match(job_type, job.check, payload)
    except BadPayload as error:
        return str(error)
    return None


def _schedules(job: Job[Any, Any]) -> list[dict[str, Any]]:
    """The schedules of a handler, as data.

    Raises BadPayload. The payloads are checked here, because all annotations can be read only after the imports.
    """
    from jobrunner.schedules import declare

    found = []
    for each in job.schedules:
        try:
            check_match(job.name, job.check, each.payload)
        except BadPayload as error:
            raise BadPayload(f"the schedule {each.name!r}: {error}") from None
        found.append(declare.as_data(each))
    return found


def _check_module_name(name: str) -> None:
    # The import system would answer `../jobs` or `a..b` with an error about packages, which does not help.
    if not all(part.isidentifier() for part in name.split(".")):
        raise ConfigurationError("that is not the name of a module; write it as in an import, e.g. myapp.jobs")
