"""A backend for Django's tasks: ``django.tasks`` of Django 6, or the backport ``django_tasks`` before.

A task is a run whose job type is the path of the task's function, with the payload ``{"args": [], "kwargs": {}}``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from django.apps import apps
from django.core.checks import CheckMessage, Error
from django.core.exceptions import ImproperlyConfigured
from django.db import connections, transaction

import jobrunner
from jobrunner.application.registry import registered
from jobrunner.contrib.django import conf, package, results
from jobrunner.contrib.django.attempts import handler_of
from jobrunner.contrib.django.results import AttemptEnded, ReturnValueNotJson
from jobrunner.errors import UsageError
from jobrunner.jobs.job_options import OF_POLICY
from jobrunner.jobs.policy import make_policy
from jobrunner.jobs.run_options import OF_RUN
from jobrunner.model import Policy
from jobrunner.store.callers.callers_transaction import joined
from jobrunner.store.questions.runs import run_details

__all__ = ["AttemptEnded", "JobrunnerBackend", "ReturnValueNotJson"]

_OPTIONS = ("DATABASE", *(name for name in OF_POLICY if name not in ("when_full", "formerly")))
"""A run that is dropped has no id, and Django's enqueue answers with one. A former name belongs to one function."""
_OF_A_RUN = tuple(name for name in OF_POLICY if name in OF_RUN)
_ARGUMENTS = {"args", "kwargs"}


class JobrunnerBackend(package.BaseTaskBackend):
    """Enqueues tasks as runs, in the transaction that is open on Django's connection.

    ``OPTIONS`` may hold ``DATABASE`` and the options of a job type but ``when_full`` and ``formerly``. Each task has
    those of the backend that it is declared with. A task that ``using`` gives to another one has max_attempts and
    timeout of that one: they belong to the run, and the others to the function.
    """

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True
    is_of_jobrunner = True

    def __init__(self, alias: str, params: Mapping[str, Any]) -> None:
        super().__init__(alias, params)
        self._given: Any = self.options
        # check() tells of what is no dictionary.
        self.options: Mapping[str, Any] = self._given if isinstance(self._given, Mapping) else {}

    @property
    def connection(self) -> Any:
        """Django's connection to the database that holds jobrunner's tables."""
        return connections[conf.alias()]

    def validate_task(self, task: Any) -> None:
        """Raise InvalidTask, as Django says; a valid task becomes a handler of this process."""
        super().validate_task(task)
        self.register(task)

    def register(self, task: Any) -> None:
        """Make a task a handler of this process, unless it is one."""
        # When the task is declared, so that a child that has imported its module knows it.
        if task.module_path not in registered():
            # Wrong options are told by check(), and refused by enqueue and in a child: not here, at an import.
            policy = {} if self.problem else self._policy_options
            jobrunner.job(task.module_path, discard_on=ReturnValueNotJson, **policy)(handler_of(task, self))

    def enqueue(self, task: Any, args: Any, kwargs: Any) -> Any:
        """Enqueue a run. It appears if and only if the open transaction commits; without one, at once."""
        self.validate_task(task)
        if self.problem:
            raise ImproperlyConfigured(self.problem)
        # This normalizes the arguments, and refuses what JSON does not know.
        result = results.empty(task, self.alias, args, kwargs)
        payload = {"args": result.args, "kwargs": result.kwargs, **results.chosen(task, self.alias)}
        options = {"priority": int(task.priority), **self._options_of_run(task)}
        if task.run_after is not None:
            options["run_at"] = results.aware(task.run_after)
        used = self.connection
        # A savepoint, or a transaction of its own: on_commit would lose the run of a process that dies in between.
        with transaction.atomic(using=used.alias):
            run = jobrunner.enqueue(used, task.module_path, payload, **options)
            with joined(used) as connection:
                created_at = run_details.created_at(connection, run.id)
        results.put(result, id=str(run.id), enqueued_at=results.as_django_has_it(created_at))
        package.signals.task_enqueued.send(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> Any:
        """The task of this id. Raises TaskResultDoesNotExist."""
        # As the id was given: int() also reads "054", and digits of other scripts.
        is_number = isinstance(result_id, str) and result_id.isascii() and result_id.isdecimal()
        found = None
        if is_number and len(result_id) < 19 and str(int(result_id)) == result_id:
            found = self.find(int(result_id))
        if found is None:
            raise package.exceptions.TaskResultDoesNotExist(result_id)
        return found

    def find(self, run_id: int) -> Any:
        """The result of a run. None means that there is none, or that it is of no task."""
        with joined(self.connection) as connection:
            run = run_details.show(connection, run_id)
        return None if run is None else results.of_run(run, self.alias)

    def check(self, **_: Any) -> Iterable[CheckMessage]:
        """What ``manage.py check`` says of the settings of this backend."""
        if not apps.is_installed("jobrunner.contrib.django"):
            yield Error('add "jobrunner.contrib.django" to INSTALLED_APPS', id="jobrunner.E004")
        for number, problem in self._problems():
            yield Error(problem, id=f"jobrunner.{number}")

    @property
    def problem(self) -> str | None:
        """What is wrong with the settings of this backend. None: nothing."""
        return next((problem for _, problem in self._problems()), None)

    def _problems(self) -> Iterator[tuple[str, str]]:
        where = f"TASKS[{self.alias!r}]"
        if not isinstance(self._given, Mapping):
            yield "E008", f"{where}: OPTIONS must be a dictionary, not {type(self._given).__name__}"
        if unknown := sorted(map(str, set(self.options) - {*_OPTIONS})):
            yield "E005", f"{where}: unknown in OPTIONS: {unknown[0]}; there are: {', '.join(_OPTIONS)}"
        if isinstance(self._policy, str):
            yield "E006", f"{where}: {self._policy}"
        elif (limits := self._policy.limits) and not _ARGUMENTS.issuperset(limits.key):
            option = "concurrency_key" if limits.concurrency_key else "fair_by"
            yield "E006", f"{where}: {option}: a task has the arguments {' and '.join(sorted(_ARGUMENTS))} only"
        named = self.options.get("DATABASE", conf.alias())
        if named not in connections:
            yield "E007", f"{where}: OPTIONS names the database {named!r}, which DATABASES lacks"
        elif named != conf.alias():
            problem = f"OPTIONS names the database {named!r}, and the tables and the ticks are in {conf.alias()!r}"
            yield "E007", f'{where}: {problem}; say the same in JOBRUNNER = {{"DATABASE": ...}}, or leave it out'

    @property
    def _policy_options(self) -> dict[str, Any]:
        return {name: self.options[name] for name in _OPTIONS[1:] if name in self.options}

    @cached_property
    def _policy(self) -> Policy | str:
        """The policy that the options make, or why they make none."""
        try:
            return make_policy("check", **self._policy_options)
        except UsageError as error:
            return str(error)

    def _options_of_run(self, task: Any) -> dict[str, Any]:
        """The options of this backend that differ from those with which the function was registered."""
        declared, own = registered()[task.module_path].policy, self._policy
        differing = {name: getattr(own, name) for name in _OF_A_RUN if getattr(own, name) != getattr(declared, name)}
        return {name: "none" if value is None else value for name, value in differing.items()}
