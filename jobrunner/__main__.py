"""``python -m jobrunner``."""

import sys

if not sys.flags.safe_path:
    # Python puts the current folder first. It could hold a click.py, which would be imported instead of the real one.
    del sys.path[0]

from jobrunner.cli import main

main()
