"""The parts of a tick without its processes, on a test's database. No thread of theirs is started."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from harness.at_work import LEASE, OWNER
from harness.database import Database
from jobrunner import clock
from jobrunner.children.begun_page import BegunPage
from jobrunner.lifecycle import AttemptResult
from jobrunner.log import Silence
from jobrunner.model import ClaimedRun, Lease, Policy
from jobrunner.settings.config import load
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.location import locate
from jobrunner.store.drivers.waits import Waits, of_tick
from jobrunner.worker.background_calls import BackgroundCalls
from jobrunner.worker.claimer import Claimer
from jobrunner.worker.context import TickContext
from jobrunner.worker.finalizer import Finalizer
from jobrunner.worker.hand import Hand, RunInHand
from jobrunner.worker.heartbeat import Heartbeat
from jobrunner.worker.phase import Phase
from jobrunner.worker.returner import Returner
from jobrunner.worker.watchdog import Watchdog


def context_of(database: Database, store: Store, lease: timedelta = LEASE, **settings: Any) -> TickContext:
    """Of a tick of ``OWNER``; its watchdog is not started."""
    config = load({"JOBRUNNER_DATABASE_URL": database.url, "HOME": "/nowhere", "JOBRUNNER_HOST": OWNER.host})
    config = config._replace(**{"lease": lease, "heartbeat": lease / 4, **settings})
    return TickContext(config, store, Watchdog(Waits.of(of_tick(lease))), Silence(), OWNER)


@dataclass
class TickParts:
    """What a test moves itself."""

    store: Store
    context: TickContext
    hand: Hand
    heartbeat: Heartbeat
    finalizer: Finalizer
    claimer: Claimer
    background: BackgroundCalls[Any]

    def take(self, leases: Iterable[Lease], since: float | None = None) -> list[RunInHand]:
        """Runs that were claimed, by a statement that was sent at ``since``; None: now."""
        sent_at = clock.elapsed() if since is None else since
        at = clock.utc_now()
        runs = [ClaimedRun(lease, "known", {}, 1, 3, None, at, None, at) for lease in leases]
        return self.hand.take(runs, sent_at, sent_at)

    def claim(self, policies: Sequence[Policy], limit: int) -> list[RunInHand]:
        """Runs that the claimer takes."""
        _, runs = self.claimer.take(self.claimer.request(policies, limit))
        return runs

    def work(self, held: RunInHand, kill: Any = lambda: None) -> None:
        """Its handler begins; ``kill`` stands for the end of its process."""
        held.started = SimpleNamespace(process=SimpleNamespace(kill=kill))  # type: ignore[assignment]
        self.hand.move(held, Phase.WORKING)

    def end(self, held: RunInHand, result: AttemptResult) -> None:
        """Its handler ends, and the result is to be written."""
        self.hand.move(held, Phase.ENDED)
        self.finalizer.add(held, result)

    def write(self) -> bool:
        """Write the results that are due; whether none is left."""
        self.finalizer.work()
        return self.finalizer.is_settled()


@contextmanager
def tick_parts(database: Database, lease: timedelta = LEASE, **settings: Any) -> Iterator[TickParts]:
    """Of a tick with this lease and these settings."""
    store = Store(locate(database.url), patience=timedelta(seconds=20))
    context = context_of(database, store, lease, **settings)
    hand = Hand(lease, BegunPage(None))
    heartbeat = Heartbeat(context, hand, lambda: None)
    background: BackgroundCalls[Any] = BackgroundCalls(context, lambda: None)
    finalizer = Finalizer(context, hand, background, lambda left: hand.release(*(held for held, _ in left)), lambda: 0)
    try:
        claimer = Claimer(context, hand, heartbeat, Returner(context, hand), background.another())
        yield TickParts(store, context, hand, heartbeat, finalizer, claimer, background)
    finally:
        finalizer.close()
        heartbeat.close()
        store.close()
