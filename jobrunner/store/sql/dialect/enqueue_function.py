"""The SQL function ``jobrunner_enqueue`` of PostgreSQL: the rules of ``enqueue``, for triggers and other languages.

It has the rights of its caller, but for a run that is replaced or waits for others, and looks up none of our names on
the caller's search path. A test compares what it refuses with what Python refuses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from jobrunner.jobs.options import Kind, Number, OneOf
from jobrunner.jobs.parents import MOST_PARENTS
from jobrunner.jobs.payload_limits import DEFAULT_LIMIT_BYTES
from jobrunner.jobs.run_options import ADDED, COLUMNS, OF_RUN, Limit, Runs, Span, Text, Time
from jobrunner.renamed import RENAMED
from jobrunner.store.sql.dialect.application_functions import in_schema

_TYPES: dict[type[Kind], str] = {Number: "integer", Time: "timestamptz", Runs: "bigint[]"}
"""All others are text."""
_VALUES = {
    "run_at": "its_time",
    "timeout": "seconds_of_timeout",
    "expires": "its_time + make_interval(secs => seconds_of_expires)",
}
"""What is stored for an option, if not what is given."""
_DURATION = """
  IF @none@jobrunner_enqueue.@name@ IS NOT NULL THEN
    body := btrim(jobrunner_enqueue.@name@, E' \\t\\n\\r\\f\\v');
    IF length(body) > 40 THEN
      seconds_of_@name@ := NULL;
    ELSIF body ~ '^[0-9]+([.][0-9]+)?$' THEN
      seconds_of_@name@ := body::double precision;
    ELSIF body ~ '^([0-9]+([.][0-9]+)?(ms|[smhdw]))+$' THEN
      SELECT sum(part[1]::double precision * CASE part[3] WHEN 'ms' THEN 0.001 WHEN 's' THEN 1 WHEN 'm' THEN 60
          WHEN 'h' THEN 3600 WHEN 'd' THEN 86400 ELSE 604800 END)
        INTO seconds_of_@name@ FROM regexp_matches(body, '([0-9]+([.][0-9]+)?)(ms|[smhdw])', 'g') AS found(part);
    END IF;
    IF seconds_of_@name@ IS NULL OR seconds_of_@name@ > 316224000 THEN
      RAISE invalid_parameter_value USING MESSAGE = concat(quote_literal(left(jobrunner_enqueue.@name@, 60)),
        ' is not a duration for @name@; write it as 30s, 5m or 1h30m, at most ten years@form@');
    END IF;
    seconds_of_@name@ := round(seconds_of_@name@::numeric, 6);
    IF seconds_of_@name@ = 0 THEN
      RAISE invalid_parameter_value USING MESSAGE = '@zero@';
    END IF;
  END IF;
"""
"""How the text of a duration is read, as ``parse_duration`` does."""
_INSERT = """
    INSERT INTO @schema@.job_runs AS runs (job_type, payload, status, @columns@, traceparent, created_at, updated_at)
      VALUES (its_type, its_payload, 'queued', @values@, its_trace, @schema@.jobrunner_now(), @schema@.jobrunner_now())
      RETURNING runs.id INTO id;
