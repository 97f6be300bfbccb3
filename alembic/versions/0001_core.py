"""The core: definitions, runs, keys, attempts, ticks, events, and what is due."""

import re

from alembic import context, op
from jobrunner.store import conditions
from jobrunner.store.dialect import parents, values
from jobrunner.store.dialect.enqueue_function import enqueue_removal, enqueue_statements
from jobrunner.store.drivers import notify
from jobrunner.store.namespace import qualifier

revision = "0001"
down_revision = None

TABLES = """
CREATE TABLE {schema}job_state (
  id INTEGER NOT NULL CONSTRAINT job_state_pkey PRIMARY KEY CONSTRAINT job_state_single CHECK (id = 1),
  oldest_code INTEGER NOT NULL,
  pruned_at {time},
  clock_offset {key} NOT NULL DEFAULT 0,
  counted_to {key} NOT NULL DEFAULT 0,
  counting_to {key} NOT NULL DEFAULT 0,
  counting_after {key},
  metrics_host VARCHAR(255),
  metrics_at {time}
){storage};
INSERT INTO {schema}job_state (id, oldest_code) VALUES (1, 1);
CREATE TABLE {schema}job_definitions (
  id {identity},
  name VARCHAR(200) NOT NULL,
  job_type VARCHAR(200) NOT NULL,
  payload {json} NOT NULL,
  schedule VARCHAR(1000),
  timezone VARCHAR(100) NOT NULL,
  source VARCHAR(20) NOT NULL,
  application VARCHAR(100) NOT NULL DEFAULT '',
  description TEXT,
  misfire VARCHAR(20) NOT NULL DEFAULT 'latest',
  misfire_window {seconds},
  misfire_most INTEGER NOT NULL DEFAULT 100,
  overlap VARCHAR(20) NOT NULL DEFAULT 'skip',
  start_deadline {seconds},
  jitter {seconds},
  ends_at {time},
  max_runs {key},
  runs_made {key} NOT NULL DEFAULT 0,
  last_slot_at {time} NOT NULL,
  next_run_at {time},
  paused_at {time},
  removed_at {time},
  last_error TEXT,
  created_at {time} NOT NULL,
  updated_at {time} NOT NULL,
  CONSTRAINT job_definitions_policy CHECK (
    misfire IN ('latest', 'skip', 'all') AND overlap IN ('skip', 'queue', 'allow', 'replace')
    AND NOT (misfire = 'all' AND overlap = 'replace') AND misfire_window BETWEEN 0.000001 AND 316224000
    AND misfire_most BETWEEN 1 AND 10000 AND start_deadline BETWEEN 0.000001 AND 316224000
    AND jitter BETWEEN 0.000001 AND 316224000 AND max_runs BETWEEN 1 AND 1000000000 AND runs_made >= 0),
  CONSTRAINT job_definitions_name_key UNIQUE (name)
){storage};
CREATE TABLE {schema}job_runs (
  id {identity},
  definition_id {key},
  job_type VARCHAR(200) NOT NULL,
  payload {json} NOT NULL,
  status VARCHAR(20) NOT NULL
    CONSTRAINT job_runs_status CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'dead', 'cancelled')),
  priority {small_number} NOT NULL,
  run_at {time} NOT NULL,
  turn_at {turn},
  scheduled_for {time},
  origin VARCHAR(20),
  start_deadline_at {time},
  concurrency_key VARCHAR(300),
  gate VARCHAR(300) NOT NULL DEFAULT '',
  has_dependants {small_number} NOT NULL DEFAULT 0,
  idempotency_key VARCHAR(500),
  attempts INTEGER NOT NULL DEFAULT 0,
  max_attempts INTEGER,
  timeout {seconds},
  locked_by VARCHAR(300),
  host VARCHAR(255),
  locked_until {time},
  lease_token VARCHAR(32),
  claimed_at {time},
  started_at {time},
  heartbeat_at {time},
  cancel_requested_at {time},
  failed_at {time},
  finished_at {time},
  told_at {time},
  releases INTEGER NOT NULL DEFAULT 0,
  lease_expiries INTEGER NOT NULL DEFAULT 0,
  incompatible_at {time},
  error_type VARCHAR(200),
  last_error TEXT,
  result {json},
  progress {json},
  output TEXT,
  created_at {time} NOT NULL,
  updated_at {time} NOT NULL,
  CONSTRAINT job_runs_lease CHECK (
    (status = 'running') = (lease_token IS NOT NULL) AND (status = 'running') = (locked_by IS NOT NULL)
    AND (status = 'running') = (locked_until IS NOT NULL)),
  CONSTRAINT job_runs_finished CHECK (
    (status IN ('succeeded', 'dead', 'cancelled')) = (finished_at IS NOT NULL)),
  CONSTRAINT job_runs_counts CHECK (attempts >= 0 AND releases >= 0 AND lease_expiries >= 0),
  CONSTRAINT job_runs_limits CHECK (max_attempts >= 1 AND timeout BETWEEN 0 AND 316224000),
  CONSTRAINT job_runs_definition_id_fkey FOREIGN KEY (definition_id) REFERENCES {schema}job_definitions (id)
){storage_of_runs};
CREATE UNIQUE INDEX job_runs_slot ON {schema}job_runs (definition_id, scheduled_for)
  WHERE scheduled_for IS NOT NULL AND (origin IS NULL OR origin <> 'again');
CREATE INDEX job_runs_unfinished ON {schema}job_runs (definition_id, id)
  WHERE status IN ('queued', 'failed', 'running') AND definition_id IS NOT NULL;
CREATE INDEX job_runs_key ON {schema}job_runs (concurrency_key, id)
  WHERE status IN ('queued', 'failed', 'running') AND concurrency_key IS NOT NULL;
CREATE UNIQUE INDEX job_runs_key_running ON {schema}job_runs (concurrency_key)
  WHERE lease_token IS NOT NULL AND concurrency_key IS NOT NULL;
CREATE INDEX job_runs_deadline ON {schema}job_runs (start_deadline_at)
  WHERE finished_at IS NULL AND lease_token IS NULL AND start_deadline_at IS NOT NULL;
CREATE INDEX job_runs_claim ON {schema}job_runs (job_type, gate, turn_at, run_at, id)
  WHERE status IN ('queued', 'failed');
CREATE INDEX job_runs_quarantined ON {schema}job_runs (job_type, gate, turn_at, run_at, id)
  WHERE status IN ('queued', 'failed') AND lease_expiries >= 2;
CREATE INDEX job_runs_due ON {schema}job_runs (run_at)
  WHERE status IN ('queued', 'failed') AND releases >= 0 AND gate = '';
CREATE INDEX job_runs_gated ON {schema}job_runs (job_type, gate)
  WHERE lease_token IS NOT NULL AND gate <> '';
CREATE INDEX job_runs_lease ON {schema}job_runs (host, id) WHERE status = 'running';
CREATE INDEX job_runs_finished ON {schema}job_runs (status, finished_at, job_type) WHERE finished_at IS NOT NULL;
CREATE INDEX job_runs_untold ON {schema}job_runs (finished_at)
  WHERE CASE WHEN status = 'dead' AND (told_at IS NULL OR told_at < finished_at) THEN 1 END = 1;
CREATE TABLE {schema}job_keys (
  job_type VARCHAR(200) NOT NULL,
  idempotency_key VARCHAR(500) NOT NULL,
  run_id {key},
  created_at {time} NOT NULL,
  CONSTRAINT job_keys_pkey PRIMARY KEY (job_type, idempotency_key)
){storage};
CREATE TABLE {schema}job_locks (
  name VARCHAR(300) NOT NULL,
  CONSTRAINT job_locks_pkey PRIMARY KEY (name)
){storage};
CREATE TABLE {schema}job_types (
  job_type VARCHAR(200) NOT NULL,
  max_waiting {key},
  when_full VARCHAR(20) NOT NULL,
  dropped {key} NOT NULL DEFAULT 0,
  dropped_at {time},
  key_scope VARCHAR(20) NOT NULL DEFAULT 'forever',
  key_window {seconds},
  updated_at {time} NOT NULL,
  CONSTRAINT job_types_pkey PRIMARY KEY (job_type),
  CONSTRAINT job_types_limit CHECK (max_waiting > 0),
  CONSTRAINT job_types_when_full CHECK (when_full IN ('refuse', 'drop')),
  CONSTRAINT job_types_key_scope CHECK (
    key_scope IN ('forever', 'active', 'window') AND (key_scope = 'window') = (key_window IS NOT NULL)
    AND key_window BETWEEN 0.000001 AND 316224000)
){storage};
CREATE TABLE {schema}job_limits (
  job_type VARCHAR(200) NOT NULL,
  max_running INTEGER,
  rate VARCHAR(50),
  burst INTEGER,
  concurrency_key VARCHAR(1000),
  max_running_per_key INTEGER,
  rate_per_key VARCHAR(50),
  burst_per_key INTEGER,
  spent_until {time},
  opens_at {time},
  asked_at {time},
  CONSTRAINT job_limits_pkey PRIMARY KEY (job_type)
){storage};
CREATE TABLE {schema}job_gates (
  job_type VARCHAR(200) NOT NULL,
  gate VARCHAR(300) NOT NULL,
  turn_at {instant},
  spent_until {time},
  opens_at {time},
  CONSTRAINT job_gates_pkey PRIMARY KEY (job_type, gate)
){storage};
CREATE INDEX job_gates_turn ON {schema}job_gates (job_type, turn_at)
  WHERE turn_at IS NOT NULL;
CREATE INDEX job_gates_opens ON {schema}job_gates (job_type, opens_at)
  WHERE turn_at IS NOT NULL AND opens_at IS NOT NULL;
CREATE TABLE {schema}job_pauses (
  kind VARCHAR(20) NOT NULL CONSTRAINT job_pauses_kind CHECK (kind IN ('all', 'type', 'host')),
  name VARCHAR(255) NOT NULL,
  reason TEXT,
  actor VARCHAR(300) NOT NULL,
  paused_at {time} NOT NULL,
  CONSTRAINT job_pauses_pkey PRIMARY KEY (kind, name),
  CONSTRAINT job_pauses_name CHECK ((kind = 'all') = (name = ''))
){storage};
CREATE TABLE {schema}job_parents (
  parent_id {key} NOT NULL,
  run_id {key} NOT NULL,
  on_failure VARCHAR(20) NOT NULL,
  parent_status VARCHAR(20),
  CONSTRAINT job_parents_pkey PRIMARY KEY (parent_id, run_id),
  CONSTRAINT job_parents_on_failure CHECK (on_failure IN ('cancel', 'run'))
){storage};
CREATE INDEX job_parents_run_id ON {schema}job_parents (run_id);
CREATE INDEX job_parents_ended ON {schema}job_parents (run_id) WHERE parent_status IS NOT NULL;
CREATE TABLE {schema}job_attempts (
  id {identity},
  run_id {key} NOT NULL,
  sequence INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  lease_token VARCHAR(32) NOT NULL,
  worker VARCHAR(300) NOT NULL,
  host VARCHAR(255) NOT NULL,
  due_at {time},
  started_at {time} NOT NULL,
  finished_at {time} NOT NULL,
  outcome VARCHAR(20) NOT NULL,
  status VARCHAR(20),
  error_type VARCHAR(200),
  error TEXT,
  traceback TEXT,
  output TEXT,
  exit_signal INTEGER,
  CONSTRAINT job_attempts_run_id_sequence_key UNIQUE (run_id, sequence),
  CONSTRAINT job_attempts_run_id_lease_token_key UNIQUE (run_id, lease_token),
  CONSTRAINT job_attempts_run_id_fkey FOREIGN KEY (run_id) REFERENCES {schema}job_runs (id) ON DELETE CASCADE
){storage};
CREATE TABLE {schema}job_ticks (
  id {identity},
  host VARCHAR(255) NOT NULL,
  worker VARCHAR(300) NOT NULL,
  version VARCHAR(50) NOT NULL,
  started_at {time} NOT NULL,
  application TEXT,
  listening_at {time},
  types TEXT,
  finished_at {time},
  counts {json},
  error TEXT,
  ended_by VARCHAR(20),
  left_due {json},
  CONSTRAINT job_ticks_ended_by CHECK (ended_by IN ('empty', 'budget', 'batch', 'signal', 'superseded', 'error'))
){storage};
CREATE INDEX job_ticks_started_at ON {schema}job_ticks (started_at);
CREATE INDEX job_ticks_host_id ON {schema}job_ticks (host, id);
CREATE TABLE {schema}job_hosts (
  id VARCHAR(64) NOT NULL,
  host VARCHAR(255) NOT NULL,
  application TEXT NOT NULL,
  types TEXT NOT NULL,
  digest VARCHAR(64) NOT NULL,
  can_run {json} NOT NULL,
  settings {json} NOT NULL,
  database TEXT NOT NULL,
  boot VARCHAR(64) NOT NULL,
  last_boot VARCHAR(64) NOT NULL,
  is_twin_at {time},
  reported_at {time} NOT NULL,
  CONSTRAINT job_hosts_pkey PRIMARY KEY (id)
){storage};
CREATE TABLE {schema}job_events (
  id {identity},
  at {time} NOT NULL,
  actor VARCHAR(300) NOT NULL,
  action VARCHAR(50) NOT NULL,
  run_id {key},
  definition_id {key},
  detail {json} NOT NULL
){storage};
CREATE INDEX job_events_at ON {schema}job_events (at);
CREATE INDEX job_events_run_id ON {schema}job_events (run_id);
CREATE INDEX job_events_definition_id ON {schema}job_events (definition_id);
CREATE TABLE {schema}job_effects (
  key VARCHAR(500) NOT NULL,
  state VARCHAR(20) NOT NULL CONSTRAINT job_effects_state CHECK (state IN ('intended', 'uncertain', 'applied')),
  run_id {key} NOT NULL,
  job_type VARCHAR(200) NOT NULL,
  attempt INTEGER NOT NULL,
  lease_token VARCHAR(32) NOT NULL,
  token VARCHAR(32) NOT NULL,
  outcome {json},
  intended_at {time} NOT NULL,
  settled_at {time},
  CONSTRAINT job_effects_pkey PRIMARY KEY (key),
  CONSTRAINT job_effects_settled CHECK ((state = 'applied') = (settled_at IS NOT NULL))
){storage};
CREATE INDEX job_effects_open ON {schema}job_effects (intended_at) WHERE state <> 'applied';
CREATE TABLE {schema}job_tallies (
  id {identity},
  at {time} NOT NULL,
  span VARCHAR(10) NOT NULL,
  job_type VARCHAR(200) NOT NULL,
  outcome VARCHAR(20) NOT NULL,
  status VARCHAR(20) NOT NULL,
  ends {key} NOT NULL,
  waited {seconds} NOT NULL,
  longest_wait {seconds} NOT NULL,
  ran {seconds} NOT NULL,
  longest_run {seconds} NOT NULL,
  waits {json} NOT NULL,
  runs {json} NOT NULL,
  is_in_totals INTEGER NOT NULL DEFAULT 0,
  CONSTRAINT job_tallies_span CHECK (span IN ('hour', 'day'))
){storage};
CREATE INDEX job_tallies_span_at ON {schema}job_tallies (span, at);
CREATE INDEX job_tallies_new ON {schema}job_tallies (at) WHERE is_in_totals = 0;
CREATE TABLE {schema}job_totals (
  job_type VARCHAR(200) NOT NULL,
  outcome VARCHAR(20) NOT NULL,
  status VARCHAR(20) NOT NULL,
  ends {key} NOT NULL,
  waited {seconds} NOT NULL,
  ran {seconds} NOT NULL,
  waits {json} NOT NULL,
  runs {json} NOT NULL,
  updated_at {time} NOT NULL,
  CONSTRAINT job_totals_pkey PRIMARY KEY (job_type, outcome, status)
){storage};
CREATE TABLE {schema}job_notices (
  id {identity},
  at {time} NOT NULL,
  event VARCHAR(20) NOT NULL,
  job_type VARCHAR(200) NOT NULL,
  schedule VARCHAR(200) NOT NULL,
  receiver VARCHAR(100) NOT NULL,
  runs {key} NOT NULL,
  detail {json} NOT NULL,
  is_open INTEGER NOT NULL,
  seen_to {key} NOT NULL DEFAULT 0,
  tries INTEGER NOT NULL DEFAULT 0,
  claimed_at {time},
  claimed_by VARCHAR(300),
  settled_at {time},
  outcome VARCHAR(20),
  error TEXT,
  CONSTRAINT job_notices_event CHECK (event IN ('dead', 'late', 'recovered')),
  CONSTRAINT job_notices_settled CHECK ((settled_at IS NULL) = (outcome IS NULL))
){storage};
CREATE INDEX job_notices_at ON {schema}job_notices (at);
CREATE INDEX job_notices_unsettled ON {schema}job_notices (id) WHERE settled_at IS NULL;
CREATE INDEX job_notices_failed ON {schema}job_notices (settled_at) WHERE outcome <> 'sent';
CREATE INDEX job_notices_open ON {schema}job_notices (job_type, schedule) WHERE is_open = 1;
CREATE UNIQUE INDEX job_notices_late ON {schema}job_notices (job_type, schedule, receiver)
  WHERE is_open = 1 AND event = 'late';
"""

