"""The tests that a developer of this project would write, and what Django says a backend must do."""

import datetime
import platform
import subprocess
import sys
import time
from unittest import mock

import django
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.test import SimpleTestCase, TestCase, TransactionTestCase, override_settings
from django.utils import timezone

if django.VERSION >= (6, 0):
    from django import tasks as package
    from django.tasks import signals
    from django.tasks.base import Task
    from django.tasks.exceptions import InvalidTask, TaskResultDoesNotExist, TaskResultMismatch
else:
    import django_tasks as package
    from django_tasks import signals
    from django_tasks.base import Task
    from django_tasks.exceptions import InvalidTaskError as InvalidTask
    from django_tasks.exceptions import TaskResultDoesNotExist, TaskResultMismatch

from jobrunner.errors import UsageError
from jobrunner.testing import Jobs
from shop import tasks
from shop.jobs import fail, send_welcome, welcome_async
from shop.models import Account

STATUS = package.TaskResultStatus
print(f"used: Python {platform.python_version()}, Django {django.__version__}, {package.__name__}, {connection.vendor}")


class KitTests(TestCase):
    """Twice, so that the second shows that nothing of the first is left."""

    def setUp(self):
        self.jobs = Jobs()

    def test_view_enqueues_in_its_own_transaction(self):
        for _ in range(2):
            with self.jobs.enqueued() as made:
                answer = self.client.get("/users/", {"email": "ada@example.com"})
            assert (answer.status_code, len(made)) in [(200, 1), (409, 0)], (answer.status_code, made)
        run = self.jobs.assert_enqueued(send_welcome, email="ada@example.com")
        assert run.status == "queued"
        assert [each.result for each in self.jobs.drain()] == ["welcome ada@example.com"]
        self.jobs.refute_enqueued(send_welcome)
        assert Account.objects.get().welcomed

    test_nothing_is_left_for_the_second_test = test_view_enqueues_in_its_own_transaction

    def test_handler_that_raises_leaves_nothing_and_is_tried_again_later(self):
        fail.enqueue(connection)
        with self.assertRaisesRegex(RuntimeError, "as asked"):
            self.jobs.drain()
        assert not Account.objects.exists()
        assert self.jobs.drain().attempts == []
        self.jobs.move_clock("2h")
        assert self.jobs.drain(raising=False).counts == {"dead": 1}

    def test_async_handler_and_savepoint(self):
        Account.objects.create(email="eve")
        with transaction.atomic():
            welcome_async.enqueue(connection, email="eve")
            with self.assertRaises(ZeroDivisionError), transaction.atomic():
                send_welcome.enqueue(connection, email="eve")
                1 / 0  # noqa: B018
        assert [each.job_type for each in self.jobs.drain()] == ["welcome_async"]
        assert Account.objects.get().welcomed

    def test_kit_is_quick(self):
        took = []
        for _ in range(10):
            began = time.process_time()
            send_welcome.enqueue(connection, email="nobody")
            self.jobs.drain(raising=False)
            took.append(time.process_time() - began)
        assert min(took) < 0.03


class CommittedTests(TransactionTestCase):
    def setUp(self):
        self.jobs = Jobs()
        self.addCleanup(self.jobs.clear)

    def test_kit_works_without_an_open_transaction_and_a_tick_is_a_process(self):
        with self.assertRaises(UsageError):
            send_welcome.enqueue(connection, email="ada")
        Account.objects.create(email="ada")
        result = tasks.add.enqueue(1, other=2)
        with transaction.atomic():
            send_welcome.enqueue(connection, email="ada")
        assert {each.job_type for each in self.jobs.drain()} == {"send_welcome", "shop.tasks.add"}
        result.refresh()
        assert (result.status, result.return_value) == (STATUS.SUCCESSFUL, 3)
        if connection.vendor == "sqlite":
            with self.assertRaisesRegex(UsageError, "in memory"):
                self.jobs.tick()
            return
        result = tasks.welcome.enqueue("ada")
        failing = tasks.tell.enqueue(fails=2)
        self.jobs.tick()
        result.refresh()
        failing.refresh()
        assert (result.status, result.return_value) == (STATUS.SUCCESSFUL, ["ada", "bytes"])
        assert (failing.status, failing.attempts, failing.errors[0].exception_class) == (STATUS.READY, 1, tasks.Unhappy)
        assert "in tell" in failing.errors[0].traceback

    def test_command_works_on_the_database_of_the_settings(self):
        if connection.vendor == "sqlite":
            return
        assert "up to date" in call_command("jobrunner", "migrate")
        with self.assertRaisesRegex(CommandError, "No such command"):
            call_command("jobrunner", "nonsense")


