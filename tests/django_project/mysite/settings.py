"""A small project. The test puts its database into DATABASE, as JSON."""

import json
import os

import django

SECRET_KEY = "only for tests"
DEBUG = True
ALLOWED_HOSTS = ["*"]
USE_TZ = os.environ.get("USE_TZ") != "no"
TIME_ZONE = "Europe/Berlin"
ROOT_URLCONF = "shop.urls"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {"default": json.loads(os.environ["DATABASE"]), **json.loads(os.environ.get("MORE_DATABASES", "{}"))}
HAS_TASKS = django.VERSION >= (6, 0)
INSTALLED_APPS = [*([] if HAS_TASKS else ["django_tasks"]), "shop", "jobrunner.contrib.django"]
TASKS = {
    "default": {
        "BACKEND": "jobrunner.contrib.django.backend.JobrunnerBackend",
        "QUEUES": ["default", "mail"],
        "OPTIONS": {"max_attempts": 2},
    },
    "other": {"BACKEND": "jobrunner.contrib.django.backend.JobrunnerBackend", "QUEUES": []},
}
