"""A handler's own transaction: its writes and the end of its run commit together.

The fenced write that ends the run is the last statement, so it holds the row of the run only until the COMMIT, and no
heartbeat has to wait. If the lease is lost, it changes no row and everything is rolled back.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from jobrunner import failpoints
from jobrunner.effects.ending import RunEnd
from jobrunner.store.callers.transactions import OwnTransaction, begin
from jobrunner.store.drivers.steps import at_once


class PlainTransaction:
    """A handler's own transaction for ``with``. ``shield`` makes a block that a request to stop does not interrupt."""

    def __init__(self, end: RunEnd, shield: Callable[[], Any]) -> None:
        self._end = end
        self._shield = shield

    @contextmanager
    def block(self, given: object, result: Callable[[], object]) -> Iterator[Any]:
        """The transaction, on ``given`` or on a connection of our own. ``result`` is asked for at its end."""
        end = self._end
        end.check_is_first()
        own = end.open = at_once(
            begin(end.database.engine() if given is None else given, end.database.location.schema, is_awaited=False)
        )
        try:
            with self._time_limit(own):
                yield own.handle
            with self._shield():
                at_once(end.commit(own, result(), _ask))
        except BaseException:
            at_once(own.rollback())
            raise
        finally:
            end.open = None
        failpoints.hit("transaction.committed")

    @contextmanager
    def _time_limit(self, own: OwnTransaction) -> Iterator[None]:
        if not own.holds_only_lock():
            yield
            return
        error = self._end.too_long()
        limit = _Limit(self._end.longest.total_seconds(), error, lambda: at_once(own.interrupt()))
        try:
            yield
        except Exception as raised:
            if limit.end() and raised is not error:
                raise error from raised
            raise
        except BaseException:
            limit.end()
            raise
        if limit.end():
            raise error


async def _ask(question: Callable[[], Any]) -> Any:
    return question()


class _Limit:
    """Interrupts the main thread by an exception after some time. In another thread only ``end`` tells."""

    def __init__(self, seconds: float, error: Exception, interrupt: Callable[[], None]) -> None:
        self._error = error
        self._interrupt = interrupt
        self._is_over = self._has_ended = False
        self._is_main = threading.current_thread() is threading.main_thread()
        if self._is_main:
            # It stays set: after the block it does nothing, while the default action would end the process.
            signal.signal(signal.SIGUSR1, self._on_signal)
        self._timer = threading.Timer(seconds, self._pass)
        self._timer.daemon = True
        self._timer.start()

    def end(self) -> bool:
        """Stop the clock. Whether the time was over before."""
        self._has_ended = True
        self._timer.cancel()
        return self._is_over

    def _pass(self) -> None:
        self._is_over = True
        if self._is_main and (main := threading.main_thread().ident):
            signal.pthread_kill(main, signal.SIGUSR1)
        with suppress(Exception):
            self._interrupt()

    def _on_signal(self, *_: Any) -> None:
        if not self._has_ended:
            raise self._error
