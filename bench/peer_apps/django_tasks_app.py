"""django-tasks with its database backend: `setup`, `fill N`; `db_worker --batch` drains, one job after the other.

At default settings it sleeps for up to a second before it begins. At best it does not, and writes no log.
"""

import os
import sys
from urllib.parse import parse_qsl, unquote, urlsplit

import django
from django.conf import settings
from django.core.management import call_command, execute_from_command_line

url = urlsplit(os.environ["BENCH_URL"])
settings.configure(
    INSTALLED_APPS=["django_tasks_db"],
    TASKS={"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}},
    USE_TZ=True,
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": url.path[1:],
            "USER": unquote(url.username or ""),
            "PASSWORD": unquote(url.password or ""),
            "HOST": dict(parse_qsl(url.query)).get("host", url.hostname or ""),
            "PORT": dict(parse_qsl(url.query)).get("port", url.port or ""),
        }
    },
)


def main(action: str, *words: str) -> None:
    if action == "db_worker":
        execute_from_command_line(sys.argv)
        return
    django.setup()
    if action == "setup":
        call_command("migrate", verbosity=0)
    else:
        from django.db import transaction
        from django_tasks_noop import noop

        with transaction.atomic():
            for _ in range(int(words[0])):
                noop.enqueue()


if __name__ == "__main__":
    main(*sys.argv[1:])
