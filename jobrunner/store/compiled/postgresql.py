"""The statements of a tick for postgresql, written by `make statements`."""

STATEMENTS = {
    ('audit.insert', ()): (
        """INSERT INTO job_events (at, actor, action, definition_id, run_id, detail) SELECT given.at, given.actor, given.action, given.definition_id, given.run_id, given.detail
FROM (SELECT at, actor, action, definition_id, run_id, CAST(detail AS JSONB) AS detail FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(at TIMESTAMP WITH TIME ZONE, actor VARCHAR(300), action VARCHAR(50), definition_id BIGINT, run_id BIGINT, detail TEXT)) AS given""",
        {},
        {'given': (('at', 'instant'), ('actor', None), ('action', None), ('definition_id', None), ('run_id', None), ('detail', 'json'))},
        (),
    ),
    ('backpressure.count', ()): (
        """SELECT count(*) AS count_1
FROM (SELECT %(param_1)s::INTEGER AS anon_2
FROM job_runs
WHERE job_runs.job_type = %(of_type)s::VARCHAR AND job_runs.status IN ('queued', 'failed')
 LIMIT %(limit)s::INTEGER) AS anon_1""",
        {'param_1': 1},
        {},
        (('count', None),),
    ),
    ('backpressure.count_dropped', ()): (
        """UPDATE job_types SET dropped=(job_types.dropped + %(count)s::INTEGER), dropped_at=jobrunner_now() WHERE job_types.job_type = %(of_type)s::VARCHAR""",
        {},
        {},
        (),
    ),
    ('backpressure.declare', ('postgresql',)): (
        """INSERT INTO job_types (job_type, max_waiting, when_full, updated_at) VALUES (%(of_type)s::VARCHAR, %(new_limit)s::BIGINT, %(new_when_full)s::VARCHAR, jobrunner_now()) ON CONFLICT (job_type) DO UPDATE SET max_waiting = %(new_limit)s::BIGINT, when_full = %(new_when_full)s::VARCHAR, updated_at = jobrunner_now()""",
        {},
        {},
        (),
    ),
    ('backpressure.limits', ()): (
        """SELECT job_types.job_type, job_types.max_waiting, job_types.when_full
FROM job_types
WHERE job_types.max_waiting IS NOT NULL""",
        {},
        {},
        (('job_type', None), ('max_waiting', None), ('when_full', None)),
    ),
    ('backpressure.lock', ()): (
        """UPDATE job_types SET job_type=job_types.job_type WHERE job_types.job_type = %(of_type)s::VARCHAR AND job_types.max_waiting IS NOT NULL RETURNING job_types.max_waiting, job_types.when_full""",
        {},
        {},
        (('max_waiting', None), ('when_full', None)),
    ),
    ('claims.claim', (1, False, False)): (
        """WITH picked AS
(SELECT found.id AS id
FROM (SELECT of_type_0.id AS id, of_type_0.priority AS priority, of_type_0.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_0)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_0)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_0) AS found ORDER BY found.priority DESC, found.run_at, found.id
 LIMIT %(limit)s::INTEGER)
 UPDATE job_runs SET status='running', attempts=(job_runs.attempts + %(attempts_1)s::INTEGER), max_attempts=coalesce(job_runs.max_attempts, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(max_attempts_0)s::INTEGER END), timeout=coalesce(job_runs.timeout, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(timeout_0)s END), locked_by=%(owner)s::VARCHAR, host=%(host)s::VARCHAR, locked_until=(jobrunner_now() + make_interval(secs => %(lease_seconds)s)), lease_token=%(token)s::VARCHAR, claimed_at=jobrunner_now(), started_at=jobrunner_now(), heartbeat_at=jobrunner_now(), progress=NULL, output=NULL, updated_at=jobrunner_now() WHERE job_runs.id IN (SELECT picked.id
FROM picked) AND job_runs.status != 'running' RETURNING job_runs.id, job_runs.lease_token, job_runs.job_type, job_runs.payload, job_runs.attempts, job_runs.max_attempts, job_runs.timeout, job_runs.priority, job_runs.run_at, job_runs.scheduled_for, job_runs.claimed_at""",
        {'attempts_1': 1},
        {},
        (('id', None), ('lease_token', None), ('job_type', None), ('payload', 'json'), ('attempts', None), ('max_attempts', None), ('timeout', None), ('priority', None), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('claimed_at', 'instant')),
    ),
    ('claims.claim', (1, True, False)): (
        """WITH picked AS
(SELECT found.id AS id
FROM (SELECT of_type_0.id AS id, of_type_0.priority AS priority, of_type_0.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_0)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_0)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_0) AS found ORDER BY found.priority DESC, found.run_at, found.id
 LIMIT %(limit)s::INTEGER)
 UPDATE job_runs SET status='running', attempts=(job_runs.attempts + %(attempts_1)s::INTEGER), max_attempts=coalesce(job_runs.max_attempts, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(max_attempts_0)s::INTEGER END), timeout=coalesce(job_runs.timeout, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(timeout_0)s END), locked_by=%(owner)s::VARCHAR, host=%(host)s::VARCHAR, locked_until=(jobrunner_now() + make_interval(secs => %(lease_seconds)s)), lease_token=%(token)s::VARCHAR, claimed_at=jobrunner_now(), started_at=jobrunner_now(), heartbeat_at=jobrunner_now(), progress=NULL, output=NULL, updated_at=jobrunner_now() WHERE job_runs.id IN (SELECT picked.id
FROM picked) AND job_runs.status != 'running' RETURNING job_runs.id, job_runs.lease_token, job_runs.job_type, job_runs.payload, job_runs.attempts, job_runs.max_attempts, job_runs.timeout, job_runs.priority, job_runs.run_at, job_runs.scheduled_for, job_runs.claimed_at""",
        {'attempts_1': 1},
        {},
        (('id', None), ('lease_token', None), ('job_type', None), ('payload', 'json'), ('attempts', None), ('max_attempts', None), ('timeout', None), ('priority', None), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('claimed_at', 'instant')),
    ),
    ('claims.claim', (2, False, False)): (
        """WITH picked AS
(SELECT found.id AS id
FROM (SELECT of_type_0.id AS id, of_type_0.priority AS priority, of_type_0.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_0)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_0)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_0 UNION ALL SELECT of_type_1.id AS id, of_type_1.priority AS priority, of_type_1.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_1)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_1)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_1) AS found ORDER BY found.priority DESC, found.run_at, found.id
 LIMIT %(limit)s::INTEGER)
 UPDATE job_runs SET status='running', attempts=(job_runs.attempts + %(attempts_1)s::INTEGER), max_attempts=coalesce(job_runs.max_attempts, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(max_attempts_0)s::INTEGER WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(max_attempts_1)s::INTEGER END), timeout=coalesce(job_runs.timeout, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(timeout_0)s WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(timeout_1)s END), locked_by=%(owner)s::VARCHAR, host=%(host)s::VARCHAR, locked_until=(jobrunner_now() + make_interval(secs => %(lease_seconds)s)), lease_token=%(token)s::VARCHAR, claimed_at=jobrunner_now(), started_at=jobrunner_now(), heartbeat_at=jobrunner_now(), progress=NULL, output=NULL, updated_at=jobrunner_now() WHERE job_runs.id IN (SELECT picked.id
FROM picked) AND job_runs.status != 'running' RETURNING job_runs.id, job_runs.lease_token, job_runs.job_type, job_runs.payload, job_runs.attempts, job_runs.max_attempts, job_runs.timeout, job_runs.priority, job_runs.run_at, job_runs.scheduled_for, job_runs.claimed_at""",
        {'attempts_1': 1},
        {},
        (('id', None), ('lease_token', None), ('job_type', None), ('payload', 'json'), ('attempts', None), ('max_attempts', None), ('timeout', None), ('priority', None), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('claimed_at', 'instant')),
    ),
    ('claims.claim', (2, True, False)): (
        """WITH picked AS
(SELECT found.id AS id
FROM (SELECT of_type_0.id AS id, of_type_0.priority AS priority, of_type_0.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_0)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_0)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_0 UNION ALL SELECT of_type_1.id AS id, of_type_1.priority AS priority, of_type_1.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_1)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_1)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_1) AS found ORDER BY found.priority DESC, found.run_at, found.id
 LIMIT %(limit)s::INTEGER)
 UPDATE job_runs SET status='running', attempts=(job_runs.attempts + %(attempts_1)s::INTEGER), max_attempts=coalesce(job_runs.max_attempts, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(max_attempts_0)s::INTEGER WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(max_attempts_1)s::INTEGER END), timeout=coalesce(job_runs.timeout, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(timeout_0)s WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(timeout_1)s END), locked_by=%(owner)s::VARCHAR, host=%(host)s::VARCHAR, locked_until=(jobrunner_now() + make_interval(secs => %(lease_seconds)s)), lease_token=%(token)s::VARCHAR, claimed_at=jobrunner_now(), started_at=jobrunner_now(), heartbeat_at=jobrunner_now(), progress=NULL, output=NULL, updated_at=jobrunner_now() WHERE job_runs.id IN (SELECT picked.id
FROM picked) AND job_runs.status != 'running' RETURNING job_runs.id, job_runs.lease_token, job_runs.job_type, job_runs.payload, job_runs.attempts, job_runs.max_attempts, job_runs.timeout, job_runs.priority, job_runs.run_at, job_runs.scheduled_for, job_runs.claimed_at""",
        {'attempts_1': 1},
        {},
        (('id', None), ('lease_token', None), ('job_type', None), ('payload', 'json'), ('attempts', None), ('max_attempts', None), ('timeout', None), ('priority', None), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('claimed_at', 'instant')),
    ),
    ('claims.claim', (3, False, False)): (
        """WITH picked AS
(SELECT found.id AS id
FROM (SELECT of_type_0.id AS id, of_type_0.priority AS priority, of_type_0.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_0)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_0)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_0 UNION ALL SELECT of_type_1.id AS id, of_type_1.priority AS priority, of_type_1.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_1)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_1)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_1 UNION ALL SELECT of_type_2.id AS id, of_type_2.priority AS priority, of_type_2.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_2)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_2)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_2) AS found ORDER BY found.priority DESC, found.run_at, found.id
 LIMIT %(limit)s::INTEGER)
 UPDATE job_runs SET status='running', attempts=(job_runs.attempts + %(attempts_1)s::INTEGER), max_attempts=coalesce(job_runs.max_attempts, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(max_attempts_0)s::INTEGER WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(max_attempts_1)s::INTEGER WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(max_attempts_2)s::INTEGER END), timeout=coalesce(job_runs.timeout, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(timeout_0)s WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(timeout_1)s WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(timeout_2)s END), locked_by=%(owner)s::VARCHAR, host=%(host)s::VARCHAR, locked_until=(jobrunner_now() + make_interval(secs => %(lease_seconds)s)), lease_token=%(token)s::VARCHAR, claimed_at=jobrunner_now(), started_at=jobrunner_now(), heartbeat_at=jobrunner_now(), progress=NULL, output=NULL, updated_at=jobrunner_now() WHERE job_runs.id IN (SELECT picked.id
FROM picked) AND job_runs.status != 'running' RETURNING job_runs.id, job_runs.lease_token, job_runs.job_type, job_runs.payload, job_runs.attempts, job_runs.max_attempts, job_runs.timeout, job_runs.priority, job_runs.run_at, job_runs.scheduled_for, job_runs.claimed_at""",
        {'attempts_1': 1},
        {},
        (('id', None), ('lease_token', None), ('job_type', None), ('payload', 'json'), ('attempts', None), ('max_attempts', None), ('timeout', None), ('priority', None), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('claimed_at', 'instant')),
    ),
    ('claims.claim', (3, True, False)): (
        """WITH picked AS
(SELECT found.id AS id
FROM (SELECT of_type_0.id AS id, of_type_0.priority AS priority, of_type_0.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_0)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_0)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_0 UNION ALL SELECT of_type_1.id AS id, of_type_1.priority AS priority, of_type_1.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_1)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_1)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_1 UNION ALL SELECT of_type_2.id AS id, of_type_2.priority AS priority, of_type_2.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_2)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_2)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_2) AS found ORDER BY found.priority DESC, found.run_at, found.id
 LIMIT %(limit)s::INTEGER)
 UPDATE job_runs SET status='running', attempts=(job_runs.attempts + %(attempts_1)s::INTEGER), max_attempts=coalesce(job_runs.max_attempts, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(max_attempts_0)s::INTEGER WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(max_attempts_1)s::INTEGER WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(max_attempts_2)s::INTEGER END), timeout=coalesce(job_runs.timeout, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(timeout_0)s WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(timeout_1)s WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(timeout_2)s END), locked_by=%(owner)s::VARCHAR, host=%(host)s::VARCHAR, locked_until=(jobrunner_now() + make_interval(secs => %(lease_seconds)s)), lease_token=%(token)s::VARCHAR, claimed_at=jobrunner_now(), started_at=jobrunner_now(), heartbeat_at=jobrunner_now(), progress=NULL, output=NULL, updated_at=jobrunner_now() WHERE job_runs.id IN (SELECT picked.id
FROM picked) AND job_runs.status != 'running' RETURNING job_runs.id, job_runs.lease_token, job_runs.job_type, job_runs.payload, job_runs.attempts, job_runs.max_attempts, job_runs.timeout, job_runs.priority, job_runs.run_at, job_runs.scheduled_for, job_runs.claimed_at""",
        {'attempts_1': 1},
        {},
        (('id', None), ('lease_token', None), ('job_type', None), ('payload', 'json'), ('attempts', None), ('max_attempts', None), ('timeout', None), ('priority', None), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('claimed_at', 'instant')),
    ),
    ('claims.claim', (4, False, False)): (
        """WITH picked AS
(SELECT found.id AS id
FROM (SELECT of_type_0.id AS id, of_type_0.priority AS priority, of_type_0.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_0)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_0)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_0 UNION ALL SELECT of_type_1.id AS id, of_type_1.priority AS priority, of_type_1.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_1)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_1)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_1 UNION ALL SELECT of_type_2.id AS id, of_type_2.priority AS priority, of_type_2.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_2)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_2)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_2 UNION ALL SELECT of_type_3.id AS id, of_type_3.priority AS priority, of_type_3.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_3)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_3)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_3) AS found ORDER BY found.priority DESC, found.run_at, found.id
 LIMIT %(limit)s::INTEGER)
 UPDATE job_runs SET status='running', attempts=(job_runs.attempts + %(attempts_1)s::INTEGER), max_attempts=coalesce(job_runs.max_attempts, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(max_attempts_0)s::INTEGER WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(max_attempts_1)s::INTEGER WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(max_attempts_2)s::INTEGER WHEN (job_runs.job_type = %(type_3)s::VARCHAR) THEN %(max_attempts_3)s::INTEGER END), timeout=coalesce(job_runs.timeout, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(timeout_0)s WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(timeout_1)s WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(timeout_2)s WHEN (job_runs.job_type = %(type_3)s::VARCHAR) THEN %(timeout_3)s END), locked_by=%(owner)s::VARCHAR, host=%(host)s::VARCHAR, locked_until=(jobrunner_now() + make_interval(secs => %(lease_seconds)s)), lease_token=%(token)s::VARCHAR, claimed_at=jobrunner_now(), started_at=jobrunner_now(), heartbeat_at=jobrunner_now(), progress=NULL, output=NULL, updated_at=jobrunner_now() WHERE job_runs.id IN (SELECT picked.id
FROM picked) AND job_runs.status != 'running' RETURNING job_runs.id, job_runs.lease_token, job_runs.job_type, job_runs.payload, job_runs.attempts, job_runs.max_attempts, job_runs.timeout, job_runs.priority, job_runs.run_at, job_runs.scheduled_for, job_runs.claimed_at""",
        {'attempts_1': 1},
        {},
        (('id', None), ('lease_token', None), ('job_type', None), ('payload', 'json'), ('attempts', None), ('max_attempts', None), ('timeout', None), ('priority', None), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('claimed_at', 'instant')),
    ),
    ('claims.claim', (4, True, False)): (
        """WITH picked AS
(SELECT found.id AS id
FROM (SELECT of_type_0.id AS id, of_type_0.priority AS priority, of_type_0.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_0)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_0)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_0 UNION ALL SELECT of_type_1.id AS id, of_type_1.priority AS priority, of_type_1.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_1)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_1)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_1 UNION ALL SELECT of_type_2.id AS id, of_type_2.priority AS priority, of_type_2.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_2)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_2)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_2 UNION ALL SELECT of_type_3.id AS id, of_type_3.priority AS priority, of_type_3.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_3)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_3)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_3) AS found ORDER BY found.priority DESC, found.run_at, found.id
 LIMIT %(limit)s::INTEGER)
 UPDATE job_runs SET status='running', attempts=(job_runs.attempts + %(attempts_1)s::INTEGER), max_attempts=coalesce(job_runs.max_attempts, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(max_attempts_0)s::INTEGER WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(max_attempts_1)s::INTEGER WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(max_attempts_2)s::INTEGER WHEN (job_runs.job_type = %(type_3)s::VARCHAR) THEN %(max_attempts_3)s::INTEGER END), timeout=coalesce(job_runs.timeout, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(timeout_0)s WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(timeout_1)s WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(timeout_2)s WHEN (job_runs.job_type = %(type_3)s::VARCHAR) THEN %(timeout_3)s END), locked_by=%(owner)s::VARCHAR, host=%(host)s::VARCHAR, locked_until=(jobrunner_now() + make_interval(secs => %(lease_seconds)s)), lease_token=%(token)s::VARCHAR, claimed_at=jobrunner_now(), started_at=jobrunner_now(), heartbeat_at=jobrunner_now(), progress=NULL, output=NULL, updated_at=jobrunner_now() WHERE job_runs.id IN (SELECT picked.id
FROM picked) AND job_runs.status != 'running' RETURNING job_runs.id, job_runs.lease_token, job_runs.job_type, job_runs.payload, job_runs.attempts, job_runs.max_attempts, job_runs.timeout, job_runs.priority, job_runs.run_at, job_runs.scheduled_for, job_runs.claimed_at""",
        {'attempts_1': 1},
        {},
        (('id', None), ('lease_token', None), ('job_type', None), ('payload', 'json'), ('attempts', None), ('max_attempts', None), ('timeout', None), ('priority', None), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('claimed_at', 'instant')),
    ),
    ('claims.claim', (5, False, False)): (
        """WITH picked AS
(SELECT found.id AS id
FROM (SELECT of_type_0.id AS id, of_type_0.priority AS priority, of_type_0.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_0)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_0)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_0 UNION ALL SELECT of_type_1.id AS id, of_type_1.priority AS priority, of_type_1.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_1)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_1)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_1 UNION ALL SELECT of_type_2.id AS id, of_type_2.priority AS priority, of_type_2.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_2)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_2)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_2 UNION ALL SELECT of_type_3.id AS id, of_type_3.priority AS priority, of_type_3.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_3)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_3)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_3 UNION ALL SELECT of_type_4.id AS id, of_type_4.priority AS priority, of_type_4.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_4)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_4)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_4) AS found ORDER BY found.priority DESC, found.run_at, found.id
 LIMIT %(limit)s::INTEGER)
 UPDATE job_runs SET status='running', attempts=(job_runs.attempts + %(attempts_1)s::INTEGER), max_attempts=coalesce(job_runs.max_attempts, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(max_attempts_0)s::INTEGER WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(max_attempts_1)s::INTEGER WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(max_attempts_2)s::INTEGER WHEN (job_runs.job_type = %(type_3)s::VARCHAR) THEN %(max_attempts_3)s::INTEGER WHEN (job_runs.job_type = %(type_4)s::VARCHAR) THEN %(max_attempts_4)s::INTEGER END), timeout=coalesce(job_runs.timeout, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(timeout_0)s WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(timeout_1)s WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(timeout_2)s WHEN (job_runs.job_type = %(type_3)s::VARCHAR) THEN %(timeout_3)s WHEN (job_runs.job_type = %(type_4)s::VARCHAR) THEN %(timeout_4)s END), locked_by=%(owner)s::VARCHAR, host=%(host)s::VARCHAR, locked_until=(jobrunner_now() + make_interval(secs => %(lease_seconds)s)), lease_token=%(token)s::VARCHAR, claimed_at=jobrunner_now(), started_at=jobrunner_now(), heartbeat_at=jobrunner_now(), progress=NULL, output=NULL, updated_at=jobrunner_now() WHERE job_runs.id IN (SELECT picked.id
FROM picked) AND job_runs.status != 'running' RETURNING job_runs.id, job_runs.lease_token, job_runs.job_type, job_runs.payload, job_runs.attempts, job_runs.max_attempts, job_runs.timeout, job_runs.priority, job_runs.run_at, job_runs.scheduled_for, job_runs.claimed_at""",
        {'attempts_1': 1},
        {},
        (('id', None), ('lease_token', None), ('job_type', None), ('payload', 'json'), ('attempts', None), ('max_attempts', None), ('timeout', None), ('priority', None), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('claimed_at', 'instant')),
    ),
    ('claims.claim', (5, True, False)): (
        """WITH picked AS
(SELECT found.id AS id
FROM (SELECT of_type_0.id AS id, of_type_0.priority AS priority, of_type_0.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_0)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_0)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_0 UNION ALL SELECT of_type_1.id AS id, of_type_1.priority AS priority, of_type_1.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_1)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_1)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_1 UNION ALL SELECT of_type_2.id AS id, of_type_2.priority AS priority, of_type_2.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_2)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_2)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_2 UNION ALL SELECT of_type_3.id AS id, of_type_3.priority AS priority, of_type_3.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_3)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_3)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_3 UNION ALL SELECT of_type_4.id AS id, of_type_4.priority AS priority, of_type_4.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_4)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_4)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_4) AS found ORDER BY found.priority DESC, found.run_at, found.id
 LIMIT %(limit)s::INTEGER)
 UPDATE job_runs SET status='running', attempts=(job_runs.attempts + %(attempts_1)s::INTEGER), max_attempts=coalesce(job_runs.max_attempts, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(max_attempts_0)s::INTEGER WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(max_attempts_1)s::INTEGER WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(max_attempts_2)s::INTEGER WHEN (job_runs.job_type = %(type_3)s::VARCHAR) THEN %(max_attempts_3)s::INTEGER WHEN (job_runs.job_type = %(type_4)s::VARCHAR) THEN %(max_attempts_4)s::INTEGER END), timeout=coalesce(job_runs.timeout, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(timeout_0)s WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(timeout_1)s WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(timeout_2)s WHEN (job_runs.job_type = %(type_3)s::VARCHAR) THEN %(timeout_3)s WHEN (job_runs.job_type = %(type_4)s::VARCHAR) THEN %(timeout_4)s END), locked_by=%(owner)s::VARCHAR, host=%(host)s::VARCHAR, locked_until=(jobrunner_now() + make_interval(secs => %(lease_seconds)s)), lease_token=%(token)s::VARCHAR, claimed_at=jobrunner_now(), started_at=jobrunner_now(), heartbeat_at=jobrunner_now(), progress=NULL, output=NULL, updated_at=jobrunner_now() WHERE job_runs.id IN (SELECT picked.id
FROM picked) AND job_runs.status != 'running' RETURNING job_runs.id, job_runs.lease_token, job_runs.job_type, job_runs.payload, job_runs.attempts, job_runs.max_attempts, job_runs.timeout, job_runs.priority, job_runs.run_at, job_runs.scheduled_for, job_runs.claimed_at""",
        {'attempts_1': 1},
        {},
        (('id', None), ('lease_token', None), ('job_type', None), ('payload', 'json'), ('attempts', None), ('max_attempts', None), ('timeout', None), ('priority', None), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('claimed_at', 'instant')),
    ),
    ('claims.claim', (6, False, False)): (
        """WITH picked AS
(SELECT found.id AS id
FROM (SELECT of_type_0.id AS id, of_type_0.priority AS priority, of_type_0.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_0)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_0)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_0 UNION ALL SELECT of_type_1.id AS id, of_type_1.priority AS priority, of_type_1.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_1)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_1)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_1 UNION ALL SELECT of_type_2.id AS id, of_type_2.priority AS priority, of_type_2.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_2)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_2)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_2 UNION ALL SELECT of_type_3.id AS id, of_type_3.priority AS priority, of_type_3.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_3)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_3)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_3 UNION ALL SELECT of_type_4.id AS id, of_type_4.priority AS priority, of_type_4.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_4)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_4)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_4 UNION ALL SELECT of_type_5.id AS id, of_type_5.priority AS priority, of_type_5.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_5)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_5)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_5) AS found ORDER BY found.priority DESC, found.run_at, found.id
 LIMIT %(limit)s::INTEGER)
 UPDATE job_runs SET status='running', attempts=(job_runs.attempts + %(attempts_1)s::INTEGER), max_attempts=coalesce(job_runs.max_attempts, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(max_attempts_0)s::INTEGER WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(max_attempts_1)s::INTEGER WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(max_attempts_2)s::INTEGER WHEN (job_runs.job_type = %(type_3)s::VARCHAR) THEN %(max_attempts_3)s::INTEGER WHEN (job_runs.job_type = %(type_4)s::VARCHAR) THEN %(max_attempts_4)s::INTEGER WHEN (job_runs.job_type = %(type_5)s::VARCHAR) THEN %(max_attempts_5)s::INTEGER END), timeout=coalesce(job_runs.timeout, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(timeout_0)s WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(timeout_1)s WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(timeout_2)s WHEN (job_runs.job_type = %(type_3)s::VARCHAR) THEN %(timeout_3)s WHEN (job_runs.job_type = %(type_4)s::VARCHAR) THEN %(timeout_4)s WHEN (job_runs.job_type = %(type_5)s::VARCHAR) THEN %(timeout_5)s END), locked_by=%(owner)s::VARCHAR, host=%(host)s::VARCHAR, locked_until=(jobrunner_now() + make_interval(secs => %(lease_seconds)s)), lease_token=%(token)s::VARCHAR, claimed_at=jobrunner_now(), started_at=jobrunner_now(), heartbeat_at=jobrunner_now(), progress=NULL, output=NULL, updated_at=jobrunner_now() WHERE job_runs.id IN (SELECT picked.id
FROM picked) AND job_runs.status != 'running' RETURNING job_runs.id, job_runs.lease_token, job_runs.job_type, job_runs.payload, job_runs.attempts, job_runs.max_attempts, job_runs.timeout, job_runs.priority, job_runs.run_at, job_runs.scheduled_for, job_runs.claimed_at""",
        {'attempts_1': 1},
        {},
        (('id', None), ('lease_token', None), ('job_type', None), ('payload', 'json'), ('attempts', None), ('max_attempts', None), ('timeout', None), ('priority', None), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('claimed_at', 'instant')),
    ),
    ('claims.claim', (6, True, False)): (
        """WITH picked AS
(SELECT found.id AS id
FROM (SELECT of_type_0.id AS id, of_type_0.priority AS priority, of_type_0.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_0)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_0)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_0 UNION ALL SELECT of_type_1.id AS id, of_type_1.priority AS priority, of_type_1.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_1)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_1)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_1 UNION ALL SELECT of_type_2.id AS id, of_type_2.priority AS priority, of_type_2.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_2)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_2)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_2 UNION ALL SELECT of_type_3.id AS id, of_type_3.priority AS priority, of_type_3.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_3)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_3)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_3 UNION ALL SELECT of_type_4.id AS id, of_type_4.priority AS priority, of_type_4.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_4)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_4)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_4 UNION ALL SELECT of_type_5.id AS id, of_type_5.priority AS priority, of_type_5.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_5)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_5)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_5) AS found ORDER BY found.priority DESC, found.run_at, found.id
 LIMIT %(limit)s::INTEGER)
 UPDATE job_runs SET status='running', attempts=(job_runs.attempts + %(attempts_1)s::INTEGER), max_attempts=coalesce(job_runs.max_attempts, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(max_attempts_0)s::INTEGER WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(max_attempts_1)s::INTEGER WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(max_attempts_2)s::INTEGER WHEN (job_runs.job_type = %(type_3)s::VARCHAR) THEN %(max_attempts_3)s::INTEGER WHEN (job_runs.job_type = %(type_4)s::VARCHAR) THEN %(max_attempts_4)s::INTEGER WHEN (job_runs.job_type = %(type_5)s::VARCHAR) THEN %(max_attempts_5)s::INTEGER END), timeout=coalesce(job_runs.timeout, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(timeout_0)s WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(timeout_1)s WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(timeout_2)s WHEN (job_runs.job_type = %(type_3)s::VARCHAR) THEN %(timeout_3)s WHEN (job_runs.job_type = %(type_4)s::VARCHAR) THEN %(timeout_4)s WHEN (job_runs.job_type = %(type_5)s::VARCHAR) THEN %(timeout_5)s END), locked_by=%(owner)s::VARCHAR, host=%(host)s::VARCHAR, locked_until=(jobrunner_now() + make_interval(secs => %(lease_seconds)s)), lease_token=%(token)s::VARCHAR, claimed_at=jobrunner_now(), started_at=jobrunner_now(), heartbeat_at=jobrunner_now(), progress=NULL, output=NULL, updated_at=jobrunner_now() WHERE job_runs.id IN (SELECT picked.id
FROM picked) AND job_runs.status != 'running' RETURNING job_runs.id, job_runs.lease_token, job_runs.job_type, job_runs.payload, job_runs.attempts, job_runs.max_attempts, job_runs.timeout, job_runs.priority, job_runs.run_at, job_runs.scheduled_for, job_runs.claimed_at""",
        {'attempts_1': 1},
        {},
        (('id', None), ('lease_token', None), ('job_type', None), ('payload', 'json'), ('attempts', None), ('max_attempts', None), ('timeout', None), ('priority', None), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('claimed_at', 'instant')),
    ),
    ('claims.claim', (7, False, False)): (
        """WITH picked AS
(SELECT found.id AS id
FROM (SELECT of_type_0.id AS id, of_type_0.priority AS priority, of_type_0.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_0)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_0)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_0 UNION ALL SELECT of_type_1.id AS id, of_type_1.priority AS priority, of_type_1.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_1)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_1)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_1 UNION ALL SELECT of_type_2.id AS id, of_type_2.priority AS priority, of_type_2.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_2)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_2)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_2 UNION ALL SELECT of_type_3.id AS id, of_type_3.priority AS priority, of_type_3.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_3)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_3)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_3 UNION ALL SELECT of_type_4.id AS id, of_type_4.priority AS priority, of_type_4.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_4)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_4)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_4 UNION ALL SELECT of_type_5.id AS id, of_type_5.priority AS priority, of_type_5.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_5)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_5)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_5 UNION ALL SELECT of_type_6.id AS id, of_type_6.priority AS priority, of_type_6.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_6)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_6)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_6) AS found ORDER BY found.priority DESC, found.run_at, found.id
 LIMIT %(limit)s::INTEGER)
 UPDATE job_runs SET status='running', attempts=(job_runs.attempts + %(attempts_1)s::INTEGER), max_attempts=coalesce(job_runs.max_attempts, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(max_attempts_0)s::INTEGER WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(max_attempts_1)s::INTEGER WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(max_attempts_2)s::INTEGER WHEN (job_runs.job_type = %(type_3)s::VARCHAR) THEN %(max_attempts_3)s::INTEGER WHEN (job_runs.job_type = %(type_4)s::VARCHAR) THEN %(max_attempts_4)s::INTEGER WHEN (job_runs.job_type = %(type_5)s::VARCHAR) THEN %(max_attempts_5)s::INTEGER WHEN (job_runs.job_type = %(type_6)s::VARCHAR) THEN %(max_attempts_6)s::INTEGER END), timeout=coalesce(job_runs.timeout, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(timeout_0)s WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(timeout_1)s WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(timeout_2)s WHEN (job_runs.job_type = %(type_3)s::VARCHAR) THEN %(timeout_3)s WHEN (job_runs.job_type = %(type_4)s::VARCHAR) THEN %(timeout_4)s WHEN (job_runs.job_type = %(type_5)s::VARCHAR) THEN %(timeout_5)s WHEN (job_runs.job_type = %(type_6)s::VARCHAR) THEN %(timeout_6)s END), locked_by=%(owner)s::VARCHAR, host=%(host)s::VARCHAR, locked_until=(jobrunner_now() + make_interval(secs => %(lease_seconds)s)), lease_token=%(token)s::VARCHAR, claimed_at=jobrunner_now(), started_at=jobrunner_now(), heartbeat_at=jobrunner_now(), progress=NULL, output=NULL, updated_at=jobrunner_now() WHERE job_runs.id IN (SELECT picked.id
FROM picked) AND job_runs.status != 'running' RETURNING job_runs.id, job_runs.lease_token, job_runs.job_type, job_runs.payload, job_runs.attempts, job_runs.max_attempts, job_runs.timeout, job_runs.priority, job_runs.run_at, job_runs.scheduled_for, job_runs.claimed_at""",
        {'attempts_1': 1},
        {},
        (('id', None), ('lease_token', None), ('job_type', None), ('payload', 'json'), ('attempts', None), ('max_attempts', None), ('timeout', None), ('priority', None), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('claimed_at', 'instant')),
    ),
    ('claims.claim', (7, True, False)): (
        """WITH picked AS
(SELECT found.id AS id
FROM (SELECT of_type_0.id AS id, of_type_0.priority AS priority, of_type_0.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_0)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_0)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_0 UNION ALL SELECT of_type_1.id AS id, of_type_1.priority AS priority, of_type_1.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_1)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_1)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_1 UNION ALL SELECT of_type_2.id AS id, of_type_2.priority AS priority, of_type_2.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_2)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_2)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_2 UNION ALL SELECT of_type_3.id AS id, of_type_3.priority AS priority, of_type_3.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_3)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_3)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_3 UNION ALL SELECT of_type_4.id AS id, of_type_4.priority AS priority, of_type_4.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_4)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_4)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_4 UNION ALL SELECT of_type_5.id AS id, of_type_5.priority AS priority, of_type_5.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_5)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_5)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_5 UNION ALL SELECT of_type_6.id AS id, of_type_6.priority AS priority, of_type_6.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_6)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_6)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_6) AS found ORDER BY found.priority DESC, found.run_at, found.id
 LIMIT %(limit)s::INTEGER)
 UPDATE job_runs SET status='running', attempts=(job_runs.attempts + %(attempts_1)s::INTEGER), max_attempts=coalesce(job_runs.max_attempts, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(max_attempts_0)s::INTEGER WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(max_attempts_1)s::INTEGER WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(max_attempts_2)s::INTEGER WHEN (job_runs.job_type = %(type_3)s::VARCHAR) THEN %(max_attempts_3)s::INTEGER WHEN (job_runs.job_type = %(type_4)s::VARCHAR) THEN %(max_attempts_4)s::INTEGER WHEN (job_runs.job_type = %(type_5)s::VARCHAR) THEN %(max_attempts_5)s::INTEGER WHEN (job_runs.job_type = %(type_6)s::VARCHAR) THEN %(max_attempts_6)s::INTEGER END), timeout=coalesce(job_runs.timeout, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(timeout_0)s WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(timeout_1)s WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(timeout_2)s WHEN (job_runs.job_type = %(type_3)s::VARCHAR) THEN %(timeout_3)s WHEN (job_runs.job_type = %(type_4)s::VARCHAR) THEN %(timeout_4)s WHEN (job_runs.job_type = %(type_5)s::VARCHAR) THEN %(timeout_5)s WHEN (job_runs.job_type = %(type_6)s::VARCHAR) THEN %(timeout_6)s END), locked_by=%(owner)s::VARCHAR, host=%(host)s::VARCHAR, locked_until=(jobrunner_now() + make_interval(secs => %(lease_seconds)s)), lease_token=%(token)s::VARCHAR, claimed_at=jobrunner_now(), started_at=jobrunner_now(), heartbeat_at=jobrunner_now(), progress=NULL, output=NULL, updated_at=jobrunner_now() WHERE job_runs.id IN (SELECT picked.id
FROM picked) AND job_runs.status != 'running' RETURNING job_runs.id, job_runs.lease_token, job_runs.job_type, job_runs.payload, job_runs.attempts, job_runs.max_attempts, job_runs.timeout, job_runs.priority, job_runs.run_at, job_runs.scheduled_for, job_runs.claimed_at""",
        {'attempts_1': 1},
        {},
        (('id', None), ('lease_token', None), ('job_type', None), ('payload', 'json'), ('attempts', None), ('max_attempts', None), ('timeout', None), ('priority', None), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('claimed_at', 'instant')),
    ),
    ('claims.claim', (8, False, False)): (
        """WITH picked AS
(SELECT found.id AS id
FROM (SELECT of_type_0.id AS id, of_type_0.priority AS priority, of_type_0.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_0)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_0)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_0 UNION ALL SELECT of_type_1.id AS id, of_type_1.priority AS priority, of_type_1.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_1)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_1)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_1 UNION ALL SELECT of_type_2.id AS id, of_type_2.priority AS priority, of_type_2.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_2)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_2)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_2 UNION ALL SELECT of_type_3.id AS id, of_type_3.priority AS priority, of_type_3.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_3)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_3)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_3 UNION ALL SELECT of_type_4.id AS id, of_type_4.priority AS priority, of_type_4.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_4)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_4)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_4 UNION ALL SELECT of_type_5.id AS id, of_type_5.priority AS priority, of_type_5.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_5)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_5)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_5 UNION ALL SELECT of_type_6.id AS id, of_type_6.priority AS priority, of_type_6.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_6)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_6)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_6 UNION ALL SELECT of_type_7.id AS id, of_type_7.priority AS priority, of_type_7.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_7)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_7)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_7) AS found ORDER BY found.priority DESC, found.run_at, found.id
 LIMIT %(limit)s::INTEGER)
 UPDATE job_runs SET status='running', attempts=(job_runs.attempts + %(attempts_1)s::INTEGER), max_attempts=coalesce(job_runs.max_attempts, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(max_attempts_0)s::INTEGER WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(max_attempts_1)s::INTEGER WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(max_attempts_2)s::INTEGER WHEN (job_runs.job_type = %(type_3)s::VARCHAR) THEN %(max_attempts_3)s::INTEGER WHEN (job_runs.job_type = %(type_4)s::VARCHAR) THEN %(max_attempts_4)s::INTEGER WHEN (job_runs.job_type = %(type_5)s::VARCHAR) THEN %(max_attempts_5)s::INTEGER WHEN (job_runs.job_type = %(type_6)s::VARCHAR) THEN %(max_attempts_6)s::INTEGER WHEN (job_runs.job_type = %(type_7)s::VARCHAR) THEN %(max_attempts_7)s::INTEGER END), timeout=coalesce(job_runs.timeout, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(timeout_0)s WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(timeout_1)s WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(timeout_2)s WHEN (job_runs.job_type = %(type_3)s::VARCHAR) THEN %(timeout_3)s WHEN (job_runs.job_type = %(type_4)s::VARCHAR) THEN %(timeout_4)s WHEN (job_runs.job_type = %(type_5)s::VARCHAR) THEN %(timeout_5)s WHEN (job_runs.job_type = %(type_6)s::VARCHAR) THEN %(timeout_6)s WHEN (job_runs.job_type = %(type_7)s::VARCHAR) THEN %(timeout_7)s END), locked_by=%(owner)s::VARCHAR, host=%(host)s::VARCHAR, locked_until=(jobrunner_now() + make_interval(secs => %(lease_seconds)s)), lease_token=%(token)s::VARCHAR, claimed_at=jobrunner_now(), started_at=jobrunner_now(), heartbeat_at=jobrunner_now(), progress=NULL, output=NULL, updated_at=jobrunner_now() WHERE job_runs.id IN (SELECT picked.id
FROM picked) AND job_runs.status != 'running' RETURNING job_runs.id, job_runs.lease_token, job_runs.job_type, job_runs.payload, job_runs.attempts, job_runs.max_attempts, job_runs.timeout, job_runs.priority, job_runs.run_at, job_runs.scheduled_for, job_runs.claimed_at""",
        {'attempts_1': 1},
        {},
        (('id', None), ('lease_token', None), ('job_type', None), ('payload', 'json'), ('attempts', None), ('max_attempts', None), ('timeout', None), ('priority', None), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('claimed_at', 'instant')),
    ),
    ('claims.claim', (8, True, False)): (
        """WITH picked AS
(SELECT found.id AS id
FROM (SELECT of_type_0.id AS id, of_type_0.priority AS priority, of_type_0.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_0)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_0)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_0 UNION ALL SELECT of_type_1.id AS id, of_type_1.priority AS priority, of_type_1.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_1)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_1)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_1 UNION ALL SELECT of_type_2.id AS id, of_type_2.priority AS priority, of_type_2.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_2)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_2)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_2 UNION ALL SELECT of_type_3.id AS id, of_type_3.priority AS priority, of_type_3.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_3)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_3)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_3 UNION ALL SELECT of_type_4.id AS id, of_type_4.priority AS priority, of_type_4.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_4)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_4)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_4 UNION ALL SELECT of_type_5.id AS id, of_type_5.priority AS priority, of_type_5.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_5)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_5)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_5 UNION ALL SELECT of_type_6.id AS id, of_type_6.priority AS priority, of_type_6.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_6)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_6)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_6 UNION ALL SELECT of_type_7.id AS id, of_type_7.priority AS priority, of_type_7.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_7)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_7)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_7) AS found ORDER BY found.priority DESC, found.run_at, found.id
 LIMIT %(limit)s::INTEGER)
 UPDATE job_runs SET status='running', attempts=(job_runs.attempts + %(attempts_1)s::INTEGER), max_attempts=coalesce(job_runs.max_attempts, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(max_attempts_0)s::INTEGER WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(max_attempts_1)s::INTEGER WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(max_attempts_2)s::INTEGER WHEN (job_runs.job_type = %(type_3)s::VARCHAR) THEN %(max_attempts_3)s::INTEGER WHEN (job_runs.job_type = %(type_4)s::VARCHAR) THEN %(max_attempts_4)s::INTEGER WHEN (job_runs.job_type = %(type_5)s::VARCHAR) THEN %(max_attempts_5)s::INTEGER WHEN (job_runs.job_type = %(type_6)s::VARCHAR) THEN %(max_attempts_6)s::INTEGER WHEN (job_runs.job_type = %(type_7)s::VARCHAR) THEN %(max_attempts_7)s::INTEGER END), timeout=coalesce(job_runs.timeout, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(timeout_0)s WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(timeout_1)s WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(timeout_2)s WHEN (job_runs.job_type = %(type_3)s::VARCHAR) THEN %(timeout_3)s WHEN (job_runs.job_type = %(type_4)s::VARCHAR) THEN %(timeout_4)s WHEN (job_runs.job_type = %(type_5)s::VARCHAR) THEN %(timeout_5)s WHEN (job_runs.job_type = %(type_6)s::VARCHAR) THEN %(timeout_6)s WHEN (job_runs.job_type = %(type_7)s::VARCHAR) THEN %(timeout_7)s END), locked_by=%(owner)s::VARCHAR, host=%(host)s::VARCHAR, locked_until=(jobrunner_now() + make_interval(secs => %(lease_seconds)s)), lease_token=%(token)s::VARCHAR, claimed_at=jobrunner_now(), started_at=jobrunner_now(), heartbeat_at=jobrunner_now(), progress=NULL, output=NULL, updated_at=jobrunner_now() WHERE job_runs.id IN (SELECT picked.id
FROM picked) AND job_runs.status != 'running' RETURNING job_runs.id, job_runs.lease_token, job_runs.job_type, job_runs.payload, job_runs.attempts, job_runs.max_attempts, job_runs.timeout, job_runs.priority, job_runs.run_at, job_runs.scheduled_for, job_runs.claimed_at""",
        {'attempts_1': 1},
        {},
        (('id', None), ('lease_token', None), ('job_type', None), ('payload', 'json'), ('attempts', None), ('max_attempts', None), ('timeout', None), ('priority', None), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('claimed_at', 'instant')),
    ),
    ('claims.claim', (9, False, False)): (
        """WITH picked AS
(SELECT found.id AS id
FROM (SELECT of_type_0.id AS id, of_type_0.priority AS priority, of_type_0.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_0)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_0)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_0 UNION ALL SELECT of_type_1.id AS id, of_type_1.priority AS priority, of_type_1.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_1)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_1)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_1 UNION ALL SELECT of_type_2.id AS id, of_type_2.priority AS priority, of_type_2.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_2)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_2)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_2 UNION ALL SELECT of_type_3.id AS id, of_type_3.priority AS priority, of_type_3.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_3)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_3)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_3 UNION ALL SELECT of_type_4.id AS id, of_type_4.priority AS priority, of_type_4.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_4)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_4)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_4 UNION ALL SELECT of_type_5.id AS id, of_type_5.priority AS priority, of_type_5.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_5)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_5)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_5 UNION ALL SELECT of_type_6.id AS id, of_type_6.priority AS priority, of_type_6.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_6)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_6)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_6 UNION ALL SELECT of_type_7.id AS id, of_type_7.priority AS priority, of_type_7.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_7)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_7)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_7 UNION ALL SELECT of_type_8.id AS id, of_type_8.priority AS priority, of_type_8.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_8)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_8)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_8) AS found ORDER BY found.priority DESC, found.run_at, found.id
 LIMIT %(limit)s::INTEGER)
 UPDATE job_runs SET status='running', attempts=(job_runs.attempts + %(attempts_1)s::INTEGER), max_attempts=coalesce(job_runs.max_attempts, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(max_attempts_0)s::INTEGER WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(max_attempts_1)s::INTEGER WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(max_attempts_2)s::INTEGER WHEN (job_runs.job_type = %(type_3)s::VARCHAR) THEN %(max_attempts_3)s::INTEGER WHEN (job_runs.job_type = %(type_4)s::VARCHAR) THEN %(max_attempts_4)s::INTEGER WHEN (job_runs.job_type = %(type_5)s::VARCHAR) THEN %(max_attempts_5)s::INTEGER WHEN (job_runs.job_type = %(type_6)s::VARCHAR) THEN %(max_attempts_6)s::INTEGER WHEN (job_runs.job_type = %(type_7)s::VARCHAR) THEN %(max_attempts_7)s::INTEGER WHEN (job_runs.job_type = %(type_8)s::VARCHAR) THEN %(max_attempts_8)s::INTEGER END), timeout=coalesce(job_runs.timeout, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(timeout_0)s WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(timeout_1)s WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(timeout_2)s WHEN (job_runs.job_type = %(type_3)s::VARCHAR) THEN %(timeout_3)s WHEN (job_runs.job_type = %(type_4)s::VARCHAR) THEN %(timeout_4)s WHEN (job_runs.job_type = %(type_5)s::VARCHAR) THEN %(timeout_5)s WHEN (job_runs.job_type = %(type_6)s::VARCHAR) THEN %(timeout_6)s WHEN (job_runs.job_type = %(type_7)s::VARCHAR) THEN %(timeout_7)s WHEN (job_runs.job_type = %(type_8)s::VARCHAR) THEN %(timeout_8)s END), locked_by=%(owner)s::VARCHAR, host=%(host)s::VARCHAR, locked_until=(jobrunner_now() + make_interval(secs => %(lease_seconds)s)), lease_token=%(token)s::VARCHAR, claimed_at=jobrunner_now(), started_at=jobrunner_now(), heartbeat_at=jobrunner_now(), progress=NULL, output=NULL, updated_at=jobrunner_now() WHERE job_runs.id IN (SELECT picked.id
FROM picked) AND job_runs.status != 'running' RETURNING job_runs.id, job_runs.lease_token, job_runs.job_type, job_runs.payload, job_runs.attempts, job_runs.max_attempts, job_runs.timeout, job_runs.priority, job_runs.run_at, job_runs.scheduled_for, job_runs.claimed_at""",
        {'attempts_1': 1},
        {},
        (('id', None), ('lease_token', None), ('job_type', None), ('payload', 'json'), ('attempts', None), ('max_attempts', None), ('timeout', None), ('priority', None), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('claimed_at', 'instant')),
    ),
    ('claims.claim', (9, True, False)): (
        """WITH picked AS
(SELECT found.id AS id
FROM (SELECT of_type_0.id AS id, of_type_0.priority AS priority, of_type_0.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_0)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_0)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_0 UNION ALL SELECT of_type_1.id AS id, of_type_1.priority AS priority, of_type_1.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_1)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_1)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_1 UNION ALL SELECT of_type_2.id AS id, of_type_2.priority AS priority, of_type_2.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_2)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_2)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_2 UNION ALL SELECT of_type_3.id AS id, of_type_3.priority AS priority, of_type_3.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_3)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_3)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_3 UNION ALL SELECT of_type_4.id AS id, of_type_4.priority AS priority, of_type_4.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_4)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_4)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_4 UNION ALL SELECT of_type_5.id AS id, of_type_5.priority AS priority, of_type_5.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_5)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_5)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_5 UNION ALL SELECT of_type_6.id AS id, of_type_6.priority AS priority, of_type_6.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_6)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_6)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_6 UNION ALL SELECT of_type_7.id AS id, of_type_7.priority AS priority, of_type_7.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_7)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_7)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_7 UNION ALL SELECT of_type_8.id AS id, of_type_8.priority AS priority, of_type_8.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_8)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_8)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_8) AS found ORDER BY found.priority DESC, found.run_at, found.id
 LIMIT %(limit)s::INTEGER)
 UPDATE job_runs SET status='running', attempts=(job_runs.attempts + %(attempts_1)s::INTEGER), max_attempts=coalesce(job_runs.max_attempts, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(max_attempts_0)s::INTEGER WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(max_attempts_1)s::INTEGER WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(max_attempts_2)s::INTEGER WHEN (job_runs.job_type = %(type_3)s::VARCHAR) THEN %(max_attempts_3)s::INTEGER WHEN (job_runs.job_type = %(type_4)s::VARCHAR) THEN %(max_attempts_4)s::INTEGER WHEN (job_runs.job_type = %(type_5)s::VARCHAR) THEN %(max_attempts_5)s::INTEGER WHEN (job_runs.job_type = %(type_6)s::VARCHAR) THEN %(max_attempts_6)s::INTEGER WHEN (job_runs.job_type = %(type_7)s::VARCHAR) THEN %(max_attempts_7)s::INTEGER WHEN (job_runs.job_type = %(type_8)s::VARCHAR) THEN %(max_attempts_8)s::INTEGER END), timeout=coalesce(job_runs.timeout, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(timeout_0)s WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(timeout_1)s WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(timeout_2)s WHEN (job_runs.job_type = %(type_3)s::VARCHAR) THEN %(timeout_3)s WHEN (job_runs.job_type = %(type_4)s::VARCHAR) THEN %(timeout_4)s WHEN (job_runs.job_type = %(type_5)s::VARCHAR) THEN %(timeout_5)s WHEN (job_runs.job_type = %(type_6)s::VARCHAR) THEN %(timeout_6)s WHEN (job_runs.job_type = %(type_7)s::VARCHAR) THEN %(timeout_7)s WHEN (job_runs.job_type = %(type_8)s::VARCHAR) THEN %(timeout_8)s END), locked_by=%(owner)s::VARCHAR, host=%(host)s::VARCHAR, locked_until=(jobrunner_now() + make_interval(secs => %(lease_seconds)s)), lease_token=%(token)s::VARCHAR, claimed_at=jobrunner_now(), started_at=jobrunner_now(), heartbeat_at=jobrunner_now(), progress=NULL, output=NULL, updated_at=jobrunner_now() WHERE job_runs.id IN (SELECT picked.id
FROM picked) AND job_runs.status != 'running' RETURNING job_runs.id, job_runs.lease_token, job_runs.job_type, job_runs.payload, job_runs.attempts, job_runs.max_attempts, job_runs.timeout, job_runs.priority, job_runs.run_at, job_runs.scheduled_for, job_runs.claimed_at""",
        {'attempts_1': 1},
        {},
        (('id', None), ('lease_token', None), ('job_type', None), ('payload', 'json'), ('attempts', None), ('max_attempts', None), ('timeout', None), ('priority', None), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('claimed_at', 'instant')),
    ),
    ('claims.claim', (10, False, False)): (
        """WITH picked AS
(SELECT found.id AS id
FROM (SELECT of_type_0.id AS id, of_type_0.priority AS priority, of_type_0.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_0)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_0)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_0 UNION ALL SELECT of_type_1.id AS id, of_type_1.priority AS priority, of_type_1.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_1)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_1)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_1 UNION ALL SELECT of_type_2.id AS id, of_type_2.priority AS priority, of_type_2.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_2)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_2)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_2 UNION ALL SELECT of_type_3.id AS id, of_type_3.priority AS priority, of_type_3.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_3)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_3)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_3 UNION ALL SELECT of_type_4.id AS id, of_type_4.priority AS priority, of_type_4.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_4)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_4)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_4 UNION ALL SELECT of_type_5.id AS id, of_type_5.priority AS priority, of_type_5.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_5)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_5)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_5 UNION ALL SELECT of_type_6.id AS id, of_type_6.priority AS priority, of_type_6.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_6)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_6)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_6 UNION ALL SELECT of_type_7.id AS id, of_type_7.priority AS priority, of_type_7.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_7)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_7)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_7 UNION ALL SELECT of_type_8.id AS id, of_type_8.priority AS priority, of_type_8.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_8)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_8)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_8 UNION ALL SELECT of_type_9.id AS id, of_type_9.priority AS priority, of_type_9.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_9)s::VARCHAR AND job_claimable.lease_expiries < 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_9)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_9) AS found ORDER BY found.priority DESC, found.run_at, found.id
 LIMIT %(limit)s::INTEGER)
 UPDATE job_runs SET status='running', attempts=(job_runs.attempts + %(attempts_1)s::INTEGER), max_attempts=coalesce(job_runs.max_attempts, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(max_attempts_0)s::INTEGER WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(max_attempts_1)s::INTEGER WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(max_attempts_2)s::INTEGER WHEN (job_runs.job_type = %(type_3)s::VARCHAR) THEN %(max_attempts_3)s::INTEGER WHEN (job_runs.job_type = %(type_4)s::VARCHAR) THEN %(max_attempts_4)s::INTEGER WHEN (job_runs.job_type = %(type_5)s::VARCHAR) THEN %(max_attempts_5)s::INTEGER WHEN (job_runs.job_type = %(type_6)s::VARCHAR) THEN %(max_attempts_6)s::INTEGER WHEN (job_runs.job_type = %(type_7)s::VARCHAR) THEN %(max_attempts_7)s::INTEGER WHEN (job_runs.job_type = %(type_8)s::VARCHAR) THEN %(max_attempts_8)s::INTEGER WHEN (job_runs.job_type = %(type_9)s::VARCHAR) THEN %(max_attempts_9)s::INTEGER END), timeout=coalesce(job_runs.timeout, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(timeout_0)s WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(timeout_1)s WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(timeout_2)s WHEN (job_runs.job_type = %(type_3)s::VARCHAR) THEN %(timeout_3)s WHEN (job_runs.job_type = %(type_4)s::VARCHAR) THEN %(timeout_4)s WHEN (job_runs.job_type = %(type_5)s::VARCHAR) THEN %(timeout_5)s WHEN (job_runs.job_type = %(type_6)s::VARCHAR) THEN %(timeout_6)s WHEN (job_runs.job_type = %(type_7)s::VARCHAR) THEN %(timeout_7)s WHEN (job_runs.job_type = %(type_8)s::VARCHAR) THEN %(timeout_8)s WHEN (job_runs.job_type = %(type_9)s::VARCHAR) THEN %(timeout_9)s END), locked_by=%(owner)s::VARCHAR, host=%(host)s::VARCHAR, locked_until=(jobrunner_now() + make_interval(secs => %(lease_seconds)s)), lease_token=%(token)s::VARCHAR, claimed_at=jobrunner_now(), started_at=jobrunner_now(), heartbeat_at=jobrunner_now(), progress=NULL, output=NULL, updated_at=jobrunner_now() WHERE job_runs.id IN (SELECT picked.id
FROM picked) AND job_runs.status != 'running' RETURNING job_runs.id, job_runs.lease_token, job_runs.job_type, job_runs.payload, job_runs.attempts, job_runs.max_attempts, job_runs.timeout, job_runs.priority, job_runs.run_at, job_runs.scheduled_for, job_runs.claimed_at""",
        {'attempts_1': 1},
        {},
        (('id', None), ('lease_token', None), ('job_type', None), ('payload', 'json'), ('attempts', None), ('max_attempts', None), ('timeout', None), ('priority', None), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('claimed_at', 'instant')),
    ),
    ('claims.claim', (10, True, False)): (
        """WITH picked AS
(SELECT found.id AS id
FROM (SELECT of_type_0.id AS id, of_type_0.priority AS priority, of_type_0.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_0)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_0)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_0 UNION ALL SELECT of_type_1.id AS id, of_type_1.priority AS priority, of_type_1.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_1)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_1)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_1 UNION ALL SELECT of_type_2.id AS id, of_type_2.priority AS priority, of_type_2.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_2)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_2)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_2 UNION ALL SELECT of_type_3.id AS id, of_type_3.priority AS priority, of_type_3.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_3)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_3)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_3 UNION ALL SELECT of_type_4.id AS id, of_type_4.priority AS priority, of_type_4.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_4)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_4)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_4 UNION ALL SELECT of_type_5.id AS id, of_type_5.priority AS priority, of_type_5.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_5)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_5)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_5 UNION ALL SELECT of_type_6.id AS id, of_type_6.priority AS priority, of_type_6.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_6)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_6)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_6 UNION ALL SELECT of_type_7.id AS id, of_type_7.priority AS priority, of_type_7.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_7)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_7)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_7 UNION ALL SELECT of_type_8.id AS id, of_type_8.priority AS priority, of_type_8.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_8)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_8)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_8 UNION ALL SELECT of_type_9.id AS id, of_type_9.priority AS priority, of_type_9.run_at AS run_at
FROM (SELECT job_claimable.id AS id, job_claimable.priority AS priority, job_claimable.run_at AS run_at
FROM job_claimable
WHERE job_claimable.job_type = %(type_9)s::VARCHAR AND job_claimable.lease_expiries >= 2 ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_9)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED) AS of_type_9) AS found ORDER BY found.priority DESC, found.run_at, found.id
 LIMIT %(limit)s::INTEGER)
 UPDATE job_runs SET status='running', attempts=(job_runs.attempts + %(attempts_1)s::INTEGER), max_attempts=coalesce(job_runs.max_attempts, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(max_attempts_0)s::INTEGER WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(max_attempts_1)s::INTEGER WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(max_attempts_2)s::INTEGER WHEN (job_runs.job_type = %(type_3)s::VARCHAR) THEN %(max_attempts_3)s::INTEGER WHEN (job_runs.job_type = %(type_4)s::VARCHAR) THEN %(max_attempts_4)s::INTEGER WHEN (job_runs.job_type = %(type_5)s::VARCHAR) THEN %(max_attempts_5)s::INTEGER WHEN (job_runs.job_type = %(type_6)s::VARCHAR) THEN %(max_attempts_6)s::INTEGER WHEN (job_runs.job_type = %(type_7)s::VARCHAR) THEN %(max_attempts_7)s::INTEGER WHEN (job_runs.job_type = %(type_8)s::VARCHAR) THEN %(max_attempts_8)s::INTEGER WHEN (job_runs.job_type = %(type_9)s::VARCHAR) THEN %(max_attempts_9)s::INTEGER END), timeout=coalesce(job_runs.timeout, CASE WHEN (job_runs.job_type = %(type_0)s::VARCHAR) THEN %(timeout_0)s WHEN (job_runs.job_type = %(type_1)s::VARCHAR) THEN %(timeout_1)s WHEN (job_runs.job_type = %(type_2)s::VARCHAR) THEN %(timeout_2)s WHEN (job_runs.job_type = %(type_3)s::VARCHAR) THEN %(timeout_3)s WHEN (job_runs.job_type = %(type_4)s::VARCHAR) THEN %(timeout_4)s WHEN (job_runs.job_type = %(type_5)s::VARCHAR) THEN %(timeout_5)s WHEN (job_runs.job_type = %(type_6)s::VARCHAR) THEN %(timeout_6)s WHEN (job_runs.job_type = %(type_7)s::VARCHAR) THEN %(timeout_7)s WHEN (job_runs.job_type = %(type_8)s::VARCHAR) THEN %(timeout_8)s WHEN (job_runs.job_type = %(type_9)s::VARCHAR) THEN %(timeout_9)s END), locked_by=%(owner)s::VARCHAR, host=%(host)s::VARCHAR, locked_until=(jobrunner_now() + make_interval(secs => %(lease_seconds)s)), lease_token=%(token)s::VARCHAR, claimed_at=jobrunner_now(), started_at=jobrunner_now(), heartbeat_at=jobrunner_now(), progress=NULL, output=NULL, updated_at=jobrunner_now() WHERE job_runs.id IN (SELECT picked.id
FROM picked) AND job_runs.status != 'running' RETURNING job_runs.id, job_runs.lease_token, job_runs.job_type, job_runs.payload, job_runs.attempts, job_runs.max_attempts, job_runs.timeout, job_runs.priority, job_runs.run_at, job_runs.scheduled_for, job_runs.claimed_at""",
        {'attempts_1': 1},
        {},
        (('id', None), ('lease_token', None), ('job_type', None), ('payload', 'json'), ('attempts', None), ('max_attempts', None), ('timeout', None), ('priority', None), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('claimed_at', 'instant')),
    ),
    ('claims.held_by_type', ()): (
        """SELECT job_runs.job_type, count(*) AS count_1, sum(CASE WHEN (job_runs.locked_by = %(owner)s::VARCHAR) THEN %(param_1)s::INTEGER ELSE %(param_2)s::INTEGER END) AS sum_1
FROM job_runs
WHERE job_runs.status = 'running' AND job_runs.host = %(host)s::VARCHAR AND job_runs.locked_until > jobrunner_now() GROUP BY job_runs.job_type""",
        {'param_1': 1, 'param_2': 0},
        {},
        (('job_type', None), ('count', None), ('sum', None)),
    ),
    ('claims.held_under', (False,)): (
        """SELECT job_runs.id
FROM job_runs
WHERE job_runs.status = 'running' AND job_runs.lease_token = %(token)s::VARCHAR""",
        {},
        {},
        (('id', None),),
    ),
    ('claims.held_under', (True,)): (
        """SELECT job_runs.id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given JOIN job_runs ON job_runs.id = given.id
WHERE job_runs.status = 'running' AND job_runs.lease_token = %(token)s::VARCHAR""",
        {},
        {'given': (('id', None),)},
        (('id', None),),
    ),
    ('claims.return_unstarted', (False,)): (
        """WITH held AS
(SELECT job_runs.id AS id
FROM job_runs
WHERE job_runs.status = 'running' AND job_runs.lease_token = %(token)s::VARCHAR FOR NO KEY UPDATE OF job_runs SKIP LOCKED)
 UPDATE job_runs SET status=CASE WHEN (job_runs.cancel_requested_at IS NULL) THEN 'queued' ELSE 'cancelled' END, attempts=(job_runs.attempts - %(attempts_1)s::INTEGER), locked_by=NULL, host=NULL, locked_until=NULL, lease_token=NULL, started_at=NULL, heartbeat_at=NULL, finished_at=CASE WHEN (job_runs.cancel_requested_at IS NULL) THEN NULL ELSE jobrunner_now() END, updated_at=jobrunner_now() WHERE job_runs.id IN (SELECT held.id
FROM held) AND job_runs.lease_token IS NOT NULL RETURNING job_runs.id""",
        {'attempts_1': 1},
        {},
        (('id', None),),
    ),
    ('claims.return_unstarted', (True,)): (
        """WITH held AS
(SELECT job_runs.id AS id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given JOIN job_runs ON job_runs.id = given.id
WHERE job_runs.status = 'running' AND job_runs.lease_token = %(token)s::VARCHAR FOR NO KEY UPDATE OF job_runs SKIP LOCKED)
 UPDATE job_runs SET status=CASE WHEN (job_runs.cancel_requested_at IS NULL) THEN 'queued' ELSE 'cancelled' END, attempts=(job_runs.attempts - %(attempts_1)s::INTEGER), locked_by=NULL, host=NULL, locked_until=NULL, lease_token=NULL, started_at=NULL, heartbeat_at=NULL, finished_at=CASE WHEN (job_runs.cancel_requested_at IS NULL) THEN NULL ELSE jobrunner_now() END, updated_at=jobrunner_now() WHERE job_runs.id IN (SELECT held.id
FROM held) AND job_runs.lease_token IS NOT NULL RETURNING job_runs.id""",
        {'attempts_1': 1},
        {'given': (('id', None),)},
        (('id', None),),
    ),
    ('deadlines.end', ()): (
        """UPDATE job_runs SET status=%(status)s::VARCHAR, finished_at=jobrunner_now(), error_type=%(error_type)s::VARCHAR, last_error=given.last_error, updated_at=jobrunner_now() FROM (SELECT id, last_error FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT, last_error TEXT)) AS given WHERE job_runs.id = given.id""",
        {'status': 'dead', 'error_type': 'start_deadline'},
        {'given': (('id', None), ('last_error', None))},
        (),
    ),
    ('deadlines.overdue', ()): (
        """SELECT job_overdue.id, job_overdue.definition_id, job_overdue.job_type, job_overdue.status, job_overdue.attempts, job_overdue.start_deadline_at, jobrunner_now() AS now
FROM job_overdue ORDER BY job_overdue.start_deadline_at
 LIMIT %(limit)s::BIGINT FOR NO KEY UPDATE SKIP LOCKED""",
        {},
        {},
        (('id', None), ('definition_id', None), ('job_type', None), ('status', None), ('attempts', None), ('start_deadline_at', 'instant'), ('now', 'instant')),
    ),
    ('effects.clear', ()): (
        """DELETE FROM job_effects WHERE job_effects.key = %(effect)s::VARCHAR AND job_effects.token = %(call)s::VARCHAR AND job_effects.state != 'applied' RETURNING job_effects.token""",
        {},
        {},
        (('token', None),),
    ),
    ('effects.find', ()): (
        """SELECT job_effects.key, job_effects.state, job_effects.run_id, job_effects.job_type, job_effects.attempt, job_effects.lease_token, job_effects.token, job_effects.outcome, job_effects.intended_at, job_effects.settled_at, job_effects.state = 'intended' AND (EXISTS (SELECT job_runs.id
FROM job_runs
WHERE job_runs.id = job_effects.run_id AND job_runs.status = 'running' AND job_runs.lease_token = job_effects.lease_token)) AS in_progress
FROM job_effects
WHERE job_effects.key = %(effect)s::VARCHAR""",
        {},
        {},
        (('key', None), ('state', None), ('run_id', None), ('job_type', None), ('attempt', None), ('lease_token', None), ('token', None), ('outcome', 'json'), ('intended_at', 'instant'), ('settled_at', 'instant'), ('in_progress', 'boolean')),
    ),
    ('effects.intend', ('postgresql',)): (
        """INSERT INTO job_effects (key, state, run_id, job_type, attempt, lease_token, token, intended_at) SELECT %(effect)s::VARCHAR AS anon_1, 'intended', job_runs.id, job_runs.job_type, job_runs.attempts, job_runs.lease_token, %(call)s::VARCHAR AS anon_2, jobrunner_now() AS anon_3
FROM job_runs
WHERE job_runs.id = %(run)s::BIGINT AND job_runs.status = 'running' AND job_runs.lease_token = %(lease)s::VARCHAR ON CONFLICT DO NOTHING RETURNING job_effects.token""",
        {},
        {},
        (('token', None),),
    ),
    ('effects.settle', ()): (
        """UPDATE job_effects SET state=%(new_state)s::VARCHAR, outcome=%(new_outcome)s::JSONB, settled_at=CASE WHEN (%(new_state)s::VARCHAR = 'applied') THEN jobrunner_now() END WHERE job_effects.key = %(effect)s::VARCHAR AND job_effects.token = %(call)s::VARCHAR AND job_effects.state != 'applied' RETURNING job_effects.token""",
        {},
        {'new_outcome': 'json'},
        (('token', None),),
    ),
    ('effects.take_over', ()): (
        """UPDATE job_effects SET state='intended', run_id=%(run)s::BIGINT, job_type=%(of_type)s::VARCHAR, attempt=%(of_attempt)s::INTEGER, lease_token=%(lease)s::VARCHAR, token=%(call)s::VARCHAR, intended_at=jobrunner_now() WHERE job_effects.key = %(effect)s::VARCHAR AND job_effects.token = %(known_call)s::VARCHAR AND job_effects.state != 'applied' AND (EXISTS (SELECT job_runs.id
FROM job_runs
WHERE job_runs.id = %(run)s::BIGINT AND job_runs.status = 'running' AND job_runs.lease_token = %(lease)s::VARCHAR)) RETURNING job_effects.token""",
        {},
        {},
        (('token', None),),
    ),
    ('enqueue.insert_many', (('job_type', 'priority'), ('payload',))): (
        """INSERT INTO job_runs (job_type, priority, payload, status, run_at, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, %(priority)s::SMALLINT AS anon_2, CAST(given.payload AS JSONB) AS anon_3, 'queued', jobrunner_now() AS anon_4, jobrunner_now() AS anon_5, jobrunner_now() AS anon_6
FROM (SELECT payload FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(payload TEXT)) AS given RETURNING job_runs.id""",
        {},
        {'given': (('payload', None),)},
        (('id', None),),
    ),
    ('enqueue.insert_many', (('job_type', 'priority'), ('idempotency_key', 'payload'))): (
        """INSERT INTO job_runs (job_type, priority, idempotency_key, payload, status, run_at, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, %(priority)s::SMALLINT AS anon_2, given.idempotency_key, CAST(given.payload AS JSONB) AS anon_3, 'queued', jobrunner_now() AS anon_4, jobrunner_now() AS anon_5, jobrunner_now() AS anon_6
FROM (SELECT idempotency_key, payload FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(idempotency_key VARCHAR(500), payload TEXT)) AS given RETURNING job_runs.id""",
        {},
        {'given': (('idempotency_key', None), ('payload', None))},
        (('id', None),),
    ),
    ('enqueue.insert_many', (('job_type',), ('idempotency_key', 'payload', 'priority'))): (
        """INSERT INTO job_runs (job_type, idempotency_key, payload, priority, status, run_at, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, given.idempotency_key, CAST(given.payload AS JSONB) AS anon_2, given.priority, 'queued', jobrunner_now() AS anon_3, jobrunner_now() AS anon_4, jobrunner_now() AS anon_5
FROM (SELECT idempotency_key, payload, priority FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(idempotency_key VARCHAR(500), payload TEXT, priority SMALLINT)) AS given RETURNING job_runs.id""",
        {},
        {'given': (('idempotency_key', None), ('payload', None), ('priority', None))},
        (('id', None),),
    ),
    ('enqueue.insert_of_slots', ('postgresql',)): (
        """INSERT INTO job_runs (definition_id, job_type, payload, priority, run_at, scheduled_for, origin, start_deadline_at, concurrency_key, status, created_at, updated_at) SELECT given.definition_id, given.job_type, CAST(given.payload AS JSONB) AS anon_1, given.priority, coalesce(given.run_at, jobrunner_now()) AS coalesce_1, given.scheduled_for, given.origin, given.start_deadline_at, given.concurrency_key, 'queued', jobrunner_now() AS anon_2, jobrunner_now() AS anon_3
FROM (SELECT definition_id, job_type, payload, priority, run_at, scheduled_for, origin, start_deadline_at, concurrency_key FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(definition_id BIGINT, job_type VARCHAR(200), payload TEXT, priority SMALLINT, run_at TIMESTAMP WITH TIME ZONE, scheduled_for TIMESTAMP WITH TIME ZONE, origin VARCHAR(20), start_deadline_at TIMESTAMP WITH TIME ZONE, concurrency_key VARCHAR(300))) AS given
WHERE true ON CONFLICT DO NOTHING RETURNING job_runs.id, job_runs.definition_id, job_runs.scheduled_for""",
        {},
        {'given': (('definition_id', None), ('job_type', None), ('payload', None), ('priority', None), ('run_at', 'instant'), ('scheduled_for', 'instant'), ('origin', None), ('start_deadline_at', 'instant'), ('concurrency_key', None))},
        (('id', None), ('definition_id', None), ('scheduled_for', 'instant')),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority'), True)): (
        """INSERT INTO job_runs (job_type, payload, priority, status, run_at, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, CAST(%(payload)s::VARCHAR AS JSONB) AS anon_2, %(priority)s::SMALLINT AS anon_3, 'queued', jobrunner_now() AS anon_4, jobrunner_now() AS anon_5, jobrunner_now() AS anon_6
WHERE NOT (EXISTS (SELECT *
FROM job_types
WHERE job_types.job_type = %(job_type)s::VARCHAR AND job_types.max_waiting IS NOT NULL)) RETURNING job_runs.id""",
        {},
        {},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'max_attempts'), True)): (
        """INSERT INTO job_runs (job_type, payload, priority, max_attempts, status, run_at, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, CAST(%(payload)s::VARCHAR AS JSONB) AS anon_2, %(priority)s::SMALLINT AS anon_3, %(max_attempts)s::INTEGER AS anon_4, 'queued', jobrunner_now() AS anon_5, jobrunner_now() AS anon_6, jobrunner_now() AS anon_7
WHERE NOT (EXISTS (SELECT *
FROM job_types
WHERE job_types.job_type = %(job_type)s::VARCHAR AND job_types.max_waiting IS NOT NULL)) RETURNING job_runs.id""",
        {},
        {},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'idempotency_key'), False)): (
        """INSERT INTO job_runs (job_type, payload, priority, idempotency_key, status, run_at, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, CAST(%(payload)s::VARCHAR AS JSONB) AS anon_2, %(priority)s::SMALLINT AS anon_3, %(idempotency_key)s::VARCHAR AS anon_4, 'queued', jobrunner_now() AS anon_5, jobrunner_now() AS anon_6, jobrunner_now() AS anon_7 RETURNING job_runs.id""",
        {},
        {},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'idempotency_key', 'max_attempts'), False)): (
        """INSERT INTO job_runs (job_type, payload, priority, idempotency_key, max_attempts, status, run_at, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, CAST(%(payload)s::VARCHAR AS JSONB) AS anon_2, %(priority)s::SMALLINT AS anon_3, %(idempotency_key)s::VARCHAR AS anon_4, %(max_attempts)s::INTEGER AS anon_5, 'queued', jobrunner_now() AS anon_6, jobrunner_now() AS anon_7, jobrunner_now() AS anon_8 RETURNING job_runs.id""",
        {},
        {},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'timeout'), True)): (
        """INSERT INTO job_runs (job_type, payload, priority, timeout, status, run_at, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, CAST(%(payload)s::VARCHAR AS JSONB) AS anon_2, %(priority)s::SMALLINT AS anon_3, %(timeout)s AS anon_4, 'queued', jobrunner_now() AS anon_5, jobrunner_now() AS anon_6, jobrunner_now() AS anon_7
WHERE NOT (EXISTS (SELECT *
FROM job_types
WHERE job_types.job_type = %(job_type)s::VARCHAR AND job_types.max_waiting IS NOT NULL)) RETURNING job_runs.id""",
        {},
        {},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'timeout', 'max_attempts'), True)): (
        """INSERT INTO job_runs (job_type, payload, priority, timeout, max_attempts, status, run_at, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, CAST(%(payload)s::VARCHAR AS JSONB) AS anon_2, %(priority)s::SMALLINT AS anon_3, %(timeout)s AS anon_4, %(max_attempts)s::INTEGER AS anon_5, 'queued', jobrunner_now() AS anon_6, jobrunner_now() AS anon_7, jobrunner_now() AS anon_8
WHERE NOT (EXISTS (SELECT *
FROM job_types
WHERE job_types.job_type = %(job_type)s::VARCHAR AND job_types.max_waiting IS NOT NULL)) RETURNING job_runs.id""",
        {},
        {},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'timeout', 'idempotency_key'), False)): (
        """INSERT INTO job_runs (job_type, payload, priority, timeout, idempotency_key, status, run_at, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, CAST(%(payload)s::VARCHAR AS JSONB) AS anon_2, %(priority)s::SMALLINT AS anon_3, %(timeout)s AS anon_4, %(idempotency_key)s::VARCHAR AS anon_5, 'queued', jobrunner_now() AS anon_6, jobrunner_now() AS anon_7, jobrunner_now() AS anon_8 RETURNING job_runs.id""",
        {},
        {},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'timeout', 'idempotency_key', 'max_attempts'), False)): (
        """INSERT INTO job_runs (job_type, payload, priority, timeout, idempotency_key, max_attempts, status, run_at, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, CAST(%(payload)s::VARCHAR AS JSONB) AS anon_2, %(priority)s::SMALLINT AS anon_3, %(timeout)s AS anon_4, %(idempotency_key)s::VARCHAR AS anon_5, %(max_attempts)s::INTEGER AS anon_6, 'queued', jobrunner_now() AS anon_7, jobrunner_now() AS anon_8, jobrunner_now() AS anon_9 RETURNING job_runs.id""",
        {},
        {},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'run_in'), True)): (
        """INSERT INTO job_runs (job_type, payload, priority, status, run_at, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, CAST(%(payload)s::VARCHAR AS JSONB) AS anon_2, %(priority)s::SMALLINT AS anon_3, 'queued', coalesce((jobrunner_now() + make_interval(secs => %(run_in)s)), jobrunner_now()) AS coalesce_1, jobrunner_now() AS anon_4, jobrunner_now() AS anon_5
WHERE NOT (EXISTS (SELECT *
FROM job_types
WHERE job_types.job_type = %(job_type)s::VARCHAR AND job_types.max_waiting IS NOT NULL)) RETURNING job_runs.id""",
        {},
        {},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'run_in', 'max_attempts'), True)): (
        """INSERT INTO job_runs (job_type, payload, priority, max_attempts, status, run_at, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, CAST(%(payload)s::VARCHAR AS JSONB) AS anon_2, %(priority)s::SMALLINT AS anon_3, %(max_attempts)s::INTEGER AS anon_4, 'queued', coalesce((jobrunner_now() + make_interval(secs => %(run_in)s)), jobrunner_now()) AS coalesce_1, jobrunner_now() AS anon_5, jobrunner_now() AS anon_6
WHERE NOT (EXISTS (SELECT *
FROM job_types
WHERE job_types.job_type = %(job_type)s::VARCHAR AND job_types.max_waiting IS NOT NULL)) RETURNING job_runs.id""",
        {},
        {},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'run_in', 'idempotency_key'), False)): (
        """INSERT INTO job_runs (job_type, payload, priority, idempotency_key, status, run_at, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, CAST(%(payload)s::VARCHAR AS JSONB) AS anon_2, %(priority)s::SMALLINT AS anon_3, %(idempotency_key)s::VARCHAR AS anon_4, 'queued', coalesce((jobrunner_now() + make_interval(secs => %(run_in)s)), jobrunner_now()) AS coalesce_1, jobrunner_now() AS anon_5, jobrunner_now() AS anon_6 RETURNING job_runs.id""",
        {},
        {},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'run_in', 'idempotency_key', 'max_attempts'), False)): (
        """INSERT INTO job_runs (job_type, payload, priority, idempotency_key, max_attempts, status, run_at, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, CAST(%(payload)s::VARCHAR AS JSONB) AS anon_2, %(priority)s::SMALLINT AS anon_3, %(idempotency_key)s::VARCHAR AS anon_4, %(max_attempts)s::INTEGER AS anon_5, 'queued', coalesce((jobrunner_now() + make_interval(secs => %(run_in)s)), jobrunner_now()) AS coalesce_1, jobrunner_now() AS anon_6, jobrunner_now() AS anon_7 RETURNING job_runs.id""",
        {},
        {},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'run_in', 'timeout'), True)): (
        """INSERT INTO job_runs (job_type, payload, priority, timeout, status, run_at, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, CAST(%(payload)s::VARCHAR AS JSONB) AS anon_2, %(priority)s::SMALLINT AS anon_3, %(timeout)s AS anon_4, 'queued', coalesce((jobrunner_now() + make_interval(secs => %(run_in)s)), jobrunner_now()) AS coalesce_1, jobrunner_now() AS anon_5, jobrunner_now() AS anon_6
WHERE NOT (EXISTS (SELECT *
FROM job_types
WHERE job_types.job_type = %(job_type)s::VARCHAR AND job_types.max_waiting IS NOT NULL)) RETURNING job_runs.id""",
        {},
        {},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'run_in', 'timeout', 'max_attempts'), True)): (
        """INSERT INTO job_runs (job_type, payload, priority, timeout, max_attempts, status, run_at, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, CAST(%(payload)s::VARCHAR AS JSONB) AS anon_2, %(priority)s::SMALLINT AS anon_3, %(timeout)s AS anon_4, %(max_attempts)s::INTEGER AS anon_5, 'queued', coalesce((jobrunner_now() + make_interval(secs => %(run_in)s)), jobrunner_now()) AS coalesce_1, jobrunner_now() AS anon_6, jobrunner_now() AS anon_7
WHERE NOT (EXISTS (SELECT *
FROM job_types
WHERE job_types.job_type = %(job_type)s::VARCHAR AND job_types.max_waiting IS NOT NULL)) RETURNING job_runs.id""",
        {},
        {},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'run_in', 'timeout', 'idempotency_key'), False)): (
        """INSERT INTO job_runs (job_type, payload, priority, timeout, idempotency_key, status, run_at, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, CAST(%(payload)s::VARCHAR AS JSONB) AS anon_2, %(priority)s::SMALLINT AS anon_3, %(timeout)s AS anon_4, %(idempotency_key)s::VARCHAR AS anon_5, 'queued', coalesce((jobrunner_now() + make_interval(secs => %(run_in)s)), jobrunner_now()) AS coalesce_1, jobrunner_now() AS anon_6, jobrunner_now() AS anon_7 RETURNING job_runs.id""",
        {},
        {},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'run_in', 'timeout', 'idempotency_key', 'max_attempts'), False)): (
        """INSERT INTO job_runs (job_type, payload, priority, timeout, idempotency_key, max_attempts, status, run_at, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, CAST(%(payload)s::VARCHAR AS JSONB) AS anon_2, %(priority)s::SMALLINT AS anon_3, %(timeout)s AS anon_4, %(idempotency_key)s::VARCHAR AS anon_5, %(max_attempts)s::INTEGER AS anon_6, 'queued', coalesce((jobrunner_now() + make_interval(secs => %(run_in)s)), jobrunner_now()) AS coalesce_1, jobrunner_now() AS anon_7, jobrunner_now() AS anon_8 RETURNING job_runs.id""",
        {},
        {},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'run_at'), True)): (
        """INSERT INTO job_runs (job_type, payload, priority, run_at, status, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, CAST(%(payload)s::VARCHAR AS JSONB) AS anon_2, %(priority)s::SMALLINT AS anon_3, coalesce(%(run_at)s::TIMESTAMP WITH TIME ZONE, jobrunner_now()) AS coalesce_1, 'queued', jobrunner_now() AS anon_4, jobrunner_now() AS anon_5
WHERE NOT (EXISTS (SELECT *
FROM job_types
WHERE job_types.job_type = %(job_type)s::VARCHAR AND job_types.max_waiting IS NOT NULL)) RETURNING job_runs.id""",
        {},
        {'run_at': 'instant'},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'run_at', 'max_attempts'), True)): (
        """INSERT INTO job_runs (job_type, payload, priority, run_at, max_attempts, status, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, CAST(%(payload)s::VARCHAR AS JSONB) AS anon_2, %(priority)s::SMALLINT AS anon_3, coalesce(%(run_at)s::TIMESTAMP WITH TIME ZONE, jobrunner_now()) AS coalesce_1, %(max_attempts)s::INTEGER AS anon_4, 'queued', jobrunner_now() AS anon_5, jobrunner_now() AS anon_6
WHERE NOT (EXISTS (SELECT *
FROM job_types
WHERE job_types.job_type = %(job_type)s::VARCHAR AND job_types.max_waiting IS NOT NULL)) RETURNING job_runs.id""",
        {},
        {'run_at': 'instant'},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'run_at', 'idempotency_key'), False)): (
        """INSERT INTO job_runs (job_type, payload, priority, run_at, idempotency_key, status, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, CAST(%(payload)s::VARCHAR AS JSONB) AS anon_2, %(priority)s::SMALLINT AS anon_3, coalesce(%(run_at)s::TIMESTAMP WITH TIME ZONE, jobrunner_now()) AS coalesce_1, %(idempotency_key)s::VARCHAR AS anon_4, 'queued', jobrunner_now() AS anon_5, jobrunner_now() AS anon_6 RETURNING job_runs.id""",
        {},
        {'run_at': 'instant'},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'run_at', 'idempotency_key', 'max_attempts'), False)): (
        """INSERT INTO job_runs (job_type, payload, priority, run_at, idempotency_key, max_attempts, status, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, CAST(%(payload)s::VARCHAR AS JSONB) AS anon_2, %(priority)s::SMALLINT AS anon_3, coalesce(%(run_at)s::TIMESTAMP WITH TIME ZONE, jobrunner_now()) AS coalesce_1, %(idempotency_key)s::VARCHAR AS anon_4, %(max_attempts)s::INTEGER AS anon_5, 'queued', jobrunner_now() AS anon_6, jobrunner_now() AS anon_7 RETURNING job_runs.id""",
        {},
        {'run_at': 'instant'},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'run_at', 'timeout'), True)): (
        """INSERT INTO job_runs (job_type, payload, priority, run_at, timeout, status, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, CAST(%(payload)s::VARCHAR AS JSONB) AS anon_2, %(priority)s::SMALLINT AS anon_3, coalesce(%(run_at)s::TIMESTAMP WITH TIME ZONE, jobrunner_now()) AS coalesce_1, %(timeout)s AS anon_4, 'queued', jobrunner_now() AS anon_5, jobrunner_now() AS anon_6
WHERE NOT (EXISTS (SELECT *
FROM job_types
WHERE job_types.job_type = %(job_type)s::VARCHAR AND job_types.max_waiting IS NOT NULL)) RETURNING job_runs.id""",
        {},
        {'run_at': 'instant'},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'run_at', 'timeout', 'max_attempts'), True)): (
        """INSERT INTO job_runs (job_type, payload, priority, run_at, timeout, max_attempts, status, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, CAST(%(payload)s::VARCHAR AS JSONB) AS anon_2, %(priority)s::SMALLINT AS anon_3, coalesce(%(run_at)s::TIMESTAMP WITH TIME ZONE, jobrunner_now()) AS coalesce_1, %(timeout)s AS anon_4, %(max_attempts)s::INTEGER AS anon_5, 'queued', jobrunner_now() AS anon_6, jobrunner_now() AS anon_7
WHERE NOT (EXISTS (SELECT *
FROM job_types
WHERE job_types.job_type = %(job_type)s::VARCHAR AND job_types.max_waiting IS NOT NULL)) RETURNING job_runs.id""",
        {},
        {'run_at': 'instant'},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'run_at', 'timeout', 'idempotency_key'), False)): (
        """INSERT INTO job_runs (job_type, payload, priority, run_at, timeout, idempotency_key, status, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, CAST(%(payload)s::VARCHAR AS JSONB) AS anon_2, %(priority)s::SMALLINT AS anon_3, coalesce(%(run_at)s::TIMESTAMP WITH TIME ZONE, jobrunner_now()) AS coalesce_1, %(timeout)s AS anon_4, %(idempotency_key)s::VARCHAR AS anon_5, 'queued', jobrunner_now() AS anon_6, jobrunner_now() AS anon_7 RETURNING job_runs.id""",
        {},
        {'run_at': 'instant'},
        (('id', None),),
    ),
    ('enqueue.insert_one', (('job_type', 'payload', 'priority', 'run_at', 'timeout', 'idempotency_key', 'max_attempts'), False)): (
        """INSERT INTO job_runs (job_type, payload, priority, run_at, timeout, idempotency_key, max_attempts, status, created_at, updated_at) SELECT %(job_type)s::VARCHAR AS anon_1, CAST(%(payload)s::VARCHAR AS JSONB) AS anon_2, %(priority)s::SMALLINT AS anon_3, coalesce(%(run_at)s::TIMESTAMP WITH TIME ZONE, jobrunner_now()) AS coalesce_1, %(timeout)s AS anon_4, %(idempotency_key)s::VARCHAR AS anon_5, %(max_attempts)s::INTEGER AS anon_6, 'queued', jobrunner_now() AS anon_7, jobrunner_now() AS anon_8 RETURNING job_runs.id""",
        {},
        {'run_at': 'instant'},
        (('id', None),),
    ),
    ('enqueue.key', ()): (
        """SELECT job_keys.run_id
FROM job_keys
WHERE job_keys.job_type = %(of_type)s::VARCHAR AND job_keys.idempotency_key = %(key)s::VARCHAR""",
        {},
        {},
        (('run_id', None),),
    ),
    ('enqueue.key_holders', ()): (
        """SELECT job_keys.idempotency_key, job_keys.run_id
FROM job_keys, (SELECT job_type, idempotency_key FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), idempotency_key VARCHAR(500))) AS given
WHERE job_keys.job_type = given.job_type AND job_keys.idempotency_key = given.idempotency_key""",
        {},
        {'given': (('job_type', None), ('idempotency_key', None))},
        (('idempotency_key', None), ('run_id', None)),
    ),
    ('enqueue.set_run_of_key', ()): (
        """UPDATE job_keys SET run_id=%(run_id_of_key)s::BIGINT WHERE job_keys.job_type = %(of_type)s::VARCHAR AND job_keys.idempotency_key = %(key)s::VARCHAR RETURNING job_keys.run_id""",
        {},
        {},
        (('run_id', None),),
    ),
    ('enqueue.set_runs_of_keys', ()): (
        """UPDATE job_keys SET run_id=given.run_id FROM (SELECT job_type, idempotency_key, run_id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), idempotency_key VARCHAR(500), run_id BIGINT)) AS given WHERE job_keys.job_type = given.job_type AND job_keys.idempotency_key = given.idempotency_key""",
        {},
        {'given': (('job_type', None), ('idempotency_key', None), ('run_id', None))},
        (),
    ),
    ('enqueue.take_key', ('postgresql',)): (
        """INSERT INTO job_keys (job_type, idempotency_key, created_at) SELECT %(of_type)s::VARCHAR AS anon_1, %(key)s::VARCHAR AS anon_2, jobrunner_now() AS anon_3
WHERE NOT (EXISTS (SELECT *
FROM job_types
WHERE job_types.job_type = %(of_type)s::VARCHAR AND job_types.max_waiting IS NOT NULL)) ON CONFLICT DO NOTHING RETURNING job_keys.job_type""",
        {},
        {},
        (('job_type', None),),
    ),
    ('enqueue.take_keys', ('postgresql',)): (
        """INSERT INTO job_keys (job_type, idempotency_key, created_at) SELECT given.job_type, given.idempotency_key, jobrunner_now() AS anon_1
FROM (SELECT job_type, idempotency_key FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200), idempotency_key VARCHAR(500))) AS given
WHERE true ON CONFLICT DO NOTHING RETURNING job_keys.idempotency_key""",
        {},
        {'given': (('job_type', None), ('idempotency_key', None))},
        (('idempotency_key', None),),
    ),
    ('expansion.limited_types', ()): (
        """SELECT job_types.job_type
FROM job_types
WHERE job_types.max_waiting IS NOT NULL AND job_types.job_type IN (SELECT given.job_type
FROM (SELECT job_type FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(job_type VARCHAR(200))) AS given)""",
        {},
        {'given': (('job_type', None),)},
        (('job_type', None),),
    ),
    ('expansion.lock', ()): (
        """SELECT job_expandable.id
FROM job_expandable
WHERE (job_expandable.id NOT IN (SELECT given.id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given)) ORDER BY job_expandable.next_run_at, job_expandable.id
 LIMIT %(limit)s::BIGINT FOR UPDATE SKIP LOCKED""",
        {},
        {'given': (('id', None),)},
        (('id', None),),
    ),
    ('expansion.lock_one', ()): (
        """SELECT job_expandable.id
FROM job_expandable
WHERE job_expandable.id = %(definition_id)s::BIGINT FOR UPDATE SKIP LOCKED""",
        {},
        {},
        (('id', None),),
    ),
    ('expansion.move', ()): (
        """UPDATE job_definitions SET runs_made=(job_definitions.runs_made + given.runs_made), last_slot_at=given.last_slot_at, next_run_at=given.next_run_at, last_error=NULL, updated_at=jobrunner_now() FROM (SELECT id, last_slot_at, next_run_at, runs_made FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT, last_slot_at TIMESTAMP WITH TIME ZONE, next_run_at TIMESTAMP WITH TIME ZONE, runs_made BIGINT)) AS given WHERE job_definitions.id = given.id""",
        {},
        {'given': (('id', None), ('last_slot_at', 'instant'), ('next_run_at', 'instant'), ('runs_made', None))},
        (),
    ),
    ('expansion.read', ()): (
        """SELECT job_definitions.id, job_definitions.name, job_definitions.job_type, job_definitions.payload, job_definitions.schedule, job_definitions.timezone, job_definitions.last_slot_at, job_definitions.last_error, job_definitions.source, job_definitions.runs_made, job_definitions.description, job_definitions.paused_at, job_definitions.misfire, job_definitions.misfire_window, job_definitions.misfire_most, job_definitions.overlap, job_definitions.start_deadline, job_definitions.jitter, job_definitions.ends_at, job_definitions.max_runs, CASE WHEN (job_definitions.overlap = 'skip' OR job_definitions.overlap = 'queue') THEN (SELECT job_runs.id
FROM job_runs
WHERE job_runs.definition_id = job_definitions.id AND status IN ('queued', 'failed', 'running') AND NOT (job_runs.status = %(status_1)s::VARCHAR AND job_runs.started_at IS NULL AND job_runs.run_at > job_runs.created_at AND job_runs.run_at > job_definitions.last_slot_at)
 LIMIT %(param_1)s::INTEGER) END AS unfinished, CASE WHEN (job_definitions.overlap = 'queue') THEN (SELECT job_runs.id
FROM job_runs
WHERE job_runs.definition_id = job_definitions.id AND status IN ('queued', 'failed', 'running') AND job_runs.status != 'running'
 LIMIT %(param_1)s::INTEGER) END AS waiting, jobrunner_now() AS now
FROM job_definitions, (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given
WHERE job_definitions.id = given.id""",
        {'status_1': 'queued', 'param_1': 1},
        {'given': (('id', None),)},
        (('id', None), ('name', None), ('job_type', None), ('payload', 'json'), ('schedule', None), ('timezone', None), ('last_slot_at', 'instant'), ('last_error', None), ('source', None), ('runs_made', None), ('description', None), ('paused_at', 'instant'), ('misfire', None), ('misfire_window', None), ('misfire_most', None), ('overlap', None), ('start_deadline', None), ('jitter', None), ('ends_at', 'instant'), ('max_runs', None), ('unfinished', None), ('waiting', None), ('now', 'instant')),
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
FROM (SELECT locked_by FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(locked_by VARCHAR(300))) AS given)""",
        {},
        {'given': (('locked_by', None),)},
        (('id', None),),
    ),
    ('expiries.locked', (False,)): (
        """SELECT job_recoverable.id
