"""The judge of the promises, as tests ask it: what it finds in the history of a database. It changes nothing."""

from contextlib import closing
from datetime import timedelta

from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.location import locate
from jobrunner.verify.known import Kept
from jobrunner.verify.promise import SLACK
from jobrunner.verify.verifier import Scope, Verdict, verify

KEPT = Kept(events=timedelta(days=365), runs=timedelta(days=7))
_PATIENCE = timedelta(seconds=20)


def judged(store: Store, slack: timedelta = SLACK) -> Verdict:
    """What is found out. ``slack`` zero is for a clock that never steps back without a row that shows it."""
    return verify(store, Scope(KEPT, slack=slack))


def breaches(store: Store, slack: timedelta = SLACK) -> list[str]:
    """A sentence for each broken promise; none: all that can be judged holds."""
    return [str(each) for each in judged(store, slack).breaches]


def breaches_at(url: str, schema: str | None = None, slack: timedelta = SLACK) -> list[str]:
    """The same, for whoever has the URL alone."""
    with closing(Store(locate(url, schema), patience=_PATIENCE)) as store:
        return breaches(store, slack)
