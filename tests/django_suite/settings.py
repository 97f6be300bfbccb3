"""A project whose only app is the folder of Django's own tests of tasks."""

import json
import os

import django

SECRET_KEY = "only for tests"
USE_TZ = True
DATABASES = {"default": json.loads(os.environ["DATABASE"])}
INSTALLED_APPS = [*([] if django.VERSION >= (6, 0) else ["django_tasks"]), "tasks", "jobrunner.contrib.django"]
# For the children of ticks, which do not know what a test overrides.
TASKS = {
    "default": {"BACKEND": "adapters.ImmediateBackend", "QUEUES": []},
    "immediate": {"BACKEND": "adapters.ImmediateBackend", "QUEUES": []},
}
