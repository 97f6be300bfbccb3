"""The handlers of the proof. Each tells the witness what it does, by a socket that no fault of the network touches."""

import os
import socket
import time

from jobrunner import Context, Schedule, fixed, job

VERSION = 1
_EACH_SLOT = {"misfire": "all", "overlap": "allow"}
_BACKOFF = fixed("1s")
_SCHEDULES = [
    Schedule(f"every 1m from 2026-01-01T00:00:{second:02}Z", name=name, payload={"name": name}, **_EACH_SLOT)
    for second in range(0, 60, 5)
    for name in [f"second{second:02}"]
]
_PATIENT = {"max_attempts": 60, "backoff": _BACKOFF, "timeout": "60s"}


class _Witness:
    """The connection of this process. Its end tells the witness that the process has ended."""

    def __init__(self) -> None:
        self._pid = 0
        self._socket = None

    def tell(self, kind: str, token: str, ctx: Context, detail: str = "") -> None:
        """What is sent is with the witness, even if this process is killed at the next instruction."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._socket.connect(os.environ["PROOF_WITNESS"])
        words = (kind, token, ctx.run_id, ctx.attempt, f"{os.environ['PROOF_HOST']}/{VERSION}", detail)
        self._socket.send("\t".join(map(str, (time.monotonic_ns(), *words))).encode())


_WITNESS = _Witness()


@job("short", **_PATIENT)
def short(ctx: Context, token: str) -> None:
    """What most runs are."""
    _WITNESS.tell("done", token, ctx)


@job("keyed", **_PATIENT)
def keyed(ctx: Context, token: str) -> None:
    """An effect outside of the database that must not happen twice."""
    effect = ctx.once(token, _WITNESS.tell, "effect", token, ctx, on_uncertain="skip")
    if effect.state == "uncertain":
        _WITNESS.tell("uncertain", token, ctx)
    _WITNESS.tell("done", token, ctx)


@job("own", **_PATIENT)
def own(ctx: Context, token: str) -> None:
    """Work in the database of the runs."""
    with ctx.transaction() as connection:
        connection.exec_driver_sql("INSERT INTO ledger (token) VALUES (%s)", (token,))
    _WITNESS.tell("done", token, ctx)


@job("limited", max_running=3, **_PATIENT)
def limited(ctx: Context, token: str) -> None:
    """At most three at once, on all hosts together."""
    _WITNESS.tell("enter", token, ctx)
    time.sleep(0.05)
    _WITNESS.tell("leave", token, ctx)


@job("part", **_PATIENT)
def part(ctx: Context, token: str) -> None:
    """A parent."""
    _WITNESS.tell("done", token, ctx)


@job("whole", **_PATIENT)
def whole(ctx: Context, token: str) -> None:
    """A child that must begin after its parents."""
    _WITNESS.tell("enter", token, ctx)
    _WITNESS.tell("leave", token, ctx)


@job("slot", schedule=_SCHEDULES, **_PATIENT)
def slot(ctx: Context, name: str) -> None:
    """A run of one of twelve schedules, which have a slot each minute, five seconds apart."""
    _WITNESS.tell("slot", f"{name}@{ctx.scheduled_for}", ctx)


if VERSION > 1:

    @job("added", **_PATIENT)
    def added(ctx: Context, token: str) -> None:
        """A type that only the new code has."""
        _WITNESS.tell("done", token, ctx)
