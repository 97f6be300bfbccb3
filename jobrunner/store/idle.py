"""The idle tick: finds out without SQLAlchemy that nothing is due, and inserts the row of such a tick.

The views decide what is due, as for the full tick. If anything is due, missing, wrong or unusual, the answer is no, and
the full tick does the work and reports errors.
"""

from __future__ import annotations

from jobrunner.store import raw_driver
from jobrunner.store.versions import CODE_LEVEL, SCHEMA_REVISION, VERSION_TABLE


def statement(words: dict[str, str]) -> str:
    """The statement that inserts a closed tick if the schema is ours, nothing is due, and no tick must prune."""
    given, now, ten_minutes, schema = (words[each] for each in ("given", "now", "ten_minutes", "schema"))
    # As in ticks.is_anything_due, it asks for the earliest run: to find any run the planner would scan all. And
    # ``releases >= 0`` is the condition of the index that serves it.
    return f"""
INSERT INTO {schema}job_ticks
  (host, worker, version, application, types, started_at, finished_at, counts, ended_by)
SELECT {given}, {given}, {given}, {given}, '', {now}, {now}, '{{}}', 'empty' FROM {schema}job_state
WHERE oldest_code <= {CODE_LEVEL} AND (SELECT version_num FROM {schema}{VERSION_TABLE}) = '{SCHEMA_REVISION:04}'
  AND ((SELECT min(run_at) FROM {schema}job_claimable WHERE releases >= 0) IS NULL
    AND NOT EXISTS (SELECT gate FROM {schema}job_open_gates)
    OR EXISTS (SELECT name FROM {schema}job_pauses WHERE kind = 'host' AND name = {given}))
  AND NOT EXISTS (SELECT run_id FROM {schema}job_parents WHERE parent_status IS NOT NULL)
  AND NOT EXISTS (SELECT id FROM {schema}job_expandable) AND NOT EXISTS (SELECT id FROM {schema}job_recoverable)
  AND (SELECT min(start_deadline_at) FROM {schema}job_overdue) IS NULL
  AND pruned_at > {now} - {ten_minutes} AND pruned_at <= {now} + {ten_minutes}
"""  # noqa: S608 - only our own words


def was_idle(url: str, schema: str | None, host: str, worker: str, version: str, application: str) -> bool | None:
    """Whether a tick had nothing to do, and its row was inserted. False means that the full tick must run.

    None means that it must, too, but that the database did not say so.
    """
    try:
        return raw_driver.change(url, schema, statement, (host, worker, version, application, host)) == 1
    except Exception:  # noqa: BLE001 - the full tick meets the same error and reports it
        return None
