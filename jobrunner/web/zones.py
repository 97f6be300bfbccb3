"""The time zone in which an operator sees all instants: UTC, or what a cookie of the dashboard says."""

from __future__ import annotations

from datetime import tzinfo

from jobrunner.errors import BadSchedule
from jobrunner.schedules import timezones
from jobrunner.web.messages import Request, cookies_of

COOKIE = "jobrunner_zone"
_LONGEST_NAME = 60
_KEPT_SECONDS = 400 * 24 * 3600


def zone_of(request: Request) -> tzinfo:
    """The zone that the visitor has chosen. A cookie that is none of ours means UTC."""
    try:
        found = cookies_of(request).get(COOKIE, "")
        return timezones.find(found if 0 < len(found) <= _LONGEST_NAME else "UTC")
    except BadSchedule:
        return timezones.find("UTC")


def cookie(name: str, scheme: str) -> str:
    """What the browser is to keep. Raises BadSchedule if there is no such zone."""
    if len(name) > _LONGEST_NAME:
        raise BadSchedule(f"{name[:_LONGEST_NAME]!r}... is no time zone")
    timezones.find(name)
    # Without a path, as the cookie of the session: it is for the place where the dashboard is mounted.
    kept = f"{COOKIE}={name}; HttpOnly; SameSite=Lax; Max-Age={_KEPT_SECONDS}"
    return f"{kept}; Secure" if scheme == "https" else kept


def names() -> list[str]:
    """The zones to choose from, UTC first."""
    from zoneinfo import available_timezones

    return ["UTC", *sorted(name for name in available_timezones() if "/" in name and not name.startswith("Etc/"))]
