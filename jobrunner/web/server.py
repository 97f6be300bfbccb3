"""Serves the page by uvicorn, for ``jobrunner web``."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Callable
from typing import Any

import uvicorn

from jobrunner.web.asgi import serving
from jobrunner.web.messages import Request, Response

_MOST_CONNECTIONS = 100


def serve(respond: Callable[[Request], Response], listening: socket.socket) -> None:
    """Answer requests on this socket until SIGINT or SIGTERM. Raises KeyboardInterrupt after the first."""
    config = uvicorn.Config(
        serving(respond),
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        # No line for each request, in which the token stands. Our own errors go to the log of jobrunner.web.
        access_log=False,
        log_config=None,
        server_header=False,
        # What a proxy says is judged in one place, ``peers``, which needs the address of the connection itself.
        proxy_headers=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=5,
    )
    server, interrupted = uvicorn.Server(config), threading.Event()

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
