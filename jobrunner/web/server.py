"""Serves the page by uvicorn, for ``jobrunner web``."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable

import uvicorn

from jobrunner.web.asgi import serving
from jobrunner.web.messages import Request, Response

_MOST_CONNECTIONS = 100


def serve(respond: Callable[[Request], Response], listening: socket.socket) -> None:
    """Answer requests on this socket until SIGINT or SIGTERM."""
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
    # Ctrl-C is held until the coroutine has begun. Between its making and its begin Python would tell that it was never
    # awaited.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    asyncio.run(_serve(uvicorn.Server(config), listening, before))


async def _serve(server: uvicorn.Server, listening: socket.socket, signals: set[int | signal.Signals]) -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, signals)
    await server.serve(sockets=[listening])
