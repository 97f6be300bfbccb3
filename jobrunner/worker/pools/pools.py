"""All the crews of one tick: who serves which job type, and what is known of them so far."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from jobrunner import clock
from jobrunner.children.supervisor import Supervisor
from jobrunner.errors import UsageError
from jobrunner.log import Log
from jobrunner.model import Policy
from jobrunner.settings.config import Config
from jobrunner.worker.pools.coroutines import AsyncCrew
from jobrunner.worker.pools.handlers import HandlerCrew
from jobrunner.worker.pools.pool import CommandCrew, Crew


class Staff:
    """``types`` None: everything that this host can run. Commands are known at once, handlers by the first greeting."""

    def __init__(self, config: Config, supervisor: Supervisor, log: Log, types: Collection[str] | None) -> None:
        self._config = config
        self._types = types
        self.handlers = HandlerCrew(config, supervisor, log)
        self._async_handlers = AsyncCrew(config, supervisor, self.handlers)
        commands = {name: command for name, command in config.commands.items() if self._is_wanted(name)}
        # Those that wait for nobody first.
        self._crews: tuple[Crew, ...] = (
            CommandCrew(config, supervisor, commands),
            self._async_handlers,
            self.handlers,
        )
        self._serving: dict[str, Crew] = {}
        self.refusal: UsageError | None = None
        if not config.imports:
            self._check_types(())

    def __iter__(self) -> Iterator[Crew]:
        return iter(self._crews)

    def learn(self, policies: Sequence[Policy]) -> None:
        """The first child has told what handlers there are. A wanted type that there is not becomes ``refusal``."""
        self._check_types(policy.job_type for policy in policies)
        wanted = [policy for policy in policies if self._is_wanted(policy.job_type)]
        self.handlers.learn([policy for policy in wanted if not policy.is_async])
        self._async_handlers.learn([policy for policy in wanted if policy.is_async])

    def compare(self, policies: Sequence[Policy]) -> list[str]:
        """A later child has greeted. Types that it knows otherwise, or not at all, are retired: its code is another."""
        told = {policy.job_type: policy for policy in policies}
        retired = []
        for crew in (self.handlers, self._async_handlers):
            changed = [name for name, policy in crew.policies.items() if told.get(name) != policy]
            crew.retire(changed)
            retired += changed
        return sorted(retired)

    def crew_of(self, job_type: str) -> Crew:
        """Who serves the type. It must be one that was claimed."""
        crew = self._serving.get(job_type)
        if crew is None:
            crew = next(crew for crew in self._crews if job_type in crew.known)
            self._serving[job_type] = crew
        return crew

    def is_settled(self) -> bool:
        """Whether there is nobody left to wait for before a run is begun; else somebody is called, if need be."""
        for crew in self._crews:
            if not crew.is_settled():
                if crew.growth():
                    crew.grow(1)
                return False
        return True

    def may_begin_more(self) -> bool:
        """Whether any crew could begin a run, now or as soon as a child of its is ready, and it is time to ask."""
        return any(crew.is_usable() and crew.look_at <= clock.elapsed() for crew in self._crews)

    def is_usable(self) -> bool:
        """Whether any crew may still begin a run in this tick."""
        return any(crew.is_usable() for crew in self._crews)

    def next_looks(self) -> list[float]:
        """When each crew that could begin a run at once is to be asked for."""
        return [crew.look_at for crew in self._crews if crew.policies and crew.room().any]

    def busy(self) -> int:
        """How many of the host's places this tick uses."""
        return sum(crew.busy() for crew in self._crews)

    def has_waiting(self) -> bool:
        """Whether there are runs that are with no process."""
        return any(crew.has_waiting() for crew in self._crews)

    def gathering_seconds(self) -> float:
        """For how long reports may pile up without anybody being idle."""
        return max(crew.gathering_seconds() for crew in self._crews)

    def look_soon(self) -> None:
        """Something has changed: there may be work again."""
        now = clock.elapsed()
        for crew in self._crews:
            crew.look_at = min(crew.look_at, now)

    def look_again_in(self, seconds: float) -> None:
        """Nobody is to be asked for before."""
        for crew in self._crews:
            crew.look_again_in(seconds)

    def close(self) -> None:
        """Let go whoever is kept without work."""
        self._async_handlers.close()

    def _check_types(self, handlers: Iterable[str]) -> None:
        known = {*self._config.commands, *handlers}
        for name in self._types or ():
            if name not in known:
                self.refusal = UsageError(f"--types: this host has no handler for {name!r}")

    def _is_wanted(self, job_type: str) -> bool:
        return self._types is None or job_type in self._types
