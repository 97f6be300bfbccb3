"""Of many hosts only some listen for new runs. The others tick as without `--linger`."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta

from harness import Commands, Database, wait_for
from harness.handlers_rows import queue
from harness.listening_ticks import LISTENING, check_left_quietly, linger, log_lines, stop, wait_for_success
from harness.locks import wait_for_lock
from harness.waiting import stretched
from jobrunner.model import Owner, TickKind
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.queue.ticks import ticks
from jobrunner.store.queue.ticks.listen import Reported, report_listening
from jobrunner.store.queue.ticks.ticks import TickRow

HOSTS = "SELECT DISTINCT host FROM job_ticks WHERE listening_at IS NOT NULL AND finished_at IS NULL"
FEW = {"JOBRUNNER_LISTENERS": "2"}


def begin(jobrunner: Commands, host: str) -> None:
    """A tick that finds enough others listening, and ends."""
    env = {"JOBRUNNER_HOST": host, "JOBRUNNER_LOG": str(jobrunner.app.path("log")), **FEW}
    check_left_quietly(jobrunner.start("tick", "--linger", env=env))


def test_of_hosts_that_begin_at_once_only_so_many_listen_and_the_others_end_when_nothing_is_due(
    jobrunner: Commands, database: Database
) -> None:
    due = [queue(database, "append") for _ in range(20)]
    hosts = [f"host{number}" for number in range(5)]
    ticks = {host: jobrunner.start("tick", "--linger", env={"JOBRUNNER_HOST": host, **FEW}) for host in hosts}
    wait_for(lambda: sum(tick.poll() is not None for tick in ticks.values()) == 3, describe="three that end")
    for tick in ticks.values():
        if tick.poll() is not None:
            check_left_quietly(tick)
    wait_for_success(database, *due)
    listening = [row["host"] for row in database.query(HOSTS)]
    assert sorted(listening) == sorted(host for host, tick in ticks.items() if tick.poll() is None)
    assert len(listening) == 2
    wait_for_success(database, queue(database, "append"))

    # In the next minute the same ones go on, and hosts of another application have listeners of their own.
    newer = linger(jobrunner, host=listening[0], **FEW)
    check_left_quietly(ticks[listening[0]])
    begin(jobrunner, "host5")
    assert log_lines(jobrunner, "linger")[-1]["result"] == "does not listen: 2 other hosts do"
    other = linger(jobrunner, host="host6", JOBRUNNER_APPLICATION="other", **FEW)
    stop(newer, other, ticks[listening[1]])


def test_tick_that_was_killed_while_it_listened_keeps_others_from_it_for_two_minutes_only(
    jobrunner: Commands, database: Database
) -> None:
    ticks = [linger(jobrunner, host=host) for host in ("one", "two")]
    for tick in ticks:
        tick.kill()
        tick.wait()
    begin(jobrunner, "three")
    assert database.value(LISTENING, ["three"]) == 0
    database.execute("UPDATE job_ticks SET started_at = ?", [database.now() - timedelta(minutes=2, seconds=1)])
    stop(linger(jobrunner, host="three", **FEW))


def test_hosts_whose_reports_meet_are_counted_one_after_the_other(
    database: Database, open_store: Callable[[], Store]
) -> None:
    def report(host: str, then: Callable[[], object] = lambda: None) -> Reported:
        kind, owner = TickKind(host, "shop", ""), Owner(host, f"{host}:1:a")
        store = open_store()
        row = TickRow(store.write(lambda connection: ticks.open_tick(connection, owner, kind, "1").id), owner)

        def work(connection: Connection) -> Reported:
            found = report_listening(connection, row, kind, 1, timedelta(minutes=2))
            then()
            return found

        return store.write(work)

    with ThreadPoolExecutor() as pool:
        second: list[Future[Reported]] = []

        def meet() -> None:
            if not second:
                second.append(pool.submit(report, "two"))
                wait_for_lock(database)

        assert report("one", meet) is Reported.LISTENS
        assert second[0].result(stretched(30)) is Reported.ENOUGH
