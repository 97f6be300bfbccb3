"""Garbage collection, which is off while a command is imported."""

from __future__ import annotations

import gc

_MORE_OBJECTS = 20_000
"""It looks when there are so many more. By default, 700, it looks at each run of a tick again and again, and finds
nothing, which takes a twentieth of its processor time."""


def collect() -> None:
    """Start it. For each command that does not end soon."""
    # The imported objects stay, so they need not be looked at again.
    gc.freeze()
    gc.set_threshold(_MORE_OBJECTS)
    gc.enable()