FROM job_recoverable ORDER BY job_recoverable.host, job_recoverable.id
 LIMIT %(limit)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED""",
        {},
        {},
        (('id', None),),
    ),
    ('expiries.locked', (True,)): (
        """SELECT job_recoverable.id
FROM job_recoverable
WHERE job_recoverable.id IN (SELECT given.id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given) ORDER BY job_recoverable.host, job_recoverable.id
 LIMIT %(limit)s::INTEGER FOR NO KEY UPDATE SKIP LOCKED""",
        {},
        {'given': (('id', None),)},
        (('id', None),),
    ),
    ('finalize.complete', ()): (
        """UPDATE job_attempts SET output=given.output FROM (SELECT id, lease_token, output FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT, lease_token VARCHAR(32), output TEXT)) AS given WHERE job_attempts.run_id = given.id AND job_attempts.lease_token = given.lease_token""",
        {},
        {'given': (('id', None), ('lease_token', None), ('output', None))},
        (),
    ),
    ('finalize.ended', ()): (
        """SELECT job_attempts.run_id, job_attempts.lease_token, job_attempts.worker, job_attempts.outcome, job_attempts.error_type, job_attempts.output
FROM (SELECT id, lease_token FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT, lease_token VARCHAR(32))) AS given JOIN job_attempts ON job_attempts.run_id = given.id AND job_attempts.lease_token = given.lease_token""",
        {},
        {'given': (('id', None), ('lease_token', None))},
        (('run_id', None), ('lease_token', None), ('worker', None), ('outcome', None), ('error_type', None), ('output', None)),
    ),
    ('finalize.leave', ()): (
        """UPDATE job_runs SET status=given.status, run_at=coalesce(given.run_at, job_runs.run_at), attempts=given.attempts, locked_by=NULL, host=NULL, locked_until=NULL, lease_token=NULL, heartbeat_at=NULL, failed_at=CASE WHEN (given.event IN ('fail', 'postpone', 'give up')) THEN %(at)s::TIMESTAMP WITH TIME ZONE ELSE job_runs.failed_at END, finished_at=CASE WHEN (given.status IN ('succeeded', 'dead', 'cancelled')) THEN %(at)s::TIMESTAMP WITH TIME ZONE ELSE job_runs.finished_at END, releases=given.releases, lease_expiries=given.lease_expiries, incompatible_at=CASE WHEN (given.event IN ('postpone') AND job_runs.incompatible_at > %(at)s::TIMESTAMP WITH TIME ZONE) THEN %(at)s::TIMESTAMP WITH TIME ZONE WHEN (given.event IN ('postpone')) THEN coalesce(job_runs.incompatible_at, %(at)s::TIMESTAMP WITH TIME ZONE) ELSE NULL END, error_type=CASE WHEN (given.event IN ('succeed')) THEN NULL WHEN (given.event IN ('fail', 'postpone', 'give up', 'drop')) THEN given.error_type ELSE job_runs.error_type END, last_error=CASE WHEN (given.event IN ('succeed')) THEN NULL WHEN (given.event IN ('fail', 'postpone', 'give up', 'drop')) THEN given.error ELSE job_runs.last_error END, result=CASE WHEN (given.event IN ('succeed')) THEN given.result ELSE job_runs.result END, output=NULL, updated_at=%(at)s::TIMESTAMP WITH TIME ZONE FROM (SELECT id, lease_token, event, status, attempts, releases, lease_expiries, run_at, CAST(result AS JSONB) AS result, error_type, error FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT, lease_token VARCHAR(32), event TEXT, status VARCHAR(20), attempts INTEGER, releases INTEGER, lease_expiries INTEGER, run_at TIMESTAMP WITH TIME ZONE, result TEXT, error_type VARCHAR(200), error TEXT)) AS given WHERE job_runs.id = given.id AND job_runs.status = 'running' AND job_runs.lease_token = given.lease_token""",
        {},
        {'at': 'instant', 'given': (('id', None), ('lease_token', None), ('event', None), ('status', None), ('attempts', None), ('releases', None), ('lease_expiries', None), ('run_at', 'instant'), ('result', 'json'), ('error_type', None), ('error', None))},
        (),
    ),
    ('finalize.locked', ()): (
        """SELECT job_runs.id, job_runs.lease_token, job_runs.job_type, job_runs.attempts, job_runs.max_attempts, job_runs.releases, job_runs.lease_expiries, job_runs.incompatible_at, job_runs.run_at, job_runs.cancel_requested_at IS NOT NULL AS cancel_requested, jobrunner_now() AS now