class BackendTests(TestCase):
    """What the documentation of BaseTaskBackend, Task and TaskResult names."""

    def setUp(self):
        self.jobs = Jobs()
        self.backend = package.task_backends["default"]
        self.sent = []
        for name in ("task_enqueued", "task_started", "task_finished"):
            signal = getattr(signals, name)

            def receive(sender, task_result, name=name, **kwargs):
                self.sent.append((name, sender, task_result.status, sys.exc_info()[0]))

            signal.connect(receive, weak=False, dispatch_uid=name)
            self.addCleanup(signal.disconnect, dispatch_uid=name)

    def test_flags_say_what_the_backend_can_do(self):
        for name in ("supports_defer", "supports_async_task", "supports_get_result", "supports_priority"):
            assert getattr(self.backend, name) is True, name
        assert list(self.backend.check()) == []

    def test_task_is_run_and_its_result_can_be_read(self):
        result = tasks.add.enqueue(1, other=2)
        assert (result.status, result.attempts, result.errors, result.is_finished) == (STATUS.READY, 0, [], False)
        assert (result.args, result.kwargs, result.backend) == ([1], {"other": 2}, "default")
        assert isinstance(result.id, str)
        assert 0 < len(result.id) < 64
        assert timezone.is_aware(result.enqueued_at) is django.conf.settings.USE_TZ
        with self.assertRaisesRegex(ValueError, "not finished"):
            _ = result.return_value
        with mock.patch.object(django.utils.timezone, "now", lambda: result.enqueued_at):
            assert [each.status for each in self.jobs.drain()] == ["succeeded"]
        assert (result.status, tasks.add.get_result(result.id).return_value) == (STATUS.READY, 3)
        result.refresh()
        assert (result.status, result.return_value, result.is_finished) == (STATUS.SUCCESSFUL, 3, True)
        assert result.enqueued_at <= result.started_at <= result.finished_at
        assert (result.last_attempted_at, len(result.worker_ids)) == (result.started_at, 1)
        sender = type(self.backend)
        assert self.sent == [
            ("task_enqueued", sender, STATUS.READY, None),
            ("task_started", sender, STATUS.RUNNING, None),
            ("task_finished", sender, STATUS.SUCCESSFUL, None),
        ]

    def test_task_that_raises_is_ready_until_its_last_attempt_and_then_failed(self):
        result = tasks.tell.enqueue(fails=2)
        self.jobs.drain(raising=False)
        result.refresh()
        assert (result.status, result.attempts, result.finished_at) == (STATUS.READY, 1, None)
        self.jobs.move_clock("1h")
        self.jobs.drain(raising=False)
        result.refresh()
        assert (result.status, result.attempts) == (STATUS.FAILED, 2)
        assert [each.exception_class for each in result.errors] == [tasks.Unhappy] * 2
        assert "Unhappy: attempt 2" in result.errors[1].traceback
        with self.assertRaisesRegex(ValueError, "failed"):
            _ = result.return_value
        names = [(name, status, raised) for name, _, status, raised in self.sent]
        assert names[1:] == [
            ("task_started", STATUS.RUNNING, None),
            ("task_started", STATUS.RUNNING, None),
            ("task_finished", STATUS.FAILED, tasks.Unhappy),
        ]

    def test_context_has_the_attempt_and_the_result(self):
        result = tasks.tell.enqueue(fails=1)
        self.jobs.drain(raising=False)
        self.jobs.move_clock("1h")
        self.jobs.drain()
        result.refresh()
        assert result.return_value == [2, result.id]
        assert (result.task.queue_name, result.task.priority, result.task.takes_context) == ("mail", 7, True)

    def test_return_value_that_is_no_json_fails_the_task_for_good(self):
        result = tasks.unkept.enqueue()
        assert self.jobs.drain(raising=False).counts == {"dead": 1}
        result.refresh()
        assert (result.status, result.errors[0].exception_class) == (STATUS.FAILED, TypeError)

    def test_coroutine_is_run(self):
        Account.objects.create(email="ada")
        result = tasks.welcome.enqueue("ada")
        self.jobs.drain()
        result.refresh()
        assert result.return_value == ["ada", "bytes"]
        assert Account.objects.get().welcomed

    async def test_asynchronous_methods_do_the_same(self):
        result = await tasks.add.aenqueue(2)
        again = await tasks.add.aget_result(result.id)
        await again.arefresh()
        assert (again.id, again.args, again.kwargs, again.status) == (result.id, [2], {}, STATUS.READY)

    def test_run_after_and_priority_are_those_of_the_run(self):
        later = timezone.now() + datetime.timedelta(hours=2)
        deferred = tasks.add.using(run_after=later, priority=-3).enqueue(1)
        assert self.jobs.drain().attempts == []
        (run,) = self.jobs.all(tasks.add)
        assert run.priority == -3
        found = tasks.add.get_result(deferred.id)
        assert (found.task.run_after, found.task.priority) == (later, -3)
        first = tasks.add.using(priority=100).enqueue(2)
        self.jobs.move_clock("3h")
        assert [each.run_id for each in self.jobs.drain()] == [int(first.id), run.id]

    def test_transaction_that_is_rolled_back_leaves_no_task(self):
        with self.assertRaises(ZeroDivisionError), transaction.atomic():
            result = tasks.add.enqueue(1)
            1 / 0  # noqa: B018
        with self.assertRaises(TaskResultDoesNotExist):
            tasks.add.get_result(result.id)

    def test_task_that_cannot_be_run_is_refused(self):
        def local():
            pass

        for wrong in (
            {"func": local},
            {"func": lambda: None},
            {"func": tasks.plain, "takes_context": True},
            {"func": tasks.plain, "priority": 101},
            {"func": tasks.plain, "priority": -101},
            {"func": tasks.plain, "priority": 1.5},
            {"func": tasks.plain, "queue_name": "nowhere"},
        ):
            with self.assertRaises(InvalidTask):
                # Before 6.1 Django's class has no defaults.
                Task(**{"priority": 0, "backend": "default", "queue_name": "default", "run_after": None, **wrong})
        if django.conf.settings.USE_TZ:
            with self.assertRaises(InvalidTask):
                tasks.add.using(run_after=datetime.datetime(2026, 1, 1))
        assert tasks.elsewhere.using(queue_name="any").enqueue().backend == "other"

    def test_arguments_are_what_json_knows(self):
        assert tasks.add.enqueue((1, b"two"), other={"three": [None]}).args == [[1, "two"]]
        for wrong in (datetime.datetime(2026, 1, 1), object(), {1, 2}):
            with self.assertRaises(TypeError):
                tasks.add.enqueue(wrong)

    def test_result_of_another_task_or_of_none_is_refused(self):
        result = tasks.add.enqueue(1)
        with self.assertRaises(TaskResultMismatch):
            tasks.tell.get_result(result.id)
        with self.assertRaises(TaskResultMismatch):
            tasks.tell.using(priority=3).get_result(result.id)
        job = send_welcome.enqueue(connection, email="ada")
        for missing in ("0", "999999", "x", "", "-1", str(job.id), "9" * 30):
            with self.assertRaises(TaskResultDoesNotExist):
                tasks.add.get_result(missing)

    def test_result_of_a_cancelled_task_has_failed(self):
        result = tasks.add.enqueue(1)
        with connection.cursor() as cursor:
            cursor.execute("UPDATE job_runs SET status = 'cancelled', finished_at = updated_at")
        result.refresh()
        assert (result.status, result.is_finished, result.attempts) == (STATUS.FAILED, True, 0)


class SettingsTests(SimpleTestCase):
    def test_mistakes_are_found_by_check(self):
        mistakes = [
            ({"JOBRUNNER": {"DATABSE": "x"}}, "E001"),
            ({"JOBRUNNER": {"DATABASE": "x"}}, "E002"),
            ({"TASKS": {"default": {**django.conf.settings.TASKS["default"], "OPTIONS": {"attempts": 1}}}}, "E005"),
            ({"TASKS": {"default": {**django.conf.settings.TASKS["default"], "OPTIONS": {"timeout": 0}}}}, "E006"),
        ]
        from django.core.checks import run_checks

        for settings, number in mistakes:
            with override_settings(**settings):
                found = [each.id for each in run_checks()]
            assert f"jobrunner.{number}" in found, (settings, found)

    def test_tasks_can_be_declared_before_the_apps_are_loaded(self):
        program = "import os; os.environ['DJANGO_SETTINGS_MODULE'] = 'mysite.settings'; import django\n"
        program += f"from {package.__name__} import task, task_backends\ndef f(): pass\n"
        program += "f.__module__ = 'somewhere'\nprint(task(f).module_path)"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert (done.stdout, done.stderr) == ("somewhere.f\n", ""), done.stderr
