"""The conditions of the claim, each with a name: the views are made of them, and ``explain`` asks for them one by one.

So an explanation cannot disagree with the claim. ``{…}`` are words of the database (``values.ddl_words``).
"""

from __future__ import annotations

from collections.abc import Mapping

# Not as a join, which could lose the order of the index: the pauses are read once, before the first run. Not as an
# array, which the planner compares with its statistics: where all runs are of one type it takes that for the type of
# each pause, expects no run to be left, and sorts all that are due in place of reading the first of them in order.
UNPAUSED: Mapping[str, str] = {
    "type_unpaused": "job_type NOT IN (SELECT name FROM {schema}job_pauses WHERE kind = 'type')",
    "all_unpaused": "NOT EXISTS (SELECT kind FROM {schema}job_pauses WHERE kind = 'all')",
}
IN_TIME = "(start_deadline_at IS NULL OR start_deadline_at > {now})"
# The statuses stand here as literals, so that the partial indexes serve every reader of the views. Only a running row
# has a lease_token: said so where no index but the one that is meant may serve.
CLAIM: Mapping[str, str] = {
    "waiting": "status IN ('queued', 'failed')",
    "due": "run_at <= {now}",
    "start_deadline": IN_TIME,
    "key": """(concurrency_key IS NULL
      OR (NOT EXISTS (SELECT 1 FROM {schema}job_runs other
          WHERE other.concurrency_key = job_runs.concurrency_key AND other.id <> job_runs.id
            AND other.lease_token IS NOT NULL)
        AND NOT EXISTS (SELECT 1 FROM {schema}job_runs other
          WHERE other.concurrency_key = job_runs.concurrency_key AND other.id < job_runs.id
            AND other.status IN ('queued', 'failed', 'running') AND other.lease_token IS NULL
            AND other.run_at <= {now} AND (other.start_deadline_at IS NULL OR other.start_deadline_at > {now}))))""",
    **UNPAUSED,
    # A case, whose answer no planner believes to know: without statistics it takes a NULL for rare.
    "any_host": "CASE WHEN only_host IS NULL THEN 1 = 1 ELSE 1 = 0 END",
}
"""What a run must fulfil to be claimed, apart from the limits behind whose gate it may wait, and from the hosts."""
CLAIM_OF_HOST: Mapping[str, str] = {
    **{name: text for name, text in CLAIM.items() if name != "any_host"},
    # In these words only the index of such runs serves. While a queue seems empty, that of the claim seems as good.
    "waiting": "finished_at IS NULL AND lease_token IS NULL",
    "own_host": "only_host IS NOT NULL",
    "gate": "gate = ''",
}
"""What a run that only one host may claim must fulfil to be claimed by that host."""
BEHIND_GATE = "releases >= 0 AND gate <> ''"
"""Whether a run waits behind any gate, in the words of the index of these: SQLite draws no conclusions from others."""
GATE_OF_LIMITS = """CASE WHEN job_limits.concurrency_key IS NULL THEN job_gates.gate = 'all'
      ELSE substr(job_gates.gate, 1, length(job_limits.concurrency_key) + 1) = job_limits.concurrency_key || ' ' END"""
"""Whether a gate is one of those behind which the stored limits of its type put runs. It begins with their key."""
_KNOWN_GATE = """EXISTS (SELECT 1 FROM {schema}job_limits
        JOIN {schema}job_gates ON job_gates.job_type = job_limits.job_type
        WHERE job_limits.job_type = {runs}.job_type AND job_gates.gate = {runs}.gate
          AND job_gates.turn_at IS NOT NULL AND {of_limits})"""
BEHIND_KNOWN_GATE = _KNOWN_GATE.replace("{of_limits}", GATE_OF_LIMITS)
"""Whether a claim looks behind a gate that runs wait behind. ``{runs}`` has their type and the gate."""
BEHIND_FAIR_GATE = """EXISTS (SELECT 1 FROM {schema}job_types WHERE job_types.job_type = {runs}.job_type
        AND substr({runs}.gate, 1, length(fair_by) + 1) = fair_by || ' ')"""
"""Whether a gate is one of a fair type. Claims find it, also before it has a row."""
BEHIND_PARENTS = "EXISTS (SELECT 1 FROM {schema}job_parents WHERE run_id = {runs}.id)"
"""Whether a run that waits for the end of others will be let go."""
SEEN = f"""CASE gate WHEN '' THEN 1 = 1 WHEN 'after' THEN {BEHIND_PARENTS}
      ELSE {BEHIND_KNOWN_GATE} OR {BEHIND_FAIR_GATE} END"""
"""Whether a claim will ever see a waiting run, as it stands."""
EXPAND: Mapping[str, str] = {
    "has_schedule": "schedule IS NOT NULL",
    "kept": "removed_at IS NULL",
    "unpaused": "paused_at IS NULL",
    "due": "(next_run_at IS NULL OR next_run_at <= {now})",
    "any_host": "\"on\" = 'any-host'",
}
"""What a definition must fulfil to be expanded by a tick of any host."""
EXPAND_OF_HOST: Mapping[str, str] = {
    **{name: text for name, text in EXPAND.items() if name != "any_host"},
    "own_host": "(\"on\" = 'any-host' OR host IS NOT NULL)",
}
"""The same for a tick of its host, if it has one. The row that the rows of hosts are made of is never expanded."""


def all_of(conditions: Mapping[str, str]) -> str:
    """The condition that all of these hold."""
    return "\n    AND ".join(conditions.values())
