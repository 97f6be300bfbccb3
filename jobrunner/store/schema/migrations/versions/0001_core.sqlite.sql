CREATE TABLE job_state (
  id INTEGER NOT NULL CONSTRAINT job_state_pkey PRIMARY KEY CONSTRAINT job_state_single CHECK (id = 1),
  oldest_code INTEGER NOT NULL,
  pruned_at INTEGER,
  clock_offset INTEGER NOT NULL DEFAULT 0,
  counted_to INTEGER NOT NULL DEFAULT 0,
  counting_to INTEGER NOT NULL DEFAULT 0,
  counting_after INTEGER,
  metrics_host TEXT,
  metrics_at INTEGER,
  server TEXT,
  released TEXT NOT NULL DEFAULT '0.1.0',
  unfinished TEXT,
  programs TEXT,
  CONSTRAINT job_state_readable CHECK (pruned_at BETWEEN 0 AND 253402214400000000 AND metrics_at BETWEEN 0 AND 253402214400000000)
) STRICT;

INSERT INTO job_state (id, oldest_code) VALUES (1, 1);

CREATE TABLE job_definitions (
  id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  job_type TEXT NOT NULL,
  payload TEXT NOT NULL,
  schedule TEXT,
  timezone TEXT NOT NULL,
  source TEXT NOT NULL,
  application TEXT NOT NULL DEFAULT '',
  description TEXT,
  misfire TEXT NOT NULL DEFAULT 'latest',
  misfire_window REAL,
  misfire_most INTEGER NOT NULL DEFAULT 100,
  overlap TEXT NOT NULL DEFAULT 'skip',
  start_deadline REAL,
  jitter REAL,
  ends_at INTEGER,
  max_runs INTEGER,
  runs_made INTEGER NOT NULL DEFAULT 0,
  last_slot_at INTEGER NOT NULL,
  next_run_at INTEGER,
  paused_at INTEGER,
  removed_at INTEGER,
  last_error TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  CONSTRAINT job_definitions_policy CHECK (
    misfire IN ('latest', 'skip', 'all') AND overlap IN ('skip', 'queue', 'allow', 'replace')
    AND NOT (misfire = 'all' AND overlap = 'replace') AND misfire_window BETWEEN 0.000001 AND 316224000
    AND misfire_most BETWEEN 1 AND 10000 AND start_deadline BETWEEN 0.000001 AND 316224000
    AND jitter BETWEEN 0.000001 AND 316224000 AND max_runs BETWEEN 1 AND 1000000000 AND runs_made >= 0),
  CONSTRAINT job_definitions_name_key UNIQUE (name),
  CONSTRAINT job_definitions_readable CHECK (ends_at BETWEEN 0 AND 253402214400000000 AND last_slot_at BETWEEN 0 AND 253402214400000000 AND next_run_at BETWEEN 0 AND 253402214400000000 AND paused_at BETWEEN 0 AND 253402214400000000 AND removed_at BETWEEN 0 AND 253402214400000000 AND created_at BETWEEN 0 AND 253402214400000000 AND updated_at BETWEEN 0 AND 253402214400000000 AND (payload IS NULL OR json_valid(payload)))
) STRICT;

