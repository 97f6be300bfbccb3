"""How many rows one write takes on: more while that is quick, half as many where it was slow or was cut. Pure."""

from __future__ import annotations

_QUICK_SECONDS = 0.25
"""Whoever else writes waits for the transaction, on SQLite all of them."""


class Portion:
    """``size`` is how many to take next, between one and ``most``."""

    def __init__(self, first: int, most: int) -> None:
        self.size = first
        self._most = most

    def took(self, seconds: float) -> None:
        """A write of so many, or the most of what there was, took so long."""
        self.size = min(self._most, self.size * 2) if seconds <= _QUICK_SECONDS else max(1, self.size // 2)

    def was_cut(self) -> bool:
        """A write of so many was too slow to be let end. False: it was one row, and cannot be less."""
        if self.size == 1:
            return False
        self.size //= 2
        return True
