CREATE VIEW {schema}job_claimable AS
  SELECT id, job_type, turn_at, run_at, lease_expiries, releases FROM {schema}job_runs
  WHERE gate = '' AND {claimable};
-- The due runs that only one host may claim. In the transaction of its claim they become those of any host.
CREATE VIEW {schema}job_claimable_by_host AS
  SELECT id, job_type, turn_at, run_at, lease_expiries, only_host FROM {schema}job_runs
  WHERE {claimable_by_host};
CREATE VIEW {schema}job_gated AS
  SELECT id, job_type, gate, turn_at, run_at, lease_expiries FROM {schema}job_runs
  WHERE gate <> '' AND {claimable};
-- The types with waiting runs, found by one step in the index of the claim for each.
CREATE VIEW {schema}job_waiting_types AS
  WITH RECURSIVE types (job_type) AS (
    SELECT CAST('' AS VARCHAR(200))
    UNION ALL SELECT (SELECT job_type FROM {schema}job_runs WHERE {waiting} AND job_type > types.job_type
        ORDER BY job_type LIMIT 1)
      FROM types WHERE types.job_type IS NOT NULL)
  SELECT job_type FROM types WHERE job_type > '';
-- Who asks for the first run of any type asks these, one after the other: of a paused type the whole queue would be read.
CREATE VIEW {schema}job_unpaused_types AS
  SELECT job_type FROM {schema}job_waiting_types WHERE {unpaused};
-- What runs wait behind, found by one step in the index of the claim for each gate. A claim sees a gate that is one of the
-- stored limits and has a row with a turn. The second start finds gates of another key at once, behind those of this one.
CREATE VIEW {schema}job_waited_gates AS
  WITH RECURSIVE gates (job_type, gate, is_start) AS (
    SELECT job_type, CAST('' AS VARCHAR(600)), 1 FROM {schema}job_waiting_types
    UNION ALL SELECT job_type, CAST(concurrency_key || '!' AS VARCHAR(600)), 1
      FROM {schema}job_limits WHERE concurrency_key IS NOT NULL
    UNION ALL SELECT job_type, (SELECT gate FROM {schema}job_runs
        WHERE {waiting} AND job_runs.job_type = gates.job_type AND gate > gates.gate ORDER BY gate LIMIT 1), 0
      FROM gates WHERE gates.gate IS NOT NULL)
  SELECT job_type, gate, {known_gate} AS is_seen FROM gates WHERE is_start = 0 AND gate <> 'after';
-- Of these every tick looks at so many; a tick that prunes looks at all.
CREATE VIEW {schema}job_stray_gates AS
  SELECT job_type, gate FROM (SELECT job_type, gate, is_seen FROM {schema}job_waited_gates LIMIT 2000) looked
  WHERE NOT is_seen;
CREATE VIEW {schema}job_stray_dependants AS
  SELECT id FROM (SELECT id FROM {schema}job_runs WHERE {waiting} AND {behind_gate} AND gate = 'after'
    ORDER BY id LIMIT 100) looked
  WHERE NOT {behind_parents};
-- The limits of the code, or what somebody has set instead, until that ends. Limits that no claim has asked for in ten
-- minutes, or since what was set has ended, are stale: they count as open, because others may hold now.
CREATE VIEW {schema}job_limits_in_force AS
  SELECT job_limits.job_type, COALESCE(job_set_limits.max_running, job_limits.max_running) AS max_running,
    COALESCE(job_set_limits.rate, job_limits.rate) AS rate,
    CASE WHEN job_set_limits.rate IS NULL THEN job_limits.burst ELSE job_set_limits.burst END AS burst,
    concurrency_key, max_running_per_key, rate_per_key, burst_per_key, spent_until, opens_at,
    job_set_limits.job_type IS NOT NULL AS is_set,
    {stale} OR EXISTS (SELECT 1 FROM {schema}job_set_limits ended WHERE ended.job_type = job_limits.job_type
      AND ended.ends_at <= {now} AND ended.ends_at > asked_at) AS is_stale
  FROM {schema}job_limits
  LEFT JOIN {schema}job_set_limits ON job_set_limits.job_type = job_limits.job_type
    AND (job_set_limits.ends_at IS NULL OR job_set_limits.ends_at > {now});
