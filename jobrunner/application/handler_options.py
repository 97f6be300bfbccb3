"""The options of ``@job``: those of a policy, and those that stay with the handler, because no tick needs them."""
# Not "from __future__ import annotations": the annotations are the table.

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from jobrunner.errors import WrongOption
from jobrunner.jobs.job_options import OF_POLICY, PolicyOptions
from jobrunner.jobs.options import Row, rows_of
from jobrunner.text import shown

if TYPE_CHECKING:
    from jobrunner.schedules.declare import Schedules


class Exceptions:
    """An exception class, or a list or tuple of such, which may hold further tuples."""

    def check(self, name: str, value: object) -> tuple[type[BaseException], ...]:
        """The classes."""
        found: list[type[BaseException]] = []
        for each in value if isinstance(value, list | tuple) else (value,):
            if isinstance(each, tuple):
                found += self.check(name, each)
            elif isinstance(each, type) and issubclass(each, BaseException):
                found.append(each)
            else:
                raise WrongOption(name, f"must be an exception class, or a list or tuple of such, not {shown(each)}")
        return tuple(found)


class When:
    """Schedules. They are checked with the arguments of the handler."""

    def check(self, name: str, value: Any) -> Any:
        """The same."""
        return value


class Zone:
    """The name of a time zone. It is looked up with the schedule."""

    def check(self, name: str, value: object) -> str:
        """The name."""
        if not isinstance(value, str):
            raise WrongOption(name, f"must be the name of a time zone, such as Europe/Berlin, not {shown(value)}")
        return value


class JobOptions(PolicyOptions, total=False):
    """The options of ``@job``."""

    retry_on: Annotated[
        type[BaseException] | Sequence[type[BaseException]] | None,
        Row(
            Exceptions(),
            "Only these exceptions are tried again; any other makes the run dead. A class, or a list or tuple of"
            " classes",
            absent="all exceptions",
        ),
    ]
    discard_on: Annotated[
        type[BaseException] | Sequence[type[BaseException]] | None,
        Row(Exceptions(), "These exceptions make the run dead at once. A class, or a list or tuple of classes"),
    ]
    schedule: Annotated[
        "Schedules | None",
        Row(
            When(),
            "When it runs: an expression, a `Schedule`, or a list of them"
            " ([schedules](schedules.md#schedules-in-code-and-in-a-file))",
        ),
    ]
    timezone: Annotated[str | None, Row(Zone(), "The time zone of an expression", absent="UTC")]


OF_HANDLER = {name: row for name, row in rows_of(JobOptions).items() if name not in OF_POLICY}
OF_JOB = {**OF_POLICY, **OF_HANDLER}
"""By name, in the order in which they are documented."""
