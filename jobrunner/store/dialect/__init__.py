"""The only room that names a database. Everything else is written once, for both.

What differs: how an instant is stored and read from the clock (``values``), how a connection is opened, a transaction
begun and a hung call cut (``connections``), what locks and meets what is there (``statements``), and whose connection
an application has (``borrowed``).
"""

from jobrunner.store.dialect.connections import (
    checkpoint,
    connection_cutter,
    file_preparation,
    must_commit,
    open_engine,
    prepare_file,
    sever,
    waits_unfairly,
)
from jobrunner.store.dialect.statements import (
    insert_or_skip,
    insert_or_update,
    lock_host_places,
    lock_migrations,
    row_unless,
    wait_briefly_for_locks,
)
from jobrunner.store.dialect.values import (
    BigKey,
    JsonObject,
    Seconds,
    UtcTime,
    clock_removal,
    clock_statements,
    ddl_words,
    later,
    now,
)

__all__ = [
    "BigKey",
    "JsonObject",
    "Seconds",
    "UtcTime",
    "checkpoint",
    "clock_removal",
    "clock_statements",
    "connection_cutter",
    "ddl_words",
    "file_preparation",
    "insert_or_skip",
    "insert_or_update",
    "later",
    "lock_host_places",
    "lock_migrations",
    "must_commit",
    "now",
    "open_engine",
    "prepare_file",
    "row_unless",
    "sever",
    "wait_briefly_for_locks",
    "waits_unfairly",
]
