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
CREATE INDEX job_events_many ON {schema}job_events (at) WHERE run_id IS NULL AND definition_id IS NULL;
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
