"""Calls of the SQL function `jobrunner_enqueue`."""

import json
import sys
from typing import Any

from jobrunner.store.sql.dialect.enqueue_function import parameters


def call(connection: Any, job_type: str = "sync", **options: Any) -> dict[str, Any]:
    """One call of the function with these arguments by name."""
    if "payload" in options:
        options["payload"] = text_of(options["payload"])
    kinds = {"payload": "jsonb", **parameters()}
    named = ", ".join(f"{name} => %({name})s::{kinds.get(name, 'text')}" for name in options)
    statement = f"SELECT * FROM jobrunner_enqueue(%(job_type)s{', ' if named else ''}{named})"
    found: dict[str, Any] = connection.execute(statement, {"job_type": job_type, **options}).fetchone()
    return found


def text_of(payload: Any) -> str:
    most = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return json.dumps(payload)
    finally:
        sys.set_int_max_str_digits(most)
