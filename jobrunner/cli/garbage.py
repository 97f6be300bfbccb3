"""Garbage collection, which is off while a command is imported."""

from __future__ import annotations

import gc


def collect() -> None:
    """Start it. For each command that does not end soon."""
    # The imported objects stay, so they need not be looked at again.
    gc.freeze()
    gc.enable()
