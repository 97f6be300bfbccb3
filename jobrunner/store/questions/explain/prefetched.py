"""Asks together what ``explain_run`` asks one by one, for a page: at most three statements before its own."""

from __future__ import annotations

from collections.abc import Sequence

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions.combined_questions import together
from jobrunner.store.questions.explain import hosts, queue
from jobrunner.store.sql.statement import Prepared, Question


def of_run(connection: Connection, run_id: int, also: Sequence[Question] = ()) -> Connection:
    """A connection that has the answers, also those of other questions. Expects a read transaction."""
    of_id = {"run": run_id}
    the_run = Prepared("explain.run")
    first = [
        *also,
        (the_run, of_id),
        *((Prepared(name), of_id) for name in ("explain.last_event", "explain.open_effect", "explain.parents")),
        *hosts.QUESTIONS,
    ]
    known = together(connection, first)
    run = known.execute(the_run, of_id).first()
    if run is None:
        return known
    if not run.is_waiting:
        return known
    known = together(known, queue.questions(run))
    of_key = queue.questions_of_key(known, run)
    return together(known, of_key) if of_key else known
