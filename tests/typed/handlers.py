"""The handlers of the typing tests."""

from __future__ import annotations

from datetime import datetime

from jobrunner import Context, job


@job
def send(ctx: Context, user_id: int, note: str = "", *, urgent: bool = False) -> str:
    return f"{user_id} {note} {urgent}"


@job("fetch", max_attempts=3, timeout="60s")
async def fetch(ctx: Context, url: str, when: datetime | None) -> int:
    return len(url)


@job()
def clean_up(ctx: Context) -> None: ...


@job(schedule="@daily")
async def collect(ctx: Context, names: list[str], **others: int) -> None: ...


def no_context() -> None: ...


def wrong_context(ctx: int, user_id: int) -> None: ...
