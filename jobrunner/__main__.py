"""``python -m jobrunner``."""

from jobrunner.cli import main

main()
