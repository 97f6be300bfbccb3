"""Where a request comes from, and how often somebody there has given a wrong password."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from ipaddress import IPv4Address, IPv6Address, ip_address

from jobrunner.web.messages import Request

Address = IPv4Address | IPv6Address
_FREE_TRIES = 3
_LONGEST_WAIT_SECONDS = 60.0
_FORGOTTEN_AFTER_SECONDS = 15 * 60.0
_MOST_ADDRESSES = 1000


def address(text: str) -> Address | None:
    """The address that a text is. None: it is none."""
    try:
        found = ip_address(text.strip())
    except ValueError:
        return None
    return (found.ipv4_mapped if isinstance(found, IPv6Address) else None) or found


def scheme_of(request: Request, proxies: Collection[Address]) -> str:
    """How the browser came. A named proxy may say so, and without names one on this host."""
    peer = address(request.peer)
    is_believed = peer is not None and (peer in proxies if proxies else peer.is_loopback)
    told = request.headers.get("x-forwarded-proto", "").strip()
    return told if is_believed and told in ("http", "https") else request.scheme


def origin_of(request: Request, proxies: Collection[Address]) -> str:
    """The place whose wrong tries count together: an address, or the network of an IPv6 address.

    Only a named proxy may say whom it asks for, with the last address of X-Forwarded-For: it has added that one itself.
    """
    found = address(request.peer)
    if found in proxies:
        found = address(request.headers.get("x-forwarded-for", "").rpartition(",")[2]) or found
    if isinstance(found, IPv6Address):
        # One person has all addresses of a /64.
        return found.exploded[:19]
    return str(found or "")


class WrongTries:
    """Lets a place wait longer after each wrong try, at most a minute. Other places do not wait."""

    def __init__(self, elapsed: Callable[[], float]) -> None:
        self._elapsed = elapsed
        self._lock = threading.Lock()
        # How many tries, and when the last one was. The place that was heard of last stands last.
        self._found: dict[str, tuple[int, float]] = {}

    def begin(self, origin: str) -> float:
        """The seconds that are left to wait. 0: the try may be made, and is a wrong one until ``take_back``."""
        now = self._elapsed()
        with self._lock:
            count, at = self._found.get(origin, (0, now))
            if now - at > _FORGOTTEN_AFTER_SECONDS:
                count = 0
            if (left := at + _wait_after(count) - now) > 0:
                return left
            self._found.pop(origin, None)
            while len(self._found) >= _MOST_ADDRESSES:
                del self._found[next(iter(self._found))]
            self._found[origin] = count + 1, now
            return 0.0

    def take_back(self, origin: str) -> None:
        """The last try was right. The ones before stay: who has a password must not try those of others."""
        with self._lock:
            if origin in self._found:
                count, at = self._found[origin]
                self._found[origin] = max(0, count - 1), at


def _wait_after(count: int) -> float:
    return 0.0 if count < _FREE_TRIES else min(_LONGEST_WAIT_SECONDS, 2.0 ** (count - _FREE_TRIES + 1))