FROM (SELECT id, lease_token FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT, lease_token VARCHAR(32))) AS given JOIN job_runs ON job_runs.id = given.id AND job_runs.status = 'running' AND job_runs.lease_token = given.lease_token
WHERE job_runs.status = 'running' FOR NO KEY UPDATE OF job_runs SKIP LOCKED""",
        {},
        {'given': (('id', None), ('lease_token', None))},
        (('id', None), ('lease_token', None), ('job_type', None), ('attempts', None), ('max_attempts', None), ('releases', None), ('lease_expiries', None), ('incompatible_at', 'instant'), ('run_at', 'instant'), ('cancel_requested', 'boolean'), ('now', 'instant')),
    ),
    ('finalize.record', ()): (
        """INSERT INTO job_attempts (run_id, sequence, attempt, lease_token, worker, host, started_at, finished_at, outcome, error_type, error, traceback, output, exit_signal) SELECT job_runs.id, (SELECT coalesce(max(job_attempts.sequence), %(coalesce_2)s::INTEGER) AS coalesce_1
FROM job_attempts
WHERE job_attempts.run_id = given.id) + %(param_1)s::INTEGER AS anon_1, job_runs.attempts, job_runs.lease_token, job_runs.locked_by, coalesce(job_runs.host, '') AS coalesce_3, coalesce(job_runs.started_at, job_runs.claimed_at, %(at)s::TIMESTAMP WITH TIME ZONE) AS coalesce_4, %(at)s::TIMESTAMP WITH TIME ZONE AS anon_2, given.outcome, given.error_type, given.error, given.traceback, given.output, given.exit_signal
FROM (SELECT id, lease_token, outcome, error_type, error, traceback, output, exit_signal FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT, lease_token VARCHAR(32), outcome VARCHAR(20), error_type VARCHAR(200), error TEXT, traceback TEXT, output TEXT, exit_signal INTEGER)) AS given JOIN job_runs ON job_runs.id = given.id AND job_runs.status = 'running' AND job_runs.lease_token = given.lease_token""",
        {'coalesce_2': 0, 'param_1': 1},
        {'at': 'instant', 'given': (('id', None), ('lease_token', None), ('outcome', None), ('error_type', None), ('error', None), ('traceback', None), ('output', None), ('exit_signal', None))},
        (),
    ),
    ('finalize.running_of', ()): (
        """SELECT job_runs.id, job_runs.lease_token, job_runs.job_type, job_runs.attempts, job_runs.max_attempts, job_runs.releases, job_runs.lease_expiries, job_runs.incompatible_at, job_runs.run_at, job_runs.cancel_requested_at IS NOT NULL AS cancel_requested, jobrunner_now() AS now, job_runs.locked_by, job_runs.output
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given JOIN job_runs ON job_runs.id = given.id
WHERE job_runs.status = 'running' ORDER BY job_runs.id""",
        {},
        {'given': (('id', None),)},
        (('id', None), ('lease_token', None), ('job_type', None), ('attempts', None), ('max_attempts', None), ('releases', None), ('lease_expiries', None), ('incompatible_at', 'instant'), ('run_at', 'instant'), ('cancel_requested', 'boolean'), ('now', 'instant'), ('locked_by', None), ('output', None)),
    ),
    ('finalize.succeed', (False,)): (
        """WITH held AS
