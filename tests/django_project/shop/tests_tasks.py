"""What the backend of tasks once did wrong."""

import datetime
import sys
from unittest import mock

import django
from django.conf import settings
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connection, connections, transaction
from django.db.transaction import TransactionManagementError
from django.test import SimpleTestCase, TestCase, TransactionTestCase, override_settings
from django.utils import timezone

if django.VERSION >= (6, 0):
    from django import tasks as package
    from django.tasks.exceptions import TaskResultDoesNotExist
else:
    import django_tasks as package
    from django_tasks.exceptions import TaskResultDoesNotExist

from jobrunner import fixed
from jobrunner.application import registry
from jobrunner.application.registry import registered
from jobrunner.contrib.django import conf
from jobrunner.contrib.django.backend import JobrunnerBackend
from jobrunner.jobs import policy
from jobrunner.jobs.job_options import OF_POLICY
from jobrunner.jobs.options import Number
from jobrunner.testing import Jobs
from shop import tasks
from shop.jobs import send_welcome

STATUS = package.TaskResultStatus
OURS = "jobrunner.contrib.django.backend.JobrunnerBackend"


def execute(statement, *values):
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


class Made(JobrunnerBackend):
    """A backend that a project has made of ours."""


class StartTests(SimpleTestCase):
    def test_child_knows_the_tasks_of_a_project_with_a_backend_of_its_own(self):
        for name, expected in ((f"{__name__}.Made", True), (OURS, True), ("nowhere.Backend", False)):
            with override_settings(TASKS={"default": {"BACKEND": name}}):
                assert conf.runs_tasks() is expected, name

    def test_child_knows_a_task_that_is_declared_with_another_backend(self):
        dummy = {"BACKEND": f"{package.__name__}.backends.dummy.DummyBackend"}
        with override_settings(TASKS={"default": dummy, "ours": {"BACKEND": OURS}}):
            tasks.plain = package.task(tasks.plain)
            self.addCleanup(setattr, tasks, "plain", tasks.plain.func)
            assert "shop.tasks.plain" not in registered()
            assert conf.prepare_tasks() is None
            assert "shop.tasks.plain" in registered()


class ReadableTests(TestCase):
    def setUp(self):
        self.jobs = Jobs()

    def test_task_with_any_priority_that_a_person_can_give_is_read_and_run(self):
        result = tasks.add.enqueue(1)
        execute("UPDATE job_runs SET priority = 500")
        result.refresh()
        assert tasks.add.get_result(result.id).task.priority == 500
        assert self.jobs.drain().counts == {"succeeded": 1}
        result.refresh()
        assert result.return_value == 1

    def test_waiting_task_whose_queue_is_taken_out_of_the_settings_is_read_and_run(self):
        result = tasks.tell.enqueue()
        one = {"default": {"BACKEND": OURS, "QUEUES": ["default"]}, "other": settings.TASKS["other"]}
        with override_settings(TASKS=one):
            assert package.task_backends["default"].get_result(result.id).task.queue_name == "mail"
            assert self.jobs.drain().counts == {"succeeded": 1}

    def test_waiting_task_whose_backend_is_taken_out_of_the_settings_is_read_and_run(self):
        result = tasks.add.using(backend="other").enqueue(1)
        for left in ({}, {"other": {"BACKEND": f"{package.__name__}.backends.dummy.DummyBackend"}}):
            with override_settings(TASKS={"default": settings.TASKS["default"], **left}):
                found = tasks.add.get_result(result.id)
                assert (found.backend, found.status) == ("default", STATUS.READY)
                found.refresh()
        with override_settings(TASKS={"default": settings.TASKS["default"]}):
            assert self.jobs.drain().counts == {"succeeded": 1}

    def test_result_of_enqueue_is_the_stored_one(self):
        later = timezone.now() + datetime.timedelta(hours=1)
        for task in (
            tasks.add,
            tasks.add.using(run_after=later, priority=3),
            tasks.tell,
            tasks.add.using(backend="other"),
            tasks.elsewhere,
            tasks.elsewhere.using(backend="default"),
        ):
            result = task.enqueue()
            assert result == task.get_result(result.id), (result, task.get_result(result.id))
            assert result == package.task_backends["default"].get_result(result.id)

    def test_ids_are_those_that_enqueue_gave(self):
        number = tasks.add.enqueue(1).id
        assert tasks.add.get_result(number).id == number
        arabic = "".join(chr(0x660 + int(digit)) for digit in number)
        for wrong in (f"0{number}", f"+{number}", f" {number}", arabic, int(number)):
            with self.assertRaises(TaskResultDoesNotExist):
                tasks.add.get_result(wrong)

    def test_return_value_that_json_or_the_database_cannot_hold_fails_the_task(self):
        for what in ("nan", "infinity", "key", "nul", "surrogate", "long", "bytes", "set"):
            with self.subTest(what):
                result = tasks.give.enqueue(what)
                assert self.jobs.drain(raising=False).counts == {"dead": 1}
                result.refresh()
                assert (result.status, result.attempts) == (STATUS.FAILED, 1)
                (error,) = result.errors
                assert error.exception_class is TypeError
                assert "cannot be kept" in error.traceback

    def test_class_of_an_error_is_the_one_that_was_raised_whatever_its_message_says(self):
        forged = tasks.forge.enqueue("bad\nevil_module.ValueError: b\nshop.evil.ValueError")
        long = tasks.forge.enqueue("x" * 50_000)
        group = tasks.raise_group.enqueue()
        self.jobs.drain(raising=False)
        for result, expected in ((forged, ValueError), (long, ValueError), (group, ExceptionGroup)):
            result.refresh()
            assert result.errors[0].exception_class is expected, result.errors
        assert not {"evil_module", "shop.evil"} & set(sys.modules)

    def test_class_that_is_known_is_not_taken_from_the_traceback(self):
        result = tasks.forge.enqueue("a")
        self.jobs.drain(raising=False)
        execute("UPDATE job_attempts SET error_class = NULL")
        result.refresh()
        assert result.errors[0].exception_class.__name__ == "AttemptEnded"


