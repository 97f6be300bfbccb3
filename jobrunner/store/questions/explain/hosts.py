"""What the hosts that ticked in the last hour can do for a job type, by what their ticks have recorded.

What counts is the newest tick of a host. Ticks of another kind count beside it as long as they come in turn with it, as
those of a second application do: not once another kind has come in their place, nor once they have stopped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from jobrunner.durations import format_duration
from jobrunner.model import TickKind
from jobrunner.settings.health import TICK_AGE
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions import rhythm
from jobrunner.store.questions.explain.explanation import HostView, ago
from jobrunner.store.questions.rhythm import Beat
from jobrunner.store.queue import pauses
from jobrunner.store.queue.pauses import Pause
from jobrunner.store.queue.ticks import hosts as reports_of_hosts
from jobrunner.store.queue.ticks import tallies
from jobrunner.store.queue.ticks.hosts import PROBLEM
from jobrunner.store.sql.statement import Prepared, Question, Row
from jobrunner.text import nearest

_RECENT = timedelta(hours=1)
_TWIN = timedelta(days=1)
CRON_LINE = "* * * * * jobrunner tick"
"""What to look for where the crontab cannot be read."""


@dataclass(frozen=True)
class _Running:
    job_type: str
    host: str
    id: int


@dataclass(frozen=True)
class Hosts:
    """The ticks of the last hour, the newest of each kind; the reports of their hosts; and what runs where.

    If ticks come so rarely that none is missing yet after an hour, "the last hour" is longer, too. ``gone`` are kinds
    of ticks of which no more are to come: for how long none has come, or None if others have come in their place.
    """

    at: datetime
    ticks: Mapping[TickKind, Row]
    gone: Mapping[TickKind, timedelta | None]
    reports: Mapping[TickKind, Row]
    running: Collection[_Running]
    beat: Beat
    tick_age: timedelta
    pauses: Collection[Pause]

    @property
    def have_stopped(self) -> bool:
        """Whether no tick has begun for so long that one is missing."""
        return self.beat.has_stopped(self.at, self.tick_age)

    @property
    def recently(self) -> str:
        """The time whose ticks are looked at, in words."""
        period = _looked_at(self.beat, self.tick_age)
        return "the last hour" if period == _RECENT else f"the last {format_duration(period)}"

    def twins(self, within: timedelta = _TWIN) -> list[str]:
        """The names under which two machines have ticked lately."""
        return sorted(
            {
                kind.host
                for kind, report in self.reports.items()
                if report.is_twin_at is not None and self.at - report.is_twin_at < within
            }
        )

    def names_of(self, job_type: str) -> list[str]:
        """The name and the other names of a type that was renamed."""
        return reports_of_hosts.names_of((report.can_run for report in self.reports.values()), job_type)

    def pause(self, kind: str, name: str = "") -> Pause | None:
        """The pause of this kind and name."""
        return next((each for each in self.pauses if (each.kind, each.name) == (kind, name)), None)

    def views(self, job_type: str) -> tuple[HostView, ...]:
        """What each of them can do for this type."""
        return tuple(self._view(kind, tick, job_type) for kind, tick in sorted(self.ticks.items()))

    def nearest_type(self, job_type: str) -> str | None:
        """The known type that was probably meant."""
        return nearest(job_type, {name for kind in self.ticks if kind in self.reports for name in self._known(kind)})

    def problems(self) -> dict[str, str]:
        """Why hosts cannot run their handlers, by host."""
        found = {kind.host: self._problem(kind) for kind in sorted(self.ticks) if kind not in self.gone}
        return {host: problem for host, problem in found.items() if problem is not None}

    def lost(self, job_type: str) -> tuple[str, timedelta | None] | None:
        """A host whose ticks had a handler of a type, and for how long none has come. None there: others came."""
        had = [kind for kind in sorted(self.gone) if kind in self.reports and job_type in self._known(kind)]
        return (had[0].host, self.gone[had[0]]) if had else None

    def failures(self, hosts: Collection[str]) -> dict[str, str]:
        """The errors with which the last ticks of these hosts ended."""
        found = {kind.host: tick.error for kind, tick in sorted(self.ticks.items()) if kind not in self.gone}
        return {host: error for host, error in found.items() if error is not None and host in hosts}

    def _problem(self, kind: TickKind) -> str | None:
        report = self.reports.get(kind)
        problem = None if report is None else report.settings.get(PROBLEM)
        return None if problem is None else str(problem)

    def holders(self, host: str, job_type: str | None = None) -> list[int]:
        """The ids of the runs that take the permits of a host, or only those of a type."""
        names = self.names_of(job_type) if job_type else ()
        return sorted(
            each.id
            for each in self.running
            if each.host == host and (each.job_type in names if job_type else not self._is_async(each.job_type))
        )

    def concurrency_of(self, kind: TickKind, job_type: str) -> int | None:
        """How many runs of a type may be at work on a host by the type's own concurrency. None: any number."""
        most: int | None = self.reports[kind].can_run.get(job_type, {}).get("concurrency")
        return most

    def is_full_of(self, view: HostView, job_type: str) -> int | None:
        """The type's own concurrency on this host, if as many of its runs are at work there. None: they are not."""
        kind = TickKind(view.host, view.application, view.types)
        most = self.concurrency_of(kind, job_type) if kind in self.reports else None
        return most if most is not None and len(self.holders(view.host, job_type)) >= most else None

    def _known(self, kind: TickKind) -> Mapping[str, Any]:
        known: Mapping[str, Any] = self.reports[kind].can_run
        return known

    def _is_async(self, job_type: str) -> bool:
        return any(self._known(kind).get(job_type, {}).get("is_async") for kind in self.reports)

    def _view(self, kind: TickKind, tick: Row, job_type: str) -> HostView:
        knows, free, verdict = self._verdict(kind, job_type)
        return HostView(*kind, tick.started_at, tick.ended_by, knows, free, verdict)

    def _verdict(self, kind: TickKind, job_type: str) -> tuple[bool | None, int | None, str]:
        report = self.reports.get(kind)
        if kind in self.gone:
            could = report is not None and job_type in self._known(kind)
            silent = self.gone[kind]
            how = "others came in their place" if silent is None else f"none came for {ago(silent.total_seconds())}"
            return False, 0, f"{'could run it, but ' * could}these ticks come no more: {how}"
        if report is None:
            return None, None, "has not yet said what it can run"
        if (lack := self._lack(kind, job_type)) is not None:
            return False, 0, lack
        return self._free(kind, job_type, report)

    def _lack(self, kind: TickKind, job_type: str) -> str | None:
        """Why ticks of this kind cannot run the type."""
        known = self._known(kind)
        if job_type not in known:
            if (problem := self._problem(kind)) is not None:
                return f"cannot run its handlers: {problem}"
            if not known:
                nothing = "its ticks have neither JOBRUNNER_IMPORT nor commands, or its modules no @job"
                return f"has no handlers at all: {nothing}"
            return f"has no handler for it, only for {_listed(known)}"
        names = {job_type, reports_of_hosts.known_as(known, job_type)}
        if kind.types and names.isdisjoint(kind.types.split(",")):
            return f"has a handler for it, but its ticks work on {kind.types.replace(',', ', ')} only"
        return None

    def _free(self, kind: TickKind, job_type: str, report: Row) -> tuple[bool, int | None, str]:
        """How many more runs of a type that they know may begin there."""
        known = self._known(kind)
        if (pause := self.pause("host", kind.host)) is not None:
            return True, 0, f"can run it, but is paused{why(pause)}"
        most = self.concurrency_of(kind, job_type)
        free = [] if most is None else [most - len(self.holders(kind.host, job_type))]
        if most is not None and free[0] <= 0:
            return True, 0, f"can run it, but as many runs of its type as its concurrency allows are running ({most})"
        if not known[job_type].get("is_async"):
            free.append(report.settings["concurrency"] - len(self.holders(kind.host)))
        if not free:
            return True, None, "can run it"
        if min(free) <= 0:
            return True, 0, f"can run it, but as many runs as it allows are running ({report.settings['concurrency']})"
        return True, min(free), f"can run it: {min(free)} more may begin there"


