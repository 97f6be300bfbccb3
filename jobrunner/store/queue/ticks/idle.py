"""The idle tick: finds out without SQLAlchemy that nothing is due, and inserts the row of such a tick.

The views decide what is due, as for the full tick. If anything is due, missing, wrong or unusual, the answer is no, and
the full tick does the work and reports errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial

from jobrunner.store.drivers.raw import raw_driver
from jobrunner.store.sql.conditions import CLAIM
from jobrunner.store.sql.versions import SCHEMA_REVISION, UNTOLD, VERSION_TABLE
from jobrunner.untyped import TYPE_CHECKING

if TYPE_CHECKING:
    from jobrunner.settings.notify import Notify

_QUOTABLE = r"(?a)[\w.:-]+"
_OLDEST_DEATH = 144
"""Of ten minutes: a day, as ``notices`` has it."""


class Unquotable(Exception):
    """A name of the hooks cannot be written into a statement. The full tick does the work."""


def statement(words: dict[str, str], notify: Notify | None = None) -> str:
    """The statement that inserts a closed tick if the schema is ours, nothing is due, and no tick must prune.

    With hooks, also only if nobody is to be told anything.
    """
    given, now, ten_minutes, schema = (words[each] for each in ("given", "now", "ten_minutes", "schema"))
    promoted = words["promoted"]
    return f"""
INSERT INTO {schema}job_ticks
  (host, worker, version, application, types, started_at, finished_at, counts, ended_by)
SELECT {given}, {given}, {given}, {given}, '', {now}, {now}, '{{}}', 'empty' FROM {schema}job_state
WHERE oldest_code <= {SCHEMA_REVISION} AND released <> '' AND {promoted} IS NULL
  AND (SELECT version_num FROM {schema}{VERSION_TABLE}) BETWEEN '{SCHEMA_REVISION:04}' AND '9999'
  AND (NOT (SELECT is_due FROM {schema}job_ungated_due)
    AND NOT (SELECT is_due FROM {schema}job_gates_due)
    AND NOT EXISTS (SELECT id FROM {schema}job_claimable_by_host WHERE only_host = {given})
    OR EXISTS (SELECT name FROM {schema}job_pauses WHERE kind = 'host' AND name = {given}))
  AND NOT EXISTS (SELECT run_id FROM {schema}job_parents WHERE parent_status IS NOT NULL)
  AND NOT EXISTS (SELECT id FROM {schema}job_expandable) AND NOT EXISTS (SELECT id FROM {schema}job_recoverable)
  AND NOT EXISTS (SELECT id FROM {schema}job_expandable_by_host WHERE host = {given})
  AND NOT EXISTS (SELECT id FROM {schema}job_definitions templates
    WHERE "on" = 'every-host' AND host IS NULL AND removed_at IS NULL AND NOT EXISTS (
      SELECT id FROM {schema}job_hosts WHERE job_hosts.host = {given} AND job_hosts.application = {given}
        AND types = '' AND reported_at > templates.updated_at AND reported_at > {now} - {ten_minutes} * 144))
  AND (SELECT min(start_deadline_at) FROM {schema}job_overdue) IS NULL
  AND pruned_at > {now} - {ten_minutes} AND pruned_at <= {now} + {ten_minutes}
{"" if notify is None else _nobody_to_tell(words, notify)}"""  # noqa: S608 - only our own words


def _nobody_to_tell(words: dict[str, str], notify: Notify) -> str:
    now, ten_minutes, schema = (words[each] for each in ("now", "ten_minutes", "schema"))
    # Also what a killed tick has taken: it is recorded as lost.
    text = f"""
  AND NOT EXISTS (SELECT id FROM {schema}job_notices WHERE settled_at IS NULL
    AND (claimed_at IS NULL OR claimed_at <= {now} - {ten_minutes}) AND receiver IN ({_quoted(notify.receivers)}))"""  # noqa: S608
    of_all, types, schedules = notify.tells_of_dead()
    if of_all or types or schedules:
        ids = f"SELECT id FROM {schema}job_definitions WHERE name IN ({_quoted(schedules)})"  # noqa: S608
        of_these = f"AND (job_type IN ({_quoted(types)}) OR definition_id IN ({ids}))"
        text += f"""
  AND NOT EXISTS (SELECT id FROM {schema}job_runs WHERE {UNTOLD}
    AND finished_at > {now} - {ten_minutes} * {_OLDEST_DEATH} {"" if of_all else of_these})"""  # noqa: S608
    if (least := notify.least_late()) is not None:
        late = f"{now} - {ten_minutes} * {least.total_seconds() / 600!r}"
        text += f"""
  AND NOT EXISTS (SELECT 1 FROM {schema}job_unpaused_types types WHERE (SELECT run_at FROM {schema}job_runs
      WHERE {CLAIM["waiting"]} AND job_runs.job_type = types.job_type AND gate = ''
      ORDER BY turn_at, run_at, id LIMIT 1) < {late})"""  # noqa: S608
    return text


def _quoted(names: Iterable[str]) -> str:
    listed = list(names)
    if not all(re.fullmatch(_QUOTABLE, each) for each in listed):
        raise Unquotable
    # An empty list is no SQL on PostgreSQL; no name is empty.
    return ", ".join(f"'{each}'" for each in listed or [""])


def was_idle(
    url: str,
    schema: str | None,
    host: str,
    worker: str,
    version: str,
    application: str,
    notify: Notify | None = None,
    *,
    is_checked: bool = False,
) -> bool | None:
    """Whether a tick had nothing to do, and its row was inserted. False means that the full tick must run.

    None means that it must, too, but that the database did not say so. ``is_checked``: an SQLite file is checked for
    damage before.
    """
    try:
        values = (host, worker, version, application, host, host, host, host, application)
        return raw_driver.change(url, schema, partial(statement, notify=notify), values, is_checked=is_checked) == 1
    except Exception:  # noqa: BLE001 - the full tick meets the same error and reports it
        return None