CREATE TABLE job_runs (
  id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  definition_id INTEGER,
  job_type TEXT NOT NULL,
  payload TEXT NOT NULL,
  status TEXT NOT NULL
    CONSTRAINT job_runs_status CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'dead', 'cancelled')),
  priority INTEGER NOT NULL,
  run_at INTEGER NOT NULL,
  turn_at INTEGER GENERATED ALWAYS AS (run_at - priority * 60000000) STORED,
  scheduled_for INTEGER,
  origin TEXT,
  start_deadline_at INTEGER,
  concurrency_key TEXT,
  gate TEXT NOT NULL DEFAULT '',
  has_dependants INTEGER NOT NULL DEFAULT 0,
  idempotency_key TEXT,
  attempts INTEGER NOT NULL DEFAULT 0,
  max_attempts INTEGER,
  timeout REAL,
  traceparent TEXT,
  locked_by TEXT,
  host TEXT,
  locked_until INTEGER,
  lease_token TEXT,
  claimed_at INTEGER,
  started_at INTEGER,
  heartbeat_at INTEGER,
  cancel_requested_at INTEGER,
  failed_at INTEGER,
  finished_at INTEGER,
  told_at INTEGER,
  releases INTEGER NOT NULL DEFAULT 0,
  lease_expiries INTEGER NOT NULL DEFAULT 0,
  incompatible_at INTEGER,
  error_type TEXT,
  last_error TEXT,
  result TEXT,
  progress TEXT,
  output TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  CONSTRAINT job_runs_lease CHECK (
    (status = 'running') = (lease_token IS NOT NULL) AND (status = 'running') = (locked_by IS NOT NULL)
    AND (status = 'running') = (locked_until IS NOT NULL)),
  CONSTRAINT job_runs_finished CHECK (
    (status IN ('succeeded', 'dead', 'cancelled')) = (finished_at IS NOT NULL)),
  CONSTRAINT job_runs_counts CHECK (attempts >= 0 AND releases >= 0 AND lease_expiries >= 0),
  CONSTRAINT job_runs_limits CHECK (max_attempts >= 1 AND timeout BETWEEN 0 AND 316224000),
  CONSTRAINT job_runs_definition_id_fkey FOREIGN KEY (definition_id) REFERENCES job_definitions (id),
  CONSTRAINT job_runs_readable CHECK (run_at BETWEEN 0 AND 253402214400000000 AND scheduled_for BETWEEN 0 AND 253402214400000000 AND start_deadline_at BETWEEN 0 AND 253402214400000000 AND locked_until BETWEEN 0 AND 253402214400000000 AND claimed_at BETWEEN 0 AND 253402214400000000 AND started_at BETWEEN 0 AND 253402214400000000 AND heartbeat_at BETWEEN 0 AND 253402214400000000 AND cancel_requested_at BETWEEN 0 AND 253402214400000000 AND failed_at BETWEEN 0 AND 253402214400000000 AND finished_at BETWEEN 0 AND 253402214400000000 AND told_at BETWEEN 0 AND 253402214400000000 AND incompatible_at BETWEEN 0 AND 253402214400000000 AND created_at BETWEEN 0 AND 253402214400000000 AND updated_at BETWEEN 0 AND 253402214400000000 AND (payload IS NULL OR json_valid(payload)) AND (result IS NULL OR json_valid(result)) AND (progress IS NULL OR json_valid(progress)))
) STRICT;

CREATE UNIQUE INDEX job_runs_slot ON job_runs (definition_id, scheduled_for)
  WHERE scheduled_for IS NOT NULL AND (origin IS NULL OR origin <> 'again');

CREATE INDEX job_runs_of_schedule ON job_runs (definition_id, id) WHERE definition_id IS NOT NULL;

CREATE INDEX job_runs_unfinished ON job_runs (definition_id, id)
  WHERE status IN ('queued', 'failed', 'running') AND definition_id IS NOT NULL;

CREATE INDEX job_runs_key ON job_runs (concurrency_key, id)
  WHERE status IN ('queued', 'failed', 'running') AND concurrency_key IS NOT NULL;

CREATE UNIQUE INDEX job_runs_key_running ON job_runs (concurrency_key)
  WHERE lease_token IS NOT NULL AND concurrency_key IS NOT NULL;

CREATE INDEX job_runs_deadline ON job_runs (start_deadline_at)
  WHERE finished_at IS NULL AND lease_token IS NULL AND start_deadline_at IS NOT NULL;

CREATE INDEX job_runs_claim ON job_runs (job_type, gate, turn_at, run_at, id)
  WHERE status IN ('queued', 'failed');

CREATE INDEX job_runs_quarantined ON job_runs (job_type, gate, turn_at, run_at, id)
  WHERE status IN ('queued', 'failed') AND lease_expiries >= 2;

CREATE INDEX job_runs_due ON job_runs (run_at)
  WHERE status IN ('queued', 'failed') AND releases >= 0 AND gate = '';

CREATE INDEX job_runs_gated ON job_runs (job_type, gate)
  WHERE lease_token IS NOT NULL AND gate <> '';

CREATE INDEX job_runs_behind ON job_runs (gate, id)
  WHERE status IN ('queued', 'failed') AND releases >= 0 AND gate <> '';