def why(pause: Pause) -> str:
    """By whom something is paused, and why."""
    return f" by {pause.actor}" + (f": {pause.reason}" if pause.reason else "")


def _listed(known: Mapping[str, Any]) -> str:
    names = sorted(known)
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


QUESTIONS: tuple[Question, ...] = (
    rhythm.QUESTION,
    *((Prepared(name), {}) for name in ("explain.reports", "explain.running", "tallies.clock", "pauses.listed")),
)
"""What ``look`` asks first."""


def look(connection: Connection, tick_age: timedelta = TICK_AGE) -> Hosts:
    """The hosts as they are now. Expects a read transaction. ``tick_age`` is the threshold of ``health``."""
    execute, beat = connection.execute, rhythm.look(connection)
    # The last hour has 60 rows of each kind.
    since = -_looked_at(beat, tick_age).total_seconds()
    ticks = execute(Prepared("explain.recent_ticks"), {"since": since}).all()
    reports = execute(Prepared("explain.reports")).all()
    running = execute(Prepared("explain.running"))
    at = tallies.now(connection)
    return Hosts(
        at,
        {_kind(row): row for row in ticks},
        _gone(ticks, at, beat.missing_after(tick_age), tick_age),
        {_kind(row): row for row in reports},
        [_Running(row.job_type, row.host or "", row.id) for row in running],
        beat,
        tick_age,
        pauses.listed(connection),
    )


def _looked_at(beat: Beat, tick_age: timedelta) -> timedelta:
    return max(_RECENT, beat.missing_after(tick_age))


def _gone(
    ticks: Sequence[Row], at: datetime, missing_after: timedelta, tick_age: timedelta
) -> dict[TickKind, timedelta | None]:
    """``Hosts.gone``. ``ticks`` are the oldest first."""
    starts = defaultdict[TickKind, list[datetime]](list)
    for row in ticks:
        starts[_kind(row)].append(row.started_at)
    gone: dict[TickKind, timedelta | None] = {}
    for kind, times in starts.items():
        beat = Beat(kind.host, times[-1], rhythm.usual(times[::-1]))
        others = [theirs for other, theirs in starts.items() if other.host == kind.host and other != kind]
        if any(theirs[0] > times[-1] for theirs in others):
            gone[kind] = None
        elif at - times[-1] >= max(missing_after, beat.missing_after(tick_age)):
            gone[kind] = at - times[-1]
    return gone


def _kind(row: Row) -> TickKind:
    return TickKind(row.host, row.application or "", row.types or "")


def last_tick(hosts: Hosts) -> str:
    """When and where a tick began last, in words."""
    beat = hosts.beat
    if beat.started_at is None:
        return "no tick has ever used this database"
    since = ago((hosts.at - beat.started_at).total_seconds())
    came = "" if beat.usual is None else f", where one came every {ago(beat.usual.total_seconds())}"
    return f"the last tick began {since} ago on {beat.host}{came}"


def facts_of_last_tick(hosts: Hosts) -> dict[str, Any]:
    """What helps to find out why no more ticks come."""
    beat = hosts.beat
    last = {} if beat.started_at is None else {"last_tick_at": beat.started_at, "last_tick_host": beat.host}
    return {**last, "cron_line": CRON_LINE}