(SELECT job_runs.id AS id, job_runs.lease_token AS lease_token, given.result AS given_result, job_runs.id AS new_run_id, (SELECT coalesce(max(job_attempts.sequence), %(coalesce_2)s::INTEGER) AS coalesce_1
FROM job_attempts
WHERE job_attempts.run_id = given.id) + %(param_1)s::INTEGER AS new_sequence, job_runs.attempts AS new_attempt, job_runs.lease_token AS new_lease_token, job_runs.locked_by AS new_worker, coalesce(job_runs.host, '') AS new_host, coalesce(job_runs.started_at, job_runs.claimed_at, jobrunner_now()) AS new_started_at, jobrunner_now() AS new_finished_at, 'succeeded' AS new_outcome, given.output AS new_output
FROM (SELECT id, lease_token, CAST(result AS JSONB) AS result, output FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT, lease_token VARCHAR(32), result TEXT, output TEXT)) AS given JOIN job_runs ON job_runs.id = given.id AND job_runs.status = 'running' AND job_runs.lease_token = given.lease_token FOR NO KEY UPDATE OF job_runs SKIP LOCKED),
recorded AS
(INSERT INTO job_attempts (run_id, sequence, attempt, lease_token, worker, host, started_at, finished_at, outcome, output) SELECT held.new_run_id AS new_run_id, held.new_sequence AS new_sequence, held.new_attempt AS new_attempt, held.new_lease_token AS new_lease_token, held.new_worker AS new_worker, held.new_host AS new_host, held.new_started_at AS new_started_at, held.new_finished_at AS new_finished_at, held.new_outcome AS new_outcome, held.new_output AS new_output
FROM held)
 UPDATE job_runs SET status='succeeded', locked_by=NULL, host=NULL, locked_until=NULL, lease_token=NULL, heartbeat_at=NULL, finished_at=jobrunner_now(), releases=0, lease_expiries=0, incompatible_at=NULL, error_type=NULL, last_error=NULL, result=held.given_result, output=NULL, updated_at=jobrunner_now() FROM held WHERE job_runs.id = held.id RETURNING job_runs.id, held.lease_token, job_runs.job_type, job_runs.attempts, job_runs.run_at""",
        {'coalesce_2': 0, 'param_1': 1},
        {'given': (('id', None), ('lease_token', None), ('result', 'json'), ('output', None))},
        (('id', None), ('lease_token', None), ('job_type', None), ('attempts', None), ('run_at', 'instant')),
    ),
    ('finalize.succeed', (True,)): (
        """WITH held AS
