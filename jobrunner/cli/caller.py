"""Who calls a command: a user at a command line, or something in this process that wants its answer as a record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobrunner.store.drivers.database import Database
    from jobrunner.store.drivers.location import Location
    from jobrunner.store.drivers.waits import Waits

_CALLER = f"{__name__}.caller"


@dataclass
class Caller:
    """What calls commands in place of a user. A command gives it ``answer``, and prints no JSON.

    ``name`` stands beside the user in the audit trail. ``opens`` makes the database of the command. ``counted`` are the
    runs that the command would change, or changes.
    """

    name: str
    opens: Callable[[Location, Waits], Database]
    answer: Any = None
    counted: Any = None

    def calls(self, context: click.Context) -> None:
        """Be the caller of the command of this context."""
        context.meta[_CALLER] = self


def caller() -> Caller | None:
    """The caller of the command that runs in this thread. None: a user at a command line."""
    context = click.get_current_context(silent=True)
    found: Caller | None = None if context is None else context.meta.get(_CALLER)
    return found
