"""Groups: a run that begins when several others have ended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ParamSpec

from jobrunner.application.with_options import JobWithOptions
from jobrunner.jobs.parents import After, parent_ids
from jobrunner.model import OnParentFailure

if TYPE_CHECKING:
    from jobrunner.application.job import Job

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Group:
    """Runs that others may wait for. ``group`` makes it."""

    run_ids: tuple[int, ...]

    def then(
        self, handler: Job[P, Any] | JobWithOptions[P], if_parent_fails: OnParentFailure = "cancel"
    ) -> JobWithOptions[P]:
        """The handler, whose run waits until all runs of the group have ended: enqueue it in the same transaction.

        ``if_parent_fails`` says what happens if one of them ends dead or cancelled: "cancel" that run, or "run" it.
        """
        given = handler if isinstance(handler, JobWithOptions) else handler.using()
        return given._replace(options={**given.options, "after": self.run_ids, "if_parent_fails": if_parent_fails})


def group(*runs: After) -> Group:
    """A group of runs: ``group(a, b).then(publish).enqueue(connection, album=7)``.

    Each is an id, or what an enqueue has returned; a list of them counts as its runs. Raises UsageError.
    """
    flat = [one for each in runs for one in (each if isinstance(each, Iterable) else (each,))]
    return Group(parent_ids(flat))
