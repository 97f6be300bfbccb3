"""Whether there is anything to do behind gates: a view of one row, which every tick asks for."""

from __future__ import annotations

from jobrunner.store.sql.conditions import BEHIND_GATE, CLAIM
from jobrunner.store.sql.dialect.application_functions import in_schema
from jobrunner.store.sql.namespace import qualifier

_STRAY_DEPENDANTS = "EXISTS (SELECT id FROM {schema}job_stray_dependants)"
# Whether a claim can take a run from behind a gate, or a run is to be set right that waits where no claim looks.
_IS_DUE = f"""EXISTS (SELECT gate FROM {{schema}}job_ready_gates)
    OR EXISTS (SELECT gate FROM {{schema}}job_stray_gates)
    OR {_STRAY_DEPENDANTS}"""  # noqa: S608 - only our own words
# All these ask for the first one in an index. For EXISTS the planner could scan all runs, and expect to find one soon.
# A gate may have a turn, and nothing that waits behind it: a claim clears that away.
_TURN = "(SELECT gate FROM {schema}job_gates WHERE turn_at IS NOT NULL ORDER BY job_type, turn_at LIMIT 1)"
_BEHIND = f"SELECT gate FROM {{schema}}job_runs WHERE {CLAIM['waiting']} AND {BEHIND_GATE}"  # noqa: S608 - the same
_FIRST = f"({_BEHIND} ORDER BY gate, id LIMIT 1)"
_LAST = f"({_BEHIND} ORDER BY gate DESC, id DESC LIMIT 1)"
# A server plans a view with each statement, and takes as long for this question as for all others of an idle tick. It
# plans a function when that is called. Where runs wait only for the end of others, it need not plan all of it.
FUNCTIONS = {
    "jobrunner_is_gate_due": _IS_DUE,
    "jobrunner_is_any_stray": f"""CASE WHEN {_FIRST} = 'after' AND {_LAST} = 'after'
    THEN {_STRAY_DEPENDANTS}
    ELSE {{schema}}jobrunner_is_gate_due() END""",
}
# With a setting of its own: then the planner does not look into it to spare the call.
_FUNCTION = """
CREATE FUNCTION @schema@.{name}() RETURNS boolean LANGUAGE sql STABLE
  SET search_path = pg_catalog, pg_temp AS $function$
  SELECT {asked}
$function$
"""


def gate_statements(dialect_name: str, schema: str | None) -> list[str]:
    """What a migration must run after it has created the other views."""
    if dialect_name == "sqlite":
        return [_view("", f"WHEN {_TURN} IS NOT NULL OR {_FIRST} IS NOT NULL\n    THEN {_IS_DUE}")]
    functions = [
        in_schema(_FUNCTION.format(name=name, asked=asked.format(schema="@schema@.")), schema)
        for name, asked in FUNCTIONS.items()
    ]
    cases = f"""WHEN {_TURN} IS NOT NULL THEN {{schema}}jobrunner_is_gate_due()
    WHEN {_FIRST} IS NOT NULL THEN {{schema}}jobrunner_is_any_stray()"""
    return [*functions, _view(qualifier(schema), cases)]


def _view(before: str, cases: str) -> str:
    asked = f"CASE {cases.format(schema=before)}\n    ELSE 1 = 0 END"
    return f"CREATE VIEW {before}job_gates_due AS\n  SELECT {asked} AS is_due"
