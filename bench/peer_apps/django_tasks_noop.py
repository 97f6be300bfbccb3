"""The job of django_tasks_app.py, in a module that its worker can import."""

try:
    from django.tasks import task
except ImportError:  # before Django 6
    from django_tasks import task


@task()
def noop() -> None:
    pass
