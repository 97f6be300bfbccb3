"""A place to go on from, what attempts have cost, where rows were moved to, set limits, runs of one host, fair types.

It expands: older programs leave them empty.
"""

from collections.abc import Iterable

from alembic import op

revision = "0002"
down_revision = "0001"


def _readable(table: str, column: str) -> str:
    return f"CONSTRAINT {table}_{column}_readable CHECK (({column} IS NULL OR json_valid({column})))"


COSTS = ("processor", "most_processor", "processors", "most_memory", "memories")
SET_LIMITS = """CREATE TABLE {schema}job_set_limits (
  job_type VARCHAR(200) NOT NULL,
  max_running INTEGER,
  rate VARCHAR(50),
  burst INTEGER,
  reason TEXT,
  actor VARCHAR(300) NOT NULL,
  set_at TIMESTAMPTZ NOT NULL,
  ends_at TIMESTAMPTZ,
  CONSTRAINT job_set_limits_pkey PRIMARY KEY (job_type),
  CONSTRAINT job_set_limits_limit CHECK (max_running IS NOT NULL OR rate IS NOT NULL),
  CONSTRAINT job_set_limits_max_running CHECK (max_running > 0),
  CONSTRAINT job_set_limits_rate CHECK ((rate IS NULL) = (burst IS NULL)),
  CONSTRAINT job_set_limits_readable CHECK (set_at BETWEEN {first} AND {last} AND ends_at BETWEEN {first} AND {last})
)"""
SET_LIMITS_POSTGRESQL = SET_LIMITS.replace("{first}", "'1970-01-01 00:00:00+00:00'").replace(
    "{last}", "'9999-12-31 00:00:00+00:00'"
)
# The roles of ticks and of those who look at them have rights on all tables that were there. Ticks read this one.
SAME_RIGHTS = """DO $step$ DECLARE given record; BEGIN
  FOR given IN SELECT privilege_type, is_grantable, grantee
    FROM pg_class CROSS JOIN aclexplode(relacl) WHERE oid = '{schema}job_limits'::regclass AND grantee <> relowner
  LOOP
    EXECUTE 'GRANT ' || given.privilege_type || ' ON {schema}job_set_limits TO '
      || CASE WHEN given.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(given.grantee)) END
      || CASE WHEN given.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END;
  END LOOP;
END $step$"""
SET_LIMITS_SQLITE = SET_LIMITS.replace("{first}", "0").replace("{last}", "253402214400000000").replace("{schema}", "")
for _of_postgresql, _of_sqlite in (
    *((f"VARCHAR({_length})", "TEXT") for _length in (50, 200, 300)),
    ("TIMESTAMPTZ", "INTEGER"),
):
    SET_LIMITS_SQLITE = SET_LIMITS_SQLITE.replace(_of_postgresql, _of_sqlite)
SET_LIMITS_SQLITE += " STRICT"
# On SQLite true was the key of 1 before, and each order of the members of an object a key of its own. A run at work
# gets the gate that its key has now; one that waits gets it from the next claim. A gate is the names of up to three
# arguments, with commas, a space, and their values.
KEYS = """UPDATE job_runs SET gate = CASE status WHEN 'running' THEN keyed.gate ELSE '' END
  FROM (SELECT id, names || ' ' || substr(CASE WHEN written GLOB '*[{\\.eE]*' THEN (
      SELECT '[' || group_concat(listed, ',') || ']' FROM (
        SELECT CASE path WHEN '$' THEN '' ELSE substr(fullkey, 2) || ':' END
          || CASE WHEN type IN ('true', 'false') THEN type WHEN type IN ('object', 'array') THEN value
            ELSE json_quote(atom) END AS listed
        FROM json_tree(written) WHERE type NOT IN ('object', 'array') OR value IN ('{}', '[]') ORDER BY fullkey))
      ELSE written END, 1, 200) AS gate
    FROM (SELECT id, names, substr(found, 1, length(found) - 5 * (3 - more) - 1) || ']' AS written
      FROM (SELECT id, names, length(names) - length(replace(names, ',', '')) AS more, json_extract(payload,
          '$."' || json_extract(named, '$[0]') || '"',
          coalesce('$."' || json_extract(named, '$[1]') || '"', '$[0]'),
          coalesce('$."' || json_extract(named, '$[2]') || '"', '$[0]'), '$[0]') AS found
        FROM (SELECT id, payload, names, '["' || replace(names, ',', '","') || '"]' AS named
          FROM (SELECT id, payload, substr(gate, 1, instr(gate, ' ') - 1) AS names FROM job_runs
            WHERE status IN ('queued', 'failed', 'running') AND instr(gate, ' ') > 0))))) AS keyed
  WHERE job_runs.id = keyed.id AND job_runs.gate <> keyed.gate"""
