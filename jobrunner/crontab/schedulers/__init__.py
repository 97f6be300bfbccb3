"""Imports the schedules of Celery beat, APScheduler and django-crontab: a child reads them, pure code converts them."""
