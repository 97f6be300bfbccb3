CREATE FUNCTION @schema@.jobrunner_enqueue(
  job_type text,
  payload jsonb DEFAULT '{}',
  @parameters@,
  traceparent text DEFAULT NULL,
  @added_parameters@,
  @old_parameters@,
  OUT id bigint,
  OUT outcome text
) LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $function$
#variable_conflict use_column
DECLARE
  its_type text := job_type;
  its_payload jsonb := payload;
  its_key text := key;
  its_time timestamptz := coalesce(run_at, @schema@.jobrunner_now());
  -- What is none is ignored, as in Python.
  its_trace text := substring(traceparent from
    '^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$');
  @seconds@
  body text;
  most_bytes integer := coalesce(nullif(current_setting('jobrunner.payload_limit', true), ''), '@most_bytes@');
  most_waiting bigint;
  if_full text;
  waiting bigint;
  holder record;
  parents record;
  is_free boolean;
  is_full boolean := false;
  looks_only boolean;
BEGIN
  @old_names@
  -- What Python checks before it sends anything.
  IF its_type IS NULL OR its_type !~ '^[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,199}$' THEN
    RAISE invalid_parameter_value USING MESSAGE = concat(quote_nullable(left(its_type, 60)),
      ' cannot be a job type; use up to 200 letters, digits and _ . : / - , starting with a letter, a digit or _');
  END IF;
  IF NOT isfinite(its_time) OR its_time < '1970-01-01Z' OR its_time >= '9001-01-01Z' THEN
    RAISE invalid_parameter_value USING MESSAGE = concat('run_at is ', its_time,
      '; it must lie between the years 1970 and 9000');
  END IF;
  @checks@
  @durations@
  IF after IS NOT NULL AND (cardinality(after) NOT BETWEEN 1 AND @most_parents@ OR NOT 0 < ALL (after)
      OR array_position(after, NULL) IS NOT NULL) THEN
    RAISE invalid_parameter_value USING MESSAGE = 'after must name from 1 to @most_parents@ runs by their ids';
  END IF;
  body := its_payload::text;
  IF its_payload IS NULL OR jsonb_typeof(its_payload) <> 'object' THEN
    RAISE invalid_parameter_value USING MESSAGE = concat('the payload must be a JSON object, not ',
      coalesce(jsonb_typeof(its_payload), 'NULL'));
  END IF;
  -- Each level has a bracket.
  IF length(body) - length(translate(body, '[{', '')) >= 64 AND EXISTS (
    WITH RECURSIVE node (value, depth) AS (
      SELECT its_payload, 0
      UNION ALL
      SELECT child.value, depth + 1 FROM node CROSS JOIN LATERAL (
        SELECT value FROM jsonb_each(CASE jsonb_typeof(node.value) WHEN 'object' THEN node.value ELSE '{}' END)
        UNION ALL
        SELECT value FROM jsonb_array_elements(CASE jsonb_typeof(node.value) WHEN 'array' THEN node.value ELSE '[]' END)
      ) AS child WHERE depth < 64
    ) SELECT 1 FROM node WHERE depth = 64
  ) THEN
    RAISE invalid_parameter_value USING MESSAGE = 'the payload is nested deeper than 64 levels';
  END IF;
  IF body ~ '[0-9]{255}' AND EXISTS (
    SELECT 1 FROM jsonb_path_query(its_payload, 'lax $.** ? (@.type() == "number")') AS found(number)
    WHERE CASE WHEN position('.' IN number::text) > 0 THEN abs(number::numeric) > 1.797693134862315e308
      ELSE length(ltrim(number::text, '-')) > 4300 END
  ) THEN
    RAISE invalid_parameter_value USING MESSAGE = 'the payload holds a number with too many digits';
  END IF;
  -- The text of jsonb has a space after each comma and colon, and the limit is for a text without them.
  IF octet_length(body) > most_bytes AND octet_length(body) - (
    WITH RECURSIVE node (value) AS (
      SELECT its_payload
      UNION ALL
      SELECT child.value FROM node CROSS JOIN LATERAL (
        SELECT value FROM jsonb_each(CASE jsonb_typeof(node.value) WHEN 'object' THEN node.value ELSE '{}' END)
        UNION ALL
        SELECT value FROM jsonb_array_elements(CASE jsonb_typeof(node.value) WHEN 'array' THEN node.value ELSE '[]' END)
      ) AS child
    )
    SELECT sum(CASE jsonb_typeof(value)
      WHEN 'object' THEN greatest(2 * (SELECT count(*) FROM jsonb_object_keys(value)) - 1, 0)
      WHEN 'array' THEN greatest(jsonb_array_length(value) - 1, 0) ELSE 0 END) FROM node
  ) > most_bytes THEN
    RAISE invalid_parameter_value USING MESSAGE = concat('the payload is larger than ', most_bytes,
      ' bytes; keep the data elsewhere and pass its key');
  END IF;

  looks_only := EXISTS (
    SELECT 1 FROM @schema@.job_types AS types WHERE types.job_type = its_type AND types.max_waiting IS NOT NULL);
  LOOP
    -- A taken key answers, also if the type is full. A free one is taken before the run is made. Of two callers at once
    -- the second waits at the key's row until the first has ended.
    WHILE its_key IS NOT NULL LOOP
      IF NOT looks_only THEN
        INSERT INTO @schema@.job_keys (job_type, idempotency_key, created_at)
          VALUES (its_type, its_key, @schema@.jobrunner_now()) ON CONFLICT DO NOTHING;
        EXIT WHEN FOUND;
      END IF;
      SELECT keys.run_id, runs.status,
          CASE WHEN keys.run_id IS NULL THEN false
            WHEN types.key_scope = 'active' THEN coalesce(runs.status IN ('queued', 'failed', 'running'), false)
            WHEN types.key_scope = 'window' THEN
              keys.created_at > @schema@.jobrunner_now() + make_interval(secs => -types.key_window)
            ELSE true END AS is_held,
          coalesce(types.key_scope = 'active' AND runs.status IS NOT NULL, false) AS must_end
        INTO holder
        FROM @schema@.job_keys AS keys
          LEFT JOIN @schema@.job_runs AS runs ON runs.id = keys.run_id
          LEFT JOIN @schema@.job_types AS types ON types.job_type = keys.job_type
        WHERE keys.job_type = its_type AND keys.idempotency_key = its_key;
      IF NOT FOUND AND NOT looks_only THEN
        RAISE serialization_failure USING MESSAGE = 'another transaction took this idempotency key after yours began;'
          ' enqueue again in a new one';
      END IF;
      IF FOUND AND holder.is_held THEN
        IF if_taken = 'raise' THEN
          RAISE unique_violation USING MESSAGE = concat('the key ', quote_literal(left(its_key, 200)),
            ' of the job type ', quote_literal(its_type), ' is taken by run ', holder.run_id, ', which ',
            coalesce('is ' || holder.status, 'was pruned'));
        END IF;
        id := holder.run_id;
        outcome := 'existing';
        IF if_taken = 'replace' THEN
          PERFORM @schema@.jobrunner_replace(json_build_array(json_build_object(
            'id', holder.run_id, 'payload', its_payload::text, 'run_at', its_time, 'expires_in', seconds_of_expires)));
          IF FOUND THEN
            outcome := 'replaced';
          END IF;
        END IF;
        RETURN;
      END IF;
      EXIT WHEN looks_only;
      is_free := true;
      IF holder.must_end THEN
        -- The run before its key, as in the retry of a run.
        PERFORM 1 FROM @schema@.job_runs AS runs
          WHERE runs.id = holder.run_id AND runs.status IN ('succeeded', 'dead', 'cancelled') FOR SHARE;
        is_free := FOUND;
      END IF;
      IF is_free THEN
        PERFORM 1 FROM @schema@.job_keys AS keys
          WHERE keys.job_type = its_type AND keys.idempotency_key = its_key
            AND keys.run_id IS NOT DISTINCT FROM holder.run_id FOR UPDATE;
        EXIT WHEN FOUND;
      END IF;
      -- Another transaction has just taken the key over, or has begun its run again.
    END LOOP;
    EXIT WHEN NOT looks_only;
    IF is_full THEN
      IF if_full = 'refuse' THEN
        RAISE configuration_limit_exceeded USING MESSAGE = concat('the queue of ', quote_literal(its_type),
          ' is full: ', CASE WHEN waiting > most_waiting THEN concat('more than ', most_waiting) ELSE waiting::text END,
          ' wait, max_waiting is ', most_waiting,
          '; enqueue again when some of them are done, cancel some, or raise max_waiting');
      END IF;
      UPDATE @schema@.job_types AS types SET dropped = types.dropped + 1, dropped_at = @schema@.jobrunner_now()
        WHERE types.job_type = its_type;
      outcome := 'dropped';
      RETURN;
    END IF;
    -- An UPDATE that changes nothing: after it, a caller whose snapshot is older fails, and does not count wrong.
    UPDATE @schema@.job_types AS types SET job_type = types.job_type
      WHERE types.job_type = its_type AND types.max_waiting IS NOT NULL
      RETURNING types.max_waiting, types.when_full INTO most_waiting, if_full;
    -- Not found if the limit was removed meanwhile.
    IF FOUND THEN
      SELECT count(*) INTO waiting FROM (
        SELECT 1 FROM @schema@.job_runs AS runs
        WHERE runs.job_type = its_type AND runs.status IN ('queued', 'failed') LIMIT most_waiting + 1) AS found;
      is_full := waiting >= most_waiting;
    END IF;
    -- If it is full, the key is looked at once more: its run may have been made since.
    looks_only := is_full;
  END LOOP;

  IF @has_added@ THEN
    @insert_with_added@
  ELSE
    @insert@
  END IF;
  IF its_key IS NOT NULL THEN
    UPDATE @schema@.job_keys AS keys SET run_id = jobrunner_enqueue.id, created_at = @schema@.jobrunner_now()
      WHERE keys.job_type = its_type AND keys.idempotency_key = its_key;
  END IF;
  IF after IS NOT NULL THEN
    -- They are locked, so that none of them ends meanwhile.
    SELECT count(*) AS found, bool_or(finished_at IS NULL) AS is_any_at_large,
        bool_or(finished_at IS NOT NULL AND status <> 'succeeded') AS has_any_failed,
        json_agg(json_build_object('parent_id', locked.id, 'if_parent_fails', if_parent_fails)) AS given
      INTO parents FROM (
        SELECT runs.id, runs.status, runs.finished_at FROM @schema@.job_runs AS runs
        WHERE runs.id = ANY (after) ORDER BY runs.id FOR NO KEY UPDATE) AS locked;
    IF parents.found < (SELECT count(DISTINCT given) FROM unnest(after) AS given) THEN
      RAISE invalid_parameter_value USING MESSAGE =
        'after names a run that does not exist; a run that ended long ago is deleted';
    END IF;
    IF parents.is_any_at_large OR parents.has_any_failed AND if_parent_fails = 'cancel' THEN
      PERFORM @schema@.jobrunner_hold(id, parents.given);
    END IF;
  END IF;
  outcome := 'created';
END $function$
