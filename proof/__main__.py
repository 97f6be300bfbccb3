"""`python -m proof`."""

import sys

from proof.program import main

if __name__ == "__main__":
    sys.exit(main())
