"""The statements of a tick for postgresql, written by `make statements`."""

STATEMENTS = {
    ('audit.insert', ()): (
        """INSERT INTO jobrunner_schema.job_events (at, actor, action, definition_id, run_id, detail) SELECT given.at, given.actor, given.action, given.definition_id, given.run_id, given.detail
FROM (SELECT at, actor, action, definition_id, run_id, CAST(detail AS JSONB) AS detail FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(at TIMESTAMP WITH TIME ZONE, actor VARCHAR(300), action VARCHAR(50), definition_id BIGINT, run_id BIGINT, detail TEXT)) AS given""",
        {},
        {'given': (('at', 'instant'), ('actor', None), ('action', None), ('definition_id', None), ('run_id', None), ('detail', 'json'))},
        (),
    ),
    ('audit.recorded', ()): (
        """SELECT jobrunner_schema.job_events.at, jobrunner_schema.job_events.detail
FROM jobrunner_schema.job_events
WHERE jobrunner_schema.job_events.action = %(name)s::VARCHAR AND jobrunner_schema.job_events.at >= %(since)s::TIMESTAMP WITH TIME ZONE""",
        {},
        {'since': 'instant'},
        (('at', 'instant'), ('detail', 'json')),
    ),
    ('backpressure.count', ()): (
        """SELECT count(*) AS count_1
FROM (SELECT %(param_1)s::INTEGER AS anon_2
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_runs.status IN ('queued', 'failed')
 LIMIT %(limit)s::INTEGER) AS anon_1""",
        {'param_1': 1},
        {},
        (('count', None),),
    ),
    ('backpressure.count_dropped', ()): (
        """UPDATE jobrunner_schema.job_types SET dropped=(jobrunner_schema.job_types.dropped + %(count)s::INTEGER), dropped_at=jobrunner_schema.jobrunner_now() WHERE jobrunner_schema.job_types.job_type = %(of_type)s::VARCHAR""",
        {},
        {},
        (),
    ),
    ('backpressure.declare', ()): (
        """INSERT INTO jobrunner_schema.job_types (job_type, max_waiting, when_full, key_scope, key_window, fair_by, updated_at) VALUES (%(of_type)s::VARCHAR, %(new_max_waiting)s::BIGINT, %(new_when_full)s::VARCHAR, %(new_key_scope)s::VARCHAR, %(new_key_window)s::FLOAT(53), %(new_fair_by)s::VARCHAR, jobrunner_schema.jobrunner_now()) ON CONFLICT (job_type) DO UPDATE SET max_waiting = %(new_max_waiting)s::BIGINT, when_full = %(new_when_full)s::VARCHAR, key_scope = %(new_key_scope)s::VARCHAR, key_window = %(new_key_window)s::FLOAT(53), fair_by = %(new_fair_by)s::VARCHAR, updated_at = jobrunner_schema.jobrunner_now()""",
        {},
        {},
        (),
    ),
    ('backpressure.lock', ()): (
        """UPDATE jobrunner_schema.job_types SET job_type=jobrunner_schema.job_types.job_type WHERE jobrunner_schema.job_types.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_types.max_waiting IS NOT NULL RETURNING jobrunner_schema.job_types.max_waiting, jobrunner_schema.job_types.when_full, jobrunner_schema.job_types.key_scope, jobrunner_schema.job_types.key_window, jobrunner_schema.job_types.fair_by""",
        {},
        {},
        (('max_waiting', None), ('when_full', None), ('key_scope', None), ('key_window', None), ('fair_by', None)),
    ),
    ('backpressure.rules', ()): (
        """SELECT jobrunner_schema.job_types.job_type, jobrunner_schema.job_types.max_waiting, jobrunner_schema.job_types.when_full, jobrunner_schema.job_types.key_scope, jobrunner_schema.job_types.key_window, jobrunner_schema.job_types.fair_by
FROM jobrunner_schema.job_types
WHERE jobrunner_schema.job_types.max_waiting IS NOT NULL OR jobrunner_schema.job_types.key_scope != %(key_scope_1)s::VARCHAR OR jobrunner_schema.job_types.fair_by IS NOT NULL""",
        {'key_scope_1': 'forever'},
        {},
        (('job_type', None), ('max_waiting', None), ('when_full', None), ('key_scope', None), ('key_window', None), ('fair_by', None)),
    ),
    ('backpressure.rules_of_type', ()): (
        """SELECT jobrunner_schema.job_types.max_waiting, jobrunner_schema.job_types.when_full, jobrunner_schema.job_types.key_scope, jobrunner_schema.job_types.key_window, jobrunner_schema.job_types.fair_by
FROM jobrunner_schema.job_types
WHERE jobrunner_schema.job_types.job_type = %(of_type)s::VARCHAR""",
        {},
        {},
        (('max_waiting', None), ('when_full', None), ('key_scope', None), ('key_window', None), ('fair_by', None)),
    ),
    ('claims.claim', ('postgresql', False, False)): (
        """WITH picked AS
(SELECT found.id AS id, found.max_attempts AS max_attempts, found.timeout AS timeout
FROM (SELECT of_type.id AS id, of_type.turn_at AS turn_at, of_type.run_at AS run_at, types.job_type AS job_type, types.most AS most, types.since AS since, types.max_attempts AS max_attempts, types.timeout AS timeout
FROM (SELECT job_type, most, since, max_attempts, timeout FROM json_to_recordset(CAST(%(types)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), most INTEGER, since TIMESTAMP WITH TIME ZONE, max_attempts INTEGER, timeout FLOAT(53))) AS types JOIN LATERAL (SELECT jobrunner_schema.job_claimable.id AS id, jobrunner_schema.job_claimable.turn_at AS turn_at, jobrunner_schema.job_claimable.run_at AS run_at
FROM jobrunner_schema.job_claimable
WHERE jobrunner_schema.job_claimable.job_type = types.job_type AND jobrunner_schema.job_claimable.lease_expiries < 2 AND jobrunner_schema.job_claimable.turn_at >= coalesce(types.since, CAST('-infinity' AS TIMESTAMP WITH TIME ZONE)) ORDER BY jobrunner_schema.job_claimable.turn_at, jobrunner_schema.job_claimable.run_at, jobrunner_schema.job_claimable.id
 LIMIT types.most FOR NO KEY UPDATE SKIP LOCKED) AS of_type ON true) AS found ORDER BY found.turn_at, found.run_at, found.id
 LIMIT %(limit)s::INTEGER)
 UPDATE jobrunner_schema.job_runs SET status='running', attempts=(jobrunner_schema.job_runs.attempts + %(attempts_1)s::INTEGER), max_attempts=coalesce(jobrunner_schema.job_runs.max_attempts, picked.max_attempts), timeout=coalesce(jobrunner_schema.job_runs.timeout, picked.timeout), locked_by=%(owner)s::VARCHAR, host=%(host)s::VARCHAR, locked_until=(jobrunner_schema.jobrunner_now() + make_interval(secs => %(lease_seconds)s::FLOAT)), lease_token=%(token)s::VARCHAR, claimed_at=jobrunner_schema.jobrunner_now(), started_at=jobrunner_schema.jobrunner_now(), heartbeat_at=jobrunner_schema.jobrunner_now(), progress=NULL, output=NULL, updated_at=jobrunner_schema.jobrunner_now() FROM picked WHERE jobrunner_schema.job_runs.id = picked.id AND jobrunner_schema.job_runs.status != 'running' RETURNING jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.lease_token, jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.gate, jobrunner_schema.job_runs.payload, jobrunner_schema.job_runs.attempts, jobrunner_schema.job_runs.max_attempts, jobrunner_schema.job_runs.timeout, jobrunner_schema.job_runs.turn_at, jobrunner_schema.job_runs.run_at, jobrunner_schema.job_runs.scheduled_for, jobrunner_schema.job_runs.claimed_at, jobrunner_schema.job_runs.definition_id, jobrunner_schema.job_runs.traceparent, jobrunner_schema.job_runs.checkpoint, jobrunner_schema.job_runs.concurrency_key""",
        {'attempts_1': 1},
        {'types': (('job_type', None), ('most', None), ('since', 'instant'), ('max_attempts', None), ('timeout', None))},
        (('id', None), ('lease_token', None), ('job_type', None), ('gate', None), ('payload', 'json'), ('attempts', None), ('max_attempts', None), ('timeout', None), ('turn_at', 'instant'), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('claimed_at', 'instant'), ('definition_id', None), ('traceparent', None), ('checkpoint', 'json'), ('concurrency_key', None)),
    ),
    ('claims.claim', ('postgresql', True, False)): (
        """WITH picked AS
(SELECT found.id AS id, found.max_attempts AS max_attempts, found.timeout AS timeout
FROM (SELECT of_type.id AS id, of_type.turn_at AS turn_at, of_type.run_at AS run_at, types.job_type AS job_type, types.most AS most, types.since AS since, types.max_attempts AS max_attempts, types.timeout AS timeout
FROM (SELECT job_type, most, since, max_attempts, timeout FROM json_to_recordset(CAST(%(types)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), most INTEGER, since TIMESTAMP WITH TIME ZONE, max_attempts INTEGER, timeout FLOAT(53))) AS types JOIN LATERAL (SELECT jobrunner_schema.job_claimable.id AS id, jobrunner_schema.job_claimable.turn_at AS turn_at, jobrunner_schema.job_claimable.run_at AS run_at
FROM jobrunner_schema.job_claimable
WHERE jobrunner_schema.job_claimable.job_type = types.job_type AND jobrunner_schema.job_claimable.lease_expiries >= 2 AND jobrunner_schema.job_claimable.turn_at >= coalesce(types.since, CAST('-infinity' AS TIMESTAMP WITH TIME ZONE)) ORDER BY jobrunner_schema.job_claimable.turn_at, jobrunner_schema.job_claimable.run_at, jobrunner_schema.job_claimable.id
 LIMIT types.most FOR NO KEY UPDATE SKIP LOCKED) AS of_type ON true) AS found ORDER BY found.turn_at, found.run_at, found.id
 LIMIT %(limit)s::INTEGER)
 UPDATE jobrunner_schema.job_runs SET status='running', attempts=(jobrunner_schema.job_runs.attempts + %(attempts_1)s::INTEGER), max_attempts=coalesce(jobrunner_schema.job_runs.max_attempts, picked.max_attempts), timeout=coalesce(jobrunner_schema.job_runs.timeout, picked.timeout), locked_by=%(owner)s::VARCHAR, host=%(host)s::VARCHAR, locked_until=(jobrunner_schema.jobrunner_now() + make_interval(secs => %(lease_seconds)s::FLOAT)), lease_token=%(token)s::VARCHAR, claimed_at=jobrunner_schema.jobrunner_now(), started_at=jobrunner_schema.jobrunner_now(), heartbeat_at=jobrunner_schema.jobrunner_now(), progress=NULL, output=NULL, updated_at=jobrunner_schema.jobrunner_now() FROM picked WHERE jobrunner_schema.job_runs.id = picked.id AND jobrunner_schema.job_runs.status != 'running' RETURNING jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.lease_token, jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.gate, jobrunner_schema.job_runs.payload, jobrunner_schema.job_runs.attempts, jobrunner_schema.job_runs.max_attempts, jobrunner_schema.job_runs.timeout, jobrunner_schema.job_runs.turn_at, jobrunner_schema.job_runs.run_at, jobrunner_schema.job_runs.scheduled_for, jobrunner_schema.job_runs.claimed_at, jobrunner_schema.job_runs.definition_id, jobrunner_schema.job_runs.traceparent, jobrunner_schema.job_runs.checkpoint, jobrunner_schema.job_runs.concurrency_key""",
        {'attempts_1': 1},
        {'types': (('job_type', None), ('most', None), ('since', 'instant'), ('max_attempts', None), ('timeout', None))},
        (('id', None), ('lease_token', None), ('job_type', None), ('gate', None), ('payload', 'json'), ('attempts', None), ('max_attempts', None), ('timeout', None), ('turn_at', 'instant'), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('claimed_at', 'instant'), ('definition_id', None), ('traceparent', None), ('checkpoint', 'json'), ('concurrency_key', None)),
    ),
    ('claims.claim', ('postgresql', False, False, True)): (
        """WITH picked AS
(SELECT found.id AS id, found.max_attempts AS max_attempts, found.timeout AS timeout
FROM (SELECT of_type.id AS id, of_type.turn_at AS turn_at, of_type.run_at AS run_at, types.job_type AS job_type, types.most AS most, types.since AS since, types.max_attempts AS max_attempts, types.timeout AS timeout
FROM (SELECT job_type, most, since, max_attempts, timeout FROM json_to_recordset(CAST(%(types)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), most INTEGER, since TIMESTAMP WITH TIME ZONE, max_attempts INTEGER, timeout FLOAT(53))) AS types JOIN LATERAL (SELECT jobrunner_schema.job_claimable.id AS id, jobrunner_schema.job_claimable.turn_at AS turn_at, jobrunner_schema.job_claimable.run_at AS run_at
FROM jobrunner_schema.job_claimable
WHERE jobrunner_schema.job_claimable.job_type = types.job_type AND jobrunner_schema.job_claimable.lease_expiries < 2 AND jobrunner_schema.job_claimable.turn_at >= coalesce(types.since, CAST('-infinity' AS TIMESTAMP WITH TIME ZONE)) ORDER BY jobrunner_schema.job_claimable.turn_at, jobrunner_schema.job_claimable.run_at, jobrunner_schema.job_claimable.id
 LIMIT types.most FOR NO KEY UPDATE SKIP LOCKED) AS of_type ON true UNION ALL SELECT of_list.id AS id, of_list.turn_at AS turn_at, of_list.run_at AS run_at, of_list.job_type AS job_type, of_list.most AS most, of_list.since AS since, of_list.max_attempts AS max_attempts, of_list.timeout AS timeout
FROM (SELECT jobrunner_schema.job_runs.id AS id, coalesce(gated.turn_at, jobrunner_schema.job_runs.turn_at) AS turn_at, jobrunner_schema.job_runs.run_at AS run_at, types.job_type AS job_type, types.most AS most, types.since AS since, types.max_attempts AS max_attempts, types.timeout AS timeout
FROM (SELECT id, turn_at FROM json_to_recordset(CAST(%(gated)s::VARCHAR AS JSON)) AS listed(id BIGINT, turn_at TIMESTAMP WITH TIME ZONE)) AS gated JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = gated.id JOIN (SELECT job_type, most, since, max_attempts, timeout FROM json_to_recordset(CAST(%(types)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), most INTEGER, since TIMESTAMP WITH TIME ZONE, max_attempts INTEGER, timeout FLOAT(53))) AS types ON jobrunner_schema.job_runs.job_type = types.job_type
WHERE jobrunner_schema.job_runs.finished_at IS NULL AND jobrunner_schema.job_runs.lease_token IS NULL AND jobrunner_schema.job_runs.gate != '' FOR NO KEY UPDATE OF job_runs SKIP LOCKED) AS of_list) AS found ORDER BY found.turn_at, found.run_at, found.id
 LIMIT %(limit)s::INTEGER)
 UPDATE jobrunner_schema.job_runs SET status='running', attempts=(jobrunner_schema.job_runs.attempts + %(attempts_1)s::INTEGER), max_attempts=coalesce(jobrunner_schema.job_runs.max_attempts, picked.max_attempts), timeout=coalesce(jobrunner_schema.job_runs.timeout, picked.timeout), locked_by=%(owner)s::VARCHAR, host=%(host)s::VARCHAR, locked_until=(jobrunner_schema.jobrunner_now() + make_interval(secs => %(lease_seconds)s::FLOAT)), lease_token=%(token)s::VARCHAR, claimed_at=jobrunner_schema.jobrunner_now(), started_at=jobrunner_schema.jobrunner_now(), heartbeat_at=jobrunner_schema.jobrunner_now(), progress=NULL, output=NULL, updated_at=jobrunner_schema.jobrunner_now() FROM picked WHERE jobrunner_schema.job_runs.id = picked.id AND jobrunner_schema.job_runs.status != 'running' RETURNING jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.lease_token, jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.gate, jobrunner_schema.job_runs.payload, jobrunner_schema.job_runs.attempts, jobrunner_schema.job_runs.max_attempts, jobrunner_schema.job_runs.timeout, jobrunner_schema.job_runs.turn_at, jobrunner_schema.job_runs.run_at, jobrunner_schema.job_runs.scheduled_for, jobrunner_schema.job_runs.claimed_at, jobrunner_schema.job_runs.definition_id, jobrunner_schema.job_runs.traceparent, jobrunner_schema.job_runs.checkpoint, jobrunner_schema.job_runs.concurrency_key""",
        {'attempts_1': 1},
        {'types': (('job_type', None), ('most', None), ('since', 'instant'), ('max_attempts', None), ('timeout', None)), 'gated': (('id', None), ('turn_at', 'instant'))},
        (('id', None), ('lease_token', None), ('job_type', None), ('gate', None), ('payload', 'json'), ('attempts', None), ('max_attempts', None), ('timeout', None), ('turn_at', 'instant'), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('claimed_at', 'instant'), ('definition_id', None), ('traceparent', None), ('checkpoint', 'json'), ('concurrency_key', None)),
    ),
    ('claims.claim', ('postgresql', False, False, False, True)): (
        """WITH picked AS
(SELECT first.id AS id, first.max_attempts AS max_attempts, first.timeout AS timeout
FROM (SELECT counted.id AS id, counted.turn_at AS turn_at, counted.run_at AS run_at, counted.job_type AS job_type, counted.most AS most, counted.since AS since, counted.max_attempts AS max_attempts, counted.timeout AS timeout, counted.family AS family, counted.together AS together, counted.place AS place
FROM (SELECT found.id AS id, found.turn_at AS turn_at, found.run_at AS run_at, found.job_type AS job_type, found.most AS most, found.since AS since, found.max_attempts AS max_attempts, found.timeout AS timeout, found.family AS family, found.together AS together, row_number() OVER (PARTITION BY found.family ORDER BY found.turn_at, found.run_at, found.id) AS place
FROM (SELECT of_type.id AS id, of_type.turn_at AS turn_at, of_type.run_at AS run_at, types.job_type AS job_type, types.most AS most, types.since AS since, types.max_attempts AS max_attempts, types.timeout AS timeout, types.family AS family, types.together AS together
FROM (SELECT job_type, most, since, max_attempts, timeout, family, together FROM json_to_recordset(CAST(%(types)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), most INTEGER, since TIMESTAMP WITH TIME ZONE, max_attempts INTEGER, timeout FLOAT(53), family VARCHAR(200), together INTEGER)) AS types JOIN LATERAL (SELECT jobrunner_schema.job_claimable.id AS id, jobrunner_schema.job_claimable.turn_at AS turn_at, jobrunner_schema.job_claimable.run_at AS run_at
FROM jobrunner_schema.job_claimable
WHERE jobrunner_schema.job_claimable.job_type = types.job_type AND jobrunner_schema.job_claimable.lease_expiries < 2 AND jobrunner_schema.job_claimable.turn_at >= coalesce(types.since, CAST('-infinity' AS TIMESTAMP WITH TIME ZONE)) ORDER BY jobrunner_schema.job_claimable.turn_at, jobrunner_schema.job_claimable.run_at, jobrunner_schema.job_claimable.id
 LIMIT types.most FOR NO KEY UPDATE SKIP LOCKED) AS of_type ON true) AS found) AS counted
WHERE counted.place <= counted.together) AS first ORDER BY first.turn_at, first.run_at, first.id
 LIMIT %(limit)s::INTEGER)
 UPDATE jobrunner_schema.job_runs SET status='running', attempts=(jobrunner_schema.job_runs.attempts + %(attempts_1)s::INTEGER), max_attempts=coalesce(jobrunner_schema.job_runs.max_attempts, picked.max_attempts), timeout=coalesce(jobrunner_schema.job_runs.timeout, picked.timeout), locked_by=%(owner)s::VARCHAR, host=%(host)s::VARCHAR, locked_until=(jobrunner_schema.jobrunner_now() + make_interval(secs => %(lease_seconds)s::FLOAT)), lease_token=%(token)s::VARCHAR, claimed_at=jobrunner_schema.jobrunner_now(), started_at=jobrunner_schema.jobrunner_now(), heartbeat_at=jobrunner_schema.jobrunner_now(), progress=NULL, output=NULL, updated_at=jobrunner_schema.jobrunner_now() FROM picked WHERE jobrunner_schema.job_runs.id = picked.id AND jobrunner_schema.job_runs.status != 'running' RETURNING jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.lease_token, jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.gate, jobrunner_schema.job_runs.payload, jobrunner_schema.job_runs.attempts, jobrunner_schema.job_runs.max_attempts, jobrunner_schema.job_runs.timeout, jobrunner_schema.job_runs.turn_at, jobrunner_schema.job_runs.run_at, jobrunner_schema.job_runs.scheduled_for, jobrunner_schema.job_runs.claimed_at, jobrunner_schema.job_runs.definition_id, jobrunner_schema.job_runs.traceparent, jobrunner_schema.job_runs.checkpoint, jobrunner_schema.job_runs.concurrency_key""",
        {'attempts_1': 1},
        {'types': (('job_type', None), ('most', None), ('since', 'instant'), ('max_attempts', None), ('timeout', None), ('family', None), ('together', None))},
        (('id', None), ('lease_token', None), ('job_type', None), ('gate', None), ('payload', 'json'), ('attempts', None), ('max_attempts', None), ('timeout', None), ('turn_at', 'instant'), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('claimed_at', 'instant'), ('definition_id', None), ('traceparent', None), ('checkpoint', 'json'), ('concurrency_key', None)),
    ),
    ('claims.claim', ('postgresql', False, False, True, True)): (
        """WITH picked AS
(SELECT first.id AS id, first.max_attempts AS max_attempts, first.timeout AS timeout
FROM (SELECT counted.id AS id, counted.turn_at AS turn_at, counted.run_at AS run_at, counted.job_type AS job_type, counted.most AS most, counted.since AS since, counted.max_attempts AS max_attempts, counted.timeout AS timeout, counted.family AS family, counted.together AS together, counted.place AS place
FROM (SELECT found.id AS id, found.turn_at AS turn_at, found.run_at AS run_at, found.job_type AS job_type, found.most AS most, found.since AS since, found.max_attempts AS max_attempts, found.timeout AS timeout, found.family AS family, found.together AS together, row_number() OVER (PARTITION BY found.family ORDER BY found.turn_at, found.run_at, found.id) AS place
FROM (SELECT of_type.id AS id, of_type.turn_at AS turn_at, of_type.run_at AS run_at, types.job_type AS job_type, types.most AS most, types.since AS since, types.max_attempts AS max_attempts, types.timeout AS timeout, types.family AS family, types.together AS together
FROM (SELECT job_type, most, since, max_attempts, timeout, family, together FROM json_to_recordset(CAST(%(types)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), most INTEGER, since TIMESTAMP WITH TIME ZONE, max_attempts INTEGER, timeout FLOAT(53), family VARCHAR(200), together INTEGER)) AS types JOIN LATERAL (SELECT jobrunner_schema.job_claimable.id AS id, jobrunner_schema.job_claimable.turn_at AS turn_at, jobrunner_schema.job_claimable.run_at AS run_at
FROM jobrunner_schema.job_claimable
WHERE jobrunner_schema.job_claimable.job_type = types.job_type AND jobrunner_schema.job_claimable.lease_expiries < 2 AND jobrunner_schema.job_claimable.turn_at >= coalesce(types.since, CAST('-infinity' AS TIMESTAMP WITH TIME ZONE)) ORDER BY jobrunner_schema.job_claimable.turn_at, jobrunner_schema.job_claimable.run_at, jobrunner_schema.job_claimable.id
 LIMIT types.most FOR NO KEY UPDATE SKIP LOCKED) AS of_type ON true UNION ALL SELECT of_list.id AS id, of_list.turn_at AS turn_at, of_list.run_at AS run_at, of_list.job_type AS job_type, of_list.most AS most, of_list.since AS since, of_list.max_attempts AS max_attempts, of_list.timeout AS timeout, of_list.family AS family, of_list.together AS together
FROM (SELECT jobrunner_schema.job_runs.id AS id, coalesce(gated.turn_at, jobrunner_schema.job_runs.turn_at) AS turn_at, jobrunner_schema.job_runs.run_at AS run_at, types.job_type AS job_type, types.most AS most, types.since AS since, types.max_attempts AS max_attempts, types.timeout AS timeout, types.family AS family, types.together AS together
FROM (SELECT id, turn_at FROM json_to_recordset(CAST(%(gated)s::VARCHAR AS JSON)) AS listed(id BIGINT, turn_at TIMESTAMP WITH TIME ZONE)) AS gated JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = gated.id JOIN (SELECT job_type, most, since, max_attempts, timeout, family, together FROM json_to_recordset(CAST(%(types)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), most INTEGER, since TIMESTAMP WITH TIME ZONE, max_attempts INTEGER, timeout FLOAT(53), family VARCHAR(200), together INTEGER)) AS types ON jobrunner_schema.job_runs.job_type = types.job_type
WHERE jobrunner_schema.job_runs.finished_at IS NULL AND jobrunner_schema.job_runs.lease_token IS NULL AND jobrunner_schema.job_runs.gate != '' FOR NO KEY UPDATE OF job_runs SKIP LOCKED) AS of_list) AS found) AS counted
WHERE counted.place <= counted.together) AS first ORDER BY first.turn_at, first.run_at, first.id
 LIMIT %(limit)s::INTEGER)
 UPDATE jobrunner_schema.job_runs SET status='running', attempts=(jobrunner_schema.job_runs.attempts + %(attempts_1)s::INTEGER), max_attempts=coalesce(jobrunner_schema.job_runs.max_attempts, picked.max_attempts), timeout=coalesce(jobrunner_schema.job_runs.timeout, picked.timeout), locked_by=%(owner)s::VARCHAR, host=%(host)s::VARCHAR, locked_until=(jobrunner_schema.jobrunner_now() + make_interval(secs => %(lease_seconds)s::FLOAT)), lease_token=%(token)s::VARCHAR, claimed_at=jobrunner_schema.jobrunner_now(), started_at=jobrunner_schema.jobrunner_now(), heartbeat_at=jobrunner_schema.jobrunner_now(), progress=NULL, output=NULL, updated_at=jobrunner_schema.jobrunner_now() FROM picked WHERE jobrunner_schema.job_runs.id = picked.id AND jobrunner_schema.job_runs.status != 'running' RETURNING jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.lease_token, jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.gate, jobrunner_schema.job_runs.payload, jobrunner_schema.job_runs.attempts, jobrunner_schema.job_runs.max_attempts, jobrunner_schema.job_runs.timeout, jobrunner_schema.job_runs.turn_at, jobrunner_schema.job_runs.run_at, jobrunner_schema.job_runs.scheduled_for, jobrunner_schema.job_runs.claimed_at, jobrunner_schema.job_runs.definition_id, jobrunner_schema.job_runs.traceparent, jobrunner_schema.job_runs.checkpoint, jobrunner_schema.job_runs.concurrency_key""",
        {'attempts_1': 1},
        {'types': (('job_type', None), ('most', None), ('since', 'instant'), ('max_attempts', None), ('timeout', None), ('family', None), ('together', None)), 'gated': (('id', None), ('turn_at', 'instant'))},
        (('id', None), ('lease_token', None), ('job_type', None), ('gate', None), ('payload', 'json'), ('attempts', None), ('max_attempts', None), ('timeout', None), ('turn_at', 'instant'), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('claimed_at', 'instant'), ('definition_id', None), ('traceparent', None), ('checkpoint', 'json'), ('concurrency_key', None)),
    ),
    ('claims.held_by_type', (True,)): (
        """SELECT '' AS paused, jobrunner_schema.job_runs.job_type AS name, count(*) AS runs, sum(CASE WHEN (jobrunner_schema.job_runs.locked_by = %(owner)s::VARCHAR) THEN %(param_1)s::INTEGER ELSE %(param_2)s::INTEGER END) AS mine
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status = 'running' AND jobrunner_schema.job_runs.host = %(host)s::VARCHAR AND jobrunner_schema.job_runs.locked_until > jobrunner_schema.jobrunner_now() GROUP BY jobrunner_schema.job_runs.job_type UNION ALL SELECT jobrunner_schema.job_pauses.kind, jobrunner_schema.job_pauses.name, 0, 0
FROM jobrunner_schema.job_pauses
WHERE jobrunner_schema.job_pauses.kind != 'host' OR jobrunner_schema.job_pauses.name = %(host)s::VARCHAR UNION ALL SELECT 'limit', jobrunner_schema.job_set_limits.job_type, 0, 0
FROM jobrunner_schema.job_set_limits UNION ALL SELECT 'own', '', 0, 0
FROM (SELECT jobrunner_schema.job_claimable_by_host.id AS id
FROM jobrunner_schema.job_claimable_by_host
WHERE jobrunner_schema.job_claimable_by_host.only_host = %(host)s::VARCHAR
 LIMIT 1) AS own""",
        {'param_1': 1, 'param_2': 0},
        {},
        (('paused', None), ('name', None), ('runs', None), ('mine', None)),
    ),
    ('claims.held_by_type', (False,)): (
        """SELECT 'versions' AS paused, '' AS name, 0 AS runs, 0 AS mine
WHERE (SELECT jobrunner_schema.job_ticks.version
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.host = %(host)s::VARCHAR AND jobrunner_schema.job_ticks.finished_at IS NULL ORDER BY jobrunner_schema.job_ticks.version
 LIMIT 1) != (SELECT jobrunner_schema.job_ticks.version
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.host = %(host)s::VARCHAR AND jobrunner_schema.job_ticks.finished_at IS NULL ORDER BY jobrunner_schema.job_ticks.version DESC
 LIMIT 1) UNION ALL SELECT jobrunner_schema.job_pauses.kind, jobrunner_schema.job_pauses.name, 0, 0
FROM jobrunner_schema.job_pauses
WHERE jobrunner_schema.job_pauses.kind != 'host' OR jobrunner_schema.job_pauses.name = %(host)s::VARCHAR UNION ALL SELECT 'limit', jobrunner_schema.job_set_limits.job_type, 0, 0
FROM jobrunner_schema.job_set_limits UNION ALL SELECT 'own', '', 0, 0
FROM (SELECT jobrunner_schema.job_claimable_by_host.id AS id
FROM jobrunner_schema.job_claimable_by_host
WHERE jobrunner_schema.job_claimable_by_host.only_host = %(host)s::VARCHAR
 LIMIT 1) AS own""",
        {},
        {},
        (('paused', None), ('name', None), ('runs', None), ('mine', None)),
    ),
    ('claims.held_under', (False,)): (
        """SELECT jobrunner_schema.job_runs.id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.lease_token = %(token)s::VARCHAR AND jobrunner_schema.job_runs.status = 'running'""",
        {},
        {},
        (('id', None),),
    ),
    ('claims.held_under', (True,)): (
        """SELECT jobrunner_schema.job_runs.id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = given.id
WHERE jobrunner_schema.job_runs.lease_token = %(token)s::VARCHAR""",
        {},
        {'given': (('id', None),)},
        (('id', None),),
    ),
    ('claims.return_unstarted', (False,)): (
        """WITH held AS
(SELECT jobrunner_schema.job_runs.id AS id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.lease_token = %(token)s::VARCHAR AND jobrunner_schema.job_runs.status = 'running' FOR NO KEY UPDATE OF job_runs SKIP LOCKED)
 UPDATE jobrunner_schema.job_runs SET status=CASE WHEN (jobrunner_schema.job_runs.cancel_requested_at IS NULL) THEN 'queued' ELSE 'cancelled' END, gate='', attempts=(jobrunner_schema.job_runs.attempts - %(attempts_1)s::INTEGER), locked_by=NULL, host=NULL, locked_until=NULL, lease_token=NULL, started_at=NULL, heartbeat_at=NULL, finished_at=CASE WHEN (jobrunner_schema.job_runs.cancel_requested_at IS NULL) THEN NULL ELSE jobrunner_schema.jobrunner_now() END, updated_at=jobrunner_schema.jobrunner_now() WHERE jobrunner_schema.job_runs.id IN (SELECT held.id
FROM held) AND jobrunner_schema.job_runs.lease_token IS NOT NULL RETURNING jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.status""",
        {'attempts_1': 1},
        {},
        (('id', None), ('job_type', None), ('status', None)),
    ),
    ('claims.return_unstarted', (True,)): (
        """WITH held AS
(SELECT jobrunner_schema.job_runs.id AS id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = given.id
WHERE jobrunner_schema.job_runs.lease_token = %(token)s::VARCHAR FOR NO KEY UPDATE OF job_runs SKIP LOCKED)
 UPDATE jobrunner_schema.job_runs SET status=CASE WHEN (jobrunner_schema.job_runs.cancel_requested_at IS NULL) THEN 'queued' ELSE 'cancelled' END, gate='', attempts=(jobrunner_schema.job_runs.attempts - %(attempts_1)s::INTEGER), locked_by=NULL, host=NULL, locked_until=NULL, lease_token=NULL, started_at=NULL, heartbeat_at=NULL, finished_at=CASE WHEN (jobrunner_schema.job_runs.cancel_requested_at IS NULL) THEN NULL ELSE jobrunner_schema.jobrunner_now() END, updated_at=jobrunner_schema.jobrunner_now() WHERE jobrunner_schema.job_runs.id IN (SELECT held.id
FROM held) AND jobrunner_schema.job_runs.lease_token IS NOT NULL RETURNING jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.status""",
        {'attempts_1': 1},
        {'given': (('id', None),)},
        (('id', None), ('job_type', None), ('status', None)),
    ),
    ('deadlines.end', ()): (
        """UPDATE jobrunner_schema.job_runs SET status=%(status)s::VARCHAR, finished_at=jobrunner_schema.jobrunner_now(), error_type=%(error_type)s::VARCHAR, last_error=given.last_error, updated_at=jobrunner_schema.jobrunner_now() FROM (SELECT id, last_error FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT, last_error TEXT)) AS given WHERE jobrunner_schema.job_runs.id = given.id""",
        {'status': 'dead', 'error_type': 'start_deadline'},
        {'given': (('id', None), ('last_error', None))},
        (),
    ),
    ('deadlines.overdue', ()): (
        """SELECT jobrunner_schema.job_overdue.id, jobrunner_schema.job_overdue.definition_id, jobrunner_schema.job_overdue.job_type, jobrunner_schema.job_overdue.status, jobrunner_schema.job_overdue.attempts, jobrunner_schema.job_overdue.start_deadline_at, jobrunner_schema.job_overdue.error_type, jobrunner_schema.job_overdue.last_error, jobrunner_schema.jobrunner_now() AS now
FROM jobrunner_schema.job_overdue ORDER BY jobrunner_schema.job_overdue.start_deadline_at
 LIMIT %(limit)s::BIGINT FOR NO KEY UPDATE SKIP LOCKED""",
        {},
        {},
        (('id', None), ('definition_id', None), ('job_type', None), ('status', None), ('attempts', None), ('start_deadline_at', 'instant'), ('error_type', None), ('last_error', None), ('now', 'instant')),
    ),
    ('definitions.events', ()): (
        """SELECT jobrunner_schema.job_events.at, jobrunner_schema.job_events.actor, jobrunner_schema.job_events.action, jobrunner_schema.job_events.run_id, jobrunner_schema.job_events.detail
FROM jobrunner_schema.job_events
WHERE jobrunner_schema.job_events.definition_id = %(definition)s::BIGINT ORDER BY jobrunner_schema.job_events.id DESC
 LIMIT %(most)s::INTEGER""",
        {},
        {},
        (('at', 'instant'), ('actor', None), ('action', None), ('run_id', None), ('detail', 'json')),
    ),
    ('definitions.former_runs', (False,)): (
        """SELECT jobrunner_schema.job_runs.definition_id, jobrunner_schema.job_definitions.name, jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.job_type, jobrunner_schema.job_definitions.job_type AS type_today
FROM jobrunner_schema.job_runs, jobrunner_schema.job_definitions
WHERE jobrunner_schema.job_runs.id IN (SELECT min(jobrunner_schema.job_runs.id) AS min_1
FROM jobrunner_schema.job_runs JOIN jobrunner_schema.job_definitions ON jobrunner_schema.job_definitions.id = jobrunner_schema.job_runs.definition_id
WHERE status IN ('queued', 'failed', 'running') AND jobrunner_schema.job_runs.definition_id IS NOT NULL AND jobrunner_schema.job_runs.status != 'running' AND jobrunner_schema.job_runs.job_type != jobrunner_schema.job_definitions.job_type AND jobrunner_schema.job_definitions.overlap IN ('skip', 'queue') AND jobrunner_schema.job_definitions.removed_at IS NULL GROUP BY jobrunner_schema.job_runs.definition_id) AND jobrunner_schema.job_definitions.id = jobrunner_schema.job_runs.definition_id""",
        {},
        {},
        (('definition_id', None), ('name', None), ('id', None), ('job_type', None), ('type_today', None)),
    ),
    ('definitions.former_runs', (True,)): (
        """SELECT jobrunner_schema.job_runs.definition_id, jobrunner_schema.job_definitions.name, jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.job_type, jobrunner_schema.job_definitions.job_type AS type_today
FROM jobrunner_schema.job_runs, jobrunner_schema.job_definitions
WHERE jobrunner_schema.job_runs.id IN (SELECT min(jobrunner_schema.job_runs.id) AS min_1
FROM jobrunner_schema.job_runs JOIN jobrunner_schema.job_definitions ON jobrunner_schema.job_definitions.id = jobrunner_schema.job_runs.definition_id
WHERE status IN ('queued', 'failed', 'running') AND jobrunner_schema.job_runs.definition_id IS NOT NULL AND jobrunner_schema.job_runs.status != 'running' AND jobrunner_schema.job_runs.job_type != jobrunner_schema.job_definitions.job_type AND jobrunner_schema.job_definitions.overlap IN ('skip', 'queue') AND jobrunner_schema.job_definitions.removed_at IS NULL AND jobrunner_schema.job_runs.definition_id = %(definition)s::BIGINT GROUP BY jobrunner_schema.job_runs.definition_id) AND jobrunner_schema.job_definitions.id = jobrunner_schema.job_runs.definition_id""",
        {},
        {},
        (('definition_id', None), ('name', None), ('id', None), ('job_type', None), ('type_today', None)),
    ),
    ('definitions.listed', (False,)): (
        """SELECT jobrunner_schema.job_definitions.id, jobrunner_schema.job_definitions.name, jobrunner_schema.job_definitions.job_type, jobrunner_schema.job_definitions.payload, jobrunner_schema.job_definitions.schedule, jobrunner_schema.job_definitions.timezone, jobrunner_schema.job_definitions.source, jobrunner_schema.job_definitions.application, jobrunner_schema.job_definitions.description, jobrunner_schema.job_definitions.misfire, jobrunner_schema.job_definitions.misfire_window, jobrunner_schema.job_definitions.misfire_most, jobrunner_schema.job_definitions.overlap, jobrunner_schema.job_definitions.start_deadline, jobrunner_schema.job_definitions.jitter, jobrunner_schema.job_definitions.ends_at, jobrunner_schema.job_definitions.max_runs, jobrunner_schema.job_definitions.runs_made, jobrunner_schema.job_definitions.last_slot_at, jobrunner_schema.job_definitions.next_run_at, jobrunner_schema.job_definitions.paused_at, jobrunner_schema.job_definitions.removed_at, jobrunner_schema.job_definitions.last_error, jobrunner_schema.job_definitions.created_at, jobrunner_schema.job_definitions.updated_at, jobrunner_schema.job_definitions."on", jobrunner_schema.job_definitions.host, jobrunner_schema.job_definitions.template, jobrunner_schema.jobrunner_now() AS now
FROM jobrunner_schema.job_definitions
WHERE jobrunner_schema.job_definitions.removed_at IS NULL ORDER BY jobrunner_schema.job_definitions.name""",
        {},
        {},
        (('id', None), ('name', None), ('job_type', None), ('payload', 'json'), ('schedule', None), ('timezone', None), ('source', None), ('application', None), ('description', None), ('misfire', None), ('misfire_window', None), ('misfire_most', None), ('overlap', None), ('start_deadline', None), ('jitter', None), ('ends_at', 'instant'), ('max_runs', None), ('runs_made', None), ('last_slot_at', 'instant'), ('next_run_at', 'instant'), ('paused_at', 'instant'), ('removed_at', 'instant'), ('last_error', None), ('created_at', 'instant'), ('updated_at', 'instant'), ('on', None), ('host', None), ('template', None), ('now', 'instant')),
    ),
    ('definitions.listed', (True,)): (
        """SELECT jobrunner_schema.job_definitions.id, jobrunner_schema.job_definitions.name, jobrunner_schema.job_definitions.job_type, jobrunner_schema.job_definitions.payload, jobrunner_schema.job_definitions.schedule, jobrunner_schema.job_definitions.timezone, jobrunner_schema.job_definitions.source, jobrunner_schema.job_definitions.application, jobrunner_schema.job_definitions.description, jobrunner_schema.job_definitions.misfire, jobrunner_schema.job_definitions.misfire_window, jobrunner_schema.job_definitions.misfire_most, jobrunner_schema.job_definitions.overlap, jobrunner_schema.job_definitions.start_deadline, jobrunner_schema.job_definitions.jitter, jobrunner_schema.job_definitions.ends_at, jobrunner_schema.job_definitions.max_runs, jobrunner_schema.job_definitions.runs_made, jobrunner_schema.job_definitions.last_slot_at, jobrunner_schema.job_definitions.next_run_at, jobrunner_schema.job_definitions.paused_at, jobrunner_schema.job_definitions.removed_at, jobrunner_schema.job_definitions.last_error, jobrunner_schema.job_definitions.created_at, jobrunner_schema.job_definitions.updated_at, jobrunner_schema.job_definitions."on", jobrunner_schema.job_definitions.host, jobrunner_schema.job_definitions.template, jobrunner_schema.jobrunner_now() AS now
FROM jobrunner_schema.job_definitions ORDER BY jobrunner_schema.job_definitions.name""",
        {},
        {},
        (('id', None), ('name', None), ('job_type', None), ('payload', 'json'), ('schedule', None), ('timezone', None), ('source', None), ('application', None), ('description', None), ('misfire', None), ('misfire_window', None), ('misfire_most', None), ('overlap', None), ('start_deadline', None), ('jitter', None), ('ends_at', 'instant'), ('max_runs', None), ('runs_made', None), ('last_slot_at', 'instant'), ('next_run_at', 'instant'), ('paused_at', 'instant'), ('removed_at', 'instant'), ('last_error', None), ('created_at', 'instant'), ('updated_at', 'instant'), ('on', None), ('host', None), ('template', None), ('now', 'instant')),
    ),
    ('definitions.named', (False,)): (
        """SELECT jobrunner_schema.job_definitions.id, jobrunner_schema.job_definitions.name, jobrunner_schema.job_definitions.job_type, jobrunner_schema.job_definitions.payload, jobrunner_schema.job_definitions.schedule, jobrunner_schema.job_definitions.timezone, jobrunner_schema.job_definitions.source, jobrunner_schema.job_definitions.application, jobrunner_schema.job_definitions.description, jobrunner_schema.job_definitions.misfire, jobrunner_schema.job_definitions.misfire_window, jobrunner_schema.job_definitions.misfire_most, jobrunner_schema.job_definitions.overlap, jobrunner_schema.job_definitions.start_deadline, jobrunner_schema.job_definitions.jitter, jobrunner_schema.job_definitions.ends_at, jobrunner_schema.job_definitions.max_runs, jobrunner_schema.job_definitions.runs_made, jobrunner_schema.job_definitions.last_slot_at, jobrunner_schema.job_definitions.next_run_at, jobrunner_schema.job_definitions.paused_at, jobrunner_schema.job_definitions.removed_at, jobrunner_schema.job_definitions.last_error, jobrunner_schema.job_definitions.created_at, jobrunner_schema.job_definitions.updated_at, jobrunner_schema.job_definitions."on", jobrunner_schema.job_definitions.host, jobrunner_schema.job_definitions.template, jobrunner_schema.jobrunner_now() AS now
FROM jobrunner_schema.job_definitions
WHERE jobrunner_schema.job_definitions.name = %(name)s::VARCHAR""",
        {},
        {},
        (('id', None), ('name', None), ('job_type', None), ('payload', 'json'), ('schedule', None), ('timezone', None), ('source', None), ('application', None), ('description', None), ('misfire', None), ('misfire_window', None), ('misfire_most', None), ('overlap', None), ('start_deadline', None), ('jitter', None), ('ends_at', 'instant'), ('max_runs', None), ('runs_made', None), ('last_slot_at', 'instant'), ('next_run_at', 'instant'), ('paused_at', 'instant'), ('removed_at', 'instant'), ('last_error', None), ('created_at', 'instant'), ('updated_at', 'instant'), ('on', None), ('host', None), ('template', None), ('now', 'instant')),
    ),
    ('definitions.named', (True,)): (
        """SELECT jobrunner_schema.job_definitions.id, jobrunner_schema.job_definitions.name, jobrunner_schema.job_definitions.job_type, jobrunner_schema.job_definitions.payload, jobrunner_schema.job_definitions.schedule, jobrunner_schema.job_definitions.timezone, jobrunner_schema.job_definitions.source, jobrunner_schema.job_definitions.application, jobrunner_schema.job_definitions.description, jobrunner_schema.job_definitions.misfire, jobrunner_schema.job_definitions.misfire_window, jobrunner_schema.job_definitions.misfire_most, jobrunner_schema.job_definitions.overlap, jobrunner_schema.job_definitions.start_deadline, jobrunner_schema.job_definitions.jitter, jobrunner_schema.job_definitions.ends_at, jobrunner_schema.job_definitions.max_runs, jobrunner_schema.job_definitions.runs_made, jobrunner_schema.job_definitions.last_slot_at, jobrunner_schema.job_definitions.next_run_at, jobrunner_schema.job_definitions.paused_at, jobrunner_schema.job_definitions.removed_at, jobrunner_schema.job_definitions.last_error, jobrunner_schema.job_definitions.created_at, jobrunner_schema.job_definitions.updated_at, jobrunner_schema.job_definitions."on", jobrunner_schema.job_definitions.host, jobrunner_schema.job_definitions.template, jobrunner_schema.jobrunner_now() AS now
FROM jobrunner_schema.job_definitions
WHERE jobrunner_schema.job_definitions.name = %(name)s::VARCHAR FOR UPDATE""",
        {},
        {},
        (('id', None), ('name', None), ('job_type', None), ('payload', 'json'), ('schedule', None), ('timezone', None), ('source', None), ('application', None), ('description', None), ('misfire', None), ('misfire_window', None), ('misfire_most', None), ('overlap', None), ('start_deadline', None), ('jitter', None), ('ends_at', 'instant'), ('max_runs', None), ('runs_made', None), ('last_slot_at', 'instant'), ('next_run_at', 'instant'), ('paused_at', 'instant'), ('removed_at', 'instant'), ('last_error', None), ('created_at', 'instant'), ('updated_at', 'instant'), ('on', None), ('host', None), ('template', None), ('now', 'instant')),
    ),
    ('definitions.names', ()): (
        """SELECT jobrunner_schema.job_definitions.name
FROM jobrunner_schema.job_definitions
WHERE jobrunner_schema.job_definitions.removed_at IS NULL""",
        {},
        {},
        (('name', None),),
    ),
    ('definitions.names_of_hosts', ()): (
        """SELECT jobrunner_schema.job_definitions.name
FROM jobrunner_schema.job_definitions
WHERE jobrunner_schema.job_definitions.template = %(template)s::VARCHAR AND jobrunner_schema.job_definitions.removed_at IS NULL ORDER BY jobrunner_schema.job_definitions.name""",
        {},
        {},
        (('name', None),),
    ),
    ('definitions.of_templates', ()): (
        """SELECT jobrunner_schema.job_definitions.id, jobrunner_schema.job_definitions.name, jobrunner_schema.job_definitions.job_type, jobrunner_schema.job_definitions.payload, jobrunner_schema.job_definitions.schedule, jobrunner_schema.job_definitions.timezone, jobrunner_schema.job_definitions.source, jobrunner_schema.job_definitions.application, jobrunner_schema.job_definitions.description, jobrunner_schema.job_definitions.misfire, jobrunner_schema.job_definitions.misfire_window, jobrunner_schema.job_definitions.misfire_most, jobrunner_schema.job_definitions.overlap, jobrunner_schema.job_definitions.start_deadline, jobrunner_schema.job_definitions.jitter, jobrunner_schema.job_definitions.ends_at, jobrunner_schema.job_definitions.max_runs, jobrunner_schema.job_definitions.runs_made, jobrunner_schema.job_definitions.last_slot_at, jobrunner_schema.job_definitions.next_run_at, jobrunner_schema.job_definitions.paused_at, jobrunner_schema.job_definitions.removed_at, jobrunner_schema.job_definitions.last_error, jobrunner_schema.job_definitions.created_at, jobrunner_schema.job_definitions.updated_at, jobrunner_schema.job_definitions."on", jobrunner_schema.job_definitions.host, jobrunner_schema.job_definitions.template, jobrunner_schema.jobrunner_now() AS now
FROM jobrunner_schema.job_definitions
WHERE jobrunner_schema.job_definitions.template IN (SELECT given.name
FROM (SELECT name FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(name VARCHAR(200))) AS given) AND jobrunner_schema.job_definitions.removed_at IS NULL ORDER BY jobrunner_schema.job_definitions.id FOR UPDATE OF job_definitions""",
        {},
        {'given': (('name', None),)},
        (('id', None), ('name', None), ('job_type', None), ('payload', 'json'), ('schedule', None), ('timezone', None), ('source', None), ('application', None), ('description', None), ('misfire', None), ('misfire_window', None), ('misfire_most', None), ('overlap', None), ('start_deadline', None), ('jitter', None), ('ends_at', 'instant'), ('max_runs', None), ('runs_made', None), ('last_slot_at', 'instant'), ('next_run_at', 'instant'), ('paused_at', 'instant'), ('removed_at', 'instant'), ('last_error', None), ('created_at', 'instant'), ('updated_at', 'instant'), ('on', None), ('host', None), ('template', None), ('now', 'instant')),
    ),
    ('definitions.on_hosts', ()): (
        """SELECT jobrunner_schema.job_definitions.name, jobrunner_schema.job_definitions.host, jobrunner_schema.job_definitions.last_slot_at, jobrunner_schema.job_definitions.next_run_at, jobrunner_schema.job_definitions.paused_at, jobrunner_schema.job_definitions.last_error, (SELECT jobrunner_schema.job_ticks.started_at
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.id = (SELECT jobrunner_schema.job_ticks.id
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.host >= jobrunner_schema.job_definitions.host AND jobrunner_schema.job_ticks.host <= jobrunner_schema.job_definitions.host ORDER BY jobrunner_schema.job_ticks.host DESC, jobrunner_schema.job_ticks.id DESC
 LIMIT 1)) AS ticked_at, jobrunner_schema.job_runs.id AS run_id, jobrunner_schema.job_runs.status AS run_status, jobrunner_schema.job_runs.scheduled_for AS run_slot
FROM jobrunner_schema.job_definitions LEFT OUTER JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = (SELECT max(jobrunner_schema.job_runs.id) AS max_1
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.definition_id = jobrunner_schema.job_definitions.id)
WHERE jobrunner_schema.job_definitions.template = %(template)s::VARCHAR AND jobrunner_schema.job_definitions.removed_at IS NULL ORDER BY jobrunner_schema.job_definitions.host""",
        {},
        {},
        (('name', None), ('host', None), ('last_slot_at', 'instant'), ('next_run_at', 'instant'), ('paused_at', 'instant'), ('last_error', None), ('ticked_at', 'instant'), ('run_id', None), ('run_status', None), ('run_slot', 'instant')),
    ),
    ('definitions.paused_by', ()): (
        """SELECT jobrunner_schema.job_events.actor
FROM jobrunner_schema.job_events
WHERE jobrunner_schema.job_events.definition_id = %(definition)s::BIGINT AND jobrunner_schema.job_events.action = 'pause schedule' AND jobrunner_schema.job_events.at >= %(since)s::TIMESTAMP WITH TIME ZONE ORDER BY jobrunner_schema.job_events.id DESC
 LIMIT %(param_1)s::INTEGER""",
        {'param_1': 1},
        {'since': 'instant'},
        (('actor', None),),
    ),
    ('definitions.runs', ()): (
        """SELECT jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.scheduled_for, jobrunner_schema.job_runs.origin, jobrunner_schema.job_runs.status, jobrunner_schema.job_runs.run_at, jobrunner_schema.job_runs.finished_at, jobrunner_schema.job_runs.attempts, jobrunner_schema.job_runs.error_type, jobrunner_schema.job_runs.last_error, jobrunner_schema.job_runs.created_at, coalesce((SELECT min(jobrunner_schema.job_attempts.started_at) AS min_1
FROM jobrunner_schema.job_attempts
WHERE jobrunner_schema.job_attempts.run_id = jobrunner_schema.job_runs.id), jobrunner_schema.job_runs.started_at) AS first_started_at
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.definition_id = %(definition)s::BIGINT ORDER BY jobrunner_schema.job_runs.id DESC
 LIMIT %(most)s::INTEGER""",
        {},
        {},
        (('id', None), ('scheduled_for', 'instant'), ('origin', None), ('status', None), ('run_at', 'instant'), ('finished_at', 'instant'), ('attempts', None), ('error_type', None), ('last_error', None), ('created_at', 'instant'), ('first_started_at', 'instant')),
    ),
    ('dependants.attach', ()): (
        """INSERT INTO jobrunner_schema.job_parents (parent_id, run_id, if_parent_fails, parent_status) SELECT given.parent_id, given.run_id, given.if_parent_fails, given.parent_status
FROM (SELECT parent_id, run_id, if_parent_fails, parent_status FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(parent_id BIGINT, run_id BIGINT, if_parent_fails VARCHAR(20), parent_status VARCHAR(20))) AS given""",
        {},
        {'given': (('parent_id', None), ('run_id', None), ('if_parent_fails', None), ('parent_status', None))},
        (),
    ),
    ('dependants.cancel', ()): (
        """UPDATE jobrunner_schema.job_runs SET status='cancelled', gate='', finished_at=jobrunner_schema.jobrunner_now(), error_type='parent_failed', last_error=given.last_error, updated_at=jobrunner_schema.jobrunner_now() FROM (SELECT id, last_error FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT, last_error TEXT)) AS given WHERE jobrunner_schema.job_runs.id = given.id AND jobrunner_schema.job_runs.gate = 'after'""",
        {},
        {'given': (('id', None), ('last_error', None))},
        (),
    ),
    ('dependants.forget', ()): (
        """DELETE FROM jobrunner_schema.job_parents WHERE jobrunner_schema.job_parents.run_id = ANY(ARRAY(SELECT given.id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given))""",
        {},
        {'given': (('id', None),)},
        (),
    ),
    ('dependants.hold', ()): (
        """UPDATE jobrunner_schema.job_runs SET gate='after' WHERE jobrunner_schema.job_runs.id = %(run_id)s::BIGINT""",
        {},
        {},
        (),
    ),
    ('dependants.hold_in_sql', ()): (
        """SELECT jobrunner_schema.jobrunner_hold(%(run_id)s::BIGINT, CAST(%(given)s::VARCHAR AS JSON)) AS held""",
        {},
        {'given': (('parent_id', None), ('if_parent_fails', None))},
        (('held', None),),
    ),
    ('dependants.known', ()): (
        """SELECT jobrunner_schema.job_runs.id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = given.id""",
        {},
        {'given': (('id', None),)},
        (('id', None),),
    ),
    ('dependants.lock', ()): (
        """SELECT jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.status, jobrunner_schema.job_runs.gate, jobrunner_schema.jobrunner_now() AS now
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = given.id FOR NO KEY UPDATE OF job_runs SKIP LOCKED""",
        {},
        {'given': (('id', None),)},
        (('id', None), ('job_type', None), ('status', None), ('gate', None), ('now', 'instant')),
    ),
    ('dependants.lock_parents', ()): (
        """SELECT jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.status, jobrunner_schema.job_runs.finished_at
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = given.id ORDER BY jobrunner_schema.job_runs.id FOR NO KEY UPDATE OF job_runs""",
        {},
        {'given': (('id', None),)},
        (('id', None), ('status', None), ('finished_at', 'instant')),
    ),
    ('dependants.mark_parents', ()): (
        """UPDATE jobrunner_schema.job_runs SET has_dependants=1 FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given WHERE jobrunner_schema.job_runs.id = given.id""",
        {},
        {'given': (('id', None),)},
        (),
    ),
    ('dependants.release', ()): (
        """UPDATE jobrunner_schema.job_runs SET gate='', updated_at=jobrunner_schema.jobrunner_now() FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given WHERE jobrunner_schema.job_runs.id = given.id AND jobrunner_schema.job_runs.gate = 'after' AND NOT (EXISTS (SELECT jobrunner_schema.job_parents.run_id
FROM jobrunner_schema.job_parents
WHERE jobrunner_schema.job_parents.run_id = jobrunner_schema.job_runs.id)) RETURNING jobrunner_schema.job_runs.id""",
        {},
        {'given': (('id', None),)},
        (('id', None),),
    ),
    ('dependants.take_ends', ()): (
        """DELETE FROM jobrunner_schema.job_parents WHERE jobrunner_schema.job_parents.run_id = ANY(ARRAY(SELECT given.id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given)) AND parent_status IS NOT NULL RETURNING jobrunner_schema.job_parents.run_id, jobrunner_schema.job_parents.parent_id, jobrunner_schema.job_parents.parent_status, jobrunner_schema.job_parents.if_parent_fails""",
        {},
        {'given': (('id', None),)},
        (('run_id', None), ('parent_id', None), ('parent_status', None), ('if_parent_fails', None)),
    ),
    ('dependants.told', ()): (
        """SELECT DISTINCT jobrunner_schema.job_parents.run_id AS id
FROM jobrunner_schema.job_parents
WHERE parent_status IS NOT NULL
 LIMIT %(limit)s::INTEGER""",
        {},
        {},
        (('id', None),),
    ),
    ('effects.answers', ()): (
        """SELECT jobrunner_schema.job_events.detail
FROM jobrunner_schema.job_events
WHERE jobrunner_schema.job_events.run_id = %(run)s::BIGINT AND jobrunner_schema.job_events.action = %(answered)s::VARCHAR AND jobrunner_schema.job_events.at >= %(since)s::TIMESTAMP WITH TIME ZONE""",
        {},
        {'since': 'instant'},
        (('detail', 'json'),),
    ),
    ('effects.clear', ()): (
        """DELETE FROM jobrunner_schema.job_effects WHERE jobrunner_schema.job_effects.key = %(effect)s::VARCHAR AND jobrunner_schema.job_effects.token = %(call)s::VARCHAR AND jobrunner_schema.job_effects.state != 'applied' RETURNING jobrunner_schema.job_effects.token""",
        {},
        {},
        (('token', None),),
    ),
    ('effects.count_uncertain', ()): (
        """SELECT count(*) AS effects
FROM jobrunner_schema.job_effects
WHERE jobrunner_schema.job_effects.state != 'applied' AND NOT (jobrunner_schema.job_effects.state = 'intended' AND (EXISTS (SELECT jobrunner_schema.job_runs.id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.id = jobrunner_schema.job_effects.run_id AND jobrunner_schema.job_runs.lease_token = jobrunner_schema.job_effects.lease_token)))""",
        {},
        {},
        (('effects', None),),
    ),
    ('effects.find', ()): (
        """SELECT jobrunner_schema.job_effects.key, jobrunner_schema.job_effects.state, jobrunner_schema.job_effects.run_id, jobrunner_schema.job_effects.job_type, jobrunner_schema.job_effects.attempt, jobrunner_schema.job_effects.lease_token, jobrunner_schema.job_effects.token, jobrunner_schema.job_effects.outcome, jobrunner_schema.job_effects.intended_at, jobrunner_schema.job_effects.settled_at, jobrunner_schema.job_effects.state = 'intended' AND (EXISTS (SELECT jobrunner_schema.job_runs.id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.id = jobrunner_schema.job_effects.run_id AND jobrunner_schema.job_runs.lease_token = jobrunner_schema.job_effects.lease_token)) AS in_progress
FROM jobrunner_schema.job_effects
WHERE jobrunner_schema.job_effects.key = %(effect)s::VARCHAR""",
        {},
        {},
        (('key', None), ('state', None), ('run_id', None), ('job_type', None), ('attempt', None), ('lease_token', None), ('token', None), ('outcome', 'json'), ('intended_at', 'instant'), ('settled_at', 'instant'), ('in_progress', 'boolean')),
    ),
    ('effects.forget', ()): (
        """DELETE FROM jobrunner_schema.job_effects WHERE jobrunner_schema.job_effects.key = %(effect)s::VARCHAR""",
        {},
        {},
        (),
    ),
    ('effects.intend', ()): (
        """INSERT INTO jobrunner_schema.job_effects (key, state, run_id, job_type, attempt, lease_token, token, intended_at) SELECT %(effect)s::VARCHAR AS anon_1, 'intended', jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.attempts, jobrunner_schema.job_runs.lease_token, %(call)s::VARCHAR AS anon_2, jobrunner_schema.jobrunner_now() AS anon_3
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.id = %(run)s::BIGINT AND jobrunner_schema.job_runs.lease_token = %(token)s::VARCHAR AND jobrunner_schema.jobrunner_promoted() IS NULL ON CONFLICT DO NOTHING RETURNING (SELECT jobrunner_schema.job_state.server
FROM jobrunner_schema.job_state) AS server, (SELECT jobrunner_schema.job_runs.created_at
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.id = %(run)s::BIGINT) AS run_created_at, jobrunner_schema.job_effects.intended_at""",
        {},
        {},
        (('server', None), ('run_created_at', 'instant'), ('intended_at', 'instant')),
    ),
    ('effects.is_paused', ()): (
        """SELECT jobrunner_schema.jobrunner_promoted() IS NOT NULL AS is_paused""",
        {},
        {},
        (('is_paused', 'boolean'),),
    ),
    ('effects.known', ()): (
        """SELECT jobrunner_schema.job_effects.key, jobrunner_schema.job_effects.token, jobrunner_schema.job_effects.state
FROM jobrunner_schema.job_effects, (SELECT effect FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(effect VARCHAR(500))) AS given
WHERE jobrunner_schema.job_effects.key = given.effect""",
        {},
        {'given': (('effect', None),)},
        (('key', None), ('token', None), ('state', None)),
    ),
    ('effects.lock', ()): (
        """SELECT jobrunner_schema.job_effects.state, jobrunner_schema.job_effects.run_id, jobrunner_schema.job_effects.state = 'intended' AND (EXISTS (SELECT jobrunner_schema.job_runs.id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.id = jobrunner_schema.job_effects.run_id AND jobrunner_schema.job_runs.lease_token = jobrunner_schema.job_effects.lease_token)) AS in_progress, jobrunner_schema.jobrunner_now() AS now
FROM jobrunner_schema.job_effects
WHERE jobrunner_schema.job_effects.key = %(effect)s::VARCHAR FOR UPDATE OF job_effects""",
        {},
        {},
        (('state', None), ('run_id', None), ('in_progress', 'boolean'), ('now', 'instant')),
    ),
    ('effects.mark_applied', ()): (
        """UPDATE jobrunner_schema.job_effects SET state='applied', outcome=%(new_outcome)s::JSONB, settled_at=%(at)s::TIMESTAMP WITH TIME ZONE WHERE jobrunner_schema.job_effects.key = %(effect)s::VARCHAR""",
        {},
        {'new_outcome': 'json', 'at': 'instant'},
        (),
    ),
    ('effects.put_back', ()): (
        """INSERT INTO jobrunner_schema.job_effects (key, state, run_id, job_type, attempt, lease_token, token, outcome, intended_at, settled_at) SELECT %(effect)s::VARCHAR AS anon_1, CASE WHEN (CAST(%(was_applied)s AS BOOLEAN) AND (EXISTS (SELECT jobrunner_schema.job_runs.id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.id = %(run)s::BIGINT AND jobrunner_schema.job_runs.created_at = %(run_created_at)s::TIMESTAMP WITH TIME ZONE AND jobrunner_schema.job_runs.job_type = %(of_type)s::VARCHAR))) THEN 'applied' ELSE 'intended' END AS anon_2, %(run)s::BIGINT AS anon_3, %(of_type)s::VARCHAR AS anon_4, %(of_attempt)s::INTEGER AS anon_5, %(its_lease)s::VARCHAR AS anon_6, %(call)s::VARCHAR AS anon_7, CASE WHEN (CAST(%(was_applied)s AS BOOLEAN) AND (EXISTS (SELECT jobrunner_schema.job_runs.id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.id = %(run)s::BIGINT AND jobrunner_schema.job_runs.created_at = %(run_created_at)s::TIMESTAMP WITH TIME ZONE AND jobrunner_schema.job_runs.job_type = %(of_type)s::VARCHAR))) THEN %(its_outcome)s::JSONB END AS anon_8, %(since)s::TIMESTAMP WITH TIME ZONE AS anon_9, CASE WHEN (CAST(%(was_applied)s AS BOOLEAN) AND (EXISTS (SELECT jobrunner_schema.job_runs.id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.id = %(run)s::BIGINT AND jobrunner_schema.job_runs.created_at = %(run_created_at)s::TIMESTAMP WITH TIME ZONE AND jobrunner_schema.job_runs.job_type = %(of_type)s::VARCHAR))) THEN jobrunner_schema.jobrunner_now() END AS anon_10 ON CONFLICT DO NOTHING RETURNING jobrunner_schema.job_effects.state""",
        {},
        {'run_created_at': 'instant', 'its_outcome': 'json', 'since': 'instant'},
        (('state', None),),
    ),
    ('effects.settle', ()): (
        """UPDATE jobrunner_schema.job_effects SET state=%(new_state)s::VARCHAR, outcome=%(new_outcome)s::JSONB, settled_at=CASE WHEN (%(new_state)s::VARCHAR = 'applied') THEN jobrunner_schema.jobrunner_now() END WHERE jobrunner_schema.job_effects.key = %(effect)s::VARCHAR AND jobrunner_schema.job_effects.token = %(call)s::VARCHAR AND jobrunner_schema.job_effects.state != 'applied' RETURNING jobrunner_schema.job_effects.token""",
        {},
        {'new_outcome': 'json'},
        (('token', None),),
    ),
    ('effects.take_over', ()): (
        """UPDATE jobrunner_schema.job_effects SET state='intended', run_id=%(run)s::BIGINT, job_type=%(of_type)s::VARCHAR, attempt=%(of_attempt)s::INTEGER, lease_token=%(token)s::VARCHAR, token=%(call)s::VARCHAR, intended_at=jobrunner_schema.jobrunner_now() WHERE jobrunner_schema.job_effects.key = %(effect)s::VARCHAR AND jobrunner_schema.job_effects.token = %(known_call)s::VARCHAR AND jobrunner_schema.job_effects.state != 'applied' AND (EXISTS (SELECT jobrunner_schema.job_runs.id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.id = %(run)s::BIGINT AND jobrunner_schema.job_runs.lease_token = %(token)s::VARCHAR)) RETURNING (SELECT jobrunner_schema.job_state.server
FROM jobrunner_schema.job_state) AS server, (SELECT jobrunner_schema.job_runs.created_at
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.id = %(run)s::BIGINT) AS run_created_at, jobrunner_schema.job_effects.intended_at""",
        {},
        {},
        (('server', None), ('run_created_at', 'instant'), ('intended_at', 'instant')),
    ),
    ('effects.uncertain', ()): (
        """SELECT jobrunner_schema.job_effects.key, jobrunner_schema.job_effects.run_id, jobrunner_schema.job_effects.job_type, jobrunner_schema.job_effects.attempt, jobrunner_schema.job_effects.intended_at
FROM jobrunner_schema.job_effects
WHERE jobrunner_schema.job_effects.state != 'applied' AND NOT (jobrunner_schema.job_effects.state = 'intended' AND (EXISTS (SELECT jobrunner_schema.job_runs.id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.id = jobrunner_schema.job_effects.run_id AND jobrunner_schema.job_runs.lease_token = jobrunner_schema.job_effects.lease_token))) ORDER BY jobrunner_schema.job_effects.intended_at, jobrunner_schema.job_effects.key
 LIMIT %(most)s::INTEGER""",
        {},
        {},
        (('key', None), ('run_id', None), ('job_type', None), ('attempt', None), ('intended_at', 'instant')),
    ),
    ('enqueue.insert_many', (('job_type', 'priority'), ('payload',))): (
        """INSERT INTO jobrunner_schema.job_runs (job_type, priority, payload, status, run_at, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, %(priority)s::SMALLINT AS anon_2, CAST(given.payload AS JSONB) AS anon_3, 'queued', jobrunner_schema.jobrunner_now() AS anon_4, jobrunner_schema.jobrunner_now() AS anon_5, jobrunner_schema.jobrunner_now() AS anon_6
FROM (SELECT payload FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(payload TEXT)) AS given RETURNING jobrunner_schema.job_runs.id""",
        {},
        {'given': (('payload', None),)},
        (('id', None),),
    ),
    ('enqueue.insert_many', (('job_type', 'priority'), ('idempotency_key', 'payload'))): (
        """INSERT INTO jobrunner_schema.job_runs (job_type, priority, idempotency_key, payload, status, run_at, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, %(priority)s::SMALLINT AS anon_2, given.idempotency_key, CAST(given.payload AS JSONB) AS anon_3, 'queued', jobrunner_schema.jobrunner_now() AS anon_4, jobrunner_schema.jobrunner_now() AS anon_5, jobrunner_schema.jobrunner_now() AS anon_6
FROM (SELECT idempotency_key, payload FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(idempotency_key VARCHAR(500), payload TEXT)) AS given RETURNING jobrunner_schema.job_runs.id""",
        {},
        {'given': (('idempotency_key', None), ('payload', None))},
        (('id', None),),
    ),
    ('enqueue.insert_many', (('job_type',), ('idempotency_key', 'payload', 'priority'))): (
        """INSERT INTO jobrunner_schema.job_runs (job_type, idempotency_key, payload, priority, status, run_at, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, given.idempotency_key, CAST(given.payload AS JSONB) AS anon_2, given.priority, 'queued', jobrunner_schema.jobrunner_now() AS anon_3, jobrunner_schema.jobrunner_now() AS anon_4, jobrunner_schema.jobrunner_now() AS anon_5
FROM (SELECT idempotency_key, payload, priority FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(idempotency_key VARCHAR(500), payload TEXT, priority SMALLINT)) AS given RETURNING jobrunner_schema.job_runs.id""",
        {},
        {'given': (('idempotency_key', None), ('payload', None), ('priority', None))},
        (('id', None),),
    ),
    ('enqueue.insert_many', (('job_type', 'priority', 'traceparent'), ('payload',))): (
        """INSERT INTO jobrunner_schema.job_runs (job_type, priority, traceparent, payload, status, run_at, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, %(priority)s::SMALLINT AS anon_2, %(traceparent)s::VARCHAR AS anon_3, CAST(given.payload AS JSONB) AS anon_4, 'queued', jobrunner_schema.jobrunner_now() AS anon_5, jobrunner_schema.jobrunner_now() AS anon_6, jobrunner_schema.jobrunner_now() AS anon_7
FROM (SELECT payload FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(payload TEXT)) AS given RETURNING jobrunner_schema.job_runs.id""",
        {},
        {'given': (('payload', None),)},
        (('id', None),),
    ),
    ('enqueue.insert_many', (('job_type', 'priority', 'traceparent'), ('idempotency_key', 'payload'))): (
        """INSERT INTO jobrunner_schema.job_runs (job_type, priority, traceparent, idempotency_key, payload, status, run_at, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, %(priority)s::SMALLINT AS anon_2, %(traceparent)s::VARCHAR AS anon_3, given.idempotency_key, CAST(given.payload AS JSONB) AS anon_4, 'queued', jobrunner_schema.jobrunner_now() AS anon_5, jobrunner_schema.jobrunner_now() AS anon_6, jobrunner_schema.jobrunner_now() AS anon_7
FROM (SELECT idempotency_key, payload FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(idempotency_key VARCHAR(500), payload TEXT)) AS given RETURNING jobrunner_schema.job_runs.id""",
        {},
        {'given': (('idempotency_key', None), ('payload', None))},
        (('id', None),),
    ),
    ('enqueue.insert_many', (('job_type',), ('idempotency_key', 'payload', 'priority', 'traceparent'))): (
        """INSERT INTO jobrunner_schema.job_runs (job_type, idempotency_key, payload, priority, traceparent, status, run_at, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, given.idempotency_key, CAST(given.payload AS JSONB) AS anon_2, given.priority, given.traceparent, 'queued', jobrunner_schema.jobrunner_now() AS anon_3, jobrunner_schema.jobrunner_now() AS anon_4, jobrunner_schema.jobrunner_now() AS anon_5
FROM (SELECT idempotency_key, payload, priority, traceparent FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(idempotency_key VARCHAR(500), payload TEXT, priority SMALLINT, traceparent VARCHAR(55))) AS given RETURNING jobrunner_schema.job_runs.id""",
        {},
        {'given': (('idempotency_key', None), ('payload', None), ('priority', None), ('traceparent', None))},
        (('id', None),),
    ),
    ('enqueue.insert_of_slots', ()): (
        """INSERT INTO jobrunner_schema.job_runs (definition_id, job_type, payload, priority, run_at, scheduled_for, origin, start_deadline_at, concurrency_key, only_host, status, created_at, updated_at) SELECT given.definition_id, given.job_type, CAST(given.payload AS JSONB) AS anon_1, given.priority, coalesce(given.run_at, jobrunner_schema.jobrunner_now()) AS coalesce_1, given.scheduled_for, given.origin, given.start_deadline_at, given.concurrency_key, given.only_host, 'queued', jobrunner_schema.jobrunner_now() AS anon_2, jobrunner_schema.jobrunner_now() AS anon_3
FROM (SELECT definition_id, job_type, payload, priority, run_at, scheduled_for, origin, start_deadline_at, concurrency_key, only_host FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(definition_id BIGINT, job_type VARCHAR(200), payload TEXT, priority SMALLINT, run_at TIMESTAMP WITH TIME ZONE, scheduled_for TIMESTAMP WITH TIME ZONE, origin VARCHAR(20), start_deadline_at TIMESTAMP WITH TIME ZONE, concurrency_key VARCHAR(300), only_host VARCHAR(255))) AS given
WHERE true ON CONFLICT DO NOTHING RETURNING jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.definition_id, jobrunner_schema.job_runs.scheduled_for""",
        {},
        {'given': (('definition_id', None), ('job_type', None), ('payload', None), ('priority', None), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('origin', None), ('start_deadline_at', 'instant'), ('concurrency_key', None), ('only_host', None))},
        (('id', None), ('definition_id', None), ('scheduled_for', 'instant')),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority'), True)): (
        """INSERT INTO jobrunner_schema.job_runs (job_type, payload, priority, status, run_at, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, CAST(%(payload)s::VARCHAR AS JSONB) AS anon_2, %(priority)s::SMALLINT AS anon_3, 'queued', jobrunner_schema.jobrunner_now() AS anon_4, jobrunner_schema.jobrunner_now() AS anon_5, jobrunner_schema.jobrunner_now() AS anon_6
WHERE NOT (EXISTS (SELECT *
FROM jobrunner_schema.job_types
WHERE jobrunner_schema.job_types.job_type = %(job_type)s::VARCHAR AND jobrunner_schema.job_types.max_waiting IS NOT NULL)) RETURNING jobrunner_schema.job_runs.id""",
        {},
        {},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'run_in', 'run_at', 'max_attempts', 'timeout', 'idempotency_key', 'traceparent'), True)): (
        """INSERT INTO jobrunner_schema.job_runs (job_type, payload, priority, run_at, max_attempts, timeout, idempotency_key, traceparent, status, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, CAST(%(payload)s::VARCHAR AS JSONB) AS anon_2, %(priority)s::SMALLINT AS anon_3, coalesce(%(run_at)s::TIMESTAMP WITH TIME ZONE, (jobrunner_schema.jobrunner_now() + make_interval(secs => %(run_in)s::FLOAT)), jobrunner_schema.jobrunner_now()) AS coalesce_1, %(max_attempts)s::INTEGER AS anon_4, CAST(%(timeout)s::FLOAT(53) AS FLOAT(53)) AS anon_5, %(idempotency_key)s::VARCHAR AS anon_6, %(traceparent)s::VARCHAR AS anon_7, 'queued', jobrunner_schema.jobrunner_now() AS anon_8, jobrunner_schema.jobrunner_now() AS anon_9
WHERE NOT (EXISTS (SELECT *
FROM jobrunner_schema.job_types
WHERE jobrunner_schema.job_types.job_type = %(job_type)s::VARCHAR AND jobrunner_schema.job_types.max_waiting IS NOT NULL)) RETURNING jobrunner_schema.job_runs.id""",
        {},
        {'run_at': 'instant'},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'run_in', 'run_at', 'max_attempts', 'timeout', 'idempotency_key', 'traceparent'), False)): (
        """INSERT INTO jobrunner_schema.job_runs (job_type, payload, priority, run_at, max_attempts, timeout, idempotency_key, traceparent, status, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, CAST(%(payload)s::VARCHAR AS JSONB) AS anon_2, %(priority)s::SMALLINT AS anon_3, coalesce(%(run_at)s::TIMESTAMP WITH TIME ZONE, (jobrunner_schema.jobrunner_now() + make_interval(secs => %(run_in)s::FLOAT)), jobrunner_schema.jobrunner_now()) AS coalesce_1, %(max_attempts)s::INTEGER AS anon_4, CAST(%(timeout)s::FLOAT(53) AS FLOAT(53)) AS anon_5, %(idempotency_key)s::VARCHAR AS anon_6, %(traceparent)s::VARCHAR AS anon_7, 'queued', jobrunner_schema.jobrunner_now() AS anon_8, jobrunner_schema.jobrunner_now() AS anon_9 RETURNING jobrunner_schema.job_runs.id""",
        {},
        {'run_at': 'instant'},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'run_in', 'run_at', 'max_attempts', 'timeout', 'idempotency_key', 'traceparent', 'expires_in'), True)): (
        """INSERT INTO jobrunner_schema.job_runs (job_type, payload, priority, run_at, max_attempts, timeout, idempotency_key, traceparent, status, created_at, updated_at, start_deadline_at) SELECT %(job_type)s::VARCHAR AS anon_1, CAST(%(payload)s::VARCHAR AS JSONB) AS anon_2, %(priority)s::SMALLINT AS anon_3, coalesce(%(run_at)s::TIMESTAMP WITH TIME ZONE, (jobrunner_schema.jobrunner_now() + make_interval(secs => %(run_in)s::FLOAT)), jobrunner_schema.jobrunner_now()) AS coalesce_1, %(max_attempts)s::INTEGER AS anon_4, CAST(%(timeout)s::FLOAT(53) AS FLOAT(53)) AS anon_5, %(idempotency_key)s::VARCHAR AS anon_6, %(traceparent)s::VARCHAR AS anon_7, 'queued', jobrunner_schema.jobrunner_now() AS anon_8, jobrunner_schema.jobrunner_now() AS anon_9, (coalesce(%(run_at)s::TIMESTAMP WITH TIME ZONE, (jobrunner_schema.jobrunner_now() + make_interval(secs => %(run_in)s::FLOAT)), jobrunner_schema.jobrunner_now()) + make_interval(secs => %(expires_in)s::FLOAT)) AS anon_10
WHERE NOT (EXISTS (SELECT *
FROM jobrunner_schema.job_types
WHERE jobrunner_schema.job_types.job_type = %(job_type)s::VARCHAR AND jobrunner_schema.job_types.max_waiting IS NOT NULL)) RETURNING jobrunner_schema.job_runs.id""",
        {},
        {'run_at': 'instant'},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'run_in', 'run_at', 'max_attempts', 'timeout', 'idempotency_key', 'traceparent', 'expires_in'), False)): (
        """INSERT INTO jobrunner_schema.job_runs (job_type, payload, priority, run_at, max_attempts, timeout, idempotency_key, traceparent, status, created_at, updated_at, start_deadline_at) SELECT %(job_type)s::VARCHAR AS anon_1, CAST(%(payload)s::VARCHAR AS JSONB) AS anon_2, %(priority)s::SMALLINT AS anon_3, coalesce(%(run_at)s::TIMESTAMP WITH TIME ZONE, (jobrunner_schema.jobrunner_now() + make_interval(secs => %(run_in)s::FLOAT)), jobrunner_schema.jobrunner_now()) AS coalesce_1, %(max_attempts)s::INTEGER AS anon_4, CAST(%(timeout)s::FLOAT(53) AS FLOAT(53)) AS anon_5, %(idempotency_key)s::VARCHAR AS anon_6, %(traceparent)s::VARCHAR AS anon_7, 'queued', jobrunner_schema.jobrunner_now() AS anon_8, jobrunner_schema.jobrunner_now() AS anon_9, (coalesce(%(run_at)s::TIMESTAMP WITH TIME ZONE, (jobrunner_schema.jobrunner_now() + make_interval(secs => %(run_in)s::FLOAT)), jobrunner_schema.jobrunner_now()) + make_interval(secs => %(expires_in)s::FLOAT)) AS anon_10 RETURNING jobrunner_schema.job_runs.id""",
        {},
        {'run_at': 'instant'},
        (('id', None),),
    ),
    ('enqueue.replace', ('postgresql',)): (
        """SELECT jobrunner_schema.jobrunner_replace(CAST(%(given)s::VARCHAR AS JSON)) AS id""",
        {},
        {'given': (('id', None), ('payload', None), ('run_at', 'instant'), ('run_in', None), ('expires_in', None))},
        (('id', None),),
    ),
    ('expansion.limited_types', ()): (
        """SELECT jobrunner_schema.job_types.job_type
FROM jobrunner_schema.job_types
WHERE jobrunner_schema.job_types.max_waiting IS NOT NULL AND jobrunner_schema.job_types.job_type IN (SELECT given.job_type
FROM (SELECT job_type FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200))) AS given)""",
        {},
        {'given': (('job_type', None),)},
        (('job_type', None),),
    ),
    ('expansion.lock', ()): (
        """SELECT jobrunner_schema.job_expandable.id
FROM jobrunner_schema.job_expandable
WHERE (jobrunner_schema.job_expandable.id NOT IN (SELECT given.id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given)) ORDER BY jobrunner_schema.job_expandable.next_run_at, jobrunner_schema.job_expandable.id
 LIMIT %(limit)s::BIGINT FOR UPDATE SKIP LOCKED""",
        {},
        {'given': (('id', None),)},
        (('id', None),),
    ),
    ('expansion.lock_of_host', ()): (
        """SELECT jobrunner_schema.job_expandable_by_host.id
FROM jobrunner_schema.job_expandable_by_host
WHERE jobrunner_schema.job_expandable_by_host.host = %(host)s::VARCHAR AND (jobrunner_schema.job_expandable_by_host.id NOT IN (SELECT given.id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given)) ORDER BY jobrunner_schema.job_expandable_by_host.next_run_at, jobrunner_schema.job_expandable_by_host.id
 LIMIT %(limit)s::BIGINT FOR UPDATE SKIP LOCKED""",
        {},
        {'given': (('id', None),)},
        (('id', None),),
    ),
    ('expansion.lock_one', ()): (
        """SELECT jobrunner_schema.job_expandable_by_host.id
FROM jobrunner_schema.job_expandable_by_host
WHERE jobrunner_schema.job_expandable_by_host.id = %(definition_id)s::BIGINT FOR UPDATE SKIP LOCKED""",
        {},
        {},
        (('id', None),),
    ),
    ('expansion.move', ()): (
        """UPDATE jobrunner_schema.job_definitions SET runs_made=(jobrunner_schema.job_definitions.runs_made + given.runs_made), last_slot_at=given.last_slot_at, next_run_at=given.next_run_at, last_error=NULL, updated_at=jobrunner_schema.jobrunner_now() FROM (SELECT id, last_slot_at, next_run_at, runs_made FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT, last_slot_at TIMESTAMP WITH TIME ZONE, next_run_at TIMESTAMP WITH TIME ZONE, runs_made BIGINT)) AS given WHERE jobrunner_schema.job_definitions.id = given.id""",
        {},
        {'given': (('id', None), ('last_slot_at', 'instant'), ('next_run_at', 'instant'), ('runs_made', None))},
        (),
    ),
    ('expansion.read', ()): (
        """SELECT jobrunner_schema.job_definitions.id, jobrunner_schema.job_definitions.name, jobrunner_schema.job_definitions.job_type, jobrunner_schema.job_definitions.payload, jobrunner_schema.job_definitions.schedule, jobrunner_schema.job_definitions.timezone, jobrunner_schema.job_definitions.last_slot_at, jobrunner_schema.job_definitions.last_error, jobrunner_schema.job_definitions.source, jobrunner_schema.job_definitions.runs_made, jobrunner_schema.job_definitions.description, jobrunner_schema.job_definitions.paused_at, jobrunner_schema.job_definitions.host, jobrunner_schema.job_definitions.misfire, jobrunner_schema.job_definitions.misfire_window, jobrunner_schema.job_definitions.misfire_most, jobrunner_schema.job_definitions.overlap, jobrunner_schema.job_definitions.start_deadline, jobrunner_schema.job_definitions.jitter, jobrunner_schema.job_definitions.ends_at, jobrunner_schema.job_definitions.max_runs, jobrunner_schema.job_definitions."on", CASE WHEN (jobrunner_schema.job_definitions.overlap = 'skip' OR jobrunner_schema.job_definitions.overlap = 'queue') THEN (SELECT jobrunner_schema.job_runs.id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.definition_id = jobrunner_schema.job_definitions.id AND status IN ('queued', 'failed', 'running') AND (jobrunner_schema.job_runs.lease_token IS NOT NULL OR jobrunner_schema.job_runs.start_deadline_at IS NULL OR jobrunner_schema.job_runs.start_deadline_at > jobrunner_schema.jobrunner_now()) AND NOT (jobrunner_schema.job_runs.status = %(status_1)s::VARCHAR AND jobrunner_schema.job_runs.started_at IS NULL AND jobrunner_schema.job_runs.run_at > jobrunner_schema.job_runs.created_at AND jobrunner_schema.job_runs.run_at > jobrunner_schema.job_definitions.last_slot_at)
 LIMIT %(param_1)s::INTEGER) END AS unfinished, CASE WHEN (jobrunner_schema.job_definitions.overlap = 'queue') THEN (SELECT jobrunner_schema.job_runs.id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.definition_id = jobrunner_schema.job_definitions.id AND status IN ('queued', 'failed', 'running') AND (jobrunner_schema.job_runs.lease_token IS NOT NULL OR jobrunner_schema.job_runs.start_deadline_at IS NULL OR jobrunner_schema.job_runs.start_deadline_at > jobrunner_schema.jobrunner_now()) AND jobrunner_schema.job_runs.status != 'running'
 LIMIT %(param_1)s::INTEGER) END AS waiting, jobrunner_schema.jobrunner_now() AS now
FROM jobrunner_schema.job_definitions, (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given
WHERE jobrunner_schema.job_definitions.id = given.id""",
        {'status_1': 'queued', 'param_1': 1},
        {'given': (('id', None),)},
        (('id', None), ('name', None), ('job_type', None), ('payload', 'json'), ('schedule', None), ('timezone', None), ('last_slot_at', 'instant'), ('last_error', None), ('source', None), ('runs_made', None), ('description', None), ('paused_at', 'instant'), ('host', None), ('misfire', None), ('misfire_window', None), ('misfire_most', None), ('overlap', None), ('start_deadline', None), ('jitter', None), ('ends_at', 'instant'), ('max_runs', None), ('on', None), ('unfinished', None), ('waiting', None), ('now', 'instant')),
    ),
    ('expiries.expired', ()): (
        """SELECT jobrunner_schema.job_recoverable.id, jobrunner_schema.job_recoverable.host, jobrunner_schema.job_recoverable.locked_by
FROM jobrunner_schema.job_recoverable""",
        {},
        {},
        (('id', None), ('host', None), ('locked_by', None)),
    ),
    ('expiries.held_by', ()): (
        """SELECT jobrunner_schema.job_runs.id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status = 'running' AND jobrunner_schema.job_runs.locked_by IN (SELECT given.locked_by
FROM (SELECT locked_by FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(locked_by VARCHAR(300))) AS given)""",
        {},
        {'given': (('locked_by', None),)},
        (('id', None),),
    ),
    ('expiries.is_tick', ()): (
        """SELECT EXISTS (SELECT jobrunner_schema.job_ticks.id
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.id IN (SELECT last.id
FROM (SELECT jobrunner_schema.job_ticks.id AS id
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.host >= %(host)s::VARCHAR AND jobrunner_schema.job_ticks.host <= %(host)s::VARCHAR ORDER BY jobrunner_schema.job_ticks.host DESC, jobrunner_schema.job_ticks.id DESC
 LIMIT 20) AS last) AND jobrunner_schema.job_ticks.worker = %(worker)s::VARCHAR) AS anon_1""",
        {},
        {},
        (('', 'boolean'),),
    ),
    ('expiries.locked', (False,)): (
        """SELECT jobrunner_schema.job_recoverable.id
FROM jobrunner_schema.job_recoverable ORDER BY jobrunner_schema.job_recoverable.host, jobrunner_schema.job_recoverable.id
 LIMIT %(limit)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED""",
        {},
        {},
        (('id', None),),
    ),
    ('expiries.locked', (True,)): (
        """SELECT jobrunner_schema.job_recoverable.id
FROM jobrunner_schema.job_recoverable
WHERE jobrunner_schema.job_recoverable.id IN (SELECT given.id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given) ORDER BY jobrunner_schema.job_recoverable.host, jobrunner_schema.job_recoverable.id
 LIMIT %(limit)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED""",
        {},
        {'given': (('id', None),)},
        (('id', None),),
    ),
    ('expiries.locked_of', ()): (
        """SELECT jobrunner_schema.job_runs.id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = given.id
WHERE jobrunner_schema.job_runs.lease_token IS NOT NULL AND jobrunner_schema.job_runs.locked_by = %(owner)s::VARCHAR FOR NO KEY UPDATE OF job_runs SKIP LOCKED""",
        {},
        {'given': (('id', None),)},
        (('id', None),),
    ),
    ('explain.all_at_work', ()): (
        """SELECT jobrunner_schema.job_runs.id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_runs.status = 'running'""",
        {},
        {},
        (('id', None),),
    ),
    ('explain.all_in_front', ()): (
        """SELECT count(*) AS runs
FROM (SELECT jobrunner_schema.job_gated.id AS id
FROM jobrunner_schema.job_gated
WHERE jobrunner_schema.job_gated.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gated.gate = 'all' AND (jobrunner_schema.job_gated.turn_at, jobrunner_schema.job_gated.run_at, jobrunner_schema.job_gated.id) < (%(its_turn_at)s::TIMESTAMP WITH TIME ZONE, %(its_run_at)s::TIMESTAMP WITH TIME ZONE, %(its_id)s::BIGINT)
 LIMIT %(most)s::INTEGER) AS anon_1""",
        {},
        {'its_turn_at': 'instant', 'its_run_at': 'instant'},
        (('runs', None),),
    ),
    ('explain.at_work', (False,)): (
        """SELECT jobrunner_schema.job_runs.id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_runs.lease_token IS NOT NULL AND jobrunner_schema.job_runs.gate != '' ORDER BY jobrunner_schema.job_runs.id""",
        {},
        {},
        (('id', None),),
    ),
    ('explain.at_work', (True,)): (
        """SELECT jobrunner_schema.job_runs.id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_runs.lease_token IS NOT NULL AND jobrunner_schema.job_runs.gate != '' AND jobrunner_schema.job_runs.gate = %(gate)s::VARCHAR ORDER BY jobrunner_schema.job_runs.id""",
        {},
        {},
        (('id', None),),
    ),
    ('explain.behind_gate_in_front', ()): (
        """SELECT count(*) AS runs
FROM (SELECT jobrunner_schema.job_gated.id AS id
FROM jobrunner_schema.job_gated
WHERE jobrunner_schema.job_gated.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gated.gate = %(gate)s::VARCHAR AND (jobrunner_schema.job_gated.turn_at, jobrunner_schema.job_gated.run_at, jobrunner_schema.job_gated.id) < (%(its_turn_at)s::TIMESTAMP WITH TIME ZONE, %(its_run_at)s::TIMESTAMP WITH TIME ZONE, %(its_id)s::BIGINT)
 LIMIT %(most)s::INTEGER) AS anon_1""",
        {},
        {'its_turn_at': 'instant', 'its_run_at': 'instant'},
        (('runs', None),),
    ),
    ('explain.due_in_front', ()): (
        """SELECT count(*) AS runs
FROM (SELECT jobrunner_schema.job_claimable.id AS id
FROM jobrunner_schema.job_claimable
WHERE jobrunner_schema.job_claimable.job_type = %(of_type)s::VARCHAR AND (jobrunner_schema.job_claimable.turn_at, jobrunner_schema.job_claimable.run_at, jobrunner_schema.job_claimable.id) < (%(its_turn_at)s::TIMESTAMP WITH TIME ZONE, %(its_run_at)s::TIMESTAMP WITH TIME ZONE, %(its_id)s::BIGINT)
 LIMIT %(most)s::INTEGER) AS anon_1""",
        {},
        {'its_turn_at': 'instant', 'its_run_at': 'instant'},
        (('runs', None),),
    ),
    ('explain.gate', ()): (
        """SELECT jobrunner_schema.job_gates.spent_until
FROM jobrunner_schema.job_gates
WHERE jobrunner_schema.job_gates.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gates.gate = %(gate)s::VARCHAR""",
        {},
        {},
        (('spent_until', 'instant'),),
    ),
    ('explain.gate_of', (1,)): (
        """SELECT %(key)s::VARCHAR || ' ' || substr(CAST(jsonb_build_array(jobrunner_schema.job_runs.payload -> CAST(%(name_0)s::VARCHAR AS TEXT)) AS TEXT), 1, 200) AS gate
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.id = %(run)s::BIGINT""",
        {},
        {},
        (('gate', None),),
    ),
    ('explain.gate_of', (2,)): (
        """SELECT %(key)s::VARCHAR || ' ' || substr(CAST(jsonb_build_array(jobrunner_schema.job_runs.payload -> CAST(%(name_0)s::VARCHAR AS TEXT), jobrunner_schema.job_runs.payload -> CAST(%(name_1)s::VARCHAR AS TEXT)) AS TEXT), 1, 200) AS gate
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.id = %(run)s::BIGINT""",
        {},
        {},
        (('gate', None),),
    ),
    ('explain.gate_of', (3,)): (
        """SELECT %(key)s::VARCHAR || ' ' || substr(CAST(jsonb_build_array(jobrunner_schema.job_runs.payload -> CAST(%(name_0)s::VARCHAR AS TEXT), jobrunner_schema.job_runs.payload -> CAST(%(name_1)s::VARCHAR AS TEXT), jobrunner_schema.job_runs.payload -> CAST(%(name_2)s::VARCHAR AS TEXT)) AS TEXT), 1, 200) AS gate
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.id = %(run)s::BIGINT""",
        {},
        {},
        (('gate', None),),
    ),
    ('explain.gated_in_front', ()): (
        """SELECT count(*) AS runs
FROM (SELECT anon_2.id AS id
FROM (SELECT jobrunner_schema.job_gated.id AS id, jobrunner_schema.job_gated.turn_at AS turn_at, jobrunner_schema.job_gated.run_at AS run_at
FROM jobrunner_schema.job_gated
WHERE jobrunner_schema.job_gated.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gated.gate > '' AND jobrunner_schema.job_gated.gate != 'after'
 LIMIT %(most)s::INTEGER) AS anon_2
WHERE (anon_2.turn_at, anon_2.run_at, anon_2.id) < (%(its_turn_at)s::TIMESTAMP WITH TIME ZONE, %(its_run_at)s::TIMESTAMP WITH TIME ZONE, %(its_id)s::BIGINT)
 LIMIT %(most)s::INTEGER) AS anon_1""",
        {},
        {'its_turn_at': 'instant', 'its_run_at': 'instant'},
        (('runs', None),),
    ),
    ('explain.last_event', ()): (
        """SELECT jobrunner_schema.job_events.actor, jobrunner_schema.job_events.action, jobrunner_schema.job_events.detail
FROM jobrunner_schema.job_events
WHERE jobrunner_schema.job_events.run_id = %(run)s::BIGINT ORDER BY jobrunner_schema.job_events.id DESC
 LIMIT %(param_1)s::INTEGER""",
        {'param_1': 1},
        {},
        (('actor', None), ('action', None), ('detail', 'json')),
    ),
    ('explain.last_ticks', ()): (
        """SELECT listed.host, listed.started_at, listed.is_of_host
FROM (SELECT of_all.id AS id, of_all.host AS host, of_all.started_at AS started_at, 0 AS is_of_host
FROM (SELECT jobrunner_schema.job_ticks.id AS id, jobrunner_schema.job_ticks.host AS host, jobrunner_schema.job_ticks.started_at AS started_at
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.id > 0 ORDER BY jobrunner_schema.job_ticks.id DESC
 LIMIT %(most)s::INTEGER) AS of_all UNION ALL SELECT of_host.id AS id, of_host.host AS host, of_host.started_at AS started_at, 1 AS is_of_host
FROM (SELECT jobrunner_schema.job_ticks.id AS id, jobrunner_schema.job_ticks.host AS host, jobrunner_schema.job_ticks.started_at AS started_at
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.host >= (SELECT jobrunner_schema.job_ticks.host
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.id = (SELECT max(jobrunner_schema.job_ticks.id) AS max_1
FROM jobrunner_schema.job_ticks)) AND jobrunner_schema.job_ticks.host <= (SELECT jobrunner_schema.job_ticks.host
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.id = (SELECT max(jobrunner_schema.job_ticks.id) AS max_1
FROM jobrunner_schema.job_ticks)) ORDER BY jobrunner_schema.job_ticks.host DESC, jobrunner_schema.job_ticks.id DESC
 LIMIT %(most)s::INTEGER) AS of_host) AS listed ORDER BY listed.is_of_host, listed.id DESC""",
        {},
        {},
        (('host', None), ('started_at', 'instant'), ('is_of_host', None)),
    ),
    ('explain.limits', ()): (
        """SELECT jobrunner_schema.job_limits_in_force.job_type, jobrunner_schema.job_limits_in_force.max_running, jobrunner_schema.job_limits_in_force.rate, jobrunner_schema.job_limits_in_force.burst, jobrunner_schema.job_limits_in_force.concurrency_key, jobrunner_schema.job_limits_in_force.max_running_per_key, jobrunner_schema.job_limits_in_force.rate_per_key, jobrunner_schema.job_limits_in_force.burst_per_key, jobrunner_schema.job_limits_in_force.spent_until, jobrunner_schema.job_limits_in_force.opens_at, jobrunner_schema.job_limits_in_force.is_set, jobrunner_schema.job_set_limits.reason, jobrunner_schema.job_set_limits.actor, jobrunner_schema.job_set_limits.set_at, jobrunner_schema.job_set_limits.ends_at, jobrunner_schema.job_set_limits.max_running AS set_max_running, jobrunner_schema.job_set_limits.rate AS set_rate, (SELECT jobrunner_schema.job_types.fair_by
FROM jobrunner_schema.job_types
WHERE jobrunner_schema.job_types.job_type = %(of_type)s::VARCHAR) AS fair_by, jobrunner_schema.jobrunner_now() AS now
FROM jobrunner_schema.job_limits_in_force LEFT OUTER JOIN jobrunner_schema.job_set_limits ON jobrunner_schema.job_limits_in_force.is_set AND jobrunner_schema.job_set_limits.job_type = jobrunner_schema.job_limits_in_force.job_type
WHERE jobrunner_schema.job_limits_in_force.job_type = %(of_type)s::VARCHAR""",
        {},
        {},
        (('job_type', None), ('max_running', None), ('rate', None), ('burst', None), ('concurrency_key', None), ('max_running_per_key', None), ('rate_per_key', None), ('burst_per_key', None), ('spent_until', 'instant'), ('opens_at', 'instant'), ('is_set', 'boolean'), ('reason', None), ('actor', None), ('set_at', 'instant'), ('ends_at', 'instant'), ('set_max_running', None), ('set_rate', None), ('fair_by', None), ('now', 'instant')),
    ),
    ('explain.newest_tick', ()): (
        """SELECT jobrunner_schema.job_ticks.started_at
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.id = (SELECT jobrunner_schema.job_ticks.id
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.host >= %(host)s::VARCHAR AND jobrunner_schema.job_ticks.host <= %(host)s::VARCHAR ORDER BY jobrunner_schema.job_ticks.host DESC, jobrunner_schema.job_ticks.id DESC
 LIMIT 1)""",
        {},
        {},
        (('started_at', 'instant'),),
    ),
    ('explain.oldest_due', ()): (
        """SELECT first.id
FROM (SELECT all_kinds.id AS id, all_kinds.run_at AS run_at
FROM (SELECT free.id AS id, free.run_at AS run_at
FROM (SELECT jobrunner_schema.job_claimable.id AS id, jobrunner_schema.job_claimable.run_at AS run_at
FROM jobrunner_schema.job_claimable
WHERE releases >= 0 ORDER BY jobrunner_schema.job_claimable.run_at
 LIMIT 1) AS free UNION ALL SELECT behind.id AS id, behind.run_at AS run_at
FROM (SELECT jobrunner_schema.job_gated.id AS id, jobrunner_schema.job_gated.run_at AS run_at
FROM jobrunner_schema.job_open_gates JOIN jobrunner_schema.job_gated ON jobrunner_schema.job_gated.job_type = jobrunner_schema.job_open_gates.job_type AND jobrunner_schema.job_gated.gate = jobrunner_schema.job_open_gates.gate
 LIMIT 1) AS behind UNION ALL SELECT own.id AS id, own.run_at AS run_at
FROM (SELECT jobrunner_schema.job_claimable_by_host.id AS id, jobrunner_schema.job_claimable_by_host.run_at AS run_at
FROM jobrunner_schema.job_claimable_by_host
 LIMIT 1) AS own) AS all_kinds) AS first ORDER BY first.run_at, first.id
 LIMIT %(param_1)s::INTEGER""",
        {'param_1': 1},
        {},
        (('id', None),),
    ),
    ('explain.open_effect', ()): (
        """SELECT jobrunner_schema.job_effects.key
FROM jobrunner_schema.job_effects
WHERE jobrunner_schema.job_effects.state != 'applied' AND jobrunner_schema.job_effects.run_id = %(run)s::BIGINT ORDER BY jobrunner_schema.job_effects.intended_at
 LIMIT %(param_1)s::INTEGER""",
        {'param_1': 1},
        {},
        (('key', None),),
    ),
    ('explain.other_of_key', ()): (
        """SELECT jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.status
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.concurrency_key = %(key)s::VARCHAR AND jobrunner_schema.job_runs.status IN ('queued', 'failed', 'running') AND jobrunner_schema.job_runs.id != %(run)s::BIGINT ORDER BY jobrunner_schema.job_runs.lease_token IS NULL, jobrunner_schema.job_runs.id
 LIMIT %(param_1)s::INTEGER""",
        {'param_1': 1},
        {},
        (('id', None), ('status', None)),
    ),
    ('explain.parents', ()): (
        """SELECT jobrunner_schema.job_parents.parent_id, jobrunner_schema.job_runs.status
FROM jobrunner_schema.job_parents LEFT OUTER JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = jobrunner_schema.job_parents.parent_id
WHERE jobrunner_schema.job_parents.run_id = %(run)s::BIGINT AND jobrunner_schema.job_parents.parent_status IS NULL ORDER BY jobrunner_schema.job_parents.parent_id
 LIMIT %(param_1)s::INTEGER""",
        {'param_1': 10},
        {},
        (('parent_id', None), ('status', None)),
    ),
    ('explain.recent_ticks', ()): (
        """SELECT jobrunner_schema.job_ticks.host, jobrunner_schema.job_ticks.application, jobrunner_schema.job_ticks.types, jobrunner_schema.job_ticks.started_at, jobrunner_schema.job_ticks.ended_by, jobrunner_schema.job_ticks.error
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.started_at > (jobrunner_schema.jobrunner_now() + make_interval(secs => %(since)s::FLOAT)) ORDER BY jobrunner_schema.job_ticks.started_at""",
        {},
        {},
        (('host', None), ('application', None), ('types', None), ('started_at', 'instant'), ('ended_by', None), ('error', None)),
    ),
    ('explain.reports', ()): (
        """SELECT jobrunner_schema.job_hosts.id, jobrunner_schema.job_hosts.host, jobrunner_schema.job_hosts.application, jobrunner_schema.job_hosts.types, jobrunner_schema.job_hosts.digest, jobrunner_schema.job_hosts.can_run, jobrunner_schema.job_hosts.settings, jobrunner_schema.job_hosts.database, jobrunner_schema.job_hosts.boot, jobrunner_schema.job_hosts.last_boot, jobrunner_schema.job_hosts.is_twin_at, jobrunner_schema.job_hosts.reported_at
FROM jobrunner_schema.job_hosts""",
        {},
        {},
        (('id', None), ('host', None), ('application', None), ('types', None), ('digest', None), ('can_run', 'json'), ('settings', 'json'), ('database', None), ('boot', None), ('last_boot', None), ('is_twin_at', 'instant'), ('reported_at', 'instant')),
    ),
    ('explain.run', ()): (
        """SELECT jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.definition_id, jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.status, jobrunner_schema.job_runs.priority, jobrunner_schema.job_runs.run_at, jobrunner_schema.job_runs.turn_at, jobrunner_schema.job_runs.scheduled_for, jobrunner_schema.job_runs.origin, jobrunner_schema.job_runs.start_deadline_at, jobrunner_schema.job_runs.concurrency_key, jobrunner_schema.job_runs.gate, jobrunner_schema.job_runs.has_dependants, jobrunner_schema.job_runs.idempotency_key, jobrunner_schema.job_runs.attempts, jobrunner_schema.job_runs.max_attempts, jobrunner_schema.job_runs.timeout, jobrunner_schema.job_runs.traceparent, jobrunner_schema.job_runs.locked_by, jobrunner_schema.job_runs.host, jobrunner_schema.job_runs.locked_until, jobrunner_schema.job_runs.lease_token, jobrunner_schema.job_runs.claimed_at, jobrunner_schema.job_runs.started_at, jobrunner_schema.job_runs.heartbeat_at, jobrunner_schema.job_runs.cancel_requested_at, jobrunner_schema.job_runs.failed_at, jobrunner_schema.job_runs.finished_at, jobrunner_schema.job_runs.told_at, jobrunner_schema.job_runs.releases, jobrunner_schema.job_runs.lease_expiries, jobrunner_schema.job_runs.incompatible_at, jobrunner_schema.job_runs.error_type, jobrunner_schema.job_runs.last_error, jobrunner_schema.job_runs.only_host, jobrunner_schema.job_runs.created_at, jobrunner_schema.job_runs.updated_at, (status IN ('queued', 'failed')) AS is_waiting, (run_at <= jobrunner_schema.jobrunner_now()) AS is_due, ((start_deadline_at IS NULL OR start_deadline_at > jobrunner_schema.jobrunner_now())) AS is_start_deadline, ((concurrency_key IS NULL
      OR (NOT EXISTS (SELECT 1 FROM jobrunner_schema.job_runs other
          WHERE other.concurrency_key = job_runs.concurrency_key AND other.id <> job_runs.id
            AND other.lease_token IS NOT NULL)
        AND NOT EXISTS (SELECT 1 FROM jobrunner_schema.job_runs other
          WHERE other.concurrency_key = job_runs.concurrency_key AND other.id < job_runs.id
            AND other.status IN ('queued', 'failed', 'running') AND other.lease_token IS NULL
            AND other.run_at <= jobrunner_schema.jobrunner_now() AND (other.start_deadline_at IS NULL OR other.start_deadline_at > jobrunner_schema.jobrunner_now()))))) AS is_key, (job_type NOT IN (SELECT name FROM jobrunner_schema.job_pauses WHERE kind = 'type')) AS is_type_unpaused, (NOT EXISTS (SELECT kind FROM jobrunner_schema.job_pauses WHERE kind = 'all')) AS is_all_unpaused, (CASE WHEN only_host IS NULL THEN 1 = 1 ELSE 1 = 0 END) AS is_any_host, (CASE gate WHEN '' THEN 1 = 1 WHEN 'after' THEN EXISTS (SELECT 1 FROM jobrunner_schema.job_parents WHERE run_id = job_runs.id)
      ELSE EXISTS (SELECT 1 FROM jobrunner_schema.job_limits
        JOIN jobrunner_schema.job_gates ON job_gates.job_type = job_limits.job_type
        WHERE job_limits.job_type = job_runs.job_type AND job_gates.gate = job_runs.gate
          AND job_gates.turn_at IS NOT NULL AND CASE WHEN job_limits.concurrency_key IS NULL THEN job_gates.gate = 'all'
      ELSE substr(job_gates.gate, 1, length(job_limits.concurrency_key) + 1) = job_limits.concurrency_key || ' ' END) OR EXISTS (SELECT 1 FROM jobrunner_schema.job_types WHERE job_types.job_type = job_runs.job_type
        AND substr(job_runs.gate, 1, length(fair_by) + 1) = fair_by || ' ') END) AS is_seen, EXISTS (SELECT jobrunner_schema.job_recoverable.id
FROM jobrunner_schema.job_recoverable
WHERE jobrunner_schema.job_recoverable.id = %(run)s::BIGINT) AS is_expired, jobrunner_schema.jobrunner_now() AS now
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.id = %(run)s::BIGINT""",
        {},
        {},
        (('id', None), ('definition_id', None), ('job_type', None), ('status', None), ('priority', None), ('run_at', 'instant'), ('turn_at', 'instant'), ('scheduled_for', 'instant'), ('origin', None), ('start_deadline_at', 'instant'), ('concurrency_key', None), ('gate', None), ('has_dependants', None), ('idempotency_key', None), ('attempts', None), ('max_attempts', None), ('timeout', None), ('traceparent', None), ('locked_by', None), ('host', None), ('locked_until', 'instant'), ('lease_token', None), ('claimed_at', 'instant'), ('started_at', 'instant'), ('heartbeat_at', 'instant'), ('cancel_requested_at', 'instant'), ('failed_at', 'instant'), ('finished_at', 'instant'), ('told_at', 'instant'), ('releases', None), ('lease_expiries', None), ('incompatible_at', 'instant'), ('error_type', None), ('last_error', None), ('only_host', None), ('created_at', 'instant'), ('updated_at', 'instant'), ('is_waiting', 'boolean'), ('is_due', 'boolean'), ('is_start_deadline', 'boolean'), ('is_key', 'boolean'), ('is_type_unpaused', 'boolean'), ('is_all_unpaused', 'boolean'), ('is_any_host', 'boolean'), ('is_seen', 'boolean'), ('is_expired', 'boolean'), ('now', 'instant')),
    ),
    ('explain.running', ()): (
        """SELECT jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.host, jobrunner_schema.job_runs.id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status = 'running'""",
        {},
        {},
        (('job_type', None), ('host', None), ('id', None)),
    ),
    ('explain.same_key_in_front', (1,)): (
        """SELECT count(*) AS runs
FROM (SELECT jobrunner_schema.job_runs.id AS id
FROM jobrunner_schema.job_runs JOIN (SELECT jobrunner_schema.job_claimable.id AS id
FROM jobrunner_schema.job_claimable
WHERE jobrunner_schema.job_claimable.job_type = %(of_type)s::VARCHAR AND (jobrunner_schema.job_claimable.turn_at, jobrunner_schema.job_claimable.run_at, jobrunner_schema.job_claimable.id) < (%(its_turn_at)s::TIMESTAMP WITH TIME ZONE, %(its_run_at)s::TIMESTAMP WITH TIME ZONE, %(its_id)s::BIGINT)
 LIMIT %(most)s::INTEGER) AS anon_2 ON anon_2.id = jobrunner_schema.job_runs.id
WHERE (%(key)s::VARCHAR || ' ' || substr(CAST(jsonb_build_array(jobrunner_schema.job_runs.payload -> CAST(%(name_0)s::VARCHAR AS TEXT)) AS TEXT), 1, 200)) = %(gate)s::VARCHAR
 LIMIT %(most)s::INTEGER) AS anon_1""",
        {},
        {'its_turn_at': 'instant', 'its_run_at': 'instant'},
        (('runs', None),),
    ),
    ('explain.same_key_in_front', (2,)): (
        """SELECT count(*) AS runs
FROM (SELECT jobrunner_schema.job_runs.id AS id
FROM jobrunner_schema.job_runs JOIN (SELECT jobrunner_schema.job_claimable.id AS id
FROM jobrunner_schema.job_claimable
WHERE jobrunner_schema.job_claimable.job_type = %(of_type)s::VARCHAR AND (jobrunner_schema.job_claimable.turn_at, jobrunner_schema.job_claimable.run_at, jobrunner_schema.job_claimable.id) < (%(its_turn_at)s::TIMESTAMP WITH TIME ZONE, %(its_run_at)s::TIMESTAMP WITH TIME ZONE, %(its_id)s::BIGINT)
 LIMIT %(most)s::INTEGER) AS anon_2 ON anon_2.id = jobrunner_schema.job_runs.id
WHERE (%(key)s::VARCHAR || ' ' || substr(CAST(jsonb_build_array(jobrunner_schema.job_runs.payload -> CAST(%(name_0)s::VARCHAR AS TEXT), jobrunner_schema.job_runs.payload -> CAST(%(name_1)s::VARCHAR AS TEXT)) AS TEXT), 1, 200)) = %(gate)s::VARCHAR
 LIMIT %(most)s::INTEGER) AS anon_1""",
        {},
        {'its_turn_at': 'instant', 'its_run_at': 'instant'},
        (('runs', None),),
    ),
    ('explain.same_key_in_front', (3,)): (
        """SELECT count(*) AS runs
FROM (SELECT jobrunner_schema.job_runs.id AS id
FROM jobrunner_schema.job_runs JOIN (SELECT jobrunner_schema.job_claimable.id AS id
FROM jobrunner_schema.job_claimable
WHERE jobrunner_schema.job_claimable.job_type = %(of_type)s::VARCHAR AND (jobrunner_schema.job_claimable.turn_at, jobrunner_schema.job_claimable.run_at, jobrunner_schema.job_claimable.id) < (%(its_turn_at)s::TIMESTAMP WITH TIME ZONE, %(its_run_at)s::TIMESTAMP WITH TIME ZONE, %(its_id)s::BIGINT)
 LIMIT %(most)s::INTEGER) AS anon_2 ON anon_2.id = jobrunner_schema.job_runs.id
WHERE (%(key)s::VARCHAR || ' ' || substr(CAST(jsonb_build_array(jobrunner_schema.job_runs.payload -> CAST(%(name_0)s::VARCHAR AS TEXT), jobrunner_schema.job_runs.payload -> CAST(%(name_1)s::VARCHAR AS TEXT), jobrunner_schema.job_runs.payload -> CAST(%(name_2)s::VARCHAR AS TEXT)) AS TEXT), 1, 200)) = %(gate)s::VARCHAR
 LIMIT %(most)s::INTEGER) AS anon_1""",
        {},
        {'its_turn_at': 'instant', 'its_run_at': 'instant'},
        (('runs', None),),
    ),
    ('explain.speed', ()): (
        """SELECT sum(jobrunner_schema.job_tallies.ends) AS ends, min(jobrunner_schema.job_tallies.at) AS first, jobrunner_schema.jobrunner_now() AS now
FROM jobrunner_schema.job_tallies
WHERE jobrunner_schema.job_tallies.span = 'hour' AND jobrunner_schema.job_tallies.at > (jobrunner_schema.jobrunner_now() + make_interval(secs => %(since)s::FLOAT)) AND jobrunner_schema.job_tallies.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_tallies.outcome != ''""",
        {},
        {},
        (('ends', None), ('first', 'instant'), ('now', 'instant')),
    ),
    ('explain.taken_first', (1,)): (
        """WITH ranked AS
(SELECT found.id AS id, found.gate AS gate, found.turn_at AS turn_at, found.run_at AS run_at, row_number() OVER (PARTITION BY found.gate ORDER BY found.turn_at, found.run_at, found.id) AS nth
FROM (SELECT jobrunner_schema.job_runs.id AS id, %(key)s::VARCHAR || ' ' || substr(CAST(jsonb_build_array(jobrunner_schema.job_runs.payload -> CAST(%(name_0)s::VARCHAR AS TEXT)) AS TEXT), 1, 200) AS gate, anon_1.turn_at AS turn_at, anon_1.run_at AS run_at
FROM (SELECT jobrunner_schema.job_claimable.id AS id, jobrunner_schema.job_claimable.turn_at AS turn_at, jobrunner_schema.job_claimable.run_at AS run_at
FROM jobrunner_schema.job_claimable
WHERE jobrunner_schema.job_claimable.job_type = %(of_type)s::VARCHAR ORDER BY jobrunner_schema.job_claimable.turn_at, jobrunner_schema.job_claimable.run_at, jobrunner_schema.job_claimable.id
 LIMIT %(most)s::INTEGER) AS anon_1 JOIN jobrunner_schema.job_runs ON anon_1.id = jobrunner_schema.job_runs.id UNION ALL SELECT anon_2.id AS id, anon_2.gate AS gate, anon_2.turn_at AS turn_at, anon_2.run_at AS run_at
FROM (SELECT jobrunner_schema.job_gated.id AS id, jobrunner_schema.job_gated.gate AS gate, jobrunner_schema.job_gated.turn_at AS turn_at, jobrunner_schema.job_gated.run_at AS run_at
FROM jobrunner_schema.job_gated
WHERE jobrunner_schema.job_gated.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gated.gate > '' AND jobrunner_schema.job_gated.gate != 'after'
 LIMIT %(most)s::INTEGER) AS anon_2) AS found)
 SELECT ranked.nth, (SELECT count(*) AS count_1
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_runs.gate = ranked.gate AND jobrunner_schema.job_runs.lease_token IS NOT NULL AND jobrunner_schema.job_runs.gate != '') AS at_work, (SELECT jobrunner_schema.job_gates.spent_until
FROM jobrunner_schema.job_gates
WHERE jobrunner_schema.job_gates.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gates.gate = ranked.gate) AS spent_until
FROM ranked, ranked AS its
WHERE its.id = %(run)s::BIGINT AND (ranked.nth, ranked.turn_at, ranked.run_at, ranked.id) < (its.nth, its.turn_at, its.run_at, its.id)
 LIMIT %(most)s::INTEGER""",
        {},
        {},
        (('nth', None), ('at_work', None), ('spent_until', 'instant')),
    ),
    ('explain.taken_first', (2,)): (
        """WITH ranked AS
(SELECT found.id AS id, found.gate AS gate, found.turn_at AS turn_at, found.run_at AS run_at, row_number() OVER (PARTITION BY found.gate ORDER BY found.turn_at, found.run_at, found.id) AS nth
FROM (SELECT jobrunner_schema.job_runs.id AS id, %(key)s::VARCHAR || ' ' || substr(CAST(jsonb_build_array(jobrunner_schema.job_runs.payload -> CAST(%(name_0)s::VARCHAR AS TEXT), jobrunner_schema.job_runs.payload -> CAST(%(name_1)s::VARCHAR AS TEXT)) AS TEXT), 1, 200) AS gate, anon_1.turn_at AS turn_at, anon_1.run_at AS run_at
FROM (SELECT jobrunner_schema.job_claimable.id AS id, jobrunner_schema.job_claimable.turn_at AS turn_at, jobrunner_schema.job_claimable.run_at AS run_at
FROM jobrunner_schema.job_claimable
WHERE jobrunner_schema.job_claimable.job_type = %(of_type)s::VARCHAR ORDER BY jobrunner_schema.job_claimable.turn_at, jobrunner_schema.job_claimable.run_at, jobrunner_schema.job_claimable.id
 LIMIT %(most)s::INTEGER) AS anon_1 JOIN jobrunner_schema.job_runs ON anon_1.id = jobrunner_schema.job_runs.id UNION ALL SELECT anon_2.id AS id, anon_2.gate AS gate, anon_2.turn_at AS turn_at, anon_2.run_at AS run_at
FROM (SELECT jobrunner_schema.job_gated.id AS id, jobrunner_schema.job_gated.gate AS gate, jobrunner_schema.job_gated.turn_at AS turn_at, jobrunner_schema.job_gated.run_at AS run_at
FROM jobrunner_schema.job_gated
WHERE jobrunner_schema.job_gated.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gated.gate > '' AND jobrunner_schema.job_gated.gate != 'after'
 LIMIT %(most)s::INTEGER) AS anon_2) AS found)
 SELECT ranked.nth, (SELECT count(*) AS count_1
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_runs.gate = ranked.gate AND jobrunner_schema.job_runs.lease_token IS NOT NULL AND jobrunner_schema.job_runs.gate != '') AS at_work, (SELECT jobrunner_schema.job_gates.spent_until
FROM jobrunner_schema.job_gates
WHERE jobrunner_schema.job_gates.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gates.gate = ranked.gate) AS spent_until
FROM ranked, ranked AS its
WHERE its.id = %(run)s::BIGINT AND (ranked.nth, ranked.turn_at, ranked.run_at, ranked.id) < (its.nth, its.turn_at, its.run_at, its.id)
 LIMIT %(most)s::INTEGER""",
        {},
        {},
        (('nth', None), ('at_work', None), ('spent_until', 'instant')),
    ),
    ('explain.taken_first', (3,)): (
        """WITH ranked AS
(SELECT found.id AS id, found.gate AS gate, found.turn_at AS turn_at, found.run_at AS run_at, row_number() OVER (PARTITION BY found.gate ORDER BY found.turn_at, found.run_at, found.id) AS nth
FROM (SELECT jobrunner_schema.job_runs.id AS id, %(key)s::VARCHAR || ' ' || substr(CAST(jsonb_build_array(jobrunner_schema.job_runs.payload -> CAST(%(name_0)s::VARCHAR AS TEXT), jobrunner_schema.job_runs.payload -> CAST(%(name_1)s::VARCHAR AS TEXT), jobrunner_schema.job_runs.payload -> CAST(%(name_2)s::VARCHAR AS TEXT)) AS TEXT), 1, 200) AS gate, anon_1.turn_at AS turn_at, anon_1.run_at AS run_at
FROM (SELECT jobrunner_schema.job_claimable.id AS id, jobrunner_schema.job_claimable.turn_at AS turn_at, jobrunner_schema.job_claimable.run_at AS run_at
FROM jobrunner_schema.job_claimable
WHERE jobrunner_schema.job_claimable.job_type = %(of_type)s::VARCHAR ORDER BY jobrunner_schema.job_claimable.turn_at, jobrunner_schema.job_claimable.run_at, jobrunner_schema.job_claimable.id
 LIMIT %(most)s::INTEGER) AS anon_1 JOIN jobrunner_schema.job_runs ON anon_1.id = jobrunner_schema.job_runs.id UNION ALL SELECT anon_2.id AS id, anon_2.gate AS gate, anon_2.turn_at AS turn_at, anon_2.run_at AS run_at
FROM (SELECT jobrunner_schema.job_gated.id AS id, jobrunner_schema.job_gated.gate AS gate, jobrunner_schema.job_gated.turn_at AS turn_at, jobrunner_schema.job_gated.run_at AS run_at
FROM jobrunner_schema.job_gated
WHERE jobrunner_schema.job_gated.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gated.gate > '' AND jobrunner_schema.job_gated.gate != 'after'
 LIMIT %(most)s::INTEGER) AS anon_2) AS found)
 SELECT ranked.nth, (SELECT count(*) AS count_1
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_runs.gate = ranked.gate AND jobrunner_schema.job_runs.lease_token IS NOT NULL AND jobrunner_schema.job_runs.gate != '') AS at_work, (SELECT jobrunner_schema.job_gates.spent_until
FROM jobrunner_schema.job_gates
WHERE jobrunner_schema.job_gates.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gates.gate = ranked.gate) AS spent_until
FROM ranked, ranked AS its
WHERE its.id = %(run)s::BIGINT AND (ranked.nth, ranked.turn_at, ranked.run_at, ranked.id) < (its.nth, its.turn_at, its.run_at, its.id)
 LIMIT %(most)s::INTEGER""",
        {},
        {},
        (('nth', None), ('at_work', None), ('spent_until', 'instant')),
    ),
    ('fair.behind_gates', ()): (
        """SELECT jobrunner_schema.job_gated.id
FROM jobrunner_schema.job_gated
WHERE jobrunner_schema.job_gated.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gated.gate > '' AND jobrunner_schema.job_gated.gate != 'after' AND (%(of_type)s::VARCHAR NOT IN (SELECT jobrunner_schema.job_pauses.name
FROM jobrunner_schema.job_pauses
WHERE jobrunner_schema.job_pauses.kind = 'type')) ORDER BY jobrunner_schema.job_gated.gate, jobrunner_schema.job_gated.turn_at, jobrunner_schema.job_gated.run_at, jobrunner_schema.job_gated.id
 LIMIT %(limit)s::INTEGER""",
        {},
        {},
        (('id', None),),
    ),
    ('fair.enter', ()): (
        """INSERT INTO jobrunner_schema.job_gates (job_type, gate, turn_at, place) SELECT given.job_type, given.gate, given.turn_at, (SELECT (CAST(EXTRACT(EPOCH FROM jobrunner_schema.jobrunner_now()) * 1000000 AS BIGINT) - jobrunner_schema.job_runs.priority * 60000000) AS anon_2
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.job_type = given.job_type AND jobrunner_schema.job_runs.gate = given.gate AND jobrunner_schema.job_runs.status IN ('queued', 'failed') ORDER BY jobrunner_schema.job_runs.turn_at, jobrunner_schema.job_runs.run_at, jobrunner_schema.job_runs.id
 LIMIT 1) AS anon_1
FROM (SELECT job_type, gate, turn_at FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), gate VARCHAR(600), turn_at TIMESTAMP WITH TIME ZONE)) AS given
WHERE true ORDER BY given.gate ON CONFLICT (job_type, gate) DO UPDATE SET turn_at = CASE WHEN (jobrunner_schema.job_gates.turn_at IS NULL OR excluded.turn_at < jobrunner_schema.job_gates.turn_at) THEN excluded.turn_at ELSE jobrunner_schema.job_gates.turn_at END, place = CASE WHEN (jobrunner_schema.job_gates.turn_at IS NULL OR excluded.place < jobrunner_schema.job_gates.place) THEN excluded.place ELSE jobrunner_schema.job_gates.place END""",
        {},
        {'given': (('job_type', None), ('gate', None), ('turn_at', 'instant'))},
        (),
    ),
    ('fair.first_runs', ('postgresql',)): (
        """SELECT given.gate, behind.id, behind.turn_at, behind.run_at
FROM (SELECT job_type, gate FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), gate VARCHAR(600))) AS given JOIN LATERAL (SELECT jobrunner_schema.job_gated.id AS id, jobrunner_schema.job_gated.turn_at AS turn_at, jobrunner_schema.job_gated.run_at AS run_at
FROM jobrunner_schema.job_gated
WHERE jobrunner_schema.job_gated.lease_expiries < 2 AND jobrunner_schema.job_gated.job_type = given.job_type AND jobrunner_schema.job_gated.gate = given.gate ORDER BY jobrunner_schema.job_gated.turn_at, jobrunner_schema.job_gated.run_at, jobrunner_schema.job_gated.id
 LIMIT %(limit)s::INTEGER) AS behind ON true""",
        {},
        {'given': (('job_type', None), ('gate', None))},
        (('gate', None), ('id', None), ('turn_at', 'instant'), ('run_at', 'instant')),
    ),
    ('fair.line', (False,)): (
        """SELECT jobrunner_schema.job_gates.gate, jobrunner_schema.job_gates.spent_until, (SELECT count(*) AS count_1
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.gate = jobrunner_schema.job_gates.gate AND jobrunner_schema.job_runs.lease_token IS NOT NULL AND jobrunner_schema.job_runs.gate != '' AND jobrunner_schema.job_runs.job_type = jobrunner_schema.job_gates.job_type) AS at_work
FROM jobrunner_schema.job_gates
WHERE jobrunner_schema.job_gates.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gates.turn_at IS NOT NULL AND substr(jobrunner_schema.job_gates.gate, %(substr_1)s::INTEGER, length(%(prefix)s::VARCHAR)) = %(prefix)s::VARCHAR AND (jobrunner_schema.job_gates.opens_at IS NULL OR jobrunner_schema.job_gates.opens_at <= jobrunner_schema.jobrunner_now() OR jobrunner_schema.job_gates.opens_at > (jobrunner_schema.jobrunner_now() + make_interval(secs => %(longest)s::FLOAT))) AND (SELECT count(*) AS count_1
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.gate = jobrunner_schema.job_gates.gate AND jobrunner_schema.job_runs.lease_token IS NOT NULL AND jobrunner_schema.job_runs.gate != '' AND jobrunner_schema.job_runs.job_type = jobrunner_schema.job_gates.job_type) < %(most_at_work)s::INTEGER ORDER BY jobrunner_schema.job_gates.place
 LIMIT %(limit)s::INTEGER""",
        {'substr_1': 1},
        {},
        (('gate', None), ('spent_until', 'instant'), ('at_work', None)),
    ),
    ('fair.line', (True,)): (
        """SELECT jobrunner_schema.job_gates.gate, (SELECT max(same.spent_until) AS max_1
FROM jobrunner_schema.job_gates AS same
WHERE same.job_type IN (SELECT given.job_type
FROM (SELECT job_type FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200))) AS given) AND same.gate = jobrunner_schema.job_gates.gate) AS spent_until, (SELECT count(*) AS count_1
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.gate = jobrunner_schema.job_gates.gate AND jobrunner_schema.job_runs.lease_token IS NOT NULL AND jobrunner_schema.job_runs.gate != '' AND jobrunner_schema.job_runs.job_type IN (SELECT given.job_type
FROM (SELECT job_type FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200))) AS given)) AS at_work
FROM jobrunner_schema.job_gates
WHERE jobrunner_schema.job_gates.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gates.turn_at IS NOT NULL AND substr(jobrunner_schema.job_gates.gate, %(substr_1)s::INTEGER, length(%(prefix)s::VARCHAR)) = %(prefix)s::VARCHAR AND (jobrunner_schema.job_gates.opens_at IS NULL OR jobrunner_schema.job_gates.opens_at <= jobrunner_schema.jobrunner_now() OR jobrunner_schema.job_gates.opens_at > (jobrunner_schema.jobrunner_now() + make_interval(secs => %(longest)s::FLOAT))) AND (SELECT count(*) AS count_1
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.gate = jobrunner_schema.job_gates.gate AND jobrunner_schema.job_runs.lease_token IS NOT NULL AND jobrunner_schema.job_runs.gate != '' AND jobrunner_schema.job_runs.job_type IN (SELECT given.job_type
FROM (SELECT job_type FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200))) AS given)) < %(most_at_work)s::INTEGER ORDER BY jobrunner_schema.job_gates.place
 LIMIT %(limit)s::INTEGER""",
        {'substr_1': 1},
        {'given': (('job_type', None),)},
        (('gate', None), ('spent_until', 'instant'), ('at_work', None)),
    ),
    ('fair.look_from', ()): (
        """UPDATE jobrunner_schema.job_limits SET looked_to=%(looked_to)s::VARCHAR WHERE jobrunner_schema.job_limits.job_type = %(of_type)s::VARCHAR""",
        {},
        {},
        (),
    ),
    ('fair.of_fair_types', ()): (
        """SELECT given.job_type, given.gate, (SELECT jobrunner_schema.job_runs.turn_at
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status IN ('queued', 'failed') AND jobrunner_schema.job_runs.job_type = given.job_type AND jobrunner_schema.job_runs.gate >= given.gate ORDER BY jobrunner_schema.job_runs.gate, jobrunner_schema.job_runs.turn_at, jobrunner_schema.job_runs.run_at, jobrunner_schema.job_runs.id
 LIMIT 1) AS turn_at
FROM (SELECT job_type, gate FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), gate VARCHAR(600))) AS given JOIN jobrunner_schema.job_types ON jobrunner_schema.job_types.job_type = given.job_type AND substr(given.gate, %(substr_1)s::INTEGER, length(jobrunner_schema.job_types.fair_by || ' ')) = (jobrunner_schema.job_types.fair_by || ' ')""",
        {'substr_1': 1},
        {'given': (('job_type', None), ('gate', None))},
        (('job_type', None), ('gate', None), ('turn_at', 'instant')),
    ),
    ('fair.others_in_line', ()): (
        """WITH RECURSIVE walk(gate, steps) AS
(SELECT CAST('' AS VARCHAR(600)) AS gate, 0 AS steps UNION ALL SELECT (SELECT jobrunner_schema.job_runs.gate
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status IN ('queued', 'failed') AND jobrunner_schema.job_runs.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_runs.gate > walk.gate ORDER BY jobrunner_schema.job_runs.gate
 LIMIT 1) AS anon_1, walk.steps + 1 AS anon_2
FROM walk
WHERE walk.gate IS NOT NULL AND walk.steps < %(limit)s::INTEGER)
 SELECT CASE WHEN ((SELECT jobrunner_schema.job_gates.place
FROM jobrunner_schema.job_gates
WHERE jobrunner_schema.job_gates.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gates.turn_at IS NOT NULL AND jobrunner_schema.job_gates.gate = %(gate)s::VARCHAR) IS NULL OR (SELECT jobrunner_schema.job_gates.place
FROM jobrunner_schema.job_gates
WHERE jobrunner_schema.job_gates.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gates.turn_at IS NOT NULL AND jobrunner_schema.job_gates.gate = walk.gate) < (SELECT jobrunner_schema.job_gates.place
FROM jobrunner_schema.job_gates
WHERE jobrunner_schema.job_gates.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gates.turn_at IS NOT NULL AND jobrunner_schema.job_gates.gate = %(gate)s::VARCHAR)) THEN %(param_1)s::INTEGER ELSE %(param_2)s::INTEGER END AS is_before, (SELECT count(*) AS count_1
FROM (SELECT jobrunner_schema.job_gated.id AS id
FROM jobrunner_schema.job_gated
WHERE jobrunner_schema.job_gated.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gated.gate >= walk.gate AND jobrunner_schema.job_gated.gate <= walk.gate
 LIMIT %(share)s::INTEGER) AS "some") AS waiting
FROM walk
WHERE walk.steps > 0 AND (walk.gate NOT IN ('', 'after', %(gate)s::VARCHAR))""",
        {'param_1': 1, 'param_2': 0},
        {},
        (('is_before', None), ('waiting', None)),
    ),
    ('fair.quarantined', (False,)): (
        """SELECT first.id, first.gate, first.turn_at, first.run_at, jobrunner_schema.job_gates.spent_until, (SELECT count(*) AS count_1
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.gate = jobrunner_schema.job_gates.gate AND jobrunner_schema.job_runs.lease_token IS NOT NULL AND jobrunner_schema.job_runs.gate != '' AND jobrunner_schema.job_runs.job_type = jobrunner_schema.job_gates.job_type) AS at_work
FROM (SELECT jobrunner_schema.job_gated.id AS id, jobrunner_schema.job_gated.gate AS gate, jobrunner_schema.job_gated.turn_at AS turn_at, jobrunner_schema.job_gated.run_at AS run_at
FROM jobrunner_schema.job_gated
WHERE jobrunner_schema.job_gated.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gated.gate > '' AND jobrunner_schema.job_gated.lease_expiries >= 2 ORDER BY jobrunner_schema.job_gated.gate, jobrunner_schema.job_gated.turn_at, jobrunner_schema.job_gated.run_at, jobrunner_schema.job_gated.id
 LIMIT 100) AS first JOIN jobrunner_schema.job_gates ON jobrunner_schema.job_gates.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gates.gate = first.gate
WHERE jobrunner_schema.job_gates.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gates.turn_at IS NOT NULL AND substr(jobrunner_schema.job_gates.gate, %(substr_1)s::INTEGER, length(%(prefix)s::VARCHAR)) = %(prefix)s::VARCHAR AND (jobrunner_schema.job_gates.opens_at IS NULL OR jobrunner_schema.job_gates.opens_at <= jobrunner_schema.jobrunner_now() OR jobrunner_schema.job_gates.opens_at > (jobrunner_schema.jobrunner_now() + make_interval(secs => %(longest)s::FLOAT))) AND (SELECT count(*) AS count_1
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.gate = jobrunner_schema.job_gates.gate AND jobrunner_schema.job_runs.lease_token IS NOT NULL AND jobrunner_schema.job_runs.gate != '' AND jobrunner_schema.job_runs.job_type = jobrunner_schema.job_gates.job_type) < %(most_at_work)s::INTEGER
 LIMIT %(limit)s::INTEGER""",
        {'substr_1': 1},
        {},
        (('id', None), ('gate', None), ('turn_at', 'instant'), ('run_at', 'instant'), ('spent_until', 'instant'), ('at_work', None)),
    ),
    ('fair.quarantined', (True,)): (
        """SELECT first.id, first.gate, first.turn_at, first.run_at, (SELECT max(same.spent_until) AS max_1
FROM jobrunner_schema.job_gates AS same
WHERE same.job_type IN (SELECT given.job_type
FROM (SELECT job_type FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200))) AS given) AND same.gate = jobrunner_schema.job_gates.gate) AS spent_until, (SELECT count(*) AS count_1
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.gate = jobrunner_schema.job_gates.gate AND jobrunner_schema.job_runs.lease_token IS NOT NULL AND jobrunner_schema.job_runs.gate != '' AND jobrunner_schema.job_runs.job_type IN (SELECT given.job_type
FROM (SELECT job_type FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200))) AS given)) AS at_work
FROM (SELECT jobrunner_schema.job_gated.id AS id, jobrunner_schema.job_gated.gate AS gate, jobrunner_schema.job_gated.turn_at AS turn_at, jobrunner_schema.job_gated.run_at AS run_at
FROM jobrunner_schema.job_gated
WHERE jobrunner_schema.job_gated.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gated.gate > '' AND jobrunner_schema.job_gated.lease_expiries >= 2 ORDER BY jobrunner_schema.job_gated.gate, jobrunner_schema.job_gated.turn_at, jobrunner_schema.job_gated.run_at, jobrunner_schema.job_gated.id
 LIMIT 100) AS first JOIN jobrunner_schema.job_gates ON jobrunner_schema.job_gates.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gates.gate = first.gate
WHERE jobrunner_schema.job_gates.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gates.turn_at IS NOT NULL AND substr(jobrunner_schema.job_gates.gate, %(substr_1)s::INTEGER, length(%(prefix)s::VARCHAR)) = %(prefix)s::VARCHAR AND (jobrunner_schema.job_gates.opens_at IS NULL OR jobrunner_schema.job_gates.opens_at <= jobrunner_schema.jobrunner_now() OR jobrunner_schema.job_gates.opens_at > (jobrunner_schema.jobrunner_now() + make_interval(secs => %(longest)s::FLOAT))) AND (SELECT count(*) AS count_1
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.gate = jobrunner_schema.job_gates.gate AND jobrunner_schema.job_runs.lease_token IS NOT NULL AND jobrunner_schema.job_runs.gate != '' AND jobrunner_schema.job_runs.job_type IN (SELECT given.job_type
FROM (SELECT job_type FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200))) AS given)) < %(most_at_work)s::INTEGER
 LIMIT %(limit)s::INTEGER""",
        {'substr_1': 1},
        {'given': (('job_type', None),)},
        (('id', None), ('gate', None), ('turn_at', 'instant'), ('run_at', 'instant'), ('spent_until', 'instant'), ('at_work', None)),
    ),
    ('fair.settle', ()): (
        """UPDATE jobrunner_schema.job_gates SET turn_at=(SELECT jobrunner_schema.job_runs.turn_at
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.job_type = jobrunner_schema.job_gates.job_type AND jobrunner_schema.job_runs.gate = jobrunner_schema.job_gates.gate AND jobrunner_schema.job_runs.status IN ('queued', 'failed') ORDER BY jobrunner_schema.job_runs.turn_at, jobrunner_schema.job_runs.run_at, jobrunner_schema.job_runs.id
 LIMIT %(param_1)s::INTEGER), spent_until=coalesce(given.spent_until, jobrunner_schema.job_gates.spent_until), opens_at=coalesce(given.opens_at, jobrunner_schema.job_gates.opens_at), place=CASE WHEN (given.moves = 1) THEN coalesce((SELECT (CAST(EXTRACT(EPOCH FROM %(at)s::TIMESTAMP WITH TIME ZONE) * 1000000 AS BIGINT) - jobrunner_schema.job_runs.priority * 60000000) AS anon_1
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.job_type = jobrunner_schema.job_gates.job_type AND jobrunner_schema.job_runs.gate = jobrunner_schema.job_gates.gate AND jobrunner_schema.job_runs.status IN ('queued', 'failed') ORDER BY jobrunner_schema.job_runs.turn_at, jobrunner_schema.job_runs.run_at, jobrunner_schema.job_runs.id
 LIMIT 1) + CASE WHEN ((SELECT max(jobrunner_schema.job_gates.place) AS max_1
FROM jobrunner_schema.job_gates
WHERE jobrunner_schema.job_gates.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gates.turn_at IS NOT NULL AND jobrunner_schema.job_gates.place <= (CAST(EXTRACT(EPOCH FROM %(at)s::TIMESTAMP WITH TIME ZONE) * 1000000 AS BIGINT) - 0 * 60000000) + 1000000) > (CAST(EXTRACT(EPOCH FROM %(at)s::TIMESTAMP WITH TIME ZONE) * 1000000 AS BIGINT) - 0 * 60000000)) THEN (SELECT max(jobrunner_schema.job_gates.place) AS max_1
FROM jobrunner_schema.job_gates
WHERE jobrunner_schema.job_gates.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gates.turn_at IS NOT NULL AND jobrunner_schema.job_gates.place <= (CAST(EXTRACT(EPOCH FROM %(at)s::TIMESTAMP WITH TIME ZONE) * 1000000 AS BIGINT) - 0 * 60000000) + 1000000) - (CAST(EXTRACT(EPOCH FROM %(at)s::TIMESTAMP WITH TIME ZONE) * 1000000 AS BIGINT) - 0 * 60000000) ELSE 0 END + 1, jobrunner_schema.job_gates.place) ELSE jobrunner_schema.job_gates.place END FROM (SELECT job_type, gate, spent_until, opens_at, moves FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), gate VARCHAR(600), spent_until TIMESTAMP WITH TIME ZONE, opens_at TIMESTAMP WITH TIME ZONE, moves INTEGER)) AS given WHERE jobrunner_schema.job_gates.job_type = given.job_type AND jobrunner_schema.job_gates.gate = given.gate""",
        {'param_1': 1},
        {'at': 'instant', 'given': (('job_type', None), ('gate', None), ('spent_until', 'instant'), ('opens_at', 'instant'), ('moves', None))},
        (),
    ),
    ('fair.waited', ()): (
        """WITH RECURSIVE walk(gate, steps) AS
(SELECT CAST(%(looked_to)s::VARCHAR AS VARCHAR(600)) AS gate, 0 AS steps UNION ALL SELECT (SELECT jobrunner_schema.job_runs.gate
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status IN ('queued', 'failed') AND jobrunner_schema.job_runs.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_runs.gate > walk.gate ORDER BY jobrunner_schema.job_runs.gate
 LIMIT 1) AS anon_1, walk.steps + 1 AS anon_2
FROM walk
WHERE walk.gate IS NOT NULL AND walk.steps < %(limit)s::INTEGER)
 SELECT %(of_type)s::VARCHAR AS job_type, walk.gate, (SELECT jobrunner_schema.job_runs.turn_at
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status IN ('queued', 'failed') AND jobrunner_schema.job_runs.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_runs.gate >= walk.gate ORDER BY jobrunner_schema.job_runs.gate, jobrunner_schema.job_runs.turn_at, jobrunner_schema.job_runs.run_at, jobrunner_schema.job_runs.id
 LIMIT 1) AS turn_at, (SELECT jobrunner_schema.job_gates.turn_at
FROM jobrunner_schema.job_gates
WHERE jobrunner_schema.job_gates.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gates.gate = walk.gate) AS known_at
FROM walk
WHERE walk.steps > 0 AND walk.gate IS NOT NULL ORDER BY walk.steps""",
        {},
        {},
        (('job_type', None), ('gate', None), ('turn_at', 'instant'), ('known_at', 'instant')),
    ),
    ('finalize.complete', ()): (
        """UPDATE jobrunner_schema.job_attempts SET output=given.output, peak_memory_bytes=given.peak_memory_bytes, processor_seconds=given.processor_seconds FROM (SELECT id, lease_token, output, peak_memory_bytes, processor_seconds FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT, lease_token VARCHAR(32), output TEXT, peak_memory_bytes BIGINT, processor_seconds FLOAT(53))) AS given WHERE jobrunner_schema.job_attempts.run_id = given.id AND jobrunner_schema.job_attempts.lease_token = given.lease_token""",
        {},
        {'given': (('id', None), ('lease_token', None), ('output', None), ('peak_memory_bytes', None), ('processor_seconds', None))},
        (),
    ),
    ('finalize.ended', ()): (
        """SELECT jobrunner_schema.job_attempts.run_id, jobrunner_schema.job_attempts.lease_token, jobrunner_schema.job_attempts.worker, jobrunner_schema.job_attempts.outcome, jobrunner_schema.job_attempts.error_type, jobrunner_schema.job_attempts.output
FROM (SELECT id, lease_token FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT, lease_token VARCHAR(32))) AS given JOIN jobrunner_schema.job_attempts ON jobrunner_schema.job_attempts.run_id = given.id AND jobrunner_schema.job_attempts.lease_token = given.lease_token""",
        {},
        {'given': (('id', None), ('lease_token', None))},
        (('run_id', None), ('lease_token', None), ('worker', None), ('outcome', None), ('error_type', None), ('output', None)),
    ),
    ('finalize.leave', ()): (
        """UPDATE jobrunner_schema.job_runs SET status=given.status, run_at=coalesce(given.run_at, jobrunner_schema.job_runs.run_at), gate='', attempts=given.attempts, locked_by=NULL, host=NULL, locked_until=NULL, lease_token=NULL, heartbeat_at=NULL, failed_at=CASE WHEN (given.event IN ('fail', 'postpone', 'give up')) THEN %(at)s::TIMESTAMP WITH TIME ZONE ELSE jobrunner_schema.job_runs.failed_at END, finished_at=CASE WHEN (given.status IN ('succeeded', 'dead', 'cancelled')) THEN %(at)s::TIMESTAMP WITH TIME ZONE ELSE jobrunner_schema.job_runs.finished_at END, releases=given.releases, lease_expiries=given.lease_expiries, incompatible_at=CASE WHEN (given.event IN ('postpone') AND jobrunner_schema.job_runs.incompatible_at > %(at)s::TIMESTAMP WITH TIME ZONE) THEN %(at)s::TIMESTAMP WITH TIME ZONE WHEN (given.event IN ('postpone')) THEN coalesce(jobrunner_schema.job_runs.incompatible_at, %(at)s::TIMESTAMP WITH TIME ZONE) ELSE NULL END, error_type=CASE WHEN (given.event IN ('succeed')) THEN NULL WHEN (given.event IN ('fail', 'postpone', 'give up', 'drop')) THEN given.error_type ELSE jobrunner_schema.job_runs.error_type END, last_error=CASE WHEN (given.event IN ('succeed')) THEN NULL WHEN (given.event IN ('fail', 'postpone', 'give up', 'drop')) THEN given.error ELSE jobrunner_schema.job_runs.last_error END, result=CASE WHEN (given.event IN ('succeed')) THEN given.result ELSE jobrunner_schema.job_runs.result END, output=NULL, updated_at=%(at)s::TIMESTAMP WITH TIME ZONE FROM (SELECT id, lease_token, event, status, attempts, releases, lease_expiries, run_at, CAST(result AS JSONB) AS result, error_type, error FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT, lease_token VARCHAR(32), event TEXT, status VARCHAR(20), attempts INTEGER, releases INTEGER, lease_expiries INTEGER, run_at TIMESTAMP WITH TIME ZONE, result TEXT, error_type VARCHAR(200), error TEXT)) AS given WHERE jobrunner_schema.job_runs.id = given.id AND jobrunner_schema.job_runs.lease_token = given.lease_token""",
        {},
        {'at': 'instant', 'given': (('id', None), ('lease_token', None), ('event', None), ('status', None), ('attempts', None), ('releases', None), ('lease_expiries', None), ('run_at', 'instant'), ('result', 'json'), ('error_type', None), ('error', None))},
        (),
    ),
    ('finalize.locked', ()): (
        """SELECT jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.lease_token, jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.attempts, jobrunner_schema.job_runs.max_attempts, jobrunner_schema.job_runs.releases, jobrunner_schema.job_runs.lease_expiries, jobrunner_schema.job_runs.incompatible_at, jobrunner_schema.job_runs.run_at, jobrunner_schema.job_runs.has_dependants, jobrunner_schema.job_runs.cancel_requested_at IS NOT NULL AS cancel_requested, jobrunner_schema.jobrunner_now() AS now
FROM (SELECT id, lease_token FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT, lease_token VARCHAR(32))) AS given JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = given.id AND jobrunner_schema.job_runs.lease_token = given.lease_token
WHERE jobrunner_schema.job_runs.lease_token IS NOT NULL FOR NO KEY UPDATE OF job_runs SKIP LOCKED""",
        {},
        {'given': (('id', None), ('lease_token', None))},
        (('id', None), ('lease_token', None), ('job_type', None), ('attempts', None), ('max_attempts', None), ('releases', None), ('lease_expiries', None), ('incompatible_at', 'instant'), ('run_at', 'instant'), ('has_dependants', None), ('cancel_requested', 'boolean'), ('now', 'instant')),
    ),
    ('finalize.record', ()): (
        """INSERT INTO jobrunner_schema.job_attempts (run_id, sequence, attempt, lease_token, worker, host, due_at, started_at, finished_at, outcome, status, error_type, error_class, error, traceback, output, exit_signal, peak_memory_bytes, processor_seconds) SELECT jobrunner_schema.job_runs.id, (SELECT coalesce(max(jobrunner_schema.job_attempts.sequence), %(coalesce_2)s::INTEGER) AS coalesce_1
FROM jobrunner_schema.job_attempts
WHERE jobrunner_schema.job_attempts.run_id = given.id) + %(param_1)s::INTEGER AS anon_1, jobrunner_schema.job_runs.attempts, jobrunner_schema.job_runs.lease_token, jobrunner_schema.job_runs.locked_by, coalesce(jobrunner_schema.job_runs.host, '') AS coalesce_3, jobrunner_schema.job_runs.run_at, coalesce(jobrunner_schema.job_runs.started_at, jobrunner_schema.job_runs.claimed_at, %(at)s::TIMESTAMP WITH TIME ZONE) AS coalesce_4, %(at)s::TIMESTAMP WITH TIME ZONE AS anon_2, given.outcome, given.status, given.error_type, given.error_class, given.error, given.traceback, given.output, given.exit_signal, given.peak_memory_bytes, given.processor_seconds
FROM (SELECT id, lease_token, outcome, status, error_type, error_class, error, traceback, output, exit_signal, peak_memory_bytes, processor_seconds FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT, lease_token VARCHAR(32), outcome VARCHAR(20), status VARCHAR(20), error_type VARCHAR(200), error_class VARCHAR(300), error TEXT, traceback TEXT, output TEXT, exit_signal INTEGER, peak_memory_bytes BIGINT, processor_seconds FLOAT(53))) AS given JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = given.id AND jobrunner_schema.job_runs.lease_token = given.lease_token""",
        {'coalesce_2': 0, 'param_1': 1},
        {'at': 'instant', 'given': (('id', None), ('lease_token', None), ('outcome', None), ('status', None), ('error_type', None), ('error_class', None), ('error', None), ('traceback', None), ('output', None), ('exit_signal', None), ('peak_memory_bytes', None), ('processor_seconds', None))},
        (),
    ),
    ('finalize.running_of', ()): (
        """SELECT jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.lease_token, jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.attempts, jobrunner_schema.job_runs.max_attempts, jobrunner_schema.job_runs.releases, jobrunner_schema.job_runs.lease_expiries, jobrunner_schema.job_runs.incompatible_at, jobrunner_schema.job_runs.run_at, jobrunner_schema.job_runs.has_dependants, jobrunner_schema.job_runs.cancel_requested_at IS NOT NULL AS cancel_requested, jobrunner_schema.jobrunner_now() AS now, jobrunner_schema.job_runs.locked_by, jobrunner_schema.job_runs.host, jobrunner_schema.job_runs.output
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = given.id
WHERE jobrunner_schema.job_runs.lease_token IS NOT NULL ORDER BY jobrunner_schema.job_runs.id""",
        {},
        {'given': (('id', None),)},
        (('id', None), ('lease_token', None), ('job_type', None), ('attempts', None), ('max_attempts', None), ('releases', None), ('lease_expiries', None), ('incompatible_at', 'instant'), ('run_at', 'instant'), ('has_dependants', None), ('cancel_requested', 'boolean'), ('now', 'instant'), ('locked_by', None), ('host', None), ('output', None)),
    ),
    ('finalize.show_warnings', ()): (
        """SELECT pg_catalog.set_config('client_min_messages', 'warning', true) AS set_config_1""",
        {},
        {},
        (('set_config', None),),
    ),
    ('finalize.succeed', (False,)): (
        """WITH held AS
(SELECT jobrunner_schema.job_runs.id AS id, jobrunner_schema.job_runs.lease_token AS lease_token, given.result AS given_result, jobrunner_schema.job_runs.id AS new_run_id, (SELECT coalesce(max(jobrunner_schema.job_attempts.sequence), %(coalesce_2)s::INTEGER) AS coalesce_1
FROM jobrunner_schema.job_attempts
WHERE jobrunner_schema.job_attempts.run_id = given.id) + %(param_1)s::INTEGER AS new_sequence, jobrunner_schema.job_runs.attempts AS new_attempt, jobrunner_schema.job_runs.lease_token AS new_lease_token, jobrunner_schema.job_runs.locked_by AS new_worker, coalesce(jobrunner_schema.job_runs.host, '') AS new_host, jobrunner_schema.job_runs.run_at AS new_due_at, coalesce(jobrunner_schema.job_runs.started_at, jobrunner_schema.job_runs.claimed_at, jobrunner_schema.jobrunner_now()) AS new_started_at, jobrunner_schema.jobrunner_now() AS new_finished_at, 'succeeded' AS new_outcome, 'succeeded' AS new_status, given.output AS new_output, given.peak_memory_bytes AS new_peak_memory_bytes, given.processor_seconds AS new_processor_seconds
FROM (SELECT id, lease_token, CAST(result AS JSONB) AS result, output, peak_memory_bytes, processor_seconds FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT, lease_token VARCHAR(32), result TEXT, output TEXT, peak_memory_bytes BIGINT, processor_seconds FLOAT(53))) AS given JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = given.id AND jobrunner_schema.job_runs.lease_token = given.lease_token FOR NO KEY UPDATE OF job_runs SKIP LOCKED),
recorded AS
(INSERT INTO jobrunner_schema.job_attempts (run_id, sequence, attempt, lease_token, worker, host, due_at, started_at, finished_at, outcome, status, output, peak_memory_bytes, processor_seconds) SELECT held.new_run_id AS new_run_id, held.new_sequence AS new_sequence, held.new_attempt AS new_attempt, held.new_lease_token AS new_lease_token, held.new_worker AS new_worker, held.new_host AS new_host, held.new_due_at AS new_due_at, held.new_started_at AS new_started_at, held.new_finished_at AS new_finished_at, held.new_outcome AS new_outcome, held.new_status AS new_status, held.new_output AS new_output, held.new_peak_memory_bytes AS new_peak_memory_bytes, held.new_processor_seconds AS new_processor_seconds
FROM held)
 UPDATE jobrunner_schema.job_runs SET status='succeeded', gate='', locked_by=NULL, host=NULL, locked_until=NULL, lease_token=NULL, heartbeat_at=NULL, finished_at=jobrunner_schema.jobrunner_now(), releases=0, lease_expiries=0, incompatible_at=NULL, error_type=NULL, last_error=NULL, result=held.given_result, output=NULL, updated_at=jobrunner_schema.jobrunner_now() FROM held WHERE jobrunner_schema.job_runs.id = held.id RETURNING jobrunner_schema.job_runs.id, held.lease_token, jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.attempts, jobrunner_schema.job_runs.run_at, jobrunner_schema.job_runs.has_dependants""",
        {'coalesce_2': 0, 'param_1': 1},
        {'given': (('id', None), ('lease_token', None), ('result', 'json'), ('output', None), ('peak_memory_bytes', None), ('processor_seconds', None))},
        (('id', None), ('lease_token', None), ('job_type', None), ('attempts', None), ('run_at', 'instant'), ('has_dependants', None)),
    ),
    ('finalize.succeed', (True,)): (
        """WITH held AS
(SELECT jobrunner_schema.job_runs.id AS id, jobrunner_schema.job_runs.lease_token AS lease_token, given.result AS given_result, jobrunner_schema.job_runs.id AS new_run_id, (SELECT coalesce(max(jobrunner_schema.job_attempts.sequence), %(coalesce_2)s::INTEGER) AS coalesce_1
FROM jobrunner_schema.job_attempts
WHERE jobrunner_schema.job_attempts.run_id = given.id) + %(param_1)s::INTEGER AS new_sequence, jobrunner_schema.job_runs.attempts AS new_attempt, jobrunner_schema.job_runs.lease_token AS new_lease_token, jobrunner_schema.job_runs.locked_by AS new_worker, coalesce(jobrunner_schema.job_runs.host, '') AS new_host, jobrunner_schema.job_runs.run_at AS new_due_at, coalesce(jobrunner_schema.job_runs.started_at, jobrunner_schema.job_runs.claimed_at, jobrunner_schema.jobrunner_now()) AS new_started_at, jobrunner_schema.jobrunner_now() AS new_finished_at, 'succeeded' AS new_outcome, 'succeeded' AS new_status, given.output AS new_output, given.peak_memory_bytes AS new_peak_memory_bytes, given.processor_seconds AS new_processor_seconds
FROM (SELECT id, lease_token, CAST(result AS JSONB) AS result, output, peak_memory_bytes, processor_seconds FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT, lease_token VARCHAR(32), result TEXT, output TEXT, peak_memory_bytes BIGINT, processor_seconds FLOAT(53))) AS given JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = given.id AND jobrunner_schema.job_runs.lease_token = given.lease_token FOR NO KEY UPDATE OF job_runs),
recorded AS
(INSERT INTO jobrunner_schema.job_attempts (run_id, sequence, attempt, lease_token, worker, host, due_at, started_at, finished_at, outcome, status, output, peak_memory_bytes, processor_seconds) SELECT held.new_run_id AS new_run_id, held.new_sequence AS new_sequence, held.new_attempt AS new_attempt, held.new_lease_token AS new_lease_token, held.new_worker AS new_worker, held.new_host AS new_host, held.new_due_at AS new_due_at, held.new_started_at AS new_started_at, held.new_finished_at AS new_finished_at, held.new_outcome AS new_outcome, held.new_status AS new_status, held.new_output AS new_output, held.new_peak_memory_bytes AS new_peak_memory_bytes, held.new_processor_seconds AS new_processor_seconds
FROM held)
 UPDATE jobrunner_schema.job_runs SET status='succeeded', gate='', locked_by=NULL, host=NULL, locked_until=NULL, lease_token=NULL, heartbeat_at=NULL, finished_at=jobrunner_schema.jobrunner_now(), releases=0, lease_expiries=0, incompatible_at=NULL, error_type=NULL, last_error=NULL, result=held.given_result, output=NULL, updated_at=jobrunner_schema.jobrunner_now() FROM held WHERE jobrunner_schema.job_runs.id = held.id RETURNING jobrunner_schema.job_runs.id, held.lease_token, jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.attempts, jobrunner_schema.job_runs.run_at, jobrunner_schema.job_runs.has_dependants""",
        {'coalesce_2': 0, 'param_1': 1},
        {'given': (('id', None), ('lease_token', None), ('result', 'json'), ('output', None), ('peak_memory_bytes', None), ('processor_seconds', None))},
        (('id', None), ('lease_token', None), ('job_type', None), ('attempts', None), ('run_at', 'instant'), ('has_dependants', None)),
    ),
    ('findings.awaited_runs', ()): (
        """WITH RECURSIVE awaited(host) AS
(SELECT (SELECT jobrunner_schema.job_runs.only_host
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.finished_at IS NULL AND jobrunner_schema.job_runs.lease_token IS NULL AND jobrunner_schema.job_runs.only_host IS NOT NULL ORDER BY jobrunner_schema.job_runs.only_host
 LIMIT 1) AS host UNION ALL SELECT (SELECT jobrunner_schema.job_runs.only_host
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.finished_at IS NULL AND jobrunner_schema.job_runs.lease_token IS NULL AND jobrunner_schema.job_runs.only_host IS NOT NULL AND jobrunner_schema.job_runs.only_host > awaited.host ORDER BY jobrunner_schema.job_runs.only_host
 LIMIT 1) AS host
FROM awaited
WHERE awaited.host IS NOT NULL)
 SELECT counted.host, counted.number, counted.first, counted.since
FROM (SELECT awaited.host AS host, (SELECT count(*) AS count_1
FROM (SELECT jobrunner_schema.job_claimable_by_host.id AS id, jobrunner_schema.job_claimable_by_host.run_at AS run_at
FROM jobrunner_schema.job_claimable_by_host
WHERE jobrunner_schema.job_claimable_by_host.only_host = awaited.host AND jobrunner_schema.job_claimable_by_host.run_at < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(since)s::FLOAT)) ORDER BY jobrunner_schema.job_claimable_by_host.turn_at, jobrunner_schema.job_claimable_by_host.run_at, jobrunner_schema.job_claimable_by_host.id
 LIMIT %(most)s::INTEGER) AS found) AS number, (SELECT min(found.id) AS min_1
FROM (SELECT jobrunner_schema.job_claimable_by_host.id AS id, jobrunner_schema.job_claimable_by_host.run_at AS run_at
FROM jobrunner_schema.job_claimable_by_host
WHERE jobrunner_schema.job_claimable_by_host.only_host = awaited.host AND jobrunner_schema.job_claimable_by_host.run_at < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(since)s::FLOAT)) ORDER BY jobrunner_schema.job_claimable_by_host.turn_at, jobrunner_schema.job_claimable_by_host.run_at, jobrunner_schema.job_claimable_by_host.id
 LIMIT %(most)s::INTEGER) AS found) AS first, (SELECT min(found.run_at) AS min_2
FROM (SELECT jobrunner_schema.job_claimable_by_host.id AS id, jobrunner_schema.job_claimable_by_host.run_at AS run_at
FROM jobrunner_schema.job_claimable_by_host
WHERE jobrunner_schema.job_claimable_by_host.only_host = awaited.host AND jobrunner_schema.job_claimable_by_host.run_at < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(since)s::FLOAT)) ORDER BY jobrunner_schema.job_claimable_by_host.turn_at, jobrunner_schema.job_claimable_by_host.run_at, jobrunner_schema.job_claimable_by_host.id
 LIMIT %(most)s::INTEGER) AS found) AS since
FROM awaited
WHERE awaited.host IS NOT NULL
 LIMIT 10000) AS counted
WHERE counted.number > 0 AND NOT (EXISTS (SELECT jobrunner_schema.job_pauses.name
FROM jobrunner_schema.job_pauses
WHERE jobrunner_schema.job_pauses.kind = 'host' AND jobrunner_schema.job_pauses.name = counted.host))""",
        {},
        {},
        (('host', None), ('number', None), ('first', None), ('since', 'instant')),
    ),
    ('findings.awaited_schedules', ()): (
        """SELECT by_host.host, by_host.number, (SELECT jobrunner_schema.job_definitions.name
FROM jobrunner_schema.job_definitions
WHERE jobrunner_schema.job_definitions.id = by_host.id) AS first, by_host.since
FROM (SELECT jobrunner_schema.job_definitions.host AS host, count(*) AS number, min(jobrunner_schema.job_definitions.id) AS id, min(coalesce(jobrunner_schema.job_definitions.next_run_at, jobrunner_schema.job_definitions.last_slot_at)) AS since
FROM jobrunner_schema.job_definitions
WHERE jobrunner_schema.job_definitions.host IS NOT NULL AND coalesce(jobrunner_schema.job_definitions.next_run_at, jobrunner_schema.job_definitions.last_slot_at) < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(since)s::FLOAT)) AND (schedule IS NOT NULL) AND (removed_at IS NULL) AND (paused_at IS NULL) AND ((next_run_at IS NULL OR next_run_at <= jobrunner_schema.jobrunner_now())) AND (("on" = 'any-host' OR host IS NOT NULL)) GROUP BY jobrunner_schema.job_definitions.host) AS by_host ORDER BY by_host.host""",
        {},
        {},
        (('host', None), ('number', None), ('first', None), ('since', 'instant')),
    ),
    ('findings.broken_definitions', ()): (
        """SELECT jobrunner_schema.job_definitions.name, jobrunner_schema.job_definitions.last_error, jobrunner_schema.job_definitions.last_slot_at
FROM jobrunner_schema.job_definitions
WHERE jobrunner_schema.job_definitions.removed_at IS NULL AND jobrunner_schema.job_definitions.schedule IS NOT NULL AND (jobrunner_schema.job_definitions.last_error IS NOT NULL OR jobrunner_schema.job_definitions.paused_at IS NULL AND jobrunner_schema.job_definitions.last_slot_at > (jobrunner_schema.jobrunner_now() + make_interval(secs => %(ahead)s::FLOAT))) ORDER BY jobrunner_schema.job_definitions.name
 LIMIT %(most)s::INTEGER""",
        {},
        {},
        (('name', None), ('last_error', None), ('last_slot_at', 'instant')),
    ),
    ('findings.broken_promises', ()): (
        """SELECT jobrunner_schema.job_definitions.name, jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.last_error
FROM jobrunner_schema.job_definitions JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = (SELECT jobrunner_schema.job_runs.id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.definition_id = jobrunner_schema.job_definitions.id AND jobrunner_schema.job_runs.finished_at IS NOT NULL ORDER BY jobrunner_schema.job_runs.id DESC
 LIMIT %(param_1)s::INTEGER)
WHERE jobrunner_schema.job_definitions.job_type = 'verify' AND jobrunner_schema.job_definitions.removed_at IS NULL AND jobrunner_schema.job_runs.status = 'dead' AND jobrunner_schema.job_runs.error_type = 'exit_status' AND jobrunner_schema.job_runs.last_error LIKE %(last_error_1)s::VARCHAR
 LIMIT %(most)s::INTEGER""",
        {'param_1': 1, 'last_error_1': 'exit status 1:%'},
        {},
        (('name', None), ('id', None), ('last_error', None)),
    ),
    ('findings.came_since', ()): (
        """SELECT given.job_type, (SELECT count(*) AS count_1
FROM (SELECT jobrunner_schema.job_claimable.id AS id
FROM jobrunner_schema.job_claimable
WHERE jobrunner_schema.job_claimable.job_type = given.job_type AND jobrunner_schema.job_claimable.turn_at >= %(since)s::TIMESTAMP WITH TIME ZONE AND jobrunner_schema.job_claimable.run_at >= %(since)s::TIMESTAMP WITH TIME ZONE
 LIMIT %(most)s::INTEGER) AS found) AS runs
FROM (SELECT job_type FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200))) AS given""",
        {},
        {'since': 'instant', 'given': (('job_type', None),)},
        (('job_type', None), ('runs', None)),
    ),
    ('findings.dead', ()): (
        """SELECT found.job_type, count(*) AS runs, max(found.id) AS id
FROM (SELECT jobrunner_schema.job_runs.id AS id, jobrunner_schema.job_runs.job_type AS job_type
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status = 'dead' AND jobrunner_schema.job_runs.finished_at IS NOT NULL AND jobrunner_schema.job_runs.finished_at > (jobrunner_schema.jobrunner_now() + make_interval(secs => %(since)s::FLOAT)) ORDER BY jobrunner_schema.job_runs.finished_at DESC
 LIMIT %(most)s::INTEGER) AS found GROUP BY found.job_type ORDER BY count(*) DESC, found.job_type""",
        {},
        {},
        (('job_type', None), ('runs', None), ('id', None)),
    ),
    ('findings.due_types', ()): (
        """SELECT listed.job_type, listed.id, (SELECT jobrunner_schema.job_runs.run_at
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.id = listed.id) AS run_at, listed.runs
FROM (SELECT found.job_type AS job_type, found."both" / 1048576 AS id, found."both" %% 1048576 AS runs
FROM (SELECT jobrunner_schema.job_unpaused_types.job_type AS job_type, (SELECT walk.id * 1048576 + count(*) OVER () AS anon_1
FROM (SELECT jobrunner_schema.job_claimable.id AS id, jobrunner_schema.job_claimable.run_at AS run_at, jobrunner_schema.job_claimable.turn_at AS turn_at
FROM jobrunner_schema.job_claimable
WHERE jobrunner_schema.job_claimable.job_type = jobrunner_schema.job_unpaused_types.job_type ORDER BY jobrunner_schema.job_claimable.turn_at, jobrunner_schema.job_claimable.run_at, jobrunner_schema.job_claimable.id
 LIMIT %(most)s::INTEGER) AS walk ORDER BY walk.turn_at, walk.run_at, walk.id
 LIMIT %(param_1)s::INTEGER) AS "both"
FROM jobrunner_schema.job_unpaused_types
 LIMIT 10000) AS found) AS listed
WHERE listed.id IS NOT NULL""",
        {'param_1': 1},
        {},
        (('job_type', None), ('id', None), ('run_at', 'instant'), ('runs', None)),
    ),
    ('findings.expired_leases', ()): (
        """SELECT count(*) AS runs, min(jobrunner_schema.job_runs.id) AS id, min(jobrunner_schema.job_runs.locked_until) AS first_at
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status = 'running' AND jobrunner_schema.job_runs.locked_until < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(expired_before)s::FLOAT))""",
        {},
        {},
        (('runs', None), ('id', None), ('first_at', 'instant')),
    ),
    ('findings.hosts', ()): (
        """WITH RECURSIVE names(host) AS
(SELECT min(jobrunner_schema.job_ticks.host) AS host
FROM jobrunner_schema.job_ticks UNION ALL SELECT (SELECT min(jobrunner_schema.job_ticks.host) AS min_1
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.host > names.host) AS host
FROM names
WHERE names.host IS NOT NULL)
 SELECT names.host, (SELECT jobrunner_schema.job_ticks.started_at
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.id = (SELECT jobrunner_schema.job_ticks.id
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.host >= names.host AND jobrunner_schema.job_ticks.host <= names.host ORDER BY jobrunner_schema.job_ticks.host DESC, jobrunner_schema.job_ticks.id DESC
 LIMIT %(param_1)s::INTEGER)) AS started_at, (SELECT jobrunner_schema.job_ticks.finished_at
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.id = (SELECT jobrunner_schema.job_ticks.id
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.host >= names.host AND jobrunner_schema.job_ticks.host <= names.host ORDER BY jobrunner_schema.job_ticks.host DESC, jobrunner_schema.job_ticks.id DESC
 LIMIT %(param_1)s::INTEGER)) AS finished_at, (SELECT jobrunner_schema.job_ticks.error
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.id = (SELECT jobrunner_schema.job_ticks.id
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.host >= names.host AND jobrunner_schema.job_ticks.host <= names.host ORDER BY jobrunner_schema.job_ticks.host DESC, jobrunner_schema.job_ticks.id DESC
 LIMIT %(param_1)s::INTEGER)) AS error, (SELECT count(*) AS count_1
FROM (SELECT jobrunner_schema.job_ticks.id AS id
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.host >= names.host AND jobrunner_schema.job_ticks.host <= names.host ORDER BY jobrunner_schema.job_ticks.host DESC, jobrunner_schema.job_ticks.id DESC
 LIMIT %(param_2)s::INTEGER) AS of_host) AS ticks
FROM names
WHERE names.host IS NOT NULL ORDER BY names.host""",
        {'param_1': 1, 'param_2': 3},
        {},
        (('host', None), ('started_at', 'instant'), ('finished_at', 'instant'), ('error', None), ('ticks', None)),
    ),
    ('findings.killed_ticks', ()): (
        """SELECT jobrunner_schema.job_ticks.host, count(*) AS ticks, max(jobrunner_schema.job_ticks.started_at) AS last_at
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.started_at > (jobrunner_schema.jobrunner_now() + make_interval(secs => %(since)s::FLOAT)) AND jobrunner_schema.job_ticks.started_at < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(killed_before)s::FLOAT)) AND jobrunner_schema.job_ticks.finished_at IS NULL AND NOT (EXISTS (SELECT jobrunner_schema.job_runs.id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status = 'running' AND jobrunner_schema.job_runs.host = jobrunner_schema.job_ticks.host AND jobrunner_schema.job_runs.locked_by = jobrunner_schema.job_ticks.worker AND jobrunner_schema.job_runs.locked_until > jobrunner_schema.jobrunner_now())) GROUP BY jobrunner_schema.job_ticks.host ORDER BY jobrunner_schema.job_ticks.host""",
        {},
        {},
        (('host', None), ('ticks', None), ('last_at', 'instant')),
    ),
    ('findings.known_types', ()): (
        """SELECT jobrunner_schema.job_hosts.host, jobrunner_schema.job_hosts.types, jobrunner_schema.job_hosts.can_run, jobrunner_schema.job_hosts.settings
FROM jobrunner_schema.job_hosts ORDER BY jobrunner_schema.job_hosts.host, jobrunner_schema.job_hosts.reported_at""",
        {},
        {},
        (('host', None), ('types', None), ('can_run', 'json'), ('settings', 'json')),
    ),
    ('findings.old_limits', ()): (
        """SELECT jobrunner_schema.job_set_limits.job_type, jobrunner_schema.job_set_limits.max_running, jobrunner_schema.job_set_limits.rate, jobrunner_schema.job_set_limits.actor, jobrunner_schema.job_set_limits.reason, jobrunner_schema.job_set_limits.set_at
FROM jobrunner_schema.job_set_limits
WHERE jobrunner_schema.job_set_limits.ends_at IS NULL AND jobrunner_schema.job_set_limits.set_at < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(paused_before)s::FLOAT)) ORDER BY jobrunner_schema.job_set_limits.set_at
 LIMIT %(most)s::INTEGER""",
        {},
        {},
        (('job_type', None), ('max_running', None), ('rate', None), ('actor', None), ('reason', None), ('set_at', 'instant')),
    ),
    ('findings.old_pauses', ()): (
        """SELECT jobrunner_schema.job_pauses.kind, jobrunner_schema.job_pauses.name, jobrunner_schema.job_pauses.actor, jobrunner_schema.job_pauses.reason, jobrunner_schema.job_pauses.paused_at
FROM jobrunner_schema.job_pauses
WHERE jobrunner_schema.job_pauses.paused_at < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(paused_before)s::FLOAT)) ORDER BY jobrunner_schema.job_pauses.paused_at
 LIMIT %(most)s::INTEGER""",
        {},
        {},
        (('kind', None), ('name', None), ('actor', None), ('reason', None), ('paused_at', 'instant')),
    ),
    ('findings.owners', ()): (
        """SELECT jobrunner_schema.job_runs.host, jobrunner_schema.job_runs.locked_by, count(*) AS runs, min(jobrunner_schema.job_runs.id) AS id, max(jobrunner_schema.job_runs.heartbeat_at) AS renewed_at, max(jobrunner_schema.job_runs.locked_until) AS ends_at
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status = 'running' AND jobrunner_schema.job_runs.heartbeat_at IS NOT NULL GROUP BY jobrunner_schema.job_runs.host, jobrunner_schema.job_runs.locked_by ORDER BY jobrunner_schema.job_runs.host, jobrunner_schema.job_runs.locked_by""",
        {},
        {},
        (('host', None), ('locked_by', None), ('runs', None), ('id', None), ('renewed_at', 'instant'), ('ends_at', 'instant')),
    ),
    ('findings.uncertain_effects', ()): (
        """SELECT count(*) AS effects, min(found.intended_at) AS first_at
FROM (SELECT jobrunner_schema.job_effects.intended_at AS intended_at
FROM jobrunner_schema.job_effects
WHERE jobrunner_schema.job_effects.state != 'applied' AND NOT (jobrunner_schema.job_effects.state = 'intended' AND (EXISTS (SELECT jobrunner_schema.job_runs.id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.id = jobrunner_schema.job_effects.run_id AND jobrunner_schema.job_runs.lease_token = jobrunner_schema.job_effects.lease_token))) ORDER BY jobrunner_schema.job_effects.intended_at
 LIMIT %(most)s::INTEGER) AS found""",
        {},
        {},
        (('effects', None), ('first_at', 'instant')),
    ),
    ('findings.waiting_types', ()): (
        """SELECT jobrunner_schema.job_waiting_types.job_type
FROM jobrunner_schema.job_waiting_types""",
        {},
        {},
        (('job_type', None),),
    ),
    ('gates.delete', ()): (
        """DELETE FROM jobrunner_schema.job_gates WHERE (jobrunner_schema.job_gates.job_type, jobrunner_schema.job_gates.gate) IN (SELECT given.job_type, given.gate
FROM (SELECT job_type, gate FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), gate VARCHAR(600))) AS given)""",
        {},
        {'given': (('job_type', None), ('gate', None))},
        (),
    ),
    ('gates.enter', ()): (
        """INSERT INTO jobrunner_schema.job_gates (job_type, gate, turn_at) SELECT given.job_type, given.gate, given.turn_at
FROM (SELECT job_type, gate, turn_at FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), gate VARCHAR(600), turn_at TIMESTAMP WITH TIME ZONE)) AS given
WHERE true ORDER BY given.gate ON CONFLICT (job_type, gate) DO UPDATE SET turn_at = CASE WHEN (jobrunner_schema.job_gates.turn_at IS NULL OR excluded.turn_at < jobrunner_schema.job_gates.turn_at) THEN excluded.turn_at ELSE jobrunner_schema.job_gates.turn_at END""",
        {},
        {'given': (('job_type', None), ('gate', None), ('turn_at', 'instant'))},
        (),
    ),
    ('gates.first_turns', ()): (
        """SELECT jobrunner_schema.job_gates.job_type, min(jobrunner_schema.job_gates.turn_at) AS min_1
FROM (SELECT job_type FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200))) AS given JOIN jobrunner_schema.job_gates ON jobrunner_schema.job_gates.job_type = given.job_type
WHERE jobrunner_schema.job_gates.turn_at IS NOT NULL GROUP BY jobrunner_schema.job_gates.job_type""",
        {},
        {'given': (('job_type', None),)},
        (('job_type', None), ('min', 'instant')),
    ),
    ('gates.forget', ()): (
        """DELETE FROM jobrunner_schema.job_gates WHERE jobrunner_schema.job_gates.job_type = %(of_type)s::VARCHAR AND NOT (EXISTS (SELECT jobrunner_schema.job_runs.id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.job_type = jobrunner_schema.job_gates.job_type AND jobrunner_schema.job_runs.gate = jobrunner_schema.job_gates.gate AND jobrunner_schema.job_runs.status IN ('queued', 'failed')))""",
        {},
        {},
        (),
    ),
    ('gates.is_waited_for', ()): (
        """SELECT jobrunner_schema.job_gates.gate
FROM jobrunner_schema.job_gates
WHERE jobrunner_schema.job_gates.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gates.turn_at IS NOT NULL
 LIMIT %(param_1)s::INTEGER""",
        {'param_1': 1},
        {},
        (('gate', None),),
    ),
    ('gates.next_opening', ()): (
        """SELECT min(jobrunner_schema.job_gates.opens_at) AS opens_at, jobrunner_schema.jobrunner_now() AS now
FROM jobrunner_schema.job_gates
WHERE jobrunner_schema.job_gates.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gates.turn_at IS NOT NULL AND jobrunner_schema.job_gates.opens_at > jobrunner_schema.jobrunner_now()""",
        {},
        {},
        (('opens_at', 'instant'), ('now', 'instant')),
    ),
    ('gates.old', ()): (
        """SELECT jobrunner_schema.job_gates.job_type, jobrunner_schema.job_gates.gate
FROM jobrunner_schema.job_gates
WHERE jobrunner_schema.job_gates.turn_at IS NULL AND NOT (jobrunner_schema.job_gates.spent_until IS NOT NULL AND jobrunner_schema.job_gates.spent_until > jobrunner_schema.jobrunner_now())
 LIMIT %(limit)s::INTEGER FOR UPDATE SKIP LOCKED""",
        {},
        {},
        (('job_type', None), ('gate', None)),
    ),
    ('gates.reopen', ()): (
        """UPDATE jobrunner_schema.job_gates SET opens_at=NULL WHERE jobrunner_schema.job_gates.job_type = %(of_type)s::VARCHAR""",
        {},
        {},
        (),
    ),
    ('gates.settle', ()): (
        """UPDATE jobrunner_schema.job_gates SET turn_at=(SELECT jobrunner_schema.job_runs.turn_at
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.job_type = jobrunner_schema.job_gates.job_type AND jobrunner_schema.job_runs.gate = jobrunner_schema.job_gates.gate AND jobrunner_schema.job_runs.status IN ('queued', 'failed') ORDER BY jobrunner_schema.job_runs.turn_at, jobrunner_schema.job_runs.run_at, jobrunner_schema.job_runs.id
 LIMIT %(param_1)s::INTEGER), spent_until=coalesce(given.spent_until, jobrunner_schema.job_gates.spent_until), opens_at=coalesce(given.opens_at, jobrunner_schema.job_gates.opens_at) FROM (SELECT job_type, gate, spent_until, opens_at FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), gate VARCHAR(600), spent_until TIMESTAMP WITH TIME ZONE, opens_at TIMESTAMP WITH TIME ZONE)) AS given WHERE jobrunner_schema.job_gates.job_type = given.job_type AND jobrunner_schema.job_gates.gate = given.gate""",
        {'param_1': 1},
        {'given': (('job_type', None), ('gate', None), ('spent_until', 'instant'), ('opens_at', 'instant'))},
        (),
    ),
    ('holding.held', ()): (
        """SELECT jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.lease_token
FROM (SELECT id, lease_token FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT, lease_token VARCHAR(32))) AS given JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = given.id AND jobrunner_schema.job_runs.lease_token = given.lease_token""",
        {},
        {'given': (('id', None), ('lease_token', None))},
        (('id', None), ('lease_token', None)),
    ),
    ('holding.keep', ()): (
        """WITH held AS
(SELECT jobrunner_schema.job_runs.id AS id, given.checkpoint AS new_checkpoint
FROM (SELECT id, lease_token, CAST(checkpoint AS JSONB) AS checkpoint FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT, lease_token VARCHAR(32), checkpoint TEXT)) AS given JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = given.id AND jobrunner_schema.job_runs.lease_token = given.lease_token FOR NO KEY UPDATE OF job_runs SKIP LOCKED)
 UPDATE jobrunner_schema.job_runs SET checkpoint=held.new_checkpoint FROM held WHERE jobrunner_schema.job_runs.id = held.id AND jobrunner_schema.job_runs.lease_token IS NOT NULL RETURNING jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.lease_token""",
        {},
        {'given': (('id', None), ('lease_token', None), ('checkpoint', 'json'))},
        (('id', None), ('lease_token', None)),
    ),
    ('holding.renew', ()): (
        """WITH held AS
(SELECT jobrunner_schema.job_runs.id AS id
FROM (SELECT id, lease_token FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT, lease_token VARCHAR(32))) AS given JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = given.id AND jobrunner_schema.job_runs.lease_token = given.lease_token FOR NO KEY UPDATE OF job_runs SKIP LOCKED)
 UPDATE jobrunner_schema.job_runs SET locked_until=(jobrunner_schema.jobrunner_now() + make_interval(secs => %(lease_seconds)s::FLOAT)), heartbeat_at=jobrunner_schema.jobrunner_now() WHERE jobrunner_schema.job_runs.id IN (SELECT held.id
FROM held) AND jobrunner_schema.job_runs.lease_token IS NOT NULL RETURNING jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.lease_token, jobrunner_schema.job_runs.cancel_requested_at""",
        {},
        {'given': (('id', None), ('lease_token', None))},
        (('id', None), ('lease_token', None), ('cancel_requested_at', 'instant')),
    ),
    ('holding.report', (('progress', 'output'),)): (
        """WITH held AS
(SELECT jobrunner_schema.job_runs.id AS id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.id = %(run_id)s::BIGINT AND jobrunner_schema.job_runs.lease_token = %(token)s::VARCHAR FOR NO KEY UPDATE OF job_runs SKIP LOCKED)
 UPDATE jobrunner_schema.job_runs SET progress=%(new_progress)s::JSONB, output=%(new_output)s::VARCHAR WHERE jobrunner_schema.job_runs.id IN (SELECT held.id
FROM held) AND jobrunner_schema.job_runs.lease_token IS NOT NULL RETURNING jobrunner_schema.job_runs.id""",
        {},
        {'new_progress': 'json'},
        (('id', None),),
    ),
    ('holding.report', (('progress',),)): (
        """WITH held AS
(SELECT jobrunner_schema.job_runs.id AS id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.id = %(run_id)s::BIGINT AND jobrunner_schema.job_runs.lease_token = %(token)s::VARCHAR FOR NO KEY UPDATE OF job_runs SKIP LOCKED)
 UPDATE jobrunner_schema.job_runs SET progress=%(new_progress)s::JSONB WHERE jobrunner_schema.job_runs.id IN (SELECT held.id
FROM held) AND jobrunner_schema.job_runs.lease_token IS NOT NULL RETURNING jobrunner_schema.job_runs.id""",
        {},
        {'new_progress': 'json'},
        (('id', None),),
    ),
    ('holding.report', (('output',),)): (
        """WITH held AS
(SELECT jobrunner_schema.job_runs.id AS id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.id = %(run_id)s::BIGINT AND jobrunner_schema.job_runs.lease_token = %(token)s::VARCHAR FOR NO KEY UPDATE OF job_runs SKIP LOCKED)
 UPDATE jobrunner_schema.job_runs SET output=%(new_output)s::VARCHAR WHERE jobrunner_schema.job_runs.id IN (SELECT held.id
FROM held) AND jobrunner_schema.job_runs.lease_token IS NOT NULL RETURNING jobrunner_schema.job_runs.id""",
        {},
        {},
        (('id', None),),
    ),
    ('host_schedules.add', ()): (
        """INSERT INTO jobrunner_schema.job_definitions (job_type, payload, schedule, timezone, application, description, misfire, misfire_window, misfire_most, overlap, start_deadline, jitter, ends_at, max_runs, paused_at, "on", name, host, template, source, last_slot_at, created_at, updated_at) SELECT jobrunner_schema.job_definitions.job_type, jobrunner_schema.job_definitions.payload, jobrunner_schema.job_definitions.schedule, jobrunner_schema.job_definitions.timezone, jobrunner_schema.job_definitions.application, jobrunner_schema.job_definitions.description, jobrunner_schema.job_definitions.misfire, jobrunner_schema.job_definitions.misfire_window, jobrunner_schema.job_definitions.misfire_most, jobrunner_schema.job_definitions.overlap, jobrunner_schema.job_definitions.start_deadline, jobrunner_schema.job_definitions.jitter, jobrunner_schema.job_definitions.ends_at, jobrunner_schema.job_definitions.max_runs, jobrunner_schema.job_definitions.paused_at, jobrunner_schema.job_definitions."on", given.name, given.host, given.template, 'host', jobrunner_schema.jobrunner_now() AS anon_1, jobrunner_schema.jobrunner_now() AS anon_2, jobrunner_schema.jobrunner_now() AS anon_3
FROM (SELECT template, host, name FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(template VARCHAR(200), host VARCHAR(255), name VARCHAR(200))) AS given JOIN jobrunner_schema.job_definitions ON jobrunner_schema.job_definitions.name = given.template
WHERE jobrunner_schema.job_definitions."on" = 'every-host' ON CONFLICT (name) DO UPDATE SET job_type = excluded.job_type, payload = excluded.payload, schedule = excluded.schedule, timezone = excluded.timezone, application = excluded.application, description = excluded.description, misfire = excluded.misfire, misfire_window = excluded.misfire_window, misfire_most = excluded.misfire_most, overlap = excluded.overlap, start_deadline = excluded.start_deadline, jitter = excluded.jitter, ends_at = excluded.ends_at, max_runs = excluded.max_runs, last_slot_at = CASE WHEN (jobrunner_schema.job_definitions.last_slot_at > excluded.last_slot_at) THEN jobrunner_schema.job_definitions.last_slot_at ELSE excluded.last_slot_at END, next_run_at = NULL, paused_at = excluded.paused_at, removed_at = NULL, last_error = NULL, updated_at = excluded.updated_at, "on" = excluded."on" WHERE jobrunner_schema.job_definitions.host = excluded.host AND jobrunner_schema.job_definitions.template = excluded.template RETURNING jobrunner_schema.job_definitions.id, jobrunner_schema.job_definitions.name""",
        {},
        {'given': (('template', None), ('host', None), ('name', None))},
        (('id', None), ('name', None)),
    ),
    ('host_schedules.end_gone', ()): (
        """UPDATE jobrunner_schema.job_definitions SET removed_at=jobrunner_schema.jobrunner_now(), updated_at=jobrunner_schema.jobrunner_now() WHERE jobrunner_schema.job_definitions.host IS NOT NULL AND jobrunner_schema.job_definitions.removed_at IS NULL AND NOT ((EXISTS (SELECT jobrunner_schema.job_hosts.host
FROM jobrunner_schema.job_hosts
WHERE jobrunner_schema.job_hosts.host = jobrunner_schema.job_definitions.host)) OR (SELECT jobrunner_schema.job_ticks.id
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.host >= jobrunner_schema.job_definitions.host AND jobrunner_schema.job_ticks.host <= jobrunner_schema.job_definitions.host ORDER BY jobrunner_schema.job_ticks.host DESC, jobrunner_schema.job_ticks.id DESC
 LIMIT 1) IS NOT NULL) AND jobrunner_schema.job_definitions.updated_at < (jobrunner_schema.jobrunner_now() + make_interval(secs => -2592000.0)) RETURNING jobrunner_schema.job_definitions.id, jobrunner_schema.job_definitions.name""",
        {},
        {},
        (('id', None), ('name', None)),
    ),
    ('host_schedules.hosts', ()): (
        """SELECT jobrunner_schema.job_hosts.host, jobrunner_schema.job_hosts.can_run, jobrunner_schema.job_ticks.started_at AS seen_at
FROM jobrunner_schema.job_hosts JOIN jobrunner_schema.job_ticks ON jobrunner_schema.job_ticks.id = (SELECT jobrunner_schema.job_ticks.id
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.host >= jobrunner_schema.job_hosts.host AND jobrunner_schema.job_ticks.host <= jobrunner_schema.job_hosts.host ORDER BY jobrunner_schema.job_ticks.host DESC, jobrunner_schema.job_ticks.id DESC
 LIMIT 1)
WHERE jobrunner_schema.job_ticks.started_at > (jobrunner_schema.jobrunner_now() + make_interval(secs => %(since)s::FLOAT)) ORDER BY jobrunner_schema.job_hosts.host""",
        {},
        {},
        (('host', None), ('can_run', 'json'), ('seen_at', 'instant')),
    ),
    ('host_schedules.of_hosts', ()): (
        """SELECT jobrunner_schema.job_definitions.template, jobrunner_schema.job_definitions.host, jobrunner_schema.job_definitions.removed_at
FROM jobrunner_schema.job_definitions
WHERE jobrunner_schema.job_definitions.host IS NOT NULL""",
        {},
        {},
        (('template', None), ('host', None), ('removed_at', 'instant')),
    ),
    ('host_schedules.templates', ()): (
        """SELECT jobrunner_schema.job_definitions.id, jobrunner_schema.job_definitions.name, jobrunner_schema.job_definitions.job_type, jobrunner_schema.job_definitions.last_error, jobrunner_schema.jobrunner_now() AS now
FROM jobrunner_schema.job_definitions
WHERE jobrunner_schema.job_definitions."on" = 'every-host' AND jobrunner_schema.job_definitions.host IS NULL AND jobrunner_schema.job_definitions.removed_at IS NULL AND jobrunner_schema.job_definitions.schedule IS NOT NULL ORDER BY jobrunner_schema.job_definitions.name""",
        {},
        {},
        (('id', None), ('name', None), ('job_type', None), ('last_error', None), ('now', 'instant')),
    ),
    ('hosts.forget', ()): (
        """DELETE FROM jobrunner_schema.job_hosts WHERE jobrunner_schema.job_hosts.reported_at <= (jobrunner_schema.jobrunner_now() + make_interval(secs => %(before)s::FLOAT)) OR jobrunner_schema.job_hosts.reported_at > (jobrunner_schema.jobrunner_now() + make_interval(secs => %(after)s::FLOAT))""",
        {'before': -2592000.0, 'after': 2592000.0},
        {},
        (),
    ),
    ('hosts.reported', ()): (
        """SELECT jobrunner_schema.job_hosts.host, jobrunner_schema.job_hosts.can_run
FROM jobrunner_schema.job_hosts
WHERE jobrunner_schema.job_hosts.host IN (SELECT given.host
FROM (SELECT host FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(host VARCHAR(255))) AS given) ORDER BY jobrunner_schema.job_hosts.reported_at, jobrunner_schema.job_hosts.id""",
        {},
        {'given': (('host', None),)},
        (('host', None), ('can_run', 'json')),
    ),
    ('hosts.write', ()): (
        """INSERT INTO jobrunner_schema.job_hosts (id, host, application, types, digest, can_run, settings, database, boot, last_boot, reported_at) VALUES (%(host_id)s::VARCHAR, %(its_host)s::VARCHAR, %(its_application)s::VARCHAR, %(its_types)s::VARCHAR, %(its_digest)s::VARCHAR, %(its_can_run)s::JSONB, %(its_settings)s::JSONB, %(its_database)s::VARCHAR, %(its_boot)s::VARCHAR, %(its_boot)s::VARCHAR, jobrunner_schema.jobrunner_now()) ON CONFLICT (id) DO UPDATE SET host = excluded.host, application = excluded.application, types = excluded.types, digest = excluded.digest, can_run = excluded.can_run, settings = excluded.settings, database = excluded.database, boot = excluded.boot, last_boot = CASE WHEN (excluded.boot = jobrunner_schema.job_hosts.boot) THEN jobrunner_schema.job_hosts.last_boot ELSE jobrunner_schema.job_hosts.boot END, is_twin_at = CASE WHEN (excluded.boot != jobrunner_schema.job_hosts.boot AND excluded.boot = jobrunner_schema.job_hosts.last_boot) THEN jobrunner_schema.jobrunner_now() ELSE jobrunner_schema.job_hosts.is_twin_at END, reported_at = jobrunner_schema.jobrunner_now()""",
        {},
        {'its_can_run': 'json', 'its_settings': 'json'},
        (),
    ),
    ('keys.holder', ()): (
        """SELECT jobrunner_schema.job_keys.idempotency_key, jobrunner_schema.job_keys.job_type, jobrunner_schema.job_keys.run_id, jobrunner_schema.job_runs.status, CASE WHEN (jobrunner_schema.job_keys.run_id IS NULL) THEN false WHEN (jobrunner_schema.job_types.key_scope = %(key_scope_1)s::VARCHAR) THEN jobrunner_schema.job_runs.status IS NOT NULL AND status IN ('queued', 'failed', 'running') WHEN (jobrunner_schema.job_types.key_scope = %(key_scope_2)s::VARCHAR) THEN jobrunner_schema.job_keys.created_at > (jobrunner_schema.jobrunner_now() + make_interval(secs => -jobrunner_schema.job_types.key_window)) ELSE true END AS is_held, coalesce(jobrunner_schema.job_types.key_scope, 'forever') AS key_scope, jobrunner_schema.job_types.key_window, jobrunner_schema.job_types.max_waiting
FROM jobrunner_schema.job_keys LEFT OUTER JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = jobrunner_schema.job_keys.run_id LEFT OUTER JOIN jobrunner_schema.job_types ON jobrunner_schema.job_types.job_type = jobrunner_schema.job_keys.job_type
WHERE jobrunner_schema.job_keys.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_keys.idempotency_key = %(key)s::VARCHAR""",
        {'key_scope_1': 'active', 'key_scope_2': 'window'},
        {},
        (('idempotency_key', None), ('job_type', None), ('run_id', None), ('status', None), ('is_held', 'boolean'), ('key_scope', None), ('key_window', None), ('max_waiting', None)),
    ),
    ('keys.holders', ()): (
        """SELECT jobrunner_schema.job_keys.idempotency_key, jobrunner_schema.job_keys.job_type, jobrunner_schema.job_keys.run_id, jobrunner_schema.job_runs.status, CASE WHEN (jobrunner_schema.job_keys.run_id IS NULL) THEN false WHEN (jobrunner_schema.job_types.key_scope = %(key_scope_1)s::VARCHAR) THEN jobrunner_schema.job_runs.status IS NOT NULL AND status IN ('queued', 'failed', 'running') WHEN (jobrunner_schema.job_types.key_scope = %(key_scope_2)s::VARCHAR) THEN jobrunner_schema.job_keys.created_at > (jobrunner_schema.jobrunner_now() + make_interval(secs => -jobrunner_schema.job_types.key_window)) ELSE true END AS is_held, coalesce(jobrunner_schema.job_types.key_scope, 'forever') AS key_scope, jobrunner_schema.job_types.key_window, jobrunner_schema.job_types.max_waiting
FROM jobrunner_schema.job_keys LEFT OUTER JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = jobrunner_schema.job_keys.run_id LEFT OUTER JOIN jobrunner_schema.job_types ON jobrunner_schema.job_types.job_type = jobrunner_schema.job_keys.job_type, (SELECT job_type, idempotency_key FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), idempotency_key VARCHAR(500))) AS given
WHERE jobrunner_schema.job_keys.job_type = given.job_type AND jobrunner_schema.job_keys.idempotency_key = given.idempotency_key""",
        {'key_scope_1': 'active', 'key_scope_2': 'window'},
        {'given': (('job_type', None), ('idempotency_key', None))},
        (('idempotency_key', None), ('job_type', None), ('run_id', None), ('status', None), ('is_held', 'boolean'), ('key_scope', None), ('key_window', None), ('max_waiting', None)),
    ),
    ('keys.lock_free', ()): (
        """WITH ended AS
(SELECT jobrunner_schema.job_runs.id AS id
FROM jobrunner_schema.job_runs JOIN (SELECT job_type, idempotency_key, run_id, must_end FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), idempotency_key VARCHAR(500), run_id BIGINT, must_end INTEGER)) AS given ON given.must_end = %(must_end_2)s::INTEGER AND jobrunner_schema.job_runs.id = given.run_id
WHERE jobrunner_schema.job_runs.status IN ('succeeded', 'dead', 'cancelled') ORDER BY jobrunner_schema.job_runs.id FOR SHARE OF job_runs)
 SELECT jobrunner_schema.job_keys.idempotency_key
FROM jobrunner_schema.job_keys JOIN (SELECT job_type, idempotency_key, run_id, must_end FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), idempotency_key VARCHAR(500), run_id BIGINT, must_end INTEGER)) AS given ON jobrunner_schema.job_keys.job_type = given.job_type AND jobrunner_schema.job_keys.idempotency_key = given.idempotency_key AND jobrunner_schema.job_keys.run_id IS NOT DISTINCT FROM given.run_id
WHERE given.must_end = %(must_end_1)s::INTEGER OR (EXISTS (SELECT *
FROM ended
WHERE ended.id = jobrunner_schema.job_keys.run_id)) ORDER BY jobrunner_schema.job_keys.job_type, jobrunner_schema.job_keys.idempotency_key FOR UPDATE OF job_keys""",
        {'must_end_1': 0, 'must_end_2': 1},
        {'given': (('job_type', None), ('idempotency_key', None), ('run_id', None), ('must_end', None))},
        (('idempotency_key', None),),
    ),
    ('keys.release_keys', ()): (
        """DELETE FROM jobrunner_schema.job_keys WHERE jobrunner_schema.job_keys.run_id IS NULL AND (jobrunner_schema.job_keys.job_type, jobrunner_schema.job_keys.idempotency_key) IN (SELECT given.job_type, given.idempotency_key
FROM (SELECT job_type, idempotency_key FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), idempotency_key VARCHAR(500))) AS given)""",
        {},
        {'given': (('job_type', None), ('idempotency_key', None))},
        (),
    ),
    ('keys.set_run_of_key', ()): (
        """UPDATE jobrunner_schema.job_keys SET run_id=%(run_id_of_key)s::BIGINT, created_at=jobrunner_schema.jobrunner_now() WHERE jobrunner_schema.job_keys.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_keys.idempotency_key = %(key)s::VARCHAR RETURNING jobrunner_schema.job_keys.run_id""",
        {},
        {},
        (('run_id', None),),
    ),
    ('keys.set_runs_of_keys', ()): (
        """UPDATE jobrunner_schema.job_keys SET run_id=given.run_id, created_at=jobrunner_schema.jobrunner_now() FROM (SELECT job_type, idempotency_key, run_id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), idempotency_key VARCHAR(500), run_id BIGINT)) AS given WHERE jobrunner_schema.job_keys.job_type = given.job_type AND jobrunner_schema.job_keys.idempotency_key = given.idempotency_key""",
        {},
        {'given': (('job_type', None), ('idempotency_key', None), ('run_id', None))},
        (),
    ),
    ('keys.take_key', ('any',)): (
        """INSERT INTO jobrunner_schema.job_keys (job_type, idempotency_key, created_at) SELECT %(of_type)s::VARCHAR AS anon_1, %(key)s::VARCHAR AS anon_2, jobrunner_schema.jobrunner_now() AS anon_3
WHERE NOT (EXISTS (SELECT *
FROM jobrunner_schema.job_types
WHERE jobrunner_schema.job_types.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_types.max_waiting IS NOT NULL)) ON CONFLICT DO NOTHING RETURNING jobrunner_schema.job_keys.job_type""",
        {},
        {},
        (('job_type', None),),
    ),
    ('keys.take_key', ('forever',)): (
        """INSERT INTO jobrunner_schema.job_keys (job_type, idempotency_key, created_at) SELECT %(of_type)s::VARCHAR AS anon_1, %(key)s::VARCHAR AS anon_2, jobrunner_schema.jobrunner_now() AS anon_3
WHERE NOT (EXISTS (SELECT *
FROM jobrunner_schema.job_types
WHERE jobrunner_schema.job_types.job_type = %(of_type)s::VARCHAR AND (jobrunner_schema.job_types.max_waiting IS NOT NULL OR jobrunner_schema.job_types.key_scope != %(key_scope_1)s::VARCHAR))) ON CONFLICT DO NOTHING RETURNING jobrunner_schema.job_keys.job_type""",
        {'key_scope_1': 'forever'},
        {},
        (('job_type', None),),
    ),
    ('keys.take_key', ('other',)): (
        """INSERT INTO jobrunner_schema.job_keys (job_type, idempotency_key, created_at) SELECT %(of_type)s::VARCHAR AS anon_1, %(key)s::VARCHAR AS anon_2, jobrunner_schema.jobrunner_now() AS anon_3
WHERE EXISTS (SELECT *
FROM jobrunner_schema.job_types
WHERE jobrunner_schema.job_types.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_types.max_waiting IS NULL AND jobrunner_schema.job_types.key_scope = %(scope)s::VARCHAR AND jobrunner_schema.job_types.key_window IS NOT DISTINCT FROM %(window)s::FLOAT(53)) ON CONFLICT DO NOTHING RETURNING jobrunner_schema.job_keys.job_type""",
        {},
        {},
        (('job_type', None),),
    ),
    ('keys.take_keys', ()): (
        """INSERT INTO jobrunner_schema.job_keys (job_type, idempotency_key, created_at) SELECT given.job_type, given.idempotency_key, jobrunner_schema.jobrunner_now() AS anon_1
FROM (SELECT job_type, idempotency_key FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), idempotency_key VARCHAR(500))) AS given
WHERE true ON CONFLICT DO NOTHING RETURNING jobrunner_schema.job_keys.idempotency_key""",
        {},
        {'given': (('job_type', None), ('idempotency_key', None))},
        (('idempotency_key', None),),
    ),
    ('lateness.behind_gates', ()): (
        """WITH found AS
(SELECT (SELECT jobrunner_schema.job_runs.id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status IN ('queued', 'failed') AND jobrunner_schema.job_runs.job_type = waited.job_type AND jobrunner_schema.job_runs.gate = waited.gate ORDER BY jobrunner_schema.job_runs.turn_at, jobrunner_schema.job_runs.run_at, jobrunner_schema.job_runs.id
 LIMIT 1) AS id
FROM (SELECT jobrunner_schema.job_gates.job_type AS job_type, jobrunner_schema.job_gates.gate AS gate
FROM jobrunner_schema.job_gates
WHERE jobrunner_schema.job_gates.turn_at < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(since)s::FLOAT)) ORDER BY jobrunner_schema.job_gates.turn_at
 LIMIT %(limit)s::INTEGER) AS waited)
 SELECT jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.definition_id, jobrunner_schema.job_runs.run_at AS due_at, jobrunner_schema.jobrunner_now() AS now
FROM found JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = found.id
WHERE jobrunner_schema.job_runs.run_at < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(since)s::FLOAT)) AND (job_type NOT IN (SELECT name FROM jobrunner_schema.job_pauses WHERE kind = 'type')) AND (NOT EXISTS (SELECT kind FROM jobrunner_schema.job_pauses WHERE kind = 'all'))""",
        {},
        {},
        (('id', None), ('job_type', None), ('definition_id', None), ('due_at', 'instant'), ('now', 'instant')),
    ),
    ('lateness.count', ()): (
        """SELECT count(*) AS count_1
FROM (SELECT jobrunner_schema.job_runs.id AS id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status IN ('queued', 'failed') AND jobrunner_schema.job_runs.job_type = %(job_type)s::VARCHAR AND jobrunner_schema.job_runs.run_at < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(since)s::FLOAT))
 LIMIT %(limit)s::INTEGER) AS anon_1""",
        {},
        {},
        (('count', None),),
    ),
    ('lateness.of_schedules', ()): (
        """WITH found AS
(SELECT (SELECT jobrunner_schema.job_runs.id
FROM jobrunner_schema.job_runs
WHERE status IN ('queued', 'failed', 'running') AND jobrunner_schema.job_runs.definition_id IS NOT NULL AND jobrunner_schema.job_runs.definition_id = schedules.id ORDER BY jobrunner_schema.job_runs.id
 LIMIT 1) AS id
FROM jobrunner_schema.job_definitions AS schedules)
 SELECT jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.definition_id, jobrunner_schema.job_runs.run_at AS due_at, jobrunner_schema.jobrunner_now() AS now
FROM found JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = found.id
WHERE jobrunner_schema.job_runs.run_at < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(since)s::FLOAT)) AND (job_type NOT IN (SELECT name FROM jobrunner_schema.job_pauses WHERE kind = 'type')) AND (NOT EXISTS (SELECT kind FROM jobrunner_schema.job_pauses WHERE kind = 'all')) AND jobrunner_schema.job_runs.lease_token IS NULL""",
        {},
        {},
        (('id', None), ('job_type', None), ('definition_id', None), ('due_at', 'instant'), ('now', 'instant')),
    ),
    ('lateness.of_types', ()): (
        """WITH found AS
(SELECT (SELECT jobrunner_schema.job_runs.id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status IN ('queued', 'failed') AND jobrunner_schema.job_runs.job_type = jobrunner_schema.job_waiting_types.job_type AND jobrunner_schema.job_runs.gate = '' ORDER BY jobrunner_schema.job_runs.turn_at, jobrunner_schema.job_runs.run_at, jobrunner_schema.job_runs.id
 LIMIT 1) AS id
FROM jobrunner_schema.job_waiting_types)
 SELECT jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.definition_id, jobrunner_schema.job_runs.run_at AS due_at, jobrunner_schema.jobrunner_now() AS now
FROM found JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = found.id
WHERE jobrunner_schema.job_runs.run_at < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(since)s::FLOAT)) AND (job_type NOT IN (SELECT name FROM jobrunner_schema.job_pauses WHERE kind = 'type')) AND (NOT EXISTS (SELECT kind FROM jobrunner_schema.job_pauses WHERE kind = 'all'))""",
        {},
        {},
        (('id', None), ('job_type', None), ('definition_id', None), ('due_at', 'instant'), ('now', 'instant')),
    ),
    ('lateness.slots', ()): (
        """SELECT jobrunner_schema.job_definitions.job_type, jobrunner_schema.job_definitions.name, jobrunner_schema.job_definitions.next_run_at AS due_at, jobrunner_schema.jobrunner_now() AS now
FROM jobrunner_schema.job_definitions
WHERE jobrunner_schema.job_definitions.next_run_at < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(since)s::FLOAT)) AND (schedule IS NOT NULL) AND (removed_at IS NULL) AND (paused_at IS NULL) AND ((next_run_at IS NULL OR next_run_at <= jobrunner_schema.jobrunner_now())) AND ("on" = 'any-host')
 LIMIT %(limit)s::INTEGER""",
        {},
        {},
        (('job_type', None), ('name', None), ('due_at', 'instant'), ('now', 'instant')),
    ),
    ('lateness.stray', ()): (
        """WITH found AS
(SELECT (SELECT jobrunner_schema.job_runs.id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status IN ('queued', 'failed') AND jobrunner_schema.job_runs.job_type = waited.job_type AND jobrunner_schema.job_runs.gate = waited.gate ORDER BY jobrunner_schema.job_runs.turn_at, jobrunner_schema.job_runs.run_at, jobrunner_schema.job_runs.id
 LIMIT 1) AS id
FROM (SELECT jobrunner_schema.job_stray_gates.job_type AS job_type, jobrunner_schema.job_stray_gates.gate AS gate
FROM jobrunner_schema.job_stray_gates
 LIMIT %(limit)s::INTEGER) AS waited)
 SELECT jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.definition_id, jobrunner_schema.job_runs.run_at AS due_at, jobrunner_schema.jobrunner_now() AS now
FROM found JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = found.id
WHERE jobrunner_schema.job_runs.run_at < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(since)s::FLOAT)) AND (job_type NOT IN (SELECT name FROM jobrunner_schema.job_pauses WHERE kind = 'type')) AND (NOT EXISTS (SELECT kind FROM jobrunner_schema.job_pauses WHERE kind = 'all'))""",
        {},
        {},
        (('id', None), ('job_type', None), ('definition_id', None), ('due_at', 'instant'), ('now', 'instant')),
    ),
    ('limits.admit', (0,)): (
        """WITH picked AS
(SELECT jobrunner_schema.job_claimable.id AS id
FROM jobrunner_schema.job_claimable
WHERE jobrunner_schema.job_claimable.job_type = %(of_type)s::VARCHAR ORDER BY jobrunner_schema.job_claimable.turn_at, jobrunner_schema.job_claimable.run_at, jobrunner_schema.job_claimable.id
 LIMIT %(limit)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED)
 UPDATE jobrunner_schema.job_runs SET gate='all' WHERE jobrunner_schema.job_runs.id IN (SELECT picked.id
FROM picked) AND jobrunner_schema.job_runs.status != 'running' RETURNING jobrunner_schema.job_runs.gate, jobrunner_schema.job_runs.turn_at""",
        {},
        {},
        (('gate', None), ('turn_at', 'instant')),
    ),
    ('limits.admit', (1,)): (
        """WITH picked AS
(SELECT jobrunner_schema.job_claimable.id AS id
FROM jobrunner_schema.job_claimable
WHERE jobrunner_schema.job_claimable.job_type = %(of_type)s::VARCHAR ORDER BY jobrunner_schema.job_claimable.turn_at, jobrunner_schema.job_claimable.run_at, jobrunner_schema.job_claimable.id
 LIMIT %(limit)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED)
 UPDATE jobrunner_schema.job_runs SET gate=(%(key)s::VARCHAR || ' ' || substr(CAST(jsonb_build_array(jobrunner_schema.job_runs.payload -> CAST(%(name_0)s::VARCHAR AS TEXT)) AS TEXT), 1, 200)) WHERE jobrunner_schema.job_runs.id IN (SELECT picked.id
FROM picked) AND jobrunner_schema.job_runs.status != 'running' RETURNING jobrunner_schema.job_runs.gate, jobrunner_schema.job_runs.turn_at""",
        {},
        {},
        (('gate', None), ('turn_at', 'instant')),
    ),
    ('limits.admit', (2,)): (
        """WITH picked AS
(SELECT jobrunner_schema.job_claimable.id AS id
FROM jobrunner_schema.job_claimable
WHERE jobrunner_schema.job_claimable.job_type = %(of_type)s::VARCHAR ORDER BY jobrunner_schema.job_claimable.turn_at, jobrunner_schema.job_claimable.run_at, jobrunner_schema.job_claimable.id
 LIMIT %(limit)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED)
 UPDATE jobrunner_schema.job_runs SET gate=(%(key)s::VARCHAR || ' ' || substr(CAST(jsonb_build_array(jobrunner_schema.job_runs.payload -> CAST(%(name_0)s::VARCHAR AS TEXT), jobrunner_schema.job_runs.payload -> CAST(%(name_1)s::VARCHAR AS TEXT)) AS TEXT), 1, 200)) WHERE jobrunner_schema.job_runs.id IN (SELECT picked.id
FROM picked) AND jobrunner_schema.job_runs.status != 'running' RETURNING jobrunner_schema.job_runs.gate, jobrunner_schema.job_runs.turn_at""",
        {},
        {},
        (('gate', None), ('turn_at', 'instant')),
    ),
    ('limits.admit', (3,)): (
        """WITH picked AS
(SELECT jobrunner_schema.job_claimable.id AS id
FROM jobrunner_schema.job_claimable
WHERE jobrunner_schema.job_claimable.job_type = %(of_type)s::VARCHAR ORDER BY jobrunner_schema.job_claimable.turn_at, jobrunner_schema.job_claimable.run_at, jobrunner_schema.job_claimable.id
 LIMIT %(limit)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED)
 UPDATE jobrunner_schema.job_runs SET gate=(%(key)s::VARCHAR || ' ' || substr(CAST(jsonb_build_array(jobrunner_schema.job_runs.payload -> CAST(%(name_0)s::VARCHAR AS TEXT), jobrunner_schema.job_runs.payload -> CAST(%(name_1)s::VARCHAR AS TEXT), jobrunner_schema.job_runs.payload -> CAST(%(name_2)s::VARCHAR AS TEXT)) AS TEXT), 1, 200)) WHERE jobrunner_schema.job_runs.id IN (SELECT picked.id
FROM picked) AND jobrunner_schema.job_runs.status != 'running' RETURNING jobrunner_schema.job_runs.gate, jobrunner_schema.job_runs.turn_at""",
        {},
        {},
        (('gate', None), ('turn_at', 'instant')),
    ),
    ('limits.all_at_work', ()): (
        """SELECT jobrunner_schema.job_runs.job_type, count(*) AS count_1
FROM (SELECT job_type FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200))) AS given JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.job_type = given.job_type
WHERE jobrunner_schema.job_runs.status = 'running' GROUP BY jobrunner_schema.job_runs.job_type""",
        {},
        {'given': (('job_type', None),)},
        (('job_type', None), ('count', None)),
    ),
    ('limits.at_work', ()): (
        """SELECT jobrunner_schema.job_runs.job_type, count(*) AS count_1
FROM (SELECT job_type FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200))) AS given JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.job_type = given.job_type
WHERE jobrunner_schema.job_runs.lease_token IS NOT NULL AND jobrunner_schema.job_runs.gate != '' GROUP BY jobrunner_schema.job_runs.job_type""",
        {},
        {'given': (('job_type', None),)},
        (('job_type', None), ('count', None)),
    ),
    ('limits.behind_open_gate', ()): (
        """SELECT jobrunner_schema.job_gated.id
FROM jobrunner_schema.job_gated
WHERE jobrunner_schema.job_gated.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gated.gate = 'all' AND (EXISTS (SELECT jobrunner_schema.job_open_gates.gate
FROM jobrunner_schema.job_open_gates
WHERE jobrunner_schema.job_open_gates.job_type = %(of_type)s::VARCHAR)) ORDER BY jobrunner_schema.job_gated.turn_at, jobrunner_schema.job_gated.run_at, jobrunner_schema.job_gated.id
 LIMIT %(limit)s::INTEGER""",
        {},
        {},
        (('id', None),),
    ),
    ('limits.declare', ()): (
        """INSERT INTO jobrunner_schema.job_limits (job_type, max_running, rate, burst, concurrency_key, max_running_per_key, rate_per_key, burst_per_key) VALUES (%(of_type)s::VARCHAR, %(new_max_running)s::INTEGER, %(new_rate)s::VARCHAR, %(new_burst)s::INTEGER, %(new_concurrency_key)s::VARCHAR, %(new_max_running_per_key)s::INTEGER, %(new_rate_per_key)s::VARCHAR, %(new_burst_per_key)s::INTEGER) ON CONFLICT (job_type) DO UPDATE SET max_running = %(new_max_running)s::INTEGER, rate = %(new_rate)s::VARCHAR, burst = %(new_burst)s::INTEGER, concurrency_key = %(new_concurrency_key)s::VARCHAR, max_running_per_key = %(new_max_running_per_key)s::INTEGER, rate_per_key = %(new_rate_per_key)s::VARCHAR, burst_per_key = %(new_burst_per_key)s::INTEGER, opens_at = NULL, asked_at = NULL RETURNING (SELECT CASE WHEN (jobrunner_schema.job_set_limits.ends_at IS NULL OR jobrunner_schema.job_set_limits.ends_at > jobrunner_schema.jobrunner_now()) THEN %(param_1)s::INTEGER ELSE %(param_2)s::INTEGER END AS anon_1
FROM jobrunner_schema.job_set_limits
WHERE jobrunner_schema.job_set_limits.job_type = %(of_type)s::VARCHAR) AS has_ended""",
        {'param_1': 0, 'param_2': 1},
        {},
        (('has_ended', None),),
    ),
    ('limits.declared', ()): (
        """SELECT jobrunner_schema.job_limits.job_type, jobrunner_schema.job_limits.max_running, jobrunner_schema.job_limits.rate, jobrunner_schema.job_limits.burst, jobrunner_schema.job_limits.concurrency_key, jobrunner_schema.job_limits.max_running_per_key, jobrunner_schema.job_limits.rate_per_key, jobrunner_schema.job_limits.burst_per_key, NULL AS has_ended
FROM jobrunner_schema.job_limits UNION ALL SELECT jobrunner_schema.job_set_limits.job_type, NULL AS max_running, NULL AS rate, NULL AS burst, NULL AS concurrency_key, NULL AS max_running_per_key, NULL AS rate_per_key, NULL AS burst_per_key, CASE WHEN (jobrunner_schema.job_set_limits.ends_at IS NULL OR jobrunner_schema.job_set_limits.ends_at > jobrunner_schema.jobrunner_now()) THEN %(param_1)s::INTEGER ELSE %(param_2)s::INTEGER END AS anon_1
FROM jobrunner_schema.job_set_limits""",
        {'param_1': 0, 'param_2': 1},
        {},
        (('job_type', None), ('max_running', None), ('rate', None), ('burst', None), ('concurrency_key', None), ('max_running_per_key', None), ('rate_per_key', None), ('burst_per_key', None), ('has_ended', None)),
    ),
    ('limits.first_run_of_each', (False,)): (
        """SELECT jobrunner_schema.job_gates.gate, jobrunner_schema.job_gates.spent_until, (SELECT count(*) AS count_1
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.gate = jobrunner_schema.job_gates.gate AND jobrunner_schema.job_runs.lease_token IS NOT NULL AND jobrunner_schema.job_runs.gate != '' AND jobrunner_schema.job_runs.job_type = jobrunner_schema.job_gates.job_type) AS at_work, (SELECT jobrunner_schema.job_gated.id
FROM jobrunner_schema.job_gated
WHERE jobrunner_schema.job_gated.job_type = jobrunner_schema.job_gates.job_type AND jobrunner_schema.job_gated.gate = jobrunner_schema.job_gates.gate AND jobrunner_schema.job_gated.lease_expiries < 2 ORDER BY jobrunner_schema.job_gated.turn_at, jobrunner_schema.job_gated.run_at, jobrunner_schema.job_gated.id
 LIMIT %(param_1)s::INTEGER) AS run_id
FROM jobrunner_schema.job_gates
WHERE jobrunner_schema.job_gates.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gates.turn_at IS NOT NULL AND substr(jobrunner_schema.job_gates.gate, %(substr_1)s::INTEGER, length(%(prefix)s::VARCHAR)) = %(prefix)s::VARCHAR AND (jobrunner_schema.job_gates.opens_at IS NULL OR jobrunner_schema.job_gates.opens_at <= jobrunner_schema.jobrunner_now() OR jobrunner_schema.job_gates.opens_at > (jobrunner_schema.jobrunner_now() + make_interval(secs => %(longest)s::FLOAT))) AND (SELECT count(*) AS count_1
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.gate = jobrunner_schema.job_gates.gate AND jobrunner_schema.job_runs.lease_token IS NOT NULL AND jobrunner_schema.job_runs.gate != '' AND jobrunner_schema.job_runs.job_type = jobrunner_schema.job_gates.job_type) < %(most_at_work)s::INTEGER ORDER BY jobrunner_schema.job_gates.turn_at
 LIMIT %(limit)s::INTEGER""",
        {'param_1': 1, 'substr_1': 1},
        {},
        (('gate', None), ('spent_until', 'instant'), ('at_work', None), ('run_id', None)),
    ),
    ('limits.first_run_of_each', (True,)): (
        """SELECT jobrunner_schema.job_gates.gate, jobrunner_schema.job_gates.spent_until, (SELECT count(*) AS count_1
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.gate = jobrunner_schema.job_gates.gate AND jobrunner_schema.job_runs.lease_token IS NOT NULL AND jobrunner_schema.job_runs.gate != '' AND jobrunner_schema.job_runs.job_type = jobrunner_schema.job_gates.job_type) AS at_work, (SELECT jobrunner_schema.job_gated.id
FROM jobrunner_schema.job_gated
WHERE jobrunner_schema.job_gated.job_type = jobrunner_schema.job_gates.job_type AND jobrunner_schema.job_gated.gate = jobrunner_schema.job_gates.gate AND jobrunner_schema.job_gated.lease_expiries >= 2 ORDER BY jobrunner_schema.job_gated.turn_at, jobrunner_schema.job_gated.run_at, jobrunner_schema.job_gated.id
 LIMIT %(param_1)s::INTEGER) AS run_id
FROM jobrunner_schema.job_gates
WHERE jobrunner_schema.job_gates.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gates.turn_at IS NOT NULL AND substr(jobrunner_schema.job_gates.gate, %(substr_1)s::INTEGER, length(%(prefix)s::VARCHAR)) = %(prefix)s::VARCHAR AND (jobrunner_schema.job_gates.opens_at IS NULL OR jobrunner_schema.job_gates.opens_at <= jobrunner_schema.jobrunner_now() OR jobrunner_schema.job_gates.opens_at > (jobrunner_schema.jobrunner_now() + make_interval(secs => %(longest)s::FLOAT))) AND (SELECT count(*) AS count_1
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.gate = jobrunner_schema.job_gates.gate AND jobrunner_schema.job_runs.lease_token IS NOT NULL AND jobrunner_schema.job_runs.gate != '' AND jobrunner_schema.job_runs.job_type = jobrunner_schema.job_gates.job_type) < %(most_at_work)s::INTEGER AND (SELECT jobrunner_schema.job_gated.id
FROM jobrunner_schema.job_gated
WHERE jobrunner_schema.job_gated.job_type = jobrunner_schema.job_gates.job_type AND jobrunner_schema.job_gated.gate = jobrunner_schema.job_gates.gate AND jobrunner_schema.job_gated.lease_expiries >= 2 ORDER BY jobrunner_schema.job_gated.turn_at, jobrunner_schema.job_gated.run_at, jobrunner_schema.job_gated.id
 LIMIT %(param_1)s::INTEGER) IS NOT NULL ORDER BY jobrunner_schema.job_gates.turn_at
 LIMIT %(limit)s::INTEGER""",
        {'param_1': 1, 'substr_1': 1},
        {},
        (('gate', None), ('spent_until', 'instant'), ('at_work', None), ('run_id', None)),
    ),
    ('limits.first_run_of_each', (False, True)): (
        """SELECT jobrunner_schema.job_gates.gate, (SELECT max(same.spent_until) AS max_1
FROM jobrunner_schema.job_gates AS same
WHERE same.job_type IN (SELECT given.job_type
FROM (SELECT job_type FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200))) AS given) AND same.gate = jobrunner_schema.job_gates.gate) AS spent_until, (SELECT count(*) AS count_1
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.gate = jobrunner_schema.job_gates.gate AND jobrunner_schema.job_runs.lease_token IS NOT NULL AND jobrunner_schema.job_runs.gate != '' AND jobrunner_schema.job_runs.job_type IN (SELECT given.job_type
FROM (SELECT job_type FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200))) AS given)) AS at_work, (SELECT jobrunner_schema.job_gated.id
FROM jobrunner_schema.job_gated
WHERE jobrunner_schema.job_gated.job_type = jobrunner_schema.job_gates.job_type AND jobrunner_schema.job_gated.gate = jobrunner_schema.job_gates.gate AND jobrunner_schema.job_gated.lease_expiries < 2 ORDER BY jobrunner_schema.job_gated.turn_at, jobrunner_schema.job_gated.run_at, jobrunner_schema.job_gated.id
 LIMIT %(param_1)s::INTEGER) AS run_id
FROM jobrunner_schema.job_gates
WHERE jobrunner_schema.job_gates.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gates.turn_at IS NOT NULL AND substr(jobrunner_schema.job_gates.gate, %(substr_1)s::INTEGER, length(%(prefix)s::VARCHAR)) = %(prefix)s::VARCHAR AND (jobrunner_schema.job_gates.opens_at IS NULL OR jobrunner_schema.job_gates.opens_at <= jobrunner_schema.jobrunner_now() OR jobrunner_schema.job_gates.opens_at > (jobrunner_schema.jobrunner_now() + make_interval(secs => %(longest)s::FLOAT))) AND (SELECT count(*) AS count_1
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.gate = jobrunner_schema.job_gates.gate AND jobrunner_schema.job_runs.lease_token IS NOT NULL AND jobrunner_schema.job_runs.gate != '' AND jobrunner_schema.job_runs.job_type IN (SELECT given.job_type
FROM (SELECT job_type FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200))) AS given)) < %(most_at_work)s::INTEGER ORDER BY jobrunner_schema.job_gates.turn_at
 LIMIT %(limit)s::INTEGER""",
        {'param_1': 1, 'substr_1': 1},
        {'given': (('job_type', None),)},
        (('gate', None), ('spent_until', 'instant'), ('at_work', None), ('run_id', None)),
    ),
    ('limits.first_runs', (False,)): (
        """SELECT jobrunner_schema.job_gated.id
FROM jobrunner_schema.job_gated
WHERE jobrunner_schema.job_gated.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gated.gate = 'all' AND jobrunner_schema.job_gated.lease_expiries < 2 ORDER BY jobrunner_schema.job_gated.turn_at, jobrunner_schema.job_gated.run_at, jobrunner_schema.job_gated.id
 LIMIT %(limit)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED""",
        {},
        {},
        (('id', None),),
    ),
    ('limits.first_runs', (True,)): (
        """SELECT jobrunner_schema.job_gated.id
FROM jobrunner_schema.job_gated
WHERE jobrunner_schema.job_gated.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_gated.gate = 'all' AND jobrunner_schema.job_gated.lease_expiries >= 2 ORDER BY jobrunner_schema.job_gated.turn_at, jobrunner_schema.job_gated.run_at, jobrunner_schema.job_gated.id
 LIMIT %(limit)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED""",
        {},
        {},
        (('id', None),),
    ),
    ('limits.forget', ()): (
        """DELETE FROM jobrunner_schema.job_limits WHERE jobrunner_schema.job_limits.job_type = %(of_type)s::VARCHAR""",
        {},
        {},
        (),
    ),
    ('limits.lock', ()): (
        """WITH free AS
(SELECT jobrunner_schema.job_limits.job_type AS job_type
FROM (SELECT job_type FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200))) AS given JOIN jobrunner_schema.job_limits ON jobrunner_schema.job_limits.job_type = given.job_type FOR NO KEY UPDATE OF job_limits SKIP LOCKED)
 UPDATE jobrunner_schema.job_limits SET asked_at=jobrunner_schema.jobrunner_now() WHERE jobrunner_schema.job_limits.job_type IN (SELECT free.job_type
FROM free) RETURNING jobrunner_schema.job_limits.job_type, jobrunner_schema.job_limits.spent_until, jobrunner_schema.job_limits.looked_to, jobrunner_schema.jobrunner_now() AS now, jobrunner_schema.job_limits.max_running, jobrunner_schema.job_limits.rate, jobrunner_schema.job_limits.burst, jobrunner_schema.job_limits.concurrency_key, jobrunner_schema.job_limits.max_running_per_key, jobrunner_schema.job_limits.rate_per_key, jobrunner_schema.job_limits.burst_per_key, (SELECT jobrunner_schema.job_set_limits.max_running
FROM jobrunner_schema.job_set_limits
WHERE jobrunner_schema.job_set_limits.job_type = job_limits.job_type AND (jobrunner_schema.job_set_limits.ends_at IS NULL OR jobrunner_schema.job_set_limits.ends_at > jobrunner_schema.jobrunner_now())) AS set_max_running, (SELECT jobrunner_schema.job_set_limits.rate
FROM jobrunner_schema.job_set_limits
WHERE jobrunner_schema.job_set_limits.job_type = job_limits.job_type AND (jobrunner_schema.job_set_limits.ends_at IS NULL OR jobrunner_schema.job_set_limits.ends_at > jobrunner_schema.jobrunner_now())) AS set_rate, (SELECT jobrunner_schema.job_set_limits.burst
FROM jobrunner_schema.job_set_limits
WHERE jobrunner_schema.job_set_limits.job_type = job_limits.job_type AND (jobrunner_schema.job_set_limits.ends_at IS NULL OR jobrunner_schema.job_set_limits.ends_at > jobrunner_schema.jobrunner_now())) AS set_burst""",
        {},
        {'given': (('job_type', None),)},
        (('job_type', None), ('spent_until', 'instant'), ('looked_to', None), ('now', 'instant'), ('max_running', None), ('rate', None), ('burst', None), ('concurrency_key', None), ('max_running_per_key', None), ('rate_per_key', None), ('burst_per_key', None), ('set_max_running', None), ('set_rate', None), ('set_burst', None)),
    ),
    ('limits.open_gates', ()): (
        """SELECT jobrunner_schema.job_open_gates.gate
FROM jobrunner_schema.job_open_gates
WHERE jobrunner_schema.job_open_gates.job_type = %(of_type)s::VARCHAR
 LIMIT %(limit)s::INTEGER""",
        {},
        {},
        (('gate', None),),
    ),
    ('limits.release', ()): (
        """WITH picked AS
(SELECT jobrunner_schema.job_runs.id AS id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.job_type = %(of_type)s::VARCHAR AND jobrunner_schema.job_runs.gate > '' AND jobrunner_schema.job_runs.gate != 'after' AND jobrunner_schema.job_runs.status IN ('queued', 'failed')
 LIMIT %(limit)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED)
 UPDATE jobrunner_schema.job_runs SET gate='' WHERE jobrunner_schema.job_runs.id IN (SELECT picked.id
FROM picked) AND jobrunner_schema.job_runs.status != 'running' RETURNING jobrunner_schema.job_runs.id""",
        {},
        {},
        (('id', None),),
    ),
    ('limits.settle_types', ()): (
        """UPDATE jobrunner_schema.job_limits SET spent_until=coalesce(given.spent_until, jobrunner_schema.job_limits.spent_until), opens_at=coalesce(given.opens_at, jobrunner_schema.job_limits.opens_at) FROM (SELECT job_type, spent_until, opens_at FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), spent_until TIMESTAMP WITH TIME ZONE, opens_at TIMESTAMP WITH TIME ZONE)) AS given WHERE jobrunner_schema.job_limits.job_type = given.job_type""",
        {},
        {'given': (('job_type', None), ('spent_until', 'instant'), ('opens_at', 'instant'))},
        (),
    ),
    ('limits.take', ()): (
        """INSERT INTO jobrunner_schema.job_limits (job_type, asked_at) SELECT %(of_type)s::VARCHAR AS anon_1, jobrunner_schema.jobrunner_now() AS anon_2
WHERE NOT (EXISTS (SELECT jobrunner_schema.job_limits.job_type
FROM jobrunner_schema.job_limits
WHERE jobrunner_schema.job_limits.job_type = %(of_type)s::VARCHAR)) ON CONFLICT DO NOTHING RETURNING jobrunner_schema.job_limits.job_type, jobrunner_schema.job_limits.spent_until, jobrunner_schema.job_limits.looked_to, jobrunner_schema.jobrunner_now() AS now, jobrunner_schema.job_limits.max_running, jobrunner_schema.job_limits.rate, jobrunner_schema.job_limits.burst, jobrunner_schema.job_limits.concurrency_key, jobrunner_schema.job_limits.max_running_per_key, jobrunner_schema.job_limits.rate_per_key, jobrunner_schema.job_limits.burst_per_key, (SELECT jobrunner_schema.job_set_limits.max_running
FROM jobrunner_schema.job_set_limits
WHERE jobrunner_schema.job_set_limits.job_type = job_limits.job_type AND (jobrunner_schema.job_set_limits.ends_at IS NULL OR jobrunner_schema.job_set_limits.ends_at > jobrunner_schema.jobrunner_now())) AS set_max_running, (SELECT jobrunner_schema.job_set_limits.rate
FROM jobrunner_schema.job_set_limits
WHERE jobrunner_schema.job_set_limits.job_type = job_limits.job_type AND (jobrunner_schema.job_set_limits.ends_at IS NULL OR jobrunner_schema.job_set_limits.ends_at > jobrunner_schema.jobrunner_now())) AS set_rate, (SELECT jobrunner_schema.job_set_limits.burst
FROM jobrunner_schema.job_set_limits
WHERE jobrunner_schema.job_set_limits.job_type = job_limits.job_type AND (jobrunner_schema.job_set_limits.ends_at IS NULL OR jobrunner_schema.job_set_limits.ends_at > jobrunner_schema.jobrunner_now())) AS set_burst""",
        {},
        {},
        (('job_type', None), ('spent_until', 'instant'), ('looked_to', None), ('now', 'instant'), ('max_running', None), ('rate', None), ('burst', None), ('concurrency_key', None), ('max_running_per_key', None), ('rate_per_key', None), ('burst_per_key', None), ('set_max_running', None), ('set_rate', None), ('set_burst', None)),
    ),
    ('listen.is_superseded', ()): (
        """SELECT EXISTS (SELECT jobrunner_schema.job_ticks.id
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.id > %(tick_id)s::BIGINT AND jobrunner_schema.job_ticks.host = %(host)s::VARCHAR AND jobrunner_schema.job_ticks.types = %(types)s::VARCHAR AND jobrunner_schema.job_ticks.application = %(application)s::VARCHAR AND jobrunner_schema.job_ticks.listening_at IS NOT NULL AND jobrunner_schema.job_ticks.finished_at IS NULL) AS is_superseded""",
        {},
        {},
        (('is_superseded', 'boolean'),),
    ),
    ('listen.look_ahead', ()): (
        """SELECT EXISTS (SELECT jobrunner_schema.job_ticks.id
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.id > %(tick_id)s::BIGINT AND jobrunner_schema.job_ticks.host = %(host)s::VARCHAR AND jobrunner_schema.job_ticks.types = %(types)s::VARCHAR AND jobrunner_schema.job_ticks.application = %(application)s::VARCHAR AND jobrunner_schema.job_ticks.listening_at IS NOT NULL AND jobrunner_schema.job_ticks.finished_at IS NULL) AS is_superseded, (EXISTS (SELECT jobrunner_schema.job_expandable.id
FROM jobrunner_schema.job_expandable)) OR (EXISTS (SELECT jobrunner_schema.job_expandable_by_host.id
FROM jobrunner_schema.job_expandable_by_host
WHERE jobrunner_schema.job_expandable_by_host.host = %(host)s::VARCHAR)) AS is_expandable, EXISTS (SELECT jobrunner_schema.job_recoverable.id
FROM jobrunner_schema.job_recoverable) AS is_recoverable, (SELECT min(jobrunner_schema.job_overdue.start_deadline_at) AS min_1
FROM jobrunner_schema.job_overdue) AS overdue_since, (SELECT jobrunner_schema.job_ungated_due.is_due
FROM jobrunner_schema.job_ungated_due) AS is_ungated_due, EXISTS (SELECT jobrunner_schema.job_ready_gates.gate
FROM jobrunner_schema.job_ready_gates) AS is_gate_ready, EXISTS (SELECT jobrunner_schema.job_claimable_by_host.id
FROM jobrunner_schema.job_claimable_by_host
WHERE jobrunner_schema.job_claimable_by_host.only_host = %(host)s::VARCHAR) AS is_own_due, EXISTS (SELECT jobrunner_schema.job_pauses.kind
FROM jobrunner_schema.job_pauses
WHERE jobrunner_schema.job_pauses.kind = 'host' AND jobrunner_schema.job_pauses.name = %(host)s::VARCHAR) AS is_host_paused, EXISTS (SELECT jobrunner_schema.job_parents.run_id
FROM jobrunner_schema.job_parents
WHERE parent_status IS NOT NULL) AS is_parent_ended, (SELECT jobrunner_schema.job_runs.run_at
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status IN ('queued', 'failed') AND jobrunner_schema.job_runs.run_at > jobrunner_schema.jobrunner_now() AND jobrunner_schema.job_runs.gate = '' AND releases >= 0 ORDER BY jobrunner_schema.job_runs.run_at
 LIMIT 1) AS next_run_at, (SELECT min(jobrunner_schema.job_definitions.next_run_at) AS min_2
FROM jobrunner_schema.job_definitions
WHERE jobrunner_schema.job_definitions.schedule IS NOT NULL AND jobrunner_schema.job_definitions.removed_at IS NULL AND jobrunner_schema.job_definitions.paused_at IS NULL AND jobrunner_schema.job_definitions.next_run_at > jobrunner_schema.jobrunner_now()) AS next_slot_at, jobrunner_schema.jobrunner_now() AS now""",
        {},
        {},
        (('is_superseded', 'boolean'), ('is_expandable', 'boolean'), ('is_recoverable', 'boolean'), ('overdue_since', 'instant'), ('is_ungated_due', 'boolean'), ('is_gate_ready', 'boolean'), ('is_own_due', 'boolean'), ('is_host_paused', 'boolean'), ('is_parent_ended', 'boolean'), ('next_run_at', 'instant'), ('next_slot_at', 'instant'), ('now', 'instant')),
    ),
    ('listen.other_hosts', ()): (
        """SELECT count(DISTINCT jobrunner_schema.job_ticks.host) AS hosts
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.types = %(types)s::VARCHAR AND jobrunner_schema.job_ticks.application = %(application)s::VARCHAR AND jobrunner_schema.job_ticks.listening_at IS NOT NULL AND jobrunner_schema.job_ticks.finished_at IS NULL AND jobrunner_schema.job_ticks.host != %(host)s::VARCHAR AND jobrunner_schema.job_ticks.started_at > (jobrunner_schema.jobrunner_now() + make_interval(secs => %(before)s::FLOAT))""",
        {},
        {},
        (('hosts', None),),
    ),
    ('listen.report', ()): (
        """UPDATE jobrunner_schema.job_ticks SET listening_at=jobrunner_schema.jobrunner_now() WHERE jobrunner_schema.job_ticks.id = %(tick_id)s::BIGINT AND jobrunner_schema.job_ticks.host = %(own_host)s::VARCHAR AND jobrunner_schema.job_ticks.worker = %(own_worker)s::VARCHAR RETURNING jobrunner_schema.job_ticks.id""",
        {},
        {},
        (('id', None),),
    ),
    ('locks.insert', ()): (
        """INSERT INTO jobrunner_schema.job_locks (name) VALUES (%(row_name)s::VARCHAR) ON CONFLICT DO NOTHING""",
        {},
        {},
        (),
    ),
    ('locks.lock', ()): (
        """SELECT jobrunner_schema.job_locks.sole_owner
FROM jobrunner_schema.job_locks
WHERE jobrunner_schema.job_locks.name = %(row_name)s::VARCHAR FOR UPDATE""",
        {},
        {},
        (('sole_owner', None),),
    ),
    ('locks.note_sole_owner', ()): (
        """UPDATE jobrunner_schema.job_locks SET sole_owner=%(owner)s::VARCHAR WHERE jobrunner_schema.job_locks.name = %(row_name)s::VARCHAR""",
        {},
        {},
        (),
    ),
    ('metrics.running', ()): (
        """SELECT jobrunner_schema.job_runs.job_type, count(*) AS runs
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status = 'running' GROUP BY jobrunner_schema.job_runs.job_type ORDER BY jobrunner_schema.job_runs.job_type""",
        {},
        {},
        (('job_type', None), ('runs', None)),
    ),
    ('metrics.take_turn', ()): (
        """UPDATE jobrunner_schema.job_state SET metrics_host=%(own_host)s::VARCHAR, metrics_at=jobrunner_schema.jobrunner_now() WHERE jobrunner_schema.job_state.metrics_host IS NULL OR jobrunner_schema.job_state.metrics_host = %(own_host)s::VARCHAR OR jobrunner_schema.job_state.metrics_at < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(before)s::FLOAT)) OR jobrunner_schema.job_state.metrics_at > (jobrunner_schema.jobrunner_now() + make_interval(secs => %(after)s::FLOAT)) RETURNING jobrunner_schema.job_state.id""",
        {},
        {},
        (('id', None),),
    ),
    ('notices.add', ()): (
        """INSERT INTO jobrunner_schema.job_notices (event, job_type, schedule, receiver, runs, detail, is_open, at, seen_to) SELECT given.event, given.job_type, given.schedule, given.receiver, given.runs, given.detail, given.is_open, jobrunner_schema.jobrunner_now() AS anon_1, (SELECT jobrunner_schema.job_state.counted_to
FROM jobrunner_schema.job_state) AS anon_2
FROM (SELECT event, job_type, schedule, receiver, runs, CAST(detail AS JSONB) AS detail, is_open FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(event VARCHAR(20), job_type VARCHAR(200), schedule VARCHAR(200), receiver VARCHAR(100), runs BIGINT, detail TEXT, is_open INTEGER)) AS given
WHERE 1 = 1 ON CONFLICT DO NOTHING""",
        {},
        {'given': (('event', None), ('job_type', None), ('schedule', None), ('receiver', None), ('runs', None), ('detail', 'json'), ('is_open', None))},
        (),
    ),
    ('notices.claim', ()): (
        """WITH picked AS
(SELECT jobrunner_schema.job_notices.id AS id
FROM jobrunner_schema.job_notices
WHERE jobrunner_schema.job_notices.settled_at IS NULL AND jobrunner_schema.job_notices.claimed_at IS NULL AND jobrunner_schema.job_notices.receiver IN (SELECT given.name
FROM (SELECT name FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(name VARCHAR(100))) AS given) ORDER BY jobrunner_schema.job_notices.id
 LIMIT %(limit)s::INTEGER FOR UPDATE SKIP LOCKED)
 UPDATE jobrunner_schema.job_notices SET tries=(jobrunner_schema.job_notices.tries + 1), claimed_at=jobrunner_schema.jobrunner_now(), claimed_by=%(owner)s::VARCHAR WHERE jobrunner_schema.job_notices.id IN (SELECT picked.id
FROM picked) RETURNING jobrunner_schema.job_notices.id, jobrunner_schema.job_notices.at, jobrunner_schema.job_notices.event, jobrunner_schema.job_notices.job_type, jobrunner_schema.job_notices.schedule, jobrunner_schema.job_notices.receiver, jobrunner_schema.job_notices.runs, jobrunner_schema.job_notices.detail, jobrunner_schema.job_notices.tries""",
        {},
        {'given': (('name', None),)},
        (('id', None), ('at', 'instant'), ('event', None), ('job_type', None), ('schedule', None), ('receiver', None), ('runs', None), ('detail', 'json'), ('tries', None)),
    ),
    ('notices.close', ()): (
        """UPDATE jobrunner_schema.job_notices SET is_open=%(is_open)s::INTEGER FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given WHERE jobrunner_schema.job_notices.id = given.id AND jobrunner_schema.job_notices.is_open = 1 RETURNING jobrunner_schema.job_notices.event, jobrunner_schema.job_notices.job_type, jobrunner_schema.job_notices.schedule, jobrunner_schema.job_notices.at""",
        {'is_open': 0},
        {'given': (('id', None),)},
        (('event', None), ('job_type', None), ('schedule', None), ('at', 'instant')),
    ),
    ('notices.definitions_named', ()): (
        """SELECT jobrunner_schema.job_definitions.id, jobrunner_schema.job_definitions.name
FROM jobrunner_schema.job_definitions
WHERE jobrunner_schema.job_definitions.name IN (SELECT given.name
FROM (SELECT name FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(name VARCHAR(200))) AS given)""",
        {},
        {'given': (('name', None),)},
        (('id', None), ('name', None)),
    ),
    ('notices.definitions_of', ()): (
        """SELECT jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.definition_id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = given.id""",
        {},
        {'given': (('id', None),)},
        (('id', None), ('definition_id', None)),
    ),
    ('notices.give_up_lost', ()): (
        """UPDATE jobrunner_schema.job_notices SET settled_at=jobrunner_schema.jobrunner_now(), outcome='lost', error='the tick that sent it was killed; nobody knows whether it was told' WHERE jobrunner_schema.job_notices.settled_at IS NULL AND jobrunner_schema.job_notices.claimed_at < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(since)s::FLOAT))""",
        {},
        {},
        (),
    ),
    ('notices.note_dead', (True,)): (
        """WITH picked AS
(SELECT jobrunner_schema.job_runs.id AS id
FROM jobrunner_schema.job_runs
WHERE CASE WHEN status = 'dead' AND (told_at IS NULL OR told_at < finished_at) THEN 1 END = 1 AND jobrunner_schema.job_runs.finished_at > (jobrunner_schema.jobrunner_now() + make_interval(secs => %(since)s::FLOAT)) ORDER BY jobrunner_schema.job_runs.finished_at
 LIMIT %(limit)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED)
 UPDATE jobrunner_schema.job_runs SET told_at=jobrunner_schema.jobrunner_now() WHERE jobrunner_schema.job_runs.id IN (SELECT picked.id
FROM picked) RETURNING jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.definition_id, jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.attempts, jobrunner_schema.job_runs.error_type, jobrunner_schema.job_runs.last_error, jobrunner_schema.job_runs.finished_at""",
        {},
        {},
        (('id', None), ('definition_id', None), ('job_type', None), ('attempts', None), ('error_type', None), ('last_error', None), ('finished_at', 'instant')),
    ),
    ('notices.note_dead', (False,)): (
        """WITH picked AS
(SELECT jobrunner_schema.job_runs.id AS id
FROM jobrunner_schema.job_runs
WHERE CASE WHEN status = 'dead' AND (told_at IS NULL OR told_at < finished_at) THEN 1 END = 1 AND jobrunner_schema.job_runs.finished_at > (jobrunner_schema.jobrunner_now() + make_interval(secs => %(since)s::FLOAT)) AND (jobrunner_schema.job_runs.job_type IN (SELECT types.name
FROM (SELECT name FROM json_to_recordset(CAST(%(types)s::VARCHAR AS JSON)) AS listed(name VARCHAR(200))) AS types) OR jobrunner_schema.job_runs.definition_id IN (SELECT jobrunner_schema.job_definitions.id
FROM jobrunner_schema.job_definitions
WHERE jobrunner_schema.job_definitions.name IN (SELECT schedules.name
FROM (SELECT name FROM json_to_recordset(CAST(%(schedules)s::VARCHAR AS JSON)) AS listed(name VARCHAR(200))) AS schedules))) ORDER BY jobrunner_schema.job_runs.finished_at
 LIMIT %(limit)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED)
 UPDATE jobrunner_schema.job_runs SET told_at=jobrunner_schema.jobrunner_now() WHERE jobrunner_schema.job_runs.id IN (SELECT picked.id
FROM picked) RETURNING jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.definition_id, jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.attempts, jobrunner_schema.job_runs.error_type, jobrunner_schema.job_runs.last_error, jobrunner_schema.job_runs.finished_at""",
        {},
        {'types': (('name', None),), 'schedules': (('name', None),)},
        (('id', None), ('definition_id', None), ('job_type', None), ('attempts', None), ('error_type', None), ('last_error', None), ('finished_at', 'instant')),
    ),
    ('notices.open_troubles', ()): (
        """SELECT jobrunner_schema.job_notices.id, jobrunner_schema.job_notices.event, jobrunner_schema.job_notices.job_type, jobrunner_schema.job_notices.schedule, jobrunner_schema.job_notices.at, jobrunner_schema.job_notices.seen_to
FROM jobrunner_schema.job_notices
WHERE jobrunner_schema.job_notices.is_open = 1""",
        {},
        {},
        (('id', None), ('event', None), ('job_type', None), ('schedule', None), ('at', 'instant'), ('seen_to', None)),
    ),
    ('notices.outputs', ()): (
        """SELECT given.id, (SELECT jobrunner_schema.job_attempts.output
FROM jobrunner_schema.job_attempts
WHERE jobrunner_schema.job_attempts.run_id = given.id ORDER BY jobrunner_schema.job_attempts.sequence DESC
 LIMIT 1) AS output
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given""",
        {},
        {'given': (('id', None),)},
        (('id', None), ('output', None)),
    ),
    ('notices.release', ()): (
        """UPDATE jobrunner_schema.job_notices SET claimed_at=NULL, claimed_by=NULL, error=given.error FROM (SELECT id, outcome, error FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT, outcome VARCHAR(20), error TEXT)) AS given WHERE jobrunner_schema.job_notices.id = given.id AND jobrunner_schema.job_notices.settled_at IS NULL AND jobrunner_schema.job_notices.claimed_by = %(owner)s::VARCHAR""",
        {},
        {'given': (('id', None), ('outcome', None), ('error', None))},
        (),
    ),
    ('notices.schedules_of', ()): (
        """SELECT jobrunner_schema.job_definitions.id, jobrunner_schema.job_definitions.name
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given JOIN jobrunner_schema.job_definitions ON jobrunner_schema.job_definitions.id = given.id""",
        {},
        {'given': (('id', None),)},
        (('id', None), ('name', None)),
    ),
    ('notices.set_seen', ()): (
        """UPDATE jobrunner_schema.job_notices SET seen_to=coalesce((SELECT CASE WHEN (jobrunner_schema.job_state.counted_to < %(upto)s::BIGINT) THEN jobrunner_schema.job_state.counted_to ELSE %(upto)s::BIGINT END AS anon_1
FROM jobrunner_schema.job_state), 0) WHERE jobrunner_schema.job_notices.is_open = 1 AND jobrunner_schema.job_notices.seen_to < coalesce((SELECT CASE WHEN (jobrunner_schema.job_state.counted_to < %(upto)s::BIGINT) THEN jobrunner_schema.job_state.counted_to ELSE %(upto)s::BIGINT END AS anon_1
FROM jobrunner_schema.job_state), 0)""",
        {},
        {},
        (),
    ),
    ('notices.settle', ()): (
        """UPDATE jobrunner_schema.job_notices SET settled_at=jobrunner_schema.jobrunner_now(), outcome=given.outcome, error=given.error FROM (SELECT id, outcome, error FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT, outcome VARCHAR(20), error TEXT)) AS given WHERE jobrunner_schema.job_notices.id = given.id AND jobrunner_schema.job_notices.settled_at IS NULL AND jobrunner_schema.job_notices.claimed_by = %(owner)s::VARCHAR""",
        {},
        {'given': (('id', None), ('outcome', None), ('error', None))},
        (),
    ),
    ('notices.successes', ()): (
        """SELECT "some".id, "some".status, "some".finished_at, jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.definition_id
FROM (SELECT jobrunner_schema.job_attempts.id AS id, jobrunner_schema.job_attempts.run_id AS run_id, jobrunner_schema.job_attempts.status AS status, jobrunner_schema.job_attempts.finished_at AS finished_at
FROM jobrunner_schema.job_attempts
WHERE jobrunner_schema.job_attempts.id > %(after)s::BIGINT ORDER BY jobrunner_schema.job_attempts.id
 LIMIT %(limit)s::INTEGER) AS "some" JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = "some".run_id ORDER BY "some".id""",
        {},
        {},
        (('id', None), ('status', None), ('finished_at', 'instant'), ('job_type', None), ('definition_id', None)),
    ),
    ('notices.supersede', ()): (
        """UPDATE jobrunner_schema.job_notices SET is_open=%(is_open)s::INTEGER FROM (SELECT job_type, schedule FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), schedule VARCHAR(200))) AS given WHERE jobrunner_schema.job_notices.is_open = 1 AND jobrunner_schema.job_notices.event = 'dead' AND jobrunner_schema.job_notices.job_type = given.job_type AND jobrunner_schema.job_notices.schedule = given.schedule""",
        {'is_open': 0},
        {'given': (('job_type', None), ('schedule', None))},
        (),
    ),
    ('notices.unsent', ()): (
        """SELECT jobrunner_schema.job_notices.id, jobrunner_schema.job_notices.at, jobrunner_schema.job_notices.event, jobrunner_schema.job_notices.job_type, jobrunner_schema.job_notices.schedule, jobrunner_schema.job_notices.receiver, jobrunner_schema.job_notices.runs, jobrunner_schema.job_notices.outcome, jobrunner_schema.job_notices.error
FROM jobrunner_schema.job_notices
WHERE jobrunner_schema.job_notices.outcome != 'sent' AND jobrunner_schema.job_notices.settled_at > (jobrunner_schema.jobrunner_now() + make_interval(secs => %(since)s::FLOAT)) ORDER BY jobrunner_schema.job_notices.settled_at DESC
 LIMIT %(limit)s::INTEGER""",
        {},
        {},
        (('id', None), ('at', 'instant'), ('event', None), ('job_type', None), ('schedule', None), ('receiver', None), ('runs', None), ('outcome', None), ('error', None)),
    ),
    ('overlap.cancel', ()): (
        """UPDATE jobrunner_schema.job_runs SET status=%(status)s::VARCHAR, cancel_requested_at=%(at)s::TIMESTAMP WITH TIME ZONE, finished_at=%(at)s::TIMESTAMP WITH TIME ZONE, updated_at=%(at)s::TIMESTAMP WITH TIME ZONE FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given WHERE jobrunner_schema.job_runs.id = given.id""",
        {'status': 'cancelled'},
        {'at': 'instant', 'given': (('id', None),)},
        (),
    ),
    ('overlap.older', ()): (
        """SELECT jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.definition_id, jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.status, jobrunner_schema.job_runs.cancel_requested_at, jobrunner_schema.job_runs.status = %(status_1)s::VARCHAR AND jobrunner_schema.job_runs.started_at IS NULL AND jobrunner_schema.job_runs.run_at > jobrunner_schema.job_runs.created_at AND jobrunner_schema.job_runs.run_at > jobrunner_schema.job_definitions.last_slot_at AS only_waits
FROM jobrunner_schema.job_runs, jobrunner_schema.job_definitions, (SELECT definition_id, id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(definition_id BIGINT, id BIGINT)) AS given
WHERE jobrunner_schema.job_runs.definition_id = given.definition_id AND jobrunner_schema.job_definitions.id = given.definition_id AND jobrunner_schema.job_runs.id != given.id AND (jobrunner_schema.job_runs.origin IS NULL OR jobrunner_schema.job_runs.origin = 'slot') AND status IN ('queued', 'failed', 'running') ORDER BY jobrunner_schema.job_runs.id FOR NO KEY UPDATE OF job_runs""",
        {'status_1': 'queued'},
        {'given': (('definition_id', None), ('id', None))},
        (('id', None), ('definition_id', None), ('job_type', None), ('status', None), ('cancel_requested_at', 'instant'), ('only_waits', 'boolean')),
    ),
    ('overlap.request_cancel', ()): (
        """UPDATE jobrunner_schema.job_runs SET cancel_requested_at=%(at)s::TIMESTAMP WITH TIME ZONE, updated_at=%(at)s::TIMESTAMP WITH TIME ZONE FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given WHERE jobrunner_schema.job_runs.id = given.id""",
        {},
        {'at': 'instant', 'given': (('id', None),)},
        (),
    ),
    ('overview.count', ('queued',)): (
        """SELECT count(*) AS runs
FROM (SELECT jobrunner_schema.job_runs.id AS id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status = 'queued' AND jobrunner_schema.job_runs.status IN ('queued', 'failed')
 LIMIT %(most)s::INTEGER) AS anon_1""",
        {},
        {},
        (('runs', None),),
    ),
    ('overview.count', ('running',)): (
        """SELECT count(*) AS runs
FROM (SELECT jobrunner_schema.job_runs.id AS id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status = 'running'
 LIMIT %(most)s::INTEGER) AS anon_1""",
        {},
        {},
        (('runs', None),),
    ),
    ('overview.count', ('succeeded',)): (
        """SELECT count(*) AS runs
FROM (SELECT jobrunner_schema.job_runs.id AS id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status = 'succeeded' AND jobrunner_schema.job_runs.finished_at IS NOT NULL
 LIMIT %(most)s::INTEGER) AS anon_1""",
        {},
        {},
        (('runs', None),),
    ),
    ('overview.count', ('failed',)): (
        """SELECT count(*) AS runs
FROM (SELECT jobrunner_schema.job_runs.id AS id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status = 'failed'
 LIMIT %(most)s::INTEGER) AS anon_1""",
        {},
        {},
        (('runs', None),),
    ),
    ('overview.count', ('dead',)): (
        """SELECT count(*) AS runs
FROM (SELECT jobrunner_schema.job_runs.id AS id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status = 'dead' AND jobrunner_schema.job_runs.finished_at IS NOT NULL
 LIMIT %(most)s::INTEGER) AS anon_1""",
        {},
        {},
        (('runs', None),),
    ),
    ('overview.count', ('cancelled',)): (
        """SELECT count(*) AS runs
FROM (SELECT jobrunner_schema.job_runs.id AS id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status = 'cancelled' AND jobrunner_schema.job_runs.finished_at IS NOT NULL
 LIMIT %(most)s::INTEGER) AS anon_1""",
        {},
        {},
        (('runs', None),),
    ),
    ('overview.dead', ()): (
        """SELECT jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.attempts, jobrunner_schema.job_runs.finished_at, jobrunner_schema.job_runs.error_type, jobrunner_schema.job_runs.last_error
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status = 'dead' AND jobrunner_schema.job_runs.finished_at IS NOT NULL ORDER BY jobrunner_schema.job_runs.finished_at DESC, jobrunner_schema.job_runs.id DESC
 LIMIT %(most)s::INTEGER""",
        {},
        {},
        (('id', None), ('job_type', None), ('attempts', None), ('finished_at', 'instant'), ('error_type', None), ('last_error', None)),
    ),
    ('overview.due', ()): (
        """SELECT jobrunner_schema.jobrunner_now() AS now, count(*) AS runs, min(first.run_at) AS first_at
FROM (SELECT all_kinds.id AS id, all_kinds.run_at AS run_at
FROM (SELECT free.id AS id, free.run_at AS run_at
FROM (SELECT jobrunner_schema.job_claimable.id AS id, jobrunner_schema.job_claimable.run_at AS run_at
FROM jobrunner_schema.job_claimable
WHERE releases >= 0 ORDER BY jobrunner_schema.job_claimable.run_at
 LIMIT %(most)s::INTEGER) AS free UNION ALL SELECT behind.id AS id, behind.run_at AS run_at
FROM (SELECT jobrunner_schema.job_gated.id AS id, jobrunner_schema.job_gated.run_at AS run_at
FROM jobrunner_schema.job_open_gates JOIN jobrunner_schema.job_gated ON jobrunner_schema.job_gated.job_type = jobrunner_schema.job_open_gates.job_type AND jobrunner_schema.job_gated.gate = jobrunner_schema.job_open_gates.gate
 LIMIT %(most)s::INTEGER) AS behind UNION ALL SELECT own.id AS id, own.run_at AS run_at
FROM (SELECT jobrunner_schema.job_claimable_by_host.id AS id, jobrunner_schema.job_claimable_by_host.run_at AS run_at
FROM jobrunner_schema.job_claimable_by_host
 LIMIT %(most)s::INTEGER) AS own) AS all_kinds) AS first""",
        {},
        {},
        (('now', 'instant'), ('runs', None), ('first_at', 'instant')),
    ),
    ('overview.failing', ()): (
        """SELECT jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.attempts, jobrunner_schema.job_runs.max_attempts, jobrunner_schema.job_runs.error_type, jobrunner_schema.job_runs.last_error, jobrunner_schema.job_runs.run_at AS next_try_at
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status = 'failed' ORDER BY jobrunner_schema.job_runs.run_at, jobrunner_schema.job_runs.id
 LIMIT %(most)s::INTEGER""",
        {},
        {},
        (('id', None), ('job_type', None), ('attempts', None), ('max_attempts', None), ('error_type', None), ('last_error', None), ('next_try_at', 'instant')),
    ),
    ('overview.last_ticks', ()): (
        """WITH RECURSIVE names(host) AS
(SELECT min(jobrunner_schema.job_ticks.host) AS host
FROM jobrunner_schema.job_ticks UNION ALL SELECT (SELECT min(jobrunner_schema.job_ticks.host) AS min_1
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.host > names.host) AS host
FROM names
WHERE names.host IS NOT NULL)
 SELECT jobrunner_schema.job_ticks.host, jobrunner_schema.job_ticks.worker, jobrunner_schema.job_ticks.version, jobrunner_schema.job_ticks.started_at, jobrunner_schema.job_ticks.application, jobrunner_schema.job_ticks.listening_at, jobrunner_schema.job_ticks.types, jobrunner_schema.job_ticks.finished_at, jobrunner_schema.job_ticks.counts, jobrunner_schema.job_ticks.error
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.id IN (SELECT (SELECT jobrunner_schema.job_ticks.id
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.host >= names.host AND jobrunner_schema.job_ticks.host <= names.host ORDER BY jobrunner_schema.job_ticks.host DESC, jobrunner_schema.job_ticks.id DESC
 LIMIT %(param_1)s::INTEGER) AS id
FROM names
WHERE names.host IS NOT NULL) ORDER BY jobrunner_schema.job_ticks.host""",
        {'param_1': 1},
        {},
        (('host', None), ('worker', None), ('version', None), ('started_at', 'instant'), ('application', None), ('listening_at', 'instant'), ('types', None), ('finished_at', 'instant'), ('counts', 'json'), ('error', None)),
    ),
    ('overview.limited', ()): (
        """SELECT jobrunner_schema.job_types.job_type, jobrunner_schema.job_types.max_waiting, jobrunner_schema.job_types.when_full, jobrunner_schema.job_types.dropped, jobrunner_schema.job_types.dropped_at, (SELECT count(*) AS count_1
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.job_type = jobrunner_schema.job_types.job_type AND jobrunner_schema.job_runs.status IN ('queued', 'failed')) AS waiting
FROM jobrunner_schema.job_types
WHERE jobrunner_schema.job_types.max_waiting IS NOT NULL ORDER BY jobrunner_schema.job_types.job_type""",
        {},
        {},
        (('job_type', None), ('max_waiting', None), ('when_full', None), ('dropped', None), ('dropped_at', 'instant'), ('waiting', None)),
    ),
    ('overview.running', ()): (
        """SELECT jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.host, jobrunner_schema.job_runs.locked_by, jobrunner_schema.job_runs.started_at, jobrunner_schema.job_runs.heartbeat_at, jobrunner_schema.job_runs.locked_until, jobrunner_schema.job_runs.max_attempts, jobrunner_schema.job_runs.progress, jobrunner_schema.job_runs.cancel_requested_at, jobrunner_schema.job_runs.attempts AS attempt
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status = 'running' ORDER BY jobrunner_schema.job_runs.started_at, jobrunner_schema.job_runs.id""",
        {},
        {},
        (('id', None), ('job_type', None), ('host', None), ('locked_by', None), ('started_at', 'instant'), ('heartbeat_at', 'instant'), ('locked_until', 'instant'), ('max_attempts', None), ('progress', 'json'), ('cancel_requested_at', 'instant'), ('attempt', None)),
    ),
    ('overview.running_limits', ()): (
        """SELECT jobrunner_schema.job_limits_in_force.job_type, jobrunner_schema.job_limits_in_force.max_running, jobrunner_schema.job_limits_in_force.rate, jobrunner_schema.job_limits_in_force.burst, jobrunner_schema.job_limits_in_force.concurrency_key, jobrunner_schema.job_limits_in_force.max_running_per_key, jobrunner_schema.job_limits_in_force.rate_per_key, jobrunner_schema.job_limits_in_force.burst_per_key, (SELECT jobrunner_schema.job_types.fair_by
FROM jobrunner_schema.job_types
WHERE jobrunner_schema.job_types.job_type = jobrunner_schema.job_limits_in_force.job_type) AS fair_by, jobrunner_schema.job_limits_in_force.opens_at, CASE WHEN jobrunner_schema.job_limits_in_force.is_set THEN (SELECT count(*) AS count_1
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.job_type = jobrunner_schema.job_limits_in_force.job_type AND jobrunner_schema.job_runs.status = 'running') ELSE (SELECT count(*) AS count_1
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.job_type = jobrunner_schema.job_limits_in_force.job_type AND jobrunner_schema.job_runs.lease_token IS NOT NULL AND jobrunner_schema.job_runs.gate != '') END AS running, (SELECT count(*) AS count_2
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.job_type = jobrunner_schema.job_limits_in_force.job_type AND jobrunner_schema.job_runs.status IN ('queued', 'failed')) AS waiting
FROM jobrunner_schema.job_limits_in_force
WHERE jobrunner_schema.job_limits_in_force.max_running IS NOT NULL OR jobrunner_schema.job_limits_in_force.rate IS NOT NULL OR jobrunner_schema.job_limits_in_force.concurrency_key IS NOT NULL ORDER BY jobrunner_schema.job_limits_in_force.job_type""",
        {},
        {},
        (('job_type', None), ('max_running', None), ('rate', None), ('burst', None), ('concurrency_key', None), ('max_running_per_key', None), ('rate_per_key', None), ('burst_per_key', None), ('fair_by', None), ('opens_at', 'instant'), ('running', None), ('waiting', None)),
    ),
    ('overview.unknown', ()): (
        """SELECT jobrunner_schema.job_runs.job_type, count(*) AS waiting, min(jobrunner_schema.job_runs.run_at) AS oldest_run_at
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status IN ('queued', 'failed') AND jobrunner_schema.job_runs.job_type IN (SELECT given.job_type
FROM (SELECT job_type FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200))) AS given) GROUP BY jobrunner_schema.job_runs.job_type ORDER BY jobrunner_schema.job_runs.job_type""",
        {},
        {'given': (('job_type', None),)},
        (('job_type', None), ('waiting', None), ('oldest_run_at', 'instant')),
    ),
    ('own_runs.close', ()): (
        """UPDATE jobrunner_schema.job_runs SET gate=CASE WHEN (jobrunner_schema.job_runs.status = 'running') THEN jobrunner_schema.job_runs.gate ELSE '' END, only_host=%(host)s::VARCHAR FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given WHERE jobrunner_schema.job_runs.id = given.id""",
        {},
        {'given': (('id', None),)},
        (),
    ),
    ('own_runs.gates', ()): (
        """SELECT DISTINCT jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.gate
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = given.id
WHERE jobrunner_schema.job_runs.status != 'running' AND jobrunner_schema.job_runs.gate != '' ORDER BY jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.gate""",
        {},
        {'given': (('id', None),)},
        (('job_type', None), ('gate', None)),
    ),
    ('own_runs.open', ()): (
        """WITH free AS
(SELECT jobrunner_schema.job_claimable_by_host.id AS id
FROM jobrunner_schema.job_claimable_by_host
WHERE jobrunner_schema.job_claimable_by_host.only_host = %(host)s::VARCHAR AND jobrunner_schema.job_claimable_by_host.job_type IN (SELECT given.job_type
FROM (SELECT job_type FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200))) AS given) ORDER BY jobrunner_schema.job_claimable_by_host.turn_at, jobrunner_schema.job_claimable_by_host.run_at, jobrunner_schema.job_claimable_by_host.id
 LIMIT %(limit)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED)
 UPDATE jobrunner_schema.job_runs SET only_host=NULL WHERE jobrunner_schema.job_runs.id IN (SELECT free.id
FROM free) AND jobrunner_schema.job_runs.status != 'running' RETURNING jobrunner_schema.job_runs.id""",
        {},
        {'given': (('job_type', None),)},
        (('id', None),),
    ),
    ('pauses.add', ()): (
        """INSERT INTO jobrunner_schema.job_pauses (kind, name, reason, actor, paused_at) VALUES (%(kind)s::VARCHAR, %(name)s::VARCHAR, %(reason)s::VARCHAR, %(actor)s::VARCHAR, jobrunner_schema.jobrunner_now()) ON CONFLICT DO NOTHING RETURNING jobrunner_schema.job_pauses.paused_at""",
        {},
        {},
        (('paused_at', 'instant'),),
    ),
    ('pauses.listed', ()): (
        """SELECT jobrunner_schema.job_pauses.kind, jobrunner_schema.job_pauses.name, jobrunner_schema.job_pauses.reason, jobrunner_schema.job_pauses.actor, jobrunner_schema.job_pauses.paused_at
FROM jobrunner_schema.job_pauses ORDER BY jobrunner_schema.job_pauses.paused_at, jobrunner_schema.job_pauses.kind, jobrunner_schema.job_pauses.name""",
        {},
        {},
        (('kind', None), ('name', None), ('reason', None), ('actor', None), ('paused_at', 'instant')),
    ),
    ('pauses.remove', ()): (
        """DELETE FROM jobrunner_schema.job_pauses WHERE jobrunner_schema.job_pauses.kind = %(kind)s::VARCHAR AND jobrunner_schema.job_pauses.name = %(name)s::VARCHAR RETURNING jobrunner_schema.job_pauses.paused_at, jobrunner_schema.jobrunner_now() AS now""",
        {},
        {},
        (('paused_at', 'instant'), ('now', 'instant')),
    ),
    ('pauses.running', ('all',)): (
        """SELECT count(*) AS runs
FROM (SELECT jobrunner_schema.job_runs.id AS id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status = 'running'
 LIMIT %(most)s::INTEGER) AS anon_1""",
        {},
        {},
        (('runs', None),),
    ),
    ('pauses.running', ('type',)): (
        """SELECT count(*) AS runs
FROM (SELECT jobrunner_schema.job_runs.id AS id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status = 'running' AND jobrunner_schema.job_runs.job_type = %(name)s::VARCHAR
 LIMIT %(most)s::INTEGER) AS anon_1""",
        {},
        {},
        (('runs', None),),
    ),
    ('pauses.running', ('host',)): (
        """SELECT count(*) AS runs
FROM (SELECT jobrunner_schema.job_runs.id AS id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status = 'running' AND jobrunner_schema.job_runs.host = %(name)s::VARCHAR
 LIMIT %(most)s::INTEGER) AS anon_1""",
        {},
        {},
        (('runs', None),),
    ),
    ('pauses.ticked', ()): (
        """SELECT jobrunner_schema.job_ticks.id
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.host = %(name)s::VARCHAR
 LIMIT %(param_1)s::INTEGER""",
        {'param_1': 1},
        {},
        (('id', None),),
    ),
    ('pauses.waiting', ('all',)): (
        """SELECT count(*) AS runs
FROM (SELECT jobrunner_schema.job_runs.id AS id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status IN ('queued', 'failed')
 LIMIT %(most)s::INTEGER) AS anon_1""",
        {},
        {},
        (('runs', None),),
    ),
    ('pauses.waiting', ('type',)): (
        """SELECT count(*) AS runs
FROM (SELECT jobrunner_schema.job_runs.id AS id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status IN ('queued', 'failed') AND jobrunner_schema.job_runs.job_type = %(name)s::VARCHAR
 LIMIT %(most)s::INTEGER) AS anon_1""",
        {},
        {},
        (('runs', None),),
    ),
    ('retention.count_old', ('ticks',)): (
        """SELECT count(*) AS count_1
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.started_at < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(before)s::FLOAT))""",
        {},
        {},
        (('count', None),),
    ),
    ('retention.count_old', ('events',)): (
        """SELECT count(*) AS count_1
FROM jobrunner_schema.job_events
WHERE jobrunner_schema.job_events.at < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(before)s::FLOAT))""",
        {},
        {},
        (('count', None),),
    ),
    ('retention.count_old_runs', ('every',)): (
        """SELECT jobrunner_schema.job_runs.job_type, count(*) AS rows
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status = %(its_status)s::VARCHAR AND jobrunner_schema.job_runs.finished_at IS NOT NULL AND jobrunner_schema.job_runs.finished_at < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(before)s::FLOAT)) AND (jobrunner_schema.job_runs.scheduled_for IS NULL OR jobrunner_schema.job_runs.scheduled_for < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(before)s::FLOAT))) GROUP BY jobrunner_schema.job_runs.job_type""",
        {},
        {},
        (('job_type', None), ('rows', None)),
    ),
    ('retention.count_old_runs', ('type',)): (
        """SELECT jobrunner_schema.job_runs.job_type, count(*) AS rows
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status = %(its_status)s::VARCHAR AND jobrunner_schema.job_runs.finished_at IS NOT NULL AND jobrunner_schema.job_runs.finished_at < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(before)s::FLOAT)) AND (jobrunner_schema.job_runs.scheduled_for IS NULL OR jobrunner_schema.job_runs.scheduled_for < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(before)s::FLOAT))) AND jobrunner_schema.job_runs.job_type = %(of_type)s::VARCHAR GROUP BY jobrunner_schema.job_runs.job_type""",
        {},
        {},
        (('job_type', None), ('rows', None)),
    ),
    ('retention.count_old_runs', ('others',)): (
        """SELECT jobrunner_schema.job_runs.job_type, count(*) AS rows
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status = %(its_status)s::VARCHAR AND jobrunner_schema.job_runs.finished_at IS NOT NULL AND jobrunner_schema.job_runs.finished_at < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(before)s::FLOAT)) AND (jobrunner_schema.job_runs.scheduled_for IS NULL OR jobrunner_schema.job_runs.scheduled_for < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(before)s::FLOAT))) AND (jobrunner_schema.job_runs.job_type NOT IN (SELECT types.job_type
FROM (SELECT job_type FROM json_to_recordset(CAST(%(types)s::VARCHAR AS JSON)) AS listed(job_type TEXT)) AS types)) GROUP BY jobrunner_schema.job_runs.job_type""",
        {},
        {'types': (('job_type', None),)},
        (('job_type', None), ('rows', None)),
    ),
    ('retention.delete', ('runs',)): (
        """DELETE FROM jobrunner_schema.job_runs WHERE jobrunner_schema.job_runs.id IN (SELECT given.id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given)""",
        {},
        {'given': (('id', None),)},
        (),
    ),
    ('retention.delete', ('ticks',)): (
        """DELETE FROM jobrunner_schema.job_ticks WHERE jobrunner_schema.job_ticks.id IN (SELECT given.id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given)""",
        {},
        {'given': (('id', None),)},
        (),
    ),
    ('retention.delete', ('events',)): (
        """DELETE FROM jobrunner_schema.job_events WHERE jobrunner_schema.job_events.id IN (SELECT given.id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given)""",
        {},
        {'given': (('id', None),)},
        (),
    ),
    ('retention.delete', ('notices',)): (
        """DELETE FROM jobrunner_schema.job_notices WHERE jobrunner_schema.job_notices.id IN (SELECT given.id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given)""",
        {},
        {'given': (('id', None),)},
        (),
    ),
    ('retention.delete_attempts', ()): (
        """DELETE FROM jobrunner_schema.job_attempts WHERE jobrunner_schema.job_attempts.run_id IN (SELECT given.id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given)""",
        {},
        {'given': (('id', None),)},
        (),
    ),
    ('retention.old', ('ticks',)): (
        """SELECT jobrunner_schema.job_ticks.id
FROM jobrunner_schema.job_ticks
WHERE jobrunner_schema.job_ticks.started_at < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(before)s::FLOAT)) ORDER BY jobrunner_schema.job_ticks.started_at
 LIMIT %(limit)s::INTEGER FOR UPDATE SKIP LOCKED""",
        {},
        {},
        (('id', None),),
    ),
    ('retention.old', ('events',)): (
        """SELECT jobrunner_schema.job_events.id
FROM jobrunner_schema.job_events
WHERE jobrunner_schema.job_events.at < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(before)s::FLOAT)) ORDER BY jobrunner_schema.job_events.at
 LIMIT %(limit)s::INTEGER FOR UPDATE SKIP LOCKED""",
        {},
        {},
        (('id', None),),
    ),
    ('retention.old', ('notices',)): (
        """SELECT jobrunner_schema.job_notices.id
FROM jobrunner_schema.job_notices
WHERE jobrunner_schema.job_notices.at < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(before)s::FLOAT)) ORDER BY jobrunner_schema.job_notices.at
 LIMIT %(limit)s::INTEGER FOR UPDATE SKIP LOCKED""",
        {},
        {},
        (('id', None),),
    ),
    ('retention.old_runs', ('every',)): (
        """SELECT jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.finished_at
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status = %(its_status)s::VARCHAR AND jobrunner_schema.job_runs.finished_at IS NOT NULL AND jobrunner_schema.job_runs.finished_at < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(before)s::FLOAT)) AND (jobrunner_schema.job_runs.scheduled_for IS NULL OR jobrunner_schema.job_runs.scheduled_for < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(before)s::FLOAT))) AND jobrunner_schema.job_runs.finished_at >= %(after)s::TIMESTAMP WITH TIME ZONE AND (jobrunner_schema.job_runs.id NOT IN (SELECT given.id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given)) ORDER BY jobrunner_schema.job_runs.finished_at
 LIMIT %(limit)s::INTEGER FOR UPDATE SKIP LOCKED""",
        {},
        {'after': 'instant', 'given': (('id', None),)},
        (('id', None), ('job_type', None), ('finished_at', 'instant')),
    ),
    ('retention.old_runs', ('type',)): (
        """SELECT jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.finished_at
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status = %(its_status)s::VARCHAR AND jobrunner_schema.job_runs.finished_at IS NOT NULL AND jobrunner_schema.job_runs.finished_at < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(before)s::FLOAT)) AND (jobrunner_schema.job_runs.scheduled_for IS NULL OR jobrunner_schema.job_runs.scheduled_for < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(before)s::FLOAT))) AND jobrunner_schema.job_runs.finished_at >= %(after)s::TIMESTAMP WITH TIME ZONE AND (jobrunner_schema.job_runs.id NOT IN (SELECT given.id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given)) AND jobrunner_schema.job_runs.job_type = %(of_type)s::VARCHAR ORDER BY jobrunner_schema.job_runs.finished_at
 LIMIT %(limit)s::INTEGER FOR UPDATE SKIP LOCKED""",
        {},
        {'after': 'instant', 'given': (('id', None),)},
        (('id', None), ('job_type', None), ('finished_at', 'instant')),
    ),
    ('retention.old_runs', ('others',)): (
        """SELECT jobrunner_schema.job_runs.id, jobrunner_schema.job_runs.job_type, jobrunner_schema.job_runs.finished_at
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status = %(its_status)s::VARCHAR AND jobrunner_schema.job_runs.finished_at IS NOT NULL AND jobrunner_schema.job_runs.finished_at < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(before)s::FLOAT)) AND (jobrunner_schema.job_runs.scheduled_for IS NULL OR jobrunner_schema.job_runs.scheduled_for < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(before)s::FLOAT))) AND jobrunner_schema.job_runs.finished_at >= %(after)s::TIMESTAMP WITH TIME ZONE AND (jobrunner_schema.job_runs.id NOT IN (SELECT given.id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given)) AND (jobrunner_schema.job_runs.job_type NOT IN (SELECT types.job_type
FROM (SELECT job_type FROM json_to_recordset(CAST(%(types)s::VARCHAR AS JSON)) AS listed(job_type TEXT)) AS types)) ORDER BY jobrunner_schema.job_runs.finished_at
 LIMIT %(limit)s::INTEGER FOR UPDATE SKIP LOCKED""",
        {},
        {'after': 'instant', 'given': (('id', None),), 'types': (('job_type', None),)},
        (('id', None), ('job_type', None), ('finished_at', 'instant')),
    ),
    ('schedules.definition', ()): (
        """SELECT jobrunner_schema.job_definitions.id, jobrunner_schema.job_definitions.name, jobrunner_schema.job_definitions.job_type, jobrunner_schema.job_definitions.payload, jobrunner_schema.job_definitions.schedule, jobrunner_schema.job_definitions.timezone, jobrunner_schema.job_definitions.source, jobrunner_schema.job_definitions.application, jobrunner_schema.job_definitions.description, jobrunner_schema.job_definitions.misfire, jobrunner_schema.job_definitions.misfire_window, jobrunner_schema.job_definitions.misfire_most, jobrunner_schema.job_definitions.overlap, jobrunner_schema.job_definitions.start_deadline, jobrunner_schema.job_definitions.jitter, jobrunner_schema.job_definitions.ends_at, jobrunner_schema.job_definitions.max_runs, jobrunner_schema.job_definitions.runs_made, jobrunner_schema.job_definitions.last_slot_at, jobrunner_schema.job_definitions.next_run_at, jobrunner_schema.job_definitions.paused_at, jobrunner_schema.job_definitions.removed_at, jobrunner_schema.job_definitions.last_error, jobrunner_schema.job_definitions.created_at, jobrunner_schema.job_definitions.updated_at, jobrunner_schema.job_definitions."on", jobrunner_schema.job_definitions.host, jobrunner_schema.job_definitions.template, jobrunner_schema.jobrunner_now() AS now
FROM jobrunner_schema.job_definitions
WHERE jobrunner_schema.job_definitions.id = %(definition_id)s::BIGINT""",
        {},
        {},
        (('id', None), ('name', None), ('job_type', None), ('payload', 'json'), ('schedule', None), ('timezone', None), ('source', None), ('application', None), ('description', None), ('misfire', None), ('misfire_window', None), ('misfire_most', None), ('overlap', None), ('start_deadline', None), ('jitter', None), ('ends_at', 'instant'), ('max_runs', None), ('runs_made', None), ('last_slot_at', 'instant'), ('next_run_at', 'instant'), ('paused_at', 'instant'), ('removed_at', 'instant'), ('last_error', None), ('created_at', 'instant'), ('updated_at', 'instant'), ('on', None), ('host', None), ('template', None), ('now', 'instant')),
    ),
    ('schedules.is_any_expandable', ()): (
        """SELECT (EXISTS (SELECT jobrunner_schema.job_expandable.id
FROM jobrunner_schema.job_expandable)) OR (EXISTS (SELECT jobrunner_schema.job_expandable_by_host.id
FROM jobrunner_schema.job_expandable_by_host
WHERE jobrunner_schema.job_expandable_by_host.host = %(host)s::VARCHAR)) AS is_any_expandable""",
        {},
        {},
        (('is_any_expandable', 'boolean'),),
    ),
    ('schedules.set_problem', ()): (
        """UPDATE jobrunner_schema.job_definitions SET last_error=%(problem)s::VARCHAR, updated_at=%(at)s::TIMESTAMP WITH TIME ZONE WHERE jobrunner_schema.job_definitions.id = %(definition_id)s::BIGINT""",
        {},
        {'at': 'instant'},
        (),
    ),
    ('set_limits.add', ()): (
        """INSERT INTO jobrunner_schema.job_set_limits (job_type, max_running, rate, burst, reason, actor, set_at, ends_at) VALUES (%(of_type)s::VARCHAR, %(max_running)s::INTEGER, %(rate)s::VARCHAR, %(burst)s::INTEGER, %(reason)s::VARCHAR, %(actor)s::VARCHAR, jobrunner_schema.jobrunner_now(), %(ends_at)s::TIMESTAMP WITH TIME ZONE) ON CONFLICT (job_type) DO UPDATE SET max_running = %(max_running)s::INTEGER, rate = %(rate)s::VARCHAR, burst = %(burst)s::INTEGER, reason = %(reason)s::VARCHAR, actor = %(actor)s::VARCHAR, set_at = jobrunner_schema.jobrunner_now(), ends_at = %(ends_at)s::TIMESTAMP WITH TIME ZONE RETURNING jobrunner_schema.job_set_limits.set_at, jobrunner_schema.job_set_limits.ends_at""",
        {},
        {'ends_at': 'instant'},
        (('set_at', 'instant'), ('ends_at', 'instant')),
    ),
    ('set_limits.claimers', ()): (
        """SELECT jobrunner_schema.job_locks.name
FROM jobrunner_schema.job_locks
WHERE jobrunner_schema.job_locks.name LIKE 'places of %%' ORDER BY jobrunner_schema.job_locks.name""",
        {},
        {},
        (('name', None),),
    ),
    ('set_limits.end', ()): (
        """UPDATE jobrunner_schema.job_set_limits SET ends_at=jobrunner_schema.jobrunner_now() WHERE jobrunner_schema.job_set_limits.job_type = %(of_type)s::VARCHAR AND (jobrunner_schema.job_set_limits.ends_at IS NULL OR jobrunner_schema.job_set_limits.ends_at > jobrunner_schema.jobrunner_now()) RETURNING jobrunner_schema.job_set_limits.ends_at""",
        {},
        {},
        (('ends_at', 'instant'),),
    ),
    ('set_limits.forget', ()): (
        """DELETE FROM jobrunner_schema.job_set_limits WHERE jobrunner_schema.job_set_limits.job_type = %(of_type)s::VARCHAR AND NOT (jobrunner_schema.job_set_limits.ends_at IS NULL OR jobrunner_schema.job_set_limits.ends_at > jobrunner_schema.jobrunner_now())""",
        {},
        {},
        (),
    ),
    ('set_limits.hold_claimers', ()): (
        """SELECT jobrunner_schema.job_locks.name
FROM jobrunner_schema.job_locks
WHERE jobrunner_schema.job_locks.name LIKE 'places of %%' ORDER BY jobrunner_schema.job_locks.name FOR UPDATE SKIP LOCKED""",
        {},
        {},
        (('name', None),),
    ),
    ('set_limits.listed', ()): (
        """SELECT jobrunner_schema.job_set_limits.job_type, jobrunner_schema.job_set_limits.max_running, jobrunner_schema.job_set_limits.rate, jobrunner_schema.job_set_limits.burst, jobrunner_schema.job_set_limits.reason, jobrunner_schema.job_set_limits.actor, jobrunner_schema.job_set_limits.set_at, jobrunner_schema.job_set_limits.ends_at
FROM jobrunner_schema.job_set_limits
WHERE jobrunner_schema.job_set_limits.ends_at IS NULL OR jobrunner_schema.job_set_limits.ends_at > jobrunner_schema.jobrunner_now() ORDER BY jobrunner_schema.job_set_limits.set_at, jobrunner_schema.job_set_limits.job_type""",
        {},
        {},
        (('job_type', None), ('max_running', None), ('rate', None), ('burst', None), ('reason', None), ('actor', None), ('set_at', 'instant'), ('ends_at', 'instant')),
    ),
    ('set_limits.lock_type', ()): (
        """INSERT INTO jobrunner_schema.job_limits (job_type) VALUES (%(of_type)s::VARCHAR) ON CONFLICT (job_type) DO UPDATE SET opens_at = NULL, asked_at = NULL""",
        {},
        {},
        (),
    ),
    ('strays.dependants', (False,)): (
        """SELECT jobrunner_schema.job_stray_dependants.id
FROM jobrunner_schema.job_stray_dependants""",
        {},
        {},
        (('id', None),),
    ),
    ('strays.dependants', (True,)): (
        """SELECT jobrunner_schema.job_runs.id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status IN ('queued', 'failed') AND releases >= 0 AND gate <> '' AND jobrunner_schema.job_runs.gate = 'after' AND (SELECT jobrunner_schema.job_parents.run_id
FROM jobrunner_schema.job_parents
WHERE jobrunner_schema.job_parents.run_id = jobrunner_schema.job_runs.id
 LIMIT 1) IS NULL""",
        {},
        {},
        (('id', None),),
    ),
    ('strays.free', ('postgresql',)): (
        """WITH picked AS
(SELECT behind.id AS id
FROM (SELECT job_type, gate FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), gate VARCHAR(600))) AS given JOIN LATERAL (SELECT jobrunner_schema.job_runs.id AS id
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.job_type = given.job_type AND jobrunner_schema.job_runs.gate = given.gate AND jobrunner_schema.job_runs.status IN ('queued', 'failed')
 LIMIT %(limit)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS behind ON true
 LIMIT %(limit)s::INTEGER)
 UPDATE jobrunner_schema.job_runs SET gate=CASE WHEN ((SELECT jobrunner_schema.job_parents.run_id
FROM jobrunner_schema.job_parents
WHERE jobrunner_schema.job_parents.run_id = jobrunner_schema.job_runs.id
 LIMIT 1) IS NOT NULL) THEN 'after' ELSE '' END WHERE jobrunner_schema.job_runs.id IN (SELECT picked.id
FROM picked) AND jobrunner_schema.job_runs.status != 'running' RETURNING jobrunner_schema.job_runs.id""",
        {},
        {'given': (('job_type', None), ('gate', None))},
        (('id', None),),
    ),
    ('strays.free_dependants', ()): (
        """WITH picked AS
(SELECT jobrunner_schema.job_runs.id AS id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = given.id
WHERE jobrunner_schema.job_runs.finished_at IS NULL AND jobrunner_schema.job_runs.lease_token IS NULL AND coalesce(jobrunner_schema.job_runs.gate, '') = 'after' AND (SELECT jobrunner_schema.job_parents.run_id
FROM jobrunner_schema.job_parents
WHERE jobrunner_schema.job_parents.run_id = jobrunner_schema.job_runs.id
 LIMIT 1) IS NULL FOR NO KEY UPDATE OF job_runs SKIP LOCKED)
 UPDATE jobrunner_schema.job_runs SET gate='' WHERE jobrunner_schema.job_runs.id IN (SELECT picked.id
FROM picked) AND jobrunner_schema.job_runs.status != 'running' RETURNING jobrunner_schema.job_runs.id""",
        {},
        {'given': (('id', None),)},
        (('id', None),),
    ),
    ('strays.gates', (False,)): (
        """SELECT jobrunner_schema.job_stray_gates.job_type, jobrunner_schema.job_stray_gates.gate
FROM jobrunner_schema.job_stray_gates""",
        {},
        {},
        (('job_type', None), ('gate', None)),
    ),
    ('strays.gates', (True,)): (
        """SELECT jobrunner_schema.job_waited_gates.job_type, jobrunner_schema.job_waited_gates.gate
FROM jobrunner_schema.job_waited_gates
WHERE NOT jobrunner_schema.job_waited_gates.is_seen""",
        {},
        {},
        (('job_type', None), ('gate', None)),
    ),
    ('strays.is_any_behind', ()): (
        """SELECT (SELECT jobrunner_schema.job_runs.gate
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status IN ('queued', 'failed') AND releases >= 0 AND gate <> '' ORDER BY jobrunner_schema.job_runs.gate, jobrunner_schema.job_runs.id
 LIMIT 1) IS NOT NULL AS is_any_behind""",
        {},
        {},
        (('is_any_behind', 'boolean'),),
    ),
    ('strays.settle', ()): (
        """WITH found AS
(SELECT jobrunner_schema.job_gates.job_type AS job_type, jobrunner_schema.job_gates.gate AS gate
FROM (SELECT job_type, gate FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), gate VARCHAR(600))) AS given JOIN jobrunner_schema.job_gates ON jobrunner_schema.job_gates.job_type = given.job_type AND jobrunner_schema.job_gates.gate = given.gate FOR UPDATE OF job_gates SKIP LOCKED)
 UPDATE jobrunner_schema.job_gates SET turn_at=(SELECT jobrunner_schema.job_runs.turn_at
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.job_type = jobrunner_schema.job_gates.job_type AND jobrunner_schema.job_runs.gate = jobrunner_schema.job_gates.gate AND jobrunner_schema.job_runs.status IN ('queued', 'failed') ORDER BY jobrunner_schema.job_runs.turn_at, jobrunner_schema.job_runs.run_at, jobrunner_schema.job_runs.id
 LIMIT %(param_1)s::INTEGER) FROM found WHERE jobrunner_schema.job_gates.job_type = found.job_type AND jobrunner_schema.job_gates.gate = found.gate""",
        {'param_1': 1},
        {'given': (('job_type', None), ('gate', None))},
        (),
    ),
    ('tallies.add', ()): (
        """INSERT INTO jobrunner_schema.job_tallies (at, span, job_type, outcome, status, ends, waited, longest_wait, ran, longest_run, waits, runs, is_in_totals, processor, most_processor, processors, most_memory, memories) SELECT given.at, given.span, given.job_type, given.outcome, given.status, given.ends, given.waited, given.longest_wait, given.ran, given.longest_run, given.waits, given.runs, given.is_in_totals, given.processor, given.most_processor, given.processors, given.most_memory, given.memories
FROM (SELECT at, span, job_type, outcome, status, ends, waited, longest_wait, ran, longest_run, CAST(waits AS JSONB) AS waits, CAST(runs AS JSONB) AS runs, is_in_totals, processor, most_processor, CAST(processors AS JSONB) AS processors, most_memory, CAST(memories AS JSONB) AS memories FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(at TIMESTAMP WITH TIME ZONE, span VARCHAR(10), job_type VARCHAR(200), outcome VARCHAR(20), status VARCHAR(20), ends BIGINT, waited FLOAT(53), longest_wait FLOAT(53), ran FLOAT(53), longest_run FLOAT(53), waits TEXT, runs TEXT, is_in_totals INTEGER, processor FLOAT(53), most_processor FLOAT(53), processors TEXT, most_memory BIGINT, memories TEXT)) AS given""",
        {},
        {'given': (('at', 'instant'), ('span', None), ('job_type', None), ('outcome', None), ('status', None), ('ends', None), ('waited', None), ('longest_wait', None), ('ran', None), ('longest_run', None), ('waits', 'json'), ('runs', 'json'), ('is_in_totals', None), ('processor', None), ('most_processor', None), ('processors', 'json'), ('most_memory', None), ('memories', 'json'))},
        (),
    ),
    ('tallies.add_ends', ()): (
        """INSERT INTO jobrunner_schema.job_tallies (at, span, job_type, outcome, status, ends, waited, longest_wait, ran, longest_run, waits, runs) SELECT date_trunc('hour', jobrunner_schema.jobrunner_now(), 'UTC') AS anon_1, 'hour', given.job_type, '', given.status, given.ends, 0.0, 0.0, 0.0, 0.0, '[]', '[]'
FROM (SELECT job_type, status, ends FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), status VARCHAR(20), ends BIGINT)) AS given""",
        {},
        {'given': (('job_type', None), ('status', None), ('ends', None))},
        (),
    ),
    ('tallies.clock', ()): (
        """SELECT jobrunner_schema.jobrunner_now() AS now""",
        {},
        {},
        (('now', 'instant'),),
    ),
    ('tallies.delete', ()): (
        """DELETE FROM jobrunner_schema.job_tallies WHERE jobrunner_schema.job_tallies.id IN (SELECT given.id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given)""",
        {},
        {'given': (('id', None),)},
        (),
    ),
    ('tallies.delete_old_days', ()): (
        """DELETE FROM jobrunner_schema.job_tallies WHERE jobrunner_schema.job_tallies.span = 'day' AND jobrunner_schema.job_tallies.at < %(before)s::TIMESTAMP WITH TIME ZONE""",
        {},
        {'before': 'instant'},
        (),
    ),
    ('tallies.ended', ()): (
        """SELECT each.at, each.job_type, each.outcome, each.status, CASE WHEN (each.waited <= 0.001) THEN 0 WHEN (each.waited <= 0.002) THEN 1 WHEN (each.waited <= 0.005) THEN 2 WHEN (each.waited <= 0.01) THEN 3 WHEN (each.waited <= 0.02) THEN 4 WHEN (each.waited <= 0.05) THEN 5 WHEN (each.waited <= 0.1) THEN 6 WHEN (each.waited <= 0.2) THEN 7 WHEN (each.waited <= 0.5) THEN 8 WHEN (each.waited <= 1) THEN 9 WHEN (each.waited <= 2) THEN 10 WHEN (each.waited <= 5) THEN 11 WHEN (each.waited <= 10) THEN 12 WHEN (each.waited <= 20) THEN 13 WHEN (each.waited <= 50) THEN 14 WHEN (each.waited <= 100) THEN 15 WHEN (each.waited <= 200) THEN 16 WHEN (each.waited <= 500) THEN 17 WHEN (each.waited <= 1000) THEN 18 WHEN (each.waited <= 2000) THEN 19 WHEN (each.waited <= 5000) THEN 20 WHEN (each.waited <= 10000) THEN 21 WHEN (each.waited <= 20000) THEN 22 WHEN (each.waited <= 50000) THEN 23 WHEN (each.waited IS NOT NULL) THEN 24 END AS wait_bin, CASE WHEN (each.ran <= 0.001) THEN 0 WHEN (each.ran <= 0.002) THEN 1 WHEN (each.ran <= 0.005) THEN 2 WHEN (each.ran <= 0.01) THEN 3 WHEN (each.ran <= 0.02) THEN 4 WHEN (each.ran <= 0.05) THEN 5 WHEN (each.ran <= 0.1) THEN 6 WHEN (each.ran <= 0.2) THEN 7 WHEN (each.ran <= 0.5) THEN 8 WHEN (each.ran <= 1) THEN 9 WHEN (each.ran <= 2) THEN 10 WHEN (each.ran <= 5) THEN 11 WHEN (each.ran <= 10) THEN 12 WHEN (each.ran <= 20) THEN 13 WHEN (each.ran <= 50) THEN 14 WHEN (each.ran <= 100) THEN 15 WHEN (each.ran <= 200) THEN 16 WHEN (each.ran <= 500) THEN 17 WHEN (each.ran <= 1000) THEN 18 WHEN (each.ran <= 2000) THEN 19 WHEN (each.ran <= 5000) THEN 20 WHEN (each.ran <= 10000) THEN 21 WHEN (each.ran <= 20000) THEN 22 WHEN (each.ran <= 50000) THEN 23 WHEN (each.ran IS NOT NULL) THEN 24 END AS run_bin, CASE WHEN (each.processor_seconds <= 0.001) THEN 0 WHEN (each.processor_seconds <= 0.002) THEN 1 WHEN (each.processor_seconds <= 0.005) THEN 2 WHEN (each.processor_seconds <= 0.01) THEN 3 WHEN (each.processor_seconds <= 0.02) THEN 4 WHEN (each.processor_seconds <= 0.05) THEN 5 WHEN (each.processor_seconds <= 0.1) THEN 6 WHEN (each.processor_seconds <= 0.2) THEN 7 WHEN (each.processor_seconds <= 0.5) THEN 8 WHEN (each.processor_seconds <= 1) THEN 9 WHEN (each.processor_seconds <= 2) THEN 10 WHEN (each.processor_seconds <= 5) THEN 11 WHEN (each.processor_seconds <= 10) THEN 12 WHEN (each.processor_seconds <= 20) THEN 13 WHEN (each.processor_seconds <= 50) THEN 14 WHEN (each.processor_seconds <= 100) THEN 15 WHEN (each.processor_seconds <= 200) THEN 16 WHEN (each.processor_seconds <= 500) THEN 17 WHEN (each.processor_seconds <= 1000) THEN 18 WHEN (each.processor_seconds <= 2000) THEN 19 WHEN (each.processor_seconds <= 5000) THEN 20 WHEN (each.processor_seconds <= 10000) THEN 21 WHEN (each.processor_seconds <= 20000) THEN 22 WHEN (each.processor_seconds <= 50000) THEN 23 WHEN (each.processor_seconds IS NOT NULL) THEN 24 END AS processor_bin, CASE WHEN (each.peak_memory_bytes <= 1048576) THEN 0 WHEN (each.peak_memory_bytes <= 2097152) THEN 1 WHEN (each.peak_memory_bytes <= 4194304) THEN 2 WHEN (each.peak_memory_bytes <= 8388608) THEN 3 WHEN (each.peak_memory_bytes <= 16777216) THEN 4 WHEN (each.peak_memory_bytes <= 33554432) THEN 5 WHEN (each.peak_memory_bytes <= 67108864) THEN 6 WHEN (each.peak_memory_bytes <= 134217728) THEN 7 WHEN (each.peak_memory_bytes <= 268435456) THEN 8 WHEN (each.peak_memory_bytes <= 536870912) THEN 9 WHEN (each.peak_memory_bytes <= 1073741824) THEN 10 WHEN (each.peak_memory_bytes <= 2147483648) THEN 11 WHEN (each.peak_memory_bytes <= 4294967296) THEN 12 WHEN (each.peak_memory_bytes <= 8589934592) THEN 13 WHEN (each.peak_memory_bytes <= 17179869184) THEN 14 WHEN (each.peak_memory_bytes <= 34359738368) THEN 15 WHEN (each.peak_memory_bytes <= 68719476736) THEN 16 WHEN (each.peak_memory_bytes <= 137438953472) THEN 17 WHEN (each.peak_memory_bytes <= 274877906944) THEN 18 WHEN (each.peak_memory_bytes <= 549755813888) THEN 19 WHEN (each.peak_memory_bytes <= 1099511627776) THEN 20 WHEN (each.peak_memory_bytes IS NOT NULL) THEN 21 END AS memory_bin, count(*) AS ends, sum(each.waited) AS waited, max(each.waited) AS longest_wait, sum(each.ran) AS ran, max(each.ran) AS longest_run, coalesce(sum(each.processor_seconds), 0.0) AS processor, coalesce(max(each.processor_seconds), 0.0) AS most_processor, coalesce(max(each.peak_memory_bytes), 0) AS most_memory
FROM (SELECT date_trunc('hour', jobrunner_schema.job_attempts.finished_at, 'UTC') AS at, jobrunner_schema.job_runs.job_type AS job_type, jobrunner_schema.job_attempts.outcome AS outcome, coalesce(jobrunner_schema.job_attempts.status, '') AS status, CASE WHEN (coalesce(CAST(EXTRACT(epoch FROM (jobrunner_schema.job_attempts.started_at - jobrunner_schema.job_attempts.due_at)) AS DOUBLE PRECISION), 0.0) < 0.0) THEN 0.0 ELSE coalesce(CAST(EXTRACT(epoch FROM (jobrunner_schema.job_attempts.started_at - jobrunner_schema.job_attempts.due_at)) AS DOUBLE PRECISION), 0.0) END AS waited, CASE WHEN (CAST(EXTRACT(epoch FROM (jobrunner_schema.job_attempts.finished_at - jobrunner_schema.job_attempts.started_at)) AS DOUBLE PRECISION) < 0.0) THEN 0.0 ELSE CAST(EXTRACT(epoch FROM (jobrunner_schema.job_attempts.finished_at - jobrunner_schema.job_attempts.started_at)) AS DOUBLE PRECISION) END AS ran, jobrunner_schema.job_attempts.processor_seconds AS processor_seconds, jobrunner_schema.job_attempts.peak_memory_bytes AS peak_memory_bytes
FROM jobrunner_schema.job_attempts JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = jobrunner_schema.job_attempts.run_id
WHERE jobrunner_schema.job_attempts.id > %(after)s::BIGINT AND jobrunner_schema.job_attempts.id <= %(upto)s::BIGINT
 LIMIT ALL OFFSET 0) AS each GROUP BY each.at, each.job_type, each.outcome, each.status, CASE WHEN (each.waited <= 0.001) THEN 0 WHEN (each.waited <= 0.002) THEN 1 WHEN (each.waited <= 0.005) THEN 2 WHEN (each.waited <= 0.01) THEN 3 WHEN (each.waited <= 0.02) THEN 4 WHEN (each.waited <= 0.05) THEN 5 WHEN (each.waited <= 0.1) THEN 6 WHEN (each.waited <= 0.2) THEN 7 WHEN (each.waited <= 0.5) THEN 8 WHEN (each.waited <= 1) THEN 9 WHEN (each.waited <= 2) THEN 10 WHEN (each.waited <= 5) THEN 11 WHEN (each.waited <= 10) THEN 12 WHEN (each.waited <= 20) THEN 13 WHEN (each.waited <= 50) THEN 14 WHEN (each.waited <= 100) THEN 15 WHEN (each.waited <= 200) THEN 16 WHEN (each.waited <= 500) THEN 17 WHEN (each.waited <= 1000) THEN 18 WHEN (each.waited <= 2000) THEN 19 WHEN (each.waited <= 5000) THEN 20 WHEN (each.waited <= 10000) THEN 21 WHEN (each.waited <= 20000) THEN 22 WHEN (each.waited <= 50000) THEN 23 WHEN (each.waited IS NOT NULL) THEN 24 END, CASE WHEN (each.ran <= 0.001) THEN 0 WHEN (each.ran <= 0.002) THEN 1 WHEN (each.ran <= 0.005) THEN 2 WHEN (each.ran <= 0.01) THEN 3 WHEN (each.ran <= 0.02) THEN 4 WHEN (each.ran <= 0.05) THEN 5 WHEN (each.ran <= 0.1) THEN 6 WHEN (each.ran <= 0.2) THEN 7 WHEN (each.ran <= 0.5) THEN 8 WHEN (each.ran <= 1) THEN 9 WHEN (each.ran <= 2) THEN 10 WHEN (each.ran <= 5) THEN 11 WHEN (each.ran <= 10) THEN 12 WHEN (each.ran <= 20) THEN 13 WHEN (each.ran <= 50) THEN 14 WHEN (each.ran <= 100) THEN 15 WHEN (each.ran <= 200) THEN 16 WHEN (each.ran <= 500) THEN 17 WHEN (each.ran <= 1000) THEN 18 WHEN (each.ran <= 2000) THEN 19 WHEN (each.ran <= 5000) THEN 20 WHEN (each.ran <= 10000) THEN 21 WHEN (each.ran <= 20000) THEN 22 WHEN (each.ran <= 50000) THEN 23 WHEN (each.ran IS NOT NULL) THEN 24 END, CASE WHEN (each.processor_seconds <= 0.001) THEN 0 WHEN (each.processor_seconds <= 0.002) THEN 1 WHEN (each.processor_seconds <= 0.005) THEN 2 WHEN (each.processor_seconds <= 0.01) THEN 3 WHEN (each.processor_seconds <= 0.02) THEN 4 WHEN (each.processor_seconds <= 0.05) THEN 5 WHEN (each.processor_seconds <= 0.1) THEN 6 WHEN (each.processor_seconds <= 0.2) THEN 7 WHEN (each.processor_seconds <= 0.5) THEN 8 WHEN (each.processor_seconds <= 1) THEN 9 WHEN (each.processor_seconds <= 2) THEN 10 WHEN (each.processor_seconds <= 5) THEN 11 WHEN (each.processor_seconds <= 10) THEN 12 WHEN (each.processor_seconds <= 20) THEN 13 WHEN (each.processor_seconds <= 50) THEN 14 WHEN (each.processor_seconds <= 100) THEN 15 WHEN (each.processor_seconds <= 200) THEN 16 WHEN (each.processor_seconds <= 500) THEN 17 WHEN (each.processor_seconds <= 1000) THEN 18 WHEN (each.processor_seconds <= 2000) THEN 19 WHEN (each.processor_seconds <= 5000) THEN 20 WHEN (each.processor_seconds <= 10000) THEN 21 WHEN (each.processor_seconds <= 20000) THEN 22 WHEN (each.processor_seconds <= 50000) THEN 23 WHEN (each.processor_seconds IS NOT NULL) THEN 24 END, CASE WHEN (each.peak_memory_bytes <= 1048576) THEN 0 WHEN (each.peak_memory_bytes <= 2097152) THEN 1 WHEN (each.peak_memory_bytes <= 4194304) THEN 2 WHEN (each.peak_memory_bytes <= 8388608) THEN 3 WHEN (each.peak_memory_bytes <= 16777216) THEN 4 WHEN (each.peak_memory_bytes <= 33554432) THEN 5 WHEN (each.peak_memory_bytes <= 67108864) THEN 6 WHEN (each.peak_memory_bytes <= 134217728) THEN 7 WHEN (each.peak_memory_bytes <= 268435456) THEN 8 WHEN (each.peak_memory_bytes <= 536870912) THEN 9 WHEN (each.peak_memory_bytes <= 1073741824) THEN 10 WHEN (each.peak_memory_bytes <= 2147483648) THEN 11 WHEN (each.peak_memory_bytes <= 4294967296) THEN 12 WHEN (each.peak_memory_bytes <= 8589934592) THEN 13 WHEN (each.peak_memory_bytes <= 17179869184) THEN 14 WHEN (each.peak_memory_bytes <= 34359738368) THEN 15 WHEN (each.peak_memory_bytes <= 68719476736) THEN 16 WHEN (each.peak_memory_bytes <= 137438953472) THEN 17 WHEN (each.peak_memory_bytes <= 274877906944) THEN 18 WHEN (each.peak_memory_bytes <= 549755813888) THEN 19 WHEN (each.peak_memory_bytes <= 1099511627776) THEN 20 WHEN (each.peak_memory_bytes IS NOT NULL) THEN 21 END""",
        {},
        {},
        (('at', 'instant'), ('job_type', None), ('outcome', None), ('status', None), ('wait_bin', None), ('run_bin', None), ('processor_bin', None), ('memory_bin', None), ('ends', None), ('waited', None), ('longest_wait', None), ('ran', None), ('longest_run', None), ('processor', None), ('most_processor', None), ('most_memory', None)),
    ),
    ('tallies.ended_of_runs', ()): (
        """SELECT each.at, each.job_type, each.outcome, each.status, CASE WHEN (each.waited <= 0.001) THEN 0 WHEN (each.waited <= 0.002) THEN 1 WHEN (each.waited <= 0.005) THEN 2 WHEN (each.waited <= 0.01) THEN 3 WHEN (each.waited <= 0.02) THEN 4 WHEN (each.waited <= 0.05) THEN 5 WHEN (each.waited <= 0.1) THEN 6 WHEN (each.waited <= 0.2) THEN 7 WHEN (each.waited <= 0.5) THEN 8 WHEN (each.waited <= 1) THEN 9 WHEN (each.waited <= 2) THEN 10 WHEN (each.waited <= 5) THEN 11 WHEN (each.waited <= 10) THEN 12 WHEN (each.waited <= 20) THEN 13 WHEN (each.waited <= 50) THEN 14 WHEN (each.waited <= 100) THEN 15 WHEN (each.waited <= 200) THEN 16 WHEN (each.waited <= 500) THEN 17 WHEN (each.waited <= 1000) THEN 18 WHEN (each.waited <= 2000) THEN 19 WHEN (each.waited <= 5000) THEN 20 WHEN (each.waited <= 10000) THEN 21 WHEN (each.waited <= 20000) THEN 22 WHEN (each.waited <= 50000) THEN 23 WHEN (each.waited IS NOT NULL) THEN 24 END AS wait_bin, CASE WHEN (each.ran <= 0.001) THEN 0 WHEN (each.ran <= 0.002) THEN 1 WHEN (each.ran <= 0.005) THEN 2 WHEN (each.ran <= 0.01) THEN 3 WHEN (each.ran <= 0.02) THEN 4 WHEN (each.ran <= 0.05) THEN 5 WHEN (each.ran <= 0.1) THEN 6 WHEN (each.ran <= 0.2) THEN 7 WHEN (each.ran <= 0.5) THEN 8 WHEN (each.ran <= 1) THEN 9 WHEN (each.ran <= 2) THEN 10 WHEN (each.ran <= 5) THEN 11 WHEN (each.ran <= 10) THEN 12 WHEN (each.ran <= 20) THEN 13 WHEN (each.ran <= 50) THEN 14 WHEN (each.ran <= 100) THEN 15 WHEN (each.ran <= 200) THEN 16 WHEN (each.ran <= 500) THEN 17 WHEN (each.ran <= 1000) THEN 18 WHEN (each.ran <= 2000) THEN 19 WHEN (each.ran <= 5000) THEN 20 WHEN (each.ran <= 10000) THEN 21 WHEN (each.ran <= 20000) THEN 22 WHEN (each.ran <= 50000) THEN 23 WHEN (each.ran IS NOT NULL) THEN 24 END AS run_bin, CASE WHEN (each.processor_seconds <= 0.001) THEN 0 WHEN (each.processor_seconds <= 0.002) THEN 1 WHEN (each.processor_seconds <= 0.005) THEN 2 WHEN (each.processor_seconds <= 0.01) THEN 3 WHEN (each.processor_seconds <= 0.02) THEN 4 WHEN (each.processor_seconds <= 0.05) THEN 5 WHEN (each.processor_seconds <= 0.1) THEN 6 WHEN (each.processor_seconds <= 0.2) THEN 7 WHEN (each.processor_seconds <= 0.5) THEN 8 WHEN (each.processor_seconds <= 1) THEN 9 WHEN (each.processor_seconds <= 2) THEN 10 WHEN (each.processor_seconds <= 5) THEN 11 WHEN (each.processor_seconds <= 10) THEN 12 WHEN (each.processor_seconds <= 20) THEN 13 WHEN (each.processor_seconds <= 50) THEN 14 WHEN (each.processor_seconds <= 100) THEN 15 WHEN (each.processor_seconds <= 200) THEN 16 WHEN (each.processor_seconds <= 500) THEN 17 WHEN (each.processor_seconds <= 1000) THEN 18 WHEN (each.processor_seconds <= 2000) THEN 19 WHEN (each.processor_seconds <= 5000) THEN 20 WHEN (each.processor_seconds <= 10000) THEN 21 WHEN (each.processor_seconds <= 20000) THEN 22 WHEN (each.processor_seconds <= 50000) THEN 23 WHEN (each.processor_seconds IS NOT NULL) THEN 24 END AS processor_bin, CASE WHEN (each.peak_memory_bytes <= 1048576) THEN 0 WHEN (each.peak_memory_bytes <= 2097152) THEN 1 WHEN (each.peak_memory_bytes <= 4194304) THEN 2 WHEN (each.peak_memory_bytes <= 8388608) THEN 3 WHEN (each.peak_memory_bytes <= 16777216) THEN 4 WHEN (each.peak_memory_bytes <= 33554432) THEN 5 WHEN (each.peak_memory_bytes <= 67108864) THEN 6 WHEN (each.peak_memory_bytes <= 134217728) THEN 7 WHEN (each.peak_memory_bytes <= 268435456) THEN 8 WHEN (each.peak_memory_bytes <= 536870912) THEN 9 WHEN (each.peak_memory_bytes <= 1073741824) THEN 10 WHEN (each.peak_memory_bytes <= 2147483648) THEN 11 WHEN (each.peak_memory_bytes <= 4294967296) THEN 12 WHEN (each.peak_memory_bytes <= 8589934592) THEN 13 WHEN (each.peak_memory_bytes <= 17179869184) THEN 14 WHEN (each.peak_memory_bytes <= 34359738368) THEN 15 WHEN (each.peak_memory_bytes <= 68719476736) THEN 16 WHEN (each.peak_memory_bytes <= 137438953472) THEN 17 WHEN (each.peak_memory_bytes <= 274877906944) THEN 18 WHEN (each.peak_memory_bytes <= 549755813888) THEN 19 WHEN (each.peak_memory_bytes <= 1099511627776) THEN 20 WHEN (each.peak_memory_bytes IS NOT NULL) THEN 21 END AS memory_bin, count(*) AS ends, sum(each.waited) AS waited, max(each.waited) AS longest_wait, sum(each.ran) AS ran, max(each.ran) AS longest_run, coalesce(sum(each.processor_seconds), 0.0) AS processor, coalesce(max(each.processor_seconds), 0.0) AS most_processor, coalesce(max(each.peak_memory_bytes), 0) AS most_memory
FROM (SELECT date_trunc('hour', jobrunner_schema.job_attempts.finished_at, 'UTC') AS at, jobrunner_schema.job_runs.job_type AS job_type, jobrunner_schema.job_attempts.outcome AS outcome, coalesce(jobrunner_schema.job_attempts.status, '') AS status, CASE WHEN (coalesce(CAST(EXTRACT(epoch FROM (jobrunner_schema.job_attempts.started_at - jobrunner_schema.job_attempts.due_at)) AS DOUBLE PRECISION), 0.0) < 0.0) THEN 0.0 ELSE coalesce(CAST(EXTRACT(epoch FROM (jobrunner_schema.job_attempts.started_at - jobrunner_schema.job_attempts.due_at)) AS DOUBLE PRECISION), 0.0) END AS waited, CASE WHEN (CAST(EXTRACT(epoch FROM (jobrunner_schema.job_attempts.finished_at - jobrunner_schema.job_attempts.started_at)) AS DOUBLE PRECISION) < 0.0) THEN 0.0 ELSE CAST(EXTRACT(epoch FROM (jobrunner_schema.job_attempts.finished_at - jobrunner_schema.job_attempts.started_at)) AS DOUBLE PRECISION) END AS ran, jobrunner_schema.job_attempts.processor_seconds AS processor_seconds, jobrunner_schema.job_attempts.peak_memory_bytes AS peak_memory_bytes
FROM jobrunner_schema.job_attempts JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = jobrunner_schema.job_attempts.run_id
WHERE jobrunner_schema.job_attempts.run_id IN (SELECT given.id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given) AND jobrunner_schema.job_attempts.id + 0 > %(after)s::BIGINT
 LIMIT ALL OFFSET 0) AS each GROUP BY each.at, each.job_type, each.outcome, each.status, CASE WHEN (each.waited <= 0.001) THEN 0 WHEN (each.waited <= 0.002) THEN 1 WHEN (each.waited <= 0.005) THEN 2 WHEN (each.waited <= 0.01) THEN 3 WHEN (each.waited <= 0.02) THEN 4 WHEN (each.waited <= 0.05) THEN 5 WHEN (each.waited <= 0.1) THEN 6 WHEN (each.waited <= 0.2) THEN 7 WHEN (each.waited <= 0.5) THEN 8 WHEN (each.waited <= 1) THEN 9 WHEN (each.waited <= 2) THEN 10 WHEN (each.waited <= 5) THEN 11 WHEN (each.waited <= 10) THEN 12 WHEN (each.waited <= 20) THEN 13 WHEN (each.waited <= 50) THEN 14 WHEN (each.waited <= 100) THEN 15 WHEN (each.waited <= 200) THEN 16 WHEN (each.waited <= 500) THEN 17 WHEN (each.waited <= 1000) THEN 18 WHEN (each.waited <= 2000) THEN 19 WHEN (each.waited <= 5000) THEN 20 WHEN (each.waited <= 10000) THEN 21 WHEN (each.waited <= 20000) THEN 22 WHEN (each.waited <= 50000) THEN 23 WHEN (each.waited IS NOT NULL) THEN 24 END, CASE WHEN (each.ran <= 0.001) THEN 0 WHEN (each.ran <= 0.002) THEN 1 WHEN (each.ran <= 0.005) THEN 2 WHEN (each.ran <= 0.01) THEN 3 WHEN (each.ran <= 0.02) THEN 4 WHEN (each.ran <= 0.05) THEN 5 WHEN (each.ran <= 0.1) THEN 6 WHEN (each.ran <= 0.2) THEN 7 WHEN (each.ran <= 0.5) THEN 8 WHEN (each.ran <= 1) THEN 9 WHEN (each.ran <= 2) THEN 10 WHEN (each.ran <= 5) THEN 11 WHEN (each.ran <= 10) THEN 12 WHEN (each.ran <= 20) THEN 13 WHEN (each.ran <= 50) THEN 14 WHEN (each.ran <= 100) THEN 15 WHEN (each.ran <= 200) THEN 16 WHEN (each.ran <= 500) THEN 17 WHEN (each.ran <= 1000) THEN 18 WHEN (each.ran <= 2000) THEN 19 WHEN (each.ran <= 5000) THEN 20 WHEN (each.ran <= 10000) THEN 21 WHEN (each.ran <= 20000) THEN 22 WHEN (each.ran <= 50000) THEN 23 WHEN (each.ran IS NOT NULL) THEN 24 END, CASE WHEN (each.processor_seconds <= 0.001) THEN 0 WHEN (each.processor_seconds <= 0.002) THEN 1 WHEN (each.processor_seconds <= 0.005) THEN 2 WHEN (each.processor_seconds <= 0.01) THEN 3 WHEN (each.processor_seconds <= 0.02) THEN 4 WHEN (each.processor_seconds <= 0.05) THEN 5 WHEN (each.processor_seconds <= 0.1) THEN 6 WHEN (each.processor_seconds <= 0.2) THEN 7 WHEN (each.processor_seconds <= 0.5) THEN 8 WHEN (each.processor_seconds <= 1) THEN 9 WHEN (each.processor_seconds <= 2) THEN 10 WHEN (each.processor_seconds <= 5) THEN 11 WHEN (each.processor_seconds <= 10) THEN 12 WHEN (each.processor_seconds <= 20) THEN 13 WHEN (each.processor_seconds <= 50) THEN 14 WHEN (each.processor_seconds <= 100) THEN 15 WHEN (each.processor_seconds <= 200) THEN 16 WHEN (each.processor_seconds <= 500) THEN 17 WHEN (each.processor_seconds <= 1000) THEN 18 WHEN (each.processor_seconds <= 2000) THEN 19 WHEN (each.processor_seconds <= 5000) THEN 20 WHEN (each.processor_seconds <= 10000) THEN 21 WHEN (each.processor_seconds <= 20000) THEN 22 WHEN (each.processor_seconds <= 50000) THEN 23 WHEN (each.processor_seconds IS NOT NULL) THEN 24 END, CASE WHEN (each.peak_memory_bytes <= 1048576) THEN 0 WHEN (each.peak_memory_bytes <= 2097152) THEN 1 WHEN (each.peak_memory_bytes <= 4194304) THEN 2 WHEN (each.peak_memory_bytes <= 8388608) THEN 3 WHEN (each.peak_memory_bytes <= 16777216) THEN 4 WHEN (each.peak_memory_bytes <= 33554432) THEN 5 WHEN (each.peak_memory_bytes <= 67108864) THEN 6 WHEN (each.peak_memory_bytes <= 134217728) THEN 7 WHEN (each.peak_memory_bytes <= 268435456) THEN 8 WHEN (each.peak_memory_bytes <= 536870912) THEN 9 WHEN (each.peak_memory_bytes <= 1073741824) THEN 10 WHEN (each.peak_memory_bytes <= 2147483648) THEN 11 WHEN (each.peak_memory_bytes <= 4294967296) THEN 12 WHEN (each.peak_memory_bytes <= 8589934592) THEN 13 WHEN (each.peak_memory_bytes <= 17179869184) THEN 14 WHEN (each.peak_memory_bytes <= 34359738368) THEN 15 WHEN (each.peak_memory_bytes <= 68719476736) THEN 16 WHEN (each.peak_memory_bytes <= 137438953472) THEN 17 WHEN (each.peak_memory_bytes <= 274877906944) THEN 18 WHEN (each.peak_memory_bytes <= 549755813888) THEN 19 WHEN (each.peak_memory_bytes <= 1099511627776) THEN 20 WHEN (each.peak_memory_bytes IS NOT NULL) THEN 21 END""",
        {},
        {'given': (('id', None),)},
        (('at', 'instant'), ('job_type', None), ('outcome', None), ('status', None), ('wait_bin', None), ('run_bin', None), ('processor_bin', None), ('memory_bin', None), ('ends', None), ('waited', None), ('longest_wait', None), ('ran', None), ('longest_run', None), ('processor', None), ('most_processor', None), ('most_memory', None)),
    ),
    ('tallies.ends_since', (False,)): (
        """SELECT summed.status, string_agg(CAST(summed.part AS TEXT), ',') AS part_listed, string_agg(CAST(summed.ends AS TEXT), ',') AS ends_listed
FROM (SELECT CAST(floor(CAST(EXTRACT(epoch FROM (found.at - %(since)s::TIMESTAMP WITH TIME ZONE)) AS DOUBLE PRECISION) / CAST(%(part_seconds)s::FLOAT AS FLOAT)) AS INTEGER) AS part, found.status AS status, CAST(sum(found.ends) AS BIGINT) AS ends
FROM (SELECT jobrunner_schema.job_tallies.at AS at, jobrunner_schema.job_tallies.status AS status, jobrunner_schema.job_tallies.ends AS ends
FROM jobrunner_schema.job_tallies
WHERE jobrunner_schema.job_tallies.span IN ('hour', 'day') AND jobrunner_schema.job_tallies.at >= %(since)s::TIMESTAMP WITH TIME ZONE AND jobrunner_schema.job_tallies.status IN ('succeeded', 'dead', 'cancelled') UNION ALL SELECT live.at AS at, live.status AS status, live.ends AS ends
FROM (SELECT each.at AS at, each.job_type AS job_type, each.outcome AS outcome, each.status AS status, CASE WHEN (each.waited <= 0.001) THEN 0 WHEN (each.waited <= 0.002) THEN 1 WHEN (each.waited <= 0.005) THEN 2 WHEN (each.waited <= 0.01) THEN 3 WHEN (each.waited <= 0.02) THEN 4 WHEN (each.waited <= 0.05) THEN 5 WHEN (each.waited <= 0.1) THEN 6 WHEN (each.waited <= 0.2) THEN 7 WHEN (each.waited <= 0.5) THEN 8 WHEN (each.waited <= 1) THEN 9 WHEN (each.waited <= 2) THEN 10 WHEN (each.waited <= 5) THEN 11 WHEN (each.waited <= 10) THEN 12 WHEN (each.waited <= 20) THEN 13 WHEN (each.waited <= 50) THEN 14 WHEN (each.waited <= 100) THEN 15 WHEN (each.waited <= 200) THEN 16 WHEN (each.waited <= 500) THEN 17 WHEN (each.waited <= 1000) THEN 18 WHEN (each.waited <= 2000) THEN 19 WHEN (each.waited <= 5000) THEN 20 WHEN (each.waited <= 10000) THEN 21 WHEN (each.waited <= 20000) THEN 22 WHEN (each.waited <= 50000) THEN 23 WHEN (each.waited IS NOT NULL) THEN 24 END AS wait_bin, CASE WHEN (each.ran <= 0.001) THEN 0 WHEN (each.ran <= 0.002) THEN 1 WHEN (each.ran <= 0.005) THEN 2 WHEN (each.ran <= 0.01) THEN 3 WHEN (each.ran <= 0.02) THEN 4 WHEN (each.ran <= 0.05) THEN 5 WHEN (each.ran <= 0.1) THEN 6 WHEN (each.ran <= 0.2) THEN 7 WHEN (each.ran <= 0.5) THEN 8 WHEN (each.ran <= 1) THEN 9 WHEN (each.ran <= 2) THEN 10 WHEN (each.ran <= 5) THEN 11 WHEN (each.ran <= 10) THEN 12 WHEN (each.ran <= 20) THEN 13 WHEN (each.ran <= 50) THEN 14 WHEN (each.ran <= 100) THEN 15 WHEN (each.ran <= 200) THEN 16 WHEN (each.ran <= 500) THEN 17 WHEN (each.ran <= 1000) THEN 18 WHEN (each.ran <= 2000) THEN 19 WHEN (each.ran <= 5000) THEN 20 WHEN (each.ran <= 10000) THEN 21 WHEN (each.ran <= 20000) THEN 22 WHEN (each.ran <= 50000) THEN 23 WHEN (each.ran IS NOT NULL) THEN 24 END AS run_bin, count(*) AS ends, sum(each.waited) AS waited, max(each.waited) AS longest_wait, sum(each.ran) AS ran, max(each.ran) AS longest_run
FROM (SELECT date_trunc('hour', jobrunner_schema.job_attempts.finished_at, 'UTC') AS at, jobrunner_schema.job_runs.job_type AS job_type, jobrunner_schema.job_attempts.outcome AS outcome, coalesce(jobrunner_schema.job_attempts.status, '') AS status, CASE WHEN (coalesce(CAST(EXTRACT(epoch FROM (jobrunner_schema.job_attempts.started_at - jobrunner_schema.job_attempts.due_at)) AS DOUBLE PRECISION), 0.0) < 0.0) THEN 0.0 ELSE coalesce(CAST(EXTRACT(epoch FROM (jobrunner_schema.job_attempts.started_at - jobrunner_schema.job_attempts.due_at)) AS DOUBLE PRECISION), 0.0) END AS waited, CASE WHEN (CAST(EXTRACT(epoch FROM (jobrunner_schema.job_attempts.finished_at - jobrunner_schema.job_attempts.started_at)) AS DOUBLE PRECISION) < 0.0) THEN 0.0 ELSE CAST(EXTRACT(epoch FROM (jobrunner_schema.job_attempts.finished_at - jobrunner_schema.job_attempts.started_at)) AS DOUBLE PRECISION) END AS ran
FROM jobrunner_schema.job_attempts JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = jobrunner_schema.job_attempts.run_id
WHERE jobrunner_schema.job_attempts.id > (SELECT jobrunner_schema.job_state.counted_to
FROM jobrunner_schema.job_state)
 LIMIT ALL OFFSET 0) AS each GROUP BY each.at, each.job_type, each.outcome, each.status, CASE WHEN (each.waited <= 0.001) THEN 0 WHEN (each.waited <= 0.002) THEN 1 WHEN (each.waited <= 0.005) THEN 2 WHEN (each.waited <= 0.01) THEN 3 WHEN (each.waited <= 0.02) THEN 4 WHEN (each.waited <= 0.05) THEN 5 WHEN (each.waited <= 0.1) THEN 6 WHEN (each.waited <= 0.2) THEN 7 WHEN (each.waited <= 0.5) THEN 8 WHEN (each.waited <= 1) THEN 9 WHEN (each.waited <= 2) THEN 10 WHEN (each.waited <= 5) THEN 11 WHEN (each.waited <= 10) THEN 12 WHEN (each.waited <= 20) THEN 13 WHEN (each.waited <= 50) THEN 14 WHEN (each.waited <= 100) THEN 15 WHEN (each.waited <= 200) THEN 16 WHEN (each.waited <= 500) THEN 17 WHEN (each.waited <= 1000) THEN 18 WHEN (each.waited <= 2000) THEN 19 WHEN (each.waited <= 5000) THEN 20 WHEN (each.waited <= 10000) THEN 21 WHEN (each.waited <= 20000) THEN 22 WHEN (each.waited <= 50000) THEN 23 WHEN (each.waited IS NOT NULL) THEN 24 END, CASE WHEN (each.ran <= 0.001) THEN 0 WHEN (each.ran <= 0.002) THEN 1 WHEN (each.ran <= 0.005) THEN 2 WHEN (each.ran <= 0.01) THEN 3 WHEN (each.ran <= 0.02) THEN 4 WHEN (each.ran <= 0.05) THEN 5 WHEN (each.ran <= 0.1) THEN 6 WHEN (each.ran <= 0.2) THEN 7 WHEN (each.ran <= 0.5) THEN 8 WHEN (each.ran <= 1) THEN 9 WHEN (each.ran <= 2) THEN 10 WHEN (each.ran <= 5) THEN 11 WHEN (each.ran <= 10) THEN 12 WHEN (each.ran <= 20) THEN 13 WHEN (each.ran <= 50) THEN 14 WHEN (each.ran <= 100) THEN 15 WHEN (each.ran <= 200) THEN 16 WHEN (each.ran <= 500) THEN 17 WHEN (each.ran <= 1000) THEN 18 WHEN (each.ran <= 2000) THEN 19 WHEN (each.ran <= 5000) THEN 20 WHEN (each.ran <= 10000) THEN 21 WHEN (each.ran <= 20000) THEN 22 WHEN (each.ran <= 50000) THEN 23 WHEN (each.ran IS NOT NULL) THEN 24 END) AS live
WHERE live.at >= %(since)s::TIMESTAMP WITH TIME ZONE AND live.status IN ('succeeded', 'dead', 'cancelled')) AS found GROUP BY CAST(floor(CAST(EXTRACT(epoch FROM (found.at - %(since)s::TIMESTAMP WITH TIME ZONE)) AS DOUBLE PRECISION) / CAST(%(part_seconds)s::FLOAT AS FLOAT)) AS INTEGER), found.status) AS summed GROUP BY summed.status""",
        {},
        {'since': 'instant'},
        (('status', None), ('part_listed', None), ('ends_listed', None)),
    ),
    ('tallies.ends_since', (True,)): (
        """SELECT summed.job_type, summed.status, string_agg(CAST(summed.part AS TEXT), ',') AS part_listed, string_agg(CAST(summed.ends AS TEXT), ',') AS ends_listed
FROM (SELECT CAST(floor(CAST(EXTRACT(epoch FROM (found.at - %(since)s::TIMESTAMP WITH TIME ZONE)) AS DOUBLE PRECISION) / CAST(%(part_seconds)s::FLOAT AS FLOAT)) AS INTEGER) AS part, found.job_type AS job_type, found.status AS status, CAST(sum(found.ends) AS BIGINT) AS ends
FROM (SELECT jobrunner_schema.job_tallies.at AS at, jobrunner_schema.job_tallies.job_type AS job_type, jobrunner_schema.job_tallies.status AS status, jobrunner_schema.job_tallies.ends AS ends
FROM jobrunner_schema.job_tallies
WHERE jobrunner_schema.job_tallies.span IN ('hour', 'day') AND jobrunner_schema.job_tallies.at >= %(since)s::TIMESTAMP WITH TIME ZONE AND jobrunner_schema.job_tallies.status IN ('succeeded', 'dead', 'cancelled') UNION ALL SELECT live.at AS at, live.job_type AS job_type, live.status AS status, live.ends AS ends
FROM (SELECT each.at AS at, each.job_type AS job_type, each.outcome AS outcome, each.status AS status, CASE WHEN (each.waited <= 0.001) THEN 0 WHEN (each.waited <= 0.002) THEN 1 WHEN (each.waited <= 0.005) THEN 2 WHEN (each.waited <= 0.01) THEN 3 WHEN (each.waited <= 0.02) THEN 4 WHEN (each.waited <= 0.05) THEN 5 WHEN (each.waited <= 0.1) THEN 6 WHEN (each.waited <= 0.2) THEN 7 WHEN (each.waited <= 0.5) THEN 8 WHEN (each.waited <= 1) THEN 9 WHEN (each.waited <= 2) THEN 10 WHEN (each.waited <= 5) THEN 11 WHEN (each.waited <= 10) THEN 12 WHEN (each.waited <= 20) THEN 13 WHEN (each.waited <= 50) THEN 14 WHEN (each.waited <= 100) THEN 15 WHEN (each.waited <= 200) THEN 16 WHEN (each.waited <= 500) THEN 17 WHEN (each.waited <= 1000) THEN 18 WHEN (each.waited <= 2000) THEN 19 WHEN (each.waited <= 5000) THEN 20 WHEN (each.waited <= 10000) THEN 21 WHEN (each.waited <= 20000) THEN 22 WHEN (each.waited <= 50000) THEN 23 WHEN (each.waited IS NOT NULL) THEN 24 END AS wait_bin, CASE WHEN (each.ran <= 0.001) THEN 0 WHEN (each.ran <= 0.002) THEN 1 WHEN (each.ran <= 0.005) THEN 2 WHEN (each.ran <= 0.01) THEN 3 WHEN (each.ran <= 0.02) THEN 4 WHEN (each.ran <= 0.05) THEN 5 WHEN (each.ran <= 0.1) THEN 6 WHEN (each.ran <= 0.2) THEN 7 WHEN (each.ran <= 0.5) THEN 8 WHEN (each.ran <= 1) THEN 9 WHEN (each.ran <= 2) THEN 10 WHEN (each.ran <= 5) THEN 11 WHEN (each.ran <= 10) THEN 12 WHEN (each.ran <= 20) THEN 13 WHEN (each.ran <= 50) THEN 14 WHEN (each.ran <= 100) THEN 15 WHEN (each.ran <= 200) THEN 16 WHEN (each.ran <= 500) THEN 17 WHEN (each.ran <= 1000) THEN 18 WHEN (each.ran <= 2000) THEN 19 WHEN (each.ran <= 5000) THEN 20 WHEN (each.ran <= 10000) THEN 21 WHEN (each.ran <= 20000) THEN 22 WHEN (each.ran <= 50000) THEN 23 WHEN (each.ran IS NOT NULL) THEN 24 END AS run_bin, count(*) AS ends, sum(each.waited) AS waited, max(each.waited) AS longest_wait, sum(each.ran) AS ran, max(each.ran) AS longest_run
FROM (SELECT date_trunc('hour', jobrunner_schema.job_attempts.finished_at, 'UTC') AS at, jobrunner_schema.job_runs.job_type AS job_type, jobrunner_schema.job_attempts.outcome AS outcome, coalesce(jobrunner_schema.job_attempts.status, '') AS status, CASE WHEN (coalesce(CAST(EXTRACT(epoch FROM (jobrunner_schema.job_attempts.started_at - jobrunner_schema.job_attempts.due_at)) AS DOUBLE PRECISION), 0.0) < 0.0) THEN 0.0 ELSE coalesce(CAST(EXTRACT(epoch FROM (jobrunner_schema.job_attempts.started_at - jobrunner_schema.job_attempts.due_at)) AS DOUBLE PRECISION), 0.0) END AS waited, CASE WHEN (CAST(EXTRACT(epoch FROM (jobrunner_schema.job_attempts.finished_at - jobrunner_schema.job_attempts.started_at)) AS DOUBLE PRECISION) < 0.0) THEN 0.0 ELSE CAST(EXTRACT(epoch FROM (jobrunner_schema.job_attempts.finished_at - jobrunner_schema.job_attempts.started_at)) AS DOUBLE PRECISION) END AS ran
FROM jobrunner_schema.job_attempts JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = jobrunner_schema.job_attempts.run_id
WHERE jobrunner_schema.job_attempts.id > (SELECT jobrunner_schema.job_state.counted_to
FROM jobrunner_schema.job_state)
 LIMIT ALL OFFSET 0) AS each GROUP BY each.at, each.job_type, each.outcome, each.status, CASE WHEN (each.waited <= 0.001) THEN 0 WHEN (each.waited <= 0.002) THEN 1 WHEN (each.waited <= 0.005) THEN 2 WHEN (each.waited <= 0.01) THEN 3 WHEN (each.waited <= 0.02) THEN 4 WHEN (each.waited <= 0.05) THEN 5 WHEN (each.waited <= 0.1) THEN 6 WHEN (each.waited <= 0.2) THEN 7 WHEN (each.waited <= 0.5) THEN 8 WHEN (each.waited <= 1) THEN 9 WHEN (each.waited <= 2) THEN 10 WHEN (each.waited <= 5) THEN 11 WHEN (each.waited <= 10) THEN 12 WHEN (each.waited <= 20) THEN 13 WHEN (each.waited <= 50) THEN 14 WHEN (each.waited <= 100) THEN 15 WHEN (each.waited <= 200) THEN 16 WHEN (each.waited <= 500) THEN 17 WHEN (each.waited <= 1000) THEN 18 WHEN (each.waited <= 2000) THEN 19 WHEN (each.waited <= 5000) THEN 20 WHEN (each.waited <= 10000) THEN 21 WHEN (each.waited <= 20000) THEN 22 WHEN (each.waited <= 50000) THEN 23 WHEN (each.waited IS NOT NULL) THEN 24 END, CASE WHEN (each.ran <= 0.001) THEN 0 WHEN (each.ran <= 0.002) THEN 1 WHEN (each.ran <= 0.005) THEN 2 WHEN (each.ran <= 0.01) THEN 3 WHEN (each.ran <= 0.02) THEN 4 WHEN (each.ran <= 0.05) THEN 5 WHEN (each.ran <= 0.1) THEN 6 WHEN (each.ran <= 0.2) THEN 7 WHEN (each.ran <= 0.5) THEN 8 WHEN (each.ran <= 1) THEN 9 WHEN (each.ran <= 2) THEN 10 WHEN (each.ran <= 5) THEN 11 WHEN (each.ran <= 10) THEN 12 WHEN (each.ran <= 20) THEN 13 WHEN (each.ran <= 50) THEN 14 WHEN (each.ran <= 100) THEN 15 WHEN (each.ran <= 200) THEN 16 WHEN (each.ran <= 500) THEN 17 WHEN (each.ran <= 1000) THEN 18 WHEN (each.ran <= 2000) THEN 19 WHEN (each.ran <= 5000) THEN 20 WHEN (each.ran <= 10000) THEN 21 WHEN (each.ran <= 20000) THEN 22 WHEN (each.ran <= 50000) THEN 23 WHEN (each.ran IS NOT NULL) THEN 24 END) AS live
WHERE live.at >= %(since)s::TIMESTAMP WITH TIME ZONE AND live.status IN ('succeeded', 'dead', 'cancelled')) AS found GROUP BY CAST(floor(CAST(EXTRACT(epoch FROM (found.at - %(since)s::TIMESTAMP WITH TIME ZONE)) AS DOUBLE PRECISION) / CAST(%(part_seconds)s::FLOAT AS FLOAT)) AS INTEGER), found.job_type, found.status) AS summed GROUP BY summed.job_type, summed.status""",
        {},
        {'since': 'instant'},
        (('job_type', None), ('status', None), ('part_listed', None), ('ends_listed', None)),
    ),
    ('tallies.lock_counted_to', ()): (
        """SELECT jobrunner_schema.job_state.counted_to, (SELECT coalesce(max(jobrunner_schema.job_attempts.id), %(coalesce_2)s::INTEGER) AS coalesce_1
FROM jobrunner_schema.job_attempts
WHERE jobrunner_schema.job_attempts.run_id IN (SELECT given.id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given)) AS newest
FROM jobrunner_schema.job_state FOR UPDATE OF job_state""",
        {'coalesce_2': 0},
        {'given': (('id', None),)},
        (('counted_to', None), ('newest', None)),
    ),
    ('tallies.marks', ()): (
        """SELECT jobrunner_schema.job_state.counted_to, jobrunner_schema.job_state.counting_to, jobrunner_schema.job_state.counting_after, CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS TEXT) AS BIGINT) AS oldest, CAST(CAST(pg_current_xact_id() AS TEXT) AS BIGINT) AS own, (SELECT coalesce(max(jobrunner_schema.job_attempts.id), %(coalesce_2)s::INTEGER) AS coalesce_1
FROM jobrunner_schema.job_attempts) AS newest
FROM jobrunner_schema.job_state FOR UPDATE OF job_state SKIP LOCKED""",
        {'coalesce_2': 0},
        {},
        (('counted_to', None), ('counting_to', None), ('counting_after', None), ('oldest', None), ('own', None), ('newest', None)),
    ),
    ('tallies.new', ()): (
        """SELECT jobrunner_schema.job_tallies.id, jobrunner_schema.job_tallies.at, jobrunner_schema.job_tallies.span, jobrunner_schema.job_tallies.job_type, jobrunner_schema.job_tallies.outcome, jobrunner_schema.job_tallies.status, jobrunner_schema.job_tallies.ends, jobrunner_schema.job_tallies.waited, jobrunner_schema.job_tallies.longest_wait, jobrunner_schema.job_tallies.ran, jobrunner_schema.job_tallies.longest_run, jobrunner_schema.job_tallies.waits, jobrunner_schema.job_tallies.runs, jobrunner_schema.job_tallies.is_in_totals, jobrunner_schema.job_tallies.processor, jobrunner_schema.job_tallies.most_processor, jobrunner_schema.job_tallies.processors, jobrunner_schema.job_tallies.most_memory, jobrunner_schema.job_tallies.memories
FROM jobrunner_schema.job_tallies
WHERE jobrunner_schema.job_tallies.is_in_totals = 0 AND jobrunner_schema.job_tallies.at < %(before)s::TIMESTAMP WITH TIME ZONE ORDER BY jobrunner_schema.job_tallies.at
 LIMIT %(limit)s::INTEGER FOR UPDATE SKIP LOCKED""",
        {},
        {'before': 'instant'},
        (('id', None), ('at', 'instant'), ('span', None), ('job_type', None), ('outcome', None), ('status', None), ('ends', None), ('waited', None), ('longest_wait', None), ('ran', None), ('longest_run', None), ('waits', 'json'), ('runs', 'json'), ('is_in_totals', None), ('processor', None), ('most_processor', None), ('processors', 'json'), ('most_memory', None), ('memories', 'json')),
    ),
    ('tallies.of_old_hours', ()): (
        """SELECT jobrunner_schema.job_tallies.id, jobrunner_schema.job_tallies.at, jobrunner_schema.job_tallies.span, jobrunner_schema.job_tallies.job_type, jobrunner_schema.job_tallies.outcome, jobrunner_schema.job_tallies.status, jobrunner_schema.job_tallies.ends, jobrunner_schema.job_tallies.waited, jobrunner_schema.job_tallies.longest_wait, jobrunner_schema.job_tallies.ran, jobrunner_schema.job_tallies.longest_run, jobrunner_schema.job_tallies.waits, jobrunner_schema.job_tallies.runs, jobrunner_schema.job_tallies.is_in_totals, jobrunner_schema.job_tallies.processor, jobrunner_schema.job_tallies.most_processor, jobrunner_schema.job_tallies.processors, jobrunner_schema.job_tallies.most_memory, jobrunner_schema.job_tallies.memories
FROM jobrunner_schema.job_tallies
WHERE jobrunner_schema.job_tallies.span = 'hour' AND jobrunner_schema.job_tallies.is_in_totals = 1 AND jobrunner_schema.job_tallies.at < %(before)s::TIMESTAMP WITH TIME ZONE ORDER BY jobrunner_schema.job_tallies.at
 LIMIT %(limit)s::INTEGER FOR UPDATE SKIP LOCKED""",
        {},
        {'before': 'instant'},
        (('id', None), ('at', 'instant'), ('span', None), ('job_type', None), ('outcome', None), ('status', None), ('ends', None), ('waited', None), ('longest_wait', None), ('ran', None), ('longest_run', None), ('waits', 'json'), ('runs', 'json'), ('is_in_totals', None), ('processor', None), ('most_processor', None), ('processors', 'json'), ('most_memory', None), ('memories', 'json')),
    ),
    ('tallies.set_marks', ()): (
        """UPDATE jobrunner_schema.job_state SET counted_to=%(new_counted_to)s::BIGINT, counting_to=%(new_counting_to)s::BIGINT, counting_after=%(new_counting_after)s::BIGINT""",
        {},
        {},
        (),
    ),
    ('tallies.sums_since', ()): (
        """SELECT jobrunner_schema.job_tallies.job_type, jobrunner_schema.job_tallies.outcome, jobrunner_schema.job_tallies.status, CAST(sum(jobrunner_schema.job_tallies.ends) AS BIGINT) AS ends, CAST(sum(jobrunner_schema.job_tallies.waited) AS FLOAT(53)) AS waited, CAST(sum(jobrunner_schema.job_tallies.ran) AS FLOAT(53)) AS ran, CAST(sum(jobrunner_schema.job_tallies.processor) AS FLOAT(53)) AS processor, max(jobrunner_schema.job_tallies.longest_wait) AS longest_wait, max(jobrunner_schema.job_tallies.longest_run) AS longest_run, max(jobrunner_schema.job_tallies.most_processor) AS most_processor, max(jobrunner_schema.job_tallies.most_memory) AS most_memory, string_agg(CAST(jobrunner_schema.job_tallies.waits AS TEXT), ',') AS waits, string_agg(CAST(jobrunner_schema.job_tallies.runs AS TEXT), ',') AS runs, string_agg(CAST(jobrunner_schema.job_tallies.processors AS TEXT), ',') AS processors, string_agg(CAST(jobrunner_schema.job_tallies.memories AS TEXT), ',') AS memories, CAST(NULL AS INTEGER) AS wait_bin, CAST(NULL AS INTEGER) AS run_bin, CAST(NULL AS INTEGER) AS processor_bin, CAST(NULL AS INTEGER) AS memory_bin
FROM jobrunner_schema.job_tallies
WHERE jobrunner_schema.job_tallies.span IN ('hour', 'day') AND jobrunner_schema.job_tallies.at >= %(since)s::TIMESTAMP WITH TIME ZONE GROUP BY jobrunner_schema.job_tallies.job_type, jobrunner_schema.job_tallies.outcome, jobrunner_schema.job_tallies.status, CAST(NULL AS TIMESTAMPTZ) UNION ALL SELECT live.job_type, live.outcome, live.status, live.ends, live.waited, live.ran, live.processor, live.longest_wait, live.longest_run, live.most_processor, live.most_memory, CAST(NULL AS TEXT) AS anon_1, CAST(NULL AS TEXT) AS anon__1, CAST(NULL AS TEXT) AS anon__2, CAST(NULL AS TEXT) AS anon__3, live.wait_bin, live.run_bin, live.processor_bin, live.memory_bin
FROM (SELECT each.at AS at, each.job_type AS job_type, each.outcome AS outcome, each.status AS status, CASE WHEN (each.waited <= 0.001) THEN 0 WHEN (each.waited <= 0.002) THEN 1 WHEN (each.waited <= 0.005) THEN 2 WHEN (each.waited <= 0.01) THEN 3 WHEN (each.waited <= 0.02) THEN 4 WHEN (each.waited <= 0.05) THEN 5 WHEN (each.waited <= 0.1) THEN 6 WHEN (each.waited <= 0.2) THEN 7 WHEN (each.waited <= 0.5) THEN 8 WHEN (each.waited <= 1) THEN 9 WHEN (each.waited <= 2) THEN 10 WHEN (each.waited <= 5) THEN 11 WHEN (each.waited <= 10) THEN 12 WHEN (each.waited <= 20) THEN 13 WHEN (each.waited <= 50) THEN 14 WHEN (each.waited <= 100) THEN 15 WHEN (each.waited <= 200) THEN 16 WHEN (each.waited <= 500) THEN 17 WHEN (each.waited <= 1000) THEN 18 WHEN (each.waited <= 2000) THEN 19 WHEN (each.waited <= 5000) THEN 20 WHEN (each.waited <= 10000) THEN 21 WHEN (each.waited <= 20000) THEN 22 WHEN (each.waited <= 50000) THEN 23 WHEN (each.waited IS NOT NULL) THEN 24 END AS wait_bin, CASE WHEN (each.ran <= 0.001) THEN 0 WHEN (each.ran <= 0.002) THEN 1 WHEN (each.ran <= 0.005) THEN 2 WHEN (each.ran <= 0.01) THEN 3 WHEN (each.ran <= 0.02) THEN 4 WHEN (each.ran <= 0.05) THEN 5 WHEN (each.ran <= 0.1) THEN 6 WHEN (each.ran <= 0.2) THEN 7 WHEN (each.ran <= 0.5) THEN 8 WHEN (each.ran <= 1) THEN 9 WHEN (each.ran <= 2) THEN 10 WHEN (each.ran <= 5) THEN 11 WHEN (each.ran <= 10) THEN 12 WHEN (each.ran <= 20) THEN 13 WHEN (each.ran <= 50) THEN 14 WHEN (each.ran <= 100) THEN 15 WHEN (each.ran <= 200) THEN 16 WHEN (each.ran <= 500) THEN 17 WHEN (each.ran <= 1000) THEN 18 WHEN (each.ran <= 2000) THEN 19 WHEN (each.ran <= 5000) THEN 20 WHEN (each.ran <= 10000) THEN 21 WHEN (each.ran <= 20000) THEN 22 WHEN (each.ran <= 50000) THEN 23 WHEN (each.ran IS NOT NULL) THEN 24 END AS run_bin, CASE WHEN (each.processor_seconds <= 0.001) THEN 0 WHEN (each.processor_seconds <= 0.002) THEN 1 WHEN (each.processor_seconds <= 0.005) THEN 2 WHEN (each.processor_seconds <= 0.01) THEN 3 WHEN (each.processor_seconds <= 0.02) THEN 4 WHEN (each.processor_seconds <= 0.05) THEN 5 WHEN (each.processor_seconds <= 0.1) THEN 6 WHEN (each.processor_seconds <= 0.2) THEN 7 WHEN (each.processor_seconds <= 0.5) THEN 8 WHEN (each.processor_seconds <= 1) THEN 9 WHEN (each.processor_seconds <= 2) THEN 10 WHEN (each.processor_seconds <= 5) THEN 11 WHEN (each.processor_seconds <= 10) THEN 12 WHEN (each.processor_seconds <= 20) THEN 13 WHEN (each.processor_seconds <= 50) THEN 14 WHEN (each.processor_seconds <= 100) THEN 15 WHEN (each.processor_seconds <= 200) THEN 16 WHEN (each.processor_seconds <= 500) THEN 17 WHEN (each.processor_seconds <= 1000) THEN 18 WHEN (each.processor_seconds <= 2000) THEN 19 WHEN (each.processor_seconds <= 5000) THEN 20 WHEN (each.processor_seconds <= 10000) THEN 21 WHEN (each.processor_seconds <= 20000) THEN 22 WHEN (each.processor_seconds <= 50000) THEN 23 WHEN (each.processor_seconds IS NOT NULL) THEN 24 END AS processor_bin, CASE WHEN (each.peak_memory_bytes <= 1048576) THEN 0 WHEN (each.peak_memory_bytes <= 2097152) THEN 1 WHEN (each.peak_memory_bytes <= 4194304) THEN 2 WHEN (each.peak_memory_bytes <= 8388608) THEN 3 WHEN (each.peak_memory_bytes <= 16777216) THEN 4 WHEN (each.peak_memory_bytes <= 33554432) THEN 5 WHEN (each.peak_memory_bytes <= 67108864) THEN 6 WHEN (each.peak_memory_bytes <= 134217728) THEN 7 WHEN (each.peak_memory_bytes <= 268435456) THEN 8 WHEN (each.peak_memory_bytes <= 536870912) THEN 9 WHEN (each.peak_memory_bytes <= 1073741824) THEN 10 WHEN (each.peak_memory_bytes <= 2147483648) THEN 11 WHEN (each.peak_memory_bytes <= 4294967296) THEN 12 WHEN (each.peak_memory_bytes <= 8589934592) THEN 13 WHEN (each.peak_memory_bytes <= 17179869184) THEN 14 WHEN (each.peak_memory_bytes <= 34359738368) THEN 15 WHEN (each.peak_memory_bytes <= 68719476736) THEN 16 WHEN (each.peak_memory_bytes <= 137438953472) THEN 17 WHEN (each.peak_memory_bytes <= 274877906944) THEN 18 WHEN (each.peak_memory_bytes <= 549755813888) THEN 19 WHEN (each.peak_memory_bytes <= 1099511627776) THEN 20 WHEN (each.peak_memory_bytes IS NOT NULL) THEN 21 END AS memory_bin, count(*) AS ends, sum(each.waited) AS waited, max(each.waited) AS longest_wait, sum(each.ran) AS ran, max(each.ran) AS longest_run, coalesce(sum(each.processor_seconds), 0.0) AS processor, coalesce(max(each.processor_seconds), 0.0) AS most_processor, coalesce(max(each.peak_memory_bytes), 0) AS most_memory
FROM (SELECT date_trunc('hour', jobrunner_schema.job_attempts.finished_at, 'UTC') AS at, jobrunner_schema.job_runs.job_type AS job_type, jobrunner_schema.job_attempts.outcome AS outcome, coalesce(jobrunner_schema.job_attempts.status, '') AS status, CASE WHEN (coalesce(CAST(EXTRACT(epoch FROM (jobrunner_schema.job_attempts.started_at - jobrunner_schema.job_attempts.due_at)) AS DOUBLE PRECISION), 0.0) < 0.0) THEN 0.0 ELSE coalesce(CAST(EXTRACT(epoch FROM (jobrunner_schema.job_attempts.started_at - jobrunner_schema.job_attempts.due_at)) AS DOUBLE PRECISION), 0.0) END AS waited, CASE WHEN (CAST(EXTRACT(epoch FROM (jobrunner_schema.job_attempts.finished_at - jobrunner_schema.job_attempts.started_at)) AS DOUBLE PRECISION) < 0.0) THEN 0.0 ELSE CAST(EXTRACT(epoch FROM (jobrunner_schema.job_attempts.finished_at - jobrunner_schema.job_attempts.started_at)) AS DOUBLE PRECISION) END AS ran, jobrunner_schema.job_attempts.processor_seconds AS processor_seconds, jobrunner_schema.job_attempts.peak_memory_bytes AS peak_memory_bytes
FROM jobrunner_schema.job_attempts JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = jobrunner_schema.job_attempts.run_id
WHERE jobrunner_schema.job_attempts.id > (SELECT jobrunner_schema.job_state.counted_to
FROM jobrunner_schema.job_state)
 LIMIT ALL OFFSET 0) AS each GROUP BY each.at, each.job_type, each.outcome, each.status, CASE WHEN (each.waited <= 0.001) THEN 0 WHEN (each.waited <= 0.002) THEN 1 WHEN (each.waited <= 0.005) THEN 2 WHEN (each.waited <= 0.01) THEN 3 WHEN (each.waited <= 0.02) THEN 4 WHEN (each.waited <= 0.05) THEN 5 WHEN (each.waited <= 0.1) THEN 6 WHEN (each.waited <= 0.2) THEN 7 WHEN (each.waited <= 0.5) THEN 8 WHEN (each.waited <= 1) THEN 9 WHEN (each.waited <= 2) THEN 10 WHEN (each.waited <= 5) THEN 11 WHEN (each.waited <= 10) THEN 12 WHEN (each.waited <= 20) THEN 13 WHEN (each.waited <= 50) THEN 14 WHEN (each.waited <= 100) THEN 15 WHEN (each.waited <= 200) THEN 16 WHEN (each.waited <= 500) THEN 17 WHEN (each.waited <= 1000) THEN 18 WHEN (each.waited <= 2000) THEN 19 WHEN (each.waited <= 5000) THEN 20 WHEN (each.waited <= 10000) THEN 21 WHEN (each.waited <= 20000) THEN 22 WHEN (each.waited <= 50000) THEN 23 WHEN (each.waited IS NOT NULL) THEN 24 END, CASE WHEN (each.ran <= 0.001) THEN 0 WHEN (each.ran <= 0.002) THEN 1 WHEN (each.ran <= 0.005) THEN 2 WHEN (each.ran <= 0.01) THEN 3 WHEN (each.ran <= 0.02) THEN 4 WHEN (each.ran <= 0.05) THEN 5 WHEN (each.ran <= 0.1) THEN 6 WHEN (each.ran <= 0.2) THEN 7 WHEN (each.ran <= 0.5) THEN 8 WHEN (each.ran <= 1) THEN 9 WHEN (each.ran <= 2) THEN 10 WHEN (each.ran <= 5) THEN 11 WHEN (each.ran <= 10) THEN 12 WHEN (each.ran <= 20) THEN 13 WHEN (each.ran <= 50) THEN 14 WHEN (each.ran <= 100) THEN 15 WHEN (each.ran <= 200) THEN 16 WHEN (each.ran <= 500) THEN 17 WHEN (each.ran <= 1000) THEN 18 WHEN (each.ran <= 2000) THEN 19 WHEN (each.ran <= 5000) THEN 20 WHEN (each.ran <= 10000) THEN 21 WHEN (each.ran <= 20000) THEN 22 WHEN (each.ran <= 50000) THEN 23 WHEN (each.ran IS NOT NULL) THEN 24 END, CASE WHEN (each.processor_seconds <= 0.001) THEN 0 WHEN (each.processor_seconds <= 0.002) THEN 1 WHEN (each.processor_seconds <= 0.005) THEN 2 WHEN (each.processor_seconds <= 0.01) THEN 3 WHEN (each.processor_seconds <= 0.02) THEN 4 WHEN (each.processor_seconds <= 0.05) THEN 5 WHEN (each.processor_seconds <= 0.1) THEN 6 WHEN (each.processor_seconds <= 0.2) THEN 7 WHEN (each.processor_seconds <= 0.5) THEN 8 WHEN (each.processor_seconds <= 1) THEN 9 WHEN (each.processor_seconds <= 2) THEN 10 WHEN (each.processor_seconds <= 5) THEN 11 WHEN (each.processor_seconds <= 10) THEN 12 WHEN (each.processor_seconds <= 20) THEN 13 WHEN (each.processor_seconds <= 50) THEN 14 WHEN (each.processor_seconds <= 100) THEN 15 WHEN (each.processor_seconds <= 200) THEN 16 WHEN (each.processor_seconds <= 500) THEN 17 WHEN (each.processor_seconds <= 1000) THEN 18 WHEN (each.processor_seconds <= 2000) THEN 19 WHEN (each.processor_seconds <= 5000) THEN 20 WHEN (each.processor_seconds <= 10000) THEN 21 WHEN (each.processor_seconds <= 20000) THEN 22 WHEN (each.processor_seconds <= 50000) THEN 23 WHEN (each.processor_seconds IS NOT NULL) THEN 24 END, CASE WHEN (each.peak_memory_bytes <= 1048576) THEN 0 WHEN (each.peak_memory_bytes <= 2097152) THEN 1 WHEN (each.peak_memory_bytes <= 4194304) THEN 2 WHEN (each.peak_memory_bytes <= 8388608) THEN 3 WHEN (each.peak_memory_bytes <= 16777216) THEN 4 WHEN (each.peak_memory_bytes <= 33554432) THEN 5 WHEN (each.peak_memory_bytes <= 67108864) THEN 6 WHEN (each.peak_memory_bytes <= 134217728) THEN 7 WHEN (each.peak_memory_bytes <= 268435456) THEN 8 WHEN (each.peak_memory_bytes <= 536870912) THEN 9 WHEN (each.peak_memory_bytes <= 1073741824) THEN 10 WHEN (each.peak_memory_bytes <= 2147483648) THEN 11 WHEN (each.peak_memory_bytes <= 4294967296) THEN 12 WHEN (each.peak_memory_bytes <= 8589934592) THEN 13 WHEN (each.peak_memory_bytes <= 17179869184) THEN 14 WHEN (each.peak_memory_bytes <= 34359738368) THEN 15 WHEN (each.peak_memory_bytes <= 68719476736) THEN 16 WHEN (each.peak_memory_bytes <= 137438953472) THEN 17 WHEN (each.peak_memory_bytes <= 274877906944) THEN 18 WHEN (each.peak_memory_bytes <= 549755813888) THEN 19 WHEN (each.peak_memory_bytes <= 1099511627776) THEN 20 WHEN (each.peak_memory_bytes IS NOT NULL) THEN 21 END) AS live
WHERE live.at >= %(since)s::TIMESTAMP WITH TIME ZONE""",
        {},
        {'since': 'instant'},
        (('job_type', None), ('outcome', None), ('status', None), ('ends', None), ('waited', None), ('ran', None), ('processor', None), ('longest_wait', None), ('longest_run', None), ('most_processor', None), ('most_memory', None), ('waits', None), ('runs', None), ('processors', None), ('memories', None), ('wait_bin', None), ('run_bin', None), ('processor_bin', None), ('memory_bin', None)),
    ),
    ('ticks.claimable', ('postgresql',)): (
        """SELECT found.id
FROM (SELECT due.id AS id
FROM (SELECT of_type.id AS id, of_type.turn_at AS turn_at, of_type.run_at AS run_at, types.job_type AS job_type, types.most AS most, types.since AS since
FROM (SELECT job_type, most, since FROM json_to_recordset(CAST(%(types)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), most INTEGER, since TIMESTAMP WITH TIME ZONE)) AS types JOIN LATERAL (SELECT jobrunner_schema.job_claimable.id AS id, jobrunner_schema.job_claimable.turn_at AS turn_at, jobrunner_schema.job_claimable.run_at AS run_at
FROM jobrunner_schema.job_claimable
WHERE jobrunner_schema.job_claimable.job_type = types.job_type AND (types.job_type NOT IN (SELECT jobrunner_schema.job_pauses.name
FROM jobrunner_schema.job_pauses
WHERE jobrunner_schema.job_pauses.kind = 'type')) AND jobrunner_schema.job_claimable.turn_at >= coalesce(types.since, CAST('-infinity' AS TIMESTAMP WITH TIME ZONE)) ORDER BY jobrunner_schema.job_claimable.turn_at, jobrunner_schema.job_claimable.run_at, jobrunner_schema.job_claimable.id
 LIMIT types.most) AS of_type ON true) AS due UNION ALL SELECT jobrunner_schema.job_claimable_by_host.id AS id
FROM (SELECT job_type, most, since FROM json_to_recordset(CAST(%(types)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), most INTEGER, since TIMESTAMP WITH TIME ZONE)) AS types JOIN jobrunner_schema.job_claimable_by_host ON jobrunner_schema.job_claimable_by_host.job_type = types.job_type
WHERE jobrunner_schema.job_claimable_by_host.only_host = %(host)s::VARCHAR) AS found
 LIMIT %(limit)s::INTEGER""",
        {},
        {'types': (('job_type', None), ('most', None), ('since', 'instant'))},
        (('id', None),),
    ),
    ('ticks.close', ()): (
        """UPDATE jobrunner_schema.job_ticks SET finished_at=jobrunner_schema.jobrunner_now(), counts=%(its_counts)s::JSONB, error=%(its_error)s::VARCHAR, ended_by=%(its_ended_by)s::VARCHAR, left_due=%(its_left_due)s::JSONB WHERE jobrunner_schema.job_ticks.id = %(tick_id)s::BIGINT AND jobrunner_schema.job_ticks.host = %(own_host)s::VARCHAR AND jobrunner_schema.job_ticks.worker = %(own_worker)s::VARCHAR RETURNING jobrunner_schema.job_ticks.id""",
        {},
        {'its_counts': 'json', 'its_left_due': 'json'},
        (('id', None),),
    ),
    ('ticks.first_overdue', ()): (
        """SELECT (SELECT min(jobrunner_schema.job_overdue.start_deadline_at) AS min_1
FROM jobrunner_schema.job_overdue) AS start_deadline_at""",
        {},
        {},
        (('start_deadline_at', 'instant'),),
    ),
    ('ticks.free_prune_turn', ()): (
        """SELECT jobrunner_schema.job_state.id
FROM jobrunner_schema.job_state
WHERE jobrunner_schema.job_state.pruned_at IS NULL OR jobrunner_schema.job_state.pruned_at <= (jobrunner_schema.jobrunner_now() + make_interval(secs => %(before)s::FLOAT)) OR jobrunner_schema.job_state.pruned_at > (jobrunner_schema.jobrunner_now() + make_interval(secs => %(after)s::FLOAT)) FOR UPDATE SKIP LOCKED""",
        {'before': -600.0, 'after': 600.0},
        {},
        (('id', None),),
    ),
    ('ticks.is_due', ()): (
        """SELECT ((SELECT jobrunner_schema.job_ungated_due.is_due
FROM jobrunner_schema.job_ungated_due) OR (EXISTS (SELECT jobrunner_schema.job_claimable_by_host.id
FROM jobrunner_schema.job_claimable_by_host
WHERE jobrunner_schema.job_claimable_by_host.only_host = %(host)s::VARCHAR)) OR (SELECT jobrunner_schema.job_gates_due.is_due
FROM jobrunner_schema.job_gates_due)) AND NOT (EXISTS (SELECT jobrunner_schema.job_pauses.kind
FROM jobrunner_schema.job_pauses
WHERE jobrunner_schema.job_pauses.kind = 'host' AND jobrunner_schema.job_pauses.name = %(host)s::VARCHAR)) OR (SELECT min(jobrunner_schema.job_overdue.start_deadline_at) AS min_1
FROM jobrunner_schema.job_overdue) IS NOT NULL OR (EXISTS (SELECT jobrunner_schema.job_parents.run_id
FROM jobrunner_schema.job_parents
WHERE parent_status IS NOT NULL)) OR (EXISTS (SELECT jobrunner_schema.job_expandable.id
FROM jobrunner_schema.job_expandable)) OR (EXISTS (SELECT jobrunner_schema.job_expandable_by_host.id
FROM jobrunner_schema.job_expandable_by_host
WHERE jobrunner_schema.job_expandable_by_host.host = %(host)s::VARCHAR)) OR (EXISTS (SELECT jobrunner_schema.job_recoverable.id
FROM jobrunner_schema.job_recoverable)) AS is_due""",
        {},
        {},
        (('is_due', 'boolean'),),
    ),
    ('ticks.is_quarantined_due', ()): (
        """SELECT (EXISTS (SELECT jobrunner_schema.job_claimable.id
FROM jobrunner_schema.job_claimable
WHERE jobrunner_schema.job_claimable.lease_expiries >= 2)) OR (EXISTS (SELECT jobrunner_schema.job_gated.id
FROM jobrunner_schema.job_gated
WHERE jobrunner_schema.job_gated.lease_expiries >= 2)) OR (EXISTS (SELECT jobrunner_schema.job_claimable_by_host.id
FROM jobrunner_schema.job_claimable_by_host
WHERE jobrunner_schema.job_claimable_by_host.only_host = %(host)s::VARCHAR AND jobrunner_schema.job_claimable_by_host.lease_expiries >= 2)) AS is_due""",
        {},
        {},
        (('is_due', 'boolean'),),
    ),
    ('ticks.left', ()): (
        """SELECT anon_1.job_type, count(*) AS runs
FROM (SELECT jobrunner_schema.job_runs.job_type AS job_type
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status IN ('queued', 'failed') AND jobrunner_schema.job_runs.run_at <= jobrunner_schema.jobrunner_now() AND jobrunner_schema.job_runs.gate = '' AND releases >= 0 ORDER BY jobrunner_schema.job_runs.run_at
 LIMIT %(limit)s::INTEGER) AS anon_1 GROUP BY anon_1.job_type""",
        {},
        {},
        (('job_type', None), ('runs', None)),
    ),
    ('ticks.lock_server', ()): (
        """SELECT jobrunner_schema.job_state.server, jobrunner_schema.jobrunner_promoted() AS promoted, jobrunner_schema.jobrunner_now() AS now
FROM jobrunner_schema.job_state FOR UPDATE OF job_state""",
        {},
        {},
        (('server', None), ('promoted', None), ('now', 'instant')),
    ),
    ('ticks.note_server', ()): (
        """UPDATE jobrunner_schema.job_state SET server=%(seen)s::VARCHAR""",
        {},
        {},
        (),
    ),
    ('ticks.open', ()): (
        """INSERT INTO jobrunner_schema.job_ticks (host, worker, version, started_at, application, types) VALUES (%(its_host)s::VARCHAR, %(its_worker)s::VARCHAR, %(its_version)s::VARCHAR, jobrunner_schema.jobrunner_now(), %(its_application)s::VARCHAR, %(its_types)s::VARCHAR) RETURNING jobrunner_schema.job_ticks.id, (SELECT jobrunner_schema.job_hosts.digest
FROM jobrunner_schema.job_hosts
WHERE jobrunner_schema.job_hosts.id = %(host_id)s::VARCHAR AND jobrunner_schema.job_hosts.reported_at > (jobrunner_schema.jobrunner_now() + make_interval(secs => %(reported_before)s::FLOAT)) AND NOT (EXISTS (SELECT jobrunner_schema.job_definitions.id
FROM jobrunner_schema.job_definitions
WHERE jobrunner_schema.job_definitions."on" = 'every-host' AND jobrunner_schema.job_definitions.host IS NULL AND jobrunner_schema.job_definitions.removed_at IS NULL AND jobrunner_schema.job_definitions.updated_at >= jobrunner_schema.job_hosts.reported_at))) AS reported, (SELECT jobrunner_schema.job_state.server
FROM jobrunner_schema.job_state) AS server, jobrunner_schema.jobrunner_promoted() IS NOT NULL AS is_promoted, EXISTS (SELECT jobrunner_schema.job_definitions.id
FROM jobrunner_schema.job_definitions
WHERE jobrunner_schema.job_definitions."on" = 'every-host' AND jobrunner_schema.job_definitions.host IS NULL AND jobrunner_schema.job_definitions.removed_at IS NULL) AS has_templates""",
        {'reported_before': -86400.0},
        {},
        (('id', None), ('reported', None), ('server', None), ('is_promoted', 'boolean'), ('has_templates', 'boolean')),
    ),
    ('ticks.prune_again', ()): (
        """UPDATE jobrunner_schema.job_state SET pruned_at=(jobrunner_schema.jobrunner_now() + make_interval(secs => (%(after)s::FLOAT - 600.0)))""",
        {},
        {},
        (),
    ),
    ('ticks.schema', ()): (
        """SELECT jobrunner_schema.job_schema_version.version_num, (SELECT jobrunner_schema.job_state.oldest_code
FROM jobrunner_schema.job_state) AS oldest_code, (SELECT jobrunner_schema.job_state.released
FROM jobrunner_schema.job_state) AS released
FROM jobrunner_schema.job_schema_version""",
        {},
        {},
        (('version_num', None), ('oldest_code', None), ('released', None)),
    ),
    ('ticks.take_prune_turn', ()): (
        """UPDATE jobrunner_schema.job_state SET pruned_at=jobrunner_schema.jobrunner_now() RETURNING jobrunner_schema.job_state.pruned_at, jobrunner_schema.job_state.server""",
        {},
        {},
        (('pruned_at', 'instant'), ('server', None)),
    ),
    ('totals.begin', ()): (
        """INSERT INTO jobrunner_schema.job_totals (job_type, outcome, status, ends, waited, ran, waits, runs, updated_at) SELECT given.job_type, given.outcome, given.status, 0, 0.0, 0.0, '[]', '[]', jobrunner_schema.jobrunner_now() AS anon_1
FROM (SELECT job_type, outcome, status FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), outcome VARCHAR(20), status VARCHAR(20))) AS given
WHERE 1 = 1 ON CONFLICT DO NOTHING""",
        {},
        {'given': (('job_type', None), ('outcome', None), ('status', None))},
        (),
    ),
    ('totals.every_end', ()): (
        """SELECT jobrunner_schema.job_totals.job_type, jobrunner_schema.job_totals.outcome, jobrunner_schema.job_totals.status, jobrunner_schema.job_totals.ends, jobrunner_schema.job_totals.waited, jobrunner_schema.job_totals.ran, jobrunner_schema.job_totals.waits, jobrunner_schema.job_totals.runs, 0.0 AS longest_wait, 0.0 AS longest_run, CAST(NULL AS INTEGER) AS wait_bin, CAST(NULL AS INTEGER) AS run_bin
FROM jobrunner_schema.job_totals UNION ALL SELECT jobrunner_schema.job_tallies.job_type, jobrunner_schema.job_tallies.outcome, jobrunner_schema.job_tallies.status, jobrunner_schema.job_tallies.ends, jobrunner_schema.job_tallies.waited, jobrunner_schema.job_tallies.ran, jobrunner_schema.job_tallies.waits, jobrunner_schema.job_tallies.runs, jobrunner_schema.job_tallies.longest_wait, jobrunner_schema.job_tallies.longest_run, CAST(NULL AS INTEGER) AS anon_1, CAST(NULL AS INTEGER) AS anon__1
FROM jobrunner_schema.job_tallies
WHERE jobrunner_schema.job_tallies.is_in_totals = 0 UNION ALL SELECT live.job_type, live.outcome, live.status, live.ends, live.waited, live.ran, CAST(NULL AS JSONB) AS anon_1, CAST(NULL AS JSONB) AS anon__2, live.longest_wait, live.longest_run, live.wait_bin, live.run_bin
FROM (SELECT each.at AS at, each.job_type AS job_type, each.outcome AS outcome, each.status AS status, CASE WHEN (each.waited <= 0.001) THEN 0 WHEN (each.waited <= 0.002) THEN 1 WHEN (each.waited <= 0.005) THEN 2 WHEN (each.waited <= 0.01) THEN 3 WHEN (each.waited <= 0.02) THEN 4 WHEN (each.waited <= 0.05) THEN 5 WHEN (each.waited <= 0.1) THEN 6 WHEN (each.waited <= 0.2) THEN 7 WHEN (each.waited <= 0.5) THEN 8 WHEN (each.waited <= 1) THEN 9 WHEN (each.waited <= 2) THEN 10 WHEN (each.waited <= 5) THEN 11 WHEN (each.waited <= 10) THEN 12 WHEN (each.waited <= 20) THEN 13 WHEN (each.waited <= 50) THEN 14 WHEN (each.waited <= 100) THEN 15 WHEN (each.waited <= 200) THEN 16 WHEN (each.waited <= 500) THEN 17 WHEN (each.waited <= 1000) THEN 18 WHEN (each.waited <= 2000) THEN 19 WHEN (each.waited <= 5000) THEN 20 WHEN (each.waited <= 10000) THEN 21 WHEN (each.waited <= 20000) THEN 22 WHEN (each.waited <= 50000) THEN 23 WHEN (each.waited IS NOT NULL) THEN 24 END AS wait_bin, CASE WHEN (each.ran <= 0.001) THEN 0 WHEN (each.ran <= 0.002) THEN 1 WHEN (each.ran <= 0.005) THEN 2 WHEN (each.ran <= 0.01) THEN 3 WHEN (each.ran <= 0.02) THEN 4 WHEN (each.ran <= 0.05) THEN 5 WHEN (each.ran <= 0.1) THEN 6 WHEN (each.ran <= 0.2) THEN 7 WHEN (each.ran <= 0.5) THEN 8 WHEN (each.ran <= 1) THEN 9 WHEN (each.ran <= 2) THEN 10 WHEN (each.ran <= 5) THEN 11 WHEN (each.ran <= 10) THEN 12 WHEN (each.ran <= 20) THEN 13 WHEN (each.ran <= 50) THEN 14 WHEN (each.ran <= 100) THEN 15 WHEN (each.ran <= 200) THEN 16 WHEN (each.ran <= 500) THEN 17 WHEN (each.ran <= 1000) THEN 18 WHEN (each.ran <= 2000) THEN 19 WHEN (each.ran <= 5000) THEN 20 WHEN (each.ran <= 10000) THEN 21 WHEN (each.ran <= 20000) THEN 22 WHEN (each.ran <= 50000) THEN 23 WHEN (each.ran IS NOT NULL) THEN 24 END AS run_bin, count(*) AS ends, sum(each.waited) AS waited, max(each.waited) AS longest_wait, sum(each.ran) AS ran, max(each.ran) AS longest_run
FROM (SELECT date_trunc('hour', jobrunner_schema.job_attempts.finished_at, 'UTC') AS at, jobrunner_schema.job_runs.job_type AS job_type, jobrunner_schema.job_attempts.outcome AS outcome, coalesce(jobrunner_schema.job_attempts.status, '') AS status, CASE WHEN (coalesce(CAST(EXTRACT(epoch FROM (jobrunner_schema.job_attempts.started_at - jobrunner_schema.job_attempts.due_at)) AS DOUBLE PRECISION), 0.0) < 0.0) THEN 0.0 ELSE coalesce(CAST(EXTRACT(epoch FROM (jobrunner_schema.job_attempts.started_at - jobrunner_schema.job_attempts.due_at)) AS DOUBLE PRECISION), 0.0) END AS waited, CASE WHEN (CAST(EXTRACT(epoch FROM (jobrunner_schema.job_attempts.finished_at - jobrunner_schema.job_attempts.started_at)) AS DOUBLE PRECISION) < 0.0) THEN 0.0 ELSE CAST(EXTRACT(epoch FROM (jobrunner_schema.job_attempts.finished_at - jobrunner_schema.job_attempts.started_at)) AS DOUBLE PRECISION) END AS ran
FROM jobrunner_schema.job_attempts JOIN jobrunner_schema.job_runs ON jobrunner_schema.job_runs.id = jobrunner_schema.job_attempts.run_id
WHERE jobrunner_schema.job_attempts.id > (SELECT jobrunner_schema.job_state.counted_to
FROM jobrunner_schema.job_state)
 LIMIT ALL OFFSET 0) AS each GROUP BY each.at, each.job_type, each.outcome, each.status, CASE WHEN (each.waited <= 0.001) THEN 0 WHEN (each.waited <= 0.002) THEN 1 WHEN (each.waited <= 0.005) THEN 2 WHEN (each.waited <= 0.01) THEN 3 WHEN (each.waited <= 0.02) THEN 4 WHEN (each.waited <= 0.05) THEN 5 WHEN (each.waited <= 0.1) THEN 6 WHEN (each.waited <= 0.2) THEN 7 WHEN (each.waited <= 0.5) THEN 8 WHEN (each.waited <= 1) THEN 9 WHEN (each.waited <= 2) THEN 10 WHEN (each.waited <= 5) THEN 11 WHEN (each.waited <= 10) THEN 12 WHEN (each.waited <= 20) THEN 13 WHEN (each.waited <= 50) THEN 14 WHEN (each.waited <= 100) THEN 15 WHEN (each.waited <= 200) THEN 16 WHEN (each.waited <= 500) THEN 17 WHEN (each.waited <= 1000) THEN 18 WHEN (each.waited <= 2000) THEN 19 WHEN (each.waited <= 5000) THEN 20 WHEN (each.waited <= 10000) THEN 21 WHEN (each.waited <= 20000) THEN 22 WHEN (each.waited <= 50000) THEN 23 WHEN (each.waited IS NOT NULL) THEN 24 END, CASE WHEN (each.ran <= 0.001) THEN 0 WHEN (each.ran <= 0.002) THEN 1 WHEN (each.ran <= 0.005) THEN 2 WHEN (each.ran <= 0.01) THEN 3 WHEN (each.ran <= 0.02) THEN 4 WHEN (each.ran <= 0.05) THEN 5 WHEN (each.ran <= 0.1) THEN 6 WHEN (each.ran <= 0.2) THEN 7 WHEN (each.ran <= 0.5) THEN 8 WHEN (each.ran <= 1) THEN 9 WHEN (each.ran <= 2) THEN 10 WHEN (each.ran <= 5) THEN 11 WHEN (each.ran <= 10) THEN 12 WHEN (each.ran <= 20) THEN 13 WHEN (each.ran <= 50) THEN 14 WHEN (each.ran <= 100) THEN 15 WHEN (each.ran <= 200) THEN 16 WHEN (each.ran <= 500) THEN 17 WHEN (each.ran <= 1000) THEN 18 WHEN (each.ran <= 2000) THEN 19 WHEN (each.ran <= 5000) THEN 20 WHEN (each.ran <= 10000) THEN 21 WHEN (each.ran <= 20000) THEN 22 WHEN (each.ran <= 50000) THEN 23 WHEN (each.ran IS NOT NULL) THEN 24 END) AS live""",
        {},
        {},
        (('job_type', None), ('outcome', None), ('status', None), ('ends', None), ('waited', None), ('ran', None), ('waits', 'json'), ('runs', 'json'), ('longest_wait', None), ('longest_run', None), ('wait_bin', None), ('run_bin', None)),
    ),
    ('totals.some', ()): (
        """SELECT jobrunner_schema.job_totals.job_type, jobrunner_schema.job_totals.outcome, jobrunner_schema.job_totals.status, jobrunner_schema.job_totals.ends, jobrunner_schema.job_totals.waited, jobrunner_schema.job_totals.ran, jobrunner_schema.job_totals.waits, jobrunner_schema.job_totals.runs
FROM (SELECT job_type, outcome, status FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), outcome VARCHAR(20), status VARCHAR(20))) AS given JOIN jobrunner_schema.job_totals ON jobrunner_schema.job_totals.job_type = given.job_type AND jobrunner_schema.job_totals.outcome = given.outcome AND jobrunner_schema.job_totals.status = given.status ORDER BY jobrunner_schema.job_totals.job_type, jobrunner_schema.job_totals.outcome, jobrunner_schema.job_totals.status FOR UPDATE OF job_totals""",
        {},
        {'given': (('job_type', None), ('outcome', None), ('status', None))},
        (('job_type', None), ('outcome', None), ('status', None), ('ends', None), ('waited', None), ('ran', None), ('waits', 'json'), ('runs', 'json')),
    ),
    ('totals.write', ()): (
        """UPDATE jobrunner_schema.job_totals SET ends=given.ends, waited=given.waited, ran=given.ran, waits=given.waits, runs=given.runs, updated_at=jobrunner_schema.jobrunner_now() FROM (SELECT job_type, outcome, status, ends, waited, ran, CAST(waits AS JSONB) AS waits, CAST(runs AS JSONB) AS runs FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), outcome VARCHAR(20), status VARCHAR(20), ends BIGINT, waited FLOAT(53), ran FLOAT(53), waits TEXT, runs TEXT)) AS given WHERE jobrunner_schema.job_totals.job_type = given.job_type AND jobrunner_schema.job_totals.outcome = given.outcome AND jobrunner_schema.job_totals.status = given.status""",
        {},
        {'given': (('job_type', None), ('outcome', None), ('status', None), ('ends', None), ('waited', None), ('ran', None), ('waits', 'json'), ('runs', 'json'))},
        (),
    ),
    ('unclaimed.behind_open_gates', ()): (
        """SELECT first_of.job_type, first_of.id, (SELECT jobrunner_schema.job_runs.run_at
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.id = first_of.id) AS run_at, first_of.runs
FROM (SELECT found.job_type AS job_type, found."both" / 1048576 AS id, found."both" %% 1048576 AS runs
FROM (SELECT listed.job_type AS job_type, listed.gate AS gate, (SELECT walk.id * 1048576 + count(*) OVER () AS anon_1
FROM (SELECT jobrunner_schema.job_gated.id AS id, jobrunner_schema.job_gated.turn_at AS turn_at, jobrunner_schema.job_gated.run_at AS run_at
FROM jobrunner_schema.job_gated
WHERE jobrunner_schema.job_gated.job_type = listed.job_type AND jobrunner_schema.job_gated.gate = listed.gate ORDER BY jobrunner_schema.job_gated.turn_at, jobrunner_schema.job_gated.run_at, jobrunner_schema.job_gated.id
 LIMIT %(most)s::INTEGER) AS walk ORDER BY walk.turn_at, walk.run_at, walk.id
 LIMIT %(param_1)s::INTEGER) AS "both"
FROM (SELECT jobrunner_schema.job_gates.job_type AS job_type, jobrunner_schema.job_gates.gate AS gate
FROM jobrunner_schema.job_gates JOIN jobrunner_schema.job_limits_in_force AS job_limits ON jobrunner_schema.job_gates.job_type = job_limits.job_type
WHERE jobrunner_schema.job_gates.turn_at IS NOT NULL AND jobrunner_schema.job_gates.turn_at < (jobrunner_schema.jobrunner_now() + make_interval(secs => %(since)s::FLOAT)) AND (job_limits.rate IS NULL OR job_limits.opens_at IS NULL OR job_limits.opens_at <= jobrunner_schema.jobrunner_now()) AND (job_limits.max_running IS NULL OR job_limits.max_running > CASE WHEN job_limits.is_set THEN (SELECT count(*) AS count_1
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.job_type = job_limits.job_type AND jobrunner_schema.job_runs.status = 'running') ELSE (SELECT count(*) AS count_1
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.job_type = job_limits.job_type AND jobrunner_schema.job_runs.lease_token IS NOT NULL AND jobrunner_schema.job_runs.gate != '') END) AND (job_limits.rate_per_key IS NULL OR jobrunner_schema.job_gates.opens_at IS NULL OR jobrunner_schema.job_gates.opens_at <= jobrunner_schema.jobrunner_now()) AND (job_limits.max_running_per_key IS NULL OR job_limits.max_running_per_key > (SELECT count(*) AS count_2
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.job_type = jobrunner_schema.job_gates.job_type AND jobrunner_schema.job_runs.gate = jobrunner_schema.job_gates.gate AND jobrunner_schema.job_runs.lease_token IS NOT NULL AND jobrunner_schema.job_runs.gate != '')) AND (CASE WHEN job_limits.concurrency_key IS NULL THEN job_gates.gate = 'all'
      ELSE substr(job_gates.gate, 1, length(job_limits.concurrency_key) + 1) = job_limits.concurrency_key || ' ' END)
 LIMIT 300) AS listed
 LIMIT 300) AS found) AS first_of
WHERE first_of.id IS NOT NULL""",
        {'param_1': 1},
        {},
        (('job_type', None), ('id', None), ('run_at', 'instant'), ('runs', None)),
    ),
    ('unclaimed.ended_lately', ()): (
        """SELECT succeeded.job_type
FROM (SELECT jobrunner_schema.job_runs.job_type AS job_type
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status = 'succeeded' AND jobrunner_schema.job_runs.finished_at IS NOT NULL AND jobrunner_schema.job_runs.finished_at > (jobrunner_schema.jobrunner_now() + make_interval(secs => %(since)s::FLOAT)) ORDER BY jobrunner_schema.job_runs.finished_at DESC
 LIMIT %(most)s::INTEGER) AS succeeded UNION SELECT dead.job_type
FROM (SELECT jobrunner_schema.job_runs.job_type AS job_type
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status = 'dead' AND jobrunner_schema.job_runs.finished_at IS NOT NULL AND jobrunner_schema.job_runs.finished_at > (jobrunner_schema.jobrunner_now() + make_interval(secs => %(since)s::FLOAT)) ORDER BY jobrunner_schema.job_runs.finished_at DESC
 LIMIT %(most)s::INTEGER) AS dead UNION SELECT failed.job_type
FROM (SELECT jobrunner_schema.job_runs.job_type AS job_type
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.status = 'failed' AND jobrunner_schema.job_runs.failed_at IS NOT NULL AND jobrunner_schema.job_runs.failed_at > (jobrunner_schema.jobrunner_now() + make_interval(secs => %(since)s::FLOAT)) ORDER BY jobrunner_schema.job_runs.failed_at DESC
 LIMIT %(most)s::INTEGER) AS failed""",
        {},
        {},
        (('job_type', None),),
    ),
    ('unclaimed.stray', ()): (
        """SELECT first_of.job_type, first_of.id, (SELECT jobrunner_schema.job_runs.run_at
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.id = first_of.id) AS run_at, first_of.runs
FROM (SELECT found.job_type AS job_type, found."both" / 1048576 AS id, found."both" %% 1048576 AS runs
FROM (SELECT listed.job_type AS job_type, listed.gate AS gate, (SELECT walk.id * 1048576 + count(*) OVER () AS anon_1
FROM (SELECT jobrunner_schema.job_gated.id AS id, jobrunner_schema.job_gated.turn_at AS turn_at, jobrunner_schema.job_gated.run_at AS run_at
FROM jobrunner_schema.job_gated
WHERE jobrunner_schema.job_gated.job_type = listed.job_type AND jobrunner_schema.job_gated.gate = listed.gate ORDER BY jobrunner_schema.job_gated.turn_at, jobrunner_schema.job_gated.run_at, jobrunner_schema.job_gated.id
 LIMIT %(most)s::INTEGER) AS walk ORDER BY walk.turn_at, walk.run_at, walk.id
 LIMIT %(param_1)s::INTEGER) AS "both"
FROM (SELECT DISTINCT jobrunner_schema.job_stray_gates.job_type AS job_type, jobrunner_schema.job_stray_gates.gate AS gate
FROM jobrunner_schema.job_stray_gates
 LIMIT 300) AS listed
 LIMIT 300) AS found) AS first_of
WHERE first_of.id IS NOT NULL""",
        {'param_1': 1},
        {},
        (('job_type', None), ('id', None), ('run_at', 'instant'), ('runs', None)),
    ),
    ('unclaimed.stray_dependants', ()): (
        """SELECT jobrunner_schema.job_runs.job_type, min(jobrunner_schema.job_runs.id) AS id, min(jobrunner_schema.job_runs.run_at) AS run_at, count(*) AS runs
FROM jobrunner_schema.job_runs
WHERE jobrunner_schema.job_runs.id = ANY(ARRAY(SELECT jobrunner_schema.job_stray_dependants.id
FROM jobrunner_schema.job_stray_dependants)) AND (run_at <= jobrunner_schema.jobrunner_now()) AND ((start_deadline_at IS NULL OR start_deadline_at > jobrunner_schema.jobrunner_now())) AND ((concurrency_key IS NULL
      OR (NOT EXISTS (SELECT 1 FROM jobrunner_schema.job_runs other
          WHERE other.concurrency_key = job_runs.concurrency_key AND other.id <> job_runs.id
            AND other.lease_token IS NOT NULL)
        AND NOT EXISTS (SELECT 1 FROM jobrunner_schema.job_runs other
          WHERE other.concurrency_key = job_runs.concurrency_key AND other.id < job_runs.id
            AND other.status IN ('queued', 'failed', 'running') AND other.lease_token IS NULL
            AND other.run_at <= jobrunner_schema.jobrunner_now() AND (other.start_deadline_at IS NULL OR other.start_deadline_at > jobrunner_schema.jobrunner_now()))))) AND (job_type NOT IN (SELECT name FROM jobrunner_schema.job_pauses WHERE kind = 'type')) AND (NOT EXISTS (SELECT kind FROM jobrunner_schema.job_pauses WHERE kind = 'all')) AND (CASE WHEN only_host IS NULL THEN 1 = 1 ELSE 1 = 0 END) GROUP BY jobrunner_schema.job_runs.job_type""",
        {},
        {},
        (('job_type', None), ('id', None), ('run_at', 'instant'), ('runs', None)),
    ),
    ('unusual.sums', ('hour', False)): (
        """SELECT jobrunner_schema.job_tallies.job_type, max(jobrunner_schema.job_tallies.longest_run) AS longest_run, max(jobrunner_schema.job_tallies.most_memory) AS most_memory, string_agg(CAST(jobrunner_schema.job_tallies.runs AS TEXT), ',') AS runs, string_agg(CAST(jobrunner_schema.job_tallies.memories AS TEXT), ',') AS memories
FROM jobrunner_schema.job_tallies
WHERE jobrunner_schema.job_tallies.span = 'hour' AND jobrunner_schema.job_tallies.at >= (date_trunc('hour', jobrunner_schema.jobrunner_now(), 'UTC') + make_interval(secs => %(since)s::FLOAT(53))) AND jobrunner_schema.job_tallies.at < (date_trunc('hour', jobrunner_schema.jobrunner_now(), 'UTC') + make_interval(secs => %(before)s::FLOAT(53))) AND jobrunner_schema.job_tallies.outcome = 'succeeded' GROUP BY jobrunner_schema.job_tallies.job_type
HAVING sum(jobrunner_schema.job_tallies.ends) >= %(least)s::BIGINT AND (max(jobrunner_schema.job_tallies.longest_run) >= %(seconds)s::FLOAT(53) OR max(jobrunner_schema.job_tallies.most_memory) >= %(memory_bytes)s::BIGINT)""",
        {},
        {},
        (('job_type', None), ('longest_run', None), ('most_memory', None), ('runs', None), ('memories', None)),
    ),
    ('unusual.sums', ('hour', True)): (
        """SELECT jobrunner_schema.job_tallies.job_type, max(jobrunner_schema.job_tallies.longest_run) AS longest_run, max(jobrunner_schema.job_tallies.most_memory) AS most_memory, string_agg(CAST(jobrunner_schema.job_tallies.runs AS TEXT), ',') AS runs, string_agg(CAST(jobrunner_schema.job_tallies.memories AS TEXT), ',') AS memories
FROM jobrunner_schema.job_tallies
WHERE jobrunner_schema.job_tallies.span = 'hour' AND jobrunner_schema.job_tallies.at >= (date_trunc('hour', jobrunner_schema.jobrunner_now(), 'UTC') + make_interval(secs => %(since)s::FLOAT(53))) AND jobrunner_schema.job_tallies.at < (date_trunc('hour', jobrunner_schema.jobrunner_now(), 'UTC') + make_interval(secs => %(before)s::FLOAT(53))) AND jobrunner_schema.job_tallies.outcome = 'succeeded' AND jobrunner_schema.job_tallies.job_type IN (SELECT given.job_type
FROM (SELECT job_type FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200))) AS given) GROUP BY jobrunner_schema.job_tallies.job_type
HAVING sum(jobrunner_schema.job_tallies.ends) >= %(least)s::BIGINT AND (max(jobrunner_schema.job_tallies.longest_run) >= %(seconds)s::FLOAT(53) OR max(jobrunner_schema.job_tallies.most_memory) >= %(memory_bytes)s::BIGINT)""",
        {},
        {'given': (('job_type', None),)},
        (('job_type', None), ('longest_run', None), ('most_memory', None), ('runs', None), ('memories', None)),
    ),
    ('unusual.sums', ('day', True)): (
        """SELECT jobrunner_schema.job_tallies.job_type, max(jobrunner_schema.job_tallies.longest_run) AS longest_run, max(jobrunner_schema.job_tallies.most_memory) AS most_memory, string_agg(CAST(jobrunner_schema.job_tallies.runs AS TEXT), ',') AS runs, string_agg(CAST(jobrunner_schema.job_tallies.memories AS TEXT), ',') AS memories
FROM jobrunner_schema.job_tallies
WHERE jobrunner_schema.job_tallies.span = 'day' AND jobrunner_schema.job_tallies.at >= (date_trunc('hour', jobrunner_schema.jobrunner_now(), 'UTC') + make_interval(secs => %(since)s::FLOAT(53))) AND jobrunner_schema.job_tallies.at < (date_trunc('hour', jobrunner_schema.jobrunner_now(), 'UTC') + make_interval(secs => %(before)s::FLOAT(53))) AND jobrunner_schema.job_tallies.outcome = 'succeeded' AND jobrunner_schema.job_tallies.job_type IN (SELECT given.job_type
FROM (SELECT job_type FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200))) AS given) GROUP BY jobrunner_schema.job_tallies.job_type
HAVING sum(jobrunner_schema.job_tallies.ends) >= %(least)s::BIGINT AND (max(jobrunner_schema.job_tallies.longest_run) >= %(seconds)s::FLOAT(53) OR max(jobrunner_schema.job_tallies.most_memory) >= %(memory_bytes)s::BIGINT)""",
        {},
        {'given': (('job_type', None),)},
        (('job_type', None), ('longest_run', None), ('most_memory', None), ('runs', None), ('memories', None)),
    ),
}