(SELECT job_runs.id AS id, job_runs.lease_token AS lease_token, given.result AS given_result, job_runs.id AS new_run_id, (SELECT coalesce(max(job_attempts.sequence), %(coalesce_2)s::INTEGER) AS coalesce_1
FROM job_attempts
WHERE job_attempts.run_id = given.id) + %(param_1)s::INTEGER AS new_sequence, job_runs.attempts AS new_attempt, job_runs.lease_token AS new_lease_token, job_runs.locked_by AS new_worker, coalesce(job_runs.host, '') AS new_host, coalesce(job_runs.started_at, job_runs.claimed_at, jobrunner_now()) AS new_started_at, jobrunner_now() AS new_finished_at, 'succeeded' AS new_outcome, given.output AS new_output
FROM (SELECT id, lease_token, CAST(result AS JSONB) AS result, output FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT, lease_token VARCHAR(32), result TEXT, output TEXT)) AS given JOIN job_runs ON job_runs.id = given.id AND job_runs.status = 'running' AND job_runs.lease_token = given.lease_token FOR NO KEY UPDATE OF job_runs),
recorded AS
(INSERT INTO job_attempts (run_id, sequence, attempt, lease_token, worker, host, started_at, finished_at, outcome, output) SELECT held.new_run_id AS new_run_id, held.new_sequence AS new_sequence, held.new_attempt AS new_attempt, held.new_lease_token AS new_lease_token, held.new_worker AS new_worker, held.new_host AS new_host, held.new_started_at AS new_started_at, held.new_finished_at AS new_finished_at, held.new_outcome AS new_outcome, held.new_output AS new_output
FROM held)
 UPDATE job_runs SET status='succeeded', locked_by=NULL, host=NULL, locked_until=NULL, lease_token=NULL, heartbeat_at=NULL, finished_at=jobrunner_now(), releases=0, lease_expiries=0, incompatible_at=NULL, error_type=NULL, last_error=NULL, result=held.given_result, output=NULL, updated_at=jobrunner_now() FROM held WHERE job_runs.id = held.id RETURNING job_runs.id, held.lease_token, job_runs.job_type, job_runs.attempts, job_runs.run_at""",
        {'coalesce_2': 0, 'param_1': 1},
        {'given': (('id', None), ('lease_token', None), ('result', 'json'), ('output', None))},
        (('id', None), ('lease_token', None), ('job_type', None), ('attempts', None), ('run_at', 'instant')),
    ),
    ('holding.held', ()): (
        """SELECT job_runs.id, job_runs.lease_token
