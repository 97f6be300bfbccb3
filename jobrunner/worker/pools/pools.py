"""All the pools of one tick: who serves which job type, and what is known of them so far."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from jobrunner import clock
from jobrunner.children.supervisor import Supervisor
from jobrunner.errors import UsageError
from jobrunner.model import Policy
from jobrunner.worker.context import TickContext
from jobrunner.worker.hand import Hand
from jobrunner.worker.pools.commands import CommandPool
from jobrunner.worker.pools.coroutines import CoroutinePool
from jobrunner.worker.pools.handlers import HandlerPool
from jobrunner.worker.pools.pool import Pool
from jobrunner.worker.pools.starts import ChildStarts


class Pools:
    """Commands are known at once, handlers by the first handshake. ``starts`` are those of the children.

    ``refusal``: a type was asked for that this host cannot run.
    """

    def __init__(self, context: TickContext, hand: Hand, supervisor: Supervisor) -> None:
        config = context.config
        self._config = config
        self._types = context.types
        self.refusal: UsageError | None = None
        self.starts = ChildStarts(supervisor, config, context.log)
        self._handlers = HandlerPool(context, hand, supervisor, self.starts)
        self._coroutines = CoroutinePool(hand, supervisor, config, self.starts)
        commands = {name: command for name, command in config.commands.items() if self._is_wanted(name)}
        # Those whose runs wait for no child first.
        self._pools: tuple[Pool, ...] = (
            CommandPool(hand, supervisor, config, commands),
            self._coroutines,
            self._handlers,
        )
        self._serving: dict[str, Pool] = {}
        if not config.imports:
            self._check_types(())

    def __iter__(self) -> Iterator[Pool]:
        return iter(self._pools)

    def learn(self, policies: Sequence[Policy]) -> None:
        """The first child has told what handlers there are. A wanted type that there is not becomes ``refusal``."""
        self.starts.are_known = True
        self._check_types(policy.job_type for policy in policies)
        wanted = [policy for policy in policies if self._is_wanted(policy.job_type)]
        self._handlers.types.learn([policy for policy in wanted if not policy.is_async])
        self._coroutines.types.learn([policy for policy in wanted if policy.is_async])
        if self._coroutines.types.policies:
            # They keep one child for themselves.
            self.starts.most_children += 1

    def compare(self, policies: Sequence[Policy]) -> list[str]:
        """A later child has told its handlers. Types that it does not know, or knows otherwise, are retired."""
        told = {policy.job_type: policy for policy in policies}
        retired = []
        for pool in (self._handlers, self._coroutines):
            changed = [name for name, policy in pool.types.policies.items() if told.get(name) != policy]
            pool.types.retire(changed)
            retired += changed
        return sorted(retired)

    def serving(self, job_type: str) -> Pool:
        """The pool of the type. It must be one that was claimed."""
        pool = self._serving.get(job_type)
        if pool is None:
            pool = next(pool for pool in self._pools if job_type in pool.types.known)
            self._serving[job_type] = pool
        return pool

    def make_ready(self) -> bool:
        """Whether every pool can begin a run at once, or never will; else see to it that one can soon."""
        for pool in self._pools:
            capacity = pool.capacity()
            if not capacity.is_ready:
                if capacity.growth:
                    pool.grow(1)
                return False
        return True

    def ask_soon(self) -> None:
        """Something has changed: there may be work again."""
        now = clock.elapsed()
        for pool in self._pools:
            pool.ask_at = min(pool.ask_at, now)

    def ask_in(self, seconds: float) -> None:
        """The database is not to be asked before."""
        for pool in self._pools:
            pool.ask_at = clock.elapsed() + seconds

    def close(self) -> None:
        """Let go the children that are kept without work."""
        self._coroutines.close()

    def _check_types(self, handlers: Iterable[str]) -> None:
        known = {*self._config.commands, *handlers}
        for name in self._types or ():
            if name not in known:
                self.refusal = UsageError(f"--types: this host has no handler for {name!r}")

    def _is_wanted(self, job_type: str) -> bool:
        return self._types is None or job_type in self._types