CREATE INDEX job_runs_lease ON job_runs (host, id) WHERE status = 'running';

CREATE INDEX job_runs_finished ON job_runs (status, finished_at, job_type) WHERE finished_at IS NOT NULL;

CREATE INDEX job_runs_failing ON job_runs (failed_at) WHERE status = 'failed';

CREATE INDEX job_runs_untold ON job_runs (finished_at)
  WHERE CASE WHEN status = 'dead' AND (told_at IS NULL OR told_at < finished_at) THEN 1 END = 1;

CREATE TABLE job_keys (
  job_type TEXT NOT NULL,
  idempotency_key TEXT NOT NULL,
  run_id INTEGER,
  created_at INTEGER NOT NULL,
  CONSTRAINT job_keys_pkey PRIMARY KEY (job_type, idempotency_key),
  CONSTRAINT job_keys_readable CHECK (created_at BETWEEN 0 AND 253402214400000000)
) STRICT;

CREATE TABLE job_locks (
  name TEXT NOT NULL,
  CONSTRAINT job_locks_pkey PRIMARY KEY (name)
) STRICT;

CREATE TABLE job_types (
  job_type TEXT NOT NULL,
  max_waiting INTEGER,
  when_full TEXT NOT NULL,
  dropped INTEGER NOT NULL DEFAULT 0,
  dropped_at INTEGER,
  key_scope TEXT NOT NULL DEFAULT 'forever',
  key_window REAL,
  updated_at INTEGER NOT NULL,
  CONSTRAINT job_types_pkey PRIMARY KEY (job_type),
  CONSTRAINT job_types_limit CHECK (max_waiting > 0),
  CONSTRAINT job_types_when_full CHECK (when_full IN ('refuse', 'drop')),
  CONSTRAINT job_types_key_scope CHECK (
    key_scope IN ('forever', 'active', 'window') AND (key_scope = 'window') = (key_window IS NOT NULL)
    AND key_window BETWEEN 0.000001 AND 316224000),
  CONSTRAINT job_types_readable CHECK (dropped_at BETWEEN 0 AND 253402214400000000 AND updated_at BETWEEN 0 AND 253402214400000000)
) STRICT;

CREATE TABLE job_limits (
  job_type TEXT NOT NULL,
  max_running INTEGER,
  rate TEXT,
  burst INTEGER,
  concurrency_key TEXT,
  max_running_per_key INTEGER,
  rate_per_key TEXT,
  burst_per_key INTEGER,
  spent_until INTEGER,
  opens_at INTEGER,
  asked_at INTEGER,
  CONSTRAINT job_limits_pkey PRIMARY KEY (job_type),
  CONSTRAINT job_limits_readable CHECK (spent_until BETWEEN 0 AND 253402214400000000 AND opens_at BETWEEN 0 AND 253402214400000000 AND asked_at BETWEEN 0 AND 253402214400000000)
) STRICT;

CREATE TABLE job_gates (
  job_type TEXT NOT NULL,
  gate TEXT NOT NULL,
  turn_at INTEGER,
  spent_until INTEGER,
  opens_at INTEGER,
  CONSTRAINT job_gates_pkey PRIMARY KEY (job_type, gate),
  CONSTRAINT job_gates_readable CHECK (spent_until BETWEEN 0 AND 253402214400000000 AND opens_at BETWEEN 0 AND 253402214400000000)
) STRICT;

CREATE INDEX job_gates_turn ON job_gates (job_type, turn_at)
  WHERE turn_at IS NOT NULL;

CREATE INDEX job_gates_opens ON job_gates (job_type, opens_at)
  WHERE turn_at IS NOT NULL AND opens_at IS NOT NULL;

CREATE TABLE job_pauses (
  kind TEXT NOT NULL CONSTRAINT job_pauses_kind CHECK (kind IN ('all', 'type', 'host')),
  name TEXT NOT NULL,
  reason TEXT,
  actor TEXT NOT NULL,
  paused_at INTEGER NOT NULL,
  CONSTRAINT job_pauses_pkey PRIMARY KEY (kind, name),
  CONSTRAINT job_pauses_name CHECK ((kind = 'all') = (name = '')),
  CONSTRAINT job_pauses_readable CHECK (paused_at BETWEEN 0 AND 253402214400000000)
) STRICT;

