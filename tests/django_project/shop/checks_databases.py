"""Tests of a developer whose handlers run in real ticks. Named so that they run only when they are asked for."""

import os

from django.core.management import call_command
from django.db import connection, connections, transaction
from django.test import TransactionTestCase, override_settings

from jobrunner.contrib.django.conf import url_of
from jobrunner.errors import UsageError
from jobrunner.testing import Jobs
from shop.jobs import mail_and_welcome, send_welcome, welcome_all, welcome_by_library
from shop.models import Account


def enqueue(handler, **payload):
    with transaction.atomic():
        handler.enqueue(connection, **payload)


class TickTests(TransactionTestCase):
    databases = {"default", "legacy"}

    def setUp(self):
        self.jobs = Jobs()
        self.addCleanup(self.jobs.clear)
        Account.objects.create(email="ada")

    def statuses(self):
        return [(run.status, run.last_error) for run in self.jobs.all()]

    def test_child_works_in_the_databases_of_the_test(self):
        print("tested on", connection.settings_dict["NAME"])
        Account.objects.using("legacy").create(email="eve")
        enqueue(send_welcome, email="ada")
        enqueue(welcome_all, databases=["legacy"])
        self.jobs.tick()
        assert self.statuses() == [("succeeded", None)] * 2, self.statuses()
        assert Account.objects.get().welcomed
        assert Account.objects.using("legacy").get().welcomed

    def test_tick_of_call_command_does_so_too_and_settings_of_a_test_are_in_nobodys_way(self):
        enqueue(send_welcome, email="ada")
        with override_settings(TIME_ZONE="UTC"), self.settings(LANGUAGE_CODE="de"):
            call_command("jobrunner", "tick")
        assert self.statuses() == [("succeeded", None)], self.statuses()
        assert Account.objects.get().welcomed
        enqueue(send_welcome, email="ada")
        with override_settings(TIME_ZONE="UTC"):
            self.jobs.tick()
        assert self.statuses() == [("succeeded", None)] * 2, self.statuses()

    def test_database_that_the_test_may_not_use_is_closed_for_its_children(self):
        enqueue(welcome_all, databases=["real"])
        with self.assertRaisesRegex(AssertionError, r"DATABASES\['real'\].*does not name it in its databases"):
            self.jobs.tick()
        ((status, error),) = self.statuses()
        assert status == "dead"
        assert "does not name it in its databases" in error

    def test_mails_of_a_child_are_not_sent(self):
        enqueue(mail_and_welcome, email="ada")
        self.jobs.tick()
        assert self.statuses() == [("succeeded", None)], self.statuses()


class OtherTickTests(TickTests):
    """For a parallel runner, which gives each of its processes some classes."""


class LibraryTests(TransactionTestCase):
    databases = {"default", "legacy"}
    setUp, statuses = TickTests.setUp, TickTests.statuses

    def test_connection_of_a_handlers_own_leads_to_a_database_of_the_test_or_is_refused(self):
        own, real, further = url_of(connection), os.environ["REAL_URL"], os.environ["FURTHER_URL"]
        for library in os.environ["LIBRARIES"].split():
            for url in (own, real, further):
                words = url.replace("postgresql:", "postgresql+psycopg:") if library == "sqlalchemy" else url
                enqueue(welcome_by_library, library=library, url=words)
        with self.assertRaisesRegex(AssertionError, "would open .*not the database of the test"):
            self.jobs.tick(databases=[further])
        for run in self.jobs.all():
            is_real = run.payload["url"].rpartition("/")[2] == real.rpartition("/")[2]
            assert run.status == ("dead" if is_real else "succeeded"), (run.payload, self.statuses())
        assert Account.objects.get().welcomed


class MemoryTests(TransactionTestCase):
    databases = {"default", "memory"}

    def test_tick_is_refused_if_a_database_of_the_test_is_in_memory(self):
        connections["memory"].ensure_connection()
        with self.assertRaisesRegex(UsageError, r"DATABASES\['memory'\] is in memory.*TEST.*NAME"):
            Jobs().tick()


class RealTests(TransactionTestCase):
    """Started by a runner that makes no databases of tests."""

    def test_tick_is_refused_on_a_real_database(self):
        enqueue(send_welcome, email="ada")
        with self.assertRaisesRegex(AssertionError, r"DATABASES\['default'\].*is not a database of tests"):
            Jobs().tick()
        assert [run.status for run in Jobs().all()] == ["queued"]

    def _fixture_teardown(self):
        """Leave the database as it is."""
