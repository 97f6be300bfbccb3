"""The trigger that puts each new run of a fair type behind the gate of its key, whoever inserts it.

A statement of the enqueue could not: the roles of applications may not write that column, and older code and SQL insert
runs, too. It reads one row by its key for each new run.
"""

from __future__ import annotations

from jobrunner.store.sql.dialect.application_functions import in_schema
from jobrunner.store.sql.namespace import qualifier

_FUNCTION = """
CREATE FUNCTION @schema@.jobrunner_line_up() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  its_key text;
BEGIN
  SELECT types.fair_by INTO its_key FROM @schema@.job_types AS types WHERE types.job_type = NEW.job_type;
  IF its_key IS NOT NULL AND NEW.run_at <= @schema@.jobrunner_now() THEN
    NEW.gate := its_key || ' ' || substr(CAST(jsonb_build_array(NEW.payload -> its_key) AS text), 1, 200);
  END IF;
  RETURN NEW;
END $$
"""
_TRIGGER = """
CREATE TRIGGER jobrunner_line_up BEFORE INSERT ON {schema}job_runs FOR EACH ROW
WHEN (NEW.gate = '' AND NEW.status = 'queued') EXECUTE FUNCTION {schema}jobrunner_line_up()
"""
_SQLITE = """
CREATE TRIGGER jobrunner_line_up AFTER INSERT ON job_runs FOR EACH ROW
WHEN NEW.gate = '' AND NEW.status = 'queued'
  AND (SELECT fair_by FROM job_types WHERE job_type = NEW.job_type) IS NOT NULL
BEGIN
  UPDATE job_runs SET gate = (
      SELECT fair_by || ' ' || substr(json_array(json_extract(NEW.payload, '$."' || fair_by || '"')), 1, 200)
      FROM job_types WHERE job_type = NEW.job_type)
    WHERE id = NEW.id AND run_at <= {now};
END
"""


def line_up(dialect_name: str, schema: str | None, now: str) -> list[str]:
    """What a migration must run after it has created the tables and the clock, whose word is ``now``."""
    if dialect_name == "sqlite":
        return [_SQLITE.format(now=now)]
    return [in_schema(_FUNCTION, schema), _TRIGGER.format(schema=qualifier(schema))]
