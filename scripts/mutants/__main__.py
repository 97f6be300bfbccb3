"""Change one line of the code at a time and see that a test fails: a test that cannot fail proves nothing.

Usage: python scripts/mutants [NAME...]

Each mutation of the tables in `rows/` is applied to a copy of the package in an environment of its own, which the tests
and all their commands import; the checkout is left alone. It is killed when one of its tests fails. One line for each;
exits with 1 when one survives that has no reason to, or when what it changes is not in the code.
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rows import MUTATIONS
from sandbox import CannotCompile, Sandbox
from table import Mutation


def decision(sandbox: Sandbox, each: Mutation) -> tuple[str, bool]:
    """What to say of it, and whether it is as it should be."""
    if problem := each.problem():
        return problem, False
    try:
        with sandbox.changed(each.file, each.changed()):
            killer = sandbox.first_failure(each.tests)
    except CannotCompile as error:
        return f"its statements cannot be made: {error}", False
    if killer is None:
        return (f"survived: {each.reason}", True) if each.reason else ("SURVIVED", False)
    said = f"killed by {killer.rpartition('::')[2]}"
    return (f"{said}, although it is said why none does", False) if each.reason else (said, True)


def main(names: Sequence[str]) -> int:
    """The exit code."""
    unknown = set(names) - {each.name for each in MUTATIONS}
    if unknown:
        sys.exit(f"no mutation is named {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        sandbox = Sandbox(Path(folder))
        chosen = [each for each in MUTATIONS if not names or each.name in names]
        if broken := sandbox.first_failure(sorted({test for each in chosen for test in each.tests})):
            sys.exit(f"{broken} fails without any change")
        is_good = True
        for each in chosen:
            said, is_right = decision(sandbox, each)
            is_good = is_good and is_right
            print(f"{each.name}: {said}", flush=True)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
