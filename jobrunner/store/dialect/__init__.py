"""The only room that names a database. Everything else is written once, for both.

What differs: how an instant is stored and read from the clock (``values``), how a connection is opened and a
transaction begun (``connections``), how a hung call is ended (``wires``), what locks and meets what is there
(``statements``), how a statement is given many rows (``rows``), whose connection an application has (``borrowed``), and
how a tick that waits hears of a commit (``bell``).
"""

from jobrunner.store.dialect.connections import (
    check_version,
    checkpoint,
    file_preparation,
    must_commit,
    open_engine,
    prepare_file,
    sever,
    waits_unfairly,
)
from jobrunner.store.dialect.hung_calls import Wire
from jobrunner.store.dialect.notify import Notifier, notify_removal, notify_statements, open_notifier
from jobrunner.store.dialect.rows import rows
from jobrunner.store.dialect.statements import (
    insert_or_skip,
    insert_or_update,
    inserting,
    lock_migrations,
    lock_named_row,
    row_unless,
    stay_with,
    wait_briefly_for_locks,
)
from jobrunner.store.dialect.values import (
    BigKey,
    JsonObject,
    Seconds,
    SmallNumber,
    UtcTime,
    clock_removal,
    clock_statements,
    ddl_words,
    later,
    now,
    readable,
    short_text,
    stored_json,
)

__all__ = [
    "BigKey",
    "JsonObject",
    "Notifier",
    "Seconds",
    "SmallNumber",
    "UtcTime",
    "Wire",
    "check_version",
    "checkpoint",
    "clock_removal",
    "clock_statements",
    "ddl_words",
    "file_preparation",
    "insert_or_skip",
    "insert_or_update",
    "inserting",
    "later",
    "lock_migrations",
    "lock_named_row",
    "must_commit",
    "notify_removal",
    "notify_statements",
    "now",
    "open_engine",
    "open_notifier",
    "prepare_file",
    "readable",
    "row_unless",
    "rows",
    "sever",
    "short_text",
    "stay_with",
    "stored_json",
    "wait_briefly_for_locks",
    "waits_unfairly",
]
