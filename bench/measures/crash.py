"""A SIGKILL of a busy tick: how soon its host is at full speed again, and when all is done."""

import os
import signal
import time
from collections.abc import Iterator
from datetime import datetime

from plan import Line, measure
from processes import Failed, Running
from sizes import BOTH
from stage import Queue, Stage

TENTH, AFTER_KILL = "drain that may be killed: a tenth, {db}", "after a SIGKILL: a tenth, {db}"
WHOLE, WHOLE_KILLED = "drain that may be killed: all, {db}", "drain with a SIGKILL: all, {db}"
_KILLED_AFTER = 0.3
_LOOK_SECONDS = 0.01
# The promise: results that wait to be written, and one run in each child.
_MOST_AGAIN = 512 + 4
_LONGEST_SECONDS = 300


@measure(
    Line(TENTH, "s"),
    Line(WHOLE, "s"),
    Line(AFTER_KILL, "s", TENTH),
    Line(WHOLE_KILLED, "s", WHOLE),
    group="crash",
    on=BOTH,
    backoff="0s",
)
def crash(stage: Stage, database: str) -> Iterator[float]:
    """So many (`crashed`) no-ops by one tick at default settings, and again by a tick that is killed after 3 of 10.

    From the start of the tick to the end of the first tenth, and to the end of the last run. Then from the start of the
    next tick of the same host, which is started directly after the SIGKILL, to the end of the first tenth of what this
    one does; and from the start of the killed tick to the end of the last run. All ends are by the database's clock.
    The runs have a backoff of 0 s: by default those that had begun and were not written down, at most 516, would wait
    for a minute. The next ticks start directly one after the other.
    """
    queue, runs = stage.queue(database), stage.sizes.crashed
    queue.add_due("again", runs)
    done = queue.tick(handlers="again")
    queue.check_drained(runs)
    yield _seconds(done.began_at, _ends(queue, done.began_at)[runs // 10])
    yield _seconds(done.began_at, _ends(queue, done.began_at)[-1])
    queue = stage.queue(database)
    queue.add_due("again", runs)
    killed = _killed(queue, runs)
    following = [queue.tick(handlers="again")]
    while queue.left() or _waits(queue):
        if (datetime.now(killed.tzinfo) - killed).total_seconds() > _LONGEST_SECONDS:
            raise Failed("not all runs are done: the host stands still after the SIGKILL")
        following.append(queue.tick(handlers="again"))
    _check(queue, runs)
    yield _seconds(following[0].began_at, _ends(queue, following[0].began_at)[runs // 10])
    yield _seconds(killed, _ends(queue, killed)[-1])


def _killed(queue: Queue, runs: int) -> datetime:
    """When the tick was started that has been killed, without its children."""
    tick: Running = queue.start(handlers="again")
    while queue.database.value("SELECT count(*) AS n FROM job_attempts") < runs * _KILLED_AFTER:
        if tick.has_ended():
            raise Failed("the tick has ended before it could be killed")
        time.sleep(_LOOK_SECONDS)
    os.kill(tick.pid, signal.SIGKILL)
    done = tick.wait(ends_well=False)
    if done.exit_status != -signal.SIGKILL:
        raise Failed("the tick has ended before it was killed")
    return done.began_at


def _ends(queue: Queue, since: datetime) -> list[datetime]:
    """When the runs have succeeded that were begun since then, the first ones first."""
    rows = queue.database.query(
        "SELECT finished_at FROM job_attempts WHERE outcome = 'succeeded' AND started_at >= ? ORDER BY finished_at",
        [since],
    )
    return [row["finished_at"] for row in rows]


def _seconds(began: datetime, ended: datetime) -> float:
    return (ended - began).total_seconds()


def _waits(queue: Queue) -> bool:
    statement = "SELECT count(*) AS n FROM job_runs WHERE status IN ('queued', 'running', 'failed')"
    return bool(queue.database.value(statement))


def _check(queue: Queue, runs: int) -> None:
    """Each run has succeeded once, and no more were tried again than the promise says."""
    rows = queue.database.query("SELECT outcome, count(*) AS n FROM job_attempts GROUP BY outcome")
    found = {row["outcome"]: row["n"] for row in rows}
    if found.pop("succeeded", 0) != runs or found.pop("lease_expired", 0) > _MOST_AGAIN or found:
        raise Failed(f"{runs} runs have these attempts after a SIGKILL: {rows}")
