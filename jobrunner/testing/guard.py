"""What a child of a test's tick imports first: from then on it opens the databases of the test only."""

from jobrunner.store.drivers import allowed_databases
from jobrunner.testing.own_databases import note_refusal, told

_told = told()
if _told is not None:
    allowed_databases.allow_only(_told["urls"], note_refusal, real=_told["real"])
