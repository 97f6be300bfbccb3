"""Reads rows by the statements in ``statements.sql``, which no other code uses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from sqlalchemy import Executable, Text, bindparam, column, literal_column, select, text

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.sql.dialect.values import BigKey, JsonObject, UtcTime, now
from jobrunner.store.sql.namespace import MARK
from jobrunner.store.verify import records

RECORDS: Mapping[str, type[Any]] = {
    "span": records.Span,
    "first_tick": records.Tick,
    "last_old_tick": records.Tick,
    "worked_tick": records.Tick,
    "steps": records.Step,
    "first_event": records.Event,
    "archived": records.Event,
    "put_back": records.Event,
    "runs": records.Run,
    "created": records.Created,
    "attempts": records.Attempt,
    "events": records.Event,
    "events_of_many": records.Event,
    "parents": records.Parent,
    "keys": records.Key,
    "gates": records.Gate,
    "effects": records.Effect,
    "effect": records.Effect,
    "definitions": records.Definition,
    "changes_of_schedule": records.Event,
    "skips_of_schedule": records.Event,
    "pauses": records.Pause,
    "slots": records.Slot,
    "limits": records.Limit,
    "set_limits": records.SetLimit,
    "limit_changes": records.Event,
    "hosts": records.Host,
    "counted": records.Ends,
    "at_work": records.Worked,
    "worked": records.Worked,
    "last_attempt": records.Span,
}
"""What a row of each statement is. Its columns are in this order."""
_PARAMETERS: Mapping[str, Any] = {
    **dict.fromkeys(("after", "first", "last", "limit", "definition_id"), BigKey),
    **dict.fromkeys(("since", "until"), UtcTime()),
    "key": Text(),
}
_TABLE, _PARAMETER = re.compile(r"\b(FROM|JOIN) (?=job_)"), re.compile(r":(\w+)")


def read(connection: Connection, name: str, **given: Any) -> list[Any]:
    """The rows of one of the statements, as its record. Expects a snapshot."""
    # The constructor of the tuple, because a record has all values in their order.
    return list(map(RECORDS[name]._make, connection.execute(_statement(name), given)))


@cache
def _statement(name: str) -> Executable:
    words = _TABLE.sub(rf"\1 {MARK}.", texts()[name])
    columns: list[Any] = [column(each, _type(str(kind))) for each, kind in RECORDS[name].__annotations__.items()]
    parameters = [bindparam(each, type_=_PARAMETERS[each]) for each in sorted(set(_PARAMETER.findall(words)))]
    return text(words).bindparams(*parameters).columns(*columns)


def _type(annotation: str) -> Any:
    return UtcTime() if "datetime" in annotation else JsonObject if "Json" in annotation else None


@cache
def texts() -> Mapping[str, str]:
    """The statements, by their names."""
    script = (resources.files("jobrunner.store.verify") / "statements.sql").read_text(encoding="utf-8")
    named = (each.partition("\n") for each in script.split("-- name: ")[1:])
    return {name: words.strip() for name, _, words in named}


def moment(connection: Connection) -> records.Moment:
    """The database's time, and up to which attempt the tallies count."""
    return records.Moment(*connection.execute(_moment()).one())


@cache
def _moment() -> Executable:
    state = text(f"{MARK}.job_state AS state")
    return select(now().label("now"), literal_column("state.counted_to", BigKey)).select_from(state)
