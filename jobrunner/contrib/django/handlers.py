"""What a child imports to know the handlers of a Django project: sets Django up, which imports those of all apps."""

import django
from django.apps import apps

from jobrunner.contrib.django import conf
from jobrunner.errors import ConfigurationError

if not apps.ready:
    django.setup()
if not apps.is_installed("jobrunner.contrib.django"):
    raise ConfigurationError('add "jobrunner.contrib.django" to INSTALLED_APPS')
if (problem := conf.prepare_tasks()) is not None:
    raise ConfigurationError(problem)
