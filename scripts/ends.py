"""What scripts that run tests in several environments say at their end. Only the standard library may be imported."""

import sys
from collections.abc import Sequence
from typing import NoReturn


def report(ends: Sequence[tuple[str, str]]) -> NoReturn:
    """Print how the tests of each environment ended, and exit with 1 unless all have passed."""
    print()
    for label, end in ends:
        print(f"{end}: {label}")
    sys.exit(any(end != "passed" for _, end in ends))