class OptionsTests(TestCase):
    def test_task_has_the_options_of_the_backend_that_it_is_enqueued_with(self):
        own = {"default": settings.TASKS["default"], "other": settings.TASKS["other"]}
        own["other"] = {**own["other"], "OPTIONS": {"max_attempts": 4, "timeout": "none"}}
        own["third"] = {**own["other"], "OPTIONS": {"timeout": "2m"}}
        with override_settings(TASKS=own):
            ids = [tasks.add.using(backend=name).enqueue(1).id for name in own]
        with connection.cursor() as cursor:
            cursor.execute("SELECT id, max_attempts, timeout FROM job_runs ORDER BY id")
            found = [(str(each), most, limit) for each, most, limit in cursor.fetchall()]
        limits = [limit if limit is None else float(limit) for _, _, limit in found]
        assert [(each, most) for each, most, _ in found] == list(zip(ids, (None, 4, 5), strict=True)), found
        assert limits == [None, 0.0, 120.0], limits

    def test_each_option_of_a_job_type_belongs_to_the_tasks_of_its_backend(self):
        given = {"timeout": "2m", "backoff": fixed("2s"), "kill_after": "9s", "on_stop": "drop", "key_scope": "window"}
        given |= {"key_window": "1d", "rate": "5/s", "rate_per_key": "4/s", "concurrency_key": ("args", "kwargs")}
        given |= {name: 7 for name, row in OF_POLICY.items() if isinstance(row.kind, Number)}
        assert sorted(OF_POLICY.keys() - given.keys()) == ["fair_by", "formerly", "when_full"]
        backend = {**settings.TASKS["default"], "OPTIONS": given}
        known = mock.patch.dict(registry._registered), mock.patch.dict(policy._declared)
        with override_settings(TASKS={"default": backend}), known[0], known[1]:
            registry._registered.pop("shop.tasks.plain", None)
            package.task(getattr(tasks.plain, "func", tasks.plain))
            declared = registered()["shop.tasks.plain"].policy
        assert policy.options_of(declared) == policy.options_of(policy.make_policy("x", **given))

    def test_wrong_options_are_told_by_check_and_refused_by_enqueue(self):
        wrong = ({"timeout": object()}, {"backoff": "2s"}, {"max_attempts": "5"}, {1: 2}, {"when_full": "drop"})
        # Of a task's own arguments no claim knows anything: all its runs would have one key.
        for options in ([], None, *wrong, {"concurrency_key": "x"}, {"burst": 5}):
            backend = {**settings.TASKS["default"], "OPTIONS": options}
            with override_settings(TASKS={**settings.TASKS, "default": backend}):
                found = [each for each in run_checks() if each.id.startswith("jobrunner.")]
                assert len(found) == 1, (options, found)
                assert "TASKS['default']" in found[0].msg
                with self.assertRaisesMessage(ImproperlyConfigured, found[0].msg):
                    tasks.add.enqueue(1)

    def test_database_of_the_options_is_that_of_jobrunner(self):
        for name, words in (("nowhere", "which DATABASES lacks"), ("legacy", "the ticks are in 'default'")):
            backend = {**settings.TASKS["default"], "OPTIONS": {"DATABASE": name}}
            with (
                mock.patch.dict(connections.settings, {"legacy": connections.settings["default"]}),
                override_settings(TASKS={**settings.TASKS, "default": backend}),
            ):
                found = [each for each in run_checks() if each.id == "jobrunner.E007"]
                assert words in found[0].msg, found
                with self.assertRaises(ImproperlyConfigured):
                    tasks.add.enqueue(1)


class ContractTests(TransactionTestCase):
    """Django's own rules for connections."""

    def setUp(self):
        self.addCleanup(Jobs().clear)

    def test_block_that_is_marked_for_rollback_takes_no_run(self):
        with transaction.atomic():
            transaction.set_rollback(True)
            with self.assertRaises(TransactionManagementError):
                send_welcome.enqueue(connection, email="ada")
            with self.assertRaises(TransactionManagementError):
                tasks.add.enqueue(1)
        assert Jobs().all() == []

    def test_errors_of_the_driver_come_as_those_of_django(self):
        execute("ALTER TABLE job_runs RENAME TO hidden")
        try:
            with self.assertRaises(DatabaseError), transaction.atomic():
                send_welcome.enqueue(connection, email="ada")
            with self.assertRaises(DatabaseError), transaction.atomic():
                tasks.add.enqueue(1)
        finally:
            execute("ALTER TABLE hidden RENAME TO job_runs")


class FirstTests(TransactionTestCase):
    """Leaves the connection open for the class after it."""

    def test_connection_is_open(self):
        connection.ensure_connection()


class WithoutDatabases(SimpleTestCase):
    def test_test_that_may_not_use_the_database_leaves_no_run_behind(self):
        for write in (lambda: send_welcome.enqueue(connection, email="ada"), lambda: tasks.add.enqueue(1)):
            with self.assertRaisesMessage(AssertionError, "Database"):
                write()
