"""What every tick asks: whether a run is due, behind gates and behind none. Two views of one row each.

A server plans a view with each statement, and takes as long for what is rare as for all else that an idle tick asks. It
plans a function when that is called. So what is rare is a function there.
"""

from __future__ import annotations

from jobrunner.store.sql.conditions import BEHIND_GATE, CLAIM
from jobrunner.store.sql.dialect.application_functions import in_schema
from jobrunner.store.sql.namespace import qualifier

# All these ask for the first one in an index. For EXISTS the planner could scan all runs, and expect to find one soon.
_TYPE_PAUSED = "EXISTS (SELECT name FROM {schema}job_pauses WHERE kind = 'type')"
# With the condition of the index of all types.
_FIRST_OF_ALL = "(SELECT min(run_at) FROM {schema}job_claimable WHERE releases >= 0) IS NOT NULL"
_FIRST_OF_EACH = """EXISTS (SELECT 1 FROM {schema}job_unpaused_types types
    WHERE (SELECT id FROM {schema}job_claimable WHERE job_claimable.job_type = types.job_type
      ORDER BY turn_at, run_at, id LIMIT 1) IS NOT NULL)"""
_STRAY_DEPENDANTS = "EXISTS (SELECT id FROM {schema}job_stray_dependants)"
# Whether a claim can take a run from behind a gate, or a run is to be set right that waits where no claim looks.
_BEHIND_DUE = f"""EXISTS (SELECT gate FROM {{schema}}job_ready_gates)
    OR EXISTS (SELECT gate FROM {{schema}}job_stray_gates)
    OR {_STRAY_DEPENDANTS}"""  # noqa: S608 - only our own words
# A gate may have a turn, and nothing that waits behind it: a claim clears that away.
_TURN = "(SELECT gate FROM {schema}job_gates WHERE turn_at IS NOT NULL ORDER BY job_type, turn_at LIMIT 1)"
_BEHIND = f"SELECT gate FROM {{schema}}job_runs WHERE {CLAIM['waiting']} AND {BEHIND_GATE}"  # noqa: S608 - the same
_FIRST = f"({_BEHIND} ORDER BY gate, id LIMIT 1)"
_LAST = f"({_BEHIND} ORDER BY gate DESC, id DESC LIMIT 1)"
FUNCTIONS = {
    "jobrunner_is_unpaused_due": _FIRST_OF_EACH,
    "jobrunner_is_gate_due": _BEHIND_DUE,
    # Where runs wait only for the end of others, the server need not plan all of it.
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
_VIEWS = {
    "sqlite": {
        "job_ungated_due": f"WHEN {_TYPE_PAUSED}\n    THEN {_FIRST_OF_EACH}\n    ELSE {_FIRST_OF_ALL}",
        "job_gates_due": f"WHEN {_TURN} IS NOT NULL OR {_FIRST} IS NOT NULL\n    THEN {_BEHIND_DUE}\n    ELSE 1 = 0",
    },
    "postgresql": {
        "job_ungated_due": f"""WHEN {_TYPE_PAUSED} THEN {{schema}}jobrunner_is_unpaused_due()
    ELSE {_FIRST_OF_ALL}""",
        "job_gates_due": f"""WHEN {_TURN} IS NOT NULL THEN {{schema}}jobrunner_is_gate_due()
    WHEN {_FIRST} IS NOT NULL THEN {{schema}}jobrunner_is_any_stray()
    ELSE 1 = 0""",
    },
}


def due_statements(dialect_name: str, schema: str | None) -> list[str]:
    """What a migration must run after it has created the other views."""
    functions = [
        in_schema(_FUNCTION.format(name=name, asked=asked.format(schema="@schema@.")), schema)
        for name, asked in FUNCTIONS.items()
        if dialect_name != "sqlite"
    ]
    before = qualifier(schema) if dialect_name != "sqlite" else ""
    views = [
        f"CREATE VIEW {before}{name} AS\n  SELECT CASE {cases.format(schema=before)} END AS is_due"
        for name, cases in _VIEWS[dialect_name].items()
    ]
    return [*functions, *views]