"""
SCHEMA = "@schema@"
"""Stands for the quoted schema of our tables."""


def parameters() -> dict[str, str]:
    """The type of each option that the function takes."""
    return {name: _TYPES.get(type(row.kind), "text") for name, row in OF_RUN.items()}


def _declarations(*, added: bool) -> str:
    listed = []
    for name, kind in parameters().items():
        if (name in ADDED) is not added:
            continue
        default = OF_RUN[name].default
        written = "NULL" if default is None else f"'{default}'" if isinstance(default, str) else str(default)
        listed.append(f"{name} {kind} DEFAULT {written}")
    return ",\n  ".join(listed)


def _old_names() -> dict[str, str]:
    return {old: new for old, new in RENAMED["parameter"].items() if new in OF_RUN}


def _checks() -> str:
    """The checks of the options whose kind says all. That of a time stands in the function."""
    checks = []
    for name, row in OF_RUN.items():
        # Its type's columns have the names of some options.
        value = f"jobrunner_enqueue.{name}"
        is_null = "" if row.default is None else f"{value} IS NULL OR "
        kind = row.kind
        match kind:
            case Number():
                least, most = kind
                wrong = f"{value} NOT BETWEEN {least} AND {most}"
                problem = (
                    f"'{name} must be a whole number from {least} to {most}, not ', coalesce({value}::text, 'NULL')"
                )
            case OneOf():
                words = kind.words
                quoted = [f"'{word}'" for word in words]
                wrong, listed = f"{value} NOT IN ({', '.join(quoted)})", ", ".join(f"'{each}'" for each in quoted)
                problem = f"'{name} must be one of {listed}, not ', quote_nullable({value})"
            case Text():
                most = kind.most
                wrong, problem = (
                    f"length({value}) NOT BETWEEN 1 AND {most}",
                    f"'{name} must have 1 to {most} characters'",
                )
            case _:
                continue
        checks.append(f"IF {is_null}{wrong} THEN\n    {_refusal(problem)}\n  END IF;")
    return "\n  ".join(checks)


def _durations() -> dict[str, str]:
    """How each duration is read into a variable of its own, by its name."""
    read = {}
    for name, row in OF_RUN.items():
        match row.kind:
            case Limit():
                parts = {
                    "none": f"jobrunner_enqueue.{name} = 'none' THEN\n    seconds_of_{name} := 0;\n  ELSIF ",
                    "form": ", or none",
                    "zero": "a timeout of 0 stops a run at once; write none for no limit",
                }
            case Span():
                parts = {"none": "", "form": "", "zero": f"{name} must be longer than 0; leave it out for no limit"}
            case _:
                continue
        read[name] = _filled(_DURATION.strip(), {"name": name, **parts})
    return read


def _filled(text: str, parts: Mapping[str, str]) -> str:
    for name, part in parts.items():
        text = text.replace(f"@{name}@", part)
    return text


def _refusals_of_old_names() -> str:
    refusals = []
    for old, new in _old_names().items():
        refusal = _refusal(f"'{old} is now {new}; write {new}'")
        refusals.append(f"IF jobrunner_enqueue.{old} IS NOT NULL THEN\n    {refusal}\n  END IF;")
    return "\n  ".join(refusals)


def _refusal(problem: str) -> str:
    return f"RAISE invalid_parameter_value USING MESSAGE = concat({problem});"


def _insert(names: Sequence[str]) -> str:
    columns = ", ".join(COLUMNS[name] for name in names)
    values = ", ".join(_VALUES.get(name, f"jobrunner_enqueue.{name}") for name in names)
    return _filled(_INSERT.strip(), {"columns": columns, "values": values})


def enqueue_statements(dialect_name: str, schema: str | None) -> list[str]:
    """What a migration must run after it has created the tables and the clock."""
    if dialect_name == "sqlite":
        return []
    durations = _durations()
    parts = {
        "most_bytes": str(DEFAULT_LIMIT_BYTES),
        "most_parents": str(MOST_PARENTS),
        "parameters": _declarations(added=False),
        "added_parameters": _declarations(added=True),
        "old_parameters": ",\n  ".join(f"{old} text DEFAULT NULL" for old in _old_names()),
        "has_added": " OR ".join(f"jobrunner_enqueue.{name} IS NOT NULL" for name in ADDED),
        "insert_with_added": _insert([*COLUMNS]),
        "insert": _insert([name for name in COLUMNS if name not in ADDED]),
        "old_names": _refusals_of_old_names(),
        "checks": _checks(),
        "seconds": "\n  ".join(f"seconds_of_{name} double precision;" for name in durations),
        "durations": "\n  ".join(durations.values()),
    }
    # There each statement is planned anew: a plan that is kept from when the queue was empty could read all of it.
    function = Path(__file__).with_suffix(".sql").read_text("utf-8")
    return [in_schema(_filled(function, parts), schema)]
