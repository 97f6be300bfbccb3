"""What became of the mutants of a sample that no test had killed: a test was written, or nothing can tell them."""

WRITTEN: dict[str, str] = {}
"""By `file:function: operator`, the test that was written for it."""

REASONS: dict[str, str] = {}
"""By the same, why no test can fail."""
