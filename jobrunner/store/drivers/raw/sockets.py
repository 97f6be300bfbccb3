"""Ends a wait on a connection to a server, from another thread."""

from __future__ import annotations

import os


def shut_down(descriptor: int) -> None:
    """Shut down the socket with this descriptor, which ends every wait on it. Raises OSError if it is closed already.

    A COMMIT to a stopped server ignores every timeout that could be set before.
    """
    import socket

    # A duplicate, because the descriptor may be closed and its number used again at this moment.
    with socket.socket(fileno=os.dup(descriptor)) as connected:
        connected.shutdown(socket.SHUT_RDWR)
