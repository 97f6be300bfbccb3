"""Notices: notes what is dead, late or recovered, and tells the receivers at the end of the tick, when no run waits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any

from jobrunner import clock
from jobrunner.errors import DatabaseUnavailable
from jobrunner.settings.notify import EVENTS, Notify
from jobrunner.store.queue.ticks import notices
from jobrunner.store.queue.ticks.notices import Notice
from jobrunner.text import first_line_of
from jobrunner.worker.context import TickContext

_NOTE_SECONDS = 1.0
_ENDS_READ = 2000
_MOST_TAKEN = 500
_MOST_EXPLAINED = 20
_MOST_TRIES = 5
"""Of a message that has certainly not arrived: a mail server may be away for some minutes."""


def note_late(context: TickContext) -> None:
    """Note what is late, before the tick begins it. Costs nothing where nobody is told."""
    notify = context.config.notify
    if notify is not None and (least := notify.least_late()) is not None:
        _guarded(context, lambda: context.database.write(_late(notify, least)))


def _late(notify: Notify, least: Any) -> Any:
    return partial(notices.note_late, told=notify.told, late_after=notify.late_after, least=least)


def tell(context: TickContext) -> None:
    """Note what has happened, by whatever tick, and tell it. Waits for receivers for a limited time.

    Nothing is told twice, whatever dies meanwhile: what a killed tick was telling is recorded as lost.
    """
    notify = context.config.notify
    if notify is not None:
        _guarded(context, lambda: _Telling(context, notify).run())


def _guarded(context: TickContext, work: Any) -> None:
    try:
        work()
    except DatabaseUnavailable:
        # The next tick tells it. If the database is still away, the next write of this tick says so.
        return
    except Exception as error:  # noqa: BLE001 - the tick goes on, whatever keeps it from telling
        context.log.error("notices", result="not sent", error=first_line_of(error))


class _Telling:
    def __init__(self, context: TickContext, notify: Notify) -> None:
        self._context = context
        self._notify = notify
        self._write = context.database.write

    def run(self) -> None:
        self._note()
        taken: list[Notice] = self._write(
            partial(
                notices.take,
                receivers=list(self._notify.receivers),
                owner=self._context.owner.name,
                limit=_MOST_TAKEN,
            )
        )
        self._context.database.hit("notices.taken")
        if taken:
            self._send(taken)

    def _note(self) -> None:
        notify, ends_at = self._notify, clock.elapsed() + _NOTE_SECONDS
        # First what has recovered: what has died again since is then told after it.
        least = notify.least_late()
        late = (lambda _: ()) if least is None else _late(notify, least)
        recovered = partial(notices.note_recovered, told=notify.told, late=late, limit=_ENDS_READ)
        while self._write(recovered) and clock.elapsed() < ends_at:
            pass
        hooked = notify.tells_of_dead()
        if any(hooked):
            dead = partial(notices.note_dead, told=notify.told, hooked=hooked)
            while self._write(dead) == notices.BATCH and clock.elapsed() < ends_at:
                pass

    def _send(self, taken: Sequence[Notice]) -> None:
        from jobrunner.notify.message import Group, Message
        from jobrunner.notify.sending import send_all

        self._explain(taken)
        self._hide_secrets(taken)
        grouped: dict[tuple[str, str], list[Notice]] = defaultdict(list)
        for each in taken:
            grouped[each.receiver, each.event].append(each)
        messages = [
            Message(
                receiver=receiver,
                event=event,
                groups=[Group(each.job_type, each.schedule, each.runs, each.detail) for each in of_receiver],
                notices=[each.id for each in of_receiver],
                host=self._context.config.host,
                database=self._context.database.location.label,
            )
            for (receiver, event), of_receiver in sorted(grouped.items(), key=lambda item: EVENTS.index(item[0][1]))
        ]
        tries = {each.id: each.tries for each in taken}
        ends: list[dict[str, Any]] = []
        unsent: list[dict[str, Any]] = []
        for result in send_all(self._notify.receivers, messages, self._notify.give_up_after):
            again = result.is_unsent and min(tries[each] for each in result.message.notices) < _MOST_TRIES
            rows = [
                {"id": each, "outcome": "sent" if result.error is None else "failed", "error": result.error}
                for each in result.message.notices
            ]
            (unsent if again else ends).extend(rows)
            self._log(result.message, result.error, "not sent, to be tried again" if again else "not sent")
        self._context.database.hit("notices.sent")
        self._write(partial(notices.settle, owner=self._context.owner.name, ends=ends, unsent=unsent))

    def _explain(self, taken: Sequence[Notice]) -> None:
        """Add to the first run of each notice the sentence of ``jobrunner explain``."""
        from jobrunner.store.questions.explain.runs import explain_run

        told = [runs[0] for each in taken[:_MOST_EXPLAINED] if (runs := each.detail.get("runs"))]
        try:
            for run in told:
                found = self._context.database.read(partial(explain_run, run_id=run["id"]))
                run["explanation"] = None if found is None else found.sentence
        except Exception as error:  # noqa: BLE001 - a message without the sentence is better than none
            self._context.log.error("notices", result="not explained", error=first_line_of(error))

    def _hide_secrets(self, taken: Sequence[Notice]) -> None:
        """Take the secrets of each run out of what is told of it, as the page does."""
        from jobrunner.masking import MASK
        from jobrunner.masking.secrets import Secrets
        from jobrunner.masking.values import Names
        from jobrunner.store.questions.runs import run_values

        names = Names(self._notify.redact)
        runs = [run for each in taken for run in each.detail.get("runs", ())]
        values: dict[int, run_values.Values] = {}
        try:
            values = self._context.database.read(partial(run_values.of_runs, ids={run["id"] for run in runs}))
        except Exception as error:  # noqa: BLE001 - a message without the texts is better than none
            self._context.log.error("notices", result="secrets not read", error=first_line_of(error))
        for run in runs:
            secrets = Secrets()
            names.learn(values.get(run["id"], ()), secrets)
            for name in ("error", "output", "explanation"):
                if run.get(name) is not None:
                    is_known = run["id"] in values
                    run[name] = (
                        names.hide(run[name], secrets) if is_known else f"{MASK} see: jobrunner show {run['id']}"
                    )

    def _log(self, message: Any, error: str | None, result: str) -> None:
        fields = {"hook": message.event, "receiver": message.receiver, "runs": message.runs}
        if error is None:
            self._context.log.info("notice", result="sent", **fields)
        else:
            self._context.log.warning("notice", result=result, error=error, **fields)
