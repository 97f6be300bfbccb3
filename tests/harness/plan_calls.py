"""Every call of the store that sends a statement, each with data that makes it send all of them."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import select, update

from harness.at_work import end_attempt
from harness.plan_rows import dead_run, definition, expandable, inserted_run, waiting_run
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.masking.secrets import Secrets
from jobrunner.masking.values import Names
from jobrunner.model import Actor, Lease, Limits, Owner, Policy, TickKind
from jobrunner.rates import parse_rate
from jobrunner.schedules.slot_plan import NOTHING_UNFINISHED, Expansion, SlotRange
from jobrunner.settings.notify import Notify
from jobrunner.settings.notify import read as read_notify
from jobrunner.store.changes import one_run, written_secrets
from jobrunner.store.changes.one_run import NewPayload
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.steps import follow
from jobrunner.store.questions import facts, findings, metrics
from jobrunner.store.queue import (
    backpressure,
    claims,
    deadlines,
    declared_limits,
    dependants,
    effects,
    enqueue,
    enqueue_many,
    expiries,
    finalize,
    holding,
    limits,
    own_runs,
    strays,
)
from jobrunner.store.queue.claims import ClaimRequest
from jobrunner.store.queue.enqueue_sql import NewRun
from jobrunner.store.queue.ticks import hosts, idle, listen, notices, retention, tallies, ticks
from jobrunner.store.queue.ticks.hosts import HostReport
from jobrunner.store.queue.ticks.ticks import TickEnd, TickRow
from jobrunner.store.schema import job_definitions, job_runs
from jobrunner.store.sql import words
from jobrunner.store.sql.dialect import due
from jobrunner.store.sql.dialect.values import now
from jobrunner.store.timetable import expansion, host_schedules, overlap, schedules
from jobrunner.store.timetable.schedules import Plan
from jobrunner.store.upkeep import check

Call = Callable[[Connection], Any]
LEASE = timedelta(minutes=1)
OWNER = Owner("here", "here:1:a")
TICK_ROW = TickRow(7, OWNER)
KIND = TickKind("here", "shop", "known")
KNOWN = [Policy("known"), Policy("known_too")]
LIMITED = [
    Policy("capped", limits=Limits(max_running=9)),
    Policy("rated", limits=Limits(rate=parse_rate("rate", "1/h", 1))),
    Policy(
        "keyed", limits=Limits(10**6, parse_rate("rate", "9/s", None), ("customer",), 1, parse_rate("rate", "9/s", 1))
    ),
    Policy("fair", limits=Limits(fair_by="customer")),
]
AT_WORK = [Lease(run_id, "t" * 32) for run_id in range(2_000_001, 2_000_021)]
EVER = datetime(2026, 1, 1, tzinfo=UTC)
NOTE = effects.Note("note", AT_WORK[0].run_id, "known", 1, "t" * 32, "c" * 32, EVER, EVER, was_applied=True)
DONE = AttemptResult(Outcome.SUCCEEDED)
KEPT = ("succeeded", "cancelled", "dead", "ticks", "events")
ALL_DONE = [(held, DONE) for held in AT_WORK]
KEYED = [{"payload": "{}", "idempotency_key": f"k{n}"} for n in range(9)]
STRAYS = strays.Strays([{"job_type": "keyed", "gate": f"customer [{n}]"} for n in (4, 5)], [1, 2])
STRAYS.gates.append({"job_type": "fair", "gate": "customer [3]"})
SETTLED = [{"id": 1, "outcome": "sent", "error": None}]


def hooks(**rules: Any) -> Notify:
    table = {"on_dead": ["chat"], "on_late": ["chat"], "receivers": {"chat": {"url_env": "CHAT"}}}
    return read_notify(table | rules, Path("/"))


def told(*_: str) -> list[str]:
    return ["somebody"]


def request(**changes: Any) -> ClaimRequest:
    values = {"owner": OWNER, "token": "x" * 32, "policies": KNOWN, "limit": 5, "permits": 100, "lease": LEASE}
    return ClaimRequest(**{**values, **changes})


def on(work: Callable[..., Any], *args: Any, **options: Any) -> Call:
    """The same of a connection that comes later."""
    return lambda connection: work(connection, *args, **options)


def claiming(**changes: Any) -> Call:
    return on(claims.claim, request(**changes))


def claiming_alone(connection: Connection) -> None:
    """The first one counts what is at work on the host, the second one need not."""
    for _ in range(2):
        claims.claim(connection, request(in_hand={"known": 20}, since={"known": EVER}))


def idle_statement(words: dict[str, str], notify: Notify | None = None) -> Call:
    host = OWNER.host
    values: Any = (host, OWNER.name, "1", "shop", host, host, host, host, "shop")
    return lambda connection: connection.execute(idle.statement(words, notify), values)


def behind_gates(connection: Connection) -> None:
    """What functions ask on PostgreSQL, whose plans are not shown with those of their callers."""
    for asked in due.FUNCTIONS.values():
        connection.execute(f"SELECT {asked.format(schema='')}")


def pruning(*names: str) -> Call:
    keep = {name: timedelta(days=1) if name in names else timedelta(days=5000) for name in KEPT}
    return on(retention.prune, keep)


def words_of(store_name: str) -> dict[str, str]:
    return words.SQLITE_WORDS if store_name == "sqlite" else words.postgresql_words(None)


def expanding(connection: Connection, **told: Any) -> Any:
    ids = expandable(connection, 1)
    return expansion.expand(connection, ids[0], planning(**told)) if ids else None


def expanding_many(**told: Any) -> Call:
    return lambda connection: expansion.expand_many(connection, 5, [1], planning(**told), OWNER.host)


def opening(connection: Connection) -> None:
    with own_runs.opened(connection, OWNER.host, ["known"]):
        pass


def replacing_one(connection: Connection) -> Any:
    columns = job_definitions.c
    connection.execute(update(job_definitions).where(columns.id == definition(connection)).values(overlap="replace"))
    return expanding(connection)


def intended(connection: Connection) -> Any:
    effects.intend(connection, AT_WORK[0], "key", "c" * 32)
    return effects.find(connection, "key")


def enqueueing_again(*, ended: bool) -> Call:
    """Runs whose key is held, or was held by a run that has ended: one by one, and as a list."""
    keyed = NewRun("known", "{}", idempotency_key="k")

    def work(connection: Connection) -> None:
        backpressure.declare(connection, [Policy("known", key_scope="active")])
        ids = [enqueue.enqueue(connection, keyed).id]
        ids += [each.id for each in enqueue_many.enqueue(connection, NewRun("known", "{}"), KEYED, None)]
        columns = job_runs.c
        if ended:
            for run_id in ids:
                connection.execute(
                    update(job_runs).where(columns.id == run_id).values(status="dead", finished_at=columns.created_at)
                )
            one_run.retry(connection, ids.pop() or 0, Actor("someone"))
        enqueue.enqueue(connection, keyed, if_taken="replace")
        enqueue_many.enqueue(connection, NewRun("known", "{}"), KEYED, None, ["replace"] * len(KEYED))

    return work


def planning(**told: Any) -> Plan:
    return lambda _, at, __=NOTHING_UNFINISHED, /: told_of(at, **told)


def told_of(at: datetime, *, skipped: int = 0, problem: str | None = None) -> Expansion:
    if problem is not None:
        return Expansion(problem=problem)
    return Expansion(slots=(at,), skipped=(SlotRange(at, at, skipped, "misfire"),) if skipped else (), ended="ends_at")


IDLE: dict[str, Call] = {
    "check.check_schema": check.check_schema,
    "ticks.is_anything_due": ticks.is_anything_due,
    "ticks.is_any_expandable": on(ticks.is_any_expandable, OWNER.host),
    "ticks.is_quarantined_due": on(ticks.is_quarantined_due, OWNER.host),
    "strays.find": strays.find,
    "expiries.expired_runs": expiries.expired_runs,
    "deadlines.is_any_overdue": deadlines.is_any_overdue,
    "claims.claim": claiming(),
    "listen.look_ahead": on(listen.look_ahead, 99_999, KIND),
    "listen.is_superseded": on(listen.is_superseded, 99_999, KIND),
    "ticks.take_prune_turn": ticks.take_prune_turn,
    "ticks.prune_again": on(ticks.prune_again, timedelta(seconds=30)),
    "ticks.open_tick": on(ticks.open_tick, OWNER, KIND, "1"),
    "ticks.close_tick": on(ticks.close_tick, TICK_ROW, TickEnd({})),
    "tallies.fold": tallies.fold,
    "tallies.compact": tallies.compact,
    "metrics.take_turn": on(metrics.take_turn, OWNER.host),
    "metrics.last_ticks": metrics.last_ticks,
    "findings.facts": on(
        findings.facts, facts.Limits(LEASE, LEASE, timedelta(hours=1), LEASE, timedelta(hours=1), most=20)
    ),
}
BUSY: dict[str, Call] = {
    "claims.claim one": claiming(limit=1, policies=KNOWN[:1]),
    "claims.claim of a sole owner": claiming_alone,
    "claims.claim a quarantined run": claiming(limit=1, quarantined=True),
    "claims.claim of 200 types": claiming(policies=[*KNOWN, *(Policy(f"other_{n}") for n in range(198))]),
    "claims.claim of limited types": claiming(policies=[*KNOWN, *LIMITED]),
    "claims.claim a quarantined run of limited types": claiming(limit=1, quarantined=True, policies=LIMITED),
    "claims.claim of a renamed type": claiming(policies=Policy("known", formerly=("known_too",)).of_each_name()),
    "claims.claim of a renamed type with limits": claiming(
        policies=LIMITED[2]._replace(formerly=("capped",)).of_each_name()
    ),
    "limits.open_gates": on(limits.open_gates, [(Policy("nobody's", limits=Limits(1)), 5)], False),
    "limits.count_open": on(limits.count_open, LIMITED, 5),
    "declared_limits.changed": on(declared_limits.changed, LIMITED),
    "declared_limits.declare": on(declared_limits.declare, LIMITED[0]),
    "strays.free": on(strays.free, STRAYS),
    "dependants.is_any_ended": dependants.is_any_ended,
    "dependants.follow": dependants.follow,
    "enqueue.enqueue after another run": lambda connection: follow(
        connection, dependants.attach_steps(connection.database, inserted_run(connection), [2_000_001], "run")
    ),
    "claims.return_unstarted": on(claims.return_unstarted, AT_WORK[0].token),
    "claims.return_unstarted some": on(claims.return_unstarted, AT_WORK[0].token, [AT_WORK[0].run_id]),
    "holding.renew": on(holding.renew, AT_WORK, LEASE),
    "holding.still_held": on(holding.still_held, AT_WORK),
    "holding.ended_attempts": on(holding.ended_attempts, AT_WORK),
    "effects.intend": on(effects.intend, AT_WORK[0], "key", "c" * 32),
    "effects.find": intended,
    "effects.take_over": lambda connection: effects.take_over(
        connection, AT_WORK[1], intended(connection), "d" * 32, "known", 1
    ),
    "effects.settle": on(effects.settle, "key", "c" * 32, "applied", {}),
    "effects.clear": on(effects.clear, "key", "c" * 32),
    "effects.forgotten": on(effects.forgotten, [NOTE]),
    "effects.put_back": on(effects.put_back, NOTE),
    "holding.keep": on(holding.keep, {lease: {"value": lease.run_id, "steps": {}} for lease in AT_WORK}),
    "holding.keep of one": on(holding.keep, {AT_WORK[0]: {"value": "x" * 5000, "steps": {}}}),
    "holding.report": on(holding.report, {AT_WORK[0]: {"output": "tail"}}),
    "finalize.finalize_all of one": on(end_attempt, OWNER, AT_WORK[0], AttemptResult(Outcome.FAILED)),
    "finalize.finalize_all late": on(end_attempt, OWNER, Lease(5, "t" * 32), DONE),
    "finalize.finalize_all": on(finalize.finalize_all, OWNER, ALL_DONE),
    "expiries.recover": on(expiries.recover, 100),
    "expiries.recover some": on(expiries.recover, 20, only=range(2_000_021, 2_000_041)),
    "expiries.recover_of": on(expiries.recover_of, OWNER, range(2_000_021, 2_000_041)),
    "expiries.is_tick": on(expiries.is_tick, OWNER),
    "hosts.backoffs": on(hosts.backoffs, [OWNER.host]),
    "expiries.held_runs": on(expiries.held_runs, [OWNER.name]),
    "hosts.write": on(hosts.write, HostReport(KIND, tuple(KNOWN), {}, "a file", "boot")),
    "ticks.count_claimable": on(ticks.count_claimable, KNOWN, 4, OWNER.host),
    "own_runs.opened": opening,
    "host_schedules.follow": host_schedules.follow,
    "retention.prune nothing old": pruning(),
    "enqueue.enqueue": on(enqueue.enqueue, NewRun("known", "{}")),
    "enqueue.enqueue with a key": on(enqueue.enqueue, NewRun("known", "{}", idempotency_key="k")),
    "enqueue.enqueue with a held key": enqueueing_again(ended=False),
    "enqueue.enqueue with a key of an ended run": enqueueing_again(ended=True),
    "enqueue_many.enqueue": on(enqueue_many.enqueue, NewRun("known", "{}"), [{"payload": "{}"}] * 9, None),
    "enqueue_many.enqueue with keys": on(enqueue_many.enqueue, NewRun("known", "{}"), KEYED, None),
    "enqueue.enqueue of a limited type": on(enqueue.enqueue, NewRun("limited", "{}")),
    "backpressure.lock_and_count": on(backpressure.lock_and_count, "known_too", None),
    "backpressure.changed_limits": on(backpressure.changed_limits, KNOWN),
    "backpressure.declare": on(backpressure.declare, [Policy("known", max_waiting=5)]),
    "enqueue_many.enqueue with dropped ones": lambda connection: follow(
        connection, backpressure.count_dropped_steps("known_too", 1)
    ),
    "expansion.expand": expanding,
    "expansion.expand_many": expanding_many(),
    "expansion.expand_many after a misfire": expanding_many(skipped=3),
    "schedules.note_refused": lambda connection: schedules.note_refused(connection, definition(connection), "why"),
    "expansion.expand after a misfire": partial(expanding, skipped=3),
    "expansion.expand of a replacing one": replacing_one,
    "tallies.add_ends": on(tallies.add_ends, [("known", "dead")]),
    "deadlines.end_overdue": on(deadlines.end_overdue, 20),
    "overlap.replace_older": lambda connection: overlap.replace_older(
        connection, [(definition(connection), 0)], connection.execute(select(now())).scalar_one()
    ),
    "expansion.expand what cannot be read": partial(expanding, problem="what"),
    "listen.report_listening": on(listen.report_listening, TICK_ROW, KIND, 50, LEASE),
    "notices.note_dead": on(notices.note_dead, told, (True, [], []), 40),
    "notices.note_late": on(notices.note_late, told, lambda *_: LEASE, LEASE),
    "notices.note_recovered": on(notices.note_recovered, told, lambda _: (), 100),
    "notices.definitions_named": on(notices.definitions_named, ["s"]),
    "notices.definitions_of": on(notices.definitions_of, [held.run_id for held in AT_WORK]),
    "notices.take": on(notices.take, ["somebody"], OWNER.name, 20),
    "notices.settle": on(notices.settle, OWNER.name, SETTLED, SETTLED),
    "one_run.cancel": on(one_run.cancel, AT_WORK[0].run_id, Actor("someone")),
    "one_run.retry payload": lambda connection: one_run.retry(
        connection, dead_run(connection), Actor("someone"), payload=NewPayload({"a": 1}, '{"a":1}', Names())
    ),
    "written_secrets.hide": lambda connection: written_secrets.hide(connection, dead_run(connection), Secrets()),
    "one_run.retry": lambda connection: one_run.retry(connection, dead_run(connection), Actor("someone")),
    "one_run.discard": lambda connection: one_run.discard(connection, waiting_run(connection), Actor("someone", "why")),
}
# A batch of 500 goes at a time, and with each run what belongs to it. Of what a tick leaves behind, 1000 are counted.
OLD: dict[str, Call] = {
    **{f"retention.prune {name}": pruning(name) for name in KEPT},
    "strays.find every one": on(strays.find, every=True),
    "ticks.count_left": ticks.count_left,
    "ticks.close_tick late": on(ticks.close_tick, TICK_ROW, TickEnd({}, None, "budget")),
    # What died in a day and is of no type with a hook is read, too.
    "notices.note_dead of some": on(notices.note_dead, told, (False, ["known"], ["s"]), 40),
}
