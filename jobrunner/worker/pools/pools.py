"""All pools of one tick, and which of them runs which job type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from jobrunner import clock
from jobrunner.children.supervisor import Supervisor
from jobrunner.errors import UsageError
from jobrunner.model import Policy
from jobrunner.text import nearest
from jobrunner.worker.context import TickContext
from jobrunner.worker.hand import Hand
from jobrunner.worker.pools.commands import CommandPool
from jobrunner.worker.pools.coroutines import CoroutinePool
from jobrunner.worker.pools.handlers import HandlerPool
from jobrunner.worker.pools.pool import Pool
from jobrunner.worker.pools.starts import ChildStarts


class Pools:
    """The three pools. Commands are known at once, handlers after the first handshake.

    ``starts`` starts the children. ``refusal`` is the error if ``--type`` names a type that this host cannot run.
    """

    def __init__(self, context: TickContext, hand: Hand, supervisor: Supervisor) -> None:
        config = context.config
        self._config = config
        self._types = context.types
        self.refusal: UsageError | None = None
        self.starts = ChildStarts(supervisor, config, context.log)
        self._handlers = HandlerPool(context, hand, supervisor, self.starts)
        self._coroutines = CoroutinePool(hand, supervisor, config, self.starts)
        commands = {name: command for name, command in config.commands.items() if self._is_wanted(command.policy)}
        # Commands come first, because their runs need no child.
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
        """Take the handlers of the first handshake. Sets ``refusal`` if a wanted type is not among them."""
        self.starts.are_known = True
        self._check_types(policy.job_type for policy in policies)
        wanted = [policy for policy in policies if self._is_wanted(policy)]
        self._handlers.types.learn([policy for policy in wanted if not policy.is_async])
        self._coroutines.types.learn([policy for policy in wanted if policy.is_async])
        if self._coroutines.types.policies:
            # The async handlers need one child more.
            self.starts.most_children += 1

    def compare(self, policies: Sequence[Policy]) -> list[str]:
        """Compare the handlers of a later handshake; retire and return the types that are missing or different."""
        reported = {policy.job_type: policy for policy in policies}
        retired = []
        for pool in (self._handlers, self._coroutines):
            changed = [name for name, policy in pool.types.policies.items() if reported.get(name) != policy]
            pool.types.retire(changed)
            retired += changed
        return sorted(retired)

    def serving(self, job_type: str) -> Pool:
        """The pool that runs the type. A run of the type must have been claimed."""
        pool = self._serving.get(job_type)
        if pool is None:
            pool = next(pool for pool in self._pools if job_type in pool.types.known)
            self._serving[job_type] = pool
        return pool

    def make_ready(self) -> bool:
        """Whether every pool can begin a run at once, or never will. Starts a child for the first that cannot yet."""
        for pool in self._pools:
            capacity = pool.capacity()
            if not capacity.is_ready:
                if capacity.growth:
                    pool.grow(1)
                return False
        return True

    def ask_soon(self) -> None:
        """Ask the database now: something has changed, so that there may be work again."""
        now = clock.elapsed()
        for pool in self._pools:
            pool.ask_at = min(pool.ask_at, now)

    def ask_in(self, seconds: float) -> None:
        """Do not ask the database for this many seconds."""
        for pool in self._pools:
            pool.ask_at = clock.elapsed() + seconds

    def close(self) -> None:
        """Release the child that is kept although it has no work."""
        self._coroutines.close()

    def _check_types(self, handlers: Iterable[str]) -> None:
        known = {*self._config.commands, *handlers}
        for name in self._types or ():
            if name not in known:
                near = nearest(name, known)
                meant = "" if near is None else f"; did you mean {near!r}?"
                self.refusal = UsageError(f"--type: this host has no handler for {name!r}{meant}")

    def _is_wanted(self, policy: Policy) -> bool:
        # Who names the type of today means its runs of former names, too.
        return self._types is None or not {policy.job_type, policy.family}.isdisjoint(self._types)
