"""Sends several messages at once, for a limited time."""

from __future__ import annotations

import queue
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
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
    """Send each message once: to all receivers at the same time, and to each in this order.

    After ``most`` none is begun, and nobody waits for those without an answer.
    """
    ends_at = clock.elapsed() + most.total_seconds()
    results: queue.SimpleQueue[Result] = queue.SimpleQueue()
    of_each: dict[str, list[Message]] = {}
    for message in messages:
        of_each.setdefault(message.receiver, []).append(message)
    begun: set[int] = set()
    for name, ordered in of_each.items():
        # The process may end while one of them still waits.
        work = (receivers[name], ordered, ends_at, results, begun)
        thread = threading.Thread(target=_send_in_order, args=work, daemon=True)
        with suppress(RuntimeError):
            thread.start()
    left = {id(message): message for message in messages}
    done = []
    # A command is killed at the end; that takes a moment.
    while left and (seconds := ends_at + 0.5 - clock.elapsed()) > 0:
        try:
            result = results.get(timeout=seconds)
        except queue.Empty:
            break
        del left[id(result.message)]
        done.append(result)
    return [*done, *(_without_answer(each, is_begun=id(each) in begun) for each in left.values())]


def _without_answer(message: Message, *, is_begun: bool) -> Result:
    if is_begun:
        return Result(message, "no answer in time; it may have been sent")
    return Result(message, "an earlier message had no answer in time", is_unsent=True)


def _send_in_order(
    receiver: Receiver,
    messages: Sequence[Message],
    ends_at: float,
    results: queue.SimpleQueue[Result],
    begun: set[int],
) -> None:
    for message in messages:
        if clock.elapsed() >= ends_at:
            return
        begun.add(id(message))
        results.put(_send(receiver, message, ends_at))


def _send(receiver: Receiver, message: Message, ends_at: float) -> Result:
    try:
        send(receiver, message, ends_at)
    except NotSent as error:
        return Result(message, str(error), is_unsent=True)
    except Failed as error:
        return Result(message, str(error))
    except BaseException as error:  # noqa: BLE001 - a bug here is reported like any other failure, without its text
        return Result(message, f"unexpected {type(error).__name__}")
    return Result(message)