FROM (SELECT id, lease_token FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT, lease_token VARCHAR(32))) AS given JOIN job_runs ON job_runs.id = given.id AND job_runs.status = 'running' AND job_runs.lease_token = given.lease_token""",
        {},
        {'given': (('id', None), ('lease_token', None))},
        (('id', None), ('lease_token', None)),
    ),
    ('holding.renew', ()): (
        """WITH held AS
(SELECT job_runs.id AS id
FROM (SELECT id, lease_token FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT, lease_token VARCHAR(32))) AS given JOIN job_runs ON job_runs.id = given.id AND job_runs.status = 'running' AND job_runs.lease_token = given.lease_token FOR NO KEY UPDATE OF job_runs SKIP LOCKED)
 UPDATE job_runs SET locked_until=(jobrunner_now() + make_interval(secs => %(lease_seconds)s)), heartbeat_at=jobrunner_now() WHERE job_runs.id IN (SELECT held.id
FROM held) AND job_runs.lease_token IS NOT NULL RETURNING job_runs.id, job_runs.lease_token, job_runs.cancel_requested_at""",
        {},
        {'given': (('id', None), ('lease_token', None))},
        (('id', None), ('lease_token', None), ('cancel_requested_at', 'instant')),
    ),
    ('holding.report', (('progress', 'output'),)): (
        """WITH held AS
