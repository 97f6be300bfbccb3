"""The only room that names a database. All other code is written once for both databases.

These differ: how an instant is stored and read from the clock (``values``), how a connection is opened and a
transaction begins (``connections``), how a call that hangs is ended (``hung_calls``), locks and conflicting inserts
(``statements``), how a statement gets many rows (``rows``), the caller's connection (``callers``), and how a listening
tick is notified of a commit (``notify``).
"""

from jobrunner.store.dialect.connections import check_version as check_version
from jobrunner.store.dialect.connections import checkpoint as checkpoint
from jobrunner.store.dialect.connections import file_preparation as file_preparation
from jobrunner.store.dialect.connections import must_commit as must_commit
from jobrunner.store.dialect.connections import open_engine as open_engine
from jobrunner.store.dialect.connections import prepare_file as prepare_file
from jobrunner.store.dialect.connections import sever as sever
from jobrunner.store.dialect.connections import waits_unfairly as waits_unfairly
from jobrunner.store.dialect.hung_calls import Wire as Wire
from jobrunner.store.dialect.notify import Notifier as Notifier
from jobrunner.store.dialect.notify import notify_removal as notify_removal
from jobrunner.store.dialect.notify import notify_statements as notify_statements
from jobrunner.store.dialect.notify import open_notifier as open_notifier
from jobrunner.store.dialect.rows import rows as rows
from jobrunner.store.dialect.statements import insert_or_skip as insert_or_skip
from jobrunner.store.dialect.statements import inserting as inserting
from jobrunner.store.dialect.statements import lock_migrations as lock_migrations
from jobrunner.store.dialect.statements import lock_named_row as lock_named_row
from jobrunner.store.dialect.statements import stay_with as stay_with
from jobrunner.store.dialect.statements import wait_briefly_for_locks as wait_briefly_for_locks
from jobrunner.store.dialect.values import BigKey as BigKey
from jobrunner.store.dialect.values import JsonObject as JsonObject
from jobrunner.store.dialect.values import Seconds as Seconds
from jobrunner.store.dialect.values import SmallNumber as SmallNumber
from jobrunner.store.dialect.values import UtcTime as UtcTime
from jobrunner.store.dialect.values import clock_removal as clock_removal
from jobrunner.store.dialect.values import clock_statements as clock_statements
from jobrunner.store.dialect.values import ddl_words as ddl_words
from jobrunner.store.dialect.values import later as later
from jobrunner.store.dialect.values import now as now
from jobrunner.store.dialect.values import readable as readable
from jobrunner.store.dialect.values import short_text as short_text
from jobrunner.store.dialect.values import stored_json as stored_json
