-- What verify reads: rows as they are, in the words that both databases know. No view, no function of ours.

-- name: span
SELECT min(id), max(id)
FROM job_runs
-- name: first_tick
SELECT id, started_at
FROM job_ticks
ORDER BY id
LIMIT 1
-- name: last_old_tick
SELECT id, started_at
FROM job_ticks
WHERE version LIKE '0.1.%'
ORDER BY id DESC
LIMIT 1
-- name: worked_tick
SELECT id, started_at
FROM job_ticks
WHERE ended_by IN ('empty', 'budget', 'batch') AND error IS NULL
ORDER BY id DESC
LIMIT 1
-- name: steps
SELECT before, after
FROM (SELECT lag(started_at) OVER (ORDER BY id) AS before, started_at AS after
FROM job_ticks) AS ticks
WHERE after < before
-- name: first_event
SELECT 0, at, actor, action, NULL
FROM job_events
ORDER BY id
LIMIT 1
-- name: archived
SELECT 0, at, actor, action, detail
FROM job_events
WHERE run_id IS NULL AND definition_id IS NULL AND action IN ('restore', 'archive restore', 'archive runs')
ORDER BY at DESC
LIMIT 100
-- name: put_back
SELECT 0, at, actor, action, detail
FROM job_events
WHERE run_id IS NULL AND definition_id IS NULL AND action = 'effects put back'
-- name: runs
SELECT id, job_type, status, run_at, gate, concurrency_key, idempotency_key, attempts, max_attempts, lease_token,
  locked_until, claimed_at, started_at, start_deadline_at, cancel_requested_at, finished_at, created_at, updated_at,
  only_host, host
FROM job_runs
WHERE id > :after
ORDER BY id
LIMIT :limit
-- name: created
SELECT id, created_at
FROM job_runs
WHERE id >= :first
ORDER BY id
LIMIT 1
-- name: attempts
SELECT id, run_id, sequence, attempt, started_at, finished_at, outcome, status, host
FROM job_attempts
WHERE run_id BETWEEN :first AND :last
ORDER BY run_id, sequence
-- name: events
SELECT run_id, at, actor, action, CASE WHEN action = 'settle effect' THEN detail END
FROM job_events
WHERE run_id BETWEEN :first AND :last
-- name: events_of_many
SELECT id, at, actor, action, detail
FROM job_events
WHERE run_id IS NULL AND definition_id IS NULL AND at BETWEEN :since AND :until
ORDER BY at
LIMIT :limit
-- name: parents
SELECT p.run_id, p.parent_id, p.parent_status, r.status, r.finished_at
FROM job_parents p
LEFT JOIN job_runs r ON r.id = p.parent_id
WHERE p.run_id BETWEEN :first AND :last
-- name: keys
SELECT r.id, k.idempotency_key, k.run_id, h.created_at, h.finished_at, t.key_scope, t.key_window, t.updated_at
FROM job_runs r
LEFT JOIN job_keys k ON k.job_type = r.job_type AND k.idempotency_key = r.idempotency_key
LEFT JOIN job_runs h ON h.id = k.run_id
LEFT JOIN job_types t ON t.job_type = r.job_type
WHERE r.idempotency_key IS NOT NULL AND r.id BETWEEN :first AND :last
-- name: gates
SELECT r.id, g.turn_at, l.job_type, l.concurrency_key, t.fair_by
FROM job_runs r
LEFT JOIN job_gates g ON g.job_type = r.job_type AND g.gate = r.gate
LEFT JOIN job_limits l ON l.job_type = r.job_type
LEFT JOIN job_types t ON t.job_type = r.job_type
WHERE r.gate <> '' AND r.status IN ('queued', 'failed') AND r.id BETWEEN :first AND :last
-- name: effects
-- Limited first: without statistics, PostgreSQL joined all of them before it sorted and cut.
SELECT e.key, e.state, e.run_id, e.job_type, e.lease_token, e.intended_at, e.settled_at, r.job_type, r.lease_token, a.started_at, a.finished_at
FROM (SELECT *
FROM job_effects
WHERE key > :key
ORDER BY key
LIMIT :limit) e
LEFT JOIN job_runs r ON r.id = e.run_id
LEFT JOIN job_attempts a ON a.run_id = e.run_id AND a.lease_token = e.lease_token
ORDER BY e.key
-- name: effect
SELECT key, state, run_id, job_type, lease_token, intended_at, settled_at, NULL, NULL, NULL, NULL
FROM job_effects
WHERE key = :key
-- name: definitions
SELECT id, name, schedule, timezone, last_slot_at, ends_at, created_at
FROM job_definitions
WHERE id > :after
ORDER BY id
LIMIT :limit
-- name: changes_of_schedule
SELECT definition_id, at, actor, action, NULL
FROM job_events
WHERE definition_id = :definition_id AND action IN ('add schedule', 'edit schedule', 'pause schedule', 'resume schedule', 'remove schedule')
ORDER BY id DESC
LIMIT 1
-- name: skips_of_schedule
SELECT definition_id, at, actor, action, detail
FROM job_events
WHERE definition_id = :definition_id AND action = 'skip slots' AND at >= :since
-- name: pauses
-- The index of job_events is that by time, in which an instant has a few rows.
SELECT p.kind, p.name, p.actor, p.paused_at, e.at, e.detail
FROM job_pauses p
LEFT JOIN job_events e ON e.at = p.paused_at AND e.run_id IS NULL AND e.definition_id IS NULL
  AND e.action = 'pause ' || p.kind AND e.actor = p.actor
