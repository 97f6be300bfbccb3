"""Connections of ``jobrunner web``: one that sends nothing, or reads nothing, is ended, and makes room for others."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar, NamedTuple

from uvicorn.protocols.http.h11_impl import H11Protocol


class Limits(NamedTuple):
    """Seconds: for a request to arrive with its body, for its answer to be made, and for the answer to be read.

    ``most`` connections are open at once. When there is no more room, the one that has sent no request for the longest
    time is ended.
    """

    arrive: float = 20.0
    answer: float = 60.0
    read: float = 30.0
    most: int = 100


_SPARE = 5
"""So many places stay free for new connections: uvicorn refuses requests when all are taken."""


class Limited(H11Protocol):
    """One connection with limits, which uvicorn does not have itself.

    ``since`` is when it began to wait for a request, or for its reader. None: its answer is being made.
    """

    limits: ClassVar[Limits]
    since: float | None = None
    _phase = ""
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See asyncio.Protocol."""
        super().connection_made(transport)
        self._begin("arrive")
        if len(self.connections) > self.limits.most - _SPARE:
            _make_room(self.connections)

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self._begin("")
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        super().data_received(data)
        if self.transport.is_closing():
            self._begin("read")
        else:
            self._begin("arrive" if self._is_arriving() else "answer")

    def on_response_complete(self) -> None:
        """See H11Protocol. The next request may be there already; if not, the answer waits for its reader."""
        super().on_response_complete()
        if self.cycle.response_complete:
            self._begin("read")
        else:
            self._begin("arrive" if self._is_arriving() else "answer")

    def end(self) -> None:
        """End the connection, without waiting for the other side."""
        self.transport.abort()

    def _is_arriving(self) -> bool:
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def _begin(self, phase: str) -> None:
        # A limit does not begin anew with each byte.
        if phase == self._phase:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._phase = phase
        self._timer = self.loop.call_later(getattr(self.limits, phase), self.end) if phase else None
        self.since = self.loop.time() if phase in ("arrive", "read") else None


def limited(limits: Limits) -> type[H11Protocol]:
    """The protocol with these limits."""
    return type("Limited", (Limited,), {"limits": limits})


def _make_room(connections: set[Any]) -> None:
    waiting = [each for each in connections if each.since is not None]
    oldest = min(waiting, key=lambda each: each.since, default=None)
    if oldest is not None:
        # Its end is told in the next turn of the loop, and the place is needed now.
        connections.discard(oldest)
        oldest.end()
