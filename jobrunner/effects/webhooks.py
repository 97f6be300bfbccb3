"""An effect on another server: an HTTP request that it can recognize by its key."""

from __future__ import annotations

import base64
import json
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from jobrunner.durations import Duration, parse_duration
from jobrunner.errors import UsageError
from jobrunner.jobs.effect import NotApplied

_MAY_BE_APPLIED = (408, 409)
"""Of the 4xx: a timeout, and "a request with this key is in progress"."""
_MOST_BYTES = 64 * 1024


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Follow none: whether a server that redirects has acted before, nobody knows."""


def post_webhook(
    url: str,
    body: Any,
    *,
    key: str,
    headers: Mapping[str, str] | None = None,
    timeout: Duration = "10s",
) -> dict[str, Any]:
    """POST ``body`` as JSON with the header ``Idempotency-Key``: ``ctx.once(key, post_webhook, url, body, key=key)``.

    The server must answer each wait within ``timeout``. A status 2xx means applied; its status and text are returned.
    Any other 4xx than 408 and 409 means that the server has refused it, as does a connection that was not made: raises
    NotApplied. Everything else (no answer, 3xx, 5xx) is uncertain, and raises the error of urllib. Bytes are sent as
    they are.
    """
    if urlsplit(url).scheme not in ("http", "https"):
        raise UsageError("a webhook needs a URL that begins with http:// or https://")
    data = body if isinstance(body, bytes) else json.dumps(body, allow_nan=False).encode()
    url, login = without_login(url)
    # A header holds ASCII only.
    sent = {
        "Content-Type": "application/json",
        **login,
        **(headers or {}),
        "Idempotency-Key": quote(key, safe=" :/?#[]@!$&'()*+,;="),
    }
    request = urllib.request.Request(url, data, sent, method="POST")  # noqa: S310 - the scheme is checked above
    try:
        with opener().open(request, timeout=parse_duration(timeout).total_seconds()) as response:
            text = response.read(_MOST_BYTES).decode("utf-8", "replace").replace("\0", "\ufffd")
            return {"status": response.status, "body": text}
    except urllib.error.HTTPError as error:
        with error:
            if 400 <= error.code < 500 and error.code not in _MAY_BE_APPLIED:
                raise NotApplied(f"the server refused it with {error.code} {error.reason}") from error
            raise
    except urllib.error.URLError as error:
        if was_not_connected(error):
            raise NotApplied(f"no connection was made: {error.reason}") from error
        raise


def without_login(url: str) -> tuple[str, dict[str, str]]:
    """The URL without ``user:password@``, which urllib would take for the host, and the header that says the same."""
    parts = urlsplit(url)
    login, at, host = parts.netloc.rpartition("@")
    if not at:
        return url, {}
    user, _, password = login.partition(":")
    told = base64.b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode()
    return urlunsplit(parts._replace(netloc=host)), {"Authorization": f"Basic {told}"}


def was_not_connected(error: urllib.error.URLError) -> bool:
    """Whether no connection was made, so that the server has certainly not got the request."""
    return isinstance(error.reason, ConnectionRefusedError | socket.gaierror | ssl.SSLCertVerificationError)


def opener() -> urllib.request.OpenerDirector:
    """Sends requests, and follows no redirect: a POST would become a GET."""
    return urllib.request.build_opener(_NoRedirects)
