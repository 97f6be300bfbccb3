"""How large a payload may be. An idle tick reads the setting, and must not import what reads JSON."""

from __future__ import annotations

DEFAULT_LIMIT_BYTES = 256 * 1024
LARGEST_LIMIT_BYTES = 8 * 1024 * 1024
"""The most that the limit can be set to."""
CHECKPOINT_BYTES = 64 * 1024
"""What a run may keep over its attempts: the value of ``ctx.checkpoint`` and the results of its steps together."""
