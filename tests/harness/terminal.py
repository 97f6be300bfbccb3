"""Runs a command on a terminal and returns what a person sees."""

import os


def read_terminal(ours: int) -> str:
    """All that is shown on a terminal, whose our end this is, until nobody has the other end; then ours is closed."""
    seen = b""
    while True:
        try:
            data = os.read(ours, 4096)
        except OSError:  # the last one at the other end is gone
            data = b""
        if not data:
            break
        seen += data
    os.close(ours)
    return seen.decode()
