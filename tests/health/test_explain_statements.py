"""explain and show send a fixed number of statements, however many rows there are: each is bounded in test_plans."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from harness import Database
from harness.plans import COLUMNS, fill_a_little, numbers
from harness.statements import before_statements
from harness.stores import opening
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.questions.explain import subjects
from jobrunner.store.questions.runs import run_details

EXPLAINED, SHOWN = 22, 12
# Of each type one behind a gate and one that is not; and one of each status.
KINDS = """
SELECT min(id) AS id, job_type FROM job_runs WHERE status = 'queued' GROUP BY job_type, gate = ''
UNION SELECT min(id), 'known' FROM job_runs GROUP BY status
"""


def fill_much(database: Database) -> None:
    """Dozens of rows beside each of those few: runs of each kind, ticks, hosts, attempts, events and parents."""
    now = database.now()
    many = numbers(database, 60)
    database.execute(
        f"INSERT INTO job_runs ({COLUMNS}) SELECT kinds.job_type, '{{}}', 'queued', 0, ?, ?, ? FROM"
        f" (SELECT DISTINCT job_type FROM job_runs) AS kinds, ({many}) AS numbered",
        [now, now, now],
    )
    database.execute(
        f"INSERT INTO job_runs ({COLUMNS}, gate, locked_by, host, lease_token, claimed_at, locked_until)"
        f" SELECT 'keyed', '{{}}', 'running', 0, ?, ?, ?, '[' || n || ']', 'there:1:a', 'there', 'g', ?, ?"
        f" FROM ({many}) AS numbered",
        [now] * 5,
    )
    database.execute(
        "INSERT INTO job_ticks (host, worker, version, application, types, started_at)"
        f" SELECT 'host' || n, 'w', '1', '', '', ? FROM ({many}) AS numbered",
        [now],
    )
    report = "host, application, types, digest, can_run, settings, database, boot, last_boot, reported_at"
    can_run = '{"known": {}, "keyed": {}, "capped": {}, "rated": {}, "known_too": {}}'
    database.execute(
        f"INSERT INTO job_hosts (id, {report}) SELECT 'host' || n, 'host' || n, '', '', 'd', '{can_run}',"
        f" '{{\"concurrency\": 4}}', 'd', 'b', 'b', ? FROM ({many}) AS numbered",
        [now],
    )
    database.execute(
        "INSERT INTO job_events (at, actor, action, run_id, detail)"
        f" SELECT ?, 'ada', 'retry', id, '{{}}' FROM job_runs, ({many}) AS numbered WHERE id <= 20",
        [now],
    )
    database.execute(
        "INSERT INTO job_attempts (run_id, sequence, attempt, lease_token, worker, host, outcome, started_at,"
        " finished_at) SELECT id, 10 + n, 1, 'lease' || n, 'w', 'h', 'failed', ?, ? FROM job_runs,"
        f" ({many}) AS numbered WHERE id <= 20",
        [now, now],
    )


def sent(store: Store, work: Callable[[Connection], Any]) -> int:
    """The statements of a call, without those of its transaction."""
    found: list[str] = []
    with before_statements(store, lambda _, text, __: found.append(text)):
        store.read(work)
    return sum("SELECT" in text for text in found)


@pytest.mark.promise("P12")
def test_explain_and_show_send_few_statements_beside_few_rows_and_beside_many(database: Database) -> None:
    fill_a_little(database)
    with opening(database, patience_seconds=20) as open_one:
        store = open_one()
        for fill in (lambda _: None, fill_much):
            fill(database)
            kinds = database.query(KINDS)
            asked = ["little", "known", "keyed", "rated", *(str(row["id"]) for row in kinds)]
            counts = {
                f"explain {subject}": sent(store, partial(subjects.explain, subject=subject)) for subject in asked
            }
            assert {name: count for name, count in counts.items() if count > EXPLAINED} == {}, counts
            shown = {row["id"]: sent(store, partial(run_details.show, run_id=row["id"])) for row in kinds}
            assert {name: count for name, count in shown.items() if count > SHOWN} == {}, shown
            assert len(asked) > 12
