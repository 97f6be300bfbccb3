"""The processes of one tick, and what identifies them: its mark and its owner. The first child may start very early."""

from __future__ import annotations

import os
from contextlib import ExitStack

from jobrunner import names
from jobrunner.children.begun_page import BegunPage
from jobrunner.children.proc import boot_id
from jobrunner.children.process_groups import GroupFile
from jobrunner.children.python_child import ChildPlan
from jobrunner.children.supervisor import Supervisor
from jobrunner.errors import HandlersUnavailable
from jobrunner.model import Owner
from jobrunner.settings import state_folder
from jobrunner.settings.config import Config, url_of
from jobrunner.worker.stop_signals import StopRequest


class TickProcesses:
    """Opened once, and closed by the tick, or by the command if no tick takes it."""

    def __init__(self, config: Config) -> None:
        self.mark = os.urandom(4).hex()
        self.owner = Owner(config.host, names.worker(config.host, self.mark))
        self.is_noted = True
        self.stop = StopRequest()
        self._signals = ExitStack()
        self._config = config
        self._groups: GroupFile | None = None
        self._supervisor: Supervisor | None = None

    def open(self) -> Supervisor:
        """The supervisor. ``is_noted`` is false if the next tick would not find what a killed tick leaves.

        Raises HandlersUnavailable.
        """
        if self._supervisor is not None:
            return self._supervisor
        config = self._config
        groups = GroupFile(state_folder.for_state(config.state_dir), self.owner, self.mark)
        page = BegunPage(groups.folder, self.mark, boot_id(), self.owner)
        plan = ChildPlan(
            config.imports,
            config.app_dir,
            self.mark,
            page,
            tuple(config.commands),
            result_limit=config.payload_limit,
            database_url=url_of(config),
            schema=config.schema,
            lease_seconds=config.lease.total_seconds(),
            state_folder=None if groups.folder is None else str(groups.folder),
        )
        try:
            self._supervisor = Supervisor(plan, groups, config.start_limit.total_seconds())
        except OSError as error:
            raise HandlersUnavailable(f"no child process can be started: {error.strerror}") from None
        self._groups, self.is_noted = groups, groups.is_usable
        return self._supervisor

    def start_first(self) -> None:
        """Start a child, which needs no database. What fails here is tried again by the tick, which reports it."""
        if self._config.imports:
            # Otherwise a stop signal would end this process and leave the child.
            self._signals.enter_context(self.stop.noting())
            try:
                self.open().spawn()
            except Exception:  # noqa: BLE001 - the tick meets the same error
                self.close()

    def end(self) -> None:
        """End all processes and remove what was noted of them. Stop signals are noted further: the tick has a row."""
        supervisor, self._supervisor = self._supervisor, None
        if supervisor is not None and self._groups is not None:
            supervisor.close()
            self._groups.close()
            supervisor.page.close()

    def close(self) -> None:
        """End all processes. From then on a stop signal ends this process at once."""
        self.end()
        self._signals.close()
