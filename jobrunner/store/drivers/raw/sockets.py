"""Ends a wait on a connection to a server, from another thread."""

from __future__ import annotations

import os
from _thread import allocate_lock
from contextlib import suppress


class HeldSocket:
    """The socket of a connection, under a descriptor of its own.

    The connection closes its own descriptor whenever it breaks, and the next file that is opened gets that number.
    Whoever used it then would shut down the connection of somebody else.
    """

    def __init__(self, descriptor: int) -> None:
        self._lock = allocate_lock()
        self._descriptor: int | None = None
        self._descriptor = os.dup(descriptor)

    def shut_down(self) -> None:
        """Shut down the socket, which ends every wait on it. Any thread may call this. It never fails.

        A COMMIT to a stopped server ignores every timeout that could be set before.
        """
        import socket

        with self._lock:
            if self._descriptor is None:
                return
            # It fails if the server has ended the connection.
            with socket.socket(fileno=os.dup(self._descriptor)) as connected, suppress(OSError):
                connected.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the descriptor. The connection has closed its own, or goes on."""
        with self._lock:
            descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def __del__(self) -> None:
        # A connection that nobody has closed, and that is gone, must not keep a descriptor.
        self.close()
