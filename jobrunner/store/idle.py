"""The idle tick: whether there is nothing to do, asked without SQLAlchemy, and the trail that such a tick leaves.

Nothing is decided here that is not decided elsewhere: what is due is what the views say. Whenever anything is due,
missing, wrong or unusual, the answer is no, and the full tick looks, works and tells.
"""

from __future__ import annotations

from jobrunner.store import raw_driver
from jobrunner.store.versions import CODE_LEVEL, SCHEMA_REVISION, VERSION_TABLE


def statement(words: dict[str, str]) -> str:
    """Leaves the closed trail if the schema is ours, nothing is due, and it is nobody's turn to prune."""
    given, now, ten_minutes = words["given"], words["now"], words["ten_minutes"]
    # As in ticks.is_anything_due: the earliest claimable run, not just any, since for any the planner expects to meet
    # one soon in a scan of all runs; and the words by which it is given the index of what is due.
    return f"""
INSERT INTO job_ticks (host, worker, version, started_at, finished_at, counts)
SELECT {given}, {given}, {given}, {now}, {now}, '{{}}' FROM job_state
WHERE oldest_code <= {CODE_LEVEL} AND (SELECT version_num FROM {VERSION_TABLE}) = '{SCHEMA_REVISION:04}'
  AND (SELECT min(run_at) FROM job_claimable WHERE releases >= 0) IS NULL
  AND NOT EXISTS (SELECT id FROM job_expandable) AND NOT EXISTS (SELECT id FROM job_recoverable)
  AND (SELECT min(start_deadline_at) FROM job_overdue) IS NULL
  AND pruned_at > {now} - {ten_minutes} AND pruned_at <= {now} + {ten_minutes}
"""  # noqa: S608 - words of our own


def was_idle(url: str, host: str, worker: str, version: str) -> bool:
    """Whether a tick had nothing to do, and its trail stands in the database. False: ask again, in full."""
    try:
        return raw_driver.change(url, statement, (host, worker, version)) == 1
    except Exception:  # noqa: BLE001 - whatever it is, the full tick meets it again and tells
        return False
