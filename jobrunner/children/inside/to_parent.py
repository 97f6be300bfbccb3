"""How a child sends: at once, so that nothing is lost with it, and it rings when the parent is to read.

To wake the parent takes longer than to send. So for several messages the child rings once.
"""

from __future__ import annotations

import select
import socket
import threading

from jobrunner import clock
from jobrunner.children.frames import encode
from jobrunner.children.messages import FromChild, frame_of
from jobrunner.children.tokens import Tokens

RING_SECONDS = 0.005
"""While it has work, a child rings at most this often for reports of success; the parent takes them together."""


class ToParent:
    """The child's way to its parent. ``is_heard``: it has rung since it sent the last message.

    ``rung_at`` is when it has rung last.
    """

    def __init__(self, channel: socket.socket, tokens: Tokens) -> None:
        self._channel = channel
        self._tokens = tokens
        self._has_space = select.poll()
        self._has_space.register(channel, select.POLLOUT)
        # A thread may send what a run keeps, or what it prints.
        self._sending = threading.Lock()
        self.is_heard = True
        self.rung_at = 0.0

    def send(self, message: FromChild) -> None:
        """Send a message. The parent reads it when the child rings next."""
        self.send_encoded(encode(frame_of(message)))

    def send_encoded(self, data: bytes) -> None:
        """Send the frame of a message."""
        with self._sending:
            while data:
                try:
                    data = data[self._channel.send(data, socket.MSG_DONTWAIT) :]
                except BlockingIOError:
                    # The parent reads what is there, and nobody waits long.
                    self.ring()
                    self._has_space.poll()
            self.is_heard = False

    def ring(self, *, rests: bool = False) -> None:
        """Let the parent read what was sent. ``rests``: there is nothing more to do."""
        self._tokens.ring(rests=rests)
        self.is_heard = True
        self.rung_at = clock.elapsed()
