"""Tasks of Django, with nothing of jobrunner in them."""

from datetime import datetime

import django

if django.VERSION >= (6, 0):
    from django.tasks import TaskContext, task
else:
    from django_tasks import TaskContext, task

from shop.models import Account


class Unhappy(Exception):
    pass


@task
def add(one, other=0):
    return one + other


@task(takes_context=True, priority=7, queue_name="mail")
def tell(context: TaskContext, *, fails=0):
    if context.attempt <= fails:
        raise Unhappy(f"attempt {context.attempt}")
    return [context.attempt, context.task_result.id]


@task
async def welcome(email):
    await Account.objects.filter(email=email).aupdate(welcomed=True)
    return (email, b"bytes")


@task
def unkept():
    return datetime(2026, 1, 1)


@task(backend="other")
def elsewhere():
    return None


def plain():
    return None


@task
def give(what):
    """Return what JSON cannot bring here."""
    return {
        "nan": float("nan"),
        "infinity": [float("inf")],
        "key": {1: 2},
        "nul": "a\0b",
        "surrogate": {"a": "\ud800"},
        "long": "x" * 300_000,
        "bytes": b"\xff",
        "set": {1},
    }[what]


@task
def forge(message):
    raise ValueError(message)


@task
def raise_group():
    raise ExceptionGroup("several", [ValueError("a"), Unhappy("b")])