(SELECT job_runs.id AS id
FROM job_runs
WHERE job_runs.id = %(run_id)s::BIGINT AND job_runs.status = 'running' AND job_runs.lease_token = %(token)s::VARCHAR FOR NO KEY UPDATE OF job_runs SKIP LOCKED)
 UPDATE job_runs SET progress=%(new_progress)s::JSONB, output=%(new_output)s::VARCHAR WHERE job_runs.id IN (SELECT held.id
FROM held) AND job_runs.lease_token IS NOT NULL RETURNING job_runs.id""",
        {},
        {'new_progress': 'json'},
        (('id', None),),
    ),
    ('holding.report', (('progress',),)): (
        """WITH held AS
(SELECT job_runs.id AS id
FROM job_runs
WHERE job_runs.id = %(run_id)s::BIGINT AND job_runs.status = 'running' AND job_runs.lease_token = %(token)s::VARCHAR FOR NO KEY UPDATE OF job_runs SKIP LOCKED)
 UPDATE job_runs SET progress=%(new_progress)s::JSONB WHERE job_runs.id IN (SELECT held.id
FROM held) AND job_runs.lease_token IS NOT NULL RETURNING job_runs.id""",
        {},
        {'new_progress': 'json'},
        (('id', None),),
    ),
    ('holding.report', (('output',),)): (
        """WITH held AS
(SELECT job_runs.id AS id
FROM job_runs
WHERE job_runs.id = %(run_id)s::BIGINT AND job_runs.status = 'running' AND job_runs.lease_token = %(token)s::VARCHAR FOR NO KEY UPDATE OF job_runs SKIP LOCKED)
 UPDATE job_runs SET output=%(new_output)s::VARCHAR WHERE job_runs.id IN (SELECT held.id
FROM held) AND job_runs.lease_token IS NOT NULL RETURNING job_runs.id""",
        {},
        {},
        (('id', None),),
    ),
    ('listen.look_ahead', ()): (
        """SELECT EXISTS (SELECT job_ticks.id
FROM job_ticks
WHERE job_ticks.id > %(tick_id)s::BIGINT AND job_ticks.host = %(host)s::VARCHAR AND job_ticks.types = %(types)s::VARCHAR AND job_ticks.application = %(application)s::VARCHAR AND job_ticks.listening_at IS NOT NULL AND job_ticks.finished_at IS NULL) AS is_superseded, EXISTS (SELECT job_expandable.id
FROM job_expandable) AS is_expandable, EXISTS (SELECT job_recoverable.id
FROM job_recoverable) AS is_recoverable, (SELECT min(job_overdue.start_deadline_at) AS min_1
FROM job_overdue) AS overdue_since, (SELECT min(job_claimable.run_at) AS min_2
FROM job_claimable
WHERE releases >= 0) AS run_at, (SELECT min(job_runs.run_at) AS min_3
FROM job_runs
WHERE job_runs.status IN ('queued', 'failed') AND job_runs.run_at > jobrunner_now() AND releases >= 0) AS next_run_at, (SELECT min(job_definitions.next_run_at) AS min_4
FROM job_definitions
WHERE job_definitions.schedule IS NOT NULL AND job_definitions.removed_at IS NULL AND job_definitions.paused_at IS NULL AND job_definitions.next_run_at > jobrunner_now()) AS next_slot_at, jobrunner_now() AS now""",
        {},
        {},
        (('is_superseded', 'boolean'), ('is_expandable', 'boolean'), ('is_recoverable', 'boolean'), ('overdue_since', 'instant'), ('run_at', 'instant'), ('next_run_at', 'instant'), ('next_slot_at', 'instant'), ('now', 'instant')),
    ),
    ('listen.report', ()): (
        """UPDATE job_ticks SET application=%(its_application)s::VARCHAR, listening_at=jobrunner_now(), types=%(its_types)s::VARCHAR WHERE job_ticks.id = %(tick_id)s::BIGINT""",
        {},
        {},
        (),
    ),
    ('locks.insert', ()): (
        """INSERT INTO job_locks (name) VALUES (%(row_name)s::VARCHAR) ON CONFLICT DO NOTHING""",
        {},
        {},
        (),
    ),
    ('locks.lock', ()): (
        """SELECT job_locks.name