CREATE TABLE job_parents (
  parent_id INTEGER NOT NULL,
  run_id INTEGER NOT NULL,
  if_parent_fails TEXT NOT NULL,
  parent_status TEXT,
  CONSTRAINT job_parents_pkey PRIMARY KEY (parent_id, run_id),
  CONSTRAINT job_parents_if_parent_fails CHECK (if_parent_fails IN ('cancel', 'run'))
) STRICT;

CREATE INDEX job_parents_run_id ON job_parents (run_id);

CREATE INDEX job_parents_ended ON job_parents (run_id) WHERE parent_status IS NOT NULL;

CREATE TABLE job_attempts (
  id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  run_id INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  lease_token TEXT NOT NULL,
  worker TEXT NOT NULL,
  host TEXT NOT NULL,
  due_at INTEGER,
  started_at INTEGER NOT NULL,
  finished_at INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  status TEXT,
  error_type TEXT,
  error_class TEXT,
  error TEXT,
  traceback TEXT,
  output TEXT,
  exit_signal INTEGER,
  CONSTRAINT job_attempts_run_id_sequence_key UNIQUE (run_id, sequence),
  CONSTRAINT job_attempts_run_id_lease_token_key UNIQUE (run_id, lease_token),
  CONSTRAINT job_attempts_run_id_fkey FOREIGN KEY (run_id) REFERENCES job_runs (id) ON DELETE CASCADE,
  CONSTRAINT job_attempts_readable CHECK (due_at BETWEEN 0 AND 253402214400000000 AND started_at BETWEEN 0 AND 253402214400000000 AND finished_at BETWEEN 0 AND 253402214400000000)
) STRICT;

CREATE TABLE job_ticks (
  id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  host TEXT NOT NULL,
  worker TEXT NOT NULL,
  version TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  application TEXT,
  listening_at INTEGER,
  types TEXT,
  finished_at INTEGER,
  counts TEXT,
  error TEXT,
  ended_by TEXT,
  left_due TEXT,
  CONSTRAINT job_ticks_ended_by CHECK (ended_by IN ('empty', 'budget', 'batch', 'signal', 'superseded', 'error')),
  CONSTRAINT job_ticks_readable CHECK (started_at BETWEEN 0 AND 253402214400000000 AND listening_at BETWEEN 0 AND 253402214400000000 AND finished_at BETWEEN 0 AND 253402214400000000 AND (counts IS NULL OR json_valid(counts)) AND (left_due IS NULL OR json_valid(left_due)))
) STRICT;

CREATE INDEX job_ticks_started_at ON job_ticks (started_at);

CREATE INDEX job_ticks_host_id ON job_ticks (host, id);

CREATE TABLE job_hosts (
  id TEXT NOT NULL,
  host TEXT NOT NULL,
  application TEXT NOT NULL,
  types TEXT NOT NULL,
  digest TEXT NOT NULL,
  can_run TEXT NOT NULL,
  settings TEXT NOT NULL,
  database TEXT NOT NULL,
  boot TEXT NOT NULL,
  last_boot TEXT NOT NULL,
  is_twin_at INTEGER,
  reported_at INTEGER NOT NULL,
  CONSTRAINT job_hosts_pkey PRIMARY KEY (id),
  CONSTRAINT job_hosts_readable CHECK (is_twin_at BETWEEN 0 AND 253402214400000000 AND reported_at BETWEEN 0 AND 253402214400000000 AND (can_run IS NULL OR json_valid(can_run)) AND (settings IS NULL OR json_valid(settings)))
) STRICT;

CREATE TABLE job_events (
  id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  run_id INTEGER,
  definition_id INTEGER,
  detail TEXT NOT NULL,
  CONSTRAINT job_events_readable CHECK (at BETWEEN 0 AND 253402214400000000 AND (detail IS NULL OR json_valid(detail)))
) STRICT;

CREATE INDEX job_events_at ON job_events (at);

CREATE INDEX job_events_run_id ON job_events (run_id);

CREATE INDEX job_events_definition_id ON job_events (definition_id);

CREATE INDEX job_events_many ON job_events (at) WHERE run_id IS NULL AND definition_id IS NULL;

