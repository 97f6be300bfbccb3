"""Whether there is anything to do behind gates: a view of one row, which every tick asks for."""

from __future__ import annotations

from jobrunner.store.conditions import BEHIND_GATE, CLAIM
from jobrunner.store.dialect.application_functions import in_schema
from jobrunner.store.namespace import qualifier

IS_DUE = """EXISTS (SELECT gate FROM {schema}job_open_gates)
    OR EXISTS (SELECT gate FROM {schema}job_stray_gates)
    OR EXISTS (SELECT id FROM {schema}job_stray_dependants)"""
"""Whether a claim can take a run from behind a gate, or a run is to be set right that waits where no claim looks."""
# Both ask for the first one in an index. For EXISTS the planner could scan all runs, and expect to find one soon.
# A gate may have a turn, and nothing that waits behind it: a claim clears that away.
_VIEW = """
CREATE VIEW {schema}job_gates_due AS
  SELECT CASE
    WHEN (SELECT gate FROM {schema}job_runs WHERE {waiting} AND {behind_gate} ORDER BY gate, id LIMIT 1) IS NOT NULL
      OR (SELECT gate FROM {schema}job_gates WHERE turn_at IS NOT NULL ORDER BY job_type, turn_at LIMIT 1) IS NOT NULL
    THEN {is_due}
    ELSE 1 = 0 END AS is_due
"""
# A server plans a view with each statement, and takes as long for this question as for all others of an idle tick. It
# plans a function when that is called. For a function with a setting of its own it does not try to spare the call.
_FUNCTION = """
CREATE FUNCTION @schema@.jobrunner_is_gate_due() RETURNS boolean LANGUAGE sql STABLE
  SET search_path = pg_catalog, pg_temp AS $function$
  SELECT {is_due}
$function$
"""


def gate_statements(dialect_name: str, schema: str | None) -> list[str]:
    """What a migration must run after it has created the other views."""
    before = qualifier(schema)
    asked, functions = IS_DUE.format(schema=before), []
    if dialect_name != "sqlite":
        functions = [in_schema(_FUNCTION.format(is_due=IS_DUE.format(schema="@schema@.")), schema)]
        asked = f"{before}jobrunner_is_gate_due()"
    view = _VIEW.format(schema=before, waiting=CLAIM["waiting"], behind_gate=BEHIND_GATE, is_due=asked)
    return [*functions, view.strip()]


def gate_removal(dialect_name: str, schema: str | None) -> list[str]:
    """The inverse of ``gate_statements``."""
    before = qualifier(schema)
    function = [] if dialect_name == "sqlite" else [f"DROP FUNCTION IF EXISTS {before}jobrunner_is_gate_due"]
    return [f"DROP VIEW IF EXISTS {before}job_gates_due", *function]
