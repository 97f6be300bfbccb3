"""Crontabs that are taken over, and what became of their only line."""

from typing import Any

from jobrunner.crontab.convert import take_over
from jobrunner.crontab.import_records import Host, Job, Takeover
from jobrunner.crontab.parse import read

HOST = Host("app", "/home/app", "Europe/Berlin")


def taken(text: str, *, has_user: bool = False, host: Host = HOST) -> Takeover:
    return take_over(read(text.encode(), has_user=has_user), host)


def job(text: str, **options: Any) -> Job:
    found = taken(text, **options)
    (only,) = found.jobs
    return only


def refusal(text: str, **options: Any) -> tuple[int, str]:
    found = taken(text, **options)
    assert found.jobs == ()
    (only,) = found.refused
    return only.line, only.text


def about(text: str, line: int) -> str:
    return next(remark.text for remark in taken(text).remarks if remark.line == line)