# The same condition in fewer words, since a server reads it anew for each statement.
MANY_INSTANTS = {
    "job_runs": (
        "run_at", "scheduled_for", "start_deadline_at", "locked_until", "claimed_at", "started_at", "heartbeat_at",
        "cancel_requested_at", "failed_at", "finished_at", "told_at", "incompatible_at", "created_at", "updated_at",
    ),
    "job_definitions": (
        "ends_at", "last_slot_at", "next_run_at", "paused_at", "removed_at", "created_at", "updated_at",
    ),
}  # fmt: skip
FIRST, LAST = "1970-01-01 00:00:00+00:00", "9999-12-31 00:00:00+00:00"
IN_FEW_WORDS = {
    table: f"CAST('[{FIRST},{LAST}]' AS tstzrange) @> ALL (ARRAY[{', '.join(instants)}])"
    for table, instants in MANY_INSTANTS.items()
}
IN_MANY_WORDS = {
    table: " AND ".join(f"{each} BETWEEN '{FIRST}' AND '{LAST}'" for each in instants)
    for table, instants in MANY_INSTANTS.items()
}


# Rows that are there are not read again, which would keep everybody from a large table: they fit the same condition.
CHECK_INSTANTS = """DO $step$ BEGIN
  ALTER TABLE {schema}{table} DROP CONSTRAINT {table}_readable,
    ADD CONSTRAINT {table}_readable CHECK ({condition}) NOT VALID;
  IF NOT EXISTS (SELECT FROM {schema}{table}) THEN
    ALTER TABLE {schema}{table} VALIDATE CONSTRAINT {table}_readable;
  END IF;
END $step$"""


def _instants_checked_by(conditions: dict[str, str]) -> list[str]:
    return [
        CHECK_INSTANTS.replace("{table}", table).replace("{condition}", condition)
        for table, condition in conditions.items()
    ]


