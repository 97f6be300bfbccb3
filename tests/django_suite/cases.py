"""The class of Django's tests here: in a transaction that is rolled back, or with committed rows for ticks."""

from adapters import BY_TICKS
from django.test import TestCase, TransactionTestCase

from jobrunner.testing import Jobs


class DatabaseTestCase(TransactionTestCase if BY_TICKS else TestCase):
    def setUp(self):
        super().setUp()
        if BY_TICKS:
            self.addCleanup(Jobs().clear)