-- A limit that was set counts all runs at work, also those that began behind no gate, before it was set.
CREATE VIEW {schema}job_open_limits AS
  SELECT job_type, concurrency_key, max_running_per_key, rate_per_key, is_stale
  FROM {schema}job_limits_in_force job_limits
  WHERE {unpaused} AND (is_stale
    OR ((rate IS NULL OR opens_at IS NULL OR opens_at <= {now})
      AND (max_running IS NULL OR max_running > CASE WHEN is_set
        THEN (SELECT count(*) FROM {schema}job_runs
          WHERE job_runs.job_type = job_limits.job_type AND job_runs.status = 'running')
        ELSE (SELECT count(*) FROM {schema}job_runs
          WHERE job_runs.job_type = job_limits.job_type AND job_runs.lease_token IS NOT NULL AND job_runs.gate <> '')
        END)));
CREATE VIEW {schema}job_open_gates AS
  SELECT job_gates.job_type, job_gates.gate FROM {schema}job_open_limits job_limits
  JOIN {schema}job_gates ON job_gates.job_type = job_limits.job_type AND job_gates.turn_at IS NOT NULL
    AND {gate_of_limits}
  WHERE is_stale OR ((rate_per_key IS NULL OR opens_at IS NULL OR opens_at <= {now})
    AND (max_running_per_key IS NULL OR max_running_per_key > (SELECT count(*) FROM {schema}job_runs
      WHERE job_runs.job_type = job_gates.job_type AND job_runs.gate = job_gates.gate
        AND job_runs.lease_token IS NOT NULL AND job_runs.gate <> '')));
-- The open gates that a claim is worth while for: a run behind it is due, or none waits there any more, which the claim
-- notes. Where none is due yet, an idle tick stays idle. Both ask for the first one in the index of the claim.
CREATE VIEW {schema}job_ready_gates AS
  SELECT job_type, gate FROM {schema}job_open_gates
  WHERE (SELECT id FROM {schema}job_runs WHERE {waiting} AND {behind_open_gate} AND {due}
      ORDER BY turn_at, run_at, id LIMIT 1) IS NOT NULL
    OR (SELECT id FROM {schema}job_runs WHERE {waiting} AND {behind_open_gate}
      ORDER BY turn_at, run_at, id LIMIT 1) IS NULL;
CREATE VIEW {schema}job_overdue AS
  SELECT id, definition_id, job_type, status, attempts, start_deadline_at, error_type, last_error FROM {schema}job_runs
  WHERE finished_at IS NULL AND lease_token IS NULL AND start_deadline_at <= {now};
CREATE VIEW {schema}job_expandable AS
  SELECT id, next_run_at FROM {schema}job_definitions
  WHERE {expandable};
-- With those that only ticks of their host expand.
CREATE VIEW {schema}job_expandable_by_host AS
  SELECT id, next_run_at, host FROM {schema}job_definitions
  WHERE {expandable_by_host};
-- No lease is longer than ten minutes: one that seems to be is left from before the clock stepped back.
CREATE VIEW {schema}job_recoverable AS
  SELECT id, host, locked_by FROM {schema}job_runs
  WHERE status = 'running' AND (locked_until <= {now} OR locked_until > {now} + {ten_minutes});
CREATE VIEW {schema}job_due AS
  SELECT 'claim' AS kind, id, run_at AS due_at FROM {schema}job_claimable
  UNION ALL SELECT 'claim', id, run_at FROM {schema}job_open_gates
    JOIN {schema}job_gated ON job_gated.job_type = job_open_gates.job_type AND job_gated.gate = job_open_gates.gate
  UNION ALL SELECT 'claim', id, run_at FROM {schema}job_claimable_by_host
  UNION ALL SELECT 'follow', run_id, NULL FROM {schema}job_parents WHERE parent_status IS NOT NULL
  UNION ALL SELECT 'expand', id, next_run_at FROM {schema}job_expandable_by_host
  UNION ALL SELECT 'recover', id, NULL FROM {schema}job_recoverable
  UNION ALL SELECT 'expire', id, start_deadline_at FROM {schema}job_overdue;
CREATE VIEW {schema}job_dead AS
  SELECT id, job_type, finished_at, attempts, error_type, last_error, payload FROM {schema}job_runs
  WHERE status = 'dead';
CREATE VIEW {schema}job_stuck AS
  SELECT id, job_type, host, locked_by, started_at, locked_until, timeout FROM {schema}job_runs
  WHERE status = 'running' AND (locked_until <= {now}
    OR (timeout > 0 AND started_at + timeout * {one_second} <= {now}));
