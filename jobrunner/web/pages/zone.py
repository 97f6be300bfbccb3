"""The page on which somebody chooses the time zone in which all pages show instants."""

from __future__ import annotations

from urllib.parse import quote

from jobrunner.errors import BadSchedule, UsageError
from jobrunner.web import zones
from jobrunner.web.call import Call, Page, Redirect

_LONGEST_ADDRESS = 2000


def choose(call: Call) -> Page:
    """A form with all zones. It asks nothing of the database."""
    values = {"names": zones.names(), "back": call.query.get("back", "")}
    return Page("zone.html", values, {"zone": str(call.zone), "names": values["names"]})


def chosen(call: Call) -> Redirect:
    """Keep the zone in a cookie, and show again the page from which the user came."""
    name = call.form.get("zone", "").strip()
    try:
        kept = zones.cookie(name, call.request.scheme)
    except BadSchedule as error:
        raise UsageError(str(error)) from None
    return Redirect(_back(call.form.get("back", "")), {"zone": name}, kept)


def _back(asked: str) -> str:
    """A path below the mount. It stands behind "./", so it cannot lead to another site."""
    path = asked.partition("?")[0]
    return "" if ".." in path or len(asked) > _LONGEST_ADDRESS else quote(asked, safe="/?&=+%,:~")