STALE = "(asked_at IS NULL OR asked_at <= {now} - {ten_minutes} OR asked_at > {now} + {ten_minutes})"
PARTS = {
    "stale": STALE,
    "unpaused": conditions.all_of(conditions.UNPAUSED),
    "claimable": conditions.all_of(conditions.CLAIM),
    "expandable": conditions.all_of(conditions.EXPAND),
}
VIEWS = """
CREATE VIEW {schema}job_claimable AS
  SELECT id, job_type, turn_at, run_at, lease_expiries, releases FROM {schema}job_runs
  WHERE gate = '' AND {claimable};
CREATE VIEW {schema}job_gated AS
  SELECT id, job_type, gate, turn_at, run_at, lease_expiries FROM {schema}job_runs
  WHERE gate <> '' AND {claimable};
-- Limits that no claim has asked for in ten minutes count as open: those of the code may have changed.
CREATE VIEW {schema}job_open_limits AS
  SELECT job_type, max_running_per_key, {stale} AS is_stale
  FROM {schema}job_limits
  WHERE {unpaused} AND ({stale}
    OR ((opens_at IS NULL OR opens_at <= {now})
      AND (max_running IS NULL OR max_running > (SELECT count(*) FROM {schema}job_runs
        WHERE job_runs.job_type = job_limits.job_type AND job_runs.lease_token IS NOT NULL AND job_runs.gate <> ''))));
CREATE VIEW {schema}job_open_gates AS
  SELECT job_gates.job_type, job_gates.gate FROM {schema}job_open_limits
  JOIN {schema}job_gates ON job_gates.job_type = job_open_limits.job_type AND job_gates.turn_at IS NOT NULL
  WHERE is_stale OR ((opens_at IS NULL OR opens_at <= {now})
    AND (max_running_per_key IS NULL OR max_running_per_key > (SELECT count(*) FROM {schema}job_runs
      WHERE job_runs.job_type = job_gates.job_type AND job_runs.gate = job_gates.gate
        AND job_runs.lease_token IS NOT NULL AND job_runs.gate <> '')));
CREATE VIEW {schema}job_overdue AS
  SELECT id, definition_id, job_type, status, attempts, start_deadline_at FROM {schema}job_runs
  WHERE finished_at IS NULL AND lease_token IS NULL AND start_deadline_at <= {now};
CREATE VIEW {schema}job_expandable AS
  SELECT id, next_run_at FROM {schema}job_definitions
  WHERE {expandable};
-- No lease is longer than ten minutes: one that seems to be is left from before the clock stepped back.
CREATE VIEW {schema}job_recoverable AS
  SELECT id, host, locked_by FROM {schema}job_runs
  WHERE status = 'running' AND (locked_until <= {now} OR locked_until > {now} + {ten_minutes});
CREATE VIEW {schema}job_due AS
  SELECT 'claim' AS kind, id, run_at AS due_at FROM {schema}job_claimable
  UNION ALL SELECT 'claim', id, run_at FROM {schema}job_open_gates
    JOIN {schema}job_gated ON job_gated.job_type = job_open_gates.job_type AND job_gated.gate = job_open_gates.gate
  UNION ALL SELECT 'follow', run_id, NULL FROM {schema}job_parents WHERE parent_status IS NOT NULL
  UNION ALL SELECT 'expand', id, next_run_at FROM {schema}job_expandable
  UNION ALL SELECT 'recover', id, NULL FROM {schema}job_recoverable
  UNION ALL SELECT 'expire', id, start_deadline_at FROM {schema}job_overdue;
CREATE VIEW {schema}job_dead AS
  SELECT id, job_type, finished_at, attempts, error_type, last_error, payload FROM {schema}job_runs
  WHERE status = 'dead';
CREATE VIEW {schema}job_stuck AS
  SELECT id, job_type, host, locked_by, started_at, locked_until, timeout FROM {schema}job_runs
  WHERE status = 'running' AND (locked_until <= {now}
    OR (timeout > 0 AND started_at + timeout * {one_second} <= {now}));
"""