CREATE TABLE job_effects (
  key TEXT NOT NULL,
  state TEXT NOT NULL CONSTRAINT job_effects_state CHECK (state IN ('intended', 'uncertain', 'applied')),
  run_id INTEGER NOT NULL,
  job_type TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  lease_token TEXT NOT NULL,
  token TEXT NOT NULL,
  outcome TEXT,
  intended_at INTEGER NOT NULL,
  settled_at INTEGER,
  CONSTRAINT job_effects_pkey PRIMARY KEY (key),
  CONSTRAINT job_effects_settled CHECK ((state = 'applied') = (settled_at IS NOT NULL)),
  CONSTRAINT job_effects_readable CHECK (intended_at BETWEEN 0 AND 253402214400000000 AND settled_at BETWEEN 0 AND 253402214400000000 AND (outcome IS NULL OR json_valid(outcome)))
) STRICT;

CREATE INDEX job_effects_open ON job_effects (intended_at) WHERE state <> 'applied';

CREATE TABLE job_tallies (
  id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  span TEXT NOT NULL,
  job_type TEXT NOT NULL,
  outcome TEXT NOT NULL,
  status TEXT NOT NULL,
  ends INTEGER NOT NULL,
  waited REAL NOT NULL,
  longest_wait REAL NOT NULL,
  ran REAL NOT NULL,
  longest_run REAL NOT NULL,
  waits TEXT NOT NULL,
  runs TEXT NOT NULL,
  is_in_totals INTEGER NOT NULL DEFAULT 0,
  CONSTRAINT job_tallies_span CHECK (span IN ('hour', 'day')),
  CONSTRAINT job_tallies_readable CHECK (at BETWEEN 0 AND 253402214400000000 AND (waits IS NULL OR json_valid(waits)) AND (runs IS NULL OR json_valid(runs)))
) STRICT;

CREATE INDEX job_tallies_span_at ON job_tallies (span, at);

CREATE INDEX job_tallies_new ON job_tallies (at) WHERE is_in_totals = 0;

CREATE TABLE job_totals (
  job_type TEXT NOT NULL,
  outcome TEXT NOT NULL,
  status TEXT NOT NULL,
  ends INTEGER NOT NULL,
  waited REAL NOT NULL,
  ran REAL NOT NULL,
  waits TEXT NOT NULL,
  runs TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  CONSTRAINT job_totals_pkey PRIMARY KEY (job_type, outcome, status),
  CONSTRAINT job_totals_readable CHECK (updated_at BETWEEN 0 AND 253402214400000000 AND (waits IS NULL OR json_valid(waits)) AND (runs IS NULL OR json_valid(runs)))
) STRICT;

CREATE TABLE job_notices (
  id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  event TEXT NOT NULL,
  job_type TEXT NOT NULL,
  schedule TEXT NOT NULL,
  receiver TEXT NOT NULL,
  runs INTEGER NOT NULL,
  detail TEXT NOT NULL,
  is_open INTEGER NOT NULL,
  seen_to INTEGER NOT NULL DEFAULT 0,
  tries INTEGER NOT NULL DEFAULT 0,
  claimed_at INTEGER,
  claimed_by TEXT,
  settled_at INTEGER,
  outcome TEXT,
  error TEXT,
  CONSTRAINT job_notices_event CHECK (event IN ('dead', 'late', 'recovered')),
  CONSTRAINT job_notices_settled CHECK ((settled_at IS NULL) = (outcome IS NULL)),
  CONSTRAINT job_notices_readable CHECK (at BETWEEN 0 AND 253402214400000000 AND claimed_at BETWEEN 0 AND 253402214400000000 AND settled_at BETWEEN 0 AND 253402214400000000 AND (detail IS NULL OR json_valid(detail)))
) STRICT;

CREATE INDEX job_notices_at ON job_notices (at);

CREATE INDEX job_notices_unsettled ON job_notices (id) WHERE settled_at IS NULL;

CREATE INDEX job_notices_failed ON job_notices (settled_at) WHERE outcome <> 'sent';

CREATE INDEX job_notices_open ON job_notices (job_type, schedule) WHERE is_open = 1;

CREATE UNIQUE INDEX job_notices_late ON job_notices (job_type, schedule, receiver)
  WHERE is_open = 1 AND event = 'late';
