"""``python -m jobrunner``."""

import sys

if not sys.flags.safe_path:
    # Python puts the current folder first: a stray click.py in it would be run in the real one's place.
    del sys.path[0]

from jobrunner.cli import main

main()
