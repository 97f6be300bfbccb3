CREATE TABLE {schema}job_state (
  id INTEGER NOT NULL CONSTRAINT job_state_pkey PRIMARY KEY CONSTRAINT job_state_single CHECK (id = 1),
  oldest_code INTEGER NOT NULL,
  pruned_at {time},
  clock_offset {key} NOT NULL DEFAULT 0,
  counted_to {key} NOT NULL DEFAULT 0,
  counting_to {key} NOT NULL DEFAULT 0,
  counting_after {key},
  metrics_host VARCHAR(255),
  metrics_at {time},
  server VARCHAR(60)
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
  gate VARCHAR(600) NOT NULL DEFAULT '',
  has_dependants {small_number} NOT NULL DEFAULT 0,
  idempotency_key VARCHAR(500),
  attempts INTEGER NOT NULL DEFAULT 0,
  max_attempts INTEGER,
  timeout {seconds},
  traceparent VARCHAR(55),
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
CREATE INDEX job_runs_of_schedule ON {schema}job_runs (definition_id, id) WHERE definition_id IS NOT NULL;
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
CREATE INDEX job_runs_behind ON {schema}job_runs (gate, id)
  WHERE status IN ('queued', 'failed') AND releases >= 0 AND gate <> '';
CREATE INDEX job_runs_lease ON {schema}job_runs (host, id) WHERE status = 'running';
CREATE INDEX job_runs_finished ON {schema}job_runs (status, finished_at, job_type) WHERE finished_at IS NOT NULL;
CREATE INDEX job_runs_failing ON {schema}job_runs (failed_at) WHERE status = 'failed';
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
  gate VARCHAR(600) NOT NULL,
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
  if_parent_fails VARCHAR(20) NOT NULL,
  parent_status VARCHAR(20),
  CONSTRAINT job_parents_pkey PRIMARY KEY (parent_id, run_id),
  CONSTRAINT job_parents_if_parent_fails CHECK (if_parent_fails IN ('cancel', 'run'))
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
  error_class VARCHAR(300),
  error TEXT,
  traceback TEXT,
  output TEXT,
  exit_signal INTEGER,
  CONSTRAINT job_attempts_run_id_sequence_key UNIQUE (run_id, sequence),
  CONSTRAINT job_attempts_run_id_lease_token_key UNIQUE (run_id, lease_token),
  CONSTRAINT job_attempts_run_id_fkey FOREIGN KEY (run_id) REFERENCES {schema}job_runs (id) ON DELETE CASCADE
){storage};
