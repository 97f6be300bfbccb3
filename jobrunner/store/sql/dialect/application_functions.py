"""What an application's role may do to runs that it cannot change itself, as functions of PostgreSQL.

They have the rights of their owner, and hold the rule: who may execute them may replace a run that has a key and has
not begun, and may let a run wait for others in the transaction that inserts it. Nothing else of a run changes.

Who may execute them is asked by the server. Inside of them only the role of the session is known, which is not the
caller: the server also runs functions of other roles in that session, such as those of an index in an ANALYZE.
"""

from __future__ import annotations

from jobrunner.store.sql.namespace import qualifier

_SCHEMA = "@schema@"
_OPTIONS = """LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
  SET plan_cache_mode = force_custom_plan"""
_REPLACE = """
CREATE FUNCTION @schema@.jobrunner_replace(given json) RETURNS SETOF bigint @options@ AS $function$
BEGIN
  -- An expression, so that the planner does not read the whole queue by the index for this status. Another payload may
  -- be for another gate, which the next claim finds, and what was kept is a place in the work for the old one. Parents
  -- are still waited for.
  RETURN QUERY UPDATE @schema@.job_runs AS runs
    SET payload = replacing.payload::jsonb, updated_at = @schema@.jobrunner_now(), run_at = replacing.its_time,
      start_deadline_at = replacing.its_time + make_interval(secs => replacing.expires_in),
      gate = CASE WHEN runs.gate = 'after' THEN runs.gate ELSE '' END, checkpoint = NULL
    FROM (
      SELECT *, coalesce(run_at, @schema@.jobrunner_now() + make_interval(secs => run_in), @schema@.jobrunner_now())
        AS its_time
      FROM json_to_recordset(given) AS listed(id bigint, payload text, run_at timestamptz, run_in double precision,
        expires_in double precision)) AS replacing
    WHERE runs.id = replacing.id AND runs.status || '' = 'queued' AND runs.attempts = 0
      AND runs.idempotency_key IS NOT NULL
    RETURNING runs.id;
END $function$
"""
_HOLD = """
CREATE FUNCTION @schema@.jobrunner_hold(its_run bigint, given json) RETURNS void @options@ AS $function$
DECLARE
  its_transaction bigint;
  this_one bigint := pg_current_xact_id()::text::bigint;
BEGIN
  -- A row that is seen and whose transaction goes on is of this transaction. The number of the row has 32 bits.
  SELECT runs.xmin::text::bigint + (this_one / 4294967296) * 4294967296 INTO its_transaction
    FROM @schema@.job_runs AS runs WHERE runs.id = its_run;
  its_transaction := its_transaction + 4294967296 * CASE WHEN its_transaction - this_one > 2147483648 THEN -1
    WHEN this_one - its_transaction > 2147483648 THEN 1 ELSE 0 END;
  IF its_transaction IS NULL OR pg_xact_status(its_transaction::text::xid8) IS DISTINCT FROM 'in progress' THEN
    RAISE insufficient_privilege USING MESSAGE = 'permission denied: only the transaction that enqueues a run may let'
      ' it wait for others';
  END IF;
  UPDATE @schema@.job_runs AS runs SET has_dependants = 1
    FROM json_to_recordset(given) AS parents(parent_id bigint)
    WHERE runs.id = parents.parent_id AND runs.finished_at IS NULL;
  INSERT INTO @schema@.job_parents (parent_id, run_id, if_parent_fails, parent_status)
    SELECT runs.id, its_run, parents.if_parent_fails, CASE WHEN runs.finished_at IS NOT NULL THEN runs.status END
    FROM json_to_recordset(given) AS parents(parent_id bigint, if_parent_fails text)
      JOIN @schema@.job_runs AS runs ON runs.id = parents.parent_id;
  UPDATE @schema@.job_runs AS runs SET gate = 'after' WHERE runs.id = its_run;
END $function$
"""
# A record in the server's log, for a role that may not write a message there. It locks no row that others need.
_MARK = """
CREATE FUNCTION @schema@.jobrunner_mark() RETURNS void @options@ AS $function$
DECLARE
  its_name text := 'marker ' || pg_current_xact_id();
BEGIN
  INSERT INTO @schema@.job_locks (name) VALUES (its_name);
  DELETE FROM @schema@.job_locks AS locks WHERE locks.name = its_name;
END $function$
"""
_FUNCTIONS = {"jobrunner_replace(json)": _REPLACE, "jobrunner_hold(bigint, json)": _HOLD}
# Each role may execute a new function. One that is created again serves those who may insert runs, as before.
_CLOSED = """
  EXECUTE replace('REVOKE EXECUTE ON FUNCTION @schema@.@function@ FROM PUBLIC', '@schema@', @place@);
  EXECUTE coalesce((SELECT replace('GRANT EXECUTE ON FUNCTION @schema@.@function@ TO ', '@schema@', @place@)
      || string_agg(DISTINCT CASE rights.grantee WHEN 0 THEN 'PUBLIC' ELSE rights.grantee::regrole::text END, ', ')
    FROM (SELECT oid AS id, relacl AS acl FROM pg_class UNION ALL SELECT attrelid, attacl FROM pg_attribute) AS given,
      aclexplode(given.acl) AS rights
    WHERE given.id = (@place@ || '.job_runs')::regclass AND rights.privilege_type = 'INSERT'), 'SELECT');
"""
# A right to change this column is what a role needs to lock the row of a run.
_GUARD = (
    """
CREATE FUNCTION {schema}jobrunner_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT has_column_privilege(current_user, TG_RELID, 'gate', 'UPDATE') THEN
    RAISE insufficient_privilege USING MESSAGE = 'permission denied: this role may lock runs, and change none';
  END IF;
  RETURN NEW;
END $$
""",
    """
CREATE TRIGGER jobrunner_guard BEFORE UPDATE OF has_dependants ON {schema}job_runs
FOR EACH ROW EXECUTE FUNCTION {schema}jobrunner_guard()
""",
)


def application_statements(dialect_name: str, schema: str | None) -> list[str]:
    """What a migration must run after it has created the tables and the clock."""
    if dialect_name == "sqlite":
        return []
    functions = [
        in_schema(function.replace("@options@", _OPTIONS), schema, _CLOSED.replace("@function@", signature))
        for signature, function in _FUNCTIONS.items()
    ]
    functions.append(in_schema(_MARK.replace("@options@", _OPTIONS), schema))
    return [*functions, *(each.format(schema=qualifier(schema)) for each in _GUARD)]


def in_schema(function: str, schema: str | None, afterwards: str = "") -> str:
    """The statement that creates a function whose text names the schema of our tables, ``@schema@``.

    ``afterwards``: what else the statement does, in PL/pgSQL.
    """
    text = function.strip()
    if schema is not None:
        text = text.replace(f"{_SCHEMA}.", qualifier(schema))
        if not afterwards:
            return text
    # That of the tables: the first one of the search path, in which they were just created. CREATE begins a line, by
    # which the repair finds it.
    place = "quote_ident(current_schema())" if schema is None else f"quote_ident('{schema}')"
    named = f"replace($text$\n{text}$text$, '{_SCHEMA}', {place})"
    return f"DO $migration$ BEGIN EXECUTE {named}; {afterwards.replace('@place@', place)}END $migration$"