UNION ALL SELECT 'schedule', d.name, NULL, d.paused_at, e.at, e.detail
FROM job_definitions d
LEFT JOIN job_events e ON e.definition_id = d.id AND e.at = d.paused_at AND e.action = 'pause schedule'
WHERE d.paused_at IS NOT NULL
-- name: slots
SELECT id, scheduled_for
FROM job_runs
WHERE definition_id = :definition_id AND scheduled_for IS NOT NULL AND (origin IS NULL OR origin <> 'again') AND scheduled_for >= :since
ORDER BY scheduled_for, id
LIMIT :limit
-- name: limits
SELECT job_type, max_running, rate, burst, concurrency_key, max_running_per_key, rate_per_key, burst_per_key
FROM job_limits
ORDER BY job_type
-- name: set_limits
SELECT s.job_type, s.max_running, s.rate, s.burst, s.actor, s.set_at, s.ends_at, e.at, e.detail
FROM job_set_limits s
LEFT JOIN job_events e ON e.at = s.set_at AND e.run_id IS NULL AND e.definition_id IS NULL
  AND e.action = 'limit type' AND e.actor = s.actor
ORDER BY s.job_type
-- name: limit_changes
SELECT 0, at, actor, action, detail
FROM job_events
WHERE run_id IS NULL AND definition_id IS NULL AND action IN ('limit type', 'unlimit type')
-- name: hosts
SELECT host, types, can_run, reported_at
FROM job_hosts
-- name: counted
SELECT job_type, outcome, status, ends
FROM job_totals
WHERE outcome <> ''
UNION ALL SELECT job_type, outcome, status, ends
FROM job_tallies
WHERE outcome <> '' AND is_in_totals = 0
-- name: at_work
SELECT 0, r.id, r.job_type, r.started_at, NULL, r.status, 1, CASE WHEN l.concurrency_key IS NOT NULL THEN r.payload END
FROM job_runs r
JOIN job_limits l ON l.job_type = r.job_type
WHERE r.status = 'running' AND r.started_at IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM job_events e WHERE e.run_id = r.id AND e.action = 'run')
-- name: worked
-- But for runs that somebody has tried by the code of another host, which reports no limits.
SELECT a.id, a.run_id, r.job_type, a.started_at, a.finished_at, r.status,
  CASE WHEN a.finished_at = r.finished_at THEN 1 ELSE 0 END, CASE WHEN l.concurrency_key IS NOT NULL THEN r.payload END
FROM job_attempts a
JOIN job_runs r ON r.id = a.run_id
JOIN job_limits l ON l.job_type = r.job_type
WHERE a.id BETWEEN :first AND :last
  AND NOT EXISTS (SELECT 1 FROM job_events e WHERE e.run_id = r.id AND e.action = 'run')
ORDER BY a.id DESC
-- name: last_attempt
SELECT min(id), max(id)
FROM job_attempts
