"""`python bench`: see README.md beside this file."""

import sys
from pathlib import Path

# The server and the rows are prepared with what the tests use for it.
sys.path.insert(1, str(Path(__file__).parents[1] / "tests"))

from program import main

if __name__ == "__main__":
    sys.exit(main())
