"""Finding out what this host's handlers are: a child is started, says it in its handshake, and is ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from jobrunner.children.events import Ready, StartFailed
from jobrunner.children.process_groups import GroupFile
from jobrunner.children.python_child import ChildPlan
from jobrunner.children.supervisor import Supervisor

_LOOK_SECONDS = 0.05


@contextmanager
def discovering(
    plan: ChildPlan, groups: GroupFile, start_limit_seconds: float
) -> Iterator[Callable[[], Ready | StartFailed]]:
    """Start one child to get its handshake, and end it at the end. What is given waits for the handshake.

    So the caller can do something else while the child starts. Raises OSError if no child can be started.
    """
    supervisor = Supervisor(plan, groups, start_limit_seconds)

    def handshake() -> Ready | StartFailed:
        while True:
            # Only a tick gets a signal when a child ends, so look often.
            for event in supervisor.poll(_LOOK_SECONDS):
                if isinstance(event, Ready | StartFailed):
                    return event

    try:
        supervisor.spawn()
        yield handshake
    finally:
        supervisor.close()