FROM job_locks
WHERE job_locks.name = %(row_name)s::VARCHAR FOR UPDATE""",
        {},
        {},
        (('name', None),),
    ),
    ('overlap.cancel', ()): (
        """UPDATE job_runs SET status=%(status)s::VARCHAR, cancel_requested_at=%(at)s::TIMESTAMP WITH TIME ZONE, finished_at=%(at)s::TIMESTAMP WITH TIME ZONE, updated_at=%(at)s::TIMESTAMP WITH TIME ZONE FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given WHERE job_runs.id = given.id""",
        {'status': 'cancelled'},
        {'at': 'instant', 'given': (('id', None),)},
        (),
    ),
    ('overlap.older', ()): (
        """SELECT job_runs.id, job_runs.definition_id, job_runs.status, job_runs.cancel_requested_at, job_runs.status = %(status_1)s::VARCHAR AND job_runs.started_at IS NULL AND job_runs.run_at > job_runs.created_at AND job_runs.run_at > job_definitions.last_slot_at AS only_waits
FROM job_runs, job_definitions, (SELECT definition_id, id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(definition_id BIGINT, id BIGINT)) AS given
WHERE job_runs.definition_id = given.definition_id AND job_definitions.id = given.definition_id AND job_runs.id != given.id AND (job_runs.origin IS NULL OR job_runs.origin = 'slot') AND status IN ('queued', 'failed', 'running') ORDER BY job_runs.id FOR NO KEY UPDATE OF job_runs""",
        {'status_1': 'queued'},
        {'given': (('definition_id', None), ('id', None))},
        (('id', None), ('definition_id', None), ('status', None), ('cancel_requested_at', 'instant'), ('only_waits', 'boolean')),
    ),
    ('overlap.request_cancel', ()): (
        """UPDATE job_runs SET cancel_requested_at=%(at)s::TIMESTAMP WITH TIME ZONE, updated_at=%(at)s::TIMESTAMP WITH TIME ZONE FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given WHERE job_runs.id = given.id""",
        {},
        {'at': 'instant', 'given': (('id', None),)},
        (),
    ),
    ('retention.delete', ('runs',)): (
        """DELETE FROM job_runs WHERE job_runs.id IN (SELECT given.id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given)""",
        {},
        {'given': (('id', None),)},
        (),
    ),
    ('retention.delete', ('ticks',)): (
        """DELETE FROM job_ticks WHERE job_ticks.id IN (SELECT given.id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given)""",
        {},
        {'given': (('id', None),)},
        (),
    ),
    ('retention.delete', ('events',)): (
        """DELETE FROM job_events WHERE job_events.id IN (SELECT given.id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given)""",
        {},
        {'given': (('id', None),)},
        (),
    ),
    ('retention.delete_attempts', ()): (
        """DELETE FROM job_attempts WHERE job_attempts.run_id IN (SELECT given.id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given)""",
        {},
        {'given': (('id', None),)},
        (),
    ),
    ('retention.old', ('ticks',)): (
        """SELECT job_ticks.id
FROM job_ticks
WHERE job_ticks.started_at < (jobrunner_now() + make_interval(secs => %(before)s)) ORDER BY job_ticks.started_at
 LIMIT %(limit)s::INTEGER FOR UPDATE SKIP LOCKED""",
        {},
        {},
        (('id', None),),
    ),
    ('retention.old', ('events',)): (
        """SELECT job_events.id
FROM job_events
WHERE job_events.at < (jobrunner_now() + make_interval(secs => %(before)s)) ORDER BY job_events.at
 LIMIT %(limit)s::INTEGER FOR UPDATE SKIP LOCKED""",
        {},
        {},
        (('id', None),),
    ),
    ('retention.old_runs', ()): (
        """SELECT job_runs.id
FROM job_runs
WHERE job_runs.status = %(its_status)s::VARCHAR AND job_runs.finished_at IS NOT NULL AND job_runs.finished_at < (jobrunner_now() + make_interval(secs => %(before)s)) AND (job_runs.id NOT IN (SELECT given.id
FROM (SELECT id FROM json_to_recordset(CAST(%(given)s::VARCHAR AS JSON)) AS listed(id BIGINT)) AS given)) ORDER BY job_runs.finished_at
 LIMIT %(limit)s::INTEGER FOR UPDATE SKIP LOCKED""",
        {},
        {'given': (('id', None),)},
        (('id', None),),
    ),
    ('schedules.definition', ()): (
        """SELECT job_definitions.id, job_definitions.name, job_definitions.job_type, job_definitions.payload, job_definitions.schedule, job_definitions.timezone, job_definitions.source, job_definitions.application, job_definitions.description, job_definitions.misfire, job_definitions.misfire_window, job_definitions.misfire_most, job_definitions.overlap, job_definitions.start_deadline, job_definitions.jitter, job_definitions.ends_at, job_definitions.max_runs, job_definitions.runs_made, job_definitions.last_slot_at, job_definitions.next_run_at, job_definitions.paused_at, job_definitions.removed_at, job_definitions.last_error, job_definitions.created_at, job_definitions.updated_at, jobrunner_now() AS now
FROM job_definitions
WHERE job_definitions.id = %(definition_id)s::BIGINT""",
        {},
        {},
        (('id', None), ('name', None), ('job_type', None), ('payload', 'json'), ('schedule', None), ('timezone', None), ('source', None), ('application', None), ('description', None), ('misfire', None), ('misfire_window', None), ('misfire_most', None), ('overlap', None), ('start_deadline', None), ('jitter', None), ('ends_at', 'instant'), ('max_runs', None), ('runs_made', None), ('last_slot_at', 'instant'), ('next_run_at', 'instant'), ('paused_at', 'instant'), ('removed_at', 'instant'), ('last_error', None), ('created_at', 'instant'), ('updated_at', 'instant'), ('now', 'instant')),
    ),
    ('schedules.expandable', ()): (
        """SELECT job_expandable.id
FROM job_expandable ORDER BY job_expandable.next_run_at, job_expandable.id
 LIMIT %(limit)s::INTEGER""",
        {},
        {},
        (('id', None),),
    ),
    ('schedules.set_problem', ()): (
        """UPDATE job_definitions SET last_error=%(problem)s::VARCHAR, updated_at=%(at)s::TIMESTAMP WITH TIME ZONE WHERE job_definitions.id = %(definition_id)s::BIGINT""",
        {},
        {'at': 'instant'},
        (),
    ),
    ('ticks.claimable', (1,)): (
        """SELECT found.id
FROM (SELECT anon_1.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_0)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_0)s::INTEGER) AS anon_1) AS found
 LIMIT %(limit)s::INTEGER""",
        {},
        {},
        (('id', None),),
    ),
    ('ticks.claimable', (2,)): (
        """SELECT found.id
FROM (SELECT anon_1.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_0)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_0)s::INTEGER) AS anon_1 UNION ALL SELECT anon_2.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_1)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_1)s::INTEGER) AS anon_2) AS found
 LIMIT %(limit)s::INTEGER""",
        {},
        {},
        (('id', None),),
    ),
    ('ticks.claimable', (3,)): (
        """SELECT found.id
FROM (SELECT anon_1.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_0)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_0)s::INTEGER) AS anon_1 UNION ALL SELECT anon_2.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_1)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_1)s::INTEGER) AS anon_2 UNION ALL SELECT anon_3.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_2)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_2)s::INTEGER) AS anon_3) AS found
 LIMIT %(limit)s::INTEGER""",
        {},
        {},
        (('id', None),),
    ),
    ('ticks.claimable', (4,)): (
        """SELECT found.id
FROM (SELECT anon_1.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_0)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_0)s::INTEGER) AS anon_1 UNION ALL SELECT anon_2.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_1)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_1)s::INTEGER) AS anon_2 UNION ALL SELECT anon_3.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_2)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_2)s::INTEGER) AS anon_3 UNION ALL SELECT anon_4.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_3)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_3)s::INTEGER) AS anon_4) AS found
 LIMIT %(limit)s::INTEGER""",
        {},
        {},
        (('id', None),),
    ),
    ('ticks.claimable', (5,)): (
        """SELECT found.id
FROM (SELECT anon_1.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_0)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_0)s::INTEGER) AS anon_1 UNION ALL SELECT anon_2.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_1)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_1)s::INTEGER) AS anon_2 UNION ALL SELECT anon_3.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_2)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_2)s::INTEGER) AS anon_3 UNION ALL SELECT anon_4.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_3)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_3)s::INTEGER) AS anon_4 UNION ALL SELECT anon_5.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_4)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_4)s::INTEGER) AS anon_5) AS found
 LIMIT %(limit)s::INTEGER""",
        {},
        {},
        (('id', None),),
    ),
    ('ticks.claimable', (6,)): (
        """SELECT found.id
FROM (SELECT anon_1.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_0)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_0)s::INTEGER) AS anon_1 UNION ALL SELECT anon_2.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_1)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_1)s::INTEGER) AS anon_2 UNION ALL SELECT anon_3.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_2)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_2)s::INTEGER) AS anon_3 UNION ALL SELECT anon_4.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_3)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_3)s::INTEGER) AS anon_4 UNION ALL SELECT anon_5.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_4)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_4)s::INTEGER) AS anon_5 UNION ALL SELECT anon_6.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_5)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_5)s::INTEGER) AS anon_6) AS found
 LIMIT %(limit)s::INTEGER""",
        {},
        {},
        (('id', None),),
    ),
    ('ticks.claimable', (7,)): (
        """SELECT found.id
FROM (SELECT anon_1.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_0)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_0)s::INTEGER) AS anon_1 UNION ALL SELECT anon_2.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_1)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_1)s::INTEGER) AS anon_2 UNION ALL SELECT anon_3.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_2)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_2)s::INTEGER) AS anon_3 UNION ALL SELECT anon_4.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_3)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_3)s::INTEGER) AS anon_4 UNION ALL SELECT anon_5.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_4)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_4)s::INTEGER) AS anon_5 UNION ALL SELECT anon_6.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_5)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_5)s::INTEGER) AS anon_6 UNION ALL SELECT anon_7.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_6)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_6)s::INTEGER) AS anon_7) AS found
 LIMIT %(limit)s::INTEGER""",
        {},
        {},
        (('id', None),),
    ),
    ('ticks.claimable', (8,)): (
        """SELECT found.id
FROM (SELECT anon_1.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_0)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_0)s::INTEGER) AS anon_1 UNION ALL SELECT anon_2.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_1)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_1)s::INTEGER) AS anon_2 UNION ALL SELECT anon_3.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_2)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_2)s::INTEGER) AS anon_3 UNION ALL SELECT anon_4.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_3)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_3)s::INTEGER) AS anon_4 UNION ALL SELECT anon_5.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_4)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_4)s::INTEGER) AS anon_5 UNION ALL SELECT anon_6.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_5)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_5)s::INTEGER) AS anon_6 UNION ALL SELECT anon_7.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_6)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_6)s::INTEGER) AS anon_7 UNION ALL SELECT anon_8.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_7)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_7)s::INTEGER) AS anon_8) AS found
 LIMIT %(limit)s::INTEGER""",
        {},
        {},
        (('id', None),),
    ),
    ('ticks.claimable', (9,)): (
        """SELECT found.id
FROM (SELECT anon_1.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_0)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_0)s::INTEGER) AS anon_1 UNION ALL SELECT anon_2.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_1)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_1)s::INTEGER) AS anon_2 UNION ALL SELECT anon_3.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_2)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_2)s::INTEGER) AS anon_3 UNION ALL SELECT anon_4.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_3)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_3)s::INTEGER) AS anon_4 UNION ALL SELECT anon_5.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_4)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_4)s::INTEGER) AS anon_5 UNION ALL SELECT anon_6.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_5)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_5)s::INTEGER) AS anon_6 UNION ALL SELECT anon_7.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_6)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_6)s::INTEGER) AS anon_7 UNION ALL SELECT anon_8.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_7)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_7)s::INTEGER) AS anon_8 UNION ALL SELECT anon_9.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_8)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_8)s::INTEGER) AS anon_9) AS found
 LIMIT %(limit)s::INTEGER""",
        {},
        {},
        (('id', None),),
    ),
    ('ticks.claimable', (10,)): (
        """SELECT found.id
FROM (SELECT anon_1.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_0)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_0)s::INTEGER) AS anon_1 UNION ALL SELECT anon_2.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_1)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_1)s::INTEGER) AS anon_2 UNION ALL SELECT anon_3.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_2)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_2)s::INTEGER) AS anon_3 UNION ALL SELECT anon_4.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_3)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_3)s::INTEGER) AS anon_4 UNION ALL SELECT anon_5.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_4)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_4)s::INTEGER) AS anon_5 UNION ALL SELECT anon_6.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_5)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_5)s::INTEGER) AS anon_6 UNION ALL SELECT anon_7.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_6)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_6)s::INTEGER) AS anon_7 UNION ALL SELECT anon_8.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_7)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_7)s::INTEGER) AS anon_8 UNION ALL SELECT anon_9.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_8)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_8)s::INTEGER) AS anon_9 UNION ALL SELECT anon_10.id AS id
FROM (SELECT job_claimable.id AS id
FROM job_claimable
WHERE job_claimable.job_type = %(type_9)s::VARCHAR ORDER BY job_claimable.priority DESC, job_claimable.run_at, job_claimable.id
 LIMIT %(limit_9)s::INTEGER) AS anon_10) AS found
 LIMIT %(limit)s::INTEGER""",
        {},
        {},
        (('id', None),),
    ),
    ('ticks.close', ()): (
        """UPDATE job_ticks SET finished_at=jobrunner_now(), counts=%(its_counts)s::JSONB, error=%(its_error)s::VARCHAR WHERE job_ticks.id = %(tick_id)s::BIGINT""",
        {},
        {'its_counts': 'json'},
        (),
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
WHERE job_state.pruned_at IS NULL OR job_state.pruned_at <= (jobrunner_now() + make_interval(secs => %(before)s)) OR job_state.pruned_at > (jobrunner_now() + make_interval(secs => %(after)s)) FOR UPDATE SKIP LOCKED""",
        {'before': -600.0, 'after': 600.0},
        {},
        (('id', None),),
    ),
    ('ticks.is_due', ()): (
        """SELECT (SELECT min(job_claimable.run_at) AS min_1
FROM job_claimable
WHERE releases >= 0) IS NOT NULL OR (SELECT min(job_overdue.start_deadline_at) AS min_2
FROM job_overdue) IS NOT NULL OR (EXISTS (SELECT job_expandable.id
FROM job_expandable)) OR (EXISTS (SELECT job_recoverable.id
FROM job_recoverable)) AS is_due""",
        {},
        {},
        (('is_due', 'boolean'),),
    ),
    ('ticks.is_quarantined_due', ()): (
        """SELECT EXISTS (SELECT job_claimable.id
FROM job_claimable
WHERE job_claimable.lease_expiries >= 2) AS is_due""",
        {},
        {},
        (('is_due', 'boolean'),),
    ),
    ('ticks.open', ()): (
        """INSERT INTO job_ticks (host, worker, version, started_at) VALUES (%(its_host)s::VARCHAR, %(its_worker)s::VARCHAR, %(its_version)s::VARCHAR, jobrunner_now()) RETURNING job_ticks.id""",
        {},
        {},
        (('id', None),),
    ),
    ('ticks.schema', ()): (
        """SELECT version_num, (SELECT job_state.oldest_code
FROM job_state) AS oldest_code
FROM job_schema_version""",
        {},
        {},
        (('version_num', None), ('oldest_code', None)),
    ),
    ('ticks.take_prune_turn', ()): (
        """UPDATE job_state SET pruned_at=jobrunner_now()""",
        {},
        {},
        (),
    ),
}
