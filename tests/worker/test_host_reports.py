"""What a host reports of itself."""

from harness import Database
from jobrunner.model import Policy
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.queue.ticks import hosts
from jobrunner.store.queue.ticks.hosts import UNKNOWN_BOOT, HostReport, TickKind


def test_host_whose_system_has_no_id_of_its_boot_is_never_taken_for_one_that_was_started_anew(
    database: Database, store: Store
) -> None:
    for _ in range(2):
        report = HostReport(TickKind("here", "", ""), (Policy("echo"),), {}, "a file", "")
        store.write(lambda connection, report=report: hosts.write(connection, report))
    assert database.query("SELECT boot, last_boot FROM job_hosts") == [
        {"boot": UNKNOWN_BOOT, "last_boot": UNKNOWN_BOOT}
    ]