NAMES = (
    "notices",
    "effects",
    "totals",
    "tallies",
    "events",
    "hosts",
    "ticks",
    "attempts",
    "parents",
    "pauses",
    "gates",
    "limits",
    "types",
    "locks",
    "keys",
    "runs",
    "definitions",
    "state",
)
VIEW_NAMES = (
    "stuck",
    "dead",
    "due",
    "overdue",
    "recoverable",
    "expandable",
    "open_gates",
    "open_limits",
    "gated",
    "claimable",
)


def upgrade() -> None:
    for statement in statements(op.get_context().dialect.name, context.config.attributes["schema"]):
        op.execute(statement)


def statements(dialect_name: str, schema: str | None) -> list[str]:
    """All that creates the schema, in order. ``jobrunner migrate`` also repairs with them what is missing."""
    words = values.ddl_words(dialect_name, schema)
    parts = dict(words)
    for name, part in PARTS.items():
        parts[name] = part.format(**parts)
    return [
        *_split(_checked(TABLES, dialect_name), words),
        *values.clock_statements(dialect_name, schema),
        *notify.notify_statements(dialect_name, schema),
        *enqueue_statements(dialect_name, schema),
        *parents.note_end(dialect_name, schema),
        *_split(VIEWS, parts),
    ]


def _checked(script: str, dialect_name: str) -> str:
    """With what the types of the columns do not say: each table takes only rows that Python can read."""
    # STRICT tables of SQLite know no lengths.
    script = re.sub(r"VARCHAR\(\d+\)", "TEXT", script) if dialect_name == "sqlite" else script

    def add(table: re.Match[str]) -> str:
        name, columns, storage = table.groups()
        instants, json_columns = (
            re.findall(rf"^  (\w+) {{{kind}}}", columns, re.MULTILINE) for kind in ("time", "json")
        )
        if not instants:
            return table[0]
        condition = values.readable(dialect_name, instants, json_columns)
        return (
            f"CREATE TABLE {{schema}}{name} ({columns},\n  CONSTRAINT {name}_readable CHECK ({condition})\n){storage};"
        )

    return re.sub(r"CREATE TABLE {schema}(\w+) \((.*?)\n\)(\{\w+\});", add, script, flags=re.DOTALL)


def downgrade() -> None:
    name, schema = op.get_context().dialect.name, context.config.attributes["schema"]
    before = qualifier(schema)
    for view in VIEW_NAMES:
        op.execute(f"DROP VIEW IF EXISTS {before}job_{view}")
    for statement in (*enqueue_removal(name, schema), *values.clock_removal(name, schema)):
        op.execute(statement)
    for table in NAMES:
        op.execute(f"DROP TABLE IF EXISTS {before}job_{table}")
    for statement in (*notify.notify_removal(name, schema), *parents.note_end_removal(name, schema)):
        op.execute(statement)


def _split(script: str, words: dict[str, str]) -> list[str]:
    return [statement.strip().format(**words) for statement in script.split(";\n") if statement.strip()]
