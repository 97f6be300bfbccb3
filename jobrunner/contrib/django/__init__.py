"""The Django app: add ``"jobrunner.contrib.django"`` to ``INSTALLED_APPS`` (docs/howto/django.md)."""
