"""The statements of a tick for sqlite, written by `make statements`."""

STATEMENTS = {
    ('audit.insert', ()): (
        """INSERT INTO job_events (at, actor, action, definition_id, run_id, detail) SELECT given.at, given.actor, given.action, given.definition_id, given.run_id, given.detail
FROM (SELECT json_extract(value, '$.at') AS at, json_extract(value, '$.actor') AS actor, json_extract(value, '$.action') AS action, json_extract(value, '$.definition_id') AS definition_id, json_extract(value, '$.run_id') AS run_id, json_extract(value, '$.detail') AS detail FROM json_each(:given)) AS given""",
        {},
        {'given': (('at', 'instant'), ('actor', None), ('action', None), ('definition_id', None), ('run_id', None), ('detail', 'json'))},
        (),
    ),
    ('audit.recorded', ()): (
        """SELECT job_events.at, job_events.detail
FROM job_events
WHERE job_events.action = :name AND job_events.at >= :since""",
        {},
        {'since': 'instant'},
        (('at', 'instant'), ('detail', 'json')),
    ),
    ('backpressure.count', ()): (
        """SELECT count(*) AS count_1
FROM (SELECT :param_1 AS anon_2
FROM job_runs
WHERE job_runs.job_type = :of_type AND job_runs.status IN ('queued', 'failed')
 LIMIT :limit OFFSET :param_2) AS anon_1""",
        {'param_1': 1, 'param_2': 0},
        {},
        (('count', None),),
    ),
    ('backpressure.count_dropped', ()): (
        """UPDATE job_types SET dropped=(job_types.dropped + :count), dropped_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) WHERE job_types.job_type = :of_type""",
        {},
        {},
        (),
    ),
    ('backpressure.declare', ()): (
        """INSERT INTO job_types (job_type, max_waiting, when_full, key_scope, key_window, fair_by, updated_at) VALUES (:of_type, :new_max_waiting, :new_when_full, :new_key_scope, :new_key_window, :new_fair_by, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state))) ON CONFLICT (job_type) DO UPDATE SET max_waiting = :new_max_waiting, when_full = :new_when_full, key_scope = :new_key_scope, key_window = :new_key_window, fair_by = :new_fair_by, updated_at = (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state))""",
        {},
        {},
        (),
    ),
    ('backpressure.lock', ()): (
        """UPDATE job_types SET job_type=job_types.job_type WHERE job_types.job_type = :of_type AND job_types.max_waiting IS NOT NULL RETURNING max_waiting, when_full, key_scope, key_window, fair_by""",
        {},
        {},
        (('max_waiting', None), ('when_full', None), ('key_scope', None), ('key_window', None), ('fair_by', None)),
    ),
    ('backpressure.rules', ()): (
        """SELECT job_types.job_type, job_types.max_waiting, job_types.when_full, job_types.key_scope, job_types.key_window, job_types.fair_by
FROM job_types
WHERE job_types.max_waiting IS NOT NULL OR job_types.key_scope != :key_scope_1 OR job_types.fair_by IS NOT NULL""",
        {'key_scope_1': 'forever'},
        {},
        (('job_type', None), ('max_waiting', None), ('when_full', None), ('key_scope', None), ('key_window', None), ('fair_by', None)),
    ),
    ('backpressure.rules_of_type', ()): (
        """SELECT job_types.max_waiting, job_types.when_full, job_types.key_scope, job_types.key_window, job_types.fair_by
FROM job_types
WHERE job_types.job_type = :of_type""",
        {},
        {},
        (('max_waiting', None), ('when_full', None), ('key_scope', None), ('key_window', None), ('fair_by', None)),
    ),
    ('claims.claim', ('sqlite', False, False)): (
        """WITH picked AS
(SELECT found.id AS id, found.max_attempts AS max_attempts, found.timeout AS timeout
FROM (SELECT of_type.id AS id, of_type.turn_at AS turn_at, of_type.run_at AS run_at, of_type.job_type AS job_type, of_type.most AS most, of_type.max_attempts AS max_attempts, of_type.timeout AS timeout
FROM (SELECT job_runs.id AS id, job_runs.turn_at AS turn_at, job_runs.run_at AS run_at, types.job_type AS job_type, types.most AS most, types.max_attempts AS max_attempts, types.timeout AS timeout, row_number() OVER (PARTITION BY job_runs.job_type ORDER BY job_runs.turn_at, job_runs.run_at, job_runs.id) AS number
FROM (SELECT json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.most') AS most, json_extract(value, '$.max_attempts') AS max_attempts, json_extract(value, '$.timeout') AS timeout FROM json_each(:types)) AS types JOIN job_runs ON job_runs.id IN (SELECT job_claimable.id
FROM job_claimable
WHERE job_claimable.job_type = types.job_type AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.turn_at, job_claimable.run_at, job_claimable.id
 LIMIT :limit OFFSET :param_1)
WHERE types.most > :most_1) AS of_type
WHERE of_type.number <= of_type.most) AS found ORDER BY found.turn_at, found.run_at, found.id
 LIMIT :limit OFFSET :param_2)
 UPDATE job_runs SET status='running', attempts=(job_runs.attempts + :attempts_1), max_attempts=coalesce(job_runs.max_attempts, picked.max_attempts), timeout=coalesce(job_runs.timeout, picked.timeout), locked_by=:owner, host=:host, locked_until=((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:lease_seconds * 1000000 AS INTEGER)), lease_token=:token, claimed_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)), started_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)), heartbeat_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)), progress=NULL, output=NULL, updated_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) FROM picked WHERE job_runs.id = picked.id AND job_runs.status != 'running' RETURNING id, lease_token, job_type, gate, payload, attempts, max_attempts, timeout, turn_at, run_at, scheduled_for, claimed_at, definition_id, traceparent, checkpoint, concurrency_key""",
        {'attempts_1': 1, 'param_1': 0, 'most_1': 0, 'param_2': 0},
        {'types': (('job_type', None), ('most', None), ('max_attempts', None), ('timeout', None))},
        (('id', None), ('lease_token', None), ('job_type', None), ('gate', None), ('payload', 'json'), ('attempts', None), ('max_attempts', None), ('timeout', None), ('turn_at', 'instant'), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('claimed_at', 'instant'), ('definition_id', None), ('traceparent', None), ('checkpoint', 'json'), ('concurrency_key', None)),
    ),
    ('claims.claim', ('sqlite', True, False)): (
        """WITH picked AS
(SELECT found.id AS id, found.max_attempts AS max_attempts, found.timeout AS timeout
FROM (SELECT of_type.id AS id, of_type.turn_at AS turn_at, of_type.run_at AS run_at, of_type.job_type AS job_type, of_type.most AS most, of_type.max_attempts AS max_attempts, of_type.timeout AS timeout
FROM (SELECT job_runs.id AS id, job_runs.turn_at AS turn_at, job_runs.run_at AS run_at, types.job_type AS job_type, types.most AS most, types.max_attempts AS max_attempts, types.timeout AS timeout, row_number() OVER (PARTITION BY job_runs.job_type ORDER BY job_runs.turn_at, job_runs.run_at, job_runs.id) AS number
FROM (SELECT json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.most') AS most, json_extract(value, '$.max_attempts') AS max_attempts, json_extract(value, '$.timeout') AS timeout FROM json_each(:types)) AS types JOIN job_runs ON job_runs.id IN (SELECT job_claimable.id
FROM job_claimable
WHERE job_claimable.job_type = types.job_type AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.turn_at, job_claimable.run_at, job_claimable.id
 LIMIT :limit OFFSET :param_1)
WHERE types.most > :most_1) AS of_type
WHERE of_type.number <= of_type.most) AS found ORDER BY found.turn_at, found.run_at, found.id
 LIMIT :limit OFFSET :param_2)
 UPDATE job_runs SET status='running', attempts=(job_runs.attempts + :attempts_1), max_attempts=coalesce(job_runs.max_attempts, picked.max_attempts), timeout=coalesce(job_runs.timeout, picked.timeout), locked_by=:owner, host=:host, locked_until=((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:lease_seconds * 1000000 AS INTEGER)), lease_token=:token, claimed_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)), started_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)), heartbeat_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)), progress=NULL, output=NULL, updated_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) FROM picked WHERE job_runs.id = picked.id AND job_runs.status != 'running' RETURNING id, lease_token, job_type, gate, payload, attempts, max_attempts, timeout, turn_at, run_at, scheduled_for, claimed_at, definition_id, traceparent, checkpoint, concurrency_key""",
        {'attempts_1': 1, 'param_1': 0, 'most_1': 0, 'param_2': 0},
        {'types': (('job_type', None), ('most', None), ('max_attempts', None), ('timeout', None))},
        (('id', None), ('lease_token', None), ('job_type', None), ('gate', None), ('payload', 'json'), ('attempts', None), ('max_attempts', None), ('timeout', None), ('turn_at', 'instant'), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('claimed_at', 'instant'), ('definition_id', None), ('traceparent', None), ('checkpoint', 'json'), ('concurrency_key', None)),
    ),
    ('claims.claim', ('sqlite', False, False, True)): (
        """WITH picked AS
(SELECT found.id AS id, found.max_attempts AS max_attempts, found.timeout AS timeout
FROM (SELECT of_type.id AS id, of_type.turn_at AS turn_at, of_type.run_at AS run_at, of_type.job_type AS job_type, of_type.most AS most, of_type.max_attempts AS max_attempts, of_type.timeout AS timeout
FROM (SELECT job_runs.id AS id, job_runs.turn_at AS turn_at, job_runs.run_at AS run_at, types.job_type AS job_type, types.most AS most, types.max_attempts AS max_attempts, types.timeout AS timeout, row_number() OVER (PARTITION BY job_runs.job_type ORDER BY job_runs.turn_at, job_runs.run_at, job_runs.id) AS number
FROM (SELECT json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.most') AS most, json_extract(value, '$.max_attempts') AS max_attempts, json_extract(value, '$.timeout') AS timeout FROM json_each(:types)) AS types JOIN job_runs ON job_runs.id IN (SELECT job_claimable.id
FROM job_claimable
WHERE job_claimable.job_type = types.job_type AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.turn_at, job_claimable.run_at, job_claimable.id
 LIMIT :limit OFFSET :param_1)
WHERE types.most > :most_1) AS of_type
WHERE of_type.number <= of_type.most UNION ALL SELECT of_list.id AS id, of_list.turn_at AS turn_at, of_list.run_at AS run_at, of_list.job_type AS job_type, of_list.most AS most, of_list.max_attempts AS max_attempts, of_list.timeout AS timeout
FROM (SELECT job_runs.id AS id, coalesce(gated.turn_at, job_runs.turn_at) AS turn_at, job_runs.run_at AS run_at, types.job_type AS job_type, types.most AS most, types.max_attempts AS max_attempts, types.timeout AS timeout
FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.turn_at') AS turn_at FROM json_each(:gated)) AS gated JOIN job_runs ON job_runs.id = gated.id JOIN (SELECT json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.most') AS most, json_extract(value, '$.max_attempts') AS max_attempts, json_extract(value, '$.timeout') AS timeout FROM json_each(:types)) AS types ON job_runs.job_type = types.job_type
WHERE job_runs.finished_at IS NULL AND job_runs.lease_token IS NULL AND job_runs.gate != '') AS of_list) AS found ORDER BY found.turn_at, found.run_at, found.id
 LIMIT :limit OFFSET :param_2)
 UPDATE job_runs SET status='running', attempts=(job_runs.attempts + :attempts_1), max_attempts=coalesce(job_runs.max_attempts, picked.max_attempts), timeout=coalesce(job_runs.timeout, picked.timeout), locked_by=:owner, host=:host, locked_until=((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:lease_seconds * 1000000 AS INTEGER)), lease_token=:token, claimed_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)), started_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)), heartbeat_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)), progress=NULL, output=NULL, updated_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) FROM picked WHERE job_runs.id = picked.id AND job_runs.status != 'running' RETURNING id, lease_token, job_type, gate, payload, attempts, max_attempts, timeout, turn_at, run_at, scheduled_for, claimed_at, definition_id, traceparent, checkpoint, concurrency_key""",
        {'attempts_1': 1, 'param_1': 0, 'most_1': 0, 'param_2': 0},
        {'types': (('job_type', None), ('most', None), ('max_attempts', None), ('timeout', None)), 'gated': (('id', None), ('turn_at', 'instant'))},
        (('id', None), ('lease_token', None), ('job_type', None), ('gate', None), ('payload', 'json'), ('attempts', None), ('max_attempts', None), ('timeout', None), ('turn_at', 'instant'), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('claimed_at', 'instant'), ('definition_id', None), ('traceparent', None), ('checkpoint', 'json'), ('concurrency_key', None)),
    ),
    ('claims.claim', ('sqlite', False, False, False, True)): (
        """WITH picked AS
(SELECT first.id AS id, first.max_attempts AS max_attempts, first.timeout AS timeout
FROM (SELECT counted.id AS id, counted.turn_at AS turn_at, counted.run_at AS run_at, counted.job_type AS job_type, counted.most AS most, counted.max_attempts AS max_attempts, counted.timeout AS timeout, counted.family AS family, counted.together AS together, counted.place AS place
FROM (SELECT found.id AS id, found.turn_at AS turn_at, found.run_at AS run_at, found.job_type AS job_type, found.most AS most, found.max_attempts AS max_attempts, found.timeout AS timeout, found.family AS family, found.together AS together, row_number() OVER (PARTITION BY found.family ORDER BY found.turn_at, found.run_at, found.id) AS place
FROM (SELECT of_type.id AS id, of_type.turn_at AS turn_at, of_type.run_at AS run_at, of_type.job_type AS job_type, of_type.most AS most, of_type.max_attempts AS max_attempts, of_type.timeout AS timeout, of_type.family AS family, of_type.together AS together
FROM (SELECT job_runs.id AS id, job_runs.turn_at AS turn_at, job_runs.run_at AS run_at, types.job_type AS job_type, types.most AS most, types.max_attempts AS max_attempts, types.timeout AS timeout, types.family AS family, types.together AS together, row_number() OVER (PARTITION BY job_runs.job_type ORDER BY job_runs.turn_at, job_runs.run_at, job_runs.id) AS number
FROM (SELECT json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.most') AS most, json_extract(value, '$.max_attempts') AS max_attempts, json_extract(value, '$.timeout') AS timeout, json_extract(value, '$.family') AS family, json_extract(value, '$.together') AS together FROM json_each(:types)) AS types JOIN job_runs ON job_runs.id IN (SELECT job_claimable.id
FROM job_claimable
WHERE job_claimable.job_type = types.job_type AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.turn_at, job_claimable.run_at, job_claimable.id
 LIMIT :limit OFFSET :param_1)
WHERE types.most > :most_1) AS of_type
WHERE of_type.number <= of_type.most) AS found) AS counted
WHERE counted.place <= counted.together) AS first ORDER BY first.turn_at, first.run_at, first.id
 LIMIT :limit OFFSET :param_2)
 UPDATE job_runs SET status='running', attempts=(job_runs.attempts + :attempts_1), max_attempts=coalesce(job_runs.max_attempts, picked.max_attempts), timeout=coalesce(job_runs.timeout, picked.timeout), locked_by=:owner, host=:host, locked_until=((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:lease_seconds * 1000000 AS INTEGER)), lease_token=:token, claimed_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)), started_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)), heartbeat_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)), progress=NULL, output=NULL, updated_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) FROM picked WHERE job_runs.id = picked.id AND job_runs.status != 'running' RETURNING id, lease_token, job_type, gate, payload, attempts, max_attempts, timeout, turn_at, run_at, scheduled_for, claimed_at, definition_id, traceparent, checkpoint, concurrency_key""",
        {'attempts_1': 1, 'param_1': 0, 'most_1': 0, 'param_2': 0},
        {'types': (('job_type', None), ('most', None), ('max_attempts', None), ('timeout', None), ('family', None), ('together', None))},
        (('id', None), ('lease_token', None), ('job_type', None), ('gate', None), ('payload', 'json'), ('attempts', None), ('max_attempts', None), ('timeout', None), ('turn_at', 'instant'), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('claimed_at', 'instant'), ('definition_id', None), ('traceparent', None), ('checkpoint', 'json'), ('concurrency_key', None)),
    ),
    ('claims.claim', ('sqlite', False, False, True, True)): (
        """WITH picked AS
(SELECT first.id AS id, first.max_attempts AS max_attempts, first.timeout AS timeout
FROM (SELECT counted.id AS id, counted.turn_at AS turn_at, counted.run_at AS run_at, counted.job_type AS job_type, counted.most AS most, counted.max_attempts AS max_attempts, counted.timeout AS timeout, counted.family AS family, counted.together AS together, counted.place AS place
FROM (SELECT found.id AS id, found.turn_at AS turn_at, found.run_at AS run_at, found.job_type AS job_type, found.most AS most, found.max_attempts AS max_attempts, found.timeout AS timeout, found.family AS family, found.together AS together, row_number() OVER (PARTITION BY found.family ORDER BY found.turn_at, found.run_at, found.id) AS place
FROM (SELECT of_type.id AS id, of_type.turn_at AS turn_at, of_type.run_at AS run_at, of_type.job_type AS job_type, of_type.most AS most, of_type.max_attempts AS max_attempts, of_type.timeout AS timeout, of_type.family AS family, of_type.together AS together
FROM (SELECT job_runs.id AS id, job_runs.turn_at AS turn_at, job_runs.run_at AS run_at, types.job_type AS job_type, types.most AS most, types.max_attempts AS max_attempts, types.timeout AS timeout, types.family AS family, types.together AS together, row_number() OVER (PARTITION BY job_runs.job_type ORDER BY job_runs.turn_at, job_runs.run_at, job_runs.id) AS number
FROM (SELECT json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.most') AS most, json_extract(value, '$.max_attempts') AS max_attempts, json_extract(value, '$.timeout') AS timeout, json_extract(value, '$.family') AS family, json_extract(value, '$.together') AS together FROM json_each(:types)) AS types JOIN job_runs ON job_runs.id IN (SELECT job_claimable.id
FROM job_claimable
WHERE job_claimable.job_type = types.job_type AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.turn_at, job_claimable.run_at, job_claimable.id
 LIMIT :limit OFFSET :param_1)
WHERE types.most > :most_1) AS of_type
WHERE of_type.number <= of_type.most UNION ALL SELECT of_list.id AS id, of_list.turn_at AS turn_at, of_list.run_at AS run_at, of_list.job_type AS job_type, of_list.most AS most, of_list.max_attempts AS max_attempts, of_list.timeout AS timeout, of_list.family AS family, of_list.together AS together
FROM (SELECT job_runs.id AS id, coalesce(gated.turn_at, job_runs.turn_at) AS turn_at, job_runs.run_at AS run_at, types.job_type AS job_type, types.most AS most, types.max_attempts AS max_attempts, types.timeout AS timeout, types.family AS family, types.together AS together
FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.turn_at') AS turn_at FROM json_each(:gated)) AS gated JOIN job_runs ON job_runs.id = gated.id JOIN (SELECT json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.most') AS most, json_extract(value, '$.max_attempts') AS max_attempts, json_extract(value, '$.timeout') AS timeout, json_extract(value, '$.family') AS family, json_extract(value, '$.together') AS together FROM json_each(:types)) AS types ON job_runs.job_type = types.job_type
WHERE job_runs.finished_at IS NULL AND job_runs.lease_token IS NULL AND job_runs.gate != '') AS of_list) AS found) AS counted
WHERE counted.place <= counted.together) AS first ORDER BY first.turn_at, first.run_at, first.id
 LIMIT :limit OFFSET :param_2)
 UPDATE job_runs SET status='running', attempts=(job_runs.attempts + :attempts_1), max_attempts=coalesce(job_runs.max_attempts, picked.max_attempts), timeout=coalesce(job_runs.timeout, picked.timeout), locked_by=:owner, host=:host, locked_until=((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:lease_seconds * 1000000 AS INTEGER)), lease_token=:token, claimed_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)), started_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)), heartbeat_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)), progress=NULL, output=NULL, updated_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) FROM picked WHERE job_runs.id = picked.id AND job_runs.status != 'running' RETURNING id, lease_token, job_type, gate, payload, attempts, max_attempts, timeout, turn_at, run_at, scheduled_for, claimed_at, definition_id, traceparent, checkpoint, concurrency_key""",
        {'attempts_1': 1, 'param_1': 0, 'most_1': 0, 'param_2': 0},
        {'types': (('job_type', None), ('most', None), ('max_attempts', None), ('timeout', None), ('family', None), ('together', None)), 'gated': (('id', None), ('turn_at', 'instant'))},
        (('id', None), ('lease_token', None), ('job_type', None), ('gate', None), ('payload', 'json'), ('attempts', None), ('max_attempts', None), ('timeout', None), ('turn_at', 'instant'), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('claimed_at', 'instant'), ('definition_id', None), ('traceparent', None), ('checkpoint', 'json'), ('concurrency_key', None)),
    ),
    ('claims.held_by_type', (True,)): (
        """SELECT '' AS paused, job_runs.job_type AS name, count(*) AS runs, sum(CASE WHEN (job_runs.locked_by = :owner) THEN :param_1 ELSE :param_2 END) AS mine
FROM job_runs
WHERE job_runs.status = 'running' AND job_runs.host = :host AND job_runs.locked_until > (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) GROUP BY job_runs.job_type UNION ALL SELECT job_pauses.kind, job_pauses.name, 0, 0
FROM job_pauses
WHERE job_pauses.kind != 'host' OR job_pauses.name = :host UNION ALL SELECT 'limit', job_set_limits.job_type, 0, 0
FROM job_set_limits UNION ALL SELECT 'own', '', 0, 0
FROM (SELECT job_claimable_by_host.id AS id
FROM job_claimable_by_host
WHERE job_claimable_by_host.only_host = :host
 LIMIT 1 OFFSET :param_3) AS own""",
        {'param_1': 1, 'param_2': 0, 'param_3': 0},
        {},
        (('paused', None), ('name', None), ('runs', None), ('mine', None)),
    ),
    ('claims.held_by_type', (False,)): (
        """SELECT 'versions' AS paused, '' AS name, 0 AS runs, 0 AS mine
WHERE (SELECT job_ticks.version
FROM job_ticks
WHERE job_ticks.host = :host AND job_ticks.finished_at IS NULL ORDER BY job_ticks.version
 LIMIT 1 OFFSET :param_1) != (SELECT job_ticks.version
FROM job_ticks
WHERE job_ticks.host = :host AND job_ticks.finished_at IS NULL ORDER BY job_ticks.version DESC
 LIMIT 1 OFFSET :param_2) UNION ALL SELECT job_pauses.kind, job_pauses.name, 0, 0
FROM job_pauses
WHERE job_pauses.kind != 'host' OR job_pauses.name = :host UNION ALL SELECT 'limit', job_set_limits.job_type, 0, 0
FROM job_set_limits UNION ALL SELECT 'own', '', 0, 0
FROM (SELECT job_claimable_by_host.id AS id
FROM job_claimable_by_host
WHERE job_claimable_by_host.only_host = :host
 LIMIT 1 OFFSET :param_3) AS own""",
        {'param_1': 0, 'param_2': 0, 'param_3': 0},
        {},
        (('paused', None), ('name', None), ('runs', None), ('mine', None)),
    ),
    ('claims.held_under', (False,)): (
        """SELECT job_runs.id
FROM job_runs
WHERE job_runs.lease_token = :token AND job_runs.status = 'running'""",
        {},
        {},
        (('id', None),),
    ),
    ('claims.held_under', (True,)): (
        """SELECT job_runs.id
FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given JOIN job_runs ON job_runs.id = given.id
WHERE job_runs.lease_token = :token""",
        {},
        {'given': (('id', None),)},
        (('id', None),),
    ),
    ('claims.return_unstarted', (False,)): (
        """WITH held AS
(SELECT job_runs.id AS id
FROM job_runs
WHERE job_runs.lease_token = :token AND job_runs.status = 'running')
 UPDATE job_runs SET status=CASE WHEN (job_runs.cancel_requested_at IS NULL) THEN 'queued' ELSE 'cancelled' END, gate='', attempts=(job_runs.attempts - :attempts_1), locked_by=NULL, host=NULL, locked_until=NULL, lease_token=NULL, started_at=NULL, heartbeat_at=NULL, finished_at=CASE WHEN (job_runs.cancel_requested_at IS NULL) THEN NULL ELSE (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) END, updated_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) WHERE job_runs.id IN (SELECT held.id
FROM held) AND job_runs.lease_token IS NOT NULL RETURNING id, job_type, status""",
        {'attempts_1': 1},
        {},
        (('id', None), ('job_type', None), ('status', None)),
    ),
    ('claims.return_unstarted', (True,)): (
        """WITH held AS
(SELECT job_runs.id AS id
FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given JOIN job_runs ON job_runs.id = given.id
WHERE job_runs.lease_token = :token)
 UPDATE job_runs SET status=CASE WHEN (job_runs.cancel_requested_at IS NULL) THEN 'queued' ELSE 'cancelled' END, gate='', attempts=(job_runs.attempts - :attempts_1), locked_by=NULL, host=NULL, locked_until=NULL, lease_token=NULL, started_at=NULL, heartbeat_at=NULL, finished_at=CASE WHEN (job_runs.cancel_requested_at IS NULL) THEN NULL ELSE (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) END, updated_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) WHERE job_runs.id IN (SELECT held.id
FROM held) AND job_runs.lease_token IS NOT NULL RETURNING id, job_type, status""",
        {'attempts_1': 1},
        {'given': (('id', None),)},
        (('id', None), ('job_type', None), ('status', None)),
    ),
    ('deadlines.end', ()): (
        """UPDATE job_runs SET status=:status, finished_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)), error_type=:error_type, last_error=given.last_error, updated_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.last_error') AS last_error FROM json_each(:given)) AS given WHERE job_runs.id = given.id""",
        {'status': 'dead', 'error_type': 'start_deadline'},
        {'given': (('id', None), ('last_error', None))},
        (),
    ),
    ('deadlines.overdue', ()): (
        """SELECT job_overdue.id, job_overdue.definition_id, job_overdue.job_type, job_overdue.status, job_overdue.attempts, job_overdue.start_deadline_at, job_overdue.error_type, job_overdue.last_error, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS now
FROM job_overdue ORDER BY job_overdue.start_deadline_at
 LIMIT :limit OFFSET :param_1""",
        {'param_1': 0},
        {},
        (('id', None), ('definition_id', None), ('job_type', None), ('status', None), ('attempts', None), ('start_deadline_at', 'instant'), ('error_type', None), ('last_error', None), ('now', 'instant')),
    ),
    ('definitions.events', ()): (
        """SELECT job_events.at, job_events.actor, job_events.action, job_events.run_id, job_events.detail
FROM job_events
WHERE job_events.definition_id = :definition ORDER BY job_events.id DESC
 LIMIT :most OFFSET :param_1""",
        {'param_1': 0},
        {},
        (('at', 'instant'), ('actor', None), ('action', None), ('run_id', None), ('detail', 'json')),
    ),
    ('definitions.former_runs', (False,)): (
        """SELECT job_runs.definition_id, job_definitions.name, job_runs.id, job_runs.job_type, job_definitions.job_type AS type_today
FROM job_runs, job_definitions
WHERE job_runs.id IN (SELECT min(job_runs.id) AS min_1
FROM job_runs JOIN job_definitions ON job_definitions.id = job_runs.definition_id
WHERE status IN ('queued', 'failed', 'running') AND job_runs.definition_id IS NOT NULL AND job_runs.status != 'running' AND job_runs.job_type != job_definitions.job_type AND job_definitions.overlap IN ('skip', 'queue') AND job_definitions.removed_at IS NULL GROUP BY job_runs.definition_id) AND job_definitions.id = job_runs.definition_id""",
        {},
        {},
        (('definition_id', None), ('name', None), ('id', None), ('job_type', None), ('type_today', None)),
    ),
    ('definitions.former_runs', (True,)): (
        """SELECT job_runs.definition_id, job_definitions.name, job_runs.id, job_runs.job_type, job_definitions.job_type AS type_today
FROM job_runs, job_definitions
WHERE job_runs.id IN (SELECT min(job_runs.id) AS min_1
FROM job_runs JOIN job_definitions ON job_definitions.id = job_runs.definition_id
WHERE status IN ('queued', 'failed', 'running') AND job_runs.definition_id IS NOT NULL AND job_runs.status != 'running' AND job_runs.job_type != job_definitions.job_type AND job_definitions.overlap IN ('skip', 'queue') AND job_definitions.removed_at IS NULL AND job_runs.definition_id = :definition GROUP BY job_runs.definition_id) AND job_definitions.id = job_runs.definition_id""",
        {},
        {},
        (('definition_id', None), ('name', None), ('id', None), ('job_type', None), ('type_today', None)),
    ),
    ('definitions.listed', (False,)): (
        """SELECT job_definitions.id, job_definitions.name, job_definitions.job_type, job_definitions.payload, job_definitions.schedule, job_definitions.timezone, job_definitions.source, job_definitions.application, job_definitions.description, job_definitions.misfire, job_definitions.misfire_window, job_definitions.misfire_most, job_definitions.overlap, job_definitions.start_deadline, job_definitions.jitter, job_definitions.ends_at, job_definitions.max_runs, job_definitions.runs_made, job_definitions.last_slot_at, job_definitions.next_run_at, job_definitions.paused_at, job_definitions.removed_at, job_definitions.last_error, job_definitions.created_at, job_definitions.updated_at, job_definitions."on", job_definitions.host, job_definitions.template, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS now
FROM job_definitions
WHERE job_definitions.removed_at IS NULL ORDER BY job_definitions.name""",
        {},
        {},
        (('id', None), ('name', None), ('job_type', None), ('payload', 'json'), ('schedule', None), ('timezone', None), ('source', None), ('application', None), ('description', None), ('misfire', None), ('misfire_window', None), ('misfire_most', None), ('overlap', None), ('start_deadline', None), ('jitter', None), ('ends_at', 'instant'), ('max_runs', None), ('runs_made', None), ('last_slot_at', 'instant'), ('next_run_at', 'instant'), ('paused_at', 'instant'), ('removed_at', 'instant'), ('last_error', None), ('created_at', 'instant'), ('updated_at', 'instant'), ('on', None), ('host', None), ('template', None), ('now', 'instant')),
    ),
    ('definitions.listed', (True,)): (
        """SELECT job_definitions.id, job_definitions.name, job_definitions.job_type, job_definitions.payload, job_definitions.schedule, job_definitions.timezone, job_definitions.source, job_definitions.application, job_definitions.description, job_definitions.misfire, job_definitions.misfire_window, job_definitions.misfire_most, job_definitions.overlap, job_definitions.start_deadline, job_definitions.jitter, job_definitions.ends_at, job_definitions.max_runs, job_definitions.runs_made, job_definitions.last_slot_at, job_definitions.next_run_at, job_definitions.paused_at, job_definitions.removed_at, job_definitions.last_error, job_definitions.created_at, job_definitions.updated_at, job_definitions."on", job_definitions.host, job_definitions.template, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS now
FROM job_definitions ORDER BY job_definitions.name""",
        {},
        {},
        (('id', None), ('name', None), ('job_type', None), ('payload', 'json'), ('schedule', None), ('timezone', None), ('source', None), ('application', None), ('description', None), ('misfire', None), ('misfire_window', None), ('misfire_most', None), ('overlap', None), ('start_deadline', None), ('jitter', None), ('ends_at', 'instant'), ('max_runs', None), ('runs_made', None), ('last_slot_at', 'instant'), ('next_run_at', 'instant'), ('paused_at', 'instant'), ('removed_at', 'instant'), ('last_error', None), ('created_at', 'instant'), ('updated_at', 'instant'), ('on', None), ('host', None), ('template', None), ('now', 'instant')),
    ),
    ('definitions.named', (False,)): (
        """SELECT job_definitions.id, job_definitions.name, job_definitions.job_type, job_definitions.payload, job_definitions.schedule, job_definitions.timezone, job_definitions.source, job_definitions.application, job_definitions.description, job_definitions.misfire, job_definitions.misfire_window, job_definitions.misfire_most, job_definitions.overlap, job_definitions.start_deadline, job_definitions.jitter, job_definitions.ends_at, job_definitions.max_runs, job_definitions.runs_made, job_definitions.last_slot_at, job_definitions.next_run_at, job_definitions.paused_at, job_definitions.removed_at, job_definitions.last_error, job_definitions.created_at, job_definitions.updated_at, job_definitions."on", job_definitions.host, job_definitions.template, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS now
FROM job_definitions
WHERE job_definitions.name = :name""",
        {},
        {},
        (('id', None), ('name', None), ('job_type', None), ('payload', 'json'), ('schedule', None), ('timezone', None), ('source', None), ('application', None), ('description', None), ('misfire', None), ('misfire_window', None), ('misfire_most', None), ('overlap', None), ('start_deadline', None), ('jitter', None), ('ends_at', 'instant'), ('max_runs', None), ('runs_made', None), ('last_slot_at', 'instant'), ('next_run_at', 'instant'), ('paused_at', 'instant'), ('removed_at', 'instant'), ('last_error', None), ('created_at', 'instant'), ('updated_at', 'instant'), ('on', None), ('host', None), ('template', None), ('now', 'instant')),
    ),
    ('definitions.named', (True,)): (
        """SELECT job_definitions.id, job_definitions.name, job_definitions.job_type, job_definitions.payload, job_definitions.schedule, job_definitions.timezone, job_definitions.source, job_definitions.application, job_definitions.description, job_definitions.misfire, job_definitions.misfire_window, job_definitions.misfire_most, job_definitions.overlap, job_definitions.start_deadline, job_definitions.jitter, job_definitions.ends_at, job_definitions.max_runs, job_definitions.runs_made, job_definitions.last_slot_at, job_definitions.next_run_at, job_definitions.paused_at, job_definitions.removed_at, job_definitions.last_error, job_definitions.created_at, job_definitions.updated_at, job_definitions."on", job_definitions.host, job_definitions.template, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS now
FROM job_definitions
WHERE job_definitions.name = :name""",
        {},
        {},
        (('id', None), ('name', None), ('job_type', None), ('payload', 'json'), ('schedule', None), ('timezone', None), ('source', None), ('application', None), ('description', None), ('misfire', None), ('misfire_window', None), ('misfire_most', None), ('overlap', None), ('start_deadline', None), ('jitter', None), ('ends_at', 'instant'), ('max_runs', None), ('runs_made', None), ('last_slot_at', 'instant'), ('next_run_at', 'instant'), ('paused_at', 'instant'), ('removed_at', 'instant'), ('last_error', None), ('created_at', 'instant'), ('updated_at', 'instant'), ('on', None), ('host', None), ('template', None), ('now', 'instant')),
    ),
    ('definitions.names', ()): (
        """SELECT job_definitions.name
FROM job_definitions
WHERE job_definitions.removed_at IS NULL""",
        {},
        {},
        (('name', None),),
    ),
    ('definitions.names_of_hosts', ()): (
        """SELECT job_definitions.name
FROM job_definitions
WHERE job_definitions.template = :template AND job_definitions.removed_at IS NULL ORDER BY job_definitions.name""",
        {},
        {},
        (('name', None),),
    ),
    ('definitions.of_templates', ()): (
        """SELECT job_definitions.id, job_definitions.name, job_definitions.job_type, job_definitions.payload, job_definitions.schedule, job_definitions.timezone, job_definitions.source, job_definitions.application, job_definitions.description, job_definitions.misfire, job_definitions.misfire_window, job_definitions.misfire_most, job_definitions.overlap, job_definitions.start_deadline, job_definitions.jitter, job_definitions.ends_at, job_definitions.max_runs, job_definitions.runs_made, job_definitions.last_slot_at, job_definitions.next_run_at, job_definitions.paused_at, job_definitions.removed_at, job_definitions.last_error, job_definitions.created_at, job_definitions.updated_at, job_definitions."on", job_definitions.host, job_definitions.template, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS now
FROM job_definitions
WHERE job_definitions.template IN (SELECT given.name
FROM (SELECT json_extract(value, '$.name') AS name FROM json_each(:given)) AS given) AND job_definitions.removed_at IS NULL ORDER BY job_definitions.id""",
        {},
        {'given': (('name', None),)},
        (('id', None), ('name', None), ('job_type', None), ('payload', 'json'), ('schedule', None), ('timezone', None), ('source', None), ('application', None), ('description', None), ('misfire', None), ('misfire_window', None), ('misfire_most', None), ('overlap', None), ('start_deadline', None), ('jitter', None), ('ends_at', 'instant'), ('max_runs', None), ('runs_made', None), ('last_slot_at', 'instant'), ('next_run_at', 'instant'), ('paused_at', 'instant'), ('removed_at', 'instant'), ('last_error', None), ('created_at', 'instant'), ('updated_at', 'instant'), ('on', None), ('host', None), ('template', None), ('now', 'instant')),
    ),
    ('definitions.on_hosts', ()): (
        """SELECT job_definitions.name, job_definitions.host, job_definitions.last_slot_at, job_definitions.next_run_at, job_definitions.paused_at, job_definitions.last_error, (SELECT job_ticks.started_at
FROM job_ticks
WHERE job_ticks.id = (SELECT job_ticks.id
FROM job_ticks
WHERE job_ticks.host >= job_definitions.host AND job_ticks.host <= job_definitions.host ORDER BY job_ticks.host DESC, job_ticks.id DESC
 LIMIT 1 OFFSET :param_1)) AS ticked_at, job_runs.id AS run_id, job_runs.status AS run_status, job_runs.scheduled_for AS run_slot
FROM job_definitions LEFT OUTER JOIN job_runs ON job_runs.id = (SELECT max(job_runs.id) AS max_1
FROM job_runs
WHERE job_runs.definition_id = job_definitions.id)
WHERE job_definitions.template = :template AND job_definitions.removed_at IS NULL ORDER BY job_definitions.host""",
        {'param_1': 0},
        {},
        (('name', None), ('host', None), ('last_slot_at', 'instant'), ('next_run_at', 'instant'), ('paused_at', 'instant'), ('last_error', None), ('ticked_at', 'instant'), ('run_id', None), ('run_status', None), ('run_slot', 'instant')),
    ),
    ('definitions.paused_by', ()): (
        """SELECT job_events.actor
FROM job_events
WHERE job_events.definition_id = :definition AND job_events.action = 'pause schedule' AND job_events.at >= :since ORDER BY job_events.id DESC
 LIMIT :param_1 OFFSET :param_2""",
        {'param_1': 1, 'param_2': 0},
        {'since': 'instant'},
        (('actor', None),),
    ),
    ('definitions.runs', ()): (
        """SELECT job_runs.id, job_runs.scheduled_for, job_runs.origin, job_runs.status, job_runs.run_at, job_runs.finished_at, job_runs.attempts, job_runs.error_type, job_runs.last_error, job_runs.created_at, coalesce((SELECT min(job_attempts.started_at) AS min_1
FROM job_attempts
WHERE job_attempts.run_id = job_runs.id), job_runs.started_at) AS first_started_at
FROM job_runs
WHERE job_runs.definition_id = :definition ORDER BY job_runs.id DESC
 LIMIT :most OFFSET :param_1""",
        {'param_1': 0},
        {},
        (('id', None), ('scheduled_for', 'instant'), ('origin', None), ('status', None), ('run_at', 'instant'), ('finished_at', 'instant'), ('attempts', None), ('error_type', None), ('last_error', None), ('created_at', 'instant'), ('first_started_at', 'instant')),
    ),
    ('dependants.attach', ()): (
        """INSERT INTO job_parents (parent_id, run_id, if_parent_fails, parent_status) SELECT given.parent_id, given.run_id, given.if_parent_fails, given.parent_status
FROM (SELECT json_extract(value, '$.parent_id') AS parent_id, json_extract(value, '$.run_id') AS run_id, json_extract(value, '$.if_parent_fails') AS if_parent_fails, json_extract(value, '$.parent_status') AS parent_status FROM json_each(:given)) AS given""",
        {},
        {'given': (('parent_id', None), ('run_id', None), ('if_parent_fails', None), ('parent_status', None))},
        (),
    ),
    ('dependants.cancel', ()): (
        """UPDATE job_runs SET status='cancelled', gate='', finished_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)), error_type='parent_failed', last_error=given.last_error, updated_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.last_error') AS last_error FROM json_each(:given)) AS given WHERE job_runs.id = given.id AND job_runs.gate = 'after'""",
        {},
        {'given': (('id', None), ('last_error', None))},
        (),
    ),
    ('dependants.forget', ()): (
        """DELETE FROM job_parents WHERE job_parents.run_id IN (SELECT given.id
FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given)""",
        {},
        {'given': (('id', None),)},
        (),
    ),
    ('dependants.hold', ()): (
        """UPDATE job_runs SET gate='after' WHERE job_runs.id = :run_id""",
        {},
        {},
        (),
    ),
    ('dependants.known', ()): (
        """SELECT job_runs.id
FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given JOIN job_runs ON job_runs.id = given.id""",
        {},
        {'given': (('id', None),)},
        (('id', None),),
    ),
    ('dependants.lock', ()): (
        """SELECT job_runs.id, job_runs.job_type, job_runs.status, job_runs.gate, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS now
FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given JOIN job_runs ON job_runs.id = given.id""",
        {},
        {'given': (('id', None),)},
        (('id', None), ('job_type', None), ('status', None), ('gate', None), ('now', 'instant')),
    ),
    ('dependants.lock_parents', ()): (
        """SELECT job_runs.id, job_runs.status, job_runs.finished_at
FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given JOIN job_runs ON job_runs.id = given.id ORDER BY job_runs.id""",
        {},
        {'given': (('id', None),)},
        (('id', None), ('status', None), ('finished_at', 'instant')),
    ),
    ('dependants.mark_parents', ()): (
        """UPDATE job_runs SET has_dependants=1 FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given WHERE job_runs.id = given.id""",
        {},
        {'given': (('id', None),)},
        (),
    ),
    ('dependants.release', ()): (
        """UPDATE job_runs SET gate='', updated_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given WHERE job_runs.id = given.id AND job_runs.gate = 'after' AND NOT (EXISTS (SELECT job_parents.run_id
FROM job_parents
WHERE job_parents.run_id = job_runs.id)) RETURNING id""",
        {},
        {'given': (('id', None),)},
        (('id', None),),
    ),
    ('dependants.take_ends', ()): (
        """DELETE FROM job_parents WHERE job_parents.run_id IN (SELECT given.id
FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given) AND parent_status IS NOT NULL RETURNING run_id, parent_id, parent_status, if_parent_fails""",
        {},
        {'given': (('id', None),)},
        (('run_id', None), ('parent_id', None), ('parent_status', None), ('if_parent_fails', None)),
    ),
    ('dependants.told', ()): (
        """SELECT DISTINCT job_parents.run_id AS id
FROM job_parents
WHERE parent_status IS NOT NULL
 LIMIT :limit OFFSET :param_1""",
        {'param_1': 0},
        {},
        (('id', None),),
    ),
    ('effects.answers', ()): (
        """SELECT job_events.detail
FROM job_events
WHERE job_events.run_id = :run AND job_events.action = :answered AND job_events.at >= :since""",
        {},
        {'since': 'instant'},
        (('detail', 'json'),),
    ),
    ('effects.clear', ()): (
        """DELETE FROM job_effects WHERE job_effects."key" = :effect AND job_effects.token = :call AND job_effects.state != 'applied' RETURNING token""",
        {},
        {},
        (('token', None),),
    ),
    ('effects.count_uncertain', ()): (
        """SELECT count(*) AS effects
FROM job_effects
WHERE job_effects.state != 'applied' AND NOT (job_effects.state = 'intended' AND (EXISTS (SELECT job_runs.id
FROM job_runs
WHERE job_runs.id = job_effects.run_id AND job_runs.lease_token = job_effects.lease_token)))""",
        {},
        {},
        (('effects', None),),
    ),
    ('effects.find', ()): (
        """SELECT job_effects."key", job_effects.state, job_effects.run_id, job_effects.job_type, job_effects.attempt, job_effects.lease_token, job_effects.token, job_effects.outcome, job_effects.intended_at, job_effects.settled_at, job_effects.state = 'intended' AND (EXISTS (SELECT job_runs.id
FROM job_runs
WHERE job_runs.id = job_effects.run_id AND job_runs.lease_token = job_effects.lease_token)) AS in_progress
FROM job_effects
WHERE job_effects."key" = :effect""",
        {},
        {},
        (('key', None), ('state', None), ('run_id', None), ('job_type', None), ('attempt', None), ('lease_token', None), ('token', None), ('outcome', 'json'), ('intended_at', 'instant'), ('settled_at', 'instant'), ('in_progress', 'boolean')),
    ),
    ('effects.forget', ()): (
        """DELETE FROM job_effects WHERE job_effects."key" = :effect""",
        {},
        {},
        (),
    ),
    ('effects.intend', ()): (
        """INSERT INTO job_effects ("key", state, run_id, job_type, attempt, lease_token, token, intended_at) SELECT :effect AS anon_1, 'intended', job_runs.id, job_runs.job_type, job_runs.attempts, job_runs.lease_token, :call AS anon_2, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_3
FROM job_runs
WHERE job_runs.id = :run AND job_runs.lease_token = :token AND NULL IS NULL ON CONFLICT DO NOTHING RETURNING (SELECT job_state.server
FROM job_state) AS server, (SELECT job_runs.created_at
FROM job_runs
WHERE id = :run) AS run_created_at, intended_at""",
        {},
        {},
        (('server', None), ('run_created_at', 'instant'), ('intended_at', 'instant')),
    ),
    ('effects.is_paused', ()): (
        """SELECT NULL IS NOT NULL AS is_paused""",
        {},
        {},
        (('is_paused', 'boolean'),),
    ),
    ('effects.known', ()): (
        """SELECT job_effects."key", job_effects.token, job_effects.state
FROM job_effects, (SELECT json_extract(value, '$.effect') AS effect FROM json_each(:given)) AS given
WHERE job_effects."key" = given.effect""",
        {},
        {'given': (('effect', None),)},
        (('key', None), ('token', None), ('state', None)),
    ),
    ('effects.lock', ()): (
        """SELECT job_effects.state, job_effects.run_id, job_effects.state = 'intended' AND (EXISTS (SELECT job_runs.id
FROM job_runs
WHERE job_runs.id = job_effects.run_id AND job_runs.lease_token = job_effects.lease_token)) AS in_progress, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS now
FROM job_effects
WHERE job_effects."key" = :effect""",
        {},
        {},
        (('state', None), ('run_id', None), ('in_progress', 'boolean'), ('now', 'instant')),
    ),
    ('effects.mark_applied', ()): (
        """UPDATE job_effects SET state='applied', outcome=:new_outcome, settled_at=:at WHERE job_effects."key" = :effect""",
        {},
        {'new_outcome': 'json', 'at': 'instant'},
        (),
    ),
    ('effects.put_back', ()): (
        """INSERT INTO job_effects ("key", state, run_id, job_type, attempt, lease_token, token, outcome, intended_at, settled_at) SELECT :effect AS anon_1, CASE WHEN (CAST(:was_applied AS BOOLEAN) = 1 AND (EXISTS (SELECT job_runs.id
FROM job_runs
WHERE job_runs.id = :run AND job_runs.created_at = :run_created_at AND job_runs.job_type = :of_type))) THEN 'applied' ELSE 'intended' END AS anon_2, :run AS anon_3, :of_type AS anon_4, :of_attempt AS anon_5, :its_lease AS anon_6, :call AS anon_7, CASE WHEN (CAST(:was_applied AS BOOLEAN) = 1 AND (EXISTS (SELECT job_runs.id
FROM job_runs
WHERE job_runs.id = :run AND job_runs.created_at = :run_created_at AND job_runs.job_type = :of_type))) THEN :its_outcome END AS anon_8, :since AS anon_9, CASE WHEN (CAST(:was_applied AS BOOLEAN) = 1 AND (EXISTS (SELECT job_runs.id
FROM job_runs
WHERE job_runs.id = :run AND job_runs.created_at = :run_created_at AND job_runs.job_type = :of_type))) THEN (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) END AS anon_10 ON CONFLICT DO NOTHING RETURNING state""",
        {},
        {'run_created_at': 'instant', 'its_outcome': 'json', 'since': 'instant'},
        (('state', None),),
    ),
    ('effects.settle', ()): (
        """UPDATE job_effects SET state=:new_state, outcome=:new_outcome, settled_at=CASE WHEN (:new_state = 'applied') THEN (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) END WHERE job_effects."key" = :effect AND job_effects.token = :call AND job_effects.state != 'applied' RETURNING token""",
        {},
        {'new_outcome': 'json'},
        (('token', None),),
    ),
    ('effects.take_over', ()): (
        """UPDATE job_effects SET state='intended', run_id=:run, job_type=:of_type, attempt=:of_attempt, lease_token=:token, token=:call, intended_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) WHERE job_effects."key" = :effect AND job_effects.token = :known_call AND job_effects.state != 'applied' AND (EXISTS (SELECT job_runs.id
FROM job_runs
WHERE job_runs.id = :run AND job_runs.lease_token = :token)) RETURNING (SELECT job_state.server
FROM job_state) AS server, (SELECT job_runs.created_at
FROM job_runs
WHERE id = :run) AS run_created_at, intended_at""",
        {},
        {},
        (('server', None), ('run_created_at', 'instant'), ('intended_at', 'instant')),
    ),
    ('effects.uncertain', ()): (
        """SELECT job_effects."key", job_effects.run_id, job_effects.job_type, job_effects.attempt, job_effects.intended_at
FROM job_effects
WHERE job_effects.state != 'applied' AND NOT (job_effects.state = 'intended' AND (EXISTS (SELECT job_runs.id
FROM job_runs
WHERE job_runs.id = job_effects.run_id AND job_runs.lease_token = job_effects.lease_token))) ORDER BY job_effects.intended_at, job_effects."key"
 LIMIT :most OFFSET :param_1""",
        {'param_1': 0},
        {},
        (('key', None), ('run_id', None), ('job_type', None), ('attempt', None), ('intended_at', 'instant')),
    ),
    ('enqueue.insert_many', (('job_type', 'priority'), ('payload',))): (
        """INSERT INTO job_runs (job_type, priority, payload, status, run_at, created_at, updated_at) SELECT :job_type AS anon_1, :priority AS anon_2, given.payload AS anon_3, 'queued', (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_4, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_5, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_6
FROM (SELECT json_extract(value, '$.payload') AS payload FROM json_each(:given)) AS given RETURNING id""",
        {},
        {'given': (('payload', None),)},
        (('id', None),),
    ),
    ('enqueue.insert_many', (('job_type', 'priority'), ('idempotency_key', 'payload'))): (
        """INSERT INTO job_runs (job_type, priority, idempotency_key, payload, status, run_at, created_at, updated_at) SELECT :job_type AS anon_1, :priority AS anon_2, given.idempotency_key, given.payload AS anon_3, 'queued', (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_4, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_5, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_6
FROM (SELECT json_extract(value, '$.idempotency_key') AS idempotency_key, json_extract(value, '$.payload') AS payload FROM json_each(:given)) AS given RETURNING id""",
        {},
        {'given': (('idempotency_key', None), ('payload', None))},
        (('id', None),),
    ),
    ('enqueue.insert_many', (('job_type',), ('idempotency_key', 'payload', 'priority'))): (
        """INSERT INTO job_runs (job_type, idempotency_key, payload, priority, status, run_at, created_at, updated_at) SELECT :job_type AS anon_1, given.idempotency_key, given.payload AS anon_2, given.priority, 'queued', (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_3, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_4, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_5
FROM (SELECT json_extract(value, '$.idempotency_key') AS idempotency_key, json_extract(value, '$.payload') AS payload, json_extract(value, '$.priority') AS priority FROM json_each(:given)) AS given RETURNING id""",
        {},
        {'given': (('idempotency_key', None), ('payload', None), ('priority', None))},
        (('id', None),),
    ),
    ('enqueue.insert_many', (('job_type', 'priority', 'traceparent'), ('payload',))): (
        """INSERT INTO job_runs (job_type, priority, traceparent, payload, status, run_at, created_at, updated_at) SELECT :job_type AS anon_1, :priority AS anon_2, :traceparent AS anon_3, given.payload AS anon_4, 'queued', (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_5, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_6, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_7
FROM (SELECT json_extract(value, '$.payload') AS payload FROM json_each(:given)) AS given RETURNING id""",
        {},
        {'given': (('payload', None),)},
        (('id', None),),
    ),
    ('enqueue.insert_many', (('job_type', 'priority', 'traceparent'), ('idempotency_key', 'payload'))): (
        """INSERT INTO job_runs (job_type, priority, traceparent, idempotency_key, payload, status, run_at, created_at, updated_at) SELECT :job_type AS anon_1, :priority AS anon_2, :traceparent AS anon_3, given.idempotency_key, given.payload AS anon_4, 'queued', (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_5, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_6, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_7
FROM (SELECT json_extract(value, '$.idempotency_key') AS idempotency_key, json_extract(value, '$.payload') AS payload FROM json_each(:given)) AS given RETURNING id""",
        {},
        {'given': (('idempotency_key', None), ('payload', None))},
        (('id', None),),
    ),
    ('enqueue.insert_many', (('job_type',), ('idempotency_key', 'payload', 'priority', 'traceparent'))): (
        """INSERT INTO job_runs (job_type, idempotency_key, payload, priority, traceparent, status, run_at, created_at, updated_at) SELECT :job_type AS anon_1, given.idempotency_key, given.payload AS anon_2, given.priority, given.traceparent, 'queued', (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_3, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_4, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_5
FROM (SELECT json_extract(value, '$.idempotency_key') AS idempotency_key, json_extract(value, '$.payload') AS payload, json_extract(value, '$.priority') AS priority, json_extract(value, '$.traceparent') AS traceparent FROM json_each(:given)) AS given RETURNING id""",
        {},
        {'given': (('idempotency_key', None), ('payload', None), ('priority', None), ('traceparent', None))},
        (('id', None),),
    ),
    ('enqueue.insert_of_slots', ()): (
        """INSERT INTO job_runs (definition_id, job_type, payload, priority, run_at, scheduled_for, origin, start_deadline_at, concurrency_key, only_host, status, created_at, updated_at) SELECT given.definition_id, given.job_type, given.payload AS anon_1, given.priority, coalesce(given.run_at, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state))) AS coalesce_1, given.scheduled_for, given.origin, given.start_deadline_at, given.concurrency_key, given.only_host, 'queued', (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_2, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_3
FROM (SELECT json_extract(value, '$.definition_id') AS definition_id, json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.payload') AS payload, json_extract(value, '$.priority') AS priority, json_extract(value, '$.run_at') AS run_at, json_extract(value, '$.scheduled_for') AS scheduled_for, json_extract(value, '$.origin') AS origin, json_extract(value, '$.start_deadline_at') AS start_deadline_at, json_extract(value, '$.concurrency_key') AS concurrency_key, json_extract(value, '$.only_host') AS only_host FROM json_each(:given)) AS given
WHERE 1 = 1 ON CONFLICT DO NOTHING RETURNING id, definition_id, scheduled_for""",
        {},
        {'given': (('definition_id', None), ('job_type', None), ('payload', None), ('priority', None), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('origin', None), ('start_deadline_at', 'instant'), ('concurrency_key', None), ('only_host', None))},
        (('id', None), ('definition_id', None), ('scheduled_for', 'instant')),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority'), True)): (
        """INSERT INTO job_runs (job_type, payload, priority, status, run_at, created_at, updated_at) SELECT :job_type AS anon_1, :payload AS anon_2, :priority AS anon_3, 'queued', (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_4, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_5, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_6
WHERE NOT (EXISTS (SELECT *
FROM job_types
WHERE job_types.job_type = :job_type AND job_types.max_waiting IS NOT NULL)) RETURNING id""",
        {},
        {},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'run_in', 'run_at', 'max_attempts', 'timeout', 'idempotency_key', 'traceparent'), True)): (
        """INSERT INTO job_runs (job_type, payload, priority, run_at, max_attempts, timeout, idempotency_key, traceparent, status, created_at, updated_at) SELECT :job_type AS anon_1, :payload AS anon_2, :priority AS anon_3, coalesce(:run_at, ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:run_in * 1000000 AS INTEGER)), (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state))) AS coalesce_1, :max_attempts AS anon_4, CAST(:timeout AS REAL) AS anon_5, :idempotency_key AS anon_6, :traceparent AS anon_7, 'queued', (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_8, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_9
WHERE NOT (EXISTS (SELECT *
FROM job_types
WHERE job_types.job_type = :job_type AND job_types.max_waiting IS NOT NULL)) RETURNING id""",
        {},
        {'run_at': 'instant'},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'run_in', 'run_at', 'max_attempts', 'timeout', 'idempotency_key', 'traceparent'), False)): (
        """INSERT INTO job_runs (job_type, payload, priority, run_at, max_attempts, timeout, idempotency_key, traceparent, status, created_at, updated_at) SELECT :job_type AS anon_1, :payload AS anon_2, :priority AS anon_3, coalesce(:run_at, ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:run_in * 1000000 AS INTEGER)), (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state))) AS coalesce_1, :max_attempts AS anon_4, CAST(:timeout AS REAL) AS anon_5, :idempotency_key AS anon_6, :traceparent AS anon_7, 'queued', (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_8, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_9 RETURNING id""",
        {},
        {'run_at': 'instant'},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'run_in', 'run_at', 'max_attempts', 'timeout', 'idempotency_key', 'traceparent', 'expires_in'), True)): (
        """INSERT INTO job_runs (job_type, payload, priority, run_at, max_attempts, timeout, idempotency_key, traceparent, status, created_at, updated_at, start_deadline_at) SELECT :job_type AS anon_1, :payload AS anon_2, :priority AS anon_3, coalesce(:run_at, ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:run_in * 1000000 AS INTEGER)), (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state))) AS coalesce_1, :max_attempts AS anon_4, CAST(:timeout AS REAL) AS anon_5, :idempotency_key AS anon_6, :traceparent AS anon_7, 'queued', (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_8, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_9, (coalesce(:run_at, ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:run_in * 1000000 AS INTEGER)), (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state))) + CAST(:expires_in * 1000000 AS INTEGER)) AS anon_10
WHERE NOT (EXISTS (SELECT *
FROM job_types
WHERE job_types.job_type = :job_type AND job_types.max_waiting IS NOT NULL)) RETURNING id""",
        {},
        {'run_at': 'instant'},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'run_in', 'run_at', 'max_attempts', 'timeout', 'idempotency_key', 'traceparent', 'expires_in'), False)): (
        """INSERT INTO job_runs (job_type, payload, priority, run_at, max_attempts, timeout, idempotency_key, traceparent, status, created_at, updated_at, start_deadline_at) SELECT :job_type AS anon_1, :payload AS anon_2, :priority AS anon_3, coalesce(:run_at, ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:run_in * 1000000 AS INTEGER)), (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state))) AS coalesce_1, :max_attempts AS anon_4, CAST(:timeout AS REAL) AS anon_5, :idempotency_key AS anon_6, :traceparent AS anon_7, 'queued', (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_8, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_9, (coalesce(:run_at, ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:run_in * 1000000 AS INTEGER)), (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state))) + CAST(:expires_in * 1000000 AS INTEGER)) AS anon_10 RETURNING id""",
        {},
        {'run_at': 'instant'},
        (('id', None),),
    ),
    ('enqueue.replace', ('sqlite',)): (
        """UPDATE job_runs SET payload=given.payload, run_at=coalesce(given.run_at, ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(given.run_in * 1000000 AS INTEGER)), (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state))), start_deadline_at=(coalesce(given.run_at, ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(given.run_in * 1000000 AS INTEGER)), (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state))) + CAST(given.expires_in * 1000000 AS INTEGER)), gate=CASE WHEN (job_runs.gate = 'after') THEN job_runs.gate ELSE '' END, checkpoint=NULL, updated_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.status') AS status, json_extract(value, '$.payload') AS payload, json_extract(value, '$.run_at') AS run_at, json_extract(value, '$.run_in') AS run_in, json_extract(value, '$.expires_in') AS expires_in FROM json_each(:given)) AS given WHERE job_runs.id = given.id AND job_runs.status = given.status AND job_runs.attempts = :attempts_1 RETURNING id""",
        {'attempts_1': 0},
        {'given': (('id', None), ('status', None), ('payload', None), ('run_at', 'instant'), ('run_in', None), ('expires_in', None))},
        (('id', None),),
    ),
    ('expansion.limited_types', ()): (
        """SELECT job_types.job_type
FROM job_types
WHERE job_types.max_waiting IS NOT NULL AND job_types.job_type IN (SELECT given.job_type
FROM (SELECT json_extract(value, '$.job_type') AS job_type FROM json_each(:given)) AS given)""",
        {},
        {'given': (('job_type', None),)},
        (('job_type', None),),
    ),
    ('expansion.lock', ()): (
        """SELECT job_expandable.id
FROM job_expandable
WHERE (job_expandable.id NOT IN (SELECT given.id
FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given)) ORDER BY job_expandable.next_run_at, job_expandable.id
 LIMIT :limit OFFSET :param_1""",
        {'param_1': 0},
        {'given': (('id', None),)},
        (('id', None),),
    ),
    ('expansion.lock_of_host', ()): (
        """SELECT job_expandable_by_host.id
FROM job_expandable_by_host
WHERE job_expandable_by_host.host = :host AND (job_expandable_by_host.id NOT IN (SELECT given.id
FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given)) ORDER BY job_expandable_by_host.next_run_at, job_expandable_by_host.id
 LIMIT :limit OFFSET :param_1""",
        {'param_1': 0},
        {'given': (('id', None),)},
        (('id', None),),
    ),
    ('expansion.lock_one', ()): (
        """SELECT job_expandable_by_host.id
FROM job_expandable_by_host
WHERE job_expandable_by_host.id = :definition_id""",
        {},
        {},
        (('id', None),),
    ),
    ('expansion.move', ()): (
        """UPDATE job_definitions SET runs_made=(job_definitions.runs_made + given.runs_made), last_slot_at=given.last_slot_at, next_run_at=given.next_run_at, last_error=NULL, updated_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.last_slot_at') AS last_slot_at, json_extract(value, '$.next_run_at') AS next_run_at, json_extract(value, '$.runs_made') AS runs_made FROM json_each(:given)) AS given WHERE job_definitions.id = given.id""",
        {},
        {'given': (('id', None), ('last_slot_at', 'instant'), ('next_run_at', 'instant'), ('runs_made', None))},
        (),
    ),
    ('expansion.read', ()): (
        """SELECT job_definitions.id, job_definitions.name, job_definitions.job_type, job_definitions.payload, job_definitions.schedule, job_definitions.timezone, job_definitions.last_slot_at, job_definitions.last_error, job_definitions.source, job_definitions.runs_made, job_definitions.description, job_definitions.paused_at, job_definitions.host, job_definitions.misfire, job_definitions.misfire_window, job_definitions.misfire_most, job_definitions.overlap, job_definitions.start_deadline, job_definitions.jitter, job_definitions.ends_at, job_definitions.max_runs, job_definitions."on", CASE WHEN (job_definitions.overlap = 'skip' OR job_definitions.overlap = 'queue') THEN (SELECT job_runs.id
FROM job_runs
WHERE job_runs.definition_id = job_definitions.id AND status IN ('queued', 'failed', 'running') AND (job_runs.lease_token IS NOT NULL OR job_runs.start_deadline_at IS NULL OR job_runs.start_deadline_at > (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state))) AND NOT (job_runs.status = :status_1 AND job_runs.started_at IS NULL AND job_runs.run_at > job_runs.created_at AND job_runs.run_at > job_definitions.last_slot_at)
 LIMIT :param_1 OFFSET :param_2) END AS unfinished, CASE WHEN (job_definitions.overlap = 'queue') THEN (SELECT job_runs.id
FROM job_runs
WHERE job_runs.definition_id = job_definitions.id AND status IN ('queued', 'failed', 'running') AND (job_runs.lease_token IS NOT NULL OR job_runs.start_deadline_at IS NULL OR job_runs.start_deadline_at > (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state))) AND job_runs.status != 'running'
 LIMIT :param_1 OFFSET :param_3) END AS waiting, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS now
FROM job_definitions, (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given
WHERE job_definitions.id = given.id""",
        {'status_1': 'queued', 'param_1': 1, 'param_2': 0, 'param_3': 0},
        {'given': (('id', None),)},
        (('id', None), ('name', None), ('job_type', None), ('payload', 'json'), ('schedule', None), ('timezone', None), ('last_slot_at', 'instant'), ('last_error', None), ('source', None), ('runs_made', None), ('description', None), ('paused_at', 'instant'), ('host', None), ('misfire', None), ('misfire_window', None), ('misfire_most', None), ('overlap', None), ('start_deadline', None), ('jitter', None), ('ends_at', 'instant'), ('max_runs', None), ('on', None), ('unfinished', None), ('waiting', None), ('now', 'instant')),
    ),
    ('expiries.expired', ()): (
        """SELECT job_recoverable.id, job_recoverable.host, job_recoverable.locked_by
FROM job_recoverable""",
        {},
        {},
        (('id', None), ('host', None), ('locked_by', None)),
    ),
    ('expiries.held_by', ()): (
        """SELECT job_runs.id
FROM job_runs
WHERE job_runs.status = 'running' AND job_runs.locked_by IN (SELECT given.locked_by
FROM (SELECT json_extract(value, '$.locked_by') AS locked_by FROM json_each(:given)) AS given)""",
        {},
        {'given': (('locked_by', None),)},
        (('id', None),),
    ),
    ('expiries.is_tick', ()): (
        """SELECT EXISTS (SELECT job_ticks.id
FROM job_ticks
WHERE job_ticks.id IN (SELECT last.id
FROM (SELECT job_ticks.id AS id
FROM job_ticks
WHERE job_ticks.host >= :host AND job_ticks.host <= :host ORDER BY job_ticks.host DESC, job_ticks.id DESC
 LIMIT 20 OFFSET :param_1) AS last) AND job_ticks.worker = :worker) AS anon_1""",
        {'param_1': 0},
        {},
        (('', 'boolean'),),
    ),
    ('expiries.locked', (False,)): (
        """SELECT job_recoverable.id
FROM job_recoverable ORDER BY job_recoverable.host, job_recoverable.id
 LIMIT :limit OFFSET :param_1""",
        {'param_1': 0},
        {},
        (('id', None),),
    ),
    ('expiries.locked', (True,)): (
        """SELECT job_recoverable.id
FROM job_recoverable
WHERE job_recoverable.id IN (SELECT given.id
FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given) ORDER BY job_recoverable.host, job_recoverable.id
 LIMIT :limit OFFSET :param_1""",
        {'param_1': 0},
        {'given': (('id', None),)},
        (('id', None),),
    ),
    ('expiries.locked_of', ()): (
        """SELECT job_runs.id
FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given JOIN job_runs ON job_runs.id = given.id
WHERE job_runs.lease_token IS NOT NULL AND job_runs.locked_by = :owner""",
        {},
        {'given': (('id', None),)},
        (('id', None),),
    ),
    ('explain.all_at_work', ()): (
        """SELECT job_runs.id
FROM job_runs
WHERE job_runs.job_type = :of_type AND job_runs.status = 'running'""",
        {},
        {},
        (('id', None),),
    ),
    ('explain.all_in_front', ()): (
        """SELECT count(*) AS runs
FROM (SELECT job_gated.id AS id
FROM job_gated
WHERE job_gated.job_type = :of_type AND job_gated.gate = 'all' AND (job_gated.turn_at, job_gated.run_at, job_gated.id) < (:its_turn_at, :its_run_at, :its_id)
 LIMIT :most OFFSET :param_1) AS anon_1""",
        {'param_1': 0},
        {'its_turn_at': 'instant', 'its_run_at': 'instant'},
        (('runs', None),),
    ),
    ('explain.at_work', (False,)): (
        """SELECT job_runs.id
FROM job_runs
WHERE job_runs.job_type = :of_type AND job_runs.lease_token IS NOT NULL AND job_runs.gate != '' ORDER BY job_runs.id""",
        {},
        {},
        (('id', None),),
    ),
    ('explain.at_work', (True,)): (
        """SELECT job_runs.id
FROM job_runs
WHERE job_runs.job_type = :of_type AND job_runs.lease_token IS NOT NULL AND job_runs.gate != '' AND job_runs.gate = :gate ORDER BY job_runs.id""",
        {},
        {},
        (('id', None),),
    ),
    ('explain.behind_gate_in_front', ()): (
        """SELECT count(*) AS runs
FROM (SELECT job_gated.id AS id
FROM job_gated
WHERE job_gated.job_type = :of_type AND job_gated.gate = :gate AND (job_gated.turn_at, job_gated.run_at, job_gated.id) < (:its_turn_at, :its_run_at, :its_id)
 LIMIT :most OFFSET :param_1) AS anon_1""",
        {'param_1': 0},
        {'its_turn_at': 'instant', 'its_run_at': 'instant'},
        (('runs', None),),
    ),
    ('explain.due_in_front', ()): (
        """SELECT count(*) AS runs
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = :of_type AND (job_claimable.turn_at, job_claimable.run_at, job_claimable.id) < (:its_turn_at, :its_run_at, :its_id)
 LIMIT :most OFFSET :param_1) AS anon_1""",
        {'param_1': 0},
        {'its_turn_at': 'instant', 'its_run_at': 'instant'},
        (('runs', None),),
    ),
    ('explain.gate', ()): (
        """SELECT job_gates.spent_until
FROM job_gates
WHERE job_gates.job_type = :of_type AND job_gates.gate = :gate""",
        {},
        {},
        (('spent_until', 'instant'),),
    ),
    ('explain.gate_of', (1,)): (
        """SELECT :key || ' ' || (SELECT substr(CASE WHEN written GLOB '*[{\\.eE]*' THEN (SELECT '[' || group_concat(listed, ',') || ']' FROM (
      SELECT CASE path WHEN '$' THEN '' ELSE substr(fullkey, 2) || ':' END
        || CASE WHEN type IN ('true', 'false') THEN type WHEN type IN ('object', 'array') THEN value
          ELSE json_quote(atom) END AS listed
      FROM json_tree(written) WHERE type NOT IN ('object', 'array') OR value IN ('{}', '[]') ORDER BY fullkey)) ELSE written END, 1, 200) FROM (SELECT substr(found, 1, length(found) - 6) || ']' AS written FROM (SELECT json_extract(job_runs.payload, '$."' || :name_0 || '"', '$[0]') AS found))) AS gate
FROM job_runs
WHERE job_runs.id = :run""",
        {},
        {},
        (('gate', None),),
    ),
    ('explain.gate_of', (2,)): (
        """SELECT :key || ' ' || (SELECT substr(CASE WHEN written GLOB '*[{\\.eE]*' THEN (SELECT '[' || group_concat(listed, ',') || ']' FROM (
      SELECT CASE path WHEN '$' THEN '' ELSE substr(fullkey, 2) || ':' END
        || CASE WHEN type IN ('true', 'false') THEN type WHEN type IN ('object', 'array') THEN value
          ELSE json_quote(atom) END AS listed
      FROM json_tree(written) WHERE type NOT IN ('object', 'array') OR value IN ('{}', '[]') ORDER BY fullkey)) ELSE written END, 1, 200) FROM (SELECT substr(found, 1, length(found) - 6) || ']' AS written FROM (SELECT json_extract(job_runs.payload, '$."' || :name_0 || '"', '$."' || :name_1 || '"', '$[0]') AS found))) AS gate
FROM job_runs
WHERE job_runs.id = :run""",
        {},
        {},
        (('gate', None),),
    ),
    ('explain.gate_of', (3,)): (
        """SELECT :key || ' ' || (SELECT substr(CASE WHEN written GLOB '*[{\\.eE]*' THEN (SELECT '[' || group_concat(listed, ',') || ']' FROM (
      SELECT CASE path WHEN '$' THEN '' ELSE substr(fullkey, 2) || ':' END
        || CASE WHEN type IN ('true', 'false') THEN type WHEN type IN ('object', 'array') THEN value
          ELSE json_quote(atom) END AS listed
      FROM json_tree(written) WHERE type NOT IN ('object', 'array') OR value IN ('{}', '[]') ORDER BY fullkey)) ELSE written END, 1, 200) FROM (SELECT substr(found, 1, length(found) - 6) || ']' AS written FROM (SELECT json_extract(job_runs.payload, '$."' || :name_0 || '"', '$."' || :name_1 || '"', '$."' || :name_2 || '"', '$[0]') AS found))) AS gate
FROM job_runs
WHERE job_runs.id = :run""",
        {},
        {},
        (('gate', None),),
    ),
    ('explain.gated_in_front', ()): (
        """SELECT count(*) AS runs
FROM (SELECT anon_2.id AS id
FROM (SELECT job_gated.id AS id, job_gated.turn_at AS turn_at, job_gated.run_at AS run_at
FROM job_gated
WHERE job_gated.job_type = :of_type AND job_gated.gate > '' AND job_gated.gate != 'after'
 LIMIT :most OFFSET :param_1) AS anon_2
WHERE (anon_2.turn_at, anon_2.run_at, anon_2.id) < (:its_turn_at, :its_run_at, :its_id)
 LIMIT :most OFFSET :param_2) AS anon_1""",
        {'param_1': 0, 'param_2': 0},
        {'its_turn_at': 'instant', 'its_run_at': 'instant'},
        (('runs', None),),
    ),
    ('explain.last_event', ()): (
        """SELECT job_events.actor, job_events.action, job_events.detail
FROM job_events
WHERE job_events.run_id = :run ORDER BY job_events.id DESC
 LIMIT :param_1 OFFSET :param_2""",
        {'param_1': 1, 'param_2': 0},
        {},
        (('actor', None), ('action', None), ('detail', 'json')),
    ),
    ('explain.last_ticks', ()): (
        """SELECT listed.host, listed.started_at, listed.is_of_host
FROM (SELECT of_all.id AS id, of_all.host AS host, of_all.started_at AS started_at, 0 AS is_of_host
FROM (SELECT job_ticks.id AS id, job_ticks.host AS host, job_ticks.started_at AS started_at
FROM job_ticks
WHERE job_ticks.id > 0 ORDER BY job_ticks.id DESC
 LIMIT :most OFFSET :param_1) AS of_all UNION ALL SELECT of_host.id AS id, of_host.host AS host, of_host.started_at AS started_at, 1 AS is_of_host
FROM (SELECT job_ticks.id AS id, job_ticks.host AS host, job_ticks.started_at AS started_at
FROM job_ticks
WHERE job_ticks.host >= (SELECT job_ticks.host
FROM job_ticks
WHERE job_ticks.id = (SELECT max(job_ticks.id) AS max_1
FROM job_ticks)) AND job_ticks.host <= (SELECT job_ticks.host
FROM job_ticks
WHERE job_ticks.id = (SELECT max(job_ticks.id) AS max_1
FROM job_ticks)) ORDER BY job_ticks.host DESC, job_ticks.id DESC
 LIMIT :most OFFSET :param_2) AS of_host) AS listed ORDER BY listed.is_of_host, listed.id DESC""",
        {'param_1': 0, 'param_2': 0},
        {},
        (('host', None), ('started_at', 'instant'), ('is_of_host', None)),
    ),
    ('explain.limits', ()): (
        """SELECT job_limits_in_force.job_type, job_limits_in_force.max_running, job_limits_in_force.rate, job_limits_in_force.burst, job_limits_in_force.concurrency_key, job_limits_in_force.max_running_per_key, job_limits_in_force.rate_per_key, job_limits_in_force.burst_per_key, job_limits_in_force.spent_until, job_limits_in_force.opens_at, job_limits_in_force.is_set, job_set_limits.reason, job_set_limits.actor, job_set_limits.set_at, job_set_limits.ends_at, job_set_limits.max_running AS set_max_running, job_set_limits.rate AS set_rate, (SELECT job_types.fair_by
FROM job_types
WHERE job_types.job_type = :of_type) AS fair_by, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS now
FROM job_limits_in_force LEFT OUTER JOIN job_set_limits ON job_limits_in_force.is_set = 1 AND job_set_limits.job_type = job_limits_in_force.job_type
WHERE job_limits_in_force.job_type = :of_type""",
        {},
        {},
        (('job_type', None), ('max_running', None), ('rate', None), ('burst', None), ('concurrency_key', None), ('max_running_per_key', None), ('rate_per_key', None), ('burst_per_key', None), ('spent_until', 'instant'), ('opens_at', 'instant'), ('is_set', 'boolean'), ('reason', None), ('actor', None), ('set_at', 'instant'), ('ends_at', 'instant'), ('set_max_running', None), ('set_rate', None), ('fair_by', None), ('now', 'instant')),
    ),
    ('explain.newest_tick', ()): (
        """SELECT job_ticks.started_at
FROM job_ticks
WHERE job_ticks.id = (SELECT job_ticks.id
FROM job_ticks
WHERE job_ticks.host >= :host AND job_ticks.host <= :host ORDER BY job_ticks.host DESC, job_ticks.id DESC
 LIMIT 1 OFFSET :param_1)""",
        {'param_1': 0},
        {},
        (('started_at', 'instant'),),
    ),
    ('explain.oldest_due', ()): (
        """SELECT first.id
FROM (SELECT all_kinds.id AS id, all_kinds.run_at AS run_at
FROM (SELECT free.id AS id, free.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.run_at AS run_at
FROM job_claimable
WHERE releases >= 0 ORDER BY job_claimable.run_at
 LIMIT 1 OFFSET :param_1) AS free UNION ALL SELECT behind.id AS id, behind.run_at AS run_at
FROM (SELECT job_gated.id AS id, job_gated.run_at AS run_at
FROM job_open_gates JOIN job_gated ON job_gated.job_type = job_open_gates.job_type AND job_gated.gate = job_open_gates.gate
 LIMIT 1 OFFSET :param_2) AS behind UNION ALL SELECT own.id AS id, own.run_at AS run_at
FROM (SELECT job_claimable_by_host.id AS id, job_claimable_by_host.run_at AS run_at
FROM job_claimable_by_host
 LIMIT 1 OFFSET :param_3) AS own) AS all_kinds) AS first ORDER BY first.run_at, first.id
 LIMIT :param_4 OFFSET :param_5""",
        {'param_1': 0, 'param_2': 0, 'param_3': 0, 'param_4': 1, 'param_5': 0},
        {},
        (('id', None),),
    ),
    ('explain.open_effect', ()): (
        """SELECT job_effects."key"
FROM job_effects
WHERE job_effects.state != 'applied' AND job_effects.run_id = :run ORDER BY job_effects.intended_at
 LIMIT :param_1 OFFSET :param_2""",
        {'param_1': 1, 'param_2': 0},
        {},
        (('key', None),),
    ),
    ('explain.other_of_key', ()): (
        """SELECT job_runs.id, job_runs.status
FROM job_runs
WHERE job_runs.concurrency_key = :key AND job_runs.status IN ('queued', 'failed', 'running') AND job_runs.id != :run ORDER BY job_runs.lease_token IS NULL, job_runs.id
 LIMIT :param_1 OFFSET :param_2""",
        {'param_1': 1, 'param_2': 0},
        {},
        (('id', None), ('status', None)),
    ),
    ('explain.parents', ()): (
        """SELECT job_parents.parent_id, job_runs.status
FROM job_parents LEFT OUTER JOIN job_runs ON job_runs.id = job_parents.parent_id
WHERE job_parents.run_id = :run AND job_parents.parent_status IS NULL ORDER BY job_parents.parent_id
 LIMIT :param_1 OFFSET :param_2""",
        {'param_1': 10, 'param_2': 0},
        {},
        (('parent_id', None), ('status', None)),
    ),
    ('explain.recent_ticks', ()): (
        """SELECT job_ticks.host, job_ticks.application, job_ticks.types, job_ticks.started_at, job_ticks.ended_by, job_ticks.error
FROM job_ticks
WHERE job_ticks.started_at > ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:since * 1000000 AS INTEGER)) ORDER BY job_ticks.started_at""",
        {},
        {},
        (('host', None), ('application', None), ('types', None), ('started_at', 'instant'), ('ended_by', None), ('error', None)),
    ),
    ('explain.reports', ()): (
        """SELECT job_hosts.id, job_hosts.host, job_hosts.application, job_hosts.types, job_hosts.digest, job_hosts.can_run, job_hosts.settings, job_hosts."database", job_hosts.boot, job_hosts.last_boot, job_hosts.is_twin_at, job_hosts.reported_at
FROM job_hosts""",
        {},
        {},
        (('id', None), ('host', None), ('application', None), ('types', None), ('digest', None), ('can_run', 'json'), ('settings', 'json'), ('database', None), ('boot', None), ('last_boot', None), ('is_twin_at', 'instant'), ('reported_at', 'instant')),
    ),
    ('explain.run', ()): (
        """SELECT job_runs.id, job_runs.definition_id, job_runs.job_type, job_runs.status, job_runs.priority, job_runs.run_at, job_runs.turn_at, job_runs.scheduled_for, job_runs.origin, job_runs.start_deadline_at, job_runs.concurrency_key, job_runs.gate, job_runs.has_dependants, job_runs.idempotency_key, job_runs.attempts, job_runs.max_attempts, job_runs.timeout, job_runs.traceparent, job_runs.locked_by, job_runs.host, job_runs.locked_until, job_runs.lease_token, job_runs.claimed_at, job_runs.started_at, job_runs.heartbeat_at, job_runs.cancel_requested_at, job_runs.failed_at, job_runs.finished_at, job_runs.told_at, job_runs.releases, job_runs.lease_expiries, job_runs.incompatible_at, job_runs.error_type, job_runs.last_error, job_runs.only_host, job_runs.created_at, job_runs.updated_at, (status IN ('queued', 'failed')) AS is_waiting, (run_at <= (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state))) AS is_due, ((start_deadline_at IS NULL OR start_deadline_at > (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)))) AS is_start_deadline, ((concurrency_key IS NULL
      OR (NOT EXISTS (SELECT 1 FROM job_runs other
          WHERE other.concurrency_key = job_runs.concurrency_key AND other.id <> job_runs.id
            AND other.lease_token IS NOT NULL)
        AND NOT EXISTS (SELECT 1 FROM job_runs other
          WHERE other.concurrency_key = job_runs.concurrency_key AND other.id < job_runs.id
            AND other.status IN ('queued', 'failed', 'running') AND other.lease_token IS NULL
            AND other.run_at <= (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AND (other.start_deadline_at IS NULL OR other.start_deadline_at > (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state))))))) AS is_key, (job_type NOT IN (SELECT name FROM job_pauses WHERE kind = 'type')) AS is_type_unpaused, (NOT EXISTS (SELECT kind FROM job_pauses WHERE kind = 'all')) AS is_all_unpaused, (CASE WHEN only_host IS NULL THEN 1 = 1 ELSE 1 = 0 END) AS is_any_host, (CASE gate WHEN '' THEN 1 = 1 WHEN 'after' THEN EXISTS (SELECT 1 FROM job_parents WHERE run_id = job_runs.id)
      ELSE EXISTS (SELECT 1 FROM job_limits
        JOIN job_gates ON job_gates.job_type = job_limits.job_type
        WHERE job_limits.job_type = job_runs.job_type AND job_gates.gate = job_runs.gate
          AND job_gates.turn_at IS NOT NULL AND CASE WHEN job_limits.concurrency_key IS NULL THEN job_gates.gate = 'all'
      ELSE substr(job_gates.gate, 1, length(job_limits.concurrency_key) + 1) = job_limits.concurrency_key || ' ' END) OR EXISTS (SELECT 1 FROM job_types WHERE job_types.job_type = job_runs.job_type
        AND substr(job_runs.gate, 1, length(fair_by) + 1) = fair_by || ' ') END) AS is_seen, EXISTS (SELECT job_recoverable.id
FROM job_recoverable
WHERE job_recoverable.id = :run) AS is_expired, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS now
FROM job_runs
WHERE job_runs.id = :run""",
        {},
        {},
        (('id', None), ('definition_id', None), ('job_type', None), ('status', None), ('priority', None), ('run_at', 'instant'), ('turn_at', 'instant'), ('scheduled_for', 'instant'), ('origin', None), ('start_deadline_at', 'instant'), ('concurrency_key', None), ('gate', None), ('has_dependants', None), ('idempotency_key', None), ('attempts', None), ('max_attempts', None), ('timeout', None), ('traceparent', None), ('locked_by', None), ('host', None), ('locked_until', 'instant'), ('lease_token', None), ('claimed_at', 'instant'), ('started_at', 'instant'), ('heartbeat_at', 'instant'), ('cancel_requested_at', 'instant'), ('failed_at', 'instant'), ('finished_at', 'instant'), ('told_at', 'instant'), ('releases', None), ('lease_expiries', None), ('incompatible_at', 'instant'), ('error_type', None), ('last_error', None), ('only_host', None), ('created_at', 'instant'), ('updated_at', 'instant'), ('is_waiting', 'boolean'), ('is_due', 'boolean'), ('is_start_deadline', 'boolean'), ('is_key', 'boolean'), ('is_type_unpaused', 'boolean'), ('is_all_unpaused', 'boolean'), ('is_any_host', 'boolean'), ('is_seen', 'boolean'), ('is_expired', 'boolean'), ('now', 'instant')),
    ),
    ('explain.running', ()): (
        """SELECT job_runs.job_type, job_runs.host, job_runs.id
FROM job_runs
WHERE job_runs.status = 'running'""",
        {},
        {},
        (('job_type', None), ('host', None), ('id', None)),
    ),
    ('explain.same_key_in_front', (1,)): (
        """SELECT count(*) AS runs
FROM (SELECT job_runs.id AS id
FROM job_runs JOIN (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = :of_type AND (job_claimable.turn_at, job_claimable.run_at, job_claimable.id) < (:its_turn_at, :its_run_at, :its_id)
 LIMIT :most OFFSET :param_1) AS anon_2 ON anon_2.id = job_runs.id
WHERE (:key || ' ' || (SELECT substr(CASE WHEN written GLOB '*[{\\.eE]*' THEN (SELECT '[' || group_concat(listed, ',') || ']' FROM (
      SELECT CASE path WHEN '$' THEN '' ELSE substr(fullkey, 2) || ':' END
        || CASE WHEN type IN ('true', 'false') THEN type WHEN type IN ('object', 'array') THEN value
          ELSE json_quote(atom) END AS listed
      FROM json_tree(written) WHERE type NOT IN ('object', 'array') OR value IN ('{}', '[]') ORDER BY fullkey)) ELSE written END, 1, 200) FROM (SELECT substr(found, 1, length(found) - 6) || ']' AS written FROM (SELECT json_extract(job_runs.payload, '$."' || :name_0 || '"', '$[0]') AS found)))) = :gate
 LIMIT :most OFFSET :param_2) AS anon_1""",
        {'param_1': 0, 'param_2': 0},
        {'its_turn_at': 'instant', 'its_run_at': 'instant'},
        (('runs', None),),
    ),
    ('explain.same_key_in_front', (2,)): (
        """SELECT count(*) AS runs
FROM (SELECT job_runs.id AS id
FROM job_runs JOIN (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = :of_type AND (job_claimable.turn_at, job_claimable.run_at, job_claimable.id) < (:its_turn_at, :its_run_at, :its_id)
 LIMIT :most OFFSET :param_1) AS anon_2 ON anon_2.id = job_runs.id
WHERE (:key || ' ' || (SELECT substr(CASE WHEN written GLOB '*[{\\.eE]*' THEN (SELECT '[' || group_concat(listed, ',') || ']' FROM (
      SELECT CASE path WHEN '$' THEN '' ELSE substr(fullkey, 2) || ':' END
        || CASE WHEN type IN ('true', 'false') THEN type WHEN type IN ('object', 'array') THEN value
          ELSE json_quote(atom) END AS listed
      FROM json_tree(written) WHERE type NOT IN ('object', 'array') OR value IN ('{}', '[]') ORDER BY fullkey)) ELSE written END, 1, 200) FROM (SELECT substr(found, 1, length(found) - 6) || ']' AS written FROM (SELECT json_extract(job_runs.payload, '$."' || :name_0 || '"', '$."' || :name_1 || '"', '$[0]') AS found)))) = :gate
 LIMIT :most OFFSET :param_2) AS anon_1""",
        {'param_1': 0, 'param_2': 0},
        {'its_turn_at': 'instant', 'its_run_at': 'instant'},
        (('runs', None),),
    ),
    ('explain.same_key_in_front', (3,)): (
        """SELECT count(*) AS runs
FROM (SELECT job_runs.id AS id
FROM job_runs JOIN (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = :of_type AND (job_claimable.turn_at, job_claimable.run_at, job_claimable.id) < (:its_turn_at, :its_run_at, :its_id)
 LIMIT :most OFFSET :param_1) AS anon_2 ON anon_2.id = job_runs.id
WHERE (:key || ' ' || (SELECT substr(CASE WHEN written GLOB '*[{\\.eE]*' THEN (SELECT '[' || group_concat(listed, ',') || ']' FROM (
      SELECT CASE path WHEN '$' THEN '' ELSE substr(fullkey, 2) || ':' END
        || CASE WHEN type IN ('true', 'false') THEN type WHEN type IN ('object', 'array') THEN value
          ELSE json_quote(atom) END AS listed
      FROM json_tree(written) WHERE type NOT IN ('object', 'array') OR value IN ('{}', '[]') ORDER BY fullkey)) ELSE written END, 1, 200) FROM (SELECT substr(found, 1, length(found) - 6) || ']' AS written FROM (SELECT json_extract(job_runs.payload, '$."' || :name_0 || '"', '$."' || :name_1 || '"', '$."' || :name_2 || '"', '$[0]') AS found)))) = :gate
 LIMIT :most OFFSET :param_2) AS anon_1""",
        {'param_1': 0, 'param_2': 0},
        {'its_turn_at': 'instant', 'its_run_at': 'instant'},
        (('runs', None),),
    ),
    ('explain.speed', ()): (
        """SELECT sum(job_tallies.ends) AS ends, min(job_tallies.at) AS first, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS now
FROM job_tallies
WHERE job_tallies.span = 'hour' AND job_tallies.at > ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:since * 1000000 AS INTEGER)) AND job_tallies.job_type = :of_type AND job_tallies.outcome != ''""",
        {},
        {},
        (('ends', None), ('first', 'instant'), ('now', 'instant')),
    ),
    ('explain.taken_first', (1,)): (
        """WITH ranked AS
(SELECT found.id AS id, found.gate AS gate, found.turn_at AS turn_at, found.run_at AS run_at, row_number() OVER (PARTITION BY found.gate ORDER BY found.turn_at, found.run_at, found.id) AS nth
FROM (SELECT job_runs.id AS id, :key || ' ' || (SELECT substr(CASE WHEN written GLOB '*[{\\.eE]*' THEN (SELECT '[' || group_concat(listed, ',') || ']' FROM (
      SELECT CASE path WHEN '$' THEN '' ELSE substr(fullkey, 2) || ':' END
        || CASE WHEN type IN ('true', 'false') THEN type WHEN type IN ('object', 'array') THEN value
          ELSE json_quote(atom) END AS listed
      FROM json_tree(written) WHERE type NOT IN ('object', 'array') OR value IN ('{}', '[]') ORDER BY fullkey)) ELSE written END, 1, 200) FROM (SELECT substr(found, 1, length(found) - 6) || ']' AS written FROM (SELECT json_extract(job_runs.payload, '$."' || :name_0 || '"', '$[0]') AS found))) AS gate, anon_1.turn_at AS turn_at, anon_1.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.turn_at AS turn_at, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = :of_type ORDER BY job_claimable.turn_at, job_claimable.run_at, job_claimable.id
 LIMIT :most OFFSET :param_1) AS anon_1 JOIN job_runs ON anon_1.id = job_runs.id UNION ALL SELECT anon_2.id AS id, anon_2.gate AS gate, anon_2.turn_at AS turn_at, anon_2.run_at AS run_at
FROM (SELECT job_gated.id AS id, job_gated.gate AS gate, job_gated.turn_at AS turn_at, job_gated.run_at AS run_at
FROM job_gated
WHERE job_gated.job_type = :of_type AND job_gated.gate > '' AND job_gated.gate != 'after'
 LIMIT :most OFFSET :param_2) AS anon_2) AS found)
 SELECT ranked.nth, (SELECT count(*) AS count_1
FROM job_runs
WHERE job_runs.job_type = :of_type AND job_runs.gate = ranked.gate AND job_runs.lease_token IS NOT NULL AND job_runs.gate != '') AS at_work, (SELECT job_gates.spent_until
FROM job_gates
WHERE job_gates.job_type = :of_type AND job_gates.gate = ranked.gate) AS spent_until
FROM ranked, ranked AS its
WHERE its.id = :run AND (ranked.nth, ranked.turn_at, ranked.run_at, ranked.id) < (its.nth, its.turn_at, its.run_at, its.id)
 LIMIT :most OFFSET :param_3""",
        {'param_1': 0, 'param_2': 0, 'param_3': 0},
        {},
        (('nth', None), ('at_work', None), ('spent_until', 'instant')),
    ),
    ('explain.taken_first', (2,)): (
        """WITH ranked AS
(SELECT found.id AS id, found.gate AS gate, found.turn_at AS turn_at, found.run_at AS run_at, row_number() OVER (PARTITION BY found.gate ORDER BY found.turn_at, found.run_at, found.id) AS nth
FROM (SELECT job_runs.id AS id, :key || ' ' || (SELECT substr(CASE WHEN written GLOB '*[{\\.eE]*' THEN (SELECT '[' || group_concat(listed, ',') || ']' FROM (
      SELECT CASE path WHEN '$' THEN '' ELSE substr(fullkey, 2) || ':' END
        || CASE WHEN type IN ('true', 'false') THEN type WHEN type IN ('object', 'array') THEN value
          ELSE json_quote(atom) END AS listed
      FROM json_tree(written) WHERE type NOT IN ('object', 'array') OR value IN ('{}', '[]') ORDER BY fullkey)) ELSE written END, 1, 200) FROM (SELECT substr(found, 1, length(found) - 6) || ']' AS written FROM (SELECT json_extract(job_runs.payload, '$."' || :name_0 || '"', '$."' || :name_1 || '"', '$[0]') AS found))) AS gate, anon_1.turn_at AS turn_at, anon_1.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.turn_at AS turn_at, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = :of_type ORDER BY job_claimable.turn_at, job_claimable.run_at, job_claimable.id
 LIMIT :most OFFSET :param_1) AS anon_1 JOIN job_runs ON anon_1.id = job_runs.id UNION ALL SELECT anon_2.id AS id, anon_2.gate AS gate, anon_2.turn_at AS turn_at, anon_2.run_at AS run_at
FROM (SELECT job_gated.id AS id, job_gated.gate AS gate, job_gated.turn_at AS turn_at, job_gated.run_at AS run_at
FROM job_gated
WHERE job_gated.job_type = :of_type AND job_gated.gate > '' AND job_gated.gate != 'after'
 LIMIT :most OFFSET :param_2) AS anon_2) AS found)
 SELECT ranked.nth, (SELECT count(*) AS count_1
FROM job_runs
WHERE job_runs.job_type = :of_type AND job_runs.gate = ranked.gate AND job_runs.lease_token IS NOT NULL AND job_runs.gate != '') AS at_work, (SELECT job_gates.spent_until
FROM job_gates
WHERE job_gates.job_type = :of_type AND job_gates.gate = ranked.gate) AS spent_until
FROM ranked, ranked AS its
WHERE its.id = :run AND (ranked.nth, ranked.turn_at, ranked.run_at, ranked.id) < (its.nth, its.turn_at, its.run_at, its.id)
 LIMIT :most OFFSET :param_3""",
        {'param_1': 0, 'param_2': 0, 'param_3': 0},
        {},
        (('nth', None), ('at_work', None), ('spent_until', 'instant')),
    ),
    ('explain.taken_first', (3,)): (
        """WITH ranked AS
(SELECT found.id AS id, found.gate AS gate, found.turn_at AS turn_at, found.run_at AS run_at, row_number() OVER (PARTITION BY found.gate ORDER BY found.turn_at, found.run_at, found.id) AS nth
FROM (SELECT job_runs.id AS id, :key || ' ' || (SELECT substr(CASE WHEN written GLOB '*[{\\.eE]*' THEN (SELECT '[' || group_concat(listed, ',') || ']' FROM (
      SELECT CASE path WHEN '$' THEN '' ELSE substr(fullkey, 2) || ':' END
        || CASE WHEN type IN ('true', 'false') THEN type WHEN type IN ('object', 'array') THEN value
          ELSE json_quote(atom) END AS listed
      FROM json_tree(written) WHERE type NOT IN ('object', 'array') OR value IN ('{}', '[]') ORDER BY fullkey)) ELSE written END, 1, 200) FROM (SELECT substr(found, 1, length(found) - 6) || ']' AS written FROM (SELECT json_extract(job_runs.payload, '$."' || :name_0 || '"', '$."' || :name_1 || '"', '$."' || :name_2 || '"', '$[0]') AS found))) AS gate, anon_1.turn_at AS turn_at, anon_1.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.turn_at AS turn_at, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = :of_type ORDER BY job_claimable.turn_at, job_claimable.run_at, job_claimable.id
 LIMIT :most OFFSET :param_1) AS anon_1 JOIN job_runs ON anon_1.id = job_runs.id UNION ALL SELECT anon_2.id AS id, anon_2.gate AS gate, anon_2.turn_at AS turn_at, anon_2.run_at AS run_at
FROM (SELECT job_gated.id AS id, job_gated.gate AS gate, job_gated.turn_at AS turn_at, job_gated.run_at AS run_at
FROM job_gated
WHERE job_gated.job_type = :of_type AND job_gated.gate > '' AND job_gated.gate != 'after'
 LIMIT :most OFFSET :param_2) AS anon_2) AS found)
 SELECT ranked.nth, (SELECT count(*) AS count_1
FROM job_runs
WHERE job_runs.job_type = :of_type AND job_runs.gate = ranked.gate AND job_runs.lease_token IS NOT NULL AND job_runs.gate != '') AS at_work, (SELECT job_gates.spent_until
FROM job_gates
WHERE job_gates.job_type = :of_type AND job_gates.gate = ranked.gate) AS spent_until
FROM ranked, ranked AS its
WHERE its.id = :run AND (ranked.nth, ranked.turn_at, ranked.run_at, ranked.id) < (its.nth, its.turn_at, its.run_at, its.id)
 LIMIT :most OFFSET :param_3""",
        {'param_1': 0, 'param_2': 0, 'param_3': 0},
        {},
        (('nth', None), ('at_work', None), ('spent_until', 'instant')),
    ),
    ('fair.behind_gates', ()): (
        """SELECT job_gated.id
FROM job_gated
WHERE job_gated.job_type = :of_type AND job_gated.gate > '' AND job_gated.gate != 'after' AND (:of_type NOT IN (SELECT job_pauses.name
FROM job_pauses
WHERE job_pauses.kind = 'type')) ORDER BY job_gated.gate, job_gated.turn_at, job_gated.run_at, job_gated.id
 LIMIT :limit OFFSET :param_1""",
        {'param_1': 0},
        {},
        (('id', None),),
    ),
    ('fair.enter', ()): (
        """INSERT INTO job_gates (job_type, gate, turn_at, place) SELECT given.job_type, given.gate, given.turn_at, (SELECT ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) - job_runs.priority * 60000000) AS anon_2
FROM job_runs
WHERE job_runs.job_type = given.job_type AND job_runs.gate = given.gate AND job_runs.status IN ('queued', 'failed') ORDER BY job_runs.turn_at, job_runs.run_at, job_runs.id
 LIMIT 1 OFFSET :param_1) AS anon_1
FROM (SELECT json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.gate') AS gate, json_extract(value, '$.turn_at') AS turn_at FROM json_each(:given)) AS given
WHERE 1 = 1 ORDER BY given.gate ON CONFLICT (job_type, gate) DO UPDATE SET turn_at = CASE WHEN (job_gates.turn_at IS NULL OR excluded.turn_at < job_gates.turn_at) THEN excluded.turn_at ELSE job_gates.turn_at END, place = CASE WHEN (job_gates.turn_at IS NULL OR excluded.place < job_gates.place) THEN excluded.place ELSE job_gates.place END""",
        {'param_1': 0},
        {'given': (('job_type', None), ('gate', None), ('turn_at', 'instant'))},
        (),
    ),
    ('fair.first_runs', ('sqlite',)): (
        """SELECT job_gated.id, job_gated.turn_at, job_gated.run_at, job_gated.gate
FROM job_gated
WHERE job_gated.lease_expiries < 2 AND job_gated.job_type = :of_type AND job_gated.gate = :gate ORDER BY job_gated.turn_at, job_gated.run_at, job_gated.id
 LIMIT :limit OFFSET :param_1""",
        {'param_1': 0},
        {},
        (('id', None), ('turn_at', 'instant'), ('run_at', 'instant'), ('gate', None)),
    ),
    ('fair.line', (False,)): (
        """SELECT job_gates.gate, job_gates.spent_until, (SELECT count(*) AS count_1
FROM job_runs
WHERE job_runs.gate = job_gates.gate AND job_runs.lease_token IS NOT NULL AND job_runs.gate != '' AND job_runs.job_type = job_gates.job_type) AS at_work
FROM job_gates
WHERE job_gates.job_type = :of_type AND job_gates.turn_at IS NOT NULL AND substr(job_gates.gate, :substr_1, length(:prefix)) = :prefix AND (job_gates.opens_at IS NULL OR job_gates.opens_at <= (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) OR job_gates.opens_at > ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:longest * 1000000 AS INTEGER))) AND (SELECT count(*) AS count_1
FROM job_runs
WHERE job_runs.gate = job_gates.gate AND job_runs.lease_token IS NOT NULL AND job_runs.gate != '' AND job_runs.job_type = job_gates.job_type) < :most_at_work ORDER BY job_gates.place
 LIMIT :limit OFFSET :param_1""",
        {'substr_1': 1, 'param_1': 0},
        {},
        (('gate', None), ('spent_until', 'instant'), ('at_work', None)),
    ),
    ('fair.line', (True,)): (
        """SELECT job_gates.gate, (SELECT max(same.spent_until) AS max_1
FROM job_gates AS same
WHERE same.job_type IN (SELECT given.job_type
FROM (SELECT json_extract(value, '$.job_type') AS job_type FROM json_each(:given)) AS given) AND same.gate = job_gates.gate) AS spent_until, (SELECT count(*) AS count_1
FROM job_runs
WHERE job_runs.gate = job_gates.gate AND job_runs.lease_token IS NOT NULL AND job_runs.gate != '' AND job_runs.job_type IN (SELECT given.job_type
FROM (SELECT json_extract(value, '$.job_type') AS job_type FROM json_each(:given)) AS given)) AS at_work
FROM job_gates
WHERE job_gates.job_type = :of_type AND job_gates.turn_at IS NOT NULL AND substr(job_gates.gate, :substr_1, length(:prefix)) = :prefix AND (job_gates.opens_at IS NULL OR job_gates.opens_at <= (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) OR job_gates.opens_at > ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:longest * 1000000 AS INTEGER))) AND (SELECT count(*) AS count_1
FROM job_runs
WHERE job_runs.gate = job_gates.gate AND job_runs.lease_token IS NOT NULL AND job_runs.gate != '' AND job_runs.job_type IN (SELECT given.job_type
FROM (SELECT json_extract(value, '$.job_type') AS job_type FROM json_each(:given)) AS given)) < :most_at_work ORDER BY job_gates.place
 LIMIT :limit OFFSET :param_1""",
        {'substr_1': 1, 'param_1': 0},
        {'given': (('job_type', None),)},
        (('gate', None), ('spent_until', 'instant'), ('at_work', None)),
    ),
    ('fair.look_from', ()): (
        """UPDATE job_limits SET looked_to=:looked_to WHERE job_limits.job_type = :of_type""",
        {},
        {},
        (),
    ),
    ('fair.of_fair_types', ()): (
        """SELECT given.job_type, given.gate, (SELECT job_runs.turn_at
FROM job_runs
WHERE job_runs.status IN ('queued', 'failed') AND job_runs.job_type = given.job_type AND job_runs.gate >= given.gate ORDER BY job_runs.gate, job_runs.turn_at, job_runs.run_at, job_runs.id
 LIMIT 1 OFFSET :param_1) AS turn_at
FROM (SELECT json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.gate') AS gate FROM json_each(:given)) AS given JOIN job_types ON job_types.job_type = given.job_type AND substr(given.gate, :substr_1, length(job_types.fair_by || ' ')) = (job_types.fair_by || ' ')""",
        {'param_1': 0, 'substr_1': 1},
        {'given': (('job_type', None), ('gate', None))},
        (('job_type', None), ('gate', None), ('turn_at', 'instant')),
    ),
    ('fair.others_in_line', ()): (
        """WITH RECURSIVE walk(gate, steps) AS
(SELECT CAST('' AS TEXT) AS gate, 0 AS steps UNION ALL SELECT (SELECT job_runs.gate
FROM job_runs
WHERE job_runs.status IN ('queued', 'failed') AND job_runs.job_type = :of_type AND job_runs.gate > walk.gate ORDER BY job_runs.gate
 LIMIT 1 OFFSET :param_4) AS anon_1, walk.steps + 1 AS anon_2
FROM walk
WHERE walk.gate IS NOT NULL AND walk.steps < :limit)
 SELECT CASE WHEN ((SELECT job_gates.place
FROM job_gates
WHERE job_gates.job_type = :of_type AND job_gates.turn_at IS NOT NULL AND job_gates.gate = :gate) IS NULL OR (SELECT job_gates.place
FROM job_gates
WHERE job_gates.job_type = :of_type AND job_gates.turn_at IS NOT NULL AND job_gates.gate = walk.gate) < (SELECT job_gates.place
FROM job_gates
WHERE job_gates.job_type = :of_type AND job_gates.turn_at IS NOT NULL AND job_gates.gate = :gate)) THEN :param_1 ELSE :param_2 END AS is_before, (SELECT count(*) AS count_1
FROM (SELECT job_gated.id AS id
FROM job_gated
WHERE job_gated.job_type = :of_type AND job_gated.gate >= walk.gate AND job_gated.gate <= walk.gate
 LIMIT :share OFFSET :param_3) AS some) AS waiting
FROM walk
WHERE walk.steps > 0 AND (walk.gate NOT IN ('', 'after', :gate))""",
        {'param_1': 1, 'param_2': 0, 'param_3': 0, 'param_4': 0},
        {},
        (('is_before', None), ('waiting', None)),
    ),
    ('fair.quarantined', (False,)): (
        """SELECT first.id, first.gate, first.turn_at, first.run_at, job_gates.spent_until, (SELECT count(*) AS count_1
FROM job_runs
WHERE job_runs.gate = job_gates.gate AND job_runs.lease_token IS NOT NULL AND job_runs.gate != '' AND job_runs.job_type = job_gates.job_type) AS at_work
FROM (SELECT job_gated.id AS id, job_gated.gate AS gate, job_gated.turn_at AS turn_at, job_gated.run_at AS run_at
FROM job_gated
WHERE job_gated.job_type = :of_type AND job_gated.gate > '' AND job_gated.lease_expiries >= 2 ORDER BY job_gated.gate, job_gated.turn_at, job_gated.run_at, job_gated.id
 LIMIT 100 OFFSET :param_1) AS first JOIN job_gates ON job_gates.job_type = :of_type AND job_gates.gate = first.gate
WHERE job_gates.job_type = :of_type AND job_gates.turn_at IS NOT NULL AND substr(job_gates.gate, :substr_1, length(:prefix)) = :prefix AND (job_gates.opens_at IS NULL OR job_gates.opens_at <= (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) OR job_gates.opens_at > ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:longest * 1000000 AS INTEGER))) AND (SELECT count(*) AS count_1
FROM job_runs
WHERE job_runs.gate = job_gates.gate AND job_runs.lease_token IS NOT NULL AND job_runs.gate != '' AND job_runs.job_type = job_gates.job_type) < :most_at_work
 LIMIT :limit OFFSET :param_2""",
        {'param_1': 0, 'substr_1': 1, 'param_2': 0},
        {},
        (('id', None), ('gate', None), ('turn_at', 'instant'), ('run_at', 'instant'), ('spent_until', 'instant'), ('at_work', None)),
    ),
    ('fair.quarantined', (True,)): (
        """SELECT first.id, first.gate, first.turn_at, first.run_at, (SELECT max(same.spent_until) AS max_1
FROM job_gates AS same
WHERE same.job_type IN (SELECT given.job_type
FROM (SELECT json_extract(value, '$.job_type') AS job_type FROM json_each(:given)) AS given) AND same.gate = job_gates.gate) AS spent_until, (SELECT count(*) AS count_1
FROM job_runs
WHERE job_runs.gate = job_gates.gate AND job_runs.lease_token IS NOT NULL AND job_runs.gate != '' AND job_runs.job_type IN (SELECT given.job_type
FROM (SELECT json_extract(value, '$.job_type') AS job_type FROM json_each(:given)) AS given)) AS at_work
FROM (SELECT job_gated.id AS id, job_gated.gate AS gate, job_gated.turn_at AS turn_at, job_gated.run_at AS run_at
FROM job_gated
WHERE job_gated.job_type = :of_type AND job_gated.gate > '' AND job_gated.lease_expiries >= 2 ORDER BY job_gated.gate, job_gated.turn_at, job_gated.run_at, job_gated.id
 LIMIT 100 OFFSET :param_1) AS first JOIN job_gates ON job_gates.job_type = :of_type AND job_gates.gate = first.gate
WHERE job_gates.job_type = :of_type AND job_gates.turn_at IS NOT NULL AND substr(job_gates.gate, :substr_1, length(:prefix)) = :prefix AND (job_gates.opens_at IS NULL OR job_gates.opens_at <= (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) OR job_gates.opens_at > ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:longest * 1000000 AS INTEGER))) AND (SELECT count(*) AS count_1
FROM job_runs
WHERE job_runs.gate = job_gates.gate AND job_runs.lease_token IS NOT NULL AND job_runs.gate != '' AND job_runs.job_type IN (SELECT given.job_type
FROM (SELECT json_extract(value, '$.job_type') AS job_type FROM json_each(:given)) AS given)) < :most_at_work
 LIMIT :limit OFFSET :param_2""",
        {'param_1': 0, 'substr_1': 1, 'param_2': 0},
        {'given': (('job_type', None),)},
        (('id', None), ('gate', None), ('turn_at', 'instant'), ('run_at', 'instant'), ('spent_until', 'instant'), ('at_work', None)),
    ),
    ('fair.settle', ()): (
        """UPDATE job_gates SET turn_at=(SELECT job_runs.turn_at
FROM job_runs
WHERE job_runs.job_type = job_gates.job_type AND job_runs.gate = job_gates.gate AND job_runs.status IN ('queued', 'failed') ORDER BY job_runs.turn_at, job_runs.run_at, job_runs.id
 LIMIT :param_1 OFFSET :param_2), spent_until=coalesce(given.spent_until, job_gates.spent_until), opens_at=coalesce(given.opens_at, job_gates.opens_at), place=CASE WHEN (given.moves = 1) THEN coalesce((SELECT (:at - job_runs.priority * 60000000) AS anon_1
FROM job_runs
WHERE job_runs.job_type = job_gates.job_type AND job_runs.gate = job_gates.gate AND job_runs.status IN ('queued', 'failed') ORDER BY job_runs.turn_at, job_runs.run_at, job_runs.id
 LIMIT 1 OFFSET :param_3) + CASE WHEN ((SELECT max(job_gates.place) AS max_1
FROM job_gates
WHERE job_gates.job_type = :of_type AND job_gates.turn_at IS NOT NULL AND job_gates.place <= (:at - 0 * 60000000) + 1000000) > (:at - 0 * 60000000)) THEN (SELECT max(job_gates.place) AS max_1
FROM job_gates
WHERE job_gates.job_type = :of_type AND job_gates.turn_at IS NOT NULL AND job_gates.place <= (:at - 0 * 60000000) + 1000000) - (:at - 0 * 60000000) ELSE 0 END + 1, job_gates.place) ELSE job_gates.place END FROM (SELECT json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.gate') AS gate, json_extract(value, '$.spent_until') AS spent_until, json_extract(value, '$.opens_at') AS opens_at, json_extract(value, '$.moves') AS moves FROM json_each(:given)) AS given WHERE job_gates.job_type = given.job_type AND job_gates.gate = given.gate""",
        {'param_1': 1, 'param_2': 0, 'param_3': 0},
        {'at': 'instant', 'given': (('job_type', None), ('gate', None), ('spent_until', 'instant'), ('opens_at', 'instant'), ('moves', None))},
        (),
    ),
    ('fair.waited', ()): (
        """WITH RECURSIVE walk(gate, steps) AS
(SELECT CAST(:looked_to AS TEXT) AS gate, 0 AS steps UNION ALL SELECT (SELECT job_runs.gate
FROM job_runs
WHERE job_runs.status IN ('queued', 'failed') AND job_runs.job_type = :of_type AND job_runs.gate > walk.gate ORDER BY job_runs.gate
 LIMIT 1 OFFSET :param_2) AS anon_1, walk.steps + 1 AS anon_2
FROM walk
WHERE walk.gate IS NOT NULL AND walk.steps < :limit)
 SELECT :of_type AS job_type, walk.gate, (SELECT job_runs.turn_at
FROM job_runs
WHERE job_runs.status IN ('queued', 'failed') AND job_runs.job_type = :of_type AND job_runs.gate >= walk.gate ORDER BY job_runs.gate, job_runs.turn_at, job_runs.run_at, job_runs.id
 LIMIT 1 OFFSET :param_1) AS turn_at, (SELECT job_gates.turn_at
FROM job_gates
WHERE job_gates.job_type = :of_type AND job_gates.gate = walk.gate) AS known_at
FROM walk
WHERE walk.steps > 0 AND walk.gate IS NOT NULL ORDER BY walk.steps""",
        {'param_1': 0, 'param_2': 0},
        {},
        (('job_type', None), ('gate', None), ('turn_at', 'instant'), ('known_at', 'instant')),
    ),
    ('finalize.complete', ()): (
        """UPDATE job_attempts SET output=given.output, peak_memory_bytes=given.peak_memory_bytes, processor_seconds=given.processor_seconds FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.lease_token') AS lease_token, json_extract(value, '$.output') AS output, json_extract(value, '$.peak_memory_bytes') AS peak_memory_bytes, json_extract(value, '$.processor_seconds') AS processor_seconds FROM json_each(:given)) AS given WHERE job_attempts.run_id = given.id AND job_attempts.lease_token = given.lease_token""",
        {},
        {'given': (('id', None), ('lease_token', None), ('output', None), ('peak_memory_bytes', None), ('processor_seconds', None))},
        (),
    ),
    ('finalize.ended', ()): (
        """SELECT job_attempts.run_id, job_attempts.lease_token, job_attempts.worker, job_attempts.outcome, job_attempts.error_type, job_attempts.output
FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.lease_token') AS lease_token FROM json_each(:given)) AS given JOIN job_attempts ON job_attempts.run_id = given.id AND job_attempts.lease_token = given.lease_token""",
        {},
        {'given': (('id', None), ('lease_token', None))},
        (('run_id', None), ('lease_token', None), ('worker', None), ('outcome', None), ('error_type', None), ('output', None)),
    ),
    ('finalize.leave', ()): (
        """UPDATE job_runs SET status=given.status, run_at=coalesce(given.run_at, job_runs.run_at), gate='', attempts=given.attempts, locked_by=NULL, host=NULL, locked_until=NULL, lease_token=NULL, heartbeat_at=NULL, failed_at=CASE WHEN (given.event IN ('fail', 'postpone', 'give up')) THEN :at ELSE job_runs.failed_at END, finished_at=CASE WHEN (given.status IN ('succeeded', 'dead', 'cancelled')) THEN :at ELSE job_runs.finished_at END, releases=given.releases, lease_expiries=given.lease_expiries, incompatible_at=CASE WHEN (given.event IN ('postpone') AND job_runs.incompatible_at > :at) THEN :at WHEN (given.event IN ('postpone')) THEN coalesce(job_runs.incompatible_at, :at) ELSE NULL END, error_type=CASE WHEN (given.event IN ('succeed')) THEN NULL WHEN (given.event IN ('fail', 'postpone', 'give up', 'drop')) THEN given.error_type ELSE job_runs.error_type END, last_error=CASE WHEN (given.event IN ('succeed')) THEN NULL WHEN (given.event IN ('fail', 'postpone', 'give up', 'drop')) THEN given.error ELSE job_runs.last_error END, result=CASE WHEN (given.event IN ('succeed')) THEN given.result ELSE job_runs.result END, output=NULL, updated_at=:at FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.lease_token') AS lease_token, json_extract(value, '$.event') AS event, json_extract(value, '$.status') AS status, json_extract(value, '$.attempts') AS attempts, json_extract(value, '$.releases') AS releases, json_extract(value, '$.lease_expiries') AS lease_expiries, json_extract(value, '$.run_at') AS run_at, json_extract(value, '$.result') AS result, json_extract(value, '$.error_type') AS error_type, json_extract(value, '$.error') AS error FROM json_each(:given)) AS given WHERE job_runs.id = given.id AND job_runs.lease_token = given.lease_token""",
        {},
        {'at': 'instant', 'given': (('id', None), ('lease_token', None), ('event', None), ('status', None), ('attempts', None), ('releases', None), ('lease_expiries', None), ('run_at', 'instant'), ('result', 'json'), ('error_type', None), ('error', None))},
        (),
    ),
    ('finalize.leave_as_succeeded', ()): (
        """UPDATE job_runs SET status='succeeded', gate='', locked_by=NULL, host=NULL, locked_until=NULL, lease_token=NULL, heartbeat_at=NULL, finished_at=:at, releases=0, lease_expiries=0, incompatible_at=NULL, error_type=NULL, last_error=NULL, result=given.result, output=NULL, updated_at=:at FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.lease_token') AS lease_token, json_extract(value, '$.result') AS result, json_extract(value, '$.output') AS output, json_extract(value, '$.peak_memory_bytes') AS peak_memory_bytes, json_extract(value, '$.processor_seconds') AS processor_seconds FROM json_each(:given)) AS given WHERE job_runs.id = given.id AND job_runs.lease_token = given.lease_token RETURNING id, job_type, attempts, run_at, has_dependants""",
        {},
        {'at': 'instant', 'given': (('id', None), ('lease_token', None), ('result', 'json'), ('output', None), ('peak_memory_bytes', None), ('processor_seconds', None))},
        (('id', None), ('job_type', None), ('attempts', None), ('run_at', 'instant'), ('has_dependants', None)),
    ),
    ('finalize.locked', ()): (
        """SELECT job_runs.id, job_runs.lease_token, job_runs.job_type, job_runs.attempts, job_runs.max_attempts, job_runs.releases, job_runs.lease_expiries, job_runs.incompatible_at, job_runs.run_at, job_runs.has_dependants, job_runs.cancel_requested_at IS NOT NULL AS cancel_requested, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS now
FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.lease_token') AS lease_token FROM json_each(:given)) AS given JOIN job_runs ON job_runs.id = given.id AND job_runs.lease_token = given.lease_token
WHERE job_runs.lease_token IS NOT NULL""",
        {},
        {'given': (('id', None), ('lease_token', None))},
        (('id', None), ('lease_token', None), ('job_type', None), ('attempts', None), ('max_attempts', None), ('releases', None), ('lease_expiries', None), ('incompatible_at', 'instant'), ('run_at', 'instant'), ('has_dependants', None), ('cancel_requested', 'boolean'), ('now', 'instant')),
    ),
    ('finalize.record', ()): (
        """INSERT INTO job_attempts (run_id, sequence, attempt, lease_token, worker, host, due_at, started_at, finished_at, outcome, status, error_type, error_class, error, traceback, output, exit_signal, peak_memory_bytes, processor_seconds) SELECT job_runs.id, (SELECT coalesce(max(job_attempts.sequence), :coalesce_2) AS coalesce_1
FROM job_attempts
WHERE job_attempts.run_id = given.id) + :param_1 AS anon_1, job_runs.attempts, job_runs.lease_token, job_runs.locked_by, coalesce(job_runs.host, '') AS coalesce_3, job_runs.run_at, coalesce(job_runs.started_at, job_runs.claimed_at, :at) AS coalesce_4, :at AS anon_2, given.outcome, given.status, given.error_type, given.error_class, given.error, given.traceback, given.output, given.exit_signal, given.peak_memory_bytes, given.processor_seconds
FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.lease_token') AS lease_token, json_extract(value, '$.outcome') AS outcome, json_extract(value, '$.status') AS status, json_extract(value, '$.error_type') AS error_type, json_extract(value, '$.error_class') AS error_class, json_extract(value, '$.error') AS error, json_extract(value, '$.traceback') AS traceback, json_extract(value, '$.output') AS output, json_extract(value, '$.exit_signal') AS exit_signal, json_extract(value, '$.peak_memory_bytes') AS peak_memory_bytes, json_extract(value, '$.processor_seconds') AS processor_seconds FROM json_each(:given)) AS given JOIN job_runs ON job_runs.id = given.id AND job_runs.lease_token = given.lease_token""",
        {'coalesce_2': 0, 'param_1': 1},
        {'at': 'instant', 'given': (('id', None), ('lease_token', None), ('outcome', None), ('status', None), ('error_type', None), ('error_class', None), ('error', None), ('traceback', None), ('output', None), ('exit_signal', None), ('peak_memory_bytes', None), ('processor_seconds', None))},
        (),
    ),
    ('finalize.record_success', ()): (
        """INSERT INTO job_attempts (run_id, sequence, attempt, lease_token, worker, host, due_at, started_at, finished_at, outcome, status, output, peak_memory_bytes, processor_seconds) SELECT job_runs.id, (SELECT coalesce(max(job_attempts.sequence), :coalesce_2) AS coalesce_1
FROM job_attempts
WHERE job_attempts.run_id = given.id) + :param_1 AS anon_1, job_runs.attempts, job_runs.lease_token, job_runs.locked_by, coalesce(job_runs.host, '') AS coalesce_3, job_runs.run_at, coalesce(job_runs.started_at, job_runs.claimed_at, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state))) AS coalesce_4, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_2, 'succeeded', 'succeeded', given.output, given.peak_memory_bytes, given.processor_seconds
FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.lease_token') AS lease_token, json_extract(value, '$.result') AS result, json_extract(value, '$.output') AS output, json_extract(value, '$.peak_memory_bytes') AS peak_memory_bytes, json_extract(value, '$.processor_seconds') AS processor_seconds FROM json_each(:given)) AS given JOIN job_runs ON job_runs.id = given.id AND job_runs.lease_token = given.lease_token RETURNING run_id, lease_token, finished_at""",
        {'coalesce_2': 0, 'param_1': 1},
        {'given': (('id', None), ('lease_token', None), ('result', 'json'), ('output', None), ('peak_memory_bytes', None), ('processor_seconds', None))},
        (('run_id', None), ('lease_token', None), ('finished_at', 'instant')),
    ),
    ('finalize.running_of', ()): (
        """SELECT job_runs.id, job_runs.lease_token, job_runs.job_type, job_runs.attempts, job_runs.max_attempts, job_runs.releases, job_runs.lease_expiries, job_runs.incompatible_at, job_runs.run_at, job_runs.has_dependants, job_runs.cancel_requested_at IS NOT NULL AS cancel_requested, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS now, job_runs.locked_by, job_runs.host, job_runs.output
FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given JOIN job_runs ON job_runs.id = given.id
WHERE job_runs.lease_token IS NOT NULL ORDER BY job_runs.id""",
        {},
        {'given': (('id', None),)},
        (('id', None), ('lease_token', None), ('job_type', None), ('attempts', None), ('max_attempts', None), ('releases', None), ('lease_expiries', None), ('incompatible_at', 'instant'), ('run_at', 'instant'), ('has_dependants', None), ('cancel_requested', 'boolean'), ('now', 'instant'), ('locked_by', None), ('host', None), ('output', None)),
    ),
    ('findings.awaited_runs', ()): (
        """WITH RECURSIVE awaited(host) AS
(SELECT (SELECT job_runs.only_host
FROM job_runs
WHERE job_runs.finished_at IS NULL AND job_runs.lease_token IS NULL AND job_runs.only_host IS NOT NULL ORDER BY job_runs.only_host
 LIMIT 1 OFFSET :param_4) AS host UNION ALL SELECT (SELECT job_runs.only_host
FROM job_runs
WHERE job_runs.finished_at IS NULL AND job_runs.lease_token IS NULL AND job_runs.only_host IS NOT NULL AND job_runs.only_host > awaited.host ORDER BY job_runs.only_host
 LIMIT 1 OFFSET :param_5) AS host
FROM awaited
WHERE awaited.host IS NOT NULL)
 SELECT counted.host, counted.number, counted.first, counted.since
FROM (SELECT awaited.host AS host, (SELECT count(*) AS count_1
FROM (SELECT job_claimable_by_host.id AS id, job_claimable_by_host.run_at AS run_at
FROM job_claimable_by_host
WHERE job_claimable_by_host.only_host = awaited.host AND job_claimable_by_host.run_at < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:since * 1000000 AS INTEGER)) ORDER BY job_claimable_by_host.turn_at, job_claimable_by_host.run_at, job_claimable_by_host.id
 LIMIT :most OFFSET :param_1) AS found) AS number, (SELECT min(found.id) AS min_1
FROM (SELECT job_claimable_by_host.id AS id, job_claimable_by_host.run_at AS run_at
FROM job_claimable_by_host
WHERE job_claimable_by_host.only_host = awaited.host AND job_claimable_by_host.run_at < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:since * 1000000 AS INTEGER)) ORDER BY job_claimable_by_host.turn_at, job_claimable_by_host.run_at, job_claimable_by_host.id
 LIMIT :most OFFSET :param_2) AS found) AS first, (SELECT min(found.run_at) AS min_2
FROM (SELECT job_claimable_by_host.id AS id, job_claimable_by_host.run_at AS run_at
FROM job_claimable_by_host
WHERE job_claimable_by_host.only_host = awaited.host AND job_claimable_by_host.run_at < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:since * 1000000 AS INTEGER)) ORDER BY job_claimable_by_host.turn_at, job_claimable_by_host.run_at, job_claimable_by_host.id
 LIMIT :most OFFSET :param_3) AS found) AS since
FROM awaited
WHERE awaited.host IS NOT NULL
 LIMIT 10000 OFFSET :param_6) AS counted
WHERE counted.number > 0 AND NOT (EXISTS (SELECT job_pauses.name
FROM job_pauses
WHERE job_pauses.kind = 'host' AND job_pauses.name = counted.host))""",
        {'param_1': 0, 'param_2': 0, 'param_3': 0, 'param_4': 0, 'param_5': 0, 'param_6': 0},
        {},
        (('host', None), ('number', None), ('first', None), ('since', 'instant')),
    ),
    ('findings.awaited_schedules', ()): (
        """SELECT by_host.host, by_host.number, (SELECT job_definitions.name
FROM job_definitions
WHERE job_definitions.id = by_host.id) AS first, by_host.since
FROM (SELECT job_definitions.host AS host, count(*) AS number, min(job_definitions.id) AS id, min(coalesce(job_definitions.next_run_at, job_definitions.last_slot_at)) AS since
FROM job_definitions
WHERE job_definitions.host IS NOT NULL AND coalesce(job_definitions.next_run_at, job_definitions.last_slot_at) < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:since * 1000000 AS INTEGER)) AND (schedule IS NOT NULL) AND (removed_at IS NULL) AND (paused_at IS NULL) AND ((next_run_at IS NULL OR next_run_at <= (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)))) AND (("on" = 'any-host' OR host IS NOT NULL)) GROUP BY job_definitions.host) AS by_host ORDER BY by_host.host""",
        {},
        {},
        (('host', None), ('number', None), ('first', None), ('since', 'instant')),
    ),
    ('findings.broken_definitions', ()): (
        """SELECT job_definitions.name, job_definitions.last_error, job_definitions.last_slot_at
FROM job_definitions
WHERE job_definitions.removed_at IS NULL AND job_definitions.schedule IS NOT NULL AND (job_definitions.last_error IS NOT NULL OR job_definitions.paused_at IS NULL AND job_definitions.last_slot_at > ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:ahead * 1000000 AS INTEGER))) ORDER BY job_definitions.name
 LIMIT :most OFFSET :param_1""",
        {'param_1': 0},
        {},
        (('name', None), ('last_error', None), ('last_slot_at', 'instant')),
    ),
    ('findings.broken_promises', ()): (
        """SELECT job_definitions.name, job_runs.id, job_runs.last_error
FROM job_definitions JOIN job_runs ON job_runs.id = (SELECT job_runs.id
FROM job_runs
WHERE job_runs.definition_id = job_definitions.id AND job_runs.finished_at IS NOT NULL ORDER BY job_runs.id DESC
 LIMIT :param_1 OFFSET :param_2)
WHERE job_definitions.job_type = 'verify' AND job_definitions.removed_at IS NULL AND job_runs.status = 'dead' AND job_runs.error_type = 'exit_status' AND job_runs.last_error LIKE :last_error_1
 LIMIT :most OFFSET :param_3""",
        {'param_1': 1, 'param_2': 0, 'last_error_1': 'exit status 1:%', 'param_3': 0},
        {},
        (('name', None), ('id', None), ('last_error', None)),
    ),
    ('findings.came_since', ()): (
        """SELECT given.job_type, (SELECT count(*) AS count_1
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = given.job_type AND job_claimable.turn_at >= :since AND job_claimable.run_at >= :since
 LIMIT :most OFFSET :param_1) AS found) AS runs
FROM (SELECT json_extract(value, '$.job_type') AS job_type FROM json_each(:given)) AS given""",
        {'param_1': 0},
        {'since': 'instant', 'given': (('job_type', None),)},
        (('job_type', None), ('runs', None)),
    ),
    ('findings.dead', ()): (
        """SELECT found.job_type, count(*) AS runs, max(found.id) AS id
FROM (SELECT job_runs.id AS id, job_runs.job_type AS job_type
FROM job_runs
WHERE job_runs.status = 'dead' AND job_runs.finished_at IS NOT NULL AND job_runs.finished_at > ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:since * 1000000 AS INTEGER)) ORDER BY job_runs.finished_at DESC
 LIMIT :most OFFSET :param_1) AS found GROUP BY found.job_type ORDER BY count(*) DESC, found.job_type""",
        {'param_1': 0},
        {},
        (('job_type', None), ('runs', None), ('id', None)),
    ),
    ('findings.due_types', ()): (
        """SELECT listed.job_type, listed.id, (SELECT job_runs.run_at
FROM job_runs
WHERE job_runs.id = listed.id) AS run_at, listed.runs
FROM (SELECT found.job_type AS job_type, found.both / 1048576 AS id, found.both % 1048576 AS runs
FROM (SELECT job_unpaused_types.job_type AS job_type, (SELECT walk.id * 1048576 + count(*) OVER () AS anon_1
FROM (SELECT job_claimable.id AS id, job_claimable.run_at AS run_at, job_claimable.turn_at AS turn_at
FROM job_claimable
WHERE job_claimable.job_type = job_unpaused_types.job_type ORDER BY job_claimable.turn_at, job_claimable.run_at, job_claimable.id
 LIMIT :most OFFSET :param_1) AS walk ORDER BY walk.turn_at, walk.run_at, walk.id
 LIMIT :param_2 OFFSET :param_3) AS both
FROM job_unpaused_types
 LIMIT 10000 OFFSET :param_4) AS found) AS listed
WHERE listed.id IS NOT NULL""",
        {'param_1': 0, 'param_2': 1, 'param_3': 0, 'param_4': 0},
        {},
        (('job_type', None), ('id', None), ('run_at', 'instant'), ('runs', None)),
    ),
    ('findings.expired_leases', ()): (
        """SELECT count(*) AS runs, min(job_runs.id) AS id, min(job_runs.locked_until) AS first_at
FROM job_runs
WHERE job_runs.status = 'running' AND job_runs.locked_until < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:expired_before * 1000000 AS INTEGER))""",
        {},
        {},
        (('runs', None), ('id', None), ('first_at', 'instant')),
    ),
    ('findings.hosts', ()): (
        """WITH RECURSIVE names(host) AS
(SELECT min(job_ticks.host) AS host
FROM job_ticks UNION ALL SELECT (SELECT min(job_ticks.host) AS min_1
FROM job_ticks
WHERE job_ticks.host > names.host) AS host
FROM names
WHERE names.host IS NOT NULL)
 SELECT names.host, (SELECT job_ticks.started_at
FROM job_ticks
WHERE job_ticks.id = (SELECT job_ticks.id
FROM job_ticks
WHERE job_ticks.host >= names.host AND job_ticks.host <= names.host ORDER BY job_ticks.host DESC, job_ticks.id DESC
 LIMIT :param_1 OFFSET :param_2)) AS started_at, (SELECT job_ticks.finished_at
FROM job_ticks
WHERE job_ticks.id = (SELECT job_ticks.id
FROM job_ticks
WHERE job_ticks.host >= names.host AND job_ticks.host <= names.host ORDER BY job_ticks.host DESC, job_ticks.id DESC
 LIMIT :param_1 OFFSET :param_3)) AS finished_at, (SELECT job_ticks.error
FROM job_ticks
WHERE job_ticks.id = (SELECT job_ticks.id
FROM job_ticks
WHERE job_ticks.host >= names.host AND job_ticks.host <= names.host ORDER BY job_ticks.host DESC, job_ticks.id DESC
 LIMIT :param_1 OFFSET :param_4)) AS error, (SELECT count(*) AS count_1
FROM (SELECT job_ticks.id AS id
FROM job_ticks
WHERE job_ticks.host >= names.host AND job_ticks.host <= names.host ORDER BY job_ticks.host DESC, job_ticks.id DESC
 LIMIT :param_5 OFFSET :param_6) AS of_host) AS ticks
FROM names
WHERE names.host IS NOT NULL ORDER BY names.host""",
        {'param_1': 1, 'param_2': 0, 'param_3': 0, 'param_4': 0, 'param_5': 3, 'param_6': 0},
        {},
        (('host', None), ('started_at', 'instant'), ('finished_at', 'instant'), ('error', None), ('ticks', None)),
    ),
    ('findings.killed_ticks', ()): (
        """SELECT job_ticks.host, count(*) AS ticks, max(job_ticks.started_at) AS last_at
FROM job_ticks
WHERE job_ticks.started_at > ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:since * 1000000 AS INTEGER)) AND job_ticks.started_at < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:killed_before * 1000000 AS INTEGER)) AND job_ticks.finished_at IS NULL AND NOT (EXISTS (SELECT job_runs.id
FROM job_runs
WHERE job_runs.status = 'running' AND job_runs.host = job_ticks.host AND job_runs.locked_by = job_ticks.worker AND job_runs.locked_until > (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)))) GROUP BY job_ticks.host ORDER BY job_ticks.host""",
        {},
        {},
        (('host', None), ('ticks', None), ('last_at', 'instant')),
    ),
    ('findings.known_types', ()): (
        """SELECT job_hosts.host, job_hosts.types, job_hosts.can_run, job_hosts.settings
FROM job_hosts ORDER BY job_hosts.host, job_hosts.reported_at""",
        {},
        {},
        (('host', None), ('types', None), ('can_run', 'json'), ('settings', 'json')),
    ),
    ('findings.old_limits', ()): (
        """SELECT job_set_limits.job_type, job_set_limits.max_running, job_set_limits.rate, job_set_limits.actor, job_set_limits.reason, job_set_limits.set_at
FROM job_set_limits
WHERE job_set_limits.ends_at IS NULL AND job_set_limits.set_at < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:paused_before * 1000000 AS INTEGER)) ORDER BY job_set_limits.set_at
 LIMIT :most OFFSET :param_1""",
        {'param_1': 0},
        {},
        (('job_type', None), ('max_running', None), ('rate', None), ('actor', None), ('reason', None), ('set_at', 'instant')),
    ),
    ('findings.old_pauses', ()): (
        """SELECT job_pauses.kind, job_pauses.name, job_pauses.actor, job_pauses.reason, job_pauses.paused_at
FROM job_pauses
WHERE job_pauses.paused_at < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:paused_before * 1000000 AS INTEGER)) ORDER BY job_pauses.paused_at
 LIMIT :most OFFSET :param_1""",
        {'param_1': 0},
        {},
        (('kind', None), ('name', None), ('actor', None), ('reason', None), ('paused_at', 'instant')),
    ),
    ('findings.owners', ()): (
        """SELECT job_runs.host, job_runs.locked_by, count(*) AS runs, min(job_runs.id) AS id, max(job_runs.heartbeat_at) AS renewed_at, max(job_runs.locked_until) AS ends_at
FROM job_runs
WHERE job_runs.status = 'running' AND job_runs.heartbeat_at IS NOT NULL GROUP BY job_runs.host, job_runs.locked_by ORDER BY job_runs.host, job_runs.locked_by""",
        {},
        {},
        (('host', None), ('locked_by', None), ('runs', None), ('id', None), ('renewed_at', 'instant'), ('ends_at', 'instant')),
    ),
    ('findings.uncertain_effects', ()): (
        """SELECT count(*) AS effects, min(found.intended_at) AS first_at
FROM (SELECT job_effects.intended_at AS intended_at
FROM job_effects
WHERE job_effects.state != 'applied' AND NOT (job_effects.state = 'intended' AND (EXISTS (SELECT job_runs.id
FROM job_runs
WHERE job_runs.id = job_effects.run_id AND job_runs.lease_token = job_effects.lease_token))) ORDER BY job_effects.intended_at
 LIMIT :most OFFSET :param_1) AS found""",
        {'param_1': 0},
        {},
        (('effects', None), ('first_at', 'instant')),
    ),
    ('findings.waiting_types', ()): (
        """SELECT job_waiting_types.job_type
FROM job_waiting_types""",
        {},
        {},
        (('job_type', None),),
    ),
    ('gates.delete', ()): (
        """DELETE FROM job_gates WHERE (job_gates.job_type, job_gates.gate) IN (SELECT given.job_type, given.gate
FROM (SELECT json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.gate') AS gate FROM json_each(:given)) AS given)""",
        {},
        {'given': (('job_type', None), ('gate', None))},
        (),
    ),
    ('gates.enter', ()): (
        """INSERT INTO job_gates (job_type, gate, turn_at) SELECT given.job_type, given.gate, given.turn_at
FROM (SELECT json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.gate') AS gate, json_extract(value, '$.turn_at') AS turn_at FROM json_each(:given)) AS given
WHERE 1 = 1 ORDER BY given.gate ON CONFLICT (job_type, gate) DO UPDATE SET turn_at = CASE WHEN (job_gates.turn_at IS NULL OR excluded.turn_at < job_gates.turn_at) THEN excluded.turn_at ELSE job_gates.turn_at END""",
        {},
        {'given': (('job_type', None), ('gate', None), ('turn_at', 'instant'))},
        (),
    ),
    ('gates.first_turns', ()): (
        """SELECT job_gates.job_type, min(job_gates.turn_at) AS min_1
FROM (SELECT json_extract(value, '$.job_type') AS job_type FROM json_each(:given)) AS given JOIN job_gates ON job_gates.job_type = given.job_type
WHERE job_gates.turn_at IS NOT NULL GROUP BY job_gates.job_type""",
        {},
        {'given': (('job_type', None),)},
        (('job_type', None), ('min', 'instant')),
    ),
    ('gates.forget', ()): (
        """DELETE FROM job_gates WHERE job_gates.job_type = :of_type AND NOT (EXISTS (SELECT job_runs.id
FROM job_runs
WHERE job_runs.job_type = job_gates.job_type AND job_runs.gate = job_gates.gate AND job_runs.status IN ('queued', 'failed')))""",
        {},
        {},
        (),
    ),
    ('gates.is_waited_for', ()): (
        """SELECT job_gates.gate
FROM job_gates
WHERE job_gates.job_type = :of_type AND job_gates.turn_at IS NOT NULL
 LIMIT :param_1 OFFSET :param_2""",
        {'param_1': 1, 'param_2': 0},
        {},
        (('gate', None),),
    ),
    ('gates.next_opening', ()): (
        """SELECT min(job_gates.opens_at) AS opens_at, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS now
FROM job_gates
WHERE job_gates.job_type = :of_type AND job_gates.turn_at IS NOT NULL AND job_gates.opens_at > (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state))""",
        {},
        {},
        (('opens_at', 'instant'), ('now', 'instant')),
    ),
    ('gates.old', ()): (
        """SELECT job_gates.job_type, job_gates.gate
FROM job_gates
WHERE job_gates.turn_at IS NULL AND NOT (job_gates.spent_until IS NOT NULL AND job_gates.spent_until > (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)))
 LIMIT :limit OFFSET :param_1""",
        {'param_1': 0},
        {},
        (('job_type', None), ('gate', None)),
    ),
    ('gates.reopen', ()): (
        """UPDATE job_gates SET opens_at=NULL WHERE job_gates.job_type = :of_type""",
        {},
        {},
        (),
    ),
    ('gates.settle', ()): (
        """UPDATE job_gates SET turn_at=(SELECT job_runs.turn_at
FROM job_runs
WHERE job_runs.job_type = job_gates.job_type AND job_runs.gate = job_gates.gate AND job_runs.status IN ('queued', 'failed') ORDER BY job_runs.turn_at, job_runs.run_at, job_runs.id
 LIMIT :param_1 OFFSET :param_2), spent_until=coalesce(given.spent_until, job_gates.spent_until), opens_at=coalesce(given.opens_at, job_gates.opens_at) FROM (SELECT json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.gate') AS gate, json_extract(value, '$.spent_until') AS spent_until, json_extract(value, '$.opens_at') AS opens_at FROM json_each(:given)) AS given WHERE job_gates.job_type = given.job_type AND job_gates.gate = given.gate""",
        {'param_1': 1, 'param_2': 0},
        {'given': (('job_type', None), ('gate', None), ('spent_until', 'instant'), ('opens_at', 'instant'))},
        (),
    ),
    ('holding.held', ()): (
        """SELECT job_runs.id, job_runs.lease_token
FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.lease_token') AS lease_token FROM json_each(:given)) AS given JOIN job_runs ON job_runs.id = given.id AND job_runs.lease_token = given.lease_token""",
        {},
        {'given': (('id', None), ('lease_token', None))},
        (('id', None), ('lease_token', None)),
    ),
    ('holding.keep', ()): (
        """WITH held AS
(SELECT job_runs.id AS id, given.checkpoint AS new_checkpoint
FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.lease_token') AS lease_token, json_extract(value, '$.checkpoint') AS checkpoint FROM json_each(:given)) AS given JOIN job_runs ON job_runs.id = given.id AND job_runs.lease_token = given.lease_token)
 UPDATE job_runs SET checkpoint=held.new_checkpoint FROM held WHERE job_runs.id = held.id AND job_runs.lease_token IS NOT NULL RETURNING id, lease_token""",
        {},
        {'given': (('id', None), ('lease_token', None), ('checkpoint', 'json'))},
        (('id', None), ('lease_token', None)),
    ),
    ('holding.renew', ()): (
        """WITH held AS
(SELECT job_runs.id AS id
FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.lease_token') AS lease_token FROM json_each(:given)) AS given JOIN job_runs ON job_runs.id = given.id AND job_runs.lease_token = given.lease_token)
 UPDATE job_runs SET locked_until=((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:lease_seconds * 1000000 AS INTEGER)), heartbeat_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) WHERE job_runs.id IN (SELECT held.id
FROM held) AND job_runs.lease_token IS NOT NULL RETURNING id, lease_token, cancel_requested_at""",
        {},
        {'given': (('id', None), ('lease_token', None))},
        (('id', None), ('lease_token', None), ('cancel_requested_at', 'instant')),
    ),
    ('holding.report', (('progress', 'output'),)): (
        """WITH held AS
(SELECT job_runs.id AS id
FROM job_runs
WHERE job_runs.id = :run_id AND job_runs.lease_token = :token)
 UPDATE job_runs SET progress=:new_progress, output=:new_output WHERE job_runs.id IN (SELECT held.id
FROM held) AND job_runs.lease_token IS NOT NULL RETURNING id""",
        {},
        {'new_progress': 'json'},
        (('id', None),),
    ),
    ('holding.report', (('progress',),)): (
        """WITH held AS
(SELECT job_runs.id AS id
FROM job_runs
WHERE job_runs.id = :run_id AND job_runs.lease_token = :token)
 UPDATE job_runs SET progress=:new_progress WHERE job_runs.id IN (SELECT held.id
FROM held) AND job_runs.lease_token IS NOT NULL RETURNING id""",
        {},
        {'new_progress': 'json'},
        (('id', None),),
    ),
    ('holding.report', (('output',),)): (
        """WITH held AS
(SELECT job_runs.id AS id
FROM job_runs
WHERE job_runs.id = :run_id AND job_runs.lease_token = :token)
 UPDATE job_runs SET output=:new_output WHERE job_runs.id IN (SELECT held.id
FROM held) AND job_runs.lease_token IS NOT NULL RETURNING id""",
        {},
        {},
        (('id', None),),
    ),
    ('host_schedules.add', ()): (
        """INSERT INTO job_definitions (job_type, payload, schedule, timezone, application, description, misfire, misfire_window, misfire_most, overlap, start_deadline, jitter, ends_at, max_runs, paused_at, "on", name, host, template, source, last_slot_at, created_at, updated_at) SELECT job_definitions.job_type, job_definitions.payload, job_definitions.schedule, job_definitions.timezone, job_definitions.application, job_definitions.description, job_definitions.misfire, job_definitions.misfire_window, job_definitions.misfire_most, job_definitions.overlap, job_definitions.start_deadline, job_definitions.jitter, job_definitions.ends_at, job_definitions.max_runs, job_definitions.paused_at, job_definitions."on", given.name, given.host, given.template, 'host', (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_1, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_2, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_3
FROM (SELECT json_extract(value, '$.template') AS template, json_extract(value, '$.host') AS host, json_extract(value, '$.name') AS name FROM json_each(:given)) AS given JOIN job_definitions ON job_definitions.name = given.template
WHERE job_definitions."on" = 'every-host' ON CONFLICT (name) DO UPDATE SET job_type = excluded.job_type, payload = excluded.payload, schedule = excluded.schedule, timezone = excluded.timezone, application = excluded.application, description = excluded.description, misfire = excluded.misfire, misfire_window = excluded.misfire_window, misfire_most = excluded.misfire_most, overlap = excluded.overlap, start_deadline = excluded.start_deadline, jitter = excluded.jitter, ends_at = excluded.ends_at, max_runs = excluded.max_runs, last_slot_at = CASE WHEN (job_definitions.last_slot_at > excluded.last_slot_at) THEN job_definitions.last_slot_at ELSE excluded.last_slot_at END, next_run_at = NULL, paused_at = excluded.paused_at, removed_at = NULL, last_error = NULL, updated_at = excluded.updated_at, "on" = excluded."on" WHERE job_definitions.host = excluded.host AND job_definitions.template = excluded.template RETURNING id, name""",
        {},
        {'given': (('template', None), ('host', None), ('name', None))},
        (('id', None), ('name', None)),
    ),
    ('host_schedules.end_gone', ()): (
        """UPDATE job_definitions SET removed_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)), updated_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) WHERE job_definitions.host IS NOT NULL AND job_definitions.removed_at IS NULL AND NOT ((EXISTS (SELECT job_hosts.host
FROM job_hosts
WHERE job_hosts.host = job_definitions.host)) OR (SELECT job_ticks.id
FROM job_ticks
WHERE job_ticks.host >= job_definitions.host AND job_ticks.host <= job_definitions.host ORDER BY job_ticks.host DESC, job_ticks.id DESC
 LIMIT 1 OFFSET :param_1) IS NOT NULL) AND job_definitions.updated_at < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(-2592000.0 * 1000000 AS INTEGER)) RETURNING id, name""",
        {'param_1': 0},
        {},
        (('id', None), ('name', None)),
    ),
    ('host_schedules.hosts', ()): (
        """SELECT job_hosts.host, job_hosts.can_run, job_ticks.started_at AS seen_at
FROM job_hosts JOIN job_ticks ON job_ticks.id = (SELECT job_ticks.id
FROM job_ticks
WHERE job_ticks.host >= job_hosts.host AND job_ticks.host <= job_hosts.host ORDER BY job_ticks.host DESC, job_ticks.id DESC
 LIMIT 1 OFFSET :param_1)
WHERE job_ticks.started_at > ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:since * 1000000 AS INTEGER)) ORDER BY job_hosts.host""",
        {'param_1': 0},
        {},
        (('host', None), ('can_run', 'json'), ('seen_at', 'instant')),
    ),
    ('host_schedules.of_hosts', ()): (
        """SELECT job_definitions.template, job_definitions.host, job_definitions.removed_at
FROM job_definitions
WHERE job_definitions.host IS NOT NULL""",
        {},
        {},
        (('template', None), ('host', None), ('removed_at', 'instant')),
    ),
    ('host_schedules.templates', ()): (
        """SELECT job_definitions.id, job_definitions.name, job_definitions.job_type, job_definitions.last_error, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS now
FROM job_definitions
WHERE job_definitions."on" = 'every-host' AND job_definitions.host IS NULL AND job_definitions.removed_at IS NULL AND job_definitions.schedule IS NOT NULL ORDER BY job_definitions.name""",
        {},
        {},
        (('id', None), ('name', None), ('job_type', None), ('last_error', None), ('now', 'instant')),
    ),
    ('hosts.forget', ()): (
        """DELETE FROM job_hosts WHERE job_hosts.reported_at <= ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:before * 1000000 AS INTEGER)) OR job_hosts.reported_at > ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:after * 1000000 AS INTEGER))""",
        {'before': -2592000.0, 'after': 2592000.0},
        {},
        (),
    ),
    ('hosts.reported', ()): (
        """SELECT job_hosts.host, job_hosts.can_run
FROM job_hosts
WHERE job_hosts.host IN (SELECT given.host
FROM (SELECT json_extract(value, '$.host') AS host FROM json_each(:given)) AS given) ORDER BY job_hosts.reported_at, job_hosts.id""",
        {},
        {'given': (('host', None),)},
        (('host', None), ('can_run', 'json')),
    ),
    ('hosts.write', ()): (
        """INSERT INTO job_hosts (id, host, application, types, digest, can_run, settings, "database", boot, last_boot, reported_at) VALUES (:host_id, :its_host, :its_application, :its_types, :its_digest, :its_can_run, :its_settings, :its_database, :its_boot, :its_boot, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state))) ON CONFLICT (id) DO UPDATE SET host = excluded.host, application = excluded.application, types = excluded.types, digest = excluded.digest, can_run = excluded.can_run, settings = excluded.settings, "database" = excluded."database", boot = excluded.boot, last_boot = CASE WHEN (excluded.boot = job_hosts.boot) THEN job_hosts.last_boot ELSE job_hosts.boot END, is_twin_at = CASE WHEN (excluded.boot != job_hosts.boot AND excluded.boot = job_hosts.last_boot) THEN (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) ELSE job_hosts.is_twin_at END, reported_at = (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state))""",
        {},
        {'its_can_run': 'json', 'its_settings': 'json'},
        (),
    ),
    ('keys.holder', ()): (
        """SELECT job_keys.idempotency_key, job_keys.job_type, job_keys.run_id, job_runs.status, CASE WHEN (job_keys.run_id IS NULL) THEN 0 WHEN (job_types.key_scope = :key_scope_1) THEN job_runs.status IS NOT NULL AND status IN ('queued', 'failed', 'running') WHEN (job_types.key_scope = :key_scope_2) THEN job_keys.created_at > ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(-job_types.key_window * 1000000 AS INTEGER)) ELSE 1 END AS is_held, coalesce(job_types.key_scope, 'forever') AS key_scope, job_types.key_window, job_types.max_waiting
FROM job_keys LEFT OUTER JOIN job_runs ON job_runs.id = job_keys.run_id LEFT OUTER JOIN job_types ON job_types.job_type = job_keys.job_type
WHERE job_keys.job_type = :of_type AND job_keys.idempotency_key = :key""",
        {'key_scope_1': 'active', 'key_scope_2': 'window'},
        {},
        (('idempotency_key', None), ('job_type', None), ('run_id', None), ('status', None), ('is_held', 'boolean'), ('key_scope', None), ('key_window', None), ('max_waiting', None)),
    ),
    ('keys.holders', ()): (
        """SELECT job_keys.idempotency_key, job_keys.job_type, job_keys.run_id, job_runs.status, CASE WHEN (job_keys.run_id IS NULL) THEN 0 WHEN (job_types.key_scope = :key_scope_1) THEN job_runs.status IS NOT NULL AND status IN ('queued', 'failed', 'running') WHEN (job_types.key_scope = :key_scope_2) THEN job_keys.created_at > ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(-job_types.key_window * 1000000 AS INTEGER)) ELSE 1 END AS is_held, coalesce(job_types.key_scope, 'forever') AS key_scope, job_types.key_window, job_types.max_waiting
FROM job_keys LEFT OUTER JOIN job_runs ON job_runs.id = job_keys.run_id LEFT OUTER JOIN job_types ON job_types.job_type = job_keys.job_type, (SELECT json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.idempotency_key') AS idempotency_key FROM json_each(:given)) AS given
WHERE job_keys.job_type = given.job_type AND job_keys.idempotency_key = given.idempotency_key""",
        {'key_scope_1': 'active', 'key_scope_2': 'window'},
        {'given': (('job_type', None), ('idempotency_key', None))},
        (('idempotency_key', None), ('job_type', None), ('run_id', None), ('status', None), ('is_held', 'boolean'), ('key_scope', None), ('key_window', None), ('max_waiting', None)),
    ),
    ('keys.lock_free', ()): (
        """WITH ended AS
(SELECT job_runs.id AS id
FROM job_runs JOIN (SELECT json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.idempotency_key') AS idempotency_key, json_extract(value, '$.run_id') AS run_id, json_extract(value, '$.must_end') AS must_end FROM json_each(:given)) AS given ON given.must_end = :must_end_2 AND job_runs.id = given.run_id
WHERE job_runs.status IN ('succeeded', 'dead', 'cancelled') ORDER BY job_runs.id)
 SELECT job_keys.idempotency_key
FROM job_keys JOIN (SELECT json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.idempotency_key') AS idempotency_key, json_extract(value, '$.run_id') AS run_id, json_extract(value, '$.must_end') AS must_end FROM json_each(:given)) AS given ON job_keys.job_type = given.job_type AND job_keys.idempotency_key = given.idempotency_key AND job_keys.run_id IS given.run_id
WHERE given.must_end = :must_end_1 OR (EXISTS (SELECT *
FROM ended
WHERE ended.id = job_keys.run_id)) ORDER BY job_keys.job_type, job_keys.idempotency_key""",
        {'must_end_1': 0, 'must_end_2': 1},
        {'given': (('job_type', None), ('idempotency_key', None), ('run_id', None), ('must_end', None))},
        (('idempotency_key', None),),
    ),
    ('keys.release_keys', ()): (
        """DELETE FROM job_keys WHERE job_keys.run_id IS NULL AND (job_keys.job_type, job_keys.idempotency_key) IN (SELECT given.job_type, given.idempotency_key
FROM (SELECT json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.idempotency_key') AS idempotency_key FROM json_each(:given)) AS given)""",
        {},
        {'given': (('job_type', None), ('idempotency_key', None))},
        (),
    ),
    ('keys.set_run_of_key', ()): (
        """UPDATE job_keys SET run_id=:run_id_of_key, created_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) WHERE job_keys.job_type = :of_type AND job_keys.idempotency_key = :key RETURNING run_id""",
        {},
        {},
        (('run_id', None),),
    ),
    ('keys.set_runs_of_keys', ()): (
        """UPDATE job_keys SET run_id=given.run_id, created_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) FROM (SELECT json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.idempotency_key') AS idempotency_key, json_extract(value, '$.run_id') AS run_id FROM json_each(:given)) AS given WHERE job_keys.job_type = given.job_type AND job_keys.idempotency_key = given.idempotency_key""",
        {},
        {'given': (('job_type', None), ('idempotency_key', None), ('run_id', None))},
        (),
    ),
    ('keys.take_key', ('any',)): (
        """INSERT INTO job_keys (job_type, idempotency_key, created_at) SELECT :of_type AS anon_1, :key AS anon_2, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_3
WHERE NOT (EXISTS (SELECT *
FROM job_types
WHERE job_types.job_type = :of_type AND job_types.max_waiting IS NOT NULL)) ON CONFLICT DO NOTHING RETURNING job_type""",
        {},
        {},
        (('job_type', None),),
    ),
    ('keys.take_key', ('forever',)): (
        """INSERT INTO job_keys (job_type, idempotency_key, created_at) SELECT :of_type AS anon_1, :key AS anon_2, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_3
WHERE NOT (EXISTS (SELECT *
FROM job_types
WHERE job_types.job_type = :of_type AND (job_types.max_waiting IS NOT NULL OR job_types.key_scope != :key_scope_1))) ON CONFLICT DO NOTHING RETURNING job_type""",
        {'key_scope_1': 'forever'},
        {},
        (('job_type', None),),
    ),
    ('keys.take_key', ('other',)): (
        """INSERT INTO job_keys (job_type, idempotency_key, created_at) SELECT :of_type AS anon_1, :key AS anon_2, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_3
WHERE EXISTS (SELECT *
FROM job_types
WHERE job_types.job_type = :of_type AND job_types.max_waiting IS NULL AND job_types.key_scope = :scope AND job_types.key_window IS :window) ON CONFLICT DO NOTHING RETURNING job_type""",
        {},
        {},
        (('job_type', None),),
    ),
    ('keys.take_keys', ()): (
        """INSERT INTO job_keys (job_type, idempotency_key, created_at) SELECT given.job_type, given.idempotency_key, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_1
FROM (SELECT json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.idempotency_key') AS idempotency_key FROM json_each(:given)) AS given
WHERE 1 = 1 ON CONFLICT DO NOTHING RETURNING idempotency_key""",
        {},
        {'given': (('job_type', None), ('idempotency_key', None))},
        (('idempotency_key', None),),
    ),
    ('lateness.behind_gates', ()): (
        """WITH found AS
(SELECT (SELECT job_runs.id
FROM job_runs
WHERE job_runs.status IN ('queued', 'failed') AND job_runs.job_type = waited.job_type AND job_runs.gate = waited.gate ORDER BY job_runs.turn_at, job_runs.run_at, job_runs.id
 LIMIT 1 OFFSET :param_1) AS id
FROM (SELECT job_gates.job_type AS job_type, job_gates.gate AS gate
FROM job_gates
WHERE job_gates.turn_at < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:since * 1000000 AS INTEGER)) ORDER BY job_gates.turn_at
 LIMIT :limit OFFSET :param_2) AS waited)
 SELECT job_runs.id, job_runs.job_type, job_runs.definition_id, job_runs.run_at AS due_at, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS now
FROM found JOIN job_runs ON job_runs.id = found.id
WHERE job_runs.run_at < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:since * 1000000 AS INTEGER)) AND (job_type NOT IN (SELECT name FROM job_pauses WHERE kind = 'type')) AND (NOT EXISTS (SELECT kind FROM job_pauses WHERE kind = 'all'))""",
        {'param_1': 0, 'param_2': 0},
        {},
        (('id', None), ('job_type', None), ('definition_id', None), ('due_at', 'instant'), ('now', 'instant')),
    ),
    ('lateness.count', ()): (
        """SELECT count(*) AS count_1
FROM (SELECT job_runs.id AS id
FROM job_runs
WHERE job_runs.status IN ('queued', 'failed') AND job_runs.job_type = :job_type AND job_runs.run_at < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:since * 1000000 AS INTEGER))
 LIMIT :limit OFFSET :param_1) AS anon_1""",
        {'param_1': 0},
        {},
        (('count', None),),
    ),
    ('lateness.of_schedules', ()): (
        """WITH found AS
(SELECT (SELECT job_runs.id
FROM job_runs
WHERE status IN ('queued', 'failed', 'running') AND job_runs.definition_id IS NOT NULL AND job_runs.definition_id = schedules.id ORDER BY job_runs.id
 LIMIT 1 OFFSET :param_1) AS id
FROM job_definitions AS schedules)
 SELECT job_runs.id, job_runs.job_type, job_runs.definition_id, job_runs.run_at AS due_at, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS now
FROM found JOIN job_runs ON job_runs.id = found.id
WHERE job_runs.run_at < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:since * 1000000 AS INTEGER)) AND (job_type NOT IN (SELECT name FROM job_pauses WHERE kind = 'type')) AND (NOT EXISTS (SELECT kind FROM job_pauses WHERE kind = 'all')) AND job_runs.lease_token IS NULL""",
        {'param_1': 0},
        {},
        (('id', None), ('job_type', None), ('definition_id', None), ('due_at', 'instant'), ('now', 'instant')),
    ),
    ('lateness.of_types', ()): (
        """WITH found AS
(SELECT (SELECT job_runs.id
FROM job_runs
WHERE job_runs.status IN ('queued', 'failed') AND job_runs.job_type = job_waiting_types.job_type AND job_runs.gate = '' ORDER BY job_runs.turn_at, job_runs.run_at, job_runs.id
 LIMIT 1 OFFSET :param_1) AS id
FROM job_waiting_types)
 SELECT job_runs.id, job_runs.job_type, job_runs.definition_id, job_runs.run_at AS due_at, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS now
FROM found JOIN job_runs ON job_runs.id = found.id
WHERE job_runs.run_at < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:since * 1000000 AS INTEGER)) AND (job_type NOT IN (SELECT name FROM job_pauses WHERE kind = 'type')) AND (NOT EXISTS (SELECT kind FROM job_pauses WHERE kind = 'all'))""",
        {'param_1': 0},
        {},
        (('id', None), ('job_type', None), ('definition_id', None), ('due_at', 'instant'), ('now', 'instant')),
    ),
    ('lateness.slots', ()): (
        """SELECT job_definitions.job_type, job_definitions.name, job_definitions.next_run_at AS due_at, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS now
FROM job_definitions
WHERE job_definitions.next_run_at < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:since * 1000000 AS INTEGER)) AND (schedule IS NOT NULL) AND (removed_at IS NULL) AND (paused_at IS NULL) AND ((next_run_at IS NULL OR next_run_at <= (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)))) AND ("on" = 'any-host')
 LIMIT :limit OFFSET :param_1""",
        {'param_1': 0},
        {},
        (('job_type', None), ('name', None), ('due_at', 'instant'), ('now', 'instant')),
    ),
    ('lateness.stray', ()): (
        """WITH found AS
(SELECT (SELECT job_runs.id
FROM job_runs
WHERE job_runs.status IN ('queued', 'failed') AND job_runs.job_type = waited.job_type AND job_runs.gate = waited.gate ORDER BY job_runs.turn_at, job_runs.run_at, job_runs.id
 LIMIT 1 OFFSET :param_1) AS id
FROM (SELECT job_stray_gates.job_type AS job_type, job_stray_gates.gate AS gate
FROM job_stray_gates
 LIMIT :limit OFFSET :param_2) AS waited)
 SELECT job_runs.id, job_runs.job_type, job_runs.definition_id, job_runs.run_at AS due_at, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS now
FROM found JOIN job_runs ON job_runs.id = found.id
WHERE job_runs.run_at < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:since * 1000000 AS INTEGER)) AND (job_type NOT IN (SELECT name FROM job_pauses WHERE kind = 'type')) AND (NOT EXISTS (SELECT kind FROM job_pauses WHERE kind = 'all'))""",
        {'param_1': 0, 'param_2': 0},
        {},
        (('id', None), ('job_type', None), ('definition_id', None), ('due_at', 'instant'), ('now', 'instant')),
    ),
    ('limits.admit', (0,)): (
        """WITH picked AS
(SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = :of_type ORDER BY job_claimable.turn_at, job_claimable.run_at, job_claimable.id
 LIMIT :limit OFFSET :param_1)
 UPDATE job_runs SET gate='all' WHERE job_runs.id IN (SELECT picked.id
FROM picked) AND job_runs.status != 'running' RETURNING gate, turn_at""",
        {'param_1': 0},
        {},
        (('gate', None), ('turn_at', 'instant')),
    ),
    ('limits.admit', (1,)): (
        """WITH picked AS
(SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = :of_type ORDER BY job_claimable.turn_at, job_claimable.run_at, job_claimable.id
 LIMIT :limit OFFSET :param_1)
 UPDATE job_runs SET gate=(:key || ' ' || (SELECT substr(CASE WHEN written GLOB '*[{\\.eE]*' THEN (SELECT '[' || group_concat(listed, ',') || ']' FROM (
      SELECT CASE path WHEN '$' THEN '' ELSE substr(fullkey, 2) || ':' END
        || CASE WHEN type IN ('true', 'false') THEN type WHEN type IN ('object', 'array') THEN value
          ELSE json_quote(atom) END AS listed
      FROM json_tree(written) WHERE type NOT IN ('object', 'array') OR value IN ('{}', '[]') ORDER BY fullkey)) ELSE written END, 1, 200) FROM (SELECT substr(found, 1, length(found) - 6) || ']' AS written FROM (SELECT json_extract(job_runs.payload, '$."' || :name_0 || '"', '$[0]') AS found)))) WHERE job_runs.id IN (SELECT picked.id
FROM picked) AND job_runs.status != 'running' RETURNING gate, turn_at""",
        {'param_1': 0},
        {},
        (('gate', None), ('turn_at', 'instant')),
    ),
    ('limits.admit', (2,)): (
        """WITH picked AS
(SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = :of_type ORDER BY job_claimable.turn_at, job_claimable.run_at, job_claimable.id
 LIMIT :limit OFFSET :param_1)
 UPDATE job_runs SET gate=(:key || ' ' || (SELECT substr(CASE WHEN written GLOB '*[{\\.eE]*' THEN (SELECT '[' || group_concat(listed, ',') || ']' FROM (
      SELECT CASE path WHEN '$' THEN '' ELSE substr(fullkey, 2) || ':' END
        || CASE WHEN type IN ('true', 'false') THEN type WHEN type IN ('object', 'array') THEN value
          ELSE json_quote(atom) END AS listed
      FROM json_tree(written) WHERE type NOT IN ('object', 'array') OR value IN ('{}', '[]') ORDER BY fullkey)) ELSE written END, 1, 200) FROM (SELECT substr(found, 1, length(found) - 6) || ']' AS written FROM (SELECT json_extract(job_runs.payload, '$."' || :name_0 || '"', '$."' || :name_1 || '"', '$[0]') AS found)))) WHERE job_runs.id IN (SELECT picked.id
FROM picked) AND job_runs.status != 'running' RETURNING gate, turn_at""",
        {'param_1': 0},
        {},
        (('gate', None), ('turn_at', 'instant')),
    ),
    ('limits.admit', (3,)): (
        """WITH picked AS
(SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = :of_type ORDER BY job_claimable.turn_at, job_claimable.run_at, job_claimable.id
 LIMIT :limit OFFSET :param_1)
 UPDATE job_runs SET gate=(:key || ' ' || (SELECT substr(CASE WHEN written GLOB '*[{\\.eE]*' THEN (SELECT '[' || group_concat(listed, ',') || ']' FROM (
      SELECT CASE path WHEN '$' THEN '' ELSE substr(fullkey, 2) || ':' END
        || CASE WHEN type IN ('true', 'false') THEN type WHEN type IN ('object', 'array') THEN value
          ELSE json_quote(atom) END AS listed
      FROM json_tree(written) WHERE type NOT IN ('object', 'array') OR value IN ('{}', '[]') ORDER BY fullkey)) ELSE written END, 1, 200) FROM (SELECT substr(found, 1, length(found) - 6) || ']' AS written FROM (SELECT json_extract(job_runs.payload, '$."' || :name_0 || '"', '$."' || :name_1 || '"', '$."' || :name_2 || '"', '$[0]') AS found)))) WHERE job_runs.id IN (SELECT picked.id
FROM picked) AND job_runs.status != 'running' RETURNING gate, turn_at""",
        {'param_1': 0},
        {},
        (('gate', None), ('turn_at', 'instant')),
    ),
    ('limits.all_at_work', ()): (
        """SELECT job_runs.job_type, count(*) AS count_1
FROM (SELECT json_extract(value, '$.job_type') AS job_type FROM json_each(:given)) AS given JOIN job_runs ON job_runs.job_type = given.job_type
WHERE job_runs.status = 'running' GROUP BY job_runs.job_type""",
        {},
        {'given': (('job_type', None),)},
        (('job_type', None), ('count', None)),
    ),
    ('limits.at_work', ()): (
        """SELECT job_runs.job_type, count(*) AS count_1
FROM (SELECT json_extract(value, '$.job_type') AS job_type FROM json_each(:given)) AS given JOIN job_runs ON job_runs.job_type = given.job_type
WHERE job_runs.lease_token IS NOT NULL AND job_runs.gate != '' GROUP BY job_runs.job_type""",
        {},
        {'given': (('job_type', None),)},
        (('job_type', None), ('count', None)),
    ),
    ('limits.behind_open_gate', ()): (
        """SELECT job_gated.id
FROM job_gated
WHERE job_gated.job_type = :of_type AND job_gated.gate = 'all' AND (EXISTS (SELECT job_open_gates.gate
FROM job_open_gates
WHERE job_open_gates.job_type = :of_type)) ORDER BY job_gated.turn_at, job_gated.run_at, job_gated.id
 LIMIT :limit OFFSET :param_1""",
        {'param_1': 0},
        {},
        (('id', None),),
    ),
    ('limits.declare', ()): (
        """INSERT INTO job_limits (job_type, max_running, rate, burst, concurrency_key, max_running_per_key, rate_per_key, burst_per_key) VALUES (:of_type, :new_max_running, :new_rate, :new_burst, :new_concurrency_key, :new_max_running_per_key, :new_rate_per_key, :new_burst_per_key) ON CONFLICT (job_type) DO UPDATE SET max_running = :new_max_running, rate = :new_rate, burst = :new_burst, concurrency_key = :new_concurrency_key, max_running_per_key = :new_max_running_per_key, rate_per_key = :new_rate_per_key, burst_per_key = :new_burst_per_key, opens_at = NULL, asked_at = NULL RETURNING (SELECT CASE WHEN (job_set_limits.ends_at IS NULL OR job_set_limits.ends_at > (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state))) THEN :param_1 ELSE :param_2 END AS anon_1
FROM job_set_limits
WHERE job_type = :of_type) AS has_ended""",
        {'param_1': 0, 'param_2': 1},
        {},
        (('has_ended', None),),
    ),
    ('limits.declared', ()): (
        """SELECT job_limits.job_type, job_limits.max_running, job_limits.rate, job_limits.burst, job_limits.concurrency_key, job_limits.max_running_per_key, job_limits.rate_per_key, job_limits.burst_per_key, NULL AS has_ended
FROM job_limits UNION ALL SELECT job_set_limits.job_type, NULL AS max_running, NULL AS rate, NULL AS burst, NULL AS concurrency_key, NULL AS max_running_per_key, NULL AS rate_per_key, NULL AS burst_per_key, CASE WHEN (job_set_limits.ends_at IS NULL OR job_set_limits.ends_at > (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state))) THEN :param_1 ELSE :param_2 END AS anon_1
FROM job_set_limits""",
        {'param_1': 0, 'param_2': 1},
        {},
        (('job_type', None), ('max_running', None), ('rate', None), ('burst', None), ('concurrency_key', None), ('max_running_per_key', None), ('rate_per_key', None), ('burst_per_key', None), ('has_ended', None)),
    ),
    ('limits.first_run_of_each', (False,)): (
        """SELECT job_gates.gate, job_gates.spent_until, (SELECT count(*) AS count_1
FROM job_runs
WHERE job_runs.gate = job_gates.gate AND job_runs.lease_token IS NOT NULL AND job_runs.gate != '' AND job_runs.job_type = job_gates.job_type) AS at_work, (SELECT job_gated.id
FROM job_gated
WHERE job_gated.job_type = job_gates.job_type AND job_gated.gate = job_gates.gate AND job_gated.lease_expiries < 2 ORDER BY job_gated.turn_at, job_gated.run_at, job_gated.id
 LIMIT :param_1 OFFSET :param_2) AS run_id
FROM job_gates
WHERE job_gates.job_type = :of_type AND job_gates.turn_at IS NOT NULL AND substr(job_gates.gate, :substr_1, length(:prefix)) = :prefix AND (job_gates.opens_at IS NULL OR job_gates.opens_at <= (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) OR job_gates.opens_at > ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:longest * 1000000 AS INTEGER))) AND (SELECT count(*) AS count_1
FROM job_runs
WHERE job_runs.gate = job_gates.gate AND job_runs.lease_token IS NOT NULL AND job_runs.gate != '' AND job_runs.job_type = job_gates.job_type) < :most_at_work ORDER BY job_gates.turn_at
 LIMIT :limit OFFSET :param_3""",
        {'param_1': 1, 'param_2': 0, 'substr_1': 1, 'param_3': 0},
        {},
        (('gate', None), ('spent_until', 'instant'), ('at_work', None), ('run_id', None)),
    ),
    ('limits.first_run_of_each', (True,)): (
        """SELECT job_gates.gate, job_gates.spent_until, (SELECT count(*) AS count_1
FROM job_runs
WHERE job_runs.gate = job_gates.gate AND job_runs.lease_token IS NOT NULL AND job_runs.gate != '' AND job_runs.job_type = job_gates.job_type) AS at_work, (SELECT job_gated.id
FROM job_gated
WHERE job_gated.job_type = job_gates.job_type AND job_gated.gate = job_gates.gate AND job_gated.lease_expiries >= 2 ORDER BY job_gated.turn_at, job_gated.run_at, job_gated.id
 LIMIT :param_1 OFFSET :param_2) AS run_id
FROM job_gates
WHERE job_gates.job_type = :of_type AND job_gates.turn_at IS NOT NULL AND substr(job_gates.gate, :substr_1, length(:prefix)) = :prefix AND (job_gates.opens_at IS NULL OR job_gates.opens_at <= (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) OR job_gates.opens_at > ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:longest * 1000000 AS INTEGER))) AND (SELECT count(*) AS count_1
FROM job_runs
WHERE job_runs.gate = job_gates.gate AND job_runs.lease_token IS NOT NULL AND job_runs.gate != '' AND job_runs.job_type = job_gates.job_type) < :most_at_work AND (SELECT job_gated.id
FROM job_gated
WHERE job_gated.job_type = job_gates.job_type AND job_gated.gate = job_gates.gate AND job_gated.lease_expiries >= 2 ORDER BY job_gated.turn_at, job_gated.run_at, job_gated.id
 LIMIT :param_1 OFFSET :param_3) IS NOT NULL ORDER BY job_gates.turn_at
 LIMIT :limit OFFSET :param_4""",
        {'param_1': 1, 'param_2': 0, 'substr_1': 1, 'param_3': 0, 'param_4': 0},
        {},
        (('gate', None), ('spent_until', 'instant'), ('at_work', None), ('run_id', None)),
    ),
    ('limits.first_run_of_each', (False, True)): (
        """SELECT job_gates.gate, (SELECT max(same.spent_until) AS max_1
FROM job_gates AS same
WHERE same.job_type IN (SELECT given.job_type
FROM (SELECT json_extract(value, '$.job_type') AS job_type FROM json_each(:given)) AS given) AND same.gate = job_gates.gate) AS spent_until, (SELECT count(*) AS count_1
FROM job_runs
WHERE job_runs.gate = job_gates.gate AND job_runs.lease_token IS NOT NULL AND job_runs.gate != '' AND job_runs.job_type IN (SELECT given.job_type
FROM (SELECT json_extract(value, '$.job_type') AS job_type FROM json_each(:given)) AS given)) AS at_work, (SELECT job_gated.id
FROM job_gated
WHERE job_gated.job_type = job_gates.job_type AND job_gated.gate = job_gates.gate AND job_gated.lease_expiries < 2 ORDER BY job_gated.turn_at, job_gated.run_at, job_gated.id
 LIMIT :param_1 OFFSET :param_2) AS run_id
FROM job_gates
WHERE job_gates.job_type = :of_type AND job_gates.turn_at IS NOT NULL AND substr(job_gates.gate, :substr_1, length(:prefix)) = :prefix AND (job_gates.opens_at IS NULL OR job_gates.opens_at <= (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) OR job_gates.opens_at > ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:longest * 1000000 AS INTEGER))) AND (SELECT count(*) AS count_1
FROM job_runs
WHERE job_runs.gate = job_gates.gate AND job_runs.lease_token IS NOT NULL AND job_runs.gate != '' AND job_runs.job_type IN (SELECT given.job_type
FROM (SELECT json_extract(value, '$.job_type') AS job_type FROM json_each(:given)) AS given)) < :most_at_work ORDER BY job_gates.turn_at
 LIMIT :limit OFFSET :param_3""",
        {'param_1': 1, 'param_2': 0, 'substr_1': 1, 'param_3': 0},
        {'given': (('job_type', None),)},
        (('gate', None), ('spent_until', 'instant'), ('at_work', None), ('run_id', None)),
    ),
    ('limits.first_runs', (False,)): (
        """SELECT job_gated.id
FROM job_gated
WHERE job_gated.job_type = :of_type AND job_gated.gate = 'all' AND job_gated.lease_expiries < 2 ORDER BY job_gated.turn_at, job_gated.run_at, job_gated.id
 LIMIT :limit OFFSET :param_1""",
        {'param_1': 0},
        {},
        (('id', None),),
    ),
    ('limits.first_runs', (True,)): (
        """SELECT job_gated.id
FROM job_gated
WHERE job_gated.job_type = :of_type AND job_gated.gate = 'all' AND job_gated.lease_expiries >= 2 ORDER BY job_gated.turn_at, job_gated.run_at, job_gated.id
 LIMIT :limit OFFSET :param_1""",
        {'param_1': 0},
        {},
        (('id', None),),
    ),
    ('limits.forget', ()): (
        """DELETE FROM job_limits WHERE job_limits.job_type = :of_type""",
        {},
        {},
        (),
    ),
    ('limits.lock', ()): (
        """WITH free AS
(SELECT job_limits.job_type AS job_type
FROM (SELECT json_extract(value, '$.job_type') AS job_type FROM json_each(:given)) AS given JOIN job_limits ON job_limits.job_type = given.job_type)
 UPDATE job_limits SET asked_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) WHERE job_limits.job_type IN (SELECT free.job_type
FROM free) RETURNING job_type, spent_until, looked_to, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS now, max_running, rate, burst, concurrency_key, max_running_per_key, rate_per_key, burst_per_key, (SELECT job_set_limits.max_running
FROM job_set_limits
WHERE job_type = job_limits.job_type AND (ends_at IS NULL OR ends_at > (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)))) AS set_max_running, (SELECT job_set_limits.rate
FROM job_set_limits
WHERE job_type = job_limits.job_type AND (ends_at IS NULL OR ends_at > (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)))) AS set_rate, (SELECT job_set_limits.burst
FROM job_set_limits
WHERE job_type = job_limits.job_type AND (ends_at IS NULL OR ends_at > (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)))) AS set_burst""",
        {},
        {'given': (('job_type', None),)},
        (('job_type', None), ('spent_until', 'instant'), ('looked_to', None), ('now', 'instant'), ('max_running', None), ('rate', None), ('burst', None), ('concurrency_key', None), ('max_running_per_key', None), ('rate_per_key', None), ('burst_per_key', None), ('set_max_running', None), ('set_rate', None), ('set_burst', None)),
    ),
    ('limits.open_gates', ()): (
        """SELECT job_open_gates.gate
FROM job_open_gates
WHERE job_open_gates.job_type = :of_type
 LIMIT :limit OFFSET :param_1""",
        {'param_1': 0},
        {},
        (('gate', None),),
    ),
    ('limits.release', ()): (
        """WITH picked AS
(SELECT job_runs.id AS id
FROM job_runs
WHERE job_runs.job_type = :of_type AND job_runs.gate > '' AND job_runs.gate != 'after' AND job_runs.status IN ('queued', 'failed')
 LIMIT :limit OFFSET :param_1)
 UPDATE job_runs SET gate='' WHERE job_runs.id IN (SELECT picked.id
FROM picked) AND job_runs.status != 'running' RETURNING id""",
        {'param_1': 0},
        {},
        (('id', None),),
    ),
    ('limits.settle_types', ()): (
        """UPDATE job_limits SET spent_until=coalesce(given.spent_until, job_limits.spent_until), opens_at=coalesce(given.opens_at, job_limits.opens_at) FROM (SELECT json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.spent_until') AS spent_until, json_extract(value, '$.opens_at') AS opens_at FROM json_each(:given)) AS given WHERE job_limits.job_type = given.job_type""",
        {},
        {'given': (('job_type', None), ('spent_until', 'instant'), ('opens_at', 'instant'))},
        (),
    ),
    ('limits.take', ()): (
        """INSERT INTO job_limits (job_type, asked_at) SELECT :of_type AS anon_1, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_2
WHERE NOT (EXISTS (SELECT job_limits.job_type
FROM job_limits
WHERE job_limits.job_type = :of_type)) ON CONFLICT DO NOTHING RETURNING job_type, spent_until, looked_to, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS now, max_running, rate, burst, concurrency_key, max_running_per_key, rate_per_key, burst_per_key, (SELECT job_set_limits.max_running
FROM job_set_limits
WHERE job_type = job_limits.job_type AND (ends_at IS NULL OR ends_at > (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)))) AS set_max_running, (SELECT job_set_limits.rate
FROM job_set_limits
WHERE job_type = job_limits.job_type AND (ends_at IS NULL OR ends_at > (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)))) AS set_rate, (SELECT job_set_limits.burst
FROM job_set_limits
WHERE job_type = job_limits.job_type AND (ends_at IS NULL OR ends_at > (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)))) AS set_burst""",
        {},
        {},
        (('job_type', None), ('spent_until', 'instant'), ('looked_to', None), ('now', 'instant'), ('max_running', None), ('rate', None), ('burst', None), ('concurrency_key', None), ('max_running_per_key', None), ('rate_per_key', None), ('burst_per_key', None), ('set_max_running', None), ('set_rate', None), ('set_burst', None)),
    ),
    ('listen.is_superseded', ()): (
        """SELECT EXISTS (SELECT job_ticks.id
FROM job_ticks
WHERE job_ticks.id > :tick_id AND job_ticks.host = :host AND job_ticks.types = :types AND job_ticks.application = :application AND job_ticks.listening_at IS NOT NULL AND job_ticks.finished_at IS NULL) AS is_superseded""",
        {},
        {},
        (('is_superseded', 'boolean'),),
    ),
    ('listen.look_ahead', ()): (
        """SELECT EXISTS (SELECT job_ticks.id
FROM job_ticks
WHERE job_ticks.id > :tick_id AND job_ticks.host = :host AND job_ticks.types = :types AND job_ticks.application = :application AND job_ticks.listening_at IS NOT NULL AND job_ticks.finished_at IS NULL) AS is_superseded, (EXISTS (SELECT job_expandable.id
FROM job_expandable)) OR (EXISTS (SELECT job_expandable_by_host.id
FROM job_expandable_by_host
WHERE job_expandable_by_host.host = :host)) AS is_expandable, EXISTS (SELECT job_recoverable.id
FROM job_recoverable) AS is_recoverable, (SELECT min(job_overdue.start_deadline_at) AS min_1
FROM job_overdue) AS overdue_since, (SELECT job_ungated_due.is_due
FROM job_ungated_due) AS is_ungated_due, EXISTS (SELECT job_ready_gates.gate
FROM job_ready_gates) AS is_gate_ready, EXISTS (SELECT job_claimable_by_host.id
FROM job_claimable_by_host
WHERE job_claimable_by_host.only_host = :host) AS is_own_due, EXISTS (SELECT job_pauses.kind
FROM job_pauses
WHERE job_pauses.kind = 'host' AND job_pauses.name = :host) AS is_host_paused, EXISTS (SELECT job_parents.run_id
FROM job_parents
WHERE parent_status IS NOT NULL) AS is_parent_ended, (SELECT job_runs.run_at
FROM job_runs
WHERE job_runs.status IN ('queued', 'failed') AND job_runs.run_at > (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AND job_runs.gate = '' AND releases >= 0 ORDER BY job_runs.run_at
 LIMIT 1 OFFSET :param_1) AS next_run_at, (SELECT min(job_definitions.next_run_at) AS min_2
FROM job_definitions
WHERE job_definitions.schedule IS NOT NULL AND job_definitions.removed_at IS NULL AND job_definitions.paused_at IS NULL AND job_definitions.next_run_at > (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state))) AS next_slot_at, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS now""",
        {'param_1': 0},
        {},
        (('is_superseded', 'boolean'), ('is_expandable', 'boolean'), ('is_recoverable', 'boolean'), ('overdue_since', 'instant'), ('is_ungated_due', 'boolean'), ('is_gate_ready', 'boolean'), ('is_own_due', 'boolean'), ('is_host_paused', 'boolean'), ('is_parent_ended', 'boolean'), ('next_run_at', 'instant'), ('next_slot_at', 'instant'), ('now', 'instant')),
    ),
    ('listen.other_hosts', ()): (
        """SELECT count(DISTINCT job_ticks.host) AS hosts
FROM job_ticks
WHERE job_ticks.types = :types AND job_ticks.application = :application AND job_ticks.listening_at IS NOT NULL AND job_ticks.finished_at IS NULL AND job_ticks.host != :host AND job_ticks.started_at > ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:before * 1000000 AS INTEGER))""",
        {},
        {},
        (('hosts', None),),
    ),
    ('listen.report', ()): (
        """UPDATE job_ticks SET listening_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) WHERE job_ticks.id = :tick_id AND job_ticks.host = :own_host AND job_ticks.worker = :own_worker RETURNING id""",
        {},
        {},
        (('id', None),),
    ),
    ('metrics.running', ()): (
        """SELECT job_runs.job_type, count(*) AS runs
FROM job_runs
WHERE job_runs.status = 'running' GROUP BY job_runs.job_type ORDER BY job_runs.job_type""",
        {},
        {},
        (('job_type', None), ('runs', None)),
    ),
    ('metrics.take_turn', ()): (
        """UPDATE job_state SET metrics_host=:own_host, metrics_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) WHERE job_state.metrics_host IS NULL OR job_state.metrics_host = :own_host OR job_state.metrics_at < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:before * 1000000 AS INTEGER)) OR job_state.metrics_at > ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:after * 1000000 AS INTEGER)) RETURNING id""",
        {},
        {},
        (('id', None),),
    ),
    ('notices.add', ()): (
        """INSERT INTO job_notices (event, job_type, schedule, receiver, runs, detail, is_open, at, seen_to) SELECT given.event, given.job_type, given.schedule, given.receiver, given.runs, given.detail, given.is_open, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_1, (SELECT job_state.counted_to
FROM job_state) AS anon_2
FROM (SELECT json_extract(value, '$.event') AS event, json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.schedule') AS schedule, json_extract(value, '$.receiver') AS receiver, json_extract(value, '$.runs') AS runs, json_extract(value, '$.detail') AS detail, json_extract(value, '$.is_open') AS is_open FROM json_each(:given)) AS given
WHERE 1 = 1 ON CONFLICT DO NOTHING""",
        {},
        {'given': (('event', None), ('job_type', None), ('schedule', None), ('receiver', None), ('runs', None), ('detail', 'json'), ('is_open', None))},
        (),
    ),
    ('notices.claim', ()): (
        """WITH picked AS
(SELECT job_notices.id AS id
FROM job_notices
WHERE job_notices.settled_at IS NULL AND job_notices.claimed_at IS NULL AND job_notices.receiver IN (SELECT given.name
FROM (SELECT json_extract(value, '$.name') AS name FROM json_each(:given)) AS given) ORDER BY job_notices.id
 LIMIT :limit OFFSET :param_1)
 UPDATE job_notices SET tries=(job_notices.tries + 1), claimed_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)), claimed_by=:owner WHERE job_notices.id IN (SELECT picked.id
FROM picked) RETURNING id, at, event, job_type, schedule, receiver, runs, detail, tries""",
        {'param_1': 0},
        {'given': (('name', None),)},
        (('id', None), ('at', 'instant'), ('event', None), ('job_type', None), ('schedule', None), ('receiver', None), ('runs', None), ('detail', 'json'), ('tries', None)),
    ),
    ('notices.close', ()): (
        """UPDATE job_notices SET is_open=:is_open FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given WHERE job_notices.id = given.id AND job_notices.is_open = 1 RETURNING event, job_type, schedule, at""",
        {'is_open': 0},
        {'given': (('id', None),)},
        (('event', None), ('job_type', None), ('schedule', None), ('at', 'instant')),
    ),
    ('notices.definitions_named', ()): (
        """SELECT job_definitions.id, job_definitions.name
FROM job_definitions
WHERE job_definitions.name IN (SELECT given.name
FROM (SELECT json_extract(value, '$.name') AS name FROM json_each(:given)) AS given)""",
        {},
        {'given': (('name', None),)},
        (('id', None), ('name', None)),
    ),
    ('notices.definitions_of', ()): (
        """SELECT job_runs.id, job_runs.definition_id
FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given JOIN job_runs ON job_runs.id = given.id""",
        {},
        {'given': (('id', None),)},
        (('id', None), ('definition_id', None)),
    ),
    ('notices.give_up_lost', ()): (
        """UPDATE job_notices SET settled_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)), outcome='lost', error='the tick that sent it was killed; nobody knows whether it was told' WHERE job_notices.settled_at IS NULL AND job_notices.claimed_at < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:since * 1000000 AS INTEGER))""",
        {},
        {},
        (),
    ),
    ('notices.note_dead', (True,)): (
        """WITH picked AS
(SELECT job_runs.id AS id
FROM job_runs
WHERE CASE WHEN status = 'dead' AND (told_at IS NULL OR told_at < finished_at) THEN 1 END = 1 AND job_runs.finished_at > ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:since * 1000000 AS INTEGER)) ORDER BY job_runs.finished_at
 LIMIT :limit OFFSET :param_1)
 UPDATE job_runs SET told_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) WHERE job_runs.id IN (SELECT picked.id
FROM picked) RETURNING id, definition_id, job_type, attempts, error_type, last_error, finished_at""",
        {'param_1': 0},
        {},
        (('id', None), ('definition_id', None), ('job_type', None), ('attempts', None), ('error_type', None), ('last_error', None), ('finished_at', 'instant')),
    ),
    ('notices.note_dead', (False,)): (
        """WITH picked AS
(SELECT job_runs.id AS id
FROM job_runs
WHERE CASE WHEN status = 'dead' AND (told_at IS NULL OR told_at < finished_at) THEN 1 END = 1 AND job_runs.finished_at > ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:since * 1000000 AS INTEGER)) AND (job_runs.job_type IN (SELECT types.name
FROM (SELECT json_extract(value, '$.name') AS name FROM json_each(:types)) AS types) OR job_runs.definition_id IN (SELECT job_definitions.id
FROM job_definitions
WHERE job_definitions.name IN (SELECT schedules.name
FROM (SELECT json_extract(value, '$.name') AS name FROM json_each(:schedules)) AS schedules))) ORDER BY job_runs.finished_at
 LIMIT :limit OFFSET :param_1)
 UPDATE job_runs SET told_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) WHERE job_runs.id IN (SELECT picked.id
FROM picked) RETURNING id, definition_id, job_type, attempts, error_type, last_error, finished_at""",
        {'param_1': 0},
        {'types': (('name', None),), 'schedules': (('name', None),)},
        (('id', None), ('definition_id', None), ('job_type', None), ('attempts', None), ('error_type', None), ('last_error', None), ('finished_at', 'instant')),
    ),
    ('notices.open_troubles', ()): (
        """SELECT job_notices.id, job_notices.event, job_notices.job_type, job_notices.schedule, job_notices.at, job_notices.seen_to
FROM job_notices
WHERE job_notices.is_open = 1""",
        {},
        {},
        (('id', None), ('event', None), ('job_type', None), ('schedule', None), ('at', 'instant'), ('seen_to', None)),
    ),
    ('notices.outputs', ()): (
        """SELECT given.id, (SELECT job_attempts.output
FROM job_attempts
WHERE job_attempts.run_id = given.id ORDER BY job_attempts.sequence DESC
 LIMIT 1 OFFSET :param_1) AS output
FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given""",
        {'param_1': 0},
        {'given': (('id', None),)},
        (('id', None), ('output', None)),
    ),
    ('notices.release', ()): (
        """UPDATE job_notices SET claimed_at=NULL, claimed_by=NULL, error=given.error FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.outcome') AS outcome, json_extract(value, '$.error') AS error FROM json_each(:given)) AS given WHERE job_notices.id = given.id AND job_notices.settled_at IS NULL AND job_notices.claimed_by = :owner""",
        {},
        {'given': (('id', None), ('outcome', None), ('error', None))},
        (),
    ),
    ('notices.schedules_of', ()): (
        """SELECT job_definitions.id, job_definitions.name
FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given JOIN job_definitions ON job_definitions.id = given.id""",
        {},
        {'given': (('id', None),)},
        (('id', None), ('name', None)),
    ),
    ('notices.set_seen', ()): (
        """UPDATE job_notices SET seen_to=coalesce((SELECT CASE WHEN (job_state.counted_to < :upto) THEN job_state.counted_to ELSE :upto END AS anon_1
FROM job_state), 0) WHERE job_notices.is_open = 1 AND job_notices.seen_to < coalesce((SELECT CASE WHEN (job_state.counted_to < :upto) THEN job_state.counted_to ELSE :upto END AS anon_1
FROM job_state), 0)""",
        {},
        {},
        (),
    ),
    ('notices.settle', ()): (
        """UPDATE job_notices SET settled_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)), outcome=given.outcome, error=given.error FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.outcome') AS outcome, json_extract(value, '$.error') AS error FROM json_each(:given)) AS given WHERE job_notices.id = given.id AND job_notices.settled_at IS NULL AND job_notices.claimed_by = :owner""",
        {},
        {'given': (('id', None), ('outcome', None), ('error', None))},
        (),
    ),
    ('notices.successes', ()): (
        """SELECT some.id, some.status, some.finished_at, job_runs.job_type, job_runs.definition_id
FROM (SELECT job_attempts.id AS id, job_attempts.run_id AS run_id, job_attempts.status AS status, job_attempts.finished_at AS finished_at
FROM job_attempts
WHERE job_attempts.id > :after ORDER BY job_attempts.id
 LIMIT :limit OFFSET :param_1) AS some JOIN job_runs ON job_runs.id = some.run_id ORDER BY some.id""",
        {'param_1': 0},
        {},
        (('id', None), ('status', None), ('finished_at', 'instant'), ('job_type', None), ('definition_id', None)),
    ),
    ('notices.supersede', ()): (
        """UPDATE job_notices SET is_open=:is_open FROM (SELECT json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.schedule') AS schedule FROM json_each(:given)) AS given WHERE job_notices.is_open = 1 AND job_notices.event = 'dead' AND job_notices.job_type = given.job_type AND job_notices.schedule = given.schedule""",
        {'is_open': 0},
        {'given': (('job_type', None), ('schedule', None))},
        (),
    ),
    ('notices.unsent', ()): (
        """SELECT job_notices.id, job_notices.at, job_notices.event, job_notices.job_type, job_notices.schedule, job_notices.receiver, job_notices.runs, job_notices.outcome, job_notices.error
FROM job_notices
WHERE job_notices.outcome != 'sent' AND job_notices.settled_at > ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:since * 1000000 AS INTEGER)) ORDER BY job_notices.settled_at DESC
 LIMIT :limit OFFSET :param_1""",
        {'param_1': 0},
        {},
        (('id', None), ('at', 'instant'), ('event', None), ('job_type', None), ('schedule', None), ('receiver', None), ('runs', None), ('outcome', None), ('error', None)),
    ),
    ('overlap.cancel', ()): (
        """UPDATE job_runs SET status=:status, cancel_requested_at=:at, finished_at=:at, updated_at=:at FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given WHERE job_runs.id = given.id""",
        {'status': 'cancelled'},
        {'at': 'instant', 'given': (('id', None),)},
        (),
    ),
    ('overlap.older', ()): (
        """SELECT job_runs.id, job_runs.definition_id, job_runs.job_type, job_runs.status, job_runs.cancel_requested_at, job_runs.status = :status_1 AND job_runs.started_at IS NULL AND job_runs.run_at > job_runs.created_at AND job_runs.run_at > job_definitions.last_slot_at AS only_waits
FROM job_runs, job_definitions, (SELECT json_extract(value, '$.definition_id') AS definition_id, json_extract(value, '$.id') AS id FROM json_each(:given)) AS given
WHERE job_runs.definition_id = given.definition_id AND job_definitions.id = given.definition_id AND job_runs.id != given.id AND (job_runs.origin IS NULL OR job_runs.origin = 'slot') AND status IN ('queued', 'failed', 'running') ORDER BY job_runs.id""",
        {'status_1': 'queued'},
        {'given': (('definition_id', None), ('id', None))},
        (('id', None), ('definition_id', None), ('job_type', None), ('status', None), ('cancel_requested_at', 'instant'), ('only_waits', 'boolean')),
    ),
    ('overlap.request_cancel', ()): (
        """UPDATE job_runs SET cancel_requested_at=:at, updated_at=:at FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given WHERE job_runs.id = given.id""",
        {},
        {'at': 'instant', 'given': (('id', None),)},
        (),
    ),
    ('overview.count', ('queued',)): (
        """SELECT count(*) AS runs
FROM (SELECT job_runs.id AS id
FROM job_runs
WHERE job_runs.status = 'queued' AND job_runs.status IN ('queued', 'failed')
 LIMIT :most OFFSET :param_1) AS anon_1""",
        {'param_1': 0},
        {},
        (('runs', None),),
    ),
    ('overview.count', ('running',)): (
        """SELECT count(*) AS runs
FROM (SELECT job_runs.id AS id
FROM job_runs
WHERE job_runs.status = 'running'
 LIMIT :most OFFSET :param_1) AS anon_1""",
        {'param_1': 0},
        {},
        (('runs', None),),
    ),
    ('overview.count', ('succeeded',)): (
        """SELECT count(*) AS runs
FROM (SELECT job_runs.id AS id
FROM job_runs
WHERE job_runs.status = 'succeeded' AND job_runs.finished_at IS NOT NULL
 LIMIT :most OFFSET :param_1) AS anon_1""",
        {'param_1': 0},
        {},
        (('runs', None),),
    ),
    ('overview.count', ('failed',)): (
        """SELECT count(*) AS runs
FROM (SELECT job_runs.id AS id
FROM job_runs
WHERE job_runs.status = 'failed'
 LIMIT :most OFFSET :param_1) AS anon_1""",
        {'param_1': 0},
        {},
        (('runs', None),),
    ),
    ('overview.count', ('dead',)): (
        """SELECT count(*) AS runs
FROM (SELECT job_runs.id AS id
FROM job_runs
WHERE job_runs.status = 'dead' AND job_runs.finished_at IS NOT NULL
 LIMIT :most OFFSET :param_1) AS anon_1""",
        {'param_1': 0},
        {},
        (('runs', None),),
    ),
    ('overview.count', ('cancelled',)): (
        """SELECT count(*) AS runs
FROM (SELECT job_runs.id AS id
FROM job_runs
WHERE job_runs.status = 'cancelled' AND job_runs.finished_at IS NOT NULL
 LIMIT :most OFFSET :param_1) AS anon_1""",
        {'param_1': 0},
        {},
        (('runs', None),),
    ),
    ('overview.dead', ()): (
        """SELECT job_runs.id, job_runs.job_type, job_runs.attempts, job_runs.finished_at, job_runs.error_type, job_runs.last_error
FROM job_runs
WHERE job_runs.status = 'dead' AND job_runs.finished_at IS NOT NULL ORDER BY job_runs.finished_at DESC, job_runs.id DESC
 LIMIT :most OFFSET :param_1""",
        {'param_1': 0},
        {},
        (('id', None), ('job_type', None), ('attempts', None), ('finished_at', 'instant'), ('error_type', None), ('last_error', None)),
    ),
    ('overview.due', ()): (
        """SELECT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS now, count(*) AS runs, min(first.run_at) AS first_at
FROM (SELECT all_kinds.id AS id, all_kinds.run_at AS run_at
FROM (SELECT free.id AS id, free.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.run_at AS run_at
FROM job_claimable
WHERE releases >= 0 ORDER BY job_claimable.run_at
 LIMIT :most OFFSET :param_1) AS free UNION ALL SELECT behind.id AS id, behind.run_at AS run_at
FROM (SELECT job_gated.id AS id, job_gated.run_at AS run_at
FROM job_open_gates JOIN job_gated ON job_gated.job_type = job_open_gates.job_type AND job_gated.gate = job_open_gates.gate
 LIMIT :most OFFSET :param_2) AS behind UNION ALL SELECT own.id AS id, own.run_at AS run_at
FROM (SELECT job_claimable_by_host.id AS id, job_claimable_by_host.run_at AS run_at
FROM job_claimable_by_host
 LIMIT :most OFFSET :param_3) AS own) AS all_kinds) AS first""",
        {'param_1': 0, 'param_2': 0, 'param_3': 0},
        {},
        (('now', 'instant'), ('runs', None), ('first_at', 'instant')),
    ),
    ('overview.failing', ()): (
        """SELECT job_runs.id, job_runs.job_type, job_runs.attempts, job_runs.max_attempts, job_runs.error_type, job_runs.last_error, job_runs.run_at AS next_try_at
FROM job_runs
WHERE job_runs.status = 'failed' ORDER BY job_runs.run_at, job_runs.id
 LIMIT :most OFFSET :param_1""",
        {'param_1': 0},
        {},
        (('id', None), ('job_type', None), ('attempts', None), ('max_attempts', None), ('error_type', None), ('last_error', None), ('next_try_at', 'instant')),
    ),
    ('overview.last_ticks', ()): (
        """WITH RECURSIVE names(host) AS
(SELECT min(job_ticks.host) AS host
FROM job_ticks UNION ALL SELECT (SELECT min(job_ticks.host) AS min_1
FROM job_ticks
WHERE job_ticks.host > names.host) AS host
FROM names
WHERE names.host IS NOT NULL)
 SELECT job_ticks.host, job_ticks.worker, job_ticks.version, job_ticks.started_at, job_ticks.application, job_ticks.listening_at, job_ticks.types, job_ticks.finished_at, job_ticks.counts, job_ticks.error
FROM job_ticks
WHERE job_ticks.id IN (SELECT (SELECT job_ticks.id
FROM job_ticks
WHERE job_ticks.host >= names.host AND job_ticks.host <= names.host ORDER BY job_ticks.host DESC, job_ticks.id DESC
 LIMIT :param_1 OFFSET :param_2) AS id
FROM names
WHERE names.host IS NOT NULL) ORDER BY job_ticks.host""",
        {'param_1': 1, 'param_2': 0},
        {},
        (('host', None), ('worker', None), ('version', None), ('started_at', 'instant'), ('application', None), ('listening_at', 'instant'), ('types', None), ('finished_at', 'instant'), ('counts', 'json'), ('error', None)),
    ),
    ('overview.limited', ()): (
        """SELECT job_types.job_type, job_types.max_waiting, job_types.when_full, job_types.dropped, job_types.dropped_at, (SELECT count(*) AS count_1
FROM job_runs
WHERE job_runs.job_type = job_types.job_type AND job_runs.status IN ('queued', 'failed')) AS waiting
FROM job_types
WHERE job_types.max_waiting IS NOT NULL ORDER BY job_types.job_type""",
        {},
        {},
        (('job_type', None), ('max_waiting', None), ('when_full', None), ('dropped', None), ('dropped_at', 'instant'), ('waiting', None)),
    ),
    ('overview.running', ()): (
        """SELECT job_runs.id, job_runs.job_type, job_runs.host, job_runs.locked_by, job_runs.started_at, job_runs.heartbeat_at, job_runs.locked_until, job_runs.max_attempts, job_runs.progress, job_runs.cancel_requested_at, job_runs.attempts AS attempt
FROM job_runs
WHERE job_runs.status = 'running' ORDER BY job_runs.started_at, job_runs.id""",
        {},
        {},
        (('id', None), ('job_type', None), ('host', None), ('locked_by', None), ('started_at', 'instant'), ('heartbeat_at', 'instant'), ('locked_until', 'instant'), ('max_attempts', None), ('progress', 'json'), ('cancel_requested_at', 'instant'), ('attempt', None)),
    ),
    ('overview.running_limits', ()): (
        """SELECT job_limits_in_force.job_type, job_limits_in_force.max_running, job_limits_in_force.rate, job_limits_in_force.burst, job_limits_in_force.concurrency_key, job_limits_in_force.max_running_per_key, job_limits_in_force.rate_per_key, job_limits_in_force.burst_per_key, (SELECT job_types.fair_by
FROM job_types
WHERE job_types.job_type = job_limits_in_force.job_type) AS fair_by, job_limits_in_force.opens_at, CASE WHEN job_limits_in_force.is_set THEN (SELECT count(*) AS count_1
FROM job_runs
WHERE job_runs.job_type = job_limits_in_force.job_type AND job_runs.status = 'running') ELSE (SELECT count(*) AS count_1
FROM job_runs
WHERE job_runs.job_type = job_limits_in_force.job_type AND job_runs.lease_token IS NOT NULL AND job_runs.gate != '') END AS running, (SELECT count(*) AS count_2
FROM job_runs
WHERE job_runs.job_type = job_limits_in_force.job_type AND job_runs.status IN ('queued', 'failed')) AS waiting
FROM job_limits_in_force
WHERE job_limits_in_force.max_running IS NOT NULL OR job_limits_in_force.rate IS NOT NULL OR job_limits_in_force.concurrency_key IS NOT NULL ORDER BY job_limits_in_force.job_type""",
        {},
        {},
        (('job_type', None), ('max_running', None), ('rate', None), ('burst', None), ('concurrency_key', None), ('max_running_per_key', None), ('rate_per_key', None), ('burst_per_key', None), ('fair_by', None), ('opens_at', 'instant'), ('running', None), ('waiting', None)),
    ),
    ('overview.unknown', ()): (
        """SELECT job_runs.job_type, count(*) AS waiting, min(job_runs.run_at) AS oldest_run_at
FROM job_runs
WHERE job_runs.status IN ('queued', 'failed') AND job_runs.job_type IN (SELECT given.job_type
FROM (SELECT json_extract(value, '$.job_type') AS job_type FROM json_each(:given)) AS given) GROUP BY job_runs.job_type ORDER BY job_runs.job_type""",
        {},
        {'given': (('job_type', None),)},
        (('job_type', None), ('waiting', None), ('oldest_run_at', 'instant')),
    ),
    ('own_runs.close', ()): (
        """UPDATE job_runs SET gate=CASE WHEN (job_runs.status = 'running') THEN job_runs.gate ELSE '' END, only_host=:host FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given WHERE job_runs.id = given.id""",
        {},
        {'given': (('id', None),)},
        (),
    ),
    ('own_runs.gates', ()): (
        """SELECT DISTINCT job_runs.job_type, job_runs.gate
FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given JOIN job_runs ON job_runs.id = given.id
WHERE job_runs.status != 'running' AND job_runs.gate != '' ORDER BY job_runs.job_type, job_runs.gate""",
        {},
        {'given': (('id', None),)},
        (('job_type', None), ('gate', None)),
    ),
    ('own_runs.open', ()): (
        """WITH free AS
(SELECT job_claimable_by_host.id AS id
FROM job_claimable_by_host
WHERE job_claimable_by_host.only_host = :host AND job_claimable_by_host.job_type IN (SELECT given.job_type
FROM (SELECT json_extract(value, '$.job_type') AS job_type FROM json_each(:given)) AS given) ORDER BY job_claimable_by_host.turn_at, job_claimable_by_host.run_at, job_claimable_by_host.id
 LIMIT :limit OFFSET :param_1)
 UPDATE job_runs SET only_host=NULL WHERE job_runs.id IN (SELECT free.id
FROM free) AND job_runs.status != 'running' RETURNING id""",
        {'param_1': 0},
        {'given': (('job_type', None),)},
        (('id', None),),
    ),
    ('pauses.add', ()): (
        """INSERT INTO job_pauses (kind, name, reason, actor, paused_at) VALUES (:kind, :name, :reason, :actor, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state))) ON CONFLICT DO NOTHING RETURNING paused_at""",
        {},
        {},
        (('paused_at', 'instant'),),
    ),
    ('pauses.listed', ()): (
        """SELECT job_pauses.kind, job_pauses.name, job_pauses.reason, job_pauses.actor, job_pauses.paused_at
FROM job_pauses ORDER BY job_pauses.paused_at, job_pauses.kind, job_pauses.name""",
        {},
        {},
        (('kind', None), ('name', None), ('reason', None), ('actor', None), ('paused_at', 'instant')),
    ),
    ('pauses.remove', ()): (
        """DELETE FROM job_pauses WHERE job_pauses.kind = :kind AND job_pauses.name = :name RETURNING paused_at, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS now""",
        {},
        {},
        (('paused_at', 'instant'), ('now', 'instant')),
    ),
    ('pauses.running', ('all',)): (
        """SELECT count(*) AS runs
FROM (SELECT job_runs.id AS id
FROM job_runs
WHERE job_runs.status = 'running'
 LIMIT :most OFFSET :param_1) AS anon_1""",
        {'param_1': 0},
        {},
        (('runs', None),),
    ),
    ('pauses.running', ('type',)): (
        """SELECT count(*) AS runs
FROM (SELECT job_runs.id AS id
FROM job_runs
WHERE job_runs.status = 'running' AND job_runs.job_type = :name
 LIMIT :most OFFSET :param_1) AS anon_1""",
        {'param_1': 0},
        {},
        (('runs', None),),
    ),
    ('pauses.running', ('host',)): (
        """SELECT count(*) AS runs
FROM (SELECT job_runs.id AS id
FROM job_runs
WHERE job_runs.status = 'running' AND job_runs.host = :name
 LIMIT :most OFFSET :param_1) AS anon_1""",
        {'param_1': 0},
        {},
        (('runs', None),),
    ),
    ('pauses.ticked', ()): (
        """SELECT job_ticks.id
FROM job_ticks
WHERE job_ticks.host = :name
 LIMIT :param_1 OFFSET :param_2""",
        {'param_1': 1, 'param_2': 0},
        {},
        (('id', None),),
    ),
    ('pauses.waiting', ('all',)): (
        """SELECT count(*) AS runs
FROM (SELECT job_runs.id AS id
FROM job_runs
WHERE job_runs.status IN ('queued', 'failed')
 LIMIT :most OFFSET :param_1) AS anon_1""",
        {'param_1': 0},
        {},
        (('runs', None),),
    ),
    ('pauses.waiting', ('type',)): (
        """SELECT count(*) AS runs
FROM (SELECT job_runs.id AS id
FROM job_runs
WHERE job_runs.status IN ('queued', 'failed') AND job_runs.job_type = :name
 LIMIT :most OFFSET :param_1) AS anon_1""",
        {'param_1': 0},
        {},
        (('runs', None),),
    ),
    ('retention.count_old', ('ticks',)): (
        """SELECT count(*) AS count_1
FROM job_ticks
WHERE job_ticks.started_at < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:before * 1000000 AS INTEGER))""",
        {},
        {},
        (('count', None),),
    ),
    ('retention.count_old', ('events',)): (
        """SELECT count(*) AS count_1
FROM job_events
WHERE job_events.at < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:before * 1000000 AS INTEGER))""",
        {},
        {},
        (('count', None),),
    ),
    ('retention.count_old_runs', ('every',)): (
        """SELECT job_runs.job_type, count(*) AS rows
FROM job_runs
WHERE job_runs.status = :its_status AND job_runs.finished_at IS NOT NULL AND job_runs.finished_at < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:before * 1000000 AS INTEGER)) AND (job_runs.scheduled_for IS NULL OR job_runs.scheduled_for < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:before * 1000000 AS INTEGER))) GROUP BY job_runs.job_type""",
        {},
        {},
        (('job_type', None), ('rows', None)),
    ),
    ('retention.count_old_runs', ('type',)): (
        """SELECT job_runs.job_type, count(*) AS rows
FROM job_runs
WHERE job_runs.status = :its_status AND job_runs.finished_at IS NOT NULL AND job_runs.finished_at < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:before * 1000000 AS INTEGER)) AND (job_runs.scheduled_for IS NULL OR job_runs.scheduled_for < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:before * 1000000 AS INTEGER))) AND job_runs.job_type = :of_type GROUP BY job_runs.job_type""",
        {},
        {},
        (('job_type', None), ('rows', None)),
    ),
    ('retention.count_old_runs', ('others',)): (
        """SELECT job_runs.job_type, count(*) AS rows
FROM job_runs
WHERE job_runs.status = :its_status AND job_runs.finished_at IS NOT NULL AND job_runs.finished_at < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:before * 1000000 AS INTEGER)) AND (job_runs.scheduled_for IS NULL OR job_runs.scheduled_for < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:before * 1000000 AS INTEGER))) AND (job_runs.job_type NOT IN (SELECT types.job_type
FROM (SELECT json_extract(value, '$.job_type') AS job_type FROM json_each(:types)) AS types)) GROUP BY job_runs.job_type""",
        {},
        {'types': (('job_type', None),)},
        (('job_type', None), ('rows', None)),
    ),
    ('retention.delete', ('runs',)): (
        """DELETE FROM job_runs WHERE job_runs.id IN (SELECT given.id
FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given)""",
        {},
        {'given': (('id', None),)},
        (),
    ),
    ('retention.delete', ('ticks',)): (
        """DELETE FROM job_ticks WHERE job_ticks.id IN (SELECT given.id
FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given)""",
        {},
        {'given': (('id', None),)},
        (),
    ),
    ('retention.delete', ('events',)): (
        """DELETE FROM job_events WHERE job_events.id IN (SELECT given.id
FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given)""",
        {},
        {'given': (('id', None),)},
        (),
    ),
    ('retention.delete', ('notices',)): (
        """DELETE FROM job_notices WHERE job_notices.id IN (SELECT given.id
FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given)""",
        {},
        {'given': (('id', None),)},
        (),
    ),
    ('retention.delete_attempts', ()): (
        """DELETE FROM job_attempts WHERE job_attempts.run_id IN (SELECT given.id
FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given)""",
        {},
        {'given': (('id', None),)},
        (),
    ),
    ('retention.old', ('ticks',)): (
        """SELECT job_ticks.id
FROM job_ticks
WHERE job_ticks.started_at < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:before * 1000000 AS INTEGER)) ORDER BY job_ticks.started_at
 LIMIT :limit OFFSET :param_1""",
        {'param_1': 0},
        {},
        (('id', None),),
    ),
    ('retention.old', ('events',)): (
        """SELECT job_events.id
FROM job_events
WHERE job_events.at < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:before * 1000000 AS INTEGER)) ORDER BY job_events.at
 LIMIT :limit OFFSET :param_1""",
        {'param_1': 0},
        {},
        (('id', None),),
    ),
    ('retention.old', ('notices',)): (
        """SELECT job_notices.id
FROM job_notices
WHERE job_notices.at < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:before * 1000000 AS INTEGER)) ORDER BY job_notices.at
 LIMIT :limit OFFSET :param_1""",
        {'param_1': 0},
        {},
        (('id', None),),
    ),
    ('retention.old_runs', ('every',)): (
        """SELECT job_runs.id, job_runs.job_type, job_runs.finished_at
FROM job_runs
WHERE job_runs.status = :its_status AND job_runs.finished_at IS NOT NULL AND job_runs.finished_at < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:before * 1000000 AS INTEGER)) AND (job_runs.scheduled_for IS NULL OR job_runs.scheduled_for < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:before * 1000000 AS INTEGER))) AND job_runs.finished_at >= :after AND (job_runs.id NOT IN (SELECT given.id
FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given)) ORDER BY job_runs.finished_at
 LIMIT :limit OFFSET :param_1""",
        {'param_1': 0},
        {'after': 'instant', 'given': (('id', None),)},
        (('id', None), ('job_type', None), ('finished_at', 'instant')),
    ),
    ('retention.old_runs', ('type',)): (
        """SELECT job_runs.id, job_runs.job_type, job_runs.finished_at
FROM job_runs
WHERE job_runs.status = :its_status AND job_runs.finished_at IS NOT NULL AND job_runs.finished_at < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:before * 1000000 AS INTEGER)) AND (job_runs.scheduled_for IS NULL OR job_runs.scheduled_for < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:before * 1000000 AS INTEGER))) AND job_runs.finished_at >= :after AND (job_runs.id NOT IN (SELECT given.id
FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given)) AND job_runs.job_type = :of_type ORDER BY job_runs.finished_at
 LIMIT :limit OFFSET :param_1""",
        {'param_1': 0},
        {'after': 'instant', 'given': (('id', None),)},
        (('id', None), ('job_type', None), ('finished_at', 'instant')),
    ),
    ('retention.old_runs', ('others',)): (
        """SELECT job_runs.id, job_runs.job_type, job_runs.finished_at
FROM job_runs
WHERE job_runs.status = :its_status AND job_runs.finished_at IS NOT NULL AND job_runs.finished_at < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:before * 1000000 AS INTEGER)) AND (job_runs.scheduled_for IS NULL OR job_runs.scheduled_for < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:before * 1000000 AS INTEGER))) AND job_runs.finished_at >= :after AND (job_runs.id NOT IN (SELECT given.id
FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given)) AND (job_runs.job_type NOT IN (SELECT types.job_type
FROM (SELECT json_extract(value, '$.job_type') AS job_type FROM json_each(:types)) AS types)) ORDER BY job_runs.finished_at
 LIMIT :limit OFFSET :param_1""",
        {'param_1': 0},
        {'after': 'instant', 'given': (('id', None),), 'types': (('job_type', None),)},
        (('id', None), ('job_type', None), ('finished_at', 'instant')),
    ),
    ('schedules.definition', ()): (
        """SELECT job_definitions.id, job_definitions.name, job_definitions.job_type, job_definitions.payload, job_definitions.schedule, job_definitions.timezone, job_definitions.source, job_definitions.application, job_definitions.description, job_definitions.misfire, job_definitions.misfire_window, job_definitions.misfire_most, job_definitions.overlap, job_definitions.start_deadline, job_definitions.jitter, job_definitions.ends_at, job_definitions.max_runs, job_definitions.runs_made, job_definitions.last_slot_at, job_definitions.next_run_at, job_definitions.paused_at, job_definitions.removed_at, job_definitions.last_error, job_definitions.created_at, job_definitions.updated_at, job_definitions."on", job_definitions.host, job_definitions.template, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS now
FROM job_definitions
WHERE job_definitions.id = :definition_id""",
        {},
        {},
        (('id', None), ('name', None), ('job_type', None), ('payload', 'json'), ('schedule', None), ('timezone', None), ('source', None), ('application', None), ('description', None), ('misfire', None), ('misfire_window', None), ('misfire_most', None), ('overlap', None), ('start_deadline', None), ('jitter', None), ('ends_at', 'instant'), ('max_runs', None), ('runs_made', None), ('last_slot_at', 'instant'), ('next_run_at', 'instant'), ('paused_at', 'instant'), ('removed_at', 'instant'), ('last_error', None), ('created_at', 'instant'), ('updated_at', 'instant'), ('on', None), ('host', None), ('template', None), ('now', 'instant')),
    ),
    ('schedules.is_any_expandable', ()): (
        """SELECT (EXISTS (SELECT job_expandable.id
FROM job_expandable)) OR (EXISTS (SELECT job_expandable_by_host.id
FROM job_expandable_by_host
WHERE job_expandable_by_host.host = :host)) AS is_any_expandable""",
        {},
        {},
        (('is_any_expandable', 'boolean'),),
    ),
    ('schedules.set_problem', ()): (
        """UPDATE job_definitions SET last_error=:problem, updated_at=:at WHERE job_definitions.id = :definition_id""",
        {},
        {'at': 'instant'},
        (),
    ),
    ('set_limits.add', ()): (
        """INSERT INTO job_set_limits (job_type, max_running, rate, burst, reason, actor, set_at, ends_at) VALUES (:of_type, :max_running, :rate, :burst, :reason, :actor, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)), :ends_at) ON CONFLICT (job_type) DO UPDATE SET max_running = :max_running, rate = :rate, burst = :burst, reason = :reason, actor = :actor, set_at = (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)), ends_at = :ends_at RETURNING set_at, ends_at""",
        {},
        {'ends_at': 'instant'},
        (('set_at', 'instant'), ('ends_at', 'instant')),
    ),
    ('set_limits.claimers', ()): (
        """SELECT job_locks.name
FROM job_locks
WHERE job_locks.name LIKE 'places of %' ORDER BY job_locks.name""",
        {},
        {},
        (('name', None),),
    ),
    ('set_limits.end', ()): (
        """UPDATE job_set_limits SET ends_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) WHERE job_set_limits.job_type = :of_type AND (job_set_limits.ends_at IS NULL OR job_set_limits.ends_at > (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state))) RETURNING ends_at""",
        {},
        {},
        (('ends_at', 'instant'),),
    ),
    ('set_limits.forget', ()): (
        """DELETE FROM job_set_limits WHERE job_set_limits.job_type = :of_type AND NOT (job_set_limits.ends_at IS NULL OR job_set_limits.ends_at > (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)))""",
        {},
        {},
        (),
    ),
    ('set_limits.hold_claimers', ()): (
        """SELECT job_locks.name
FROM job_locks
WHERE job_locks.name LIKE 'places of %' ORDER BY job_locks.name""",
        {},
        {},
        (('name', None),),
    ),
    ('set_limits.listed', ()): (
        """SELECT job_set_limits.job_type, job_set_limits.max_running, job_set_limits.rate, job_set_limits.burst, job_set_limits.reason, job_set_limits.actor, job_set_limits.set_at, job_set_limits.ends_at
FROM job_set_limits
WHERE job_set_limits.ends_at IS NULL OR job_set_limits.ends_at > (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) ORDER BY job_set_limits.set_at, job_set_limits.job_type""",
        {},
        {},
        (('job_type', None), ('max_running', None), ('rate', None), ('burst', None), ('reason', None), ('actor', None), ('set_at', 'instant'), ('ends_at', 'instant')),
    ),
    ('set_limits.lock_type', ()): (
        """INSERT INTO job_limits (job_type) VALUES (:of_type) ON CONFLICT (job_type) DO UPDATE SET opens_at = NULL, asked_at = NULL""",
        {},
        {},
        (),
    ),
    ('strays.dependants', (False,)): (
        """SELECT job_stray_dependants.id
FROM job_stray_dependants""",
        {},
        {},
        (('id', None),),
    ),
    ('strays.dependants', (True,)): (
        """SELECT job_runs.id
FROM job_runs
WHERE job_runs.status IN ('queued', 'failed') AND releases >= 0 AND gate <> '' AND job_runs.gate = 'after' AND (SELECT job_parents.run_id
FROM job_parents
WHERE job_parents.run_id = job_runs.id
 LIMIT 1 OFFSET :param_1) IS NULL""",
        {'param_1': 0},
        {},
        (('id', None),),
    ),
    ('strays.free', ('sqlite',)): (
        """WITH picked AS
(SELECT job_runs.id AS id
FROM (SELECT json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.gate') AS gate FROM json_each(:given)) AS given JOIN job_runs ON job_runs.job_type = given.job_type AND job_runs.gate = given.gate
WHERE job_runs.status IN ('queued', 'failed')
 LIMIT :limit OFFSET :param_2)
 UPDATE job_runs SET gate=CASE WHEN ((SELECT job_parents.run_id
FROM job_parents
WHERE job_parents.run_id = job_runs.id
 LIMIT 1 OFFSET :param_1) IS NOT NULL) THEN 'after' ELSE '' END WHERE job_runs.id IN (SELECT picked.id
FROM picked) AND job_runs.status != 'running' RETURNING id""",
        {'param_1': 0, 'param_2': 0},
        {'given': (('job_type', None), ('gate', None))},
        (('id', None),),
    ),
    ('strays.free_dependants', ()): (
        """WITH picked AS
(SELECT job_runs.id AS id
FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given JOIN job_runs ON job_runs.id = given.id
WHERE job_runs.finished_at IS NULL AND job_runs.lease_token IS NULL AND coalesce(job_runs.gate, '') = 'after' AND (SELECT job_parents.run_id
FROM job_parents
WHERE job_parents.run_id = job_runs.id
 LIMIT 1 OFFSET :param_1) IS NULL)
 UPDATE job_runs SET gate='' WHERE job_runs.id IN (SELECT picked.id
FROM picked) AND job_runs.status != 'running' RETURNING id""",
        {'param_1': 0},
        {'given': (('id', None),)},
        (('id', None),),
    ),
    ('strays.gates', (False,)): (
        """SELECT job_stray_gates.job_type, job_stray_gates.gate
FROM job_stray_gates""",
        {},
        {},
        (('job_type', None), ('gate', None)),
    ),
    ('strays.gates', (True,)): (
        """SELECT job_waited_gates.job_type, job_waited_gates.gate
FROM job_waited_gates
WHERE job_waited_gates.is_seen = 0""",
        {},
        {},
        (('job_type', None), ('gate', None)),
    ),
    ('strays.is_any_behind', ()): (
        """SELECT (SELECT job_runs.gate
FROM job_runs
WHERE job_runs.status IN ('queued', 'failed') AND releases >= 0 AND gate <> '' ORDER BY job_runs.gate, job_runs.id
 LIMIT 1 OFFSET :param_1) IS NOT NULL AS is_any_behind""",
        {'param_1': 0},
        {},
        (('is_any_behind', 'boolean'),),
    ),
    ('strays.settle', ()): (
        """WITH found AS
(SELECT job_gates.job_type AS job_type, job_gates.gate AS gate
FROM (SELECT json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.gate') AS gate FROM json_each(:given)) AS given JOIN job_gates ON job_gates.job_type = given.job_type AND job_gates.gate = given.gate)
 UPDATE job_gates SET turn_at=(SELECT job_runs.turn_at
FROM job_runs
WHERE job_runs.job_type = job_gates.job_type AND job_runs.gate = job_gates.gate AND job_runs.status IN ('queued', 'failed') ORDER BY job_runs.turn_at, job_runs.run_at, job_runs.id
 LIMIT :param_1 OFFSET :param_2) FROM found WHERE job_gates.job_type = found.job_type AND job_gates.gate = found.gate""",
        {'param_1': 1, 'param_2': 0},
        {'given': (('job_type', None), ('gate', None))},
        (),
    ),
    ('tallies.add', ()): (
        """INSERT INTO job_tallies (at, span, job_type, outcome, status, ends, waited, longest_wait, ran, longest_run, waits, runs, is_in_totals, processor, most_processor, processors, most_memory, memories) SELECT given.at, given.span, given.job_type, given.outcome, given.status, given.ends, given.waited, given.longest_wait, given.ran, given.longest_run, given.waits, given.runs, given.is_in_totals, given.processor, given.most_processor, given.processors, given.most_memory, given.memories
FROM (SELECT json_extract(value, '$.at') AS at, json_extract(value, '$.span') AS span, json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.outcome') AS outcome, json_extract(value, '$.status') AS status, json_extract(value, '$.ends') AS ends, json_extract(value, '$.waited') AS waited, json_extract(value, '$.longest_wait') AS longest_wait, json_extract(value, '$.ran') AS ran, json_extract(value, '$.longest_run') AS longest_run, json_extract(value, '$.waits') AS waits, json_extract(value, '$.runs') AS runs, json_extract(value, '$.is_in_totals') AS is_in_totals, json_extract(value, '$.processor') AS processor, json_extract(value, '$.most_processor') AS most_processor, json_extract(value, '$.processors') AS processors, json_extract(value, '$.most_memory') AS most_memory, json_extract(value, '$.memories') AS memories FROM json_each(:given)) AS given""",
        {},
        {'given': (('at', 'instant'), ('span', None), ('job_type', None), ('outcome', None), ('status', None), ('ends', None), ('waited', None), ('longest_wait', None), ('ran', None), ('longest_run', None), ('waits', 'json'), ('runs', 'json'), ('is_in_totals', None), ('processor', None), ('most_processor', None), ('processors', 'json'), ('most_memory', None), ('memories', 'json'))},
        (),
    ),
    ('tallies.add_ends', ()): (
        """INSERT INTO job_tallies (at, span, job_type, outcome, status, ends, waited, longest_wait, ran, longest_run, waits, runs) SELECT ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) - (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) % 3600000000) AS anon_1, 'hour', given.job_type, '', given.status, given.ends, 0.0, 0.0, 0.0, 0.0, '[]', '[]'
FROM (SELECT json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.status') AS status, json_extract(value, '$.ends') AS ends FROM json_each(:given)) AS given""",
        {},
        {'given': (('job_type', None), ('status', None), ('ends', None))},
        (),
    ),
    ('tallies.clock', ()): (
        """SELECT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS now""",
        {},
        {},
        (('now', 'instant'),),
    ),
    ('tallies.delete', ()): (
        """DELETE FROM job_tallies WHERE job_tallies.id IN (SELECT given.id
FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given)""",
        {},
        {'given': (('id', None),)},
        (),
    ),
    ('tallies.delete_old_days', ()): (
        """DELETE FROM job_tallies WHERE job_tallies.span = 'day' AND job_tallies.at < :before""",
        {},
        {'before': 'instant'},
        (),
    ),
    ('tallies.ended', ()): (
        """SELECT "each".at, "each".job_type, "each".outcome, "each".status, CASE WHEN ("each".waited <= 0.001) THEN 0 WHEN ("each".waited <= 0.002) THEN 1 WHEN ("each".waited <= 0.005) THEN 2 WHEN ("each".waited <= 0.01) THEN 3 WHEN ("each".waited <= 0.02) THEN 4 WHEN ("each".waited <= 0.05) THEN 5 WHEN ("each".waited <= 0.1) THEN 6 WHEN ("each".waited <= 0.2) THEN 7 WHEN ("each".waited <= 0.5) THEN 8 WHEN ("each".waited <= 1) THEN 9 WHEN ("each".waited <= 2) THEN 10 WHEN ("each".waited <= 5) THEN 11 WHEN ("each".waited <= 10) THEN 12 WHEN ("each".waited <= 20) THEN 13 WHEN ("each".waited <= 50) THEN 14 WHEN ("each".waited <= 100) THEN 15 WHEN ("each".waited <= 200) THEN 16 WHEN ("each".waited <= 500) THEN 17 WHEN ("each".waited <= 1000) THEN 18 WHEN ("each".waited <= 2000) THEN 19 WHEN ("each".waited <= 5000) THEN 20 WHEN ("each".waited <= 10000) THEN 21 WHEN ("each".waited <= 20000) THEN 22 WHEN ("each".waited <= 50000) THEN 23 WHEN ("each".waited IS NOT NULL) THEN 24 END AS wait_bin, CASE WHEN ("each".ran <= 0.001) THEN 0 WHEN ("each".ran <= 0.002) THEN 1 WHEN ("each".ran <= 0.005) THEN 2 WHEN ("each".ran <= 0.01) THEN 3 WHEN ("each".ran <= 0.02) THEN 4 WHEN ("each".ran <= 0.05) THEN 5 WHEN ("each".ran <= 0.1) THEN 6 WHEN ("each".ran <= 0.2) THEN 7 WHEN ("each".ran <= 0.5) THEN 8 WHEN ("each".ran <= 1) THEN 9 WHEN ("each".ran <= 2) THEN 10 WHEN ("each".ran <= 5) THEN 11 WHEN ("each".ran <= 10) THEN 12 WHEN ("each".ran <= 20) THEN 13 WHEN ("each".ran <= 50) THEN 14 WHEN ("each".ran <= 100) THEN 15 WHEN ("each".ran <= 200) THEN 16 WHEN ("each".ran <= 500) THEN 17 WHEN ("each".ran <= 1000) THEN 18 WHEN ("each".ran <= 2000) THEN 19 WHEN ("each".ran <= 5000) THEN 20 WHEN ("each".ran <= 10000) THEN 21 WHEN ("each".ran <= 20000) THEN 22 WHEN ("each".ran <= 50000) THEN 23 WHEN ("each".ran IS NOT NULL) THEN 24 END AS run_bin, CASE WHEN ("each".processor_seconds <= 0.001) THEN 0 WHEN ("each".processor_seconds <= 0.002) THEN 1 WHEN ("each".processor_seconds <= 0.005) THEN 2 WHEN ("each".processor_seconds <= 0.01) THEN 3 WHEN ("each".processor_seconds <= 0.02) THEN 4 WHEN ("each".processor_seconds <= 0.05) THEN 5 WHEN ("each".processor_seconds <= 0.1) THEN 6 WHEN ("each".processor_seconds <= 0.2) THEN 7 WHEN ("each".processor_seconds <= 0.5) THEN 8 WHEN ("each".processor_seconds <= 1) THEN 9 WHEN ("each".processor_seconds <= 2) THEN 10 WHEN ("each".processor_seconds <= 5) THEN 11 WHEN ("each".processor_seconds <= 10) THEN 12 WHEN ("each".processor_seconds <= 20) THEN 13 WHEN ("each".processor_seconds <= 50) THEN 14 WHEN ("each".processor_seconds <= 100) THEN 15 WHEN ("each".processor_seconds <= 200) THEN 16 WHEN ("each".processor_seconds <= 500) THEN 17 WHEN ("each".processor_seconds <= 1000) THEN 18 WHEN ("each".processor_seconds <= 2000) THEN 19 WHEN ("each".processor_seconds <= 5000) THEN 20 WHEN ("each".processor_seconds <= 10000) THEN 21 WHEN ("each".processor_seconds <= 20000) THEN 22 WHEN ("each".processor_seconds <= 50000) THEN 23 WHEN ("each".processor_seconds IS NOT NULL) THEN 24 END AS processor_bin, CASE WHEN ("each".peak_memory_bytes <= 1048576) THEN 0 WHEN ("each".peak_memory_bytes <= 2097152) THEN 1 WHEN ("each".peak_memory_bytes <= 4194304) THEN 2 WHEN ("each".peak_memory_bytes <= 8388608) THEN 3 WHEN ("each".peak_memory_bytes <= 16777216) THEN 4 WHEN ("each".peak_memory_bytes <= 33554432) THEN 5 WHEN ("each".peak_memory_bytes <= 67108864) THEN 6 WHEN ("each".peak_memory_bytes <= 134217728) THEN 7 WHEN ("each".peak_memory_bytes <= 268435456) THEN 8 WHEN ("each".peak_memory_bytes <= 536870912) THEN 9 WHEN ("each".peak_memory_bytes <= 1073741824) THEN 10 WHEN ("each".peak_memory_bytes <= 2147483648) THEN 11 WHEN ("each".peak_memory_bytes <= 4294967296) THEN 12 WHEN ("each".peak_memory_bytes <= 8589934592) THEN 13 WHEN ("each".peak_memory_bytes <= 17179869184) THEN 14 WHEN ("each".peak_memory_bytes <= 34359738368) THEN 15 WHEN ("each".peak_memory_bytes <= 68719476736) THEN 16 WHEN ("each".peak_memory_bytes <= 137438953472) THEN 17 WHEN ("each".peak_memory_bytes <= 274877906944) THEN 18 WHEN ("each".peak_memory_bytes <= 549755813888) THEN 19 WHEN ("each".peak_memory_bytes <= 1099511627776) THEN 20 WHEN ("each".peak_memory_bytes IS NOT NULL) THEN 21 END AS memory_bin, count(*) AS ends, sum("each".waited) AS waited, max("each".waited) AS longest_wait, sum("each".ran) AS ran, max("each".ran) AS longest_run, coalesce(sum("each".processor_seconds), 0.0) AS processor, coalesce(max("each".processor_seconds), 0.0) AS most_processor, coalesce(max("each".peak_memory_bytes), 0) AS most_memory
FROM (SELECT (job_attempts.finished_at - job_attempts.finished_at % 3600000000) AS at, job_runs.job_type AS job_type, job_attempts.outcome AS outcome, coalesce(job_attempts.status, '') AS status, CASE WHEN (coalesce(((job_attempts.started_at - job_attempts.due_at) / 1000000.0), 0.0) < 0.0) THEN 0.0 ELSE coalesce(((job_attempts.started_at - job_attempts.due_at) / 1000000.0), 0.0) END AS waited, CASE WHEN (((job_attempts.finished_at - job_attempts.started_at) / 1000000.0) < 0.0) THEN 0.0 ELSE ((job_attempts.finished_at - job_attempts.started_at) / 1000000.0) END AS ran, job_attempts.processor_seconds AS processor_seconds, job_attempts.peak_memory_bytes AS peak_memory_bytes
FROM job_attempts JOIN job_runs ON job_runs.id = job_attempts.run_id
WHERE job_attempts.id > :after AND job_attempts.id <= :upto
 LIMIT :param_1 OFFSET 0) AS "each" GROUP BY "each".at, "each".job_type, "each".outcome, "each".status, CASE WHEN ("each".waited <= 0.001) THEN 0 WHEN ("each".waited <= 0.002) THEN 1 WHEN ("each".waited <= 0.005) THEN 2 WHEN ("each".waited <= 0.01) THEN 3 WHEN ("each".waited <= 0.02) THEN 4 WHEN ("each".waited <= 0.05) THEN 5 WHEN ("each".waited <= 0.1) THEN 6 WHEN ("each".waited <= 0.2) THEN 7 WHEN ("each".waited <= 0.5) THEN 8 WHEN ("each".waited <= 1) THEN 9 WHEN ("each".waited <= 2) THEN 10 WHEN ("each".waited <= 5) THEN 11 WHEN ("each".waited <= 10) THEN 12 WHEN ("each".waited <= 20) THEN 13 WHEN ("each".waited <= 50) THEN 14 WHEN ("each".waited <= 100) THEN 15 WHEN ("each".waited <= 200) THEN 16 WHEN ("each".waited <= 500) THEN 17 WHEN ("each".waited <= 1000) THEN 18 WHEN ("each".waited <= 2000) THEN 19 WHEN ("each".waited <= 5000) THEN 20 WHEN ("each".waited <= 10000) THEN 21 WHEN ("each".waited <= 20000) THEN 22 WHEN ("each".waited <= 50000) THEN 23 WHEN ("each".waited IS NOT NULL) THEN 24 END, CASE WHEN ("each".ran <= 0.001) THEN 0 WHEN ("each".ran <= 0.002) THEN 1 WHEN ("each".ran <= 0.005) THEN 2 WHEN ("each".ran <= 0.01) THEN 3 WHEN ("each".ran <= 0.02) THEN 4 WHEN ("each".ran <= 0.05) THEN 5 WHEN ("each".ran <= 0.1) THEN 6 WHEN ("each".ran <= 0.2) THEN 7 WHEN ("each".ran <= 0.5) THEN 8 WHEN ("each".ran <= 1) THEN 9 WHEN ("each".ran <= 2) THEN 10 WHEN ("each".ran <= 5) THEN 11 WHEN ("each".ran <= 10) THEN 12 WHEN ("each".ran <= 20) THEN 13 WHEN ("each".ran <= 50) THEN 14 WHEN ("each".ran <= 100) THEN 15 WHEN ("each".ran <= 200) THEN 16 WHEN ("each".ran <= 500) THEN 17 WHEN ("each".ran <= 1000) THEN 18 WHEN ("each".ran <= 2000) THEN 19 WHEN ("each".ran <= 5000) THEN 20 WHEN ("each".ran <= 10000) THEN 21 WHEN ("each".ran <= 20000) THEN 22 WHEN ("each".ran <= 50000) THEN 23 WHEN ("each".ran IS NOT NULL) THEN 24 END, CASE WHEN ("each".processor_seconds <= 0.001) THEN 0 WHEN ("each".processor_seconds <= 0.002) THEN 1 WHEN ("each".processor_seconds <= 0.005) THEN 2 WHEN ("each".processor_seconds <= 0.01) THEN 3 WHEN ("each".processor_seconds <= 0.02) THEN 4 WHEN ("each".processor_seconds <= 0.05) THEN 5 WHEN ("each".processor_seconds <= 0.1) THEN 6 WHEN ("each".processor_seconds <= 0.2) THEN 7 WHEN ("each".processor_seconds <= 0.5) THEN 8 WHEN ("each".processor_seconds <= 1) THEN 9 WHEN ("each".processor_seconds <= 2) THEN 10 WHEN ("each".processor_seconds <= 5) THEN 11 WHEN ("each".processor_seconds <= 10) THEN 12 WHEN ("each".processor_seconds <= 20) THEN 13 WHEN ("each".processor_seconds <= 50) THEN 14 WHEN ("each".processor_seconds <= 100) THEN 15 WHEN ("each".processor_seconds <= 200) THEN 16 WHEN ("each".processor_seconds <= 500) THEN 17 WHEN ("each".processor_seconds <= 1000) THEN 18 WHEN ("each".processor_seconds <= 2000) THEN 19 WHEN ("each".processor_seconds <= 5000) THEN 20 WHEN ("each".processor_seconds <= 10000) THEN 21 WHEN ("each".processor_seconds <= 20000) THEN 22 WHEN ("each".processor_seconds <= 50000) THEN 23 WHEN ("each".processor_seconds IS NOT NULL) THEN 24 END, CASE WHEN ("each".peak_memory_bytes <= 1048576) THEN 0 WHEN ("each".peak_memory_bytes <= 2097152) THEN 1 WHEN ("each".peak_memory_bytes <= 4194304) THEN 2 WHEN ("each".peak_memory_bytes <= 8388608) THEN 3 WHEN ("each".peak_memory_bytes <= 16777216) THEN 4 WHEN ("each".peak_memory_bytes <= 33554432) THEN 5 WHEN ("each".peak_memory_bytes <= 67108864) THEN 6 WHEN ("each".peak_memory_bytes <= 134217728) THEN 7 WHEN ("each".peak_memory_bytes <= 268435456) THEN 8 WHEN ("each".peak_memory_bytes <= 536870912) THEN 9 WHEN ("each".peak_memory_bytes <= 1073741824) THEN 10 WHEN ("each".peak_memory_bytes <= 2147483648) THEN 11 WHEN ("each".peak_memory_bytes <= 4294967296) THEN 12 WHEN ("each".peak_memory_bytes <= 8589934592) THEN 13 WHEN ("each".peak_memory_bytes <= 17179869184) THEN 14 WHEN ("each".peak_memory_bytes <= 34359738368) THEN 15 WHEN ("each".peak_memory_bytes <= 68719476736) THEN 16 WHEN ("each".peak_memory_bytes <= 137438953472) THEN 17 WHEN ("each".peak_memory_bytes <= 274877906944) THEN 18 WHEN ("each".peak_memory_bytes <= 549755813888) THEN 19 WHEN ("each".peak_memory_bytes <= 1099511627776) THEN 20 WHEN ("each".peak_memory_bytes IS NOT NULL) THEN 21 END""",
        {'param_1': -1},
        {},
        (('at', 'instant'), ('job_type', None), ('outcome', None), ('status', None), ('wait_bin', None), ('run_bin', None), ('processor_bin', None), ('memory_bin', None), ('ends', None), ('waited', None), ('longest_wait', None), ('ran', None), ('longest_run', None), ('processor', None), ('most_processor', None), ('most_memory', None)),
    ),
    ('tallies.ended_of_runs', ()): (
        """SELECT "each".at, "each".job_type, "each".outcome, "each".status, CASE WHEN ("each".waited <= 0.001) THEN 0 WHEN ("each".waited <= 0.002) THEN 1 WHEN ("each".waited <= 0.005) THEN 2 WHEN ("each".waited <= 0.01) THEN 3 WHEN ("each".waited <= 0.02) THEN 4 WHEN ("each".waited <= 0.05) THEN 5 WHEN ("each".waited <= 0.1) THEN 6 WHEN ("each".waited <= 0.2) THEN 7 WHEN ("each".waited <= 0.5) THEN 8 WHEN ("each".waited <= 1) THEN 9 WHEN ("each".waited <= 2) THEN 10 WHEN ("each".waited <= 5) THEN 11 WHEN ("each".waited <= 10) THEN 12 WHEN ("each".waited <= 20) THEN 13 WHEN ("each".waited <= 50) THEN 14 WHEN ("each".waited <= 100) THEN 15 WHEN ("each".waited <= 200) THEN 16 WHEN ("each".waited <= 500) THEN 17 WHEN ("each".waited <= 1000) THEN 18 WHEN ("each".waited <= 2000) THEN 19 WHEN ("each".waited <= 5000) THEN 20 WHEN ("each".waited <= 10000) THEN 21 WHEN ("each".waited <= 20000) THEN 22 WHEN ("each".waited <= 50000) THEN 23 WHEN ("each".waited IS NOT NULL) THEN 24 END AS wait_bin, CASE WHEN ("each".ran <= 0.001) THEN 0 WHEN ("each".ran <= 0.002) THEN 1 WHEN ("each".ran <= 0.005) THEN 2 WHEN ("each".ran <= 0.01) THEN 3 WHEN ("each".ran <= 0.02) THEN 4 WHEN ("each".ran <= 0.05) THEN 5 WHEN ("each".ran <= 0.1) THEN 6 WHEN ("each".ran <= 0.2) THEN 7 WHEN ("each".ran <= 0.5) THEN 8 WHEN ("each".ran <= 1) THEN 9 WHEN ("each".ran <= 2) THEN 10 WHEN ("each".ran <= 5) THEN 11 WHEN ("each".ran <= 10) THEN 12 WHEN ("each".ran <= 20) THEN 13 WHEN ("each".ran <= 50) THEN 14 WHEN ("each".ran <= 100) THEN 15 WHEN ("each".ran <= 200) THEN 16 WHEN ("each".ran <= 500) THEN 17 WHEN ("each".ran <= 1000) THEN 18 WHEN ("each".ran <= 2000) THEN 19 WHEN ("each".ran <= 5000) THEN 20 WHEN ("each".ran <= 10000) THEN 21 WHEN ("each".ran <= 20000) THEN 22 WHEN ("each".ran <= 50000) THEN 23 WHEN ("each".ran IS NOT NULL) THEN 24 END AS run_bin, CASE WHEN ("each".processor_seconds <= 0.001) THEN 0 WHEN ("each".processor_seconds <= 0.002) THEN 1 WHEN ("each".processor_seconds <= 0.005) THEN 2 WHEN ("each".processor_seconds <= 0.01) THEN 3 WHEN ("each".processor_seconds <= 0.02) THEN 4 WHEN ("each".processor_seconds <= 0.05) THEN 5 WHEN ("each".processor_seconds <= 0.1) THEN 6 WHEN ("each".processor_seconds <= 0.2) THEN 7 WHEN ("each".processor_seconds <= 0.5) THEN 8 WHEN ("each".processor_seconds <= 1) THEN 9 WHEN ("each".processor_seconds <= 2) THEN 10 WHEN ("each".processor_seconds <= 5) THEN 11 WHEN ("each".processor_seconds <= 10) THEN 12 WHEN ("each".processor_seconds <= 20) THEN 13 WHEN ("each".processor_seconds <= 50) THEN 14 WHEN ("each".processor_seconds <= 100) THEN 15 WHEN ("each".processor_seconds <= 200) THEN 16 WHEN ("each".processor_seconds <= 500) THEN 17 WHEN ("each".processor_seconds <= 1000) THEN 18 WHEN ("each".processor_seconds <= 2000) THEN 19 WHEN ("each".processor_seconds <= 5000) THEN 20 WHEN ("each".processor_seconds <= 10000) THEN 21 WHEN ("each".processor_seconds <= 20000) THEN 22 WHEN ("each".processor_seconds <= 50000) THEN 23 WHEN ("each".processor_seconds IS NOT NULL) THEN 24 END AS processor_bin, CASE WHEN ("each".peak_memory_bytes <= 1048576) THEN 0 WHEN ("each".peak_memory_bytes <= 2097152) THEN 1 WHEN ("each".peak_memory_bytes <= 4194304) THEN 2 WHEN ("each".peak_memory_bytes <= 8388608) THEN 3 WHEN ("each".peak_memory_bytes <= 16777216) THEN 4 WHEN ("each".peak_memory_bytes <= 33554432) THEN 5 WHEN ("each".peak_memory_bytes <= 67108864) THEN 6 WHEN ("each".peak_memory_bytes <= 134217728) THEN 7 WHEN ("each".peak_memory_bytes <= 268435456) THEN 8 WHEN ("each".peak_memory_bytes <= 536870912) THEN 9 WHEN ("each".peak_memory_bytes <= 1073741824) THEN 10 WHEN ("each".peak_memory_bytes <= 2147483648) THEN 11 WHEN ("each".peak_memory_bytes <= 4294967296) THEN 12 WHEN ("each".peak_memory_bytes <= 8589934592) THEN 13 WHEN ("each".peak_memory_bytes <= 17179869184) THEN 14 WHEN ("each".peak_memory_bytes <= 34359738368) THEN 15 WHEN ("each".peak_memory_bytes <= 68719476736) THEN 16 WHEN ("each".peak_memory_bytes <= 137438953472) THEN 17 WHEN ("each".peak_memory_bytes <= 274877906944) THEN 18 WHEN ("each".peak_memory_bytes <= 549755813888) THEN 19 WHEN ("each".peak_memory_bytes <= 1099511627776) THEN 20 WHEN ("each".peak_memory_bytes IS NOT NULL) THEN 21 END AS memory_bin, count(*) AS ends, sum("each".waited) AS waited, max("each".waited) AS longest_wait, sum("each".ran) AS ran, max("each".ran) AS longest_run, coalesce(sum("each".processor_seconds), 0.0) AS processor, coalesce(max("each".processor_seconds), 0.0) AS most_processor, coalesce(max("each".peak_memory_bytes), 0) AS most_memory
FROM (SELECT (job_attempts.finished_at - job_attempts.finished_at % 3600000000) AS at, job_runs.job_type AS job_type, job_attempts.outcome AS outcome, coalesce(job_attempts.status, '') AS status, CASE WHEN (coalesce(((job_attempts.started_at - job_attempts.due_at) / 1000000.0), 0.0) < 0.0) THEN 0.0 ELSE coalesce(((job_attempts.started_at - job_attempts.due_at) / 1000000.0), 0.0) END AS waited, CASE WHEN (((job_attempts.finished_at - job_attempts.started_at) / 1000000.0) < 0.0) THEN 0.0 ELSE ((job_attempts.finished_at - job_attempts.started_at) / 1000000.0) END AS ran, job_attempts.processor_seconds AS processor_seconds, job_attempts.peak_memory_bytes AS peak_memory_bytes
FROM job_attempts JOIN job_runs ON job_runs.id = job_attempts.run_id
WHERE job_attempts.run_id IN (SELECT given.id
FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given) AND job_attempts.id + 0 > :after
 LIMIT :param_1 OFFSET 0) AS "each" GROUP BY "each".at, "each".job_type, "each".outcome, "each".status, CASE WHEN ("each".waited <= 0.001) THEN 0 WHEN ("each".waited <= 0.002) THEN 1 WHEN ("each".waited <= 0.005) THEN 2 WHEN ("each".waited <= 0.01) THEN 3 WHEN ("each".waited <= 0.02) THEN 4 WHEN ("each".waited <= 0.05) THEN 5 WHEN ("each".waited <= 0.1) THEN 6 WHEN ("each".waited <= 0.2) THEN 7 WHEN ("each".waited <= 0.5) THEN 8 WHEN ("each".waited <= 1) THEN 9 WHEN ("each".waited <= 2) THEN 10 WHEN ("each".waited <= 5) THEN 11 WHEN ("each".waited <= 10) THEN 12 WHEN ("each".waited <= 20) THEN 13 WHEN ("each".waited <= 50) THEN 14 WHEN ("each".waited <= 100) THEN 15 WHEN ("each".waited <= 200) THEN 16 WHEN ("each".waited <= 500) THEN 17 WHEN ("each".waited <= 1000) THEN 18 WHEN ("each".waited <= 2000) THEN 19 WHEN ("each".waited <= 5000) THEN 20 WHEN ("each".waited <= 10000) THEN 21 WHEN ("each".waited <= 20000) THEN 22 WHEN ("each".waited <= 50000) THEN 23 WHEN ("each".waited IS NOT NULL) THEN 24 END, CASE WHEN ("each".ran <= 0.001) THEN 0 WHEN ("each".ran <= 0.002) THEN 1 WHEN ("each".ran <= 0.005) THEN 2 WHEN ("each".ran <= 0.01) THEN 3 WHEN ("each".ran <= 0.02) THEN 4 WHEN ("each".ran <= 0.05) THEN 5 WHEN ("each".ran <= 0.1) THEN 6 WHEN ("each".ran <= 0.2) THEN 7 WHEN ("each".ran <= 0.5) THEN 8 WHEN ("each".ran <= 1) THEN 9 WHEN ("each".ran <= 2) THEN 10 WHEN ("each".ran <= 5) THEN 11 WHEN ("each".ran <= 10) THEN 12 WHEN ("each".ran <= 20) THEN 13 WHEN ("each".ran <= 50) THEN 14 WHEN ("each".ran <= 100) THEN 15 WHEN ("each".ran <= 200) THEN 16 WHEN ("each".ran <= 500) THEN 17 WHEN ("each".ran <= 1000) THEN 18 WHEN ("each".ran <= 2000) THEN 19 WHEN ("each".ran <= 5000) THEN 20 WHEN ("each".ran <= 10000) THEN 21 WHEN ("each".ran <= 20000) THEN 22 WHEN ("each".ran <= 50000) THEN 23 WHEN ("each".ran IS NOT NULL) THEN 24 END, CASE WHEN ("each".processor_seconds <= 0.001) THEN 0 WHEN ("each".processor_seconds <= 0.002) THEN 1 WHEN ("each".processor_seconds <= 0.005) THEN 2 WHEN ("each".processor_seconds <= 0.01) THEN 3 WHEN ("each".processor_seconds <= 0.02) THEN 4 WHEN ("each".processor_seconds <= 0.05) THEN 5 WHEN ("each".processor_seconds <= 0.1) THEN 6 WHEN ("each".processor_seconds <= 0.2) THEN 7 WHEN ("each".processor_seconds <= 0.5) THEN 8 WHEN ("each".processor_seconds <= 1) THEN 9 WHEN ("each".processor_seconds <= 2) THEN 10 WHEN ("each".processor_seconds <= 5) THEN 11 WHEN ("each".processor_seconds <= 10) THEN 12 WHEN ("each".processor_seconds <= 20) THEN 13 WHEN ("each".processor_seconds <= 50) THEN 14 WHEN ("each".processor_seconds <= 100) THEN 15 WHEN ("each".processor_seconds <= 200) THEN 16 WHEN ("each".processor_seconds <= 500) THEN 17 WHEN ("each".processor_seconds <= 1000) THEN 18 WHEN ("each".processor_seconds <= 2000) THEN 19 WHEN ("each".processor_seconds <= 5000) THEN 20 WHEN ("each".processor_seconds <= 10000) THEN 21 WHEN ("each".processor_seconds <= 20000) THEN 22 WHEN ("each".processor_seconds <= 50000) THEN 23 WHEN ("each".processor_seconds IS NOT NULL) THEN 24 END, CASE WHEN ("each".peak_memory_bytes <= 1048576) THEN 0 WHEN ("each".peak_memory_bytes <= 2097152) THEN 1 WHEN ("each".peak_memory_bytes <= 4194304) THEN 2 WHEN ("each".peak_memory_bytes <= 8388608) THEN 3 WHEN ("each".peak_memory_bytes <= 16777216) THEN 4 WHEN ("each".peak_memory_bytes <= 33554432) THEN 5 WHEN ("each".peak_memory_bytes <= 67108864) THEN 6 WHEN ("each".peak_memory_bytes <= 134217728) THEN 7 WHEN ("each".peak_memory_bytes <= 268435456) THEN 8 WHEN ("each".peak_memory_bytes <= 536870912) THEN 9 WHEN ("each".peak_memory_bytes <= 1073741824) THEN 10 WHEN ("each".peak_memory_bytes <= 2147483648) THEN 11 WHEN ("each".peak_memory_bytes <= 4294967296) THEN 12 WHEN ("each".peak_memory_bytes <= 8589934592) THEN 13 WHEN ("each".peak_memory_bytes <= 17179869184) THEN 14 WHEN ("each".peak_memory_bytes <= 34359738368) THEN 15 WHEN ("each".peak_memory_bytes <= 68719476736) THEN 16 WHEN ("each".peak_memory_bytes <= 137438953472) THEN 17 WHEN ("each".peak_memory_bytes <= 274877906944) THEN 18 WHEN ("each".peak_memory_bytes <= 549755813888) THEN 19 WHEN ("each".peak_memory_bytes <= 1099511627776) THEN 20 WHEN ("each".peak_memory_bytes IS NOT NULL) THEN 21 END""",
        {'param_1': -1},
        {'given': (('id', None),)},
        (('at', 'instant'), ('job_type', None), ('outcome', None), ('status', None), ('wait_bin', None), ('run_bin', None), ('processor_bin', None), ('memory_bin', None), ('ends', None), ('waited', None), ('longest_wait', None), ('ran', None), ('longest_run', None), ('processor', None), ('most_processor', None), ('most_memory', None)),
    ),
    ('tallies.ends_since', (False,)): (
        """SELECT summed.status, group_concat(CAST(summed.part AS TEXT), ',') AS part_listed, group_concat(CAST(summed.ends AS TEXT), ',') AS ends_listed
FROM (SELECT CAST(floor(((found.at - :since) / 1000000.0) / (:part_seconds + 0.0)) AS INTEGER) AS part, found.status AS status, CAST(sum(found.ends) AS INTEGER) AS ends
FROM (SELECT job_tallies.at AS at, job_tallies.status AS status, job_tallies.ends AS ends
FROM job_tallies
WHERE job_tallies.span IN ('hour', 'day') AND job_tallies.at >= :since AND job_tallies.status IN ('succeeded', 'dead', 'cancelled') UNION ALL SELECT live.at AS at, live.status AS status, live.ends AS ends
FROM (SELECT "each".at AS at, "each".job_type AS job_type, "each".outcome AS outcome, "each".status AS status, CASE WHEN ("each".waited <= 0.001) THEN 0 WHEN ("each".waited <= 0.002) THEN 1 WHEN ("each".waited <= 0.005) THEN 2 WHEN ("each".waited <= 0.01) THEN 3 WHEN ("each".waited <= 0.02) THEN 4 WHEN ("each".waited <= 0.05) THEN 5 WHEN ("each".waited <= 0.1) THEN 6 WHEN ("each".waited <= 0.2) THEN 7 WHEN ("each".waited <= 0.5) THEN 8 WHEN ("each".waited <= 1) THEN 9 WHEN ("each".waited <= 2) THEN 10 WHEN ("each".waited <= 5) THEN 11 WHEN ("each".waited <= 10) THEN 12 WHEN ("each".waited <= 20) THEN 13 WHEN ("each".waited <= 50) THEN 14 WHEN ("each".waited <= 100) THEN 15 WHEN ("each".waited <= 200) THEN 16 WHEN ("each".waited <= 500) THEN 17 WHEN ("each".waited <= 1000) THEN 18 WHEN ("each".waited <= 2000) THEN 19 WHEN ("each".waited <= 5000) THEN 20 WHEN ("each".waited <= 10000) THEN 21 WHEN ("each".waited <= 20000) THEN 22 WHEN ("each".waited <= 50000) THEN 23 WHEN ("each".waited IS NOT NULL) THEN 24 END AS wait_bin, CASE WHEN ("each".ran <= 0.001) THEN 0 WHEN ("each".ran <= 0.002) THEN 1 WHEN ("each".ran <= 0.005) THEN 2 WHEN ("each".ran <= 0.01) THEN 3 WHEN ("each".ran <= 0.02) THEN 4 WHEN ("each".ran <= 0.05) THEN 5 WHEN ("each".ran <= 0.1) THEN 6 WHEN ("each".ran <= 0.2) THEN 7 WHEN ("each".ran <= 0.5) THEN 8 WHEN ("each".ran <= 1) THEN 9 WHEN ("each".ran <= 2) THEN 10 WHEN ("each".ran <= 5) THEN 11 WHEN ("each".ran <= 10) THEN 12 WHEN ("each".ran <= 20) THEN 13 WHEN ("each".ran <= 50) THEN 14 WHEN ("each".ran <= 100) THEN 15 WHEN ("each".ran <= 200) THEN 16 WHEN ("each".ran <= 500) THEN 17 WHEN ("each".ran <= 1000) THEN 18 WHEN ("each".ran <= 2000) THEN 19 WHEN ("each".ran <= 5000) THEN 20 WHEN ("each".ran <= 10000) THEN 21 WHEN ("each".ran <= 20000) THEN 22 WHEN ("each".ran <= 50000) THEN 23 WHEN ("each".ran IS NOT NULL) THEN 24 END AS run_bin, count(*) AS ends, sum("each".waited) AS waited, max("each".waited) AS longest_wait, sum("each".ran) AS ran, max("each".ran) AS longest_run
FROM (SELECT (job_attempts.finished_at - job_attempts.finished_at % 3600000000) AS at, job_runs.job_type AS job_type, job_attempts.outcome AS outcome, coalesce(job_attempts.status, '') AS status, CASE WHEN (coalesce(((job_attempts.started_at - job_attempts.due_at) / 1000000.0), 0.0) < 0.0) THEN 0.0 ELSE coalesce(((job_attempts.started_at - job_attempts.due_at) / 1000000.0), 0.0) END AS waited, CASE WHEN (((job_attempts.finished_at - job_attempts.started_at) / 1000000.0) < 0.0) THEN 0.0 ELSE ((job_attempts.finished_at - job_attempts.started_at) / 1000000.0) END AS ran
FROM job_attempts JOIN job_runs ON job_runs.id = job_attempts.run_id
WHERE job_attempts.id > (SELECT job_state.counted_to
FROM job_state)
 LIMIT :param_1 OFFSET 0) AS "each" GROUP BY "each".at, "each".job_type, "each".outcome, "each".status, CASE WHEN ("each".waited <= 0.001) THEN 0 WHEN ("each".waited <= 0.002) THEN 1 WHEN ("each".waited <= 0.005) THEN 2 WHEN ("each".waited <= 0.01) THEN 3 WHEN ("each".waited <= 0.02) THEN 4 WHEN ("each".waited <= 0.05) THEN 5 WHEN ("each".waited <= 0.1) THEN 6 WHEN ("each".waited <= 0.2) THEN 7 WHEN ("each".waited <= 0.5) THEN 8 WHEN ("each".waited <= 1) THEN 9 WHEN ("each".waited <= 2) THEN 10 WHEN ("each".waited <= 5) THEN 11 WHEN ("each".waited <= 10) THEN 12 WHEN ("each".waited <= 20) THEN 13 WHEN ("each".waited <= 50) THEN 14 WHEN ("each".waited <= 100) THEN 15 WHEN ("each".waited <= 200) THEN 16 WHEN ("each".waited <= 500) THEN 17 WHEN ("each".waited <= 1000) THEN 18 WHEN ("each".waited <= 2000) THEN 19 WHEN ("each".waited <= 5000) THEN 20 WHEN ("each".waited <= 10000) THEN 21 WHEN ("each".waited <= 20000) THEN 22 WHEN ("each".waited <= 50000) THEN 23 WHEN ("each".waited IS NOT NULL) THEN 24 END, CASE WHEN ("each".ran <= 0.001) THEN 0 WHEN ("each".ran <= 0.002) THEN 1 WHEN ("each".ran <= 0.005) THEN 2 WHEN ("each".ran <= 0.01) THEN 3 WHEN ("each".ran <= 0.02) THEN 4 WHEN ("each".ran <= 0.05) THEN 5 WHEN ("each".ran <= 0.1) THEN 6 WHEN ("each".ran <= 0.2) THEN 7 WHEN ("each".ran <= 0.5) THEN 8 WHEN ("each".ran <= 1) THEN 9 WHEN ("each".ran <= 2) THEN 10 WHEN ("each".ran <= 5) THEN 11 WHEN ("each".ran <= 10) THEN 12 WHEN ("each".ran <= 20) THEN 13 WHEN ("each".ran <= 50) THEN 14 WHEN ("each".ran <= 100) THEN 15 WHEN ("each".ran <= 200) THEN 16 WHEN ("each".ran <= 500) THEN 17 WHEN ("each".ran <= 1000) THEN 18 WHEN ("each".ran <= 2000) THEN 19 WHEN ("each".ran <= 5000) THEN 20 WHEN ("each".ran <= 10000) THEN 21 WHEN ("each".ran <= 20000) THEN 22 WHEN ("each".ran <= 50000) THEN 23 WHEN ("each".ran IS NOT NULL) THEN 24 END) AS live
WHERE live.at >= :since AND live.status IN ('succeeded', 'dead', 'cancelled')) AS found GROUP BY CAST(floor(((found.at - :since) / 1000000.0) / (:part_seconds + 0.0)) AS INTEGER), found.status) AS summed GROUP BY summed.status""",
        {'param_1': -1},
        {'since': 'instant'},
        (('status', None), ('part_listed', None), ('ends_listed', None)),
    ),
    ('tallies.ends_since', (True,)): (
        """SELECT summed.job_type, summed.status, group_concat(CAST(summed.part AS TEXT), ',') AS part_listed, group_concat(CAST(summed.ends AS TEXT), ',') AS ends_listed
FROM (SELECT CAST(floor(((found.at - :since) / 1000000.0) / (:part_seconds + 0.0)) AS INTEGER) AS part, found.job_type AS job_type, found.status AS status, CAST(sum(found.ends) AS INTEGER) AS ends
FROM (SELECT job_tallies.at AS at, job_tallies.job_type AS job_type, job_tallies.status AS status, job_tallies.ends AS ends
FROM job_tallies
WHERE job_tallies.span IN ('hour', 'day') AND job_tallies.at >= :since AND job_tallies.status IN ('succeeded', 'dead', 'cancelled') UNION ALL SELECT live.at AS at, live.job_type AS job_type, live.status AS status, live.ends AS ends
FROM (SELECT "each".at AS at, "each".job_type AS job_type, "each".outcome AS outcome, "each".status AS status, CASE WHEN ("each".waited <= 0.001) THEN 0 WHEN ("each".waited <= 0.002) THEN 1 WHEN ("each".waited <= 0.005) THEN 2 WHEN ("each".waited <= 0.01) THEN 3 WHEN ("each".waited <= 0.02) THEN 4 WHEN ("each".waited <= 0.05) THEN 5 WHEN ("each".waited <= 0.1) THEN 6 WHEN ("each".waited <= 0.2) THEN 7 WHEN ("each".waited <= 0.5) THEN 8 WHEN ("each".waited <= 1) THEN 9 WHEN ("each".waited <= 2) THEN 10 WHEN ("each".waited <= 5) THEN 11 WHEN ("each".waited <= 10) THEN 12 WHEN ("each".waited <= 20) THEN 13 WHEN ("each".waited <= 50) THEN 14 WHEN ("each".waited <= 100) THEN 15 WHEN ("each".waited <= 200) THEN 16 WHEN ("each".waited <= 500) THEN 17 WHEN ("each".waited <= 1000) THEN 18 WHEN ("each".waited <= 2000) THEN 19 WHEN ("each".waited <= 5000) THEN 20 WHEN ("each".waited <= 10000) THEN 21 WHEN ("each".waited <= 20000) THEN 22 WHEN ("each".waited <= 50000) THEN 23 WHEN ("each".waited IS NOT NULL) THEN 24 END AS wait_bin, CASE WHEN ("each".ran <= 0.001) THEN 0 WHEN ("each".ran <= 0.002) THEN 1 WHEN ("each".ran <= 0.005) THEN 2 WHEN ("each".ran <= 0.01) THEN 3 WHEN ("each".ran <= 0.02) THEN 4 WHEN ("each".ran <= 0.05) THEN 5 WHEN ("each".ran <= 0.1) THEN 6 WHEN ("each".ran <= 0.2) THEN 7 WHEN ("each".ran <= 0.5) THEN 8 WHEN ("each".ran <= 1) THEN 9 WHEN ("each".ran <= 2) THEN 10 WHEN ("each".ran <= 5) THEN 11 WHEN ("each".ran <= 10) THEN 12 WHEN ("each".ran <= 20) THEN 13 WHEN ("each".ran <= 50) THEN 14 WHEN ("each".ran <= 100) THEN 15 WHEN ("each".ran <= 200) THEN 16 WHEN ("each".ran <= 500) THEN 17 WHEN ("each".ran <= 1000) THEN 18 WHEN ("each".ran <= 2000) THEN 19 WHEN ("each".ran <= 5000) THEN 20 WHEN ("each".ran <= 10000) THEN 21 WHEN ("each".ran <= 20000) THEN 22 WHEN ("each".ran <= 50000) THEN 23 WHEN ("each".ran IS NOT NULL) THEN 24 END AS run_bin, count(*) AS ends, sum("each".waited) AS waited, max("each".waited) AS longest_wait, sum("each".ran) AS ran, max("each".ran) AS longest_run
FROM (SELECT (job_attempts.finished_at - job_attempts.finished_at % 3600000000) AS at, job_runs.job_type AS job_type, job_attempts.outcome AS outcome, coalesce(job_attempts.status, '') AS status, CASE WHEN (coalesce(((job_attempts.started_at - job_attempts.due_at) / 1000000.0), 0.0) < 0.0) THEN 0.0 ELSE coalesce(((job_attempts.started_at - job_attempts.due_at) / 1000000.0), 0.0) END AS waited, CASE WHEN (((job_attempts.finished_at - job_attempts.started_at) / 1000000.0) < 0.0) THEN 0.0 ELSE ((job_attempts.finished_at - job_attempts.started_at) / 1000000.0) END AS ran
FROM job_attempts JOIN job_runs ON job_runs.id = job_attempts.run_id
WHERE job_attempts.id > (SELECT job_state.counted_to
FROM job_state)
 LIMIT :param_1 OFFSET 0) AS "each" GROUP BY "each".at, "each".job_type, "each".outcome, "each".status, CASE WHEN ("each".waited <= 0.001) THEN 0 WHEN ("each".waited <= 0.002) THEN 1 WHEN ("each".waited <= 0.005) THEN 2 WHEN ("each".waited <= 0.01) THEN 3 WHEN ("each".waited <= 0.02) THEN 4 WHEN ("each".waited <= 0.05) THEN 5 WHEN ("each".waited <= 0.1) THEN 6 WHEN ("each".waited <= 0.2) THEN 7 WHEN ("each".waited <= 0.5) THEN 8 WHEN ("each".waited <= 1) THEN 9 WHEN ("each".waited <= 2) THEN 10 WHEN ("each".waited <= 5) THEN 11 WHEN ("each".waited <= 10) THEN 12 WHEN ("each".waited <= 20) THEN 13 WHEN ("each".waited <= 50) THEN 14 WHEN ("each".waited <= 100) THEN 15 WHEN ("each".waited <= 200) THEN 16 WHEN ("each".waited <= 500) THEN 17 WHEN ("each".waited <= 1000) THEN 18 WHEN ("each".waited <= 2000) THEN 19 WHEN ("each".waited <= 5000) THEN 20 WHEN ("each".waited <= 10000) THEN 21 WHEN ("each".waited <= 20000) THEN 22 WHEN ("each".waited <= 50000) THEN 23 WHEN ("each".waited IS NOT NULL) THEN 24 END, CASE WHEN ("each".ran <= 0.001) THEN 0 WHEN ("each".ran <= 0.002) THEN 1 WHEN ("each".ran <= 0.005) THEN 2 WHEN ("each".ran <= 0.01) THEN 3 WHEN ("each".ran <= 0.02) THEN 4 WHEN ("each".ran <= 0.05) THEN 5 WHEN ("each".ran <= 0.1) THEN 6 WHEN ("each".ran <= 0.2) THEN 7 WHEN ("each".ran <= 0.5) THEN 8 WHEN ("each".ran <= 1) THEN 9 WHEN ("each".ran <= 2) THEN 10 WHEN ("each".ran <= 5) THEN 11 WHEN ("each".ran <= 10) THEN 12 WHEN ("each".ran <= 20) THEN 13 WHEN ("each".ran <= 50) THEN 14 WHEN ("each".ran <= 100) THEN 15 WHEN ("each".ran <= 200) THEN 16 WHEN ("each".ran <= 500) THEN 17 WHEN ("each".ran <= 1000) THEN 18 WHEN ("each".ran <= 2000) THEN 19 WHEN ("each".ran <= 5000) THEN 20 WHEN ("each".ran <= 10000) THEN 21 WHEN ("each".ran <= 20000) THEN 22 WHEN ("each".ran <= 50000) THEN 23 WHEN ("each".ran IS NOT NULL) THEN 24 END) AS live
WHERE live.at >= :since AND live.status IN ('succeeded', 'dead', 'cancelled')) AS found GROUP BY CAST(floor(((found.at - :since) / 1000000.0) / (:part_seconds + 0.0)) AS INTEGER), found.job_type, found.status) AS summed GROUP BY summed.job_type, summed.status""",
        {'param_1': -1},
        {'since': 'instant'},
        (('job_type', None), ('status', None), ('part_listed', None), ('ends_listed', None)),
    ),
    ('tallies.lock_counted_to', ()): (
        """SELECT job_state.counted_to, (SELECT coalesce(max(job_attempts.id), :coalesce_2) AS coalesce_1
FROM job_attempts
WHERE job_attempts.run_id IN (SELECT given.id
FROM (SELECT json_extract(value, '$.id') AS id FROM json_each(:given)) AS given)) AS newest
FROM job_state""",
        {'coalesce_2': 0},
        {'given': (('id', None),)},
        (('counted_to', None), ('newest', None)),
    ),
    ('tallies.marks', ()): (
        """SELECT job_state.counted_to, job_state.counting_to, job_state.counting_after, 0 AS oldest, 0 AS own, (SELECT coalesce(max(job_attempts.id), :coalesce_2) AS coalesce_1
FROM job_attempts) AS newest
FROM job_state""",
        {'coalesce_2': 0},
        {},
        (('counted_to', None), ('counting_to', None), ('counting_after', None), ('oldest', None), ('own', None), ('newest', None)),
    ),
    ('tallies.new', ()): (
        """SELECT job_tallies.id, job_tallies.at, job_tallies.span, job_tallies.job_type, job_tallies.outcome, job_tallies.status, job_tallies.ends, job_tallies.waited, job_tallies.longest_wait, job_tallies.ran, job_tallies.longest_run, job_tallies.waits, job_tallies.runs, job_tallies.is_in_totals, job_tallies.processor, job_tallies.most_processor, job_tallies.processors, job_tallies.most_memory, job_tallies.memories
FROM job_tallies
WHERE job_tallies.is_in_totals = 0 AND job_tallies.at < :before ORDER BY job_tallies.at
 LIMIT :limit OFFSET :param_1""",
        {'param_1': 0},
        {'before': 'instant'},
        (('id', None), ('at', 'instant'), ('span', None), ('job_type', None), ('outcome', None), ('status', None), ('ends', None), ('waited', None), ('longest_wait', None), ('ran', None), ('longest_run', None), ('waits', 'json'), ('runs', 'json'), ('is_in_totals', None), ('processor', None), ('most_processor', None), ('processors', 'json'), ('most_memory', None), ('memories', 'json')),
    ),
    ('tallies.of_old_hours', ()): (
        """SELECT job_tallies.id, job_tallies.at, job_tallies.span, job_tallies.job_type, job_tallies.outcome, job_tallies.status, job_tallies.ends, job_tallies.waited, job_tallies.longest_wait, job_tallies.ran, job_tallies.longest_run, job_tallies.waits, job_tallies.runs, job_tallies.is_in_totals, job_tallies.processor, job_tallies.most_processor, job_tallies.processors, job_tallies.most_memory, job_tallies.memories
FROM job_tallies
WHERE job_tallies.span = 'hour' AND job_tallies.is_in_totals = 1 AND job_tallies.at < :before ORDER BY job_tallies.at
 LIMIT :limit OFFSET :param_1""",
        {'param_1': 0},
        {'before': 'instant'},
        (('id', None), ('at', 'instant'), ('span', None), ('job_type', None), ('outcome', None), ('status', None), ('ends', None), ('waited', None), ('longest_wait', None), ('ran', None), ('longest_run', None), ('waits', 'json'), ('runs', 'json'), ('is_in_totals', None), ('processor', None), ('most_processor', None), ('processors', 'json'), ('most_memory', None), ('memories', 'json')),
    ),
    ('tallies.set_marks', ()): (
        """UPDATE job_state SET counted_to=:new_counted_to, counting_to=:new_counting_to, counting_after=:new_counting_after""",
        {},
        {},
        (),
    ),
    ('tallies.sums_since', ()): (
        """SELECT job_tallies.job_type, job_tallies.outcome, job_tallies.status, CAST(sum(job_tallies.ends) AS INTEGER) AS ends, CAST(sum(job_tallies.waited) AS REAL) AS waited, CAST(sum(job_tallies.ran) AS REAL) AS ran, CAST(sum(job_tallies.processor) AS REAL) AS processor, max(job_tallies.longest_wait) AS longest_wait, max(job_tallies.longest_run) AS longest_run, max(job_tallies.most_processor) AS most_processor, max(job_tallies.most_memory) AS most_memory, group_concat(CAST(job_tallies.waits AS TEXT), ',') AS waits, group_concat(CAST(job_tallies.runs AS TEXT), ',') AS runs, group_concat(CAST(job_tallies.processors AS TEXT), ',') AS processors, group_concat(CAST(job_tallies.memories AS TEXT), ',') AS memories, CAST(NULL AS INTEGER) AS wait_bin, CAST(NULL AS INTEGER) AS run_bin, CAST(NULL AS INTEGER) AS processor_bin, CAST(NULL AS INTEGER) AS memory_bin
FROM job_tallies
WHERE job_tallies.span IN ('hour', 'day') AND job_tallies.at >= :since GROUP BY job_tallies.job_type, job_tallies.outcome, job_tallies.status, CASE WHEN job_tallies.span = 'hour' THEN job_tallies.at - job_tallies.at % 86400000000 END UNION ALL SELECT live.job_type, live.outcome, live.status, live.ends, live.waited, live.ran, live.processor, live.longest_wait, live.longest_run, live.most_processor, live.most_memory, CAST(NULL AS TEXT) AS anon_1, CAST(NULL AS TEXT) AS anon__1, CAST(NULL AS TEXT) AS anon__2, CAST(NULL AS TEXT) AS anon__3, live.wait_bin, live.run_bin, live.processor_bin, live.memory_bin
FROM (SELECT "each".at AS at, "each".job_type AS job_type, "each".outcome AS outcome, "each".status AS status, CASE WHEN ("each".waited <= 0.001) THEN 0 WHEN ("each".waited <= 0.002) THEN 1 WHEN ("each".waited <= 0.005) THEN 2 WHEN ("each".waited <= 0.01) THEN 3 WHEN ("each".waited <= 0.02) THEN 4 WHEN ("each".waited <= 0.05) THEN 5 WHEN ("each".waited <= 0.1) THEN 6 WHEN ("each".waited <= 0.2) THEN 7 WHEN ("each".waited <= 0.5) THEN 8 WHEN ("each".waited <= 1) THEN 9 WHEN ("each".waited <= 2) THEN 10 WHEN ("each".waited <= 5) THEN 11 WHEN ("each".waited <= 10) THEN 12 WHEN ("each".waited <= 20) THEN 13 WHEN ("each".waited <= 50) THEN 14 WHEN ("each".waited <= 100) THEN 15 WHEN ("each".waited <= 200) THEN 16 WHEN ("each".waited <= 500) THEN 17 WHEN ("each".waited <= 1000) THEN 18 WHEN ("each".waited <= 2000) THEN 19 WHEN ("each".waited <= 5000) THEN 20 WHEN ("each".waited <= 10000) THEN 21 WHEN ("each".waited <= 20000) THEN 22 WHEN ("each".waited <= 50000) THEN 23 WHEN ("each".waited IS NOT NULL) THEN 24 END AS wait_bin, CASE WHEN ("each".ran <= 0.001) THEN 0 WHEN ("each".ran <= 0.002) THEN 1 WHEN ("each".ran <= 0.005) THEN 2 WHEN ("each".ran <= 0.01) THEN 3 WHEN ("each".ran <= 0.02) THEN 4 WHEN ("each".ran <= 0.05) THEN 5 WHEN ("each".ran <= 0.1) THEN 6 WHEN ("each".ran <= 0.2) THEN 7 WHEN ("each".ran <= 0.5) THEN 8 WHEN ("each".ran <= 1) THEN 9 WHEN ("each".ran <= 2) THEN 10 WHEN ("each".ran <= 5) THEN 11 WHEN ("each".ran <= 10) THEN 12 WHEN ("each".ran <= 20) THEN 13 WHEN ("each".ran <= 50) THEN 14 WHEN ("each".ran <= 100) THEN 15 WHEN ("each".ran <= 200) THEN 16 WHEN ("each".ran <= 500) THEN 17 WHEN ("each".ran <= 1000) THEN 18 WHEN ("each".ran <= 2000) THEN 19 WHEN ("each".ran <= 5000) THEN 20 WHEN ("each".ran <= 10000) THEN 21 WHEN ("each".ran <= 20000) THEN 22 WHEN ("each".ran <= 50000) THEN 23 WHEN ("each".ran IS NOT NULL) THEN 24 END AS run_bin, CASE WHEN ("each".processor_seconds <= 0.001) THEN 0 WHEN ("each".processor_seconds <= 0.002) THEN 1 WHEN ("each".processor_seconds <= 0.005) THEN 2 WHEN ("each".processor_seconds <= 0.01) THEN 3 WHEN ("each".processor_seconds <= 0.02) THEN 4 WHEN ("each".processor_seconds <= 0.05) THEN 5 WHEN ("each".processor_seconds <= 0.1) THEN 6 WHEN ("each".processor_seconds <= 0.2) THEN 7 WHEN ("each".processor_seconds <= 0.5) THEN 8 WHEN ("each".processor_seconds <= 1) THEN 9 WHEN ("each".processor_seconds <= 2) THEN 10 WHEN ("each".processor_seconds <= 5) THEN 11 WHEN ("each".processor_seconds <= 10) THEN 12 WHEN ("each".processor_seconds <= 20) THEN 13 WHEN ("each".processor_seconds <= 50) THEN 14 WHEN ("each".processor_seconds <= 100) THEN 15 WHEN ("each".processor_seconds <= 200) THEN 16 WHEN ("each".processor_seconds <= 500) THEN 17 WHEN ("each".processor_seconds <= 1000) THEN 18 WHEN ("each".processor_seconds <= 2000) THEN 19 WHEN ("each".processor_seconds <= 5000) THEN 20 WHEN ("each".processor_seconds <= 10000) THEN 21 WHEN ("each".processor_seconds <= 20000) THEN 22 WHEN ("each".processor_seconds <= 50000) THEN 23 WHEN ("each".processor_seconds IS NOT NULL) THEN 24 END AS processor_bin, CASE WHEN ("each".peak_memory_bytes <= 1048576) THEN 0 WHEN ("each".peak_memory_bytes <= 2097152) THEN 1 WHEN ("each".peak_memory_bytes <= 4194304) THEN 2 WHEN ("each".peak_memory_bytes <= 8388608) THEN 3 WHEN ("each".peak_memory_bytes <= 16777216) THEN 4 WHEN ("each".peak_memory_bytes <= 33554432) THEN 5 WHEN ("each".peak_memory_bytes <= 67108864) THEN 6 WHEN ("each".peak_memory_bytes <= 134217728) THEN 7 WHEN ("each".peak_memory_bytes <= 268435456) THEN 8 WHEN ("each".peak_memory_bytes <= 536870912) THEN 9 WHEN ("each".peak_memory_bytes <= 1073741824) THEN 10 WHEN ("each".peak_memory_bytes <= 2147483648) THEN 11 WHEN ("each".peak_memory_bytes <= 4294967296) THEN 12 WHEN ("each".peak_memory_bytes <= 8589934592) THEN 13 WHEN ("each".peak_memory_bytes <= 17179869184) THEN 14 WHEN ("each".peak_memory_bytes <= 34359738368) THEN 15 WHEN ("each".peak_memory_bytes <= 68719476736) THEN 16 WHEN ("each".peak_memory_bytes <= 137438953472) THEN 17 WHEN ("each".peak_memory_bytes <= 274877906944) THEN 18 WHEN ("each".peak_memory_bytes <= 549755813888) THEN 19 WHEN ("each".peak_memory_bytes <= 1099511627776) THEN 20 WHEN ("each".peak_memory_bytes IS NOT NULL) THEN 21 END AS memory_bin, count(*) AS ends, sum("each".waited) AS waited, max("each".waited) AS longest_wait, sum("each".ran) AS ran, max("each".ran) AS longest_run, coalesce(sum("each".processor_seconds), 0.0) AS processor, coalesce(max("each".processor_seconds), 0.0) AS most_processor, coalesce(max("each".peak_memory_bytes), 0) AS most_memory
FROM (SELECT (job_attempts.finished_at - job_attempts.finished_at % 3600000000) AS at, job_runs.job_type AS job_type, job_attempts.outcome AS outcome, coalesce(job_attempts.status, '') AS status, CASE WHEN (coalesce(((job_attempts.started_at - job_attempts.due_at) / 1000000.0), 0.0) < 0.0) THEN 0.0 ELSE coalesce(((job_attempts.started_at - job_attempts.due_at) / 1000000.0), 0.0) END AS waited, CASE WHEN (((job_attempts.finished_at - job_attempts.started_at) / 1000000.0) < 0.0) THEN 0.0 ELSE ((job_attempts.finished_at - job_attempts.started_at) / 1000000.0) END AS ran, job_attempts.processor_seconds AS processor_seconds, job_attempts.peak_memory_bytes AS peak_memory_bytes
FROM job_attempts JOIN job_runs ON job_runs.id = job_attempts.run_id
WHERE job_attempts.id > (SELECT job_state.counted_to
FROM job_state)
 LIMIT :param_1 OFFSET 0) AS "each" GROUP BY "each".at, "each".job_type, "each".outcome, "each".status, CASE WHEN ("each".waited <= 0.001) THEN 0 WHEN ("each".waited <= 0.002) THEN 1 WHEN ("each".waited <= 0.005) THEN 2 WHEN ("each".waited <= 0.01) THEN 3 WHEN ("each".waited <= 0.02) THEN 4 WHEN ("each".waited <= 0.05) THEN 5 WHEN ("each".waited <= 0.1) THEN 6 WHEN ("each".waited <= 0.2) THEN 7 WHEN ("each".waited <= 0.5) THEN 8 WHEN ("each".waited <= 1) THEN 9 WHEN ("each".waited <= 2) THEN 10 WHEN ("each".waited <= 5) THEN 11 WHEN ("each".waited <= 10) THEN 12 WHEN ("each".waited <= 20) THEN 13 WHEN ("each".waited <= 50) THEN 14 WHEN ("each".waited <= 100) THEN 15 WHEN ("each".waited <= 200) THEN 16 WHEN ("each".waited <= 500) THEN 17 WHEN ("each".waited <= 1000) THEN 18 WHEN ("each".waited <= 2000) THEN 19 WHEN ("each".waited <= 5000) THEN 20 WHEN ("each".waited <= 10000) THEN 21 WHEN ("each".waited <= 20000) THEN 22 WHEN ("each".waited <= 50000) THEN 23 WHEN ("each".waited IS NOT NULL) THEN 24 END, CASE WHEN ("each".ran <= 0.001) THEN 0 WHEN ("each".ran <= 0.002) THEN 1 WHEN ("each".ran <= 0.005) THEN 2 WHEN ("each".ran <= 0.01) THEN 3 WHEN ("each".ran <= 0.02) THEN 4 WHEN ("each".ran <= 0.05) THEN 5 WHEN ("each".ran <= 0.1) THEN 6 WHEN ("each".ran <= 0.2) THEN 7 WHEN ("each".ran <= 0.5) THEN 8 WHEN ("each".ran <= 1) THEN 9 WHEN ("each".ran <= 2) THEN 10 WHEN ("each".ran <= 5) THEN 11 WHEN ("each".ran <= 10) THEN 12 WHEN ("each".ran <= 20) THEN 13 WHEN ("each".ran <= 50) THEN 14 WHEN ("each".ran <= 100) THEN 15 WHEN ("each".ran <= 200) THEN 16 WHEN ("each".ran <= 500) THEN 17 WHEN ("each".ran <= 1000) THEN 18 WHEN ("each".ran <= 2000) THEN 19 WHEN ("each".ran <= 5000) THEN 20 WHEN ("each".ran <= 10000) THEN 21 WHEN ("each".ran <= 20000) THEN 22 WHEN ("each".ran <= 50000) THEN 23 WHEN ("each".ran IS NOT NULL) THEN 24 END, CASE WHEN ("each".processor_seconds <= 0.001) THEN 0 WHEN ("each".processor_seconds <= 0.002) THEN 1 WHEN ("each".processor_seconds <= 0.005) THEN 2 WHEN ("each".processor_seconds <= 0.01) THEN 3 WHEN ("each".processor_seconds <= 0.02) THEN 4 WHEN ("each".processor_seconds <= 0.05) THEN 5 WHEN ("each".processor_seconds <= 0.1) THEN 6 WHEN ("each".processor_seconds <= 0.2) THEN 7 WHEN ("each".processor_seconds <= 0.5) THEN 8 WHEN ("each".processor_seconds <= 1) THEN 9 WHEN ("each".processor_seconds <= 2) THEN 10 WHEN ("each".processor_seconds <= 5) THEN 11 WHEN ("each".processor_seconds <= 10) THEN 12 WHEN ("each".processor_seconds <= 20) THEN 13 WHEN ("each".processor_seconds <= 50) THEN 14 WHEN ("each".processor_seconds <= 100) THEN 15 WHEN ("each".processor_seconds <= 200) THEN 16 WHEN ("each".processor_seconds <= 500) THEN 17 WHEN ("each".processor_seconds <= 1000) THEN 18 WHEN ("each".processor_seconds <= 2000) THEN 19 WHEN ("each".processor_seconds <= 5000) THEN 20 WHEN ("each".processor_seconds <= 10000) THEN 21 WHEN ("each".processor_seconds <= 20000) THEN 22 WHEN ("each".processor_seconds <= 50000) THEN 23 WHEN ("each".processor_seconds IS NOT NULL) THEN 24 END, CASE WHEN ("each".peak_memory_bytes <= 1048576) THEN 0 WHEN ("each".peak_memory_bytes <= 2097152) THEN 1 WHEN ("each".peak_memory_bytes <= 4194304) THEN 2 WHEN ("each".peak_memory_bytes <= 8388608) THEN 3 WHEN ("each".peak_memory_bytes <= 16777216) THEN 4 WHEN ("each".peak_memory_bytes <= 33554432) THEN 5 WHEN ("each".peak_memory_bytes <= 67108864) THEN 6 WHEN ("each".peak_memory_bytes <= 134217728) THEN 7 WHEN ("each".peak_memory_bytes <= 268435456) THEN 8 WHEN ("each".peak_memory_bytes <= 536870912) THEN 9 WHEN ("each".peak_memory_bytes <= 1073741824) THEN 10 WHEN ("each".peak_memory_bytes <= 2147483648) THEN 11 WHEN ("each".peak_memory_bytes <= 4294967296) THEN 12 WHEN ("each".peak_memory_bytes <= 8589934592) THEN 13 WHEN ("each".peak_memory_bytes <= 17179869184) THEN 14 WHEN ("each".peak_memory_bytes <= 34359738368) THEN 15 WHEN ("each".peak_memory_bytes <= 68719476736) THEN 16 WHEN ("each".peak_memory_bytes <= 137438953472) THEN 17 WHEN ("each".peak_memory_bytes <= 274877906944) THEN 18 WHEN ("each".peak_memory_bytes <= 549755813888) THEN 19 WHEN ("each".peak_memory_bytes <= 1099511627776) THEN 20 WHEN ("each".peak_memory_bytes IS NOT NULL) THEN 21 END) AS live
WHERE live.at >= :since""",
        {'param_1': -1},
        {'since': 'instant'},
        (('job_type', None), ('outcome', None), ('status', None), ('ends', None), ('waited', None), ('ran', None), ('processor', None), ('longest_wait', None), ('longest_run', None), ('most_processor', None), ('most_memory', None), ('waits', None), ('runs', None), ('processors', None), ('memories', None), ('wait_bin', None), ('run_bin', None), ('processor_bin', None), ('memory_bin', None)),
    ),
    ('ticks.claimable', ('sqlite',)): (
        """SELECT found.id
FROM (SELECT due.id AS id
FROM (SELECT of_type.id AS id, of_type.turn_at AS turn_at, of_type.run_at AS run_at, of_type.job_type AS job_type, of_type.most AS most
FROM (SELECT job_runs.id AS id, job_runs.turn_at AS turn_at, job_runs.run_at AS run_at, types.job_type AS job_type, types.most AS most, row_number() OVER (PARTITION BY job_runs.job_type ORDER BY job_runs.turn_at, job_runs.run_at, job_runs.id) AS number
FROM (SELECT json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.most') AS most FROM json_each(:types)) AS types JOIN job_runs ON job_runs.id IN (SELECT job_claimable.id
FROM job_claimable
WHERE job_claimable.job_type = types.job_type AND (types.job_type NOT IN (SELECT job_pauses.name
FROM job_pauses
WHERE job_pauses.kind = 'type')) ORDER BY job_claimable.turn_at, job_claimable.run_at, job_claimable.id
 LIMIT :limit OFFSET :param_1)
WHERE types.most > :most_1) AS of_type
WHERE of_type.number <= of_type.most) AS due UNION ALL SELECT job_claimable_by_host.id AS id
FROM (SELECT json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.most') AS most FROM json_each(:types)) AS types JOIN job_claimable_by_host ON job_claimable_by_host.job_type = types.job_type
WHERE job_claimable_by_host.only_host = :host) AS found
 LIMIT :limit OFFSET :param_2""",
        {'param_1': 0, 'most_1': 0, 'param_2': 0},
        {'types': (('job_type', None), ('most', None))},
        (('id', None),),
    ),
    ('ticks.close', ()): (
        """UPDATE job_ticks SET finished_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)), counts=:its_counts, error=:its_error, ended_by=:its_ended_by, left_due=:its_left_due WHERE job_ticks.id = :tick_id AND job_ticks.host = :own_host AND job_ticks.worker = :own_worker RETURNING id""",
        {},
        {'its_counts': 'json', 'its_left_due': 'json'},
        (('id', None),),
    ),
    ('ticks.first_overdue', ()): (
        """SELECT (SELECT min(job_overdue.start_deadline_at) AS min_1
FROM job_overdue) AS start_deadline_at""",
        {},
        {},
        (('start_deadline_at', 'instant'),),
    ),
    ('ticks.free_prune_turn', ()): (
        """SELECT job_state.id
FROM job_state
WHERE job_state.pruned_at IS NULL OR job_state.pruned_at <= ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:before * 1000000 AS INTEGER)) OR job_state.pruned_at > ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:after * 1000000 AS INTEGER))""",
        {'before': -600.0, 'after': 600.0},
        {},
        (('id', None),),
    ),
    ('ticks.is_due', ()): (
        """SELECT ((SELECT job_ungated_due.is_due
FROM job_ungated_due) OR (EXISTS (SELECT job_claimable_by_host.id
FROM job_claimable_by_host
WHERE job_claimable_by_host.only_host = :host)) OR (SELECT job_gates_due.is_due
FROM job_gates_due)) AND NOT (EXISTS (SELECT job_pauses.kind
FROM job_pauses
WHERE job_pauses.kind = 'host' AND job_pauses.name = :host)) OR (SELECT min(job_overdue.start_deadline_at) AS min_1
FROM job_overdue) IS NOT NULL OR (EXISTS (SELECT job_parents.run_id
FROM job_parents
WHERE parent_status IS NOT NULL)) OR (EXISTS (SELECT job_expandable.id
FROM job_expandable)) OR (EXISTS (SELECT job_expandable_by_host.id
FROM job_expandable_by_host
WHERE job_expandable_by_host.host = :host)) OR (EXISTS (SELECT job_recoverable.id
FROM job_recoverable)) AS is_due""",
        {},
        {},
        (('is_due', 'boolean'),),
    ),
    ('ticks.is_quarantined_due', ()): (
        """SELECT (EXISTS (SELECT job_claimable.id
FROM job_claimable
WHERE job_claimable.lease_expiries >= 2)) OR (EXISTS (SELECT job_gated.id
FROM job_gated
WHERE job_gated.lease_expiries >= 2)) OR (EXISTS (SELECT job_claimable_by_host.id
FROM job_claimable_by_host
WHERE job_claimable_by_host.only_host = :host AND job_claimable_by_host.lease_expiries >= 2)) AS is_due""",
        {},
        {},
        (('is_due', 'boolean'),),
    ),
    ('ticks.left', ()): (
        """SELECT anon_1.job_type, count(*) AS runs
FROM (SELECT job_runs.job_type AS job_type
FROM job_runs
WHERE job_runs.status IN ('queued', 'failed') AND job_runs.run_at <= (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AND job_runs.gate = '' AND releases >= 0 ORDER BY job_runs.run_at
 LIMIT :limit OFFSET :param_1) AS anon_1 GROUP BY anon_1.job_type""",
        {'param_1': 0},
        {},
        (('job_type', None), ('runs', None)),
    ),
    ('ticks.lock_server', ()): (
        """SELECT job_state.server, NULL AS promoted, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS now
FROM job_state""",
        {},
        {},
        (('server', None), ('promoted', None), ('now', 'instant')),
    ),
    ('ticks.note_server', ()): (
        """UPDATE job_state SET server=:seen""",
        {},
        {},
        (),
    ),
    ('ticks.open', ()): (
        """INSERT INTO job_ticks (host, worker, version, started_at, application, types) VALUES (:its_host, :its_worker, :its_version, (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)), :its_application, :its_types) RETURNING id, (SELECT job_hosts.digest
FROM job_hosts
WHERE id = :host_id AND reported_at > ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:reported_before * 1000000 AS INTEGER)) AND NOT (EXISTS (SELECT job_definitions.id
FROM job_definitions
WHERE "on" = 'every-host' AND host IS NULL AND removed_at IS NULL AND updated_at >= reported_at))) AS reported, (SELECT job_state.server
FROM job_state) AS server, NULL IS NOT NULL AS is_promoted, EXISTS (SELECT job_definitions.id
FROM job_definitions
WHERE "on" = 'every-host' AND host IS NULL AND removed_at IS NULL) AS has_templates""",
        {'reported_before': -86400.0},
        {},
        (('id', None), ('reported', None), ('server', None), ('is_promoted', 'boolean'), ('has_templates', 'boolean')),
    ),
    ('ticks.prune_again', ()): (
        """UPDATE job_state SET pruned_at=((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST((:after - 600.0) * 1000000 AS INTEGER))""",
        {},
        {},
        (),
    ),
    ('ticks.schema', ()): (
        """SELECT job_schema_version.version_num, (SELECT job_state.oldest_code
FROM job_state) AS oldest_code, (SELECT job_state.released
FROM job_state) AS released
FROM job_schema_version""",
        {},
        {},
        (('version_num', None), ('oldest_code', None), ('released', None)),
    ),
    ('ticks.take_prune_turn', ()): (
        """UPDATE job_state SET pruned_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) RETURNING pruned_at, server""",
        {},
        {},
        (('pruned_at', 'instant'), ('server', None)),
    ),
    ('totals.begin', ()): (
        """INSERT INTO job_totals (job_type, outcome, status, ends, waited, ran, waits, runs, updated_at) SELECT given.job_type, given.outcome, given.status, 0, 0.0, 0.0, '[]', '[]', (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AS anon_1
FROM (SELECT json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.outcome') AS outcome, json_extract(value, '$.status') AS status FROM json_each(:given)) AS given
WHERE 1 = 1 ON CONFLICT DO NOTHING""",
        {},
        {'given': (('job_type', None), ('outcome', None), ('status', None))},
        (),
    ),
    ('totals.every_end', ()): (
        """SELECT job_totals.job_type, job_totals.outcome, job_totals.status, job_totals.ends, job_totals.waited, job_totals.ran, job_totals.waits, job_totals.runs, 0.0 AS longest_wait, 0.0 AS longest_run, CAST(NULL AS INTEGER) AS wait_bin, CAST(NULL AS INTEGER) AS run_bin
FROM job_totals UNION ALL SELECT job_tallies.job_type, job_tallies.outcome, job_tallies.status, job_tallies.ends, job_tallies.waited, job_tallies.ran, job_tallies.waits, job_tallies.runs, job_tallies.longest_wait, job_tallies.longest_run, CAST(NULL AS INTEGER) AS anon_1, CAST(NULL AS INTEGER) AS anon__1
FROM job_tallies
WHERE job_tallies.is_in_totals = 0 UNION ALL SELECT live.job_type, live.outcome, live.status, live.ends, live.waited, live.ran, CAST(NULL AS TEXT) AS anon_1, CAST(NULL AS TEXT) AS anon__2, live.longest_wait, live.longest_run, live.wait_bin, live.run_bin
FROM (SELECT "each".at AS at, "each".job_type AS job_type, "each".outcome AS outcome, "each".status AS status, CASE WHEN ("each".waited <= 0.001) THEN 0 WHEN ("each".waited <= 0.002) THEN 1 WHEN ("each".waited <= 0.005) THEN 2 WHEN ("each".waited <= 0.01) THEN 3 WHEN ("each".waited <= 0.02) THEN 4 WHEN ("each".waited <= 0.05) THEN 5 WHEN ("each".waited <= 0.1) THEN 6 WHEN ("each".waited <= 0.2) THEN 7 WHEN ("each".waited <= 0.5) THEN 8 WHEN ("each".waited <= 1) THEN 9 WHEN ("each".waited <= 2) THEN 10 WHEN ("each".waited <= 5) THEN 11 WHEN ("each".waited <= 10) THEN 12 WHEN ("each".waited <= 20) THEN 13 WHEN ("each".waited <= 50) THEN 14 WHEN ("each".waited <= 100) THEN 15 WHEN ("each".waited <= 200) THEN 16 WHEN ("each".waited <= 500) THEN 17 WHEN ("each".waited <= 1000) THEN 18 WHEN ("each".waited <= 2000) THEN 19 WHEN ("each".waited <= 5000) THEN 20 WHEN ("each".waited <= 10000) THEN 21 WHEN ("each".waited <= 20000) THEN 22 WHEN ("each".waited <= 50000) THEN 23 WHEN ("each".waited IS NOT NULL) THEN 24 END AS wait_bin, CASE WHEN ("each".ran <= 0.001) THEN 0 WHEN ("each".ran <= 0.002) THEN 1 WHEN ("each".ran <= 0.005) THEN 2 WHEN ("each".ran <= 0.01) THEN 3 WHEN ("each".ran <= 0.02) THEN 4 WHEN ("each".ran <= 0.05) THEN 5 WHEN ("each".ran <= 0.1) THEN 6 WHEN ("each".ran <= 0.2) THEN 7 WHEN ("each".ran <= 0.5) THEN 8 WHEN ("each".ran <= 1) THEN 9 WHEN ("each".ran <= 2) THEN 10 WHEN ("each".ran <= 5) THEN 11 WHEN ("each".ran <= 10) THEN 12 WHEN ("each".ran <= 20) THEN 13 WHEN ("each".ran <= 50) THEN 14 WHEN ("each".ran <= 100) THEN 15 WHEN ("each".ran <= 200) THEN 16 WHEN ("each".ran <= 500) THEN 17 WHEN ("each".ran <= 1000) THEN 18 WHEN ("each".ran <= 2000) THEN 19 WHEN ("each".ran <= 5000) THEN 20 WHEN ("each".ran <= 10000) THEN 21 WHEN ("each".ran <= 20000) THEN 22 WHEN ("each".ran <= 50000) THEN 23 WHEN ("each".ran IS NOT NULL) THEN 24 END AS run_bin, count(*) AS ends, sum("each".waited) AS waited, max("each".waited) AS longest_wait, sum("each".ran) AS ran, max("each".ran) AS longest_run
FROM (SELECT (job_attempts.finished_at - job_attempts.finished_at % 3600000000) AS at, job_runs.job_type AS job_type, job_attempts.outcome AS outcome, coalesce(job_attempts.status, '') AS status, CASE WHEN (coalesce(((job_attempts.started_at - job_attempts.due_at) / 1000000.0), 0.0) < 0.0) THEN 0.0 ELSE coalesce(((job_attempts.started_at - job_attempts.due_at) / 1000000.0), 0.0) END AS waited, CASE WHEN (((job_attempts.finished_at - job_attempts.started_at) / 1000000.0) < 0.0) THEN 0.0 ELSE ((job_attempts.finished_at - job_attempts.started_at) / 1000000.0) END AS ran
FROM job_attempts JOIN job_runs ON job_runs.id = job_attempts.run_id
WHERE job_attempts.id > (SELECT job_state.counted_to
FROM job_state)
 LIMIT :param_1 OFFSET 0) AS "each" GROUP BY "each".at, "each".job_type, "each".outcome, "each".status, CASE WHEN ("each".waited <= 0.001) THEN 0 WHEN ("each".waited <= 0.002) THEN 1 WHEN ("each".waited <= 0.005) THEN 2 WHEN ("each".waited <= 0.01) THEN 3 WHEN ("each".waited <= 0.02) THEN 4 WHEN ("each".waited <= 0.05) THEN 5 WHEN ("each".waited <= 0.1) THEN 6 WHEN ("each".waited <= 0.2) THEN 7 WHEN ("each".waited <= 0.5) THEN 8 WHEN ("each".waited <= 1) THEN 9 WHEN ("each".waited <= 2) THEN 10 WHEN ("each".waited <= 5) THEN 11 WHEN ("each".waited <= 10) THEN 12 WHEN ("each".waited <= 20) THEN 13 WHEN ("each".waited <= 50) THEN 14 WHEN ("each".waited <= 100) THEN 15 WHEN ("each".waited <= 200) THEN 16 WHEN ("each".waited <= 500) THEN 17 WHEN ("each".waited <= 1000) THEN 18 WHEN ("each".waited <= 2000) THEN 19 WHEN ("each".waited <= 5000) THEN 20 WHEN ("each".waited <= 10000) THEN 21 WHEN ("each".waited <= 20000) THEN 22 WHEN ("each".waited <= 50000) THEN 23 WHEN ("each".waited IS NOT NULL) THEN 24 END, CASE WHEN ("each".ran <= 0.001) THEN 0 WHEN ("each".ran <= 0.002) THEN 1 WHEN ("each".ran <= 0.005) THEN 2 WHEN ("each".ran <= 0.01) THEN 3 WHEN ("each".ran <= 0.02) THEN 4 WHEN ("each".ran <= 0.05) THEN 5 WHEN ("each".ran <= 0.1) THEN 6 WHEN ("each".ran <= 0.2) THEN 7 WHEN ("each".ran <= 0.5) THEN 8 WHEN ("each".ran <= 1) THEN 9 WHEN ("each".ran <= 2) THEN 10 WHEN ("each".ran <= 5) THEN 11 WHEN ("each".ran <= 10) THEN 12 WHEN ("each".ran <= 20) THEN 13 WHEN ("each".ran <= 50) THEN 14 WHEN ("each".ran <= 100) THEN 15 WHEN ("each".ran <= 200) THEN 16 WHEN ("each".ran <= 500) THEN 17 WHEN ("each".ran <= 1000) THEN 18 WHEN ("each".ran <= 2000) THEN 19 WHEN ("each".ran <= 5000) THEN 20 WHEN ("each".ran <= 10000) THEN 21 WHEN ("each".ran <= 20000) THEN 22 WHEN ("each".ran <= 50000) THEN 23 WHEN ("each".ran IS NOT NULL) THEN 24 END) AS live""",
        {'param_1': -1},
        {},
        (('job_type', None), ('outcome', None), ('status', None), ('ends', None), ('waited', None), ('ran', None), ('waits', 'json'), ('runs', 'json'), ('longest_wait', None), ('longest_run', None), ('wait_bin', None), ('run_bin', None)),
    ),
    ('totals.some', ()): (
        """SELECT job_totals.job_type, job_totals.outcome, job_totals.status, job_totals.ends, job_totals.waited, job_totals.ran, job_totals.waits, job_totals.runs
FROM (SELECT json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.outcome') AS outcome, json_extract(value, '$.status') AS status FROM json_each(:given)) AS given JOIN job_totals ON job_totals.job_type = given.job_type AND job_totals.outcome = given.outcome AND job_totals.status = given.status ORDER BY job_totals.job_type, job_totals.outcome, job_totals.status""",
        {},
        {'given': (('job_type', None), ('outcome', None), ('status', None))},
        (('job_type', None), ('outcome', None), ('status', None), ('ends', None), ('waited', None), ('ran', None), ('waits', 'json'), ('runs', 'json')),
    ),
    ('totals.write', ()): (
        """UPDATE job_totals SET ends=given.ends, waited=given.waited, ran=given.ran, waits=given.waits, runs=given.runs, updated_at=(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) FROM (SELECT json_extract(value, '$.job_type') AS job_type, json_extract(value, '$.outcome') AS outcome, json_extract(value, '$.status') AS status, json_extract(value, '$.ends') AS ends, json_extract(value, '$.waited') AS waited, json_extract(value, '$.ran') AS ran, json_extract(value, '$.waits') AS waits, json_extract(value, '$.runs') AS runs FROM json_each(:given)) AS given WHERE job_totals.job_type = given.job_type AND job_totals.outcome = given.outcome AND job_totals.status = given.status""",
        {},
        {'given': (('job_type', None), ('outcome', None), ('status', None), ('ends', None), ('waited', None), ('ran', None), ('waits', 'json'), ('runs', 'json'))},
        (),
    ),
    ('unclaimed.behind_open_gates', ()): (
        """SELECT first_of.job_type, first_of.id, (SELECT job_runs.run_at
FROM job_runs
WHERE job_runs.id = first_of.id) AS run_at, first_of.runs
FROM (SELECT found.job_type AS job_type, found.both / 1048576 AS id, found.both % 1048576 AS runs
FROM (SELECT listed.job_type AS job_type, listed.gate AS gate, (SELECT walk.id * 1048576 + count(*) OVER () AS anon_1
FROM (SELECT job_gated.id AS id, job_gated.turn_at AS turn_at, job_gated.run_at AS run_at
FROM job_gated
WHERE job_gated.job_type = listed.job_type AND job_gated.gate = listed.gate ORDER BY job_gated.turn_at, job_gated.run_at, job_gated.id
 LIMIT :most OFFSET :param_1) AS walk ORDER BY walk.turn_at, walk.run_at, walk.id
 LIMIT :param_2 OFFSET :param_3) AS both
FROM (SELECT job_gates.job_type AS job_type, job_gates.gate AS gate
FROM job_gates JOIN job_limits_in_force AS job_limits ON job_gates.job_type = job_limits.job_type
WHERE job_gates.turn_at IS NOT NULL AND job_gates.turn_at < ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:since * 1000000 AS INTEGER)) AND (job_limits.rate IS NULL OR job_limits.opens_at IS NULL OR job_limits.opens_at <= (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state))) AND (job_limits.max_running IS NULL OR job_limits.max_running > CASE WHEN job_limits.is_set THEN (SELECT count(*) AS count_1
FROM job_runs
WHERE job_runs.job_type = job_limits.job_type AND job_runs.status = 'running') ELSE (SELECT count(*) AS count_1
FROM job_runs
WHERE job_runs.job_type = job_limits.job_type AND job_runs.lease_token IS NOT NULL AND job_runs.gate != '') END) AND (job_limits.rate_per_key IS NULL OR job_gates.opens_at IS NULL OR job_gates.opens_at <= (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state))) AND (job_limits.max_running_per_key IS NULL OR job_limits.max_running_per_key > (SELECT count(*) AS count_2
FROM job_runs
WHERE job_runs.job_type = job_gates.job_type AND job_runs.gate = job_gates.gate AND job_runs.lease_token IS NOT NULL AND job_runs.gate != '')) AND (CASE WHEN job_limits.concurrency_key IS NULL THEN job_gates.gate = 'all'
      ELSE substr(job_gates.gate, 1, length(job_limits.concurrency_key) + 1) = job_limits.concurrency_key || ' ' END) = 1
 LIMIT 300 OFFSET :param_4) AS listed
 LIMIT 300 OFFSET :param_5) AS found) AS first_of
WHERE first_of.id IS NOT NULL""",
        {'param_1': 0, 'param_2': 1, 'param_3': 0, 'param_4': 0, 'param_5': 0},
        {},
        (('job_type', None), ('id', None), ('run_at', 'instant'), ('runs', None)),
    ),
    ('unclaimed.ended_lately', ()): (
        """SELECT succeeded.job_type
FROM (SELECT job_runs.job_type AS job_type
FROM job_runs
WHERE job_runs.status = 'succeeded' AND job_runs.finished_at IS NOT NULL AND job_runs.finished_at > ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:since * 1000000 AS INTEGER)) ORDER BY job_runs.finished_at DESC
 LIMIT :most OFFSET :param_1) AS succeeded UNION SELECT dead.job_type
FROM (SELECT job_runs.job_type AS job_type
FROM job_runs
WHERE job_runs.status = 'dead' AND job_runs.finished_at IS NOT NULL AND job_runs.finished_at > ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:since * 1000000 AS INTEGER)) ORDER BY job_runs.finished_at DESC
 LIMIT :most OFFSET :param_2) AS dead UNION SELECT failed.job_type
FROM (SELECT job_runs.job_type AS job_type
FROM job_runs
WHERE job_runs.status = 'failed' AND job_runs.failed_at IS NOT NULL AND job_runs.failed_at > ((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) + CAST(:since * 1000000 AS INTEGER)) ORDER BY job_runs.failed_at DESC
 LIMIT :most OFFSET :param_3) AS failed""",
        {'param_1': 0, 'param_2': 0, 'param_3': 0},
        {},
        (('job_type', None),),
    ),
    ('unclaimed.stray', ()): (
        """SELECT first_of.job_type, first_of.id, (SELECT job_runs.run_at
FROM job_runs
WHERE job_runs.id = first_of.id) AS run_at, first_of.runs
FROM (SELECT found.job_type AS job_type, found.both / 1048576 AS id, found.both % 1048576 AS runs
FROM (SELECT listed.job_type AS job_type, listed.gate AS gate, (SELECT walk.id * 1048576 + count(*) OVER () AS anon_1
FROM (SELECT job_gated.id AS id, job_gated.turn_at AS turn_at, job_gated.run_at AS run_at
FROM job_gated
WHERE job_gated.job_type = listed.job_type AND job_gated.gate = listed.gate ORDER BY job_gated.turn_at, job_gated.run_at, job_gated.id
 LIMIT :most OFFSET :param_1) AS walk ORDER BY walk.turn_at, walk.run_at, walk.id
 LIMIT :param_2 OFFSET :param_3) AS both
FROM (SELECT DISTINCT job_stray_gates.job_type AS job_type, job_stray_gates.gate AS gate
FROM job_stray_gates
 LIMIT 300 OFFSET :param_4) AS listed
 LIMIT 300 OFFSET :param_5) AS found) AS first_of
WHERE first_of.id IS NOT NULL""",
        {'param_1': 0, 'param_2': 1, 'param_3': 0, 'param_4': 0, 'param_5': 0},
        {},
        (('job_type', None), ('id', None), ('run_at', 'instant'), ('runs', None)),
    ),
    ('unclaimed.stray_dependants', ()): (
        """SELECT job_runs.job_type, min(job_runs.id) AS id, min(job_runs.run_at) AS run_at, count(*) AS runs
FROM job_runs
WHERE job_runs.id IN (SELECT job_stray_dependants.id
FROM job_stray_dependants) AND (run_at <= (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state))) AND ((start_deadline_at IS NULL OR start_deadline_at > (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)))) AND ((concurrency_key IS NULL
      OR (NOT EXISTS (SELECT 1 FROM job_runs other
          WHERE other.concurrency_key = job_runs.concurrency_key AND other.id <> job_runs.id
            AND other.lease_token IS NOT NULL)
        AND NOT EXISTS (SELECT 1 FROM job_runs other
          WHERE other.concurrency_key = job_runs.concurrency_key AND other.id < job_runs.id
            AND other.status IN ('queued', 'failed', 'running') AND other.lease_token IS NULL
            AND other.run_at <= (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) AND (other.start_deadline_at IS NULL OR other.start_deadline_at > (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state))))))) AND (job_type NOT IN (SELECT name FROM job_pauses WHERE kind = 'type')) AND (NOT EXISTS (SELECT kind FROM job_pauses WHERE kind = 'all')) AND (CASE WHEN only_host IS NULL THEN 1 = 1 ELSE 1 = 0 END) GROUP BY job_runs.job_type""",
        {},
        {},
        (('job_type', None), ('id', None), ('run_at', 'instant'), ('runs', None)),
    ),
    ('unusual.sums', ('hour', False)): (
        """SELECT job_tallies.job_type, max(job_tallies.longest_run) AS longest_run, max(job_tallies.most_memory) AS most_memory, group_concat(CAST(job_tallies.runs AS TEXT), ',') AS runs, group_concat(CAST(job_tallies.memories AS TEXT), ',') AS memories
FROM job_tallies
WHERE job_tallies.span = 'hour' AND job_tallies.at >= (((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) - (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) % 3600000000) + CAST(:since * 1000000 AS INTEGER)) AND job_tallies.at < (((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) - (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) % 3600000000) + CAST(:before * 1000000 AS INTEGER)) AND job_tallies.outcome = 'succeeded' GROUP BY job_tallies.job_type
HAVING sum(job_tallies.ends) >= :least AND (max(job_tallies.longest_run) >= :seconds OR max(job_tallies.most_memory) >= :memory_bytes)""",
        {},
        {},
        (('job_type', None), ('longest_run', None), ('most_memory', None), ('runs', None), ('memories', None)),
    ),
    ('unusual.sums', ('hour', True)): (
        """SELECT job_tallies.job_type, max(job_tallies.longest_run) AS longest_run, max(job_tallies.most_memory) AS most_memory, group_concat(CAST(job_tallies.runs AS TEXT), ',') AS runs, group_concat(CAST(job_tallies.memories AS TEXT), ',') AS memories
FROM job_tallies
WHERE job_tallies.span = 'hour' AND job_tallies.at >= (((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) - (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) % 3600000000) + CAST(:since * 1000000 AS INTEGER)) AND job_tallies.at < (((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) - (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) % 3600000000) + CAST(:before * 1000000 AS INTEGER)) AND job_tallies.outcome = 'succeeded' AND job_tallies.job_type IN (SELECT given.job_type
FROM (SELECT json_extract(value, '$.job_type') AS job_type FROM json_each(:given)) AS given) GROUP BY job_tallies.job_type
HAVING sum(job_tallies.ends) >= :least AND (max(job_tallies.longest_run) >= :seconds OR max(job_tallies.most_memory) >= :memory_bytes)""",
        {},
        {'given': (('job_type', None),)},
        (('job_type', None), ('longest_run', None), ('most_memory', None), ('runs', None), ('memories', None)),
    ),
    ('unusual.sums', ('day', True)): (
        """SELECT job_tallies.job_type, max(job_tallies.longest_run) AS longest_run, max(job_tallies.most_memory) AS most_memory, group_concat(CAST(job_tallies.runs AS TEXT), ',') AS runs, group_concat(CAST(job_tallies.memories AS TEXT), ',') AS memories
FROM job_tallies
WHERE job_tallies.span = 'day' AND job_tallies.at >= (((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) - (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) % 3600000000) + CAST(:since * 1000000 AS INTEGER)) AND job_tallies.at < (((CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) - (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + (SELECT clock_offset FROM job_state)) % 3600000000) + CAST(:before * 1000000 AS INTEGER)) AND job_tallies.outcome = 'succeeded' AND job_tallies.job_type IN (SELECT given.job_type
FROM (SELECT json_extract(value, '$.job_type') AS job_type FROM json_each(:given)) AS given) GROUP BY job_tallies.job_type
HAVING sum(job_tallies.ends) >= :least AND (max(job_tallies.longest_run) >= :seconds OR max(job_tallies.most_memory) >= :memory_bytes)""",
        {},
        {'given': (('job_type', None),)},
        (('job_type', None), ('longest_run', None), ('most_memory', None), ('runs', None), ('memories', None)),
    ),
}
