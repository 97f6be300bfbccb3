"""The settings of an application that asks: those by which ``health`` judges, and where the tables are."""

from collections.abc import Mapping
from datetime import timedelta
from typing import NamedTuple

from jobrunner.settings import config
from jobrunner.settings.health import Thresholds


class Asking(NamedTuple):
    """The only settings that a question needs. ``schema``, ``budget`` and ``linger`` are those of ``Config``."""

    health: Thresholds
    schema: str | None
    budget: timedelta
    linger: timedelta


def for_questions(environ: Mapping[str, str]) -> Asking:
    """The settings of an application that asks. A mistake in another setting must not stop it.

    Raises ConfigurationError.
    """
    reader = config.reader_of_application(environ)
    thresholds = Thresholds(**{name: reader.read(f"health_{name}") for name in Thresholds._fields})
    return Asking(thresholds, reader.read("schema"), reader.read("budget"), reader.read("linger"))
