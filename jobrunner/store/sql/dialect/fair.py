"""The triggers that put each new run of a fair type behind the gate of its key, whoever inserts it.

A statement of the enqueue could not: the roles of applications may not write that column, and older code and SQL insert
runs, too. On PostgreSQL each statement asks once which types are fair, with the rights of the owner, and notes it for
its rows: a question for each row would take a quarter of the time of a large INSERT. A run that only one host may claim
waits behind no gate: its host puts it there within its claim (``own_runs``).
"""

from __future__ import annotations

from jobrunner.store.sql.dialect.application_functions import in_schema
from jobrunner.store.sql.dialect.keys import key_words
from jobrunner.store.sql.namespace import qualifier

_FUNCTIONS = (
    """
CREATE FUNCTION @schema@.jobrunner_note_fair() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
  -- Nearly always. What an earlier statement of the transaction has noted must go.
  IF NOT EXISTS (SELECT FROM @schema@.job_types AS types WHERE types.fair_by IS NOT NULL)
    AND coalesce(current_setting('jobrunner.fair_by', true), '') = '' THEN
    RETURN NULL;
  END IF;
  PERFORM set_config('jobrunner.fair_by', coalesce((SELECT json_object_agg(types.job_type, types.fair_by)
    FROM @schema@.job_types AS types WHERE types.fair_by IS NOT NULL)::text, ''), true);
  RETURN NULL;
END $function$
""",
    """
CREATE FUNCTION @schema@.jobrunner_line_up() RETURNS trigger LANGUAGE plpgsql AS $function$
DECLARE
  its_key text := current_setting('jobrunner.fair_by')::json ->> NEW.job_type;
BEGIN
  IF its_key IS NOT NULL AND NEW.run_at <= @schema@.jobrunner_now() THEN
    NEW.gate := its_key || ' ' || {key};
  END IF;
  RETURN NEW;
END $function$
""",
)
_TRIGGERS = (
    """
CREATE TRIGGER jobrunner_note_fair BEFORE INSERT ON {schema}job_runs
FOR EACH STATEMENT EXECUTE FUNCTION {schema}jobrunner_note_fair()
""",
    """
CREATE TRIGGER jobrunner_line_up BEFORE INSERT ON {schema}job_runs FOR EACH ROW
WHEN (current_setting('jobrunner.fair_by', true) <> '' AND NEW.gate = '' AND NEW.status = 'queued'
  AND NEW.only_host IS NULL)
EXECUTE FUNCTION {schema}jobrunner_line_up()
""",
)
_SQLITE = """
CREATE TRIGGER jobrunner_line_up AFTER INSERT ON job_runs FOR EACH ROW
WHEN NEW.gate = '' AND NEW.status = 'queued' AND NEW.only_host IS NULL
  AND (SELECT fair_by FROM job_types WHERE job_type = NEW.job_type) IS NOT NULL
BEGIN
  UPDATE job_runs SET gate = (
      SELECT fair_by || ' ' || {key}
      FROM job_types WHERE job_type = NEW.job_type)
    WHERE id = NEW.id AND run_at <= {now};
END
"""


def line_up(dialect_name: str, schema: str | None, now: str) -> list[str]:
    """What a migration must run after it has created the tables and the clock, which is read by ``now``."""
    if dialect_name == "sqlite":
        return [_SQLITE.format(now=now, key=key_words(dialect_name, "NEW.payload", ["fair_by"]))]
    key = key_words(dialect_name, "NEW.payload", ["its_key"])
    functions = [in_schema(each.replace("{key}", key), schema) for each in _FUNCTIONS]
    return [*functions, *(each.format(schema=qualifier(schema)) for each in _TRIGGERS)]
