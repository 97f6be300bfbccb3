"""The measures, in the order of the table. The docstring of each says exactly what is timed."""

from measures import (
    baselines,
    claim,
    crash,
    crowd,
    drain,
    enqueue,
    enqueue_async,
    idle,
    linger,
    many_types,
    operate,
    slow,
    spike,
    two_hosts,
    types,
    viewer,
)

__all__ = [
    "baselines",
    "claim",
    "crash",
    "crowd",
    "drain",
    "enqueue",
    "enqueue_async",
    "idle",
    "linger",
    "many_types",
    "operate",
    "slow",
    "spike",
    "two_hosts",
    "types",
    "viewer",
]
