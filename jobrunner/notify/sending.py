"""Sends several messages at once, for a limited time."""

from __future__ import annotations

import queue
import threading
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple

from jobrunner import clock
from jobrunner.notify.message import Message
from jobrunner.notify.receivers import Failed, NotSent, send
from jobrunner.settings.notify import Receiver


class Result(NamedTuple):
    """What has become of a message. ``is_unsent``: it has certainly not arrived."""

    message: Message
    error: str | None = None
    is_unsent: bool = False


def send_all(receivers: Mapping[str, Receiver], messages: Sequence[Message], most: timedelta) -> list[Result]:
    """Send each message once, all at the same time. After ``most`` nobody waits for those without an answer."""
    ends_at = clock.elapsed() + most.total_seconds()
    results: queue.SimpleQueue[Result] = queue.SimpleQueue()
    threads = [
        # The process may end while one of them still waits.
        threading.Thread(target=_send, args=(receivers[each.receiver], each, ends_at, results), daemon=True)
        for each in messages
    ]
    left = {id(message): message for message in messages}
    done = []
    for thread, message in zip(threads, messages, strict=True):
        try:
            thread.start()
        except RuntimeError as error:
            results.put(Result(message, str(error), is_unsent=True))
    # A command is killed at the end; that takes a moment.
    while left and (seconds := ends_at + 0.5 - clock.elapsed()) > 0:
        try:
            result = results.get(timeout=seconds)
        except queue.Empty:
            break
        del left[id(result.message)]
        done.append(result)
    return [*done, *(Result(each, "no answer in time; it may have been told") for each in left.values())]


def _send(receiver: Receiver, message: Message, ends_at: float, results: queue.SimpleQueue[Result]) -> None:
    try:
        send(receiver, message, ends_at)
    except NotSent as error:
        results.put(Result(message, str(error), is_unsent=True))
    except Failed as error:
        results.put(Result(message, str(error)))
    except BaseException as error:  # noqa: BLE001 - a bug here is told like any other failure, without its text
        results.put(Result(message, f"unexpected {type(error).__name__}"))
    else:
        results.put(Result(message))
