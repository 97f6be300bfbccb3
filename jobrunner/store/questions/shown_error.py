"""How a record of a run shows its error."""

from __future__ import annotations

ERROR = property(lambda self: None if self.last_error is None else f"{self.error_type}: {self.last_error}")
"""The column ``error`` of a record with ``error_type`` and ``last_error``."""
