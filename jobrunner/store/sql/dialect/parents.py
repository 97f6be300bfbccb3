"""The trigger that notes the end of a run at the runs that wait for it, whoever ends it."""

from __future__ import annotations

from jobrunner.store.sql.namespace import qualifier

_POSTGRESQL = (
    """
CREATE FUNCTION {schema}jobrunner_note_end() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE 'UPDATE ' || quote_ident(TG_TABLE_SCHEMA) || '.job_parents SET parent_status = $1 WHERE parent_id = $2'
    USING NEW.status, NEW.id;
  RETURN NULL;
END $$
""",
    """
CREATE TRIGGER jobrunner_note_end AFTER UPDATE OF finished_at ON {schema}job_runs FOR EACH ROW
WHEN (NEW.has_dependants <> 0 AND NEW.finished_at IS NOT NULL) EXECUTE FUNCTION {schema}jobrunner_note_end()
""",
)
_SQLITE = (
    """
CREATE TRIGGER jobrunner_note_end AFTER UPDATE OF finished_at ON job_runs FOR EACH ROW
WHEN NEW.has_dependants <> 0 AND NEW.finished_at IS NOT NULL
BEGIN
  UPDATE job_parents SET parent_status = NEW.status WHERE parent_id = NEW.id;
END
""",
)


def note_end(dialect_name: str, schema: str | None) -> list[str]:
    """What a migration must run after it has created the tables."""
    # The function finds the table in the schema of the one it is called for, whatever the session's search path is.
    return [each.format(schema=qualifier(schema)) for each in (_SQLITE if dialect_name == "sqlite" else _POSTGRESQL)]
