"""The ledger: what virtual handlers did, noted as they do it. It is a witness beside the database, and asks none.

Its rules are those of docs/explanation/reliability.md for what happens outside of the database. A work may be excused,
such as one of a suspended host: then another one may run beside it, unless there is one host only, whose
next tick kills it first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from jobrunner.children.messages import Report, StartRun
from jobrunner.model import Lease

if TYPE_CHECKING:
    from simulator.children import VirtualChild


class Violated(AssertionError):
    """A promise does not hold."""


class Work:
    """One call of a virtual handler. ``excused``: why it may go on beside the next one, such as a suspended host.

    ``ended_at`` None: it is at work.
    """

    def __init__(self, child: VirtualChild, start: StartRun, began_at: float) -> None:
        self.child = child
        self.run_id = start.run_id
        self.lease = Lease(start.run_id, start.token)
        self.job_type = start.job_type
        self.key = start.payload.get("k")
        self.began_at = began_at
        self.ended_at: float | None = None
        self.host = child.parent.host
        self.excused: str | None = None

    def __str__(self) -> str:
        return f"run {self.run_id} in {self.child.process} since {self.began_at:.3f}"


class Ledger:
    """All works, and the calls of effects."""

    def __init__(self) -> None:
        self.now = 0.0
        self.has_one_host = False
        self.at_work: list[Work] = []
        self.begun: Counter[int] = Counter()
        self.works: dict[Lease, Work] = {}
        self.reported: dict[Lease, str] = {}
        # The attempts that have begun to commit a transaction of their own.
        self.own: set[Lease] = set()
        # What each attempt has kept for the next one: how many handlers of its run had begun. What the last one saw.
        self.kept: dict[Lease, int] = {}
        self.seen: Counter[int] = Counter()
        self.calls: Counter[str] = Counter()
        # Called with each work that has ended.
        self.on_end: Callable[[Work], None] = lambda _: None

    def begins(self, child: VirtualChild, start: StartRun) -> Work:
        """A handler begins. Raises Violated if it must not begin beside those that are at work."""
        work = Work(child, start, self.now)
        self.begun[start.run_id] += 1
        if work.lease in self.works:
            raise Violated(f"an attempt has begun twice: {work}")
        self.works[work.lease] = work
        for other in self.at_work:
            if other.run_id == work.run_id and (other.excused is None or self.has_one_host):
                why = "" if other.excused is None else f", though {other.excused}"
                raise Violated(f"two handlers of a run at once: {work}, beside {other}{why}")
        self._goes_on(work, start)
        self._check_limits(work, [*(each for each in self.at_work if each.excused is None), work])
        self.at_work.append(work)
        return work

    def _goes_on(self, work: Work, start: StartRun) -> None:
        seen = 0 if start.checkpoint is None else start.checkpoint["value"]
        if seen < self.seen[work.run_id]:
            raise Violated(f"a checkpoint of an older attempt took the place of a newer one: {seen} in {work}")
        self.seen[work.run_id] = seen

    def keeps(self, work: Work) -> int:
        """A handler keeps a checkpoint, whose value is returned."""
        self.kept[work.lease] = self.begun[work.run_id]
        return self.kept[work.lease]

    def _check_limits(self, work: Work, all_of_them: list[Work]) -> None:
        of_host = [each for each in all_of_them if each.host is work.host]
        if len(of_host) > work.host.config.concurrency:
            raise Violated(f"more on a host than its concurrency: {', '.join(map(str, of_host))}")
        most = {"keyed": 1, "limited": 1}.get(work.job_type)
        of_type = [each for each in all_of_them if each.job_type == work.job_type]
        if most is not None and len(of_type) > most:
            raise Violated(f"more than the limit of {work.job_type}: {', '.join(map(str, of_type))}")

    def ends(self, work: Work) -> None:
        """A handler has ended."""
        if work in self.at_work:
            self.at_work.remove(work)
            work.ended_at = self.now
            self.on_end(work)

    def reports(self, start: StartRun, report: Report) -> None:
        """A child says how a handler has ended."""
        self.reported[Lease(start.run_id, start.token)] = report.outcome

    def child_died(self, child: VirtualChild) -> None:
        """All that the child did is over."""
        for work in [work for work in self.at_work if work.child is child]:
            self.ends(work)

    def excuse(self, reason: str, *children: VirtualChild) -> None:
        """What these children do may go on beside the next attempt."""
        for work in self.at_work:
            if work.child in children:
                work.excused = reason

    def called(self, key: str) -> None:
        """Another system was called. Raises Violated if it was called for this key before."""
        self.calls[key] += 1
        if self.calls[key] > 1:
            raise Violated(f"the {key} was called {self.calls[key]} times")
