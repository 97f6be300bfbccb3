"""A function of PostgreSQL that says whether its server was promoted since a tick last noted it, and what it is now."""

from __future__ import annotations

from jobrunner.store.sql.dialect.application_functions import in_schema

# With the rights of its owner, because a role may have lost those of PUBLIC. What cannot be known is no promotion.
# Not by pg_control_checkpoint(): after a promotion that has the old timeline until the next checkpoint.
_PROMOTED = """
CREATE FUNCTION @schema@.jobrunner_promoted() RETURNS text LANGUAGE plpgsql STABLE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  known text;
  timeline text;
BEGIN
  timeline := ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int;
  SELECT state.server INTO known FROM @schema@.job_state AS state;
  IF known IS NULL OR split_part(known, '/', 2) IN ('?', timeline) THEN
    RETURN NULL;
  END IF;
  RETURN (SELECT control.system_identifier || '/' || timeline FROM pg_control_system() AS control
    WHERE control.system_identifier::text = split_part(known, '/', 1));
EXCEPTION WHEN OTHERS THEN
  RETURN NULL;
END $function$
"""


def server_statements(dialect_name: str, schema: str | None) -> list[str]:
    """What a migration must run after it has created the tables."""
    return [] if dialect_name == "sqlite" else [in_schema(_PROMOTED, schema)]