ON = "CONSTRAINT job_definitions_on CHECK (\"on\" IN ('any-host', 'every-host'))"
UP = {
    "postgresql": [
        "ALTER TABLE {schema}job_runs ADD COLUMN checkpoint JSONB",
        "ALTER TABLE {schema}job_attempts ADD COLUMN peak_memory_bytes BIGINT",
        "ALTER TABLE {schema}job_attempts ADD COLUMN processor_seconds DOUBLE PRECISION",
        "ALTER TABLE {schema}job_tallies ADD COLUMN processor DOUBLE PRECISION DEFAULT 0 NOT NULL",
        "ALTER TABLE {schema}job_tallies ADD COLUMN most_processor DOUBLE PRECISION DEFAULT 0 NOT NULL",
        "ALTER TABLE {schema}job_tallies ADD COLUMN processors JSONB DEFAULT '[]' NOT NULL",
        "ALTER TABLE {schema}job_tallies ADD COLUMN most_memory BIGINT DEFAULT 0 NOT NULL",
        "ALTER TABLE {schema}job_tallies ADD COLUMN memories JSONB DEFAULT '[]' NOT NULL",
        "ALTER TABLE {schema}job_state ADD COLUMN moved TEXT",
        "ALTER TABLE {schema}job_types ADD COLUMN fair_by VARCHAR(200)",
        "ALTER TABLE {schema}job_limits ADD COLUMN looked_to VARCHAR(600)",
        "ALTER TABLE {schema}job_gates ADD COLUMN place BIGINT DEFAULT 0 NOT NULL",
        SET_LIMITS_POSTGRESQL,
        SAME_RIGHTS,
        "ALTER TABLE {schema}job_runs ADD COLUMN only_host VARCHAR(255)",
        f"ALTER TABLE {{schema}}job_definitions ADD COLUMN \"on\" VARCHAR(20) DEFAULT 'any-host' NOT NULL {ON}",
        "ALTER TABLE {schema}job_definitions ADD COLUMN host VARCHAR(255)",
        "ALTER TABLE {schema}job_definitions ADD COLUMN template VARCHAR(200)",
        "ALTER TABLE {schema}job_locks ADD COLUMN sole_owner VARCHAR(300)",
        *_instants_checked_by(IN_FEW_WORDS),
    ],
    "sqlite": [
        f"ALTER TABLE job_runs ADD COLUMN checkpoint TEXT {_readable('job_runs', 'checkpoint')}",
        "ALTER TABLE job_attempts ADD COLUMN peak_memory_bytes INTEGER",
        "ALTER TABLE job_attempts ADD COLUMN processor_seconds REAL",
        "ALTER TABLE job_tallies ADD COLUMN processor REAL DEFAULT 0 NOT NULL",
        "ALTER TABLE job_tallies ADD COLUMN most_processor REAL DEFAULT 0 NOT NULL",
        "ALTER TABLE job_tallies ADD COLUMN processors TEXT DEFAULT '[]' NOT NULL "
        + _readable("job_tallies", "processors"),
        "ALTER TABLE job_tallies ADD COLUMN most_memory INTEGER DEFAULT 0 NOT NULL",
        "ALTER TABLE job_tallies ADD COLUMN memories TEXT DEFAULT '[]' NOT NULL "
        + _readable("job_tallies", "memories"),
        "ALTER TABLE job_state ADD COLUMN moved TEXT",
        "ALTER TABLE job_types ADD COLUMN fair_by TEXT",
        "ALTER TABLE job_limits ADD COLUMN looked_to TEXT",
        "ALTER TABLE job_gates ADD COLUMN place INTEGER DEFAULT 0 NOT NULL",
        SET_LIMITS_SQLITE,
        "ALTER TABLE job_runs ADD COLUMN only_host TEXT",
        f"ALTER TABLE job_definitions ADD COLUMN \"on\" TEXT DEFAULT 'any-host' NOT NULL {ON}",
        "ALTER TABLE job_definitions ADD COLUMN host TEXT",
        "ALTER TABLE job_definitions ADD COLUMN template TEXT",
        "ALTER TABLE job_locks ADD COLUMN sole_owner TEXT",
        KEYS,
    ],
}
# Older programs would run on any host what belongs to one. So such schedules end, and their runs are given up.
ONE_HOST_ENDS = [
    "UPDATE {schema}job_definitions SET removed_at = updated_at WHERE host IS NOT NULL AND removed_at IS NULL",
    """UPDATE {schema}job_runs SET start_deadline_at = created_at
      WHERE only_host IS NOT NULL AND status IN ('queued', 'failed')""",
]
OF_HOST = ("job_runs_of_host", "job_definitions_of_host", "job_definitions_templates")
# The triggers read a column that goes.
DOWN = {
    "postgresql": [
        "DROP TRIGGER IF EXISTS jobrunner_note_fair ON {schema}job_runs",
        "DROP TRIGGER IF EXISTS jobrunner_line_up ON {schema}job_runs",
        "DROP FUNCTION IF EXISTS {schema}jobrunner_note_fair()",
        "DROP FUNCTION IF EXISTS {schema}jobrunner_line_up()",
        *ONE_HOST_ENDS,
        *_instants_checked_by(IN_MANY_WORDS),
        "ALTER TABLE {schema}job_locks DROP COLUMN sole_owner",
        "ALTER TABLE {schema}job_definitions DROP COLUMN template",
        "ALTER TABLE {schema}job_definitions DROP COLUMN host",
        'ALTER TABLE {schema}job_definitions DROP COLUMN "on"',
        "ALTER TABLE {schema}job_runs DROP COLUMN only_host",
        "DROP TABLE {schema}job_set_limits",
        "ALTER TABLE {schema}job_gates DROP COLUMN place",
        "ALTER TABLE {schema}job_limits DROP COLUMN looked_to",
        "ALTER TABLE {schema}job_types DROP COLUMN fair_by",
        "ALTER TABLE {schema}job_state DROP COLUMN moved",
        *(f"ALTER TABLE {{schema}}job_tallies DROP COLUMN {each}" for each in COSTS),
        "ALTER TABLE {schema}job_attempts DROP COLUMN processor_seconds",
        "ALTER TABLE {schema}job_attempts DROP COLUMN peak_memory_bytes",
        "ALTER TABLE {schema}job_runs DROP COLUMN checkpoint",
    ],
    "sqlite": [
        "DROP TRIGGER IF EXISTS jobrunner_line_up",
        *ONE_HOST_ENDS,
        # SQLite keeps a column that has an index.
        *(f"DROP INDEX IF EXISTS {name}" for name in OF_HOST),
        "ALTER TABLE job_locks DROP COLUMN sole_owner",
        "ALTER TABLE job_definitions DROP COLUMN template",
        "ALTER TABLE job_definitions DROP COLUMN host",
        'ALTER TABLE job_definitions DROP COLUMN "on"',
        "ALTER TABLE job_runs DROP COLUMN only_host",
        "DROP TABLE job_set_limits",
        # SQLite drops no column that an index has.
        "DROP INDEX IF EXISTS job_gates_line",
        "ALTER TABLE job_gates DROP COLUMN place",
        "ALTER TABLE job_limits DROP COLUMN looked_to",
        "ALTER TABLE job_types DROP COLUMN fair_by",
        "ALTER TABLE job_state DROP COLUMN moved",
        *(f"ALTER TABLE job_tallies DROP COLUMN {each}" for each in COSTS),
        "ALTER TABLE job_attempts DROP COLUMN processor_seconds",
        "ALTER TABLE job_attempts DROP COLUMN peak_memory_bytes",
        "ALTER TABLE job_runs DROP COLUMN checkpoint",
    ],
}


def upgrade() -> None:
    run(UP[op.get_context().dialect.name])


def downgrade() -> None:
    run(DOWN[op.get_context().dialect.name])


def run(statements: Iterable[str]) -> None:
    schema = op.get_context().version_table_schema
    for statement in statements:
        op.execute(statement.replace("{schema}", "" if schema is None else f'"{schema}".'))
