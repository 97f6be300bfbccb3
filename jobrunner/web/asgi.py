"""The dashboard as an ASGI application: mounted in FastAPI or Starlette, or served by uvicorn itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from dataclasses import replace
from inspect import isawaitable, iscoroutinefunction
from typing import Any

from jobrunner.web.core import Web
from jobrunner.web.database import database_of
from jobrunner.web.messages import LONGEST_BODY, Request, Response, joined
from jobrunner.web.permissions import Visitor

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
Who = Callable[[Scope], "Visitor | Awaitable[Visitor | None] | None"]


def page(who: Who, *, database_url: str | None = None, redact: Collection[str] = ()) -> Application:
    """The dashboard for ``app.mount("/jobs", page(who))``.

    ``who`` gets the scope of each request, with what the application's own middleware has put there, and says who is
    signed in. None: the request is refused. It may be a coroutine function. ``database_url`` None: the database that
    the environment names. ``redact``: more names in payloads whose values are secrets.
    """
    respond = Web(database_of(database_url), redact).respond

    async def signed_in(scope: Scope) -> Visitor | None:
        found = who(scope) if iscoroutinefunction(who) else await asyncio.to_thread(who, scope)
        return await found if isawaitable(found) else found

    return serving(respond, signed_in)


def serving(
    respond: Callable[[Request], Response], who: Callable[[Scope], Awaitable[Visitor | None]] | None = None
) -> Application:
    """An ASGI application that answers with ``respond``, in a thread, because it waits for the database."""

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        if scope["type"] != "http":
            return
        request = await _read(scope, receive)
        if who is not None:
            request = replace(request, visitor=await who(scope))
        response = await asyncio.to_thread(respond, request)
        headers = [*response.headers, ("Content-Length", str(len(response.body)))]
        encoded = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        await send({"type": "http.response.start", "status": response.status, "headers": encoded})
        await send({"type": "http.response.body", "body": response.body})

    return application


async def _read(scope: Scope, receive: Receive) -> Request:
    body = b""
    while len(body) <= LONGEST_BODY:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    return Request(
        method=scope["method"],
        path=_path(scope),
        query=scope.get("query_string", b"").decode("latin-1"),
        headers=joined((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]),
        body=body,
        scheme=scope.get("scheme", "http"),
        mount=scope.get("root_path", ""),
        peer=(scope.get("client") or ("",))[0],
    )


def _path(scope: Scope) -> str:
    """The path below the mount. A proxy may have taken away the part of ``root_path`` before the application's own."""
    path, mount = str(scope["path"]), str(scope.get("root_path", "")).rstrip("/")
    # Starlette has put its own mount behind what the server, or the application, was told.
    inside = mount.removeprefix(str(scope.get("app_root_path", "")).rstrip("/"))
    for prefix in (mount, inside):
        if prefix and (path == prefix or path.startswith(f"{prefix}/")):
            return path[len(prefix) :]
    return path
