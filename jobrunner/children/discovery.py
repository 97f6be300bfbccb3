"""Finding out what this host's handlers are: a child is started, says it in its handshake, and is ended."""

from __future__ import annotations

from jobrunner.children.events import Ready, StartFailed
from jobrunner.children.process_groups import GroupFile
from jobrunner.children.python_child import ChildPlan
from jobrunner.children.supervisor import Supervisor

_LOOK_SECONDS = 0.05


def discover(plan: ChildPlan, groups: GroupFile, start_limit_seconds: float) -> Ready | StartFailed:
    """Start one child to get its handshake, and end it before this returns."""
    supervisor = Supervisor(plan, groups, start_limit_seconds)
    try:
        supervisor.spawn()
        while True:
            # Only a tick gets a signal when a child ends, so look often.
            for event in supervisor.poll(_LOOK_SECONDS):
                if isinstance(event, Ready | StartFailed):
                    return event
    finally:
        supervisor.close()
