"""What a child of a test's tick imports first: from then on it opens the databases of the test only."""

from jobrunner.store.drivers import only_these
from jobrunner.testing.tested import note_refusal, told

_told = told()
if _told is not None:
    only_these.allow_only(_told["urls"], note_refusal, real=_told["real"])
