"""Serves the dashboard by uvicorn, for ``jobrunner web``."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

import uvicorn

from jobrunner.web.asgi import serving
from jobrunner.web.connections import Limits, limited
from jobrunner.web.messages import Request, Response

_DATE_SECONDS = 1.0
"""The header Date, which has whole seconds, is made anew this often."""


class Server(uvicorn.Server):
    """Waits to be ended, where uvicorn's own looks for that ten times a second: most pages are looked at by nobody.

    That takes 95 ms of a processor in each minute, more than two idle ticks; this takes 19.
    """

    _end: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    async def main_loop(self) -> None:
        """See uvicorn.Server."""
        is_ended = asyncio.Event()
        self._end = asyncio.get_running_loop(), is_ended
        while not await self.on_tick(0):
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(is_ended.wait(), _DATE_SECONDS)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """See uvicorn.Server."""
        super().handle_exit(sig, frame)
        if self._end is not None:
            loop, is_ended = self._end
            loop.call_soon_threadsafe(is_ended.set)


def server_of(respond: Callable[[Request], Response], limits: Limits) -> Server:
    """What answers requests, within these limits."""
    config = uvicorn.Config(
        serving(respond),
        loop="asyncio",
        http=limited(limits),
        ws="none",
        lifespan="off",
        # No line for each request, in which the token stands. Our own errors go to the log of jobrunner.web.
        access_log=False,
        log_config=None,
        server_header=False,
        # What a proxy says is judged in one place, ``addresses``, which needs the address of the connection itself.
        proxy_headers=False,
        limit_concurrency=limits.most,
        timeout_graceful_shutdown=5,
    )
    return Server(config)


def serve(respond: Callable[[Request], Response], listening: socket.socket) -> None:
    """Answer requests on this socket until SIGINT or SIGTERM. Raises KeyboardInterrupt after the first."""
    server, interrupted = server_of(respond, Limits()), threading.Event()
    # What is imported stays. Each full collection would look through all of it, every few requests for longer than most
    # pages take.
    gc.freeze()

    def interrupt(*_: Any) -> None:
        interrupted.set()
        server.should_exit = True

    # Ctrl-C must raise nothing while the loop and its coroutine are made: Python would tell of them on stderr. To mask
    # the signal is not enough, because any thread may take it. The server has its own handler meanwhile.
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        asyncio.run(server.serve(sockets=[listening]))
    finally:
        signal.signal(signal.SIGINT, before)
    if interrupted.is_set():
        raise KeyboardInterrupt
